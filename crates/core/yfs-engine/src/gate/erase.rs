//! Erases the content of deleted items for good.
//!
//! The content of an item is replaced by content of kind *deleted* and of the same length, as Yjs
//! itself does when it collects garbage. Ids, neighbors and clocks stay, so that syncing goes on
//! with peers that still have the content and with those that do not.
//!
//! Live content is never changed: the caller names deleted ranges, and the document checks them.

use std::ops::Range;

use yrs::Any;

use super::{
    GateRejection, GatedDoc,
    canonical::canonical,
    limits::GateLimits,
    parse::{ParsedUpdate, StructKind, UpdateStruct, normalise, parse},
    rewrite::{json_values, write_deletes, write_id},
    role::{DocRole, UpdateSource},
    update_scan::IdRange,
};
use crate::{
    id::{ClientId, ItemId},
    lib0::{AnyLimits, Lib0Reader, read_any, skip_any, write_string, write_var_uint},
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
        let ranges = self.deleted_among(ranges);
        let state = self.encode_state();
        let parsed = parse(&state, &GateLimits::default(), false)?;
        let mut remains = Vec::new();
        for run in &parsed.runs {
            for item in &parsed.structs[run.first..run.end] {
                if !has_content(item.kind) || self.is_read(ItemId::new(run.client, item.clock)) {
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

    /// Returns the parts of ranges that are known to be deleted.
    pub fn deleted_among(&self, ranges: &[IdRange]) -> Vec<IdRange> {
        let mut deleted = Vec::new();
        for range in ranges {
            let Some(client) = self.places.clients.get(&range.client) else { continue };
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

    /// Erases the content of deleted items among `ranges`; reports whether there was any.
    ///
    /// # Errors
    ///
    /// If the result would not be the same document without that content. Then nothing changed.
    pub fn erase(&mut self, ranges: &[IdRange]) -> Result<bool, GateRejection> {
        self.health()?;
        let ranges = self.deleted_among(ranges);
        let state = self.encode_state();
        let Some(erased) = erase(&state, &ranges)? else { return Ok(false) };
        let mut copy = self.emptied();
        copy.receive(&erased, UpdateSource::Store)?;
        for parked in self.parked() {
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

    fn is_read(&self, id: ItemId) -> bool {
        let place = self.places.tag(id).map(|tag| tag.place() as usize);
        place.is_some_and(|place| self.places.table[place].read.is_some())
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
pub fn deleted_by(update: &[u8]) -> Result<Vec<IdRange>, GateRejection> {
    Ok(parse(update, &GateLimits::default(), false)?.deletes)
}

/// Reports whether items of this kind hold content that a user wrote. A type holds only its name;
/// its children are items of their own.
pub(super) fn has_content(kind: StructKind) -> bool {
    matches!(
        kind,
        StructKind::Json
            | StructKind::Binary
            | StructKind::String
            | StructKind::Embed
            | StructKind::Format
            | StructKind::Any
    )
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

/// Writes the head of the part of a struct that begins at a clock.
pub(super) fn write_links(
    out: &mut Vec<u8>,
    parsed: &ParsedUpdate<'_>,
    client: ClientId,
    item: &UpdateStruct<'_>,
    at: u32,
    kind: StructKind,
) {
    let info = parsed.bytes[item.at] & 0xf0;
    if at == item.clock {
        out.push(info | kind as u8);
        out.extend_from_slice(&parsed.bytes[item.at + 1..item.content_at]);
        return;
    }
    out.push((info & 0x40) | 0x80 | kind as u8);
    write_id(out, ItemId::new(client, at - 1));
    if let Some(right) = item.right {
        write_id(out, right);
    }
}

/// Writes a part of the content of a struct. Only text and values have parts.
pub(super) fn write_content(
    out: &mut Vec<u8>,
    parsed: &ParsedUpdate<'_>,
    item: &UpdateStruct<'_>,
    part: &Range<u32>,
) -> Result<(), GateRejection> {
    let malformed = |source| GateRejection::Malformed { at: item.content_at, source };
    let (skip, len) = ((part.start - item.clock) as usize, (part.end - part.start) as usize);
    match item.kind {
        StructKind::String => write_string(out, &text_part(parsed, item, part)?),
        StructKind::Any => {
            let mut reader = Lib0Reader::at(parsed.bytes, item.content_at);
            reader.var_uint().map_err(malformed)?;
            let mut pass = |n: usize| {
                (0..n).try_for_each(|_| skip_any(&mut reader, ANY).map(drop))?;
                Ok::<_, crate::lib0::Lib0Error>(reader.position())
            };
            let start = pass(skip).map_err(malformed)?;
            let end = pass(len).map_err(malformed)?;
            write_var_uint(out, len as u64);
            out.extend_from_slice(&parsed.bytes[start..end]);
        }
        StructKind::Json => {
            write_var_uint(out, len as u64);
            let mut reader = Lib0Reader::at(parsed.bytes, item.content_at);
            reader.var_uint().map_err(malformed)?;
            for nth in 0..skip + len {
                let text = reader.string().map_err(malformed)?;
                if nth >= skip {
                    write_string(out, text);
                }
            }
        }
        _ => out.extend_from_slice(&parsed.bytes[item.content_at..item.end]),
    }
    Ok(())
}

const ANY: AnyLimits = AnyLimits { depth: usize::MAX, parts: usize::MAX };

/// Returns a part of a text. Half of a character becomes U+FFFD, as in Yjs.
fn text_part(
    parsed: &ParsedUpdate<'_>,
    item: &UpdateStruct<'_>,
    part: &Range<u32>,
) -> Result<String, GateRejection> {
    let malformed = |source| GateRejection::Malformed { at: item.content_at, source };
    let text = Lib0Reader::at(parsed.bytes, item.content_at).string().map_err(malformed)?;
    let mut units = text.encode_utf16().skip((part.start - item.clock) as usize);
    let units: Vec<u16> = units.by_ref().take((part.end - part.start) as usize).collect();
    Ok(String::from_utf16_lossy(&units))
}

/// Returns a part of the content of a struct as text, to show it to a person.
pub(super) fn shown(
    parsed: &ParsedUpdate<'_>,
    item: &UpdateStruct<'_>,
    part: &Range<u32>,
) -> Result<String, GateRejection> {
    Ok(match item.kind {
        StructKind::String => text_part(parsed, item, part)?,
        StructKind::Any | StructKind::Json => {
            let mut text = String::new();
            values(parsed, item, part)?.iter().for_each(|value| value.to_json(&mut text));
            text
        }
        StructKind::Embed | StructKind::Format => json_of(parsed, item)?.to_owned(),
        _ => String::new(),
    })
}

/// Returns the values in a part of the content of a struct; for marks and embedded objects, the
/// values in their JSON.
pub(super) fn values(
    parsed: &ParsedUpdate<'_>,
    item: &UpdateStruct<'_>,
    part: &Range<u32>,
) -> Result<Vec<Any>, GateRejection> {
    let malformed = |source| GateRejection::Malformed { at: item.content_at, source };
    let (skip, len) = ((part.start - item.clock) as usize, (part.end - part.start) as usize);
    let all = match item.kind {
        StructKind::String => vec![Any::from(text_part(parsed, item, part)?)],
        StructKind::Json => json_values(parsed.bytes, item)?,
        StructKind::Any => {
            let mut reader = Lib0Reader::at(parsed.bytes, item.content_at);
            reader.var_uint().map_err(malformed)?;
            let read = (0..item.len).map(|_| read_any(&mut reader, ANY));
            read.collect::<Result<Vec<_>, _>>().map_err(malformed)?
        }
        StructKind::Embed | StructKind::Format => {
            let json = json_of(parsed, item)?;
            // Text that is not JSON is a plain string.
            vec![Any::from_json(json).unwrap_or_else(|_| Any::from(json))]
        }
        StructKind::Binary => vec![Any::Buffer(Vec::new().into())],
        _ => Vec::new(),
    };
    let is_divided = matches!(item.kind, StructKind::Json | StructKind::Any);
    Ok(if is_divided { all.into_iter().skip(skip).take(len).collect() } else { all })
}

fn json_of<'a>(
    parsed: &ParsedUpdate<'a>,
    item: &UpdateStruct<'_>,
) -> Result<&'a str, GateRejection> {
    let malformed = |source| GateRejection::Malformed { at: item.content_at, source };
    let mut reader = Lib0Reader::at(parsed.bytes, item.content_at);
    if item.kind == StructKind::Format {
        reader.string().map_err(malformed)?;
    }
    reader.string().map_err(malformed)
}
