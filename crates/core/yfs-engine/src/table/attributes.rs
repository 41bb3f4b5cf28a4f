//! Reads a row without copying it.

use yrs::Any;

use super::{
    FilesTable,
    base::{BaseRow, NodeView},
    cells::cell_wins,
    format::{FieldValue, StoredCell, StoredRow},
    row::{BlobRef, NodeKind},
    timestamp::ElementTimestamp,
};
use crate::{id::FileId, time::Millis};

/// The attributes of a row in a listing: the effective values of [`FileRow`](super::FileRow), by
/// reference.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RowAttributes<'a> {
    /// The stored name.
    pub name: &'a str,
    /// File or directory.
    pub kind: NodeKind,
    /// The length of the content in bytes, as its last editor reported it.
    pub size: u64,
    /// When it was made.
    pub created_at: Millis,
    /// When its content last changed.
    pub updated_at: Millis,
    /// Permission bits, if they were set.
    pub mode: Option<u32>,
    /// Its target, if it is a symbolic link.
    pub link: Option<&'a str>,
    /// Its content, if that is kept by reference.
    pub blob: Option<&'a BlobRef>,
    /// Application data of the file. The record of a removal is in [`FileRow`](super::FileRow)
    /// only.
    pub meta: Option<&'a Any>,
}

impl FilesTable {
    /// Returns the attributes of a row in a listing.
    pub fn attributes(&self, id: &FileId) -> Option<RowAttributes<'_>> {
        self.attributes_in(self.view(id)?)
    }

    /// Returns the attributes of a row of the base, as it is now.
    pub(crate) fn attributes_on<'a>(
        &'a self,
        id: &'a FileId,
        base: &'a BaseRow,
    ) -> Option<RowAttributes<'a>> {
        let changed = self.find(id.as_str()).map(|ix| NodeView::Changed(self.nodes.get(ix)));
        self.attributes_in(changed.unwrap_or(NodeView::Base(id, base)))
    }

    pub(super) fn attributes_in<'a>(&'a self, view: NodeView<'a>) -> Option<RowAttributes<'a>> {
        let (row, stamp) = self.stored_row(view)?;
        Some(RowAttributes::with_cells((row, stamp), self.stored_cells(view)))
    }
}

impl BaseRow {
    /// Returns the attributes in a listing, if there is a readable row.
    pub(super) fn attributes(&self) -> Option<RowAttributes<'_>> {
        let first = self.row.first()?;
        let row = (first.value.as_ref()?, &first.stamp);
        Some(RowAttributes::with_cells(row, self.winning_cells()))
    }
}

impl<'a> RowAttributes<'a> {
    /// Returns the attributes of a row with its winning cells.
    fn with_cells(
        (row, stamp): (&'a StoredRow, &'a ElementTimestamp),
        cells: impl Iterator<Item = (&'a StoredCell, &'a ElementTimestamp)>,
    ) -> Self {
        let rest = row.rest.as_deref();
        let mut shown = Self {
            name: &row.name,
            kind: row.kind,
            size: row.size,
            created_at: row.created_at,
            updated_at: row.updated_at,
            mode: rest.and_then(|rest| rest.mode),
            link: rest.and_then(|rest| rest.link.as_deref()),
            blob: rest.and_then(|rest| rest.blob.as_ref()),
            meta: rest.and_then(|rest| rest.meta.as_ref()),
        };
        for (cell, cell_stamp) in cells {
            let is_shown = !matches!(cell.value, FieldValue::Parent(_) | FieldValue::Trashed(_));
            if is_shown && cell_wins((row, stamp), (cell, cell_stamp)) {
                shown.set(&cell.value);
            }
        }
        shown
    }

    fn set(&mut self, value: &'a FieldValue) {
        match value {
            FieldValue::Stat { size, updated_at } => {
                (self.size, self.updated_at) = (*size, *updated_at);
            }
            FieldValue::Mode(mode) => self.mode = *mode,
            FieldValue::Link(link) => self.link = link.as_deref(),
            FieldValue::Blob(blob) => self.blob = blob.as_deref(),
            FieldValue::Meta(meta) => self.meta = meta.as_deref(),
            FieldValue::Name(name) => self.name = name,
            FieldValue::Parent(_)
            | FieldValue::Trashed(_)
            | FieldValue::Removal(_)
            | FieldValue::Purge(_) => (),
        }
    }
}
