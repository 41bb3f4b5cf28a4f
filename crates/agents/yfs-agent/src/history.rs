//! The past of files, as far as a backend keeps it.

mod label_undo;
mod undone_files;

use std::{collections::HashMap, fmt};

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
use yfs_types::{actor::Actor, id::FileId, path::VPath, time::Millis};
use yfs_vfs::FsError;

pub use self::label_undo::LabelUndoError;
use self::undone_files::UndoneFiles;

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

/// The changes of one kind of a session in one file, after they were undone or not.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct UndoneChange {
    /// The file's path.
    pub path: VPath,
    /// The kind of the changes: `created`, `edited`, `renamed`, `moved`, `mode`, `restored` or
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
    /// stays. Returns one entry for all that was done alike with one file.
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
                Ok(outcome) => UndoneResult::from(outcome),
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

impl UndoneResult {
    /// Returns the name of the result, as the packages have it.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Reverted { .. } => "reverted",
            Self::Removed => "removed",
            Self::Restored => "restored",
            Self::MovedBack(_) => "moved_back",
            Self::ModeRestored => "mode_restored",
            Self::Nothing => "nothing",
            Self::Kept(_) => "kept",
        }
    }

    /// Reports whether later changes by others were kept.
    pub fn kept_others(&self) -> bool {
        matches!(self, Self::Reverted { kept_others: true })
    }

    /// Returns why the change stands, if it does.
    pub fn reason(&self) -> Option<&str> {
        match self {
            Self::Kept(reason) => Some(reason),
            _ => None,
        }
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
