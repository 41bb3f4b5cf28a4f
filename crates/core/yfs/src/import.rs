//! Import of a directory of the host into a workspace.
//!
//! Several threads read the files, and transactions of at most `MAX_ROWS` rows create them, all
//! under one label. Running it again imports only what is missing: directory ids are derived, equal
//! files are left unchanged, changed ones are written as the least edit.

mod compare;
mod files;
pub mod ignores;
pub(crate) mod label;
mod names;
mod scan;
mod yjs;

pub use self::compare::{DifferenceKind, DirectoryComparison, DirectoryDifference};
use self::scan::RESERVED;
pub use self::yjs::{YjsImportError, YjsImportReport};

use std::{fmt, path::Path};

use yfs_engine::path::VPath;
use yfs_vfs::{
    FileKind, FsCode, FsError, MkdirOptions, Op, RemoveOptions, name_escaping::HostRules,
};

use self::scan::{ImportEntry, ImportEntryKind};
use crate::{
    Workspace, WorkspaceFs,
    error::Result,
    fs::batch::{NewNode, PreparedNode},
    workspace::noted_imports::{NotedImport, note_import},
};

/// The greatest number of rows in one transaction.
pub(crate) const MAX_ROWS: usize = 1_000;

/// Options of an import.
#[derive(Debug, Clone)]
pub struct ImportOptions {
    /// Whether files that `.gitignore` and `.yfsignore` files name are left out.
    pub gitignore: bool,
    /// Whether names that begin with a dot are imported. `.git` and `.yfs` never are.
    pub hidden: bool,
    /// Patterns of further paths to leave out, as lines of a `.gitignore` in the imported
    /// directory. No such file includes them again. They apply only with `gitignore`.
    pub ignores: Vec<String>,
    /// The largest file that is imported, in bytes. Larger ones are left out and reported.
    pub max_file_len: u64,
    /// Whether files are read whose size and time are those of the file in the workspace. Without
    /// it, they are taken to be unchanged, as `rsync` and `make` do.
    pub checksum: bool,
    /// The number of threads that read files; 0 for the number of processors.
    pub n_threads: usize,
}

/// The progress of an import or export.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct TransferProgress {
    /// Objects that are done.
    pub n_done: u64,
    /// Objects in total, as far as they are known.
    pub n_total: u64,
    /// Bytes of content that are done.
    pub n_bytes: u64,
}

/// The result of an import.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ImportReport {
    /// Files that were created.
    pub n_created: u64,
    /// Files that existed and got new content.
    pub n_updated: u64,
    /// Files and links that existed and were equal. Directories are not counted.
    pub n_unchanged: u64,
    /// Directories that were created.
    pub n_directories: u64,
    /// Links that were created.
    pub n_links: u64,
    /// Bytes of files that were read.
    pub n_bytes: u64,
    /// Objects that were left out, and the reasons.
    pub skipped: Vec<SkippedPath>,
}

/// An object that was left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkippedPath {
    /// Its path, as far as it can be displayed.
    pub path: String,
    /// The reason.
    pub why: SkipReason,
}

/// The reason why an object was left out.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum SkipReason {
    /// Its name is not UTF-8.
    NotUtf8,
    /// Its name is not allowed in the workspace or on the host.
    BadName(String),
    /// It is a fifo, a socket or a device.
    Special,
    /// It is larger than the limit.
    TooLarge {
        /// Its size in bytes.
        size: u64,
    },
    /// An object of another kind is at the destination.
    InTheWay,
    /// A different object is at the destination and must not be replaced.
    Exists,
    /// It is a link that leads out of the tree.
    Escapes,
    /// Its name is reserved for tools: `.git`, `.yfs`, and what a host takes for one of them.
    Reserved,
    /// It could not be read or written.
    Failed(String),
}

impl Default for ImportOptions {
    fn default() -> Self {
        let max_file_len = 256 << 20;
        let ignores = Vec::new();
        Self { gitignore: true, hidden: true, ignores, max_file_len, checksum: false, n_threads: 0 }
    }
}

impl Workspace {
    /// Imports a file or directory of the host, so that the content of `from` is in `to`
    /// afterwards.
    ///
    /// Other content of the workspace stays. Objects that cannot be imported are left out and
    /// reported. An error means that the import ended early; it may be run again.
    pub fn import(
        &self,
        from: &Path,
        to: &VPath,
        options: &ImportOptions,
        progress: &dyn Fn(&TransferProgress),
    ) -> Result<ImportReport> {
        let named = from.canonicalize().ok();
        let name = named.as_deref().and_then(Path::file_name).unwrap_or_default();
        let fs = self.fs().for_import(&name.to_string_lossy());
        let note = fs.begin_import_note();
        DirectoryImporter {
            fs,
            note,
            options,
            progress,
            report: ImportReport::default(),
            at: TransferProgress::default(),
        }
        .run(from, to)
    }
}

struct DirectoryImporter<'a> {
    fs: WorkspaceFs,
    options: &'a ImportOptions,
    progress: &'a dyn Fn(&TransferProgress),
    report: ImportReport,
    at: TransferProgress,
    /// What a history shows of the import.
    note: NotedImport,
}

impl DirectoryImporter<'_> {
    fn run(mut self, from: &Path, to: &VPath) -> Result<ImportReport> {
        let to = &self.destination(from, to)?;
        let is_there = |path: &VPath| matches!(self.fs.reader().stat_if_exists(path), Ok(Some(_)));
        let scan = scan::scan(from, to, self.options, &is_there)?;
        self.report.skipped = scan.skipped;
        self.at.n_total = scan.found.len() as u64;
        let root = if scan.is_directory { Some(to.clone()) } else { to.parent() };
        if let Some(root) = root.filter(|root| !root.is_root()) {
            self.fs.tree().mkdir(&root, &MkdirOptions::recursive())?;
        }
        let (files, others): (Vec<ImportEntry>, Vec<ImportEntry>) =
            scan.found.into_iter().partition(|entry| matches!(entry.kind, ImportEntryKind::File));
        // Directories come before their entries, in the order of the scan.
        let others = self.filter_missing(others)?;
        for batch in others.chunks(MAX_ROWS) {
            self.make_directories_and_links(batch)?;
        }
        files::import(&mut self, &files)?;
        self.finish_note();
        self.report.skipped.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(self.report)
    }

    /// Notes the import for histories. Without the note they read each file.
    fn finish_note(&mut self) {
        let ImportReport { n_created, n_updated, n_links, .. } = self.report;
        self.note.n_files = n_created + n_updated + n_links;
        self.note.at = self.fs.state().now();
        note_import(self.fs.state(), &self.note).ok();
    }

    /// Returns the destination of `from`.
    fn destination(&self, from: &Path, to: &VPath) -> Result<VPath> {
        let name = from.file_name().filter(|_| from.is_file());
        let name = name.and_then(|name| HostRules::default().to_workspace(name, &|_| false));
        destination_of_file(&self.fs, name.as_deref(), to)
    }

    /// Filters out directories and links that exist already; replaces links with another target.
    fn filter_missing(&mut self, others: Vec<ImportEntry>) -> Result<Vec<ImportEntry>> {
        let mut missing = Vec::with_capacity(others.len());
        for found in others {
            let Some(stat) = self.fs.reader().stat_if_exists(&found.to)? else {
                missing.push(found);
                continue;
            };
            match (&found.kind, stat.kind) {
                (ImportEntryKind::Directory, FileKind::Directory) => self.count_done(0, |_| ()),
                (ImportEntryKind::Link(target), FileKind::Symlink) => {
                    if self.fs.reader().readlink(&found.to)? == **target {
                        self.count_unchanged();
                        continue;
                    }
                    self.fs.tree().rm(&found.to, &RemoveOptions::default())?;
                    missing.push(found);
                }
                _ => self.skip_entry(&found, SkipReason::InTheWay),
            }
        }
        Ok(missing)
    }

    fn make_directories_and_links(&mut self, batch: &[ImportEntry]) -> Result<()> {
        let node = |found: &ImportEntry| NewNode {
            path: found.to.clone(),
            mode: found.mode,
            mtime: found.mtime,
            content: match &found.kind {
                ImportEntryKind::Link(target) => self.fs.prepare_link(target),
                _ => PreparedNode::Directory,
            },
        };
        let nodes: Vec<NewNode> = batch.iter().map(node).collect();
        let made = self.fs.create_many(&nodes)?;
        for (found, made) in batch.iter().zip(made.ids) {
            match (made, &found.kind) {
                (Err(error), _) => self.skip_entry(found, SkipReason::of(&error)),
                (Ok(_), ImportEntryKind::Link(_)) => {
                    self.count_done(0, |report| report.n_links += 1);
                }
                (Ok(_), _) => self.count_done(0, |report| report.n_directories += 1),
            }
        }
        (self.progress)(&self.at);
        Ok(())
    }

    fn count_unchanged(&mut self) {
        self.count_done(0, |report| report.n_unchanged += 1);
    }

    fn skip_entry(&mut self, found: &ImportEntry, why: SkipReason) {
        let path = found.from.display().to_string();
        self.count_done(0, |report| report.skipped.push(SkippedPath { path, why }));
    }

    fn count_done(&mut self, n_bytes: u64, count: impl FnOnce(&mut ImportReport)) {
        count(&mut self.report);
        self.report.n_bytes += n_bytes;
        self.at.n_done += 1;
        self.at.n_bytes += n_bytes;
    }
}

/// Returns the destination of a single file: below `to` under its own name if `to` is a directory.
fn destination_of_file(fs: &WorkspaceFs, name: Option<&str>, to: &VPath) -> Result<VPath> {
    let Some(name) = name else { return Ok(to.clone()) };
    let is_directory =
        to.is_root() || fs.reader().stat_if_exists(to)?.is_some_and(|stat| stat.is_directory());
    Ok(if is_directory { to.join(name) } else { to.clone() })
}

impl SkipReason {
    /// Converts an error of the workspace to the reason for leaving out an object.
    pub(crate) fn of(error: &FsError) -> Self {
        match error.code {
            FsCode::EEXIST | FsCode::EISDIR | FsCode::ENOTDIR => Self::InTheWay,
            FsCode::EINVAL | FsCode::ENAMETOOLONG if error.op == Op::Open => {
                let source = error.source.as_ref();
                Self::BadName(
                    source.map_or_else(|| error.code.message().to_owned(), ToString::to_string),
                )
            }
            _ => Self::Failed(error.to_string()),
        }
    }
}

impl fmt::Display for SkipReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotUtf8 => f.write_str("the name is not UTF-8"),
            Self::BadName(why) => write!(f, "the name cannot be used: {why}"),
            Self::Special => f.write_str("not a file, directory or link"),
            Self::TooLarge { size } => {
                write!(f, "its {size} bytes exceed the limit (see --max-size)")
            }
            Self::InTheWay => f.write_str("an object of another kind is at the destination"),
            Self::Exists => {
                f.write_str("a different object is at the destination (replace it with --force)")
            }
            Self::Escapes => f.write_str("the link leads out of the directory"),
            Self::Reserved => f.write_str("the name is reserved for another tool"),
            Self::Failed(why) => f.write_str(why),
        }
    }
}
