//! What is to be done, decided without doing anything: pure functions of what both sides and the third tree
//! say.
//!
//! [`fate`] and [`decide`] say what becomes of one object, and [`steps`] in which order a directory tree becomes
//! another, one rename at a time, without ever replacing anything.

use std::{
    collections::HashMap,
    ffi::{OsStr, OsString},
};

use yfs_engine::id::FileId;

use crate::untrusted_files::TEMPORARY;

/// What became of an object on one side, since both agreed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SideChange {
    /// It is there, as it was.
    Same,
    /// It is there, and is another in some respect.
    Changed,
    /// It is gone.
    Gone,
}

/// What becomes of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ObjectAction {
    /// It stays on both sides, where what one side changed is changed on the other.
    Stays,
    /// It goes from the workspace, into the trash.
    GoesFromWorkspace,
    /// It goes from the folder.
    GoesFromFolder,
    /// It comes back in the workspace: somebody deleted there what was changed here.
    ReturnsToWorkspace,
    /// It comes back in the folder: somebody deleted here what was changed there.
    ReturnsToFolder,
    /// It is gone on both sides.
    Forgotten,
}

/// Decides whether an object lives: a change goes before a deletion, since a deletion can be made again.
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

/// Whose value holds of something that cannot be merged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MergeWinner {
    /// Both have it already.
    Both,
    /// The folder's.
    Disk,
    /// The workspace's.
    Work,
}

/// Decides whose name, mode or time holds. Where both changed it the folder's does: it is brought into the
/// workspace as the later change.
pub fn decide<T: PartialEq>(base: &T, disk: &T, work: &T) -> MergeWinner {
    if disk == work {
        MergeWinner::Both
    } else if disk == base {
        MergeWinner::Work
    } else {
        MergeWinner::Disk
    }
}

/// Where an object stands.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ObjectLocation {
    /// In which folder; none for the mirrored one.
    pub parent: Option<FileId>,
    /// Under which name.
    pub name: OsString,
}

/// Where an object is to stand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TargetLocation {
    /// Which.
    pub id: FileId,
    /// Where; nothing if it is to go.
    pub place: Option<ObjectLocation>,
    /// How many folders are above it, where it is to stand or, if it is to go, where it stands.
    pub depth: usize,
    /// Whether others can stand in it.
    pub is_folder: bool,
}

/// One step on the way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LayoutStep {
    /// Remove a file or link.
    Remove(FileId),
    /// Move something out of the way, to [`parked`] beside it.
    Park(FileId),
    /// Move something to where it is to stand, where nothing is.
    Move(FileId, ObjectLocation),
    /// Make something where it is to stand, where nothing is.
    Make(FileId, ObjectLocation),
    /// Remove a folder, in which nothing is left.
    RemoveFolder(FileId),
}

/// Returns the name under which something waits that is in the way.
pub fn parked(id: &FileId) -> OsString {
    format!("{TEMPORARY}{id}").into()
}

/// Returns whose such a name is.
pub fn parked_id(name: &OsStr) -> Option<FileId> {
    FileId::parse(name.to_str()?.strip_prefix(TEMPORARY)?).ok()
}

/// Orders the steps that lead from where things stand to where they are to stand.
///
/// `stands` tells where something stands, `at` what stands somewhere. What is above something wanted must
/// stand where it is to stand, or be wanted too.
pub fn steps(
    mut wanted: Vec<TargetLocation>,
    stands: &dyn Fn(&FileId) -> Option<ObjectLocation>,
    at: &dyn Fn(&ObjectLocation) -> Option<FileId>,
) -> Vec<LayoutStep> {
    let mut now = PlannedLayout { stands, at, moved: HashMap::new(), taken: HashMap::new() };
    let mut steps = Vec::new();
    // From the top, so that nothing is ever moved into itself: all above its place stands already.
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

/// Where things stand after the steps so far.
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
