//! What a store reports about itself.

use yfs_types::hash::ContentHash;

use crate::{DocName, Seq};

/// The size and a hash of the content of a document, as a process computed them.
///
/// A fact is local: it lets `stat` answer without opening the document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DocFact {
    /// The document's head for which it was computed.
    pub upto: Seq,
    /// The length of the content as a reader sees it, in bytes.
    pub size: u64,
    /// A hash of further properties, defined by the process that keeps the fact.
    pub hash: Option<ContentHash>,
}

/// The size of one document in the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocStats {
    /// The document.
    pub doc: DocName,
    /// Records that are not compacted.
    pub n_records: u64,
    /// Their size, in bytes.
    pub bytes: u64,
    /// The size of the snapshot, in bytes.
    pub snapshot_bytes: u64,
    /// The last position that ever had a record of the document.
    pub head: Seq,
}

/// The size of the whole store.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StoreStats {
    /// Documents that were ever written to.
    pub n_docs: u64,
    /// Records that are not compacted.
    pub n_records: u64,
    /// Their size, in bytes.
    pub record_bytes: u64,
    /// The size of all snapshots, in bytes.
    pub snapshot_bytes: u64,
    /// The number of blobs.
    pub n_blobs: u64,
    /// Their uncompressed size in bytes, each blob counted once.
    pub blob_bytes: u64,
    /// Updates in quarantine.
    pub n_quarantined: u64,
    /// How often these were rejected.
    pub n_refused: u64,
    /// The size of those that are kept, in bytes.
    pub quarantine_bytes: u64,
    /// Updates that were ever dropped from quarantine because a limit was reached.
    pub n_quarantine_dropped: u64,
    /// The size of the store on disk, or in memory, in bytes.
    pub file_bytes: u64,
    /// The head of the log.
    pub head: Seq,
}

/// The result of a check.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CheckReport {
    /// Records that were read.
    pub n_records: u64,
    /// Snapshots that were read.
    pub n_snapshots: u64,
    /// Blobs that were read.
    pub n_blobs: u64,
    /// The problems that were found. Empty if the store is sound.
    pub problems: Vec<CheckProblem>,
}

/// A problem that a check found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckProblem {
    /// The document concerned, if the problem is in one.
    pub doc: Option<DocName>,
    /// The blob concerned, if the problem is in one.
    pub blob: Option<ContentHash>,
    /// A description of the problem, for people.
    pub description: String,
}

impl CheckProblem {
    /// Creates a problem of a document.
    pub(crate) fn of_doc(doc: DocName, description: String) -> Self {
        Self { doc: Some(doc), blob: None, description }
    }
}
