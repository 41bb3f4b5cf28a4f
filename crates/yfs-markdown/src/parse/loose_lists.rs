//! Whether blank lines stand between the parts of a list: what mdast calls *spread*.

use std::ops::Range;

/// Whether a blank line stands between any two neighbours.
pub(super) fn is_spread(text: &str, mut parts: impl Iterator<Item = Range<usize>>) -> bool {
    let Some(mut before) = parts.next() else { return false };
    for part in parts {
        if blank_between(text, content_end(text, &before), part.start) {
            return true;
        }
        before = part;
    }
    false
}

/// Where a part ends, without the blank lines (and quote markers on them) after it.
fn content_end(text: &str, part: &Range<usize>) -> usize {
    let content = text[part.clone()].trim_end_matches(|it: char| it.is_whitespace() || it == '>');
    part.start + content.len()
}

fn blank_between(text: &str, from: usize, to: usize) -> bool {
    let Some(between) = text.get(from..to) else { return false };
    let mut lines = between.split('\n').skip(1).peekable();
    while let Some(line) = lines.next() {
        let is_last = lines.peek().is_none();
        if !is_last && line.trim_matches(|it: char| it.is_whitespace() || it == '>').is_empty() {
            return true;
        }
    }
    false
}
