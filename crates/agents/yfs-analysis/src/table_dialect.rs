//! How a table of text is written: its delimiter and quotes, what precedes it, and whether it has
//! names of columns.
//!
//! Statistics and queries read a table by this one decision, which the first bytes make.

mod delimiter;
mod headers;
mod records;

use csv_core::{Reader, ReaderBuilder};

use self::{delimiter::choose_delimiter, headers::has_headers, records::read_records};

/// The most records from which the dialect is detected.
const MAX_RECORDS: usize = 200;

/// The most records that may precede a table.
const MAX_BEFORE: usize = 50;

/// How a table of text is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TableDialect {
    /// The byte between the fields of a record.
    pub delimiter: u8,
    /// The byte around a field that may have delimiters and newlines.
    pub quote: u8,
    /// The number of records before the table: titles and remarks. Empty lines are no records.
    pub n_before: usize,
    /// Whether the first record of the table has the names of the columns.
    pub has_headers: bool,
    /// Whether the first column, of names of rows, has no field in that record, as R writes it.
    pub has_row_names: bool,
}

/// What the name of a file says about its content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TableHint {
    /// Nothing: it is a table only if its records have the same number of fields.
    Unknown,
    /// It is a table with some delimiter.
    Csv,
    /// It is a table, probably with tabs.
    Tsv,
}

impl TableHint {
    /// Returns the delimiter of a table in which none is found.
    fn default_delimiter(self) -> u8 {
        if self == Self::Tsv { b'\t' } else { b',' }
    }
}

impl TableDialect {
    /// Returns the dialect with a delimiter and no more.
    fn new(delimiter: u8) -> Self {
        let (n_before, has_headers, has_row_names) = (0, false, false);
        Self { delimiter, quote: b'"', n_before, has_headers, has_row_names }
    }

    /// Returns a reader of the records, with those before the table.
    pub fn reader(&self) -> Reader {
        ReaderBuilder::new().delimiter(self.delimiter).quote(self.quote).build()
    }

    /// Returns the names of the columns, by the first record of the table: each is unique, without
    /// spaces around it, and `column_3` if it would be empty. A second `open` is `open_3` in the
    /// third column.
    pub fn column_names<'a>(&self, first: impl Iterator<Item = &'a str>) -> Vec<String> {
        let mut known = std::collections::HashSet::new();
        let above = std::iter::repeat_n("", usize::from(self.has_headers && self.has_row_names));
        let fields = above.chain(first).enumerate();
        let names = fields.map(|(at, field)| {
            let mut name = if self.has_headers { field.trim() } else { "" }.to_owned();
            if name.is_empty() {
                name = format!("column_{}", at + 1);
            }
            while !known.insert(name.clone()) {
                name = format!("{name}_{}", at + 1);
            }
            name
        });
        names.collect()
    }
}

/// Detects the dialect of a table from the beginning of its text. `is_whole` says that this is the
/// whole text. Returns `None` for a text of unknown name that is no table.
pub(crate) fn detect_table(head: &str, is_whole: bool, hint: TableHint) -> Option<TableDialect> {
    let mut dialect = match choose_delimiter(head, is_whole, hint) {
        Some(dialect) => dialect,
        None if hint == TableHint::Unknown => return None,
        None => TableDialect::new(hint.default_delimiter()),
    };
    if has_single_quotes(head, dialect.delimiter) {
        dialect.quote = b'\'';
    }
    let records = read_records(head, &dialect, is_whole);
    if !dialect.has_row_names {
        dialect.n_before += n_sparse(&records[dialect.n_before.min(records.len())..]);
    }
    let table = &records[dialect.n_before.min(records.len())..];
    dialect.has_headers = dialect.has_row_names || has_headers(table, is_whole);
    Some(dialect)
}

/// Reports whether all fields of the first line are in single quotes.
fn has_single_quotes(head: &str, delimiter: u8) -> bool {
    let line = head.lines().next().unwrap_or_default();
    let is_quoted = |field: &str| {
        let field = field.trim();
        field.len() >= 2 && field.starts_with('\'') && field.ends_with('\'')
    };
    line.split(char::from(delimiter)).all(is_quoted)
}

/// Returns the number of records at the beginning with one value or none, such as a title, of a
/// table whose records have more. If one further below has as few, they are records like others.
fn n_sparse(records: &[Vec<String>]) -> usize {
    let n_values =
        |record: &Vec<String>| record.iter().filter(|field| !field.trim().is_empty()).count();
    let mut counts: Vec<usize> = records.iter().map(n_values).collect();
    counts.sort_unstable();
    let is_wide = counts.get(counts.len() / 2).is_some_and(|median| *median >= 3);
    let n_sparse = records.iter().take_while(|record| n_values(record) <= 1).count();
    let is_usual = records[n_sparse..].iter().any(|record| n_values(record) <= 1);
    if is_wide && !is_usual && n_sparse <= MAX_BEFORE { n_sparse } else { 0 }
}
