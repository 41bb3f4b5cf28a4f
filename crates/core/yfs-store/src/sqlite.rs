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
mod doc_values;
mod holder;
mod index;
mod local_tables;
mod location;
mod log;
mod log_file_events;
mod log_scan;
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
    ops::{Deref, Range},
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use crate::encryption::{Cipher, KeyKind, SealedDirectory, UnlockKey};
use parking_lot::{Mutex, MutexGuard};
use rusqlite::Connection;
use yfs_types::{hash::ContentHash, time::Millis};

pub use self::own_directory::check_store_directory;
use self::{
    append_watch::AppendWatch,
    index::LogIndex,
    location::StoreLocation,
    log::Queue,
    reserve::{DiskReserve, PageQuota},
    schema::OpenedFile,
    seal::ValueSeal,
    store_error::store_error,
    store_file::StoreFile,
    sync::LogSyncer,
    transaction::SqliteTransaction,
};
use crate::{
    AppendBatch, AppendReceipt, BlobInfo, BlobMark, BlobStore, CheckReport, CompactionOutcome,
    DocFact, DocHead, DocHistory, DocName, DocStats, HandleOrigin, LocalState, LogRecord, MergeFn,
    ParkedNote, QuarantinedUpdate, Seq, Store, StoreError, StoreStats, StoredDocument, TailPage,
    UpdateLog, WriterClaim,
};

/// The number of idle reading connections that a handle keeps.
const MAX_IDLE_READERS: usize = 4;

/// A store in one SQLite file.
pub struct SqliteStore {
    inner: Arc<SqliteInner>,
}

/// Options for opening a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenOptions {
    /// Whether to make a store if there is none.
    pub create: bool,
    /// Whether to fail if there is a store already.
    pub create_new: bool,
    /// The longest time span of unflushed writes that a power cut may lose: a thread flushes this
    /// often while there are unflushed writes. `None` means that it never flushes.
    pub sync_every: Option<Duration>,
    /// The size in bytes to which this handle may grow the file. Beyond that, writing fails as on a
    /// full disk. An eighth of it, at most 2 MiB, is reserved for small writes and for removals.
    pub max_bytes: Option<u64>,
    /// Whether to reject all writes. A read-only store is never created. It can be opened in a
    /// directory that the process cannot write, unless a writer died there and left a log to clean
    /// up.
    pub read_only: bool,
}

/// The state that all users of one handle share.
struct SqliteInner {
    path: PathBuf,
    /// The files and directories that other users could read before this handle was opened.
    restricted_paths: Vec<PathBuf>,
    location: StoreLocation,
    file: Arc<StoreFile>,
    read_only: bool,
    /// Whether the quarantine has the current format. Opening for writing upgrades it.
    has_quarantine: bool,
    /// Whether the table of past heads exists. Opening for writing creates it.
    has_past_heads: bool,
    /// Seals the values of an encrypted store.
    seal: ValueSeal,
    /// The directory of what is derived from the log.
    derived: SealedDirectory,
    origin: HandleOrigin,
    reserve: DiskReserve,
    /// The only connection that writes.
    writer: Mutex<SqliteWriter>,
    /// Batches that wait for the writer. The thread that gets the writer commits them all.
    queue: Queue,
    /// Reading connections that are not in use.
    readers: Mutex<Vec<Connection>>,
    index: Mutex<LogIndex>,
    watch: AppendWatch,
    syncer: LogSyncer,
    closed: AtomicBool,
}

struct SqliteWriter {
    connection: Connection,
    file: Arc<StoreFile>,
    /// Whether commits reach the disk before they return.
    synchronous: bool,
    quota: Option<PageQuota>,
    /// The quota that was last set on this connection.
    n_pages: Option<u32>,
    /// The end of the log when this connection last read or wrote it.
    known: Option<KnownHead>,
}

/// The end of the log at some moment.
#[derive(Debug, Clone, Copy)]
struct KnownHead {
    /// The `data_version` of the writing connection at that moment. Every commit of another
    /// connection changes it; its own commits do not.
    version: i64,
    head: u64,
}

/// A reading connection that is returned to the pool on drop.
struct PooledReader<'a> {
    inner: &'a SqliteInner,
    /// Invariant: `Some` until the value is dropped.
    connection: Option<Connection>,
}

impl Default for OpenOptions {
    fn default() -> Self {
        let sync_every = Some(Duration::from_secs(1));
        Self { create: false, create_new: false, sync_every, max_bytes: None, read_only: false }
    }
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
            queue: Queue::default(),
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

impl SqliteInner {
    fn ensure_open(&self) -> Result<(), StoreError> {
        if self.closed.load(Ordering::Acquire) { Err(StoreError::Closed) } else { Ok(()) }
    }

    fn ensure_writable(&self, action: &'static str) -> Result<(), StoreError> {
        self.ensure_open()?;
        if self.read_only { Err(StoreError::ReadOnly { action }) } else { Ok(()) }
    }

    fn reader(&self) -> Result<PooledReader<'_>, StoreError> {
        self.ensure_open()?;
        self.file.check_now_and_then()?;
        let idle = self.readers.lock().pop();
        let connection = idle.map_or_else(|| self.location.connect(), Ok)?;
        Ok(PooledReader { inner: self, connection: Some(connection) })
    }

    fn writer(&self, action: &'static str) -> Result<MutexGuard<'_, SqliteWriter>, StoreError> {
        self.ensure_writable(action)?;
        Ok(self.writer.lock())
    }

    /// Runs one writing transaction that appends nothing to the log, and commits it.
    fn write<T>(
        &self,
        action: &'static str,
        change: impl FnOnce(&Connection) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let mut writer = self.writer(action)?;
        let known = writer.known;
        let tx = writer.begin(false, action)?;
        let result = change(&tx)?;
        tx.commit().map_err(store_error(action))?;
        writer.known = known;
        drop(writer);
        self.syncer.mark_unsynced();
        Ok(result)
    }
}

impl SqliteWriter {
    /// Begins a writing transaction. If it is `synchronous`, it and all earlier commits are on disk
    /// when its commit returns.
    fn begin(
        &mut self,
        synchronous: bool,
        action: &'static str,
    ) -> Result<SqliteTransaction<'_>, StoreError> {
        self.file.check()?;
        // A caller that knows the end of the log after its commit sets this again.
        self.known = None;
        if self.synchronous != synchronous {
            let level = if synchronous { "FULL" } else { "NORMAL" };
            self.connection
                .pragma_update(None, "synchronous", level)
                .map_err(store_error(action))?;
            self.synchronous = synchronous;
        }
        let n_pages = self.quota.as_ref().map(PageQuota::n_pages);
        if let Some(n) = n_pages.filter(|_| self.n_pages != n_pages) {
            self.connection
                .pragma_update(None, "max_page_count", n)
                .map_err(store_error(action))?;
            self.n_pages = n_pages;
        }
        SqliteTransaction::write(&self.connection).map_err(store_error(action))
    }
}

impl Deref for PooledReader<'_> {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        self.connection.as_ref().expect("it is there until this is dropped")
    }
}

impl Drop for PooledReader<'_> {
    fn drop(&mut self) {
        let mut idle = self.inner.readers.lock();
        if idle.len() < MAX_IDLE_READERS {
            idle.extend(self.connection.take());
        }
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
