//! The order of the renames that turn one directory tree into another, one at a time, without ever
//! replacing an object: a pure function of both trees.

use std::{
    collections::HashMap,
    ffi::{OsStr, OsString},
};

use yfs_engine::id::FileId;

use crate::untrusted_files::TEMPORARY;

/// The location of an object.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct ObjectLocation {
    /// The directory that contains the object; none for the mirrored directory.
    pub parent: Option<FileId>,
    /// The name of the object.
    pub name: OsString,
}

/// The location that an object is to get.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TargetLocation {
    /// The id of the object.
    pub id: FileId,
    /// The target location; none if the object is to be removed.
    pub place: Option<ObjectLocation>,
    /// The number of directories above the target location, or above the current location if the
    /// object is to be removed.
    pub depth: usize,
    /// Whether the object is a directory.
    pub is_directory: bool,
}

/// One step towards the target layout.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum LayoutStep {
    /// Remove a file or link.
    Remove(FileId),
    /// Move an object out of the way, to its [`parked_name`] name in the same directory.
    Park(FileId),
    /// Move an object to its target location, which is free.
    Move(FileId, ObjectLocation),
    /// Create an object at its target location, which is free.
    Make(FileId, ObjectLocation),
    /// Remove an empty directory.
    RemoveDirectory(FileId),
}

/// Returns the temporary name of an object that is out of the way.
pub(crate) fn parked_name(id: &FileId) -> OsString {
    format!("{TEMPORARY}{id}").into()
}

/// Returns the object id in a [`parked_name`] name.
pub(crate) fn parked_id(name: &OsStr) -> Option<FileId> {
    FileId::parse(name.to_str()?.strip_prefix(TEMPORARY)?).ok()
}

/// Orders the steps that lead from the current locations to the target locations.
///
/// `location_of` returns the current location of an object, `at` the object at a location. The
/// directories above each target must be at their own targets already, or be in `targets` too.
pub(crate) fn plan_steps(
    mut targets: Vec<TargetLocation>,
    location_of: &dyn Fn(&FileId) -> Option<ObjectLocation>,
    at: &dyn Fn(&ObjectLocation) -> Option<FileId>,
) -> Vec<LayoutStep> {
    let mut layout =
        PlannedLayout { location_of, at, moved: HashMap::new(), taken: HashMap::new() };
    let mut steps = Vec::new();
    // From the top, so that no directory moves into itself: all directories above the target of an
    // object are in place before it moves.
    targets.sort_by(|a, b| (a.depth, &a.id).cmp(&(b.depth, &b.id)));
    for target in targets.iter().filter(|target| target.place.is_none() && !target.is_directory) {
        if layout.place(&target.id).is_some() {
            layout.set(&target.id, None);
            steps.push(LayoutStep::Remove(target.id.clone()));
        }
    }
    for target in &targets {
        let Some(place) = &target.place else { continue };
        let current = layout.place(&target.id);
        if current.as_ref() == Some(place) {
            continue;
        }
        if let Some(other) = layout.at(place) {
            let aside = ObjectLocation { parent: place.parent.clone(), name: parked_name(&other) };
            layout.set(&other, Some(aside));
            steps.push(LayoutStep::Park(other));
        }
        layout.set(&target.id, Some(place.clone()));
        let (id, place) = (target.id.clone(), place.clone());
        steps.push(if current.is_some() {
            LayoutStep::Move(id, place)
        } else {
            LayoutStep::Make(id, place)
        });
    }
    for target in
        targets.iter().rev().filter(|target| target.place.is_none() && target.is_directory)
    {
        if layout.place(&target.id).is_some() {
            steps.push(LayoutStep::RemoveDirectory(target.id.clone()));
        }
    }
    steps
}

/// The layout after the steps so far.
struct PlannedLayout<'a> {
    location_of: &'a dyn Fn(&FileId) -> Option<ObjectLocation>,
    at: &'a dyn Fn(&ObjectLocation) -> Option<FileId>,
    moved: HashMap<FileId, Option<ObjectLocation>>,
    taken: HashMap<ObjectLocation, Option<FileId>>,
}

impl PlannedLayout<'_> {
    fn place(&self, id: &FileId) -> Option<ObjectLocation> {
        self.moved.get(id).cloned().unwrap_or_else(|| (self.location_of)(id))
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
