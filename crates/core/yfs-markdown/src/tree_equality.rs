//! Compares two trees as documents.
//!
//! Yjs keeps no marks on elements, and editors derive some attributes from the context. Neither
//! makes a difference here, nor does whether a null is written or left out. Markdown cannot show
//! blanks at the end of a block; `same_but_blanks` ignores those.

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
pub(crate) fn same_node(left: &MarkdownNode, right: &MarkdownNode) -> bool {
    match (left, right) {
        (MarkdownNode::Element(left), MarkdownNode::Element(right)) => same(left, right),
        (MarkdownNode::Text(left), MarkdownNode::Text(right)) => {
            left.text == right.text && same_marks(&left.marks, &right.marks)
        }
        _ => false,
    }
}

/// Reports whether two nodes are the same, except for blanks at the ends of blocks and the signs of
/// emphasis: text beside it may rule out one of the two.
pub(crate) fn same_but_blanks(left: &MarkdownNode, right: &MarkdownNode) -> bool {
    if same_node(left, right) {
        return true;
    }
    let (Some(left), Some(right)) = (left.as_element(), right.as_element()) else { return false };
    let is_same = |left: &[MarkdownNode], right: &[MarkdownNode]| {
        left.len() == right.len()
            && left.iter().zip(right).all(|(left, right)| same_but_blanks(left, right))
    };
    left.name == right.name
        && same_attributes(&left.name, &left.attributes, &right.attributes)
        && match is_text_block(left) {
            true => same_text(&without_blanks(&left.children), &without_blanks(&right.children)),
            false => is_same(&left.children, &right.children),
        }
}

fn same_text(left: &[MarkdownNode], right: &[MarkdownNode]) -> bool {
    let is_same = |left: &MarkdownNode, right: &MarkdownNode| match (left, right) {
        (MarkdownNode::Text(left), MarkdownNode::Text(right)) => {
            left.text == right.text && same_marks_but_signs(&left.marks, &right.marks)
        }
        _ => same_node(left, right),
    };
    left.len() == right.len() && left.iter().zip(right).all(|(left, right)| is_same(left, right))
}

/// Reports whether marks are the same, whichever sign emphasis is written with.
pub(crate) fn same_marks_but_signs(left: &[TextMark], right: &[TextMark]) -> bool {
    left.len() == right.len()
        && left.iter().zip(right).all(|(left, right)| {
            let is_emphasis = matches!(left.name.as_str(), "emphasis" | "strong");
            left.name == right.name
                && (is_emphasis || same_attributes(&left.name, &left.attributes, &right.attributes))
        })
}

/// Reports whether a node has blanks at the end of a block, which markdown cannot show.
pub(crate) fn has_end_blanks(node: &MarkdownNode) -> bool {
    let Some(element) = node.as_element() else { return false };
    match is_text_block(element) {
        true => !same_text(&element.children, &without_blanks(&element.children)),
        false => element.children.iter().any(has_end_blanks),
    }
}

fn is_text_block(element: &TreeElement) -> bool {
    matches!(element.name.as_str(), "paragraph" | "heading")
}

/// Returns the content of a text block without blanks at its end.
fn without_blanks(nodes: &[MarkdownNode]) -> Vec<MarkdownNode> {
    let is_code = |marks: &[TextMark]| {
        marks.iter().any(|mark| matches!(mark.name.as_str(), "code" | "inlineCode"))
    };
    let mut kept = nodes.to_vec();
    trim_end(&mut kept, is_code);
    kept
}

fn trim_end(nodes: &mut Vec<MarkdownNode>, is_code: impl Fn(&[TextMark]) -> bool) {
    while let Some(MarkdownNode::Text(run)) = nodes.last_mut()
        && !is_code(&run.marks)
    {
        run.text.truncate(run.text.trim_end_matches([' ', '\t']).len());
        if !run.text.is_empty() {
            return;
        }
        nodes.pop();
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

pub(crate) fn same_attributes(
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
