//! Edits of the root `text` by position, at a cost that does not grow with earlier edits.
//!
//! The [order](TextOrder) of the items is made once several edits would have walked over the text.
//! From then on it follows every update, and edits are written relative to items.

use super::{
    doc::GatedDoc,
    item_lists::ItemLists,
    limits::GateLimits,
    parse::{ParsedUpdate, StructKind, parse},
    resolve::{ResolveRequest, UpdateOverlay, resolve},
    role::DocRole,
    run_segment::RunSegment,
    text_order::{ArrivingRun, TextOrder},
    update::UpdateBuilder,
    update_scan::{IdRange, UpdateScan},
};
use crate::{id::ItemId, lib0::Lib0Reader};

/// The number of edits that walk before the order is made, which costs as much as about so many.
const N_WALKS: u32 = if cfg!(test) { 1 } else { 16 };

/// The root whose order is kept.
const TEXT: &str = "text";

/// What is known of the order of a text.
#[derive(Debug)]
pub(crate) enum OrderCache {
    /// It is not made yet: so many edits walked over the text.
    Walks(u32),
    Made(TextOrder),
    /// The text holds more than characters.
    Unusable,
}

/// A change of the text, in UTF-16 code units.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TextChange<'a> {
    pub(crate) at: u32,
    pub(crate) delete: u32,
    pub(crate) insert: &'a str,
}

/// A change of the text that arrived, in UTF-16 code units, beside the changes before it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RecordedChange {
    pub(crate) at: u32,
    pub(crate) delete: u32,
    pub(crate) insert: String,
}

/// More changes than this are not recorded: reading the text again is cheaper.
const MAX_RECORDED: usize = 64;

#[cfg(test)]
impl OrderCache {
    /// Returns the ids of the text in its order, one by one, if the order is made.
    pub(crate) fn ordered_units(&self) -> Option<Vec<ItemId>> {
        let Self::Made(order) = self else { return None };
        let ranges = order.units(0, order.n_living())?.into_iter();
        let units = |range: IdRange| {
            (range.start..range.end()).map(move |clock| ItemId::new(range.client, clock))
        };
        Some(ranges.flat_map(units).collect())
    }
}

impl GatedDoc {
    /// Records how the updates that arrive change the text, until they are
    /// [taken](Self::take_text_changes). The text is known: without a record it is read again.
    pub(crate) fn record_text_changes(&mut self) {
        self.prepare_order();
        self.recorded = matches!(self.order, OrderCache::Made(_)).then(Vec::new);
    }

    /// Returns the recorded changes; `None` if the text must be read again.
    pub(crate) fn take_text_changes(&mut self) -> Option<Vec<RecordedChange>> {
        self.recorded.take().filter(|_| matches!(self.order, OrderCache::Made(_)))
    }

    /// Adds changes of the text, which are in order of position, to an update; their first item is
    /// `first`. Returns `None` if yrs has to find the positions.
    ///
    /// The text has `len` units.
    pub(crate) fn write_text_changes(
        &mut self,
        mut update: UpdateBuilder,
        first: ItemId,
        len: u32,
        changes: &[TextChange<'_>],
    ) -> Option<Vec<u8>> {
        self.prepare_order();
        let OrderCache::Made(order) = &self.order else { return None };
        if order.n_living() != len {
            self.order = OrderCache::Unusable;
            return None;
        }
        let mut next = first;
        // In the order in which yrs is asked to make them.
        for change in changes.iter().rev() {
            if !change.insert.is_empty() {
                let (left, right) = order.neighbors(change.at)?;
                next.clock += update.text_run(next, left, right, TEXT, change.insert);
            }
            for range in order.units(change.at, change.delete)? {
                update.delete_range(range);
            }
        }
        Some(update.finish())
    }

    /// Adds the structs and the deletions of an update, which yrs applied, to what the gate knows.
    pub(super) fn commit_parsed(
        &mut self,
        parsed: &ParsedUpdate<'_>,
        overlay: UpdateOverlay<'_>,
        deletes: &[IdRange],
    ) -> UpdateScan {
        if let Some(contents) = self.contents.get_mut() {
            contents.note_update(parsed, &overlay.order);
        }
        if !matches!(self.order, OrderCache::Made(_)) {
            return self.commit(overlay, deletes);
        }
        let segments = overlay.order.clone();
        let scan = self.commit(overlay, deletes);
        if let OrderCache::Made(order) = &mut self.order
            && !follow(order, &self.places, parsed, &segments, deletes, &mut self.recorded)
        {
            self.order = OrderCache::Unusable;
        }
        scan
    }

    /// Notes items that yrs deleted by itself.
    pub(super) fn note_implied(&mut self, implied: &[IdRange]) {
        if let OrderCache::Made(order) = &mut self.order {
            delete(order, implied, &mut self.recorded);
        }
    }

    /// Makes the order if it pays.
    fn prepare_order(&mut self) {
        if let OrderCache::Walks(n_walks) = &mut self.order {
            *n_walks += 1;
            if *n_walks > N_WALKS {
                self.order = self.read_order().map_or(OrderCache::Unusable, OrderCache::Made);
            }
        }
    }

    fn read_order(&self) -> Option<TextOrder> {
        if self.role != DocRole::Content || self.health().is_err() {
            return None;
        }
        let state = self.encode_state();
        let known = parse(&state, &GateLimits::default(), false).ok()?;
        let places = ItemLists::default();
        let (role, limits) = (self.role, &self.limits);
        let question =
            ResolveRequest { places: &places, role, limits, ours: None, is_message: false };
        let segments = resolve(&question, &known).ok()?.overlay.order;
        let mut order = TextOrder::default();
        let is_text =
            follow(&mut order, &self.places, &known, &segments, &known.deletes, &mut None);
        is_text.then_some(order)
    }
}

/// Adds the structs and deletions of an update to the order. Reports whether all of the text are
/// characters beside characters.
fn follow(
    order: &mut TextOrder,
    places: &ItemLists,
    parsed: &ParsedUpdate<'_>,
    segments: &[RunSegment],
    deletes: &[IdRange],
    recorded: &mut Option<Vec<RecordedChange>>,
) -> bool {
    for segment in segments {
        let client = parsed.runs[segment.run].client;
        for item in &parsed.structs[segment.first..segment.end] {
            let end = item.clock + item.len;
            let id = ItemId::new(client, item.clock.max(segment.known));
            let Some(tag) = places.tag(id).filter(|_| item.kind != StructKind::Skip) else {
                continue;
            };
            if id.clock >= end
                || !places.table[tag.place() as usize].is_text_root()
                || tag.is_entry()
            {
                continue;
            }
            let is_deleted = item.kind == StructKind::Deleted;
            // Of a struct that is partly known yrs takes the rest.
            let origin = match id.clock > item.clock {
                true => Some(ItemId::new(client, id.clock - 1)),
                false => item.origin,
            };
            let len = end - id.clock;
            let run = ArrivingRun { id, len, is_deleted, origin, right: item.right };
            if !(is_deleted || item.kind == StructKind::String) || !order.insert(&run) {
                return false;
            }
            if let Some(changes) = recorded.as_mut().filter(|_| !is_deleted) {
                let text = Lib0Reader::new(&parsed.bytes[item.content_at..item.end]).string();
                let text = text.ok().and_then(|text| behind(text, id.clock - item.clock));
                match (order.position(id), text) {
                    (Some(at), Some(text)) if changes.len() < MAX_RECORDED => {
                        changes.push(RecordedChange { at, delete: 0, insert: text.to_owned() });
                    }
                    _ => *recorded = None,
                }
            }
        }
    }
    delete(order, deletes, recorded);
    true
}

/// Deletes ranges, and records what they delete of the text.
fn delete(order: &mut TextOrder, ranges: &[IdRange], recorded: &mut Option<Vec<RecordedChange>>) {
    for range in ranges {
        if recorded.is_none() {
            order.delete(range);
            continue;
        }
        for living in order.living(range) {
            let at = order.position(ItemId::new(living.client, living.start));
            order.delete(&living);
            match (at, recorded.as_mut()) {
                (Some(at), Some(changes)) if changes.len() < MAX_RECORDED => {
                    let insert = String::new();
                    changes.push(RecordedChange { at, delete: living.len, insert });
                }
                _ => *recorded = None,
            }
        }
    }
}

/// Returns the text behind some units; `None` if a character is cut there.
fn behind(text: &str, n_units: u32) -> Option<&str> {
    text.get(byte_offset(text, n_units)?..)
}

/// Returns where a unit of a text begins, in bytes; `None` if it is within a character or behind
/// the end.
pub(crate) fn byte_offset(text: &str, n_units: u32) -> Option<usize> {
    if text.is_ascii() {
        return (n_units as usize <= text.len()).then_some(n_units as usize);
    }
    let mut rest = n_units as usize;
    for (at, char) in text.char_indices() {
        if rest == 0 {
            return Some(at);
        }
        rest = rest.checked_sub(char.len_utf16())?;
    }
    (rest == 0).then_some(text.len())
}
