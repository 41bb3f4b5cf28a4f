//! The types of values of delimited text, and the words that stand for a missing value.

use crate::file_stats::CsvDataType;

/// Words for a missing value, in lower case: of R, pandas, SQL, SAS and the UCI repository.
const MISSING_WORDS: [&[u8]; 14] = [
    b"", b"na", b"n/a", b"#n/a", b"<na>", b"n.a.", b"nan", b"null", b"none", b"nil", b"\\n", b".",
    b"-", b"?",
];

/// The types that all values of a column have.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ColumnKinds {
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
    /// Returns the types of one value.
    pub(crate) fn of(value: &[u8]) -> Self {
        let mut kinds = Self::default();
        kinds.narrow(value);
        kinds
    }

    /// Removes the types that a value does not have. Spaces around the value do not count.
    pub(crate) fn narrow(&mut self, value: &[u8]) {
        let value = value.trim_ascii();
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

    /// Reports whether no type but that of any text is left.
    pub(crate) fn is_string(self) -> bool {
        !(self.boolean || self.integer || self.float || self.date || self.date_time)
    }

    /// Reports whether all values are whole numbers.
    pub(crate) fn is_integer(self) -> bool {
        self.integer
    }

    /// Reports whether a value has a type that is left.
    pub(crate) fn allows(mut self, value: &[u8]) -> bool {
        self.narrow(value);
        !self.is_string()
    }

    pub(crate) fn data_type(self) -> CsvDataType {
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

/// Returns the number of the word for a missing value that a value is, below 32.
pub(crate) fn missing_word(value: &[u8]) -> Option<usize> {
    let value = value.trim_ascii();
    MISSING_WORDS.iter().position(|word| value.eq_ignore_ascii_case(word))
}

/// Reports whether a value is digits that a number would change, such as the zip code `02108`.
/// A column with such a value is text.
pub fn is_digit_code(value: &[u8]) -> bool {
    let digits = unsigned(value.trim_ascii());
    is_code(digits) && digits.iter().all(|byte| matches!(byte, b'0'..=b'9' | b'.'))
}

fn unsigned(value: &[u8]) -> &[u8] {
    value.strip_prefix(b"-").or(value.strip_prefix(b"+")).unwrap_or(value)
}

fn is_code(digits: &[u8]) -> bool {
    matches!(digits, [b'0', b'0'..=b'9', ..])
}

fn is_integer(value: &[u8]) -> bool {
    let digits = unsigned(value);
    !digits.is_empty()
        && digits.len() <= 38
        && digits.iter().all(u8::is_ascii_digit)
        && !is_code(digits)
}

fn is_float(value: &[u8]) -> bool {
    let digits = unsigned(value);
    if digits.eq_ignore_ascii_case(b"inf") || digits.eq_ignore_ascii_case(b"infinity") {
        return true;
    }
    let is_plain = value.len() <= 64
        && value.iter().all(|byte| matches!(byte, b'0'..=b'9' | b'.' | b'-' | b'+' | b'e' | b'E'));
    is_plain
        && !is_code(digits)
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
