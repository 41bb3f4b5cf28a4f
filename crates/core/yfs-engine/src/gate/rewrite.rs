//! Rewrites an update that yrs would misread.
//!
//! yrs reads one text too many from content of the old kind JSON, fails on empty runs and empty
//! items, and takes the deleted ranges of an update as sorted. The meaning does not change: values
//! that were kept as JSON texts are kept as values, with the same ids.

use std::collections::BTreeMap;

use yrs::Any;

use super::{
    GateRejection, json,
    parse::{ParsedUpdate, StructKind, UpdateStruct},
    run_segment::RunSegment,
    struct_content::{write_content, write_links},
    update_scan::IdRange,
};
use crate::{
    id::{ClientId, ItemId},
    lib0::{Lib0Reader, write_any, write_string, write_var_uint},
};

/// The number of clients that yrs gets at once.
///
/// It puts structs in order with a function that calls itself once for each client that others
/// depended on, and searches all of those at every step: a document that twenty thousand clients
/// wrote one after another overflows the stack of a thread.
const CLIENTS_AT_ONCE: usize = 128;

/// Reports whether the update must be rewritten for yrs.
pub(crate) fn must_rewrite(parsed: &ParsedUpdate<'_>) -> bool {
    parsed.rewrite || parsed.runs.len() > CLIENTS_AT_ONCE
}

/// Writes a parsed update so that yrs reads the parsed content: as several updates, to be applied
/// one after another, if there are many clients. Structs that the document already holds may be
/// left out.
pub(crate) fn rewrite(
    parsed: &ParsedUpdate<'_>,
    order: &[RunSegment],
    deletes: &[IdRange],
) -> Result<Vec<Vec<u8>>, GateRejection> {
    let mut updates = Vec::new();
    // The segments of an update, by run; those of one run follow each other without a gap.
    let mut pieces: BTreeMap<usize, RunSegment> = BTreeMap::new();
    for segment in order {
        if pieces.len() == CLIENTS_AT_ONCE && !pieces.contains_key(&segment.run) {
            updates.push(write(parsed, &pieces, &[])?);
            pieces.clear();
        }
        pieces.entry(segment.run).or_insert(*segment).end = segment.end;
    }
    updates.push(write(parsed, &pieces, deletes)?);
    Ok(updates)
}

fn write(
    parsed: &ParsedUpdate<'_>,
    pieces: &BTreeMap<usize, RunSegment>,
    deletes: &[IdRange],
) -> Result<Vec<u8>, GateRejection> {
    let mut out = Vec::new();
    write_var_uint(&mut out, pieces.len() as u64);
    for segment in pieces.values() {
        let structs = &parsed.structs[segment.first..segment.end];
        write_var_uint(&mut out, structs.len() as u64);
        write_var_uint(&mut out, parsed.runs[segment.run].client.get());
        let client = parsed.runs[segment.run].client;
        let first = structs.first().map_or(0, |item| item.clock.max(segment.known));
        write_var_uint(&mut out, u64::from(first));
        for item in structs {
            match item.clock < segment.known {
                true => write_rest(&mut out, parsed, client, item, segment.known)?,
                false => write_struct(&mut out, parsed, item)?,
            }
        }
    }
    write_deletes(&mut out, deletes);
    Ok(out)
}

pub(crate) fn write_struct(
    out: &mut Vec<u8>,
    parsed: &ParsedUpdate<'_>,
    item: &UpdateStruct<'_>,
) -> Result<(), GateRejection> {
    match item.kind {
        StructKind::Json => {}
        StructKind::Embed | StructKind::Format => return write_json(out, parsed, item),
        _ => {
            out.extend_from_slice(&parsed.bytes[item.at..item.end]);
            return Ok(());
        }
    }
    let values = json_values(parsed.bytes, item)?;
    out.push(parsed.bytes[item.at] & 0xf0 | StructKind::Any as u8);
    out.extend_from_slice(&parsed.bytes[item.at + 1..item.content_at]);
    write_var_uint(out, values.len() as u64);
    for value in &values {
        write_any(out, value);
    }
    Ok(())
}

/// Writes the rest of a struct from a clock on. Its origin is the item before, and it does not
/// state its parent.
fn write_rest(
    out: &mut Vec<u8>,
    parsed: &ParsedUpdate<'_>,
    client: ClientId,
    item: &UpdateStruct<'_>,
    from: u32,
) -> Result<(), GateRejection> {
    let part = from..item.clock + item.len;
    let kind = if item.kind == StructKind::Json { StructKind::Any } else { item.kind };
    if kind == StructKind::Gc {
        out.push(kind as u8);
        write_var_uint(out, u64::from(part.end - part.start));
        return Ok(());
    }
    write_links(out, parsed, client, item, from, kind);
    match item.kind {
        StructKind::Deleted => write_var_uint(out, u64::from(part.end - part.start)),
        StructKind::Json => {
            let values = json_values(parsed.bytes, item)?;
            let skipped = (from - item.clock) as usize;
            write_var_uint(out, values.len().saturating_sub(skipped) as u64);
            values.iter().skip(skipped).for_each(|value| write_any(out, value));
        }
        _ => write_content(out, parsed, item, &part)?,
    }
    Ok(())
}

/// Writes a struct that ends with a JSON text.
fn write_json(
    out: &mut Vec<u8>,
    parsed: &ParsedUpdate<'_>,
    item: &UpdateStruct<'_>,
) -> Result<(), GateRejection> {
    let mut reader = Lib0Reader::at(parsed.bytes, item.content_at);
    let malformed = |source| GateRejection::Malformed { at: item.content_at, source };
    if item.kind == StructKind::Format {
        reader.string().map_err(malformed)?;
    }
    out.extend_from_slice(&parsed.bytes[item.at..reader.position()]);
    write_string(out, &json::without_halves(reader.string().map_err(malformed)?));
    Ok(())
}

/// Reads the values of a struct that keeps them as JSON texts.
pub(crate) fn json_values(
    bytes: &[u8],
    item: &UpdateStruct<'_>,
) -> Result<Vec<Any>, GateRejection> {
    let mut reader = Lib0Reader::at(bytes, item.content_at);
    let malformed = |source| GateRejection::Malformed { at: item.content_at, source };
    let n_texts = reader.var_uint().map_err(malformed)?;
    let mut values = Vec::with_capacity(item.len as usize);
    for _ in 0..n_texts {
        let text = reader.string().map_err(malformed)?;
        values.push(match text {
            "undefined" => Any::Undefined,
            text => Any::from_json(text)
                .map_err(|error| GateRejection::Undecodable { reason: error.to_string() })?,
        });
    }
    Ok(values)
}

/// Writes a delete set; the ranges are sorted, without overlaps.
pub(crate) fn write_deletes(out: &mut Vec<u8>, ranges: &[IdRange]) {
    let by_client = |a: &IdRange, b: &IdRange| a.client == b.client;
    write_var_uint(out, ranges.chunk_by(by_client).count() as u64);
    for group in ranges.chunk_by(by_client) {
        write_var_uint(out, group[0].client.get());
        write_var_uint(out, group.len() as u64);
        for range in group {
            write_var_uint(out, u64::from(range.start));
            write_var_uint(out, u64::from(range.len));
        }
    }
}

/// Writes the id of an item.
pub(crate) fn write_id(out: &mut Vec<u8>, id: ItemId) {
    write_var_uint(out, id.client.get());
    write_var_uint(out, u64::from(id.clock));
}
