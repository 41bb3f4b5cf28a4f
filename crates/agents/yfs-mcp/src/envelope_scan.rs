//! The id of a message that cannot be read as JSON, or that is too long to be kept.
//!
//! # Cost
//!
//! One step per byte, and memory for one key and one id.

use rmcp::model::RequestId;

/// The most bytes of an id, and of a key that matters.
const MAX_TOKEN_LEN: usize = 1024;

/// A scan over the outermost keys of a message, as far as it has come.
#[derive(Debug, Default)]
pub(crate) struct EnvelopeScan {
    depth: usize,
    in_string: bool,
    is_escaped: bool,
    /// What stands outermost since the last `,` or `:`, without its end if it is long.
    token: Vec<u8>,
    is_id: bool,
    id: Option<RequestId>,
    has_id: bool,
    is_response: bool,
}

impl EnvelopeScan {
    /// Scans a message.
    pub(crate) fn of(message: &[u8]) -> Self {
        let mut scan = Self::default();
        scan.feed(message);
        scan
    }

    /// Goes on with further bytes of the message.
    pub(crate) fn feed(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.step(*byte);
        }
    }

    /// Returns the id under which an answer is waited for, if it was read to its end.
    pub(crate) fn request_id(&self) -> Option<RequestId> {
        self.id.clone().filter(|_| !self.is_response)
    }

    /// Returns the id of the request that the message answers.
    pub(crate) fn response_id(&self) -> Option<RequestId> {
        self.id.clone().filter(|_| self.is_response)
    }

    /// Returns whether there is an id of any kind.
    pub(crate) fn has_id(&self) -> bool {
        self.has_id
    }

    fn step(&mut self, byte: u8) {
        if self.in_string {
            self.keep(byte);
            self.in_string = byte != b'"' || self.is_escaped;
            self.is_escaped = byte == b'\\' && !self.is_escaped;
            return;
        }
        match byte {
            b':' if self.depth == 1 => self.end_key(),
            b',' if self.depth == 1 => self.end_value(),
            b'{' | b'[' => {
                self.keep(byte);
                self.depth = self.depth.saturating_add(1);
            }
            b'}' | b']' => {
                if self.depth == 1 {
                    self.end_value();
                }
                self.depth = self.depth.saturating_sub(1);
                self.keep(byte);
            }
            byte => {
                self.in_string = byte == b'"';
                self.keep(byte);
            }
        }
    }

    fn keep(&mut self, byte: u8) {
        if self.depth == 1 && self.token.len() < MAX_TOKEN_LEN {
            self.token.push(byte);
        }
    }

    fn end_key(&mut self) {
        let key = std::mem::take(&mut self.token);
        let key = key.trim_ascii();
        self.is_id = key == b"\"id\"";
        self.has_id |= self.is_id;
        self.is_response |= key == b"\"result\"" || key == b"\"error\"";
    }

    fn end_value(&mut self) {
        let value = std::mem::take(&mut self.token);
        if std::mem::take(&mut self.is_id) {
            self.id = serde_json::from_slice(&value).ok();
        }
    }
}
