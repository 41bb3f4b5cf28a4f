//! Erases the content of deleted items for good.
//!
//! The content of an item is replaced by content of kind *deleted* and of the same length, as Yjs
//! itself does when it collects garbage. Ids, neighbors and clocks stay, so that syncing goes on
//! with peers that still have the content and with those that do not.
//!
//! Live content is never changed: the caller names deleted ranges, and the document checks them.

use std::ops::Range;

use super::{
    GateRejection, GatedDoc,
    canonical::canonical,
    item_lists::ItemLists,
    limits::GateLimits,
    parse::{ParsedUpdate, StructKind, UpdateStruct, normalise, parse},
    rewrite::write_deletes,
    role::{DocRole, UpdateSource},
    struct_content::{has_content, shown, write_content, write_links},
    update_scan::IdRange,
};
use crate::{
    id::{ClientId, ItemId},
    lib0::write_var_uint,
};

/// Content of deleted items that is still there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ErasableItems {
    /// The items.
    pub range: IdRange,
    /// Their content, if it is text or can be shown as text.
    pub text: String,
}

impl ErasableItems {
    /// Returns the parts of it that are in ranges, which are sorted and disjoint.
    pub fn parts(&self, ranges: &[IdRange]) -> Vec<Self> {
        let whole = self.range.start..self.range.end();
        let parts = overlaps(ranges, self.range.client, whole.clone());
        let is_text = self.text.encode_utf16().count() == self.range.len as usize;
        let part = |part: Range<u32>| {
            let units = self.text.encode_utf16().skip((part.start - whole.start) as usize);
            let units: Vec<u16> = units.take((part.end - part.start) as usize).collect();
            let text = if is_text { String::from_utf16_lossy(&units) } else { self.text.clone() };
            let range = IdRange { start: part.start, len: part.end - part.start, ..self.range };
            Self { range, text }
        };
        parts.into_iter().map(part).collect()
    }
}

impl GatedDoc {
    /// Returns the content of items that are among `ranges` and deleted, in order of their ids. The
    /// arrays that the engine reads are left out.
    ///
    /// # Errors
    ///
    /// If the document is poisoned.
    pub fn remains(&self, ranges: &[IdRange]) -> Result<Vec<ErasableItems>, GateRejection> {
        self.health()?;
        let ranges = self.places.deleted_among(ranges);
        let state = self.encode_state();
        let parsed = parse(&state, &GateLimits::default(), false)?;
        let mut remains = Vec::new();
        for run in &parsed.runs {
            for item in &parsed.structs[run.first..run.end] {
                if !has_content(item.kind)
                    || self.places.is_read(ItemId::new(run.client, item.clock))
                {
                    continue;
                }
                for part in overlaps(&ranges, run.client, item.clock..item.clock + item.len) {
                    let text = shown(&parsed, item, &part)?;
                    let len = part.end - part.start;
                    let range = IdRange { client: run.client, start: part.start, len };
                    remains.push(ErasableItems { range, text });
                }
            }
        }
        remains.sort_by_key(|remains| remains.range);
        Ok(remains)
    }

    /// Erases the content of deleted items among `ranges`; reports whether there was any.
    ///
    /// # Errors
    ///
    /// If the result would not be the same document without that content. Then nothing changed.
    pub fn erase(&mut self, ranges: &[IdRange]) -> Result<bool, GateRejection> {
        self.health()?;
        let ranges = self.places.deleted_among(ranges);
        let state = self.encode_state();
        let Some(erased) = erase(&state, &ranges)? else { return Ok(false) };
        let mut copy = self.emptied();
        copy.receive(&erased, UpdateSource::Store)?;
        for parked in self.parked.list() {
            let update = erase(&parked.update, &ranges)?;
            copy.receive(update.as_deref().unwrap_or(&parked.update), UpdateSource::Store)?;
        }
        // For a document that collects garbage only live content is compared.
        let alive = |state: &[u8]| canonical(DocRole::Main, state);
        let is_same = copy.state_vector() == self.state_vector()
            && alive(&state)? == alive(&copy.encode_state())?;
        if !is_same {
            let reason = "the document without what was erased differs".to_owned();
            return Err(GateRejection::Poisoned { reason });
        }
        *self = copy;
        Ok(true)
    }
}

impl ItemLists {
    /// Returns the parts of ranges that are known to be deleted.
    pub(crate) fn deleted_among(&self, ranges: &[IdRange]) -> Vec<IdRange> {
        let mut deleted = Vec::new();
        for range in ranges {
            let Some(client) = self.clients.get(&range.client) else { continue };
            let before = client.deleted.range(..=range.start).next_back();
            let inside = client.deleted.range(range.start + 1..range.end());
            for (start, end) in before.into_iter().chain(inside) {
                let (start, end) = ((*start).max(range.start), (*end).min(range.end()));
                if start < end {
                    deleted.push(IdRange { client: range.client, start, len: end - start });
                }
            }
        }
        normalise(&mut deleted);
        deleted
    }

    fn is_read(&self, id: ItemId) -> bool {
        let place = self.tag(id).map(|tag| tag.place() as usize);
        place.is_some_and(|place| self.table[place].read.is_some())
    }
}

/// Rewrites an update without the content of the items in `ranges`; returns `None` if it has none.
///
/// # Errors
///
/// If it cannot be read.
pub fn erase(update: &[u8], ranges: &[IdRange]) -> Result<Option<Vec<u8>>, GateRejection> {
    rewrite_as_deleted(update, ranges, has_content)
}

/// Rewrites an update with the items in `ranges` as deleted ones, if their kind is among those;
/// returns `None` if there are none.
pub(super) fn rewrite_as_deleted(
    update: &[u8],
    ranges: &[IdRange],
    is_erased: impl Fn(StructKind) -> bool,
) -> Result<Option<Vec<u8>>, GateRejection> {
    if ranges.is_empty() {
        return Ok(None);
    }
    let parsed = parse(update, &GateLimits::default(), false)?;
    let mut out = Vec::with_capacity(update.len());
    let mut any = false;
    write_var_uint(&mut out, parsed.runs.len() as u64);
    for run in &parsed.runs {
        let structs = &parsed.structs[run.first..run.end];
        let (mut written, mut n_written) = (Vec::new(), 0);
        for item in structs {
            let whole = item.clock..item.clock + item.len;
            let parts = if is_erased(item.kind) {
                overlaps(ranges, run.client, whole.clone())
            } else {
                Vec::new()
            };
            any |= !parts.is_empty();
            n_written += write_parts(&mut written, &parsed, run.client, item, &parts)?;
        }
        write_var_uint(&mut out, n_written);
        write_var_uint(&mut out, run.client.get());
        write_var_uint(&mut out, structs.first().map_or(0, |item| u64::from(item.clock)));
        out.extend(written);
    }
    write_deletes(&mut out, &parsed.deletes);
    Ok(any.then_some(out))
}

/// Returns the content of an update as text, to show it to a person: that of its structs, in order,
/// cut at a number of bytes.
///
/// # Errors
///
/// If it cannot be read.
pub fn content_of_update(update: &[u8], max_len: usize) -> Result<String, GateRejection> {
    let parsed = parse(update, &GateLimits::default(), false)?;
    let mut text = String::new();
    for item in parsed.structs.iter().filter(|item| has_content(item.kind)) {
        text += &shown(&parsed, item, &(item.clock..item.clock + item.len))?;
        if text.len() > max_len {
            text.truncate(text.floor_char_boundary(max_len));
            break;
        }
    }
    Ok(text)
}

/// Returns the ranges that an update deletes.
///
/// # Errors
///
/// If it cannot be read.
pub(crate) fn deleted_by(update: &[u8]) -> Result<Vec<IdRange>, GateRejection> {
    Ok(parse(update, &GateLimits::default(), false)?.deletes)
}

/// Returns the parts of `of` that are in the ranges, which are sorted and disjoint.
fn overlaps(ranges: &[IdRange], client: ClientId, of: Range<u32>) -> Vec<Range<u32>> {
    let first = ranges.partition_point(|range| (range.client, range.end()) <= (client, of.start));
    let here =
        ranges[first..].iter().take_while(|range| range.client == client && range.start < of.end);
    here.map(|range| range.start.max(of.start)..range.end().min(of.end)).collect()
}

/// Writes a struct with parts of it erased, and returns the number of structs written.
fn write_parts(
    out: &mut Vec<u8>,
    parsed: &ParsedUpdate<'_>,
    client: ClientId,
    item: &UpdateStruct<'_>,
    erased: &[Range<u32>],
) -> Result<u64, GateRejection> {
    if erased.is_empty() {
        out.extend_from_slice(&parsed.bytes[item.at..item.end]);
        return Ok(1);
    }
    let mut n_written = 0;
    let mut at = item.clock;
    for part in erased {
        if at < part.start {
            write_links(out, parsed, client, item, at, item.kind);
            write_content(out, parsed, item, &(at..part.start))?;
            n_written += 1;
        }
        write_links(out, parsed, client, item, part.start, StructKind::Deleted);
        write_var_uint(out, u64::from(part.end - part.start));
        n_written += 1;
        at = part.end;
    }
    let end = item.clock + item.len;
    if at < end {
        write_links(out, parsed, client, item, at, item.kind);
        write_content(out, parsed, item, &(at..end))?;
        n_written += 1;
    }
    Ok(n_written)
}
