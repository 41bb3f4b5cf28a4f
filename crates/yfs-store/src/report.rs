//! What a store can say about itself.

use yfs_types::hash::ContentHash;

use crate::{DocName, Seq};

/// Facts about the content of a document, as a process computed them.
///
/// Local knowledge: it lets `stat` answer without opening the document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DocFact {
    /// The document's head for which it was computed.
    pub upto: Seq,
    /// The length of what reading it returns, in bytes.
    pub size: u64,
    /// A hash of further facts; the process that stores the fact defines it.
    pub hash: Option<ContentHash>,
}

/// What the store holds of one document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocStats {
    /// Which.
    pub doc: DocName,
    /// Records that are not compacted.
    pub n_records: u64,
    /// Their size.
    pub bytes: u64,
    /// The size of the snapshot.
    pub snapshot_bytes: u64,
    /// The last position that ever held a record of it.
    pub head: Seq,
}

/// What the store holds altogether.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StoreStats {
    /// Documents that were ever written to.
    pub n_docs: u64,
    /// Records that are not compacted.
    pub n_records: u64,
    /// Their size.
    pub record_bytes: u64,
    /// The size of all snapshots.
    pub snapshot_bytes: u64,
    /// Blobs.
    pub n_blobs: u64,
    /// Their size when read, each counted once.
    pub blob_bytes: u64,
    /// Updates in quarantine.
    pub n_quarantined: u64,
    /// How often these were refused.
    pub n_refused: u64,
    /// The size of those that are kept.
    pub quarantine_bytes: u64,
    /// Updates that were dropped from quarantine because there was too much, ever.
    pub n_quarantine_dropped: u64,
    /// What the store takes on the disk, or in memory.
    pub file_bytes: u64,
    /// The head of the log.
    pub head: Seq,
}

/// What a check found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CheckReport {
    /// Records that were read.
    pub n_records: u64,
    /// Snapshots that were read.
    pub n_snapshots: u64,
    /// Blobs that were read.
    pub n_blobs: u64,
    /// What is wrong. Empty if all is well.
    pub problems: Vec<CheckProblem>,
}

/// A fault that a check found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckProblem {
    /// The document concerned, if it is one.
    pub doc: Option<DocName>,
    /// What is wrong, for a person to read.
    pub what: String,
}
