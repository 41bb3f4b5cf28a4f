//! The facts that a Parquet file states at its end: rows, columns with their types, row groups,
//! codecs, sizes, null values.
//!
//! Nothing is decompressed. The names and numbers are those of the format's description of itself,
//! `parquet.thrift`.

use super::{
    HeaderFacts, clean_text, set,
    thrift::{FieldHeader, ThriftReader, ThriftType},
    u32_le,
};

/// The longest description that is read, in bytes.
pub(super) const MAX_FOOTER_LEN: usize = 4 << 20;

/// The most columns that are listed.
const MAX_COLUMNS: usize = 50;

/// The longest path of a column that is listed, in bytes; the names of further groups are left out.
const MAX_PATH_LEN: usize = 500;

/// The codecs by number, up to the last one that is not deprecated.
const CODECS: [&str; 8] =
    ["uncompressed", "snappy", "gzip", "lzo", "brotli", "lz4", "zstd", "lz4_raw"];

/// What a description states.
#[derive(Debug, Default)]
struct ParquetFooter {
    version: Option<i64>,
    rows: Option<i64>,
    created_by: String,
    schema: ParquetSchema,
    groups: RowGroups,
}

/// The columns, in order.
#[derive(Debug, Default)]
struct ParquetSchema {
    n_columns: usize,
    /// The first columns, as `path: type`.
    columns: Vec<String>,
    /// The groups around the next element: how many of their members follow, and the length of the
    /// path before them.
    open_groups: Vec<(i64, usize)>,
    path: String,
}

/// One element of the schema: a column, or a group of them.
#[derive(Debug, Default)]
struct SchemaElement {
    name: String,
    physical: Option<i64>,
    repetition: i64,
    n_children: i64,
    converted: Option<i64>,
    logical: Option<&'static str>,
    scale: i64,
    precision: i64,
}

/// The totals of all row groups.
#[derive(Debug, Default)]
struct RowGroups {
    n_groups: u64,
    /// The codecs that are in use, as bits.
    codecs: u16,
    uncompressed_size: i64,
    /// By column, the number of null values; absent if a row group states none.
    nulls: Vec<Option<i64>>,
}

/// Reads the description at the end of a file; `None` if it is damaged.
pub(super) fn describe_parquet(
    tail: &[u8],
    size: u64,
    facts: &mut HeaderFacts,
    notes: &mut Vec<String>,
) -> Option<()> {
    let end = tail.strip_suffix(b"PAR1")?;
    let len = u32_le(end, end.len().checked_sub(4)?)?;
    let description = &end[..end.len() - 4];
    set(facts, "footer_size", len);
    if u64::from(len) + 12 > size {
        return None;
    }
    let Some(start) = description.len().checked_sub(len as usize) else {
        notes.push(format!("the description of the table has {len} bytes, and is not read"));
        return Some(());
    };
    let footer = ParquetFooter::read(&description[start..])?;
    footer.describe(facts);
    Some(())
}

impl ParquetFooter {
    fn read(bytes: &[u8]) -> Option<Self> {
        let mut footer = Self::default();
        ThriftReader::new(bytes).read_struct(|reader, field| {
            match (field.id, field.kind) {
                (1, ThriftType::I32) => footer.version = Some(reader.read_signed()?),
                (2, ThriftType::List) => {
                    reader.read_list(|reader, kind, index| {
                        footer.schema.read_element(reader, kind, index)
                    })?;
                }
                (3, ThriftType::I64) => footer.rows = Some(reader.read_signed()?),
                (4, ThriftType::List) => {
                    let groups = &mut footer.groups;
                    groups.n_groups =
                        reader.read_list(|reader, kind, _| groups.read_group(reader, kind))?;
                }
                (6, ThriftType::Binary) => footer.created_by = clean_text(reader.read_bytes()?),
                _ => reader.skip_field(field)?,
            }
            Some(())
        })?;
        Some(footer)
    }

    fn describe(&self, facts: &mut HeaderFacts) {
        for (name, value) in [("version", self.version), ("rows", self.rows)] {
            if let Some(value) = value {
                set(facts, name, value);
            }
        }
        if !self.created_by.is_empty() {
            set(facts, "created_by", &self.created_by);
        }
        set(facts, "columns", self.schema.n_columns);
        set(facts, "schema", listed(&self.schema.columns, self.schema.n_columns));
        set(facts, "row_groups", self.groups.n_groups);
        let codecs = CODECS.iter().enumerate();
        let codecs = codecs.filter(|(bit, _)| self.groups.codecs & (1 << bit) != 0);
        let codecs: Vec<&str> = codecs.map(|(_, codec)| *codec).collect();
        if !codecs.is_empty() {
            set(facts, "compression", codecs.join(", "));
            set(facts, "uncompressed_size", self.groups.uncompressed_size);
        }
        // A column of a list has other values than rows, and its count says less.
        let nulls = self.schema.columns.iter().zip(&self.groups.nulls);
        let nulls = nulls.filter_map(|(column, n_nulls)| {
            let name = column.rsplit_once(": ")?.0;
            n_nulls.filter(|n_nulls| *n_nulls > 0).map(|n_nulls| format!("{name}: {n_nulls}"))
        });
        let nulls: Vec<String> = nulls.collect();
        if !nulls.is_empty() {
            set(facts, "null_values", nulls.join(", "));
        }
    }
}

/// Returns the first items as a list that says how many more there are.
fn listed(items: &[String], n_items: usize) -> String {
    let mut text = items.join(", ");
    if n_items > items.len() {
        text.push_str(&format!(", … {} more", n_items - items.len()));
    }
    text
}

impl ParquetSchema {
    fn read_element(
        &mut self,
        reader: &mut ThriftReader<'_>,
        kind: ThriftType,
        index: u64,
    ) -> Option<()> {
        let mut element = SchemaElement::default();
        if kind != ThriftType::Struct {
            return None;
        }
        reader.read_struct(|reader, field| element.read_field(reader, field))?;
        // The first element is the root, whose name says nothing.
        if index > 0 {
            self.add(&element);
        }
        Some(())
    }

    fn add(&mut self, element: &SchemaElement) {
        let before = self.path.len();
        if before + element.name.len() < MAX_PATH_LEN {
            if !self.path.is_empty() {
                self.path.push('.');
            }
            self.path.push_str(&element.name);
        }
        if element.n_children > 0 {
            self.open_groups.push((element.n_children, before));
            return;
        }
        self.n_columns += 1;
        if self.columns.len() < MAX_COLUMNS {
            self.columns.push(format!("{}: {}", self.path, element.type_words()));
        }
        self.path.truncate(before);
        while let Some((n_children, start)) = self.open_groups.last_mut() {
            *n_children -= 1;
            if *n_children > 0 {
                break;
            }
            self.path.truncate(*start);
            self.open_groups.pop();
        }
    }
}

impl SchemaElement {
    fn read_field(&mut self, reader: &mut ThriftReader<'_>, field: FieldHeader) -> Option<()> {
        match (field.id, field.kind) {
            (1, ThriftType::I32) => self.physical = Some(reader.read_signed()?),
            (3, ThriftType::I32) => self.repetition = reader.read_signed()?,
            (4, ThriftType::Binary) => self.name = clean_text(reader.read_bytes()?),
            (5, ThriftType::I32) => self.n_children = reader.read_signed()?,
            (6, ThriftType::I32) => self.converted = Some(reader.read_signed()?),
            (7, ThriftType::I32) => self.scale = reader.read_signed()?,
            (8, ThriftType::I32) => self.precision = reader.read_signed()?,
            // A union: the one field that is set is the type.
            (10, ThriftType::Struct) => reader.read_struct(|reader, field| {
                self.logical = logical_type(field.id);
                reader.skip_field(field)
            })?,
            _ => reader.skip_field(field)?,
        }
        Some(())
    }

    /// Returns the type in words: with `?` if values may be absent, with `[]` if it is a list.
    fn type_words(&self) -> String {
        let meaning = self.converted.and_then(converted_type).or(self.logical);
        let mut words = match meaning.or(self.physical.and_then(physical_type)) {
            Some("decimal") => format!("decimal({}, {})", self.precision, self.scale),
            known => known.unwrap_or("unknown").to_owned(),
        };
        words.push_str(match self.repetition {
            1 => "?",
            2 => "[]",
            _ => "",
        });
        words
    }
}

fn physical_type(number: i64) -> Option<&'static str> {
    const TYPES: [&str; 8] =
        ["boolean", "int32", "int64", "int96", "float", "double", "bytes", "fixed bytes"];
    TYPES.get(usize::try_from(number).ok()?).copied()
}

/// Returns the type of the older notation, which states the width and sign of whole numbers.
fn converted_type(number: i64) -> Option<&'static str> {
    const TYPES: [&str; 22] = [
        "string",
        "map",
        "map",
        "list",
        "enum",
        "decimal",
        "date",
        "time",
        "time",
        "timestamp",
        "timestamp",
        "uint8",
        "uint16",
        "uint32",
        "uint64",
        "int8",
        "int16",
        "int32",
        "int64",
        "json",
        "bson",
        "interval",
    ];
    TYPES.get(usize::try_from(number).ok()?).copied()
}

/// Returns the type of the newer notation. Whole numbers are left to the other ones.
fn logical_type(id: i16) -> Option<&'static str> {
    Some(match id {
        1 => "string",
        2 => "map",
        3 => "list",
        4 => "enum",
        5 => "decimal",
        6 => "date",
        7 => "time",
        8 => "timestamp",
        11 => "null",
        12 => "json",
        13 => "bson",
        14 => "uuid",
        15 => "float16",
        16 => "variant",
        17 => "geometry",
        18 => "geography",
        _ => return None,
    })
}

impl RowGroups {
    fn read_group(&mut self, reader: &mut ThriftReader<'_>, kind: ThriftType) -> Option<()> {
        if kind != ThriftType::Struct {
            return None;
        }
        let is_first = self.nulls.is_empty();
        reader.read_struct(|reader, field| {
            match (field.id, field.kind) {
                (1, ThriftType::List) => {
                    reader.read_list(|reader, kind, column| {
                        self.read_column(reader, kind, column, is_first)
                    })?;
                }
                (2, ThriftType::I64) => {
                    let size = reader.read_signed()?;
                    self.uncompressed_size = self.uncompressed_size.saturating_add(size);
                }
                _ => reader.skip_field(field)?,
            }
            Some(())
        })
    }

    fn read_column(
        &mut self,
        reader: &mut ThriftReader<'_>,
        kind: ThriftType,
        column: u64,
        is_first: bool,
    ) -> Option<()> {
        if kind != ThriftType::Struct {
            return None;
        }
        let mut n_nulls = None;
        reader.read_struct(|reader, field| match (field.id, field.kind) {
            (3, ThriftType::Struct) => reader.read_struct(|reader, field| {
                match (field.id, field.kind) {
                    (4, ThriftType::I32) => {
                        let codec = u32::try_from(reader.read_signed()?).ok()?;
                        self.codecs |= 1_u16.checked_shl(codec).unwrap_or(0);
                    }
                    (12, ThriftType::Struct) => n_nulls = read_null_count(reader)?,
                    _ => reader.skip_field(field)?,
                }
                Some(())
            }),
            _ => reader.skip_field(field),
        })?;
        let Some(column) = usize::try_from(column).ok().filter(|column| *column < MAX_COLUMNS)
        else {
            return Some(());
        };
        if is_first && self.nulls.len() == column {
            self.nulls.push(n_nulls);
        } else if let Some(total) = self.nulls.get_mut(column) {
            *total = total.zip(n_nulls).map(|(total, n_nulls)| total.saturating_add(n_nulls));
        }
        Some(())
    }
}

/// Reads the statistics of a column in a row group: the number of null values, if it is stated.
#[expect(clippy::option_option, reason = "damaged, or not stated")]
fn read_null_count(reader: &mut ThriftReader<'_>) -> Option<Option<i64>> {
    let mut n_nulls = None;
    reader.read_struct(|reader, field| {
        match (field.id, field.kind) {
            (3, ThriftType::I64) => n_nulls = Some(reader.read_signed()?),
            _ => reader.skip_field(field)?,
        }
        Some(())
    })?;
    Some(n_nulls)
}
