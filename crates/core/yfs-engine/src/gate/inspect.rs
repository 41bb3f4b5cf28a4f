//! Inspects an update without the document that it is for.

use super::{
    item_lists::ItemLists,
    item_set::push_range,
    limits::GateLimits,
    parse::{ItemParent, ParsedUpdate, StructKind, UpdateStruct, parse},
    refusal::GateRejection,
    resolve::{ResolveRequest, resolve},
    role::DocRole,
    update_scan::{IdRange, RootIx},
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

/// Returns the items that an update brings or deletes, as runs.
///
/// # Errors
///
/// If it cannot be read.
pub fn named_items(update: &[u8]) -> Result<Vec<IdRange>, GateRejection> {
    let parsed = parse(update, &GateLimits::default(), false)?;
    let mut items: Vec<IdRange> = Vec::new();
    for run in &parsed.runs {
        for item in &parsed.structs[run.first..run.end] {
            let range = IdRange { client: run.client, start: item.clock, len: item.len };
            push_range(&mut items, range);
        }
    }
    items.extend(parsed.deletes);
    Ok(items)
}

/// The properties of an update that do not depend on its document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct InspectedUpdate {
    /// Whether it begins a list of redactions.
    pub has_redactions: bool,
    /// Whether it lists that the content was moved between roots.
    pub has_conversions: bool,
    /// Whether some of it may wait for items of other updates in an empty document.
    pub may_wait: bool,
    /// Whether it puts content into an empty document that does not belong into its list.
    pub is_misplaced: bool,
}

/// Inspects an update from a peer without the document that it is for.
///
/// # Errors
///
/// If every document would reject it.
pub fn inspect(update: &[u8], limits: &GateLimits) -> Result<InspectedUpdate, GateRejection> {
    let parsed = parse(update, limits, true)?;
    let begins = |root| parsed.structs.iter().any(|item| item.parent == ItemParent::Root(root));
    let may_wait = may_wait(&parsed);
    let is_misplaced = !may_wait && {
        let (places, role) = (&ItemLists::default(), DocRole::Content);
        let question = ResolveRequest { places, role, limits, ours: None, is_message: false };
        resolve(&question, &parsed).is_ok_and(|resolved| !resolved.misplaced.is_empty())
    };
    Ok(InspectedUpdate {
        has_redactions: begins(RootIx::Redactions.name()),
        has_conversions: begins(CONVERSIONS),
        may_wait,
        is_misplaced,
    })
}

/// Reports whether an update needs items that it does not have.
fn may_wait(parsed: &ParsedUpdate<'_>) -> bool {
    let mut clients: Vec<(ClientId, u32)> = Vec::with_capacity(parsed.runs.len());
    for run in &parsed.runs {
        let structs = &parsed.structs[run.first..run.end];
        let (Some(first), Some(last)) = (structs.first(), structs.last()) else { continue };
        if first.clock > 0 || structs.iter().any(|item| item.kind == StructKind::Skip) {
            return true;
        }
        clients.push((run.client, last.clock + last.len));
    }
    clients.sort_unstable();
    let is_here = |client: ClientId, clock: u32| {
        let found = clients.binary_search_by_key(&client, |(client, _)| *client);
        found.is_ok_and(|at| clock < clients[at].1)
    };
    let lacks = |id: Option<ItemId>| id.is_some_and(|id| !is_here(id.client, id.clock));
    let is_early = |item: &UpdateStruct<'_>| {
        let parent = match item.parent {
            ItemParent::Item(id) => Some(id),
            _ => None,
        };
        lacks(item.origin) || lacks(item.right) || lacks(parent)
    };
    parsed.structs.iter().any(is_early)
        || parsed.deletes.iter().any(|range| !is_here(range.client, range.end() - 1))
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
