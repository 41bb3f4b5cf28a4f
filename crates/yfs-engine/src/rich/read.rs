//! What is under the root, as a tree.

use smol_str::SmolStr;
use yfs_markdown::{
    schema::{AttributeSpec, Profile},
    tree::{Attributes, Element, MAX_DEPTH, Mark, Node, Value, push_inline},
};
use yrs::{
    Any, Out, ReadTxn, Text as _, Xml as _, XmlElementRef, XmlFragment, XmlOut, XmlTextRef,
    types::text::YChange,
};

use super::ROOT;

/// Reads the document of an editor. Nothing under the root reads as a document that holds nothing.
///
/// Names that the profile does not know are read as they are. Neighbouring texts, of two people who typed into an empty
/// paragraph, are one. What nests deeper than [`MAX_DEPTH`] is left out.
pub fn read(txn: &impl ReadTxn, profile: Profile) -> Element {
    let Some(fragment) = txn.get_xml_fragment(ROOT) else { return Element::new("doc") };
    let reader = Reader { txn, profile };
    Element::new("doc").holding(reader.children(&fragment, 1))
}

struct Reader<'a, T> {
    txn: &'a T,
    profile: Profile,
}

impl<T: ReadTxn> Reader<'_, T> {
    fn children(&self, parent: &impl XmlFragment, depth: usize) -> Vec<Node> {
        let mut children = Vec::new();
        if depth >= MAX_DEPTH {
            return children;
        }
        for child in parent.children(self.txn) {
            match child {
                XmlOut::Element(element) => children.push(self.element(&element, depth + 1).into()),
                XmlOut::Text(text) => self.text(&text, &mut children),
                XmlOut::Fragment(_) => {}
            }
        }
        children
    }

    fn element(&self, element: &XmlElementRef, depth: usize) -> Element {
        let name = element.tag();
        let attributes = element.attributes(self.txn).filter_map(|(key, value)| match value {
            Out::Any(value) if key != "ychange" => Some((SmolStr::new(key), to_value(&value))),
            _ => None,
        });
        let mut attributes: Attributes = attributes.collect();
        let spec = self.profile.element(name).map_or(&[][..], |spec| spec.attributes);
        in_order(&mut attributes, spec);
        let children = self.children(element, depth);
        Element { name: SmolStr::new(name), attributes, children, marks: Vec::new() }
    }

    fn text(&self, text: &XmlTextRef, children: &mut Vec<Node>) {
        for chunk in text.diff(self.txn, YChange::identity) {
            let Out::Any(Any::String(text)) = chunk.insert else { continue };
            let formats = chunk.attributes.iter().flat_map(|formats| formats.iter());
            let mut marks: Vec<Mark> =
                formats.map(|(name, value)| self.mark(name, value)).collect();
            marks.sort_by(|left, right| {
                let rank = |mark: &Mark| self.profile.rank(&mark.name);
                rank(left).cmp(&rank(right)).then_with(|| left.name.cmp(&right.name))
            });
            push_inline(children, Node::text(&*text, marks));
        }
    }

    fn mark(&self, format: &str, value: &Any) -> Mark {
        let name = mark_name(format);
        let mut attributes = match to_value(value) {
            Value::Object(entries) => entries,
            _ => Attributes::new(),
        };
        let spec = self.profile.marks().iter().find(|spec| spec.name == name);
        in_order(&mut attributes, spec.map_or(&[][..], |spec| spec.attributes));
        Mark { name: SmolStr::new(name), attributes }
    }
}

/// Marks that may overlap have a hash behind their name: `comment--UCrVW6WW`.
fn mark_name(format: &str) -> &str {
    let Some((name, hash)) = format.rsplit_once("--") else { return format };
    let is_base64 = |it: u8| it.is_ascii_alphanumeric() || b"+/=".contains(&it);
    if hash.len() == 8 && hash.bytes().all(is_base64) { name } else { format }
}

/// Puts attributes into the order of the schema, and unknown ones after, by name.
fn in_order(attributes: &mut Attributes, specs: &[AttributeSpec]) {
    let place = |name: &str| specs.iter().position(|spec| spec.name == name).unwrap_or(usize::MAX);
    attributes.sort_by(|(left, _), (right, _)| {
        place(left).cmp(&place(right)).then_with(|| left.cmp(right))
    });
}

/// Recurses: the gate bounds how deep values nest.
fn to_value(any: &Any) -> Value {
    match any {
        Any::Null | Any::Undefined | Any::Buffer(_) => Value::Null,
        Any::Bool(value) => Value::Bool(*value),
        Any::Number(yrs::Number::Int(number)) => Value::Number(*number as f64),
        Any::Number(yrs::Number::Float(number)) => Value::Number(*number),
        Any::String(text) => Value::string(&**text),
        Any::Array(values) => Value::Array(values.iter().map(to_value).collect()),
        Any::Map(entries) => {
            let mut entries: Vec<_> =
                entries.iter().map(|(key, value)| (SmolStr::new(key), to_value(value))).collect();
            entries.sort_by(|(left, _), (right, _)| left.cmp(right));
            Value::Object(entries)
        }
    }
}
