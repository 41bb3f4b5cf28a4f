//! Compares two trees as documents.
//!
//! Yjs keeps no marks on elements, and editors derive some attributes from the context. Neither
//! makes a difference here, nor does whether a null is written or left out.

use smol_str::SmolStr;

use crate::tree::{AttributeValue, MarkdownNode, TextMark, TreeElement};

/// Reports whether two elements are the same, with all below.
pub fn same(left: &TreeElement, right: &TreeElement) -> bool {
    left.name == right.name
        && same_attributes(&left.name, &left.attributes, &right.attributes)
        && left.children.len() == right.children.len()
        && left.children.iter().zip(&right.children).all(|(left, right)| same_node(left, right))
}

/// Reports whether two nodes are the same, with all below.
pub fn same_node(left: &MarkdownNode, right: &MarkdownNode) -> bool {
    match (left, right) {
        (MarkdownNode::Element(left), MarkdownNode::Element(right)) => same(left, right),
        (MarkdownNode::Text(left), MarkdownNode::Text(right)) => {
            left.text == right.text && same_marks(&left.marks, &right.marks)
        }
        _ => false,
    }
}

/// Reports whether an attribute is only derived from the context.
pub fn is_derived(element: &str, attribute: &str) -> bool {
    matches!((element, attribute), ("heading", "id") | ("list_item", "label" | "listType"))
}

fn same_marks(left: &[TextMark], right: &[TextMark]) -> bool {
    left.len() == right.len()
        && left.iter().zip(right).all(|(left, right)| {
            left.name == right.name
                && same_attributes(&left.name, &left.attributes, &right.attributes)
        })
}

fn same_attributes(
    owner: &str,
    left: &[(SmolStr, AttributeValue)],
    right: &[(SmolStr, AttributeValue)],
) -> bool {
    // Nearly always both are as our schemas have them.
    let is_same = |((name, value), (other, other_value)): (
        &(SmolStr, AttributeValue),
        &(SmolStr, AttributeValue),
    )| { name == other && (value == other_value || is_derived(owner, name)) };
    if left.len() == right.len() && left.iter().zip(right).all(is_same) {
        return true;
    }
    let is_kept =
        |(name, value): &&(SmolStr, AttributeValue)| !value.is_null() && !is_derived(owner, name);
    let mut kept = left.iter().filter(is_kept);
    kept.clone().count() == right.iter().filter(is_kept).count()
        && kept.all(|(name, value)| {
            right.iter().any(|(other, other_value)| other == name && other_value == value)
        })
}
