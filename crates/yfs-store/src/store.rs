//! The contract of a store.
//!
//! # Order and visibility
//!
//! - A record is visible to every handle of every process from the moment its append returned, and
//!   to none before it was committed: every call that begins afterwards counts it. A reader that
//!   goes by [`Seq`] misses nothing: no record becomes visible behind one that was visible before.
//! - What a caller has seen moves only by [`tail`](Store::tail) and [`load`](Store::load). The
//!   position of an own append says nothing about what others wrote before it.
//! - Each reading call is one consistent view of the present, except where it says so.
//!
//! # Failure
//!
//! A call that returns an error has changed nothing. One that returns `Ok` survives the death of
//! the process; once [`flush`](Store::flush) returned, everything before it survives a power cut.
//!
//! # Threads
//!
//! Every method may be called from any thread and blocks until it is done: microseconds for an
//! append, longer for what says so. `docs/decisions/0003` says why the trait is not asynchronous.

use std::{
    error::Error,
    fmt::Debug,
    io::{Read, Write},
    ops::Range,
    path::{Path, PathBuf},
    time::Duration,
};

use yfs_types::{hash::ContentHash, id::ClientId, time::Millis};

use crate::{
    AppendBatch, AppendReceipt, BlobInfo, BlobMark, CheckReport, DocFact, DocHead, DocHistory,
    DocName, DocStats, HandleOrigin, LogRecord, QuarantinedUpdate, Seq, StoreError, StoreStats,
    StoredDocument, TailPage,
};

/// A durable log of updates to documents, shared by processes, plus blobs and local tables.
pub trait Store: Send + Sync + Debug {
    /// Returns what marks the records of this handle.
    ///
    /// Conditions ([`Expect`](crate::HeadPrecondition)) do not count own records, so two
    /// independent writers need two handles.
    fn origin(&self) -> HandleOrigin;

    /// Appends all updates of a batch, or none.
    ///
    /// Fails with [`StoreError::HeadMoved`] if one of the batch's conditions does not hold, and
    /// with
    /// [`StoreError::NoBlob`] if a blob that it names is not in the store.
    fn append(&self, batch: AppendBatch) -> Result<AppendReceipt, StoreError>;

    /// Reads a document; one that was never written is empty.
    fn load(&self, doc: &DocName) -> Result<StoredDocument, StoreError>;

    /// Reads a document, and the latest heads that it had before compaction replaced their records.
    ///
    /// At most 16,384 heads are kept, and only while their changes take no more than 1 MiB.
    fn load_history(&self, doc: &DocName) -> Result<DocHistory, StoreError>;

    /// Reads a page of what was appended after a position, by this handle as well.
    ///
    /// `wanted` says by document and origin which records to return; of the others only
    /// [`touched`](TailPage::touched) tells.
    fn tail(
        &self,
        after: Seq,
        wanted: &dyn Fn(&DocName, HandleOrigin) -> bool,
    ) -> Result<TailPage, StoreError>;

    /// Returns the position of the last record, of all handles.
    ///
    /// Cheap enough to call before every read: about two microseconds if nothing was appended, or
    /// only by this handle.
    fn head(&self) -> Result<Seq, StoreError>;

    /// Returns the last record that this document ever had, of all handles.
    ///
    /// As cheap as [`head`](Self::head).
    fn doc_head(&self, doc: &DocName) -> Result<DocHead, StoreError>;

    /// Returns the last record of this document that this handle appended, tailed or loaded, or one
    /// that is later.
    ///
    /// Does not read the log: for a caller that has just tailed to its head.
    fn tailed_doc_head(&self, doc: &DocName) -> Result<DocHead, StoreError> {
        self.doc_head(doc)
    }

    /// Waits until the head is beyond a position, and returns whether it is.
    ///
    /// Appends of this handle wake it at once; those of others within 20 ms.
    fn wait(&self, after: Seq, timeout: Duration) -> Result<bool, StoreError>;

    /// Replaces records of a document by a snapshot.
    ///
    /// `merge` gets the snapshot and the records, runs outside every lock, and must verify what it
    /// returns. Records that it did not absorb stay. Nothing happens if another compaction of the
    /// document was faster.
    fn compact(&self, doc: &DocName, merge: &MergeFn<'_>) -> Result<CompactionOutcome, StoreError>;

    /// Makes sure that no file of the store holds what was removed from it before: records and
    /// snapshots that compaction replaced, documents that were forgotten, blobs.
    ///
    /// Others go on writing meanwhile. It waits for those who read, and fails with
    /// [`StoreError::Locked`] if they read for too long. Copies elsewhere are not reached.
    fn wipe(&self) -> Result<(), StoreError>;

    /// Returns what there is of each document that was ever written, in no particular order.
    fn documents(&self) -> Result<Vec<DocStats>, StoreError>;

    /// Returns what there is of one document, if it was ever written.
    fn doc_stats(&self, doc: &DocName) -> Result<Option<DocStats>, StoreError>;

    /// Returns what there is altogether.
    fn stats(&self) -> Result<StoreStats, StoreError>;

    /// Removes records, snapshot and facts of a document, and returns how many bytes they had.
    ///
    /// Fails with [`StoreError::HeadMoved`], and removes nothing, unless the document's head is
    /// still `head`, which the caller must have read with [`doc_head`](Self::doc_head) before it
    /// decided that nothing needs the document. The document may be written again afterwards.
    fn forget(&self, doc: &DocName, head: Seq) -> Result<u64, StoreError>;

    /// Keeps a rejected update, for a person to inspect.
    ///
    /// An equal update of the same document is kept once, and counted. Limits hold: 16 MiB per
    /// document, 64 MiB in all, 30 days after the last refusal; what was refused longest ago goes
    /// first, and is counted in [`StoreStats`]. A larger update is listed, but its bytes are not
    /// kept.
    fn quarantine(
        &self,
        doc: &DocName,
        update: &[u8],
        reason: &str,
        at: Millis,
    ) -> Result<(), StoreError>;

    /// Lists the updates in quarantine, in the order in which they were first refused, without
    /// reading them.
    fn quarantined(&self) -> Result<Vec<QuarantinedUpdate>, StoreError>;

    /// Returns the bytes of an update in quarantine, if they are kept.
    fn quarantined_update(&self, number: u64) -> Result<Option<Vec<u8>>, StoreError>;

    /// Drops one update from quarantine, or all, and returns how many.
    fn drop_quarantined(&self, number: Option<u64>) -> Result<u64, StoreError>;

    /// Keeps some content, read to its end, and returns its hash and size.
    ///
    /// Content that is there already is not stored twice, but counts as put now.
    fn put_blob(&self, content: &mut dyn Read, at: Millis) -> Result<BlobInfo, StoreError>;

    /// Returns part of a blob; a range that reaches beyond its end is cut there.
    fn read_blob(&self, hash: &ContentHash, range: Range<u64>) -> Result<Vec<u8>, StoreError>;

    /// Writes a whole blob to `to`, piece by piece, each verified first.
    fn copy_blob(&self, hash: &ContentHash, to: &mut dyn Write) -> Result<u64, StoreError>;

    /// Tells whether a blob is there, and how large it is.
    fn blob_info(&self, hash: &ContentHash) -> Result<Option<BlobInfo>, StoreError>;

    /// Returns all blobs.
    fn blobs(&self) -> Result<Vec<BlobInfo>, StoreError>;

    /// Returns a mark of what was put up to now, for [`remove_blobs`](Self::remove_blobs).
    fn blob_mark(&self) -> Result<BlobMark, StoreError>;

    /// Removes blobs that `keep` does not want and that were last put both before `mark` and before
    /// `older_than`, and returns how many bytes they had.
    ///
    /// A blob that was put after the mark, for the first time or again, stays, whatever its time
    /// says: so take the mark before looking which blobs are wanted. What is being put meanwhile is
    /// not disturbed. A blob may be put before the row that names it is logged; `older_than` is the
    /// only thing that saves it between the two.
    fn remove_blobs(
        &self,
        mark: BlobMark,
        older_than: Millis,
        keep: &dyn Fn(&ContentHash) -> bool,
    ) -> Result<u64, StoreError>;

    /// Returns the fact of each of these documents, where there is one and no record came since.
    fn doc_facts(&self, docs: &[DocName]) -> Result<Vec<Option<DocFact>>, StoreError>;

    /// Keeps facts of documents that were written.
    fn set_doc_facts(&self, facts: &[(DocName, DocFact)]) -> Result<(), StoreError>;

    /// Notes when this store first saw each of these things, unless it saw it before.
    fn note_first_seen(&self, keys: &[&str], at: Millis) -> Result<(), StoreError>;

    /// Returns the time when this store first logged an event.
    fn first_seen(&self, key: &str) -> Result<Option<Millis>, StoreError>;

    /// Forgets that these things were ever seen.
    fn clear_first_seen(&self, keys: &[&str]) -> Result<(), StoreError>;

    /// Returns a setting of this store. Settings are local; nothing replicates them.
    fn get_meta(&self, key: &str) -> Result<Option<Vec<u8>>, StoreError>;

    /// Writes a setting.
    fn set_meta(&self, key: &str, value: &[u8]) -> Result<(), StoreError>;

    /// Writes a setting unless there is one, and returns what stands there now.
    fn init_meta(&self, key: &str, value: &[u8]) -> Result<Vec<u8>, StoreError>;

    /// Writes a secret unless there is one, and returns the one that is there now.
    ///
    /// A secret is like a setting, but stays where it is: no backup, no replica and no copy of the
    /// store has it. A copy of all files of a store begins with another one.
    fn init_secret(&self, key: &str, value: &[u8]) -> Result<Vec<u8>, StoreError>;

    /// Writes a secret, in place of the one that is there.
    fn set_secret(&self, key: &str, value: &[u8]) -> Result<(), StoreError>;

    /// Returns the files and directories of the store that other users of the machine could read
    /// until this handle was opened, which ended that.
    fn mended(&self) -> &[PathBuf] {
        &[]
    }

    /// Claims client ids to write under: ids that another writer released, or new ones.
    ///
    /// The caller must tail to the head after the claim and before its first write, so that it
    /// knows every clock that these ids have reached.
    fn claim_writer(&self) -> Result<WriterClaim, StoreError>;

    /// Gives client ids back for reuse, after everything written under them was appended.
    ///
    /// Only for ids whose updates left the process through this log alone. Ids that are not
    /// given back are never used again.
    fn release_writer(&self, claim: WriterClaim) -> Result<(), StoreError>;

    /// Returns when everything that was appended before survives a power cut.
    fn flush(&self) -> Result<(), StoreError>;

    /// Writes a consistent copy of the store, while others go on using it.
    ///
    /// Fails with [`StoreError::Exists`] if there is a file at `to`. `progress` gets the bytes
    /// done and, roughly, the bytes there are.
    fn backup(&self, to: &Path, progress: &mut dyn FnMut(u64, u64)) -> Result<(), StoreError>;

    /// Reads everything and reports what is damaged.
    fn check(&self) -> Result<CheckReport, StoreError>;

    /// Flushes, and refuses every later call.
    fn close(&self) -> Result<(), StoreError>;
}

/// Merges the snapshot and the records of a document into a new snapshot.
pub type MergeFn<'a> =
    dyn Fn(Option<&[u8]>, &[LogRecord]) -> Result<MergedSnapshot, MergeError> + 'a;

/// What a merge may fail with.
pub type MergeError = Box<dyn Error + Send + Sync>;

/// What a merge made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MergedSnapshot {
    /// The new snapshot.
    pub state: Vec<u8>,
    /// For each record, whether all of it is in the snapshot.
    pub absorbed: Vec<bool>,
    /// The new contents of records that stay, by their place. Each must mean the same to every
    /// process that has read the record.
    pub rewritten: Vec<(usize, Vec<u8>)>,
    /// For each record, what it changed when it was merged; no bytes for no change. The store keeps
    /// them for [`load_history`](Store::load_history) and does not read them. They must hold
    /// nothing that redaction removes. Without them the heads of the document are forgotten.
    pub changes: Vec<Vec<u8>>,
}

/// What came of a compaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CompactionOutcome {
    /// There was no record to absorb.
    Nothing,
    /// Another compaction was faster. What this one made was thrown away.
    Raced,
    /// There is a new snapshot.
    Done {
        /// Records that went.
        n_absorbed: u64,
        /// Records that stayed.
        n_kept: u64,
        /// Bytes of the records that went and of the old snapshot.
        bytes_before: u64,
        /// Bytes of the new snapshot.
        bytes_after: u64,
    },
}

/// Client ids that one writer holds.
///
/// Rows and cells have ids of their own, because only runs of contiguous clocks in one array
/// squash once they are dead.
#[derive(Debug, PartialEq, Eq)]
pub struct WriterClaim {
    /// For rows of the files table.
    pub rows: ClientId,
    /// For cells.
    pub cells: ClientId,
    /// For workspace settings.
    pub meta: ClientId,
    /// For content documents.
    pub content: ClientId,
    /// Whether another writer used these ids before.
    pub reused: bool,
}

/// What can be said with the methods of any [`Store`].
pub trait StoreExt: Store {
    /// Returns a whole blob, verified. For one that may be large, see [`Store::copy_blob`].
    fn get_blob(&self, hash: &ContentHash) -> Result<Vec<u8>, StoreError> {
        let mut content = Vec::new();
        self.copy_blob(hash, &mut content)?;
        Ok(content)
    }

    /// Tells whether a blob is there.
    fn has_blob(&self, hash: &ContentHash) -> Result<bool, StoreError> {
        Ok(self.blob_info(hash)?.is_some())
    }

    /// Keeps some content that is in memory.
    fn put_bytes(&self, mut content: &[u8], at: Millis) -> Result<BlobInfo, StoreError> {
        self.put_blob(&mut content, at)
    }
}

impl<S: Store + ?Sized> StoreExt for S {}
