//! The calls of a workspace whose arguments and answers are JSON.

#![expect(
    clippy::use_self,
    reason = "the macro of napi makes a function of a method, which has no Self"
)]

use std::time::Duration;

use serde::Serialize;
use serde_json::Value;
use yfs::{
    ExportOptions, Workspace, WorkspaceError,
    workspace::{
        anchors::{AnchorTarget, FileAnchor},
        redact::RedactionScope,
        versions::VersionSelector,
    },
};
use yfs_engine::{content::AnchorSide, id::FileId, path::VPath, time::Millis};
use yfs_vfs::FileSystem;
use yfs_wire::{
    AnchorJson, BlameLineJson, ConflictJson, DocumentInfoJson, ExpireReportJson, ExportReportJson,
    ImportOptionsJson, ImportReportJson, LogEntryJson, ProfileReportJson, QuarantinedJson,
    RedactionJson, RedactionReportJson, TrashEntryJson, UnixMillis, VersionJson,
    WorkspaceStatsJson, WriteOutcomeJson,
};

use crate::{
    error::NodeError, message::js, pages::NativePages, prelude::*, workspace::NativeWorkspace,
};

/// A request for a workspace. The methods of the package's `Workspace` describe what they do.
#[derive(Debug, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case", deny_unknown_fields)]
enum WorkspaceRequest {
    Document { at: String },
    PathOf { id: String },
    Cursor,
    Trash,
    Restore { id: String, to: Option<String> },
    Purge { ids: Vec<String> },
    Expire { retention_ms: f64 },
    Versions { at: String },
    FindVersion { at: String, number: Option<f64>, name: Option<String>, time: Option<f64> },
    RestoreVersion { at: String, number: f64 },
    NameVersion { at: String, name: String },
    UnnameVersion { at: String, name: String },
    Blame { at: String },
    Log { at: String, limit: f64 },
    Conflicts,
    Anchor { at: String, offset: Option<f64>, line: Option<f64>, sticks_left: bool },
    ResolveAnchor { anchor: String },
    Import { from: String, to: String, options: ImportOptionsJson },
    Export { from: String, to: String, force: bool },
    Stats,
    Repair { at: String },
    ConvertProfile { profile: String },
    Redactable { at: String, version: Option<f64> },
    Redact { at: String, version: Option<f64>, reason: Option<String> },
    Redactions { at: String },
    Quarantined,
    Compact,
    CatchUp,
    Flush,
}

#[napi]
impl NativeWorkspace {
    /// Serves a request.
    #[napi]
    pub fn call(&self, request: String) -> napi::Result<OwnedFuture<String>> {
        self.serve(&request, |answer| answer.to_string())
    }

    /// Serves a request with a long list as the answer.
    #[napi]
    pub fn pages(&self, request: String) -> napi::Result<OwnedFuture<NativePages>> {
        self.serve(&request, |answer| match answer {
            Value::Array(items) => NativePages::new(items.into_iter(), &Value::Null),
            _ => NativePages::new(std::iter::empty(), &answer),
        })
    }

    /// Moves what is at a path to another workspace.
    #[napi]
    pub fn move_to(
        &self,
        from: String,
        other: &NativeWorkspace,
        to: String,
    ) -> napi::Result<OwnedFuture<()>> {
        let (from, to) = (path(Op::Rename, &from)?, path(Op::Rename, &to)?);
        let other = other.slot.get()?;
        self.ask(move |workspace| workspace.move_to(&from, &other, &to))
    }
}

impl NativeWorkspace {
    fn serve<T: Send + 'static>(
        &self,
        request: &str,
        answered: impl FnOnce(Value) -> T + Send + 'static,
    ) -> napi::Result<OwnedFuture<T>> {
        let (workspace, request) =
            (self.slot.get()?, message::request::<WorkspaceRequest>(request)?);
        Ok(OwnedFuture::blocking(move || {
            request.serve(&workspace).map(answered).map_err(|NodeError(error)| error)
        }))
    }
}

impl WorkspaceRequest {
    fn serve(self, workspace: &Workspace) -> Result<Value, NodeError> {
        let (history, trash) = (workspace.history(), workspace.trash());
        Ok(match self {
            Self::Document { at } => {
                js(&DocumentInfoJson::from(&workspace.documents().info(&file(&at)?)?))
            }
            Self::PathOf { id } => {
                let path = workspace.nodes().path_of(&file_id(&id)?)?;
                path.map(|path| path.to_string()).into()
            }
            Self::Cursor => at_once(workspace.fs().cursor())?.as_str().into(),
            Self::Trash => list(trash.list()?.iter().map(TrashEntryJson::<UnixMillis>::from)),
            Self::Restore { id, to } => {
                let to = to.map(|to| path(Op::Rename, &to)).transpose()?;
                trash.restore(&file_id(&id)?, to.as_ref())?.to_string().into()
            }
            Self::Purge { ids } => {
                let ids: Vec<FileId> =
                    ids.iter().map(|id| file_id(id)).collect::<napi::Result<_>>()?;
                trash.purge(&ids)?.into()
            }
            Self::Expire { retention_ms } => {
                let retention = Duration::from_millis(retention_ms as u64);
                js(&ExpireReportJson::from(trash.expire(retention)?))
            }
            Self::Versions { at } => {
                let versions = history.versions(&file(&at)?)?;
                list(versions.iter().map(VersionJson::<UnixMillis>::from))
            }
            Self::FindVersion { at, number, name, time } => {
                let which = selector(number, name, time)?;
                let found = history.find_version(&file(&at)?, &which)?;
                found.map(|found| js(&VersionJson::<UnixMillis>::from(&found))).into()
            }
            Self::RestoreVersion { at, number } => {
                let restored = history.restore_version(&file(&at)?, number as u64)?;
                js(&WriteOutcomeJson::from(&restored))
            }
            Self::NameVersion { at, name } => {
                history.name_version(&file(&at)?, &name)?;
                Value::Null
            }
            Self::UnnameVersion { at, name } => history.unname_version(&file(&at)?, &name)?.into(),
            Self::Blame { at } => {
                let lines = history.blame(&file(&at)?)?;
                list(lines.iter().map(BlameLineJson::<UnixMillis>::from))
            }
            Self::Log { at, limit } => {
                let changes = history.changes(&file(&at)?)?;
                let latest: Result<Vec<_>, _> = changes.take(limit as usize).collect();
                list(latest?.iter().map(LogEntryJson::<UnixMillis>::from))
            }
            Self::Conflicts => list(workspace.conflicts()?.iter().map(ConflictJson::from)),
            Self::Anchor { at, offset, line, sticks_left } => {
                let spot = match (offset, line) {
                    (Some(offset), _) => AnchorTarget::Offset(offset as usize),
                    (_, line) => AnchorTarget::Line(line.unwrap_or(1.0) as usize),
                };
                let side = if sticks_left { AnchorSide::Left } else { AnchorSide::Right };
                history.anchor(&file(&at)?, spot, side)?.to_string().into()
            }
            Self::ResolveAnchor { anchor } => {
                let anchor: FileAnchor = anchor.parse().map_err(WorkspaceError::from)?;
                js(&AnchorJson::from(&history.resolve_anchor(&anchor)?))
            }
            request => return request.maintain(workspace),
        })
    }

    /// Serves a request for the upkeep of the workspace.
    fn maintain(self, workspace: &Workspace) -> Result<Value, NodeError> {
        let (history, maintenance) = (workspace.history(), workspace.maintenance());
        Ok(match self {
            Self::Import { from, to, options } => {
                let options = options.into();
                let report = workspace.import(from.as_ref(), &file(&to)?, &options, &|_| ())?;
                js(&ImportReportJson::from(&report))
            }
            Self::Export { from, to, force } => {
                let options = ExportOptions { force, ..ExportOptions::default() };
                let report = workspace.export(&file(&from)?, to.as_ref(), &options, &|_| ())?;
                js(&ExportReportJson::from(&report))
            }
            Self::Stats => js(&WorkspaceStatsJson::from(&maintenance.stats()?)),
            Self::Repair { at } => maintenance.repair(&file(&at)?)?.into(),
            Self::ConvertProfile { profile } => {
                let profile = message::profile(&profile)?;
                let report = maintenance.convert_profile(profile, &mut |_, _| ())?;
                js(&ProfileReportJson::from(report))
            }
            Self::Redactable { at, version } => {
                let redactable = history.redactable(&file(&at)?, scope(version))?;
                js(&RedactionReportJson::from(&redactable))
            }
            Self::Redact { at, version, reason } => {
                let redacted = history.redact(&file(&at)?, scope(version), reason.as_deref())?;
                js(&RedactionReportJson::from(&redacted))
            }
            Self::Redactions { at } => {
                let redactions = history.redactions(&file(&at)?)?;
                list(redactions.iter().map(RedactionJson::<UnixMillis>::from))
            }
            Self::Quarantined => {
                let refused = maintenance.quarantined()?;
                list(refused.iter().map(|one| QuarantinedJson::<UnixMillis>::new(one, None)))
            }
            Self::Compact => {
                maintenance.compact(&mut |_, _| ())?;
                Value::Null
            }
            Self::CatchUp => workspace.catch_up()?.into(),
            Self::Flush => {
                workspace.flush()?;
                Value::Null
            }
            _ => return Err(error::invalid("a request for the upkeep", "").into()),
        })
    }
}

fn selector(
    number: Option<f64>,
    name: Option<String>,
    time: Option<f64>,
) -> napi::Result<VersionSelector> {
    match (number, name, time) {
        (Some(number), ..) => Ok(VersionSelector::Number(number as u64)),
        (_, Some(name), _) => Ok(VersionSelector::Name(name.into())),
        (.., Some(time)) => Ok(VersionSelector::At(Millis::from_f64(time))),
        _ => Err(error::invalid("a version", "")),
    }
}

fn list(items: impl Iterator<Item: Serialize>) -> Value {
    items.map(|item| js(&item)).collect()
}

fn file(at: &str) -> napi::Result<VPath> {
    path(Op::Open, at)
}

fn file_id(text: &str) -> napi::Result<FileId> {
    FileId::parse(text).map_err(|_| error::invalid("an id", text))
}

fn scope(version: Option<f64>) -> RedactionScope {
    version.map_or(RedactionScope::History, |number| RedactionScope::Version(number as u64))
}
