//! The workspace as a whole.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use pyo3::{prelude::*, types::PyAny};
use serde_json::json;
use yfs::{UnlockKey, Workspace, WorkspaceError, WorkspaceOptions};
use yfs_agent::{audit::AuditQuery, hooks::StorageQuota};
use yfs_agent_workspace::workspace_audit_records;
use yfs_store::MemoryStore;
use yfs_types::actor::{Actor, ActorKind};

use crate::{
    call::{ProcessOwned, claim_process, detached},
    error,
    filesystem::PythonFs,
    limited::LimitArguments,
    records::record,
};

/// The name of a workspace that is in memory only.
const IN_MEMORY: &str = ":memory:";

/// The place of a directory's workspace in it, as for the `yfs` command.
const IN_DIRECTORY: [&str; 2] = [".yfs", "workspace.db"];

/// An open workspace: a tree of files that any number of processes change at once.
#[pyclass(name = "Workspace", module = "yfs", frozen)]
#[derive(Debug)]
pub(crate) struct PythonWorkspace {
    pub(crate) workspace: ProcessOwned<Workspace>,
    pub(crate) actor: Actor,
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
    /// recorded. A write that would make all files larger than `max_bytes`, or more than
    /// `max_files`, is an `OSError` (`ENOSPC`). Commands have the same limits. A rule that
    /// interrupts refuses.
    #[pyo3(signature = (*, actor = None, label = None, rules = None, allow = None,
        read_only = false, audit = false, max_bytes = None, max_files = None))]
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
        max_bytes: Option<u64>,
        max_files: Option<u64>,
    ) -> PyResult<PythonFs> {
        let actor = actor.map(parse_actor).transpose()?.unwrap_or_else(|| self.actor.clone());
        let workspace = self.workspace.get()?;
        let session = match label {
            Some(label) => workspace.session(actor.clone()).labelled(label),
            None => workspace.session(actor.clone()),
        };
        let quota = StorageQuota::limiting(max_bytes, max_files);
        let limits = LimitArguments { rules, allow, read_only, audit, quota };
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
        record(py, &selected)
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
    pub(crate) fn ask<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&Workspace) -> Result<T, WorkspaceError> + Send,
    ) -> PyResult<T> {
        let workspace = self.workspace.get()?;
        detached(py, || work(workspace))?.map_err(|error| error::of_workspace(py, &error))
    }
}

/// Parses an actor, for example `agent:planner`.
pub(crate) fn parse_actor(text: &str) -> PyResult<Actor> {
    text.parse().map_err(|_| error::invalid("an actor like agent:planner or human:ada", text))
}
