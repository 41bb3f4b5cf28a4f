//! The statistics of delimited text.
//!
//! # Cost
//!
//! At most [`MAX_COLUMNS`] columns are described, with a sketch of 4 KiB each; of a value, the
//! first [`MAX_FIELD_LEN`] bytes are kept and the rest only enters its hash.

use csv_core::{ReadFieldResult, Reader};

use crate::{
    cardinality::{CardinalitySketch, ValueHasher},
    column_kinds::{ColumnKinds, missing_word},
    file_stats::{CsvDataType, CsvStats},
    table_dialect::TableDialect,
};

/// The most columns that are described.
pub(crate) const MAX_COLUMNS: usize = 4_096;

/// The most bytes of a field that are kept.
const MAX_FIELD_LEN: usize = 4_096;

/// The most records in [`CsvStats::sample_values`], and bytes of them.
const N_SAMPLE_ROWS: usize = 10;

const MAX_SAMPLE_LEN: usize = 64 * 1024;

/// The bytes that a sample keeps of a value that was cut.
const MAX_SAMPLE_LEN_OF_VALUE: usize = 512;

/// The characters of a value in a sample.
const MAX_SAMPLE_CHARS: usize = 100;

/// The pass over delimited text.
#[derive(Debug)]
pub(crate) struct CsvPass {
    dialect: TableDialect,
    reader: Reader,
    /// The number of records before the table that are still to come.
    n_before: usize,
    field: Box<[u8]>,
    len: usize,
    is_cut: bool,
    /// The beginning of the current field, if it was cut.
    beginning: Box<[u8]>,
    hasher: ValueHasher,
    /// The index of the current field in its record.
    column: usize,
    n_records: usize,
    /// The number of fields of the first record.
    n_columns: usize,
    n_uneven: usize,
    columns: Vec<ColumnRecord>,
    first: Vec<String>,
    rows: Vec<Vec<String>>,
    sample_len: usize,
    has_text: bool,
}

#[derive(Debug, Default)]
struct ColumnRecord {
    /// The number of values that are not empty.
    n_values: usize,
    /// The number of those that are words for a missing value.
    n_missing: usize,
    /// Which of these words occur, a bit for each.
    missing_words: u32,
    /// Which types all other values so far have.
    kinds: ColumnKinds,
    sketch: Option<Box<CardinalitySketch>>,
}

impl CsvPass {
    pub(crate) fn new(dialect: TableDialect) -> Self {
        Self {
            dialect,
            reader: dialect.reader(),
            n_before: dialect.n_before,
            field: vec![0; MAX_FIELD_LEN].into(),
            len: 0,
            is_cut: false,
            beginning: Box::default(),
            hasher: ValueHasher::new(),
            column: 0,
            n_records: 0,
            n_columns: 0,
            n_uneven: 0,
            columns: Vec::new(),
            first: Vec::new(),
            rows: Vec::new(),
            sample_len: 0,
            has_text: false,
        }
    }

    pub(crate) fn push(&mut self, text: &str) {
        self.has_text |= !text.is_empty();
        let mut input = text.as_bytes();
        while !input.is_empty() {
            input = &input[self.read(input)..];
        }
    }

    /// Reads up to the end of a field; returns how many bytes were read.
    fn read(&mut self, input: &[u8]) -> usize {
        let (result, n_read, n_written) =
            self.reader.read_field(input, &mut self.field[self.len..]);
        self.len += n_written;
        match result {
            ReadFieldResult::InputEmpty => (),
            ReadFieldResult::OutputFull => {
                self.hasher.add(&self.field[..self.len]);
                if !self.is_cut {
                    self.is_cut = true;
                    self.beginning = self.field[..MAX_SAMPLE_LEN_OF_VALUE].into();
                }
                // The rest of the value only enters the hash.
                self.len = 0;
            }
            ReadFieldResult::Field { record_end } => self.end_field(record_end),
            ReadFieldResult::End => (),
        }
        n_read
    }

    fn end_field(&mut self, record_end: bool) {
        if self.n_before > 0 {
            self.n_before -= usize::from(record_end);
        } else {
            self.add_field(record_end);
        }
        self.len = 0;
        self.is_cut = false;
        self.hasher = ValueHasher::new();
    }

    fn add_field(&mut self, record_end: bool) {
        self.hasher.add(&self.field[..self.len]);
        let hash = self.hasher.finish();
        if self.n_records == 0 {
            self.n_columns = self.column + 1;
            if self.column < MAX_COLUMNS {
                let value = self.kept_value();
                self.first.push(value);
                self.columns.push(ColumnRecord::default());
            }
        } else if let Some(record) = self.columns.get_mut(self.column) {
            let is_cut = self.is_cut;
            record.add(&self.field[..self.len], is_cut, hash);
        }
        if (1..=N_SAMPLE_ROWS).contains(&self.n_records) && self.sample_len < MAX_SAMPLE_LEN {
            let value = self.kept_value();
            self.sample_len += value.len() + 1;
            if self.column == 0 {
                self.rows.push(Vec::new());
            }
            if let Some(row) = self.rows.last_mut() {
                row.push(value);
            }
        }
        self.column += 1;
        if record_end {
            if self.n_records == 0 && self.dialect.has_row_names {
                self.n_columns += 1;
                self.column += 1;
                if self.columns.len() < MAX_COLUMNS {
                    self.columns.push(ColumnRecord::default());
                }
            }
            self.n_uneven += usize::from(self.column != self.n_columns);
            self.n_records += 1;
            self.column = 0;
        }
    }

    fn kept_value(&self) -> String {
        let kept = if self.is_cut { &self.beginning } else { &self.field[..self.len] };
        let text = String::from_utf8_lossy(kept);
        match text.char_indices().nth(MAX_SAMPLE_CHARS) {
            Some((end, _)) => format!("{}…", &text[..end]),
            None if self.is_cut => format!("{text}…"),
            None => text.into_owned(),
        }
    }

    pub(crate) fn finish(mut self, notes: &mut Vec<String>) -> CsvStats {
        if self.has_text {
            // The first empty input ends the last record, the second one the table.
            self.read(&[]);
            self.read(&[]);
        }
        let mut headers = self.dialect.column_names(self.first.iter().map(String::as_str));
        headers.truncate(self.columns.len());
        let mut rows = self.n_records;
        if self.dialect.has_headers {
            rows = rows.saturating_sub(1);
        } else {
            for (record, value) in self.columns.iter_mut().zip(&self.first) {
                record.add(value.as_bytes(), false, crate::cardinality::hash_of(value.as_bytes()));
            }
            if !self.first.is_empty() {
                self.rows.insert(0, self.first);
                self.rows.truncate(N_SAMPLE_ROWS);
            }
        }
        let n_before = self.dialect.n_before - self.n_before;
        if n_before > 0 {
            notes.push(format!("the table begins after {n_before} other records"));
        }
        if self.n_columns > MAX_COLUMNS {
            let n_columns = self.n_columns;
            notes.push(format!("only {MAX_COLUMNS} of {n_columns} columns are described"));
        }
        if self.n_uneven > 0 {
            let n_uneven = self.n_uneven;
            notes.push(format!("{n_uneven} records have another number of fields than the first"));
        }
        CsvStats {
            rows,
            columns: self.n_columns,
            headers,
            data_types: self.columns.iter().map(ColumnRecord::data_type).collect(),
            cardinality_per_column: self.columns.iter().map(ColumnRecord::cardinality).collect(),
            sample_values: self.rows,
            null_counts: self.columns.iter().map(|record| record.n_nulls(rows)).collect(),
        }
    }
}

impl ColumnRecord {
    fn add(&mut self, value: &[u8], is_cut: bool, hash: u64) {
        if value.is_empty() && !is_cut {
            return;
        }
        self.n_values += 1;
        self.sketch.get_or_insert_with(|| Box::new(CardinalitySketch::new())).add(hash);
        match missing_word(value).filter(|_| !is_cut) {
            Some(word) => {
                self.n_missing += 1;
                self.missing_words |= 1 << word;
            }
            None if !self.kinds.is_string() => {
                self.kinds.narrow(if is_cut { b"text" } else { value });
            }
            None => (),
        }
    }

    /// Reports whether the values have a type. Then words for a missing value are no values.
    fn is_typed(&self) -> bool {
        self.n_values > self.n_missing && !self.kinds.is_string()
    }

    fn data_type(&self) -> CsvDataType {
        match self.n_values {
            0 => CsvDataType::Empty,
            _ if self.is_typed() => self.kinds.data_type(),
            _ => CsvDataType::String,
        }
    }

    fn n_nulls(&self, n_rows: usize) -> usize {
        let n_missing = if self.is_typed() { self.n_missing } else { 0 };
        n_rows.saturating_sub(self.n_values) + n_missing
    }

    fn cardinality(&self) -> usize {
        let estimate = self.sketch.as_ref().map_or(0, |sketch| sketch.estimate(self.n_values));
        let n_words = if self.is_typed() { self.missing_words.count_ones() } else { 0 };
        estimate.saturating_sub(n_words as usize)
    }
}
