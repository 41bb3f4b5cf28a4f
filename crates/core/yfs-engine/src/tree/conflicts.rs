//! Conflicts between concurrent changes, as data: their resolution, for users to review and mend.

use std::{cmp::Reverse, collections::BTreeMap};

use smol_str::SmolStr;

use super::{
    NodeRef, TreeIndex,
    arena::{NodeSlot, ROOT, SlotKind},
    visibility::HidingAncestors,
};
use crate::{id::FileId, time::Millis};

/// How far ahead of the clock a timestamp may be before it is reported: a day.
pub(crate) const FUTURE_TOLERANCE_MS: i64 = 24 * 60 * 60 * 1000;

/// One conflict that rules resolved, or one suspicious entry.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum TreeConflict {
    /// Several entries of a directory store one name.
    Name {
        /// The directory; `None` for the root.
        parent: Option<FileId>,
        /// The name.
        name: SmolStr,
        /// The entry that has the name.
        winner: FileId,
        /// The others and their display names.
        others: Vec<(FileId, SmolStr)>,
    },
    /// Directories were moved into each other.
    Cycle {
        /// The one that is not shown in its stored parent.
        breaker: FileId,
        /// Its stored parent.
        wanted: Option<FileId>,
        /// The directory that it is shown in; `None` for the root.
        shown_in: Option<FileId>,
        /// All on the cycle, each in the next, beginning with the breaker.
        members: Vec<FileId>,
    },
    /// A node names a parent that cannot contain it, and shows at the root.
    Orphan {
        /// The node.
        id: FileId,
        /// The parent that it names.
        parent: FileId,
        /// The reason.
        reason: OrphanReason,
    },
    /// Work was done in a directory after another peer trashed it.
    Stranded {
        /// The directory.
        trashed: FileId,
        /// The nodes that changed.
        ids: Vec<FileId>,
    },
    /// A stored name that cannot be displayed unchanged.
    InvalidName {
        /// The node.
        id: FileId,
        /// The stored name.
        stored: SmolStr,
    },
    /// A timestamp lies in the future: its writer has a wrong clock, and later writes to the row
    /// count on from there.
    Future {
        /// The node.
        id: FileId,
        /// The timestamp, in milliseconds.
        timestamp: f64,
    },
}

/// The reason why a parent cannot contain a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OrphanReason {
    /// There is no row of that id, or not yet.
    Missing,
    /// It is a file.
    NotADirectory,
}

/// A search for conflicts.
struct ConflictSearch<'a> {
    tree: &'a TreeIndex,
}

impl TreeIndex {
    /// Lists all conflicts, in a fixed order.
    ///
    /// Names and orphans that the trash hides are left out.
    ///
    /// # Cost
    ///
    /// A walk of the nodes in memory and of the trash. On a checkpoint, the nodes that are not in
    /// memory are read only where they are in conflict, unless some timestamp is in the future.
    pub fn conflicts(&self, now: Millis) -> Vec<TreeConflict> {
        let search = ConflictSearch { tree: self };
        let mut conflicts = search.name_conflicts();
        conflicts.extend(search.cycle_conflicts());
        conflicts.extend(search.orphans());
        conflicts.extend(search.stranded_work());
        conflicts.extend(search.odd_nodes(now));
        conflicts
    }
}

impl ConflictSearch<'_> {
    /// Returns stranded work, first in the directory that was trashed last.
    fn stranded_work(&self) -> impl Iterator<Item = TreeConflict> {
        let trashed = self.tree.trashed();
        let holds_work = trashed.filter_map(|node| {
            let ids = node.stranded();
            let order = (Reverse(node.trashed_at().unwrap_or_default()), node.id()?.clone());
            (!ids.is_empty()).then_some((order, ids))
        });
        let by_time: BTreeMap<_, Vec<FileId>> = holds_work.collect();
        by_time.into_iter().map(|((_, trashed), ids)| TreeConflict::Stranded { trashed, ids })
    }

    fn name_conflicts(&self) -> Vec<TreeConflict> {
        // In a directory that is as the base has it, a name that several entries store makes some
        // of them have another one.
        let renamed = self.tree.nodes.renamed_of_base().into_iter();
        let homes: Vec<NodeSlot> =
            renamed.map(|slot| self.tree.nodes.arena[slot].shown_in).collect();
        let has_entries = |slot: &NodeSlot| self.tree.nodes.arena[*slot].dir.get().is_some();
        let in_memory =
            std::iter::once(ROOT).chain(self.tree.nodes.arena.present()).filter(has_entries);
        let directories = homes.into_iter().chain(in_memory.collect::<Vec<_>>());
        let directories = directories.map(|slot| self.tree.node_at(slot));
        let mut crowded: BTreeMap<Option<&FileId>, NodeRef<'_>> = BTreeMap::new();
        let mut hiding = HidingAncestors::new(self.tree);
        for directory in directories {
            let has_groups = directory.dir().is_some_and(|dir| !dir.groups.is_empty());
            if has_groups && hiding.of(directory.slot()).is_none() {
                crowded.insert(directory.id(), directory);
            }
        }
        let groups = crowded.iter().flat_map(|(parent, directory)| {
            let groups = directory.dir().into_iter().flat_map(|dir| &dir.groups);
            groups.map(|(name, members)| (parent.cloned(), name, members))
        });
        groups
            .filter_map(|(parent, name, members)| {
                let mut members = members.values().map(|slot| &self.tree.nodes.arena[*slot]);
                let winner = members.next()?.id.clone();
                let others =
                    members.map(|node| (node.id.clone(), node.display().clone())).collect();
                Some(TreeConflict::Name { parent, name: name.clone(), winner, others })
            })
            .collect()
    }

    fn cycle_conflicts(&self) -> Vec<TreeConflict> {
        let id = |slot: NodeSlot| self.tree.node_at(slot).id().cloned();
        let cycles = self.tree.cycles().into_iter().filter_map(|mut cycle| {
            let at = cycle.iter().position(|slot| self.tree.is_detached(*slot))?;
            cycle.rotate_left(at);
            let node = &self.tree.nodes.arena[cycle[0]];
            let members = cycle.iter().filter_map(|slot| id(*slot)).collect();
            let (wanted, shown_in) = (id(node.stored_in), id(node.shown_in));
            Some((
                node.id.clone(),
                TreeConflict::Cycle { breaker: node.id.clone(), wanted, shown_in, members },
            ))
        });
        cycles.collect::<BTreeMap<FileId, TreeConflict>>().into_values().collect()
    }

    fn orphans(&self) -> Vec<TreeConflict> {
        let waiting = self.tree.waiting.iter();
        let orphans =
            waiting.flat_map(|(parent, slots)| slots.iter().map(move |slot| (parent, slot)));
        let visible = orphans.filter(|(_, slot)| self.tree.node_at(**slot).is_visible());
        let conflicts = visible.map(|(parent, slot)| {
            let (id, parent) =
                (self.tree.nodes.arena[*slot].id.clone(), &self.tree.nodes.arena[*parent]);
            let missing = parent.kind == SlotKind::Missing;
            let reason = if missing { OrphanReason::Missing } else { OrphanReason::NotADirectory };
            (id.clone(), TreeConflict::Orphan { id, parent: parent.id.clone(), reason })
        });
        conflicts.collect::<BTreeMap<FileId, TreeConflict>>().into_values().collect()
    }

    /// Returns nodes with suspicious names or timestamps.
    fn odd_nodes(&self, now: Millis) -> Vec<TreeConflict> {
        let limit = Millis(now.0.saturating_add(FUTURE_TOLERANCE_MS)).as_f64();
        if self.tree.latest_ts > limit {
            self.tree.nodes.read_all();
        } else {
            self.tree.nodes.renamed_of_base();
        }
        let (mut invalid, mut future) = (BTreeMap::new(), BTreeMap::new());
        for node in self.tree.nodes.arena.present().map(|slot| &self.tree.nodes.arena[slot]) {
            let id = node.id.clone();
            let timestamp = node.structural_ts.max(node.parent_ts);
            if !node.valid {
                invalid.insert(
                    id.clone(),
                    TreeConflict::InvalidName { id: id.clone(), stored: node.name.clone() },
                );
            }
            if timestamp > limit {
                future.insert(id.clone(), TreeConflict::Future { id, timestamp });
            }
        }
        invalid.into_values().chain(future.into_values()).collect()
    }
}
