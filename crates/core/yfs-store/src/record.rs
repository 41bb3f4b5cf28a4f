//! The input and the output of the log: batches, records, loaded documents and pages.

use std::{borrow::Borrow, fmt};

use smol_str::SmolStr;
use thiserror::Error;
use yfs_types::{
    hash::ContentHash,
    id::{ClientId, FileId, IdError},
    time::Millis,
};

use crate::DocFact;

/// The guid of a document.
///
/// Invariant: a valid [`FileId`].
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DocName(SmolStr);

/// The error of a text that is not the guid of a document.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("invalid document name")]
pub struct DocNameError(#[from] IdError);

/// A position in the log. Records are numbered from 1, in the order in which they became visible.
///
/// A number is never given twice, not even after everything was deleted. Gaps mean nothing.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Seq(pub u64);

/// The open handle that appended a record: a random number per handle, stored only as long as its
/// records.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HandleOrigin(pub u64);

/// The last record of a document at some time: its position, and the handle that appended it.
///
/// A store that is replaced by an older copy of itself gives the same positions to other records,
/// but another handle appends them. So equal heads identify the same records of the document.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DocHead {
    /// The position of the record, or zero if the document has none.
    pub seq: Seq,
    /// The handle that appended it.
    pub origin: HandleOrigin,
}

/// A head that a document had before compaction replaced its record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PastHead {
    /// The head.
    pub head: DocHead,
    /// The change that the record made, from
    /// [`MergedSnapshot::changes`](crate::MergedSnapshot::changes).
    pub change: Vec<u8>,
}

/// A document with its earlier heads.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DocHistory {
    /// The document in its current state.
    pub loaded: StoredDocument,
    /// The latest heads that the snapshot covers, in order, without gaps. Empty if they are
    /// unknown.
    pub past_heads: Vec<PastHead>,
}

/// One update in the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogRecord {
    /// Its position.
    pub seq: Seq,
    /// The document that it belongs to.
    pub doc: DocName,
    /// The handle that appended it.
    pub origin: HandleOrigin,
    /// When it was appended, by the clock of the process that appended it.
    pub at: Millis,
    /// The update.
    pub data: Vec<u8>,
}

/// A batch of updates that become visible together or not at all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AppendBatch {
    /// The updates, in order.
    pub updates: Vec<(DocName, Vec<u8>)>,
    /// Preconditions. The batch is rejected if another handle has appended to one of these
    /// documents.
    pub expect: Vec<HeadPrecondition>,
    /// Blobs that the updates name. The batch is rejected with
    /// [`NoBlob`](crate::StoreError::NoBlob) unless all of them are in the store. It counts as
    /// putting them: a removal that was decided earlier keeps them.
    pub blobs: Vec<ContentHash>,
    /// Documents for which the receipt reports appends of other handles; see
    /// [`AppendReceipt::overtaken`].
    pub watch: Vec<HeadPrecondition>,
    /// Facts of documents that this batch writes; `upto` is the document's head before the batch.
    /// If no other record was appended to the document meanwhile, the fact is kept, with the
    /// batch's last record of the document as its `upto`; otherwise, or if the document does not
    /// exist, it is dropped.
    pub facts: Vec<(DocName, DocFact)>,
    /// The time of the batch, by the caller's clock.
    pub at: Millis,
    /// The durability that the append reaches before it returns.
    pub durability: Durability,
}

/// A precondition on the head of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeadPrecondition {
    /// The document that must not have a newer record of another handle.
    pub doc: DocName,
    /// The position up to which the writer has tailed or loaded. Records that this handle appended
    /// do not count at any position: their writer knows them.
    pub seen: Seq,
}

/// The durability of a batch when its append returns.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// Survives the death of this process. A power cut may lose about the last second.
    #[default]
    Buffered,
    /// Survives a power cut as well.
    Synced,
}

/// The positions of an appended batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AppendReceipt {
    /// Its first record. If the batch had no updates: the head.
    pub first: Seq,
    /// Its last record. If the batch had no updates: the head.
    pub last: Seq,
    /// Whether another handle had appended to one of the documents that the batch
    /// [watches](AppendBatch::watching), after the position that its writer had read up to.
    pub overtaken: bool,
}

/// A document in its current state.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StoredDocument {
    /// The snapshot that compaction made of older records.
    pub snapshot: Option<Vec<u8>>,
    /// The records after the snapshot, in order. Some of them may be in the snapshot as well.
    pub updates: Vec<LogRecord>,
    /// The position up to which records may be in the snapshot.
    pub snapshot_upto: Seq,
    /// The last record that this document ever had.
    pub head: DocHead,
    /// The head of the whole log at the time of reading. All records of this document up to it are
    /// included.
    pub upto: Seq,
    /// Records that could not be read. They are not in `updates`.
    pub damaged: Vec<DamagedRecord>,
}

/// A page of the log after some position.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TailPage {
    /// Documents with records after that position that compaction removed before this call could
    /// return them. A caller that has such a document loaded must load it again and apply the
    /// result; it need not reset anything.
    pub reload: Vec<ReloadNotice>,
    /// The records that the caller selected, in order.
    pub records: Vec<LogRecord>,
    /// Every document that has a record in this page, selected or not, in order of `head`.
    pub touched: Vec<TouchedDocument>,
    /// The position to continue from.
    pub upto: Seq,
    /// The head of the log at the time of reading.
    pub head: Seq,
    /// Whether there are records between `upto` and `head`.
    pub more: bool,
    /// Records that could not be read. They are not in `records`.
    pub damaged: Vec<DamagedRecord>,
}

/// A document that must be loaded again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReloadNotice {
    /// The document.
    pub doc: DocName,
    /// The position up to which it must be loaded; a caller that has loaded it so far need not.
    pub upto: Seq,
    /// Whether [`forget`](crate::UpdateLog::forget) removed the content, rather than compaction.
    pub forgotten: bool,
}

/// A document that has a record in a page of the tail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TouchedDocument {
    /// The document.
    pub doc: DocName,
    /// Its last record in the page.
    pub head: Seq,
    /// Whether all its records in the page were appended by this handle.
    pub own: bool,
}

/// A record or snapshot that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DamagedRecord {
    /// Its document.
    pub doc: DocName,
    /// Its position; for a snapshot, the position up to which it covers records.
    pub seq: Seq,
    /// A description of the damage, for people.
    pub reason: String,
}

impl DocName {
    /// Parses a guid.
    pub fn parse(text: &str) -> Result<Self, DocNameError> {
        Ok(Self::from(&FileId::parse(text)?))
    }

    /// Returns the name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl HandleOrigin {
    /// Makes a random origin.
    pub(crate) fn random() -> Self {
        // Six bytes are enough to distinguish handles, and every record stores them.
        Self(random() >> 17)
    }
}

impl DocHead {
    /// The head of a document without records.
    pub const ZERO: Self = Self { seq: Seq::ZERO, origin: HandleOrigin(0) };
}

impl LogRecord {
    /// Returns the head that the document had when this was its last record.
    pub fn head(&self) -> DocHead {
        DocHead { seq: self.seq, origin: self.origin }
    }
}

impl Seq {
    /// The position before the first record.
    pub const ZERO: Self = Self(0);
}

impl AppendBatch {
    /// Makes a buffered, unconditional batch of one update.
    pub fn one(doc: DocName, update: Vec<u8>, at: Millis) -> Self {
        Self::new(vec![(doc, update)], at)
    }

    /// Makes a buffered, unconditional batch.
    pub fn new(updates: Vec<(DocName, Vec<u8>)>, at: Millis) -> Self {
        let durability = Durability::default();
        Self {
            updates,
            expect: Vec::new(),
            blobs: Vec::new(),
            watch: Vec::new(),
            facts: Vec::new(),
            at,
            durability,
        }
    }

    /// Adds a precondition: the batch is rejected if another handle appended to `doc` after `seen`.
    #[must_use]
    pub fn expecting(mut self, doc: DocName, seen: Seq) -> Self {
        self.expect.push(HeadPrecondition { doc, seen });
        self
    }

    /// Asks the receipt to report whether another handle appended to `doc` after `seen`. This never
    /// rejects the batch.
    #[must_use]
    pub fn watching(mut self, doc: DocName, seen: Seq) -> Self {
        self.watch.push(HeadPrecondition { doc, seen });
        self
    }

    /// Makes the append return only once it survives a power cut.
    #[must_use]
    pub fn synced(mut self) -> Self {
        self.durability = Durability::Synced;
        self
    }
}

impl From<&FileId> for DocName {
    fn from(id: &FileId) -> Self {
        Self(SmolStr::new(id.as_str()))
    }
}

impl From<&DocName> for FileId {
    fn from(doc: &DocName) -> Self {
        Self::parse(&doc.0).expect("a document name is a file id")
    }
}

impl Borrow<str> for DocName {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for DocName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for DocName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for Seq {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// Returns random client ids for one writer.
pub(crate) fn new_ids() -> [ClientId; 4] {
    [(); 4].map(|()| ClientId::from_random(random()))
}

fn random() -> u64 {
    getrandom::u64().expect("the operating system has a random source")
}
