//! Parses text to a tree, through the events of pulldown-cmark.
//!
//! There are two parsers. [`parse`] returns the stored tree: everything the profile can express,
//! with soft breaks kept. [`parse_like_editors`] returns the tree that the JavaScript pipelines of
//! the two editors build from the same text, quirks included; tests compare it with theirs.
//!
//! # Cost
//!
//! Linear in the length of any text. Containers nest at most [`MAX_DEPTH`](crate::tree::MAX_DEPTH)
//! deep: deeper ones are left out and their content stays. Of the container markers on one line,
//! those past [`MAX_MARKERS`] are text.

mod blocks;
mod inline;
mod loose_lists;
mod masked_text;
mod trace;

use std::{borrow::Cow, ops::Range};

pub use masked_text::MAX_MARKERS;
pub(crate) use masked_text::is_autolink;

use crate::{schema::SchemaProfile, tree::TreeElement};

/// The byte order mark, which is no content.
pub(crate) const MARK: char = '\u{feff}';

/// The options of the parser.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ParseMode {
    pub(crate) profile: SchemaProfile,
    /// Whether to reproduce the quirks of the editors' own parsers.
    pub(crate) strict: bool,
}

/// The range of a block in the (normalized) text; parallel to the tree.
#[derive(Debug, Clone)]
pub(crate) struct BlockSpan {
    /// Its bytes. Blocks without text have an empty range.
    pub(crate) range: Range<usize>,
    /// The spans of its children, if those are blocks.
    pub(crate) children: Vec<Self>,
}

/// Parses markdown without front matter. The result has at least one paragraph.
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

/// Parses markdown as prosemirror-markdown or Milkdown would, with all their losses.
pub fn parse_like_editors(text: &str, profile: SchemaProfile) -> TreeElement {
    blocks::build(&normalise(text), ParseMode { profile, strict: true }).0
}

/// Parses normalized markdown, and returns the range of each block.
pub(crate) fn parse_spans(normalised: &str, profile: SchemaProfile) -> (TreeElement, BlockSpan) {
    blocks::build(normalised, ParseMode { profile, strict: false })
}

/// Parses normalized markdown, and returns the place of each character and inline element of its
/// leaves. `None` if these are not known.
pub(crate) fn parse_places(
    normalised: &str,
    profile: SchemaProfile,
) -> Option<(TreeElement, Vec<Range<usize>>)> {
    blocks::build_traced(normalised, ParseMode { profile, strict: false })
}

/// Normalizes line ends to `\n` and NUL to U+FFFD. The number of lines stays.
pub(crate) fn normalise(text: &str) -> Cow<'_, str> {
    if !text.as_bytes().contains(&b'\r') && !text.as_bytes().contains(&0) {
        return Cow::Borrowed(text);
    }
    let mut normalised = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(character) = chars.next() {
        match character {
            '\r' => {
                chars.next_if_eq(&'\n');
                normalised.push('\n');
            }
            '\0' => normalised.push('\u{fffd}'),
            character => normalised.push(character),
        }
    }
    Cow::Owned(normalised)
}
