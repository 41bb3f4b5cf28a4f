//! A tree as the update that y-prosemirror would write for it into an empty document, byte for byte.

use yfs_markdown::tree::{Element, Mark, Node, Text, Value};

use super::ROOT;
use crate::{
    id::{ClientId, ItemId},
    lib0::{write_number, write_string, write_var_uint},
};

// Bits of the byte that every struct begins with, beside the kind of its content.
const HAS_ORIGIN: u8 = 0x80;
const HAS_KEY: u8 = 0x20;
// Kinds of content.
const STRING: u8 = 4;
const FORMAT: u8 = 6;
const TYPE: u8 = 7;
const ANY: u8 = 8;
// Kinds of types.
const XML_ELEMENT: u8 = 3;
const XML_TEXT: u8 = 6;

/// Returns the update that puts the children of a document into an empty `XmlFragment("richtext")`.
///
/// Equal trees under equal clients are equal bytes.
///
/// ```
/// use yfs_engine::{id::ClientId, rich::encode};
/// use yfs_markdown::tree::{Element, Node};
///
/// let paragraph = Element::new("paragraph").holding(vec![Node::text("Hi", vec![])]);
/// let document = Element::new("doc").holding(vec![paragraph.into()]);
/// let update = encode(&document, ClientId::new(1)?);
/// assert_eq!(update, b"\x01\x03\x01\x00\x07\x01\x08richtext\x03\x09paragraph\x07\x00\x01\x00\x06\x04\x00\x01\x01\x02Hi\x00");
/// # Ok::<(), yfs_engine::id::IdError>(())
/// ```
pub fn encode(document: &Element, client: ClientId) -> Vec<u8> {
    let mut encoder = Encoder { client, structs: Vec::new(), n_structs: 0, clock: 0 };
    encoder.children(None, &document.children);
    let mut update = Vec::with_capacity(encoder.structs.len() + 24);
    if encoder.n_structs > 0 {
        write_var_uint(&mut update, 1);
        write_var_uint(&mut update, encoder.n_structs);
        write_var_uint(&mut update, client.get());
    }
    write_var_uint(&mut update, 0);
    update.extend_from_slice(&encoder.structs);
    // No deletions.
    write_var_uint(&mut update, 0);
    update
}

struct Encoder {
    client: ClientId,
    structs: Vec<u8>,
    n_structs: u64,
    clock: u32,
}

impl Encoder {
    /// Begins a struct that takes `length` clocks, right of `origin` or first in `parent`; the root is no parent.
    /// Returns its first clock.
    fn begin(
        &mut self,
        kind: u8,
        parent: Option<u32>,
        origin: Option<u32>,
        key: Option<&str>,
        length: u32,
    ) -> u32 {
        let has_origin = if origin.is_some() { HAS_ORIGIN } else { 0 };
        let has_key = if key.is_some() { HAS_KEY } else { 0 };
        self.structs.push(kind | has_origin | has_key);
        match (origin, parent) {
            (Some(origin), _) => self.id(origin),
            (None, Some(parent)) => {
                self.structs.push(0);
                self.id(parent);
            }
            (None, None) => {
                self.structs.push(1);
                write_string(&mut self.structs, ROOT);
            }
        }
        // With an origin, the parent is the origin's.
        if let (None, Some(key)) = (origin, key) {
            write_string(&mut self.structs, key);
        }
        self.n_structs += 1;
        let clock = self.clock;
        self.clock += length;
        clock
    }

    fn id(&mut self, clock: u32) {
        let ItemId { client, clock } = ItemId::new(self.client, clock);
        write_var_uint(&mut self.structs, client.get());
        write_var_uint(&mut self.structs, u64::from(clock));
    }

    fn children(&mut self, parent: Option<u32>, children: &[Node]) {
        let mut left = None;
        let mut rest = children;
        while let Some(first) = rest.first() {
            match first {
                Node::Element(element) => {
                    left = Some(self.element(parent, left, element));
                    rest = &rest[1..];
                }
                Node::Text(_) => {
                    let n_runs =
                        rest.iter().take_while(|node| matches!(node, Node::Text(_))).count();
                    let (runs, after) = rest.split_at(n_runs);
                    left = Some(self.text(parent, left, runs));
                    rest = after;
                }
            }
        }
    }

    /// Writes an element, then what it holds, then its attributes. Recurses: trees are of bounded depth.
    fn element(&mut self, parent: Option<u32>, left: Option<u32>, element: &Element) -> u32 {
        let clock = self.begin(TYPE, parent, left, None, 1);
        self.structs.push(XML_ELEMENT);
        write_string(&mut self.structs, &element.name);
        self.children(Some(clock), &element.children);
        for (name, value) in element.attributes.iter().filter(|(_, value)| !value.is_null()) {
            self.begin(ANY, Some(clock), None, Some(name), 1);
            write_var_uint(&mut self.structs, 1);
            write_value(&mut self.structs, value);
        }
        clock
    }

    fn text(&mut self, parent: Option<u32>, left: Option<u32>, runs: &[Node]) -> u32 {
        let clock = self.begin(TYPE, parent, left, None, 1);
        self.structs.push(XML_TEXT);
        let mut left = None;
        for run in runs {
            let Node::Text(Text { text, marks }) = run else { continue };
            for mark in marks {
                left = Some(self.format(clock, left, mark, false));
            }
            let length = text.encode_utf16().count() as u32;
            if length > 0 {
                let first = self.begin(STRING, Some(clock), left, None, length);
                write_string(&mut self.structs, text);
                left = Some(first + length - 1);
            }
            for mark in marks {
                left = Some(self.format(clock, left, mark, true));
            }
        }
        clock
    }

    fn format(&mut self, parent: u32, left: Option<u32>, mark: &Mark, is_end: bool) -> u32 {
        let clock = self.begin(FORMAT, Some(parent), left, None, 1);
        write_string(&mut self.structs, &mark.name);
        let mut json = String::new();
        match is_end {
            true => json.push_str("null"),
            false => write_json_object(&mut json, &mark.attributes),
        }
        write_string(&mut self.structs, &json);
        clock
    }
}

/// Appends a value as lib0 does, keys in the order given.
fn write_value(out: &mut Vec<u8>, value: &Value) {
    match value {
        Value::Null => out.push(126),
        Value::Bool(true) => out.push(120),
        Value::Bool(false) => out.push(121),
        Value::Number(number) => write_number(out, *number),
        Value::String(text) => {
            out.push(119);
            write_string(out, text);
        }
        Value::Array(values) => {
            out.push(117);
            write_var_uint(out, values.len() as u64);
            values.iter().for_each(|value| write_value(out, value));
        }
        Value::Object(entries) => {
            out.push(118);
            write_var_uint(out, entries.len() as u64);
            for (key, value) in entries {
                write_string(out, key);
                write_value(out, value);
            }
        }
    }
}

fn write_json(out: &mut String, value: &Value) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
        Value::Number(number) if !number.is_finite() => out.push_str("null"),
        Value::Number(number) => out.push_str(&number.to_string()),
        Value::String(text) => write_json_string(out, text),
        Value::Array(values) => {
            out.push('[');
            for (index, value) in values.iter().enumerate() {
                out.push_str(if index > 0 { "," } else { "" });
                write_json(out, value);
            }
            out.push(']');
        }
        Value::Object(entries) => write_json_object(out, entries),
    }
}

fn write_json_object(out: &mut String, entries: &[(smol_str::SmolStr, Value)]) {
    out.push('{');
    for (index, (key, value)) in entries.iter().enumerate() {
        out.push_str(if index > 0 { "," } else { "" });
        write_json_string(out, key);
        out.push(':');
        write_json(out, value);
    }
    out.push('}');
}

fn write_json_string(out: &mut String, text: &str) {
    out.push_str(&serde_json::to_string(text).expect("text is always JSON"));
}
