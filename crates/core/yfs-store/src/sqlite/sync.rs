//! Syncing to disk.
//!
//! A commit writes to the write-ahead log, and the system decides when that reaches the disk. A
//! sync needs no transaction and no lock: all commits are either in that file or were moved to the
//! main file, which SQLite syncs before it reuses the log. So a flush is one `fdatasync`, which
//! neither waits for a writer nor delays one.

use std::{
    fs::File,
    io,
    path::{Path, PathBuf},
    sync::Arc,
    thread::{self, JoinHandle},
    time::Duration,
};

use parking_lot::{Condvar, Mutex};

use super::location::sync_directory;
use crate::StoreError;

/// Flushes on request, and from a thread of its own some time after a write.
#[derive(Debug)]
pub(super) struct LogSyncer {
    shared: Arc<SyncerShared>,
    every: Option<Duration>,
    /// Started by the first write; ended by [`stop`](Self::stop), which waits for it.
    thread: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Debug)]
struct SyncerShared {
    path: PathBuf,
    /// The write-ahead log; it stays the same file while any connection is open.
    file: Mutex<Option<File>>,
    state: Mutex<SyncerState>,
    /// Wakes the thread, to flush or to end.
    wake: Condvar,
}

#[derive(Debug, Default)]
struct SyncerState {
    dirty: bool,
    stopped: bool,
    /// Whether a sync failed. After a failed sync the system may treat lost pages as clean, so a
    /// second attempt would succeed without writing them.
    failed: bool,
}

impl LogSyncer {
    pub(super) fn new(path: &Path, every: Option<Duration>) -> Self {
        let shared = SyncerShared {
            path: path.to_owned(),
            file: Mutex::default(),
            state: Mutex::default(),
            wake: Condvar::new(),
        };
        Self { shared: Arc::new(shared), every, thread: Mutex::default() }
    }

    /// Records that there are unsynced writes.
    pub(super) fn mark_unsynced(&self) {
        let mut state = self.shared.state.lock();
        if state.dirty {
            return;
        }
        state.dirty = true;
        let Some(every) = self.every.filter(|_| !state.stopped) else { return };
        drop(state);
        self.shared.wake.notify_one();
        let mut thread = self.thread.lock();
        if thread.is_none() {
            let shared = self.shared.clone();
            let spawned = thread::Builder::new()
                .name("yfs-store-sync".to_owned())
                .spawn(move || shared.run(every));
            // Without the thread, power cuts may lose more; `flush` still works.
            *thread = spawned.ok();
        }
    }

    /// Fails if an earlier sync failed.
    pub(super) fn ensure_sound(&self) -> Result<(), StoreError> {
        if self.shared.state.lock().failed { Err(StoreError::SyncFailed) } else { Ok(()) }
    }

    pub(super) fn flush(&self) -> Result<(), StoreError> {
        self.ensure_sound()?;
        self.shared.flush()
    }

    /// Ends the thread, which syncs what is left.
    pub(super) fn stop(&self) {
        self.shared.state.lock().stopped = true;
        self.shared.wake.notify_one();
        if let Some(thread) = self.thread.lock().take() {
            // The thread does not panic. If it did, there would be nothing to do about it.
            drop(thread.join());
        }
    }
}

impl SyncerShared {
    fn run(&self, every: Duration) {
        loop {
            let mut state = self.state.lock();
            while !state.dirty && !state.stopped {
                self.wake.wait(&mut state);
            }
            let stopped = state.stopped || {
                self.wake.wait_while_for(&mut state, |state| !state.stopped, every);
                state.stopped
            };
            let dirty = state.dirty;
            drop(state);
            // A failure is recorded, and the next call that promises durability reports it.
            let sound = !dirty || self.flush().is_ok();
            if stopped || !sound {
                return;
            }
        }
    }

    fn flush(&self) -> Result<(), StoreError> {
        // Cleared before the sync, not after: later writes set it again.
        self.state.lock().dirty = false;
        self.sync().map_err(|error| {
            self.state.lock().failed = true;
            StoreError::io("sync the store", error)
        })
    }

    fn sync(&self) -> io::Result<()> {
        let mut file = self.file.lock();
        if file.is_none() {
            let mut path = self.path.clone().into_os_string();
            path.push("-wal");
            // The file exists while any connection is open: a store has no other journal.
            *file = Some(File::open(&path)?);
            sync_directory(&self.path).map_err(io::Error::other)?;
        }
        file.as_ref().map_or(Ok(()), File::sync_data)
    }
}
