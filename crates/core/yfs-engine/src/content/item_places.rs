//! The places of items in the trees of a document, also of deleted items.

use yrs::{Assoc, BranchID, ID, ReadTxn, StickyIndex, Xml as _, XmlElementRef, XmlTextRef};

use super::TEXT;
use crate::{
    id::{ClientId, ItemId},
    rich::ROOT,
};

/// The parent of an item.
#[derive(Debug, Clone, Copy)]
pub(super) enum ItemContainer {
    Root(&'static str),
    Type(ItemId),
}

/// Returns the `Y.XmlText` that an item is or was in, with its id.
pub(super) fn text_with(txn: &impl ReadTxn, item: ItemId) -> Option<(ItemId, XmlTextRef)> {
    let list = text_around(txn, item)?;
    let id = ID::new(yrs::ClientID::new(item.client.get()), item.clock);
    let place = StickyIndex::from_id(id, Assoc::After).get_offset(txn)?;
    match yrs::XmlOut::try_from(place.branch).ok()? {
        yrs::XmlOut::Text(text) => Some((list, text)),
        _ => None,
    }
}

/// Returns the `Y.XmlText` that an item is in.
pub(super) fn text_around(txn: &impl ReadTxn, item: ItemId) -> Option<ItemId> {
    let id = ID::new(yrs::ClientID::new(item.client.get()), item.clock);
    let place = StickyIndex::from_id(id, Assoc::After).get_offset(txn)?;
    let yrs::XmlOut::Text(_) = yrs::XmlOut::try_from(place.branch).ok()? else { return None };
    match place_in(txn, item, Assoc::After)?.0 {
        ItemContainer::Type(text) => Some(text),
        ItemContainer::Root(_) => None,
    }
}

/// Returns the child of a root that an item is in, or `None` for a child itself. Finding a child
/// proves nothing if the item was deleted.
pub(super) fn top_of(txn: &impl ReadTxn, item: ItemId) -> Option<Option<XmlElementRef>> {
    let id = ID::new(yrs::ClientID::new(item.client.get()), item.clock);
    let place = StickyIndex::from_id(id, Assoc::After).get_offset(txn)?;
    if let BranchID::Root(_) = place.branch.id() {
        return Some(None);
    }
    let mut at = yrs::XmlOut::try_from(place.branch).ok()?;
    let mut top = None;
    // Updates from peers may nest to any depth.
    for _ in 0..=yfs_markdown::tree::MAX_DEPTH + 2 {
        let parent = match &at {
            yrs::XmlOut::Element(element) => element.parent(),
            yrs::XmlOut::Text(text) => text.parent(),
            yrs::XmlOut::Fragment(_) => return Some(top),
        };
        top = match at {
            yrs::XmlOut::Element(element) => Some(element),
            // A text that is a child of the root is no block.
            _ => None,
        };
        // A root has no class here until it is asked for.
        let Some(parent) = parent else { return Some(top) };
        at = parent;
    }
    None
}

/// Returns the list that an item is or was in, and its index there as Yjs counts.
pub(super) fn place_in(
    txn: &impl ReadTxn,
    item: ItemId,
    assoc: Assoc,
) -> Option<(ItemContainer, u32)> {
    let id = ID::new(yrs::ClientID::new(item.client.get()), item.clock);
    let place = StickyIndex::from_id(id, assoc).get_offset(txn)?;
    let around = match place.branch.id() {
        BranchID::Nested(id) => {
            let client = ClientId::new(id.client.get()).ok()?;
            ItemContainer::Type(ItemId::new(client, id.clock))
        }
        BranchID::Root(name) if *name == *TEXT => ItemContainer::Root(TEXT),
        BranchID::Root(name) if *name == *ROOT => ItemContainer::Root(ROOT),
        BranchID::Root(_) => return None,
    };
    Some((around, place.index))
}
