//! The workspace as a whole.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use pyo3::{
    prelude::*,
    types::{PyAny, PyBytes},
};
use serde_json::json;
use yfs::{
    TrashEntry, UnlockKey, Workspace, WorkspaceError, WorkspaceOptions,
    workspace::versions::VersionInfo,
};
use yfs_agent::{audit::AuditQuery, history::UndoneChange};
use yfs_agent_workspace::{WorkspaceHistory, workspace_audit_records};
use yfs_store::MemoryStore;
use yfs_types::{
    actor::{Actor, ActorKind},
    id::FileId,
};
use yfs_vfs::Op;

use crate::{
    call::{ProcessOwned, claim_process, detached},
    descriptions, error,
    filesystem::PythonFs,
    limited::LimitArguments,
    values::PythonWriteOutcome,
};

/// The longest label that a change is recorded with, in bytes.
const MAX_LABEL_LEN: usize = 128;

/// The name of a workspace that is in memory only.
const IN_MEMORY: &str = ":memory:";

/// The place of a directory's workspace in it, as for the `yfs` command.
const IN_DIRECTORY: [&str; 2] = [".yfs", "workspace.db"];

/// An open workspace: a tree of files that any number of processes change at once.
#[pyclass(name = "Workspace", module = "yfs", frozen)]
#[derive(Debug)]
pub(crate) struct PythonWorkspace {
    workspace: ProcessOwned<Workspace>,
    actor: Actor,
}

/// A version of a file.
#[pyclass(name = "Version", module = "yfs", frozen, get_all, eq)]
#[derive(Debug, PartialEq)]
pub(crate) struct PythonVersion {
    number: u64,
    at: f64,
    actor: Option<String>,
    label: Option<String>,
    names: Vec<String>,
    redacted: bool,
    current: bool,
}

/// A change, and what undoing it did.
#[pyclass(name = "UndoneChange", module = "yfs", frozen, get_all, eq)]
#[derive(Debug, PartialEq)]
pub(crate) struct PythonUndoneChange {
    path: String,
    change: &'static str,
    result: &'static str,
    kept_others: bool,
    reason: Option<String>,
}

/// A removed object that can be restored.
#[pyclass(name = "TrashEntry", module = "yfs", frozen, get_all, eq)]
#[derive(Debug, PartialEq)]
pub(crate) struct PythonTrashEntry {
    id: String,
    path: String,
    at: f64,
    actor: Option<String>,
}

/// Opens the workspace in a file or of a directory; creates it if there is none and `create` is
/// set. The path `:memory:` is a workspace in memory. An encrypted workspace needs its passphrase
/// or its key file; one that is created with either is encrypted.
#[pyfunction]
#[pyo3(signature = (path, *, actor = None, create = true, read_only = false, passphrase = None,
    key_file = None))]
pub(crate) fn open(
    py: Python<'_>,
    path: PathBuf,
    actor: Option<&str>,
    create: bool,
    read_only: bool,
    passphrase: Option<String>,
    key_file: Option<PathBuf>,
) -> PyResult<PythonWorkspace> {
    claim_process()?;
    let key = NamedKey::of(passphrase, key_file, &path)?;
    let actor = actor.map(parse_actor).transpose()?;
    let actor = actor.unwrap_or_else(|| Actor::new(ActorKind::Agent, ""));
    let options = if read_only { WorkspaceOptions::reading() } else { WorkspaceOptions::default() };
    let options = WorkspaceOptions { actor: actor.clone(), ..options };
    let opened = detached(py, || open_file(path, create && !read_only, key.set_in(options)?))?;
    let workspace = opened.map_err(|error| error::of_workspace(py, &error))?;
    Ok(PythonWorkspace { workspace: ProcessOwned::new(workspace), actor })
}

/// The key that a caller names.
enum NamedKey {
    None,
    Passphrase(Arc<UnlockKey>),
    File(PathBuf),
}

impl NamedKey {
    /// Checks the key of the workspace at a path. No error has the passphrase.
    fn of(passphrase: Option<String>, file: Option<PathBuf>, path: &Path) -> PyResult<Self> {
        let key = match (passphrase, file) {
            (None, None) => return Ok(Self::None),
            (Some(_), Some(_)) => {
                return Err(error::unusable("passphrase and key_file are both given"));
            }
            (None, Some(file)) => Self::File(file),
            (Some(text), None) => {
                let key = UnlockKey::from_passphrase(text.into_bytes());
                Self::Passphrase(Arc::new(key.map_err(error::unusable)?))
            }
        };
        match path.as_os_str() == IN_MEMORY {
            true => Err(error::unusable("a workspace in memory is not encrypted")),
            false => Ok(key),
        }
    }

    /// Sets the key in options. Reads the key file.
    fn set_in(self, options: WorkspaceOptions) -> Result<WorkspaceOptions, WorkspaceError> {
        match self {
            Self::None => Ok(options),
            Self::Passphrase(key) => Ok(WorkspaceOptions { key: Some(key), ..options }),
            Self::File(file) => options.with_key_file(&file),
        }
    }
}

fn open_file(
    mut file: PathBuf,
    create: bool,
    options: WorkspaceOptions,
) -> Result<Workspace, WorkspaceError> {
    if file.as_os_str() == IN_MEMORY {
        return Workspace::create(Arc::new(MemoryStore::new()), options);
    }
    if file.is_dir() {
        let [directory, name] = IN_DIRECTORY;
        file.push(directory);
        if create && !file.is_dir() {
            let mut builder = std::fs::DirBuilder::new();
            #[cfg(unix)]
            std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
            let host = |source| WorkspaceError::Host { action: "make", path: file.clone(), source };
            builder.create(&file).map_err(host)?;
        }
        file.push(name);
    }
    if file.exists() || !create {
        return Workspace::open_at(&file, options);
    }
    match Workspace::create_at(&file, options.clone()) {
        // Another process created it first.
        Err(_) if file.exists() => Workspace::open_at(&file, options),
        created => created,
    }
}

#[pymethods]
impl PythonWorkspace {
    /// The id of the workspace.
    #[getter]
    fn id(&self) -> PyResult<String> {
        Ok(self.workspace.get()?.id().as_str().to_owned())
    }

    /// Returns the files on behalf of an actor, in an activity. What is read through the returned
    /// object is the base of what is written through it.
    ///
    /// `rules` is a list of `{"operations", "paths", "mode"}`, and the first that matches
    /// decides; `allow` names the directories that alone may be used; with `audit`, changes are
    /// recorded. Commands have the same limits. A rule that interrupts refuses.
    #[pyo3(signature = (*, actor = None, label = None, rules = None, allow = None,
        read_only = false, audit = false))]
    #[expect(clippy::too_many_arguments, reason = "keywords in Python")]
    fn files(
        &self,
        py: Python<'_>,
        actor: Option<&str>,
        label: Option<&str>,
        rules: Option<Bound<'_, PyAny>>,
        allow: Option<Vec<String>>,
        read_only: bool,
        audit: bool,
    ) -> PyResult<PythonFs> {
        let actor = actor.map(parse_actor).transpose()?.unwrap_or_else(|| self.actor.clone());
        let workspace = self.workspace.get()?;
        let session = match label {
            Some(label) => workspace.session(actor.clone()).labelled(label),
            None => workspace.session(actor.clone()),
        };
        let limits = LimitArguments { rules, allow, read_only, audit };
        if limits.is_empty() {
            return Ok(PythonFs::of_session(session, label.is_some()));
        }
        let fs = limits.apply(py, &session, actor, label)?;
        Ok(PythonFs::of_limited(fs, workspace.clone()))
    }

    /// Returns the records of what agents did, oldest first, as `yfs audit --json` prints them, and
    /// the number of those that cannot be read. Without a limit there are at most 10,000, the
    /// latest. Times are seconds since 1970.
    #[pyo3(signature = (*, session = None, actor = None, tool = None, path = None, since = None,
        until = None, failed = None, limit = None))]
    #[expect(clippy::too_many_arguments, reason = "keywords in Python")]
    fn audit<'py>(
        &self,
        py: Python<'py>,
        session: Option<String>,
        actor: Option<String>,
        tool: Option<String>,
        path: Option<String>,
        since: Option<f64>,
        until: Option<f64>,
        failed: Option<bool>,
        limit: Option<usize>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let millis = |seconds: f64| (seconds * 1000.0) as i64;
        let (since_ms, until_ms) = (since.map(millis), until.map(millis));
        let query =
            AuditQuery { session, actor, tool, below: path, since_ms, until_ms, failed, limit };
        let workspace = self.workspace.get()?;
        let selected = detached(py, || workspace_audit_records(workspace, &query))??;
        let selected = json!({ "records": selected.records, "damaged": selected.n_damaged });
        descriptions::to_python(py, &selected)
    }

    /// Lists the versions of a file, oldest first.
    fn versions(&self, py: Python<'_>, path: &str) -> PyResult<Vec<PythonVersion>> {
        let path = error::path(py, Op::Open, path)?;
        let listed = self.ask(py, |workspace| workspace.history().versions(&path))?;
        Ok(listed.into_iter().map(PythonVersion::from).collect())
    }

    /// Returns the content of a version.
    fn version_content<'py>(
        &self,
        py: Python<'py>,
        path: &str,
        number: u64,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let path = error::path(py, Op::Open, path)?;
        let content =
            self.ask(py, |workspace| workspace.history().version_content(&path, number))?;
        Ok(PyBytes::new(py, &content))
    }

    /// Makes the content of a version current again, as a new version.
    fn restore_version(
        &self,
        py: Python<'_>,
        path: &str,
        number: u64,
    ) -> PyResult<PythonWriteOutcome> {
        let path = error::path(py, Op::Open, path)?;
        let written =
            self.ask(py, |workspace| workspace.history().restore_version(&path, number))?;
        Ok(written.into())
    }

    /// Undoes the changes of an actor that have a label, such as an activity or a command, and
    /// returns one entry for all that was done alike with one file; none if all was undone before.
    /// A label that goes on after a space counts, too: the call of an activity. What others changed
    /// later is kept. Raises a WorkspaceError if the actor has no change with the label.
    #[pyo3(signature = (label, *, actor = None))]
    fn undo(
        &self,
        py: Python<'_>,
        label: &str,
        actor: Option<&str>,
    ) -> PyResult<Vec<PythonUndoneChange>> {
        let actor = actor.map(parse_actor).transpose()?.unwrap_or_else(|| self.actor.clone());
        // A label is cut to this length when it is recorded.
        let label = &label[..label.floor_char_boundary(MAX_LABEL_LEN)];
        let workspace = self.workspace.get()?;
        let history = WorkspaceHistory::new(workspace.clone());
        let undone = detached(py, || history.undo_label(&actor, label))?;
        let undone = undone.map_err(|error| error::of_label_undo(py, &error))?;
        Ok(undone.into_iter().map(PythonUndoneChange::from).collect())
    }

    /// Lists the removed objects that can be restored.
    fn trash(&self, py: Python<'_>) -> PyResult<Vec<PythonTrashEntry>> {
        let listed = self.ask(py, |workspace| workspace.trash().list())?;
        Ok(listed.iter().map(PythonTrashEntry::from).collect())
    }

    /// Restores a removed object at its former path, or at `to`, and returns the path.
    #[pyo3(signature = (id, to = None))]
    fn restore(&self, py: Python<'_>, id: &str, to: Option<&str>) -> PyResult<String> {
        let id = FileId::parse(id).map_err(|_| error::invalid("an id", id))?;
        let to = to.map(|to| error::path(py, Op::Rename, to)).transpose()?;
        let path = self.ask(py, |workspace| workspace.trash().restore(&id, to.as_ref()))?;
        Ok(path.to_string())
    }

    /// Applies what other processes have written; reports whether there was any.
    fn catch_up(&self, py: Python<'_>) -> PyResult<bool> {
        self.ask(py, Workspace::catch_up)
    }

    /// Syncs the store: everything written so far survives a power cut once this returns.
    fn flush(&self, py: Python<'_>) -> PyResult<()> {
        self.ask(py, Workspace::flush)
    }

    /// Flushes and closes the workspace, for all objects that were made from it. Succeeds if it is
    /// closed.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        self.ask(py, |workspace| workspace.clone().close())
    }

    fn __enter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    #[pyo3(signature = (*_error))]
    fn __exit__(&self, py: Python<'_>, _error: &Bound<'_, PyAny>) -> PyResult<()> {
        self.close(py)
    }
}

impl PythonWorkspace {
    fn ask<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&Workspace) -> Result<T, WorkspaceError> + Send,
    ) -> PyResult<T> {
        let workspace = self.workspace.get()?;
        detached(py, || work(workspace))?.map_err(|error| error::of_workspace(py, &error))
    }
}

impl From<VersionInfo> for PythonVersion {
    fn from(info: VersionInfo) -> Self {
        Self {
            number: info.number,
            at: info.at.as_f64() / 1000.0,
            actor: info.actor.as_ref().map(Actor::to_string),
            label: info.label.map(String::from),
            names: info.names.into_iter().map(String::from).collect(),
            redacted: info.redacted,
            current: info.current,
        }
    }
}

impl From<&TrashEntry> for PythonTrashEntry {
    fn from(entry: &TrashEntry) -> Self {
        Self {
            id: entry.id.to_string(),
            path: entry.original.clone(),
            at: entry.trashed_at.as_f64() / 1000.0,
            actor: entry.trashed_by.as_ref().map(Actor::to_string),
        }
    }
}

impl From<UndoneChange> for PythonUndoneChange {
    fn from(undone: UndoneChange) -> Self {
        let UndoneChange { path, change, result, .. } = undone;
        Self {
            path: path.to_string(),
            change,
            result: result.as_str(),
            kept_others: result.kept_others(),
            reason: result.reason().map(str::to_owned),
        }
    }
}

/// Parses an actor, for example `agent:planner`.
fn parse_actor(text: &str) -> PyResult<Actor> {
    text.parse().map_err(|_| error::invalid("an actor like agent:planner or human:ada", text))
}
