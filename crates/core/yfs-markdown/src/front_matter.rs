//! YAML at the top of a file: splits it off, reads it as JavaScript does, and changes it key by
//! key.
//!
//! Editors share front matter as a map. The text of the file is more than the map: comments, order,
//! quotes. So the text is kept beside the map as a template, and a write replaces only the keys of
//! the template that differ. An outdated template costs only formatting, because the map takes
//! precedence. A property that the map cannot hold is kept as its lines, under its name. TOML
//! between `+++` lines is kept as text.
//!
//! # Invariants
//!
//! - The parts that [`split`] returns are the text, byte for byte.
//! - [`patch`] of a template with its own values is the template.
//! - The result of [`patch`] reads as the given values, for any template that is read as a whole.
//! - [`FrontMatter::patched`] changes the lines of properties whose values changed, and no others.
//! - Text over [`MAX_LEN`] is kept unchanged and not read, and so is a property that is nested
//!   deeper than [`MAX_DEPTH`] or has an alias: so a map is at most a few times as large as its
//!   text.

mod comment_lines;
mod emit;
mod property_lines;
mod read;
mod scalar;
#[cfg(test)]
mod tests;
mod toml;

use std::collections::BTreeMap;

use smol_str::SmolStr;
use thiserror::Error;

pub use emit::write;
pub use property_lines::{FrontMatterParts, are_property_lines};
pub use read::{YamlMapping, read};

use crate::tree::AttributeValue;

/// The greatest length of YAML that is read, in bytes.
pub const MAX_LEN: usize = 64 * 1024;
/// The greatest depth of its values.
pub const MAX_DEPTH: usize = 32;

/// The entries of a map: values by key, in order of writing.
pub type Entries = Vec<(SmolStr, AttributeValue)>;

/// A file in two parts; the first may be absent.
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
    /// The YAML or TOML, up to and with the end of its last line.
    pub yaml: &'a str,
    /// The line below.
    pub close: &'a str,
}

/// The reason why YAML is not read as a map. It is kept unchanged.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum FrontMatterError {
    /// It is longer than [`MAX_LEN`] or deeper than [`MAX_DEPTH`].
    #[error("front matter is too long or nested too deeply")]
    TooLarge,
    /// It is no YAML, or one key occurs twice.
    #[error("front matter is not YAML: {0}")]
    Invalid(String),
    /// It is YAML, but a map that editors share could not hold it: tags, aliases, keys that are not
    /// text, numbers that JavaScript cannot represent.
    #[error("front matter has {0}, which a shared map cannot represent")]
    Unsuited(&'static str),
    /// It is a scalar or a list. Then the fences are rules, and the text between them is part of
    /// the body.
    #[error("there is no mapping between the fences")]
    NotMapping,
}

/// Splits front matter off a file.
///
/// Blanks after the fences, `...` as the lower one, CRLF, an empty block and a fence at the very
/// end are all accepted. Text between two rules that is plainly no mapping is left to the body.
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
    let is_front = match front.is_toml() {
        true => toml::is_toml(front.yaml),
        false => read(front.yaml) != Err(FrontMatterError::NotMapping),
    };
    if is_front { SplitFile { front: Some(front), body } } else { whole }
}

impl FrontMatter<'_> {
    fn is_toml(&self) -> bool {
        self.open.contains("+++")
    }

    /// Returns the values for the shared map, and the lines of all other properties.
    ///
    /// ```
    /// use yfs_markdown::front_matter::split;
    ///
    /// let file = split("---\ntitle: Tides\npost: 125276004817190914\n---\n");
    /// let parts = file.front.map(|front| front.parts()).unwrap_or_default();
    /// assert_eq!(parts.entries, [("title".into(), "Tides".into())]);
    /// assert_eq!(parts.lines["post"], "post: 125276004817190914\n");
    /// ```
    pub fn parts(&self) -> FrontMatterParts {
        if self.is_toml() { FrontMatterParts::default() } else { property_lines::parts(self.yaml) }
    }

    /// Returns the text between the fences with the given values. `lines` are the properties that
    /// no map holds; `None` if this text was stored whole, so that all of its properties stay.
    pub fn patched(
        &self,
        values: &[(SmolStr, AttributeValue)],
        lines: Option<&BTreeMap<String, String>>,
    ) -> String {
        if self.is_toml() {
            return toml::patch(self.yaml, values);
        }
        if read(self.yaml).is_err() {
            return property_lines::patch(self.yaml, values, lines);
        }
        let patched = patch(self.yaml, values);
        property_lines::append(patched, values, lines.into_iter().flatten(), |_| false)
    }
}

fn fenced(text: &str) -> Option<(FrontMatter<'_>, &str)> {
    let n_mark = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    let blanks = [' ', '\t', '\r', '\n'];
    let mut lines = text[n_mark..].split_inclusive('\n');
    let first = lines.next()?;
    let fence = first.trim_end_matches(blanks);
    if !matches!(fence, "---" | "+++") || !first.ends_with('\n') {
        return None;
    }
    let closes = |line: &str| line == fence || fence == "---" && line == "...";
    let start = n_mark + first.len();
    let mut at = start;
    for line in lines {
        if closes(line.trim_end_matches(blanks)) {
            let (open, yaml) = (&text[..start], &text[start..at]);
            let (close, body) = text[at..].split_at(line.len());
            return Some((FrontMatter { open, yaml, close }, body));
        }
        at += line.len();
    }
    None
}

/// Returns the template with the given values: every byte of a key with an unchanged value stays.
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

/// Reports whether two maps have the same entries. The order does not matter: shared maps have
/// none.
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

/// Reports whether two values are the same. Not a number equals itself.
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
