//! The past of files, as far as a backend keeps it.

use std::{collections::HashSet, fmt};

use async_trait::async_trait;
use bytes::Bytes;
use smol_str::SmolStr;
use yfs::{
    Workspace,
    workspace::{change_list::HistoryEntry, undo::UndoOutcome},
};
use yfs_types::{actor::Actor, id::FileId, path::VPath, time::Millis};
use yfs_vfs::FsError;

/// A version of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PastFileVersion {
    /// Its number, counted from 1, the oldest.
    pub number: u64,
    /// When it was made.
    pub at: Millis,
    /// Its author, if known.
    pub actor: Option<Actor>,
    /// The label of the change: a session, a tool call.
    pub label: Option<SmolStr>,
    /// Whether it is the current content.
    pub current: bool,
}

/// A change of a session, after it was undone or not.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct UndoneChange {
    /// The file's path.
    pub path: VPath,
    /// The kind of the change: `created`, `edited` or `deleted`.
    pub change: &'static str,
    /// What undoing it did, or why it was not undone.
    pub result: UndoneResult,
}

/// What undoing a change did.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum UndoneResult {
    /// The content was changed back; if `kept_others`, with later changes by others in it.
    Reverted {
        /// Whether later changes by others were kept.
        kept_others: bool,
    },
    /// The file, which the change had created, was moved to the trash.
    Removed,
    /// The file, which the change had removed, was restored.
    Restored,
    /// Nothing of the change was left.
    Nothing,
    /// The change stands, for this reason.
    Kept(String),
}

/// The past of the files of a filesystem.
///
/// It knows no permissions: a tool first accesses the path through the session's filesystem.
#[async_trait]
pub trait FileHistory: Send + Sync + fmt::Debug {
    /// Lists the versions of a file, oldest first.
    async fn list_versions(&self, path: &VPath) -> Result<Vec<PastFileVersion>, FsError>;

    /// Returns the content of a version. `EINVAL` if there is none with this number.
    async fn version_content(&self, path: &VPath, number: u64) -> Result<Bytes, FsError>;

    /// Returns the paths that a session of `actor` changed and that undoing it would change.
    async fn session_paths(&self, actor: &Actor, session: &str) -> Result<Vec<VPath>, FsError>;

    /// Undoes the changes of a session of `actor`, the latest first. What others changed later
    /// stays.
    async fn undo_session(
        &self,
        actor: &Actor,
        session: &str,
    ) -> Result<Vec<UndoneChange>, FsError>;
}

/// The past of a workspace's files.
#[derive(Debug, Clone)]
pub struct WorkspaceHistory {
    workspace: Workspace,
}

impl WorkspaceHistory {
    /// Makes the history of a workspace.
    pub fn new(workspace: Workspace) -> Self {
        Self { workspace }
    }

    /// Lists the changes of a session that were not undone, the latest first.
    fn session_changes(&self, actor: &Actor, session: &str) -> Result<Vec<HistoryEntry>, FsError> {
        let mut undone: HashSet<(FileId, u64)> = HashSet::new();
        let mut changes = Vec::new();
        for entry in self.workspace.history().changes(&VPath::root())? {
            let entry = entry?;
            if entry.is_undo() {
                undone.extend(entry.undone_version().map(|version| (entry.id.clone(), version)));
                continue;
            }
            let is_undone =
                entry.version.is_some_and(|number| undone.contains(&(entry.id.clone(), number)));
            let is_own = entry.actor.as_ref() == Some(actor)
                && entry.label.as_deref().is_some_and(|label| is_label_of_session(label, session));
            if is_own && !is_undone {
                changes.push(entry);
            }
        }
        Ok(changes)
    }
}

#[async_trait]
impl FileHistory for WorkspaceHistory {
    async fn list_versions(&self, path: &VPath) -> Result<Vec<PastFileVersion>, FsError> {
        let listed = self.workspace.history().versions(path)?.into_iter();
        Ok(listed
            .map(|info| PastFileVersion {
                number: info.number,
                at: info.at,
                actor: info.actor,
                label: info.label,
                current: info.current,
            })
            .collect())
    }

    async fn version_content(&self, path: &VPath, number: u64) -> Result<Bytes, FsError> {
        Ok(self.workspace.history().version_content(path, number)?)
    }

    async fn session_paths(&self, actor: &Actor, session: &str) -> Result<Vec<VPath>, FsError> {
        let changes = self.session_changes(actor, session)?;
        let mut paths: Vec<VPath> = changes.into_iter().map(|change| change.path).collect();
        paths.sort();
        paths.dedup();
        Ok(paths)
    }

    async fn undo_session(
        &self,
        actor: &Actor,
        session: &str,
    ) -> Result<Vec<UndoneChange>, FsError> {
        let mut undone = Vec::new();
        for change in self.session_changes(actor, session)? {
            let result = match self.workspace.history().undo(&change) {
                Ok(outcome) => UndoneResult::from(outcome),
                Err(error) => UndoneResult::Kept(error.to_string()),
            };
            let (path, change) = (change.path.clone(), change.change.as_str());
            undone.push(UndoneChange { path, change, result });
        }
        Ok(undone)
    }
}

impl From<UndoOutcome> for UndoneResult {
    fn from(outcome: UndoOutcome) -> Self {
        match outcome {
            UndoOutcome::Reverted { is_merged } => Self::Reverted { kept_others: is_merged },
            UndoOutcome::Removed => Self::Removed,
            UndoOutcome::Restored(_) => Self::Restored,
            // `UndoOutcome::Nothing`, and every later variant.
            _ => Self::Nothing,
        }
    }
}

/// Returns the label of the changes of a tool call: the session, then the call.
pub(crate) fn change_label(session: &str, call_id: Option<&str>) -> SmolStr {
    match call_id {
        Some(call_id) => smol_str::format_smolstr!("{session} {call_id}"),
        None => SmolStr::new(session),
    }
}

/// Reports whether a label is that of a change of a session: the session's id, and after a space
/// the id of the call.
pub fn is_label_of_session(label: &str, session: &str) -> bool {
    label.strip_prefix(session).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
}
