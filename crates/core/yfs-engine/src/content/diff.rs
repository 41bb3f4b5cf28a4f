//! The least edit that turns one text into another.
//!
//! Texts are compared by lines first, and inside lines that gave way to others, by words. Coarse
//! before fine is what keeps an inserted line a whole line: a comparison of characters would rather
//! split the line that follows, and text that another client types there would land in the wrong
//! one. A changed word is replaced whole: two writers who both change `30`, one to `45` and the
//! other to `60`, must not produce a number that neither wrote (decision 44).
//!
//! [`diff_chars`] compares inside words, too. It aligns two states of one text, whose characters
//! are to keep their items.
//!
//! The comparison itself is imara-diff's, the diff of Helix and gitoxide, because it slides changes
//! to where a reader would put them; `similar` can be bounded only by a clock, which this crate
//! does not have.
//!
//! # Cost
//!
//! Linear in the texts for changes in few places. For hopeless pairs the levels give up one after
//! the other: hunks too large for words are cut into clauses first, and a change that would take
//! more bytes in pieces is written as a whole.

#[cfg(test)]
pub(crate) mod tests;

mod compare;
mod tokens;

use std::{
    hash::{Hash, Hasher},
    ops::Range,
};

use self::{
    compare::compare,
    tokens::{TokenLevel, TokenList, cluster_end, cluster_start},
};

pub(in crate::content) use self::compare::longest_increasing;

/// One piece of the old text that gives way to one piece of the new.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextSplice {
    /// The offset in the old text, in UTF-16 code units.
    pub at: u32,
    /// The length of the deleted text, in UTF-16 code units.
    pub delete: u32,
    /// The deleted range, in bytes of the old text.
    pub old: Range<usize>,
    /// The inserted range, in bytes of the new text.
    pub new: Range<usize>,
}

/// A way to compare two texts: [`diff`] or [`diff_chars`].
pub(super) type TextComparison = fn(&str, &str) -> Vec<TextSplice>;

/// Hunks longer than this together, in bytes, are compared by clauses before words.
const MAX_WORDS_LEN: usize = 64 << 10;

/// How many bytes of hunks are compared by words in one diff, and how many by characters.
const WORDS_BUDGET: usize = 2 << 20;
const CHARS_BUDGET: usize = 1 << 20;

/// Words longer than this together, in bytes, are not compared by characters.
const MAX_CHARS_LEN: usize = 1 << 10;

/// Inside a word, so many equal characters are worth keeping between two changes.
const MIN_KEPT_CHARS: usize = 4;

/// The approximate cost of a change in an update besides its text, in bytes.
const SPLICE_COST: usize = 28;

/// Hunks up to this size, in bytes, are cut as finely as possible, at any cost: characters that
/// stay keep their authors and the carets between them.
const SMALL_HUNK_LEN: usize = 1 << 10;

/// Returns the splices that turn `old` into `new` by whole words, in order of position; none if the
/// texts are equal.
pub fn diff(old: &str, new: &str) -> Vec<TextSplice> {
    splices(old, new, false)
}

/// Returns the splices that turn `old` into `new` by characters, in order of position; none if the
/// texts are equal.
pub fn diff_chars(old: &str, new: &str) -> Vec<TextSplice> {
    splices(old, new, true)
}

fn splices(old: &str, new: &str, cuts_words: bool) -> Vec<TextSplice> {
    if old == new {
        return Vec::new();
    }
    let (words, chars) = (WORDS_BUDGET, CHARS_BUDGET);
    let mut differ = TextDiffer { old, new, changes: Vec::new(), words, chars, cuts_words };
    differ.by_lines();
    differ.into_splices()
}

/// Returns the first word of a text, without what follows it.
pub(super) fn first_word(text: &str) -> &str {
    TokenList::new(text, TokenLevel::Word).next().unwrap_or_default()
}

/// Returns the last word of the last line of a text.
pub(super) fn last_word(text: &str) -> &str {
    let line = &text[line_start(text, text.len())..];
    TokenList::new(line, TokenLevel::Word).last().unwrap_or_default()
}

/// Reports whether two texts that follow each other would read as one word.
pub(super) fn reads_as_one_word(left: &str, right: &str) -> bool {
    tokens::reads_as_one_word(left, right)
}

/// Returns the length of `text` in UTF-16 code units, which is how Yjs counts.
pub(crate) fn utf16_len(text: &str) -> u32 {
    // A code point has one byte that is no continuation, and two units if it has four bytes. The
    // counters of a block of 64 fit into bytes, so that the compiler can count 16 at a time.
    let units = |byte: &u8| u8::from(*byte & 0xc0 != 0x80) + u8::from(*byte >= 0xf0);
    let blocks = text.as_bytes().chunks(64);
    blocks.map(|block| u32::from(block.iter().map(units).sum::<u8>())).sum()
}

/// Returns the tokens of one sequence that give way to tokens of another, compared like lines.
pub(super) fn diff_tokens(old: &[[u8; 16]], new: &[[u8; 16]]) -> Vec<(Range<usize>, Range<usize>)> {
    let prefix = common_prefix(old, new);
    let suffix = common_suffix(&old[prefix..], &new[prefix..]);
    let middle = |tokens: &[[u8; 16]]| lines_of(&tokens[prefix..tokens.len() - suffix]);
    let (old, new) = (middle(old), middle(new));
    if old.is_empty() && new.is_empty() {
        return Vec::new();
    }
    let tokens =
        |range: Range<usize>| prefix + range.start / LINE_LEN..prefix + range.end / LINE_LEN;
    let changes = compare(&old, &new, TokenLevel::Line).into_iter();
    changes.map(|change| (tokens(change.old), tokens(change.new))).collect()
}

/// The length of a token as a line, in bytes.
const LINE_LEN: usize = 33;

fn lines_of(tokens: &[[u8; 16]]) -> String {
    let mut lines = String::with_capacity(LINE_LEN * tokens.len());
    for token in tokens {
        for byte in token {
            let digit = |value: u8| char::from_digit(value.into(), 16).expect("below 16");
            lines.extend([digit(byte >> 4), digit(byte & 15)]);
        }
        lines.push('\n');
    }
    lines
}

/// Returns a hash of each word of a text, without the blanks between.
pub(super) fn word_hashes(text: &str) -> impl Iterator<Item = u64> {
    let words = TokenList::new(text, TokenLevel::Word).filter(|word| !word.trim().is_empty());
    words.map(|word| {
        let mut hasher = std::hash::DefaultHasher::new();
        word.hash(&mut hasher);
        hasher.finish()
    })
}

/// A piece of the old text and the piece of the new text in its place, in bytes.
#[derive(Debug, Clone)]
struct ByteChange {
    old: Range<usize>,
    new: Range<usize>,
}

struct TextDiffer<'a> {
    old: &'a str,
    new: &'a str,
    /// Invariant: in order, disjoint, and none empty on both sides.
    changes: Vec<ByteChange>,
    words: usize,
    chars: usize,
    /// Whether a word may change in part.
    cuts_words: bool,
}

impl TextDiffer<'_> {
    fn by_lines(&mut self) {
        let whole = ByteChange { old: 0..self.old.len(), new: 0..self.new.len() };
        let middle = self.trim(whole, line_start, line_end);
        for hunk in self.compare(&middle, TokenLevel::Line) {
            self.by_words_or_whole(hunk);
        }
    }

    /// Compares a hunk of lines by words, unless the result is larger than the hunk itself.
    fn by_words_or_whole(&mut self, hunk: ByteChange) {
        let n_before = self.changes.len();
        if hunk.len() <= MAX_WORDS_LEN {
            self.by_words(hunk.clone());
        } else {
            for clauses in self.compare(&hunk, TokenLevel::Clause) {
                self.by_words(clauses);
            }
        }
        let cost: usize = self.changes[n_before..].iter().map(ByteChange::cost).sum();
        // Pieces of whole words are longer, and worth it: each merges by itself.
        let bound = if self.cuts_words { hunk.cost() } else { hunk.cost() * 3 / 2 };
        if hunk.len() > SMALL_HUNK_LEN && cost > bound {
            self.changes.truncate(n_before);
            self.push_trimmed(hunk);
        }
    }

    fn by_words(&mut self, hunk: ByteChange) {
        if hunk.is_one_sided() || hunk.len() > MAX_WORDS_LEN || hunk.len() > self.words {
            return self.push_trimmed(hunk);
        }
        self.words -= hunk.len();
        let mut changes = self.compare(&hunk, TokenLevel::Word);
        if !self.cuts_words {
            changes = changes.into_iter().map(|change| self.added_letters(change)).collect();
        }
        // Blanks between two words that both changed are not worth an update of their own. Numbers
        // change one by one: the others that stand around them are other values.
        let joins = |gap: &str| gap.bytes().all(|byte| byte == b' ' || byte == b'\t');
        let is_prose = |change: &ByteChange| self.cuts_words || !self.has_number(change);
        for change in self.join(changes, |last, next, gap| {
            !last.is_one_sided()
                && !next.is_one_sided()
                && joins(gap)
                && is_prose(last)
                && is_prose(next)
        }) {
            self.by_chars(change);
        }
    }

    /// Returns only the letters that were added to the beginning or the end of a word. They are an
    /// insertion, so that what two writers add is both there; but part of a number is no number.
    fn added_letters(&self, change: ByteChange) -> ByteChange {
        let word = &self.old[change.old.clone()];
        if change.is_one_sided() || word.contains(char::is_numeric) {
            return change;
        }
        let added = self.trim(change.clone(), cluster_start, cluster_end);
        let letters = &self.new[added.new.clone()];
        let is_number =
            letters.starts_with(char::is_numeric) || letters.ends_with(char::is_numeric);
        if added.old.is_empty() && !is_number { added } else { change }
    }

    fn has_number(&self, change: &ByteChange) -> bool {
        let sides = [&self.old[change.old.clone()], &self.new[change.new.clone()]];
        sides.iter().any(|side| side.contains(char::is_numeric))
    }

    fn by_chars(&mut self, words: ByteChange) {
        if !self.cuts_words {
            return self.changes.push(words);
        }
        let words = self.trim(words, cluster_start, cluster_end);
        let shorter = words.old.len().min(words.new.len());
        let too_long = words.len() > MAX_CHARS_LEN.min(self.chars);
        if shorter <= MIN_KEPT_CHARS || too_long {
            return self.changes.push(words);
        }
        self.chars -= words.len();
        let changes = self.compare(&words, TokenLevel::Cluster);
        let joined = self.join(changes, |_, _, gap| gap.chars().count() < MIN_KEPT_CHARS);
        self.changes.extend(joined);
    }

    fn push_trimmed(&mut self, change: ByteChange) {
        let change = match (change.is_one_sided(), self.cuts_words) {
            (true, _) => change,
            (false, true) => self.trim(change, cluster_start, cluster_end),
            (false, false) => self.trim(change, blank_start, blank_end),
        };
        self.changes.push(change);
    }

    /// Joins neighboring changes if `joins` accepts them and the text between.
    fn join(
        &self,
        changes: Vec<ByteChange>,
        joins: impl Fn(&ByteChange, &ByteChange, &str) -> bool,
    ) -> Vec<ByteChange> {
        let mut joined: Vec<ByteChange> = Vec::with_capacity(changes.len());
        for change in changes {
            match joined.last_mut() {
                Some(last) if joins(last, &change, &self.old[last.old.end..change.old.start]) => {
                    last.old.end = change.old.end;
                    last.new.end = change.new.end;
                }
                _ => joined.push(change),
            }
        }
        joined
    }

    /// Compares the two sides of a change, cut into tokens of the given level.
    fn compare(&self, whole: &ByteChange, level: TokenLevel) -> Vec<ByteChange> {
        let (old, new) = (&self.old[whole.old.clone()], &self.new[whole.new.clone()]);
        let shift = |range: Range<usize>, by: usize| range.start + by..range.end + by;
        let changes = compare(old, new, level).into_iter();
        changes
            .map(|change| ByteChange {
                old: shift(change.old, whole.old.start),
                new: shift(change.new, whole.new.start),
            })
            .collect()
    }

    /// Trims the common start and end of both sides, as far as the two functions allow: each moves
    /// an end of the rest outwards, to where the text may be cut.
    fn trim(
        &self,
        change: ByteChange,
        start_of: impl Fn(&str, usize) -> usize,
        end_of: impl Fn(&str, usize) -> usize,
    ) -> ByteChange {
        let (old, new) = (&self.old[change.old.clone()], &self.new[change.new.clone()]);
        let prefix = old.floor_char_boundary(common_prefix(old.as_bytes(), new.as_bytes()));
        let prefix = start_of(old, prefix).min(start_of(new, prefix));
        let (old, new) = (&old[prefix..], &new[prefix..]);
        let suffix = common_suffix(old.as_bytes(), new.as_bytes());
        let suffix = old.len() - old.ceil_char_boundary(old.len() - suffix);
        let kept_end = |text: &str| text.len() - end_of(text, text.len() - suffix);
        let suffix = kept_end(old).min(kept_end(new));
        ByteChange {
            old: change.old.start + prefix..change.old.end - suffix,
            new: change.new.start + prefix..change.new.end - suffix,
        }
    }

    /// Counts the changes in UTF-16 code units.
    fn into_splices(self) -> Vec<TextSplice> {
        let (mut byte, mut unit) = (0, 0);
        let splice = |ByteChange { old, new }: ByteChange| {
            let at = unit + utf16_len(&self.old[byte..old.start]);
            let delete = utf16_len(&self.old[old.clone()]);
            (byte, unit) = (old.end, at + delete);
            TextSplice { at, delete, old, new }
        };
        self.changes.into_iter().map(splice).collect()
    }
}

impl ByteChange {
    fn len(&self) -> usize {
        self.old.len() + self.new.len()
    }

    fn is_one_sided(&self) -> bool {
        self.old.is_empty() || self.new.is_empty()
    }

    /// Returns the approximate size of this change in an update, in bytes.
    fn cost(&self) -> usize {
        SPLICE_COST + self.new.len()
    }
}

fn line_start(text: &str, at: usize) -> usize {
    text[..at].rfind('\n').map_or(0, |newline| newline + 1)
}

/// Moves `at` back to behind a blank or to the beginning of the text.
fn blank_start(text: &str, at: usize) -> usize {
    let blank = text[..at].char_indices().rfind(|(_, char)| char.is_whitespace());
    blank.map_or(0, |(start, char)| start + char.len_utf8())
}

/// Moves `at` forward to a blank or to the end of the text.
fn blank_end(text: &str, at: usize) -> usize {
    text[at..].find(char::is_whitespace).map_or(text.len(), |blank| at + blank)
}

fn line_end(text: &str, at: usize) -> usize {
    text[at..].find('\n').map_or(text.len(), |newline| at + newline + 1)
}

/// Returns the number of equal elements at the start of two sequences.
fn common_prefix<T: PartialEq>(old: &[T], new: &[T]) -> usize {
    const BLOCK: usize = 64;
    let blocks = old.chunks_exact(BLOCK).zip(new.chunks_exact(BLOCK));
    let equal = BLOCK * blocks.take_while(|(old, new)| old == new).count();
    let rest = old[equal..].iter().zip(&new[equal..]);
    equal + rest.take_while(|(old, new)| old == new).count()
}

/// Returns the number of equal elements at the end of two sequences.
fn common_suffix<T: PartialEq>(old: &[T], new: &[T]) -> usize {
    const BLOCK: usize = 64;
    let blocks = old.rchunks_exact(BLOCK).zip(new.rchunks_exact(BLOCK));
    let equal = BLOCK * blocks.take_while(|(old, new)| old == new).count();
    let (old, new) = (&old[..old.len() - equal], &new[..new.len() - equal]);
    let rest = old.iter().rev().zip(new.iter().rev());
    equal + rest.take_while(|(old, new)| old == new).count()
}
