//! The storage of nodes: one vector, with a hash table from ids to indices.
//!
//! An id has a slot while a row has it or names it as its parent. In a tree that begins with a
//! [base](super::base), nodes of the base get their slots when they are first asked for, also by
//! readers; an id that had a slot then keeps it, so that the base is not asked again.

use std::{
    hash::BuildHasher,
    ops::{Index, IndexMut},
    sync::{OnceLock, PoisonError, RwLock},
};

use hashbrown::{DefaultHashBuilder, HashTable};
use smol_str::SmolStr;

use super::{display_names::DirectoryNames, trash::is_purged};
use crate::{id::FileId, table::RowHistory, time::Millis};

/// The index of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct NodeSlot(u32);

/// The slot of the root, which has no row.
pub(super) const ROOT: NodeSlot = NodeSlot(0);

impl NodeSlot {
    pub(super) fn from_index(index: u32) -> Self {
        Self(index)
    }

    pub(super) fn index(self) -> u32 {
        self.0
    }
}

/// The kind of a slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SlotKind {
    /// No row, though others may name it as their parent.
    Missing,
    File,
    Directory,
}

/// One file or directory.
#[derive(Debug, Clone)]
pub(super) struct ArenaNode {
    pub(super) id: FileId,
    /// The stored name.
    pub(super) name: SmolStr,
    pub(super) created_at: Millis,
    pub(super) parent_ts: f64,
    pub(super) structural_ts: f64,
    /// The parent that the row names; the root if it names none.
    pub(super) stored_in: NodeSlot,
    /// The effective parent.
    pub(super) shown_in: NodeSlot,
    pub(super) kind: SlotKind,
    pub(super) trashed: bool,
    /// Whether the stored name may be displayed unchanged.
    pub(super) valid: bool,
    pub(super) purged: bool,
    /// The entries. Not set while they are as the base has them and were not read.
    pub(super) dir: DirectoryCell,
    pub(super) rare: Option<Box<RareNodeFields>>,
}

/// The entries of a directory. Invariant: `None` instead of empty ones.
pub(super) type DirectoryCell = OnceLock<Option<Box<DirectoryNames>>>;

/// Fields that few nodes have.
#[derive(Debug, Default, Clone, PartialEq)]
pub(super) struct RareNodeFields {
    pub(super) prev_parents: Vec<Option<FileId>>,
    pub(super) link: Option<SmolStr>,
    /// The display name, if it is not the stored one.
    pub(super) display: Option<SmolStr>,
    pub(super) trashed_at: Option<Millis>,
    pub(super) trashed_ts: f64,
}

#[derive(Debug)]
pub(super) struct NodeArena {
    nodes: boxcar::Vec<ArenaNode>,
    free: Vec<NodeSlot>,
    /// Invariant: with `read`, the slots that are not free, other than the root.
    by_id: HashTable<NodeSlot>,
    /// The slots that readers made for nodes of the base.
    read: RwLock<HashTable<NodeSlot>>,
    hasher: DefaultHashBuilder,
    /// Whether ids keep their slots, because the tree has a base.
    keeps_ids: bool,
}

impl ArenaNode {
    pub(super) fn new(id: FileId) -> Self {
        Self {
            id,
            name: SmolStr::default(),
            created_at: Millis(0),
            parent_ts: 0.0,
            structural_ts: 0.0,
            stored_in: ROOT,
            shown_in: ROOT,
            kind: SlotKind::Missing,
            trashed: false,
            valid: true,
            purged: false,
            dir: OnceLock::from(None),
            rare: None,
        }
    }

    /// Updates the fields that decide neither place nor name.
    pub(super) fn refresh(&mut self, entry: &RowHistory) {
        self.parent_ts = canonical(entry.parent_ts);
        self.structural_ts = canonical(entry.structural_ts);
        self.purged = is_purged(&entry.row);
        let rare = RareNodeFields {
            prev_parents: entry.prev_parents.clone(),
            link: entry.row.link.clone(),
            display: self.rare.as_mut().and_then(|rare| rare.display.take()),
            trashed_at: entry.row.trashed_at,
            trashed_ts: if self.trashed { canonical(entry.trashed_ts) } else { 0.0 },
        };
        self.rare = (rare != RareNodeFields::default()).then(|| Box::new(rare));
    }

    pub(super) fn prev_parents(&self) -> &[Option<FileId>] {
        self.rare.as_ref().map_or(&[], |rare| &rare.prev_parents)
    }

    pub(super) fn link(&self) -> Option<&SmolStr> {
        self.rare.as_ref().filter(|_| self.kind == SlotKind::File)?.link.as_ref()
    }

    /// Returns the display name.
    pub(super) fn display(&self) -> &SmolStr {
        self.rare.as_ref().and_then(|rare| rare.display.as_ref()).unwrap_or(&self.name)
    }

    pub(super) fn set_display(&mut self, display: Option<SmolStr>) {
        match (&mut self.rare, display) {
            (Some(rare), display) => {
                rare.display = display;
                if **rare == RareNodeFields::default() {
                    self.rare = None;
                }
            }
            (None, Some(display)) => {
                let rare = RareNodeFields { display: Some(display), ..RareNodeFields::default() };
                self.rare = Some(Box::new(rare));
            }
            (None, None) => (),
        }
    }

    /// Orders siblings: the first one that stores a name has it.
    pub(super) fn seniority(&self) -> (Millis, FileId) {
        (self.created_at, self.id.clone())
    }
}

impl NodeArena {
    pub(super) fn new() -> Self {
        Self {
            nodes: boxcar::Vec::from_iter([root_node()]),
            free: Vec::new(),
            by_id: HashTable::new(),
            read: RwLock::default(),
            hasher: DefaultHashBuilder::default(),
            keeps_ids: false,
        }
    }

    /// Makes the storage of a tree that begins with a base.
    pub(super) fn on_base() -> Self {
        let root = ArenaNode { dir: OnceLock::new(), ..root_node() };
        Self { nodes: boxcar::Vec::from_iter([root]), keeps_ids: true, ..Self::new() }
    }

    /// Returns the number of nodes.
    pub(super) fn len(&self) -> usize {
        self.nodes.count() - self.free.len()
    }

    /// Finds the slot of an id.
    pub(super) fn find(&self, id: &str) -> Option<NodeSlot> {
        let hash = self.hasher.hash_one(id);
        let is_it = |slot: &NodeSlot| self[*slot].id.as_str() == id;
        let known = self.by_id.find(hash, is_it).copied();
        if known.is_some() || !self.keeps_ids {
            return known;
        }
        let read = self.read.read().unwrap_or_else(PoisonError::into_inner);
        read.find(hash, is_it).copied()
    }

    /// Finds the slot of an id, or assigns one.
    pub(super) fn intern(&mut self, id: &FileId) -> NodeSlot {
        if let Some(slot) = self.find(id.as_str()) {
            return slot;
        }
        let node = ArenaNode::new(id.clone());
        let slot = match self.free.pop() {
            Some(slot) => {
                self[slot] = node;
                slot
            }
            None => self.push(node),
        };
        let Self { nodes, by_id, hasher, .. } = self;
        let hash = |slot: &NodeSlot| hasher.hash_one(nodes[slot.0 as usize].id.as_str());
        by_id.insert_unique(hash(&slot), slot, hash);
        slot
    }

    /// Adds a node of the base, unless a slot has its id already. Returns the slot.
    pub(super) fn add_read(&self, node: ArenaNode) -> NodeSlot {
        let hash = |slot: &NodeSlot| self.hasher.hash_one(self[*slot].id.as_str());
        let is_it = |slot: &NodeSlot| self[*slot].id == node.id;
        let id_hash = self.hasher.hash_one(node.id.as_str());
        if let Some(known) = self.by_id.find(id_hash, is_it) {
            return *known;
        }
        let mut read = self.read.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = read.find(id_hash, is_it) {
            return *known;
        }
        let slot = self.push(node);
        read.insert_unique(id_hash, slot, hash);
        slot
    }

    fn push(&self, node: ArenaNode) -> NodeSlot {
        let slot = self.nodes.push(node);
        NodeSlot(u32::try_from(slot).expect("a tree has under 2^32 nodes"))
    }

    /// Clears a node except its id and its entries.
    pub(super) fn blank(&mut self, slot: NodeSlot) {
        let node = &mut self[slot];
        let dir = std::mem::take(&mut node.dir);
        *node = ArenaNode { dir, ..ArenaNode::new(node.id.clone()) };
    }

    /// Frees a slot.
    pub(super) fn free(&mut self, slot: NodeSlot) {
        if self.keeps_ids {
            return;
        }
        let hash = self.hasher.hash_one(self[slot].id.as_str());
        if let Ok(found) = self.by_id.find_entry(hash, |other| *other == slot) {
            found.remove();
            self[slot].rare = None;
            self.free.push(slot);
        }
    }

    /// Returns the number of ids with a slot.
    pub(super) fn n_used(&self) -> usize {
        self.n_slots() - 1 - self.free.len()
    }

    /// Returns the number of slots, free ones and the root among them.
    pub(super) fn n_slots(&self) -> usize {
        self.nodes.count()
    }

    /// Returns every slot that has a row.
    pub(super) fn present(&self) -> impl Iterator<Item = NodeSlot> {
        let present = self.nodes.iter().skip(1).filter(|(_, node)| node.kind != SlotKind::Missing);
        present.map(|(slot, _)| NodeSlot(u32::try_from(slot).expect("slots are pushed as such")))
    }
}

fn root_node() -> ArenaNode {
    let root = ArenaNode::new(FileId::parse("root").expect("it is a word"));
    ArenaNode { kind: SlotKind::Directory, ..root }
}

impl Clone for NodeArena {
    fn clone(&self) -> Self {
        let read = self.read.read().unwrap_or_else(PoisonError::into_inner);
        Self {
            nodes: self.nodes.iter().map(|(_, node)| node.clone()).collect(),
            free: self.free.clone(),
            by_id: self.by_id.clone(),
            read: RwLock::new(read.clone()),
            hasher: self.hasher.clone(),
            keeps_ids: self.keeps_ids,
        }
    }
}

impl Index<NodeSlot> for NodeArena {
    type Output = ArenaNode;

    fn index(&self, slot: NodeSlot) -> &ArenaNode {
        &self.nodes[slot.0 as usize]
    }
}

impl IndexMut<NodeSlot> for NodeArena {
    fn index_mut(&mut self, slot: NodeSlot) -> &mut ArenaNode {
        self.nodes.get_mut(slot.0 as usize).expect("slots are indices of nodes")
    }
}

/// Maps all values that are not numbers to one, as peers may carry them in different bits.
fn canonical(ts: f64) -> f64 {
    if ts.is_nan() { f64::NAN } else { ts }
}
