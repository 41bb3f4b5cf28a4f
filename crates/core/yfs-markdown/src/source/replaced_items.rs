//! Markers of items whose whole text was replaced.
//!
//! Such a leaf has no record and resembles none, so its item would be counted: `2.` in a list of
//! `1.` and `1.`. The record of what it was is still there. In lists whose numbers do not follow
//! from the other items, records know the leaf before.
//!
//! # Invariants
//!
//! - The marker depends on the memory, the list and the leaf before it alone.

use std::collections::HashSet;

use super::{
    SourceMap,
    key::{LeafKey, START},
    prefixes::ItemMarker,
};
use crate::{
    outline::{ContainerKind, TreeOutline},
    write::emit::{self, LinePrefix},
};

/// The least number of items with the same number that keep it while one is replaced.
const MIN_SAME: usize = 3;

/// Reports of each list whether the number of an item does not follow from those of the others.
/// `numbers` are those of its items, as written.
pub(super) fn are_placed(outline: &TreeOutline<'_>, numbers: &[Vec<String>]) -> Vec<bool> {
    let is_placed = |start: u64, numbers: &[String]| {
        let is_counted =
            numbers.iter().zip(start..).all(|(number, usual)| *number == usual.to_string());
        let is_same =
            numbers.len() >= MIN_SAME && numbers.iter().all(|number| *number == start.to_string());
        !is_counted && !is_same
    };
    let lists = outline.lists.iter().zip(numbers);
    lists.map(|(list, numbers)| list.start.is_some_and(|start| is_placed(start, numbers))).collect()
}

/// Finds the markers of items without one by the leaf before, if another leaf stood behind that.
pub(super) fn recall_markers(
    outline: &TreeOutline<'_>,
    keys: &[LeafKey],
    map: &SourceMap,
    known: &mut [Option<LinePrefix>],
) {
    for (at, container) in outline.containers.iter().enumerate() {
        let ContainerKind::Item { list, .. } = container.kind else { continue };
        if known[at].is_some() || outline.lists[list].start.is_none() {
            continue;
        }
        let leaf = container.first_leaf;
        if leaf >= keys.len() {
            continue;
        }
        let chain = outline.chain(leaf);
        let Some(depth) = chain.iter().position(|around| *around == at) else { continue };
        let before = leaf.checked_sub(1).map_or(START, |before| keys[before]);
        let mut records: Vec<_> = map
            .records_behind(before)
            .filter(|(_, record)| record.prefixes.len() == chain.len())
            .map(|(key, record)| (key, record.prefixes[depth].as_ref()))
            .filter(|(_, prefix)| prefix.is_none_or(|(first, _)| has_number(first)))
            .collect();
        if records.is_empty() {
            continue;
        }
        let in_list = keys_of_list(outline, keys, list, leaf);
        records.retain(|(key, _)| !in_list.contains(key));
        let mut markers: Vec<_> = records.into_iter().map(|(_, marker)| marker).collect();
        markers.dedup();
        known[at] = match markers.as_slice() {
            [Some((first, rest))] => Some(LinePrefix { first: first.clone(), rest: rest.clone() }),
            [None] => Some(emit::prefix(outline, at)),
            _ => None,
        };
    }
}

fn has_number(prefix: &str) -> bool {
    ItemMarker::read(prefix).is_some_and(|marker| !marker.number.is_empty())
}

/// Returns the keys of all leaves in the list that one leaf is in.
fn keys_of_list(
    outline: &TreeOutline<'_>,
    keys: &[LeafKey],
    list: usize,
    leaf: usize,
) -> HashSet<LeafKey> {
    let is_in = |leaf: &usize| {
        outline.chain(*leaf).into_iter().any(|at| match outline.containers[at].kind {
            ContainerKind::Item { list: around, .. } => around == list,
            _ => false,
        })
    };
    let before = (0..leaf).rev().take_while(is_in);
    let behind = (leaf..keys.len()).take_while(is_in);
    before.chain(behind).map(|leaf| keys[leaf]).collect()
}
