//! TOML between `+++` lines: kept as text, and changed property by property.
//!
//! Editors share the properties of YAML as a map; those of TOML they do not see. What is set in the
//! map nevertheless is written into the lines of that property.

use std::ops::Range;

use smol_str::SmolStr;

use super::emit::quoted;
use crate::tree::AttributeValue;

/// One `key = value` above the first table.
struct TomlProperty<'a> {
    key: &'a str,
    value: Range<usize>,
}

/// Reports whether text is TOML, by its first line that says anything.
pub(super) fn is_toml(text: &str) -> bool {
    let mut lines = text.lines().map(str::trim);
    match lines.find(|line| !line.is_empty() && !line.starts_with('#')) {
        None => true,
        Some(line) if line.starts_with('[') => line.contains(']'),
        Some(line) => line.split_once('=').is_some_and(|(key, _)| is_key(key.trim())),
    }
}

fn is_key(key: &str) -> bool {
    let is_bare =
        |character: char| character.is_alphanumeric() || matches!(character, '_' | '-' | '.' | ' ');
    !key.is_empty() && (key.starts_with(['"', '\'']) || key.chars().all(is_bare))
}

/// Returns the text with the given values. A value that TOML cannot express is left out.
pub(super) fn patch(text: &str, values: &[(SmolStr, AttributeValue)]) -> String {
    let (properties, tables) = properties(text);
    let end = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let mut edits: Vec<(Range<usize>, String)> = Vec::new();
    for (key, value) in values {
        let Some(written) = write(value) else { continue };
        match properties.iter().find(|property| property.key.trim_matches(['"', '\'']) == key) {
            Some(property) => edits.push((property.value.clone(), written)),
            None => edits.push((tables..tables, format!("{} = {written}{end}", key_text(key)))),
        }
    }
    edits.sort_by_key(|(range, _)| range.start);
    let (mut out, mut at) = (String::with_capacity(text.len()), 0);
    for (range, new) in edits {
        out.push_str(&text[at..range.start]);
        out.push_str(&new);
        at = range.end;
    }
    out.push_str(&text[at..]);
    out
}

/// Returns the properties above the first table, and the start of that table.
fn properties(text: &str) -> (Vec<TomlProperty<'_>>, usize) {
    let (mut properties, mut at) = (Vec::new(), 0);
    while at < text.len() {
        let line = text[at..].split_inclusive('\n').next().unwrap_or_default();
        let said = line.trim();
        if said.starts_with('[') {
            return (properties, at);
        }
        let end = at + line.len();
        match line.split_once('=') {
            Some((key, rest)) if !said.starts_with('#') => {
                let blanks = rest.len() - rest.trim_start_matches([' ', '\t']).len();
                let start = at + key.len() + 1 + blanks;
                let value = start..value_end(text, start);
                at = text[value.end..].find('\n').map_or(text.len(), |n| value.end + n + 1);
                properties.push(TomlProperty { key: key.trim(), value });
            }
            _ => at = end,
        }
    }
    (properties, text.len())
}

/// Returns the end of the value that begins at a place: of its line, or behind the brackets and
/// quotes that it opens.
fn value_end(text: &str, start: usize) -> usize {
    let (mut at, mut depth, mut last) = (start, 0_usize, start);
    while let Some(character) = text[at..].chars().next() {
        match character {
            '\n' if depth == 0 => break,
            '#' if depth == 0 => break,
            '#' => {
                at += text[at..].find('\n').unwrap_or(text.len() - at);
                continue;
            }
            '[' | '{' => depth += 1,
            ']' | '}' => depth = depth.saturating_sub(1),
            '"' | '\'' => {
                at = string_end(text, at, character);
                last = at;
                continue;
            }
            _ => {}
        }
        at += character.len_utf8();
        if !character.is_whitespace() {
            last = at;
        }
    }
    last
}

fn string_end(text: &str, start: usize, quote: char) -> usize {
    let triple = quote.to_string().repeat(3);
    let close = if text[start..].starts_with(&triple) { triple } else { quote.to_string() };
    let mut at = start + close.len();
    while at < text.len() {
        let rest = &text[at..];
        if quote == '"' && rest.starts_with('\\') {
            at += 1 + rest[1..].chars().next().map_or(0, char::len_utf8);
        } else if rest.starts_with(&close) {
            return at + close.len();
        } else if close.len() == 1 && rest.starts_with('\n') {
            return at;
        } else {
            at += rest.chars().next().map_or(1, char::len_utf8);
        }
    }
    text.len()
}

fn key_text(key: &str) -> String {
    let is_bare = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    if !key.is_empty() && key.bytes().all(is_bare) { key.to_owned() } else { quoted(key) }
}

fn write(value: &AttributeValue) -> Option<String> {
    Some(match value {
        AttributeValue::Null => return None,
        AttributeValue::Bool(value) => value.to_string(),
        AttributeValue::Number(value) if value.is_nan() => "nan".to_owned(),
        AttributeValue::Number(value) => value.to_string(),
        AttributeValue::String(text) => quoted(text),
        AttributeValue::Array(values) => {
            let values: Vec<_> = values.iter().map(write).collect::<Option<_>>()?;
            format!("[{}]", values.join(", "))
        }
        AttributeValue::Object(entries) => {
            let entry = |(key, value): &(SmolStr, AttributeValue)| {
                write(value).map(|value| format!("{} = {value}", key_text(key)))
            };
            let entries: Vec<_> = entries.iter().map(entry).collect::<Option<_>>()?;
            format!("{{ {} }}", entries.join(", "))
        }
    })
}
