//! The messages with which two stores of one workspace exchange their logs
//! (`docs/format/replicate.md`).
//!
//! Decoding is strict and never allocates more than the frame.

use yfs_engine::{
    hash::ContentHash,
    id::FileId,
    lib0::{Lib0Error, Lib0Reader, write_buffer, write_string, write_var_uint},
};

use crate::message::ProtocolError;

/// The version of the protocol.
pub const VERSION: u64 = 1;

/// The greatest number of updates or hashes in one message.
const MAX_PARTS: u64 = 1 << 16;

/// The greatest length of a log position, in bytes.
pub const MAX_CURSOR_LEN: usize = 256;

/// The greatest length of a reason, in bytes.
pub const MAX_REASON_LEN: usize = 4 << 10;

/// The greatest length of a summary, in bytes.
pub(crate) const MAX_SUMMARY_LEN: usize = 16 * ((1 << 16) + 1);

const HELLO: u64 = 0;
const WELCOME: u64 = 1;
const UPDATES: u64 = 2;
const REACHED: u64 = 3;
const TAKEN: u64 = 4;
const WANT: u64 = 5;
const BLOB: u64 = 6;
const LACKING: u64 = 7;
const REFUSED: u64 = 8;

const WANT_TREE: u64 = 10;
const TREE: u64 = 11;
const WANT_PART: u64 = 12;
const PART: u64 = 13;
const HAVE: u64 = 14;
const SUMMARY: u64 = 15;

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

impl<'a> ReplicaMessage<'a> {
    /// Decodes a frame.
    pub fn decode(frame: &'a [u8]) -> Result<Self, ProtocolError> {
        let mut reader = Lib0Reader::new(frame);
        let message = match reader.var_uint()? {
            HELLO => {
                let version = reader.var_uint()?;
                if version != VERSION {
                    return Err(ProtocolError::UnknownVersion(version));
                }
                let since = short(&mut reader, MAX_CURSOR_LEN)?;
                Self::Hello { since, summarizes: last_flag(&mut reader)? }
            }
            WELCOME => Self::Welcome {
                workspace: id(&mut reader)?,
                resumed: flag(&mut reader)?,
                writable: flag(&mut reader)?,
                summarizes: last_flag(&mut reader)?,
            },
            UPDATES => Self::Updates(updates(&mut reader)?),
            REACHED => Self::Reached {
                cursor: short(&mut reader, MAX_CURSOR_LEN)?,
                is_end: flag(&mut reader)?,
            },
            TAKEN => Self::Taken { cursor: short(&mut reader, MAX_CURSOR_LEN)? },
            WANT => {
                let n_hashes = count(&mut reader)?;
                let hashes = (0..n_hashes).map(|_| hash(&mut reader));
                Self::Want(hashes.collect::<Result<_, _>>()?)
            }
            BLOB => {
                let (hash, is_last) = (hash(&mut reader)?, flag(&mut reader)?);
                Self::Blob { hash, is_last, data: reader.buffer()? }
            }
            LACKING => Self::Lacking(hash(&mut reader)?),
            HAVE => Self::Have(hash(&mut reader)?),
            WANT_TREE => Self::WantTree(hash(&mut reader)?),
            TREE => Self::Tree { hash: hash(&mut reader)?, parts: reader.buffer()? },
            WANT_PART => Self::WantPart { hash: hash(&mut reader)?, index: reader.var_uint()? },
            PART => {
                let (hash, index) = (hash(&mut reader)?, reader.var_uint()?);
                Self::Part { hash, index, data: reader.buffer()? }
            }
            REFUSED => {
                Self::Refused { doc: id(&mut reader)?, reason: short(&mut reader, MAX_REASON_LEN)? }
            }
            SUMMARY => {
                let summary = reader.buffer()?;
                if summary.len() > MAX_SUMMARY_LEN {
                    return Err(Lib0Error::Parts.into());
                }
                Self::Summary(summary)
            }
            other => return Err(ProtocolError::UnknownType(other)),
        };
        Ok(message)
    }

    /// Encodes a frame.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        match self {
            Self::Hello { since, summarizes } => {
                write_var_uint(&mut out, HELLO);
                write_var_uint(&mut out, VERSION);
                write_string(&mut out, since);
                write_flag(&mut out, *summarizes);
            }
            Self::Welcome { workspace, resumed, writable, summarizes } => {
                write_var_uint(&mut out, WELCOME);
                write_string(&mut out, workspace.as_str());
                write_flag(&mut out, *resumed);
                write_flag(&mut out, *writable);
                write_flag(&mut out, *summarizes);
            }
            Self::Updates(updates) => {
                write_var_uint(&mut out, UPDATES);
                write_updates(&mut out, updates);
            }
            Self::Reached { cursor, is_end } => {
                write_var_uint(&mut out, REACHED);
                write_string(&mut out, cursor);
                write_flag(&mut out, *is_end);
            }
            Self::Taken { cursor } => {
                write_var_uint(&mut out, TAKEN);
                write_string(&mut out, cursor);
            }
            Self::Want(hashes) => {
                write_var_uint(&mut out, WANT);
                write_var_uint(&mut out, hashes.len() as u64);
                for hash in hashes {
                    out.extend_from_slice(hash.as_bytes());
                }
            }
            Self::Blob { hash, is_last, data } => {
                write_hash(&mut out, BLOB, hash);
                write_flag(&mut out, *is_last);
                write_buffer(&mut out, data);
            }
            Self::Lacking(hash) => write_hash(&mut out, LACKING, hash),
            Self::Have(hash) => write_hash(&mut out, HAVE, hash),
            Self::WantTree(hash) => write_hash(&mut out, WANT_TREE, hash),
            Self::Tree { hash, parts } => {
                write_hash(&mut out, TREE, hash);
                write_buffer(&mut out, parts);
            }
            Self::WantPart { hash, index } => {
                write_hash(&mut out, WANT_PART, hash);
                write_var_uint(&mut out, *index);
            }
            Self::Part { hash, index, data } => {
                write_hash(&mut out, PART, hash);
                write_var_uint(&mut out, *index);
                write_buffer(&mut out, data);
            }
            Self::Refused { doc, reason } => {
                write_var_uint(&mut out, REFUSED);
                write_string(&mut out, doc.as_str());
                write_string(&mut out, reason);
            }
            Self::Summary(summary) => {
                write_var_uint(&mut out, SUMMARY);
                write_buffer(&mut out, summary);
            }
        }
        out
    }
}

fn updates<'a>(reader: &mut Lib0Reader<'a>) -> Result<Vec<DocumentUpdate<'a>>, Lib0Error> {
    let n_updates = count(reader)?;
    let update = |_| {
        let (doc, is_whole) = (id(reader)?, flag(reader)?);
        Ok(DocumentUpdate { doc, is_whole, data: reader.buffer()? })
    };
    (0..n_updates).map(update).collect()
}

fn write_updates(out: &mut Vec<u8>, updates: &[DocumentUpdate<'_>]) {
    write_var_uint(out, updates.len() as u64);
    for update in updates {
        write_string(out, update.doc.as_str());
        write_flag(out, update.is_whole);
        write_buffer(out, update.data);
    }
}

fn count(reader: &mut Lib0Reader<'_>) -> Result<u64, Lib0Error> {
    reader.var_uint().and_then(|n| if n <= MAX_PARTS { Ok(n) } else { Err(Lib0Error::Parts) })
}

/// Reads a string of at most `max_len` bytes.
fn short<'a>(reader: &mut Lib0Reader<'a>, max_len: usize) -> Result<&'a str, Lib0Error> {
    reader
        .string()
        .and_then(|text| if text.len() <= max_len { Ok(text) } else { Err(Lib0Error::Parts) })
}

fn flag(reader: &mut Lib0Reader<'_>) -> Result<bool, Lib0Error> {
    Ok(reader.u8()? == 1)
}

/// Reads a flag that messages of earlier versions end without.
fn last_flag(reader: &mut Lib0Reader<'_>) -> Result<bool, Lib0Error> {
    if reader.remaining() == 0 { Ok(false) } else { flag(reader) }
}

fn id(reader: &mut Lib0Reader<'_>) -> Result<FileId, Lib0Error> {
    FileId::parse(reader.string()?).map_err(|_| Lib0Error::Parts)
}

fn hash(reader: &mut Lib0Reader<'_>) -> Result<ContentHash, Lib0Error> {
    let bytes: [u8; 32] = reader.take(32)?.try_into().expect("as many as were asked for");
    Ok(ContentHash::from_bytes(bytes))
}

/// Writes the type of a message about a blob, and the hash of the blob.
fn write_hash(out: &mut Vec<u8>, message_type: u64, hash: &ContentHash) {
    write_var_uint(out, message_type);
    out.extend_from_slice(hash.as_bytes());
}

fn write_flag(out: &mut Vec<u8>, flag: bool) {
    out.push(u8::from(flag));
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
