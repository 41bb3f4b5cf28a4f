//! Locks of directories and files of the host, which exclude other writers of this process and of
//! other processes.
//!
//! A lock has two parts: an entry in a table of this process, for which its threads queue, and an
//! advisory lock of the kernel (`flock`) on the open directory, which needs no lock file. The
//! kernel releases it when the process ends, however it ends. A filesystem without such locks (some
//! network filesystems) and a directory that may not be read leave only the first part; see the
//! module [`write`](super::write) for what is checked beside the locks.
//!
//! # Invariants
//!
//! - The locks of one operation are taken at once, in the order of [`InodeKey`], so that no two
//!   operations wait for each other.
//! - No wait is longer than the deadline of the operation.

use std::{
    collections::HashMap,
    ffi::CStr,
    sync::{Arc, LazyLock},
    thread,
    time::{Duration, Instant},
};

use parking_lot::{Condvar, Mutex, RwLockReadGuard};
use rustix::{
    fd::OwnedFd,
    fs::{FlockOperation, Mode, OFlags, flock, openat},
    io::Errno,
};
use thiserror::Error;
use yfs_types::path::VPath;

use super::{
    HostStat,
    host_lookup::{HostDisk, HostEntry, HostError, HostFinalLink, HostLookup},
};
use crate::{error::FsCode, stat::FileKind};

/// The longest time that an operation waits for its locks.
pub(super) const LOCK_TIMEOUT: Duration = Duration::from_secs(30);

/// How often an operation begins again because another program was faster.
const MAX_RACES: usize = 1_000;

/// The shortest and the longest pause between two attempts to take a lock of another process.
const PAUSES: [Duration; 2] = [Duration::from_micros(100), Duration::from_millis(5)];

/// The locks that threads of this process hold or wait for.
static LOCAL_LOCKS: LazyLock<Mutex<HashMap<InodeKey, Arc<LocalLock>>>> =
    LazyLock::new(Mutex::default);

/// A locked object. Directories sort before files, because the directory of a file is locked first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct InodeKey {
    is_file: bool,
    /// Device and inode.
    place: (u64, u64),
}

/// The reason why an operation could not take its locks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub(super) enum LockFailure {
    #[error(
        "another writer, probably in another process, has held the lock (flock) of its directory \
         for more than {} s", .0.as_secs()
    )]
    Timeout(Duration),
    #[error("other programs keep changing it")]
    KeepsChanging,
}

/// The locks that an operation holds; dropping it releases them.
#[derive(Debug)]
pub(super) struct HeldLocks<'a> {
    _inodes: Vec<InodeLock>,
    /// Held by the operation until it ends; the scan for changes waits for it.
    _change: RwLockReadGuard<'a, ()>,
}

/// A lock of one directory or file.
#[derive(Debug)]
struct InodeLock {
    /// The open object with the kernel's lock, if its filesystem has locks.
    locked: Option<OwnedFd>,
    _local: LocalLockGuard,
}

/// A lock among the threads of this process.
#[derive(Debug, Default)]
struct LocalLock {
    is_held: Mutex<bool>,
    /// Notified when the lock is released; wakes one waiter.
    released: Condvar,
}

#[derive(Debug)]
struct LocalLockGuard {
    key: InodeKey,
    lock: Arc<LocalLock>,
    is_held: bool,
}

/// An object to lock: where it is, and how it is opened.
#[derive(Debug)]
struct InodeToLock<'a> {
    key: InodeKey,
    dir: &'a OwnedFd,
    /// The name of a file; a directory is `dir` itself.
    name: Option<&'a CStr>,
}

impl HostDisk {
    /// Looks a path up and locks the directory that holds its last existing component. The result
    /// is what is there while the lock is held.
    pub(super) fn lookup_locked(
        &self,
        path: &VPath,
        last: HostFinalLink,
    ) -> Result<(HostLookup, HeldLocks<'_>), HostError> {
        let (mut found, held) = self.lock_where_found(|| Ok(vec![self.lookup(path, last)?]))?;
        Ok((found.remove(0), held))
    }

    /// Like [`Self::lookup_locked`], for an existing object.
    pub(super) fn find_locked(
        &self,
        path: &VPath,
        last: HostFinalLink,
    ) -> Result<(HostEntry, HeldLocks<'_>), HostError> {
        match self.lookup_locked(path, last)? {
            (HostLookup::There(entry), held) => Ok((entry, held)),
            (HostLookup::Missing(_), _) => Err(FsCode::ENOENT.into()),
        }
    }

    /// Looks up an existing object and the place that it is moved to, and locks both directories.
    pub(super) fn lookup_move_locked(
        &self,
        from: &VPath,
        to: &VPath,
    ) -> Result<(HostEntry, HostLookup, HeldLocks<'_>), HostError> {
        let look = || {
            let source = self.find(from, HostFinalLink::Keep)?;
            Ok(vec![self.lookup(to, HostFinalLink::Keep)?, HostLookup::There(source)])
        };
        let (mut found, held) = self.lock_where_found(look)?;
        match (found.pop(), found.pop()) {
            (Some(HostLookup::There(source)), Some(dest)) => Ok((source, dest, held)),
            _ => Err(FsCode::ENOENT.into()),
        }
    }

    /// Locks a directory that is open already.
    pub(super) fn lock_directory(&self, dir: &OwnedFd) -> Result<HeldLocks<'_>, HostError> {
        let deadline = Instant::now() + self.lock_timeout;
        let lock = InodeToLock::directory(dir)?.lock(deadline, self.lock_timeout)?;
        Ok(HeldLocks { _inodes: vec![lock], _change: self.changing.read() })
    }

    /// Repeats an operation as long as other programs are faster.
    pub(super) fn retrying<T>(
        &self,
        work: impl Fn() -> Result<T, HostError>,
    ) -> Result<T, HostError> {
        for _ in 0..MAX_RACES {
            match work() {
                Err(HostError::Raced) => (),
                result => return result,
            }
        }
        Err(HostError::Locked(LockFailure::KeepsChanging))
    }

    /// Calls `look` and locks where the objects are, until the objects are still there when the
    /// locks are held.
    fn lock_where_found(
        &self,
        look: impl Fn() -> Result<Vec<HostLookup>, HostError>,
    ) -> Result<(Vec<HostLookup>, HeldLocks<'_>), HostError> {
        let deadline = Instant::now() + self.lock_timeout;
        self.retrying(|| {
            let first = look()?;
            let wanted = inodes_to_lock(&first)?;
            let keys: Vec<InodeKey> = wanted.iter().map(|inode| inode.key).collect();
            let locks = wanted.into_iter().map(|inode| inode.lock(deadline, self.lock_timeout));
            let inodes = locks.collect::<Result<Vec<_>, _>>()?;
            let held = HeldLocks { _inodes: inodes, _change: self.changing.read() };
            let found = look()?;
            match inodes_to_lock(&found)?.iter().map(|inode| inode.key).eq(keys) {
                true => Ok((found, held)),
                false => Err(HostError::Raced),
            }
        })
    }
}

/// Returns what to lock, in order and each once.
fn inodes_to_lock(found: &[HostLookup]) -> Result<Vec<InodeToLock<'_>>, HostError> {
    let mut inodes = Vec::new();
    for lookup in found {
        match lookup {
            HostLookup::There(entry) => {
                inodes.push(InodeToLock::directory(&entry.dir)?);
                // Its other names may be in other directories.
                if entry.facts.kind == FileKind::File && entry.facts.n_links > 1 {
                    inodes.push(InodeToLock::file(entry));
                }
            }
            HostLookup::Missing(missing) => inodes.push(InodeToLock::directory(&missing.dir)?),
        }
    }
    inodes.sort_by_key(|inode| inode.key);
    inodes.dedup_by_key(|inode| inode.key);
    Ok(inodes)
}

impl<'a> InodeToLock<'a> {
    fn directory(dir: &'a OwnedFd) -> Result<Self, HostError> {
        let key = InodeKey { is_file: false, place: HostStat::of(dir)?.place };
        Ok(Self { key, dir, name: None })
    }

    fn file(entry: &'a HostEntry) -> Self {
        let key = InodeKey { is_file: true, place: entry.facts.place };
        Self { key, dir: &entry.dir, name: Some(&entry.name) }
    }

    fn lock(self, deadline: Instant, timeout: Duration) -> Result<InodeLock, HostError> {
        let timed_out = HostError::Locked(LockFailure::Timeout(timeout));
        let Some(local) = LocalLockGuard::acquire(self.key, deadline) else {
            return Err(timed_out);
        };
        let locked = match self.open() {
            // Without the right to read, there is no descriptor that could be locked.
            Err(Errno::ACCESS | Errno::PERM) => None,
            // Another object took the name.
            Err(Errno::NOENT | Errno::LOOP) => return Err(HostError::Raced),
            opened => {
                let opened = opened?;
                let has_locks = lock_by_kernel(&opened, deadline).ok_or(timed_out)?;
                has_locks.then_some(opened)
            }
        };
        Ok(InodeLock { locked, _local: local })
    }

    fn open(&self) -> Result<OwnedFd, Errno> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NOCTTY | OFlags::CLOEXEC;
        match self.name {
            None => openat(self.dir, c".", flags | OFlags::DIRECTORY, Mode::empty()),
            Some(name) => openat(self.dir, name, flags | OFlags::NONBLOCK, Mode::empty()),
        }
    }
}

/// Locks an open object, and reports whether its filesystem has locks; `None` if another process
/// held the lock until the deadline.
fn lock_by_kernel(opened: &OwnedFd, deadline: Instant) -> Option<bool> {
    let [mut pause, longest] = PAUSES;
    loop {
        match flock(opened, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Some(true),
            Err(Errno::INTR) => (),
            Err(Errno::WOULDBLOCK) if Instant::now() >= deadline => return None,
            Err(Errno::WOULDBLOCK) => {
                thread::sleep(pause);
                pause = (pause * 2).min(longest);
            }
            // NOLCK, OPNOTSUPP, and BADF, INVAL or NOSYS on some network filesystems.
            Err(_) => return Some(false),
        }
    }
}

impl Drop for InodeLock {
    fn drop(&mut self) {
        if let Some(locked) = &self.locked {
            // Closing would not be enough: a child process may have inherited the descriptor.
            flock(locked, FlockOperation::Unlock).ok();
        }
    }
}

impl LocalLockGuard {
    /// Waits for the lock; `None` at the deadline.
    fn acquire(key: InodeKey, deadline: Instant) -> Option<Self> {
        let lock = LOCAL_LOCKS.lock().entry(key).or_default().clone();
        let mut guard = Self { key, lock, is_held: false };
        let mut is_held = guard.lock.is_held.lock();
        while *is_held {
            let waited = guard.lock.released.wait_until(&mut is_held, deadline);
            if waited.timed_out() && *is_held {
                break;
            }
        }
        let is_free = !std::mem::replace(&mut *is_held, true);
        drop(is_held);
        guard.is_held = is_free;
        is_free.then_some(guard)
    }
}

impl Drop for LocalLockGuard {
    fn drop(&mut self) {
        if self.is_held {
            *self.lock.is_held.lock() = false;
            self.lock.released.notify_one();
        }
        let mut locks = LOCAL_LOCKS.lock();
        // The table's own and this one: nothing else uses the entry.
        if Arc::strong_count(&self.lock) == 2 {
            locks.remove(&self.key);
        }
    }
}
