//! The elements of one id as bytes, for a checkpoint.
//!
//! A record is the number of elements, then each: a byte for its field (0 for the row), client and
//! clock of its item as unsigned integers, and the element as a value of lib0, like that of the
//! array without its key. An element that this version cannot read has only its `ts`.

use yrs::Any;

use super::{
    CellSlot, FilesTable,
    base::{BaseElement, BaseRow, NodeView},
    format::{
        ElementView, RowField, StoredCell, StoredRow, read_cell, read_row, write_cell,
        write_member_times, write_object, write_row, write_superseded,
    },
    timestamp::ElementTimestamp,
};
use crate::{
    id::{ClientId, FileId, ItemId},
    lib0::{Lib0Error, Lib0Reader, write_any, write_string, write_var_uint},
};

/// The byte of an element of `table:files`.
pub(super) const ROW: u8 = 0;

impl FilesTable {
    /// Writes the elements of an id; returns false, and writes nothing, if it has none.
    pub(crate) fn write_record(&self, out: &mut Vec<u8>, id: &FileId) -> bool {
        let row = match self.view(id) {
            None => return false,
            Some(NodeView::Base(_, row)) => row.clone(),
            Some(NodeView::Changed(node)) => {
                let rows = self.rows.group(node.row).map(|(_, element)| BaseElement {
                    id: element.id,
                    stamp: element.stamp.clone(),
                    value: element.value.clone(),
                });
                let groups = self.cells.siblings(node.cells).map(|(head, _)| {
                    let group = self.cells.group(head).map(|(_, element)| BaseElement {
                        id: element.id,
                        stamp: element.stamp.clone(),
                        value: element.value.clone(),
                    });
                    group.collect()
                });
                BaseRow { row: rows.collect(), cells: groups.collect() }
            }
        };
        row.write(out, id)
    }
}

impl BaseRow {
    /// Writes the elements; returns false, and writes nothing, if there are none.
    pub(super) fn write(&self, out: &mut Vec<u8>, id: &FileId) -> bool {
        let n_elements = self.row.len() + self.cells.iter().map(Vec::len).sum::<usize>();
        if n_elements == 0 {
            return false;
        }
        write_var_uint(out, n_elements as u64);
        for BaseElement { id: item, stamp, value } in &self.row {
            write_item(out, ROW, *item);
            write_row_value(out, id, value.as_ref(), stamp);
        }
        for BaseElement { id: item, stamp, value } in self.cells.iter().flatten() {
            write_item(out, 1 + value.field as u8, *item);
            write_cell_value(out, value.cell.as_ref(), stamp);
        }
        true
    }

    /// Reads what [`FilesTable::write_record`] wrote.
    ///
    /// # Errors
    ///
    /// If the bytes are no record.
    pub(crate) fn read(bytes: &[u8]) -> Result<Self, Lib0Error> {
        let mut reader = Lib0Reader::new(bytes);
        let mut record = Self::default();
        for _ in 0..reader.var_uint()? {
            record.read_element(&mut reader, bytes)?;
        }
        if reader.remaining() > 0 {
            return Err(Lib0Error::End);
        }
        record.merge_metadata();
        Ok(record)
    }

    /// Returns the items of the elements, and whether each is of `table:files`.
    pub(crate) fn items(&self) -> impl Iterator<Item = (bool, ItemId)> {
        let rows = self.row.iter().map(|element| (true, element.id));
        rows.chain(self.cells.iter().flatten().map(|element| (false, element.id)))
    }

    fn read_element<'a>(
        &mut self,
        reader: &mut Lib0Reader<'a>,
        bytes: &'a [u8],
    ) -> Result<(), Lib0Error> {
        let tag = reader.u8()?;
        let client = ClientId::new(reader.var_uint()?).map_err(|_| Lib0Error::Number)?;
        let id = ItemId::new(client, reader.var_u32()?);
        let members = ElementView::read(bytes, reader)?;
        let stamp = ElementTimestamp::of(members.ts);
        if tag == ROW {
            self.row.push(BaseElement { id, stamp, value: read_row(&members) });
            return Ok(());
        }
        let field = *RowField::ALL.get(usize::from(tag) - 1).ok_or(Lib0Error::Number)?;
        let value = CellSlot::new(field, read_cell(field, &members));
        let element = BaseElement { id, stamp, value };
        match self.cells.iter_mut().find(|group| group[0].value.field == field) {
            Some(group) => group.push(element),
            None => self.cells.push(vec![element]),
        }
        Ok(())
    }
}

fn write_item(out: &mut Vec<u8>, tag: u8, item: ItemId) {
    out.push(tag);
    write_var_uint(out, item.client.get());
    write_var_uint(out, u64::from(item.clock));
}

fn write_row_value(
    out: &mut Vec<u8>,
    id: &FileId,
    row: Option<&StoredRow>,
    stamp: &ElementTimestamp,
) {
    let is_aware = row.is_some_and(|row| row.aware);
    write_object(out, 1 + usize::from(row.is_some()) + usize::from(is_aware));
    write_stamp(out, stamp);
    if let Some(row) = row {
        write_string(out, "val");
        write_row(out, id, row);
    }
    if is_aware {
        write_string(out, "c");
        write_any(out, &Any::Bool(true));
    }
}

fn write_cell_value(out: &mut Vec<u8>, cell: Option<&StoredCell>, stamp: &ElementTimestamp) {
    let has_times = cell.is_some_and(|cell| !cell.member_times.is_empty());
    write_object(out, 1 + 2 * usize::from(cell.is_some()) + usize::from(has_times));
    write_stamp(out, stamp);
    if let Some(cell) = cell {
        write_string(out, "val");
        write_cell(out, cell);
        write_string(out, "o");
        write_superseded(out, cell);
        if has_times {
            write_string(out, "k");
            write_member_times(out, cell);
        }
    }
}

fn write_stamp(out: &mut Vec<u8>, stamp: &ElementTimestamp) {
    write_string(out, "ts");
    write_any(out, &stamp.to_any());
}
