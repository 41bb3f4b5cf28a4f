//! The delimiter of a table, and the records before it.

use super::{
    MAX_BEFORE, TableDialect, TableHint,
    headers::has_headers,
    records::{RecordWidths, read_records, record_widths},
};
use crate::column_kinds::ColumnKinds;

/// The bytes that may stand between fields. Of two with the same score, the first one counts.
const DELIMITERS: [u8; 4] = [b',', b'\t', b';', b'|'];

/// Returns the delimiter that splits the first records of a text most evenly, if one does, and
/// what precedes the table.
///
/// A table has at least two columns in at least two records. Of a text that is named as a table,
/// half of the records decide, other records may precede it, and spaces may be between its fields.
pub(super) fn choose_delimiter(
    head: &str,
    is_whole: bool,
    hint: TableHint,
) -> Option<TableDialect> {
    let found = DELIMITERS.map(|delimiter| {
        let dialect = TableDialect::new(delimiter);
        (dialect, record_widths(head, &dialect, is_whole))
    });
    let is_named = hint != TableHint::Unknown;
    let even = found.iter().rev().filter_map(|(dialect, widths)| {
        let score = even_score(widths, is_named)?;
        let is_preferred = hint == TableHint::Tsv && dialect.delimiter == b'\t';
        Some(((is_preferred, score), *dialect))
    });
    let even = even.max_by_key(|(score, _)| *score).map(|(_, dialect)| dialect);
    if !is_named {
        return even.filter(|dialect| is_tabular(head, dialect.delimiter));
    }
    let late = || {
        let late = found
            .iter()
            .rev()
            .filter_map(|(dialect, widths)| late_table(head, *dialect, &widths.widths, is_whole));
        late.max_by_key(|(score, _)| *score).map(|(_, dialect)| dialect)
    };
    let ragged = || most_frequent(head).map(TableDialect::new);
    even.or_else(late).or_else(|| split_by_spaces(head, is_whole)).or_else(ragged)
}

/// Returns how many fields the records have that have as many as the first one; `None` if these are
/// no table.
fn even_score(found: &RecordWidths, is_named: bool) -> Option<usize> {
    let (min_records, min_even) = if is_named { (1, 5) } else { (2, 9) };
    let first = *found.widths.first()?;
    // Verses and statements end with a delimiter, and have one field.
    if found.is_open && first == 2 && !is_named {
        return None;
    }
    let n_records = found.widths.len();
    let n_even = found.widths.iter().filter(|width| **width == first).count();
    let is_table = first >= 2 && n_records >= min_records && n_even * 10 >= n_records * min_even;
    is_table.then_some(n_even * first)
}

/// Returns the dialect of a table whose first record has fewer fields than the others, with its
/// score: narrower records precede it, or its first record names all columns but that of the names
/// of rows.
fn late_table(
    head: &str,
    mut dialect: TableDialect,
    widths: &[usize],
    is_whole: bool,
) -> Option<(usize, TableDialect)> {
    let count = |width: usize| widths.iter().filter(|other| **other == width).count();
    let width = *widths.iter().max_by_key(|width| (count(**width), **width))?;
    let begin = widths.iter().position(|other| *other >= width)?;
    let n_even = count(width);
    let is_table = width >= 2 && n_even >= 2 && n_even * 10 >= (widths.len() - begin) * 7;
    if !is_table || begin == 0 || begin > MAX_BEFORE {
        return None;
    }
    dialect.n_before = begin;
    if widths[begin - 1] + 1 == width {
        let records = read_records(head, &dialect, is_whole);
        let (names, rows) = (&records[begin - 1], &records[begin..]);
        let is_open = rows.iter().all(|row| row.last().is_none_or(String::is_empty));
        if is_open {
            dialect.n_before -= 1;
        } else if are_names_of_all_but_one(names, rows, is_whole) {
            (dialect.n_before, dialect.has_row_names) = (begin - 1, true);
        }
    }
    Some((n_even * width, dialect))
}

/// Reports whether a record above a table is words that name all its columns but the first. A
/// single word may be a title: then the table has names of its own.
fn are_names_of_all_but_one(names: &[String], rows: &[Vec<String>], is_whole: bool) -> bool {
    let is_name = |name: &String| {
        let is_word = ColumnKinds::of(name.as_bytes()).is_string();
        is_word && !name.trim().is_empty() && !name.starts_with('#')
    };
    names.iter().all(is_name) && (names.len() > 1 || !has_headers(rows, is_whole))
}

/// Returns the dialect of a table with one space between its fields: most columns have a type, so
/// that it is no text of words.
fn split_by_spaces(head: &str, is_whole: bool) -> Option<TableDialect> {
    let dialect = TableDialect::new(b' ');
    let found = record_widths(head, &dialect, is_whole);
    let first = *found.widths.first()?;
    let n_even = found.widths.iter().filter(|width| **width == first).count();
    let is_even = first >= 2 && found.widths.len() >= 2 && n_even * 10 >= found.widths.len() * 9;
    let dialect = match is_even {
        true => dialect,
        false => late_table(head, dialect, &found.widths, is_whole)?.1,
    };
    let records = read_records(head, &dialect, is_whole);
    let rows = records.get(dialect.n_before + 1..)?;
    let mut columns = vec![ColumnKinds::default(); rows.first()?.len()];
    for row in rows {
        for (kinds, value) in columns.iter_mut().zip(row) {
            kinds.narrow(value.as_bytes());
        }
    }
    let n_typed = columns.iter().filter(|kinds| !kinds.is_string()).count();
    (n_typed * 2 > columns.len()).then_some(dialect)
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

/// Reports whether a text that a delimiter splits evenly is a table, not prose with commas: each
/// field is short, and the delimiter is not followed by a space.
fn is_tabular(text: &str, delimiter: u8) -> bool {
    let (mut n_delimiters, mut n_spaced, mut n_lines) = (0, 0, 0);
    for line in text.lines().take(100) {
        n_lines += 1;
        for (at, _) in line.bytes().enumerate().filter(|(_, byte)| *byte == delimiter) {
            n_delimiters += 1;
            n_spaced += usize::from(line.as_bytes().get(at + 1) == Some(&b' '));
        }
    }
    n_lines >= 2 && n_delimiters >= n_lines && n_spaced * 2 <= n_delimiters
}
