//! The places that objects had before they were moved.

use std::collections::{HashMap, HashSet};

use parking_lot::Mutex;
use yfs_types::{id::FileId, path::VPath};

use super::rules::AccessKind;

/// The most earlier places that are kept of one object.
const MAX_PLACES: usize = 32;

/// The earlier places of objects, and the objects that the session was granted access to, by id.
///
/// All sub-agents of a session share one, so that a rule binds an object whichever of them moved
/// it. Places are kept only of objects that a rule restricts, or whose content a rule may restrict.
#[derive(Debug, Default)]
pub(crate) struct ObjectPlaces {
    by_id: Mutex<HashMap<FileId, Vec<VPath>>>,
    grants: Mutex<HashSet<(AccessKind, GrantedObject)>>,
}

/// The object of an approval: by id if it exists, so that the approval moves with it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum GrantedObject {
    Existing(FileId),
    Missing(VPath),
}

impl ObjectPlaces {
    pub(super) fn is_empty(&self) -> bool {
        self.by_id.lock().is_empty()
    }

    /// Binds an object to a place. After [`MAX_PLACES`] places the oldest stay, because the first
    /// place is the one that the rules were written for.
    pub(super) fn bind(&self, id: &FileId, place: VPath) {
        let mut by_id = self.by_id.lock();
        let places = by_id.entry(id.clone()).or_default();
        if places.len() < MAX_PLACES && !places.contains(&place) {
            places.push(place);
        }
    }

    /// Returns the earlier places of an object.
    pub(super) fn of(&self, id: &FileId) -> Vec<VPath> {
        self.by_id.lock().get(id).cloned().unwrap_or_default()
    }

    pub(super) fn grant(&self, access: AccessKind, object: GrantedObject) {
        self.grants.lock().insert((access, object));
    }

    pub(super) fn has_grants(&self) -> bool {
        !self.grants.lock().is_empty()
    }

    pub(super) fn has_grant(&self, access: AccessKind, object: &GrantedObject) -> bool {
        self.grants.lock().contains(&(access, object.clone()))
    }

    /// Passes the grants of a missing object to the object that was created there.
    pub(super) fn rebind_created(&self, path: &VPath, id: &FileId) {
        for access in [AccessKind::Read, AccessKind::Write] {
            if self.has_grant(access, &GrantedObject::Missing(path.clone())) {
                self.grant(access, GrantedObject::Existing(id.clone()));
            }
        }
    }

    /// Binds the object with the id `new` to all that `old` is bound to: some backends give a file
    /// a new id when they replace its content or move it.
    pub(super) fn rebind(&self, old: &FileId, new: &FileId) {
        if old == new {
            return;
        }
        for place in self.of(old) {
            self.bind(new, place);
        }
        for access in [AccessKind::Read, AccessKind::Write] {
            if self.has_grant(access, &GrantedObject::Existing(old.clone())) {
                self.grant(access, GrantedObject::Existing(new.clone()));
            }
        }
    }
}
