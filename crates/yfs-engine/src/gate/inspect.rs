//! What an update says by itself, without the document that it is for.

use super::{
    limits::GateLimits,
    parse::{ItemParent, parse},
    refusal::GateRejection,
    update_scan::RootIx,
};
use crate::{
    content::convert::CONVERSIONS,
    id::{ClientId, ItemId},
};

/// Returns the first item of each client of which an update holds items.
///
/// # Errors
///
/// If it cannot be read.
pub fn writers(update: &[u8]) -> Result<Vec<ItemId>, GateRejection> {
    let parsed = parse(update, &GateLimits::default(), false)?;
    let runs = parsed.runs.iter().filter(|run| run.first < run.end);
    Ok(runs.map(|run| ItemId::new(run.client, parsed.structs[run.first].clock)).collect())
}

/// What can be told of an update without its document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct InspectedUpdate {
    /// Whether it begins a list of what was erased for good.
    pub has_redactions: bool,
    /// Whether it lists that the content was moved between roots.
    pub has_conversions: bool,
}

/// Looks at an update from a peer without the document that it is for.
///
/// # Errors
///
/// If every document would refuse it.
pub fn inspect(update: &[u8], limits: &GateLimits) -> Result<InspectedUpdate, GateRejection> {
    let parsed = parse(update, limits, true)?;
    let begins = |root| parsed.structs.iter().any(|it| it.parent == ItemParent::Root(root));
    Ok(InspectedUpdate {
        has_redactions: begins(RootIx::Redactions.name()),
        has_conversions: begins(CONVERSIONS),
    })
}

/// Who wrote items of an update, and which roots some of them name.
#[derive(Debug)]
pub(crate) struct UpdateOrigins<'a> {
    pub(crate) clients: Vec<ClientId>,
    /// Neighbouring items often name the same root; it is there once then, and else as often as it is named.
    pub(crate) roots: Vec<&'a str>,
}

/// Reads off an update who wrote it and where; nothing if it is malformed.
pub(crate) fn origins<'a>(update: &'a [u8], limits: &GateLimits) -> Option<UpdateOrigins<'a>> {
    let parsed = parse(update, limits, false).ok()?;
    let clients = parsed.runs.iter().map(|run| run.client).collect();
    let named = parsed.structs.iter().filter_map(|item| match item.parent {
        ItemParent::Root(name) => Some(name),
        _ => None,
    });
    let mut roots: Vec<&str> = named.collect();
    roots.dedup();
    Some(UpdateOrigins { clients, roots })
}
