//! What all parts of one handle share.

use std::{
    ops::Deref,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use parking_lot::{Mutex, MutexGuard};
use rusqlite::Connection;

use super::{
    location::StoreLocation,
    reserve::{DiskReserve, PageQuota},
    seal::ValueSeal,
    store_error::store_error,
    store_file::StoreFile,
    sync::LogSyncer,
    transaction::SqliteTransaction,
};
use crate::{StoreError, encryption::SealedDirectory};

/// The number of idle reading connections that a handle keeps.
const MAX_IDLE_READERS: usize = 4;

/// The connections of one handle to its file, which all tables share.
pub(super) struct SharedConnections {
    pub(super) path: PathBuf,
    /// The files and directories that other users could read before this handle was opened.
    pub(super) restricted_paths: Vec<PathBuf>,
    pub(super) location: StoreLocation,
    pub(super) file: Arc<StoreFile>,
    pub(super) read_only: bool,
    /// Whether the quarantine has the current format. Opening for writing upgrades it.
    pub(super) has_quarantine: bool,
    /// Whether the table of past heads exists. Opening for writing creates it.
    pub(super) has_past_heads: bool,
    /// Seals the values of an encrypted store.
    pub(super) seal: ValueSeal,
    /// The directory of what is derived from the log.
    pub(super) derived: SealedDirectory,
    pub(super) reserve: DiskReserve,
    /// The only connection that writes.
    pub(super) writer: Mutex<SqliteWriter>,
    /// Reading connections that are not in use.
    pub(super) readers: Mutex<Vec<Connection>>,
    pub(super) syncer: LogSyncer,
    pub(super) closed: AtomicBool,
}

pub(super) struct SqliteWriter {
    pub(super) connection: Connection,
    pub(super) file: Arc<StoreFile>,
    /// Whether commits reach the disk before they return.
    pub(super) synchronous: bool,
    pub(super) quota: Option<PageQuota>,
    /// The quota that was last set on this connection.
    pub(super) n_pages: Option<u32>,
    /// The end of the log when this connection last read or wrote it.
    pub(super) known: Option<KnownHead>,
}

/// The end of the log at some moment.
#[derive(Debug, Clone, Copy)]
pub(super) struct KnownHead {
    /// The `data_version` of the writing connection at that moment. Every commit of another
    /// connection changes it; its own commits do not.
    pub(super) version: i64,
    pub(super) head: u64,
}

/// A reading connection that is returned to the pool on drop.
pub(super) struct PooledReader<'a> {
    pub(super) shared: &'a SharedConnections,
    /// Invariant: `Some` until the value is dropped.
    pub(super) connection: Option<Connection>,
}

impl SharedConnections {
    pub(super) fn ensure_open(&self) -> Result<(), StoreError> {
        if self.closed.load(Ordering::Acquire) { Err(StoreError::Closed) } else { Ok(()) }
    }

    pub(super) fn ensure_writable(&self, action: &'static str) -> Result<(), StoreError> {
        self.ensure_open()?;
        if self.read_only { Err(StoreError::ReadOnly { action }) } else { Ok(()) }
    }

    pub(super) fn reader(&self) -> Result<PooledReader<'_>, StoreError> {
        self.ensure_open()?;
        self.file.check_now_and_then()?;
        let idle = self.readers.lock().pop();
        let connection = idle.map_or_else(|| self.location.connect(), Ok)?;
        Ok(PooledReader { shared: self, connection: Some(connection) })
    }

    pub(super) fn writer(
        &self,
        action: &'static str,
    ) -> Result<MutexGuard<'_, SqliteWriter>, StoreError> {
        self.ensure_writable(action)?;
        Ok(self.writer.lock())
    }

    /// Runs one writing transaction that appends nothing to the log, and commits it.
    pub(super) fn write<T>(
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

    /// Returns memory of connections that are idle.
    pub(super) fn release_memory(&self) {
        // A writer or reader that is in use is not idle.
        if let Some(writer) = self.writer.try_lock() {
            writer.connection.release_memory().ok();
        }
        for reader in self.readers.lock().iter() {
            reader.release_memory().ok();
        }
    }
}

impl SqliteWriter {
    /// Begins a writing transaction. If it is `synchronous`, it and all earlier commits are on disk
    /// when its commit returns.
    pub(super) fn begin(
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
        let mut idle = self.shared.readers.lock();
        if idle.len() < MAX_IDLE_READERS {
            idle.extend(self.connection.take());
        }
    }
}
