//! The rule that joins a row and its cells (`docs/format/main-document.md`, "Effective values").
//!
//! A row that a cell-aware writer made is overridden by every cell. Any other row comes from a
//! plain writer, which carries along the fields that it found. If the row that it found had the
//! value of the cell, and its row has another, then the writer set that value. If its value is one
//! that the cell is known to have superseded, it was merely carried. Otherwise the later of the two
//! counts.

use std::cmp::Ordering;

use super::{
    MAX_PREV, MAX_SUPERSEDED,
    format::{FieldValue, RowField, StoredCell, StoredRow},
    row::RowHistory,
    timestamp::ElementTimestamp,
};
use crate::id::FileId;

/// Reports whether a cell, and not the row, has the effective value of its field.
pub(super) fn cell_wins(
    (row, row_stamp): (&StoredRow, &ElementTimestamp),
    (cell, cell_stamp): (&StoredCell, &ElementTimestamp),
) -> bool {
    let field = cell.value.field();
    if row.aware {
        return true;
    }
    if row.base.iter().any(|(base_field, ts)| {
        *base_field == field && ElementTimestamp::Finite(*ts) == *cell_stamp
    }) {
        return false;
    }
    cell.superseded.contains(&row.field(field))
        || cell_stamp.compare(row_stamp) == Ordering::Greater
}

/// Returns the effective row with the history that the tree needs.
pub(super) fn entry<'a>(
    id: &FileId,
    row: &StoredRow,
    row_stamp: &ElementTimestamp,
    cells: impl Iterator<Item = (&'a StoredCell, &'a ElementTimestamp)>,
) -> RowHistory {
    let row_ts = row_stamp.bound().unwrap_or(0.0);
    let mut entry = RowHistory {
        row: row.to_row(id.clone()),
        parent_ts: row_ts,
        prev_parents: Vec::new(),
        structural_ts: row_ts,
        trashed_ts: row_ts,
        derived: row.aware && row_ts == DERIVED_TS,
    };
    let mut parts = row.meta_parts();
    let (mut name_ts, mut parent_ts, mut trashed_ts) = (row_ts, row_ts, row_ts);
    for (cell, stamp) in cells {
        entry.derived = false;
        let wins = cell_wins((row, row_stamp), (cell, stamp));
        let ts = if wins { stamp.bound().unwrap_or(0.0) } else { row_ts };
        match &cell.value {
            FieldValue::Name(_) => name_ts = ts,
            FieldValue::Trashed(_) => trashed_ts = ts,
            FieldValue::Parent(_) => {
                parent_ts = ts;
                entry.prev_parents = prev_parents(cell, wins);
            }
            _ => (),
        }
        match &cell.value {
            _ if !wins => (),
            FieldValue::Meta(meta) => parts.application = meta.as_deref(),
            FieldValue::Removal(record) => parts.removal = record.as_deref(),
            FieldValue::Purge(mark) => parts.purge = mark.as_deref(),
            value => set_field(&mut entry, value),
        }
    }
    entry.row.meta = parts.join();
    entry.parent_ts = parent_ts;
    entry.trashed_ts = trashed_ts;
    entry.structural_ts = name_ts.max(parent_ts).max(trashed_ts);
    entry
}

/// The timestamp of derived creations: any other write beats it.
pub(super) const DERIVED_TS: f64 = 1.0;

fn prev_parents(cell: &StoredCell, wins: bool) -> Vec<Option<FileId>> {
    match &cell.value {
        // A plain writer moved it away from there.
        FieldValue::Parent(parent) if !wins => {
            [parent].into_iter().chain(&cell.prev).take(MAX_PREV).cloned().collect()
        }
        _ => cell.prev.to_vec(),
    }
}

fn set_field(entry: &mut RowHistory, value: &FieldValue) {
    let row = &mut entry.row;
    match value.clone() {
        FieldValue::Name(name) => row.name = name,
        FieldValue::Parent(parent) => row.parent = parent,
        FieldValue::Trashed(trashed_at) => row.trashed_at = trashed_at,
        FieldValue::Stat { size, updated_at } => (row.size, row.updated_at) = (size, updated_at),
        FieldValue::Mode(mode) => row.mode = mode,
        FieldValue::Link(link) => row.link = link,
        FieldValue::Blob(blob) => row.blob = blob.map(|blob| *blob),
        // Joined by the caller.
        FieldValue::Meta(_) | FieldValue::Removal(_) | FieldValue::Purge(_) => (),
    }
}

/// Makes the cell of a field that is given a new value.
///
/// `stored` is the raw row, `effective` the visible row, `old` the cell that the field had.
pub(super) fn changed_cell(
    value: FieldValue,
    stored: FieldValue,
    effective: FieldValue,
    old: Option<&StoredCell>,
    former_parents: &[Option<FileId>],
) -> StoredCell {
    let older = old.map_or(&[][..], |old| &old.superseded);
    let superseded = [&stored, &effective].into_iter().chain(older);
    let superseded = distinct(superseded, &value, MAX_SUPERSEDED);
    let prev = match (&value, &effective) {
        (FieldValue::Parent(parent), FieldValue::Parent(before)) => {
            distinct([before].into_iter().chain(former_parents), parent, MAX_PREV)
        }
        _ => Box::default(),
    };
    StoredCell { value, prev, superseded, member_times: Box::default() }
}

/// Makes the cell that adopts a plain writer's value, which beat `old`.
pub(super) fn adopted_cell(row: &StoredRow, old: &StoredCell) -> StoredCell {
    let value = row.field(old.value.field());
    let superseded = [&old.value].into_iter().chain(&old.superseded);
    let superseded = distinct(superseded, &value, MAX_SUPERSEDED);
    let prev = match (&value, &old.value) {
        (FieldValue::Parent(parent), FieldValue::Parent(before)) => {
            distinct([before].into_iter().chain(&old.prev), parent, MAX_PREV)
        }
        _ => Box::default(),
    };
    StoredCell { value, prev, superseded, member_times: Box::default() }
}

/// Returns the first `most` distinct values other than `new`.
fn distinct<'a, T: Clone + PartialEq + 'a>(
    values: impl Iterator<Item = &'a T>,
    new: &T,
    most: usize,
) -> Box<[T]> {
    let mut kept: Vec<T> = Vec::new();
    for value in values {
        if kept.len() == most {
            break;
        }
        if value != new && !kept.contains(value) {
            kept.push(value.clone());
        }
    }
    kept.into()
}

/// Returns all fields that a change touches, with their new values, given the visible row.
pub(super) fn fields_changed(
    before: &StoredRow,
    after: &StoredRow,
) -> impl Iterator<Item = (RowField, FieldValue)> {
    RowField::ALL.into_iter().filter_map(|field| {
        let value = after.field(field);
        (value != before.field(field)).then_some((field, value))
    })
}
