//! Undoing a change: of a content, or of what a row records: the creation, the removal, the name,
//! the place or the permission bits.
//!
//! What others did since is kept. An edit is reversed as a save is merged: the difference from the
//! version after it to the one before it is applied to the present content. The undo is a change
//! like any other, so it can be undone, too.

mod step_check;
mod undo_refusal;

use std::{
    cmp::Reverse,
    collections::{HashMap, HashSet},
};

use yfs_engine::{id::FileId, path::VPath};
use yfs_vfs::{FileKind, FsCode, MoveOptions, Op, RemoveOptions, VersionBase, WriteOptions};

pub use self::{step_check::RefusedUndo, undo_refusal::UndoRefusal};
use super::{
    Workspace,
    change_list::{HistoryChange, HistoryEntry, RowPlace},
};
use crate::{
    History, WorkspaceFs,
    error::{Result, WorkspaceError},
};

/// The label of changes that undo others; after it comes what is undone: the number of a version,
/// or the kind of a change that a row records.
pub(crate) const UNDO_LABEL: &str = "undo";

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
    /// What the change created or restored was put into the trash.
    Removed,
    /// The object was restored from the trash, at this path.
    Restored(VPath),
    /// The object was moved back, to this path.
    MovedBack(VPath),
    /// The permission bits were set back.
    ModeRestored,
    /// The present content has nothing of the change.
    Nothing,
}

impl HistoryEntry {
    /// Reports whether this change undid another one.
    pub fn is_undo(&self) -> bool {
        let label = self.label.as_deref();
        self.undone_version().is_some()
            || label == Some(UNDO_LABEL)
            || UndoneKind::ALL.iter().any(|kind| label == Some(kind.label()))
    }

    /// Returns the version of the same file that this change undid.
    pub(crate) fn undone_version(&self) -> Option<u64> {
        self.label.as_deref()?.strip_prefix(UNDO_LABEL)?.strip_prefix(" version ")?.parse().ok()
    }
}

/// The changes that later changes undid. It has to see a history from its last change on.
#[derive(Debug, Default)]
pub struct UndoneChanges {
    versions: HashSet<(FileId, u64)>,
    /// How many changes of each kind that rows record.
    of_rows: HashMap<(FileId, UndoneKind), usize>,
}

/// What a change that a row records, and the change that undoes it, have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum UndoneKind {
    Creation,
    Removal,
    Restoration,
    Place,
    Mode,
}

impl UndoneKind {
    const ALL: [Self; 5] =
        [Self::Creation, Self::Removal, Self::Restoration, Self::Place, Self::Mode];

    fn of(change: HistoryChange) -> Option<Self> {
        match change {
            HistoryChange::Created => Some(Self::Creation),
            HistoryChange::Deleted => Some(Self::Removal),
            HistoryChange::Restored => Some(Self::Restoration),
            HistoryChange::Renamed | HistoryChange::Moved => Some(Self::Place),
            HistoryChange::ModeChanged => Some(Self::Mode),
            HistoryChange::Edited => None,
        }
    }

    /// Returns the label of the change that undoes it.
    fn label(self) -> &'static str {
        match self {
            Self::Creation => "undo creation",
            Self::Removal => "undo removal",
            Self::Restoration => "undo restoration",
            Self::Place => "undo move",
            Self::Mode => "undo mode",
        }
    }
}

impl UndoneChanges {
    /// Reports whether a change undid another, or was undone by one of those that were seen before.
    pub fn includes(&mut self, entry: &HistoryEntry) -> bool {
        if entry.is_undo() {
            let version = entry.undone_version();
            self.versions.extend(version.map(|version| (entry.id.clone(), version)));
            let label = entry.label.as_deref();
            let undone = UndoneKind::ALL.into_iter().find(|kind| label == Some(kind.label()));
            // A restored object has no record of its removal any more.
            if let Some(kind) = undone.filter(|kind| *kind != UndoneKind::Removal) {
                *self.of_rows.entry((entry.id.clone(), kind)).or_default() += 1;
            }
            return true;
        }
        if let Some(version) = entry.version {
            return self.versions.contains(&(entry.id.clone(), version));
        }
        let row = UndoneKind::of(entry.change).map(|kind| (entry.id.clone(), kind));
        match row.and_then(|row| self.of_rows.get_mut(&row)).filter(|n| **n > 0) {
            Some(n) => {
                *n -= 1;
                true
            }
            None => false,
        }
    }
}

/// Sorts changes, the latest first, so that each can be undone: the versions of a file in the order
/// of their numbers, whatever the clocks of their authors said, and new directories last, the
/// deepest first.
pub fn sort_for_undo(changes: &mut [HistoryEntry]) {
    sort_versions(changes);
    changes.sort_by_key(|entry| {
        let is_directory =
            entry.kind == FileKind::Directory && entry.change == HistoryChange::Created;
        is_directory.then(|| Reverse(entry.path.components().count()))
    });
}

/// Sorts the versions of each file among the places that they have, the latest first.
fn sort_versions(changes: &mut [HistoryEntry]) {
    let mut places: HashMap<FileId, Vec<usize>> = HashMap::new();
    for (place, entry) in changes.iter().enumerate().filter(|(_, entry)| entry.version.is_some()) {
        places.entry(entry.id.clone()).or_default().push(place);
    }
    for places in places.into_values() {
        let mut versions: Vec<HistoryEntry> =
            places.iter().map(|place| changes[*place].clone()).collect();
        versions.sort_by_key(|entry| Reverse(entry.version));
        for (place, entry) in places.into_iter().zip(versions) {
            changes[place] = entry;
        }
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
        if entry.change == HistoryChange::Deleted {
            let label = Some(UndoneKind::Removal.label());
            let path = workspace.trash().restore_with(&entry.id, None, label)?;
            return Ok(UndoOutcome::Restored(path));
        }
        let Some(path) = workspace.nodes().path_of(&entry.id)? else {
            return refuse(entry, UndoRefusal::InTrash);
        };
        let entry = &HistoryEntry { path, ..entry.clone() };
        let Some(version) = entry.version else {
            return self.undo_row_change(&workspace, entry);
        };
        let label = format!("{UNDO_LABEL} version {version}");
        let fs = workspace.fs().labelled(&label);
        let current = fs.read_with_id(&entry.path).map(|(_, content)| content.data)?;
        let [before, after] = self.contents_of(entry)?;
        if entry.change == HistoryChange::Created {
            let versions = self.versions(&entry.path)?;
            let is_own = versions.iter().all(|info| info.actor == entry.actor);
            if !is_own && after.as_ref() != Some(&current) {
                return refuse(entry, UndoRefusal::EditedSince);
            }
            fs.tree().rm(&entry.path, &RemoveOptions::default())?;
            return Ok(UndoOutcome::Removed);
        }
        let (Some(before), Some(after)) = (before, after) else {
            return refuse(entry, UndoRefusal::Redacted);
        };
        if current != after && ![&before, &after, &current].iter().all(|content| is_text(content)) {
            return refuse(entry, UndoRefusal::NotText);
        }
        let base = Some(VersionBase::Content(after));
        let options = WriteOptions { base, ..WriteOptions::default() };
        let written = fs.writer().write(&entry.path, &before, &options)?;
        let now = fs.read_with_id(&entry.path).map(|(_, content)| content.data)?;
        Ok(match now == current {
            true => UndoOutcome::Nothing,
            false => UndoOutcome::Reverted { is_merged: written.merged },
        })
    }
}

/// Refuses to undo a change.
fn refuse<T>(entry: &HistoryEntry, reason: UndoRefusal) -> Result<T> {
    Err(WorkspaceError::NotUndoable { path: entry.path.to_string(), reason })
}

impl History<'_> {
    /// Undoes a change that a row records, unless the object was changed so again since.
    fn undo_row_change(&self, workspace: &Workspace, entry: &HistoryEntry) -> Result<UndoOutcome> {
        let label = UndoneKind::of(entry.change).map_or(UNDO_LABEL, UndoneKind::label);
        let fs = workspace.fs().labelled(label);
        if matches!(entry.change, HistoryChange::Created | HistoryChange::Restored) {
            return self.remove_again(&fs, entry);
        }
        match (&entry.places, entry.modes) {
            (Some(places), _) => self.move_back(&fs, entry, places),
            (None, Some([before, after])) => {
                if fs.reader().stat(&entry.path, Op::Lstat)?.mode & 0o7777 != after {
                    return refuse(entry, UndoRefusal::ModeChangedSince);
                }
                fs.tree().chmod(&entry.path, before)?;
                Ok(UndoOutcome::ModeRestored)
            }
            (None, None) => Ok(UndoOutcome::Nothing),
        }
    }

    /// Removes what a change created without a content, or restored.
    fn remove_again(&self, fs: &WorkspaceFs, entry: &HistoryEntry) -> Result<UndoOutcome> {
        let is_restored = entry.change == HistoryChange::Restored;
        let may_hold_work = match entry.kind {
            FileKind::File => true,
            // A new one is removed only if it is empty.
            FileKind::Directory => is_restored,
            _ => false,
        };
        if may_hold_work && self.has_others_work(entry)? {
            return refuse(entry, UndoRefusal::ChangedSince);
        }
        let options = RemoveOptions { recursive: is_restored, ..RemoveOptions::default() };
        match fs.tree().rm(&entry.path, &options) {
            Ok(()) => Ok(UndoOutcome::Removed),
            Err(error) if error.code == FsCode::ENOTEMPTY => refuse(entry, UndoRefusal::NotEmpty),
            Err(error) => Err(error.into()),
        }
    }

    /// Moves an object back to its former place.
    fn move_back(
        &self,
        fs: &WorkspaceFs,
        entry: &HistoryEntry,
        [from, to]: &[RowPlace; 2],
    ) -> Result<UndoOutcome> {
        let (row, directory) = {
            let main = self.state.main.read();
            let row = main.files().get(&entry.id).map(|found| found.row);
            let directory = match &from.parent {
                None => Some(VPath::root()),
                Some(id) => main.tree().path_of(id),
            };
            (row, directory)
        };
        if !row.is_some_and(|row| row.name == to.name && row.parent == to.parent) {
            return refuse(entry, UndoRefusal::MovedSince);
        }
        let Some(directory) = directory else { return refuse(entry, UndoRefusal::DirectoryGone) };
        let from = directory.join(&from.name);
        let options = MoveOptions { replace: false, parents: false };
        match fs.tree().mv(&entry.path, &from, &options) {
            Ok(()) => Ok(UndoOutcome::MovedBack(from)),
            Err(error) if error.code == FsCode::EEXIST => refuse(entry, UndoRefusal::PathTaken),
            Err(error) if matches!(error.code, FsCode::ENOENT | FsCode::ENOTDIR) => {
                refuse(entry, UndoRefusal::DirectoryGone)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Reports whether another actor has changed an object, or what is in it, since a change.
    fn has_others_work(&self, entry: &HistoryEntry) -> Result<bool> {
        let mut undone = UndoneChanges::default();
        for later in self.changes(&entry.path)? {
            let later = later?;
            if later.at <= entry.at {
                break;
            }
            if !undone.includes(&later) && later.actor != entry.actor {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// Reports whether content is kept as text, which can be merged.
fn is_text(content: &[u8]) -> bool {
    !content.contains(&0) && std::str::from_utf8(content).is_ok()
}
