//! Plans writes: from the requested changes to the bytes of one update.
//!
//! All writes of a batch are made on drafts of the rows concerned, one after the other, so that a
//! later one sees the earlier. Then each draft is written once: new elements, and the deletion of
//! all known and readable elements of the same keys.

use std::collections::BTreeMap;

use super::{
    FilesTable,
    append_chain::{self, EncodedElements},
    base::ElementRef,
    cells::{DERIVED_TS, adopted_cell, cell_wins, changed_cell, fields_changed},
    format::{
        FieldValue, MAX_SAFE_INTEGER, RowField, StoredCell, StoredRow, write_cell_element,
        write_row_element,
    },
    meta_merge::{MemberTime, changed_times},
    row::{FileRow, RowChanges, RowWrite, TableError},
    timestamp::ElementTimestamp,
};
use crate::{
    gate::{GatedDoc, RootIx, UpdateBuilder},
    id::FileId,
    time::Millis,
};

/// The planned state of one id.
#[derive(Debug)]
struct RowDraft {
    id: FileId,
    row: Option<(StoredRow, ElementTimestamp)>,
    cells: BTreeMap<RowField, (StoredCell, ElementTimestamp)>,
    /// The greatest timestamp under the id that has a number.
    clock: f64,
    is_row_dirty: bool,
    /// The fields whose cells are to be written or deleted, one bit each.
    dirty_cells: u16,
}

impl FilesTable {
    /// Returns the one update that makes all `writes`, in this order. Changes nothing: the update
    /// has its effect when the document has applied it and [`absorb`](Self::absorb) was called.
    ///
    /// Fields that have the requested value already are not written. If nothing is to be done, the
    /// update is [empty](crate::gate::UpdateBuilder).
    pub fn plan(
        &self,
        doc: &GatedDoc,
        writes: &[RowWrite],
        now: Millis,
    ) -> Result<Vec<u8>, TableError> {
        self.plan_each(doc, writes.iter().map(|write| (write, now)))
    }

    /// Does the same for writes that have a time each, such as those that pass on what was written
    /// elsewhere before.
    pub fn plan_each<'w>(
        &self,
        doc: &GatedDoc,
        writes: impl Iterator<Item = (&'w RowWrite, Millis)>,
    ) -> Result<Vec<u8>, TableError> {
        let mut drafts: Vec<RowDraft> = Vec::new();
        let mut by_id: BTreeMap<&FileId, usize> = BTreeMap::new();
        for (write, now) in writes {
            let id = match write {
                RowWrite::Create { row, .. } => &row.id,
                RowWrite::Update { id, .. } | RowWrite::Delete { id } => id,
            };
            let ix = *by_id.entry(id).or_insert_with(|| {
                drafts.push(self.draft(id));
                drafts.len() - 1
            });
            let draft = &mut drafts[ix];
            match write {
                RowWrite::Create { row, derived } => draft.create(row, *derived, now)?,
                RowWrite::Update { changes, .. } => draft.update(changes, now)?,
                RowWrite::Delete { .. } => draft.delete()?,
            }
        }
        self.encode(doc, &drafts)
    }

    fn draft(&self, id: &FileId) -> RowDraft {
        let mut draft = RowDraft {
            id: id.clone(),
            row: None,
            cells: BTreeMap::new(),
            clock: f64::NEG_INFINITY,
            is_row_dirty: false,
            dirty_cells: 0,
        };
        let Some(view) = self.view(id) else { return draft };
        draft.row = self.stored_row(view).map(|(row, stamp)| (row.clone(), stamp.clone()));
        for (cell, stamp) in self.stored_cells(view) {
            draft.cells.insert(cell.value.field(), (cell.clone(), stamp.clone()));
        }
        let rows = self.row_elements(view);
        let cells = self.cell_groups(view).into_iter().flat_map(|(_, group)| group);
        let stamps = rows.chain(cells).map(|element| element.stamp);
        draft.clock = stamps.filter_map(ElementTimestamp::bound).fold(f64::NEG_INFINITY, f64::max);
        draft
    }

    fn encode(&self, doc: &GatedDoc, drafts: &[RowDraft]) -> Result<Vec<u8>, TableError> {
        let mut update = UpdateBuilder::new();
        let (mut rows, mut cells) = (EncodedElements::default(), EncodedElements::default());
        for draft in drafts {
            if let (true, Some((row, ElementTimestamp::Finite(ts)))) =
                (draft.is_row_dirty, &draft.row)
            {
                rows.push(|out| write_row_element(out, &draft.id, row, *ts));
            }
            for (field, (cell, stamp)) in &draft.cells {
                if let (true, ElementTimestamp::Finite(ts)) = (draft.is_dirty(*field), stamp) {
                    cells.push(|out| write_cell_element(out, &draft.id, cell, *ts));
                }
            }
            self.encode_deletes(&mut update, draft);
        }
        let writer = self.writer;
        for (client, root, values) in
            [(writer.rows, RootIx::Files, &rows), (writer.cells, RootIx::Cells, &cells)]
        {
            let run = |clock, most| self.run_before(root, client, clock, most);
            append_chain::append(&mut update, doc, run, client, root, values)?;
        }
        Ok(update.finish())
    }

    /// Deletes the elements that the draft replaces. An unreadable element stays: another
    /// application wrote it deliberately. So does one whose timestamp is no number, unless the row
    /// itself is deleted: two implementations might not agree on the winner. An element that no
    /// timestamp can beat is deleted in any case; otherwise nothing could ever be written there.
    fn encode_deletes(&self, update: &mut UpdateBuilder, draft: &RowDraft) {
        let Some(view) = self.view(&draft.id) else { return };
        let goes = |element: &ElementRef<'_>| {
            let is_ours =
                draft.row.is_none() || matches!(element.stamp, ElementTimestamp::Finite(_));
            (element.is_understood && is_ours) || element.stamp.is_maximal()
        };
        if draft.is_row_dirty {
            let gone = self.row_elements(view).filter(goes);
            gone.for_each(|element| update.delete(element.id));
        }
        for (field, group) in self.cell_groups(view) {
            if draft.is_dirty(field) {
                let gone = group.iter().filter(|element| goes(element));
                gone.for_each(|element| update.delete(element.id));
            }
        }
    }
}

impl RowDraft {
    fn create(&mut self, row: &FileRow, derived: bool, now: Millis) -> Result<(), TableError> {
        if self.row.is_some() {
            return Err(TableError::Exists(self.id.clone()));
        }
        let mut stored = StoredRow::new(row);
        stored.set_meta(&self.id, row.meta.as_ref())?;
        let is_first = self.clock == f64::NEG_INFINITY;
        let ts = if derived && is_first { DERIVED_TS } else { next_ts(self.clock, now) };
        // Cells without a row are left over from a deleted one.
        self.clear_cells();
        self.write_row(stored, ts);
        Ok(())
    }

    fn update(&mut self, changes: &RowChanges, now: Millis) -> Result<(), TableError> {
        let Some((stored, stamp)) = self.row.clone() else {
            return Err(TableError::NotFound(self.id.clone()));
        };
        let mut before = stored.clone();
        let mut beaten = Vec::new();
        for (field, (cell, cell_stamp)) in &self.cells {
            if cell_wins((&stored, &stamp), (cell, cell_stamp)) {
                before.set_field(cell.value.clone());
            } else {
                beaten.push(*field);
            }
        }
        let after = changed_row(&self.id, &before, changes)?;
        let changed: Vec<(RowField, FieldValue)> = fields_changed(&before, &after).collect();
        if changed.is_empty() {
            return Ok(());
        }
        let ts = next_ts(self.clock, now);
        for (field, value) in &changed {
            let old = self.cells.get(field).map(|(cell, _)| cell);
            let former = former_parents(old, beaten.contains(field));
            let (stored, shown) = (stored.field(*field), before.field(*field));
            let mut cell = changed_cell(value.clone(), stored, shown, old, &former);
            cell.member_times = member_times(&cell, &before, old, ts);
            self.write_cell(cell, ElementTimestamp::Finite(ts));
        }
        if changed.iter().all(|(field, _)| *field == RowField::Stat) {
            return Ok(());
        }
        for field in beaten {
            if changed.iter().all(|(changed_field, _)| *changed_field != field) {
                let adopted = self.cells.get(&field).map(|(old, _)| {
                    let mut cell = adopted_cell(&stored, old);
                    let mut before = before.clone();
                    before.set_field(old.value.clone());
                    let at = stamp.bound().unwrap_or(0.0);
                    cell.member_times = member_times(&cell, &before, Some(old), at);
                    cell
                });
                if let Some(cell) = adopted {
                    self.write_cell(cell, stamp.clone());
                }
            }
        }
        let cells = self.cells.iter().filter_map(|(field, (_, stamp))| match stamp {
            ElementTimestamp::Finite(ts) => Some((*field, *ts)),
            ElementTimestamp::Odd(_) => None,
        });
        let base = cells.collect();
        self.write_row(StoredRow { aware: true, base, ..after }, ts);
        Ok(())
    }

    fn delete(&mut self) -> Result<(), TableError> {
        if self.row.take().is_none() {
            return Err(TableError::NotFound(self.id.clone()));
        }
        self.is_row_dirty = true;
        self.clear_cells();
        Ok(())
    }

    fn write_row(&mut self, row: StoredRow, ts: f64) {
        self.row = Some((row, ElementTimestamp::Finite(ts)));
        self.is_row_dirty = true;
        self.clock = self.clock.max(ts);
    }

    fn write_cell(&mut self, cell: StoredCell, stamp: ElementTimestamp) {
        self.clock = self.clock.max(stamp.bound().unwrap_or(f64::NEG_INFINITY));
        let field = cell.value.field();
        self.dirty_cells |= field.bit();
        self.cells.insert(field, (cell, stamp));
    }

    fn clear_cells(&mut self) {
        self.dirty_cells = u16::MAX;
        self.cells.clear();
    }

    fn is_dirty(&self, field: RowField) -> bool {
        self.dirty_cells & field.bit() != 0
    }
}

/// Returns a timestamp that beats all under an id whose greatest is `clock`. At the greatest
/// integer of JavaScript it stays: the write deletes all elements with as great a timestamp, so
/// that only concurrent writes tie.
pub(super) fn next_ts(clock: f64, now: Millis) -> f64 {
    now.as_f64().max(clock + 1.0).min(MAX_SAFE_INTEGER)
}

/// Returns when the members of new metadata were set or removed; nothing for other fields.
fn member_times(
    cell: &StoredCell,
    before: &StoredRow,
    old: Option<&StoredCell>,
    ts: f64,
) -> Box<[MemberTime]> {
    let FieldValue::Meta(after) = &cell.value else { return Box::default() };
    let FieldValue::Meta(before) = before.field(RowField::Meta) else { return Box::default() };
    let old = old.map_or(&[][..], |old| &old.member_times);
    changed_times(before.as_deref(), after.as_deref(), old, ts)
}

fn former_parents(cell: Option<&StoredCell>, is_beaten: bool) -> Vec<Option<FileId>> {
    let Some(cell) = cell else { return Vec::new() };
    let mut former = cell.prev.to_vec();
    if let (FieldValue::Parent(parent), true) = (&cell.value, is_beaten) {
        former.insert(0, parent.clone());
    }
    former
}

fn changed_row(
    id: &FileId,
    before: &StoredRow,
    changes: &RowChanges,
) -> Result<StoredRow, TableError> {
    let RowChanges { name, parent, size, updated_at, trashed_at, mode, link, blob, meta } = changes;
    let mut row = before.clone();
    let mut set = |value: Option<FieldValue>| {
        value.into_iter().for_each(|field_value| row.set_field(field_value));
    };
    set(name.clone().map(FieldValue::Name));
    set(parent.clone().map(FieldValue::Parent));
    if size.is_some() || updated_at.is_some() {
        let (size, updated_at) =
            (size.unwrap_or(before.size), updated_at.unwrap_or(before.updated_at));
        if (size, updated_at) != (before.size, before.updated_at) {
            set(Some(FieldValue::Stat { size, updated_at }));
        }
    }
    set(trashed_at.map(FieldValue::Trashed));
    set(mode.map(FieldValue::Mode));
    set(link.clone().map(FieldValue::Link));
    set(blob.map(|blob| FieldValue::Blob(blob.map(Box::new))));
    if let Some(patch) = meta {
        let parts = before.meta_parts().patch(id, patch)?;
        parts.into_iter().for_each(|part| row.set_field(part));
    }
    Ok(row)
}
