//! Rebases an edit from the text that its writer read onto the current text.
//!
//! The two texts are aligned as [`RunAlignment`]: stretches that are in both, only in the older, or
//! only in the newer. With a version the document itself gives the exact alignment, item by item,
//! so the edit lands among the same characters that its writer saw, as if it had been made then and
//! merged. With only the older text, a diff has to approximate it.
//!
//! Two cases are better here than in a merge of items. If the writer and another client inserted at
//! one place, a merge puts the insertions in order of client ids; here an insertion that begins a
//! line goes before text that others typed at its beginning, and one that ends a line goes behind
//! text that they typed at its end. And a change that both made alike is made once, as in any
//! three-way merge.

#[cfg(test)]
mod tests;
mod unique_words;
mod walk;

use std::ops::{AddAssign, Range};

use self::{
    unique_words::unique_words,
    walk::{RebaseWalk, RebasedTexts},
};
use super::{
    diff::{TextComparison, TextSplice, reads_as_one_word, utf16_len},
    typing_runs::TypingRuns,
};

/// A change of the current text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RebaseOp {
    /// The place in the current text.
    pub(super) at: TextLength,
    /// The length of the deleted text.
    pub(super) delete: TextLength,
    /// The inserted range, in bytes of the new text.
    pub(super) insert: Range<usize>,
    /// Whether a blank comes before the inserted text, and behind it.
    pub(super) blanks: (bool, bool),
}

/// A change of text that another client changed, too.
///
/// Nothing is lost by it: insertions by others are kept. But the result may differ from the
/// intention of either.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextOverlap {
    /// The place in the resulting text, in bytes.
    pub at: usize,
    /// The text that the writer deleted, as the writer had read it.
    pub deleted: String,
    /// The text that the writer inserted instead.
    pub inserted: String,
    /// The text that others had inserted there since, which is kept.
    pub theirs: String,
    /// Whether others had since deleted some of it.
    pub deleted_by_both: bool,
}

/// A length, or a distance from the beginning of a text.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct TextLength {
    pub(super) units: u32,
    pub(super) bytes: usize,
}

/// The alignment of two texts.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct RunAlignment {
    runs: Vec<AlignedRun>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct AlignedRun {
    side: TextSide,
    length: TextLength,
}

/// The side of an alignment that a stretch is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TextSide {
    /// Both.
    Both,
    /// Only the older.
    Old,
    /// Only the newer.
    New,
}

impl TextLength {
    pub(super) fn of(text: &str) -> Self {
        Self { units: utf16_len(text), bytes: text.len() }
    }

    fn until(self, end: Self) -> Self {
        Self { units: end.units - self.units, bytes: end.bytes - self.bytes }
    }

    fn is_zero(self) -> bool {
        self.bytes == 0
    }
}

impl AddAssign for TextLength {
    fn add_assign(&mut self, other: Self) {
        self.units += other.units;
        self.bytes += other.bytes;
    }
}

impl RunAlignment {
    /// Returns the alignment of a text with itself.
    pub(super) fn whole(length: TextLength) -> Self {
        let mut runs = Self::default();
        runs.push(TextSide::Both, length);
        runs
    }

    /// Aligns the text that the writer of a save had read with the current one.
    ///
    /// A comparison by lines may take one blank line for another, and then counts the lines beside
    /// it as deleted and inserted again. So words that both texts have once, in the same order, are
    /// aligned in any case.
    pub(super) fn of_read_text(old: &str, new: &str, compare: TextComparison) -> Self {
        let runs = Self::of_texts(old, new, compare);
        let words = unique_words(old, new);
        if runs.aligns_all(&words) {
            return runs;
        }
        let (mut runs, mut old_at, mut new_at) = (Self::default(), 0, 0);
        for (old_word, new_word) in words {
            let gaps = (&old[old_at..old_word.start], &new[new_at..new_word.start]);
            runs.extend(Self::of_texts(gaps.0, gaps.1, compare));
            runs.push(TextSide::Both, TextLength::of(&old[old_word.clone()]));
            (old_at, new_at) = (old_word.end, new_word.end);
        }
        runs.extend(Self::of_texts(&old[old_at..], &new[new_at..], compare));
        runs
    }

    /// Reports whether stretches of both texts are aligned, which are in order.
    fn aligns_all(&self, pairs: &[(Range<usize>, Range<usize>)]) -> bool {
        let (mut old, mut new, mut runs) = (0, 0, self.runs.iter().peekable());
        pairs.iter().all(|(old_word, new_word)| {
            while let Some(run) = runs.peek() {
                let is_around = run.side == TextSide::Both
                    && old_word.end <= old + run.length.bytes
                    && old_word.start >= old;
                if is_around {
                    return old_word.start - old == new_word.start.wrapping_sub(new);
                }
                if run.side != TextSide::New && old_word.start < old + run.length.bytes {
                    return false;
                }
                old += if run.side == TextSide::New { 0 } else { run.length.bytes };
                new += if run.side == TextSide::Old { 0 } else { run.length.bytes };
                runs.next();
            }
            false
        })
    }

    /// Aligns two texts by comparing them.
    pub(super) fn of_texts(old: &str, new: &str, compare: TextComparison) -> Self {
        let mut runs = Self::default();
        let mut end = 0;
        for splice in compare(old, new) {
            runs.push(TextSide::Both, TextLength::of(&old[end..splice.old.start]));
            runs.push(TextSide::Old, TextLength::of(&old[splice.old.clone()]));
            runs.push(TextSide::New, TextLength::of(&new[splice.new.clone()]));
            end = splice.old.end;
        }
        runs.push(TextSide::Both, TextLength::of(&old[end..]));
        runs
    }

    /// Reports whether the alignment is one of these two texts, cut between characters.
    pub(super) fn fit(&self, old: &str, new: &str) -> bool {
        let (mut old_end, mut new_end) = (TextLength::default(), TextLength::default());
        let fits = self.runs.iter().all(|run| {
            if run.side != TextSide::New {
                old_end += run.length;
            }
            if run.side != TextSide::Old {
                new_end += run.length;
            }
            old.is_char_boundary(old_end.bytes) && new.is_char_boundary(new_end.bytes)
        });
        fits && old_end == TextLength::of(old) && new_end == TextLength::of(new)
    }

    /// Returns the remains of a stretch of the older text as ranges of the newer, all in UTF-16
    /// code units.
    pub(super) fn shared(&self, old: Range<u32>) -> Vec<Range<u32>> {
        let (mut old_at, mut new_at) = (0, 0);
        let mut shared = Vec::new();
        for AlignedRun { side, length } in &self.runs {
            if *side == TextSide::Both {
                let from = old.start.max(old_at);
                let to = old.end.min(old_at + length.units);
                if from < to {
                    shared.push(new_at + from - old_at..new_at + to - old_at);
                }
            }
            old_at += if *side == TextSide::New { 0 } else { length.units };
            new_at += if *side == TextSide::Old { 0 } else { length.units };
        }
        shared
    }

    /// Returns the starts, in the newer text, of stretches that only the newer text has.
    pub(super) fn inserted(&self) -> Vec<TextLength> {
        let (mut at, mut starts) = (TextLength::default(), Vec::new());
        for AlignedRun { side, length } in &self.runs {
            if *side == TextSide::New {
                starts.push(at);
            }
            if *side != TextSide::Old {
                at += *length;
            }
        }
        starts
    }

    /// Returns the splices that turn the older text into the newer.
    pub(super) fn splices(&self) -> Vec<TextSplice> {
        let (mut old, mut new) = (TextLength::default(), TextLength::default());
        let mut splices: Vec<TextSplice> = Vec::new();
        let mut is_open = false;
        for AlignedRun { side, length } in &self.runs {
            if *side != TextSide::Both && !is_open {
                splices.push(TextSplice {
                    at: old.units,
                    delete: 0,
                    old: old.bytes..old.bytes,
                    new: new.bytes..new.bytes,
                });
            }
            is_open = *side != TextSide::Both;
            if *side != TextSide::New {
                old += *length;
            }
            if *side != TextSide::Old {
                new += *length;
            }
            if let Some(splice) = splices.last_mut().filter(|_| is_open) {
                splice.delete = old.units - splice.at;
                (splice.old.end, splice.new.end) = (old.bytes, new.bytes);
            }
        }
        splices
    }

    /// Adds other runs at the end.
    pub(super) fn extend(&mut self, others: Self) {
        others.runs.into_iter().for_each(|run| self.push(run.side, run.length));
    }

    /// Adds a stretch at the end.
    pub(super) fn push(&mut self, side: TextSide, length: TextLength) {
        match self.runs.last_mut() {
            _ if length.is_zero() => {}
            Some(last) if last.side == side => last.length += length,
            _ => self.runs.push(AlignedRun { side, length }),
        }
    }
}

/// Moves the splices that turn `base` into `new` from `base` to `current`.
///
/// Returns the changes of `current`, in order of position, and the overlaps with changes by others.
pub(super) fn rebase(
    runs: &RunAlignment,
    splices: &[TextSplice],
    base: &str,
    current: &str,
    new: &str,
) -> (Vec<RebaseOp>, Vec<TextOverlap>) {
    walk_along(runs, splices, [base, current, new], false)
}

/// Moves splices like [`rebase`], but never treats two changes as one: if both sides are known to
/// be the work of different writers, equal insertions are two.
pub(super) fn rebase_all(
    runs: &RunAlignment,
    splices: &[TextSplice],
    base: &str,
    current: &str,
    new: &str,
) -> (Vec<RebaseOp>, Vec<TextOverlap>) {
    walk_along(runs, splices, [base, current, new], true)
}

/// Rebases splices one after the other; `keeps_equal` says whether equal changes count as two.
fn walk_along(
    runs: &RunAlignment,
    splices: &[TextSplice],
    [base, current, new]: [&str; 3],
    keeps_equal: bool,
) -> (Vec<RebaseOp>, Vec<TextOverlap>) {
    let texts = RebasedTexts { base, current, new };
    let mut walk = RebaseWalk::along(&runs.runs, texts, keeps_equal);
    splices.iter().for_each(|splice| walk.rebase_splice(splice));
    walk.finish()
}

/// Keeps the beginning of a word that one client continued after the writer, which now deletes it,
/// had read it.
pub(super) fn keep_begun_words(
    ops: Vec<RebaseOp>,
    current: &str,
    runs: &RunAlignment,
    typing: &TypingRuns,
) -> Vec<RebaseOp> {
    let mut kept: Vec<(TextLength, TextLength)> = Vec::new();
    for end in runs.inserted() {
        if !current[end.bytes..].starts_with(char::is_alphanumeric) {
            continue;
        }
        let mut start = end;
        for c in current[..end.bytes].chars().rev() {
            if !c.is_alphanumeric() || !typing.goes_on(start.units) {
                break;
            }
            start.units -= c.len_utf16() as u32;
            start.bytes -= c.len_utf8();
        }
        if start.bytes < end.bytes {
            kept.push((start, end));
        }
    }
    if kept.is_empty() { ops } else { ops.into_iter().flat_map(|op| op.but_for(&kept)).collect() }
}

/// Puts blanks between words of the writer and words of others that would read as one: if both
/// replaced a word, the file says both, side by side (decision 44).
pub(super) fn separate_words(
    ops: &mut [RebaseOp],
    overlaps: &mut [TextOverlap],
    current: &str,
    new: &str,
) {
    let mut blanks: Vec<usize> = Vec::new();
    let mut before = String::new();
    let mut end = 0;
    for at in 0..ops.len() {
        let op = &ops[at];
        before.push_str(&current[end..op.at.bytes]);
        end = op.at.bytes + op.delete.bytes;
        let (read, inserted) = (&new[..op.insert.start], &new[op.insert.clone()]);
        if inserted.is_empty() {
            continue;
        }
        let last = |text: &str| text.chars().next_back();
        let is_cut = reads_as_one_word(&before, inserted) && last(&before) != last(read);
        let start = before.len();
        before.push_str(inserted);
        let behind = text_behind(&ops[at..], current, new);
        let goes_on = new[op.insert.end..].chars().next() == behind.chars().next();
        let is_joined = !goes_on && reads_as_one_word(inserted, behind);
        blanks.extend(is_cut.then_some(start));
        blanks.extend(is_joined.then_some(before.len()));
        ops[at].blanks = (is_cut, is_joined);
    }
    for overlap in overlaps {
        overlap.at += blanks.iter().filter(|blank| **blank <= overlap.at).count();
    }
}

/// Returns the text behind the insertion of the first of some changes.
fn text_behind<'a>(ops: &[RebaseOp], current: &'a str, new: &'a str) -> &'a str {
    let mut end = 0;
    for (at, op) in ops.iter().enumerate() {
        if at > 0 && op.at.bytes > end {
            return &current[end..op.at.bytes];
        }
        if at > 0 && !op.insert.is_empty() {
            return &new[op.insert.clone()];
        }
        end = op.at.bytes + op.delete.bytes;
    }
    &current[end..]
}

impl RebaseOp {
    /// Returns the same change without the deletion of some stretches, which are in order.
    fn but_for(self, kept: &[(TextLength, TextLength)]) -> Vec<Self> {
        let end = TextLength {
            units: self.at.units + self.delete.units,
            bytes: self.at.bytes + self.delete.bytes,
        };
        let mut rest = self;
        let mut ops = Vec::new();
        for (from, to) in kept {
            if from.bytes >= end.bytes || to.bytes <= rest.at.bytes {
                continue;
            }
            let until = if from.bytes > rest.at.bytes { *from } else { rest.at };
            let behind = rest.insert.end..rest.insert.end;
            ops.push(Self { delete: rest.at.until(until), ..rest.clone() });
            let at = if to.bytes < end.bytes { *to } else { end };
            rest = Self { at, delete: at.until(end), insert: behind, blanks: (false, false) };
        }
        ops.push(rest);
        ops.retain(|op| !op.delete.is_zero() || !op.insert.is_empty());
        ops
    }
}

/// Applies changes to a text, in order of position, and returns the result.
pub(super) fn applied(current: &str, new: &str, ops: &[RebaseOp]) -> String {
    let mut text = String::with_capacity(current.len());
    let mut end = 0;
    for op in ops {
        text.push_str(&current[end..op.at.bytes]);
        text.extend(op.blanks.0.then_some(' '));
        text.push_str(&new[op.insert.clone()]);
        text.extend(op.blanks.1.then_some(' '));
        end = op.at.bytes + op.delete.bytes;
    }
    text.push_str(&current[end..]);
    text
}
