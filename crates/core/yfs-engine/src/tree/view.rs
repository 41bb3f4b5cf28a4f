//! Read access to the tree: nodes, paths, listings, walks.

use std::{collections::btree_map, fmt, ops::Bound};

use smol_str::SmolStr;
use thiserror::Error;

use super::{
    TreeIndex,
    arena::{ArenaNode, NodeSlot, ROOT, SlotKind},
    display_names::{DirectoryNames, NameGroup, requested_name, suffix_source},
};
use crate::{
    id::FileId,
    path::{MAX_PATH_LEN, VPath},
    table::NodeKind,
    time::Millis,
};

/// The name in the root under which every visible node is found by its id. It is never listed.
const BY_ID: &str = ".id";

/// A file, a directory or the root, in a tree.
#[derive(Clone, Copy)]
pub struct NodeRef<'a> {
    pub(super) tree: &'a TreeIndex,
    slot: NodeSlot,
}

/// The reason why a path leads nowhere. `at` is the part of it that is missing, or not a directory.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum LookupError {
    /// There is no such node. POSIX: `ENOENT`.
    #[error("no such file or directory: {at}")]
    NotFound {
        /// The first component that is missing, with all before it.
        at: VPath,
    },
    /// The parent of the rest of the path is a file. POSIX: `ENOTDIR`.
    #[error("not a directory: {at}")]
    NotADirectory {
        /// The file.
        at: VPath,
    },
    /// Too many links are followed. POSIX: `ELOOP`.
    #[error("too many levels of symbolic links: {at}")]
    Loop {
        /// The requested path.
        at: VPath,
    },
    /// A link leads to a path that is too long. POSIX: `ENAMETOOLONG`.
    #[error("path is too long: {at}")]
    TooLong {
        /// The requested path.
        at: VPath,
    },
}

/// The entries of a directory with their display names, in byte order of the names.
#[derive(Debug, Clone)]
pub struct DirectoryChildren<'a> {
    tree: &'a TreeIndex,
    dir: Option<&'a DirectoryNames>,
    names: Option<btree_map::Range<'a, SmolStr, NodeSlot>>,
}

/// All visible nodes below a node: directories before their children, siblings in order of name.
#[derive(Debug, Clone)]
pub struct SubtreeWalk<'a> {
    open: Vec<DirectoryChildren<'a>>,
}

/// All nodes below a node, trashed or not: directories before their children.
#[derive(Debug, Clone)]
pub struct AllDescendants<'a> {
    tree: &'a TreeIndex,
    open: Vec<NodeSlot>,
    stop_at_trashed: bool,
}

impl TreeIndex {
    /// Returns the root.
    pub fn root(&self) -> NodeRef<'_> {
        self.node_at(ROOT)
    }

    /// Returns the file or directory of an id, visible or not.
    pub fn node(&self, id: &FileId) -> Option<NodeRef<'_>> {
        let slot = self.nodes.find(id.as_str())?;
        (self.nodes.arena[slot].kind != SlotKind::Missing).then(|| self.node_at(slot))
    }

    /// Returns every file and directory, visible or not, in no order.
    pub fn nodes(&self) -> impl Iterator<Item = NodeRef<'_>> {
        self.nodes.read_all();
        self.nodes.arena.present().map(|slot| self.node_at(slot))
    }

    /// Finds the visible node at a path, by display names; links are not followed.
    ///
    /// A component that is not found is tried in normalization form C, as a stored name that is
    /// shown escaped, and as an alias: `base~{first 8 of id}.ext` beside the entry, or `/.id/{id}`.
    pub fn lookup(&self, path: &VPath) -> Result<NodeRef<'_>, LookupError> {
        let mut slot = ROOT;
        let mut passed = 0;
        let mut components = path.components();
        while let Some(component) = components.next() {
            let at = passed;
            passed += 1 + component.len();
            if !self.nodes.is_directory(slot) {
                return Err(LookupError::NotADirectory { at: prefix(path, at) });
            }
            let mut found = self.nodes.find_name(slot, component);
            if found.is_none() && slot == ROOT && component == BY_ID {
                let id = components.next().unwrap_or_default();
                passed += 1 + id.len();
                found = self.find_visible(id);
            }
            slot = found.ok_or_else(|| LookupError::NotFound { at: prefix(path, passed) })?;
        }
        Ok(self.node_at(slot))
    }

    /// Returns the path of an id, if the node is visible.
    ///
    /// A path that would be too long is returned as `/.id/{id}`.
    pub fn path_of(&self, id: &FileId) -> Option<VPath> {
        self.node(id).filter(NodeRef::is_visible).map(|node| node.path())
    }

    /// Finds a child of a directory by its name, as [`TreeIndex::lookup`] does.
    pub fn child<'a>(&'a self, directory: NodeRef<'a>, name: &str) -> Option<NodeRef<'a>> {
        self.nodes.find_name(directory.slot, name).map(|slot| self.node_at(slot))
    }

    pub(super) fn node_at(&self, slot: NodeSlot) -> NodeRef<'_> {
        NodeRef { tree: self, slot }
    }

    pub(super) fn find_visible(&self, id: &str) -> Option<NodeSlot> {
        let slot = self.nodes.find(id)?;
        let present = self.nodes.arena[slot].kind != SlotKind::Missing;
        (present && self.node_at(slot).is_visible()).then_some(slot)
    }
}

impl<'a> NodeRef<'a> {
    /// Returns the id, or nothing for the root.
    pub fn id(&self) -> Option<&'a FileId> {
        (!self.is_root()).then(|| &self.raw().id)
    }

    /// Reports whether this is the root.
    pub fn is_root(&self) -> bool {
        self.slot == ROOT
    }

    /// Returns whether this is a file or a directory. The root is a directory.
    pub fn kind(&self) -> NodeKind {
        if self.is_directory() { NodeKind::Directory } else { NodeKind::File }
    }

    /// Reports whether this is a directory or the root.
    pub fn is_directory(&self) -> bool {
        self.tree.nodes.is_directory(self.slot)
    }

    /// Returns its target, if it is a symbolic link.
    pub fn link(&self) -> Option<&'a str> {
        self.raw().link().map(SmolStr::as_str)
    }

    /// Returns its display name; empty for the root.
    ///
    /// A trashed node is listed nowhere, and keeps the name that it requests.
    pub fn name(&self) -> &'a str {
        self.raw().display()
    }

    /// Returns the name that the row stores; empty for the root.
    pub fn stored_name(&self) -> &'a str {
        &self.raw().name
    }

    /// Returns the name that finds it beside its siblings even if they change; never listed.
    pub fn alias(&self) -> SmolStr {
        self.raw().alias()
    }

    /// Returns when it was put into the trash, if it is itself trashed.
    pub fn trashed_at(&self) -> Option<Millis> {
        self.raw().rare.as_ref()?.trashed_at
    }

    /// Reports whether it is itself trashed.
    pub fn is_trashed(&self) -> bool {
        self.raw().trashed
    }

    /// Reports whether a purge marked it.
    pub fn is_purged(&self) -> bool {
        self.raw().purged
    }

    /// Reports whether neither it nor a directory above it is trashed.
    pub fn is_visible(&self) -> bool {
        self.trashed_ancestor().is_none()
    }

    /// Returns the directory that it is shown in, or nothing for the root.
    pub fn parent(&self) -> Option<Self> {
        (!self.is_root()).then(|| self.tree.node_at(self.raw().shown_in))
    }

    /// Returns its ancestors, from its directory up to the root.
    pub fn ancestors(&self) -> impl Iterator<Item = Self> + use<'a> {
        std::iter::successors(self.parent(), Self::parent)
    }

    /// Reports whether it is `other` or lies below it.
    pub fn is_within(&self, other: NodeRef<'_>) -> bool {
        self.tree.nodes.is_below(self.slot, other.slot)
    }

    /// Returns the trashed node that hides it: itself or the nearest above.
    pub fn trashed_ancestor(&self) -> Option<Self> {
        std::iter::once(*self).chain(self.ancestors()).find(Self::is_trashed)
    }

    /// Returns the path, as if nothing were trashed. A path that would be too long is `/.id/{id}`.
    pub fn path(&self) -> VPath {
        if self.is_root() {
            return VPath::root();
        }
        let by_id = || VPath::root().join(BY_ID).join(self.raw().id.as_str());
        let (mut names, mut len) = (Vec::new(), 0);
        for node in std::iter::once(*self).chain(self.ancestors()).filter(|node| !node.is_root()) {
            #[cfg(test)]
            crate::steps::count(1);
            len += 1 + node.name().len();
            if len > MAX_PATH_LEN {
                return by_id();
            }
            names.push(node.name());
        }
        names.push("");
        names.reverse();
        VPath::parse(&names.join("/")).unwrap_or_else(|_| by_id())
    }

    /// Returns its entries that are not trashed, in byte order of their display names.
    pub fn children(&self) -> DirectoryChildren<'a> {
        let dir = self.dir();
        DirectoryChildren {
            tree: self.tree,
            dir,
            names: dir.map(|dir| dir.names.range::<str, _>(..)),
        }
    }

    /// Returns the number of entries that are not trashed.
    pub fn n_children(&self) -> usize {
        self.dir().map_or(0, |dir| dir.names.len())
    }

    /// Returns all nodes below it that are not trashed, in order.
    pub fn walk(&self) -> SubtreeWalk<'a> {
        SubtreeWalk { open: vec![self.children()] }
    }

    /// Returns all nodes below it, trashed or not.
    pub fn descendants(&self) -> AllDescendants<'a> {
        self.below(false)
    }

    /// Returns all nodes that it hides when trashed: those below and not hidden by another.
    pub(crate) fn covered(&self) -> AllDescendants<'a> {
        self.below(true)
    }

    fn below(&self, stop_at_trashed: bool) -> AllDescendants<'a> {
        let mut all = AllDescendants { tree: self.tree, open: Vec::new(), stop_at_trashed };
        all.open(self.slot);
        all
    }

    /// Returns its entries that are themselves trashed, in order of id.
    pub fn trashed_children(&self) -> impl Iterator<Item = Self> + use<'a> {
        let tree = self.tree;
        let trashed = self.dir().into_iter().flat_map(|dir| dir.trashed.values());
        trashed.map(|slot| tree.node_at(*slot))
    }

    /// Reports whether it is not shown under the name that it stores: that name is invalid, or
    /// another entry of the directory has it.
    pub(crate) fn is_renamed(&self) -> bool {
        let raw = self.raw();
        !raw.valid || (!raw.trashed && *raw.display() != raw.name)
    }

    /// Returns the other entries of its directory that could be shown under another name if this
    /// one left its name, each with the name under which it is shown: those with a number that
    /// store the same name, or a name with this one as a numbered form.
    pub(crate) fn numbered_beside(&self) -> impl Iterator<Item = (&'a FileId, SmolStr)> + use<'a> {
        let (tree, slot, raw) = (self.tree, self.slot, self.raw());
        let is_listed = slot != ROOT && !raw.trashed;
        let dir = is_listed.then(|| tree.nodes.dir(raw.shown_in)).flatten();
        let wanted = requested_name(raw);
        let source = suffix_source(raw.display()).filter(|source| *source != wanted);
        let groups = [Some(wanted), source]
            .into_iter()
            .flatten()
            .filter_map(move |name| dir?.groups.get(&name));
        let others = groups.flat_map(NameGroup::values).filter(move |other| **other != slot);
        let others = others.map(move |other| &tree.nodes.arena[*other]);
        let numbered = others.filter(|other| other.valid && *other.display() != other.name);
        numbered.map(|other| (&other.id, other.display().clone()))
    }

    /// Returns the parent that the row names.
    pub fn stored_parent(&self) -> Option<&'a FileId> {
        let stored_in = self.raw().stored_in;
        (stored_in != ROOT).then(|| &self.tree.nodes.arena[stored_in].id)
    }

    /// Reports whether it is shown elsewhere than in its stored parent: as an orphan, or because
    /// directories were moved into each other.
    pub fn is_displaced(&self) -> bool {
        self.raw().shown_in != self.raw().stored_in
    }

    pub(super) fn slot(&self) -> NodeSlot {
        self.slot
    }

    pub(super) fn raw(&self) -> &'a ArenaNode {
        &self.tree.nodes.arena[self.slot]
    }

    pub(super) fn dir(&self) -> Option<&'a DirectoryNames> {
        self.tree.nodes.dir(self.slot)
    }
}

impl PartialEq for NodeRef<'_> {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.tree, other.tree) && self.slot == other.slot
    }
}

impl Eq for NodeRef<'_> {}

impl fmt::Debug for NodeRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} {}", self.id(), self.path())
    }
}

impl<'a> DirectoryChildren<'a> {
    /// Begins after `name`, whether or not there is such an entry. Costs a look-up.
    #[must_use]
    pub fn after(self, name: &str) -> Self {
        let range = (Bound::Excluded(name), Bound::Unbounded);
        Self { names: self.dir.map(|dir| dir.names.range::<str, _>(range)), ..self }
    }
}

impl<'a> Iterator for DirectoryChildren<'a> {
    type Item = (&'a str, NodeRef<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        let (name, slot) = self.names.as_mut()?.next()?;
        Some((name, self.tree.node_at(*slot)))
    }
}

impl<'a> Iterator for SubtreeWalk<'a> {
    type Item = NodeRef<'a>;

    fn next(&mut self) -> Option<NodeRef<'a>> {
        loop {
            let Some((_, node)) = self.open.last_mut()?.next() else {
                self.open.pop();
                continue;
            };
            if node.is_directory() {
                self.open.push(node.children());
            }
            return Some(node);
        }
    }
}

impl AllDescendants<'_> {
    fn open(&mut self, slot: NodeSlot) {
        let Some(dir) = self.tree.nodes.dir(slot) else { return };
        if !self.stop_at_trashed {
            self.open.extend(dir.trashed.values().rev());
        }
        self.open.extend(dir.names.values().rev());
    }
}

impl<'a> Iterator for AllDescendants<'a> {
    type Item = NodeRef<'a>;

    fn next(&mut self) -> Option<NodeRef<'a>> {
        let slot = self.open.pop()?;
        self.open(slot);
        Some(self.tree.node_at(slot))
    }
}

fn prefix(path: &VPath, end: usize) -> VPath {
    let text = &path.as_str()[..end.min(path.as_str().len())];
    VPath::parse(text).unwrap_or_else(|_| VPath::root())
}
