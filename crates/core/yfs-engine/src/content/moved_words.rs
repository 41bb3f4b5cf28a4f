//! Words that were typed into a block which another writer joined with its neighbor or moved.
//!
//! Such a writer deletes the block and inserts its text elsewhere, in one update. If that text is
//! there once, it is known which new item stands for which old one. Words that arrive in the
//! deleted block are inserted beside the new items of their neighbors. The client id of that
//! insertion is a hash of the first item and its new neighbors, so all replicas that do it make the
//! same items ([decision 89]).
//!
//! # Cost
//!
//! An update that deletes a text costs a read of the texts that it deletes and writes, and one that
//! moves a text a read of the document. The moves are kept in memory; one that is not there is
//! looked for once in the log, when words arrive in its text.
//!
//! [decision 89]: ../../../../../docs/decisions/0089-words-follow-a-block-that-moved.md

use std::collections::BTreeMap;

use yrs::{IdSet, Snapshot};

use super::{
    ContentError, Version,
    item_places::{text_around, text_with},
    item_sets::{holds, to_ranges, to_set},
    replica::ContentReplica,
    typing_runs::pieces,
};
use crate::{
    gate::{IdRange, ItemOrigins, UpdateBuilder, origins_of_items},
    id::{ClientId, ItemId},
    lib0::{write_string, write_var_uint},
    rich::ROOT,
};

/// What the hash for the client id begins with; it must change with the rule.
const RULE: &str = "yfs moved words 1";

/// The greatest number of moves and of insertions that are kept, the latest ones.
const MAX_KEPT: usize = 256;

/// The greatest number of texts whose moves are looked for in the log at once.
const MAX_RECALLED: usize = 8;

/// The greatest length of a text whose move is found, and of words that follow, in code units.
const MAX_UNITS: usize = 1 << 16;

/// The greatest number of stretches of items in which a change is searched for moves.
const MAX_PARTS: usize = 512;

/// The greatest number of stretches in all texts that are kept.
const MAX_SPANS: usize = 1 << 16;

/// The number of code units that the search for the moves of one change compares at most.
const MAX_COMPARED: usize = 1 << 24;

/// The least length of a text that is found inside of a longer insertion, in code units.
const MIN_UNITS: usize = 4;

/// The texts that writers moved, and the words that followed them.
#[derive(Debug, Default)]
pub(super) struct MovedTexts {
    texts: Vec<MovedText>,
    carried: Vec<CarriedRun>,
    /// The texts whose moves were looked for in the log, the latest ones.
    recalled: Vec<ItemId>,
}

/// A text that a writer deleted and inserted elsewhere.
#[derive(Debug)]
struct MovedText {
    /// The deleted `Y.XmlText`.
    list: ItemId,
    /// The `Y.XmlText` that has its characters now.
    into: ItemId,
    /// The stretches of its characters, in order. There is at least one.
    spans: Vec<MovedSpan>,
    /// The neighbors that the first and the last new item name.
    left: Option<ItemId>,
    right: Option<ItemId>,
}

/// Characters here and there: each code unit is one item.
#[derive(Debug, Clone, Copy)]
struct MovedSpan {
    from: ItemId,
    to: ItemId,
    len: u32,
}

/// Words that followed their block: items of one client that were typed one behind the other.
#[derive(Debug, Clone, Copy)]
struct CarriedRun {
    from: ItemId,
    to: ItemId,
    len: u32,
    right: Option<ItemId>,
}

/// Stranded items of one client, each typed behind the one before.
#[derive(Debug)]
struct TypedChain {
    first: ItemId,
    units: Vec<u16>,
    left: Option<ItemId>,
    right: Option<ItemId>,
}

/// The insertion of words beside the new items of their neighbors.
pub(super) struct CarriedWords {
    /// `None` if another replica inserted all of them.
    pub(super) update: Option<Vec<u8>>,
    /// The items that were stranded.
    pub(super) from: IdSet,
    /// The insertions to remember once the update is applied.
    runs: Vec<CarriedRun>,
}

/// A character with its item.
type TextUnit = (ItemId, u16);

/// A `Y.XmlText` with one of its items.
type TextWithItem = (ItemId, ItemId);

impl MovedTexts {
    /// Notes the texts that a change moved: it deleted the items of `deleted` and inserted those of
    /// `inserted`.
    pub(super) fn note_moves(
        &mut self,
        replica: &mut ContentReplica,
        before: &Version,
        deleted: &[IdRange],
        inserted: &[IdRange],
    ) -> Result<(), ContentError> {
        let now = replica.version();
        let mut newly = now.snapshot().delete_set.diff(&before.snapshot().delete_set);
        newly.diff_with(&newly.diff(&to_set(deleted)));
        let (gone, new) = texts_of_change(replica, &now, &to_ranges(&newly), inserted);
        if gone.is_empty() || new.is_empty() {
            return Ok(());
        }
        let is_new = to_set(inserted);
        let all = Version::noted(Snapshot::new(now.snapshot().state_map.clone(), IdSet::new()));
        let mut runs: Vec<(ItemId, Vec<TextUnit>)> = Vec::new();
        for (list, item) in new {
            let units = units_of(replica, item, &now);
            runs.extend(runs_of(&units, &is_new).into_iter().map(|run| (list, run)));
        }
        let (mut moved, mut budget) = (Vec::new(), MAX_COMPARED);
        for (list, item) in gone {
            let mut units = units_of(replica, item, &all);
            units.retain(|(item, _)| holds(&newly, *item));
            let Some((into, there)) = find_once(&units, &runs, &mut budget) else { continue };
            let spans = spans_of(units.iter().map(|(item, _)| *item).zip(there));
            moved.push(MovedText { list, into, spans, left: None, right: None });
        }
        self.keep(replica, moved)
    }

    /// Returns the texts that stranded items are in whose move is neither known nor was looked for.
    /// They count as looked for then.
    pub(super) fn take_unknown(
        &mut self,
        replica: &ContentReplica,
        stranded: &IdSet,
    ) -> Vec<ItemId> {
        let mut unknown: Vec<ItemId> = replica.gate.read(|txn| {
            let ranges = to_ranges(stranded).into_iter();
            let items = ranges.map(|range| ItemId::new(range.client, range.start));
            items.filter_map(|item| text_around(txn, item)).collect()
        });
        unknown.sort_unstable();
        unknown.dedup();
        let is_known = |list: &ItemId| {
            self.recalled.contains(list) || self.texts.iter().any(|text| text.list == *list)
        };
        unknown.retain(|list| !is_known(list));
        unknown.truncate(MAX_RECALLED);
        self.recalled.extend(&unknown);
        let excess = self.recalled.len().saturating_sub(MAX_KEPT);
        self.recalled.drain(..excess);
        unknown
    }

    /// Keeps moves, with the neighbors of the new characters.
    fn keep(
        &mut self,
        replica: &ContentReplica,
        mut moved: Vec<MovedText>,
    ) -> Result<(), ContentError> {
        if moved.is_empty() {
            return Ok(());
        }
        let ends = moved.iter().flat_map(MovedText::ends);
        let origins = origins_of_items(&replica.gate.encode_state(), &replica.limits(), ends)?;
        moved.retain_mut(|text| {
            let [first, last] = text.ends().map(|end| origins.get(&end));
            text.left = first.and_then(|first| first.left);
            text.right = last.and_then(|last| last.right);
            first.is_some() && last.is_some()
        });
        self.texts.extend(moved);
        let mut n_spans: usize = self.texts.iter().map(|text| text.spans.len()).sum();
        while self.texts.len() > MAX_KEPT || n_spans > MAX_SPANS {
            n_spans -= self.texts.remove(0).spans.len();
        }
        Ok(())
    }

    /// Returns the insertion of those stranded items whose block was moved; `None` if there are
    /// none.
    pub(super) fn carry(
        &self,
        replica: &ContentReplica,
        stranded: &IdSet,
    ) -> Result<Option<CarriedWords>, ContentError> {
        if self.texts.is_empty() || stranded.is_empty() {
            return Ok(None);
        }
        let mut pending = chains_of(replica, stranded)?;
        let mut carried = self.carried.clone();
        let (mut builder, mut from) = (UpdateBuilder::new(), IdSet::new());
        // A chain may begin behind one of another client.
        loop {
            let n_pending = pending.len();
            pending.retain(|chain| {
                let Some(text) = self.text_of(replica, chain) else { return true };
                let Some((run, left)) = text.place(chain, &carried) else { return true };
                if !write(replica, &mut builder, &chain.units, &run, left) {
                    return true;
                }
                let CarriedRun { from: ItemId { client, clock: start }, len, .. } = run;
                from.merge_with(to_set(&[IdRange { client, start, len }]));
                carried.push(run);
                false
            });
            if pending.len() == n_pending {
                break;
            }
        }
        let runs = carried.split_off(self.carried.len());
        let update = (!builder.is_empty()).then(|| builder.finish());
        Ok((!runs.is_empty()).then_some(CarriedWords { update, from, runs }))
    }

    /// Remembers an insertion that was applied.
    pub(super) fn note_carried(&mut self, words: &CarriedWords) {
        for run in &words.runs {
            match self.carried.iter_mut().rfind(|known| known.goes_on_with(run)) {
                Some(known) => known.len += run.len,
                None => self.carried.push(*run),
            }
        }
        let excess = self.carried.len().saturating_sub(MAX_KEPT);
        self.carried.drain(..excess);
    }

    /// Returns the move of the text that a chain is in, if the text that took its place is there.
    fn text_of(&self, replica: &ContentReplica, chain: &TypedChain) -> Option<&MovedText> {
        let list = replica.gate.read(|txn| text_around(txn, chain.first))?;
        let text = self.texts.iter().rfind(|text| text.list == list)?;
        let is_there = !was_deleted(&replica.version(), text.into);
        is_there.then_some(text)
    }
}

impl MovedText {
    /// Returns the new items of a chain, and the item behind which they are inserted.
    fn place(
        &self,
        chain: &TypedChain,
        carried: &[CarriedRun],
    ) -> Option<(CarriedRun, Option<ItemId>)> {
        let len = chain.units.len() as u32;
        let before = chain.left.and_then(|left| carried.iter().rfind(|run| run.holds(left)));
        if let (Some(run), Some(left)) = (before, chain.left)
            && left.client == chain.first.client
            && left.clock + 1 == chain.first.clock
            && left.clock + 1 == run.from.clock + run.len
        {
            let to = ItemId::new(run.to.client, run.to.clock + run.len);
            let run = CarriedRun { from: chain.first, to, len, right: run.right };
            return Some((run, Some(ItemId::new(to.client, to.clock - 1))));
        }
        let find = |item: ItemId| {
            let run = carried.iter().rfind(|run| run.holds(item));
            self.there(item).or_else(|| run.map(|run| run.there(item)))
        };
        let left = match chain.left {
            None => self.left,
            Some(left) => Some(find(left)?),
        };
        let right = chain.right.and_then(find).or_else(|| match chain.left {
            None => Some(self.spans[0].to),
            Some(left) if self.there(left).is_some() => self.behind(left),
            Some(_) => before.and_then(|run| run.right),
        });
        let to = ItemId::new(carrying_client(chain.first, left, right), 0);
        left.or(right)?;
        Some((CarriedRun { from: chain.first, to, len, right }, left))
    }

    /// Returns the first and the last new character.
    fn ends(&self) -> [ItemId; 2] {
        let last = self.spans[self.spans.len() - 1];
        [self.spans[0].to, ItemId::new(last.to.client, last.to.clock + last.len - 1)]
    }

    /// Returns the new character of an old one.
    fn there(&self, item: ItemId) -> Option<ItemId> {
        let span = self.spans.iter().find(|span| span.holds(item))?;
        Some(ItemId::new(span.to.client, span.to.clock + (item.clock - span.from.clock)))
    }

    /// Returns the new character behind that of an old one; behind the last one, the item that it
    /// names as its right neighbor.
    fn behind(&self, item: ItemId) -> Option<ItemId> {
        let index = self.spans.iter().position(|span| span.holds(item))?;
        let span = self.spans[index];
        let n_before = item.clock - span.from.clock + 1;
        if n_before < span.len {
            return Some(ItemId::new(span.to.client, span.to.clock + n_before));
        }
        self.spans.get(index + 1).map(|next| next.to).or(self.right)
    }
}

impl MovedSpan {
    fn holds(&self, item: ItemId) -> bool {
        let clocks = self.from.clock..self.from.clock + self.len;
        item.client == self.from.client && clocks.contains(&item.clock)
    }
}

impl CarriedRun {
    fn holds(&self, item: ItemId) -> bool {
        let clocks = self.from.clock..self.from.clock + self.len;
        item.client == self.from.client && clocks.contains(&item.clock)
    }

    /// Reports whether another run continues this one.
    fn goes_on_with(&self, run: &Self) -> bool {
        let is_behind = |here: ItemId, there: ItemId| {
            here.client == there.client && here.clock + self.len == there.clock
        };
        is_behind(self.from, run.from) && is_behind(self.to, run.to)
    }

    /// Returns the new item of an item of the run.
    fn there(&self, item: ItemId) -> ItemId {
        ItemId::new(self.to.client, self.to.clock + (item.clock - self.from.clock))
    }
}

/// Returns the texts that a change deleted, and the living ones in which it inserted items, each
/// with one of its items. A change of many blocks is not searched.
fn texts_of_change(
    replica: &ContentReplica,
    now: &Version,
    deleted: &[IdRange],
    inserted: &[IdRange],
) -> (Vec<TextWithItem>, Vec<TextWithItem>) {
    let texts = |ranges: &[IdRange], is_gone: bool| -> Vec<TextWithItem> {
        let parts = replica.gate.items().parts_in(ranges, &[ROOT]);
        if parts.len() > MAX_PARTS {
            return Vec::new();
        }
        let texts: BTreeMap<ItemId, ItemId> = replica.gate.read(|txn| {
            let items = parts.iter().map(|part| ItemId::new(part.client, part.start));
            items.filter_map(|item| Some((text_around(txn, item)?, item))).collect()
        });
        texts.into_iter().filter(|(list, _)| was_deleted(now, *list) == is_gone).collect()
    };
    let gone = texts(deleted, true);
    let new = if gone.is_empty() { Vec::new() } else { texts(inserted, false) };
    (gone, new)
}

/// Returns the characters of the text with an item that a version shows, in order.
fn units_of(replica: &mut ContentReplica, item: ItemId, version: &Version) -> Vec<TextUnit> {
    let (pieces, _) = replica.gate.edit(|txn| match text_with(txn, item) {
        Some((list, text)) => pieces(txn, &text, Some(list), version),
        None => Vec::new(),
    });
    let mut units = Vec::new();
    for piece in pieces {
        let items = (piece.item.clock..).map(|clock| ItemId::new(piece.item.client, clock));
        units.extend(items.zip(piece.text.encode_utf16()));
    }
    units
}

/// Returns the stretches of a text that one client inserted, of items in a set.
fn runs_of(units: &[TextUnit], is_new: &IdSet) -> Vec<Vec<TextUnit>> {
    let is_one = |left: &TextUnit, right: &TextUnit| {
        left.0.client == right.0.client && holds(is_new, left.0) == holds(is_new, right.0)
    };
    let runs = units.chunk_by(is_one).filter(|run| holds(is_new, run[0].0));
    runs.map(<[TextUnit]>::to_vec).collect()
}

/// Joins characters here and there to stretches.
fn spans_of(pairs: impl Iterator<Item = (ItemId, ItemId)>) -> Vec<MovedSpan> {
    let mut spans: Vec<MovedSpan> = Vec::new();
    for (from, to) in pairs {
        let goes_on = |span: &&mut MovedSpan| {
            let is_next = |start: ItemId, item: ItemId| {
                start.client == item.client && start.clock + span.len == item.clock
            };
            is_next(span.from, from) && is_next(span.to, to)
        };
        match spans.last_mut().filter(goes_on) {
            Some(span) => span.len += 1,
            None => spans.push(MovedSpan { from, to, len: 1 }),
        }
    }
    spans
}

/// Returns the items that have the characters of a text in the only place where they are inserted,
/// and the text that has them. Takes the code units that it compares from a budget.
fn find_once(
    units: &[TextUnit],
    runs: &[(ItemId, Vec<TextUnit>)],
    budget: &mut usize,
) -> Option<(ItemId, Vec<ItemId>)> {
    if units.is_empty() || units.len() > MAX_UNITS {
        return None;
    }
    let n_places = runs.iter().map(|(_, run)| (run.len() + 1).saturating_sub(units.len()));
    *budget = budget.checked_sub(n_places.sum::<usize>().saturating_mul(units.len()))?;
    let mut found = None;
    for (list, run) in runs {
        if units.len() < MIN_UNITS && run.len() != units.len() {
            continue;
        }
        for place in run.windows(units.len()) {
            if place.iter().map(|(_, unit)| unit).eq(units.iter().map(|(_, unit)| unit)) {
                if found.is_some() {
                    return None;
                }
                found = Some((*list, place.iter().map(|(item, _)| *item).collect()));
            }
        }
    }
    found
}

/// Returns the chains of stranded items, in order of their ids.
fn chains_of(replica: &ContentReplica, stranded: &IdSet) -> Result<Vec<TypedChain>, ContentError> {
    let ranges = to_ranges(stranded);
    let n_units: u64 = ranges.iter().map(|range| u64::from(range.len)).sum();
    if n_units > MAX_UNITS as u64 {
        return Ok(Vec::new());
    }
    let mut units: Vec<TextUnit> = Vec::new();
    for piece in replica.gate.remains(&ranges)? {
        let items = (piece.range.start..).map(|clock| ItemId::new(piece.range.client, clock));
        units.extend(items.zip(piece.text.encode_utf16()).take(piece.range.len as usize));
    }
    let items = units.iter().map(|(item, _)| *item);
    let origins = origins_of_items(&replica.gate.encode_state(), &replica.limits(), items)?;
    let mut chains: Vec<TypedChain> = Vec::new();
    for (item, unit) in units {
        let Some(ItemOrigins { left, right, .. }) = origins.get(&item).copied() else { continue };
        let last = chains.last_mut().filter(|chain| {
            let end = chain.first.clock + chain.units.len() as u32;
            let last = ItemId::new(chain.first.client, end - 1);
            item == ItemId::new(chain.first.client, end) && left == Some(last)
        });
        match last {
            Some(chain) => chain.units.push(unit),
            None => chains.push(TypedChain { first: item, units: vec![unit], left, right }),
        }
    }
    Ok(chains)
}

/// Adds an insertion to an update, as far as it is not there yet. Returns whether it can be made.
fn write(
    replica: &ContentReplica,
    builder: &mut UpdateBuilder,
    units: &[u16],
    run: &CarriedRun,
    left: Option<ItemId>,
) -> bool {
    let ItemId { client, clock } = run.to;
    let n_there = replica.gate.clock_of(client);
    let Some(rest) = n_there.checked_sub(clock) else { return false };
    let Some(rest) = units.get(rest as usize..).filter(|rest| !rest.is_empty()) else {
        return true;
    };
    let Ok(text) = String::from_utf16(rest) else { return false };
    let left = if n_there == clock { left } else { Some(ItemId::new(client, n_there - 1)) };
    builder.text_run(ItemId::new(client, n_there), left, run.right, ROOT, &text);
    true
}

fn was_deleted(version: &Version, item: ItemId) -> bool {
    holds(&version.snapshot().delete_set, item)
}

/// Returns the client id under which words are inserted. It is no id of a rule: the words are those
/// of a person, and nothing else has them.
fn carrying_client(first: ItemId, left: Option<ItemId>, right: Option<ItemId>) -> ClientId {
    let mut bytes = Vec::new();
    write_string(&mut bytes, RULE);
    for item in [Some(first), left, right] {
        write_var_uint(&mut bytes, item.is_some().into());
        if let Some(item) = item {
            write_var_uint(&mut bytes, item.client.get());
            write_var_uint(&mut bytes, item.clock.into());
        }
    }
    let hash = blake3::hash(&bytes);
    let hash = u64::from_le_bytes(*hash.as_bytes().first_chunk().expect("32 bytes"));
    ClientId::new(hash >> 12).expect("52 bits")
}
