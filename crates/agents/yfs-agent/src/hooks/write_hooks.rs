//! Quotas, and checks of contents.

use std::fmt;

use async_trait::async_trait;
use thiserror::Error;
use yfs_types::path::VPath;
use yfs_vfs::{FileSystem, FileSystemExt, FsCode, FsError};

use super::hooked_fs::{PlannedChange, WriteHook};

/// A limit on the files of a filesystem.
///
/// # Cost
///
/// Each change that adds bytes or files reads the totals of the filesystem, so the limit considers
/// what other writers made as well.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StorageQuota {
    /// The greatest number of bytes of all files.
    pub max_bytes: u64,
    /// The greatest number of files.
    pub max_files: u64,
}

/// The cause of an `ENOSPC` of a [`StorageQuota`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub struct QuotaExceeded {
    /// The limit in bytes.
    pub max_bytes: u64,
    /// The limit in files.
    pub max_files: u64,
}

impl fmt::Display for QuotaExceeded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let limits = [(self.max_bytes, "bytes"), (self.max_files, "files")];
        let limits = limits.iter().filter(|(max, _)| *max != u64::MAX);
        let limits: Vec<_> = limits.map(|(max, unit)| format!("{max} {unit}")).collect();
        write!(f, "the quota of {} would be exceeded", limits.join(" in "))
    }
}

/// A check of what files would hold.
pub struct ContentCheck {
    check: Box<CheckFunction>,
}

/// A function that accepts the content of a file, or returns the reason why not.
type CheckFunction = dyn Fn(&VPath, &[u8]) -> Result<(), String> + Send + Sync;

/// The cause of an `EACCES` of a [`ContentCheck`].
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("the content is rejected: {0}")]
pub(crate) struct ContentRejection(pub String);

#[async_trait]
impl WriteHook for StorageQuota {
    async fn check_change(
        &self,
        fs: &dyn FileSystem,
        change: &PlannedChange<'_>,
    ) -> Result<(), FsError> {
        if change.added_bytes <= 0 && change.added_files <= 0 {
            return Ok(());
        }
        let used = fs.totals(&VPath::root()).await?;
        let exceeds =
            |used: u64, added: i64, max: u64| added > 0 && used.saturating_add_signed(added) > max;
        if exceeds(used.n_bytes, change.added_bytes, self.max_bytes)
            || exceeds(used.n_files, change.added_files, self.max_files)
        {
            let Self { max_bytes, max_files } = *self;
            let cause = QuotaExceeded { max_bytes, max_files };
            return Err(change.refused(FsCode::ENOSPC).caused_by(cause));
        }
        Ok(())
    }
}

impl StorageQuota {
    /// Makes a quota, unless neither limit is given.
    pub fn limiting(max_bytes: Option<u64>, max_files: Option<u64>) -> Option<Self> {
        let limit = |max: Option<u64>| max.unwrap_or(u64::MAX);
        let is_limited = max_bytes.is_some() || max_files.is_some();
        is_limited.then(|| Self { max_bytes: limit(max_bytes), max_files: limit(max_files) })
    }
}

impl ContentCheck {
    /// Makes a check that calls `check` with the path and content of each file that a change would
    /// make.
    pub fn new(
        check: impl Fn(&VPath, &[u8]) -> Result<(), String> + Send + Sync + 'static,
    ) -> Self {
        Self { check: Box::new(check) }
    }
}

impl fmt::Debug for ContentCheck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ContentCheck").finish_non_exhaustive()
    }
}

#[async_trait]
impl WriteHook for ContentCheck {
    fn needs_contents(&self) -> bool {
        true
    }

    async fn check_change(
        &self,
        _: &dyn FileSystem,
        change: &PlannedChange<'_>,
    ) -> Result<(), FsError> {
        let Some(content) = change.content else { return Ok(()) };
        let checked = (self.check)(change.path, content);
        checked.map_err(|why| change.refused(FsCode::EACCES).caused_by(ContentRejection(why)))
    }
}
