//! When each field of a row was written, for programs that pass rows on to another workspace.

use super::{
    FilesTable,
    cells::cell_wins,
    format::{FieldValue, MAX_SAFE_INTEGER},
};
use crate::{id::FileId, time::Millis};

/// When the effective value of each field of a row was written: the timestamp of its cell, else of
/// the row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FieldTimes {
    /// Of [`FileRow::name`](super::FileRow::name).
    pub name: Millis,
    /// Of [`FileRow::parent`](super::FileRow::parent).
    pub parent: Millis,
    /// Of [`FileRow::trashed_at`](super::FileRow::trashed_at).
    pub trashed: Millis,
    /// Of [`FileRow::size`](super::FileRow::size) and
    /// [`FileRow::updated_at`](super::FileRow::updated_at).
    pub stat: Millis,
    /// Of [`FileRow::mode`](super::FileRow::mode).
    pub mode: Millis,
    /// Of [`FileRow::link`](super::FileRow::link).
    pub link: Millis,
    /// Of [`FileRow::blob`](super::FileRow::blob).
    pub blob: Millis,
    /// Of what applications keep in [`FileRow::meta`](super::FileRow::meta).
    pub meta: Millis,
}

impl FilesTable {
    /// Returns when the fields of a row were written. A timestamp that is no number counts as 0.
    pub fn field_times(&self, id: &FileId) -> Option<FieldTimes> {
        let view = self.view(id)?;
        let (row, stamp) = self.stored_row(view)?;
        let mut times = FieldTimes::all_at(to_millis(stamp.bound()));
        for (cell, cell_stamp) in self.stored_cells(view) {
            if !cell_wins((row, stamp), (cell, cell_stamp)) {
                continue;
            }
            let at = to_millis(cell_stamp.bound());
            match &cell.value {
                FieldValue::Name(_) => times.name = at,
                FieldValue::Parent(_) => times.parent = at,
                FieldValue::Trashed(_) => times.trashed = at,
                FieldValue::Stat { .. } => times.stat = at,
                FieldValue::Mode(_) => times.mode = at,
                FieldValue::Link(_) => times.link = at,
                FieldValue::Blob(_) => times.blob = at,
                FieldValue::Meta(_) => times.meta = at,
                FieldValue::Removal(_) | FieldValue::Purge(_) => (),
            }
        }
        Some(times)
    }
}

impl FieldTimes {
    fn all_at(at: Millis) -> Self {
        Self { name: at, parent: at, trashed: at, stat: at, mode: at, link: at, blob: at, meta: at }
    }
}

fn to_millis(stamp: Option<f64>) -> Millis {
    Millis(stamp.unwrap_or(0.0).clamp(0.0, MAX_SAFE_INTEGER) as i64)
}
