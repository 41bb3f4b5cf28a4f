//! Who wrote what is there now.
//!
//! Every character is an item, items never change their ids, and the log says of ids on whose behalf
//! they were written. So blame survives merges, moves of the file, compaction and reloads, and every peer says the
//! same. Who typed a character is its author; whoever merely kept it is not.
//!
//! # Cost
//!
//! Linear in the text, with a look-up in the log for each stretch.

use std::ops::Range;

use super::{
    Author, ContentDoc,
    spans::{Span, bytes_of},
};
use crate::id::ItemId;

/// A stretch of the text that one run of edits wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// Where it is in the text, in bytes.
    pub range: Range<usize>,
    /// On whose behalf it was written and when that run began, if anybody said so.
    pub author: Option<Author>,
    /// The entry of the log that says so.
    pub run: Option<ItemId>,
}

impl ContentDoc {
    /// Returns the text and who wrote which piece of it, in order and without gaps.
    pub fn blame(&mut self) -> (String, Vec<Piece>) {
        let (text, spans) = self.spans();
        let mut pieces = Vec::new();
        for span in &spans {
            self.blame_span(&text[span.at..span.at + span.len], span, &mut pieces);
        }
        (text, pieces)
    }

    fn blame_span(&self, text: &str, span: &Span, pieces: &mut Vec<Piece>) {
        let (mut done, mut clock) = (0, span.item.clock);
        let end = span.item.clock + span.n_units;
        while clock < end {
            let (run, upto) = self.log.run_of(ItemId::new(span.item.client, clock));
            let upto = upto.min(end);
            let len = if upto == end { text.len() } else { bytes_of(text, upto - span.item.clock) };
            let range = span.at + done..span.at + len;
            let (run, author) = run.map_or((None, None), |(run, by)| (Some(run), Some(by)));
            match pieces.last_mut() {
                Some(last) if last.run == run && last.range.end == range.start => {
                    last.range.end = range.end;
                }
                _ if range.is_empty() => {}
                _ => pieces.push(Piece { range, author: author.cloned(), run }),
            }
            (done, clock) = (len, upto);
        }
    }
}
