//! Front matter as a row of properties, each with lines of its own.
//!
//! It is for text that is not readable as a whole: a long number, an alias, a template, a key that
//! occurs twice. One such property must not cost the others, so each is read on its own. A property
//! that a shared map cannot hold is kept as its lines.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    ops::Range,
};

use smol_str::SmolStr;

use super::{
    Entries, MAX_LEN,
    comment_lines::{footer_start, is_above, kept_len},
    emit,
    read::{ScalarQuotes, YamlMapping, quoted_len, read},
    same_entries, same_value,
};
use crate::tree::AttributeValue;

/// The greatest number of properties that are read one by one.
const MAX_PROPERTIES: usize = 1000;

/// The greatest length of a property's name, in bytes.
const MAX_NAME: usize = 64;

/// The lines of one property, comments above included.
struct PropertyLines<'a> {
    /// The key; of the second with this key, the key and `#2`.
    name: String,
    key: SmolStr,
    text: &'a str,
    /// The line that the key is on.
    first_line: Range<usize>,
    /// The value, if a shared map can hold it.
    held: Option<YamlMapping>,
}

/// Front matter as it is stored.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FrontMatterParts {
    /// The values that a shared map can hold, by key.
    pub entries: Entries,
    /// The lines of all other properties, by name.
    pub lines: BTreeMap<String, String>,
}

/// Returns the parts of YAML. Text that is too long has none, and is kept whole.
pub(super) fn parts(yaml: &str) -> FrontMatterParts {
    if let Ok(mapping) = read(yaml) {
        return FrontMatterParts { entries: mapping.entries, lines: BTreeMap::new() };
    }
    let mut parts = FrontMatterParts::default();
    let properties = divide(yaml);
    if yaml.len() > MAX_LEN || properties.len() > MAX_PROPERTIES {
        return parts;
    }
    for property in properties {
        match property.held {
            Some(mapping) => parts.entries.extend(mapping.entries),
            None => drop(parts.lines.insert(property.name, property.text.to_owned())),
        }
    }
    parts
}

/// Returns a template with the given values, where `lines` are the other properties: those of the
/// template that are in neither were deleted. Without `lines` the template was stored whole, and
/// all of its properties stay.
pub(super) fn patch(
    template: &str,
    values: &[(SmolStr, AttributeValue)],
    lines: Option<&BTreeMap<String, String>>,
) -> String {
    let has_crlf = template.contains("\r\n");
    let properties = divide(template);
    let above = properties.first().map_or(template.len(), |first| start_of(template, first.text));
    let mut out = template[..above].to_owned();
    let (mut names, mut keys) = (HashSet::new(), HashSet::new());
    for property in &properties {
        let is_first = keys.insert(property.key.clone());
        names.insert(property.name.as_str());
        let value = values.iter().find(|(key, _)| is_first && *key == property.key);
        match (value, &property.held, lines) {
            (Some((_, value)), ..) => {
                out.push_str(&emit::with_ends(&property.with_value(value), has_crlf));
            }
            (None, Some(_), Some(_)) => out.push_str(&property.without()),
            (None, None, Some(lines)) => match lines.get(&property.name) {
                Some(text) => out.push_str(text),
                None => out.push_str(&property.without()),
            },
            (None, _, None) => out.push_str(property.text),
        }
    }
    let is_new = |(key, _): &&(SmolStr, AttributeValue)| !keys.contains(key);
    let new: Vec<_> = values.iter().filter(is_new).cloned().collect();
    out.push_str(&emit::with_ends(&emit::write(&new), has_crlf));
    append(out, values, lines.into_iter().flatten(), |name| names.contains(name))
}

/// Appends the lines of properties that are neither in the text nor among the values.
pub(super) fn append<'a>(
    mut out: String,
    values: &[(SmolStr, AttributeValue)],
    lines: impl Iterator<Item = (&'a String, &'a String)>,
    is_there: impl Fn(&str) -> bool,
) -> String {
    let is_value = |name: &str| values.iter().any(|(key, _)| key == name);
    let missing = lines.filter(|(name, _)| !is_there(name) && !is_value(name));
    out.extend(missing.map(|(_, text)| text.as_str()));
    out
}

/// Reports whether text may stand between fences as the lines of a property.
pub fn are_property_lines(text: &str) -> bool {
    let is_fence = |line: &str| matches!(line.trim_end(), "---" | "...");
    text.ends_with('\n') && !text.lines().any(is_fence)
}

/// Divides YAML into its properties. Works for any text.
fn divide(yaml: &str) -> Vec<PropertyLines<'_>> {
    let (mut starts, mut above, mut at) = (Vec::new(), None, 0);
    let mut indent = None;
    for line in yaml.split_inclusive('\n') {
        if is_above(line) {
            above.get_or_insert(at);
        } else {
            let indent = *indent.get_or_insert(n_blanks(line));
            let is_start = starts.is_empty() || n_blanks(line) <= indent && !continues(line);
            let start = above.take().unwrap_or(at);
            if is_start {
                starts.push((start, at..at + line.len()));
            }
        }
        at += line.len();
    }
    let is_read = yaml.len() <= MAX_LEN && starts.len() <= MAX_PROPERTIES;
    let mut n_by_name: HashMap<String, usize> = HashMap::new();
    let ends: Vec<usize> = starts.iter().skip(1).map(|start| start.0).chain([yaml.len()]).collect();
    let properties = starts.into_iter().zip(ends).map(|((start, line), end)| {
        let text = &yaml[start..end];
        let held = if is_read { read(text).ok().filter(is_held) } else { None };
        let key = match &held {
            Some(mapping) => mapping.entries[0].0.clone(),
            None => key_of(&yaml[line.clone()]),
        };
        let cut = (0..=MAX_NAME.min(key.len())).rev().find(|at| key.is_char_boundary(*at));
        let mut name = key[..cut.unwrap_or_default()].to_owned();
        let n = n_by_name.entry(name.clone()).or_default();
        *n += 1;
        let held = held.filter(|_| *n == 1);
        if *n > 1 {
            name = format!("{name}#{n}");
        }
        PropertyLines { name, key, text, first_line: line.start - start..line.end - start, held }
    });
    properties.collect()
}

fn start_of(template: &str, text: &str) -> usize {
    template.len().min(text.as_ptr() as usize - template.as_ptr() as usize)
}

fn is_held(mapping: &YamlMapping) -> bool {
    mapping.entries.len() == 1 && !mapping.is_flow && !mapping.has_anchor
}

fn n_blanks(line: &str) -> usize {
    line.len() - line.trim_start_matches([' ', '\t']).len()
}

/// Reports whether a line without blanks before it belongs to the property above: an item of a
/// list, the end of a list in brackets, the value of a complex key.
fn continues(line: &str) -> bool {
    let line = line.trim();
    let is_sign = |sign: char| {
        line.strip_prefix(sign).is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t']))
    };
    is_sign('-') || is_sign(':') || line.starts_with([']', '}'])
}

/// Returns the key of a line that YAML does not read.
fn key_of(line: &str) -> SmolStr {
    let line = line.trim();
    for (quote, quotes) in [('"', ScalarQuotes::Double), ('\'', ScalarQuotes::Single)] {
        if line.starts_with(quote)
            && let Some(len) = quoted_len(line, quotes)
        {
            return SmolStr::new(line[..len].trim_matches(quote));
        }
    }
    SmolStr::new(line[..key_end(line)].trim_end())
}

/// Returns the place of the colon after a key without quotes.
fn key_end(line: &str) -> usize {
    let colons = line.match_indices(':').map(|(at, _)| at);
    let is_sign = |at: &usize| line[at + 1..].is_empty() || line[at + 1..].starts_with([' ', '\t']);
    colons.clone().find(is_sign).unwrap_or(line.len())
}

impl PropertyLines<'_> {
    /// Returns what stays of the lines if the property is deleted.
    fn without(&self) -> String {
        let behind = &self.text[footer_start(self.text)..];
        [&self.text[..kept_len(self.text)], behind].concat()
    }

    /// Returns the lines with another value.
    fn with_value(&self, value: &AttributeValue) -> String {
        let entry = [(self.key.clone(), value.clone())];
        if let Some(mapping) = &self.held {
            if same_value(&mapping.entries[0].1, value) {
                return self.text.to_owned();
            }
            let patched = emit::patch(self.text, mapping, &entry);
            if read(&patched).is_ok_and(|again| same_entries(&again.entries, &entry)) {
                return patched;
            }
        }
        // The key stays as written: a number may be one.
        let first_line = &self.text[self.first_line.clone()];
        let line = first_line.trim_end();
        let indent = n_blanks(line);
        let key = match line[indent..].starts_with(['"', '\'', '?', '{', '[']) {
            true => None,
            false => Some(&line[..indent + key_end(&line[indent..])]).filter(|key| *key != line),
        };
        let written = emit::write(&entry);
        let plain = emit::key_text(&self.key);
        let new = match (key, written.strip_prefix(plain.as_str())) {
            (Some(key), Some(value)) if indent == 0 => [key, value].concat(),
            _ => written,
        };
        let behind = &self.text[footer_start(self.text)..];
        [&self.text[..self.first_line.start], &new, behind].concat()
    }
}
