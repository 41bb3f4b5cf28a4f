//! Errors as Python gets them: an `OSError` of the subclass that its `errno` selects, or a
//! `WorkspaceError` with a code.

use std::{error::Error, ffi::c_int, fmt::Display};

use pyo3::{
    create_exception,
    exceptions::{PyException, PyOSError, PyPermissionError, PyTimeoutError, PyValueError},
    prelude::*,
};
use yfs::WorkspaceError;
use yfs_agent::{ExecuteError, json_query::JsonQueryError};
use yfs_agent_workspace::LabelUndoError;
use yfs_store::StoreError;
use yfs_types::path::{PathError, VPath};
use yfs_vfs::{EditRefusal, FsError, Op};

create_exception!(
    yfs,
    EditRefusedError,
    PyOSError,
    "The text to replace is empty, missing or ambiguous, or the file is not text."
);
create_exception!(
    yfs,
    WorkspaceFailedError,
    PyException,
    "A call on a workspace as a whole failed."
);

/// Converts the error of a call on a path.
pub(crate) fn of_fs(py: Python<'_>, error: &FsError) -> PyErr {
    if let Some(refusal) = error.edit_refusal() {
        return of_refusal(py, error, refusal);
    }
    if matches!(WorkspaceError::cause_of(error), Some(WorkspaceError::Closed)) {
        return of_workspace(py, &WorkspaceError::Closed);
    }
    // `OSError(errno, text, path, winerror, path2)` makes `FileNotFoundError` and the like.
    let no_winerror: Option<c_int> = None;
    let arguments =
        (error.code.errno(), text_of(error), path_of(error), no_winerror, dest_of(error));
    with_code(py, PyOSError::new_err(arguments), error.code.as_str())
}

/// Converts the error of a workspace.
pub(crate) fn of_workspace(py: Python<'_>, error: &WorkspaceError) -> PyErr {
    let code = match error {
        WorkspaceError::Fs(error) => return of_fs(py, error),
        WorkspaceError::Host { source, .. } if source.raw_os_error().is_some() => {
            return PyOSError::new_err((source.raw_os_error(), causes(error)));
        }
        WorkspaceError::NotFound => "NOT_FOUND",
        WorkspaceError::Exists => "EXISTS",
        WorkspaceError::Closed => "CLOSED",
        WorkspaceError::ReadOnly => "READ_ONLY",
        WorkspaceError::NoDocument(_) => "NO_DOCUMENT",
        WorkspaceError::NoFile(_) => "NO_FILE",
        WorkspaceError::ContentMoved(_) => "CONTENT_MOVED",
        WorkspaceError::Damaged(_) | WorkspaceError::DamagedLog { .. } => "DAMAGED",
        WorkspaceError::Refused(_) => "REFUSED",
        WorkspaceError::Table(_) => "TABLE",
        WorkspaceError::CheckpointFiles(_) => "CHECKPOINT",
        WorkspaceError::Store(StoreError::Key { .. }) => "KEY",
        WorkspaceError::Store(_) => "STORE",
        WorkspaceError::Content(_) => "CONTENT",
        WorkspaceError::Redacted { .. } => "REDACTED",
        WorkspaceError::NotUndoable { .. } => "NOT_UNDOABLE",
        WorkspaceError::YjsImport { .. } => "YJS_IMPORT",
        WorkspaceError::Anchor(_) => "ANCHOR",
        WorkspaceError::Host { .. } => "HOST",
        // The enum may grow.
        _ => "OTHER",
    };
    failed(py, error, code)
}

/// Converts the error of an undo by label.
pub(crate) fn of_label_undo(py: Python<'_>, error: &LabelUndoError) -> PyErr {
    let code = match error {
        LabelUndoError::Fs(error) => return of_fs(py, error),
        LabelUndoError::NoSuchLabel { .. } => "NO_LABEL",
        // `LabelUndoError::OtherActors`, and every later variant.
        _ => "OTHER_ACTORS",
    };
    with_code(py, WorkspaceFailedError::new_err(causes(error)), code)
}

/// Converts the error of a command.
pub(crate) fn of_execution(py: Python<'_>, error: &ExecuteError) -> PyErr {
    let (raised, code, partial) = match error {
        ExecuteError::TimedOut { partial, .. } => {
            (PyTimeoutError::new_err(causes(error)), "TIMED_OUT", Some(partial))
        }
        ExecuteError::Cancelled { partial } => {
            (PyTimeoutError::new_err(causes(error)), "CANCELLED", Some(partial))
        }
        ExecuteError::Unsupported => (PyOSError::new_err(causes(error)), "UNSUPPORTED", None),
        ExecuteError::Refused(_) => (PyPermissionError::new_err(causes(error)), "REFUSED", None),
        // `ExecuteError::Failed`, and every later variant.
        _ => (PyOSError::new_err(causes(error)), "FAILED", None),
    };
    if let Some(partial) = partial {
        set(py, &raised, "output", partial.output.as_str());
    }
    with_code(py, raised, code)
}

/// Converts an invalid argument.
pub(crate) fn invalid(what: &str, text: &str) -> PyErr {
    PyValueError::new_err(format!("not {what}: {text:?}"))
}

/// Converts an argument that makes no sense, without its value, which may be secret.
pub(crate) fn unusable(reason: impl Display) -> PyErr {
    PyValueError::new_err(reason.to_string())
}

/// Converts an argument that is refused for the reasons of an error.
pub(crate) fn causes_of(refused: &(dyn Error + 'static)) -> PyErr {
    PyValueError::new_err(causes(refused))
}

/// Makes the error of a call on a workspace as a whole.
pub(crate) fn failed(py: Python<'_>, error: &(dyn Error + 'static), code: &str) -> PyErr {
    with_code(py, WorkspaceFailedError::new_err(causes(error)), code)
}

/// Converts the error of a query.
pub(crate) fn of_query(py: Python<'_>, error: &JsonQueryError) -> PyErr {
    let code = match error {
        JsonQueryError::Exceeded => "QUERY_LIMIT",
        _ => "QUERY",
    };
    with_code(py, WorkspaceFailedError::new_err(causes(error)), code)
}

/// Parses a path.
pub(crate) fn path(py: Python<'_>, op: Op, text: &str) -> PyResult<VPath> {
    let convert = |error: PathError| of_fs(py, &FsError::bad_path(op, text, error));
    VPath::parse(text).map_err(convert)
}

fn of_refusal(py: Python<'_>, error: &FsError, refusal: &EditRefusal) -> PyErr {
    let (reason, n_found, lines) = match refusal {
        EditRefusal::EmptyOld => ("empty", 0, Vec::new()),
        EditRefusal::NotFound => ("not_found", 0, Vec::new()),
        EditRefusal::Ambiguous { n_found, lines } => ("ambiguous", *n_found, lines.clone()),
        EditRefusal::NotText => ("not_text", 0, Vec::new()),
        // The enum may grow.
        _ => ("other", 0, Vec::new()),
    };
    let arguments = (error.code.errno(), refusal.to_string(), path_of(error));
    let raised = with_code(py, EditRefusedError::new_err(arguments), error.code.as_str());
    set(py, &raised, "reason", reason);
    set(py, &raised, "n_found", n_found);
    set(py, &raised, "lines", lines);
    raised
}

/// Returns the text of the code, and of what caused the error.
fn text_of(error: &FsError) -> String {
    match error.source() {
        Some(source) => format!("{}: {}", error.code.message(), causes(source)),
        None => error.code.message().to_owned(),
    }
}

fn path_of(error: &FsError) -> Option<String> {
    error.path.as_deref().map(str::to_owned)
}

fn dest_of(error: &FsError) -> Option<String> {
    error.dest.as_deref().map(str::to_owned)
}

fn with_code(py: Python<'_>, error: PyErr, code: &str) -> PyErr {
    set(py, &error, "code", code);
    error
}

fn set<'py, V: IntoPyObject<'py>>(py: Python<'py>, error: &PyErr, name: &str, value: V) {
    // An exception without the attribute still has its type and its text.
    error.value(py).setattr(name, value).ok();
}

/// Returns the text of an error, and those of its causes.
fn causes(error: &(dyn Error + 'static)) -> String {
    let mut texts = vec![error.to_string()];
    let mut cause = error.source();
    while let Some(error) = cause {
        let text = error.to_string();
        // A transparent error repeats its cause.
        if texts.last() != Some(&text) {
            texts.push(text);
        }
        cause = error.source();
    }
    texts.join(": ")
}
