//! Reaching the disk.
//!
//! A commit writes to the write-ahead log and leaves it to the system when that reaches the disk.
//! Asking for it needs no transaction and no lock: whatever was committed is either in that file
//! or was moved to the main file, which SQLite syncs before it reuses the log. So a flush is one
//! `fdatasync`, which waits for no writer and holds up none.

use std::{
    fs::File,
    io,
    path::{Path, PathBuf},
    sync::Arc,
    thread::{self, JoinHandle},
    time::Duration,
};

use parking_lot::{Condvar, Mutex};

use super::schema::sync_directory;
use crate::StoreError;

/// Flushes on demand, and from a thread of its own some time after a write.
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
    /// Wakes the thread, for work or to end.
    wake: Condvar,
}

#[derive(Debug, Default)]
struct SyncerState {
    dirty: bool,
    stopped: bool,
    /// After a failed sync the system may believe that lost pages are clean, so that a second
    /// attempt would succeed and mean nothing.
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

    /// Records that a write is not synced yet.
    pub(super) fn wrote(&self) {
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
            // Without the thread nothing is lost but the promise about power cuts, which `flush`
            // still gives.
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
            // It does not panic, and if it did there would be nothing to do about it.
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
            // A failure is remembered, and reported by whatever promises durability next.
            let sound = !dirty || self.flush().is_ok();
            if stopped || !sound {
                return;
            }
        }
    }

    fn flush(&self) -> Result<(), StoreError> {
        // Before, not after: what is written meanwhile is dirty again.
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
            // It is there while any connection is open: a store has no other journal.
            *file = Some(File::open(&path)?);
            sync_directory(&self.path).map_err(io::Error::other)?;
        }
        file.as_ref().map_or(Ok(()), File::sync_data)
    }
}
