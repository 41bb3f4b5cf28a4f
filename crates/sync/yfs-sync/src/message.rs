//! The messages of y-websocket (`docs/format/y-websocket.md`), one per WebSocket frame.
//!
//! Decoding is strict and never allocates more than the frame. It ignores bytes after a message, as
//! clients up to version 3.1 do.

use thiserror::Error;
use yfs_engine::lib0::{Lib0Error, Lib0Reader, write_var_uint};

const SYNC: u64 = 0;
const AWARENESS: u64 = 1;
const AUTH: u64 = 2;
const QUERY_AWARENESS: u64 = 3;

const STEP_1: u64 = 0;
const STEP_2: u64 = 1;
const UPDATE: u64 = 2;

const DENIED: u64 = 0;

/// A message that borrows its payload from the frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SyncMessage<'a> {
    /// The sender's state vector. The response is a [`Step2`](Self::Step2).
    Step1(&'a [u8]),
    /// An update with everything that the receiver lacked.
    Step2(&'a [u8]),
    /// An update.
    Update(&'a [u8]),
    /// The presence of clients: an awareness update.
    Awareness(&'a [u8]),
    /// A denial of access, with its reason; only servers send it.
    Denied(&'a str),
    /// A request for the presence of all clients.
    QueryAwareness,
}

/// The error of a frame that is not a message.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ProtocolError {
    /// The frame ends too early, or a number in it is too large.
    #[error("malformed message")]
    Malformed(#[from] Lib0Error),
    /// The message type is unknown.
    #[error("unknown message type {0}")]
    UnknownType(u64),
    /// The protocol version is not supported.
    #[error("unknown protocol version {0}")]
    UnknownVersion(u64),
}

impl<'a> SyncMessage<'a> {
    /// Decodes a frame.
    pub fn decode(frame: &'a [u8]) -> Result<Self, ProtocolError> {
        let mut reader = Lib0Reader::new(frame);
        match reader.var_uint()? {
            SYNC => match reader.var_uint()? {
                STEP_1 => Ok(Self::Step1(reader.buffer()?)),
                STEP_2 => Ok(Self::Step2(reader.buffer()?)),
                UPDATE => Ok(Self::Update(reader.buffer()?)),
                other => Err(ProtocolError::UnknownType(other)),
            },
            AWARENESS => Ok(Self::Awareness(reader.buffer()?)),
            AUTH => match reader.var_uint()? {
                DENIED => Ok(Self::Denied(reader.string()?)),
                other => Err(ProtocolError::UnknownType(other)),
            },
            QUERY_AWARENESS => Ok(Self::QueryAwareness),
            other => Err(ProtocolError::UnknownType(other)),
        }
    }

    /// Reports whether a frame requests missing updates, the only expensive request.
    pub fn is_step_1(frame: &[u8]) -> bool {
        frame.starts_with(&[SYNC as u8, STEP_1 as u8])
    }

    /// Encodes a frame.
    pub fn encode(&self) -> Vec<u8> {
        self.encode_after(&[])
    }

    /// Encodes a frame that begins with `prefix`, which identifies its document.
    pub fn encode_after(&self, prefix: &[u8]) -> Vec<u8> {
        let (mut frame, payload) = self.begin(prefix, self.payload().map_or(0, <[u8]>::len));
        frame.extend_from_slice(payload.unwrap_or_default());
        frame
    }

    /// Encodes a frame up to its payload, which the caller appends unchanged.
    pub(crate) fn head_after(&self, prefix: &[u8]) -> Vec<u8> {
        self.begin(prefix, 0).0
    }

    fn payload(&self) -> Option<&[u8]> {
        match self {
            Self::Step1(payload) | Self::Step2(payload) => Some(payload),
            Self::Update(payload) | Self::Awareness(payload) => Some(payload),
            Self::Denied(reason) => Some(reason.as_bytes()),
            Self::QueryAwareness => None,
        }
    }

    /// Starts a frame with `room` bytes of spare capacity, and returns it with the payload to
    /// append.
    fn begin(&self, prefix: &[u8], room: usize) -> (Vec<u8>, Option<&[u8]>) {
        let kinds: &[u64] = match self {
            Self::Step1(_) => &[SYNC, STEP_1],
            Self::Step2(_) => &[SYNC, STEP_2],
            Self::Update(_) => &[SYNC, UPDATE],
            Self::Awareness(_) => &[AWARENESS],
            Self::Denied(_) => &[AUTH, DENIED],
            Self::QueryAwareness => &[QUERY_AWARENESS],
        };
        let payload = self.payload();
        let mut frame = Vec::with_capacity(prefix.len() + room + 8);
        frame.extend_from_slice(prefix);
        for kind in kinds {
            write_var_uint(&mut frame, *kind);
        }
        if let Some(payload) = payload {
            write_var_uint(&mut frame, payload.len() as u64);
        }
        (frame, payload)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_come_back() {
        let messages = [
            SyncMessage::Step1(&[0]),
            SyncMessage::Step2(&[0, 0]),
            SyncMessage::Update(&[1, 2, 3]),
            SyncMessage::Awareness(&[0]),
            SyncMessage::Denied("not yours"),
            SyncMessage::QueryAwareness,
        ];
        for message in messages {
            assert_eq!(SyncMessage::decode(&message.encode()), Ok(message));
            let whole = [&message.head_after(b"key")[..], message.payload().unwrap_or_default()];
            assert_eq!(whole.concat(), message.encode_after(b"key"));
        }
    }

    #[test]
    fn bytes_are_those_of_the_reference() {
        // The first messages of an empty document, as recorded from y-websocket.
        assert_eq!(SyncMessage::Step1(&[0]).encode(), [0, 0, 1, 0]);
        assert_eq!(SyncMessage::Step2(&[0, 0]).encode(), [0, 1, 2, 0, 0]);
    }

    #[test]
    fn bad_frames_are_refused() {
        for frame in [&[][..], &[0], &[0, 9], &[2], &[9], &[0, 0, 5, 1], &[1, 255, 255, 255, 255]] {
            assert!(SyncMessage::decode(frame).is_err(), "{frame:?}");
        }
    }
}
