//! The facts of databases and tables: SQLite and Parquet.

use super::{HeaderFacts, clean_text, set, u16_be, u32_be, u32_le};

/// Reads the header of an SQLite database.
pub(super) fn describe_sqlite(head: &[u8], size: u64, facts: &mut HeaderFacts) -> Option<()> {
    let page_size = match u16_be(head, 16)? {
        1 => 65_536,
        size => u64::from(size),
    };
    let encoding = match u32_be(head, 56)? {
        2 => "UTF-16LE",
        3 => "UTF-16BE",
        _ => "UTF-8",
    };
    set(facts, "page_size", page_size);
    set(facts, "pages", u32_be(head, 28)?);
    set(facts, "encoding", encoding);
    set(facts, "user_version", u32_be(head, 60)?);
    set(facts, "application_id", u32_be(head, 68)?);
    set(facts, "write_ahead_log", head.get(18) == Some(&2));
    if page_size > 0 && !size.is_multiple_of(page_size) {
        set(facts, "damaged", "the size is no multiple of the page size");
    }
    Some(())
}

/// The most names of columns that are listed.
const MAX_NAMES: usize = 50;

/// The most values that are read of a Parquet file's description.
const MAX_VALUES: usize = 100_000;

/// Reads the description at the end of a Parquet file: rows, columns, writer.
pub(super) fn describe_parquet(tail: &[u8], size: u64, facts: &mut HeaderFacts) -> Option<()> {
    let end = tail.strip_suffix(b"PAR1")?;
    let len = u32_le(end, end.len().checked_sub(4)?)?;
    let footer = &end[..end.len() - 4];
    set(facts, "footer_size", len);
    if u64::from(len) + 12 > size {
        return None;
    }
    // A description that is longer than the tail is not read.
    let Some(start) = footer.len().checked_sub(len as usize) else { return Some(()) };
    let mut reader = ThriftReader { bytes: &footer[start..], n_left: MAX_VALUES };
    let mut field = 0;
    while let Some((id, kind)) = reader.read_field(field)? {
        field = id;
        match (id, kind) {
            (1, ThriftReader::I32) => set(facts, "version", reader.read_signed()?),
            (3, ThriftReader::I64) => set(facts, "rows", reader.read_signed()?),
            (2, ThriftReader::LIST) => describe_schema(&mut reader, facts)?,
            (4, ThriftReader::LIST) => {
                let (kind, len) = reader.read_list()?;
                set(facts, "row_groups", len);
                for _ in 0..len {
                    reader.skip(kind, 0)?;
                }
            }
            (6, ThriftReader::BINARY) => {
                set(facts, "created_by", clean_text(reader.read_bytes()?));
            }
            _ => reader.skip(kind, 0)?,
        }
    }
    Some(())
}

fn describe_schema(reader: &mut ThriftReader<'_>, facts: &mut HeaderFacts) -> Option<()> {
    let (_, len) = reader.read_list()?;
    let (mut names, mut n_columns) = (Vec::new(), 0_u64);
    for index in 0..len {
        let (mut field, mut name, mut n_children) = (0, String::new(), 0);
        while let Some((id, kind)) = reader.read_field(field)? {
            field = id;
            match (id, kind) {
                (4, ThriftReader::BINARY) => name = clean_text(reader.read_bytes()?),
                (5, ThriftReader::I32) => n_children = reader.read_signed()?,
                _ => reader.skip(kind, 0)?,
            }
        }
        // The first element is the root, and those with children are groups.
        if index > 0 && n_children == 0 {
            n_columns += 1;
            if names.len() < MAX_NAMES {
                names.push(name);
            }
        }
    }
    set(facts, "columns", n_columns);
    set(facts, "column_names", names.join(", "));
    Some(())
}

/// A reader of Thrift's compact protocol.
struct ThriftReader<'a> {
    bytes: &'a [u8],
    /// The values that may still be read: a header may state any number of them.
    n_left: usize,
}

impl<'a> ThriftReader<'a> {
    const I32: u8 = 5;
    const I64: u8 = 6;
    const BINARY: u8 = 8;
    const LIST: u8 = 9;

    fn read_byte(&mut self) -> Option<u8> {
        let (byte, rest) = self.bytes.split_first()?;
        self.bytes = rest;
        Some(*byte)
    }

    fn read_number(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.read_byte()?;
            number |= u64::from(byte & 0x7F) << shift;
            if byte & 0x80 == 0 {
                return Some(number);
            }
        }
        None
    }

    fn read_signed(&mut self) -> Option<i64> {
        let number = self.read_number()?;
        Some((number >> 1) as i64 ^ -((number & 1) as i64))
    }

    fn read_bytes(&mut self) -> Option<&'a [u8]> {
        let len = usize::try_from(self.read_number()?).ok()?;
        let (bytes, rest) = self.bytes.split_at_checked(len)?;
        self.bytes = rest;
        Some(bytes)
    }

    /// Reads the header of a field, given the id of the one before; the inner `None` is the end of
    /// the structure.
    #[expect(clippy::option_option, reason = "damaged, the end, or a field")]
    fn read_field(&mut self, before: i64) -> Option<Option<(i64, u8)>> {
        self.n_left = self.n_left.checked_sub(1)?;
        let byte = self.read_byte()?;
        if byte == 0 {
            return Some(None);
        }
        let id = match byte >> 4 {
            0 => self.read_signed()?,
            delta => before + i64::from(delta),
        };
        Some(Some((id, byte & 15)))
    }

    /// Reads the header of a list: the type of its elements, and their number.
    fn read_list(&mut self) -> Option<(u8, u64)> {
        let byte = self.read_byte()?;
        let len = match byte >> 4 {
            15 => self.read_number()?,
            len => u64::from(len),
        };
        Some((byte & 15, len))
    }

    fn skip(&mut self, kind: u8, depth: usize) -> Option<()> {
        const MAX_DEPTH: usize = 16;
        self.n_left = self.n_left.checked_sub(1)?;
        if depth > MAX_DEPTH {
            return None;
        }
        match kind {
            // In a list, a boolean is a byte; in a field, the kind is the value.
            1 | 2 if depth == 0 => (),
            1..=3 => drop(self.read_byte()?),
            4..=6 => drop(self.read_number()?),
            7 => self.bytes = self.bytes.get(8..)?,
            Self::BINARY => drop(self.read_bytes()?),
            Self::LIST | 10 => {
                let (kind, len) = self.read_list()?;
                for _ in 0..len {
                    self.skip(kind, depth + 1)?;
                }
            }
            12 => {
                let mut field = 0;
                while let Some((id, kind)) = self.read_field(field)? {
                    field = id;
                    match kind {
                        1 | 2 => (),
                        _ => self.skip(kind, depth + 1)?,
                    }
                }
            }
            _ => return None,
        }
        Some(())
    }
}
