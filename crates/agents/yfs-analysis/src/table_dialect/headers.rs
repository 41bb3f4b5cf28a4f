//! Whether the first record of a table has the names of its columns.

use std::collections::HashSet;

use crate::column_kinds::{ColumnKinds, is_digit_code, missing_word};

/// A field of the first record, and the values of its column.
struct ColumnTop<'a> {
    name: &'a str,
    /// What the name would be as a value.
    name_kind: NameKind,
    /// The types of the values below, without empty and missing ones.
    kinds: ColumnKinds,
    n_values: usize,
    rows: &'a [Vec<String>],
    column: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NameKind {
    Empty,
    /// A word for a missing value.
    Missing,
    Word,
    /// A number, date or truth value.
    Value,
}

/// Reports whether the first record names the columns.
///
/// It does if words stand above values that are none, if all fields are words that are no values
/// below, or if the fields that could be values count up or are years that are no values below.
pub(super) fn has_headers(records: &[Vec<String>], is_whole: bool) -> bool {
    let Some((first, rows)) = records.split_first() else { return false };
    let tops: Vec<ColumnTop<'_>> =
        first.iter().enumerate().map(|(column, name)| ColumnTop::new(name, column, rows)).collect();
    let count = |kind| tops.iter().filter(|top| top.name_kind == kind).count();
    let (n_empty, n_values) = (count(NameKind::Empty), count(NameKind::Value));
    let n_words = tops.len() - n_empty - n_values;
    if n_words == 0 {
        return count_from_zero(&tops);
    }
    if rows.is_empty() {
        // Of a record that is longer than the head, the names are all that is known.
        return n_values == 0 || !is_whole;
    }
    let n_above_types = tops.iter().filter(|top| top.is_word_above_values()).count();
    let n_fitting = tops.iter().filter(|top| top.is_value_above_values()).count();
    if n_above_types > n_fitting {
        return true;
    }
    if n_values == 0 {
        return n_above_types > 0 || n_empty <= n_words && are_names(&tops);
    }
    are_numbered(&tops, n_above_types)
}

impl<'a> ColumnTop<'a> {
    fn new(name: &'a str, column: usize, rows: &'a [Vec<String>]) -> Self {
        let name = name.trim();
        let name_kind = match name {
            "" => NameKind::Empty,
            _ if missing_word(name.as_bytes()).is_some() => NameKind::Missing,
            _ if is_digit_code(name.as_bytes()) => NameKind::Value,
            _ if ColumnKinds::of(name.as_bytes()).is_string() => NameKind::Word,
            _ => NameKind::Value,
        };
        let (kinds, n_values) = (ColumnKinds::default(), 0);
        let mut top = Self { name, name_kind, kinds, n_values, rows, column };
        for value in top.values() {
            if missing_word(value.as_bytes()).is_none() {
                top.n_values += 1;
                top.kinds.narrow(value.as_bytes());
            }
        }
        top
    }

    /// Returns the values below that are not empty.
    fn values(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        let column = self.column;
        let fields = self.rows.iter().filter_map(move |row| row.get(column));
        fields.map(|value| value.trim()).filter(|value| !value.is_empty())
    }

    fn is_typed(&self) -> bool {
        self.n_values > 0 && !self.kinds.is_string()
    }

    /// Reports whether the name cannot be a value of the typed column below it.
    fn is_word_above_values(&self) -> bool {
        let can_differ = matches!(self.name_kind, NameKind::Word | NameKind::Value);
        can_differ && self.is_typed() && !self.kinds.allows(self.name.as_bytes())
    }

    /// Reports whether the name is a value like those below it.
    fn is_value_above_values(&self) -> bool {
        self.name_kind == NameKind::Value
            && self.n_values > 0
            && self.kinds.allows(self.name.as_bytes())
    }

    fn number(&self) -> Option<i64> {
        if is_digit_code(self.name.as_bytes()) { None } else { self.name.parse().ok() }
    }
}

/// Reports whether words, some perhaps empty, are names: none of them is a value below, or the
/// whole record comes again, as in tables that were written one after the other.
fn are_names(tops: &[ColumnTop<'_>]) -> bool {
    let named = || tops.iter().filter(|top| top.name_kind == NameKind::Word);
    let is_value = |top: &ColumnTop<'_>| top.values().any(|value| value == top.name);
    let Some(rows) = tops.first().map(|top| top.rows) else { return false };
    let is_repeated = |row: &Vec<String>| {
        row.len() == tops.len() && row.iter().zip(tops).all(|(value, top)| value.trim() == top.name)
    };
    let all: HashSet<&str> = tops.iter().map(|top| top.name).collect();
    let differ = all.len() == tops.len();
    if named().any(is_value) {
        return differ && named().count() == tops.len() && rows.iter().any(is_repeated);
    }
    differ || !tops.iter().any(|top| top.name_kind == NameKind::Missing)
}

/// Reports whether the numbers among names are names, too: they count up or down by one and stand
/// above what is no such number, or are years that are not below.
fn are_numbered(tops: &[ColumnTop<'_>], n_above_types: usize) -> bool {
    let numbered: Vec<&ColumnTop<'_>> =
        tops.iter().filter(|top| top.name_kind == NameKind::Value).collect();
    let numbers: Vec<i64> = numbered.iter().filter_map(|top| top.number()).collect();
    if numbers.len() < numbered.len() {
        return false;
    }
    let steps = |step| numbers.windows(2).all(|pair| pair[1] == pair[0].saturating_add(step));
    let do_count = steps(1) || steps(-1);
    let is_year = |value: &str| value.parse().is_ok_and(|year: i64| (1800..=2100).contains(&year));
    let are_years = numbers.iter().all(|number| (1800..=2100).contains(number));
    let have_years = numbered.iter().any(|top| top.values().next().is_some_and(is_year));
    if are_years && !have_years && (do_count || numbers.len() == 1) {
        return true;
    }
    let are_no_integers = numbered.iter().all(|top| top.n_values > 0 && !top.kinds.is_integer());
    do_count && numbers.len() > 1 && (n_above_types > 0 || are_no_integers)
}

/// Reports whether the fields are an empty one and 0, 1, 2 and so on: pandas' index and the names
/// that it gives to columns without any.
fn count_from_zero(tops: &[ColumnTop<'_>]) -> bool {
    let Some((index, others)) = tops.split_first() else { return false };
    let is_index = index.name_kind == NameKind::Empty
        && index.n_values > 0
        && index.rows.iter().all(|row| row.first().is_some_and(|value| !value.is_empty()));
    let count = (0..).zip(others).all(|(number, top)| top.number() == Some(number));
    is_index && !others.is_empty() && count
}
