//! The contract of a store.
//!
//! # Order and visibility
//!
//! - A record is visible to every handle of every process from the moment its append returned, and
//!   to none before it was committed: every call that begins afterwards counts it. A reader that
//!   continues from a [`Seq`] misses nothing: no record becomes visible before one that was visible
//!   already.
//! - A caller's position advances only by [`tail`](UpdateLog::tail) and [`load`](UpdateLog::load).
//!   The position of the caller's own append does not show which records other handles wrote before
//!   it.
//! - Each reading call is one consistent view of the current state, except where its doc says
//!   otherwise.
//!
//! # Failure
//!
//! A call that returns an error has changed nothing. A change whose call returned `Ok` survives the
//! death of the process; once [`flush`](Store::flush) returned, all earlier changes survive a power
//! cut.
//!
//! # Threads
//!
//! Every method may be called from any thread and blocks until it is done: microseconds for an
//! append, longer where the doc says so. `docs/decisions/0003` explains why the trait is not
//! asynchronous.

use std::{
    error::Error,
    fmt::Debug,
    io::{Read, Write},
    ops::Range,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use yfs_types::{hash::ContentHash, id::ClientId, time::Millis};

use crate::{
    AppendBatch, AppendReceipt, BlobInfo, BlobMark, CheckReport, DocFact, DocHead, DocHistory,
    DocName, DocStats, HandleOrigin, LogRecord, ParkedNote, QuarantinedUpdate, Seq, StoreError,
    StoreStats, StoredDocument, TailPage,
    blob::put_again,
    encryption::{Cipher, KeyKind, SealedDirectory, UnlockKey},
};

/// A durable log of updates to documents, shared by all processes and replicas of a store.
///
/// Everything that is shared is here or in [`BlobStore`]. A distributed log implements these two;
/// [`LocalState`] stays on the machine.
pub trait UpdateLog: Send + Sync + Debug {
    /// Returns the origin that marks the records of this handle.
    ///
    /// Preconditions ([`HeadPrecondition`](crate::HeadPrecondition)) do not count the handle's own
    /// records, so two independent writers need two handles.
    fn origin(&self) -> HandleOrigin;

    /// Appends all updates of a batch, or none.
    ///
    /// Fails with [`StoreError::HeadMoved`] if one of the batch's preconditions does not hold, and
    /// with [`StoreError::NoBlob`] if a blob that it names is not in the store.
    fn append(&self, batch: AppendBatch) -> Result<AppendReceipt, StoreError>;

    /// Reads a document. A document that was never written is empty.
    fn load(&self, doc: &DocName) -> Result<StoredDocument, StoreError>;

    /// Reads the records of a document after a position; `None` if compaction removed some of them.
    ///
    /// The snapshot is left out.
    fn load_after(&self, doc: &DocName, after: Seq) -> Result<Option<StoredDocument>, StoreError> {
        let mut loaded = self.load(doc)?;
        loaded.snapshot = None;
        loaded.updates.retain(|record| record.seq > after);
        Ok((loaded.snapshot_upto <= after).then_some(loaded))
    }

    /// Returns the record of each of these documents that consists of one sound record. `None` for
    /// the others, and where it takes a [`load`](Self::load) to know.
    ///
    /// For callers that read many small documents: they are read as of one moment, in one pass.
    fn load_single(&self, docs: &[DocName]) -> Result<Vec<Option<LogRecord>>, StoreError> {
        let load = |doc| {
            let stats = self.doc_stats(doc)?;
            if stats.is_none_or(|stats| stats.n_records != 1 || stats.snapshot_bytes > 0) {
                return Ok(None);
            }
            let mut loaded = self.load(doc)?;
            let is_whole = loaded.snapshot.is_none() && loaded.damaged.is_empty();
            let is_single = is_whole && loaded.updates.len() == 1;
            Ok(loaded.updates.pop().filter(|_| is_single))
        };
        docs.iter().map(load).collect()
    }

    /// Reads a document, and the latest heads that it had before compaction replaced their records.
    ///
    /// At most 16,384 heads are kept, and only while their changes take no more than 1 MiB.
    fn load_history(&self, doc: &DocName) -> Result<DocHistory, StoreError>;

    /// Reads a page of the records after a position, those of this handle included.
    ///
    /// `select` chooses by document and origin which records to return; documents with other
    /// records appear only in [`touched`](TailPage::touched).
    fn tail(
        &self,
        after: Seq,
        select: &dyn Fn(&DocName, HandleOrigin) -> bool,
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

    /// Returns the last record of this document that this handle appended, tailed or loaded, or a
    /// later one.
    ///
    /// Does not read the log: for a caller that has just tailed to its head.
    fn tailed_doc_head(&self, doc: &DocName) -> Result<DocHead, StoreError> {
        self.doc_head(doc)
    }

    /// Returns the time of the first record at or after a position, as its [`AppendBatch`] named
    /// it; `None` if there is no such record, or the log does not know.
    ///
    /// The record at the position may have been compacted, so this is the time at which it was
    /// logged, or later.
    fn time_at(&self, _position: Seq) -> Result<Option<Millis>, StoreError> {
        Ok(None)
    }

    /// Waits until the head is beyond a position, and returns whether it is.
    ///
    /// Appends of this handle wake the caller at once; those of others within 20 ms.
    fn wait(&self, after: Seq, timeout: Duration) -> Result<bool, StoreError>;

    /// Replaces records of a document by a snapshot.
    ///
    /// `merge` gets the snapshot and the records, runs outside every lock, and must verify its
    /// result. Records that it did not absorb stay. Nothing happens if another compaction of the
    /// document was faster.
    fn compact(&self, doc: &DocName, merge: &MergeFn<'_>) -> Result<CompactionOutcome, StoreError>;

    /// Moves the records of a document that cannot be read, and its snapshot if that is damaged, to
    /// the quarantine, and returns how many there were. After that the document loads without
    /// damage, and without what they contained.
    ///
    /// Client ids that were released are not used again: the clocks of what was lost are unknown.
    fn set_aside_damaged(&self, doc: &DocName, at: Millis) -> Result<u64, StoreError>;

    /// Returns the documents of the last records before a position, at most `n` records, with the
    /// position of each record, the last first; `None` if the log cannot be read backwards.
    ///
    /// A compaction counts as a record. The page after is that before the last of these positions;
    /// an empty one is the end. A document appears once for each of its records.
    fn documents_before(
        &self,
        _before: Seq,
        _n: usize,
    ) -> Result<Option<Vec<(Seq, DocName)>>, StoreError> {
        Ok(None)
    }

    /// Returns the size of each document that was ever written, in no particular order.
    fn documents(&self) -> Result<Vec<DocStats>, StoreError>;

    /// Returns the size of one document, if it was ever written.
    fn doc_stats(&self, doc: &DocName) -> Result<Option<DocStats>, StoreError>;

    /// Removes the records, snapshot and facts of a document, and returns their size in bytes.
    ///
    /// Fails with [`StoreError::HeadMoved`], and removes nothing, unless the document's head is
    /// still `head`, which the caller must have read with [`doc_head`](Self::doc_head) before it
    /// decided that nothing needs the document. The document may be written again afterwards.
    fn forget(&self, doc: &DocName, head: Seq) -> Result<u64, StoreError>;
}

/// Immutable contents, named by their hash.
pub trait BlobStore: Send + Sync + Debug {
    /// Stores a blob, reading the content to its end, and returns its hash and size.
    ///
    /// Content that is in the store already is not stored twice, but counts as put now.
    fn put_blob(&self, content: &mut dyn Read, at: Millis) -> Result<BlobInfo, StoreError>;

    /// Counts a blob that is in the store as put now, as [`put_blob`](Self::put_blob) does, and
    /// returns its size.
    ///
    /// Fails with [`StoreError::NoBlob`] if the blob is not in the store. Unless the implementation
    /// overrides it, this reads the blob and puts it again.
    fn touch_blob(&self, hash: &ContentHash, at: Millis) -> Result<BlobInfo, StoreError> {
        put_again(self, hash, at)
    }

    /// Returns part of a blob. A range that reaches beyond its end is cut there.
    fn read_blob(&self, hash: &ContentHash, range: Range<u64>) -> Result<Vec<u8>, StoreError>;

    /// Writes a whole blob to `to`, piece by piece, each verified first.
    fn copy_blob(&self, hash: &ContentHash, to: &mut dyn Write) -> Result<u64, StoreError>;

    /// Returns the size of a blob and the time of its last put, if it is in the store.
    fn blob_info(&self, hash: &ContentHash) -> Result<Option<BlobInfo>, StoreError>;

    /// Returns all blobs.
    fn blobs(&self) -> Result<Vec<BlobInfo>, StoreError>;

    /// Returns a mark of all puts up to now, for [`remove_blobs`](Self::remove_blobs).
    fn blob_mark(&self) -> Result<BlobMark, StoreError>;

    /// Removes blobs that `keep` rejects and that were last put both before `mark` and before
    /// `older_than`, and returns their size in bytes.
    ///
    /// A blob that was put after the mark, for the first time or again, stays, whatever its time
    /// is. So the caller must take the mark before it computes which blobs are in use. A put that
    /// is under way is not disturbed. A blob may be put before the row that names it is logged;
    /// between the two, only `older_than` protects it.
    fn remove_blobs(
        &self,
        mark: BlobMark,
        older_than: Millis,
        keep: &dyn Fn(&ContentHash) -> bool,
    ) -> Result<u64, StoreError>;
}

/// What one machine knows about a log: derived facts, settings, secrets, rejected updates and
/// client ids. It is not replicated.
pub trait LocalState: Send + Sync + Debug {
    /// Keeps a rejected update, so that a person can inspect it.
    ///
    /// An equal update of the same document is kept once, and counted. Limits: 16 MiB per document,
    /// 64 MiB in total, 30 days after the last rejection. The update with the oldest last rejection
    /// is dropped first, and counted in [`StoreStats`]. A larger update is listed, but its bytes
    /// are not kept.
    fn quarantine(
        &self,
        doc: &DocName,
        update: &[u8],
        reason: &str,
        at: Millis,
    ) -> Result<(), StoreError>;

    /// Lists the updates in quarantine, in the order of their first rejection, without reading
    /// their bytes.
    fn quarantined(&self) -> Result<Vec<QuarantinedUpdate>, StoreError>;

    /// Returns the bytes of an update in quarantine, if they are kept.
    fn quarantined_update(&self, number: u64) -> Result<Option<Vec<u8>>, StoreError>;

    /// Drops one update from quarantine, or all, and returns how many.
    fn drop_quarantined(&self, number: Option<u64>) -> Result<u64, StoreError>;

    /// Notes that updates wait in a document, or that none do any more. An earlier note of the
    /// document is replaced.
    fn note_parked(&self, doc: &DocName, note: Option<&ParkedNote>) -> Result<(), StoreError>;

    /// Lists the documents in which updates wait, as they were noted, without reading them.
    fn parked(&self) -> Result<Vec<ParkedNote>, StoreError>;

    /// Returns the fact of each of these documents, unless it is missing or a record was appended
    /// since.
    fn doc_facts(&self, docs: &[DocName]) -> Result<Vec<Option<DocFact>>, StoreError>;

    /// Keeps facts of documents that were written.
    fn set_doc_facts(&self, facts: &[(DocName, DocFact)]) -> Result<(), StoreError>;

    /// Makes the facts of all documents unknown if their table is damaged, and reports whether it
    /// was. Until then, a fact that cannot be read is unknown, and writing one may fail.
    fn repair_facts(&self) -> Result<bool, StoreError> {
        Ok(false)
    }

    /// Records when this store first saw each of these keys, unless it saw them before.
    fn note_first_seen(&self, keys: &[&str], at: Millis) -> Result<(), StoreError>;

    /// Returns when this store first saw a key.
    fn first_seen(&self, key: &str) -> Result<Option<Millis>, StoreError>;

    /// Forgets that these keys were ever seen.
    fn clear_first_seen(&self, keys: &[&str]) -> Result<(), StoreError>;

    /// Returns a setting of this store. Settings are local; nothing replicates them.
    fn get_meta(&self, key: &str) -> Result<Option<Vec<u8>>, StoreError>;

    /// Writes a setting.
    fn set_meta(&self, key: &str, value: &[u8]) -> Result<(), StoreError>;

    /// Writes a setting unless it exists, and returns its current value.
    fn init_meta(&self, key: &str, value: &[u8]) -> Result<Vec<u8>, StoreError>;

    /// Writes a secret unless it exists, and returns its current value.
    ///
    /// A secret is like a setting, but is never copied: backups, replicas and copies of the store
    /// do not have it. A copy of all files of a store starts with another secret.
    fn init_secret(&self, key: &str, value: &[u8]) -> Result<Vec<u8>, StoreError>;

    /// Writes a secret, replacing an existing one.
    fn set_secret(&self, key: &str, value: &[u8]) -> Result<(), StoreError>;

    /// Returns the files and directories of the store that other users of the machine could read
    /// until this handle was opened. Opening it removed those permissions.
    fn restricted_paths(&self) -> &[PathBuf] {
        &[]
    }

    /// Claims client ids to write under: ids that another writer released, or new ones.
    ///
    /// The caller must tail to the head after the claim and before its first write, so that it
    /// knows every clock that these ids have reached.
    fn claim_writer(&self) -> Result<WriterClaim, StoreError>;

    /// Releases client ids for reuse, after everything written under them was appended.
    ///
    /// Only for ids whose changes left the process through this log alone. Ids that are not
    /// released are never used again.
    fn release_writer(&self, claim: WriterClaim) -> Result<(), StoreError>;
}

/// A log, blobs and local state, opened and closed together.
pub trait Store: UpdateLog + BlobStore + LocalState {
    /// Erases removed content from all files of the store: records and snapshots that compaction
    /// replaced, documents that were forgotten, blobs.
    ///
    /// Other writers continue meanwhile. The call waits for readers, and fails with
    /// [`StoreError::Locked`] if they read for too long. Copies of the files elsewhere are not
    /// reached.
    fn wipe(&self) -> Result<(), StoreError>;

    /// Returns the size of the whole store.
    fn stats(&self) -> Result<StoreStats, StoreError>;

    /// Returns a number that another commit changes, of any handle and to anything: records,
    /// settings or blobs. `None` if the store does not know.
    ///
    /// Cheaper than reading settings again. A commit may change it up to 500 ms late.
    fn commit_stamp(&self) -> Result<Option<i64>, StoreError> {
        Ok(None)
    }

    /// Syncs the store; all earlier appends survive a power cut once it returns.
    fn flush(&self) -> Result<(), StoreError>;

    /// Writes a consistent copy of the store, while other handles continue to use it.
    ///
    /// Fails with [`StoreError::Exists`] if there is a file at `to`. `progress` gets the bytes done
    /// and, roughly, the total bytes.
    fn backup(&self, to: &Path, progress: &mut dyn FnMut(u64, u64)) -> Result<(), StoreError>;

    /// Reads the whole store and reports damage.
    fn check(&self) -> Result<CheckReport, StoreError> {
        self.check_with_progress(&mut |_, _| ())
    }

    /// Reads the whole store and reports damage. `progress` gets the number of documents and blobs
    /// that were read, and of all.
    fn check_with_progress(
        &self,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<CheckReport, StoreError>;

    /// Reads the records and snapshots of all documents, but no blobs, and reports damage.
    fn check_log(&self) -> Result<CheckReport, StoreError>;

    /// Returns the kind of key that opens the store; `None` if it is not encrypted.
    fn key_kind(&self) -> Result<Option<KeyKind>, StoreError> {
        Ok(None)
    }

    /// Makes another key open the store from now on, instead of the present one. Handles that are
    /// open, in any process, continue. Backups that were made before open with the key that they
    /// were made with.
    ///
    /// Fails with [`StoreError::Unsupported`] unless the store is encrypted, and with
    /// [`StoreError::Locked`] if readers kept the old record from being erased; the new key is in
    /// force all the same.
    fn change_key(&self, _key: &UnlockKey) -> Result<(), StoreError> {
        Err(StoreError::Unsupported { action: "have another key: it is not encrypted" })
    }

    /// Returns the cipher for files of a purpose that belong to the store; `None` if the store is
    /// not encrypted. A program that writes such files must seal them with it.
    fn cipher(&self, _purpose: &str) -> Option<Arc<Cipher>> {
        None
    }

    /// Returns the directory for files that are derived from the log and can be lost, if the store
    /// has one. It may not exist yet. The files of an encrypted store must be sealed with its
    /// cipher.
    fn derived_directory(&self) -> Option<SealedDirectory> {
        None
    }

    /// Writes what a handle reads instead of the log when it opens, if at least `after` records
    /// came after the last time, and reports whether it did. It can be lost without harm.
    fn checkpoint(&self, after: u64) -> Result<bool, StoreError> {
        let _ = after;
        Ok(false)
    }

    /// Gives up memory that only saves reading again, for a process that has nothing to do.
    fn release_memory(&self) {}

    /// Flushes, and makes every later call fail.
    fn close(&self) -> Result<(), StoreError>;
}

/// A function that merges the snapshot and the records of a document into a new snapshot.
pub type MergeFn<'a> =
    dyn Fn(Option<&[u8]>, &[LogRecord]) -> Result<MergedSnapshot, MergeError> + 'a;

/// The error of a merge.
pub type MergeError = Box<dyn Error + Send + Sync>;

/// The result of a merge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MergedSnapshot {
    /// The new snapshot.
    pub state: Vec<u8>,
    /// For each record, whether all of it is in the snapshot.
    pub absorbed: Vec<bool>,
    /// New data for records that stay, by index. It must mean the same to every reader that has
    /// seen the old data.
    pub rewritten: Vec<(usize, Vec<u8>)>,
    /// For each record, the change that it made when it was merged; empty for no change. The store
    /// keeps the changes for [`load_history`](UpdateLog::load_history) and does not read them. They
    /// must not contain anything that redaction removes. Without them the document's past heads are
    /// dropped.
    pub changes: Vec<Vec<u8>>,
}

/// The outcome of a compaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CompactionOutcome {
    /// No record could be absorbed.
    Nothing,
    /// Another compaction was faster. The result of this one was discarded.
    Raced,
    /// The document has a new snapshot.
    Done {
        /// Records that were removed.
        n_absorbed: u64,
        /// Records that stayed.
        n_kept: u64,
        /// Bytes of the removed records and of the old snapshot.
        bytes_before: u64,
        /// Bytes of the new snapshot.
        bytes_after: u64,
    },
}

/// The client ids of one writer.
///
/// Rows and cells have separate ids, because only runs of contiguous clocks in one array squash
/// once they are dead.
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

/// Methods that every [`Store`] has.
pub trait StoreExt: Store {
    /// Returns a whole blob, verified. For large blobs, see [`BlobStore::copy_blob`].
    fn get_blob(&self, hash: &ContentHash) -> Result<Vec<u8>, StoreError> {
        let mut content = Vec::new();
        self.copy_blob(hash, &mut content)?;
        Ok(content)
    }

    /// Reports whether a blob is in the store.
    fn has_blob(&self, hash: &ContentHash) -> Result<bool, StoreError> {
        Ok(self.blob_info(hash)?.is_some())
    }

    /// Stores a blob that is in memory.
    fn put_bytes(&self, mut content: &[u8], at: Millis) -> Result<BlobInfo, StoreError> {
        self.put_blob(&mut content, at)
    }
}

impl<S: Store + ?Sized> StoreExt for S {}
