//! Places where changes of two writers meet who did not know of each other.
//!
//! A merge keeps what both wrote. If each of them changed words of its own, with an unchanged word
//! between, that is what both meant. If their words stand side by side, or in one word, the text
//! may say what neither meant: such a place is a conflict until a writer who has seen it changes
//! it, or a person says that it is right (`docs/decisions/0044-saves-change-whole-words.md`).
//!
//! Words are what stands between blanks, so an address or a name is one. Only writers that record
//! their runs count: people who type in an editor see what becomes of it.
//!
//! # Cost
//!
//! Nothing in a document that was never merged. Otherwise one pass over the text.

use std::ops::Range;

use super::{
    ContentDoc, ContentError, RunAuthor,
    item_spans::{ItemSpan, spans_of},
    log::{self, AuthorLog, SETTLED},
};
use crate::{actor::Actor, id::ItemId, time::Millis};

/// A place where changes of two writers meet who did not know of each other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MixedPlace {
    /// Where the first of the words begins in the text, in bytes.
    pub at: usize,
    /// The words, as the text has them.
    pub words: String,
    /// The two writers.
    pub by: [Actor; 2],
}

/// The greatest number of runs that are compared in one word.
const MAX_RUNS: usize = 32;

/// The part of a word that one run wrote.
#[derive(Debug, Clone, Copy)]
struct WordPart {
    run: ItemId,
    item: ItemId,
}

/// A word: what stands between blanks.
#[derive(Debug, Default)]
struct RunsOfWord {
    range: Range<usize>,
    parts: Vec<WordPart>,
}

impl ContentDoc {
    /// Returns the places where changes of two writers meet who did not know of each other, and
    /// that no writer has settled.
    ///
    /// # Errors
    ///
    /// [`ContentError::Refused`] if the document is unusable.
    pub fn mixed_places(&mut self) -> Result<Vec<MixedPlace>, ContentError> {
        self.gate().health()?;
        if !self.log().has_marks() {
            return Ok(Vec::new());
        }
        let is_rich = self.conversion().is_rich();
        let (text, spans) = spans_of(&mut self.replica.gate, is_rich);
        let settled = self.log().entries_labeled(SETTLED);
        Ok(PlaceSearch { text: &text, log: self.log(), settled }.find(&spans))
    }

    /// Records that the [mixed places](Self::mixed_places) are right as they are. Returns `None` if
    /// there are none.
    ///
    /// # Errors
    ///
    /// As [`mixed_places`](Self::mixed_places).
    pub fn settle_places(&mut self, author: &RunAuthor) -> Result<Option<Vec<u8>>, ContentError> {
        if self.mixed_places()?.is_empty() {
            return Ok(None);
        }
        let author = author.clone().with_label(SETTLED);
        self.edit_registers().commit(|replica, registers| {
            let note = registers.log.note_of(replica);
            registers.log.add_entry(replica, &log::run(&author, &note))
        })
    }
}

/// A search for mixed places.
struct PlaceSearch<'a> {
    text: &'a str,
    log: &'a AuthorLog,
    /// The entries that say that all places are right.
    settled: Vec<ItemId>,
}

impl PlaceSearch<'_> {
    fn find(&self, spans: &[ItemSpan]) -> Vec<MixedPlace> {
        let mut places: Vec<MixedPlace> = Vec::new();
        let mut spans = spans;
        for line in lines(self.text) {
            let mut before = RunsOfWord::default();
            for range in words(self.text, line) {
                let is_behind = |span: &ItemSpan| span.at + span.len <= range.start;
                spans = &spans[spans.iter().take_while(|span| is_behind(span)).count()..];
                let word = self.runs_of(range, spans);
                let found = self.place_of(&before, &word).or_else(|| self.place_of(&word, &word));
                match (found, places.last_mut()) {
                    // The word before is in both places.
                    (Some(place), Some(last)) if last.at + last.words.len() > place.at => {
                        last.words = self.text[last.at..word.range.end].to_owned();
                    }
                    (found, _) => places.extend(found),
                }
                before = word;
            }
        }
        places
    }

    /// Returns the runs that wrote a word.
    fn runs_of(&self, range: Range<usize>, spans: &[ItemSpan]) -> RunsOfWord {
        let mut parts: Vec<WordPart> = Vec::new();
        for span in spans.iter().take_while(|span| span.at < range.end) {
            let is_recorded = self.log.writes_entries(span.item.client);
            let run = self.log.run_of(span.item).0.filter(|_| is_recorded);
            let Some((run, _)) = run else { continue };
            if parts.len() < MAX_RUNS && parts.iter().all(|part| part.run != run) {
                parts.push(WordPart { run, item: span.item });
            }
        }
        RunsOfWord { range, parts }
    }

    /// Returns the place that two words are, if two runs in them did not know of each other.
    fn place_of(&self, left: &RunsOfWord, right: &RunsOfWord) -> Option<MixedPlace> {
        let parts = || left.parts.iter().chain(&right.parts);
        let pairs = left.parts.iter().flat_map(|one| right.parts.iter().map(move |two| (one, two)));
        let knows = |part: &WordPart, other: &WordPart| self.log.knows(part.run, other.item);
        let mut mixed = pairs.filter(|(one, two)| {
            // Mostly the later one knows the other, and its last notes say so.
            let (later, other) = if self.at(one) < self.at(two) { (two, one) } else { (one, two) };
            let saw_both = |part: &WordPart| {
                part.run != one.run && part.run != two.run && knows(part, one) && knows(part, two)
            };
            one.run != two.run
                && !knows(later, other)
                && !knows(other, later)
                && !parts().any(saw_both)
                && !self.are_settled(one, two)
        });
        let (one, two) = mixed.next()?;
        let author = |part: &WordPart| Some(self.log.author_of_entry(part.run)?.actor.clone());
        let range = left.range.start.min(right.range.start)..right.range.end;
        let words = self.text[range.clone()].to_owned();
        Some(MixedPlace { at: range.start, words, by: [author(one)?, author(two)?] })
    }

    fn at(&self, part: &WordPart) -> Option<Millis> {
        Some(self.log.author_of_entry(part.run)?.at)
    }

    fn are_settled(&self, one: &WordPart, two: &WordPart) -> bool {
        let notes = self.log.notes();
        let settles =
            |entry: &ItemId| notes.knows(*entry, one.item) && notes.knows(*entry, two.item);
        self.settled.iter().any(settles)
    }
}

/// Returns the lines of a text.
fn lines(text: &str) -> impl Iterator<Item = Range<usize>> {
    text.split_inclusive('\n').scan(0, |end, line| {
        *end += line.len();
        Some(*end - line.len()..*end)
    })
}

/// Returns what stands between blanks in a line.
fn words(text: &str, line: Range<usize>) -> impl Iterator<Item = Range<usize>> {
    let words = text[line].split_whitespace();
    words.map(|word| {
        let start = word.as_ptr() as usize - text.as_ptr() as usize;
        start..start + word.len()
    })
}
