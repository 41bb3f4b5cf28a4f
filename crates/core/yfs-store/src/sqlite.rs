//! A store in one SQLite file, which any number of processes may have open at the same time.
//!
//! The layout is an append-only log without an index by document, plus snapshots
//! (`docs/format/store.md`). With an index, every append would write to a random page: 25 times the
//! bytes. Instead the positions of each document's records are in a derived map beside the store,
//! which is made anew after many appends, and each handle reads the rows that came after it.
//!
//! # Invariants
//!
//! - Every write is one `BEGIN IMMEDIATE` transaction. A transaction that reads first and then
//!   writes would fail at once, whatever the timeout.
//! - Readers have connections of their own and never wait for another connection.
//! - Locks are taken in the order writer, index. A reader takes only the index, and only for a
//!   lookup.

mod access;
mod append_queue;
mod append_watch;
mod backup;
mod backwards;
mod blob_mend;
mod blobs;
mod check;
#[cfg(target_os = "linux")]
mod claim_witness;
mod claims;
mod compact;
mod connect;
mod doc_values;
mod holder;
mod index;
mod inner;
mod local_tables;
mod location;
mod log;
mod log_file_events;
mod log_head;
mod log_scan;
mod open_options;
mod own_directory;
mod parked;
mod quarantine;
mod reserve;
mod schema;
mod scrub;
mod seal;
mod secret;
mod set_aside;
mod single;
mod store_error;
mod store_file;
mod sync;
mod transaction;
mod wipe;

use std::{
    fmt,
    io::{Read, Write},
    ops::Range,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use parking_lot::Mutex;
use yfs_types::{hash::ContentHash, time::Millis};

use self::{
    append_queue::AppendQueue,
    append_watch::AppendWatch,
    inner::{SqliteInner, SqliteWriter},
    location::StoreLocation,
    reserve::DiskReserve,
    schema::OpenedFile,
    store_file::StoreFile,
    sync::LogSyncer,
};
pub use self::{open_options::OpenOptions, own_directory::check_store_directory};
use crate::{
    AppendBatch, AppendReceipt, BlobInfo, BlobMark, BlobStore, CheckReport, CompactionOutcome,
    DocFact, DocHead, DocHistory, DocName, DocStats, HandleOrigin, LocalState, LogRecord, MergeFn,
    ParkedNote, QuarantinedUpdate, Seq, Store, StoreError, StoreStats, StoredDocument, TailPage,
    UpdateLog, WriterClaim,
    encryption::{Cipher, KeyKind, SealedDirectory, UnlockKey},
};

/// A store in one SQLite file.
pub struct SqliteStore {
    inner: Arc<SqliteInner>,
}

impl SqliteStore {
    /// Opens an existing store.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        Self::open_with(path, OpenOptions::default())
    }

    /// Opens a store, and creates it if it does not exist.
    pub fn open_or_create(path: &Path) -> Result<Self, StoreError> {
        Self::open_with(path, OpenOptions { create: true, ..OpenOptions::default() })
    }

    /// Creates a store. If several processes do so at the same time, one succeeds.
    pub fn create_new(path: &Path) -> Result<Self, StoreError> {
        let options = OpenOptions { create: true, create_new: true, ..OpenOptions::default() };
        Self::open_with(path, options)
    }

    /// Opens an existing store for reading only.
    ///
    /// In a writable directory, the handle sees what other processes append. In a read-only
    /// directory where no other process has the store open, it sees the file as it is now.
    pub fn open_read_only(path: &Path) -> Result<Self, StoreError> {
        Self::open_with(path, OpenOptions { read_only: true, ..OpenOptions::default() })
    }

    /// Opens a store with the given options.
    pub fn open_with(path: &Path, options: OpenOptions) -> Result<Self, StoreError> {
        Self::open_with_key(path, options, None)
    }

    /// Opens a store with the given options and the key of an encrypted one. A store that is
    /// created with a key is encrypted.
    ///
    /// # Errors
    ///
    /// [`StoreError::Key`] if the store is encrypted and the key is missing or wrong, or if there
    /// is a key and the store is not encrypted.
    pub fn open_with_key(
        path: &Path,
        options: OpenOptions,
        key: Option<&UnlockKey>,
    ) -> Result<Self, StoreError> {
        let (location, format, opened) = if options.read_only {
            let (location, connection, format, seal) = schema::open_read_only(path, key)?;
            let restricted_paths = Vec::new();
            (location, format, OpenedFile { connection, restricted_paths, seal })
        } else {
            let open = || schema::open(path, options, key);
            let opened = DiskReserve::new(path).open_with_room(open)?;
            (StoreLocation::writable(path), schema::FORMAT, opened)
        };
        let OpenedFile { connection, restricted_paths, seal } = opened;
        let n_pages = options.max_bytes.map(|n_bytes| n_bytes / schema::PAGE_LEN);
        let n_pages = n_pages.map(|n| n.clamp(1, u64::from(u32::MAX) - 1) as u32);
        let (reserve, quota) = match n_pages {
            Some(n_pages) => {
                let (reserve, quota) = DiskReserve::new(path).with_quota(n_pages);
                (reserve, Some(quota))
            }
            None => (DiskReserve::new(path), None),
        };
        if !options.read_only {
            reserve.fill();
        }
        let file = Arc::new(StoreFile::opened(path));
        let writer = SqliteWriter {
            connection,
            file: file.clone(),
            synchronous: false,
            known: None,
            quota,
            n_pages: None,
        };
        let inner = SqliteInner {
            path: path.to_owned(),
            restricted_paths,
            reserve,
            read_only: options.read_only,
            has_quarantine: format > 1,
            has_past_heads: format > 2,
            derived: SealedDirectory::new(location::derived_beside(path), seal.data_key()),
            seal,
            origin: HandleOrigin::random(),
            writer: Mutex::new(writer),
            queue: AppendQueue::default(),
            readers: Mutex::default(),
            index: Mutex::default(),
            watch: AppendWatch::new(location.clone()),
            location,
            file,
            syncer: LogSyncer::new(path, options.sync_every),
            closed: AtomicBool::new(false),
        };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Reports whether the store at a path is encrypted.
    pub fn is_encrypted(path: &Path) -> Result<bool, StoreError> {
        schema::is_encrypted(path)
    }

    /// Returns the path of the store's file.
    pub fn path(&self) -> &Path {
        &self.inner.path
    }
}

impl Drop for SqliteStore {
    fn drop(&mut self) {
        self.inner.syncer.stop();
    }
}

impl fmt::Debug for SqliteStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqliteStore").field("path", &self.inner.path).finish_non_exhaustive()
    }
}

impl UpdateLog for SqliteStore {
    fn origin(&self) -> HandleOrigin {
        self.inner.origin
    }

    fn append(&self, batch: AppendBatch) -> Result<AppendReceipt, StoreError> {
        self.inner.append(batch)
    }

    fn load(&self, doc: &DocName) -> Result<StoredDocument, StoreError> {
        self.inner.load(doc)
    }

    fn load_single(&self, docs: &[DocName]) -> Result<Vec<Option<LogRecord>>, StoreError> {
        self.inner.load_single(docs)
    }

    fn load_after(&self, doc: &DocName, after: Seq) -> Result<Option<StoredDocument>, StoreError> {
        self.inner.load_after(doc, after)
    }

    fn load_history(&self, doc: &DocName) -> Result<DocHistory, StoreError> {
        self.inner.load_history(doc)
    }

    fn set_aside_damaged(&self, doc: &DocName, at: Millis) -> Result<u64, StoreError> {
        self.inner.set_aside_damaged(doc, at)
    }

    fn tail(
        &self,
        after: Seq,
        select: &dyn Fn(&DocName, HandleOrigin) -> bool,
    ) -> Result<TailPage, StoreError> {
        self.inner.tail(after, select)
    }

    fn head(&self) -> Result<Seq, StoreError> {
        self.inner.head()
    }

    fn doc_head(&self, doc: &DocName) -> Result<DocHead, StoreError> {
        self.inner.doc_head(doc)
    }

    fn time_at(&self, position: Seq) -> Result<Option<Millis>, StoreError> {
        self.inner.time_at(position)
    }

    fn tailed_doc_head(&self, doc: &DocName) -> Result<DocHead, StoreError> {
        self.inner.tailed_doc_head(doc)
    }

    fn wait(&self, after: Seq, timeout: Duration) -> Result<bool, StoreError> {
        self.inner.wait(after, timeout)
    }

    fn compact(&self, doc: &DocName, merge: &MergeFn<'_>) -> Result<CompactionOutcome, StoreError> {
        self.inner.run_removal(|| self.inner.compact(doc, merge))
    }

    fn documents(&self) -> Result<Vec<DocStats>, StoreError> {
        self.inner.documents()
    }

    fn documents_before(
        &self,
        before: Seq,
        n: usize,
    ) -> Result<Option<Vec<(Seq, DocName)>>, StoreError> {
        self.inner.documents_before(before, n).map(Some)
    }

    fn doc_stats(&self, doc: &DocName) -> Result<Option<DocStats>, StoreError> {
        self.inner.doc_stats(doc)
    }

    fn forget(&self, doc: &DocName, head: Seq) -> Result<u64, StoreError> {
        self.inner.run_removal(|| self.inner.forget(doc, head))
    }
}

impl BlobStore for SqliteStore {
    fn put_blob(&self, content: &mut dyn Read, at: Millis) -> Result<BlobInfo, StoreError> {
        self.inner.put_blob(content, at)
    }

    fn read_blob(&self, hash: &ContentHash, range: Range<u64>) -> Result<Vec<u8>, StoreError> {
        self.inner.read_blob(hash, range)
    }

    fn copy_blob(&self, hash: &ContentHash, to: &mut dyn Write) -> Result<u64, StoreError> {
        self.inner.copy_blob(hash, to)
    }

    fn blob_info(&self, hash: &ContentHash) -> Result<Option<BlobInfo>, StoreError> {
        self.inner.blob_info(hash)
    }

    fn blobs(&self) -> Result<Vec<BlobInfo>, StoreError> {
        self.inner.blobs()
    }

    fn blob_mark(&self) -> Result<BlobMark, StoreError> {
        self.inner.blob_mark()
    }

    fn remove_blobs(
        &self,
        mark: BlobMark,
        older_than: Millis,
        keep: &dyn Fn(&ContentHash) -> bool,
    ) -> Result<u64, StoreError> {
        self.inner.run_removal(|| self.inner.remove_blobs(mark, older_than, keep))
    }
}

impl LocalState for SqliteStore {
    fn quarantine(
        &self,
        doc: &DocName,
        update: &[u8],
        reason: &str,
        at: Millis,
    ) -> Result<(), StoreError> {
        self.inner.quarantine(doc, update, reason, at)
    }

    fn quarantined(&self) -> Result<Vec<QuarantinedUpdate>, StoreError> {
        self.inner.quarantined()
    }

    fn quarantined_update(&self, number: u64) -> Result<Option<Vec<u8>>, StoreError> {
        self.inner.quarantined_update(number)
    }

    fn drop_quarantined(&self, number: Option<u64>) -> Result<u64, StoreError> {
        self.inner.run_removal(|| self.inner.drop_quarantined(number))
    }

    fn note_parked(&self, doc: &DocName, note: Option<&ParkedNote>) -> Result<(), StoreError> {
        match note {
            Some(_) => self.inner.with_room(true, || self.inner.note_parked(doc, note)),
            None => self.inner.run_removal(|| self.inner.note_parked(doc, None)),
        }
    }

    fn parked(&self) -> Result<Vec<ParkedNote>, StoreError> {
        self.inner.parked()
    }

    fn doc_facts(&self, docs: &[DocName]) -> Result<Vec<Option<DocFact>>, StoreError> {
        self.inner.doc_facts(docs)
    }

    fn repair_facts(&self) -> Result<bool, StoreError> {
        self.inner.repair_facts()
    }

    fn set_doc_facts(&self, facts: &[(DocName, DocFact)]) -> Result<(), StoreError> {
        self.inner.with_room(true, || self.inner.set_doc_facts(facts))
    }

    fn note_first_seen(&self, keys: &[&str], at: Millis) -> Result<(), StoreError> {
        self.inner.with_room(true, || self.inner.note_first_seen(keys, at))
    }

    fn first_seen(&self, key: &str) -> Result<Option<Millis>, StoreError> {
        self.inner.first_seen(key)
    }

    fn clear_first_seen(&self, keys: &[&str]) -> Result<(), StoreError> {
        self.inner.with_room(true, || self.inner.clear_first_seen(keys))
    }

    fn get_meta(&self, key: &str) -> Result<Option<Vec<u8>>, StoreError> {
        self.inner.get_meta(key)
    }

    fn set_meta(&self, key: &str, value: &[u8]) -> Result<(), StoreError> {
        self.inner.with_room(true, || self.inner.set_meta(key, value))
    }

    fn init_meta(&self, key: &str, value: &[u8]) -> Result<Vec<u8>, StoreError> {
        self.inner.with_room(true, || self.inner.init_meta(key, value))
    }

    fn init_secret(&self, key: &str, value: &[u8]) -> Result<Vec<u8>, StoreError> {
        self.inner.init_secret(key, value)
    }

    fn set_secret(&self, key: &str, value: &[u8]) -> Result<(), StoreError> {
        self.inner.set_secret(key, value)
    }

    fn restricted_paths(&self) -> &[PathBuf] {
        &self.inner.restricted_paths
    }

    fn claim_writer(&self) -> Result<WriterClaim, StoreError> {
        self.inner.with_room(true, || self.inner.claim_writer())
    }

    fn release_writer(&self, claim: WriterClaim) -> Result<(), StoreError> {
        self.inner.release_writer(claim)
    }
}

impl Store for SqliteStore {
    fn wipe(&self) -> Result<(), StoreError> {
        self.inner.wipe()
    }

    fn stats(&self) -> Result<StoreStats, StoreError> {
        self.inner.stats()
    }

    fn key_kind(&self) -> Result<Option<KeyKind>, StoreError> {
        self.inner.key_kind()
    }

    fn change_key(&self, key: &UnlockKey) -> Result<(), StoreError> {
        self.inner.change_key(key)
    }

    fn cipher(&self, purpose: &str) -> Option<Arc<Cipher>> {
        self.inner.seal.data_key().map(|key| key.cipher(purpose))
    }

    fn derived_directory(&self) -> Option<SealedDirectory> {
        Some(self.inner.derived.clone())
    }

    fn release_memory(&self) {
        // A writer or reader that is in use is not idle.
        if let Some(writer) = self.inner.writer.try_lock() {
            writer.connection.release_memory().ok();
        }
        for reader in self.inner.readers.lock().iter() {
            reader.release_memory().ok();
        }
    }

    fn checkpoint(&self, after: u64) -> Result<bool, StoreError> {
        self.inner.checkpoint_log(after)
    }

    fn commit_stamp(&self) -> Result<Option<i64>, StoreError> {
        self.inner.commit_stamp()
    }

    fn flush(&self) -> Result<(), StoreError> {
        self.inner.ensure_open()?;
        if self.inner.read_only { Ok(()) } else { self.inner.syncer.flush() }
    }

    fn backup(&self, to: &Path, progress: &mut dyn FnMut(u64, u64)) -> Result<(), StoreError> {
        self.inner.backup(to, progress)
    }

    fn check_with_progress(
        &self,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<CheckReport, StoreError> {
        self.inner.check(progress)
    }

    fn check_log(&self) -> Result<CheckReport, StoreError> {
        self.inner.check_log()
    }

    fn close(&self) -> Result<(), StoreError> {
        self.flush()?;
        self.inner.closed.store(true, Ordering::Release);
        self.inner.watch.wake();
        self.inner.syncer.stop();
        Ok(())
    }
}
