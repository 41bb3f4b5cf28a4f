//! The storage of nodes: one vector, with a hash table from ids to indices.
//!
//! An id has a slot while a row has it or names it as its parent.

use std::{
    hash::BuildHasher,
    ops::{Index, IndexMut},
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
    /// The displayed entries. Invariant: `None` instead of an empty one.
    pub(super) dir: Option<Box<DirectoryNames>>,
    pub(super) rare: Option<Box<RareNodeFields>>,
}

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

#[derive(Debug, Clone)]
pub(super) struct NodeArena {
    nodes: Vec<ArenaNode>,
    free: Vec<NodeSlot>,
    /// Invariant: the slots that are not free, other than the root.
    by_id: HashTable<NodeSlot>,
    hasher: DefaultHashBuilder,
}

impl ArenaNode {
    fn new(id: FileId) -> Self {
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
            dir: None,
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
        let mut root = ArenaNode::new(FileId::parse("root").expect("it is a word"));
        root.kind = SlotKind::Directory;
        Self {
            nodes: vec![root],
            free: Vec::new(),
            by_id: HashTable::new(),
            hasher: DefaultHashBuilder::default(),
        }
    }

    /// Finds the slot of an id.
    pub(super) fn find(&self, id: &str) -> Option<NodeSlot> {
        let hash = self.hasher.hash_one(id);
        self.by_id.find(hash, |slot| self[*slot].id.as_str() == id).copied()
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
            None => {
                let next = u32::try_from(self.nodes.len()).expect("a tree has under 2^32 nodes");
                self.nodes.push(node);
                NodeSlot(next)
            }
        };
        let Self { nodes, by_id, hasher, .. } = self;
        let hash = |slot: &NodeSlot| hasher.hash_one(nodes[slot.0 as usize].id.as_str());
        by_id.insert_unique(hash(&slot), slot, hash);
        slot
    }

    /// Clears a node except its id and its displayed entries.
    pub(super) fn blank(&mut self, slot: NodeSlot) {
        let node = &mut self[slot];
        let dir = node.dir.take();
        *node = ArenaNode { dir, ..ArenaNode::new(node.id.clone()) };
    }

    /// Frees a slot.
    pub(super) fn free(&mut self, slot: NodeSlot) {
        let hash = self.hasher.hash_one(self[slot].id.as_str());
        if let Ok(found) = self.by_id.find_entry(hash, |other| *other == slot) {
            found.remove();
            self[slot].rare = None;
            self.free.push(slot);
        }
    }

    /// Returns the number of ids with a slot.
    pub(super) fn n_used(&self) -> usize {
        self.by_id.len()
    }

    /// Returns the number of slots, free ones and the root among them.
    pub(super) fn n_slots(&self) -> usize {
        self.nodes.len()
    }

    /// Returns every slot that has a row.
    pub(super) fn present(&self) -> impl Iterator<Item = NodeSlot> {
        let slots = (0..).map(NodeSlot).zip(&self.nodes).skip(1);
        slots.filter(|(_, node)| node.kind != SlotKind::Missing).map(|(slot, _)| slot)
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
        &mut self.nodes[slot.0 as usize]
    }
}

/// Maps all values that are not numbers to one, as peers may carry them in different bits.
fn canonical(ts: f64) -> f64 {
    if ts.is_nan() { f64::NAN } else { ts }
}
