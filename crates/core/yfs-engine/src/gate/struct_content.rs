//! The content of a struct, and parts of it.

use std::ops::Range;

use yrs::Any;

use super::{
    GateRejection,
    parse::{ParsedUpdate, StructKind, UpdateStruct},
    rewrite::{json_values, write_id},
};
use crate::{
    id::{ClientId, ItemId},
    lib0::{AnyLimits, Lib0Reader, read_any, skip_any, write_string, write_var_uint},
};

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
