//! Locks of paths: they order tools that work in several steps.
//!
//! An exclusive lock of a path also excludes every lock below it, so that moving or deleting a
//! directory excludes writers of its files. All locks of one call are taken at once, in the order
//! of their paths, so two calls never wait for each other.
//!
//! The locks save repeated work. They are not what keeps changes: every write of a tool names the
//! version that it replaces, so a writer that takes no lock, or in another process, loses nothing.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Weak},
};

use parking_lot::Mutex;
use tokio::sync::{OwnedRwLockReadGuard, OwnedRwLockWriteGuard, RwLock};
use yfs_types::path::VPath;

/// The number of entries at which locks that no call holds are removed.
const PRUNE_AT: usize = 1_024;

/// The locks of the paths of one filesystem. Sessions that share it wait for each other.
#[derive(Debug, Default)]
pub struct PathLocks {
    entries: Mutex<HashMap<VPath, Weak<RwLock<()>>>>,
}

/// The locks that one call holds; dropping it releases them.
#[derive(Debug)]
pub struct PathLockGuard {
    /// Held by the call, released when it ends; each wakes one waiter of its path.
    _guards: Vec<HeldLock>,
}

#[derive(Debug)]
#[expect(dead_code, reason = "a guard is held, and never read")]
enum HeldLock {
    Shared(OwnedRwLockReadGuard<()>),
    Exclusive(OwnedRwLockWriteGuard<()>),
}

impl PathLocks {
    /// Waits for the exclusive locks of all `paths`.
    pub async fn lock(&self, paths: impl IntoIterator<Item = VPath>) -> PathLockGuard {
        // Whether each lock is exclusive. A parent sorts before what is below it.
        let mut wanted: BTreeMap<VPath, bool> = BTreeMap::new();
        for path in paths {
            let mut above = path.parent();
            while let Some(directory) = above {
                above = directory.parent();
                wanted.entry(directory).or_insert(false);
            }
            wanted.insert(path, true);
        }
        let mut guards = Vec::with_capacity(wanted.len());
        for (path, is_exclusive) in wanted {
            let lock = self.entry(path);
            guards.push(if is_exclusive {
                HeldLock::Exclusive(lock.write_owned().await)
            } else {
                HeldLock::Shared(lock.read_owned().await)
            });
        }
        PathLockGuard { _guards: guards }
    }

    fn entry(&self, path: VPath) -> Arc<RwLock<()>> {
        let mut entries = self.entries.lock();
        if let Some(lock) = entries.get(&path).and_then(Weak::upgrade) {
            return lock;
        }
        if entries.len() >= PRUNE_AT {
            entries.retain(|_, lock| lock.strong_count() > 0);
        }
        let lock = Arc::new(RwLock::new(()));
        entries.insert(path, Arc::downgrade(&lock));
        lock
    }
}
