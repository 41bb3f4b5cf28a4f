//! Documents as values: JSON, tables, YAML, Parquet.

use csv_core::ReadRecordResult;
use jaq_json::{
    Map, Num, Val,
    read::{self, parse_single_num},
};
use saphyr_parser::{Event, Parser, ScalarStyle, StrInput};
use yfs_agent::json_query::DocumentFormat;
use yfs_analysis::{
    TableDialect, TableHint, is_digit_code, json_lexer::find_syntax_error, table_dialect_of,
};

/// The byte order mark that programs of Windows put before UTF-8.
const BOM: &[u8] = b"\xEF\xBB\xBF";

type Result<T> = std::result::Result<T, String>;

/// Returns how the table in a document is written, as its statistics read it, if it is one. The
/// document is as it is stored, not decoded.
pub(super) fn dialect_of(format: DocumentFormat, document: &[u8]) -> Option<TableDialect> {
    match format {
        DocumentFormat::Csv => table_dialect_of(document, TableHint::Csv),
        DocumentFormat::Tsv => table_dialect_of(document, TableHint::Tsv),
        DocumentFormat::Json | DocumentFormat::Yaml | DocumentFormat::Parquet => None,
    }
}

/// Returns the values of a document in UTF-8: those of JSON and YAML, or an object for each row of
/// a table of the given dialect. A build without the feature `parquet` reads no Parquet.
pub(super) fn read_document<'a>(
    format: DocumentFormat,
    dialect: Option<TableDialect>,
    document: &'a [u8],
) -> Box<dyn Iterator<Item = Result<Val>> + 'a> {
    let document = document.strip_prefix(BOM).unwrap_or(document);
    match format {
        DocumentFormat::Json => {
            let values = read::parse_many(document);
            Box::new(values.map(move |value| {
                value.map_err(|error| match find_syntax_error(document) {
                    Some(place) => format!("the document is {place}"),
                    None => format!("the document is not JSON: {error}"),
                })
            }))
        }
        DocumentFormat::Csv | DocumentFormat::Tsv => match dialect {
            Some(dialect) => Box::new(TableReader::new(document, dialect)),
            None => Box::new(std::iter::empty()),
        },
        #[cfg(feature = "parquet")]
        DocumentFormat::Parquet => Box::new(crate::parquet_rows::ParquetRows::new(document)),
        #[cfg(not(feature = "parquet"))]
        DocumentFormat::Parquet => {
            let why = "this build reads no Parquet: it needs `--features full`, which released \
                       builds have";
            Box::new(std::iter::once(Err(why.to_owned())))
        }
        DocumentFormat::Yaml => match std::str::from_utf8(document) {
            Ok(text) => Box::new(YamlReader::new(text)),
            Err(_) => Box::new(std::iter::once(Err("the document is not UTF-8".to_owned()))),
        },
    }
}

/// Reads the rows of a table as objects, whose keys are the names of the columns.
struct TableReader<'a> {
    rows: RowReader<'a>,
    names: Vec<Val>,
    /// Whether a column has digits that a number would change, so that all of it is text.
    are_codes: Vec<bool>,
}

/// Reads the rows of a table as cells.
struct RowReader<'a> {
    reader: csv_core::Reader,
    rest: &'a [u8],
    cells: Vec<u8>,
    ends: Vec<usize>,
}

impl<'a> TableReader<'a> {
    fn new(document: &'a [u8], dialect: TableDialect) -> Self {
        // A clone of a reader of `csv-core` does not know when a record ends, so each is made anew.
        let mut rows = RowReader::new(document, dialect);
        let first = rows.next().unwrap_or_default();
        if !dialect.has_headers {
            rows = RowReader::new(document, dialect);
        }
        let first: Vec<_> = first.iter().map(|name| String::from_utf8_lossy(name)).collect();
        let names = dialect.column_names(first.iter().map(AsRef::as_ref));
        let mut are_codes = vec![false; names.len()];
        let n_headers = usize::from(dialect.has_headers);
        for cells in RowReader::new(document, dialect).skip(n_headers) {
            for (is_code, cell) in are_codes.iter_mut().zip(&cells) {
                *is_code |= is_digit_code(cell);
            }
        }
        let names = names.into_iter().map(|name| Val::utf8_str(name.into_bytes())).collect();
        Self { rows, names, are_codes }
    }
}

impl<'a> RowReader<'a> {
    /// Makes a reader of the rows of the table, without what precedes it.
    fn new(document: &'a [u8], dialect: TableDialect) -> Self {
        let (cells, ends) = (vec![0; 4 << 10], vec![0; 64]);
        let mut rows = Self { reader: dialect.reader(), rest: document, cells, ends };
        for _ in 0..dialect.n_before {
            rows.next();
        }
        rows
    }
}

impl Iterator for RowReader<'_> {
    type Item = Vec<Vec<u8>>;

    fn next(&mut self) -> Option<Self::Item> {
        let (mut n_bytes, mut n_cells) = (0, 0);
        loop {
            let (result, n_read, n_written, n_ended) = self.reader.read_record(
                self.rest,
                &mut self.cells[n_bytes..],
                &mut self.ends[n_cells..],
            );
            self.rest = &self.rest[n_read..];
            n_bytes += n_written;
            n_cells += n_ended;
            match result {
                // An empty input tells the reader that the last row has ended.
                ReadRecordResult::InputEmpty => (),
                ReadRecordResult::OutputFull => self.cells.resize(self.cells.len() * 2, 0),
                ReadRecordResult::OutputEndsFull => self.ends.resize(self.ends.len() * 2, 0),
                ReadRecordResult::End => return None,
                ReadRecordResult::Record => {
                    let begins = std::iter::once(0).chain(self.ends.iter().copied());
                    let ends = self.ends[..n_cells].iter().copied();
                    let cells =
                        begins.zip(ends).map(|(begin, end)| self.cells[begin..end].to_vec());
                    return Some(cells.collect());
                }
            }
        }
    }
}

impl Iterator for TableReader<'_> {
    type Item = Result<Val>;

    fn next(&mut self) -> Option<Self::Item> {
        let cells = self.rows.next()?;
        let n_cells = cells.len();
        while self.names.len() < n_cells {
            let name = format!("column_{}", self.names.len() + 1);
            self.names.push(Val::utf8_str(name.into_bytes()));
        }
        let mut row = Map::default();
        for (column, (name, cell)) in self.names.iter().zip(cells).enumerate() {
            let is_code = self.are_codes.get(column).is_some_and(|is_code| *is_code);
            row.insert(name.clone(), cell_value(cell, is_code));
        }
        for name in self.names.iter().skip(n_cells) {
            row.insert(name.clone(), Val::Null);
        }
        Some(Ok(Val::obj(row)))
    }
}

/// Returns null if the cell is empty, a number if it is one as JSON writes it, with spaces around
/// it or without, and text otherwise. In a column of codes, such as `02108`, all is text.
fn cell_value(cell: Vec<u8>, is_code: bool) -> Val {
    if cell.is_empty() {
        return Val::Null;
    }
    let trimmed = cell.trim_ascii();
    let number = match trimmed.strip_prefix(b"-").unwrap_or(trimmed) {
        [b'0', b'0'..=b'9', ..] => None,
        [b'0'..=b'9', ..] if !is_code => parse_single_num(trimmed),
        _ => None,
    };
    number.map_or_else(|| Val::utf8_str(cell), Val::Num)
}

/// Reads the documents of YAML: scalars by its core schema, aliases as what they stand for.
struct YamlReader<'a> {
    parser: Parser<'a, StrInput<'a>>,
    anchors: std::collections::HashMap<usize, Val>,
    has_failed: bool,
}

/// A sequence or mapping whose end has not come yet.
struct OpenNode {
    anchor: usize,
    /// Whether it is a mapping: keys and values by turns.
    is_mapping: bool,
    values: Vec<Val>,
}

impl<'a> YamlReader<'a> {
    fn new(text: &'a str) -> Self {
        let anchors = std::collections::HashMap::new();
        Self { parser: Parser::new_from_str(text), anchors, has_failed: false }
    }

    fn next_document(&mut self) -> Result<Option<Val>> {
        let mut open: Vec<OpenNode> = Vec::new();
        let mut document = None;
        loop {
            let Some(event) = self.parser.next() else { return Ok(document) };
            let (event, _) = event.map_err(|error| format!("the document is not YAML: {error}"))?;
            let (value, anchor) = match event {
                Event::StreamEnd => return Ok(document),
                Event::DocumentEnd => return Ok(Some(document.unwrap_or(Val::Null))),
                Event::DocumentStart(_) => {
                    self.anchors.clear();
                    continue;
                }
                Event::Nothing | Event::StreamStart => continue,
                Event::SequenceStart(anchor, _) => {
                    open.push(OpenNode { anchor, is_mapping: false, values: Vec::new() });
                    continue;
                }
                Event::MappingStart(anchor, _) => {
                    open.push(OpenNode { anchor, is_mapping: true, values: Vec::new() });
                    continue;
                }
                Event::Scalar(text, style, anchor, tag) => {
                    let is_text = style != ScalarStyle::Plain
                        || tag.is_some_and(|tag| tag.suffix.as_str() == "str");
                    let value = if is_text { text_value(&text) } else { plain_scalar(&text) };
                    (value, anchor)
                }
                Event::Alias(anchor) => {
                    let known = self.anchors.get(&anchor).cloned();
                    (known.ok_or("the document is not YAML: an alias has no anchor")?, 0)
                }
                Event::SequenceEnd | Event::MappingEnd => {
                    let node = open.pop().ok_or("the document is not YAML")?;
                    let anchor = node.anchor;
                    (node.close(), anchor)
                }
            };
            if anchor > 0 {
                self.anchors.insert(anchor, value.clone());
            }
            match open.last_mut() {
                Some(above) => above.values.push(value),
                None => document = Some(value),
            }
        }
    }
}

impl OpenNode {
    fn close(self) -> Val {
        if !self.is_mapping {
            return Val::Arr(std::rc::Rc::new(self.values));
        }
        let mut members = Map::default();
        let mut values = self.values.into_iter();
        while let Some(key) = values.next() {
            members.insert(key, values.next().unwrap_or_default());
        }
        Val::obj(members)
    }
}

impl Iterator for YamlReader<'_> {
    type Item = Result<Val>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.has_failed {
            return None;
        }
        let next = self.next_document().transpose();
        self.has_failed = matches!(next, Some(Err(_)));
        next
    }
}

fn text_value(text: &str) -> Val {
    Val::utf8_str(text.to_owned().into_bytes())
}

/// Returns the value of a scalar without quotes, by the core schema of YAML 1.2.
fn plain_scalar(text: &str) -> Val {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Val::Null,
        "true" | "True" | "TRUE" => return Val::Bool(true),
        "false" | "False" | "FALSE" => return Val::Bool(false),
        ".nan" | ".NaN" | ".NAN" => return Val::Num(Num::Float(f64::NAN)),
        ".inf" | ".Inf" | ".INF" | "+.inf" => return Val::Num(Num::Float(f64::INFINITY)),
        "-.inf" | "-.Inf" | "-.INF" => return Val::Num(Num::Float(f64::NEG_INFINITY)),
        _ => (),
    }
    let radix = |digits: &str, radix| Num::from_str_radix(digits, radix);
    let prefixed = match text.get(..2) {
        Some("0x") => radix(&text[2..], 16),
        Some("0o") => radix(&text[2..], 8),
        _ => None,
    };
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let is_number = unsigned.starts_with(|c: char| c.is_ascii_digit() || c == '.')
        && unsigned
            .bytes()
            .all(|byte| matches!(byte, b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-'));
    let decimal = || {
        if !is_number {
            return None;
        }
        let exact = parse_single_num(text.as_bytes());
        // YAML allows what JSON does not: `+1`, `1.`, `.5`, `007`.
        exact
            .or_else(|| text.parse::<isize>().ok().map(Num::Int))
            .or_else(|| text.parse::<f64>().ok().map(Num::Float))
    };
    prefixed.or_else(decimal).map_or_else(|| text_value(text), Val::Num)
}
