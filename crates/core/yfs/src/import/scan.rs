//! The scan that finds the objects to import.

use std::{
    fs::Metadata,
    os::unix::{ffi::OsStrExt as _, fs::PermissionsExt},
    path::{Path, PathBuf},
    sync::Arc,
    time::UNIX_EPOCH,
};

use ignore::{DirEntry, WalkBuilder};
use smol_str::SmolStr;
use yfs_engine::{path::VPath, time::Millis};
use yfs_vfs::{
    ignore_rules::IgnoreVerdict,
    reserved_names::TEMPORARY,
    stat::{DEFAULT_DIRECTORY_MODE, DEFAULT_FILE_MODE},
};

use super::{ImportOptions, SkipReason, SkippedPath, ignores::ImportIgnores, names::ImportNames};
use crate::error::{Result, WorkspaceError};

/// Directories and files that belong to tools, at any depth.
pub(crate) const RESERVED: [&str; 2] = [".git", ".yfs"];

/// An object to import.
#[derive(Debug)]
pub(crate) struct ImportEntry {
    /// Its path on the host.
    pub(crate) from: PathBuf,
    /// Its path in the workspace.
    pub(crate) to: VPath,
    pub(crate) kind: ImportEntryKind,
    /// Permission bits, if they differ from the default of a new object.
    pub(crate) mode: Option<u32>,
    pub(crate) mtime: Option<Millis>,
    /// Its size in bytes.
    pub(crate) size: u64,
}

/// The kind of an object to import.
#[derive(Debug)]
pub(crate) enum ImportEntryKind {
    Directory,
    Link(SmolStr),
    File,
}

/// The result of a scan, each directory before its entries.
#[derive(Debug)]
pub(crate) struct ImportScan {
    pub(crate) found: Vec<ImportEntry>,
    pub(crate) skipped: Vec<SkippedPath>,
    /// Whether a directory was given, rather than one file.
    pub(crate) is_directory: bool,
}

/// Lists the objects in `from`, with their paths below `to`. `is_there` reports whether the
/// workspace has an object at a path.
pub(crate) fn scan(
    from: &Path,
    to: &VPath,
    options: &ImportOptions,
    is_there: &dyn Fn(&VPath) -> bool,
) -> Result<ImportScan> {
    let host = |source| WorkspaceError::Host { action: "read", path: from.to_owned(), source };
    // The directory itself may be named by a link; links in it are not followed.
    let root = from.canonicalize().map_err(host)?;
    let meta = root.metadata().map_err(host)?;
    let mut scan =
        ImportScan { found: Vec::new(), skipped: Vec::new(), is_directory: meta.is_dir() };
    if !meta.is_dir() {
        scan.add_entry(&root, to.clone(), &meta, options);
        return Ok(scan);
    }
    std::fs::read_dir(&root).map_err(host)?;
    let mut entries = Vec::new();
    let ignores = Arc::new(ImportIgnores::new(&root, options));
    for entry in walker(&root, options, Arc::clone(&ignores)) {
        match entry {
            Ok(entry) if entry.depth() == 0 => (),
            Ok(entry) => entries.push(entry),
            Err(error) => {
                let path = failed_path(&error).unwrap_or(&root).display().to_string();
                let why = error.io_error().map_or_else(|| error.to_string(), ToString::to_string);
                scan.skipped.push(SkippedPath { path, why: SkipReason::Failed(why) });
            }
        }
    }
    let mut names = ImportNames::new(&root, to, &entries);
    for entry in &entries {
        let is_directory = entry.file_type().is_some_and(|kind| kind.is_dir());
        match names.destination(entry.path(), is_directory, is_there) {
            // The workspace keeps up with a file that it has, whatever its name.
            Some(Ok(to))
                if !is_directory && ignores.is_leftover(entry.path()) && !is_there(&to) => {}
            Some(Ok(to)) => scan.add_dir_entry(entry, to, options),
            Some(Err(error)) => {
                let (path, why) = (entry.path().display().to_string(), error.to_string());
                scan.skipped.push(SkippedPath { path, why: SkipReason::BadName(why) });
            }
            // The directory that it is in was left out, and is reported.
            None => (),
        }
    }
    Ok(scan)
}

fn walker(root: &Path, options: &ImportOptions, ignores: Arc<ImportIgnores>) -> ignore::Walk {
    let hidden = options.hidden;
    WalkBuilder::new(root)
        .standard_filters(false)
        .follow_links(false)
        .sort_by_file_name(Ord::cmp)
        .filter_entry(move |entry| {
            if entry.depth() == 0 {
                return true;
            }
            let is_dir = entry.file_type().is_some_and(|kind| kind.is_dir());
            if ignores.verdict(entry.path(), is_dir) == Some(IgnoreVerdict::Excluded) {
                return false;
            }
            match entry.file_name().to_str() {
                Some(name) if RESERVED.contains(&name) || name.starts_with(TEMPORARY) => false,
                Some(name) => hidden || !name.starts_with('.'),
                None => hidden || !entry.file_name().as_bytes().starts_with(b"."),
            }
        })
        .build()
}

impl ImportScan {
    fn add_dir_entry(&mut self, entry: &DirEntry, to: VPath, options: &ImportOptions) {
        let path = entry.path();
        let skip = |why| SkippedPath { path: path.display().to_string(), why };
        match path.symlink_metadata() {
            Ok(meta) => self.add_entry(path, to, &meta, options),
            Err(error) => self.skipped.push(skip(SkipReason::Failed(error.to_string()))),
        }
    }

    fn add_entry(&mut self, from: &Path, to: VPath, meta: &Metadata, options: &ImportOptions) {
        let skip = |why| SkippedPath { path: from.display().to_string(), why };
        let file_type = meta.file_type();
        let (kind, default_mode) = if file_type.is_dir() {
            (ImportEntryKind::Directory, DEFAULT_DIRECTORY_MODE)
        } else if file_type.is_symlink() {
            match from.read_link().map(|target| target.to_str().map(SmolStr::new)) {
                Ok(Some(target)) => (ImportEntryKind::Link(target), 0o777),
                Ok(None) => return self.skipped.push(skip(SkipReason::NotUtf8)),
                Err(error) => {
                    return self.skipped.push(skip(SkipReason::Failed(error.to_string())));
                }
            }
        } else if !file_type.is_file() {
            return self.skipped.push(skip(SkipReason::Special));
        } else if meta.len() > options.max_file_len {
            return self.skipped.push(skip(SkipReason::TooLarge { size: meta.len() }));
        } else {
            (ImportEntryKind::File, DEFAULT_FILE_MODE)
        };
        let mode = meta.permissions().mode() & 0o7777;
        let mode = Some(mode).filter(|mode| *mode != default_mode && !file_type.is_symlink());
        let (from, mtime, size) = (from.to_owned(), mtime(meta), meta.len());
        self.found.push(ImportEntry { from, to, kind, mode, mtime, size });
    }
}

fn mtime(meta: &Metadata) -> Option<Millis> {
    let since = meta.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
    i64::try_from(since.as_millis()).ok().map(Millis)
}

fn failed_path(error: &ignore::Error) -> Option<&Path> {
    match error {
        ignore::Error::WithPath { path, .. } => Some(path),
        ignore::Error::WithDepth { err, .. } | ignore::Error::WithLineNumber { err, .. } => {
            failed_path(err)
        }
        _ => None,
    }
}
