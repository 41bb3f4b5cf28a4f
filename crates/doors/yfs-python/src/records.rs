//! Values that calls return, as objects of Python: the types of `yfs-wire`, each an object of the
//! class of that name in `yfs.records`, with times in seconds as in Python's `os.stat`.

use pyo3::{
    prelude::*,
    sync::PyOnceLock,
    types::{PyDict, PyList, PyMapping, PyString},
};
use pythonize::{PythonizeNamedMappingType, PythonizeTypes, pythonize_custom};
use serde::{Serialize, Serializer};
use yfs_agent::{CommandOutput, history::UndoneChange};
use yfs_vfs::{ChangePage, FileContent, GlobResult, GrepResult, Stat, TreeTotals, WalkEntry};
use yfs_wire::{
    ChangeJson, EntryJson, GrepFileJson, GrepTotalsJson, SearchLimitJson, SearchResultJson,
    StatJson, UnixSeconds,
};

/// A time as Python counts it.
pub(crate) type Seconds = UnixSeconds;

/// The module with the classes of the records.
const CLASSES: &str = "yfs.records";

/// The class of a record that has none of its own.
const ANY_CLASS: &str = "Record";

/// The types of the objects: a struct is a record, and all else is Python's own.
struct RecordTypes;

/// A record in the making.
struct RecordBuilder<'py> {
    class: &'static str,
    fields: Bound<'py, PyDict>,
}

/// The mapping that a struct becomes.
struct RecordMapping;

impl PythonizeTypes for RecordTypes {
    type Map = PyDict;
    type NamedMap = RecordMapping;
    type List = PyList;
}

impl PythonizeNamedMappingType for RecordMapping {
    type Builder<'py> = RecordBuilder<'py>;

    fn builder<'py>(
        py: Python<'py>,
        _len: usize,
        name: &'static str,
    ) -> PyResult<Self::Builder<'py>> {
        let class = name.strip_suffix("Json").unwrap_or(name);
        Ok(RecordBuilder { class, fields: PyDict::new(py) })
    }

    fn push_field<'py>(
        builder: &mut Self::Builder<'py>,
        name: Bound<'py, PyString>,
        value: Bound<'py, PyAny>,
    ) -> PyResult<()> {
        builder.fields.set_item(name, value)
    }

    fn finish<'py>(builder: Self::Builder<'py>) -> PyResult<Bound<'py, PyMapping>> {
        // Imported once: a list has a record for each file.
        static MODULE: PyOnceLock<Py<PyModule>> = PyOnceLock::new();
        let py = builder.fields.py();
        let import = || py.import(CLASSES).map(Bound::unbind);
        let classes = MODULE.get_or_try_init(py, import)?.bind(py);
        let class = match classes.getattr_opt(builder.class)? {
            Some(class) => class,
            None => classes.getattr(ANY_CLASS)?,
        };
        Ok(class.call1((builder.fields,))?.cast_into::<PyMapping>()?)
    }
}

/// Returns a value as records, lists and dictionaries of Python.
pub(crate) fn record<'py, T: Serialize + ?Sized>(
    py: Python<'py>,
    value: &T,
) -> PyResult<Bound<'py, PyAny>> {
    Ok(pythonize_custom::<RecordTypes, T>(py, value)?)
}

/// Returns values as a list of records.
pub(crate) fn records<'py, T: Serialize>(
    py: Python<'py>,
    values: impl IntoIterator<Item = T>,
) -> PyResult<Bound<'py, PyAny>> {
    record(py, &values.into_iter().collect::<Vec<T>>())
}

/// The content of a file, with its version.
#[derive(Serialize)]
#[serde(rename = "FileContent")]
struct ContentRecord<'a> {
    #[serde(serialize_with = "serialize_bytes")]
    data: &'a [u8],
    version: String,
}

/// The paths that a pattern found.
#[derive(Serialize)]
#[serde(rename = "GlobResult")]
struct GlobRecord {
    entries: Vec<EntryJson<Seconds>>,
    cut: Option<SearchLimitJson>,
    unreadable: u64,
}

/// The number and size of the objects in a tree.
#[derive(Serialize)]
#[serde(rename = "TreeTotals")]
struct TotalsRecord {
    files: u64,
    directories: u64,
    bytes: u64,
}

/// A page of changes.
#[derive(Serialize)]
#[serde(rename = "ChangePage")]
struct ChangePageRecord<'a> {
    changes: Vec<ChangeJson<Seconds>>,
    next: &'a str,
    more: bool,
}

/// The result of a command.
#[derive(Serialize)]
#[serde(rename = "CommandOutput")]
struct CommandRecord {
    output: String,
    exit_code: Option<i32>,
    truncated: bool,
}

/// A change, and what undoing it did.
#[derive(Serialize)]
#[serde(rename = "UndoneChange")]
struct UndoneRecord<'a> {
    path: &'a str,
    change: &'static str,
    result: &'static str,
    kept_others: bool,
    reason: Option<&'a str>,
}

pub(crate) fn content<'py>(py: Python<'py>, content: &FileContent) -> PyResult<Bound<'py, PyAny>> {
    record(py, &ContentRecord { data: &content.data, version: content.version.to_string() })
}

pub(crate) fn stat<'py>(py: Python<'py>, path: &str, stat: &Stat) -> PyResult<Bound<'py, PyAny>> {
    record(py, &StatJson::<Seconds>::new(path, stat))
}

pub(crate) fn walked<'py>(py: Python<'py>, walked: &[WalkEntry]) -> PyResult<Bound<'py, PyAny>> {
    record(py, &entries(walked))
}

pub(crate) fn globbed<'py>(py: Python<'py>, found: &GlobResult) -> PyResult<Bound<'py, PyAny>> {
    let cut = found.cut.map(SearchLimitJson::from);
    let entries = entries(&found.entries);
    record(py, &GlobRecord { entries, cut, unreadable: found.n_unreadable })
}

pub(crate) fn found<'py>(py: Python<'py>, found: &GrepResult) -> PyResult<Bound<'py, PyAny>> {
    let files = found.files.iter().map(GrepFileJson::from).collect();
    record(py, &SearchResultJson { files, totals: GrepTotalsJson::from(found) })
}

pub(crate) fn totals<'py>(py: Python<'py>, totals: &TreeTotals) -> PyResult<Bound<'py, PyAny>> {
    let TreeTotals { n_files: files, n_directories: directories, n_bytes: bytes, .. } = *totals;
    record(py, &TotalsRecord { files, directories, bytes })
}

pub(crate) fn changes<'py>(py: Python<'py>, page: &ChangePage) -> PyResult<Bound<'py, PyAny>> {
    let changes = page.events.iter().map(ChangeJson::from).collect();
    record(py, &ChangePageRecord { changes, next: page.next.as_str(), more: page.more })
}

pub(crate) fn command_output(py: Python<'_>, done: CommandOutput) -> PyResult<Bound<'_, PyAny>> {
    let CommandOutput { output, exit_code, truncated } = done;
    record(py, &CommandRecord { output, exit_code, truncated })
}

pub(crate) fn undone<'py>(py: Python<'py>, undone: &[UndoneChange]) -> PyResult<Bound<'py, PyAny>> {
    let undone = undone.iter().map(|undone| UndoneRecord {
        path: undone.path.as_str(),
        change: undone.change,
        result: undone.result.as_str(),
        kept_others: undone.result.kept_others(),
        reason: undone.result.reason(),
    });
    records(py, undone)
}

fn entries(walked: &[WalkEntry]) -> Vec<EntryJson<Seconds>> {
    walked.iter().map(|found| EntryJson::new(found.path.as_str(), &found.entry)).collect()
}

fn serialize_bytes<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_bytes(bytes)
}
