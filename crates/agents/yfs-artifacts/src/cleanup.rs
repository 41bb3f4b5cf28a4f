//! Removing old artifacts, by age and by size.

use std::{collections::BTreeSet, time::Duration};

use yfs_types::{path::VPath, time::Millis};
use yfs_vfs::{FileKind, FileSystemExt, FsCode, FsError, RemoveOptions, WalkEntry, WalkOptions};

use crate::file_store::FileSystemStore;

/// Which artifacts are removed.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct CleanupPolicy {
    /// Those that were changed longer ago than this.
    pub max_age: Option<Duration>,
    /// The oldest ones, until the rest has no more bytes.
    pub max_total_bytes: Option<u64>,
    /// The oldest ones, until the rest is no more files.
    pub max_files: Option<usize>,
    /// Directories below the root in which nothing is removed, for example of threads in use.
    pub kept_directories: BTreeSet<String>,
}

/// What a cleanup removed, or would remove.
#[derive(Debug, Default)]
pub struct CleanupReport {
    /// The files, the oldest first.
    pub removed: Vec<RemovedArtifact>,
    /// Their bytes.
    pub freed_bytes: u64,
    /// The files that could not be removed; the cleanup went on.
    pub failed: Vec<(VPath, FsError)>,
}

/// A file that a cleanup removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemovedArtifact {
    /// Its path.
    pub path: VPath,
    /// Its size, in bytes.
    pub size: u64,
    /// Why it was removed.
    pub reason: CleanupReason,
}

/// Why a cleanup removes a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CleanupReason {
    /// It is older than [`CleanupPolicy::max_age`].
    Age,
    /// There are more bytes than [`CleanupPolicy::max_total_bytes`].
    TotalBytes,
    /// There are more files than [`CleanupPolicy::max_files`].
    NumberOfFiles,
}

impl CleanupReason {
    /// Returns the word for it: `age`, `size` or `files`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Age => "age",
            Self::TotalBytes => "size",
            Self::NumberOfFiles => "files",
        }
    }
}

impl FileSystemStore {
    /// Removes the artifacts that a policy names, and the directories that become empty. A dry run
    /// only reports them.
    ///
    /// In a workspace, removed files are in the trash.
    ///
    /// # Errors
    ///
    /// Fails if the artifacts cannot be listed.
    pub async fn clean_up(
        &self,
        policy: &CleanupPolicy,
        now: Millis,
        dry_run: bool,
    ) -> Result<CleanupReport, FsError> {
        let root = &self.options().root;
        let entries = match self.fs().walk(root, &WalkOptions::default()).await {
            Err(error) if error.code == FsCode::ENOENT => return Ok(CleanupReport::default()),
            walked => walked?,
        };
        let mut report = CleanupReport::default();
        for planned in plan_cleanup(root, &entries, policy, now) {
            if !dry_run && let Err(error) = self.remove(&planned.path).await {
                report.failed.push((planned.path, error));
                continue;
            }
            report.freed_bytes += planned.size;
            report.removed.push(planned);
        }
        Ok(report)
    }

    async fn remove(&self, path: &VPath) -> Result<(), FsError> {
        self.fs().rm(path, &RemoveOptions::default()).await?;
        let mut directory = path.parent();
        while let Some(above) = directory.filter(|above| *above != self.options().root) {
            // It is not empty, or another caller removed it.
            if self.fs().rm(&above, &RemoveOptions::default()).await.is_err() {
                break;
            }
            directory = above.parent();
        }
        Ok(())
    }
}

fn plan_cleanup(
    root: &VPath,
    entries: &[WalkEntry],
    policy: &CleanupPolicy,
    now: Millis,
) -> Vec<RemovedArtifact> {
    let is_kept = |path: &VPath| {
        let relative = path.relative_to(root).unwrap_or_default();
        policy.kept_directories.iter().any(|directory| {
            relative.strip_prefix(directory.as_str()).is_some_and(|rest| rest.starts_with('/'))
        })
    };
    let mut files: Vec<&WalkEntry> =
        entries.iter().filter(|found| found.entry.kind == FileKind::File).collect();
    files.sort_by(|one, other| (one.entry.mtime, &one.path).cmp(&(other.entry.mtime, &other.path)));
    let mut n_bytes: u64 = files.iter().map(|found| found.entry.size).sum();
    let mut n_files = files.len();
    let mut planned = Vec::new();
    for found in files.into_iter().filter(|found| !is_kept(&found.path)) {
        let age = now.0.saturating_sub(found.entry.mtime.0);
        let is_old = |limit: Duration| u128::try_from(age).is_ok_and(|age| age > limit.as_millis());
        let reason = if policy.max_age.is_some_and(is_old) {
            CleanupReason::Age
        } else if policy.max_total_bytes.is_some_and(|limit| n_bytes > limit) {
            CleanupReason::TotalBytes
        } else if policy.max_files.is_some_and(|limit| n_files > limit) {
            CleanupReason::NumberOfFiles
        } else {
            continue;
        };
        n_bytes -= found.entry.size;
        n_files -= 1;
        planned.push(RemovedArtifact { path: found.path.clone(), size: found.entry.size, reason });
    }
    planned
}
