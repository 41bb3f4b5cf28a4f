//! The past of files, as far as a backend keeps it.

use std::fmt;

use async_trait::async_trait;
use bytes::Bytes;
use smol_str::SmolStr;
use yfs::{
    Workspace, WorkspaceError,
    workspace::{
        change_list::HistoryEntry,
        undo::{UndoOutcome, UndoneChanges, sort_for_undo},
    },
};
use yfs_types::{actor::Actor, path::VPath, time::Millis};
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
    /// The kind of the change: `created`, `edited`, `renamed`, `moved`, `mode`, `restored` or
    /// `deleted`.
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
    /// The file, which the change had renamed or moved, was moved back to this path.
    MovedBack(VPath),
    /// The permission bits were set back.
    ModeRestored,
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
        let mut undone = UndoneChanges::default();
        let mut changes = Vec::new();
        for entry in self.workspace.history().changes(&VPath::root())? {
            let entry = entry?;
            let is_undone = undone.includes(&entry);
            let is_own = entry.actor.as_ref() == Some(actor)
                && entry.label.as_deref().is_some_and(|label| is_label_of_session(label, session));
            if is_own && !is_undone {
                changes.push(entry);
            }
        }
        sort_for_undo(&mut changes);
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
                Err(WorkspaceError::NotUndoable { reason, .. }) => {
                    UndoneResult::Kept(reason.to_string())
                }
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
            UndoOutcome::MovedBack(path) => Self::MovedBack(path),
            UndoOutcome::ModeRestored => Self::ModeRestored,
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
