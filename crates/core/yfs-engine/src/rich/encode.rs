//! Encodes a tree as the update that y-prosemirror would write for it into an empty document, byte
//! for byte.

use yfs_markdown::tree::{AttributeValue, MarkdownNode, TextMark, TextRun, TreeElement};

use super::ROOT;
use crate::{
    content::diff::utf16_len,
    gate::{IdRange, write_delete_set},
    id::{ClientId, ItemId},
    lib0::{write_any, write_number, write_string, write_var_uint},
};

// Bits of the byte that every struct begins with, beside the kind of its content.
const HAS_ORIGIN: u8 = 0x80;
const HAS_RIGHT: u8 = 0x40;
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
/// use yfs_markdown::tree::{TreeElement, MarkdownNode};
///
/// let text = MarkdownNode::text("Hi", vec![]);
/// let paragraph = TreeElement::new("paragraph").with_children(vec![text]);
/// let document = TreeElement::new("doc").with_children(vec![paragraph.into()]);
/// let update = encode(&document, ClientId::new(1)?);
/// let expected = b"\x01\x03\x01\x00\x07\x01\x08richtext\x03\x09paragraph\x07\x00\x01\x00\x06\
///     \x04\x00\x01\x01\x02Hi\x00";
/// assert_eq!(update, expected);
/// # Ok::<(), yfs_engine::id::IdError>(())
/// ```
pub fn encode(document: &TreeElement, client: ClientId) -> Vec<u8> {
    let mut inserter = NodeInserter::new(client, 0);
    inserter.insert(InsertParent::Root, None, None, &document.children);
    inserter.finish(Vec::new())
}

/// The parent of new children.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum InsertParent {
    /// The root.
    Root,
    /// An element.
    Element(ItemId),
}

/// Collects nodes to insert into a document, and writes them as one update of one client.
///
/// It knows nothing of the document: the caller names the neighboring items.
#[derive(Debug)]
pub(crate) struct NodeInserter {
    client: ClientId,
    first: u32,
    clock: u32,
    structs: Vec<u8>,
    n_structs: u64,
    /// The encoded client id, which is part of nearly every struct.
    client_bytes: Vec<u8>,
}

/// The neighbors of a struct.
#[derive(Debug, Clone, Copy)]
struct ItemNeighbors {
    left: Option<ItemId>,
    right: Option<ItemId>,
}

const ALONE: ItemNeighbors = ItemNeighbors { left: None, right: None };

impl NodeInserter {
    /// Begins with the next clock of a client.
    pub(crate) fn new(client: ClientId, clock: u32) -> Self {
        let mut client_bytes = Vec::new();
        write_var_uint(&mut client_bytes, client.get());
        Self { client, first: clock, clock, structs: Vec::new(), n_structs: 0, client_bytes }
    }

    /// Inserts nodes into `parent`, between two of its children; returns the item of the last.
    ///
    /// The caller must pass both neighbors if they exist: an item without a right neighbor may end
    /// up behind everything.
    pub(crate) fn insert(
        &mut self,
        parent: InsertParent,
        left: Option<ItemId>,
        right: Option<ItemId>,
        nodes: &[MarkdownNode],
    ) -> Option<ItemId> {
        let mut between = ItemNeighbors { left, right };
        let mut rest = nodes;
        while let Some(first) = rest.first() {
            let item = match first {
                MarkdownNode::Element(element) => {
                    rest = &rest[1..];
                    self.element(parent, between, element)
                }
                MarkdownNode::Text(_) => {
                    let n_runs = rest
                        .iter()
                        .take_while(|node| matches!(node, MarkdownNode::Text(_)))
                        .count();
                    let (runs, after) = rest.split_at(n_runs);
                    rest = after;
                    self.text(parent, between, runs)
                }
            };
            between.left = Some(item);
        }
        between.left
    }

    /// Inserts a value into an empty array.
    pub(crate) fn element_of(&mut self, array: &str, value: &yrs::Any) {
        self.begin_in_root(array, None);
        write_any(&mut self.structs, value);
    }

    /// Inserts a value into a map that does not have the key.
    pub(crate) fn entry_of(&mut self, map: &str, key: &str, value: &AttributeValue) {
        self.begin_in_root(map, Some(key));
        write_value(&mut self.structs, value);
    }

    /// Inserts text into a map that does not have the key.
    pub(crate) fn text_entry_of(&mut self, map: &str, key: &str, text: &str) {
        self.begin_in_root(map, Some(key));
        write_text_value(&mut self.structs, text);
    }

    /// Reports whether nothing was inserted.
    pub(crate) fn is_empty(&self) -> bool {
        self.n_structs == 0
    }

    /// Writes the update, which also deletes `deleted`.
    pub(crate) fn finish(self, deleted: Vec<IdRange>) -> Vec<u8> {
        let mut update = Vec::with_capacity(self.structs.len() + 16 * deleted.len() + 24);
        if self.n_structs > 0 {
            write_var_uint(&mut update, 1);
            write_var_uint(&mut update, self.n_structs);
            write_var_uint(&mut update, self.client.get());
            write_var_uint(&mut update, u64::from(self.first));
        } else {
            write_var_uint(&mut update, 0);
        }
        update.extend_from_slice(&self.structs);
        write_delete_set(&mut update, deleted);
        update
    }

    /// Begins a struct that takes `length` clocks. Returns its first item.
    fn begin(
        &mut self,
        kind: u8,
        parent: InsertParent,
        between: ItemNeighbors,
        key: Option<&str>,
        length: u32,
    ) -> ItemId {
        let ItemNeighbors { left, right } = between;
        let flag = |is_set: bool, flag: u8| if is_set { flag } else { 0 };
        self.structs.push(
            kind | flag(left.is_some(), HAS_ORIGIN)
                | flag(right.is_some(), HAS_RIGHT)
                | flag(key.is_some(), HAS_KEY),
        );
        for neighbour in [left, right].into_iter().flatten() {
            self.id(neighbour);
        }
        // With a neighbor, the parent is the neighbor's.
        if left.is_none() && right.is_none() {
            match parent {
                InsertParent::Element(parent) => {
                    self.structs.push(0);
                    self.id(parent);
                }
                InsertParent::Root => {
                    self.structs.push(1);
                    write_string(&mut self.structs, ROOT);
                }
            }
            if let Some(key) = key {
                write_string(&mut self.structs, key);
            }
        }
        self.n_structs += 1;
        let item = ItemId::new(self.client, self.clock);
        self.clock += length;
        item
    }

    /// Begins a struct that holds one value, alone in a root or under its key.
    fn begin_in_root(&mut self, root: &str, key: Option<&str>) {
        self.structs.push(ANY | if key.is_some() { HAS_KEY } else { 0 });
        self.structs.push(1);
        write_string(&mut self.structs, root);
        if let Some(key) = key {
            write_string(&mut self.structs, key);
        }
        write_var_uint(&mut self.structs, 1);
        self.n_structs += 1;
        self.clock += 1;
    }

    fn id(&mut self, id: ItemId) {
        if id.client == self.client {
            self.structs.extend_from_slice(&self.client_bytes);
        } else {
            write_var_uint(&mut self.structs, id.client.get());
        }
        write_var_uint(&mut self.structs, u64::from(id.clock));
    }

    /// Writes an element, then its children, then its attributes. Recurses: trees are of bounded
    /// depth.
    fn element(
        &mut self,
        parent: InsertParent,
        between: ItemNeighbors,
        element: &TreeElement,
    ) -> ItemId {
        let item = self.begin(TYPE, parent, between, None, 1);
        self.structs.push(XML_ELEMENT);
        write_string(&mut self.structs, &element.name);
        self.insert(InsertParent::Element(item), None, None, &element.children);
        for (name, value) in element.attributes.iter().filter(|(_, value)| !value.is_null()) {
            self.begin(ANY, InsertParent::Element(item), ALONE, Some(name), 1);
            write_var_uint(&mut self.structs, 1);
            write_value(&mut self.structs, value);
        }
        item
    }

    fn text(
        &mut self,
        parent: InsertParent,
        between: ItemNeighbors,
        runs: &[MarkdownNode],
    ) -> ItemId {
        let item = self.begin(TYPE, parent, between, None, 1);
        self.structs.push(XML_TEXT);
        let mut last = ALONE;
        for run in runs {
            let MarkdownNode::Text(TextRun { text, marks }) = run else { continue };
            for mark in marks {
                last.left = Some(self.format(item, last, mark, false));
            }
            let length = utf16_len(text);
            if length > 0 {
                let first = self.begin(STRING, InsertParent::Element(item), last, None, length);
                write_string(&mut self.structs, text);
                last.left = Some(ItemId::new(first.client, first.clock + length - 1));
            }
            for mark in marks {
                last.left = Some(self.format(item, last, mark, true));
            }
        }
        item
    }

    fn format(
        &mut self,
        text: ItemId,
        between: ItemNeighbors,
        mark: &TextMark,
        is_end: bool,
    ) -> ItemId {
        let item = self.begin(FORMAT, InsertParent::Element(text), between, None, 1);
        write_string(&mut self.structs, &mark.name);
        let mut json = String::new();
        match is_end {
            true => json.push_str("null"),
            false => write_json_object(&mut json, &mark.attributes),
        }
        write_string(&mut self.structs, &json);
        item
    }
}

/// Appends a value as lib0 does, keys in the order given.
fn write_value(out: &mut Vec<u8>, value: &AttributeValue) {
    match value {
        AttributeValue::Null => out.push(126),
        AttributeValue::Bool(true) => out.push(120),
        AttributeValue::Bool(false) => out.push(121),
        AttributeValue::Number(number) => write_number(out, *number),
        AttributeValue::String(text) => write_text_value(out, text),
        AttributeValue::Array(values) => {
            out.push(117);
            write_var_uint(out, values.len() as u64);
            values.iter().for_each(|value| write_value(out, value));
        }
        AttributeValue::Object(entries) => {
            out.push(118);
            write_var_uint(out, entries.len() as u64);
            for (key, value) in entries {
                write_string(out, key);
                write_value(out, value);
            }
        }
    }
}

fn write_text_value(out: &mut Vec<u8>, text: &str) {
    out.push(119);
    write_string(out, text);
}

fn write_json(out: &mut String, value: &AttributeValue) {
    match value {
        AttributeValue::Null => out.push_str("null"),
        AttributeValue::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
        AttributeValue::Number(number) if !number.is_finite() => out.push_str("null"),
        AttributeValue::Number(number) => out.push_str(&number.to_string()),
        AttributeValue::String(text) => write_json_string(out, text),
        AttributeValue::Array(values) => {
            out.push('[');
            for (index, value) in values.iter().enumerate() {
                out.push_str(if index > 0 { "," } else { "" });
                write_json(out, value);
            }
            out.push(']');
        }
        AttributeValue::Object(entries) => write_json_object(out, entries),
    }
}

fn write_json_object(out: &mut String, entries: &[(smol_str::SmolStr, AttributeValue)]) {
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
