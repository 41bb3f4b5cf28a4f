//! The content and the place of single items, in a form that does not depend on how they are
//! written: a run of items is one struct or several, a value has its keys in any order, and an old
//! array of JSON texts is one of values.

use std::ops::Range;

use yrs::Any;

use super::{
    json,
    parse::{ItemParent, StructKind, UpdateStruct},
    rewrite::{json_values, write_id},
};
use crate::{
    id::{ClientId, ItemId},
    lib0::{AnyLimits, Lib0Reader, read_any, write_any, write_string},
};

/// The content of a struct.
#[derive(Debug)]
pub(super) enum UnitContent<'a> {
    /// Text; each UTF-16 code unit is an item.
    Text(&'a str),
    /// The encoding of each item.
    Values(Vec<Vec<u8>>),
}

/// The neighbors of an item, or its list if it has none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct UnitLinks<'a> {
    pub(super) origin: Option<ItemId>,
    pub(super) right: Option<ItemId>,
    /// The list and the key, if the item has no neighbors.
    pub(super) place: Option<(ItemParent<'a>, Option<&'a str>)>,
}

/// Values were checked when they were parsed.
const ANY: AnyLimits = AnyLimits { depth: usize::MAX, parts: usize::MAX };

/// Returns the content of a struct of an update; `None` if it was collected, or cannot be read.
pub(super) fn content_of<'a>(bytes: &'a [u8], item: &UpdateStruct<'_>) -> Option<UnitContent<'a>> {
    let mut reader = Lib0Reader::at(bytes, item.content_at);
    let single = |value| Some(UnitContent::Values(vec![value]));
    let mut tagged = vec![item.kind as u8];
    match item.kind {
        StructKind::Gc | StructKind::Deleted | StructKind::Skip => None,
        StructKind::String => Some(UnitContent::Text(reader.string().ok()?)),
        StructKind::Any => {
            reader.var_uint().ok()?;
            let values = (0..item.len).map(|_| read_any(&mut reader, ANY).map(|any| encode(&any)));
            values.collect::<Result<_, _>>().ok().map(UnitContent::Values)
        }
        StructKind::Json => {
            let values = json_values(bytes, item).ok()?;
            Some(UnitContent::Values(values.iter().map(encode).collect()))
        }
        StructKind::Embed | StructKind::Format => {
            if item.kind == StructKind::Format {
                write_string(&mut tagged, reader.string().ok()?);
            }
            write_json(&mut tagged, reader.string().ok()?);
            single(tagged)
        }
        StructKind::Binary => {
            tagged.extend_from_slice(reader.buffer().ok()?);
            single(tagged)
        }
        StructKind::Type => {
            tagged.extend_from_slice(&bytes[item.content_at..item.end]);
            single(tagged)
        }
        // Its options are not content.
        StructKind::Doc => {
            tagged.extend_from_slice(reader.string().ok()?.as_bytes());
            single(tagged)
        }
    }
}

/// Returns the neighbors of the item of a struct that has a clock.
pub(super) fn links_at<'a>(client: ClientId, item: &UpdateStruct<'a>, clock: u32) -> UnitLinks<'a> {
    let origin = if clock == item.clock {
        item.origin
    } else {
        // Within a struct, each item was inserted behind the one before.
        clock.checked_sub(1).map(|before| ItemId::new(client, before))
    };
    let has_neighbor = origin.is_some() || item.right.is_some();
    let place = (!has_neighbor).then_some((item.parent, item.key));
    UnitLinks { origin, right: item.right, place }
}

impl UnitLinks<'_> {
    /// Appends an encoding that differs for different links.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        let Self { origin, right, place } = self;
        let flags = u8::from(origin.is_some()) | u8::from(right.is_some()) << 1;
        out.push(flags | u8::from(place.is_some()) << 2);
        origin.iter().chain(right).for_each(|id| write_id(out, *id));
        let Some((parent, key)) = place else { return };
        match parent {
            ItemParent::Inherited => out.push(0),
            ItemParent::Root(name) => {
                out.push(1);
                write_string(out, name);
            }
            ItemParent::Item(id) => {
                out.push(2);
                write_id(out, *id);
            }
        }
        if let Some(key) = key {
            out.push(1);
            write_string(out, key);
        } else {
            out.push(0);
        }
    }
}

/// Returns the part of a text between two UTF-16 code units. Half of a character becomes U+FFFD, as
/// in Yjs.
pub(super) fn units_of(text: &str, part: Range<usize>, out: &mut Vec<u8>) {
    if text.is_ascii() {
        out.extend_from_slice(text.as_bytes().get(part).unwrap_or_default());
        return;
    }
    let units: Vec<u16> = text.encode_utf16().skip(part.start).take(part.len()).collect();
    out.extend_from_slice(String::from_utf16_lossy(&units).as_bytes());
}

fn encode(value: &Any) -> Vec<u8> {
    let mut out = vec![StructKind::Any as u8];
    write_any(&mut out, value);
    out
}

/// Appends a value that is given as JSON. yrs writes such a value anew, with its keys in any order.
fn write_json(out: &mut Vec<u8>, text: &str) {
    match Any::from_json(&json::without_halves(text)) {
        Ok(value) => {
            let mut again = String::new();
            value.to_json(&mut again);
            write_any(out, &Any::from_json(&again).unwrap_or(value));
        }
        Err(_) => out.extend_from_slice(text.as_bytes()),
    }
}
