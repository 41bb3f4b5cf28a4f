//! Classifies bytes as text, which is merged, or as a blob, which is kept whole.

use yfs_markdown::weight::weight;

use crate::kind::ContentRoot;

/// The greatest size of a text that is written as text unless a setting says otherwise, in bytes.
/// Larger text becomes a blob.
pub(crate) const DEFAULT_TEXT_BYTES: usize = 8 << 20;

/// The greatest value of that setting, [`GateLimits::text_bytes`](crate::gate::GateLimits), in
/// bytes. The update that writes a text of this size is half of the greatest message.
pub const MAX_TEXT_BYTES: usize = 32 << 20;

/// The greatest [`weight`] of markdown that is kept as rich text: about so many lines, list items,
/// cells and pairs of marks. Heavier text becomes a blob.
pub const MAX_RICH_WEIGHT: usize = 100_000;

/// How bytes are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ByteClassification<'a> {
    /// As text in the content document.
    Text(&'a str),
    /// By reference.
    Blob,
}

/// The beginnings of binary formats that may be valid UTF-8 without NUL, with the offset at which
/// they stand. A merge of two such files is neither of them.
const BINARY_MARKS: [(usize, &[u8]); 4] =
    [(0, b"%PDF-"), (0, b"PK\x03\x04"), (0, b"!<arch>\n"), (257, b"ustar")];

/// Returns how bytes are to be kept.
///
/// Text is valid UTF-8 of at most `max_len` bytes that holds no NUL, and does not begin as a known
/// binary format. It may have a byte order mark and carriage returns: reads return the written
/// bytes exactly.
pub fn classify(bytes: &[u8], max_len: usize) -> ByteClassification<'_> {
    let has_mark =
        |(at, mark): &(usize, &[u8])| bytes.get(*at..).is_some_and(|bytes| bytes.starts_with(mark));
    if bytes.len() > max_len || bytes.contains(&0) || BINARY_MARKS.iter().any(has_mark) {
        return ByteClassification::Blob;
    }
    std::str::from_utf8(bytes).map_or(ByteClassification::Blob, ByteClassification::Text)
}

/// Returns how to keep the bytes of a file whose name implies a kind of content.
///
/// Markdown of very many short lines becomes a blob like text that is too large: a line of two
/// bytes takes 3 KB as rich text, and no editor shows a document of so many blocks.
pub fn classify_as(bytes: &[u8], kind: ContentRoot, max_len: usize) -> ByteClassification<'_> {
    match (classify(bytes, max_len), kind) {
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

/// Reports whether a write makes a file heavy. A file that peers had made heavy before may still be
/// edited.
pub(super) fn becomes_heavy(new: &str, old: impl FnOnce() -> String) -> bool {
    is_heavy(new) && {
        let old = old();
        !is_heavy(&old) || is_heavier(new, 2 * weight(&old))
    }
}

fn is_heavier(text: &str, most: usize) -> bool {
    text.len() > most && {
        #[cfg(test)]
        crate::steps::count(text.len());
        weight(text) > most
    }
}
