//! Changes in a text with marks: words and characters, and marks only where they differ.

use std::{ops::Range, sync::Arc};

use yfs_markdown::{
    schema::SchemaProfile,
    tree::{AttributeValue, MarkdownNode, TextMark, TextRun},
};
use yrs::{
    Any, Text as _, TransactionMut, XmlTextRef,
    types::{Attrs, Delta},
};

use super::super::{
    diff::{TextSplice, utf16_len},
    rebase::{RebaseOp, RunAlignment, TextOverlap, keep_begun_words, rebase},
    typing_runs::{TypingRuns, slide},
};
use crate::rich::to_any;

/// A text with marks, by bytes.
#[derive(Debug)]
pub(super) struct MarkedRichText<'a> {
    pub(super) text: String,
    /// The end of each run, and its marks.
    runs: Vec<(usize, &'a [TextMark])>,
}

impl<'a> MarkedRichText<'a> {
    pub(super) fn new(nodes: &'a [MarkdownNode]) -> Self {
        let (mut text, mut runs) = (String::new(), Vec::new());
        for node in nodes {
            let MarkdownNode::Text(TextRun { text: run, marks }) = node else { continue };
            text.push_str(run);
            runs.push((text.len(), marks.as_slice()));
        }
        Self { text, runs }
    }

    /// Returns the marks of the character at a byte, and the end of that run.
    fn at(&self, at: usize) -> (&'a [TextMark], usize) {
        let index = self.runs.partition_point(|(end, _)| *end <= at);
        self.runs.get(index).map_or((&[], self.text.len()), |(end, marks)| (*marks, *end))
    }
}

/// The edits of one `Y.XmlText`.
#[derive(Debug, Default)]
pub(super) struct TextEdit {
    pub(super) delta: Vec<Delta<Arc<str>>>,
    pub(super) overlaps: Vec<TextOverlap>,
}

/// One `Y.XmlText` as the writer had read it, and as it is now.
#[derive(Debug)]
pub(super) struct SlotPair<'a> {
    /// Its range of the base, in bytes.
    pub(super) range: Range<usize>,
    /// Its current text.
    pub(super) live: &'a str,
    /// The alignment of its old text with the current one.
    pub(super) beside: RunAlignment,
    /// The places of embeds in it that are not text, in units of the text before.
    pub(super) others: &'a [u32],
    /// The typing runs in it.
    pub(super) typing: TypingRuns,
}

/// A change of a whole text, from which those of its slots follow.
#[derive(Debug)]
pub(super) struct MarkedTextChange<'a> {
    base: &'a MarkedRichText<'a>,
    new: &'a MarkedRichText<'a>,
    splices: Vec<TextSplice>,
    /// Changes of marks on text that stays, by bytes of the base.
    formats: Vec<(Range<usize>, Attrs)>,
}

impl<'a> MarkedTextChange<'a> {
    /// Compares two texts. An insertion or deletion that would begin or end `inside` text that one
    /// client typed in one go moves a few characters aside, if the result is the same.
    pub(super) fn new(
        base: &'a MarkedRichText<'a>,
        new: &'a MarkedRichText<'a>,
        profile: SchemaProfile,
        compare: impl Fn(&str, &str) -> Vec<TextSplice>,
        inside: impl Fn(usize) -> bool,
    ) -> Self {
        let mut splices = compare(&base.text, &new.text);
        for index in 0..splices.len() {
            let from = index.checked_sub(1).map_or(0, |before| splices[before].old.end);
            let to = splices.get(index + 1).map_or(base.text.len(), |behind| behind.old.start);
            slide(&mut splices[index], &base.text, &new.text, from..to, &inside);
        }
        let mut change = Self { base, new, splices, formats: Vec::new() };
        change.compare_marks(profile);
        change
    }

    /// Compares the marks of characters that stay.
    fn compare_marks(&mut self, profile: SchemaProfile) {
        let (mut at, mut new_at) = (0, 0);
        let ends: Vec<_> =
            self.splices.iter().map(|splice| (splice.old.clone(), splice.new.clone())).collect();
        let last = (self.base.text.len()..self.base.text.len(), 0..0);
        for (old, new) in ends.into_iter().chain([last]) {
            while at < old.start {
                let (before, end) = self.base.at(at);
                let (after, new_end) = self.new.at(new_at);
                let len = (end.min(old.start) - at).min(new_end - new_at);
                let attributes = mark_changes(before, after, profile);
                if !attributes.is_empty() {
                    self.formats.push((at..at + len, attributes));
                }
                (at, new_at) = (at + len, new_at + len);
            }
            (at, new_at) = (old.end, new.end);
        }
    }

    /// Returns the insertions that go into a slot.
    pub(super) fn inserted(&self, range: &Range<usize>) -> Vec<Range<usize>> {
        self.splices_of(range)
            .into_iter()
            .map(|splice| splice.new)
            .filter(|splice| !splice.is_empty())
            .collect()
    }

    /// Returns the splices of one slot, in its own bytes and units.
    fn splices_of(&self, range: &Range<usize>) -> Vec<TextSplice> {
        let units_before = utf16_len(&self.base.text[..range.start]);
        let mut splices = Vec::new();
        for splice in &self.splices {
            let Range { start, end } = splice.old;
            // An insertion between two slots goes into the first.
            let is_here = start > range.start || start == 0 && range.start == 0;
            let insert = if is_here && start <= range.end {
                splice.new.clone()
            } else {
                splice.new.end..splice.new.end
            };
            let (from, to) =
                (start.clamp(range.start, range.end), end.clamp(range.start, range.end));
            if from == to && insert.is_empty() {
                continue;
            }
            splices.push(TextSplice {
                at: utf16_len(&self.base.text[..from]) - units_before,
                delete: utf16_len(&self.base.text[from..to]),
                old: from - range.start..to - range.start,
                new: insert,
            });
        }
        splices
    }

    /// Returns the edits of one slot.
    pub(super) fn edit(&self, slot: &SlotPair<'_>) -> TextEdit {
        let base = &self.base.text[slot.range.clone()];
        let splices = self.splices_of(&slot.range);
        let new = &self.new.text;
        let (ops, overlaps) = rebase(&slot.beside, &splices, base, slot.live, new);
        let ops = keep_begun_words(ops, slot.live, &slot.beside, &slot.typing);
        let units = |at: usize| {
            utf16_len(&base[..at.clamp(slot.range.start, slot.range.end) - slot.range.start])
        };
        let mut formats = Vec::new();
        for (range, attributes) in &self.formats {
            let shared = slot.beside.shared(units(range.start)..units(range.end));
            formats.extend(shared.into_iter().map(|range| (range, attributes)));
        }
        let delta = self.delta(&ops, &formats, slot);
        TextEdit { delta, overlaps }
    }

    /// Returns changes in the form that yrs applies in one pass.
    fn delta(
        &self,
        ops: &[RebaseOp],
        formats: &[(Range<u32>, &Attrs)],
        slot: &SlotPair<'_>,
    ) -> Vec<Delta<Arc<str>>> {
        let mut writer = DeltaWriter { at: 0, others: slot.others, delta: Vec::new() };
        let mut formats = formats.iter().peekable();
        for op in ops {
            // Kept and changed stretches lie beside each other.
            while let Some((range, attributes)) =
                formats.next_if(|(range, _)| range.start < op.at.units)
            {
                writer.retain(range.start, None);
                writer.retain(range.end, Some(attributes));
            }
            self.write_op(&mut writer, op);
        }
        for (range, attributes) in formats {
            writer.retain(range.start, None);
            writer.retain(range.end, Some(attributes));
        }
        writer.delta
    }

    fn write_op(&self, writer: &mut DeltaWriter<'_>, op: &RebaseOp) {
        writer.retain(op.at.units, None);
        let blank = || Delta::Inserted(" ".into(), None);
        writer.delta.extend(op.blanks.0.then(blank));
        let mut at = op.insert.start;
        while at < op.insert.end {
            let (marks, end) = self.new.at(at);
            let end = end.min(op.insert.end);
            let text = self.new.text[at..end].into();
            writer.delta.push(Delta::Inserted(text, Some(Box::new(attributes_of(marks)))));
            at = end;
        }
        writer.delta.extend(op.blanks.1.then(blank));
        writer.delete(op.delete.units);
    }
}

/// A writer of a delta; places are units of the text, and units of embeds are added.
struct DeltaWriter<'a> {
    at: u32,
    others: &'a [u32],
    delta: Vec<Delta<Arc<str>>>,
}

impl DeltaWriter<'_> {
    fn retain(&mut self, until: u32, attributes: Option<&Attrs>) {
        if until > self.at {
            let n_others =
                self.others.iter().filter(|other| (self.at..until).contains(other)).count();
            let attributes = attributes.map(|attributes| Box::new(attributes.clone()));
            self.delta.push(Delta::Retain(until - self.at + n_others as u32, attributes));
            self.at = until;
        }
    }

    /// Deletes text, and keeps the embeds in it.
    fn delete(&mut self, len: u32) {
        let end = self.at + len;
        while self.at < end {
            let other = self.others.iter().copied().find(|other| (self.at..end).contains(other));
            let until = other.unwrap_or(end);
            if until > self.at {
                self.delta.push(Delta::Deleted(until - self.at));
            }
            if let Some(other) = other {
                let n_here = self.others.iter().filter(|position| **position == other).count();
                self.delta.push(Delta::Retain(n_here as u32, None));
                self.delta.push(Delta::Deleted(1));
                self.at = until + 1;
            } else {
                self.at = until;
            }
        }
    }
}

/// Returns the formats that turn some marks into others. Marks unknown to markdown stay.
fn mark_changes(before: &[TextMark], after: &[TextMark], profile: SchemaProfile) -> Attrs {
    if before == after {
        return Attrs::new();
    }
    let mut changes = Attrs::new();
    for mark in after {
        let is_there =
            before.iter().any(|known| known.name == mark.name && same_attributes(known, mark));
        if !is_there {
            changes.insert(mark.name.as_str().into(), attributes_any(mark));
        }
    }
    for mark in before {
        let is_known = profile.marks().iter().any(|spec| spec.name == mark.name);
        if is_known && !after.iter().any(|kept| kept.name == mark.name) {
            changes.insert(mark.name.as_str().into(), Any::Null);
        }
    }
    changes
}

fn same_attributes(left: &TextMark, right: &TextMark) -> bool {
    let said = |mark: &'_ TextMark| {
        let mut said: Vec<_> =
            mark.attributes.iter().filter(|(_, value)| !value.is_null()).cloned().collect();
        said.sort_by(|(left, _), (right, _)| left.cmp(right));
        said
    };
    said(left) == said(right)
}

fn attributes_of(marks: &[TextMark]) -> Attrs {
    marks.iter().map(|mark| (mark.name.as_str().into(), attributes_any(mark))).collect()
}

fn attributes_any(mark: &TextMark) -> Any {
    to_any(&AttributeValue::Object(mark.attributes.clone()))
}

/// Applies changes of a text one mark at a time: yrs writes several marks in an order that varies.
pub(super) fn apply_by_rule(
    txn: &mut TransactionMut<'_>,
    text: &XmlTextRef,
    delta: Vec<Delta<Arc<str>>>,
    profile: SchemaProfile,
) {
    let mut at = 0;
    for change in delta {
        match change {
            Delta::Deleted(len) => text.remove_range(txn, at, len),
            Delta::Retain(len, attributes) => {
                let mut attributes: Vec<_> =
                    attributes.into_iter().flat_map(|attributes| *attributes).collect();
                attributes.sort_by(|(left, _), (right, _)| left.cmp(right));
                for attribute in attributes {
                    text.format(txn, at, len, Attrs::from([attribute]));
                }
                at += len;
            }
            Delta::Inserted(inserted, attributes) => {
                text.insert(txn, at, &inserted);
                let len = utf16_len(&inserted);
                for mark in profile.marks() {
                    let value = attributes
                        .as_ref()
                        .and_then(|attributes| attributes.get(mark.name))
                        .cloned();
                    let value = value.unwrap_or(Any::Null);
                    text.format(txn, at, len, Attrs::from([(mark.name.into(), value)]));
                }
                at += len;
            }
        }
    }
}
