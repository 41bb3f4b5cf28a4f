//! The upkeep of a workspace, and files that come from the host or go there.

use std::path::PathBuf;

use pyo3::{prelude::*, types::PyAny};
use yfs::{ExportOptions, ImportOptions};
use yfs_vfs::Op;
use yfs_wire::{ExportReportJson, ImportReportJson, QuarantinedJson, WorkspaceStatsJson};

use crate::{
    call::detached,
    error,
    records::{Seconds, record, records},
    workspace::PythonWorkspace,
};

#[pymethods]
impl PythonWorkspace {
    /// Imports a directory or file of the host at a path of the workspace, as changes of what is
    /// there. Files are skipped that `.gitignore` names or that are larger than a number of bytes.
    #[pyo3(name = "import_", signature = (source, path = "/", *, gitignore = true, hidden = true,
        max_file_size = None))]
    fn import<'py>(
        &self,
        py: Python<'py>,
        source: PathBuf,
        path: &str,
        gitignore: bool,
        hidden: bool,
        max_file_size: Option<u64>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let path = error::path(py, Op::Open, path)?;
        let default = ImportOptions::default();
        let max_file_len = max_file_size.unwrap_or(default.max_file_len);
        let options = ImportOptions { gitignore, hidden, max_file_len, ..default };
        let report =
            self.ask(py, |workspace| workspace.import(&source, &path, &options, &|_| ()))?;
        record(py, &ImportReportJson::from(&report))
    }

    /// Exports what is at a path to a directory of the host. With `force`, files there that differ
    /// are replaced.
    #[pyo3(signature = (path, destination, *, force = false))]
    fn export<'py>(
        &self,
        py: Python<'py>,
        path: &str,
        destination: PathBuf,
        force: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let path = error::path(py, Op::Open, path)?;
        let options = ExportOptions { force, ..ExportOptions::default() };
        let report =
            self.ask(py, |workspace| workspace.export(&path, &destination, &options, &|_| ()))?;
        record(py, &ExportReportJson::from(&report))
    }

    /// Moves what is at a path to another workspace.
    fn move_to(
        &self,
        py: Python<'_>,
        source: &str,
        other: &Bound<'_, Self>,
        destination: &str,
    ) -> PyResult<()> {
        let (from, to) =
            (error::path(py, Op::Rename, source)?, error::path(py, Op::Rename, destination)?);
        let (workspace, other) = (self.workspace.get()?, other.get().workspace.get()?);
        let moved = detached(py, || workspace.move_to(&from, other, &to))?;
        moved.map_err(|error| error::of_workspace(py, &error))
    }

    /// Returns the size of the workspace.
    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let stats = self.ask(py, |workspace| workspace.maintenance().stats())?;
        record(py, &WorkspaceStatsJson::from(&stats))
    }

    /// Merges the updates of the log into snapshots.
    fn compact(&self, py: Python<'_>) -> PyResult<()> {
        self.ask(py, |workspace| workspace.maintenance().compact(&mut |_, _| ()).map(drop))
    }

    /// Puts the content of a file where its name says; reports whether there was anything to do.
    fn repair(&self, py: Python<'_>, path: &str) -> PyResult<bool> {
        let path = error::path(py, Op::Open, path)?;
        self.ask(py, |workspace| workspace.maintenance().repair(&path))
    }

    /// Lists the updates that the workspace rejected.
    fn quarantined<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let listed = self.ask(py, |workspace| workspace.maintenance().quarantined())?;
        records(py, listed.iter().map(|update| QuarantinedJson::<Seconds>::new(update, None)))
    }
}
