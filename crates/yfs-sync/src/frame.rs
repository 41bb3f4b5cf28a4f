//! A message as it is sent, of which many may be sent the same part.

use std::sync::Arc;

/// A message as it is sent: a beginning of its own, and what others are sent as well.
///
/// Whoever writes it to a socket need not join the two: a state of many megabytes is then in memory once, however
/// many join at a time.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SharedFrame {
    head: Vec<u8>,
    body: Option<Arc<[u8]>>,
}

impl SharedFrame {
    /// Makes a frame that ends with a shared body.
    pub fn shared(head: Vec<u8>, body: Arc<[u8]>) -> Self {
        Self { head, body: Some(body) }
    }

    /// Returns the two parts.
    pub fn into_parts(self) -> (Vec<u8>, Option<Arc<[u8]>>) {
        (self.head, self.body)
    }

    /// Returns the whole as one.
    pub fn into_bytes(self) -> Vec<u8> {
        let mut bytes = self.head;
        bytes.extend_from_slice(self.body.as_deref().unwrap_or_default());
        bytes
    }
}

impl From<Vec<u8>> for SharedFrame {
    fn from(head: Vec<u8>) -> Self {
        Self { head, body: None }
    }
}
