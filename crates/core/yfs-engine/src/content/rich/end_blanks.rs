//! Blanks at the ends of paragraphs and headings: a person has typed one, and types on.
//!
//! A file does not contain them (`&#32;` would part the words of that person), so who writes the
//! file does not mean to remove them. Removing one would join the word before it with the next.

use yfs_markdown::tree::{MarkdownNode, TextRun, TreeElement};

const BLANKS: [char; 2] = [' ', '\t'];

/// A paragraph or a heading of the document that the writer had read.
struct ReadLeaf {
    /// Its text in the file.
    text: String,
    /// What the document has behind that.
    blanks: Option<TextRun>,
}

/// Gives the blocks that a writer made the blanks at the ends of those that it had read.
///
/// `document` and `read` are the same blocks, in the document and in the file.
pub(super) fn keep_end_blanks(
    document: &[MarkdownNode],
    read: &[MarkdownNode],
    new: &mut [MarkdownNode],
) {
    let old = read_leaves(document, read);
    if old.iter().all(|leaf| leaf.blanks.is_none()) {
        return;
    }
    let mut leaves = Vec::new();
    leaves_mut(new, &mut leaves);
    let texts: Vec<_> = leaves.iter().map(|leaf| text_of(leaf)).collect();
    let n_first = old.iter().zip(&texts).take_while(|(old, new)| old.text == **new).count();
    let n_more = old.len().min(texts.len()) - n_first;
    let ends = old.iter().rev().zip(texts.iter().rev()).take(n_more);
    let n_last = ends.take_while(|(old, new)| old.text == **new).count();
    // Those that changed are paired in their order.
    let pairs = (0..old.len().min(texts.len()) - n_last)
        .map(|index| (index, index))
        .chain((1..=n_last).map(|back| (old.len() - back, texts.len() - back)));
    for (before, after) in pairs {
        let ReadLeaf { text, blanks: Some(blanks) } = &old[before] else { continue };
        if !goes_on_with_blank(text, &texts[after]) {
            push(leaves[after], blanks);
        }
    }
}

/// Reports whether the writer has put a blank where the one at the end was, or has one there.
fn goes_on_with_blank(read: &str, new: &str) -> bool {
    new.ends_with(BLANKS) || new.strip_prefix(read).is_some_and(|rest| rest.starts_with(BLANKS))
}

/// Returns the leaves of the file in their order; none if the document has others.
fn read_leaves(document: &[MarkdownNode], read: &[MarkdownNode]) -> Vec<ReadLeaf> {
    let (mut written, mut shown) = (Vec::new(), Vec::new());
    leaves_of(document, &mut written);
    leaves_of(read, &mut shown);
    // The file has no empty paragraphs.
    written.retain(|leaf| !text_of(leaf).trim_matches(BLANKS).is_empty());
    shown.retain(|leaf| !text_of(leaf).is_empty());
    if written.len() != shown.len() {
        return Vec::new();
    }
    written.iter().zip(shown).map(|(there, here)| read_leaf(there, here)).collect()
}

fn read_leaf(document: &TreeElement, read: &TreeElement) -> ReadLeaf {
    let (there, text) = (text_of(document), text_of(read));
    let marks = match document.children.last() {
        Some(MarkdownNode::Text(run)) => run.marks.clone(),
        _ => Vec::new(),
    };
    let rest = there.strip_prefix(text.as_str()).filter(|rest| !rest.is_empty());
    let blanks = rest.filter(|rest| rest.trim_matches(BLANKS).is_empty());
    let blanks = blanks.map(|blanks| TextRun { text: blanks.to_owned(), marks });
    ReadLeaf { text, blanks }
}

fn push(leaf: &mut TreeElement, blanks: &TextRun) {
    match leaf.children.last_mut() {
        Some(MarkdownNode::Text(last)) if last.marks == blanks.marks => {
            last.text.push_str(&blanks.text);
        }
        _ => leaf.children.push(MarkdownNode::Text(blanks.clone())),
    }
}

fn is_leaf(element: &TreeElement) -> bool {
    matches!(element.name.as_str(), "paragraph" | "heading")
}

fn leaves_of<'a>(nodes: &'a [MarkdownNode], leaves: &mut Vec<&'a TreeElement>) {
    for node in nodes {
        let MarkdownNode::Element(element) = node else { continue };
        match is_leaf(element) {
            true => leaves.push(element),
            false => leaves_of(&element.children, leaves),
        }
    }
}

fn leaves_mut<'a>(nodes: &'a mut [MarkdownNode], leaves: &mut Vec<&'a mut TreeElement>) {
    for node in nodes {
        let MarkdownNode::Element(element) = node else { continue };
        match is_leaf(element) {
            true => leaves.push(element),
            false => leaves_mut(&mut element.children, leaves),
        }
    }
}

/// Returns the text of a leaf; an element in it, such as a picture, is one character.
fn text_of(leaf: &TreeElement) -> String {
    let mut text = String::new();
    for node in &leaf.children {
        match node {
            MarkdownNode::Text(run) => text.push_str(&run.text),
            MarkdownNode::Element(_) => text.push('\u{fffc}'),
        }
    }
    text
}
