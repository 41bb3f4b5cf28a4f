//! What goes into the log and what comes out of it.

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
/// Invariant: what [`FileId`] allows.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DocName(SmolStr);

/// Why a text is not the guid of a document.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("not a document name")]
pub struct DocNameError(#[from] IdError);

/// A position in the log. Records are numbered from 1, in the order in which they became visible.
///
/// No number is ever given twice, not even after everything was deleted. Gaps mean nothing.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Seq(pub u64);

/// Says which open handle appended a record: a random number per handle, never stored for longer
/// than its records.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HandleOrigin(pub u64);

/// The last record of a document at some time: where it stands, and which handle appended it.
///
/// A store that is replaced by an older copy of itself gives the same positions to other records,
/// but another handle appends them. So equal heads identify the same records of the document.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DocHead {
    /// Where the record stands, or zero if the document has none.
    pub seq: Seq,
    /// Which handle appended it.
    pub origin: HandleOrigin,
}

/// A head that a document had before compaction replaced its record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PastHead {
    /// The head.
    pub head: DocHead,
    /// What the record changed, as [`MergedSnapshot::changes`](crate::MergedSnapshot::changes)
    /// described it.
    pub change: Vec<u8>,
}

/// A document with the heads that it had before.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DocHistory {
    /// The document as it stands.
    pub loaded: StoredDocument,
    /// The latest heads that the snapshot covers, in order, without gaps. Empty if they are not
    /// known.
    pub past_heads: Vec<PastHead>,
}

/// One update in the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogRecord {
    /// Where it stands.
    pub seq: Seq,
    /// Which document it belongs to.
    pub doc: DocName,
    /// Which handle appended it.
    pub origin: HandleOrigin,
    /// The time of the append, by the clock of the process that appended it.
    pub at: Millis,
    /// The update.
    pub data: Vec<u8>,
}

/// Updates that become visible together or not at all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AppendBatch {
    /// The updates, in order.
    pub updates: Vec<(DocName, Vec<u8>)>,
    /// The batch is rejected if another writer appended to one of these documents in between.
    pub expect: Vec<HeadPrecondition>,
    /// Blobs that the updates name. The batch is refused with
    /// [`NoBlob`](crate::StoreError::NoBlob) unless all of them are in the store, and counts as
    /// putting them: no removal that was decided before takes them.
    pub blobs: Vec<ContentHash>,
    /// Documents for which the writer asks whether another writer appended in between; see
    /// [`AppendReceipt::overtaken`].
    pub watch: Vec<HeadPrecondition>,
    /// Facts of documents that this batch writes, whose `upto` is the document's head before it. A
    /// fact is kept if nothing was appended to its document meanwhile, and then holds as of this
    /// batch's last record of the document; otherwise, or if there is no such document, it is
    /// dropped.
    pub facts: Vec<(DocName, DocFact)>,
    /// When this happens, by the caller's clock.
    pub at: Millis,
    /// What must be true when the append returns.
    pub durability: Durability,
}

/// A condition on the head of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeadPrecondition {
    /// The document that must not have moved.
    pub doc: DocName,
    /// What the writer has tailed or loaded up to. Records that this handle appended itself do not
    /// count, wherever they stand: their writer knows them.
    pub seen: Seq,
}

/// What must be true of a batch when its append returns.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// It survives the death of this process. A power cut may take about the last second.
    #[default]
    Buffered,
    /// It survives a power cut as well.
    Synced,
}

/// Where a batch went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AppendReceipt {
    /// Its first record. If the batch had no updates: the head.
    pub first: Seq,
    /// Its last record. If the batch had no updates: the head.
    pub last: Seq,
    /// Another handle had appended to one of the documents that the batch
    /// [watches](AppendBatch::watching), after what its writer had seen of it.
    pub overtaken: bool,
}

/// A document as it stands.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StoredDocument {
    /// What compaction made of older records.
    pub snapshot: Option<Vec<u8>>,
    /// The records that are not in the snapshot, in order. Some may be in it as well.
    pub updates: Vec<LogRecord>,
    /// Up to where records may be in the snapshot.
    pub snapshot_upto: Seq,
    /// The last record that this document ever had.
    pub head: DocHead,
    /// The head of the whole log at the time: nothing of this document up to here is missing.
    pub upto: Seq,
    /// Records that could not be read. They are left out of `updates`.
    pub damaged: Vec<DamagedRecord>,
}

/// A page of what happened after some position.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TailPage {
    /// Documents some of whose records after that position were compacted away before they could
    /// be returned here: a process that holds one must load it again and apply it. Nothing need be
    /// reset.
    pub reload: Vec<ReloadNotice>,
    /// The records of documents that the caller wanted, in order.
    pub records: Vec<LogRecord>,
    /// Every document that has a record in this page, wanted or not, in order of `head`.
    pub touched: Vec<TouchedDocument>,
    /// Continue from here.
    pub upto: Seq,
    /// The head of the log at the time.
    pub head: Seq,
    /// Whether there is more between `upto` and `head`.
    pub more: bool,
    /// Records that could not be read. They are left out of `records`.
    pub damaged: Vec<DamagedRecord>,
}

/// A document that must be loaded again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReloadNotice {
    /// Which.
    pub doc: DocName,
    /// Unless it was already loaded up to here or beyond.
    pub upto: Seq,
    /// Whether its content was removed by [`forget`](crate::Store::forget), rather than compacted.
    pub forgotten: bool,
}

/// A document that has a record in a page of the tail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TouchedDocument {
    /// Which.
    pub doc: DocName,
    /// Its last record in the page.
    pub head: Seq,
    /// Whether all its records in the page were appended by this handle.
    pub own: bool,
}

/// A record or snapshot that cannot be read any more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DamagedRecord {
    /// Whose it was.
    pub doc: DocName,
    /// Where it stands; for a snapshot, what it reached up to.
    pub seq: Seq,
    /// What is wrong, for a person to read.
    pub reason: String,
}

impl DocName {
    /// Parses a guid that another program made.
    pub fn parse(text: &str) -> Result<Self, DocNameError> {
        Ok(Self::from(&FileId::parse(text)?))
    }

    /// Returns the name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl HandleOrigin {
    /// Makes one up.
    pub(crate) fn random() -> Self {
        // Six bytes suffice to tell handles apart, and every record pays for them.
        Self(random() >> 17)
    }
}

impl DocHead {
    /// The head of a document without records.
    pub const ZERO: Self = Self { seq: Seq::ZERO, origin: HandleOrigin(0) };
}

impl LogRecord {
    /// Returns the head of the document when this was its last record.
    pub fn head(&self) -> DocHead {
        DocHead { seq: self.seq, origin: self.origin }
    }
}

impl Seq {
    /// Before the first record.
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

    /// Refuses the batch if another handle appended to `doc` after `seen`. Conditions add up.
    #[must_use]
    pub fn expecting(mut self, doc: DocName, seen: Seq) -> Self {
        self.expect.push(HeadPrecondition { doc, seen });
        self
    }

    /// Asks whether another handle appended to `doc` after `seen`, which refuses nothing.
    #[must_use]
    pub fn watching(mut self, doc: DocName, seen: Seq) -> Self {
        self.watch.push(HeadPrecondition { doc, seen });
        self
    }

    /// Makes the append return only when a power cut cannot undo it.
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

/// Makes up the client ids of one writer.
pub(crate) fn new_ids() -> [ClientId; 4] {
    [(); 4].map(|()| ClientId::from_random(random()))
}

fn random() -> u64 {
    getrandom::u64().expect("the operating system has a random source")
}
