//! Text that was deleted within lines, and the runs that deleted it.
//!
//! Yjs records no author of a deletion. But each run notes the state that it found, so the first
//! noted state in which a character is deleted dates the deletion: the run before that note made
//! it.

use std::collections::BTreeMap;

use yfs_markdown::schema::SchemaProfile;
use yrs::{Any, IdSet, Out, Snapshot, Text, TransactionMut, types::text::YChange};

use super::super::{
    TEXT, Version,
    diff::utf16_len,
    item_spans::bytes_of,
    log::AuthorLog,
    timeline::{NotedDeletions, Timeline},
};
use crate::{
    gate::GatedDoc,
    id::{ClientId, ItemId},
    rich::{LiveChild, live},
};

/// The deleted text between two neighbors of a list.
pub(super) struct DeletedGap {
    /// The `Y.XmlText`; `None` for plain text.
    pub(super) list: Option<ItemId>,
    /// Its place in the list, as Yjs counts.
    pub(super) index: u32,
    /// The text of its line before the place.
    before: String,
    /// The text of its line behind the place, without the end of the line.
    behind: String,
    /// The first item and the text of each deleted piece.
    deleted: Vec<(ItemId, String)>,
}

/// The runs that deleted items, by the ranges of the items.
pub(super) struct DeletingRuns {
    /// By client and first clock: the clock behind the last, and the run.
    ranges: BTreeMap<(ClientId, u32), (u32, ItemId)>,
}

impl DeletingRuns {
    /// Finds the runs that deleted the text of gaps.
    pub(super) fn of(timeline: Timeline<'_>, gaps: &[DeletedGap]) -> Self {
        let mut wanted = IdSet::new();
        for (item, text) in gaps.iter().flat_map(|gap| &gap.deleted) {
            let id = yrs::ID::new(yrs::ClientID::new(item.client.get()), item.clock);
            wanted.insert(id, utf16_len(text));
        }
        let mut ranges = BTreeMap::new();
        for NotedDeletions { run, deleted } in timeline.noted_deletions() {
            if wanted.is_empty() {
                break;
            }
            let found = wanted.intersect(&deleted);
            for (client, found) in found.iter() {
                let client = ClientId::new(client.get()).expect("yrs masks client ids");
                for range in found.iter() {
                    ranges.insert((client, range.start), (range.end, run));
                }
            }
            wanted.diff_with(&found);
        }
        Self { ranges }
    }

    /// Returns the run that deleted an item, and the clock up to which that holds.
    fn run_of(&self, item: ItemId) -> (Option<ItemId>, u32) {
        let key = (item.client, item.clock);
        if let Some((_, (end, run))) = self.ranges.range(..=key).next_back()
            && self.ranges.range(..=key).next_back().is_some_and(|(at, _)| at.0 == item.client)
            && *end > item.clock
        {
            return (Some(*run), *end);
        }
        let next = self.ranges.range(key..).next().filter(|(at, _)| at.0 == item.client);
        (None, next.map_or(u32::MAX, |((_, start), _)| *start))
    }
}

impl DeletedGap {
    /// Returns the runs that deleted text within the line. A run that deleted whole lines beside
    /// the line, or only text of its own, did not touch it.
    pub(super) fn runs_within_line(&self, log: &AuthorLog, runs: &DeletingRuns) -> Vec<ItemId> {
        let mut by_run: BTreeMap<ItemId, String> = BTreeMap::new();
        for (item, text) in &self.deleted {
            let (end, mut clock) = (item.clock + utf16_len(text), item.clock);
            while clock < end {
                let at = ItemId::new(item.client, clock);
                let (writer, written_to) = log.run_of(at);
                let (deleter, deleted_to) = runs.run_of(at);
                let upto = end.min(written_to).min(deleted_to);
                let part = bytes_of(text, clock - item.clock)..bytes_of(text, upto - item.clock);
                let is_own = writer.map(|(run, _)| run) == deleter;
                if let Some(deleter) = deleter.filter(|_| !is_own) {
                    by_run.entry(deleter).or_default().push_str(&text[part]);
                }
                clock = upto;
            }
        }
        let touched = by_run.into_iter().filter(|(_, deleted)| !self.was_whole_lines(deleted));
        touched.map(|(run, _)| run).collect()
    }

    /// Reports whether a text, put back into the gap, is whole lines: the line is the same with
    /// and without them.
    fn was_whole_lines(&self, deleted: &str) -> bool {
        let lines_before = deleted.strip_suffix(self.before.as_str());
        let lines_behind = deleted.strip_prefix(self.behind.as_str());
        lines_before.is_some_and(|lines| lines.ends_with('\n'))
            || lines_behind.is_some_and(|lines| lines.starts_with('\n'))
    }
}

/// Returns the gaps of all texts of one of the roots.
pub(super) fn gaps_of_root(
    gate: &mut GatedDoc,
    now: &Version,
    profile: Option<SchemaProfile>,
) -> Vec<DeletedGap> {
    let (gaps, _) = gate.edit(|txn| {
        let mut gaps = Vec::new();
        match profile {
            Some(profile) => gaps_below(txn, &live(txn, profile), now, &mut gaps),
            None => {
                if let Some(text) = yrs::ReadTxn::get_text(txn, TEXT) {
                    gaps_of_text(txn, &text, None, now, &mut gaps);
                }
            }
        }
        gaps
    });
    gaps
}

/// Collects the gaps of the texts under some nodes. Recurses as deep as the tree that was read.
fn gaps_below(
    txn: &mut TransactionMut<'_>,
    kids: &[LiveChild],
    now: &Version,
    gaps: &mut Vec<DeletedGap>,
) {
    for kid in kids {
        match kid {
            LiveChild::Element(element) => gaps_below(txn, &element.kids, now, gaps),
            LiveChild::Text(text) => {
                for slot in &text.slots {
                    gaps_of_text(txn, &slot.handle, Some(slot.id), now, gaps);
                }
            }
        }
    }
}

fn gaps_of_text(
    txn: &mut TransactionMut<'_>,
    text: &impl Text,
    list: Option<ItemId>,
    now: &Version,
    gaps: &mut Vec<DeletedGap>,
) {
    // Compared with a version that deletes nothing, each deleted piece is reported by itself.
    let all = Snapshot::new(now.snapshot().state_map.clone(), IdSet::new());
    let (mut whole, mut index) = (String::new(), 0);
    let mut found: Vec<(usize, DeletedGap)> = Vec::new();
    for change in text.diff_range(txn, Some(now.snapshot()), Some(&all), YChange::identity) {
        let Out::Any(Any::String(said)) = &change.insert else {
            index += 1;
            continue;
        };
        let Some(removed) = &change.ychange else {
            whole.push_str(said);
            index += utf16_len(said);
            continue;
        };
        let client = ClientId::new(removed.id.client.get()).expect("yrs masks client ids");
        let item = ItemId::new(client, removed.id.clock);
        let piece = (item, said.to_string());
        match found.last_mut().filter(|(at, gap)| *at == whole.len() && gap.index == index) {
            Some((_, gap)) => gap.deleted.push(piece),
            None => found.push((whole.len(), DeletedGap::at(list, index, piece))),
        }
    }
    gaps.extend(found.into_iter().map(|(at, gap)| {
        let before = whole[..at].rsplit('\n').next().unwrap_or_default().to_owned();
        let behind = whole[at..].split('\n').next().unwrap_or_default().to_owned();
        DeletedGap { before, behind, ..gap }
    }));
}

impl DeletedGap {
    fn at(list: Option<ItemId>, index: u32, piece: (ItemId, String)) -> Self {
        let (before, behind) = (String::new(), String::new());
        Self { list, index, before, behind, deleted: vec![piece] }
    }
}
