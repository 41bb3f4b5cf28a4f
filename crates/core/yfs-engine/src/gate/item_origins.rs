//! The neighbors that items name: where their writers inserted them.

use hashbrown::HashMap;

use super::{
    limits::GateLimits,
    parse::{ParsedUpdate, StructKind, UpdateStruct, parse},
    refusal::GateRejection,
};
use crate::{id::ItemId, lib0::Lib0Reader};

/// The neighbors of an item when it was inserted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ItemOrigins {
    pub(crate) left: Option<ItemId>,
    pub(crate) right: Option<ItemId>,
    /// The first character of the left neighbor, if it is text that was not erased.
    pub(crate) left_char: Option<char>,
    /// The first character of the right neighbor, if it is text that was not erased.
    pub(crate) right_char: Option<char>,
}

/// Returns the neighbors that some items of a state name.
///
/// # Errors
///
/// If the state is malformed.
pub(crate) fn origins_of_items(
    state: &[u8],
    limits: &GateLimits,
    items: impl IntoIterator<Item = ItemId>,
) -> Result<HashMap<ItemId, ItemOrigins>, GateRejection> {
    let parsed = parse(state, limits, false)?;
    let mut found = HashMap::new();
    for item in items {
        let Some(known) = struct_of(&parsed, item) else { continue };
        // Within a struct, each item was inserted behind the one before.
        let left = match item.clock - known.clock {
            0 => known.origin,
            _ => Some(ItemId::new(item.client, item.clock - 1)),
        };
        let char_of = |item: Option<ItemId>| item.and_then(|item| char_at(&parsed, item));
        let (left_char, right_char) = (char_of(left), char_of(known.right));
        found.insert(item, ItemOrigins { left, right: known.right, left_char, right_char });
    }
    Ok(found)
}

/// Returns the struct that holds an item.
fn struct_of<'a>(parsed: &'a ParsedUpdate<'a>, item: ItemId) -> Option<&'a UpdateStruct<'a>> {
    let mut runs = parsed.runs.iter().filter(|run| run.client == item.client);
    runs.find_map(|run| {
        let structs = &parsed.structs[run.first..run.end];
        let at = structs.partition_point(|known| known.clock + known.len <= item.clock);
        structs.get(at).filter(|known| known.clock <= item.clock)
    })
}

/// Returns the character that an item is, or is half of.
fn char_at(parsed: &ParsedUpdate<'_>, item: ItemId) -> Option<char> {
    let known = struct_of(parsed, item).filter(|known| known.kind == StructKind::String)?;
    let text = Lib0Reader::new(&parsed.bytes[known.content_at..known.end]).string().ok()?;
    let mut rest = (item.clock - known.clock) as usize;
    for char in text.chars() {
        if rest < char.len_utf16() {
            return Some(char);
        }
        rest -= char.len_utf16();
    }
    None
}
