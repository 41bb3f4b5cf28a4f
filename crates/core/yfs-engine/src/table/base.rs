//! A table that begins with a base: the rows as they were at some position of the log, read when
//! they are first asked for.
//!
//! A row of the base is kept in a form that is only read. The first change of an id moves its
//! elements into the table; from then on the base is not asked about it.

use std::{
    fmt,
    hash::BuildHasher,
    sync::{Arc, PoisonError, RwLock},
};

use hashbrown::{DefaultHashBuilder, HashTable};

use super::{
    CellSlot, FilesTable, NONE, TableNode, TouchedNode, cells,
    format::{RowField, StoredCell, StoredRow},
    row::{RowHistory, WriterIds},
    timestamp::ElementTimestamp,
};
use crate::{
    gate::RootIx,
    id::{ClientId, FileId, ItemId},
};

/// The number of rows of a base that a walk over all of them reads at once.
const PAGE: usize = 256;

/// The rows of a table at some position of the log.
///
/// What cannot be read is missing here, and the reader notes its failure: the table is then wrong,
/// and its owner must not use it.
pub(crate) trait BaseRows: fmt::Debug + Send + Sync {
    /// Returns the elements of an id.
    fn row(&self, id: &FileId) -> Option<BaseRow>;

    /// Returns the owners of the live elements that a client wrote to an array, in a range of
    /// clocks, with the clocks.
    fn owners(&self, root: RootIx, client: ClientId, start: u32, end: u32) -> Vec<(u32, FileId)>;

    /// Returns the ids that have elements and no readable row.
    fn rowless(&self) -> Vec<FileId>;

    /// Returns the first rows after `after`, in some fixed order; at most `n`.
    fn rows_after(&self, after: Option<&FileId>, n: usize) -> Vec<(FileId, BaseRow)>;
}

/// The live elements of one id.
///
/// Invariant: the first element of a group is its winner.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct BaseRow {
    /// The elements of `table:files`.
    pub(super) row: Vec<BaseElement<Option<StoredRow>>>,
    /// The elements of `fs:cells`, those of each field.
    pub(super) cells: Vec<Vec<BaseElement<CellSlot>>>,
}

/// One element.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct BaseElement<V> {
    pub(super) id: ItemId,
    pub(super) stamp: ElementTimestamp,
    pub(super) value: V,
}

/// What a table knows of its rows without reading any.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BaseTableFacts {
    pub(crate) n_rows: usize,
    /// Symbolic links.
    pub(crate) n_links: u64,
    /// The sizes of all files that the rows report. Peers may report anything, so it wraps around.
    pub(crate) n_bytes: u64,
}

/// The base of a table.
#[derive(Debug)]
pub(super) struct TableBase {
    rows: Arc<dyn BaseRows>,
    read: RowCache,
}

/// Rows that were read. Readers add to it.
#[derive(Debug, Default)]
struct RowCache {
    rows: boxcar::Vec<(FileId, BaseRow)>,
    by_id: RwLock<HashTable<usize>>,
    hasher: DefaultHashBuilder,
}

/// The elements of one id: in the table, or in the base.
#[derive(Debug, Clone, Copy)]
pub(super) enum NodeView<'a> {
    Changed(&'a TableNode),
    Base(&'a FileId, &'a BaseRow),
}

/// An element of a row or a cell.
#[derive(Debug, Clone, Copy)]
pub(super) struct ElementRef<'a> {
    pub(super) id: ItemId,
    pub(super) stamp: &'a ElementTimestamp,
    /// Whether this version can read it.
    pub(super) is_understood: bool,
}

impl BaseRow {
    /// Returns the row with the history that the tree needs.
    pub(crate) fn history(&self, id: &FileId) -> Option<RowHistory> {
        let first = self.row.first()?;
        let row = first.value.as_ref()?;
        Some(cells::entry(id, row, &first.stamp, self.winning_cells()))
    }

    pub(super) fn winning_cells(&self) -> impl Iterator<Item = (&StoredCell, &ElementTimestamp)> {
        let winners = self.cells.iter().filter_map(|group| group.first());
        winners.filter_map(|element| Some((element.value.effective()?, &element.stamp)))
    }

    /// Merges the live cells of metadata, after all elements were read.
    pub(super) fn merge_metadata(&mut self) {
        let of_metadata = |group: &&mut Vec<BaseElement<CellSlot>>| {
            group.first().is_some_and(|winner| winner.value.field == RowField::Meta)
        };
        let Some(group) = self.cells.iter_mut().find(of_metadata) else { return };
        let slots: Vec<_> = group.iter().map(|element| (&element.value, &element.stamp)).collect();
        let merged = super::merged_slots(&slots);
        group[0].value.merged = merged;
    }
}

impl BaseTableFacts {
    /// Counts a row that was added, changed or removed.
    pub(super) fn replace(&mut self, before: Option<&RowHistory>, after: Option<&RowHistory>) {
        if let Some(RowHistory { row, .. }) = before {
            self.n_rows = self.n_rows.saturating_sub(1);
            self.n_links = self.n_links.wrapping_sub(row.is_link().into());
            self.n_bytes = self.n_bytes.wrapping_sub(row.content_size());
        }
        if let Some(RowHistory { row, .. }) = after {
            self.n_rows += 1;
            self.n_links = self.n_links.wrapping_add(row.is_link().into());
            self.n_bytes = self.n_bytes.wrapping_add(row.content_size());
        }
    }
}

impl TableBase {
    pub(super) fn row(&self, id: &FileId) -> Option<(&FileId, &BaseRow)> {
        if let Some(known) = self.read.get(id) {
            return Some(known);
        }
        let row = self.rows.row(id)?;
        Some(self.read.add(id, row))
    }
}

impl RowCache {
    fn get(&self, id: &FileId) -> Option<(&FileId, &BaseRow)> {
        let by_id = self.by_id.read().unwrap_or_else(PoisonError::into_inner);
        let hash = self.hasher.hash_one(id);
        let ix = by_id.find(hash, |ix| self.rows[*ix].0 == *id).copied()?;
        drop(by_id);
        let (id, row) = &self.rows[ix];
        Some((id, row))
    }

    fn add(&self, id: &FileId, row: BaseRow) -> (&FileId, &BaseRow) {
        let mut by_id = self.by_id.write().unwrap_or_else(PoisonError::into_inner);
        let hash = self.hasher.hash_one(id);
        let known = by_id.find(hash, |ix| self.rows[*ix].0 == *id).copied();
        let ix = known.unwrap_or_else(|| {
            let ix = self.rows.push((id.clone(), row));
            by_id.insert_unique(hash, ix, |ix| self.hasher.hash_one(&self.rows[*ix].0));
            ix
        });
        drop(by_id);
        let (id, row) = &self.rows[ix];
        (id, row)
    }
}

impl FilesTable {
    /// Makes the table of a base.
    pub(crate) fn on_base(
        writer: WriterIds,
        rows: Arc<dyn BaseRows>,
        facts: BaseTableFacts,
    ) -> Self {
        let base = Some(TableBase { rows, read: RowCache::default() });
        Self { base, facts, ..Self::new(writer) }
    }

    /// Returns what a table on this one as its base has to know of it.
    pub(crate) fn base_facts(&self) -> BaseTableFacts {
        self.facts
    }

    /// Returns the number of ids whose elements are in memory.
    pub(crate) fn n_in_memory(&self) -> usize {
        let read = self.base.as_ref().map_or(0, |base| base.read.rows.count());
        self.by_id.len() + read
    }

    /// Returns the elements of an id.
    pub(super) fn view(&self, id: &FileId) -> Option<NodeView<'_>> {
        if let Some(ix) = self.find(id.as_str()) {
            return Some(NodeView::Changed(self.nodes.get(ix)));
        }
        let (id, row) = self.base.as_ref()?.row(id)?;
        Some(NodeView::Base(id, row))
    }

    /// Returns the winning element of the row.
    pub(super) fn stored_row<'a>(
        &'a self,
        view: NodeView<'a>,
    ) -> Option<(&'a StoredRow, &'a ElementTimestamp)> {
        match view {
            NodeView::Changed(node) => {
                let element = (node.row != NONE).then(|| self.rows.get(node.row))?;
                Some((element.value.as_ref()?, &element.stamp))
            }
            NodeView::Base(_, row) => {
                let element = row.row.first()?;
                Some((element.value.as_ref()?, &element.stamp))
            }
        }
    }

    /// Returns the winning elements of the cells.
    pub(super) fn stored_cells<'a>(
        &'a self,
        view: NodeView<'a>,
    ) -> impl Iterator<Item = (&'a StoredCell, &'a ElementTimestamp)> {
        let (first, base) = match view {
            NodeView::Changed(node) => (node.cells, None),
            NodeView::Base(_, row) => (NONE, Some(row)),
        };
        let changed = self.cells.siblings(first);
        let changed =
            changed.filter_map(|(_, element)| Some((element.value.effective()?, &element.stamp)));
        changed.chain(base.into_iter().flat_map(BaseRow::winning_cells))
    }

    /// Returns the elements of the row, the winner first.
    pub(super) fn row_elements<'a>(
        &'a self,
        view: NodeView<'a>,
    ) -> impl Iterator<Item = ElementRef<'a>> {
        let (head, base) = match view {
            NodeView::Changed(node) => (node.row, None),
            NodeView::Base(_, row) => (NONE, Some(row)),
        };
        let changed = self.rows.group(head).map(|(_, element)| ElementRef {
            id: element.id,
            stamp: &element.stamp,
            is_understood: element.value.is_some(),
        });
        let base = base.into_iter().flat_map(|row| &row.row).map(|element| ElementRef {
            id: element.id,
            stamp: &element.stamp,
            is_understood: element.value.is_some(),
        });
        changed.chain(base)
    }

    /// Returns the elements of the cells, those of each field, the winner first.
    pub(super) fn cell_groups<'a>(
        &'a self,
        view: NodeView<'a>,
    ) -> Vec<(RowField, Vec<ElementRef<'a>>)> {
        let reference = |id, stamp, value: &CellSlot| ElementRef {
            id,
            stamp,
            is_understood: value.cell.is_some(),
        };
        match view {
            NodeView::Changed(node) => {
                let heads = self.cells.siblings(node.cells);
                let groups = heads.map(|(head, cell)| {
                    let group = self
                        .cells
                        .group(head)
                        .map(|(_, element)| reference(element.id, &element.stamp, &element.value));
                    (cell.value.field, group.collect())
                });
                groups.collect()
            }
            NodeView::Base(_, row) => {
                let groups = row.cells.iter().filter_map(|group| {
                    let elements = group
                        .iter()
                        .map(|element| reference(element.id, &element.stamp, &element.value));
                    Some((group.first()?.value.field, elements.collect()))
                });
                groups.collect()
            }
        }
    }

    /// Returns the row with the history that the tree needs.
    pub(super) fn entry(&self, view: NodeView<'_>) -> Option<RowHistory> {
        let (row, stamp) = self.stored_row(view)?;
        let id = match view {
            NodeView::Changed(node) => &node.id,
            NodeView::Base(id, _) => id,
        };
        Some(cells::entry(id, row, stamp, self.stored_cells(view)))
    }

    /// Moves the elements of an id from the base into the table.
    pub(super) fn take_from_base(&mut self, ix: u32) {
        let Some(base) = &self.base else { return };
        let Some((_, row)) = base.row(&self.nodes.get(ix).id) else { return };
        let BaseRow { row, cells } = row.clone();
        for BaseElement { id, stamp, value } in row {
            let head = self.nodes.get(ix).row;
            self.nodes.get_mut(ix).row = self.rows.insert(head, id, ix, stamp, value);
        }
        for group in cells {
            let mut head = NONE;
            for BaseElement { id, stamp, value } in group {
                head = self.cells.insert(head, id, ix, stamp, value);
            }
            if head != NONE {
                let first = self.nodes.get(ix).cells;
                self.cells.get_mut(head).sibling = first;
                self.nodes.get_mut(ix).cells = head;
            }
        }
    }

    /// Moves the owners of elements in a range of clocks from the base into the table, and touches
    /// them.
    pub(super) fn touch_owners(
        &mut self,
        touched: &mut Vec<TouchedNode>,
        (client, start, end): (ClientId, u32, u32),
    ) {
        let Some(base) = &self.base else { return };
        let mut owners = base.rows.owners(RootIx::Files, client, start, end);
        owners.extend(base.rows.owners(RootIx::Cells, client, start, end));
        for (_, id) in owners {
            self.touch(touched, id);
        }
    }

    /// Counts the live elements of a client with adjacent clocks up to, and without, `clock`.
    pub(super) fn run_before(
        &self,
        root: RootIx,
        client: ClientId,
        clock: u32,
        most: usize,
    ) -> usize {
        let changed = |clock, most| match root {
            RootIx::Files => self.rows.run_before(client, clock, most),
            _ => self.cells.run_before(client, clock, most),
        };
        let Some(base) = &self.base else { return changed(clock, most) };
        let least = clock.saturating_sub(u32::try_from(most).unwrap_or(u32::MAX));
        let of_base = base.rows.owners(root, client, least, clock);
        let is_live = |clock: u32| {
            let owner = of_base.iter().find(|(at, _)| *at == clock);
            changed(clock + 1, 1) == 1
                || owner.is_some_and(|(_, id)| self.find(id.as_str()).is_none())
        };
        (least..clock).rev().take_while(|clock| is_live(*clock)).count()
    }

    /// Returns the ids that changed since the checkpoint that the table is based on; without one,
    /// all ids.
    pub fn changed_ids(&self) -> impl Iterator<Item = &FileId> {
        self.nodes.iter().map(|(_, node)| &node.id)
    }

    /// Reports whether an id is one of [`changed_ids`](Self::changed_ids).
    pub(crate) fn is_changed(&self, id: &FileId) -> bool {
        self.find(id.as_str()).is_some()
    }

    /// Returns the ids that have elements and no readable row.
    pub(crate) fn rowless(&self) -> Vec<FileId> {
        let changed = self.nodes.iter().map(|(_, node)| node);
        let changed = changed.filter(|node| self.stored_row(NodeView::Changed(node)).is_none());
        let changed = changed.filter(|node| (node.row, node.cells) != (NONE, NONE));
        let mut ids: Vec<FileId> = changed.map(|node| node.id.clone()).collect();
        let of_base = self.base.iter().flat_map(|base| base.rows.rowless());
        ids.extend(of_base.filter(|id| self.find(id.as_str()).is_none()));
        ids
    }

    /// Returns the rows that are as the base has them, in no particular order.
    pub(super) fn unchanged_rows(&self) -> impl Iterator<Item = RowHistory> {
        let mut last: Option<FileId> = None;
        let mut page = Vec::new().into_iter();
        let next = move || {
            let base = self.base.as_ref()?;
            let found: Option<(FileId, BaseRow)> = page.next().or_else(|| {
                page = base.rows.rows_after(last.as_ref(), PAGE).into_iter();
                page.next()
            });
            last = found.as_ref().map(|(id, _)| id.clone());
            found
        };
        let all = std::iter::from_fn(next);
        all.filter(|(id, _)| self.find(id.as_str()).is_none())
            .filter_map(|(id, row)| row.history(&id))
    }
}
