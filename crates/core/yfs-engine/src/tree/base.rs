//! A tree that begins with a base: the nodes as they were at some position of the log, read when
//! they are first asked for.
//!
//! # Invariants
//!
//! - A node that was read has all directories above it read. The entries of a directory are read
//!   all at once, or not at all.
//! - While the entries of a directory are not read, they are as the base has them: a change of a
//!   node first reads the entries of its directory.
//! - An id that has a slot is never looked up in the base again.
//! - Nodes that are not shown in their stored parent are read when the tree is made.

use std::{fmt, ops::ControlFlow, sync::Arc};

use smol_str::SmolStr;

use super::{
    TreeIndex, TreeNodes,
    arena::{ArenaNode, NodeArena, NodeSlot, ROOT, SlotKind},
    display_names::{DirectoryNames, is_valid, requested_name},
};
use crate::{
    id::{FileId, WorkspaceId},
    table::{BaseRow, ListedChild, NodeKind, RowHistory},
};

/// The number of names that are remembered before a change makes room for more.
const N_GUESSES: usize = 1 << 12;

/// The nodes of a tree at some position of the log.
///
/// What cannot be read is missing here, and the reader notes its failure: the tree is then wrong,
/// and its owner must not use it.
pub(crate) trait BaseTree: fmt::Debug + Send + Sync {
    /// Returns the node of an id.
    fn node(&self, id: &str) -> Option<BaseNode>;

    /// Returns the entry of a directory (`None`: the root) with a display name.
    fn entry(&self, directory: Option<&FileId>, display: &str) -> Option<BaseNode>;

    /// Returns all entries of a directory (`None`: the root), trashed ones among them.
    fn entries(&self, directory: Option<&FileId>) -> Vec<BaseNode>;

    /// Calls `each` with the id, display name and elements of each entry of a directory that is not
    /// trashed, in byte order of the names.
    fn each_entry(&self, directory: Option<&FileId>, each: &mut dyn FnMut(&FileId, &str, &BaseRow));

    /// Calls `each` with each entry of a directory that is not trashed, in byte order of the names.
    fn each_listed(&self, directory: Option<&FileId>, each: &mut dyn FnMut(ListedChild<'_>));

    /// Calls `each` as [`each_listed`](Self::each_listed) does, with the entries whose names are
    /// from the first to the last of two, until it breaks off.
    fn each_listed_in(
        &self,
        directory: Option<&FileId>,
        names: [&str; 2],
        each: &mut dyn FnMut(ListedChild<'_>) -> ControlFlow<()>,
    );

    /// Returns the ids of all nodes that are themselves trashed.
    fn trashed(&self) -> Vec<FileId>;

    /// Returns the ids of all nodes that are not shown under the name that they store.
    fn renamed(&self) -> Vec<FileId>;
}

/// A node of a base.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct BaseNode {
    /// Its row.
    pub(crate) entry: RowHistory,
    /// The directory that it is shown in; `None` for the root.
    pub(crate) shown_in: Option<FileId>,
    /// Its display name, if it is not the stored one.
    pub(crate) display: Option<SmolStr>,
}

/// What a tree knows of its base without reading a node.
#[derive(Debug, Default, Clone, PartialEq)]
pub(crate) struct BaseTreeFacts {
    pub(crate) n_files: usize,
    pub(crate) n_directories: usize,
    pub(crate) n_trashed: usize,
    /// No node has a later timestamp.
    pub(crate) latest_ts: f64,
    /// The nodes that are not shown in their stored parent, by id.
    pub(crate) displaced: Vec<FileId>,
}

impl TreeIndex {
    /// Makes the tree of a base.
    pub(crate) fn on_base(
        workspace: WorkspaceId,
        base: Arc<dyn BaseTree>,
        facts: &BaseTreeFacts,
    ) -> Self {
        let mut tree = Self {
            nodes: TreeNodes { arena: NodeArena::on_base(), base: Some(base), ..TreeNodes::new() },
            n_files: facts.n_files,
            n_directories: facts.n_directories,
            n_trashed: facts.n_trashed,
            latest_ts: facts.latest_ts,
            ..Self::new(workspace)
        };
        for id in &facts.displaced {
            tree.read_displaced(id);
        }
        tree.nodes.cache.fit(N_GUESSES);
        tree
    }

    /// Returns what a tree on this one as its base has to know of it.
    pub(crate) fn base_facts(&self) -> BaseTreeFacts {
        let waiting = self.waiting.values().flatten();
        let detached = self.detached.iter().map(|(_, slot)| slot);
        let displaced = waiting.chain(detached).map(|slot| self.nodes.arena[*slot].id.clone());
        let mut displaced: Vec<FileId> = displaced.collect();
        displaced.sort_unstable();
        BaseTreeFacts {
            n_files: self.n_files,
            n_directories: self.n_directories,
            n_trashed: self.n_trashed,
            latest_ts: self.latest_ts,
            displaced,
        }
    }

    /// Returns the trashed nodes that are as the base has them.
    pub(super) fn trashed_of_base(&self) -> Vec<NodeSlot> {
        let Some(base) = &self.nodes.base else { return Vec::new() };
        let slots = base.trashed().into_iter().filter_map(|id| self.nodes.find(id.as_str()));
        slots
            .filter(|slot| self.nodes.arena[*slot].trashed && !self.trashed.contains(slot))
            .collect()
    }

    /// Reads a node that is not shown in its stored parent.
    fn read_displaced(&mut self, id: &FileId) {
        let Some(slot) = self.nodes.find(id.as_str()) else { return };
        let parent =
            self.nodes.base.as_ref().and_then(|base| base.node(id.as_str())?.entry.row.parent);
        let stored_in = parent.map_or(ROOT, |parent| self.nodes.intern(&parent));
        self.nodes.arena[slot].stored_in = stored_in;
        if self.nodes.is_directory(stored_in) {
            self.detached.insert((stored_in, slot));
        } else {
            self.waiting.entry(stored_in).or_default().insert(slot);
        }
    }
}

impl TreeNodes {
    /// Returns the number of nodes that are in memory.
    pub(crate) fn n_in_memory(&self) -> usize {
        self.arena.len()
    }

    /// Returns the ids of nodes that may have another place or name than in the base.
    pub(crate) fn moved_ids(&self) -> impl Iterator<Item = &FileId> {
        self.moved.iter().map(|slot| &self.arena[*slot].id)
    }

    /// Notes that a node may have another place or name than in the base.
    pub(super) fn note_moved(&mut self, slot: NodeSlot) {
        if self.base.is_some() {
            self.moved.insert(slot);
        }
    }

    /// Finds the slot of an id, or reads its node.
    pub(super) fn find(&self, id: &str) -> Option<NodeSlot> {
        let known = self.arena.find(id);
        if known.is_some() || self.base.is_none() {
            return known;
        }
        self.read_node(id)
    }

    /// Finds the slot of an id, or reads its node, or assigns a slot.
    pub(super) fn intern(&mut self, id: &FileId) -> NodeSlot {
        self.find(id.as_str()).unwrap_or_else(|| self.arena.intern(id))
    }

    /// Returns the entries of a directory.
    pub(super) fn dir(&self, slot: NodeSlot) -> Option<&DirectoryNames> {
        self.arena[slot].dir.get_or_init(|| self.read_entries(slot)).as_deref()
    }

    /// Returns the entries of a directory, to change them.
    pub(super) fn dir_mut(&mut self, slot: NodeSlot) -> &mut Option<Box<DirectoryNames>> {
        self.dir(slot);
        self.arena[slot].dir.get_mut().expect("they were just read")
    }

    /// Returns the base, if the entries of a directory (`None`: the root) are as it has them and
    /// were not read.
    pub(crate) fn base_of_unread(&self, directory: Option<&FileId>) -> Option<&dyn BaseTree> {
        let base = self.base.as_deref()?;
        let slot = directory.map_or(Some(ROOT), |id| self.arena.find(id.as_str()));
        let is_read = slot.is_some_and(|slot| self.arena[slot].dir.get().is_some());
        (!is_read).then_some(base)
    }

    /// Finds an entry by its display name.
    pub(super) fn find_listed(&self, home: NodeSlot, name: &str) -> Option<NodeSlot> {
        if let Some(dir) = self.arena[home].dir.get() {
            return dir.as_ref()?.names.get(name).copied();
        }
        if let Some(known) = self.guessed(home, name) {
            return Some(known);
        }
        let node = self.base.as_ref()?.entry(self.base_id(home), name)?;
        let found = self.add_entry(node, home);
        self.cache.note(home, name, found);
        Some(found)
    }

    /// Returns the nodes of the base that are not shown under the name that they store there.
    pub(super) fn renamed_of_base(&self) -> Vec<NodeSlot> {
        let renamed = self.base.as_ref().map(|base| base.renamed()).unwrap_or_default();
        renamed.into_iter().filter_map(|id| self.find(id.as_str())).collect()
    }

    /// Reads all nodes of the base.
    pub(super) fn read_all(&self) {
        if self.base.is_none() {
            return;
        }
        let mut open = vec![ROOT];
        while let Some(slot) = open.pop() {
            let entries = self.entries_of(slot);
            open.extend(entries.filter(|entry| self.is_directory(*entry)));
        }
    }

    /// Reads a node and the directories above it.
    fn read_node(&self, id: &str) -> Option<NodeSlot> {
        let base = self.base.as_ref()?;
        let mut nodes = vec![base.node(id)?];
        let mut home = loop {
            let Some(above) = nodes.last().and_then(|node| node.shown_in.clone()) else {
                break ROOT;
            };
            match self.arena.find(above.as_str()) {
                Some(slot) => break slot,
                None => nodes.push(base.node(above.as_str())?),
            }
        };
        while let Some(node) = nodes.pop() {
            home = self.add_entry(node, home);
        }
        Some(home)
    }

    /// Reads the entries of a directory.
    fn read_entries(&self, slot: NodeSlot) -> Option<Box<DirectoryNames>> {
        let mut dir = Box::new(DirectoryNames::default());
        let mut members: Vec<(SmolStr, NodeSlot)> = Vec::new();
        for node in self.base.as_ref()?.entries(self.base_id(slot)) {
            let entry = self.add_entry(node, slot);
            let node = &self.arena[entry];
            if node.trashed {
                dir.trashed.insert(node.id.clone(), entry);
            } else {
                dir.names.insert(node.display().clone(), entry);
                members.push((requested_name(node), entry));
            }
        }
        members.sort_unstable();
        for group in members.chunk_by(|a, b| a.0 == b.0).filter(|group| group.len() > 1) {
            let seniors = group.iter().map(|(_, slot)| (self.arena[*slot].seniority(), *slot));
            dir.groups.insert(group[0].0.clone(), seniors.collect());
        }
        (!dir.is_empty()).then_some(dir)
    }

    /// Adds an entry of a directory, unless its id has a slot.
    fn add_entry(&self, base: BaseNode, home: NodeSlot) -> NodeSlot {
        let row = &base.entry.row;
        let kind = match row.kind {
            NodeKind::File => SlotKind::File,
            NodeKind::Directory => SlotKind::Directory,
        };
        let mut node = ArenaNode {
            name: row.name.clone(),
            valid: is_valid(&row.name),
            created_at: row.created_at,
            stored_in: home,
            shown_in: home,
            kind,
            trashed: row.trashed_at.is_some(),
            ..ArenaNode::new(row.id.clone())
        };
        if kind == SlotKind::Directory {
            node.dir = Default::default();
        }
        node.refresh(&base.entry);
        let is_escaped = node.trashed && !node.valid;
        node.set_display(if is_escaped { Some(requested_name(&node)) } else { base.display });
        self.arena.add_read(node)
    }

    /// Returns the id of a directory in the base.
    fn base_id(&self, slot: NodeSlot) -> Option<&FileId> {
        (slot != ROOT).then(|| &self.arena[slot].id)
    }
}
