//! The messages with which two stores of one workspace exchange their logs
//! (`docs/format/replicate.md`).
//!
//! Decoding is strict and never allocates more than the frame.

use yfs_engine::{
    hash::ContentHash,
    id::FileId,
    lib0::{Lib0Reader, write_var_uint},
};

use crate::{
    message::ProtocolError,
    wire::{AtMost, EachAs, LastFlag, Usual},
    wire_fields, wire_variants,
};

/// The version of the protocol.
const VERSION: u64 = 1;

/// The greatest length of a log position, in bytes.
pub const MAX_CURSOR_LEN: usize = 256;

/// The greatest length of a reason, in bytes.
const MAX_REASON_LEN: usize = 4 << 10;

/// The greatest length of a summary, in bytes.
const MAX_SUMMARY_LEN: usize = 16 * ((1 << 16) + 1);

/// The number of the first message, which has the version before its fields.
const HELLO: u64 = 0;

/// A frame that only shows that its sender is alive.
pub const PING: [u8; 1] = [9];

/// A message that borrows its payload from the frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReplicaMessage<'a> {
    /// The first message, sent by the connecting side.
    Hello {
        /// The position in the receiver's log at which to start, as the receiver reported it
        /// before; empty for the beginning.
        since: &'a str,
        /// Whether the sender exchanges summaries. Earlier versions did not.
        summarizes: bool,
    },
    /// The response to [`Hello`](Self::Hello).
    Welcome {
        /// The guid of the main document.
        workspace: FileId,
        /// Whether the position in `since` is still valid. If not, the log is sent from its
        /// beginning, and the connecting side sends its own from the beginning as well.
        resumed: bool,
        /// Whether the sender accepts updates.
        writable: bool,
        /// Whether the sender exchanges summaries. Earlier versions did not.
        summarizes: bool,
    },
    /// Updates from the log.
    Updates(Vec<DocumentUpdate<'a>>),
    /// The sender has sent everything up to a position of its log.
    Reached {
        /// The position.
        cursor: &'a str,
        /// Whether it is the end of the log.
        is_end: bool,
    },
    /// The sender has stored everything up to a position that the receiver reached, with the blobs
    /// that it needs.
    Taken {
        /// The position.
        cursor: &'a str,
    },
    /// A request for blobs.
    Want(Vec<ContentHash>),
    /// A part of a blob. The parts of one blob come in order, without parts of others between them.
    Blob {
        /// The blob's hash.
        hash: ContentHash,
        /// Whether it is the last part.
        is_last: bool,
        /// The bytes.
        data: &'a [u8],
    },
    /// The sender does not have a requested blob.
    Lacking(ContentHash),
    /// The sender has received a blob that it lacked when the receiver requested it.
    Have(ContentHash),
    /// A request for the hashes of the parts of a blob.
    WantTree(ContentHash),
    /// The hashes of the parts of a blob.
    Tree {
        /// The blob's hash.
        hash: ContentHash,
        /// The hashes, 32 bytes each.
        parts: &'a [u8],
    },
    /// A request for a part of a blob.
    WantPart {
        /// The blob's hash.
        hash: ContentHash,
        /// The number of the part, from 0.
        index: u64,
    },
    /// A part of a blob, which may come in any order.
    Part {
        /// The blob's hash.
        hash: ContentHash,
        /// The number of the part.
        index: u64,
        /// The bytes.
        data: &'a [u8],
    },
    /// The sender rejected some updates of a document.
    Refused {
        /// The document.
        doc: FileId,
        /// The reason, as text for a person.
        reason: &'a str,
    },
    /// The hashes of groups of documents in the sender's log, so that equal ones are not sent.
    Summary(&'a [u8]),
}

/// An update of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocumentUpdate<'a> {
    /// The document.
    pub doc: FileId,
    /// Whether the update is the whole document, so that the receiver may have some of it already.
    pub is_whole: bool,
    /// The update.
    pub data: &'a [u8],
}

wire_fields!(DocumentUpdate<'a> { doc, is_whole, data });

wire_variants!(ReplicaMessage:
    HELLO => Hello { since as AtMost<MAX_CURSOR_LEN>, summarizes as LastFlag },
    1 => Welcome { workspace, resumed, writable, summarizes as LastFlag },
    2 => Updates(updates as EachAs<Usual>),
    3 => Reached { cursor as AtMost<MAX_CURSOR_LEN>, is_end },
    4 => Taken { cursor as AtMost<MAX_CURSOR_LEN> },
    5 => Want(hashes as EachAs<Usual>),
    6 => Blob { hash, is_last, data },
    7 => Lacking(hash),
    8 => Refused { doc, reason as AtMost<MAX_REASON_LEN> },
    // 9 is a ping.
    10 => WantTree(hash),
    11 => Tree { hash, parts },
    12 => WantPart { hash, index },
    13 => Part { hash, index, data },
    14 => Have(hash),
    15 => Summary(summary as AtMost<MAX_SUMMARY_LEN>),
);

impl<'a> ReplicaMessage<'a> {
    /// Decodes a frame.
    pub fn decode(frame: &'a [u8]) -> Result<Self, ProtocolError> {
        let mut reader = Lib0Reader::new(frame);
        let number = reader.var_uint()?;
        if number == HELLO {
            let version = reader.var_uint()?;
            if version != VERSION {
                return Err(ProtocolError::UnknownVersion(version));
            }
        }
        let message = Self::read_fields(number, &mut reader)?;
        message.ok_or(ProtocolError::UnknownType(number))
    }

    /// Encodes a frame.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        write_var_uint(&mut out, self.number());
        if self.number() == HELLO {
            write_var_uint(&mut out, VERSION);
        }
        self.write_fields(&mut out);
        out
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn doc() -> FileId {
        FileId::parse("4f7c2a9e1b3d5f0").unwrap()
    }

    #[test]
    fn messages_come_back() {
        let hash = ContentHash::of(b"content");
        let update = |data| DocumentUpdate { doc: doc(), is_whole: true, data };
        let messages = [
            ReplicaMessage::Hello { since: "0.17.abc", summarizes: true },
            ReplicaMessage::Welcome {
                workspace: doc(),
                resumed: false,
                writable: true,
                summarizes: true,
            },
            ReplicaMessage::Updates(vec![update(&[1, 2]), update(&[])]),
            ReplicaMessage::Reached { cursor: "0.18.abc", is_end: true },
            ReplicaMessage::Taken { cursor: "0.18.abc" },
            ReplicaMessage::Want(vec![hash, hash]),
            ReplicaMessage::Blob { hash, is_last: false, data: b"cont" },
            ReplicaMessage::Lacking(hash),
            ReplicaMessage::Have(hash),
            ReplicaMessage::WantTree(hash),
            ReplicaMessage::Tree { hash, parts: &[7; 64] },
            ReplicaMessage::WantPart { hash, index: 300 },
            ReplicaMessage::Part { hash, index: 300, data: b"cont" },
            ReplicaMessage::Refused { doc: doc(), reason: "no" },
            ReplicaMessage::Summary(b"hashes"),
        ];
        for message in messages {
            let frame = message.encode();
            for len in 0..frame.len() {
                let cut = ReplicaMessage::decode(&frame[..len]);
                // The last flag is missing in messages of earlier versions.
                let is_earlier = matches!(
                    cut,
                    Ok(ReplicaMessage::Hello { summarizes: false, .. }
                        | ReplicaMessage::Welcome { summarizes: false, .. })
                );
                assert!(cut.is_err() || is_earlier && len == frame.len() - 1);
            }
            assert_eq!(ReplicaMessage::decode(&frame), Ok(message));
        }
        let (long, longer) = ("x".repeat(MAX_CURSOR_LEN + 1), "x".repeat(MAX_REASON_LEN + 1));
        for message in [
            ReplicaMessage::Hello { since: &long, summarizes: false },
            ReplicaMessage::Reached { cursor: &long, is_end: false },
            ReplicaMessage::Taken { cursor: &long },
            ReplicaMessage::Refused { doc: doc(), reason: &longer },
        ] {
            assert!(ReplicaMessage::decode(&message.encode()).is_err());
        }
        assert_eq!(ReplicaMessage::decode(&[0, 9]), Err(ProtocolError::UnknownVersion(9)));
        assert_eq!(ReplicaMessage::decode(&[99]), Err(ProtocolError::UnknownType(99)));
    }

    proptest! {
        #[test]
        fn no_bytes_are_misread(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            if let Ok(message) = ReplicaMessage::decode(&bytes) {
                let frame = message.encode();
                prop_assert_eq!(ReplicaMessage::decode(&frame), Ok(message));
            }
        }
    }
}
