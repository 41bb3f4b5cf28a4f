//! Large results as files with references.

use std::sync::Arc;

use pyo3::{
    prelude::*,
    types::{PyAny, PyBytes},
};
use pythonize::depythonize;
use serde_json::Value;
use yfs::clock::{Clock, SystemClock};
use yfs_agent_workspace::WorkspacePast;
use yfs_artifacts::{
    ArtifactError, ArtifactIds, ArtifactOptions, FileMetadata, FileSystemOps, FileSystemStore,
    NamespaceStrategy,
};
use yfs_types::path::VPath;
use yfs_vfs::{FsError, Op};
use yfs_wire::{ArtifactReference, ArtifactRequest, ArtifactResponse, CleanupRules};

use crate::{
    call::{ProcessOwned, block_on, detached},
    error,
    filesystem::FileData,
    records::{Seconds, record},
    workspace::{PythonWorkspace, parse_actor},
};

/// Large results in files, each with a reference that names it by its content.
#[pyclass(name = "Artifacts", module = "yfs", frozen)]
#[derive(Debug)]
pub(crate) struct PythonArtifacts {
    store: ProcessOwned<FileSystemStore>,
}

#[pymethods]
impl PythonWorkspace {
    /// Returns the artifacts below a directory, on behalf of an actor, in an activity. The strategy
    /// says where files are put: `thread_id`, `task_id`, `flat`, `runs`, or a template.
    #[pyo3(signature = (root = "/artifacts", *, actor = None, label = None, strategy = None))]
    fn artifacts(
        &self,
        py: Python<'_>,
        root: &str,
        actor: Option<&str>,
        label: Option<&str>,
        strategy: Option<&str>,
    ) -> PyResult<PythonArtifacts> {
        let actor = actor.map(parse_actor).transpose()?.unwrap_or_else(|| self.actor.clone());
        let mut options = ArtifactOptions::production();
        options.root = error::path(py, Op::Open, root)?;
        if let Some(name) = strategy {
            let parsed = NamespaceStrategy::parse(name);
            options.namespace_strategy =
                parsed.map_err(|why| error::invalid(&format!("a namespace ({why})"), name))?;
        }
        let workspace = self.workspace.get()?;
        let fs = workspace.fs_for(actor);
        let fs = match label {
            Some(label) => fs.labelled(label),
            None => fs,
        };
        let past = Arc::new(WorkspacePast::new(workspace.clone()));
        let store = FileSystemStore::new(Arc::new(fs), options).with_past(past);
        Ok(PythonArtifacts { store: ProcessOwned::new(store) })
    }
}

impl PythonArtifacts {
    fn call<'py>(&self, py: Python<'py>, request: ArtifactRequest) -> PyResult<Bound<'py, PyAny>> {
        let store = self.store.get()?;
        let failed = |(path, _): &(VPath, FsError)| path.to_string();
        let served = detached(py, || {
            block_on(request.serve::<_, Seconds>(store, SystemClock.now(), failed))
        })?;
        match served.map_err(|error| of_artifact(py, &error))? {
            ArtifactResponse::Artifacts(list) => record(py, &list.artifacts),
            served => record(py, &served),
        }
    }
}

#[pymethods]
impl PythonArtifacts {
    /// Stores a result, and returns its reference.
    #[pyo3(signature = (content, *, thread, task, call))]
    fn store<'py>(
        &self,
        py: Python<'py>,
        content: FileData,
        thread: String,
        task: String,
        call: String,
    ) -> PyResult<Bound<'py, PyAny>> {
        let ids = ArtifactIds { thread_id: thread, task_id: task, tool_call_id: call };
        let (store, content) = (self.store.get()?, content.to_bytes());
        let stored = detached(py, || block_on(store.store_file(&ids, content)))?;
        record(py, &stored.map_err(|error| of_artifact(py, &error))?)
    }

    /// Returns the content of a reference. A WorkspaceError with the code `CORRUPT` if the file has
    /// another content now and no version has that one, `NO_ARTIFACT` if it was removed.
    fn resolve<'py>(
        &self,
        py: Python<'py>,
        reference: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let (store, reference) = (self.store.get()?, parse_reference(reference)?);
        let content = detached(py, || block_on(store.read_file(&reference)))?;
        Ok(PyBytes::new(py, &content.map_err(|error| of_artifact(py, &error))?))
    }

    /// Lists the artifacts in order of their paths: those that match a pattern, or all.
    #[pyo3(signature = (*patterns))]
    fn list<'py>(&self, py: Python<'py>, patterns: Vec<String>) -> PyResult<Bound<'py, PyAny>> {
        self.call(py, ArtifactRequest::List { patterns })
    }

    /// Returns the reference to an artifact, by the path that references name.
    fn show<'py>(&self, py: Python<'py>, artifact: String) -> PyResult<Bound<'py, PyAny>> {
        self.call(py, ArtifactRequest::Show { artifact })
    }

    /// Returns the path of a reference's file in the workspace.
    fn path_of<'py>(
        &self,
        py: Python<'py>,
        reference: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let reference = ArtifactReference(Box::new(parse_reference(reference)?));
        self.call(py, ArtifactRequest::PathNow { reference })
    }

    /// Moves the file of a reference to the trash.
    fn delete(&self, py: Python<'_>, reference: &Bound<'_, PyAny>) -> PyResult<()> {
        let reference = ArtifactReference(Box::new(parse_reference(reference)?));
        self.call(py, ArtifactRequest::Delete { reference }).map(drop)
    }

    /// Moves the artifacts to the trash that have not changed for a number of seconds, and the
    /// oldest until the rest has no more bytes or files; or only reports them.
    #[pyo3(signature = (*, older_than = None, max_size = None, max_files = None,
        keep = Vec::new(), dry_run = false))]
    fn clean<'py>(
        &self,
        py: Python<'py>,
        older_than: Option<f64>,
        max_size: Option<u64>,
        max_files: Option<usize>,
        keep: Vec<String>,
        dry_run: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let older_than_ms = older_than.map(|seconds| seconds * 1000.0);
        let rules = CleanupRules { older_than_ms, max_size, max_files, keep, dry_run };
        self.call(py, ArtifactRequest::Clean(rules))
    }
}

/// Parses a reference: what `store` returned, or the content of a response with it.
fn parse_reference(given: &Bound<'_, PyAny>) -> PyResult<FileMetadata> {
    let reference: Value = depythonize(given)?;
    FileMetadata::of_reference(&reference).map_err(|refused| error::causes_of(&refused))
}

fn of_artifact(py: Python<'_>, raised: &ArtifactError) -> PyErr {
    let code = match raised {
        ArtifactError::Fs(error) => return error::of_fs(py, error),
        ArtifactError::Namespace(_) | ArtifactError::BadReference(_) => {
            return error::causes_of(raised);
        }
        ArtifactError::Missing { .. } => "NO_ARTIFACT",
        ArtifactError::Corrupt { .. } => "CORRUPT",
        // The enum may grow.
        _ => "OTHER",
    };
    error::failed(py, raised, code)
}
