//! What bytes are: text, which is merged, or a blob, which is kept whole; and where its lines are.

use std::ops::Range;

/// The greatest size of a text that is kept as text, in bytes. What is larger becomes a blob.
pub const MAX_TEXT_BYTES: usize = 8 << 20;

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
