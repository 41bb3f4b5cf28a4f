//! What a workspace remembers: versions, authors, changes, the trash, anchors, conflicts.

use std::time::Duration;

use pyo3::{
    prelude::*,
    types::{PyAny, PyBytes},
};
use yfs::{
    Workspace,
    workspace::{
        anchors::{AnchorSide, AnchorTarget, FileAnchor},
        redact::RedactionScope,
        versions::VersionSelector,
    },
};
use yfs_agent_workspace::WorkspaceHistory;
use yfs_types::{id::FileId, path::VPath, time::Millis};
use yfs_vfs::Op;
use yfs_wire::{
    AnchorJson, BlameLineJson, ConflictJson, ExpireReportJson, LogEntryJson, RedactionJson,
    RedactionReportJson, TrashEntryJson, VersionJson, WriteOutcomeJson,
};

use crate::{
    call::detached,
    error,
    filesystem::seconds,
    records::{self, Seconds, record, records},
    workspace::{PythonWorkspace, parse_actor},
};

/// The longest label that a change is recorded with, in bytes.
const MAX_LABEL_LEN: usize = 128;

#[pymethods]
impl PythonWorkspace {
    /// Lists the versions of a file, oldest first.
    fn versions<'py>(&self, py: Python<'py>, path: &str) -> PyResult<Bound<'py, PyAny>> {
        let path = error::path(py, Op::Open, path)?;
        let listed = self.ask(py, |workspace| workspace.history().versions(&path))?;
        records(py, listed.iter().map(VersionJson::<Seconds>::from))
    }

    /// Returns the version of a file that has a name or was current at a time, in seconds since
    /// the epoch; None if there is none.
    #[pyo3(signature = (path, *, name = None, at = None))]
    fn find_version<'py>(
        &self,
        py: Python<'py>,
        path: &str,
        name: Option<&str>,
        at: Option<f64>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let path = error::path(py, Op::Open, path)?;
        let which = match (name, at) {
            (Some(name), None) => VersionSelector::Name(name.into()),
            (None, Some(at)) => VersionSelector::At(Millis::from_f64(at * 1000.0)),
            _ => return Err(error::unusable("pass either name or at")),
        };
        let found = self.ask(py, |workspace| workspace.history().find_version(&path, &which))?;
        record(py, &found.as_ref().map(VersionJson::<Seconds>::from))
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
    fn restore_version<'py>(
        &self,
        py: Python<'py>,
        path: &str,
        number: u64,
    ) -> PyResult<Bound<'py, PyAny>> {
        let at = error::path(py, Op::Open, path)?;
        let written = self.ask(py, |workspace| workspace.history().restore_version(&at, number))?;
        record(py, &WriteOutcomeJson::from(&written).at(path))
    }

    /// Gives the current version of a file a name.
    fn name_version(&self, py: Python<'_>, path: &str, name: &str) -> PyResult<()> {
        let path = error::path(py, Op::Open, path)?;
        self.ask(py, |workspace| workspace.history().name_version(&path, name))
    }

    /// Takes a name from the version of a file that has it; reports whether there was one.
    fn unname_version(&self, py: Python<'_>, path: &str, name: &str) -> PyResult<bool> {
        let path = error::path(py, Op::Open, path)?;
        self.ask(py, |workspace| workspace.history().unname_version(&path, name))
    }

    /// Returns the lines of a file, each with its author: the one that edited it last.
    fn blame<'py>(&self, py: Python<'py>, path: &str) -> PyResult<Bound<'py, PyAny>> {
        let path = error::path(py, Op::Open, path)?;
        let lines = self.ask(py, |workspace| workspace.history().blame(&path))?;
        records(py, lines.iter().map(BlameLineJson::<Seconds>::from))
    }

    /// Returns the latest changes of a file, or of a directory and everything below it.
    #[pyo3(signature = (path = "/", *, limit = 50))]
    fn log<'py>(&self, py: Python<'py>, path: &str, limit: usize) -> PyResult<Bound<'py, PyAny>> {
        let path = error::path(py, Op::Open, path)?;
        let changes = self.ask(py, |workspace| {
            let changes = workspace.history().changes(&path)?.take(limit);
            let change = |entry: Result<_, _>| entry.map(|entry| LogEntryJson::from(&entry));
            changes.map(change).collect::<Result<Vec<LogEntryJson<Seconds>>, _>>()
        })?;
        record(py, &changes)
    }

    /// Undoes the changes of an actor that have a label, such as an activity or a command, and
    /// returns one entry for all that was done alike with one file; none if all was undone before.
    /// A label that goes on after a space counts, too: the call of an activity. What others changed
    /// later is kept. Raises a WorkspaceError if the actor has no change with the label.
    #[pyo3(signature = (label, *, actor = None))]
    fn undo<'py>(
        &self,
        py: Python<'py>,
        label: &str,
        actor: Option<&str>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let actor = actor.map(parse_actor).transpose()?.unwrap_or_else(|| self.actor.clone());
        // A label is cut to this length when it is recorded.
        let label = &label[..label.floor_char_boundary(MAX_LABEL_LEN)];
        let workspace = self.workspace.get()?;
        let history = WorkspaceHistory::new(workspace.clone());
        let undone = detached(py, || history.undo_label(&actor, label))?;
        let undone = undone.map_err(|error| error::of_label_undo(py, &error))?;
        records::undone(py, &undone)
    }

    /// Lists the removed objects that can be restored.
    fn trash<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let listed = self.ask(py, |workspace| workspace.trash().list())?;
        records(py, listed.iter().map(TrashEntryJson::<Seconds>::from))
    }

    /// Restores a removed object at its former path, or at `to`, and returns the path.
    #[pyo3(signature = (id, to = None))]
    fn restore(&self, py: Python<'_>, id: &str, to: Option<&str>) -> PyResult<String> {
        let id = parse_id(id)?;
        let to = to.map(|to| error::path(py, Op::Rename, to)).transpose()?;
        let path = self.ask(py, |workspace| workspace.trash().restore(&id, to.as_ref()))?;
        Ok(path.to_string())
    }

    /// Marks objects in the trash, with everything below them, for deletion, and returns how many
    /// were marked.
    fn purge(&self, py: Python<'_>, ids: Vec<String>) -> PyResult<u64> {
        let ids = ids.iter().map(|id| parse_id(id)).collect::<PyResult<Vec<_>>>()?;
        self.ask(py, |workspace| workspace.trash().purge(&ids))
    }

    /// Deletes what was marked for deletion at least `retention` seconds ago.
    fn expire<'py>(&self, py: Python<'py>, retention: f64) -> PyResult<Bound<'py, PyAny>> {
        let retention: Duration = seconds(retention)?;
        let report = self.ask(py, |workspace| workspace.trash().expire(retention))?;
        record(py, &ExpireReportJson::from(report))
    }

    /// Returns an anchor of a place, which stays with the text around it: of an offset in bytes, or
    /// of a line, from 1. It sticks to what follows the place, or with `left` to what precedes it.
    #[pyo3(signature = (path, *, offset = None, line = None, left = false))]
    fn anchor(
        &self,
        py: Python<'_>,
        path: &str,
        offset: Option<usize>,
        line: Option<usize>,
        left: bool,
    ) -> PyResult<String> {
        let path = error::path(py, Op::Open, path)?;
        let target = match (offset, line) {
            (Some(offset), None) => AnchorTarget::Offset(offset),
            (None, Some(line)) => AnchorTarget::Line(line),
            _ => return Err(error::unusable("pass either offset or line")),
        };
        let side = if left { AnchorSide::Left } else { AnchorSide::Right };
        let anchor = self.ask(py, |workspace| workspace.history().anchor(&path, target, side))?;
        Ok(anchor.to_string())
    }

    /// Returns the present position of an anchor.
    fn resolve_anchor<'py>(&self, py: Python<'py>, anchor: &str) -> PyResult<Bound<'py, PyAny>> {
        let found = self.ask(py, |workspace| {
            let anchor: FileAnchor = anchor.parse()?;
            workspace.history().resolve_anchor(&anchor)
        })?;
        record(py, &AnchorJson::from(&found))
    }

    /// Lists the conflicts that a person should decide.
    fn conflicts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let listed = self.ask(py, Workspace::conflicts)?;
        records(py, listed.iter().map(ConflictJson::from))
    }

    /// Returns what `redact` would erase.
    #[pyo3(signature = (path, version = None))]
    fn redactable<'py>(
        &self,
        py: Python<'py>,
        path: &str,
        version: Option<u64>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (path, scope) = redaction_of(py, path, version)?;
        let report = self.ask(py, |workspace| workspace.history().redactable(&path, scope))?;
        record(py, &RedactionReportJson::from(&report))
    }

    /// Erases permanently what one version of a file had, or all that is only in its history.
    #[pyo3(signature = (path, version = None, *, reason = None))]
    fn redact<'py>(
        &self,
        py: Python<'py>,
        path: &str,
        version: Option<u64>,
        reason: Option<&str>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (path, scope) = redaction_of(py, path, version)?;
        let report = self.ask(py, |workspace| workspace.history().redact(&path, scope, reason))?;
        record(py, &RedactionReportJson::from(&report))
    }

    /// Lists what was erased of a file.
    fn redactions<'py>(&self, py: Python<'py>, path: &str) -> PyResult<Bound<'py, PyAny>> {
        let path = error::path(py, Op::Open, path)?;
        let listed = self.ask(py, |workspace| workspace.history().redactions(&path))?;
        records(py, listed.iter().map(RedactionJson::<Seconds>::from))
    }
}

fn redaction_of(
    py: Python<'_>,
    path: &str,
    version: Option<u64>,
) -> PyResult<(VPath, RedactionScope)> {
    let scope = version.map_or(RedactionScope::History, RedactionScope::Version);
    Ok((error::path(py, Op::Open, path)?, scope))
}

fn parse_id(text: &str) -> PyResult<FileId> {
    FileId::parse(text).map_err(|_| error::invalid("an id", text))
}
