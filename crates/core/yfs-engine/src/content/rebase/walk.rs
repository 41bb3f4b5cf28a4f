//! The walk along the alignment that moves splices, one by one, from the base to the current text.
//!
//! A splice falls into one of these cases:
//!
//! 1. Others inserted the same text at the same place: the splice is made already.
//! 2. Others deleted the same text and inserted the same in its place: it is made already, too.
//! 3. Otherwise it deletes what others left of its text, and inserts its own. If others had
//!    inserted or deleted text inside of it, the caller gets a [`TextOverlap`].
//!
//! Two splices that meet at one place are ordered by [`goes_behind`].

use std::ops::Range;

use super::{AlignedRun, RebaseOp, TextLength, TextOverlap, TextSide};
use crate::content::diff::TextSplice;

/// The three texts of a rebase.
#[derive(Debug, Clone, Copy)]
pub(super) struct RebasedTexts<'a> {
    /// The text that the writer read.
    pub(super) base: &'a str,
    /// The text that it is now, with the changes of others.
    pub(super) current: &'a str,
    /// The text that the writer wrote.
    pub(super) new: &'a str,
}

/// A position in the base and in the current text, and the changes that were found up to it.
pub(super) struct RebaseWalk<'a> {
    /// The remaining runs; of the first, `rest` is left.
    runs: &'a [AlignedRun],
    rest: TextLength,
    /// The position in the base.
    old: TextLength,
    /// The position in the current text.
    now: TextLength,
    /// The number of bytes that the ops so far add.
    grown: isize,
    texts: RebasedTexts<'a>,
    /// Whether equal changes of both sides count as two.
    keeps_equal: bool,
    ops: Vec<RebaseOp>,
    overlaps: Vec<TextOverlap>,
}

/// A range of the current text: its start and its length.
type CurrentRange = (TextLength, TextLength);

/// The changes of others between two places of the base.
#[derive(Default)]
struct ChangesOfOthers {
    /// The ranges of the current text that the base has, too.
    left: Vec<CurrentRange>,
    /// The insertions by others, in bytes of the current text.
    inserted: Vec<Range<usize>>,
    /// How many bytes of the base others had deleted.
    n_deleted: usize,
}

/// One splice of the writer, as texts.
#[derive(Clone, Copy)]
struct WriterChange<'a> {
    deleted: &'a str,
    inserted: &'a str,
}

impl<'a> RebaseWalk<'a> {
    /// Begins a walk at the beginning of both texts.
    pub(super) fn along(
        runs: &'a [AlignedRun],
        texts: RebasedTexts<'a>,
        keeps_equal: bool,
    ) -> Self {
        Self {
            runs,
            rest: runs.first().map_or(TextLength::default(), |run| run.length),
            old: TextLength::default(),
            now: TextLength::default(),
            grown: 0,
            texts,
            keeps_equal,
            ops: Vec::new(),
            overlaps: Vec::new(),
        }
    }

    /// Returns the changes of the current text, in order of position, and the overlaps.
    pub(super) fn finish(self) -> (Vec<RebaseOp>, Vec<TextOverlap>) {
        (self.ops, self.overlaps)
    }

    /// Moves one splice of the base to the current text. The splices come in order of position.
    pub(super) fn rebase_splice(&mut self, splice: &TextSplice) {
        let RebasedTexts { base, current, new } = self.texts;
        let start = TextLength { units: splice.at, bytes: splice.old.start };
        let end = TextLength { units: splice.at + splice.delete, bytes: splice.old.end };
        let change =
            WriterChange { deleted: &base[splice.old.clone()], inserted: &new[splice.new.clone()] };

        self.walk_to(start);
        let at_start = self.insertion_here();
        if self.is_inserted_already(change, start, at_start.as_ref()) {
            return self.step_over_run();
        }
        let is_between_deleted = change.deleted.is_empty() && self.is_between_deleted(start);
        if at_start.is_some() && goes_behind(change, &base[..start.bytes]) {
            self.step_over_run();
        }
        let at = self.now;
        let mut others = self.walk_to(end);
        if others.n_deleted > 0 {
            // Others replaced some of it, and their text may stand at either end.
            let at_start = at_start.filter(|theirs| theirs.end == at.bytes);
            others.inserted.extend(self.insertion_here().or(at_start));
        }
        let theirs: String = others.inserted.iter().map(|range| &current[range.clone()]).collect();
        let is_all_deleted = others.n_deleted == change.deleted.len() && !change.deleted.is_empty();
        if is_all_deleted && theirs == *change.inserted && !self.keeps_equal {
            return; // Case 2.
        }
        let is_mixed = !theirs.is_empty() && !change.deleted.is_empty();
        let has_no_place = is_all_deleted || is_between_deleted;
        if is_mixed || (has_no_place && !change.inserted.is_empty()) {
            let deleted_by_both = others.n_deleted > 0 || is_between_deleted;
            self.report_overlap(at, change, theirs, deleted_by_both);
        }
        self.push_ops(at, others.left, splice.new.clone());
    }

    /// Reports whether others made the same insertion at the same place (case 1). At the end of the
    /// text it counts as one more entry of a list instead.
    fn is_inserted_already(
        &self,
        change: WriterChange<'_>,
        at: TextLength,
        theirs: Option<&Range<usize>>,
    ) -> bool {
        !self.keeps_equal
            && change.deleted.is_empty()
            && at.bytes < self.texts.base.len()
            && theirs.is_some_and(|theirs| self.texts.current[theirs.clone()] == *change.inserted)
    }

    /// Adds an overlap at a place of the current text.
    fn report_overlap(
        &mut self,
        at: TextLength,
        change: WriterChange<'_>,
        theirs: String,
        deleted_by_both: bool,
    ) {
        self.overlaps.push(TextOverlap {
            at: at.bytes.strict_add_signed(self.grown),
            deleted: change.deleted.to_owned(),
            inserted: change.inserted.to_owned(),
            theirs,
            deleted_by_both,
        });
    }

    /// Adds the changes that insert text at a place and delete ranges at and behind it. Text that
    /// others inserted between the ranges stays, so each range is a change of its own; the first
    /// one carries the insertion if it begins at the place.
    fn push_ops(&mut self, at: TextLength, deleted: Vec<CurrentRange>, insert: Range<usize>) {
        let mut deleted = deleted.into_iter().peekable();
        let first = deleted.next_if(|(start, _)| *start == at);
        let delete = first.map_or(TextLength::default(), |(_, length)| length);
        if !insert.is_empty() || !delete.is_zero() {
            self.push_op(RebaseOp { at, delete, insert, blanks: (false, false) });
        }
        for (at, delete) in deleted {
            self.push_op(RebaseOp { at, delete, insert: 0..0, blanks: (false, false) });
        }
    }

    fn push_op(&mut self, op: RebaseOp) {
        self.grown += op.insert.len() as isize - op.delete.bytes as isize;
        self.ops.push(op);
    }

    /// Advances to a place of the base, and no further than needed to get there. Returns the
    /// changes of others on the way.
    fn walk_to(&mut self, end: TextLength) -> ChangesOfOthers {
        let mut others = ChangesOfOthers::default();
        while self.old.bytes < end.bytes {
            let Some(run) = self.runs.first() else { break };
            let wanted = self.old.until(end);
            let length = match run.side {
                TextSide::New => self.rest,
                _ if wanted.bytes < self.rest.bytes => wanted,
                _ => self.rest,
            };
            match run.side {
                TextSide::Both => others.left.push((self.now, length)),
                TextSide::Old => others.n_deleted += length.bytes,
                TextSide::New => {
                    others.inserted.push(self.now.bytes..self.now.bytes + length.bytes);
                }
            }
            self.advance(length);
        }
        others
    }

    /// Returns the text that others inserted right here, in bytes of the current text.
    fn insertion_here(&self) -> Option<Range<usize>> {
        let run = self.runs.first().filter(|run| run.side == TextSide::New)?;
        (self.rest == run.length).then(|| self.now.bytes..self.now.bytes + run.length.bytes)
    }

    /// Reports whether others deleted the text on both sides of this place.
    fn is_between_deleted(&self, here: TextLength) -> bool {
        let Some(run) = self.runs.first() else { return false };
        run.side == TextSide::Old && self.rest != run.length && here.bytes > 0
    }

    /// Advances past the rest of the current run.
    fn step_over_run(&mut self) {
        self.advance(self.rest);
    }

    /// Advances by a length within the current run.
    fn advance(&mut self, length: TextLength) {
        let Some(run) = self.runs.first() else { return };
        if run.side != TextSide::New {
            self.old += length;
        }
        if run.side != TextSide::Old {
            self.now += length;
        }
        self.rest = length.until(self.rest);
        if self.rest.is_zero() {
            self.runs = &self.runs[1..];
            self.rest = self.runs.first().map_or(TextLength::default(), |run| run.length);
        }
    }
}

/// Reports whether a change goes behind the text that others inserted at the same place; `before`
/// is the base up to there.
fn goes_behind(change: WriterChange<'_>, before: &str) -> bool {
    let at_line_start = before.is_empty() || before.ends_with('\n');
    if !change.deleted.is_empty() {
        true // It replaces the text behind theirs.
    } else if at_line_start && change.inserted.ends_with('\n') {
        false // Whole lines, and theirs belongs to the line that follows.
    } else {
        change.inserted.starts_with(char::is_whitespace) // It continues the text before.
    }
}
