//! Finds blank lines between the parts of a list, which mdast calls *spread*.

use std::ops::Range;

/// Reports whether a blank line stands between any two neighbors.
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

/// Returns the end of a part, without the blank lines (and quote markers on them) after it.
fn content_end(text: &str, part: &Range<usize>) -> usize {
    let content = text[part.clone()]
        .trim_end_matches(|character: char| character.is_whitespace() || character == '>');
    part.start + content.len()
}

fn blank_between(text: &str, from: usize, to: usize) -> bool {
    let Some(between) = text.get(from..to) else { return false };
    let mut lines = between.split('\n').skip(1).peekable();
    while let Some(line) = lines.next() {
        let is_last = lines.peek().is_none();
        if !is_last
            && line
                .trim_matches(|character: char| character.is_whitespace() || character == '>')
                .is_empty()
        {
            return true;
        }
    }
    false
}
