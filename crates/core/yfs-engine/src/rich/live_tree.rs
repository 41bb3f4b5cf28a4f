//! The content under the root as it is in Yjs: elements and texts with their items.
//!
//! A tree is the meaning of a document. An edit needs more: the item of each element, and the
//! boundaries between one `Y.XmlText` and the next, since two people who type into one empty
//! paragraph leave two.

use smol_str::SmolStr;
use yfs_markdown::{
    schema::{AttributeSpec, SchemaProfile},
    tree::{
        AttributeValue, Attributes, MAX_DEPTH, MarkdownNode, TextMark, TreeElement, push_inline,
        push_one,
    },
};
use yrs::{
    Any, BranchID, Out, ReadTxn, Text as _, Xml as _, XmlElementRef, XmlFragment, XmlTextRef,
    branch::Branch, types::text::YChange,
};

use super::ROOT;
use crate::{
    content::diff::utf16_len,
    gate::types_in,
    id::{ClientId, ItemId},
};

/// A child: an element, or all texts between two of them.
#[derive(Debug)]
pub enum LiveChild {
    /// An element.
    Element(LiveElement),
    /// Neighboring texts; they may all be empty.
    Text(LiveText),
}

/// An element with its item.
#[derive(Debug)]
pub struct LiveElement {
    /// Its item.
    pub id: ItemId,
    /// The handle of yrs.
    pub handle: XmlElementRef,
    /// Its name.
    pub name: SmolStr,
    /// Its attributes, in the order of the schema; none is null.
    pub attributes: Attributes,
    /// Its children.
    pub kids: Vec<LiveChild>,
}

/// Neighboring texts.
#[derive(Debug)]
pub struct LiveText {
    /// The texts, in order; at least one.
    pub slots: Vec<TextSlot>,
    /// The content of all of them.
    pub runs: Vec<MarkdownNode>,
}

/// One `Y.XmlText`.
#[derive(Debug)]
pub struct TextSlot {
    /// Its item.
    pub id: ItemId,
    /// The handle of yrs.
    pub handle: XmlTextRef,
    /// Its text, without marks.
    pub text: String,
    /// The places of embeds that are not text: the number of code units of text before each.
    pub others: Vec<u32>,
}

impl LiveChild {
    /// Returns the items of this child, in order.
    pub fn ids(&self) -> impl Iterator<Item = ItemId> + Clone {
        let (element, texts): (Option<ItemId>, &[TextSlot]) = match self {
            Self::Element(element) => (Some(element.id), &[]),
            Self::Text(text) => (None, &text.slots),
        };
        element.into_iter().chain(texts.iter().map(|slot| slot.id))
    }
}

/// Reads the tree under the root; a document that was never written has an empty tree.
pub fn live(txn: &impl ReadTxn, profile: SchemaProfile) -> Vec<LiveChild> {
    let Some(fragment) = txn.get_xml_fragment(ROOT) else { return Vec::new() };
    LiveTreeReader { txn, profile, keeps_texts: true }.kids(&fragment, 1)
}

/// Reads the tree under the root without the text of each slot, which the runs have.
pub(crate) fn glance(txn: &impl ReadTxn, profile: SchemaProfile) -> Vec<LiveChild> {
    let Some(fragment) = txn.get_xml_fragment(ROOT) else { return Vec::new() };
    LiveTreeReader { txn, profile, keeps_texts: false }.kids(&fragment, 1)
}

/// Reads some children of the root.
pub(crate) fn live_at(
    txn: &impl ReadTxn,
    elements: &[XmlElementRef],
    profile: SchemaProfile,
) -> Vec<LiveChild> {
    let reader = LiveTreeReader { txn, profile, keeps_texts: true };
    let kids = elements.iter().filter_map(|element| reader.element(element.clone(), 2));
    kids.map(LiveChild::Element).collect()
}

/// Reads some children of the root like [`glance`].
pub(crate) fn glance_at(
    txn: &impl ReadTxn,
    elements: &[XmlElementRef],
    profile: SchemaProfile,
) -> Vec<LiveChild> {
    let reader = LiveTreeReader { txn, profile, keeps_texts: false };
    let kids = elements.iter().filter_map(|element| reader.element(element.clone(), 2));
    kids.map(LiveChild::Element).collect()
}

/// Returns the item of an element; `None` for texts.
pub(crate) fn element_id(kid: &LiveChild) -> Option<ItemId> {
    match kid {
        LiveChild::Element(element) => Some(element.id),
        LiveChild::Text(_) => None,
    }
}

/// Reads a fragment like [`glance`], wherever it is.
pub(crate) fn glance_in(
    txn: &impl ReadTxn,
    fragment: &impl XmlFragment,
    profile: SchemaProfile,
) -> Vec<LiveChild> {
    LiveTreeReader { txn, profile, keeps_texts: false }.kids(fragment, 1)
}

/// Converts live children to a tree.
pub fn nodes(kids: &[LiveChild]) -> Vec<MarkdownNode> {
    let mut nodes = Vec::with_capacity(kids.len());
    for kid in kids {
        match kid {
            LiveChild::Element(element) => nodes.push(tree(element).into()),
            LiveChild::Text(text) => text.runs.iter().for_each(|run| nodes.push(run.clone())),
        }
    }
    nodes
}

/// Converts live children to a tree, without copying their content.
pub(crate) fn into_nodes(kids: Vec<LiveChild>) -> Vec<MarkdownNode> {
    let mut nodes = Vec::with_capacity(kids.len());
    for kid in kids {
        match kid {
            LiveChild::Element(LiveElement { name, attributes, kids, .. }) => {
                let children = into_nodes(kids);
                nodes.push(TreeElement { name, attributes, children, marks: Vec::new() }.into());
            }
            LiveChild::Text(text) => nodes.extend(text.runs),
        }
    }
    nodes
}

/// Converts a live element. Recurses: the tree that was read is at most [`MAX_DEPTH`] deep.
fn tree(element: &LiveElement) -> TreeElement {
    TreeElement {
        name: element.name.clone(),
        attributes: element.attributes.clone(),
        children: nodes(&element.kids),
        marks: Vec::new(),
    }
}

struct LiveTreeReader<'a, T> {
    txn: &'a T,
    profile: SchemaProfile,
    /// Whether each `Y.XmlText` gets its text and its embeds.
    keeps_texts: bool,
}

impl<T: ReadTxn> LiveTreeReader<'_, T> {
    fn kids(&self, parent: &impl XmlFragment, depth: usize) -> Vec<LiveChild> {
        let mut kids = Vec::new();
        if depth >= MAX_DEPTH {
            return kids;
        }
        // The children that yrs lists as XML end before the first that is not XML: a peer that puts
        // a map there would hide the children behind it.
        for child in types_in(self.txn, parent.as_ref()) {
            match child {
                Out::YXmlElement(element) => {
                    if let Some(element) = self.element(element, depth + 1) {
                        push_one(&mut kids, LiveChild::Element(element));
                    }
                }
                Out::YXmlText(text) => self.text(text, &mut kids),
                _ => {}
            }
        }
        kids
    }

    fn element(&self, handle: XmlElementRef, depth: usize) -> Option<LiveElement> {
        let id = item_of(handle.as_ref())?;
        let name = SmolStr::new(handle.tag());
        let attributes = handle.attributes(self.txn).filter_map(|(key, value)| match value {
            Out::Any(value) if key != "ychange" => Some((SmolStr::new(key), to_value(&value))),
            _ => None,
        });
        let mut attributes: Attributes = attributes.filter(|(_, value)| !value.is_null()).collect();
        attributes.shrink_to_fit();
        let spec = self.profile.element(&name).map_or(&[][..], |spec| spec.attributes);
        in_order(&mut attributes, spec);
        let kids = self.kids(&handle, depth);
        Some(LiveElement { id, handle, name, attributes, kids })
    }

    fn text(&self, handle: XmlTextRef, kids: &mut Vec<LiveChild>) {
        let Some(id) = item_of(handle.as_ref()) else { return };
        if !matches!(kids.last(), Some(LiveChild::Text(_))) {
            push_one(kids, LiveChild::Text(LiveText { slots: Vec::new(), runs: Vec::new() }));
        }
        let Some(LiveChild::Text(around)) = kids.last_mut() else { return };
        let (mut whole, mut others, mut at) = (String::new(), Vec::new(), 0);
        for chunk in handle.diff(self.txn, YChange::identity) {
            let Out::Any(Any::String(text)) = chunk.insert else {
                others.push(at);
                continue;
            };
            if self.keeps_texts {
                at += utf16_len(&text);
                whole.push_str(&text);
            }
            let formats = chunk.attributes.iter().flat_map(|formats| formats.iter());
            let marks = formats.filter(|(_, value)| **value != Any::Null);
            let mut marks: Vec<TextMark> =
                marks.map(|(name, value)| self.mark(name, value)).collect();
            if marks.len() > 1 {
                marks.sort_by(|left, right| {
                    let rank = |mark: &TextMark| self.profile.rank(&mark.name);
                    rank(left).cmp(&rank(right)).then_with(|| left.name.cmp(&right.name))
                });
            }
            push_inline(&mut around.runs, MarkdownNode::text(&*text, marks));
        }
        push_one(&mut around.slots, TextSlot { id, handle, text: whole, others });
    }

    fn mark(&self, format: &str, value: &Any) -> TextMark {
        let name = mark_name(format);
        let mut attributes = match to_value(value) {
            AttributeValue::Object(entries) => entries,
            _ => Attributes::new(),
        };
        let spec = self.profile.marks().iter().find(|spec| spec.name == name);
        in_order(&mut attributes, spec.map_or(&[][..], |spec| spec.attributes));
        TextMark { name: SmolStr::new(name), attributes }
    }
}

/// Returns the item that holds a type; `None` for roots.
pub(crate) fn item_of(branch: &Branch) -> Option<ItemId> {
    match branch.id() {
        BranchID::Nested(id) => Some(ItemId::new(ClientId::new(id.client.get()).ok()?, id.clock)),
        BranchID::Root(_) => None,
    }
}

/// Marks that may overlap have a hash behind their name: `comment--UCrVW6WW`.
fn mark_name(format: &str) -> &str {
    let Some((name, hash)) = format.rsplit_once("--") else { return format };
    let is_base64 = |byte: u8| byte.is_ascii_alphanumeric() || b"+/=".contains(&byte);
    if hash.len() == 8 && hash.bytes().all(is_base64) { name } else { format }
}

/// Puts attributes into the order of the schema, and unknown ones after, by name.
fn in_order(attributes: &mut Attributes, specs: &[AttributeSpec]) {
    if attributes.len() < 2 {
        return;
    }
    let place = |name: &str| specs.iter().position(|spec| spec.name == name).unwrap_or(usize::MAX);
    attributes.sort_by(|(left, _), (right, _)| {
        place(left).cmp(&place(right)).then_with(|| left.cmp(right))
    });
}

/// Converts a value of Yjs to one of a tree. Recurses: the gate bounds how deep values nest.
pub fn to_value(any: &Any) -> AttributeValue {
    match any {
        Any::Null | Any::Undefined | Any::Buffer(_) => AttributeValue::Null,
        Any::Bool(value) => AttributeValue::Bool(*value),
        Any::Number(yrs::Number::Int(number)) => AttributeValue::Number(*number as f64),
        Any::Number(yrs::Number::Float(number)) => AttributeValue::Number(*number),
        Any::String(text) => AttributeValue::string(&**text),
        Any::Array(values) => AttributeValue::Array(values.iter().map(to_value).collect()),
        Any::Map(entries) => {
            let mut entries: Vec<_> =
                entries.iter().map(|(key, value)| (SmolStr::new(key), to_value(value))).collect();
            entries.sort_by(|(left, _), (right, _)| left.cmp(right));
            AttributeValue::Object(entries)
        }
    }
}

/// Converts a value of a tree to one of Yjs. Recurses: values nest no deeper than the tree that was
/// read.
pub(crate) fn to_any(value: &AttributeValue) -> Any {
    match value {
        AttributeValue::Null => Any::Null,
        AttributeValue::Bool(value) => Any::Bool(*value),
        AttributeValue::Number(number) => Any::Number(yrs::Number::try_i64(*number)),
        AttributeValue::String(text) => Any::String(text.as_str().into()),
        AttributeValue::Array(values) => Any::Array(values.iter().map(to_any).collect()),
        AttributeValue::Object(entries) => {
            let entries = entries.iter().map(|(key, value)| (key.to_string(), to_any(value)));
            Any::Map(std::sync::Arc::new(entries.collect()))
        }
    }
}
