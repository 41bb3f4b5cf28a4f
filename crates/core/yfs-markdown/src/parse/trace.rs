//! The place of each character and inline element in the text that it was read from.

use std::ops::Range;

/// The places of characters and elements of leaves, in the order of the text. A cell of a table has
/// one of its own before its content.
#[derive(Debug, Default)]
pub(crate) struct InlineTrace {
    pub(crate) places: Vec<Range<usize>>,
}

impl InlineTrace {
    pub(super) fn element(&mut self, range: Range<usize>) {
        self.places.push(range);
    }

    /// Notes text. A backslash before it belongs to its first character.
    pub(super) fn text(&mut self, source: &str, text: &str, mut range: Range<usize>) {
        let is_escaped = text.starts_with(|first: char| first.is_ascii_punctuation())
            && range.start > 0
            && source.as_bytes()[range.start - 1] == b'\\'
            && self.places.last().is_none_or(|last| last.end < range.start);
        let is_same = source.get(range.clone()) == Some(text);
        let n_before = usize::from(is_escaped);
        range.start -= n_before;
        if is_same {
            let start = range.start + n_before;
            let places = text.char_indices().map(|(at, character)| {
                let from = if at == 0 { range.start } else { start + at };
                from..start + at + character.len_utf8()
            });
            self.places.extend(places);
        } else {
            self.lump(text, range);
        }
    }

    /// Notes text in which nothing is escaped.
    pub(super) fn verbatim(&mut self, source: &str, text: &str, range: Range<usize>) {
        if source.get(range.clone()) != Some(text) {
            return self.lump(text, range);
        }
        let places = text
            .char_indices()
            .map(|(at, character)| range.start + at..range.start + at + character.len_utf8());
        self.places.extend(places);
    }

    pub(super) fn extend_last(&mut self, end: usize) {
        if let Some(last) = self.places.last_mut() {
            last.end = end;
        }
    }

    /// Notes text that is written otherwise: its first character stands for all of it.
    fn lump(&mut self, text: &str, range: Range<usize>) {
        let Some(n_more) = text.chars().count().checked_sub(1) else { return };
        let end = range.end;
        self.places.push(range);
        self.places.extend(std::iter::repeat_n(end..end, n_more));
    }

    /// Notes the text of a code span.
    pub(super) fn code(&mut self, source: &str, code: &str, range: Range<usize>) {
        let span = &source[range.clone()];
        let n_ticks = span.len() - span.trim_start_matches('`').len();
        let inner = range.start + n_ticks..range.end.saturating_sub(n_ticks).max(range.start);
        let Some(text) = source.get(inner.clone()) else { return self.lump(code, range) };
        let n_blank = usize::from(text.len() > code.len() && text.starts_with([' ', '\n']));
        let mut at = inner.start + n_blank;
        let mut places = Vec::with_capacity(code.len());
        for character in code.chars() {
            let rest = &source[at.min(inner.end)..inner.end];
            let escaped = character == '|' && rest.starts_with("\\|");
            let is_same = rest.starts_with(character) || character == ' ' && rest.starts_with('\n');
            let len = if escaped { 2 } else { character.len_utf8() };
            if !escaped && !is_same {
                return self.lump(code, inner);
            }
            places.push(at..at + len);
            at += len;
        }
        self.places.extend(places);
    }

    /// Notes a cell: the bar before it.
    pub(super) fn cell(&mut self, source: &str, range: &Range<usize>) {
        let last = self.places.last().map_or(0, |last| last.end);
        let before = source[..range.start].trim_end_matches([' ', '\t']);
        let at = range.start.max(last);
        self.places.push(match before.ends_with('|') && before.len() > last {
            true => before.len() - 1..before.len(),
            false => at..at,
        });
    }
}
