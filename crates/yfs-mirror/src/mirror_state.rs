//! What the folder was when it and the workspace last agreed: the third tree, by which it is told who changed.
//!
//! [`MirrorState`] is that tree in memory, [`database`] keeps it. A [`MirrorNode`] has two halves: what stood on the disk, and
//! what the workspace had. They are changed apart, and written together.
//!
//! # Invariants
//!
//! - The folder above a node is a node, so that moving a directory changes one node.
//! - No two nodes have the same folder and the same name on disk.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
    sync::Arc,
};

use smol_str::SmolStr;
use yfs_engine::{hash::ContentHash, id::FileId};
use yfs_vfs::{FileKind, VersionToken, host::HostStat};

use crate::merge_plan::parked;

pub mod database;
pub mod superseded;

/// One object that is in both trees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MirrorNode {
    /// Which.
    pub id: FileId,
    /// The folder that it is in on disk; none for the mirrored one.
    pub parent: Option<FileId>,
    /// Its name on disk.
    pub name: OsString,
    /// What sort of object it is.
    pub kind: FileKind,
    /// How the host knew it when its bytes were those of `hash`.
    pub stamp: DiskStamp,
    /// The hash of its bytes, or of a link's text.
    pub hash: ContentHash,
    /// What the workspace had.
    pub work: WorkspaceSide,
    /// From what an edit on disk is an edit.
    pub base: EditBase,
}

/// How the host knows an object: as long as this stays, so do its bytes.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct DiskStamp {
    /// Device and inode.
    pub place: (u64, u64),
    /// When the inode was made; numbers of inodes are used again.
    pub created_ns: i64,
    /// Its length.
    pub size: u64,
    /// When the content changed.
    pub mtime_ns: i64,
    /// When anything changed, by the host's clock.
    pub changed_ns: i64,
    /// Permission bits.
    pub mode: u32,
}

/// What the workspace had.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkspaceSide {
    /// The folder that it was in.
    pub parent: Option<FileId>,
    /// Its name.
    pub name: SmolStr,
    /// What changes whenever its content does; empty to have it looked at.
    pub version: SmolStr,
    /// Permission bits.
    pub mode: u32,
    /// The time of its last change, in milliseconds.
    pub mtime_ms: i64,
}

/// From what an edit on disk is an edit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EditBase {
    /// A version of the workspace that holds these bytes.
    Version(VersionToken),
    /// The bytes themselves: they are in the workspace merged with what others wrote, and not alone.
    Bytes(Arc<[u8]>),
    /// Nothing that could be found again.
    Unknown,
}

/// The third tree.
#[derive(Debug, Default)]
pub struct MirrorState {
    nodes: HashMap<FileId, MirrorNode>,
    children: HashMap<Option<FileId>, BTreeMap<OsString, FileId>>,
    by_place: HashMap<(u64, u64), FileId>,
    /// Nodes whose name in the workspace may have been given a number, since another has the plain one.
    numbered: HashSet<FileId>,
    /// What is to be written to the store.
    changed: HashSet<FileId>,
    superseded: superseded::SupersededFiles,
}

impl DiskStamp {
    /// Takes what the host says.
    pub fn of(facts: &HostStat) -> Self {
        let whole = |ns: i128| i64::try_from(ns).unwrap_or_default();
        Self {
            place: facts.place,
            created_ns: whole(facts.created_ns),
            size: facts.size,
            mtime_ns: whole(facts.mtime_ns),
            changed_ns: whole(facts.changed_ns),
            mode: facts.mode,
        }
    }

    /// Tells whether both are of one inode.
    pub fn is_same_inode(&self, other: &Self) -> bool {
        (self.place, self.created_ns) == (other.place, other.created_ns)
    }

    /// Returns the time of the last change in milliseconds.
    pub fn mtime_ms(&self) -> i64 {
        self.mtime_ns.div_euclid(1_000_000)
    }
}

impl MirrorState {
    /// Returns the number of nodes.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Tells whether nothing is known, as when a folder is mirrored for the first time.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Returns a node.
    pub fn get(&self, id: &FileId) -> Option<&MirrorNode> {
        self.nodes.get(id)
    }

    /// Returns all nodes, in no order.
    pub fn nodes(&self) -> impl Iterator<Item = &MirrorNode> {
        self.nodes.values()
    }

    /// Returns what stands under a name in a folder.
    pub fn child(&self, parent: Option<&FileId>, name: &OsStr) -> Option<&MirrorNode> {
        self.nodes.get(self.children.get(&parent.cloned())?.get(name)?)
    }

    /// Returns what is directly in a folder.
    pub fn children(&self, parent: Option<&FileId>) -> impl Iterator<Item = &MirrorNode> {
        let ids = self.children.get(&parent.cloned()).into_iter().flat_map(BTreeMap::values);
        ids.filter_map(|id| self.nodes.get(id))
    }

    /// Returns the node that had this inode.
    pub fn at_place(&self, place: (u64, u64)) -> Option<&MirrorNode> {
        self.nodes.get(self.by_place.get(&place)?)
    }

    /// Returns where a node is, relative to the mirrored folder.
    pub fn path(&self, id: &FileId) -> PathBuf {
        let mut names = Vec::new();
        let mut at = self.nodes.get(id);
        while let Some(node) = at {
            names.push(node.name.as_os_str());
            at = node.parent.as_ref().and_then(|parent| self.nodes.get(parent));
        }
        names.iter().rev().collect()
    }

    /// Returns the folder at a path, as `Some(None)` for the mirrored one; nothing if it is not known.
    pub fn folder(&self, path: &Path) -> Option<Option<FileId>> {
        let mut at = None;
        for component in path.components() {
            let node = self.child(at.as_ref(), component.as_os_str())?;
            if node.kind != FileKind::Directory {
                return None;
            }
            at = Some(node.id.clone());
        }
        Some(at)
    }

    /// Lists what lies below a folder, each folder before what it holds.
    pub fn below(&self, id: Option<&FileId>) -> Vec<FileId> {
        let mut found: Vec<FileId> = self.children(id).map(|node| node.id.clone()).collect();
        let mut at = 0;
        while at < found.len() {
            let more: Vec<FileId> =
                self.children(Some(&found[at])).map(|node| node.id.clone()).collect();
            found.extend(more);
            at += 1;
        }
        found
    }

    /// Lists what is in one of these folders of the workspace under a name that may have been given a number.
    pub fn numbered(&self, homes: &HashSet<Option<FileId>>) -> Vec<FileId> {
        let is_there = |id: &&FileId| {
            self.nodes.get(*id).is_some_and(|node| homes.contains(&node.work.parent))
        };
        self.numbered.iter().filter(is_there).cloned().collect()
    }

    /// Tells whether a node is another, or lies below it.
    pub fn is_within(&self, id: &FileId, other: &FileId) -> bool {
        let mut at = Some(id);
        while let Some(here) = at {
            if here == other {
                return true;
            }
            at = self.nodes.get(here).and_then(|node| node.parent.as_ref());
        }
        false
    }

    /// Adds a node, or puts another in the place of one.
    pub fn put(&mut self, node: MirrorNode) {
        let id = node.id.clone();
        self.unlink(&id);
        let names = self.children.entry(node.parent.clone()).or_default();
        let other = names.insert(node.name.clone(), id.clone()).filter(|other| *other != id);
        self.by_place.insert(node.stamp.place, id.clone());
        if node.work.name.contains(" (") {
            self.numbered.insert(id.clone());
        }
        self.changed.insert(id.clone());
        self.nodes.insert(id, node);
        if let Some(other) = other {
            self.set_aside(&other);
        }
    }

    /// Notes that something lost its name on disk to another, whatever became of it.
    fn set_aside(&mut self, id: &FileId) {
        if let Some(mut node) = self.nodes.remove(id) {
            node.name = parked(id);
            self.put(node);
        }
    }

    /// Changes a node, if there is one.
    pub fn update(&mut self, id: &FileId, change: impl FnOnce(&mut MirrorNode)) {
        if let Some(mut node) = self.nodes.get(id).cloned() {
            change(&mut node);
            self.put(node);
        }
    }

    /// Forgets a node. What is in it must have been forgotten before.
    pub fn remove(&mut self, id: &FileId) -> Option<MirrorNode> {
        self.unlink(id);
        self.changed.insert(id.clone());
        self.nodes.remove(id)
    }

    fn unlink(&mut self, id: &FileId) {
        let Some(node) = self.nodes.get(id) else { return };
        self.numbered.remove(id);
        if let Some(names) = self.children.get_mut(&node.parent)
            && names.get(&node.name) == Some(id)
        {
            names.remove(&node.name);
        }
        if self.by_place.get(&node.stamp.place) == Some(id) {
            self.by_place.remove(&node.stamp.place);
        }
    }

    /// Returns what was changed since the last call.
    fn take_changed(&mut self) -> Vec<FileId> {
        self.changed.drain().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(crate) fn node(id: &str, parent: Option<&str>, name: &str) -> MirrorNode {
        let parent = parent.map(|id| FileId::parse(id).unwrap());
        let work = WorkspaceSide {
            parent: parent.clone(),
            name: name.into(),
            version: "1".into(),
            mode: 0o644,
            mtime_ms: 0,
        };
        MirrorNode {
            id: FileId::parse(id).unwrap(),
            parent,
            name: name.into(),
            kind: FileKind::Directory,
            stamp: DiskStamp { place: (1, u64::from(id.as_bytes()[0])), ..DiskStamp::default() },
            hash: ContentHash::of(b""),
            work,
            base: EditBase::Unknown,
        }
    }

    #[test]
    fn what_loses_its_name_is_not_forgotten() {
        let mut state = MirrorState::default();
        state.put(node("a", None, "docs"));
        state.put(node("b", Some("a"), "deep"));
        state.put(node("c", None, "docs"));
        let id = |text| FileId::parse(text).unwrap();
        assert_eq!(state.child(None, OsStr::new("docs")).unwrap().id, id("c"));
        assert_eq!(state.path(&id("b")), Path::new(".yfs-tmp-a/deep"));
        assert_eq!(state.below(None).len(), 3);
    }

    #[test]
    fn moving_a_folder_moves_what_is_in_it() {
        let mut state = MirrorState::default();
        state.put(node("a", None, "docs"));
        state.put(node("b", Some("a"), "deep"));
        state.put(node("c", Some("b"), "plan.md"));
        let id = |text| FileId::parse(text).unwrap();
        assert_eq!(state.path(&id("c")), Path::new("docs/deep/plan.md"));
        state.update(&id("b"), |node| (node.parent, node.name) = (None, "top".into()));
        assert_eq!(state.path(&id("c")), Path::new("top/plan.md"));
        assert_eq!(state.folder(Path::new("docs/deep")), None);
        assert_eq!(state.folder(Path::new("top")), Some(Some(id("b"))));
        assert_eq!(state.below(None), [id("a"), id("b"), id("c")]);
        assert!(state.is_within(&id("c"), &id("b")) && !state.is_within(&id("b"), &id("a")));
    }
}
