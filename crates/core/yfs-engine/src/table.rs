//! The files table: one row per file and directory, merged field by field.
//!
//! The wire format is that of `docs/spec/filesystem.md`: elements `{key, val, ts}` in root array
//! `table:files`. Of those with one key, the one with the greatest `ts` wins. Beside it stands a
//! second array of the same kind, `fs:cells`, that holds single fields, so that a concurrent rename
//! and move both last. `docs/format/main-document.md` has every byte and the rule that joins both.
//!
//! # Invariants
//!
//! - What the table shows is a function of the document alone: the same on every peer, independent
//!   of the order of updates. [`FilesTable::absorb`] writes nothing.
//! - [`FilesTable::plan`] changes nothing; its result comes back through `absorb` like any
//!   other update.
//! - An unknown element or field of a row is never deleted or dropped, except by a write to the row
//!   if no timestamp could beat it.
//! - A timestamp issued here exceeds every timestamp of its row and that row's cells, and no other:
//!   a clock that is years ahead spoils its own rows only. At the greatest timestamp it stays
//!   there.
//!
//! # Cost
//!
//! `absorb`, `plan` and `get` are flat in the number of rows: look-ups by hash. Only elements whose
//! timestamps tie, or are no numbers, need their order in the array; then one `absorb` walks the
//! array once. A row without cells takes about 200 bytes, a cell 150, beside what yrs holds.

mod append_chain;
mod attributes;
mod base;
mod base_record;
mod cells;
mod elements;
mod field_times;
mod format;
mod iso;
mod listed_kind;
mod meta_merge;
mod meta_parts;
mod plan;
mod row;
mod row_clocks;
mod row_record;
mod settings;
#[cfg(test)]
mod tests;
mod timestamp;
mod value_slab;

use std::{collections::BTreeMap, hash::BuildHasher};

use hashbrown::{DefaultHashBuilder, HashTable};

pub use self::{
    attributes::RowAttributes,
    field_times::FieldTimes,
    listed_kind::{ListedChild, ListedKind},
    meta_parts::{HELD_KEY, MOVED_KEY, PURGE_KEY, REMOVAL_KEYS, REPLACED_KEY, TRASHED_BY_KEY},
    row::{BlobRef, FileRow, NodeKind, RowChanges, RowHistory, RowWrite, TableError, WriterIds},
    row_clocks::UnknownChanges,
    row_record::{
        MAX_RECORDS, RowRecord, may_need_record, needs_creation_record, record_changes,
        record_creation, row_records,
    },
    settings::WorkspaceSettings,
};
pub(crate) use self::{
    base::{BaseRow, BaseRows, BaseTableFacts},
    row_record::{latest_record, may_have_records},
};
use self::{
    base::{NodeView, TableBase},
    elements::{LiveElements, NONE, rank},
    format::{
        ElementView, RowField, StoredCell, StoredRow, read_cell, read_row, write_cell,
        write_member_times, write_row, write_superseded,
    },
    meta_merge::{MAX_MERGED, merged_cell},
    timestamp::ElementTimestamp,
    value_slab::ValueSlab,
};
pub(crate) use self::{
    meta_parts::{TRASH_KNOWN_KEY, TRASH_LABEL_KEY, TRASH_STEP_KEY},
    row_clocks::RowClocks,
};
use crate::{
    gate::{GatedDoc, RootIx, UpdateScan},
    id::{FileId, ItemId},
    lib0::{ObjectMembers, ValueView},
};

/// The number of former parents that a `parentId` cell remembers.
const MAX_PREV: usize = 3;

/// The number of superseded values that a cell remembers.
const MAX_SUPERSEDED: usize = 4;

/// The rows of a workspace, as one main document has them.
#[derive(Debug)]
pub struct FilesTable {
    writer: WriterIds,
    nodes: ValueSlab<TableNode>,
    by_id: HashTable<u32>,
    hasher: DefaultHashBuilder,
    rows: LiveElements<Option<StoredRow>>,
    cells: LiveElements<CellSlot>,
    facts: BaseTableFacts,
    /// The rows that were not changed since.
    base: Option<TableBase>,
}

/// The state of one id.
#[derive(Debug)]
struct TableNode {
    id: FileId,
    /// The winning element of `table:files`, or [`NONE`].
    row: u32,
    /// The first of the winning elements of `fs:cells`, one for each field that has any, or
    /// [`NONE`].
    cells: u32,
    /// Whether the running [`FilesTable::absorb`] has visited it.
    is_touched: bool,
}

/// The content of one element of `fs:cells`.
#[derive(Debug, Clone, PartialEq)]
struct CellSlot {
    field: RowField,
    /// The cell, or `None` if its format is unknown.
    cell: Option<StoredCell>,
    /// Of the winner of several cells of metadata: what they say together.
    merged: Option<Box<StoredCell>>,
}

impl CellSlot {
    fn new(field: RowField, cell: Option<StoredCell>) -> Self {
        Self { field, cell, merged: None }
    }

    /// Returns the cell that counts, if this is the winner.
    fn effective(&self) -> Option<&StoredCell> {
        self.merged.as_deref().or(self.cell.as_ref())
    }
}

impl FilesTable {
    /// Makes the table of an empty document. Everything the document already holds must be
    /// absorbed.
    pub fn new(writer: WriterIds) -> Self {
        Self {
            writer,
            nodes: ValueSlab::new(),
            by_id: HashTable::new(),
            hasher: DefaultHashBuilder::default(),
            rows: LiveElements::new(),
            cells: LiveElements::new(),
            facts: BaseTableFacts::default(),
            base: None,
        }
    }

    /// Returns the client ids under which this process writes.
    pub fn writer(&self) -> WriterIds {
        self.writer
    }

    /// Sets other ids to write under, when the old ones are used up.
    pub fn set_writer(&mut self, writer: WriterIds) {
        self.writer = writer;
    }

    /// Returns how many rows there are.
    pub fn len(&self) -> usize {
        self.facts.n_rows
    }

    /// Reports whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.facts.n_rows == 0
    }

    /// Returns one row.
    pub fn get(&self, id: &FileId) -> Option<RowHistory> {
        self.entry(self.view(id)?)
    }

    /// Reports whether there is such a row, without building it.
    pub fn contains(&self, id: &FileId) -> bool {
        self.view(id).is_some_and(|view| self.stored_row(view).is_some())
    }

    /// Returns all rows, in no particular order.
    pub fn iter(&self) -> impl Iterator<Item = RowHistory> {
        let changed = self.nodes.iter().filter_map(|(_, node)| self.entry(NodeView::Changed(node)));
        changed.chain(self.unchanged_rows())
    }

    /// Absorbs an update that the document has just integrated, and returns the ids whose entries
    /// were added, changed or removed, in order of first mention.
    ///
    /// Elements with ids that name another document are no rows
    /// ([decision 81](../../../../docs/decisions/0081-a-row-names-a-file-only.md)).
    pub fn absorb(&mut self, doc: &GatedDoc, scan: &UpdateScan) -> Vec<FileId> {
        let mut touched = Vec::new();
        for (element, value) in scan.values() {
            let ValueView::Map(members) = value else { continue };
            let members = ElementView::of(members);
            let Some(ValueView::String(key)) = members.key else { continue };
            let stamp = ElementTimestamp::of(members.ts);
            match element.root {
                RootIx::Files => {
                    let Ok(id) = FileId::parse(key) else { continue };
                    if !may_be_row(doc, &id) {
                        continue;
                    }
                    let row = read_row(&members);
                    self.add_row(&mut touched, id, element.id, stamp, row);
                }
                RootIx::Cells => {
                    let Some((id, field)) = RowField::split_key(key) else { continue };
                    if !may_be_row(doc, &id) {
                        continue;
                    }
                    let cell = CellSlot::new(field, read_cell(field, &members));
                    self.add_cell(&mut touched, id, element.id, stamp, cell);
                }
                _ => (),
            }
        }
        for range in &scan.deleted {
            self.touch_owners(&mut touched, (range.client, range.start, range.end()));
            for ix in self.rows.take_range(range.client, range.start, range.len) {
                self.remove_row(&mut touched, ix);
            }
            for ix in self.cells.take_range(range.client, range.start, range.len) {
                self.remove_cell(&mut touched, ix);
            }
        }
        self.rank_touched(doc, &touched);
        self.elect_winners(touched)
    }

    fn add_row(
        &mut self,
        touched: &mut Vec<TouchedNode>,
        id: FileId,
        item: ItemId,
        stamp: ElementTimestamp,
        row: Option<StoredRow>,
    ) {
        let ix = self.touch(touched, id);
        let head = self.nodes.get(ix).row;
        self.nodes.get_mut(ix).row = self.rows.insert(head, item, ix, stamp, row);
    }

    fn add_cell(
        &mut self,
        touched: &mut Vec<TouchedNode>,
        id: FileId,
        item: ItemId,
        stamp: ElementTimestamp,
        cell: CellSlot,
    ) {
        let ix = self.touch(touched, id);
        let first = self.nodes.get(ix).cells;
        let same =
            self.cells.siblings(first).find(|(_, element)| element.value.field == cell.field);
        if let Some((head, _)) = same {
            self.cells.insert(head, item, ix, stamp, cell);
        } else {
            let head = self.cells.insert(NONE, item, ix, stamp, cell);
            self.cells.get_mut(head).sibling = first;
            self.nodes.get_mut(ix).cells = head;
        }
    }

    fn remove_row(&mut self, touched: &mut Vec<TouchedNode>, ix: u32) {
        self.touch_node(touched, self.rows.get(ix).owner);
        let unlinked = self.rows.unlink(ix);
        if let Some(replacement) = unlinked.replacement {
            self.nodes.get_mut(unlinked.owner).row = replacement;
        }
    }

    fn remove_cell(&mut self, touched: &mut Vec<TouchedNode>, ix: u32) {
        self.touch_node(touched, self.cells.get(ix).owner);
        let unlinked = self.cells.unlink(ix);
        let Some(replacement) = unlinked.replacement else { return };
        let node = self.nodes.get_mut(unlinked.owner);
        if node.cells == ix {
            node.cells = replacement;
            return;
        }
        let before = {
            let mut heads = self.cells.siblings(node.cells);
            heads.find(|(_, cell)| cell.sibling == ix).map(|(ix, _)| ix)
        };
        let before = before.expect("every head but the first is the sibling of another");
        self.cells.get_mut(before).sibling = replacement;
    }

    /// Ranks the groups among the touched ones that need it, in one walk for each array.
    fn rank_touched(&mut self, doc: &GatedDoc, touched: &[TouchedNode]) {
        let (mut rows, mut cells) = (BTreeMap::new(), BTreeMap::new());
        for node in touched.iter().map(|touched| self.nodes.get(touched.node)) {
            if node.row != NONE && self.rows.needs_rank(node.row) {
                rows.insert(node.id.to_string(), node.row);
            }
            for (head, cell) in self.cells.siblings(node.cells) {
                if self.cells.needs_rank(head) {
                    cells.insert(format!("{}:{}", node.id, cell.value.field.as_str()), head);
                }
            }
        }
        if !rows.is_empty() {
            let read =
                |_: &str, members: ObjectMembers<'_>| Some(read_row(&ElementView::of(members)));
            rank(&mut self.rows, doc, RootIx::Files.name(), &rows, read, |key, row, out| {
                let id = FileId::parse(key).expect("only well-formed ids have rows");
                if let Some(row) = row {
                    out.push(u8::from(row.aware));
                    write_row(out, &id, row);
                }
            });
        }
        if !cells.is_empty() {
            let read = |key: &str, members: ObjectMembers<'_>| {
                let (_, field) = RowField::split_key(key)?;
                Some(CellSlot::new(field, read_cell(field, &ElementView::of(members))))
            };
            rank(&mut self.cells, doc, RootIx::Cells.name(), &cells, read, |_, slot, out| {
                if let Some(cell) = &slot.cell {
                    write_cell(out, cell);
                    // Two cells of one value may differ in these, and so have another effect.
                    write_superseded(out, cell);
                    write_member_times(out, cell);
                }
            });
        }
    }

    /// Elects the winners of the touched groups and returns the changed ids.
    fn elect_winners(&mut self, touched: Vec<TouchedNode>) -> Vec<FileId> {
        let mut changed = Vec::new();
        for TouchedNode { node: ix, before } in touched {
            let node = self.nodes.get(ix);
            let row = if node.row == NONE { NONE } else { self.rows.elect(node.row) };
            let heads: Vec<u32> = self.cells.siblings(node.cells).map(|(ix, _)| ix).collect();
            let mut next = NONE;
            for head in heads.into_iter().rev() {
                let winner = self.cells.elect(head);
                self.merge_metadata(winner);
                self.cells.get_mut(winner).sibling = next;
                next = winner;
            }
            let node = self.nodes.get_mut(ix);
            (node.row, node.cells, node.is_touched) = (row, next, false);

            let node = self.nodes.get(ix);
            let after = self.entry(NodeView::Changed(node));
            self.facts.replace(before.as_deref(), after.as_ref());
            if after.as_ref() != before.as_deref() {
                changed.push(node.id.clone());
            }
            if row == NONE && next == NONE {
                self.forget(ix);
            }
        }
        changed
    }

    /// Merges the live cells of metadata whose winner is given.
    fn merge_metadata(&mut self, winner: u32) {
        let element = self.cells.get(winner);
        if element.value.field != RowField::Meta {
            return;
        }
        let group = self.cells.group(winner).take(MAX_MERGED + 1);
        let group: Vec<_> = group.map(|(_, element)| (&element.value, &element.stamp)).collect();
        let merged = merged_slots(&group);
        self.cells.get_mut(winner).value.merged = merged;
    }

    fn touch(&mut self, touched: &mut Vec<TouchedNode>, id: FileId) -> u32 {
        let ix = self.find(id.as_str()).unwrap_or_else(|| {
            let hash = self.hasher.hash_one(id.as_str());
            let node = TableNode { id, row: NONE, cells: NONE, is_touched: false };
            let ix = self.nodes.insert(node);
            let (nodes, hasher) = (&self.nodes, &self.hasher);
            let rehash = |ix: &u32| hasher.hash_one(nodes.get(*ix).id.as_str());
            self.by_id.insert_unique(hash, ix, rehash);
            self.take_from_base(ix);
            ix
        });
        self.touch_node(touched, ix);
        ix
    }

    fn touch_node(&mut self, touched: &mut Vec<TouchedNode>, ix: u32) {
        let node = self.nodes.get(ix);
        if !node.is_touched {
            let before = self.entry(NodeView::Changed(node)).map(Box::new);
            touched.push(TouchedNode { node: ix, before });
            self.nodes.get_mut(ix).is_touched = true;
        }
    }

    fn forget(&mut self, ix: u32) {
        // While a base may have the id, its node says that there is nothing any more.
        if self.base.is_some() {
            return;
        }
        let node = self.nodes.remove(ix);
        let hash = self.hasher.hash_one(node.id.as_str());
        if let Ok(entry) = self.by_id.find_entry(hash, |other_ix| *other_ix == ix) {
            entry.remove();
        }
    }

    fn find(&self, id: &str) -> Option<u32> {
        // Listings of a base ask for each entry, and mostly nothing was changed.
        if self.by_id.is_empty() {
            return None;
        }
        let hash = self.hasher.hash_one(id);
        self.by_id.find(hash, |ix| self.nodes.get(*ix).id.as_str() == id).copied()
    }
}

/// Reports whether an id that a peer wrote may be that of a file or directory: not the id of the
/// main document, whose document would be opened as the content of a file, and no guid that names
/// the content of another file.
fn may_be_row(main: &GatedDoc, id: &FileId) -> bool {
    id != main.guid() && FileId::within_guid(id.as_str()).is_none()
}

/// Returns what several live cells of metadata say together, the winner first; `None` if the winner
/// counts alone.
fn merged_slots(group: &[(&CellSlot, &ElementTimestamp)]) -> Option<Box<StoredCell>> {
    if group.len() < 2 || group.len() > MAX_MERGED {
        return None;
    }
    let cells = group.iter().filter_map(|(slot, stamp)| Some((slot.cell.as_ref()?, *stamp)));
    let is_readable = group.first()?.0.cell.is_some();
    let cells: Vec<_> = cells.filter(|_| is_readable).collect();
    merged_cell(&cells).map(Box::new)
}

/// A node that the running `absorb` changes, and its former state.
#[derive(Debug)]
struct TouchedNode {
    node: u32,
    before: Option<Box<RowHistory>>,
}
