//! The differences between the workspace and a directory of the host, as an import would see them.

use std::{
    collections::HashMap,
    os::unix::ffi::OsStrExt as _,
    path::{Path, PathBuf},
};

use yfs_engine::path::VPath;
use yfs_vfs::{
    DirEntry, FileKind, ignore_rules::IgnoreRuleList, name_escaping::HostRules,
    reserved_names::TEMPORARY,
};

use super::{
    ImportOptions, RESERVED, SkipReason, SkippedPath, files,
    scan::{self, ImportEntry, ImportEntryKind},
};
use crate::{Workspace, WorkspaceFs, error::Result};

/// The differences between a workspace and a directory.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DirectoryComparison {
    /// The files and links that differ, by path.
    pub differences: Vec<DirectoryDifference>,
    /// Files and links that are equal.
    pub n_equal: u64,
    /// What could not be compared, and the reasons.
    pub skipped: Vec<SkippedPath>,
}

/// A file or link that differs.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DirectoryDifference {
    /// Its path in the workspace.
    pub path: VPath,
    /// Its path on the host; if it is missing there, the one that it would have.
    pub host: PathBuf,
    /// The difference.
    pub kind: DifferenceKind,
}

/// A difference of a directory from the workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DifferenceKind {
    /// Only the directory has the file.
    Added,
    /// Only the workspace has the file.
    Removed,
    /// Both have it, with different content.
    Changed,
    /// Both have it, as objects of different kinds.
    Retyped,
}

impl DifferenceKind {
    /// Returns the name of the difference.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Removed => "removed",
            Self::Changed => "changed",
            Self::Retyped => "retyped",
        }
    }
}

impl DirectoryComparison {
    /// Compares the files and links of a workspace with those of a directory of the host.
    ///
    /// What [`Workspace::import`] leaves out with these options is not compared: it is neither
    /// added, nor removed if the workspace has it. Directories and permission bits are not
    /// compared. Nothing is changed.
    ///
    /// The workspace is listed once. Only what differs in size or time is read.
    ///
    /// # Errors
    ///
    /// Fails if the directory or the workspace cannot be read.
    pub fn new(workspace: &Workspace, directory: &Path, options: &ImportOptions) -> Result<Self> {
        let fs = workspace.fs();
        let is_there = |path: &VPath| matches!(fs.reader().stat_if_exists(path), Ok(Some(_)));
        let scan = scan::scan(directory, &VPath::root(), options, &is_there)?;
        let mut comparison = Self { skipped: scan.skipped, ..Self::default() };
        let listed = fs.list_all(&VPath::root())?.into_iter();
        let mut listed: HashMap<VPath, DirEntry> =
            listed.map(|found| (found.path, found.entry)).collect();
        for entry in scan.found {
            let known = listed.remove(&entry.to);
            if known.is_some_and(|known| looks_equal(&known, &entry, options)) {
                comparison.n_equal += 1;
            } else if !matches!(entry.kind, ImportEntryKind::Directory) {
                comparison.add_entry(&fs, &entry, options)?;
            }
        }
        comparison.add_removed(directory, listed, &options.ignore_rules());
        comparison.differences.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(comparison)
    }

    fn add_entry(
        &mut self,
        fs: &WorkspaceFs,
        entry: &ImportEntry,
        options: &ImportOptions,
    ) -> Result<()> {
        match difference_of(fs, entry, options)? {
            Ok(None) => self.n_equal += 1,
            Ok(Some(kind)) => {
                let (path, host) = (entry.to.clone(), entry.from.clone());
                self.differences.push(DirectoryDifference { path, host, kind });
            }
            Err(why) => {
                self.skipped.push(SkippedPath { path: entry.from.display().to_string(), why });
            }
        }
        Ok(())
    }

    /// Adds what the workspace has and a scan of the directory did not find.
    fn add_removed(
        &mut self,
        directory: &Path,
        left: HashMap<VPath, DirEntry>,
        ignores: &IgnoreRuleList,
    ) {
        for (path, entry) in left {
            if entry.kind == FileKind::Directory {
                continue;
            }
            let Some(host) = host_path(directory, &path) else { continue };
            let relative = host.strip_prefix(directory).unwrap_or(&host);
            if ignores.excludes_below(relative.as_os_str().as_bytes(), false) {
                continue;
            }
            // What is there all the same is left out by a rule.
            if host.symlink_metadata().is_err() {
                let kind = DifferenceKind::Removed;
                self.differences.push(DirectoryDifference { path, host, kind });
            }
        }
    }
}

/// Reports whether a file of the host need not be read, because of its size and time.
fn looks_equal(known: &DirEntry, entry: &ImportEntry, options: &ImportOptions) -> bool {
    matches!(entry.kind, ImportEntryKind::File)
        && !options.checksum
        && files::has_size_and_time(known.kind, known.size, known.mtime, entry)
}

/// Compares an object of the host that does not look equal with the one in the workspace; fails
/// with the reason if it cannot be read.
fn difference_of(
    fs: &WorkspaceFs,
    entry: &ImportEntry,
    options: &ImportOptions,
) -> Result<Result<Option<DifferenceKind>, SkipReason>> {
    let Some(stat) = fs.reader().stat_if_exists(&entry.to)? else {
        return Ok(Ok(Some(DifferenceKind::Added)));
    };
    let is_equal = match (&entry.kind, stat.kind) {
        (ImportEntryKind::Link(target), FileKind::Symlink) => {
            fs.reader().readlink(&entry.to)? == **target
        }
        (ImportEntryKind::File, FileKind::File) => {
            stat.size == entry.size
                && match files::has_equal_content(fs, entry, options.max_file_len)? {
                    Ok(is_equal) => is_equal,
                    Err(why) => return Ok(Err(why)),
                }
        }
        _ => return Ok(Ok(Some(DifferenceKind::Retyped))),
    };
    Ok(Ok((!is_equal).then_some(DifferenceKind::Changed)))
}

/// Returns the path on the host for a path of the workspace; `None` if it is not written there.
fn host_path(directory: &Path, path: &VPath) -> Option<PathBuf> {
    let mut host = directory.to_owned();
    for name in path.as_str().split('/').filter(|name| !name.is_empty()) {
        if RESERVED.contains(&name) || name.starts_with(TEMPORARY) {
            return None;
        }
        host.push(HostRules::default().to_host(name, &|_| false)?);
    }
    Some(host)
}
