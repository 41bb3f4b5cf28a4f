//! Tree to text, read back to see that it says the same.
//!
//! Each leaf is written with few backslashes first. If the whole does not read back as the tree, each leaf is
//! tried alone, with more care where it needs it. Trees of editors can hold what markdown cannot say (empty
//! paragraphs, blanks at the end of a line); of these, as much is written as can be.
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
    tree_equality::same,
};

/// Writes a document as markdown, in the one way that everybody who remembers nothing writes it.
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
    take_care(&outline, &mut plan, |_| true);
    emit(&outline, &plan)
}

/// Raises the care of the leaves that need it, among those that are chosen.
pub(crate) fn take_care(
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

/// Whether a leaf, alone in a document, reads back as itself.
fn reads_back(leaf: &OutlineLeaf<'_>, profile: SchemaProfile, care: EscapeCare) -> bool {
    let alone = match leaf.element.name.as_str() {
        "table_header_row" => {
            let rows = vec![leaf.element.clone().into(), empty_row(leaf.element).into()];
            TreeElement::new("table").holding(rows)
        }
        "table_row" => {
            let head =
                leaf.element.children.iter().filter_map(MarkdownNode::as_element).map(|cell| {
                    let head = TreeElement { name: "table_header".into(), ..cell.clone() };
                    let paragraph = TreeElement::new("paragraph").into();
                    head.holding(vec![paragraph]).into()
                });
            let head = TreeElement::new("table_header_row").holding(head.collect());
            TreeElement::new("table").holding(vec![head.into(), leaf.element.clone().into()])
        }
        "horizontal_rule" | "hr" => return true,
        _ => leaf.element.clone(),
    };
    let document = TreeElement::new("doc").holding(vec![alone.into()]);
    let outline = TreeOutline::new(&document);
    let mut plan = WritePlan::canonical(&outline, profile);
    plan.cares.fill(care);
    same(&parse(&emit(&outline, &plan), profile), &document)
}
