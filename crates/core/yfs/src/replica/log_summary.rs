//! A summary of a log, by which two stores that never met, or forgot each other's positions, find
//! out what they need not send.
//!
//! Documents are put into groups by the hash of their ids, and each group has one hash. So the
//! summary of 10,000 documents takes 32 KB. Of a group that differs, all documents are sent.

use std::sync::Arc;

use yfs_engine::{gate::ItemSet, hash::ContentHash, id::FileId};
use yfs_store::{DocName, Seq, StoredDocument};

use crate::{Replication, error::Result, state::WorkspaceState};

/// The length of the hash of a group, in bytes.
const GROUP_HASH_LEN: usize = 16;

/// The greatest number of groups in a summary.
const MAX_GROUPS: usize = 1 << 16;

/// The number of documents in a group, on average, if there are not too many.
const GROUP_SIZE: usize = 8;

/// The number of documents that are read at once.
const PAGE_LEN: usize = 256;

/// The hash of a group.
type GroupHash = [u8; GROUP_HASH_LEN];

/// What a log contains, by groups of documents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogSummary {
    /// The position up to which the log is summarized.
    upto: Seq,
    /// The hash of the main document, then those of the groups: a power of two of them. Empty if
    /// the log is.
    groups: Vec<GroupHash>,
}

/// The documents that the other side of an exchange has as this side has them.
#[derive(Debug, Clone, Default)]
pub(super) struct EqualDocuments {
    /// Up to this position in the log.
    upto: Seq,
    main: bool,
    groups: Vec<bool>,
}

impl LogSummary {
    /// Returns the summary of an empty log.
    pub fn empty() -> Self {
        Self { upto: Seq::ZERO, groups: Vec::new() }
    }

    /// Reports whether the log is empty.
    pub fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    /// Returns the hashes, one after another, to send them.
    pub fn to_bytes(&self) -> Vec<u8> {
        self.groups.concat()
    }

    /// Reads what [`to_bytes`](Self::to_bytes) returned; `None` if it is malformed.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (groups, rest) = bytes.as_chunks::<GROUP_HASH_LEN>();
        let n_groups = groups.len().saturating_sub(1);
        let is_usual = n_groups.is_power_of_two() && n_groups <= MAX_GROUPS;
        if !rest.is_empty() || !(groups.is_empty() || is_usual) {
            return None;
        }
        Some(Self { upto: Seq::ZERO, groups: groups.to_vec() })
    }

    /// Compares this log with that of the other side.
    pub(super) fn equal_documents(&self, theirs: &Self) -> EqualDocuments {
        if self.groups.len() != theirs.groups.len() || self.is_empty() {
            return EqualDocuments::default();
        }
        let mut equal = self.groups.iter().zip(&theirs.groups).map(|(own, other)| own == other);
        let main = equal.next().unwrap_or(false);
        EqualDocuments { upto: self.upto, main, groups: equal.collect() }
    }
}

impl EqualDocuments {
    /// Reports whether the other side has a record of a document, or all of it up to there.
    pub(super) fn contain(&self, state: &Arc<WorkspaceState>, doc: &DocName, seq: Seq) -> bool {
        seq <= self.upto
            && match *doc == state.main_name {
                true => self.main,
                false => self.groups[group_of(doc, self.groups.len())],
            }
    }
}

impl Replication<'_> {
    /// Summarizes the log in as many groups as the other side has, or in as many as fit. Reads all
    /// documents, but does not load them.
    pub fn summarize(&self, like: Option<&LogSummary>) -> Result<LogSummary> {
        self.state.check_open()?;
        // What is logged meanwhile may be in the summary, and is sent nevertheless.
        let upto = self.state.store.head()?;
        let mut documents: Vec<DocName> =
            self.state.store.documents()?.into_iter().map(|stats| stats.doc).collect();
        if documents.is_empty() {
            return Ok(LogSummary::empty());
        }
        let n_groups = like.map_or_else(
            || (documents.len() / GROUP_SIZE).next_power_of_two().min(MAX_GROUPS),
            |like| like.groups.len().saturating_sub(1).max(1),
        );
        // The hash of a group depends on the order of its documents.
        documents.sort_unstable();
        let mut groups = vec![blake3::Hasher::new(); n_groups];
        let mut main = GroupHash::default();
        for page in documents.chunks(PAGE_LEN) {
            for (doc, hash) in page.iter().zip(self.document_hashes(page)?) {
                let Some(hash) = hash else { continue };
                if *doc == self.state.main_name {
                    main = short_hash(hash.as_bytes());
                } else {
                    groups[group_of(doc, n_groups)].update(hash.as_bytes());
                }
            }
        }
        let groups = groups.into_iter().map(|hasher| short_hash(hasher.finalize().as_bytes()));
        Ok(LogSummary { upto, groups: std::iter::once(main).chain(groups).collect() })
    }

    /// Returns hashes of documents. An empty one has none, and one that cannot be compared has a
    /// random one.
    fn document_hashes(&self, docs: &[DocName]) -> Result<Vec<Option<ContentHash>>> {
        let singles = self.state.store.load_single(docs)?;
        let hashes = docs.iter().zip(singles).map(|(doc, single)| {
            Ok(match single {
                Some(record) => hash_of(doc, [&record.data[..]]),
                None => hash_of_stored(doc, &self.state.store.load(doc)?),
            })
        });
        hashes.collect()
    }
}

fn hash_of_stored(doc: &DocName, stored: &StoredDocument) -> Option<ContentHash> {
    if !stored.damaged.is_empty() {
        return Some(random_hash());
    }
    let records = stored.updates.iter().map(|record| &record.data[..]);
    hash_of(doc, stored.snapshot.iter().map(|snapshot| &snapshot[..]).chain(records))
}

fn hash_of<'u>(doc: &DocName, updates: impl IntoIterator<Item = &'u [u8]>) -> Option<ContentHash> {
    let mut set = ItemSet::default();
    for update in updates {
        if set.add(update).is_err() {
            return Some(random_hash());
        }
    }
    let is_empty = set.is_empty();
    (!is_empty).then(|| set.hash(&FileId::from(doc)).unwrap_or_else(random_hash))
}

fn random_hash() -> ContentHash {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).expect("the operating system has a random source");
    ContentHash::from_bytes(bytes)
}

fn group_of(doc: &DocName, n_groups: usize) -> usize {
    let hash = blake3::hash(FileId::from(doc).as_str().as_bytes());
    let (first, _) = hash.as_bytes().split_first_chunk::<4>().expect("32 bytes");
    u32::from_le_bytes(*first) as usize & (n_groups - 1)
}

fn short_hash(hash: &[u8; 32]) -> GroupHash {
    *hash.first_chunk().expect("32 bytes")
}
