//! The formats and attributes of a document as edits of its lines: a link's address, a checked
//! task, the language of a code block.
//!
//! They are the live items under the root that are neither text nor elements.

use hashbrown::HashSet;
use yrs::{Assoc, BranchID, ClientID, ID, IdSet, StickyIndex};

use super::{
    super::{diff::utf16_len, document::ContentDoc, item_sets::to_set, typing_runs::SpanPiece},
    BlameTouch, ListPlaces,
    leaf_blocks::LeafBlocks,
};
use crate::{
    gate::IdRange,
    id::{ClientId, ItemId},
    rich::{LiveChild, ROOT},
};

/// More formats and attributes than this are not examined.
const MAX_EXAMINED: usize = 200_000;

/// Returns the edits of formats and attributes.
pub(super) fn touches_of_formats(
    doc: &ContentDoc,
    read: &[SpanPiece],
    places: &ListPlaces<'_>,
    kids: &[LiveChild],
    leaves: &LeafBlocks,
) -> Vec<BlameTouch> {
    let mut nodes = HashSet::new();
    collect(kids, &mut nodes);
    let rest = items_beside(doc, read, &nodes);
    // Pictures and other elements within a line.
    let inside = leaves.inner_elements().map(|(element, at)| (element, Some(at)));
    let mut found: Vec<(ItemId, Option<usize>)> = inside.collect();
    let ids = rest.iter().flat_map(|(client, ranges)| {
        let clocks = ranges.iter().flat_map(|range| range.start..range.end);
        clocks.map(move |clock| ID::new(*client, clock))
    });
    for id in ids.take(MAX_EXAMINED) {
        let place = doc.replica.gate.read(|txn| {
            let offset = StickyIndex::from_id(id, Assoc::After).get_offset(txn)?;
            match offset.branch.id() {
                BranchID::Nested(parent) => Some((item(parent)?, offset.index)),
                BranchID::Root(_) => None,
            }
        });
        let Some((parent, index)) = place.filter(|(parent, _)| nodes.contains(parent)) else {
            continue;
        };
        let at = places.place_of(Some(parent), index).or_else(|| leaves.line_of(parent));
        found.extend(item(id).map(|id| (id, at)));
    }
    let touches = found.into_iter().filter_map(|(id, at)| {
        let (run, author) = doc.registers.log.run_of(id).0?;
        Some(BlameTouch { at: at?, author: author.clone(), run })
    });
    touches.collect()
}

/// Returns the live items under the root that are neither text nor elements.
fn items_beside(doc: &ContentDoc, read: &[SpanPiece], nodes: &HashSet<ItemId>) -> IdSet {
    let now = doc.version();
    let all: Vec<IdRange> = now
        .clocks()
        .filter(|(_, end)| *end > 0)
        .map(|(client, len)| IdRange { client, start: 0, len })
        .collect();
    let mut rest = to_set(&doc.replica.gate.items().parts_in(&all, &[ROOT]));
    let mut known = IdSet::new();
    for piece in read {
        known.insert(id_of(piece.item), utf16_len(&piece.text));
    }
    for node in nodes {
        known.insert(id_of(*node), 1);
    }
    rest.diff_with(&known);
    rest.diff_with(&now.snapshot().delete_set);
    rest
}

fn id_of(item: ItemId) -> ID {
    ID::new(ClientID::new(item.client.get()), item.clock)
}

fn item(id: ID) -> Option<ItemId> {
    Some(ItemId::new(ClientId::new(id.client.get()).ok()?, id.clock))
}

/// Collects the nodes under some nodes. Recurses as deep as the tree that was read.
fn collect(kids: &[LiveChild], nodes: &mut HashSet<ItemId>) {
    for kid in kids {
        nodes.extend(kid.ids());
        if let LiveChild::Element(element) = kid {
            collect(&element.kids, nodes);
        }
    }
}
