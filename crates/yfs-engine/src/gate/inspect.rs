//! Inspects an update without the document that it is for.

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

/// Returns the first item of each client that an update has items of.
///
/// # Errors
///
/// If it cannot be read.
pub fn writers(update: &[u8]) -> Result<Vec<ItemId>, GateRejection> {
    let parsed = parse(update, &GateLimits::default(), false)?;
    let runs = parsed.runs.iter().filter(|run| run.first < run.end);
    Ok(runs.map(|run| ItemId::new(run.client, parsed.structs[run.first].clock)).collect())
}

/// The properties of an update that do not depend on its document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct InspectedUpdate {
    /// Whether it begins a list of redactions.
    pub has_redactions: bool,
    /// Whether it lists that the content was moved between roots.
    pub has_conversions: bool,
}

/// Inspects an update from a peer without the document that it is for.
///
/// # Errors
///
/// If every document would reject it.
pub fn inspect(update: &[u8], limits: &GateLimits) -> Result<InspectedUpdate, GateRejection> {
    let parsed = parse(update, limits, true)?;
    let begins = |root| parsed.structs.iter().any(|item| item.parent == ItemParent::Root(root));
    Ok(InspectedUpdate {
        has_redactions: begins(RootIx::Redactions.name()),
        has_conversions: begins(CONVERSIONS),
    })
}

/// The writers of an update's items, and the roots that some of them name.
#[derive(Debug)]
pub(crate) struct UpdateOrigins<'a> {
    pub(crate) clients: Vec<ClientId>,
    /// The roots by name. Consecutive items of one root are one entry; otherwise a root may occur
    /// several times.
    pub(crate) roots: Vec<&'a str>,
}

/// Returns the writers of an update and the roots that it names; `None` if it is malformed.
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
