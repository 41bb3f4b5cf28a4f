//! The statistics of delimited text.
//!
//! # Cost
//!
//! At most [`MAX_COLUMNS`] columns are described, with a sketch of 4 KiB each; of a value, the
//! first [`MAX_FIELD_LEN`] bytes are kept and the rest only enters its hash.

use csv_core::{ReadFieldResult, Reader, ReaderBuilder};

use crate::{
    cardinality::{CardinalitySketch, ValueHasher},
    file_stats::{CsvDataType, CsvStats},
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
    reader: Reader,
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
    n_values: usize,
    /// Which types all values so far have.
    kinds: ColumnKinds,
    sketch: Option<Box<CardinalitySketch>>,
}

#[derive(Debug, Clone, Copy)]
struct ColumnKinds {
    boolean: bool,
    integer: bool,
    float: bool,
    date: bool,
    date_time: bool,
}

impl Default for ColumnKinds {
    fn default() -> Self {
        Self { boolean: true, integer: true, float: true, date: true, date_time: true }
    }
}

impl ColumnKinds {
    fn narrow(&mut self, value: &[u8]) {
        if self.integer {
            self.integer = is_integer(value);
        }
        if self.float {
            self.float = is_float(value);
        }
        if self.boolean {
            let words: [&[u8]; 4] = [b"true", b"false", b"yes", b"no"];
            self.boolean = words.iter().any(|word| value.eq_ignore_ascii_case(word));
        }
        if self.date {
            self.date = is_date(value);
        }
        if self.date_time {
            self.date_time = is_date_time(value);
        }
    }

    fn is_string(self) -> bool {
        !(self.boolean || self.integer || self.float || self.date || self.date_time)
    }

    fn data_type(self) -> CsvDataType {
        match self {
            Self { integer: true, .. } => CsvDataType::Integer,
            Self { float: true, .. } => CsvDataType::Float,
            Self { boolean: true, .. } => CsvDataType::Boolean,
            Self { date: true, .. } => CsvDataType::Date,
            Self { date_time: true, .. } => CsvDataType::DateTime,
            _ => CsvDataType::String,
        }
    }
}

impl CsvPass {
    pub(crate) fn new(delimiter: u8) -> Self {
        Self {
            reader: ReaderBuilder::new().delimiter(delimiter).build(),
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
            self.n_uneven += usize::from(self.column != self.n_columns);
            self.n_records += 1;
            self.column = 0;
        }
        self.len = 0;
        self.is_cut = false;
        self.hasher = ValueHasher::new();
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
        let has_headers = self.has_headers();
        let headers = match has_headers {
            true => self.first.clone(),
            false => (1..=self.first.len()).map(|number| format!("column_{number}")).collect(),
        };
        let mut rows = self.n_records;
        if has_headers {
            rows -= 1;
        } else {
            for (record, value) in self.columns.iter_mut().zip(&self.first) {
                record.add(value.as_bytes(), false, crate::cardinality::hash_of(value.as_bytes()));
            }
            if !self.first.is_empty() {
                self.rows.insert(0, self.first);
                self.rows.truncate(N_SAMPLE_ROWS);
            }
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
            null_counts: self
                .columns
                .iter()
                .map(|record| rows.saturating_sub(record.n_values))
                .collect(),
        }
    }

    /// Reports whether the first record names the columns.
    ///
    /// It does if some name cannot be a value of the typed column below it, or all names are words
    /// that differ or do not occur as values below, or the names that could be values count up, as
    /// years do. Values that stand for a missing one are no names.
    fn has_headers(&self) -> bool {
        let names: Vec<ColumnName<'_>> =
            self.first.iter().map(|name| ColumnName::of(name)).collect();
        let n_words = names.iter().filter(|name| name.kinds.is_string()).count();
        let n_empty = names.iter().filter(|name| name.text.is_empty()).count();
        if names.is_empty() || n_empty == names.len() {
            return false;
        }
        if n_words + n_empty == names.len() && n_empty * 2 <= names.len() {
            return self.are_names(&names) || self.has_names_beside_types(&names);
        }
        let numbers: Vec<i64> = names.iter().filter_map(|name| name.text.parse().ok()).collect();
        let count_up = numbers.windows(2).all(|pair| pair[1] == pair[0].saturating_add(1));
        let are_numbers = n_words + n_empty + numbers.len() == names.len();
        let is_row_of_years = are_numbers && count_up && self.are_years_as_names(&names, &numbers);
        if is_row_of_years {
            return true;
        }
        let fits = |(name, column): &(&ColumnName<'_>, &ColumnRecord)| {
            !name.text.is_empty() && !name.kinds.is_string() && column.allows(name.text)
        };
        let n_fitting = names.iter().zip(&self.columns).filter(fits).count();
        self.has_names_beside_types(&names) && (n_fitting == 0 || are_numbers && count_up)
    }

    /// Reports whether words, some perhaps empty, are names: they differ, or none of them occurs as
    /// a value in the first records.
    fn are_names(&self, names: &[ColumnName<'_>]) -> bool {
        let mut words: Vec<&str> = names.iter().map(|name| name.text).collect();
        words.sort_unstable();
        words.dedup();
        if words.len() == names.len() && words.first() != Some(&"") {
            return true;
        }
        let is_value = names.iter().enumerate().any(|(column, name)| {
            let mut below = self.rows.iter().filter_map(|row| row.get(column));
            !name.text.is_empty() && below.any(|value| value == name.text)
        });
        !is_value && !self.rows.is_empty() && !names.iter().any(ColumnName::is_missing)
    }

    /// Reports whether some name cannot be a value of the column below it.
    fn has_names_beside_types(&self, names: &[ColumnName<'_>]) -> bool {
        names.iter().zip(&self.columns).any(|(name, column)| {
            let is_typed = column.n_values > 0 && !column.kinds.is_string();
            is_typed && !name.text.is_empty() && !name.is_missing() && !column.allows(name.text)
        })
    }

    /// Reports whether numbers are the years of columns: beside a word, and no year stands below
    /// the only one.
    fn are_years_as_names(&self, names: &[ColumnName<'_>], numbers: &[i64]) -> bool {
        let are_years = numbers.iter().all(|number| (1800..=2100).contains(number));
        let has_word = names.iter().any(|name| name.kinds.is_string());
        let is_year =
            |value: &String| value.parse::<i64>().is_ok_and(|value| (1800..=2100).contains(&value));
        let below = names.iter().enumerate().filter(|(_, name)| !name.kinds.is_string());
        let mut below =
            below.filter_map(|(column, _)| self.rows.first().and_then(|row| row.get(column)));
        let is_alone = numbers.len() < 2 && below.any(is_year);
        are_years && has_word && !numbers.is_empty() && !self.rows.is_empty() && !is_alone
    }
}

/// A value of the first record, which may be a name.
struct ColumnName<'a> {
    text: &'a str,
    kinds: ColumnKinds,
}

impl<'a> ColumnName<'a> {
    fn of(text: &'a str) -> Self {
        let mut kinds = ColumnKinds::default();
        kinds.narrow(text.as_bytes());
        Self { text, kinds }
    }

    /// Reports whether the value stands for a missing one.
    fn is_missing(&self) -> bool {
        let missing = ["na", "n/a", "nan", "null", "none", "nil", "-", "?", "."];
        missing.iter().any(|word| self.text.eq_ignore_ascii_case(word))
    }
}

impl ColumnRecord {
    /// Reports whether a value has a type that all values of the column have.
    fn allows(&self, value: &str) -> bool {
        let mut kinds = self.kinds;
        kinds.narrow(value.as_bytes());
        !kinds.is_string()
    }

    fn add(&mut self, value: &[u8], is_cut: bool, hash: u64) {
        if value.is_empty() && !is_cut {
            return;
        }
        self.n_values += 1;
        if !self.kinds.is_string() {
            self.kinds.narrow(if is_cut { b"text" } else { value });
        }
        self.sketch.get_or_insert_with(|| Box::new(CardinalitySketch::new())).add(hash);
    }

    fn data_type(&self) -> CsvDataType {
        if self.n_values == 0 { CsvDataType::Empty } else { self.kinds.data_type() }
    }

    fn cardinality(&self) -> usize {
        self.sketch.as_ref().map_or(0, |sketch| sketch.estimate(self.n_values))
    }
}

fn is_integer(value: &[u8]) -> bool {
    let digits = value.strip_prefix(b"-").or(value.strip_prefix(b"+")).unwrap_or(value);
    !digits.is_empty()
        && digits.len() <= 38
        && digits.iter().all(u8::is_ascii_digit)
        && !is_code(digits)
}

/// Reports whether digits are a code and no number, such as the zip code `02108`: a number would
/// lose its zeros.
fn is_code(digits: &[u8]) -> bool {
    matches!(digits, [b'0', b'0'..=b'9', ..])
}

fn is_float(value: &[u8]) -> bool {
    let is_plain = value.len() <= 64
        && value.iter().all(|byte| matches!(byte, b'0'..=b'9' | b'.' | b'-' | b'+' | b'e' | b'E'));
    let unsigned = value.strip_prefix(b"-").or(value.strip_prefix(b"+")).unwrap_or(value);
    is_plain
        && !is_code(unsigned)
        && std::str::from_utf8(value).is_ok_and(|text| text.parse::<f64>().is_ok())
}

/// Reports whether a value has the form `2026-11-25`.
fn is_date(value: &[u8]) -> bool {
    let [y1, y2, y3, y4, b'-', m1, m2, b'-', d1, d2] = value else { return false };
    let two = |tens: u8, ones: u8| (tens - b'0') * 10 + ones - b'0';
    [y1, y2, y3, y4, m1, m2, d1, d2].iter().all(|digit| digit.is_ascii_digit())
        && (1..=12).contains(&two(*m1, *m2))
        && (1..=31).contains(&two(*d1, *d2))
}

/// Reports whether a value has the form `2026-11-25T06:10`, with seconds and a zone or without.
fn is_date_time(value: &[u8]) -> bool {
    let Some((date, rest)) = value.split_at_checked(10) else { return false };
    let [b'T' | b' ', h1, h2, b':', m1, m2, rest @ ..] = rest else { return false };
    is_date(date)
        && [h1, h2, m1, m2].iter().all(|digit| digit.is_ascii_digit())
        && rest.iter().all(|byte| byte.is_ascii_digit() || b":.+-Z ".contains(byte))
}

/// Returns the delimiter that splits the first lines of a text most evenly, if one does.
///
/// A table has at least two columns in at least two records. Of a text that is named as a table,
/// half of the records decide.
pub fn find_delimiter(head: &str, is_whole: bool, is_named: bool) -> Option<u8> {
    let (min_records, min_even) = if is_named { (1, 5) } else { (2, 9) };
    let candidates = [b',', b'\t', b';', b'|'];
    let scored = candidates.into_iter().filter_map(|delimiter| {
        let (widths, is_open) = record_widths(head, delimiter, is_whole);
        // Verses and statements end with a delimiter, and have one field.
        let first = *widths.first()?;
        if is_open && first == 2 && !is_named {
            return None;
        }
        let n_even = widths.iter().filter(|width| **width == first).count();
        let is_table =
            first >= 2 && widths.len() >= min_records && n_even * 10 >= widths.len() * min_even;
        is_table.then_some((n_even * first, delimiter))
    });
    // Of two with the same score, the first one in the list.
    let best = scored.rev().max_by_key(|(score, _)| *score).map(|(_, delimiter)| delimiter);
    best.or_else(|| most_frequent(head).filter(|_| is_named))
}

/// Returns the delimiter that the first line has most often, if it has one: records of a table may
/// have any number of fields.
fn most_frequent(head: &str) -> Option<u8> {
    let mut counts = [(b',', 0_usize), (b';', 0), (b'\t', 0), (b'|', 0)];
    let mut is_quoted = false;
    for byte in head.lines().next()?.bytes() {
        is_quoted ^= byte == b'"';
        if let Some((_, count)) = counts.iter_mut().find(|(one, _)| *one == byte && !is_quoted) {
            *count += 1;
        }
    }
    // The first one of the most frequent.
    let best = counts.into_iter().rev().max_by_key(|(_, count)| *count);
    best.filter(|(_, count)| *count > 0).map(|(byte, _)| byte)
}

/// Returns the numbers of fields of the first complete records, and whether the last field of
/// nearly all of them is empty.
fn record_widths(head: &str, delimiter: u8, is_whole: bool) -> (Vec<usize>, bool) {
    const MAX_RECORDS: usize = 100;
    let mut reader = ReaderBuilder::new().delimiter(delimiter).build();
    let (mut field, mut widths, mut width) = ([0; 1_024], Vec::new(), 0);
    let (mut n_open, mut len) = (0, 0);
    let mut input = head.as_bytes();
    while widths.len() < MAX_RECORDS {
        let (result, n_read, n_written) = reader.read_field(input, &mut field);
        input = &input[n_read..];
        len += n_written;
        match result {
            ReadFieldResult::Field { record_end } => {
                width += 1;
                if record_end {
                    n_open += usize::from(len == 0);
                    widths.push(width);
                    width = 0;
                }
                len = 0;
            }
            ReadFieldResult::OutputFull => (),
            // Reading on without input ends the last record.
            ReadFieldResult::InputEmpty if is_whole => (),
            ReadFieldResult::InputEmpty | ReadFieldResult::End => break,
        }
    }
    let is_open = n_open + widths.len() / 10 >= widths.len();
    (widths, is_open)
}
