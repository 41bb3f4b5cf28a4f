//! Decisions of the mirror, as pure functions of both sides and the third tree.
//!
//! [`fate`] and [`decide`] decide about one object. [`steps`] orders the renames that turn one
//! directory tree into another, one at a time, without ever replacing an object.

use std::{
    collections::HashMap,
    ffi::{OsStr, OsString},
};

use yfs_engine::id::FileId;

use crate::untrusted_files::TEMPORARY;

/// The change of an object on one side since both sides agreed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SideChange {
    /// The object exists, unchanged.
    Same,
    /// The object exists, and differs in some respect.
    Changed,
    /// The object is gone.
    Gone,
}

/// What the mirror does with an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ObjectAction {
    /// Keeps the object on both sides, and applies what one side changed to the other.
    Stays,
    /// Deletes the object from the workspace, into the trash.
    GoesFromWorkspace,
    /// Deletes the object from the directory on disk.
    GoesFromFolder,
    /// Restores the object in the workspace: it was deleted there and changed on disk.
    ReturnsToWorkspace,
    /// Restores the object on disk: it was deleted there and changed in the workspace.
    ReturnsToFolder,
    /// Forgets the object: it is gone on both sides.
    Forgotten,
}

/// Decides whether an object lives: a change wins over a deletion, because a deletion can be
/// repeated.
pub fn fate(disk: SideChange, work: SideChange) -> ObjectAction {
    match (disk, work) {
        (SideChange::Gone, SideChange::Gone) => ObjectAction::Forgotten,
        (SideChange::Gone, SideChange::Same) => ObjectAction::GoesFromWorkspace,
        (SideChange::Gone, SideChange::Changed) => ObjectAction::ReturnsToFolder,
        (SideChange::Same, SideChange::Gone) => ObjectAction::GoesFromFolder,
        (SideChange::Changed, SideChange::Gone) => ObjectAction::ReturnsToWorkspace,
        _ => ObjectAction::Stays,
    }
}

/// The side whose value wins, for a value that cannot be merged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MergeWinner {
    /// Both sides have the same value.
    Both,
    /// The value of the disk.
    Disk,
    /// The value of the workspace.
    Work,
}

/// Decides which side's name, mode or time wins. If both sides changed it, the disk wins: its value
/// enters the workspace as the later change.
pub fn decide<T: PartialEq>(base: &T, disk: &T, work: &T) -> MergeWinner {
    if disk == work {
        MergeWinner::Both
    } else if disk == base {
        MergeWinner::Work
    } else {
        MergeWinner::Disk
    }
}

/// The location of an object.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ObjectLocation {
    /// The directory that contains the object; none for the mirrored directory.
    pub parent: Option<FileId>,
    /// The name of the object.
    pub name: OsString,
}

/// The location that an object is to get.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TargetLocation {
    /// The id of the object.
    pub id: FileId,
    /// The target location; none if the object is to be removed.
    pub place: Option<ObjectLocation>,
    /// The number of directories above the target location, or above the current location if the
    /// object is to be removed.
    pub depth: usize,
    /// Whether the object is a directory.
    pub is_folder: bool,
}

/// One step towards the target layout.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LayoutStep {
    /// Remove a file or link.
    Remove(FileId),
    /// Move an object out of the way, to its [`parked`] name in the same directory.
    Park(FileId),
    /// Move an object to its target location, which is free.
    Move(FileId, ObjectLocation),
    /// Create an object at its target location, which is free.
    Make(FileId, ObjectLocation),
    /// Remove an empty directory.
    RemoveFolder(FileId),
}

/// Returns the temporary name of an object that is out of the way.
pub fn parked(id: &FileId) -> OsString {
    format!("{TEMPORARY}{id}").into()
}

/// Returns the object id in a [`parked`] name.
pub fn parked_id(name: &OsStr) -> Option<FileId> {
    FileId::parse(name.to_str()?.strip_prefix(TEMPORARY)?).ok()
}

/// Orders the steps that lead from the current locations to the target locations.
///
/// `stands` returns the current location of an object, `at` the object at a location. The
/// directories above each target must be at their own targets already, or be in `wanted` too.
pub fn steps(
    mut wanted: Vec<TargetLocation>,
    stands: &dyn Fn(&FileId) -> Option<ObjectLocation>,
    at: &dyn Fn(&ObjectLocation) -> Option<FileId>,
) -> Vec<LayoutStep> {
    let mut now = PlannedLayout { stands, at, moved: HashMap::new(), taken: HashMap::new() };
    let mut steps = Vec::new();
    // From the top, so that no directory moves into itself: all directories above the target of an
    // object are in place before it moves.
    wanted.sort_by(|a, b| (a.depth, &a.id).cmp(&(b.depth, &b.id)));
    for it in wanted.iter().filter(|it| it.place.is_none() && !it.is_folder) {
        if now.place(&it.id).is_some() {
            now.set(&it.id, None);
            steps.push(LayoutStep::Remove(it.id.clone()));
        }
    }
    for it in &wanted {
        let Some(place) = &it.place else { continue };
        let stood = now.place(&it.id);
        if stood.as_ref() == Some(place) {
            continue;
        }
        if let Some(other) = now.at(place) {
            let aside = ObjectLocation { parent: place.parent.clone(), name: parked(&other) };
            now.set(&other, Some(aside));
            steps.push(LayoutStep::Park(other));
        }
        now.set(&it.id, Some(place.clone()));
        let (id, place) = (it.id.clone(), place.clone());
        steps.push(if stood.is_some() {
            LayoutStep::Move(id, place)
        } else {
            LayoutStep::Make(id, place)
        });
    }
    for it in wanted.iter().rev().filter(|it| it.place.is_none() && it.is_folder) {
        if now.place(&it.id).is_some() {
            steps.push(LayoutStep::RemoveFolder(it.id.clone()));
        }
    }
    steps
}

/// The layout after the steps so far.
struct PlannedLayout<'a> {
    stands: &'a dyn Fn(&FileId) -> Option<ObjectLocation>,
    at: &'a dyn Fn(&ObjectLocation) -> Option<FileId>,
    moved: HashMap<FileId, Option<ObjectLocation>>,
    taken: HashMap<ObjectLocation, Option<FileId>>,
}

impl PlannedLayout<'_> {
    fn place(&self, id: &FileId) -> Option<ObjectLocation> {
        self.moved.get(id).cloned().unwrap_or_else(|| (self.stands)(id))
    }

    fn at(&self, place: &ObjectLocation) -> Option<FileId> {
        self.taken.get(place).cloned().unwrap_or_else(|| (self.at)(place))
    }

    fn set(&mut self, id: &FileId, place: Option<ObjectLocation>) {
        if let Some(old) = self.place(id) {
            self.taken.insert(old, None);
        }
        if let Some(place) = &place {
            self.taken.insert(place.clone(), Some(id.clone()));
        }
        self.moved.insert(id.clone(), place);
    }
}

#[cfg(test)]
mod tests;
