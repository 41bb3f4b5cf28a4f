//! The content of a node in 128 bits of a collision-resistant hash: nodes with equal fingerprints
//! are the same.
//!
//! As in `yfs_markdown::tree_equality`, attributes that editors derive from the context make no
//! difference, nor do nulls or the marks of elements, which Yjs does not keep.

use yfs_markdown::{
    tree::{AttributeValue, Attributes, MarkdownNode, TextRun},
    tree_equality::is_derived,
};

use crate::rich::{LiveChild, LiveElement};

/// The hash of a node's content.
pub(super) type Fingerprint = [u8; 16];

/// Returns the fingerprint of an element, or of texts that stand together.
pub(super) fn of_nodes(nodes: &[MarkdownNode], scratch: &mut Vec<u8>) -> Fingerprint {
    scratch.clear();
    nodes.iter().for_each(|node| put_node(node, scratch));
    hash(scratch)
}

/// Returns the fingerprint of a live child.
pub(super) fn of_kid(kid: &LiveChild, scratch: &mut Vec<u8>) -> Fingerprint {
    scratch.clear();
    put_kid(kid, scratch);
    hash(scratch)
}

fn hash(bytes: &[u8]) -> Fingerprint {
    let hash = blake3::hash(bytes);
    *hash.as_bytes().first_chunk().expect("a hash has 32 bytes")
}

fn put_node(node: &MarkdownNode, out: &mut Vec<u8>) {
    match node {
        MarkdownNode::Text(text) => put_text(text, out),
        MarkdownNode::Element(element) => {
            put_head(&element.name, &element.attributes, out);
            element.children.iter().for_each(|child| put_node(child, out));
            out.push(END);
        }
    }
}

fn put_kid(kid: &LiveChild, out: &mut Vec<u8>) {
    match kid {
        LiveChild::Text(text) => text.runs.iter().for_each(|run| put_node(run, out)),
        LiveChild::Element(LiveElement { name, attributes, kids, .. }) => {
            put_head(name, attributes, out);
            kids.iter().for_each(|kid| put_kid(kid, out));
            out.push(END);
        }
    }
}

// None of these occurs in UTF-8.
const ELEMENT: u8 = 0xf8;
const TEXT: u8 = 0xf9;
const MARK: u8 = 0xfa;
const SAID: u8 = 0xfb;
const END: u8 = 0xff;

fn put_head(name: &str, attributes: &Attributes, out: &mut Vec<u8>) {
    out.push(ELEMENT);
    out.extend_from_slice(name.as_bytes());
    put_attributes(name, attributes, out);
}

fn put_text(text: &TextRun, out: &mut Vec<u8>) {
    out.push(TEXT);
    out.extend_from_slice(text.text.as_bytes());
    for mark in &text.marks {
        out.push(MARK);
        out.extend_from_slice(mark.name.as_bytes());
        put_attributes("", &mark.attributes, out);
    }
    out.push(END);
}

fn put_attributes(owner: &str, attributes: &Attributes, out: &mut Vec<u8>) {
    let is_counted =
        |(name, value): &&(_, AttributeValue)| !value.is_null() && !is_derived(owner, as_str(name));
    let mut counted: Vec<_> = attributes.iter().filter(is_counted).collect();
    counted.sort_by(|(left, _), (right, _)| left.cmp(right));
    for (name, value) in counted {
        out.push(SAID);
        out.extend_from_slice(name.as_bytes());
        put_value(value, out);
    }
    out.push(END);
}

fn as_str(name: &smol_str::SmolStr) -> &str {
    name
}

fn put_value(value: &AttributeValue, out: &mut Vec<u8>) {
    out.push(SAID);
    match value {
        AttributeValue::Null => out.push(b'n'),
        AttributeValue::Bool(value) => out.push(if *value { b't' } else { b'f' }),
        AttributeValue::Number(number) => {
            out.push(b'd');
            out.extend_from_slice(&(number + 0.0).to_be_bytes());
        }
        AttributeValue::String(text) => {
            out.push(b's');
            out.extend_from_slice(text.as_bytes());
        }
        AttributeValue::Array(values) => {
            out.push(b'a');
            values.iter().for_each(|value| put_value(value, out));
        }
        AttributeValue::Object(entries) => {
            out.push(b'o');
            put_attributes("", entries, out);
        }
    }
    out.push(END);
}
