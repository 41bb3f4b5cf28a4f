//! A store in one SQLite file, which any number of processes may have open at the same time.
//!
//! The layout is an append-only log without an index by document, plus snapshots
//! (`docs/format/store.md`). With an index, every append would write to a random page: 25 times the
//! bytes. Instead the positions of each document's records are in a derived map beside the store,
//! which is made anew after many appends, and each handle reads the rows that came after it.
//!
//! A store is four parts: [`SharedConnections`] to the file, with its room, key and settings;
//! [`SqliteLog`], [`SqliteBlobs`] and [`SqliteLocal`], which own their tables.
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
mod facts;
mod holder;
mod index;
mod local;
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
mod settings;
mod shared_connections;
mod single;
mod stats;
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
    blobs::SqliteBlobs,
    local::SqliteLocal,
    location::StoreLocation,
    log::SqliteLog,
    reserve::DiskReserve,
    schema::OpenedFile,
    shared_connections::{SharedConnections, SqliteWriter},
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
    forward::forward_to,
};

/// A store in one SQLite file.
pub struct SqliteStore {
    shared: Arc<SharedConnections>,
    log: Box<SqliteLog>,
    blobs: SqliteBlobs,
    local: SqliteLocal,
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
        let log_watch = AppendWatch::new(location.clone());
        let shared = Arc::new(SharedConnections {
            path: path.to_owned(),
            restricted_paths,
            reserve,
            read_only: options.read_only,
            has_quarantine: format > 1,
            has_past_heads: format > 2,
            derived: SealedDirectory::new(location::derived_beside(path), seal.data_key()),
            seal,
            writer: Mutex::new(writer),
            readers: Mutex::default(),
            location,
            file,
            syncer: LogSyncer::new(path, options.sync_every),
            closed: AtomicBool::new(false),
        });
        let log = Box::new(SqliteLog {
            shared: shared.clone(),
            origin: HandleOrigin::random(),
            queue: AppendQueue::default(),
            index: Mutex::default(),
            watch: log_watch,
        });
        let blobs = SqliteBlobs { shared: shared.clone() };
        let local = SqliteLocal { shared: shared.clone() };
        Ok(Self { shared, log, blobs, local })
    }

    /// Reports whether the store at a path is encrypted.
    pub fn is_encrypted(path: &Path) -> Result<bool, StoreError> {
        schema::is_encrypted(path)
    }

    /// Returns the path of the store's file.
    pub fn path(&self) -> &Path {
        &self.shared.path
    }
}

impl Drop for SqliteStore {
    fn drop(&mut self) {
        self.shared.syncer.stop();
    }
}

impl fmt::Debug for SqliteStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqliteStore").field("path", &self.shared.path).finish_non_exhaustive()
    }
}

impl UpdateLog for SqliteStore {
    forward_to! {
        log:
        fn append(&self, batch: AppendBatch) -> Result<AppendReceipt, StoreError>;
        fn load(&self, doc: &DocName) -> Result<StoredDocument, StoreError>;
        fn load_single(&self, docs: &[DocName]) -> Result<Vec<Option<LogRecord>>, StoreError>;
        fn load_after(
            &self, doc: &DocName, after: Seq,
        ) -> Result<Option<StoredDocument>, StoreError>;
        fn load_history(&self, doc: &DocName) -> Result<DocHistory, StoreError>;
        fn set_aside_damaged(&self, doc: &DocName, at: Millis) -> Result<u64, StoreError>;
        fn tail(
            &self, after: Seq, select: &dyn Fn(&DocName, HandleOrigin) -> bool,
        ) -> Result<TailPage, StoreError>;
        fn head(&self) -> Result<Seq, StoreError>;
        fn doc_head(&self, doc: &DocName) -> Result<DocHead, StoreError>;
        fn time_at(&self, position: Seq) -> Result<Option<Millis>, StoreError>;
        fn tailed_doc_head(&self, doc: &DocName) -> Result<DocHead, StoreError>;
        fn wait(&self, after: Seq, timeout: Duration) -> Result<bool, StoreError>;
        fn documents(&self) -> Result<Vec<DocStats>, StoreError>;
        fn documents_before(
            &self, before: Seq, n: usize,
        ) -> Result<Option<Vec<(Seq, DocName)>>, StoreError>;
        fn doc_stats(&self, doc: &DocName) -> Result<Option<DocStats>, StoreError>;
    }

    fn origin(&self) -> HandleOrigin {
        self.log.origin
    }

    fn compact(&self, doc: &DocName, merge: &MergeFn<'_>) -> Result<CompactionOutcome, StoreError> {
        self.shared.run_removal(|| self.log.compact(doc, merge))
    }

    fn forget(&self, doc: &DocName, head: Seq) -> Result<u64, StoreError> {
        self.shared.run_removal(|| self.log.forget(doc, head))
    }
}

impl BlobStore for SqliteStore {
    forward_to! {
        blobs:
        fn read_blob(&self, hash: &ContentHash, range: Range<u64>) -> Result<Vec<u8>, StoreError>;
        fn copy_blob(&self, hash: &ContentHash, to: &mut dyn Write) -> Result<u64, StoreError>;
        fn put_blob(&self, content: &mut dyn Read, at: Millis) -> Result<BlobInfo, StoreError>;
        fn blob_info(&self, hash: &ContentHash) -> Result<Option<BlobInfo>, StoreError>;
        fn blobs(&self) -> Result<Vec<BlobInfo>, StoreError>;
        fn blob_mark(&self) -> Result<BlobMark, StoreError>;
    }

    fn remove_blobs(
        &self,
        mark: BlobMark,
        older_than: Millis,
        keep: &dyn Fn(&ContentHash) -> bool,
    ) -> Result<u64, StoreError> {
        self.shared.run_removal(|| self.blobs.remove_blobs(mark, older_than, keep))
    }
}

impl LocalState for SqliteStore {
    forward_to! {
        local:
        fn quarantine(
            &self, doc: &DocName, update: &[u8], reason: &str, at: Millis,
        ) -> Result<(), StoreError>;
        fn quarantined(&self) -> Result<Vec<QuarantinedUpdate>, StoreError>;
        fn quarantined_update(&self, number: u64) -> Result<Option<Vec<u8>>, StoreError>;
        fn parked(&self) -> Result<Vec<ParkedNote>, StoreError>;
        fn first_seen(&self, key: &str) -> Result<Option<Millis>, StoreError>;
        fn init_secret(&self, key: &str, value: &[u8]) -> Result<Vec<u8>, StoreError>;
        fn set_secret(&self, key: &str, value: &[u8]) -> Result<(), StoreError>;
        fn release_writer(&self, claim: WriterClaim) -> Result<(), StoreError>;
    }

    forward_to! {
        log:
        fn doc_facts(&self, docs: &[DocName]) -> Result<Vec<Option<DocFact>>, StoreError>;
        fn repair_facts(&self) -> Result<bool, StoreError>;
    }

    fn drop_quarantined(&self, number: Option<u64>) -> Result<u64, StoreError> {
        self.shared.run_removal(|| self.local.drop_quarantined(number))
    }

    fn note_parked(&self, doc: &DocName, note: Option<&ParkedNote>) -> Result<(), StoreError> {
        match note {
            Some(_) => self.shared.with_room(true, || self.local.note_parked(doc, note)),
            None => self.shared.run_removal(|| self.local.note_parked(doc, None)),
        }
    }

    fn set_doc_facts(&self, facts: &[(DocName, DocFact)]) -> Result<(), StoreError> {
        self.shared.with_room(true, || self.log.set_doc_facts(facts))
    }

    fn note_first_seen(&self, keys: &[&str], at: Millis) -> Result<(), StoreError> {
        self.shared.with_room(true, || self.local.note_first_seen(keys, at))
    }

    fn clear_first_seen(&self, keys: &[&str]) -> Result<(), StoreError> {
        self.shared.with_room(true, || self.local.clear_first_seen(keys))
    }

    fn get_meta(&self, key: &str) -> Result<Option<Vec<u8>>, StoreError> {
        self.shared.get_meta(key)
    }

    fn set_meta(&self, key: &str, value: &[u8]) -> Result<(), StoreError> {
        self.shared.with_room(true, || self.shared.set_meta(key, value))
    }

    fn init_meta(&self, key: &str, value: &[u8]) -> Result<Vec<u8>, StoreError> {
        self.shared.with_room(true, || self.shared.init_meta(key, value))
    }

    fn claim_writer(&self) -> Result<WriterClaim, StoreError> {
        self.shared.with_room(true, || self.local.claim_writer())
    }

    fn restricted_paths(&self) -> &[PathBuf] {
        &self.shared.restricted_paths
    }
}

impl Store for SqliteStore {
    forward_to! {
        shared:
        fn wipe(&self) -> Result<(), StoreError>;
        fn key_kind(&self) -> Result<Option<KeyKind>, StoreError>;
        fn change_key(&self, key: &UnlockKey) -> Result<(), StoreError>;
        fn release_memory(&self);
        fn backup(&self, to: &Path, progress: &mut dyn FnMut(u64, u64)) -> Result<(), StoreError>;
    }

    fn stats(&self) -> Result<StoreStats, StoreError> {
        self.sum_up()
    }

    fn cipher(&self, purpose: &str) -> Option<Arc<Cipher>> {
        self.shared.seal.data_key().map(|key| key.cipher(purpose))
    }

    fn derived_directory(&self) -> Option<SealedDirectory> {
        Some(self.shared.derived.clone())
    }

    fn checkpoint(&self, after: u64) -> Result<bool, StoreError> {
        self.log.checkpoint_log(after)
    }

    fn commit_stamp(&self) -> Result<Option<i64>, StoreError> {
        self.log.commit_stamp()
    }

    fn flush(&self) -> Result<(), StoreError> {
        self.shared.ensure_open()?;
        if self.shared.read_only { Ok(()) } else { self.shared.syncer.flush() }
    }

    fn check_with_progress(
        &self,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<CheckReport, StoreError> {
        self.check_all(progress)
    }

    fn check_log(&self) -> Result<CheckReport, StoreError> {
        self.check_documents()
    }

    fn close(&self) -> Result<(), StoreError> {
        self.flush()?;
        self.shared.closed.store(true, Ordering::Release);
        self.log.watch.wake();
        self.shared.syncer.stop();
        Ok(())
    }
}
