//! Facts of documents as settings of the local state.
//!
//! The local state does not know the log, so a fact is kept with the record that was its document's
//! last. If the log is replaced by an older copy, or lost records in a power cut, another handle
//! appends other records at the same positions, and the fact does not hold for them.

use yfs_types::hash::ContentHash;

use crate::{DocFact, DocHead, DocName, HandleOrigin, Seq};

/// The length of an entry without a hash.
const SHORT_LEN: usize = 24;

/// A fact, and the last record of its document when it was computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FactEntry {
    /// The record.
    pub(super) head: DocHead,
    /// The fact; its `upto` is the position of the record.
    pub(super) fact: DocFact,
}

impl FactEntry {
    /// Returns the key of the setting that has the fact of a document.
    pub(super) fn key(doc: &DocName) -> String {
        format!("store:fact:{doc}")
    }

    /// Makes the entry of a fact that was computed at a head.
    pub(super) fn new(head: DocHead, fact: DocFact) -> Self {
        Self { head, fact: DocFact { upto: head.seq, ..fact } }
    }

    /// Returns the bytes of the setting: position, handle and size, 8 bytes each in little-endian
    /// order, and the 32 bytes of the hash if there is one.
    pub(super) fn encode(&self) -> Vec<u8> {
        let numbers = [self.head.seq.0, self.head.origin.0, self.fact.size];
        let mut bytes: Vec<u8> = numbers.into_iter().flat_map(u64::to_le_bytes).collect();
        bytes.extend(self.fact.hash.iter().flat_map(ContentHash::as_bytes));
        bytes
    }

    /// Reads the bytes of a setting; `None` if they are no entry.
    pub(super) fn decode(bytes: &[u8]) -> Option<Self> {
        let (numbers, hash) = bytes.split_at_checked(SHORT_LEN)?;
        let number = |index: usize| {
            let bytes = numbers.get(index * 8..index * 8 + 8)?;
            Some(u64::from_le_bytes(bytes.try_into().ok()?))
        };
        let head = DocHead { seq: Seq(number(0)?), origin: HandleOrigin(number(1)?) };
        let hash = match hash {
            [] => None,
            hash => Some(ContentHash::from_bytes(hash.try_into().ok()?)),
        };
        Some(Self::new(head, DocFact { upto: head.seq, size: number(2)?, hash }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_read_as_they_were_written() {
        let head = DocHead { seq: Seq(7), origin: HandleOrigin(u64::MAX) };
        for hash in [None, Some(ContentHash::of(b"content"))] {
            let entry = FactEntry::new(head, DocFact { upto: Seq(7), size: 3, hash });
            let bytes = entry.encode();
            assert_eq!(FactEntry::decode(&bytes), Some(entry));
            assert_eq!(FactEntry::decode(&bytes[..bytes.len() - 1]), None);
            assert_eq!(FactEntry::decode(&[&bytes[..], b"x"].concat()), None);
        }
        assert_eq!(FactEntry::decode(b""), None);
    }
}
