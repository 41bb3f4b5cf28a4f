//! The tree of files: a view of the files table that is computed and never written.
//!
//! The index is a function of the set of entries alone. The order in which they came does not
//! matter, so all peers with the same entries see the same tree. Rules here resolve all concurrent
//! changes (two files of one name, directories moved into each other, a missing parent, work in a
//! directory that another peer trashed), and [`TreeIndex::conflicts`] lists them. `docs/tree.md`
//! has the rules in plain words and where each is from.
//!
//! # Invariants
//!
//! - Following effective parents leads from every node to the root. A directory whose stored parent
//!   would close a cycle is *detached*: shown elsewhere until a directory is moved.
//! - In one directory no two entries have the same display name, and every stored name belongs to
//!   one that stores it.
//! - Nothing recurses, so no depth of tree can exhaust the stack.
//!
//! # Cost
//!
//! Creating, renaming, moving, trashing and restoring cost a few look-ups in ordered maps of one
//! directory, however much lies below; moving a directory also walks up its ancestors. A change to
//! a name that k siblings share costs k. While there are cycles, each change to a directory walks
//! them all, so batches go through [`TreeIndex::absorb`]. A batch of n changes to a tree of m nodes
//! costs (n + m) log (n + m) at most, however deep the tree is. A node takes about 200 bytes.

mod arena;
mod base;
mod conflicts;
mod cycles;
mod derive;
mod display_names;
mod lookup_cache;
mod resolve;
#[cfg(test)]
pub(crate) mod tests;
mod trash;
mod view;
mod visibility;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use smol_str::SmolStr;

#[cfg(test)]
use self::derive::derive_directory_id;
use self::{
    arena::{NodeArena, NodeSlot, ROOT, SlotKind},
    display_names::is_valid,
    lookup_cache::NameCache,
};
pub(crate) use self::{
    base::{BaseNode, BaseTree, BaseTreeFacts},
    visibility::HidingAncestors,
};
pub use self::{
    conflicts::{OrphanReason, TreeConflict},
    resolve::{FinalLink, PathTarget},
    trash::TrashItem,
    view::{AllDescendants, DirectoryChildren, LookupError, NodeRef, SubtreeWalk},
    visibility::PathResolver,
};
use crate::{
    id::{FileId, WorkspaceId},
    table::{FileRow, FilesTable, NodeKind, RowHistory},
};

/// The files of a workspace as a tree.
#[derive(Debug, Clone)]
pub struct TreeIndex {
    workspace: WorkspaceId,
    pub(crate) nodes: TreeNodes,
    /// For each parent that is missing or not a directory, the nodes that name it.
    ///
    /// Invariant: no set is empty.
    waiting: BTreeMap<NodeSlot, BTreeSet<NodeSlot>>,
    /// Directories that are not shown in their stored parent, because that would close a cycle,
    /// each after that parent.
    ///
    /// Invariant: every cycle of stored parents contains one of them.
    detached: BTreeSet<(NodeSlot, NodeSlot)>,
    /// Whether `detached` is to be recomputed.
    cycles_changed: bool,
    /// The number of ancestors that the running batch has walked to find cycles, until it has
    /// walked as many as there are nodes. Then it is `None`, finds no more cycles, and
    /// `break_cycles` visits all directories.
    walked: Option<usize>,
    /// The trashed nodes, without those that are as the base has them.
    trashed: BTreeSet<NodeSlot>,
    n_trashed: usize,
    n_files: usize,
    n_directories: usize,
    /// No node has a later timestamp. Those of removed nodes count as well.
    latest_ts: f64,
}

/// The nodes, their places and their names.
#[derive(Debug, Clone)]
pub(crate) struct TreeNodes {
    arena: NodeArena,
    /// The nodes that were not read yet.
    base: Option<Arc<dyn BaseTree>>,
    /// The nodes that may have another place or name than in the base.
    moved: BTreeSet<NodeSlot>,
    cache: NameCache,
    /// Directories and names in them that several siblings store, to be assigned again.
    crowded: BTreeSet<(NodeSlot, SmolStr)>,
    /// Directories in which a shortened name became free.
    freed_cuts: BTreeSet<NodeSlot>,
}

impl TreeIndex {
    /// Makes the tree of an empty workspace.
    pub fn new(workspace: WorkspaceId) -> Self {
        Self {
            workspace,
            nodes: TreeNodes::new(),
            waiting: BTreeMap::new(),
            detached: BTreeSet::new(),
            cycles_changed: false,
            walked: Some(0),
            trashed: BTreeSet::new(),
            n_trashed: 0,
            n_files: 0,
            n_directories: 0,
            latest_ts: 0.0,
        }
    }

    /// Makes the tree of a table.
    pub fn of_table(workspace: WorkspaceId, table: &FilesTable) -> Self {
        let mut tree = Self::new(workspace);
        tree.walked = None;
        for entry in table.iter() {
            tree.upsert_row(&entry);
        }
        tree.update_cycles_and_names();
        tree
    }

    /// Applies the changes of a table.
    pub fn absorb<'a>(
        &mut self,
        table: &FilesTable,
        changed: impl IntoIterator<Item = &'a FileId>,
    ) {
        for id in changed {
            match table.get(id) {
                Some(entry) => self.upsert_row(&entry),
                None => self.remove_row(id),
            }
        }
        self.update_cycles_and_names();
    }

    /// Returns the workspace that the tree belongs to.
    pub fn workspace(&self) -> &WorkspaceId {
        &self.workspace
    }

    /// Returns the number of files, links and trashed ones among them.
    pub fn n_files(&self) -> usize {
        self.n_files
    }

    /// Returns the number of directories, trashed ones among them.
    pub fn n_directories(&self) -> usize {
        self.n_directories
    }

    fn update_cycles_and_names(&mut self) {
        if self.cycles_changed || self.walked.is_none() {
            self.cycles_changed = false;
            self.break_cycles();
        }
        self.walked = Some(0);
        self.nodes.assign_names();
        self.nodes.cache.fit(self.nodes.arena.n_used());
    }

    fn upsert_row(&mut self, entry: &RowHistory) {
        let row = &entry.row;
        let slot = self.nodes.intern(&row.id);
        let stored_in = row.parent.as_ref().map_or(ROOT, |parent| self.nodes.intern(parent));
        let kind = match row.kind {
            NodeKind::File => SlotKind::File,
            NodeKind::Directory => SlotKind::Directory,
        };
        let old_kind = self.nodes.arena[slot].kind;
        let old_stored_in = self.nodes.arena[slot].stored_in;
        if old_kind != SlotKind::Missing && !self.nodes.differs(slot, row, kind, stored_in) {
            self.refresh(slot, entry);
            return;
        }
        if old_kind != SlotKind::Missing {
            self.unlink(slot);
            self.count(old_kind, -1);
        }
        self.count(kind, 1);
        let node = &mut self.nodes.arena[slot];
        node.kind = kind;
        node.name = row.name.clone();
        node.valid = is_valid(&row.name);
        node.created_at = row.created_at;
        node.stored_in = stored_in;
        node.trashed = row.trashed_at.is_some();
        self.refresh(slot, entry);
        // Children are unlinked before a node moves that can no longer contain any, or it could
        // move below them.
        if old_kind == SlotKind::Directory && kind != SlotKind::Directory {
            self.relink_children(slot);
        }
        self.link(slot);
        if old_kind != SlotKind::Directory && kind == SlotKind::Directory {
            self.relink_children(slot);
        }
        if old_kind != SlotKind::Missing && old_stored_in != stored_in {
            self.release(old_stored_in);
        }
    }

    fn remove_row(&mut self, id: &FileId) {
        let Some(slot) = self.nodes.find(id.as_str()) else { return };
        let kind = self.nodes.arena[slot].kind;
        if kind == SlotKind::Missing {
            return;
        }
        self.unlink(slot);
        self.count(kind, -1);
        let stored_in = self.nodes.arena[slot].stored_in;
        self.nodes.arena.blank(slot);
        if kind == SlotKind::Directory {
            self.relink_children(slot);
        }
        if stored_in != slot {
            self.release(stored_in);
        }
        self.release(slot);
    }

    /// Updates the fields that decide neither place nor name, except if there are cycles.
    fn refresh(&mut self, slot: NodeSlot, entry: &RowHistory) {
        let node = &mut self.nodes.arena[slot];
        let before = (node.parent_ts.to_bits(), node.prev_parents().to_vec());
        node.refresh(entry);
        self.latest_ts = self.latest_ts.max(node.structural_ts).max(node.parent_ts);
        let after = (node.parent_ts.to_bits(), node.prev_parents());
        let same = before.0 == after.0 && before.1 == after.1;
        if !same && node.kind == SlotKind::Directory && !self.detached.is_empty() {
            self.cycles_changed = true;
        }
    }

    /// Finds the place of an unlinked node, and links it there.
    fn link(&mut self, slot: NodeSlot) {
        let has_children = self.nodes.dir(slot).is_some();
        let node = &self.nodes.arena[slot];
        let is_directory = node.kind == SlotKind::Directory;
        let stored_in = node.stored_in;
        if node.trashed {
            self.trashed.insert(slot);
            self.n_trashed += 1;
        }
        let mut shown_in = self.nodes.parent_of(slot);
        if self.nodes.arena[stored_in].kind != SlotKind::Directory {
            self.waiting.entry(stored_in).or_default().insert(slot);
        } else if is_directory
            && (has_children || shown_in == slot)
            && self.closes_cycle(shown_in, slot)
        {
            self.detached.insert((stored_in, slot));
            self.cycles_changed = true;
            shown_in = ROOT;
        }
        self.cycles_changed |= is_directory && !self.detached.is_empty();
        self.nodes.enter(slot, shown_in);
    }

    /// Unlinks a node from its directory and from all state that depends on its place.
    fn unlink(&mut self, slot: NodeSlot) {
        self.nodes.leave(slot);
        if self.nodes.arena[slot].trashed {
            self.trashed.remove(&slot);
            self.n_trashed -= 1;
        }
        let stored_in = self.nodes.arena[slot].stored_in;
        if let Some(waiting) = self.waiting.get_mut(&stored_in) {
            waiting.remove(&slot);
            if waiting.is_empty() {
                self.waiting.remove(&stored_in);
            }
        }
        let is_directory = self.nodes.arena[slot].kind == SlotKind::Directory;
        self.cycles_changed |= is_directory && !self.detached.is_empty();
        self.detached.remove(&(stored_in, slot));
    }

    /// Finds new places for all children of a node that became or ceased to be a directory.
    fn relink_children(&mut self, slot: NodeSlot) {
        let mut affected: BTreeSet<NodeSlot> = self.waiting.get(&slot).cloned().unwrap_or_default();
        affected.extend(self.nodes.entries_of(slot));
        let detached =
            self.detached.range((slot, ROOT)..).take_while(|(parent, _)| *parent == slot);
        affected.extend(detached.map(|(_, child)| child));
        for &child in &affected {
            self.unlink(child);
            self.link(child);
        }
    }

    /// Reports whether a directory is shown elsewhere because its parent would close a cycle.
    fn is_detached(&self, slot: NodeSlot) -> bool {
        self.detached.contains(&(self.nodes.arena[slot].stored_in, slot))
    }

    /// Reports whether `home` is `slot` or shown below it, unless the running batch has walked so
    /// far that it is cheaper to find all cycles at its end.
    fn closes_cycle(&mut self, home: NodeSlot, slot: NodeSlot) -> bool {
        let Some(mut walked) = self.walked else { return false };
        let mut at = home;
        while at != ROOT && at != slot {
            at = self.nodes.arena[at].shown_in;
            walked += 1;
            #[cfg(test)]
            crate::steps::count(1);
        }
        let n_nodes = self.nodes.arena.n_used().max(self.n_files + self.n_directories);
        let most = if cfg!(test) { 2 } else { n_nodes };
        // Until the end of the batch the nodes may now be shown in each other, so nothing walks.
        self.walked = (walked <= most).then_some(walked);
        at == slot
    }

    /// Frees the slot of an id that no row has and no row names.
    fn release(&mut self, slot: NodeSlot) {
        if self.nodes.arena[slot].kind == SlotKind::Missing && !self.waiting.contains_key(&slot) {
            self.nodes.arena.free(slot);
        }
    }

    fn count(&mut self, kind: SlotKind, change: isize) {
        let counter = match kind {
            SlotKind::Missing => return,
            SlotKind::File => &mut self.n_files,
            SlotKind::Directory => &mut self.n_directories,
        };
        *counter = counter.checked_add_signed(change).expect("a node was counted when it came");
    }
}

impl TreeNodes {
    fn new() -> Self {
        Self {
            arena: NodeArena::new(),
            base: None,
            moved: BTreeSet::new(),
            cache: NameCache::default(),
            crowded: BTreeSet::new(),
            freed_cuts: BTreeSet::new(),
        }
    }

    /// Reports whether a row has another place or name than its node.
    fn differs(&self, slot: NodeSlot, row: &FileRow, kind: SlotKind, stored_in: NodeSlot) -> bool {
        let node = &self.arena[slot];
        node.kind != kind
            || node.stored_in != stored_in
            || node.trashed != row.trashed_at.is_some()
            || node.created_at != row.created_at
            || node.name != row.name
    }

    /// Returns the parent by stored parents: the root for orphans.
    fn parent_of(&self, slot: NodeSlot) -> NodeSlot {
        let stored_in = self.arena[slot].stored_in;
        if self.arena[stored_in].kind == SlotKind::Directory { stored_in } else { ROOT }
    }

    /// Reports whether `slot` is `ancestor` or shown below it.
    fn is_below(&self, mut slot: NodeSlot, ancestor: NodeSlot) -> bool {
        while slot != ROOT && slot != ancestor {
            slot = self.arena[slot].shown_in;
        }
        slot == ancestor
    }
}
