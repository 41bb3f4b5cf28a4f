//! The file of an open store. If another file takes its name, or none has it any more, what a
//! handle writes goes to a file that no process can open again.

use std::{
    fs, io,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use parking_lot::Mutex;

use crate::StoreError;

/// The interval at which readers check the file. Writers check it each time.
const READ_INTERVAL: Duration = Duration::from_millis(20);

/// The file of a store, as it was when a handle opened it.
#[derive(Debug)]
pub(super) struct StoreFile {
    path: PathBuf,
    /// What identifies the file, where the system reports it.
    identity: Option<FileIdentity>,
    /// When a reader last checked it.
    checked: Mutex<Option<Instant>>,
}

/// Device and inode.
type FileIdentity = (u64, u64);

impl StoreFile {
    /// Remembers the file at a path, which a handle has opened.
    pub(super) fn opened(path: &Path) -> Self {
        let identity = identity_of(path).ok().flatten();
        // The working directory may change.
        let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        Self { path, identity, checked: Mutex::default() }
    }

    /// Fails with [`StoreError::Replaced`] if the path has another file now, or none.
    ///
    /// # Cost
    ///
    /// One call of `stat`.
    pub(super) fn check(&self) -> Result<(), StoreError> {
        let Some(identity) = self.identity else { return Ok(()) };
        match identity_of(&self.path) {
            Ok(Some(now)) if now != identity => (),
            Err(error) if error.kind() == io::ErrorKind::NotFound => (),
            // The file may be the same, and cannot be inspected now.
            _ => return Ok(()),
        }
        Err(StoreError::Replaced { path: self.path.clone() })
    }

    /// Does the same, unless a reader did within the last 20 ms.
    pub(super) fn check_now_and_then(&self) -> Result<(), StoreError> {
        let mut checked = self.checked.lock();
        if checked.is_some_and(|checked| checked.elapsed() < READ_INTERVAL) {
            return Ok(());
        }
        self.check()?;
        *checked = Some(Instant::now());
        Ok(())
    }
}

#[cfg(unix)]
fn identity_of(path: &Path) -> io::Result<Option<FileIdentity>> {
    use std::os::unix::fs::MetadataExt;
    let metadata = fs::metadata(path)?;
    Ok(Some((metadata.dev(), metadata.ino())))
}

/// Where open files cannot be replaced, there is nothing to check.
#[cfg(not(unix))]
fn identity_of(path: &Path) -> io::Result<Option<FileIdentity>> {
    fs::metadata(path).map(|_| None)
}
