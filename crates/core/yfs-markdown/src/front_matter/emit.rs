//! Writes values as YAML.

use std::{fmt::Write as _, ops::Range};

use smol_str::SmolStr;

use super::{
    comment_lines::{document_end, footer_start, is_above, kept_len},
    read::{ScalarQuotes, YamlMapping},
    same_entries, same_value, scalar,
};
use crate::tree::AttributeValue;

/// The greatest length of a key before its colon on one line (YAML 1.2, 7.4.2).
const MAX_KEY: usize = 1000;

/// Writes a map as YAML in block style, in the order given.
pub fn write(values: &[(SmolStr, AttributeValue)]) -> String {
    let mut out = String::new();
    entries(values, 0, &mut out);
    out
}

/// Replaces values in a template.
pub(super) fn patch(
    template: &str,
    mapping: &YamlMapping,
    values: &[(SmolStr, AttributeValue)],
) -> String {
    if same_entries(&mapping.entries, values) {
        return template.to_owned();
    }
    if mapping.is_flow {
        return write(values);
    }
    let has_crlf = template.contains("\r\n");
    let mut places = mapping.places.clone();
    let last = places.last().map_or(0, |place| place.start);
    let end = last + document_end(&template[last..]);
    let footer = match places.last_mut() {
        Some(place) => {
            place.end = place.start + footer_start(&template[place.start..end]);
            place.end..end
        }
        None => end..end,
    };
    let first = places.first().map_or(end, |place| place.start);
    let mut out = template[..first].to_owned();
    let mut added = String::new();
    for (index, (key, old)) in mapping.entries.iter().enumerate() {
        let place = places[index].clone();
        let text = &template[place.clone()];
        end_line(&mut out, has_crlf);
        match values.iter().find(|(other, _)| other == key) {
            None => out.push_str(&text[..kept_len(text)]),
            Some((_, new)) if same_value(old, new) => out.push_str(text),
            Some((_, new)) => {
                let entry = replaced(template, mapping, (index, place), new);
                out.push_str(&with_ends(&entry, has_crlf));
            }
        }
    }
    if !footer.is_empty() {
        end_line(&mut out, has_crlf);
        out.push_str(&template[footer]);
    }
    let is_new = |entry: &&(SmolStr, AttributeValue)| {
        !mapping.entries.iter().any(|(key, _)| *key == entry.0)
    };
    let new: Vec<_> = values.iter().filter(is_new).cloned().collect();
    entries(&new, 0, &mut added);
    end_line(&mut out, has_crlf);
    out.push_str(&with_ends(&added, has_crlf));
    out.push_str(&template[end..]);
    out
}

fn end_line(out: &mut String, has_crlf: bool) {
    if !out.is_empty() && !out.ends_with('\n') {
        out.push_str(if has_crlf { "\r\n" } else { "\n" });
    }
}

pub(super) fn with_ends(text: &str, has_crlf: bool) -> String {
    match has_crlf {
        true => text.replace("\r\n", "\n").replace('\n', "\r\n"),
        false => text.to_owned(),
    }
}

/// Returns the lines of one entry of the template with another value.
fn replaced(
    template: &str,
    mapping: &YamlMapping,
    (index, place): (usize, Range<usize>),
    new: &AttributeValue,
) -> String {
    let (key, old) = &mapping.entries[index];
    if let Some((range, quotes)) = &mapping.scalars[index]
        && let Some(scalar) = one_line(new, *quotes)
        && place.start <= range.start
        && range.end <= place.end
    {
        let (before, after) = (place.start..range.start, range.end..place.end);
        return format!("{}{scalar}{}", &template[before], &template[after]);
    }
    let text = &template[place];
    let mut out: String = text.split_inclusive('\n').take_while(|line| is_above(line)).collect();
    let own = &text[out.len()..];
    let is_list_in_brackets = matches!(old, AttributeValue::Array(_))
        && own.lines().next().is_some_and(|line| line.contains('['));
    let in_brackets = match new {
        AttributeValue::Array(values) if is_list_in_brackets => {
            let values: Option<Vec<_>> =
                values.iter().map(|value| one_line(value, ScalarQuotes::None)).collect();
            values.map(|values| format!("[{}]", values.join(", ")))
        }
        _ => None,
    };
    match in_brackets {
        Some(list) => {
            let (own, end) = (own.trim_end(), "\n");
            let after = own.rsplit_once(']').filter(|_| !own.contains('\n'));
            let after = after.map_or("", |(_, after)| after);
            out.extend([&key_text(key), ": ", &list, after, end]);
        }
        None => entries(&[(key.clone(), new.clone())], 0, &mut out),
    }
    out
}

/// Returns a scalar on one line, in quotes like the old ones.
fn one_line(value: &AttributeValue, quotes: ScalarQuotes) -> Option<String> {
    Some(match (value, quotes) {
        (AttributeValue::Array(_) | AttributeValue::Object(_), _) => return None,
        (AttributeValue::String(text), ScalarQuotes::Single)
            if !text.chars().any(char::is_control) =>
        {
            format!("'{}'", text.replace('\'', "''"))
        }
        (AttributeValue::String(text), ScalarQuotes::Double) => quoted(text),
        (AttributeValue::String(text), _) if !scalar::may_be_plain(text) => quoted(text),
        (value, _) => plain(value),
    })
}

fn plain(value: &AttributeValue) -> String {
    match value {
        AttributeValue::Null => "null".to_owned(),
        AttributeValue::Bool(value) => value.to_string(),
        AttributeValue::Number(value) if value.is_nan() => ".nan".to_owned(),
        AttributeValue::Number(value) if value.is_infinite() => {
            if *value > 0.0 {
                ".inf".to_owned()
            } else {
                "-.inf".to_owned()
            }
        }
        AttributeValue::Number(value) if value.abs() >= 1e15 => format!("{value:e}"),
        AttributeValue::Number(value) => value.to_string(),
        AttributeValue::String(text) if scalar::may_be_plain(text) => text.to_string(),
        AttributeValue::String(text) => quoted(text),
        AttributeValue::Array(_) => "[]".to_owned(),
        AttributeValue::Object(_) => "{}".to_owned(),
    }
}

pub(super) fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            character
                if character.is_control()
                    || matches!(character, '\u{2028}' | '\u{2029}' | '\u{feff}') =>
            {
                write!(out, "\\u{:04X}", character as u32)
                    .expect("a String takes all that is written");
            }
            character => out.push(character),
        }
    }
    out.push('"');
    out
}

pub(super) fn key_text(key: &str) -> String {
    if scalar::may_be_plain(key) { key.to_owned() } else { quoted(key) }
}

fn entries(values: &[(SmolStr, AttributeValue)], indent: usize, out: &mut String) {
    for (key, value) in values {
        let (indented, key) = (" ".repeat(indent), key_text(key));
        out.push_str(&indented);
        match key.len() <= MAX_KEY {
            true => out.push_str(&key),
            false => out.extend(["? ", &key, "\n", &indented]),
        }
        out.push(':');
        after_sign(value, indent, out);
    }
}

/// Writes the value after a colon or a dash.
fn after_sign(value: &AttributeValue, indent: usize, out: &mut String) {
    match value {
        AttributeValue::Object(values) if !values.is_empty() => {
            out.push('\n');
            entries(values, indent + 2, out);
        }
        AttributeValue::Array(values) if !values.is_empty() => {
            out.push('\n');
            for value in values {
                out.push_str(&" ".repeat(indent + 2));
                out.push('-');
                item(value, indent + 2, out);
            }
        }
        AttributeValue::String(text) if fits_block(text) => block(text, indent + 2, out),
        value => {
            out.push(' ');
            out.push_str(&plain(value));
            out.push('\n');
        }
    }
}

fn item(value: &AttributeValue, indent: usize, out: &mut String) {
    match value {
        AttributeValue::Object(values) if !values.is_empty() => {
            let mut inner = String::new();
            entries(values, indent + 2, &mut inner);
            out.push(' ');
            out.push_str(inner.trim_start_matches(' '));
        }
        value => after_sign(value, indent, out),
    }
}

/// Reports whether text of several lines may be written below a `|`.
fn fits_block(text: &str) -> bool {
    text.contains('\n')
        && !text.starts_with([' ', '\n', '\t'])
        && !text.chars().any(|character| character.is_control() && character != '\n')
        && !text.contains(['\u{2028}', '\u{2029}', '\u{feff}'])
        && text.lines().all(|line| line.trim_end() == line)
        && !text.trim_end_matches('\n').is_empty()
}

fn block(text: &str, indent: usize, out: &mut String) {
    let core = text.trim_end_matches('\n');
    out.push_str(match text.len() - core.len() {
        0 => " |-\n",
        1 => " |\n",
        _ => " |+\n",
    });
    for line in text.strip_suffix('\n').unwrap_or(text).split('\n') {
        if !line.is_empty() {
            out.push_str(&" ".repeat(indent));
            out.push_str(line);
        }
        out.push('\n');
    }
}
