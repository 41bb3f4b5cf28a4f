//! The kind of an object, read from its record in a checkpoint without decoding the row.

use super::{
    FilesTable, RowAttributes,
    base::{BaseRow, NodeView},
    base_record::ROW,
    format::{MAX_SAFE_INTEGER, RowField},
    row::NodeKind,
};
use crate::{
    id::FileId,
    lib0::{AnyLimits, Lib0Reader, skip_any},
};

/// The tags of values: text, object, and those without a length.
const STRING: u8 = 119;
const MAP: u8 = 118;
const FLOAT64: u8 = 123;
const FLOAT32: u8 = 124;
const INT: u8 = 125;
const NULL: u8 = 126;

/// The fields whose cells decide kind and size besides the row.
const DECISIVE: [RowField; 3] = [RowField::Stat, RowField::Link, RowField::Blob];

/// The kind of an object in a listing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListedKind {
    /// A file whose content is in its document.
    File {
        /// Its length in bytes, as its last editor reported it.
        size: u64,
    },
    /// A file whose content is a blob.
    Blob {
        /// Its length in bytes.
        size: u64,
    },
    /// A directory.
    Directory,
    /// A symbolic link.
    Link,
}

/// A row of a base in a listing of kinds.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ListedRow<'a> {
    /// The kind says all.
    Plain(ListedKind),
    /// The row has to be compared with its cells.
    Other(&'a BaseRow),
}

impl ListedKind {
    /// Returns the kind of a row.
    pub fn of(row: &RowAttributes<'_>) -> Self {
        match row.kind {
            NodeKind::Directory => Self::Directory,
            NodeKind::File if row.link.is_some() => Self::Link,
            NodeKind::File => match row.blob {
                Some(blob) => Self::Blob { size: blob.size },
                None => Self::File { size: row.size },
            },
        }
    }

    /// Reads the kind from a record of a checkpoint; `None` if that takes the whole row.
    pub(crate) fn scan(record: &[u8]) -> Option<Self> {
        scan_usual(record).or_else(|| Self::scan_any(record))
    }

    fn scan_any(record: &[u8]) -> Option<Self> {
        let mut reader = Lib0Reader::new(record);
        let n_elements = reader.var_uint().ok()?;
        let mut kind = None;
        for nth in 0..n_elements {
            let tag = reader.u8().ok()?;
            reader.var_uint().ok()?;
            reader.var_uint().ok()?;
            match tag {
                ROW if nth == 0 => kind = Some(scan_element(&mut reader)?),
                // A cell may differ from the row.
                tag if DECISIVE.iter().any(|field| tag == 1 + *field as u8) => return None,
                _ => skip_value(&mut reader)?,
            }
        }
        kind.filter(|_| reader.remaining() == 0)
    }
}

impl FilesTable {
    /// Returns the kind of a row of the base, as it is now.
    pub(crate) fn kind_on(&self, id: &FileId, base: &ListedRow<'_>) -> Option<ListedKind> {
        let changed = self.find(id).map(|ix| NodeView::Changed(self.nodes.get(ix)));
        let view = match (changed, base) {
            (Some(changed), _) => changed,
            (None, ListedRow::Plain(kind)) => return Some(*kind),
            (None, ListedRow::Other(row)) => NodeView::Base(id, row),
        };
        Some(ListedKind::of(&self.attributes_in(view)?))
    }
}

/// Reads the kind from a record as nearly all are: of one element, whose row has the members of a
/// new row in the order in which this program writes them, and no others.
fn scan_usual(record: &[u8]) -> Option<ListedKind> {
    let mut rest = record.strip_prefix(&[1, ROW])?;
    // Client and clock.
    (rest, _) = varint(rest)?;
    (rest, _) = varint(rest)?;
    rest = skip_number(rest.strip_prefix(b"v\x03\x02ts")?)?;
    rest = rest.strip_prefix(b"\x03valv\x08\x02idw")?;
    rest = skip_buffer(rest)?.strip_prefix(b"\x04namew")?;
    rest = skip_buffer(rest)?.strip_prefix(b"\x08parentId")?;
    rest = match rest.split_first()? {
        (&STRING, rest) => skip_buffer(rest)?,
        (&NULL, rest) => rest,
        _ => return None,
    };
    rest = rest.strip_prefix(b"\x04typew")?;
    let (kind, after) = match rest.strip_prefix(b"\x04file") {
        Some(after) => (NodeKind::File, after),
        None => (NodeKind::Directory, rest.strip_prefix(b"\x06folder")?),
    };
    let mut size = Lib0Reader::new(after.strip_prefix(b"\x04size")?);
    let n_bytes = read_size(&mut size)?;
    rest = size.rest().strip_prefix(b"\x09createdAt")?;
    rest = skip_number(rest)?.strip_prefix(b"\x09updatedAt")?;
    rest = skip_number(rest)?.strip_prefix(b"\x09trashedAt")?;
    // Not trashed; then the mark of writers that know cells.
    (rest == b"~\x01cx").then_some(match kind {
        NodeKind::File => ListedKind::File { size: n_bytes },
        NodeKind::Directory => ListedKind::Directory,
    })
}

/// Reads a number of variable length, and returns what follows.
fn varint(bytes: &[u8]) -> Option<(&[u8], u64)> {
    let mut number = 0;
    for (at, byte) in bytes.iter().take(9).enumerate() {
        number |= u64::from(byte & 0x7f) << (7 * at);
        if *byte < 0x80 {
            return Some((&bytes[at + 1..], number));
        }
    }
    None
}

/// Skips a length and so many bytes.
fn skip_buffer(bytes: &[u8]) -> Option<&[u8]> {
    let (rest, len) = varint(bytes)?;
    rest.get(usize::try_from(len).ok()?..)
}

/// Skips a number with its tag.
fn skip_number(bytes: &[u8]) -> Option<&[u8]> {
    match bytes.split_first()? {
        (&FLOAT64, rest) => rest.get(8..),
        (&INT, rest) => varint(rest).map(|(rest, _)| rest),
        _ => None,
    }
}

/// Reads the kind in an element of `table:files`.
fn scan_element(reader: &mut Lib0Reader<'_>) -> Option<ListedKind> {
    let mut kind = None;
    for_each_member(reader, |name, reader| {
        if name != b"val" {
            return skip_value(reader);
        }
        let found = scan_row(reader)?;
        kind.replace(found).is_none().then_some(())
    })?;
    kind
}

fn scan_row(reader: &mut Lib0Reader<'_>) -> Option<ListedKind> {
    let (mut has_name, mut kind, mut has_link, mut size) = (false, None, false, None);
    for_each_member(reader, |name, reader| {
        // A member that occurs twice, or is of another type, is for the code that decodes rows.
        let is_first = match name {
            b"name" => {
                read_bytes(reader)?;
                !std::mem::replace(&mut has_name, true)
            }
            b"type" => {
                let found = match read_bytes(reader)? {
                    b"file" => NodeKind::File,
                    b"folder" => NodeKind::Directory,
                    _ => return None,
                };
                kind.replace(found).is_none()
            }
            b"link" => {
                read_bytes(reader)?;
                !std::mem::replace(&mut has_link, true)
            }
            b"size" => size.replace(read_size(reader)?).is_none(),
            // It has a kind only if it can be read.
            b"blob" => return None,
            _ => return skip_value(reader),
        };
        is_first.then_some(())
    })?;
    let size = size.unwrap_or(0);
    has_name.then_some(match kind? {
        NodeKind::Directory => ListedKind::Directory,
        NodeKind::File if has_link => ListedKind::Link,
        NodeKind::File => ListedKind::File { size },
    })
}

/// Reads a length; `None` if it is no number of a kind that writers of lengths use.
fn read_size(reader: &mut Lib0Reader<'_>) -> Option<u64> {
    let size = match reader.u8().ok()? {
        INT => reader.var_int().ok()? as f64,
        FLOAT32 => f32::from_be_bytes(reader.take(4).ok()?.try_into().ok()?).into(),
        FLOAT64 => f64::from_be_bytes(reader.take(8).ok()?.try_into().ok()?),
        _ => return None,
    };
    (0.0..=MAX_SAFE_INTEGER).contains(&size).then_some(size as u64)
}

/// Calls `each` with the name of each member of an object; it reads the value.
fn for_each_member<'a>(
    reader: &mut Lib0Reader<'a>,
    mut each: impl FnMut(&'a [u8], &mut Lib0Reader<'a>) -> Option<()>,
) -> Option<()> {
    if reader.u8().ok()? != MAP {
        return None;
    }
    for _ in 0..reader.var_uint().ok()? {
        each(reader.buffer().ok()?, reader)?;
    }
    Some(())
}

/// Reads the bytes of a text.
fn read_bytes<'a>(reader: &mut Lib0Reader<'a>) -> Option<&'a [u8]> {
    (reader.u8().ok()? == STRING).then(|| reader.buffer().ok())?
}

/// Skips a value.
fn skip_value(reader: &mut Lib0Reader<'_>) -> Option<()> {
    let mut ahead = reader.clone();
    match ahead.u8().ok()? {
        STRING => drop(ahead.buffer().ok()?),
        FLOAT64 => drop(ahead.take(8).ok()?),
        FLOAT32 => drop(ahead.take(4).ok()?),
        INT => drop(ahead.var_int().ok()?),
        NULL => (),
        _ => {
            skip_any(reader, AnyLimits::default()).ok()?;
            return Some(());
        }
    }
    *reader = ahead;
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        id::{ClientId, ItemId},
        table::{FileRow, base::BaseElement, format::StoredRow, timestamp::ElementTimestamp},
        time::Millis,
    };

    /// Returns the kind in the record of a row that this program wrote, by either way of reading.
    fn scanned(
        kind: NodeKind,
        size: u64,
        link: Option<&str>,
        mode: Option<u32>,
    ) -> Option<ListedKind> {
        let id = FileId::parse("a").unwrap();
        let row = FileRow {
            id: id.clone(),
            name: "a name".into(),
            parent: Some(id.clone()),
            kind,
            size,
            created_at: Millis(1_795_296_141_108),
            updated_at: Millis(1_795_296_141_108),
            trashed_at: None,
            mode,
            link: link.map(Into::into),
            blob: None,
            meta: None,
        };
        let item = ItemId::new(ClientId::from_random(7), 3);
        let (stamp, value) = (ElementTimestamp::Finite(7e12), Some(StoredRow::new(&row)));
        let element = BaseElement { id: item, stamp, value };
        let record = BaseRow { row: vec![element], cells: Vec::new() };
        let mut bytes = Vec::new();
        assert!(record.write(&mut bytes, &id));
        let found = ListedKind::scan_any(&bytes);
        let is_usual = link.is_none() && mode.is_none();
        assert_eq!(scan_usual(&bytes), found.filter(|_| is_usual));
        for end in 0..bytes.len() {
            assert_eq!(ListedKind::scan(&bytes[..end]), None, "cut to {end} bytes");
        }
        found
    }

    #[test]
    fn rows_of_this_program_are_not_decoded() {
        let (file, directory) = (NodeKind::File, NodeKind::Directory);
        for (size, mode) in [0, 1, 1000, 1 << 31, (1 << 40) + 1].map(|size| (size, None)) {
            assert_eq!(scanned(file, size, None, mode), Some(ListedKind::File { size }));
            assert_eq!(scanned(file, size, None, Some(0o640)), Some(ListedKind::File { size }));
        }
        assert_eq!(scanned(directory, 0, None, None), Some(ListedKind::Directory));
        assert_eq!(scanned(file, 4, Some("/a/b"), None), Some(ListedKind::Link));
    }
}
