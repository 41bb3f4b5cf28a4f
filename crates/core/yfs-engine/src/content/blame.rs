//! Blame: the author of each piece of the current text, and the edits that left no text.
//!
//! Every character is an item, items never change their ids, and the log records on whose behalf
//! ranges of ids were written. So blame survives merges, moves of the file, compaction and reloads,
//! and is the same on every peer. The author of a character is the client that typed it, not one
//! that kept it in a later write.
//!
//! A deletion leaves no character, a link's new address only a format. Both are edits of the line
//! in which they happened, and are returned as touches (`docs/decisions/0099-*.md`).
//!
//! # Cost
//!
//! Linear in the text and all deletions that there ever were, with a look-up in the log for each
//! stretch.

mod deleted_text;
mod front_matter;
mod leaf_blocks;
mod rich_touches;

use std::ops::Range;

use hashbrown::HashMap;
use yfs_markdown::{front_matter::split, schema::SchemaProfile};

use self::{
    deleted_text::{DeletedGap, DeletingRuns, gaps_of_root},
    front_matter::attribute_front,
    leaf_blocks::LeafBlocks,
    rich_touches::touches_of_formats,
};
use super::{
    RunAuthor,
    document::ContentDoc,
    item_spans::{ItemSpan, bytes_of, plain_spans, rich_spans_and_pieces},
    log::AuthorLog,
};
use crate::{id::ItemId, kind::ContentRoot, rich::live};

/// The text of a file with its authors.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlamedText {
    /// The text.
    pub text: String,
    /// The pieces of the text, in order. Text in no piece has no known author.
    pub pieces: Vec<BlamePiece>,
    /// The edits that left no text, in order of their places.
    pub touches: Vec<BlameTouch>,
}

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

/// An edit within a line that left no text: a deletion, a format or an attribute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlameTouch {
    /// A place in the line, in bytes.
    pub at: usize,
    /// On whose behalf it was made and when that run began.
    pub author: RunAuthor,
    /// The log entry of the run.
    pub run: ItemId,
}

/// Returns the author of each piece of the text of a document, and the edits that left no text.
pub(super) fn blame_document(doc: &mut ContentDoc) -> BlamedText {
    match doc.conversion().current_root() {
        ContentRoot::Text => blame_plain(doc),
        ContentRoot::Rich(profile) => blame_rich(doc, profile),
    }
}

fn blame_plain(doc: &mut ContentDoc) -> BlamedText {
    let now = doc.version();
    let (text, spans) = plain_spans(&mut doc.replica.gate, &now);
    let pieces = blame_spans(&doc.registers.log, &text, &spans);
    let gaps = gaps_of_root(&mut doc.replica.gate, &now, None);
    let touches = touches_of_deletions(doc, &ListPlaces::new(&text, &spans), &gaps);
    finish(text, pieces, touches)
}

fn blame_rich(doc: &mut ContentDoc, profile: SchemaProfile) -> BlamedText {
    let (now, text) = (doc.version(), doc.text());
    let gate = &mut doc.replica.gate;
    let (spans, read) = rich_spans_and_pieces(gate, &text, &now, profile, |_| true);
    let kids = doc.replica.gate.read(|txn| live(txn, profile));
    let front = text.len() - split(&text).body.len();
    let leaves = LeafBlocks::read(&kids, &text, front, &spans);
    let log = &doc.registers.log;
    let pieces = leaves.with_syntax(log, &text, blame_spans(log, &text, &spans));
    let gaps = gaps_of_root(&mut doc.replica.gate, &now, Some(profile));
    let touches = {
        let places = ListPlaces::new(&text, &spans);
        let mut touches = touches_of_deletions(doc, &places, &gaps);
        if doc.registers.log.n_written() > 1 {
            touches.extend(touches_of_formats(doc, &read, &places, &kids, &leaves));
        }
        touches
    };
    let mut all = attribute_front(doc, &text[..front]);
    all.extend(pieces);
    finish(text, all, touches)
}

fn finish(text: String, pieces: Vec<BlamePiece>, mut touches: Vec<BlameTouch>) -> BlamedText {
    touches.sort_by_key(|touch| (touch.at, touch.run));
    touches.dedup();
    BlamedText { text, pieces, touches }
}

/// Returns the author of each piece of spans, in order.
fn blame_spans(log: &AuthorLog, text: &str, spans: &[ItemSpan]) -> Vec<BlamePiece> {
    let mut pieces = Vec::new();
    for span in spans {
        blame_span(log, &text[span.at..span.at + span.len], span, &mut pieces);
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
        push_piece(pieces, BlamePiece { range, author: author.cloned(), run });
        (done, clock) = (len, upto);
    }
}

/// Adds a piece, joined with the one before if the same run wrote both.
fn push_piece(pieces: &mut Vec<BlamePiece>, piece: BlamePiece) {
    match pieces.last_mut() {
        Some(last) if last.run == piece.run && last.range.end == piece.range.start => {
            last.range.end = piece.range.end;
        }
        _ if piece.range.is_empty() => {}
        _ => pieces.push(piece),
    }
}

/// Returns the deletions within lines of the text.
fn touches_of_deletions(
    doc: &ContentDoc,
    places: &ListPlaces<'_>,
    gaps: &[DeletedGap],
) -> Vec<BlameTouch> {
    let log = &doc.registers.log;
    if log.n_written() < 2 || gaps.is_empty() {
        return Vec::new();
    }
    let runs = DeletingRuns::of(doc.timeline(), gaps);
    let mut touches = Vec::new();
    for gap in gaps {
        let Some(at) = places.place_of(gap.list, gap.index) else { continue };
        for run in gap.runs_within_line(log, &runs) {
            let author = log.author_of_entry(run).cloned();
            touches.extend(author.map(|author| BlameTouch { at, author, run }));
        }
    }
    touches
}

/// The places of the items of lists in the text.
struct ListPlaces<'a> {
    text: &'a str,
    /// The spans of each list, in order.
    lists: HashMap<Option<ItemId>, Vec<&'a ItemSpan>>,
}

impl<'a> ListPlaces<'a> {
    fn new(text: &'a str, spans: &'a [ItemSpan]) -> Self {
        let mut lists: HashMap<Option<ItemId>, Vec<&'a ItemSpan>> = HashMap::new();
        for span in spans {
            lists.entry(span.list).or_default().push(span);
        }
        Self { text, lists }
    }

    /// Returns the place in the text of a place in a list, in bytes. A place between two spans is
    /// the beginning of the second.
    fn place_of(&self, list: Option<ItemId>, index: u32) -> Option<usize> {
        let spans = self.lists.get(&list)?;
        let behind = spans.partition_point(|span| span.index + span.n_units <= index);
        let Some(span) = spans.get(behind) else {
            return spans.last().map(|last| last.at + last.len);
        };
        let piece = &self.text[span.at..span.at + span.len];
        Some(span.at + bytes_of(piece, index.saturating_sub(span.index)))
    }
}
