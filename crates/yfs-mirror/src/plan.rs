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

use crate::risk::TEMPORARY;

/// What became of an object on one side, since both agreed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// It is there, as it was.
    Same,
    /// It is there, and is another in some respect.
    Changed,
    /// It is gone.
    Gone,
}

/// What becomes of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
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
pub fn fate(disk: Side, work: Side) -> Fate {
    match (disk, work) {
        (Side::Gone, Side::Gone) => Fate::Forgotten,
        (Side::Gone, Side::Same) => Fate::GoesFromWorkspace,
        (Side::Gone, Side::Changed) => Fate::ReturnsToFolder,
        (Side::Same, Side::Gone) => Fate::GoesFromFolder,
        (Side::Changed, Side::Gone) => Fate::ReturnsToWorkspace,
        _ => Fate::Stays,
    }
}

/// Whose value holds of something that cannot be merged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Holds {
    /// Both have it already.
    Both,
    /// The folder's.
    Disk,
    /// The workspace's.
    Work,
}

/// Decides whose name, mode or time holds. Where both changed it the folder's does: it is brought into the
/// workspace as the later change.
pub fn decide<T: PartialEq>(base: &T, disk: &T, work: &T) -> Holds {
    if disk == work {
        Holds::Both
    } else if disk == base {
        Holds::Work
    } else {
        Holds::Disk
    }
}

/// Where an object stands.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Place {
    /// In which folder; none for the mirrored one.
    pub parent: Option<FileId>,
    /// Under which name.
    pub name: OsString,
}

/// Where an object is to stand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    /// Which.
    pub id: FileId,
    /// Where; nothing if it is to go.
    pub place: Option<Place>,
    /// How many folders are above it, where it is to stand or, if it is to go, where it stands.
    pub depth: usize,
    /// Whether others can stand in it.
    pub is_folder: bool,
}

/// One step on the way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Remove a file or link.
    Remove(FileId),
    /// Move something out of the way, to [`parked`] beside it.
    Park(FileId),
    /// Move something to where it is to stand, where nothing is.
    Move(FileId, Place),
    /// Make something where it is to stand, where nothing is.
    Make(FileId, Place),
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
    mut wanted: Vec<Wanted>,
    stands: &dyn Fn(&FileId) -> Option<Place>,
    at: &dyn Fn(&Place) -> Option<FileId>,
) -> Vec<Step> {
    let mut now = Layout { stands, at, moved: HashMap::new(), taken: HashMap::new() };
    let mut steps = Vec::new();
    // From the top, so that nothing is ever moved into itself: all above its place stands already.
    wanted.sort_by(|a, b| (a.depth, &a.id).cmp(&(b.depth, &b.id)));
    for it in wanted.iter().filter(|it| it.place.is_none() && !it.is_folder) {
        if now.place(&it.id).is_some() {
            now.set(&it.id, None);
            steps.push(Step::Remove(it.id.clone()));
        }
    }
    for it in &wanted {
        let Some(place) = &it.place else { continue };
        let stood = now.place(&it.id);
        if stood.as_ref() == Some(place) {
            continue;
        }
        if let Some(other) = now.at(place) {
            let aside = Place { parent: place.parent.clone(), name: parked(&other) };
            now.set(&other, Some(aside));
            steps.push(Step::Park(other));
        }
        now.set(&it.id, Some(place.clone()));
        let (id, place) = (it.id.clone(), place.clone());
        steps.push(if stood.is_some() { Step::Move(id, place) } else { Step::Make(id, place) });
    }
    for it in wanted.iter().rev().filter(|it| it.place.is_none() && it.is_folder) {
        if now.place(&it.id).is_some() {
            steps.push(Step::RemoveFolder(it.id.clone()));
        }
    }
    steps
}

/// Where things stand after the steps so far.
struct Layout<'a> {
    stands: &'a dyn Fn(&FileId) -> Option<Place>,
    at: &'a dyn Fn(&Place) -> Option<FileId>,
    moved: HashMap<FileId, Option<Place>>,
    taken: HashMap<Place, Option<FileId>>,
}

impl Layout<'_> {
    fn place(&self, id: &FileId) -> Option<Place> {
        self.moved.get(id).cloned().unwrap_or_else(|| (self.stands)(id))
    }

    fn at(&self, place: &Place) -> Option<FileId> {
        self.taken.get(place).cloned().unwrap_or_else(|| (self.at)(place))
    }

    fn set(&mut self, id: &FileId, place: Option<Place>) {
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
