//! Files as pages of lines.

use crate::stat::VersionToken;

/// A range of lines of a file.
///
/// The lines joined with newlines, with one more newline after the last if `ends_with_newline`, are
/// the file's content in this range (where it is UTF-8; other bytes appear as U+FFFD). A carriage
/// return belongs to its line. An empty file has no lines; `"a"` and `"a\n"` have one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinePage {
    /// The lines, without their newlines.
    pub lines: Vec<String>,
    /// The number of the first of them, counted from 0.
    pub offset: u64,
    /// The number of lines in the file, if known.
    pub n_total: Option<u64>,
    /// The offset of the next page, or `None` if this page reaches the end.
    pub next_offset: Option<u64>,
    /// Whether the last line of this page is followed by a newline.
    pub ends_with_newline: bool,
    /// The version that was read.
    pub version: VersionToken,
}

impl LinePage {
    /// Returns `limit` lines starting at line `offset` (counted from 0). A page past the end is
    /// empty.
    pub fn of(content: &[u8], offset: u64, limit: u64, version: VersionToken) -> Self {
        let n_newlines = memchr_count(content);
        let has_tail = content.last().is_some_and(|byte| *byte != b'\n');
        let n_total = n_newlines + u64::from(has_tail);
        let end = offset.saturating_add(limit).min(n_total);
        let skipped = usize::try_from(offset).unwrap_or(usize::MAX);
        let n_lines = usize::try_from(end.saturating_sub(offset)).unwrap_or(usize::MAX);
        let pieces = content.split(|byte| *byte == b'\n').skip(skipped).take(n_lines);
        let lines: Vec<String> =
            pieces.map(|line| String::from_utf8_lossy(line).into_owned()).collect();
        let ends_with_newline = !lines.is_empty() && (end < n_total || !has_tail);
        Self {
            lines,
            offset,
            n_total: Some(n_total),
            next_offset: (offset < n_total && end < n_total).then_some(end),
            ends_with_newline,
            version,
        }
    }
}

fn memchr_count(content: &[u8]) -> u64 {
    content.iter().filter(|byte| **byte == b'\n').count() as u64
}
