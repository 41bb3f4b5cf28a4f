//! Renders a tree and a memory as text, and reads it back for verification.

use super::{SourceMap, apply_source, blocks::reads_as, key::LeafKey};
use crate::{
    outline::{TreeOutline, is_empty_paragraph},
    parse::{MARK, parse},
    schema::SchemaProfile,
    tree::{MarkdownNode, TreeElement},
    tree_equality::{same, same_node},
    write::{emit::emit, raise_care, write},
};

/// A document as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RenderedText {
    /// The text.
    pub text: String,
    /// Whether it reads back as the document. A document may have content that markdown cannot
    /// express.
    pub is_exact: bool,
}

/// Writes a document, with the remembered bytes wherever they still mean the tree.
///
/// The text means the tree; if markdown cannot express the tree, the text means the same as the
/// output of [`write()`].
pub fn render(document: &TreeElement, map: &SourceMap, profile: SchemaProfile) -> String {
    render_checked(document, map, profile).text
}

/// Writes a document like [`render`], and reports whether the text expresses all of it.
pub fn render_checked(
    document: &TreeElement,
    map: &SourceMap,
    profile: SchemaProfile,
) -> RenderedText {
    let outline = TreeOutline::new(document);
    let keys = LeafKey::of_leaves(&outline);
    let first = attempt(&outline, &keys, map, profile, &|_| false, false);
    let read = parse(&first, profile);
    if same(&read, document) {
        return RenderedText { text: first, is_exact: true };
    }
    // Empty paragraphs beside other blocks are the only nodes that the text leaves out.
    let is_block = |node: &MarkdownNode| node.as_element().is_some();
    let has_text = |node: &MarkdownNode| !node.as_element().is_some_and(is_empty_paragraph);
    let nodes = &document.children;
    if nodes.iter().all(is_block) && nodes.iter().any(has_text) && reads_as(&read, nodes) {
        return RenderedText { text: first, is_exact: false };
    }
    // A tree may have content that markdown cannot express. Then the rest is compared.
    let canonical = write(document, profile);
    let meant = parse(&canonical, profile);
    let is_exact = same(&meant, document);
    if same(&read, &meant) {
        return RenderedText { text: first, is_exact };
    }
    let careful = attempt(&outline, &keys, map, profile, &|_| false, true);
    let read = parse(&careful, profile);
    if same(&read, &meant) {
        return RenderedText { text: careful, is_exact };
    }
    if let Some((from, to)) = difference(document, &read, &meant) {
        let is_forgotten = |top: usize| (from..to).contains(&top);
        let text = attempt(&outline, &keys, map, profile, &is_forgotten, true);
        if same(&parse(&text, profile), &meant) {
            return RenderedText { text, is_exact };
        }
    }
    RenderedText { text: canonical, is_exact }
}

fn attempt(
    outline: &TreeOutline<'_>,
    keys: &[LeafKey],
    map: &SourceMap,
    profile: SchemaProfile,
    is_forgotten: &dyn Fn(usize) -> bool,
    is_careful: bool,
) -> String {
    let mut plan = apply_source::plan(outline, keys, map, profile, is_forgotten);
    if is_careful {
        let is_new: Vec<bool> = plan.bodies.iter().map(Option::is_none).collect();
        raise_care(outline, &mut plan, |index| is_new[index]);
    }
    let mut text = emit(outline, &plan);
    if map.style.is_open {
        let end = ["\r\n", "\n", "\r"].into_iter().find(|end| text.ends_with(end));
        text.truncate(text.len() - end.map_or(0, str::len));
    }
    if map.style.has_mark {
        text.insert(0, MARK);
    }
    text
}

/// Returns the blocks of the document that read back differently: from the first to after the last.
fn difference(
    document: &TreeElement,
    read: &TreeElement,
    meant: &TreeElement,
) -> Option<(usize, usize)> {
    let is_said = |node: &&MarkdownNode| !node.as_element().is_some_and(is_empty_paragraph);
    let tops: Vec<usize> =
        (0..document.children.len()).filter(|top| is_said(&&document.children[*top])).collect();
    let (read, meant) = (&read.children, &meant.children);
    if tops.len() != meant.len() {
        return None;
    }
    let equal = |pair: &(&MarkdownNode, &MarkdownNode)| same_node(pair.0, pair.1);
    let n_before = read.iter().zip(meant).take_while(equal).count();
    let n_after = read.iter().rev().zip(meant.iter().rev()).take_while(equal).count();
    let end = meant.len() - n_after.min(meant.len() - n_before);
    let from = *tops.get(n_before)?;
    Some((from, tops.get(end.checked_sub(1)?).map_or(from, |last| last + 1).max(from + 1)))
}
