//! The directory as it was when it and the workspace last agreed: the third tree, which shows which
//! side changed.
//!
//! [`MirrorState`] is that tree in memory, [`database`] stores it. A [`MirrorNode`] has two halves:
//! the object on disk, and the object in the workspace. They change separately, and are written
//! together.
//!
//! # Invariants
//!
//! - The directory above a node is a node, so that moving a directory changes one node.
//! - No two nodes have the same directory and the same name on disk.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
    sync::Arc,
};

use smol_str::SmolStr;
use yfs_engine::{hash::ContentHash, id::FileId};
use yfs_vfs::{FileKind, VersionToken, confined_dir::HostStat};

use crate::layout_plan::parked_name;

mod column_seal;
pub mod database;
pub mod former;
mod rule_views;
mod seen_text_rows;
pub mod superseded;

/// An object that is in both trees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MirrorNode {
    /// The id of the object.
    pub id: FileId,
    /// The directory that contains it on disk; none for the mirrored directory.
    pub parent: Option<FileId>,
    /// Its name on disk.
    pub name: OsString,
    /// The kind of the object.
    pub kind: FileKind,
    /// The host's metadata from when its bytes were those of `hash`.
    pub stamp: DiskStamp,
    /// The hash of its bytes, or of the target of a link.
    pub hash: ContentHash,
    /// The object in the workspace.
    pub work: WorkspaceSide,
    /// The base of an edit on disk.
    pub base: EditBase,
}

/// The host's metadata of an object: while it is unchanged, so are the object's bytes.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct DiskStamp {
    /// Device and inode.
    pub place: (u64, u64),
    /// The creation time of the inode; inode numbers are reused.
    pub created_ns: i64,
    /// The length in bytes.
    pub size: u64,
    /// When the content last changed.
    pub mtime_ns: i64,
    /// When the content or metadata last changed, by the host's clock.
    pub changed_ns: i64,
    /// Permission bits.
    pub mode: u32,
}

/// An object as it was in the workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkspaceSide {
    /// The directory that contained it.
    pub parent: Option<FileId>,
    /// Its name.
    pub name: SmolStr,
    /// A token that differs after each change of the content; empty to have the content compared.
    pub version: SmolStr,
    /// Permission bits.
    pub mode: u32,
    /// The modification time, in milliseconds since the Unix epoch.
    pub mtime_ms: i64,
}

/// The content that an edit on disk started from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EditBase {
    /// A version of the workspace with these bytes.
    Version(VersionToken),
    /// The bytes themselves: in the workspace they are merged with the text of others, and no
    /// version holds them alone.
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
    /// Nodes whose name in the workspace may have a number, because another node has the plain
    /// name.
    numbered: HashSet<FileId>,
    /// Nodes that are to be written to the database.
    changed: HashSet<FileId>,
    superseded: superseded::SupersededFiles,
    former: former::FormerObjects,
}

impl DiskStamp {
    /// Converts the metadata that the host reports.
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

    /// Reports whether both are of the same inode.
    pub fn is_same_inode(&self, other: &Self) -> bool {
        (self.place, self.created_ns) == (other.place, other.created_ns)
    }

    /// Returns the modification time in milliseconds.
    pub(crate) fn mtime_ms(&self) -> i64 {
        self.mtime_ns.div_euclid(1_000_000)
    }
}

impl MirrorState {
    /// Returns the number of nodes.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Reports whether the state is empty, as when a directory is mirrored for the first time.
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

    /// Returns the node with a name in a directory.
    pub fn child(&self, parent: Option<&FileId>, name: &OsStr) -> Option<&MirrorNode> {
        self.nodes.get(self.children.get(&parent.cloned())?.get(name)?)
    }

    /// Returns the nodes directly in a directory.
    pub fn children(&self, parent: Option<&FileId>) -> impl Iterator<Item = &MirrorNode> {
        let ids = self.children.get(&parent.cloned()).into_iter().flat_map(BTreeMap::values);
        ids.filter_map(|id| self.nodes.get(id))
    }

    /// Returns the node at a path, relative to the mirrored directory.
    pub fn at_path(&self, path: &Path) -> Option<&MirrorNode> {
        let parent = self.directory(path.parent()?)?;
        self.child(parent.as_ref(), path.file_name()?)
    }

    /// Returns the node with this device and inode.
    pub fn at_place(&self, place: (u64, u64)) -> Option<&MirrorNode> {
        self.nodes.get(self.by_place.get(&place)?)
    }

    /// Returns the path of a node, relative to the mirrored directory.
    pub fn path(&self, id: &FileId) -> PathBuf {
        let mut names = Vec::new();
        let mut at = self.nodes.get(id);
        while let Some(node) = at {
            names.push(node.name.as_os_str());
            at = node.parent.as_ref().and_then(|parent| self.nodes.get(parent));
        }
        names.iter().rev().collect()
    }

    /// Returns the id of the directory at a path, `Some(None)` for the mirrored directory, or none
    /// if the path is unknown or no directory.
    pub fn directory(&self, path: &Path) -> Option<Option<FileId>> {
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

    /// Lists all nodes below a directory, each directory before its content.
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

    /// Lists the nodes in these directories of the workspace whose name may have a number.
    pub fn numbered(&self, homes: &HashSet<Option<FileId>>) -> Vec<FileId> {
        let is_there = |id: &&FileId| {
            self.nodes.get(*id).is_some_and(|node| homes.contains(&node.work.parent))
        };
        self.numbered.iter().filter(is_there).cloned().collect()
    }

    /// Reports whether a node is `other`, or lies below it.
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

    /// Adds or replaces a node. A different node with the same directory and name gets its
    /// `parked_name`.
    pub fn put(&mut self, node: MirrorNode) {
        let id = node.id.clone();
        self.unlink(&id);
        self.forget_former(&id);
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

    /// Notes that a node lost its name on disk to another node, and gives it its [`parked_name`].
    fn set_aside(&mut self, id: &FileId) {
        if let Some(mut node) = self.nodes.remove(id) {
            node.name = parked_name(id);
            self.put(node);
        }
    }

    /// Changes a node, if it exists.
    pub fn update(&mut self, id: &FileId, change: impl FnOnce(&mut MirrorNode)) {
        if let Some(mut node) = self.nodes.get(id).cloned() {
            change(&mut node);
            self.put(node);
        }
    }

    /// Forgets a node. Its content must have been forgotten before.
    pub fn remove(&mut self, id: &FileId) -> Option<MirrorNode> {
        self.note_former(id);
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

    /// Reports whether changes are to be written to the database.
    pub fn is_changed(&self) -> bool {
        !self.changed.is_empty() || !self.superseded.changed.is_empty()
    }

    /// Forgets all nodes and superseded files.
    pub fn clear(&mut self) {
        let mut changed = std::mem::take(&mut self.changed);
        changed.extend(self.nodes.drain().map(|(id, _)| id));
        changed.extend(self.clear_former());
        let mut superseded = std::mem::take(&mut self.superseded);
        superseded.clear();
        *self = Self { changed, superseded, ..Self::default() };
    }

    /// Returns the nodes that changed since the last call.
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
    fn moving_a_directory_moves_what_is_in_it() {
        let mut state = MirrorState::default();
        state.put(node("a", None, "docs"));
        state.put(node("b", Some("a"), "deep"));
        state.put(node("c", Some("b"), "plan.md"));
        let id = |text| FileId::parse(text).unwrap();
        assert_eq!(state.path(&id("c")), Path::new("docs/deep/plan.md"));
        state.update(&id("b"), |node| (node.parent, node.name) = (None, "top".into()));
        assert_eq!(state.path(&id("c")), Path::new("top/plan.md"));
        assert_eq!(state.directory(Path::new("docs/deep")), None);
        assert_eq!(state.directory(Path::new("top")), Some(Some(id("b"))));
        assert_eq!(state.below(None), [id("a"), id("b"), id("c")]);
        assert!(state.is_within(&id("c"), &id("b")) && !state.is_within(&id("b"), &id("a")));
    }
}
