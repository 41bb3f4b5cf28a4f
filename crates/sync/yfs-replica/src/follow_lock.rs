//! The lock of a process that continuously syncs a store with a server. Two such processes on one
//! store would send each other's updates back and forth.

use std::{
    fs::{File, OpenOptions, TryLockError},
    io,
    path::Path,
};

use yfs_engine::hash::ContentHash;

use crate::{client::RemoteServer, replica_error::ReplicaError};

/// The lock that the process holds while it continuously syncs a store with a server. The operating
/// system releases it when the process ends.
#[derive(Debug)]
pub struct FollowLock {
    _file: File,
}

impl FollowLock {
    /// Locks the store in `dir` for syncing with `remote` by this process.
    ///
    /// # Errors
    ///
    /// [`ReplicaError::AlreadyFollowed`] if another process holds the lock.
    pub fn acquire(dir: &Path, remote: &RemoteServer) -> Result<Self, ReplicaError> {
        let hash = ContentHash::of(remote.url().as_bytes()).to_string();
        let file = lock_file(&dir.join(format!("sync-{}.lock", &hash[..16])))?;
        let file = file.ok_or_else(|| ReplicaError::AlreadyFollowed(remote.url().to_owned()))?;
        Ok(Self { _file: file })
    }
}

/// Locks a file of a store, which is created if there is none; `None` if another process has.
pub fn lock_file(path: &Path) -> io::Result<Option<File>> {
    let mut options = OpenOptions::new();
    options.create(true).truncate(false).write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options.open(path)?;
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_process_at_a_time_follows_a_server() {
        let dir = tempfile::tempdir().unwrap();
        let [here, there] = ["http://127.0.0.1:1", "http://127.0.0.1:2"]
            .map(|url| RemoteServer::parse(url, None).unwrap());
        let held = FollowLock::acquire(dir.path(), &here).unwrap();
        let refused = FollowLock::acquire(dir.path(), &here).unwrap_err();
        assert!(refused.is_final(), "{refused}");
        FollowLock::acquire(dir.path(), &there).unwrap();
        drop(held);
        FollowLock::acquire(dir.path(), &here).unwrap();
    }
}
