//! Edits that arrived in blocks which a settlement had deleted or a concurrent one had made.
//!
//! Yjs deletes text that arrives in a deleted block, so no root shows it. A settlement records what
//! it deleted, so such edits are found by the blocks that it is in: these are rendered once without
//! it and once with it, in a copy in which they are not deleted, and the difference is merged like
//! a change of the file.

use std::collections::BTreeSet;

use yrs::{Assoc, ReadTxn};

use super::{
    align_items::beside,
    root_comparison::{RootComparison, made_since, with_deleted},
    settlement::ConversionSettlement,
};
use crate::{
    content::{
        ContentError, Version,
        diff::{TextSplice, diff_chars, utf16_len},
        item_places::{ItemContainer, place_in},
        item_sets::{holds, to_ranges, to_set},
        item_spans::{ItemSpan, spans_of_blocks},
        rebase::{RunAlignment, applied, rebase_all},
        rule_client::is_rule_client,
    },
    gate::IdRange,
    id::{ClientId, ItemId},
    rich::{LiveChild, ROOT},
};

/// An edit in a block that is not shown any more.
#[derive(Debug)]
pub(super) struct OrphanedItem {
    pub(super) range: IdRange,
    /// The items that it is nested in, innermost first.
    around: Vec<ItemId>,
    /// The settlement that deleted or made the block.
    by: ConversionSettlement,
}

impl RootComparison<'_> {
    /// Returns the edits that are new since a version, in blocks that a settlement deleted or that
    /// a concurrent one made.
    pub(super) fn orphans(
        &self,
        after: &Version,
        concurrent: &[ConversionSettlement],
    ) -> Vec<OrphanedItem> {
        let settlements = &self.settlements.all;
        let mut orphans = self.orphans_since(after, settlements, concurrent);
        if orphans.is_empty() {
            return orphans;
        }
        orphans.sort_by_key(|orphan| (orphan.by.number, orphan.by.client, orphan.range));
        orphans
    }

    fn orphans_since(
        &self,
        version: &Version,
        settlements: &[ConversionSettlement],
        concurrent: &[ConversionSettlement],
    ) -> Vec<OrphanedItem> {
        if concurrent.is_empty() && settlements.iter().all(|settlement| settlement.gone.is_empty())
        {
            return Vec::new();
        }
        let now = self.replica.version();
        let since = made_since(&now, version).filter(|range| !is_rule_client(range.client));
        let parts = self.replica.gate.items().parts_in(&since.collect::<Vec<_>>(), &[ROOT]);
        let by = |around: &[ItemId]| {
            let has_deleted = |settlement: &&ConversionSettlement| {
                around.iter().any(|id| holds(&settlement.gone, *id))
            };
            let has_made = |settlement: &&ConversionSettlement| {
                around.iter().any(|id| id.client == settlement.client)
            };
            let deleting = settlements.iter().rfind(has_deleted);
            deleting.or_else(|| concurrent.iter().find(has_made)).cloned()
        };
        self.replica.gate.read(|txn| {
            let orphan = |range: IdRange| {
                let around = ancestors(txn, ItemId::new(range.client, range.start));
                by(&around).map(|by| OrphanedItem { range, around, by })
            };
            parts.into_iter().filter_map(orphan).collect()
        })
    }

    /// Merges orphans into a file.
    pub(super) fn with_orphans(
        &self,
        mut text: String,
        orphans: &[OrphanedItem],
        concurrent: &[ConversionSettlement],
    ) -> Result<String, ContentError> {
        for orphans in orphans.chunk_by(|left, right| left.by.client == right.by.client) {
            let by = &orphans[0].by;
            // Orphans that were merged before stand around the present ones.
            let before: Vec<OrphanedItem> =
                self.orphans_since(&by.from, std::slice::from_ref(by), concurrent);
            let now = self.replica.version();
            let mut deleted = now.snapshot().delete_set.clone();
            deleted.diff_with(&by.gone);
            for orphan in orphans.iter().chain(&before) {
                let shown = orphan.around.iter().map(|id| IdRange {
                    client: id.client,
                    start: id.clock,
                    len: 1,
                });
                deleted.diff_with(&to_set(&shown.chain([orphan.range]).collect::<Vec<_>>()));
            }
            let tops: BTreeSet<ItemId> =
                orphans.iter().filter_map(|orphan| orphan.around.last().copied()).collect();
            let mut without = deleted.clone();
            let hidden: Vec<IdRange> = orphans.iter().map(|orphan| orphan.range).collect();
            without.merge_with(to_set(&hidden));
            let is_one = |kid: &LiveChild| kid.ids().any(|id| tops.contains(&id));
            let mut then = self.fork(&with_deleted(&now, without))?;
            let mut here = self.fork(&with_deleted(&now, deleted))?;
            let (base, old) = spans_of_blocks(&mut then, is_one);
            let (said, new) = spans_of_blocks(&mut here, is_one);
            let splices = beside(&base, &old, &said, &new).splices();
            text = merged_into(text, base, &old, &said, &new, &splices);
        }
        Ok(text)
    }

    /// Returns those of some ranges that are in blocks which a settlement deleted.
    pub(in crate::content) fn deleted_by_settlements(&self, ranges: &[IdRange]) -> Vec<IdRange> {
        let settlements = &self.settlements.all;
        self.replica.gate.read(|txn| {
            let is_gone = |range: &&IdRange| {
                let around = ancestors(txn, ItemId::new(range.client, range.start));
                let is_in = |id: &ItemId| settlements.iter().any(|known| holds(&known.gone, *id));
                around.iter().any(is_in)
            };
            ranges.iter().filter(is_gone).copied().collect()
        })
    }
}

/// Returns those orphans that a version does not show. It does show text that was typed into a
/// block that only a concurrent settlement deleted.
pub(super) fn hidden_at(version: &Version, orphans: Vec<OrphanedItem>) -> Vec<OrphanedItem> {
    let deleted = &version.snapshot().delete_set;
    let mut hidden = Vec::with_capacity(orphans.len());
    for orphan in orphans {
        if orphan.around.iter().any(|id| holds(deleted, *id)) {
            hidden.push(orphan);
            continue;
        }
        let whole = to_set(&[orphan.range]);
        for range in to_ranges(&whole.diff(&whole.diff(deleted))) {
            hidden.push(OrphanedItem {
                range,
                around: orphan.around.clone(),
                by: orphan.by.clone(),
            });
        }
    }
    hidden
}

/// Merges the changes of some blocks into a file, one change after the other.
fn merged_into(
    mut text: String,
    mut base: String,
    old: &[ItemSpan],
    now: &str,
    new: &[ItemSpan],
    splices: &[TextSplice],
) -> String {
    let mut grown = 0_isize;
    for splice in splices {
        let words = &now[splice.new.clone()];
        let begun = word_begun_at(&base, old, splice.old.start, grown, client_at(new, splice));
        let start = splice.old.start.strict_add_signed(grown);
        let mut said = base.clone();
        said.replace_range(start..start + splice.old.len(), words);
        grown += words.len() as isize - splice.old.len() as isize;
        let moved = TextSplice {
            at: utf16_len(&base[..start]),
            delete: splice.delete,
            old: start..start + splice.old.len(),
            new: start..start + words.len(),
        };
        let runs = RunAlignment::of_texts(&base, &text, diff_chars);
        let (ops, overlaps) = rebase_all(&runs, &[moved], &base, &text, &said);
        let merged = applied(&text, &said, &ops);
        let is_apart = overlaps.iter().any(|overlap| overlap.deleted_by_both);
        let goes_on = begun.is_empty() || merged.contains(&[&begun, words].concat());
        if !is_apart && goes_on || words.trim().is_empty() {
            text = merged;
        } else if let Some(at) = end_of_begun(&text, &begun) {
            text.insert_str(at, words);
        } else if is_apart {
            add_paragraph(&mut text, words.trim());
        } else {
            text = merged;
        }
        base = said;
    }
    text
}

/// Returns where the beginning of a word ends in a file. Of the text before the rest of the word,
/// the file may have only the end: the same client may have deleted the letters before it.
fn end_of_begun(text: &str, begun: &str) -> Option<usize> {
    let suffixes = begun.char_indices().map(|(at, _)| &begun[at..]);
    let found = suffixes.filter_map(|suffix| Some((text.find(suffix)?, suffix))).next();
    let (at, suffix) = found?;
    let is_only = text.matches(suffix).count() == 1;
    let is_whole = suffix.len() == begun.len() || !text[..at].ends_with(char::is_alphanumeric);
    (is_only && is_whole).then(|| at + suffix.len())
}

/// Appends a paragraph of words that have no neighbor any more.
fn add_paragraph(text: &mut String, words: &str) {
    text.truncate(text.trim_end_matches('\n').len());
    if !text.is_empty() {
        text.push_str("\n\n");
    }
    text.push_str(words);
    text.push('\n');
}

/// Returns the client that typed the text that a change inserts.
fn client_at(spans: &[ItemSpan], splice: &TextSplice) -> Option<ClientId> {
    let is_here = |span: &&ItemSpan| span.at + span.len > splice.new.start;
    spans.iter().find(is_here).map(|span| span.item.client)
}

/// Returns the letters of a word before a place that the same client had typed; places before it
/// have moved by `grown`.
fn word_begun_at(
    base: &str,
    spans: &[ItemSpan],
    end: usize,
    grown: isize,
    client: Option<ClientId>,
) -> String {
    let mut start = end;
    for span in spans.iter().rev().filter(|span| span.at < end) {
        if Some(span.item.client) != client || span.at + span.len < start {
            break;
        }
        start = span.at;
    }
    let typed = &base[start.strict_add_signed(grown)..end.strict_add_signed(grown)];
    let word = typed.rsplit(char::is_whitespace).next().unwrap_or_default();
    word.to_owned()
}

/// Returns the items that an item is nested in, innermost first.
pub(super) fn ancestors(txn: &impl ReadTxn, item: ItemId) -> Vec<ItemId> {
    let (mut around, mut at) = (Vec::new(), item);
    while let Some((ItemContainer::Type(parent), _)) = place_in(txn, at, Assoc::After) {
        // Updates from peers may nest to any depth.
        if around.len() > yfs_markdown::tree::MAX_DEPTH + 2 {
            break;
        }
        around.push(parent);
        at = parent;
    }
    around
}
