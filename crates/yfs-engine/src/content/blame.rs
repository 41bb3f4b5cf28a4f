//! Blame: the author of each piece of the current text.
//!
//! Every character is an item, items never change their ids, and the log records on whose behalf
//! ranges of ids were written. So blame survives merges, moves of the file, compaction and reloads,
//! and is the same on every peer. The author of a character is the client that typed it, not one
//! that kept it in a later write.
//!
//! # Cost
//!
//! Linear in the text, with a look-up in the log for each stretch.

use std::ops::Range;

use yfs_markdown::front_matter::split;

use super::{
    RunAuthor,
    item_spans::{ItemSpan, bytes_of},
    log::AuthorLog,
};
use crate::id::ItemId;

/// A stretch of the text that one run of edits wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlamePiece {
    /// Its range in the text, in bytes.
    pub range: Range<usize>,
    /// On whose behalf it was written and when that run began, if that was recorded.
    pub author: Option<RunAuthor>,
    /// The log entry of the run.
    pub run: Option<ItemId>,
}

/// Returns the author of each piece of a text, in order. Text in no piece has no known author.
pub(super) fn blame_text(
    log: &AuthorLog,
    text: &str,
    spans: &[ItemSpan],
    is_rich: bool,
) -> Vec<BlamePiece> {
    let mut pieces = Vec::new();
    for span in spans {
        blame_span(log, &text[span.at..span.at + span.len], span, &mut pieces);
    }
    if is_rich { with_syntax(log, text, pieces) } else { pieces }
}

/// Attributes the text between pieces of rich text, which belongs to no item, to a neighboring
/// author: the author of the next piece on the same line, else of the piece before. If one run
/// wrote everything, front matter belongs to that run as well.
fn with_syntax(log: &AuthorLog, text: &str, pieces: Vec<BlamePiece>) -> Vec<BlamePiece> {
    let [first, .., last] = &pieces[..] else { return of_one_run(log, text, pieces) };
    if first.run == last.run && log.entries().len() == 1 {
        return of_one_run(log, text, pieces);
    }
    let mut at = text.len() - split(text).body.len();
    let mut filled: Vec<BlamePiece> = Vec::with_capacity(2 * pieces.len());
    for piece in pieces {
        let gap = &text[at.min(piece.range.start)..piece.range.start];
        let line = gap.rfind('\n').map_or(at, |newline| at + newline + 1);
        if let Some(before) = filled.last_mut() {
            before.range.end = line.max(before.range.end);
        }
        let start = if filled.is_empty() { at } else { line };
        at = piece.range.end;
        filled.push(BlamePiece { range: start.min(piece.range.start)..at, ..piece });
    }
    if let Some(last) = filled.last_mut() {
        last.range.end = text.len();
    }
    filled
}

/// Attributes all of the text to its only run.
fn of_one_run(log: &AuthorLog, text: &str, mut pieces: Vec<BlamePiece>) -> Vec<BlamePiece> {
    let is_alone = log.entries().len() == 1;
    pieces.truncate(1);
    if let Some(piece) = pieces.first_mut().filter(|_| is_alone) {
        piece.range = 0..text.len();
    }
    pieces
}

fn blame_span(log: &AuthorLog, text: &str, span: &ItemSpan, pieces: &mut Vec<BlamePiece>) {
    let (mut done, mut clock) = (0, span.item.clock);
    let end = span.item.clock + span.n_units;
    while clock < end {
        let (run, upto) = log.run_of(ItemId::new(span.item.client, clock));
        let upto = upto.min(end);
        let len = if upto == end { text.len() } else { bytes_of(text, upto - span.item.clock) };
        let range = span.at + done..span.at + len;
        let (run, author) = run.map_or((None, None), |(run, by)| (Some(run), Some(by)));
        match pieces.last_mut() {
            Some(last) if last.run == run && last.range.end == range.start => {
                last.range.end = range.end;
            }
            _ if range.is_empty() => {}
            _ => pieces.push(BlamePiece { range, author: author.cloned(), run }),
        }
        (done, clock) = (len, upto);
    }
}
