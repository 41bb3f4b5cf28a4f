//! Compares both roots with their state after the last settlement, and merges the changes of both.

use yrs::{ClientID, GetString as _, IdSet, ReadTxn, Snapshot};

use super::{
    align_items::beside,
    orphaned_edits::{ancestors, hidden_at},
    settlement::{ConversionSettlement, SettlementList},
};
use crate::{
    content::{
        ContentError, TEXT, Version,
        diff::{TextSplice, diff_chars},
        item_sets::{holds, to_ranges, to_set, up_to},
        item_spans::spans_of,
        rebase::{RebaseOp, RunAlignment, applied, rebase_all},
        replica::ContentReplica,
        rich,
    },
    gate::{GatedDoc, IdRange},
    id::ItemId,
    rich::ROOT,
};

/// Both roots of a document and its settlements, for comparison. It changes nothing.
#[derive(Clone, Copy)]
pub(in crate::content) struct RootComparison<'a> {
    pub(super) replica: &'a ContentReplica,
    pub(super) settlements: &'a SettlementList,
    /// The items that redactions name; comparisons leave them out.
    pub(super) redacted: &'a IdSet,
    /// Whether rich text is current, if both roots were begun apart and never settled.
    pub(super) is_rich_beside_text: Option<bool>,
}

/// The text that a settlement is to write.
pub(in crate::content) struct MergedText {
    pub(in crate::content) text: String,
    /// The parts of it that the plain text already has as the original typists' items: offset in
    /// the file, offset in the plain text, and length in bytes.
    pub(super) kept: Vec<(usize, usize, usize)>,
}

/// A root's text at the last settlement, its text now, and the alignment of the two.
struct RootChange {
    base: String,
    now: String,
    runs: RunAlignment,
    splices: Vec<TextSplice>,
}

impl MergedText {
    /// Returns a text that is to be written as it is.
    pub(in crate::content) fn of_text(text: String) -> Self {
        Self { text, kept: Vec::new() }
    }
}

impl RootComparison<'_> {
    /// Returns the comparison of a document with [separate
    /// roots](super::ConversionHistory::is_rich_beside_text).
    pub(in crate::content) fn with_separate_roots(self, is_rich_beside_text: Option<bool>) -> Self {
        Self { is_rich_beside_text, ..self }
    }

    /// Returns the text of the file with all late edits merged; `None` if there is none.
    pub(in crate::content) fn merged_text(&self) -> Result<Option<MergedText>, ContentError> {
        let Some(last) = self.settlements.last() else { return self.text_of_separate_roots() };
        let concurrent = self.settlements.concurrent();
        let after = last.after();
        let now = self.without_concurrent(&concurrent, &after);
        let orphans = hidden_at(&now, self.orphans(&after, &concurrent));
        let is_all_here = concurrent.is_empty() && orphans.is_empty();
        if is_all_here && !self.has_changed_since(&after, !last.is_to_rich) {
            return Ok(None);
        }
        let mut then = self.fork(&after)?;
        let is_stale_same = || {
            let base = then.read(|txn| root_text(txn, !last.is_to_rich));
            base == self.replica.gate.read(|txn| root_text(txn, !last.is_to_rich))
        };
        if is_all_here && is_stale_same() {
            return Ok(None);
        }
        let mut here = self.fork(&now)?;
        let late = change_of(&mut then, &mut here, !last.is_to_rich);
        let current = change_of(&mut then, &mut here, last.is_to_rich);
        let runs = match late.base == current.base {
            true => current.runs,
            false => RunAlignment::of_texts(&late.base, &current.now, diff_chars),
        };
        let (ops, _) = rebase_all(&runs, &late.splices, &late.base, &current.now, &late.now);
        let mut merged = applied(&current.now, &late.now, &ops);
        let mut kept = Vec::new();
        if orphans.is_empty() && concurrent.is_empty() {
            kept = match last.is_to_rich {
                true => inserted_at(&ops),
                false => kept_around(&ops, current.now.len()),
            };
        } else {
            merged = self.with_orphans(merged, &orphans, &concurrent)?;
        }
        Ok(Some(MergedText { text: merged, kept }))
    }

    /// Reports whether a root has items that were made or deleted since a version. It costs what
    /// happened since then.
    fn has_changed_since(&self, version: &Version, is_rich: bool) -> bool {
        let now = self.replica.version();
        let deleted = now.snapshot().delete_set.diff(&version.snapshot().delete_set);
        let mut ranges = to_ranges(&deleted);
        ranges.extend(made_since(&now, version));
        !self
            .replica
            .gate
            .items()
            .parts_in(&ranges, &[if is_rich { ROOT } else { TEXT }])
            .is_empty()
    }

    /// Reports whether both roots were begun apart and never settled.
    pub(super) fn has_separate_roots(&self) -> bool {
        self.is_rich_beside_text.is_some()
    }

    /// Returns the current root followed by the other one, if both were begun apart; `None` if they
    /// were not, or the other one is empty. What they have in common was written twice, so only
    /// equal roots are one text.
    fn text_of_separate_roots(&self) -> Result<Option<MergedText>, ContentError> {
        let Some(is_rich) = self.is_rich_beside_text else { return Ok(None) };
        let here = self.fork(&self.replica.version())?;
        let (current, other) = here.read(|txn| (root_text(txn, is_rich), root_text(txn, !is_rich)));
        if other.is_empty() {
            return Ok(None);
        }
        if other == current {
            return Ok(Some(MergedText { kept: vec![(0, 0, other.len())], text: other }));
        }
        let n_current = current.len();
        let mut text = current;
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        if is_rich && !text.is_empty() {
            text.push('\n');
        }
        let at = text.len();
        text.push_str(&other);
        // The plain text keeps the items of those who typed it.
        let kept = if is_rich { (at, 0, other.len()) } else { (0, 0, n_current) };
        Ok(Some(MergedText { text, kept: vec![kept] }))
    }

    /// Returns the document without the writes and deletions of concurrent settlements after a
    /// version.
    fn without_concurrent(&self, concurrent: &[ConversionSettlement], after: &Version) -> Version {
        let now = self.replica.version();
        let mut deleted = now.snapshot().delete_set.clone();
        for other in concurrent {
            deleted.diff_with(&other.gone);
        }
        deleted.merge_with(after.snapshot().delete_set.clone());
        let known = up_to(&deleted.diff(&after.snapshot().delete_set), after);
        deleted.diff_with(&self.lost_to(concurrent, &known));
        self.hide_items_of(concurrent, &mut deleted);
        with_deleted(&now, deleted)
    }

    /// Deletes all items that some settlements made.
    fn hide_items_of(&self, settlements: &[ConversionSettlement], deleted: &mut IdSet) {
        for settlement in settlements {
            let client = ClientID::new(settlement.client.get());
            deleted.range_mut(client).insert(0..self.replica.gate.clock_of(settlement.client));
        }
    }

    /// Returns each state from which the next settlement may have to begin: the edits of writers on
    /// top of one settlement and those that it knew of, or of none. A peer that has not sent its
    /// settlement yet may have built on any of them.
    pub(in crate::content) fn states_to_settle_from(&self) -> Vec<Version> {
        let settlements: Vec<&ConversionSettlement> =
            self.settlements.all.iter().filter(|known| !known.is_note).collect();
        let none = Version::noted(Snapshot::default());
        let mut states = vec![self.with_edits_of_writers(&none, |_| false)];
        for settlement in &settlements {
            let is_known = |other: &ConversionSettlement| {
                other.client == settlement.client || other.is_known_to(&settlement.from)
            };
            states.push(self.with_edits_of_writers(&settlement.after(), is_known));
        }
        states
    }

    /// Returns what the document would be without the settlements that a version does not know of,
    /// edits in blocks that only these deleted included.
    fn with_edits_of_writers(
        &self,
        after: &Version,
        is_known: impl Fn(&ConversionSettlement) -> bool,
    ) -> Version {
        let others = self.settlements.all.iter();
        let others = others.filter(|other| !other.is_note && !is_known(other));
        let others: Vec<ConversionSettlement> = others.cloned().collect();
        let now = self.replica.version();
        let mut deleted = now.snapshot().delete_set.clone();
        others.iter().for_each(|other| deleted.diff_with(&other.gone));
        deleted.merge_with(after.snapshot().delete_set.clone());
        let new = deleted.diff(&after.snapshot().delete_set);
        deleted.diff_with(&self.lost_to(&others, &new));
        self.hide_items_of(&others, &mut deleted);
        with_deleted(&now, deleted)
    }

    /// Returns the deleted items that Yjs deleted because a concurrent settlement deleted their
    /// parent without knowing them.
    fn lost_to(&self, concurrent: &[ConversionSettlement], lost: &IdSet) -> IdSet {
        if concurrent.is_empty() || lost.is_empty() {
            return IdSet::new();
        }
        let mut parts = self.replica.gate.items().parts_in(&to_ranges(lost), &[ROOT]);
        self.replica.gate.read(|txn| {
            parts.retain(|part| {
                let around = ancestors(txn, ItemId::new(part.client, part.start));
                around.iter().any(|id| concurrent.iter().any(|other| holds(&other.gone, *id)))
            });
        });
        to_set(&parts)
    }

    /// Returns the document at a version without the content that was erased since, even if the
    /// document never was in that state.
    pub(super) fn fork(&self, version: &Version) -> Result<GatedDoc, ContentError> {
        self.replica.fork(&self.replica.without_redacted_items(version, self.redacted))
    }

    /// Returns the items of orphans that are still to be merged.
    pub(in crate::content) fn unmerged_items(&self) -> IdSet {
        let Some(last) = self.settlements.last() else { return IdSet::new() };
        let orphans = self.orphans(&last.after(), &self.settlements.concurrent());
        to_set(&orphans.into_iter().map(|orphan| orphan.range).collect::<Vec<_>>())
    }
}

/// Returns the ranges of items that a version has and an earlier one lacks.
pub(in crate::content) fn made_since<'v>(
    now: &'v Version,
    earlier: &'v Version,
) -> impl Iterator<Item = IdRange> + 'v {
    now.clocks().filter_map(|(client, end)| {
        let start = earlier.snapshot().state_map.get(&ClientID::new(client.get()));
        (start < end).then(|| IdRange { client, start, len: end - start })
    })
}

/// Returns a version of the same clocks with other deletions.
pub(super) fn with_deleted(version: &Version, deleted: IdSet) -> Version {
    Version::noted(Snapshot::new(version.snapshot().state_map.clone(), deleted))
}

/// Returns where changes insert text: the offset in the result, the offset in the inserted text,
/// and the length.
fn inserted_at(ops: &[RebaseOp]) -> Vec<(usize, usize, usize)> {
    let mut grown = 0_isize;
    let mut inserted = Vec::with_capacity(ops.len());
    for op in ops {
        let at = op.at.bytes.strict_add_signed(grown);
        inserted.push((at, op.insert.start, op.insert.len()));
        grown += op.insert.len() as isize - op.delete.bytes as isize;
    }
    inserted
}

/// Returns the parts of a text that changes keep: the offset in the result, the old offset, and the
/// length.
fn kept_around(ops: &[RebaseOp], len: usize) -> Vec<(usize, usize, usize)> {
    let (mut new, mut old) = (0, 0);
    let mut kept = Vec::with_capacity(ops.len() + 1);
    for op in ops {
        let n_kept = op.at.bytes - old;
        kept.push((new, old, n_kept));
        new += n_kept + op.insert.len();
        old = op.at.bytes + op.delete.bytes;
    }
    kept.push((new, old, len - old));
    kept.retain(|(.., len)| *len > 0);
    kept
}

/// Compares a root at a version with the root now.
fn change_of(then: &mut GatedDoc, here: &mut GatedDoc, is_rich: bool) -> RootChange {
    let ((base, old), (now, new)) = (spans_of(then, is_rich), spans_of(here, is_rich));
    let runs = beside(&base, &old, &now, &new);
    let splices = runs.splices();
    RootChange { base, now, runs, splices }
}

/// Returns one of the roots as a file.
fn root_text(txn: &impl ReadTxn, is_rich: bool) -> String {
    match is_rich {
        false => txn.get_text(TEXT).map(|text| text.get_string(txn)).unwrap_or_default(),
        true => rich::read_file(txn, rich::profile_of(txn)).text,
    }
}
