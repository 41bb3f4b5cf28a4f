//! What bytes are: text, which is merged, or a blob, which is kept whole; and where its lines are.

use std::ops::Range;

use yfs_markdown::weight::weight;

use crate::kind::ContentRoot;

/// The greatest size of a text that is kept as text, in bytes. What is larger becomes a blob.
pub const MAX_TEXT_BYTES: usize = 8 << 20;

/// The greatest [`weight`] of markdown that is kept as rich text: about so many lines, list items,
/// cells and pairs of marks. What is heavier becomes a blob.
pub const MAX_RICH_WEIGHT: usize = 100_000;

/// How bytes are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ByteClassification<'a> {
    /// As text in the content document.
    Text(&'a str),
    /// By reference.
    Blob,
}

/// Tells how bytes are kept.
///
/// Text is what is UTF-8 and not too large. That includes a byte order mark, carriage returns and
/// NULs: what was written is read back to the byte.
pub fn classify(bytes: &[u8]) -> ByteClassification<'_> {
    if bytes.len() > MAX_TEXT_BYTES {
        return ByteClassification::Blob;
    }
    std::str::from_utf8(bytes).map_or(ByteClassification::Blob, ByteClassification::Text)
}

/// Tells how the bytes of a file are kept whose name promises a kind of content.
///
/// Markdown of very many short lines becomes a blob like text that is too large: a line of two bytes
/// takes 3 KB as rich text, and no editor shows a document of so many blocks.
pub fn classify_as(bytes: &[u8], kind: ContentRoot) -> ByteClassification<'_> {
    match (classify(bytes), kind) {
        (ByteClassification::Text(text), ContentRoot::Rich(_)) if is_heavy(text) => {
            ByteClassification::Blob
        }
        (form, _) => form,
    }
}

/// Reports whether a text is too heavy for rich text.
pub(super) fn is_heavy(text: &str) -> bool {
    is_heavier(text, MAX_RICH_WEIGHT)
}

/// Reports whether a write makes a file heavy. What was heavy before, because peers made it so, may
/// still be edited.
pub(super) fn becomes_heavy(new: &str, old: impl FnOnce() -> String) -> bool {
    is_heavy(new) && {
        let old = old();
        !is_heavy(&old) || is_heavier(new, 2 * weight(&old))
    }
}

fn is_heavier(text: &str, most: usize) -> bool {
    text.len() > most && weight(text) > most
}

/// Returns where lines are in a text, in bytes, their newlines included.
///
/// The first line is 0. What lies behind the last line is empty, at the end.
pub fn line_range(text: &str, lines: Range<usize>) -> Range<usize> {
    let start_of = |text: &str, line: usize| match line.checked_sub(1) {
        None => 0,
        Some(before) => {
            let mut newlines = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
            newlines.nth(before).map_or(text.len(), |(at, _)| at + 1)
        }
    };
    let start = start_of(text, lines.start);
    let end = start + start_of(&text[start..], lines.end.saturating_sub(lines.start));
    start..end
}
