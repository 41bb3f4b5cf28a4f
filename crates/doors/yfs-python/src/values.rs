//! The values that calls return.

use pyo3::{prelude::*, types::PyBytes};
use yfs_agent::CommandOutput;
use yfs_types::actor::Actor;
use yfs_vfs::{
    ChangeKind, ChangePage, DirEntry, EditOutcome, EditOverlap, FileChange, FileContent, FileKind,
    FileMatches, GlobResult, GrepLine, GrepResult, LinePage, SearchLimit, Stat, TreeTotals,
    VersionToken, WalkEntry, WriteOutcome,
};

use crate::workspace::{PythonTrashEntry, PythonUndoneChange, PythonVersion};

/// The content of a file, with its version.
#[pyclass(name = "FileContent", module = "yfs", frozen)]
#[derive(Debug)]
pub(crate) struct PythonContent {
    #[pyo3(get)]
    data: Py<PyBytes>,
    #[pyo3(get)]
    version: String,
}

/// The description of an object.
#[pyclass(name = "Stat", module = "yfs", frozen, get_all, eq)]
#[derive(Debug, PartialEq)]
pub(crate) struct PythonStat {
    id: String,
    kind: &'static str,
    size: u64,
    mtime: f64,
    created: f64,
    mode: u32,
    n_links: u32,
    mime: Option<String>,
    version: Option<String>,
    is_dir: bool,
    is_file: bool,
}

/// A name in a directory, or an object below one.
#[pyclass(name = "DirEntry", module = "yfs", frozen, get_all, eq)]
#[derive(Debug, PartialEq)]
pub(crate) struct PythonEntry {
    path: String,
    name: String,
    id: String,
    kind: &'static str,
    size: u64,
    mtime: f64,
    mode: u32,
    is_dir: bool,
}

/// A page of lines.
#[pyclass(name = "LinePage", module = "yfs", frozen, get_all, eq)]
#[derive(Debug, PartialEq)]
pub(crate) struct PythonLinePage {
    lines: Vec<String>,
    offset: u64,
    n_total: Option<u64>,
    next_offset: Option<u64>,
    ends_with_newline: bool,
    version: String,
}

/// A range that two writers changed at the same time, in bytes.
#[pyclass(name = "EditOverlap", module = "yfs", frozen, get_all, eq)]
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PythonOverlap {
    offset: u64,
    length: u64,
    actor: Option<String>,
}

/// The result of a write.
#[pyclass(name = "WriteOutcome", module = "yfs", frozen, get_all, eq)]
#[derive(Debug, PartialEq)]
pub(crate) struct PythonWriteOutcome {
    id: String,
    version: Option<String>,
    merged: bool,
    size: u64,
    created: bool,
    overlaps: Vec<PythonOverlap>,
}

/// The result of an edit.
#[pyclass(name = "EditOutcome", module = "yfs", frozen, get_all, eq)]
#[derive(Debug, PartialEq)]
pub(crate) struct PythonEditOutcome {
    n_replaced: usize,
    version: Option<String>,
}

/// The paths that a pattern found.
#[pyclass(name = "GlobResult", module = "yfs", frozen)]
#[derive(Debug)]
pub(crate) struct PythonGlobResult {
    #[pyo3(get)]
    entries: Vec<Py<PythonEntry>>,
    #[pyo3(get)]
    cut: Option<&'static str>,
    #[pyo3(get)]
    n_unreadable: u64,
}

/// A line that a search found, or a line of context.
#[pyclass(name = "GrepLine", module = "yfs", frozen, get_all, eq)]
#[derive(Debug, PartialEq)]
pub(crate) struct PythonGrepLine {
    path: String,
    number: u64,
    text: String,
    is_match: bool,
    cut: bool,
}

/// The lines that a search found.
#[pyclass(name = "GrepResult", module = "yfs", frozen)]
#[derive(Debug)]
pub(crate) struct PythonGrepResult {
    #[pyo3(get)]
    lines: Vec<Py<PythonGrepLine>>,
    #[pyo3(get)]
    n_matches: usize,
    #[pyo3(get)]
    n_searched: u64,
    #[pyo3(get)]
    n_binary: u64,
    /// The paths of the first 20 files that are not text.
    #[pyo3(get)]
    binary_paths: Vec<String>,
    #[pyo3(get)]
    n_unreadable: u64,
    /// Why the search ended early, if it did; `limit` also if one file has more matches.
    #[pyo3(get)]
    cut: Option<&'static str>,
}

/// The number and size of the objects in a tree.
#[pyclass(name = "TreeTotals", module = "yfs", frozen, get_all, eq)]
#[derive(Debug, PartialEq)]
pub(crate) struct PythonTotals {
    n_files: u64,
    n_directories: u64,
    n_bytes: u64,
}

/// One change.
#[pyclass(name = "FileChange", module = "yfs", frozen, get_all, eq)]
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PythonChange {
    change: &'static str,
    path: String,
    moved_from: Option<String>,
    id: String,
    kind: &'static str,
    actor: Option<String>,
    at: f64,
}

/// A page of changes.
#[pyclass(name = "ChangePage", module = "yfs", frozen, get_all, eq)]
#[derive(Debug, PartialEq)]
pub(crate) struct PythonChangePage {
    changes: Vec<PythonChange>,
    next: String,
    more: bool,
}

/// The result of a command.
#[pyclass(name = "CommandOutput", module = "yfs", frozen, get_all, eq)]
#[derive(Debug, PartialEq)]
pub(crate) struct PythonCommandOutput {
    output: String,
    exit_code: Option<i32>,
    truncated: bool,
}

macro_rules! shown {
    ($($class:ident($($field:literal),*);)*) => {$(
        #[pymethods]
        impl $class {
            fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
                show(slf.as_any(), &[$($field),*])
            }
        }
    )*};
}

shown! {
    PythonContent("data", "version");
    PythonStat("id", "kind", "size", "mtime", "mode", "mime", "version");
    PythonEntry("path", "kind", "size", "mtime", "mode", "id");
    PythonLinePage("lines", "offset", "n_total", "next_offset", "ends_with_newline", "version");
    PythonOverlap("offset", "length", "actor");
    PythonWriteOutcome("id", "version", "merged", "size", "created", "overlaps");
    PythonEditOutcome("n_replaced", "version");
    PythonGlobResult("entries", "cut", "n_unreadable");
    PythonGrepLine("path", "number", "text", "is_match", "cut");
    PythonGrepResult("lines", "n_matches", "n_searched", "n_binary", "binary_paths", "n_unreadable",
        "cut");
    PythonTotals("n_files", "n_directories", "n_bytes");
    PythonChange("change", "path", "moved_from", "id", "kind", "actor", "at");
    PythonChangePage("changes", "next", "more");
    PythonCommandOutput("output", "exit_code", "truncated");
    PythonVersion("number", "at", "actor", "label", "names", "redacted", "current");
    PythonTrashEntry("id", "path", "at", "actor");
    PythonUndoneChange("path", "change", "result", "kept_others", "reason");
}

/// Returns an object's class and fields as Python shows them.
fn show(object: &Bound<'_, PyAny>, fields: &[&str]) -> PyResult<String> {
    let shown = |name: &&str| Ok(format!("{name}={}", object.getattr(*name)?.repr()?));
    let shown: Vec<String> = fields.iter().map(shown).collect::<PyResult<_>>()?;
    Ok(format!("{}({})", object.get_type().name()?, shown.join(", ")))
}

impl PythonContent {
    pub(crate) fn new(py: Python<'_>, content: &FileContent) -> Self {
        let data = PyBytes::new(py, &content.data).unbind();
        Self { data, version: content.version.to_string() }
    }
}

impl From<Stat> for PythonStat {
    fn from(stat: Stat) -> Self {
        Self {
            id: stat.id.to_string(),
            kind: kind_name(stat.kind),
            size: stat.size,
            mtime: stat.mtime.as_f64() / 1000.0,
            created: stat.created.as_f64() / 1000.0,
            mode: stat.mode,
            n_links: stat.n_links,
            is_dir: stat.is_directory(),
            is_file: stat.is_file(),
            mime: stat.mime.map(String::from),
            version: stat.version.as_ref().map(VersionToken::to_string),
        }
    }
}

impl PythonEntry {
    pub(crate) fn new(path: String, entry: &DirEntry) -> Self {
        Self {
            path,
            name: entry.name.to_string(),
            id: entry.id.to_string(),
            kind: kind_name(entry.kind),
            size: entry.size,
            mtime: entry.mtime.as_f64() / 1000.0,
            mode: entry.mode,
            is_dir: entry.kind == FileKind::Directory,
        }
    }
}

impl From<&WalkEntry> for PythonEntry {
    fn from(walked: &WalkEntry) -> Self {
        Self::new(walked.path.to_string(), &walked.entry)
    }
}

impl From<LinePage> for PythonLinePage {
    fn from(page: LinePage) -> Self {
        Self {
            lines: page.lines,
            offset: page.offset,
            n_total: page.n_total,
            next_offset: page.next_offset,
            ends_with_newline: page.ends_with_newline,
            version: page.version.to_string(),
        }
    }
}

impl From<&EditOverlap> for PythonOverlap {
    fn from(overlap: &EditOverlap) -> Self {
        let actor = overlap.actor.as_ref().map(Actor::to_string);
        Self { offset: overlap.offset, length: overlap.len, actor }
    }
}

impl From<WriteOutcome> for PythonWriteOutcome {
    fn from(outcome: WriteOutcome) -> Self {
        Self {
            id: outcome.id.to_string(),
            version: outcome.version.as_ref().map(VersionToken::to_string),
            merged: outcome.merged,
            size: outcome.size,
            created: outcome.created,
            overlaps: outcome.overlaps.iter().map(PythonOverlap::from).collect(),
        }
    }
}

impl From<EditOutcome> for PythonEditOutcome {
    fn from(outcome: EditOutcome) -> Self {
        let version = outcome.version.as_ref().map(VersionToken::to_string);
        Self { n_replaced: outcome.n_replaced, version }
    }
}

impl PythonGlobResult {
    pub(crate) fn new(py: Python<'_>, result: &GlobResult) -> PyResult<Self> {
        let entries = result.entries.iter().map(|entry| Py::new(py, PythonEntry::from(entry)));
        let entries = entries.collect::<PyResult<_>>()?;
        let (cut, n_unreadable) = (result.cut.map(limit_name), result.n_unreadable);
        Ok(Self { entries, cut, n_unreadable })
    }
}

impl PythonGrepResult {
    pub(crate) fn new(py: Python<'_>, result: &GrepResult) -> PyResult<Self> {
        let lines = result.files.iter().flat_map(|file| {
            file.lines.iter().map(move |line| Py::new(py, PythonGrepLine::new(file, line)))
        });
        let any_file_cut = result.files.iter().any(|file| file.cut);
        Ok(Self {
            lines: lines.collect::<PyResult<_>>()?,
            n_matches: result.n_matches,
            n_searched: result.n_searched,
            n_binary: result.n_binary,
            binary_paths: result.binary_paths.iter().map(ToString::to_string).collect(),
            n_unreadable: result.n_unreadable,
            cut: result.cut.map(limit_name).or(any_file_cut.then_some("limit")),
        })
    }
}

impl PythonGrepLine {
    fn new(file: &FileMatches, line: &GrepLine) -> Self {
        Self {
            path: file.path.to_string(),
            number: line.number,
            text: line.text.clone(),
            is_match: line.is_match,
            cut: line.cut,
        }
    }
}

impl From<TreeTotals> for PythonTotals {
    fn from(totals: TreeTotals) -> Self {
        let TreeTotals { n_files, n_directories, n_bytes } = totals;
        Self { n_files, n_directories, n_bytes }
    }
}

impl From<&FileChange> for PythonChange {
    fn from(change: &FileChange) -> Self {
        let (name, moved_from) = match &change.kind {
            ChangeKind::Created => ("created", None),
            ChangeKind::Changed => ("changed", None),
            ChangeKind::Moved { from } => ("moved", Some(from.to_string())),
            ChangeKind::Removed => ("removed", None),
            // The enum may grow.
            _ => ("other", None),
        };
        Self {
            change: name,
            path: change.path.to_string(),
            moved_from,
            id: change.id.to_string(),
            kind: kind_name(change.file_kind),
            actor: change.actor.as_ref().map(Actor::to_string),
            at: change.at.as_f64() / 1000.0,
        }
    }
}

impl From<&ChangePage> for PythonChangePage {
    fn from(page: &ChangePage) -> Self {
        Self {
            changes: page.events.iter().map(PythonChange::from).collect(),
            next: page.next.as_str().to_owned(),
            more: page.more,
        }
    }
}

impl From<CommandOutput> for PythonCommandOutput {
    fn from(output: CommandOutput) -> Self {
        let CommandOutput { output, exit_code, truncated } = output;
        Self { output, exit_code, truncated }
    }
}

fn kind_name(kind: FileKind) -> &'static str {
    match kind {
        FileKind::File => "file",
        FileKind::Directory => "directory",
        FileKind::Symlink => "symlink",
        // `FileKind::Other`, and every later variant.
        _ => "other",
    }
}

fn limit_name(limit: SearchLimit) -> &'static str {
    match limit {
        SearchLimit::Limit => "limit",
        SearchLimit::Deadline => "deadline",
        // `SearchLimit::Cancelled`, and every later variant.
        _ => "cancelled",
    }
}
