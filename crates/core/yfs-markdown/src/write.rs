//! Writes a tree as text, and reads it back to verify it.
//!
//! Each leaf is written with few backslashes first. If the whole does not read back as the tree,
//! each leaf is tried alone, with more care where it needs it. Trees of editors can have content
//! that markdown cannot express (empty paragraphs, blanks at the end of a line); of these, as much
//! is written as possible.
//!
//! # Cost
//!
//! Linear: the text is written and read once, or three times.

pub(crate) mod body;
pub(crate) mod emit;
mod escape;
mod html;
pub(crate) mod inline;
mod runs;

use emit::{WritePlan, emit};
use inline::EscapeCare;

use crate::{
    outline::{OutlineLeaf, TreeOutline, empty_row},
    parse::parse,
    schema::SchemaProfile,
    tree::{MarkdownNode, TreeElement},
    tree_equality::{same, same_but_blanks},
};

/// Writes a document as markdown in the usual style, without any memory.
///
/// ```
/// use yfs_markdown::{parse::parse, schema::SchemaProfile, write::write};
///
/// let doc = parse("Title\n=====\n\n* one\n* _two_", SchemaProfile::Gfm);
/// assert_eq!(write(&doc, SchemaProfile::Gfm), "# Title\n\n- one\n- _two_\n");
/// ```
pub fn write(document: &TreeElement, profile: SchemaProfile) -> String {
    let outline = TreeOutline::new(document);
    let mut plan = WritePlan::canonical(&outline, profile);
    let text = emit(&outline, &plan);
    if same(&parse(&text, profile), document) {
        return text;
    }
    raise_care(&outline, &mut plan, |_| true);
    emit(&outline, &plan)
}

/// Raises the care of the leaves that need it, among the selected ones.
pub(crate) fn raise_care(
    outline: &TreeOutline<'_>,
    plan: &mut WritePlan<'_>,
    is_chosen: impl Fn(usize) -> bool,
) {
    for index in (0..outline.leaves.len()).filter(|index| is_chosen(*index)) {
        let leaf = &outline.leaves[index];
        let is_right = |care: &EscapeCare| reads_back(leaf, plan.profile, *care);
        let least = plan.cares[index];
        let cares = [EscapeCare::Little, EscapeCare::Other, EscapeCare::Full];
        let mut cares = [least].into_iter().chain(cares.into_iter().filter(|care| *care > least));
        plan.cares[index] = cares.find(is_right).unwrap_or(least);
    }
}

/// Reports whether a leaf, alone in a document, reads back as itself.
fn reads_back(leaf: &OutlineLeaf<'_>, profile: SchemaProfile, care: EscapeCare) -> bool {
    let alone = match leaf.element.name.as_str() {
        "table_header_row" => {
            let rows = vec![leaf.element.clone().into(), empty_row(leaf.element).into()];
            TreeElement::new("table").with_children(rows)
        }
        "table_row" => {
            let head =
                leaf.element.children.iter().filter_map(MarkdownNode::as_element).map(|cell| {
                    let head = TreeElement { name: "table_header".into(), ..cell.clone() };
                    let paragraph = TreeElement::new("paragraph").into();
                    head.with_children(vec![paragraph]).into()
                });
            let head = TreeElement::new("table_header_row").with_children(head.collect());
            TreeElement::new("table").with_children(vec![head.into(), leaf.element.clone().into()])
        }
        "horizontal_rule" | "hr" => return true,
        _ => leaf.element.clone(),
    };
    let document = TreeElement::new("doc").with_children(vec![alone.into()]);
    let outline = TreeOutline::new(&document);
    let mut plan = WritePlan::canonical(&outline, profile);
    plan.cares.fill(care);
    let (read, document) = (parse(&emit(&outline, &plan), profile), document);
    same_but_blanks(&read.into(), &document.into())
}
