//! Finds out that a writer gave two documents different items under one id: it *forked* its log.
//!
//! Yjs takes an id for one item for good, so a peer that has an id ignores what arrives under it,
//! and two peers that were given different items differ for ever. So items that arrive again are
//! compared with those of the document: content and place, item by item. Deleted items are left
//! out, because their content may have been collected or erased.
//!
//! # Cost
//!
//! Nothing for items that are new. Of a content document, the items from the first one that arrives
//! again on are encoded by yrs and kept until no more are
//! expected. Of a main document, a
//! hash of each item is kept from the first comparison on: 20 bytes each.

use hashbrown::HashMap;
use yrs::{ClientID, ReadTxn, StateVector, Transact};

use super::{
    GatedDoc,
    item_lists::ItemLists,
    item_set::{not_among, push_range},
    limits::GateLimits,
    parked::{ParkedChunk, encode},
    parse::{ParsedUpdate, StructKind, UpdateStruct, parse},
    rewrite::rewrite,
    role::DocRole,
    run_segment::RunSegment,
    unit_content::{UnitContent, UnitLinks, content_of, links_at},
    update_scan::IdRange,
};
use crate::id::{ClientId, ItemId};

/// The most ranges of forked items that are listed for one update.
const MAX_RANGES: usize = 64;

/// The first 16 bytes of a BLAKE3 hash.
type ShortHash = [u8; 16];

/// Items of an update whose ids stand for other items in the document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForkedItems {
    /// The items; the first 64 ranges.
    pub ranges: Vec<IdRange>,
    /// The structs of the update that hold them, as an update.
    pub update: Vec<u8>,
    /// The update without the items whose ids the document has: one update, or several.
    pub rest: Vec<Vec<u8>>,
}

/// The contents of items of a document.
#[derive(Debug, Default)]
pub(super) struct ItemContents(HashMap<ClientId, ClientContents>);

#[derive(Debug, Default)]
struct ClientContents {
    /// In order of their starts, without overlaps.
    texts: Vec<TextRun>,
    /// In order of the clocks.
    values: Vec<(u32, ShortHash)>,
}

/// A run of text that one struct held.
#[derive(Debug)]
struct TextRun {
    start: u32,
    /// Of the place of the first unit.
    links: ShortHash,
    right: Option<ItemId>,
    units: Box<[u16]>,
}

impl GatedDoc {
    /// Prepares the comparison of items that updates have and the document has as well, for
    /// [`find_fork`](Self::find_fork). Expecting none forgets what was prepared.
    pub fn expect_updates(&mut self, updates: &[&[u8]]) {
        self.contents.take();
        let (mut least, mut ends) = (HashMap::new(), HashMap::new());
        let mut is_due = false;
        for update in updates {
            let Ok(parsed) = parse(update, &self.limits, true) else { continue };
            for run in &parsed.runs {
                let known = self.places.end(run.client);
                let structs = &parsed.structs[run.first..run.end];
                for item in structs.iter().filter(|item| is_comparable(item.kind)) {
                    let end = ends.entry(run.client).or_insert(known);
                    is_due |= item.clock < *end;
                    *end = (*end).max(item.clock + item.len);
                    let least = least.entry(run.client).or_insert(known);
                    *least = (*least).min(item.clock);
                }
            }
        }
        if !is_due || self.health().is_err() {
            return;
        }
        let since = self.places.clients.iter().map(|(client, items)| {
            let since = least.get(client).copied().unwrap_or(items.end);
            (ClientID::new(client.get()), since)
        });
        let since: StateVector = since.collect();
        let state = self.doc.get().transact().encode_diff_v1(&since);
        let mut contents = ItemContents::default();
        contents.add_update(&state);
        self.contents = contents.into();
    }

    /// Returns the items of an update that are other items in the document, if there are any.
    ///
    /// Of a content document, the update must be one of those that were
    /// [expected](Self::expect_updates).
    pub fn find_fork(&self, update: &[u8]) -> Option<ForkedItems> {
        let parsed = parse(update, &self.limits, true).ok()?;
        let mut known = self.places.known_structs(&parsed).peekable();
        known.peek()?;
        let contents = match self.role {
            DocRole::Content => self.contents.get()?,
            DocRole::Main => self.contents.get_or_init(|| self.read_contents()),
        };
        let mut ranges: Vec<IdRange> = Vec::new();
        let mut structs: Vec<(usize, usize)> = Vec::new();
        for (run, index) in known {
            let (client, item) = (parsed.runs[run].client, &parsed.structs[index]);
            let n_before = ranges.len();
            for part in self.places.living_parts(&parsed, client, item) {
                contents.compare(parsed.bytes, item, part, &mut ranges);
            }
            let is_forked = ranges.len() > n_before;
            if is_forked {
                structs.push((run, index));
            }
            if ranges.len() >= MAX_RANGES {
                break;
            }
        }
        if ranges.is_empty() {
            return None;
        }
        ranges.truncate(MAX_RANGES);
        let mut joined = Vec::new();
        ranges.into_iter().for_each(|range| push_range(&mut joined, range));
        let rest = self.places.without_known(&parsed)?;
        Some(ForkedItems { ranges: joined, update: raw_structs(&parsed, &structs), rest })
    }

    /// Reports whether any item of ranges is part of the content, or of the rows: not deleted, and
    /// not in one of the arrays with the history of a content.
    pub fn has_living(&self, ranges: &[IdRange]) -> bool {
        let is_content = |id: ItemId| {
            let place = self.places.tag(id).map(|tag| tag.place() as usize);
            let read = place.and_then(|place| self.places.table[place].read);
            self.role == DocRole::Main || read.is_none()
        };
        ranges.iter().any(|range| {
            let known = self.places.end(range.client).min(range.end());
            let len = known.saturating_sub(range.start);
            let living = match len {
                0 => Vec::new(),
                _ => self.places.living(IdRange { len, ..*range }),
            };
            let mut ids = living.iter().flat_map(|part| {
                (part.start..part.end()).map(|clock| ItemId::new(part.client, clock))
            });
            ids.any(is_content)
        })
    }

    /// Reads the contents of all items of the document.
    fn read_contents(&self) -> ItemContents {
        let mut contents = ItemContents::default();
        match self.doc.unmade_updates() {
            // What it holds beyond the document is never compared.
            Some(updates) => updates.for_each(|update| contents.add_update(&update)),
            None => contents.add_update(&self.encode_state()),
        }
        contents
    }
}

impl ItemLists {
    /// Returns the structs of an update that have content and begin with an item that the document
    /// has, by their run and index.
    fn known_structs<'p>(
        &self,
        parsed: &'p ParsedUpdate<'_>,
    ) -> impl Iterator<Item = (usize, usize)> + 'p {
        let ends: Vec<u32> = parsed.runs.iter().map(|run| self.end(run.client)).collect();
        parsed.runs.iter().enumerate().flat_map(move |(nth, run)| {
            let end = ends[nth];
            let known = run.first..run.end;
            let known = known.take_while(move |index| parsed.structs[*index].clock < end);
            let known = known.filter(|index| is_comparable(parsed.structs[*index].kind));
            known.map(move |index| (nth, index))
        })
    }

    /// Returns the items of a struct that the document has, and that neither it nor the update
    /// deletes.
    fn living_parts(
        &self,
        parsed: &ParsedUpdate<'_>,
        client: ClientId,
        item: &UpdateStruct<'_>,
    ) -> Vec<IdRange> {
        let end = self.end(client).min(item.clock + item.len);
        let known = IdRange { client, start: item.clock, len: end - item.clock };
        let living = self.living(known).into_iter();
        let parts = living
            .flat_map(|living| not_among(&parsed.deletes, client, living.start..living.end()));
        parts
            .map(|part| IdRange { client, start: part.start, len: part.end - part.start })
            .collect()
    }

    /// Writes an update without the items that the document has.
    fn without_known(&self, parsed: &ParsedUpdate<'_>) -> Option<Vec<Vec<u8>>> {
        let mut segments = Vec::new();
        for (nth, run) in parsed.runs.iter().enumerate() {
            let known = self.end(run.client);
            let structs = &parsed.structs[run.first..run.end];
            let mut first = structs.partition_point(|item| item.clock + item.len <= known);
            // What is left of a gap is one as well.
            first +=
                structs[first..].iter().take_while(|item| item.kind == StructKind::Skip).count();
            if first < structs.len() {
                let (first, end) = (run.first + first, run.end);
                segments.push(RunSegment { run: nth, first, end, known });
            }
        }
        rewrite(parsed, &segments, &parsed.deletes).ok()
    }
}

impl ItemContents {
    /// Adds the items that a resolved update brought.
    pub(super) fn note_update(&mut self, parsed: &ParsedUpdate<'_>, order: &[RunSegment]) {
        for segment in order {
            let client = parsed.runs[segment.run].client;
            let structs = &parsed.structs[segment.first..segment.end];
            self.add(parsed.bytes, client, structs, segment.known);
        }
    }

    fn add_update(&mut self, update: &[u8]) {
        let Ok(parsed) = parse(update, &GateLimits::default(), false) else { return };
        for run in &parsed.runs {
            self.add(parsed.bytes, run.client, &parsed.structs[run.first..run.end], 0);
        }
    }

    /// Adds structs of a client, without the items that are known: those before a clock among them.
    fn add(&mut self, bytes: &[u8], client: ClientId, structs: &[UpdateStruct<'_>], known: u32) {
        let contents = self.0.entry(client).or_default();
        for item in structs {
            let from = item.clock.max(contents.end()).max(known);
            if from >= item.clock + item.len {
                continue;
            }
            let skipped = (from - item.clock) as usize;
            match content_of(bytes, item) {
                Some(UnitContent::Text(text)) => {
                    let links = hash_links(client, item, from);
                    let units = text.encode_utf16().skip(skipped).collect();
                    contents.texts.push(TextRun { start: from, links, right: item.right, units });
                }
                Some(UnitContent::Values(values)) => {
                    for (clock, value) in (item.clock..).zip(&values).skip(skipped) {
                        contents.values.push((clock, hash_value(client, item, clock, value)));
                    }
                }
                None => {}
            }
        }
    }

    /// Compares a part of a struct with the same items of the document, and adds the parts that
    /// differ.
    fn compare(
        &self,
        bytes: &[u8],
        item: &UpdateStruct<'_>,
        part: IdRange,
        differing: &mut Vec<IdRange>,
    ) {
        let Some(known) = self.0.get(&part.client) else { return };
        let Some(content) = content_of(bytes, item) else { return };
        let mut add = |start: u32, end: u32| {
            differing.push(IdRange { client: part.client, start, len: end - start });
        };
        let text = match &content {
            UnitContent::Text(text) => text.encode_utf16().collect(),
            UnitContent::Values(_) => Vec::new(),
        };
        for run in known.texts_in(part) {
            let (start, end) = (run.start.max(part.start), run.end().min(part.end()));
            if !matches!(content, UnitContent::Text(_)) {
                add(start, end);
                continue;
            }
            let here = &run.units[(start - run.start) as usize..(end - run.start) as usize];
            let arrived = text.get((start - item.clock) as usize..(end - item.clock) as usize);
            let is_same = |(one, two): (&u16, &u16)| is_same_unit(*one, *two);
            let is_equal = run.hash_links(part.client, start)
                == hash_links(part.client, item, start)
                && arrived.is_some_and(|arrived| here.iter().zip(arrived).all(is_same));
            if !is_equal {
                add(start, end);
            }
        }
        for (clock, hash) in known.values_in(part) {
            let arrived = match &content {
                UnitContent::Text(_) => None,
                UnitContent::Values(values) => values.get((clock - item.clock) as usize),
            };
            let is_equal =
                arrived.is_some_and(|value| hash_value(part.client, item, *clock, value) == *hash);
            if !is_equal {
                add(*clock, clock + 1);
            }
        }
    }
}

impl ClientContents {
    /// Returns the clock after the last item.
    fn end(&self) -> u32 {
        let text = self.texts.last().map_or(0, TextRun::end);
        text.max(self.values.last().map_or(0, |(clock, _)| clock + 1))
    }

    fn texts_in(&self, part: IdRange) -> impl Iterator<Item = &TextRun> {
        let first = self.texts.partition_point(|run| run.end() <= part.start);
        self.texts[first..].iter().take_while(move |run| run.start < part.end())
    }

    fn values_in(&self, part: IdRange) -> impl Iterator<Item = &(u32, ShortHash)> {
        let first = self.values.partition_point(|(clock, _)| *clock < part.start);
        self.values[first..].iter().take_while(move |(clock, _)| *clock < part.end())
    }
}

impl TextRun {
    fn end(&self) -> u32 {
        self.start + self.units.len() as u32
    }

    /// Returns the hash of the place of a unit.
    fn hash_links(&self, client: ClientId, clock: u32) -> ShortHash {
        if clock == self.start {
            return self.links;
        }
        let origin = Some(ItemId::new(client, clock - 1));
        let links = UnitLinks { origin, right: self.right, place: None };
        let mut bytes = Vec::new();
        links.write(&mut bytes);
        short_hash(&bytes)
    }
}

/// Reports whether any two of the updates of a document have an item in common.
#[must_use]
pub fn share_items(updates: &[&[u8]]) -> bool {
    let mut items = Vec::new();
    for update in updates {
        let Ok(parsed) = parse(update, &GateLimits::default(), false) else { continue };
        for run in &parsed.runs {
            let (first, last) = (&parsed.structs[run.first], &parsed.structs[run.end - 1]);
            let len = last.clock + last.len - first.clock;
            items.push(IdRange { client: run.client, start: first.clock, len });
        }
    }
    items.sort_unstable();
    items.windows(2).any(|pair| pair[0].client == pair[1].client && pair[0].end() > pair[1].start)
}

fn is_comparable(kind: StructKind) -> bool {
    !matches!(kind, StructKind::Gc | StructKind::Deleted | StructKind::Skip)
}

/// Reports whether two UTF-16 code units may be of the same text: where Yjs cuts a character in
/// half, it puts U+FFFD in the place of the halves.
fn is_same_unit(one: u16, two: u16) -> bool {
    let may_be_half = |unit: u16| unit == 0xfffd || (0xd800..0xe000).contains(&unit);
    one == two || (one.max(two) == 0xfffd && may_be_half(one) && may_be_half(two))
}

fn hash_links(client: ClientId, item: &UpdateStruct<'_>, clock: u32) -> ShortHash {
    let mut bytes = Vec::new();
    links_at(client, item, clock).write(&mut bytes);
    short_hash(&bytes)
}

fn hash_value(client: ClientId, item: &UpdateStruct<'_>, clock: u32, value: &[u8]) -> ShortHash {
    let mut bytes = Vec::with_capacity(32 + value.len());
    links_at(client, item, clock).write(&mut bytes);
    bytes.extend_from_slice(value);
    short_hash(&bytes)
}

fn short_hash(bytes: &[u8]) -> ShortHash {
    *blake3::hash(bytes).as_bytes().first_chunk().expect("32 bytes")
}

/// Writes structs, given by their run and index in order, as an update; those between the first and
/// the last of a run are part of it.
fn raw_structs(parsed: &ParsedUpdate<'_>, structs: &[(usize, usize)]) -> Vec<u8> {
    let of_runs = structs.chunk_by(|(one, _), (other, _)| one == other);
    let chunks = of_runs.filter_map(|indices| {
        let ((run, first), (_, last)) = (*indices.first()?, *indices.last()?);
        let (client, items) = (parsed.runs[run].client, &parsed.structs[first..=last]);
        let (start, n_structs) = (items[0].clock, items.len());
        let structs = items.iter().flat_map(|item| &parsed.bytes[item.at..item.end]);
        let structs = structs.copied().collect();
        Some(ParkedChunk { client, start, end: start, n_structs, structs })
    });
    encode(&chunks.collect::<Vec<_>>(), &[])
}

#[cfg(test)]
mod tests;
