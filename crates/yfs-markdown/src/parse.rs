//! Text to tree, through the events of pulldown-cmark.
//!
//! Two ways to read. [`parse`] gives what we store: everything the profile can say, with soft breaks kept.
//! [`parse_like_editors`] gives what the JavaScript pipelines of the two editors build from the same text,
//! quirks included; it is what tests hold against them.
//!
//! # Cost
//!
//! Linear in the text, whatever it says. Containers nest at most [`MAX_DEPTH`](crate::tree::MAX_DEPTH) deep:
//! deeper ones are left out and their content stays. Of the container markers on one line,
//! those past [`MAX_MARKERS`] are text.

mod blocks;
mod inline;
mod loose_lists;
mod masked_text;

use std::{borrow::Cow, ops::Range};

pub use masked_text::MAX_MARKERS;
pub(crate) use masked_text::is_autolink;

use crate::{schema::SchemaProfile, tree::TreeElement};

/// The byte order mark, which is no content.
pub(crate) const MARK: char = '\u{feff}';

/// How to read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ParseMode {
    pub(crate) profile: SchemaProfile,
    /// Whether to reproduce the quirks of the editors' own parsers.
    pub(crate) strict: bool,
}

/// Where in the (normalised) text a block stands; parallel to the tree.
#[derive(Debug, Clone)]
pub(crate) struct BlockSpan {
    /// Its bytes. Blocks that no text stands for have an empty range.
    pub(crate) range: Range<usize>,
    /// The spans of its children, if those are blocks.
    pub(crate) children: Vec<Self>,
}

/// Reads markdown without front matter. The result holds at least one paragraph.
///
/// ```
/// use yfs_markdown::{parse::parse, schema::SchemaProfile};
///
/// let doc = parse("# Title\n", SchemaProfile::Gfm);
/// assert_eq!(doc.to_string(), r#"doc(heading{id="title" level=1}("Title"))"#);
/// ```
pub fn parse(text: &str, profile: SchemaProfile) -> TreeElement {
    let text = text.strip_prefix(MARK).unwrap_or(text);
    parse_spans(&normalise(text), profile).0
}

/// Reads markdown as prosemirror-markdown or Milkdown would, with all that they lose.
pub fn parse_like_editors(text: &str, profile: SchemaProfile) -> TreeElement {
    blocks::build(&normalise(text), ParseMode { profile, strict: true }).0
}

/// Reads normalised markdown, and says where each block stands.
pub(crate) fn parse_spans(normalised: &str, profile: SchemaProfile) -> (TreeElement, BlockSpan) {
    blocks::build(normalised, ParseMode { profile, strict: false })
}

/// Line ends become `\n`, NUL becomes U+FFFD. The number of lines stays.
pub(crate) fn normalise(text: &str) -> Cow<'_, str> {
    if !text.as_bytes().contains(&b'\r') && !text.as_bytes().contains(&0) {
        return Cow::Borrowed(text);
    }
    let mut normalised = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(it) = chars.next() {
        match it {
            '\r' => {
                chars.next_if_eq(&'\n');
                normalised.push('\n');
            }
            '\0' => normalised.push('\u{fffd}'),
            it => normalised.push(it),
        }
    }
    Cow::Owned(normalised)
}
