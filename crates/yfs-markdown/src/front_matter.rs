//! YAML at the top of a file: found, read as JavaScript reads it, and changed key by key.
//!
//! Editors share front matter as a map. The text of the file is more than the map: comments, order, quotes. So the
//! text is kept beside the map as a template, and what is written is the template with the keys replaced that differ.
//! A template that is out of date costs formatting and nothing else, for the map decides.
//!
//! # Invariants
//!
//! - The parts that [`split`] returns are the text, byte for byte.
//! - [`patch`] of a template with its own values is the template.
//! - What [`patch`] returns reads as the values that were given, whatever the template says.
//! - Text over [`MAX_LEN`], nested deeper than [`MAX_DEPTH`], or with aliases is kept as it is and not read: no
//!   text is larger as a map than a few times itself.

mod emit;
mod read;
mod scalar;
#[cfg(test)]
mod tests;

use smol_str::SmolStr;
use thiserror::Error;

pub use emit::write;
pub use read::{YamlMapping, read};

use crate::tree::AttributeValue;

/// How long YAML may be that is read, in bytes.
pub const MAX_LEN: usize = 64 * 1024;
/// How deep its values may nest.
pub const MAX_DEPTH: usize = 32;

/// What a map holds: values by key, in order of writing.
pub type Entries = Vec<(SmolStr, AttributeValue)>;

/// A file in two parts, of which the first may be absent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SplitFile<'a> {
    /// The front matter with its fences.
    pub front: Option<FrontMatter<'a>>,
    /// The markdown. Begins with the byte order mark if there is one and no front matter.
    pub body: &'a str,
}

/// Front matter as it stands in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrontMatter<'a> {
    /// The line above, with the byte order mark if there is one.
    pub open: &'a str,
    /// The YAML, up to and with the end of its last line.
    pub yaml: &'a str,
    /// The line below.
    pub close: &'a str,
}

/// Why YAML is not read as a map. It is kept as it is.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum FrontMatterError {
    /// It is longer than [`MAX_LEN`] or deeper than [`MAX_DEPTH`].
    #[error("front matter is too long or too deep")]
    TooLarge,
    /// It is no YAML, or one key stands there twice.
    #[error("front matter is not YAML: {0}")]
    Invalid(String),
    /// It is YAML, but a map that editors share could not hold it: tags, aliases, keys that are not text, numbers
    /// that JavaScript cannot hold.
    #[error("front matter holds {0}, which a shared map cannot")]
    Unsuited(&'static str),
    /// It is a scalar or a list. Then the fences are rules, and the text between them is part of the body.
    #[error("there is no mapping between the fences")]
    NotMapping,
}

/// Cuts front matter off a file.
///
/// Blanks after the fences, `...` as the lower one, CRLF, an empty block and a fence at the very end are all accepted.
/// What stands between two rules and is plainly no mapping is left to the body.
///
/// ```
/// use yfs_markdown::front_matter::split;
///
/// let file = split("---\ntitle: Tides\n---\nHigh water\n");
/// assert_eq!(file.front.map(|it| it.yaml), Some("title: Tides\n"));
/// assert_eq!(file.body, "High water\n");
/// ```
pub fn split(text: &str) -> SplitFile<'_> {
    let whole = SplitFile { front: None, body: text };
    let Some((front, body)) = fenced(text) else { return whole };
    match read(front.yaml) {
        Err(FrontMatterError::NotMapping) => whole,
        _ => SplitFile { front: Some(front), body },
    }
}

fn fenced(text: &str) -> Option<(FrontMatter<'_>, &str)> {
    let n_mark = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    let blanks = [' ', '\t', '\r', '\n'];
    let mut lines = text[n_mark..].split_inclusive('\n');
    let first = lines.next()?;
    if first.trim_end_matches(blanks) != "---" || !first.ends_with('\n') {
        return None;
    }
    let start = n_mark + first.len();
    let mut at = start;
    for line in lines {
        if matches!(line.trim_end_matches(blanks), "---" | "...") {
            let (open, yaml) = (&text[..start], &text[start..at]);
            let (close, body) = text[at..].split_at(line.len());
            return Some((FrontMatter { open, yaml, close }, body));
        }
        at += line.len();
    }
    None
}

/// Returns the template with the values put in: every byte stays that belongs to a key whose value did.
///
/// Keys that are not in the template follow at the end, in the order given.
///
/// ```
/// use yfs_markdown::{front_matter::patch, tree::AttributeValue};
///
/// let template = "title: 'Tides'  # for now\ndraft: true\n";
/// let values = [("title".into(), AttributeValue::from("Ebb")), ("draft".into(), true.into())];
/// assert_eq!(patch(template, &values), "title: 'Ebb'  # for now\ndraft: true\n");
/// ```
pub fn patch(template: &str, values: &[(SmolStr, AttributeValue)]) -> String {
    let Ok(mapping) = read(template) else { return write(values) };
    let patched = emit::patch(template, &mapping, values);
    match read(&patched) {
        Ok(again) if same_entries(&again.entries, values) => patched,
        _ => write(values),
    }
}

/// Whether two maps hold the same. Order means nothing: shared maps have none.
pub fn same_entries(
    left: &[(SmolStr, AttributeValue)],
    right: &[(SmolStr, AttributeValue)],
) -> bool {
    left.len() == right.len()
        && left.iter().all(|(key, value)| {
            let other = right.iter().find(|(other, _)| other == key);
            other.is_some_and(|(_, other)| same_value(value, other))
        })
}

/// Whether two values are the same. Not a number is itself.
pub fn same_value(left: &AttributeValue, right: &AttributeValue) -> bool {
    match (left, right) {
        (AttributeValue::Number(left), AttributeValue::Number(right)) => {
            left == right || left.is_nan() && right.is_nan()
        }
        (AttributeValue::Array(left), AttributeValue::Array(right)) => {
            left.len() == right.len()
                && left.iter().zip(right).all(|(left, right)| same_value(left, right))
        }
        (AttributeValue::Object(left), AttributeValue::Object(right)) => same_entries(left, right),
        (left, right) => left == right,
    }
}
