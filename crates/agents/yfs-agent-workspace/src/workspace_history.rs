//! The past of a workspace's files, and the undo of a session's changes.

mod label_undo;
mod undone_files;

use std::collections::HashMap;

use async_trait::async_trait;
use bytes::Bytes;
use yfs::{
    Workspace, WorkspaceError,
    workspace::{
        change_list::HistoryEntry,
        undo::{UndoOutcome, UndoneChanges, sort_for_undo},
    },
};
use yfs_agent::history::{
    FileHistory, PastFileVersion, UndoneChange, UndoneResult, is_label_of_session,
};
use yfs_types::{actor::Actor, id::FileId, path::VPath};
use yfs_vfs::FsError;

pub use self::label_undo::LabelUndoError;
use self::undone_files::UndoneFiles;

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

    /// Finds the changes of a session that were not undone.
    fn session_changes(&self, actor: &Actor, session: &str) -> Result<SessionChanges, FsError> {
        let mut undone = UndoneChanges::default();
        let mut found = SessionChanges::default();
        for entry in self.workspace.history().changes(&VPath::root())? {
            let entry = entry?;
            let is_undone = undone.includes(&entry);
            let is_labelled =
                entry.label.as_deref().is_some_and(|label| is_label_of_session(label, session));
            if is_labelled {
                found.note_author(entry.actor.as_ref());
            }
            if is_undone {
                continue;
            }
            if is_labelled && entry.actor.as_ref() == Some(actor) {
                found.own.push(entry);
            } else if let Some(version) = entry.version {
                let latest = found.latest_of_others.entry(entry.id).or_default();
                *latest = version.max(*latest);
            }
        }
        sort_for_undo(&mut found.own);
        Ok(found)
    }

    /// Undoes changes that were found.
    fn undo_changes(&self, found: &SessionChanges) -> Vec<UndoneChange> {
        let mut files = UndoneFiles::default();
        for change in &found.own {
            let result = match self.workspace.history().undo(change) {
                Ok(UndoOutcome::Reverted { is_merged }) => {
                    UndoneResult::Reverted { kept_others: is_merged && found.has_later(change) }
                }
                Ok(outcome) => result_of(outcome),
                Err(WorkspaceError::NotUndoable { reason, .. }) => {
                    UndoneResult::Kept(reason.to_string())
                }
                Err(error) => UndoneResult::Kept(error.to_string()),
            };
            files.add(change, result);
        }
        files.into_changes()
    }
}

/// The changes of a session, and what there is of others.
#[derive(Debug, Default)]
struct SessionChanges {
    /// The session's, in the order in which they are undone.
    own: Vec<HistoryEntry>,
    /// The latest version of each file that is not the session's and stands.
    latest_of_others: HashMap<FileId, u64>,
    /// The actors of all changes with the label.
    authors: Vec<Actor>,
}

impl SessionChanges {
    fn note_author(&mut self, actor: Option<&Actor>) {
        if let Some(actor) = actor.filter(|actor| !self.authors.contains(actor)) {
            self.authors.push(actor.clone());
        }
    }

    /// Reports whether others have changed a content after a change.
    fn has_later(&self, change: &HistoryEntry) -> bool {
        let latest = self.latest_of_others.get(&change.id).copied();
        latest.zip(change.version).is_some_and(|(latest, version)| latest > version)
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
        let mut paths: Vec<VPath> = changes.own.into_iter().map(|change| change.path).collect();
        paths.sort();
        paths.dedup();
        Ok(paths)
    }

    async fn undo_session(
        &self,
        actor: &Actor,
        session: &str,
    ) -> Result<Vec<UndoneChange>, FsError> {
        Ok(self.undo_changes(&self.session_changes(actor, session)?))
    }
}

/// Returns what an undo did.
fn result_of(outcome: UndoOutcome) -> UndoneResult {
    match outcome {
        UndoOutcome::Reverted { is_merged } => UndoneResult::Reverted { kept_others: is_merged },
        UndoOutcome::Removed => UndoneResult::Removed,
        UndoOutcome::Restored(_) => UndoneResult::Restored,
        UndoOutcome::MovedBack(path) => UndoneResult::MovedBack(path),
        UndoOutcome::ModeRestored => UndoneResult::ModeRestored,
        // `UndoOutcome::Nothing`, and every later variant.
        _ => UndoneResult::Nothing,
    }
}
