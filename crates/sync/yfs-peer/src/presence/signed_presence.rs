//! The editors at one document of one peer's servers, signed by that peer.
//!
//! A message has all editors of the peer at the document, so that the last one replaces all before
//! it, and an editor that is not in it has left. A peer passes the messages of others on unchanged.

use yfs_engine::{
    id::{ClientId, FileId, WorkspaceId},
    lib0::{Lib0Error, write_string},
};
use yfs_sync::{
    checked_state,
    presence::{PresenceEntry, decode, encode},
    wire::{AtMost, read_wire_bytes, wire_bytes},
    wire_fields,
};

use crate::{
    peer_grant::PeerCertificate,
    peer_key::{PeerSecretKey, SIGNATURE_LEN},
    peer_message::PeerMessage,
};

/// The context of the signatures of messages with presence.
const PRESENCE_CONTEXT: &[u8] = b"yfs peer presence v1\0";

/// The most editors of one peer at one document.
pub(crate) const MAX_EDITORS: usize = 256;

/// The greatest length of their states, in bytes.
pub(crate) const MAX_STATES_LEN: usize = 64 << 10;

/// The greatest length of a signed frame, in bytes.
pub(crate) const MAX_PRESENCE_FRAME_LEN: usize = MAX_STATES_LEN + 128;

/// What a peer signs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PresenceFrame<'a> {
    /// Greater than that of all earlier frames of the peer.
    pub(crate) sequence: u64,
    /// The document.
    pub(crate) doc: FileId,
    /// The editors, as an awareness update.
    pub(crate) states: &'a [u8],
}

/// A frame with the signature of the peer whose editors it has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SignedPresence {
    pub(crate) certificate: PeerCertificate,
    pub(crate) signature: [u8; SIGNATURE_LEN],
    pub(crate) frame: Vec<u8>,
}

wire_fields!(PresenceFrame<'a> { sequence, doc, states as AtMost<MAX_STATES_LEN> });

impl<'a> PresenceFrame<'a> {
    /// Decodes a frame.
    ///
    /// # Errors
    ///
    /// If a part is missing or too large, or a state is not one that an editor can send.
    pub(crate) fn decode(frame: &'a [u8]) -> Result<Self, Lib0Error> {
        if frame.len() > MAX_PRESENCE_FRAME_LEN {
            return Err(Lib0Error::Parts);
        }
        let read: Self = read_wire_bytes(frame)?;
        if read.sequence >= ClientId::LIMIT {
            return Err(Lib0Error::Number);
        }
        let entries = decode(read.states)?;
        if entries.len() > MAX_EDITORS || !entries.iter().all(|entry| is_state(entry.state)) {
            return Err(Lib0Error::Parts);
        }
        Ok(read)
    }

    /// Encodes the frame.
    pub(crate) fn encode(&self) -> Vec<u8> {
        wire_bytes(self)
    }

    /// Reports whether no editor is at the document.
    pub(crate) fn is_empty(&self) -> bool {
        decode(self.states).is_ok_and(|entries| entries.is_empty())
    }
}

impl SignedPresence {
    /// Signs a frame.
    pub(crate) fn sign(
        key: &PeerSecretKey,
        certificate: PeerCertificate,
        frame: &PresenceFrame<'_>,
    ) -> Self {
        let frame = frame.encode();
        let signature = key.sign(&signed_bytes(&certificate.signed.grant.workspace, &frame));
        Self { certificate, signature, frame }
    }

    /// Reports whether the peer of the certificate signed the frame.
    pub(crate) fn is_authentic(&self) -> bool {
        let bytes = signed_bytes(&self.certificate.signed.grant.workspace, &self.frame);
        self.certificate.peer.has_signed(&bytes, &self.signature)
    }

    /// Returns the memory that it takes, in bytes.
    pub(crate) fn len(&self) -> usize {
        self.frame.len() + size_of::<Self>() + self.certificate.signed.grant.label.len()
    }

    /// Returns the message that carries it.
    pub(crate) fn to_message(&self) -> PeerMessage<'_> {
        let Self { certificate, signature, frame } = self;
        PeerMessage::Presence {
            certificate: Box::new(certificate.clone()),
            signature: *signature,
            frame,
        }
    }
}

#[cfg(test)]
impl SignedPresence {
    /// Signs the editors at a document.
    pub(crate) fn of_editors(
        key: &PeerSecretKey,
        certificate: PeerCertificate,
        (doc, sequence): (FileId, u64),
        states: &[u8],
    ) -> Self {
        Self::sign(key, certificate, &PresenceFrame { sequence, doc, states })
    }

    /// Returns the document and the states.
    pub(crate) fn read(&self) -> (FileId, Vec<u8>) {
        let frame = PresenceFrame::decode(&self.frame).expect("it was checked");
        (frame.doc, frame.states.to_vec())
    }
}

/// Encodes the states of editors, as many as fit into a message. Omits those that no editor of the
/// y-protocols sends.
pub(crate) fn encode_states<'a>(entries: impl IntoIterator<Item = PresenceEntry<'a>>) -> Vec<u8> {
    /// The most bytes that the two numbers and the length of a state take.
    const NUMBERS_LEN: usize = 24;
    let (mut fitting, mut len) = (Vec::new(), NUMBERS_LEN);
    for entry in entries {
        let is_fitting = len + NUMBERS_LEN + entry.state.len() <= MAX_STATES_LEN;
        if fitting.len() < MAX_EDITORS && is_fitting && is_state(entry.state) {
            len += NUMBERS_LEN + entry.state.len();
            fitting.push(entry);
        }
    }
    encode(&fitting)
}

/// Reports whether clients can show a state. It may have members that are left out before.
fn is_state(state: &str) -> bool {
    checked_state(state).is_some()
}

fn signed_bytes(workspace: &WorkspaceId, frame: &[u8]) -> Vec<u8> {
    let mut bytes = PRESENCE_CONTEXT.to_vec();
    write_string(&mut bytes, workspace.as_str());
    bytes.extend_from_slice(blake3::hash(frame).as_bytes());
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(states: &[u8]) -> Vec<u8> {
        PresenceFrame { sequence: 1, doc: FileId::parse("doc").unwrap(), states }.encode()
    }

    fn one(state: &str) -> Vec<u8> {
        encode(&[PresenceEntry { id: 7, clock: 1, state }])
    }

    #[test]
    fn a_frame_holds_states_that_editors_can_parse_and_no_others() {
        let read = frame(&one(r#"{"user":{"name":"ana"}}"#));
        assert_eq!(PresenceFrame::decode(&read).unwrap().encode(), read);
        assert!(PresenceFrame::decode(&frame(&encode(&[]))).unwrap().is_empty());
        for state in ["null", "{", "", "7", "{}}", r#"{"a":}"#] {
            assert!(PresenceFrame::decode(&frame(&one(state))).is_err(), "{state:?}");
        }
        let deep = format!("{{\"a\":{}{}}}", "[".repeat(100_000), "]".repeat(100_000));
        assert!(PresenceFrame::decode(&frame(&one(&deep[..60_000]))).is_err());
    }

    #[test]
    fn a_frame_with_too_much_is_refused() {
        let long = format!("{{\"a\":\"{}\"}}", "x".repeat(MAX_STATES_LEN));
        assert!(PresenceFrame::decode(&frame(&one(&long))).is_err());
        let entry = |id| PresenceEntry { id, clock: 1, state: "{}" };
        let many: Vec<_> = (0..=MAX_EDITORS as u64).map(entry).collect();
        assert!(PresenceFrame::decode(&frame(&encode(&many))).is_err());
        assert!(PresenceFrame::decode(&frame(&encode(&many[1..]))).is_ok());
        let mut longer = frame(&one("{}"));
        longer.push(0);
        assert!(PresenceFrame::decode(&longer).is_err());
        let number = PresenceFrame {
            sequence: ClientId::LIMIT,
            doc: FileId::parse("doc").unwrap(),
            states: &one("{}"),
        };
        assert!(PresenceFrame::decode(&number.encode()).is_err());
    }

    #[test]
    fn what_is_encoded_fits_into_a_message() {
        let long = format!("{{\"a\":\"{}\"}}", "x".repeat(MAX_STATES_LEN / 3));
        let states = ["{}", "null", &long, &long, &long, "{}"];
        let entries =
            (0..600).map(|id| PresenceEntry { id, clock: 1, state: states[id as usize % 6] });
        let encoded = encode_states(entries);
        PresenceFrame::decode(&frame(&encoded)).unwrap();
        let read = decode(&encoded).unwrap();
        assert_eq!(read.len(), 202, "two long states fit, and all short ones");
        let short = (0..600).map(|id| PresenceEntry { id, clock: 1, state: "{}" });
        assert_eq!(decode(&encode_states(short)).unwrap().len(), MAX_EDITORS);
    }
}
