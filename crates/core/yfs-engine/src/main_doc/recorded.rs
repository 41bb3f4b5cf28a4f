//! The rows that have records of their changes, latest first.

use std::cmp::Reverse;

use super::MainDoc;
use crate::{checkpoint::first_recorded, id::FileId, table::latest_record, time::Millis};

/// A row that has records ([`RowRecord`](crate::table::RowRecord)).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedRow {
    /// When the latest of its records was made.
    pub at: Millis,
    /// The row.
    pub id: FileId,
}

impl RecordedRow {
    fn order(&self) -> (Reverse<Millis>, &FileId) {
        (Reverse(self.at), &self.id)
    }
}

impl MainDoc {
    /// Returns the rows that have records, at most `n`, after one of them or from the first. The
    /// row whose latest record is the latest comes first.
    ///
    /// # Cost
    ///
    /// The rows that changed since the checkpoint, and `n`.
    pub fn recorded_rows(&self, after: Option<&RecordedRow>, n: usize) -> Vec<RecordedRow> {
        let changed = self.files.changed_ids().filter_map(|id| {
            let row = self.files.attributes(id)?;
            let at = latest_record(row.meta, row.created_at)?;
            Some(RecordedRow { at, id: id.clone() })
        });
        let is_next = |row: &RecordedRow| after.is_none_or(|after| row.order() > after.order());
        let mut rows: Vec<RecordedRow> = changed.filter(is_next).collect();
        if let Some(base) = self.checkpoint() {
            let (mut from, mut n_found) = (first_recorded(after), 0);
            while n_found < n {
                let page = base.recorded(&from, n);
                let is_last = page.len() < n;
                let Some(last) = page.last() else { break };
                from = first_recorded(Some(last));
                let unchanged = page.into_iter().filter(|row| !self.files.is_changed(&row.id));
                let n_before = rows.len();
                rows.extend(unchanged);
                n_found += rows.len() - n_before;
                if is_last {
                    break;
                }
            }
        }
        rows.sort_unstable_by(|a, b| a.order().cmp(&b.order()));
        rows.truncate(n);
        rows
    }
}
