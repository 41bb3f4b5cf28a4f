//! Removals that did not know of a change: one writer trashes a file or a directory, and another
//! edits it, or creates files in it, at the same time.
//!
//! A removal records what its writer knew of the removed rows. Every peer finds from the rows alone
//! which of them have more, whatever the clocks of the writers say (decision 45).

use std::{cmp::Reverse, collections::HashMap};

use yrs::Any;

use super::MainDoc;
use crate::{
    content::RunAuthor,
    id::{FileId, ItemId},
    ops::{self, OpError},
    path::VPath,
    table::{RowClocks, RowWrite, TRASH_KNOWN_KEY, UnknownChanges},
    time::Millis,
    tree::{NodeRef, TrashItem},
};

/// The number of rows below a directory above which its removal records nothing, so that removing a
/// large tree does not cost its size.
const MAX_ROWS: usize = 10_000;

/// The place of a removal among all, the same on every peer: removals are in the order of time, and
/// those of one millisecond in the order in which a writer made them.
///
/// Of several writers that remove in one millisecond, one comes first with all its removals.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct RemovalOrder {
    at: Millis,
    /// The item that trashed the row; the items of a writer count up.
    item: Option<ItemId>,
}

/// A node in the trash that has changes which its remover did not know of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LateChange {
    /// The node.
    pub id: FileId,
    /// The changes.
    pub changes: UnknownChanges,
}

impl MainDoc {
    /// Lists the trash as [`TreeIndex::trash_and_purged`] does: first the nodes with stranded work,
    /// then the one that was trashed last ([`removal_order`](Self::removal_order)).
    ///
    /// [`TreeIndex::trash_and_purged`]: crate::tree::TreeIndex::trash_and_purged
    pub fn trash_and_purged(&self) -> Vec<TrashItem> {
        let mut items = self.tree.trash_and_purged();
        let order = |item: &TrashItem| {
            let last_first = Reverse(self.order_of(&item.id, item.trashed_at));
            (item.stranded.is_empty(), last_first, item.id.clone())
        };
        items.sort_by_cached_key(order);
        items
    }

    /// Returns the place of a node's removal among all; `None` if it is not in the trash.
    pub fn removal_order(&self, id: &FileId) -> Option<RemovalOrder> {
        let trashed_at = self.tree.node(id)?.trashed_at()?;
        Some(self.order_of(id, trashed_at))
    }

    fn order_of(&self, id: &FileId, at: Millis) -> RemovalOrder {
        RemovalOrder { at, item: self.files.trash_item(id) }
    }

    /// Plans to put the node at `path` into the trash as [`ops::plan_trash`] does, and records what
    /// is known of the rows. Costs a walk of the nodes below, up to 10,000.
    pub fn plan_trash(
        &self,
        path: &VPath,
        recursive: bool,
        by: &RunAuthor,
    ) -> Result<Vec<RowWrite>, OpError> {
        let mut writes = ops::plan_trash(&self.tree, path, recursive, by)?;
        self.record_known(&mut writes[..1]);
        Ok(writes)
    }

    /// Plans to trash a hidden node once more, by itself: its changes are known now.
    pub fn plan_trash_hidden(&self, id: &FileId, by: &RunAuthor) -> Vec<RowWrite> {
        let mut writes = vec![RowWrite::Update { id: id.clone(), changes: ops::removal(by) }];
        self.record_known(&mut writes);
        writes
    }

    /// Plans to purge a trashed node as [`ops::plan_purge`] does: all changes so far are known.
    pub fn plan_purge(&self, id: &FileId, purge_id: &str) -> Result<Vec<RowWrite>, OpError> {
        let mut writes = ops::plan_purge(&self.tree, id, purge_id)?;
        let is_known = self.has_removal_record(id);
        for write in writes.iter_mut().filter(|_| is_known) {
            if !matches!(write, RowWrite::Update { id: written, .. } if written == id) {
                continue;
            }
            self.record_known(std::slice::from_mut(write));
        }
        Ok(writes)
    }

    /// Returns the nodes at and below a trashed node that have changes which its remover did not
    /// know of, by id; `None` if the remover recorded nothing. Nodes that were removed or purged by
    /// themselves are left out.
    pub fn late_changes(&self, trashed: NodeRef<'_>) -> Option<Vec<LateChange>> {
        let known = self.known_at_removal(trashed.id()?)?;
        let below = trashed.covered().filter(|node| trashed.is_purged() || !node.is_purged());
        let ids = std::iter::once(trashed).chain(below).filter_map(|node| node.id());
        let changed = ids.map(|id| LateChange {
            id: id.clone(),
            changes: self.files.changes_beyond(id, &known),
        });
        let mut late: Vec<LateChange> = changed.filter(|late| late.changes.any()).collect();
        late.sort_by(|a, b| a.id.cmp(&b.id));
        Some(late)
    }

    /// Reports whether the remover of a trashed node recorded what it knew.
    pub fn has_removal_record(&self, id: &FileId) -> bool {
        self.known_at_removal(id).is_some()
    }

    fn known_at_removal(&self, id: &FileId) -> Option<RowClocks> {
        let Some(Any::Map(meta)) = self.files.get(id)?.row.meta else { return None };
        let Any::String(known) = meta.get(TRASH_KNOWN_KEY)? else { return None };
        RowClocks::parse(known)
    }

    /// Adds what is known of the rows at and below each written one to its metadata.
    fn record_known(&self, writes: &mut [RowWrite]) {
        for write in writes {
            let RowWrite::Update { id, changes } = write else { continue };
            let Some(node) = self.tree.node(id) else { continue };
            let mut known = RowClocks::default();
            let below: Vec<_> = node.descendants().take(MAX_ROWS + 1).collect();
            let ids = below.iter().filter_map(NodeRef::id);
            std::iter::once(&*id).chain(ids).for_each(|id| self.files.add_clocks(id, &mut known));
            // Of too many rows or writers nothing is recorded, also nothing of an earlier removal.
            let known = known.encode().filter(|_| below.len() <= MAX_ROWS);
            let known = known.map_or(Any::Null, Any::from);
            let mut members = match changes.meta.take() {
                Some(Any::Map(members)) => (*members).clone(),
                _ => HashMap::new(),
            };
            members.insert(TRASH_KNOWN_KEY.to_owned(), known);
            changes.meta = Some(Any::from(members));
        }
    }
}
