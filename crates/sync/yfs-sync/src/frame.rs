//! A message to send, with a part that many messages may share.

use std::sync::Arc;

/// A message to send: its own head, and a body that other messages may share.
///
/// A writer to a socket need not join the two. A state of many megabytes is then in memory once,
/// however many peers join concurrently.
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

    /// Returns the head and the body.
    pub fn into_parts(self) -> (Vec<u8>, Option<Arc<[u8]>>) {
        (self.head, self.body)
    }

    /// Returns the head and the body as one buffer.
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
