//! What an update says of itself: who wrote its items, and which roots they name.

use super::{
    limits::Limits,
    parse::{Parent, parse},
};
use crate::id::ClientId;

/// Who wrote items of an update, and which roots some of them name.
#[derive(Debug)]
pub(crate) struct Origins<'a> {
    pub(crate) clients: Vec<ClientId>,
    /// Neighbouring items often name the same root; it is there once then, and else as often as it is named.
    pub(crate) roots: Vec<&'a str>,
}

/// Reads off an update who wrote it and where; nothing if it is malformed.
pub(crate) fn origins<'a>(update: &'a [u8], limits: &Limits) -> Option<Origins<'a>> {
    let parsed = parse(update, limits, false).ok()?;
    let clients = parsed.runs.iter().map(|run| run.client).collect();
    let named = parsed.structs.iter().filter_map(|item| match item.parent {
        Parent::Root(name) => Some(name),
        _ => None,
    });
    let mut roots: Vec<&str> = named.collect();
    roots.dedup();
    Some(Origins { clients, roots })
}
