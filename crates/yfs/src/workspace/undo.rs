//! Undoing a change: of a file's content, its creation or its removal.
//!
//! What others did since is kept. An edit is reversed as a save is merged: the difference from the
//! version after it to the one before it is applied to the present content. The undo is a change
//! like any other, so it can be undone, too.

use yfs_vfs::{RemoveOptions, VersionBase, WriteOptions};

use super::{
    Workspace,
    change_list::{HistoryChange, HistoryEntry},
};
use crate::{
    History,
    error::{Result, WorkspaceError},
};

/// The label of changes that undo others; after it comes the number of the version, if there is
/// one.
pub const UNDO_LABEL: &str = "undo";

/// The result of undoing a change.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum UndoOutcome {
    /// The content was changed back. It differs from the version before if others have edited the
    /// file since, which `is_merged` reports.
    Reverted {
        /// Whether changes that came after were kept.
        is_merged: bool,
    },
    /// The file, which the change created, was put into the trash.
    Removed,
    /// The object was restored from the trash, at this path.
    Restored(yfs_engine::path::VPath),
    /// The present content has nothing of the change.
    Nothing,
}

/// The reason why a change cannot be undone. Nothing changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum UndoRefusal {
    /// The file was put into the trash since.
    #[error("it is in the trash; restore it first")]
    InTrash,
    /// The change created the file, and another actor has edited it since.
    #[error("others have edited it since it was created")]
    EditedSince,
    /// The content is binary, and has changed since.
    #[error("it is not text, and has changed since")]
    NotText,
    /// A version cannot be read any more, because it was redacted.
    #[error("one of its versions was redacted")]
    Redacted,
}

impl HistoryEntry {
    /// Reports whether this change undid another one.
    pub fn is_undo(&self) -> bool {
        self.undone_version().is_some() || self.label.as_deref() == Some(UNDO_LABEL)
    }

    /// Returns the version of the same file that this change undid.
    pub fn undone_version(&self) -> Option<u64> {
        self.label.as_deref()?.strip_prefix(UNDO_LABEL)?.strip_prefix(" version ")?.parse().ok()
    }
}

impl History<'_> {
    /// Undoes a change, on behalf of
    /// [`WorkspaceOptions::actor`](crate::WorkspaceOptions::actor).
    ///
    /// # Errors
    ///
    /// Fails with [`WorkspaceError::NotUndoable`] if that would undo work of others, or cannot be
    /// done.
    pub fn undo(&self, entry: &HistoryEntry) -> Result<UndoOutcome> {
        let workspace = Workspace::of(self.state.clone());
        let refuse =
            |reason| Err(WorkspaceError::NotUndoable { path: entry.path.to_string(), reason });
        if entry.change == HistoryChange::Deleted {
            return Ok(UndoOutcome::Restored(workspace.trash().restore(&entry.id, None)?));
        }
        let Some(path) = workspace.nodes().path_of(&entry.id)? else {
            return refuse(UndoRefusal::InTrash);
        };
        let entry = &HistoryEntry { path, ..entry.clone() };
        let label = format!("{UNDO_LABEL} version {}", entry.version.unwrap_or_default());
        let fs = workspace.fs().labelled(&label);
        let current = fs.read_with_id(&entry.path).map(|(_, content)| content.data)?;
        let [before, after] = self.contents_of(entry)?;
        if entry.change == HistoryChange::Created {
            let versions = self.versions(&entry.path)?;
            let is_own = versions.iter().all(|info| info.actor == entry.actor);
            if !is_own && after.as_ref() != Some(&current) {
                return refuse(UndoRefusal::EditedSince);
            }
            fs.rm_now(&entry.path, &RemoveOptions::default())?;
            return Ok(UndoOutcome::Removed);
        }
        let (Some(before), Some(after)) = (before, after) else {
            return refuse(UndoRefusal::Redacted);
        };
        if current != after && ![&before, &after, &current].iter().all(|content| is_text(content)) {
            return refuse(UndoRefusal::NotText);
        }
        let base = Some(VersionBase::Content(after));
        let options = WriteOptions { base, ..WriteOptions::default() };
        let written = fs.write_sync(&entry.path, &before, &options)?;
        let now = fs.read_with_id(&entry.path).map(|(_, content)| content.data)?;
        Ok(match now == current {
            true => UndoOutcome::Nothing,
            false => UndoOutcome::Reverted { is_merged: written.merged },
        })
    }
}

/// Reports whether content is kept as text, which can be merged.
fn is_text(content: &[u8]) -> bool {
    !content.contains(&0) && std::str::from_utf8(content).is_ok()
}
