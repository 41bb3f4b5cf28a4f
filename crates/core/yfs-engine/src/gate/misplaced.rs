//! Content that does not belong into its list, in logs and in updates of other stores.
//!
//! Versions without this check accepted it, so logs may have it. It is read as deleted: its ids and
//! its place stay, so that what was written beside it is read as always.

use super::{
    GateRejection,
    doc::{GatedDoc, ReceiveOutcome},
    erase::rewrite_as_deleted,
    item_lists::ItemLists,
    limits::GateLimits,
    parse::{StructKind, normalise, parse},
    resolve::{ResolveRequest, resolve},
    role::{DocRole, UpdateSource},
    update_scan::IdRange,
};
use crate::id::{ClientId, FileId};

impl ReceiveOutcome {
    /// Adds items that were taken as deleted.
    pub(super) fn with_misplaced(mut self, misplaced: Vec<IdRange>) -> Self {
        self.misplaced.extend(misplaced);
        self
    }
}

impl GatedDoc {
    /// Returns an update of another store without the content that does not belong into its list;
    /// `None` if it has no such content.
    ///
    /// # Errors
    ///
    /// If it cannot be read.
    pub fn without_misplaced(&self, update: &[u8]) -> Result<Option<Vec<u8>>, GateRejection> {
        let misplaced = misplaced_of(update, &self.places, self.role, &self.limits)?;
        if misplaced.is_empty() {
            return Ok(None);
        }
        without_items(update, &misplaced).map(Some)
    }
}

/// Returns the items of a log whose content does not belong into their list.
///
/// # Cost
///
/// Linear in the bytes; yrs is used only if the log has updates that wait for later ones.
pub fn find_misplaced<'a>(
    role: DocRole,
    updates: impl Iterator<Item = &'a [u8]> + Clone,
) -> Vec<IdRange> {
    let limits = GateLimits::default();
    let (mut lists, mut found) = (ItemLists::default(), Vec::new());
    for update in updates.clone() {
        let Ok(parsed) = parse(update, &limits, false) else { continue };
        let Ok(resolved) = resolve(&request(&lists, role, &limits), &parsed) else { continue };
        if !resolved.waiting.is_empty() {
            return find_with_yrs(role, updates);
        }
        found.extend(resolved.misplaced);
        lists.commit(resolved.overlay);
    }
    found
}

fn find_with_yrs<'a>(role: DocRole, updates: impl Iterator<Item = &'a [u8]>) -> Vec<IdRange> {
    let guid = FileId::from_bytes([0; 16]);
    let client = ClientId::from_random(0);
    let mut doc = GatedDoc::new(&guid, role, client, GateLimits::default());
    let received = updates.filter_map(|update| doc.receive(update, UpdateSource::Store).ok());
    received.flat_map(|received| received.misplaced).collect()
}

/// Returns the items of an update that do not belong into their list, wherever that can be known.
pub(super) fn misplaced_of(
    update: &[u8],
    places: &ItemLists,
    role: DocRole,
    limits: &GateLimits,
) -> Result<Vec<IdRange>, GateRejection> {
    let parsed = parse(update, limits, false)?;
    Ok(resolve(&request(places, role, limits), &parsed)?.misplaced)
}

fn request<'q>(places: &'q ItemLists, role: DocRole, limits: &'q GateLimits) -> ResolveRequest<'q> {
    ResolveRequest { places, role, limits, ours: None, is_message: false }
}

/// Rewrites an update with some of its items as deleted ones.
pub(super) fn without_items(update: &[u8], items: &[IdRange]) -> Result<Vec<u8>, GateRejection> {
    let mut items = items.to_vec();
    normalise(&mut items);
    let is_item = |kind| !matches!(kind, StructKind::Gc | StructKind::Skip | StructKind::Deleted);
    let rewritten = rewrite_as_deleted(update, &items, is_item)?;
    Ok(rewritten.unwrap_or_else(|| update.to_vec()))
}
