//! The check whether a step can be undone as a whole.
//!
//! A change of a step may depend on another: a new directory is empty once the files that were made
//! in it are gone, and a path is free once what has it is moved back. So the check goes through the
//! changes in the order in which they are undone, and notes what each would do. It writes nothing.

use std::collections::HashMap;

use yfs_engine::{hash::ContentHash, id::FileId, main_doc::MainDoc, path::VPath, tree::NodeRef};
use yfs_vfs::{FileKind, Op};

use super::{UndoRefusal, is_text};
use crate::{
    History, Workspace,
    error::{Result, WorkspaceError},
    workspace::change_list::{HistoryChange, HistoryEntry, RowPlace},
};

/// A change of a step that cannot be undone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusedUndo {
    /// The index of the change.
    pub index: usize,
    /// The path of its object.
    pub path: VPath,
    /// The reason.
    pub reason: UndoRefusal,
}

impl From<RefusedUndo> for WorkspaceError {
    fn from(refused: RefusedUndo) -> Self {
        Self::NotUndoable { path: refused.path.to_string(), reason: refused.reason }
    }
}

impl HistoryEntry {
    /// Reports whether two changes are of one step: one actor made both by one command, one call of
    /// a tool, one request or one import.
    pub fn is_same_step(&self, other: &Self) -> bool {
        let is_import = self.import_source().is_some() && self.label == other.label;
        is_import || self.step.is_some() && self.step == other.step && self.actor == other.actor
    }
}

impl History<'_> {
    /// Returns the changes of a step that cannot be undone after those before them, in the order of
    /// [`sort_for_undo`](super::sort_for_undo). If there are none, the step can be undone as a
    /// whole, unless another writer changes its objects first.
    ///
    /// # Errors
    ///
    /// Fails as reading the contents before and after the changes does.
    pub fn check_undo(&self, changes: &[HistoryEntry]) -> Result<Vec<RefusedUndo>> {
        self.state.refresh()?;
        let mut simulation = UndoSimulation::new(*self);
        let mut refused = Vec::new();
        for (index, entry) in changes.iter().enumerate() {
            let path = simulation.workspace.nodes().path_of(&entry.id)?;
            let path = path.unwrap_or_else(|| entry.path.clone());
            let entry = HistoryEntry { path, ..entry.clone() };
            if let Some(reason) = simulation.undo(&entry)? {
                refused.push(RefusedUndo { index, path: entry.path, reason });
            }
        }
        Ok(refused)
    }
}

/// What the objects of a step are like after some of its changes were undone.
struct UndoSimulation<'h> {
    history: History<'h>,
    workspace: Workspace,
    /// The places of the objects that were moved, removed or restored; `None` in the trash.
    places: HashMap<FileId, Option<RowPlace>>,
    modes: HashMap<FileId, u32>,
    contents: HashMap<FileId, SimulatedContent>,
}

/// What is known of a content.
#[derive(Clone, Copy, PartialEq, Eq)]
struct SimulatedContent {
    /// `None` if others' changes are merged into it.
    hash: Option<ContentHash>,
    is_text: bool,
}

impl SimulatedContent {
    fn of(content: &[u8]) -> Self {
        Self { hash: Some(ContentHash::of(content)), is_text: is_text(content) }
    }
}

impl<'h> UndoSimulation<'h> {
    fn new(history: History<'h>) -> Self {
        Self {
            history,
            workspace: Workspace::of(history.state.clone()),
            places: HashMap::new(),
            modes: HashMap::new(),
            contents: HashMap::new(),
        }
    }

    /// Undoes a change in the simulation, or returns why it cannot be undone.
    fn undo(&mut self, entry: &HistoryEntry) -> Result<Option<UndoRefusal>> {
        if entry.change == HistoryChange::Deleted {
            self.restore(&entry.id);
            return Ok(None);
        }
        if !self.is_visible(&self.history.state.main.read(), &entry.id) {
            return Ok(Some(UndoRefusal::InTrash));
        }
        if entry.version.is_some() {
            return self.undo_content(entry);
        }
        if matches!(entry.change, HistoryChange::Created | HistoryChange::Restored) {
            return self.remove_again(entry);
        }
        Ok(match (&entry.places, entry.modes) {
            (Some(places), _) => self.move_back(&entry.id, places),
            (None, Some(modes)) => self.restore_mode(entry, modes)?,
            (None, None) => None,
        })
    }

    fn restore(&mut self, id: &FileId) {
        let main = self.history.state.main.read();
        let Some(row) = main.files().get(id).map(|found| found.row) else { return };
        let parent = row.parent.filter(|parent| self.is_visible(&main, parent));
        self.places.insert(id.clone(), Some(RowPlace { name: row.name, parent }));
    }

    fn undo_content(&mut self, entry: &HistoryEntry) -> Result<Option<UndoRefusal>> {
        let now = match self.contents.get(&entry.id) {
            Some(known) => Some(*known),
            None => self.read(entry),
        };
        // What cannot be read now is in the trash until another change of the step is undone.
        let Some(now) = now else { return Ok(None) };
        let [before, after] = self.history.contents_of(entry)?;
        let after = after.map(|content| SimulatedContent::of(&content));
        if entry.change == HistoryChange::Created {
            let versions = self.history.versions(&entry.path)?;
            let is_own = versions.iter().all(|info| info.actor == entry.actor);
            if !is_own && after != Some(now) {
                return Ok(Some(UndoRefusal::EditedSince));
            }
            self.places.insert(entry.id.clone(), None);
            return Ok(None);
        }
        let before = before.map(|content| SimulatedContent::of(&content));
        let (Some(before), Some(after)) = (before, after) else {
            return Ok(Some(UndoRefusal::Redacted));
        };
        if now != after && ![before, after, now].iter().all(|content| content.is_text) {
            return Ok(Some(UndoRefusal::NotText));
        }
        let merged = SimulatedContent { hash: None, is_text: true };
        self.contents.insert(entry.id.clone(), if now == after { before } else { merged });
        Ok(None)
    }

    fn read(&self, entry: &HistoryEntry) -> Option<SimulatedContent> {
        let (id, content) = self.workspace.fs().read_with_id(&entry.path).ok()?;
        (id == entry.id).then(|| SimulatedContent::of(&content.data))
    }

    fn remove_again(&mut self, entry: &HistoryEntry) -> Result<Option<UndoRefusal>> {
        let is_new_directory =
            entry.kind == FileKind::Directory && entry.change == HistoryChange::Created;
        let may_hold_work = matches!(entry.kind, FileKind::File | FileKind::Directory);
        if may_hold_work && !is_new_directory && self.history.has_others_work(entry)? {
            return Ok(Some(UndoRefusal::ChangedSince));
        }
        if is_new_directory && self.has_entries(&entry.id) {
            return Ok(Some(UndoRefusal::NotEmpty));
        }
        self.places.insert(entry.id.clone(), None);
        Ok(None)
    }

    fn move_back(&mut self, id: &FileId, [from, to]: &[RowPlace; 2]) -> Option<UndoRefusal> {
        let main = self.history.state.main.read();
        let now = match self.places.get(id) {
            Some(place) => place.clone(),
            None => main.files().get(id).map(|found| {
                let row = found.row;
                RowPlace { name: row.name, parent: row.parent }
            }),
        };
        if now.as_ref() != Some(to) {
            return Some(UndoRefusal::MovedSince);
        }
        if from.parent.as_ref().is_some_and(|parent| !self.is_visible(&main, parent)) {
            return Some(UndoRefusal::DirectoryGone);
        }
        if self.is_taken(&main, from, id) {
            return Some(UndoRefusal::PathTaken);
        }
        self.places.insert(id.clone(), Some(from.clone()));
        None
    }

    fn restore_mode(
        &mut self,
        entry: &HistoryEntry,
        [before, after]: [u32; 2],
    ) -> Result<Option<UndoRefusal>> {
        let now = match self.modes.get(&entry.id) {
            Some(mode) => Some(*mode),
            None => {
                self.workspace.fs().reader().stat(&entry.path, Op::Lstat).ok().map(|stat| stat.mode)
            }
        };
        if now.is_some_and(|now| now & 0o7777 != after) {
            return Ok(Some(UndoRefusal::ModeChangedSince));
        }
        self.modes.insert(entry.id.clone(), before);
        Ok(None)
    }

    /// Reports whether an object and all directories above it are out of the trash.
    fn is_visible(&self, main: &MainDoc, id: &FileId) -> bool {
        let mut next = Some(id.clone());
        // A directory that was moved into itself ends the walk.
        for _ in 0..=main.files().len() {
            let Some(id) = next else { return true };
            next = match (self.places.get(&id), main.tree().node(&id)) {
                (Some(Some(place)), _) => place.parent.clone(),
                (None, Some(node)) if !node.is_trashed() => {
                    node.parent().and_then(|parent| parent.id().cloned())
                }
                _ => return false,
            };
        }
        false
    }

    /// Reports whether a directory has an entry.
    fn has_entries(&self, directory: &FileId) -> bool {
        let main = self.history.state.main.read();
        let node = main.tree().node(directory);
        let mut children = node.into_iter().flat_map(|node| node.children());
        let stays = |child: &NodeRef<'_>| {
            child.id().is_some_and(|child| self.is_at_home(child) && child != directory)
        };
        let is_moved_in = |place: &Option<RowPlace>| {
            place.as_ref().is_some_and(|place| place.parent.as_ref() == Some(directory))
        };
        children.any(|(_, child)| stays(&child)) || self.places.values().any(is_moved_in)
    }

    /// Reports whether another object has a place.
    fn is_taken(&self, main: &MainDoc, place: &RowPlace, by_other_than: &FileId) -> bool {
        let directory = match &place.parent {
            Some(id) => main.tree().node(id),
            None => Some(main.tree().root()),
        };
        let child = directory.and_then(|directory| main.tree().child(directory, &place.name));
        let has_child = child
            .and_then(|child| child.id())
            .is_some_and(|child| child != by_other_than && self.is_at_home(child));
        let is_there = |(id, other): (&FileId, &Option<RowPlace>)| {
            id != by_other_than && other.as_ref() == Some(place)
        };
        has_child || self.places.iter().any(is_there)
    }

    /// Reports whether the simulation has left an object where it is.
    fn is_at_home(&self, id: &FileId) -> bool {
        !self.places.contains_key(id)
    }
}
