//! Sets of items in the two forms that yrs and the gate use.

use yrs::{ClientID, ID, IdSet};

use super::Version;
use crate::{
    gate::IdRange,
    id::{ClientId, ItemId},
};

/// Returns the items that a version has.
pub(super) fn up_to(ranges: &IdSet, version: &Version) -> IdSet {
    let mut known = IdSet::new();
    for (client, ranges) in ranges.iter() {
        let end = version.snapshot().state_map.get(client);
        for range in ranges.iter().filter(|range| range.start < end) {
            known.range_mut(*client).insert(range.start..range.end.min(end));
        }
    }
    known
}

pub(super) fn to_ranges(set: &IdSet) -> Vec<IdRange> {
    let mut all = Vec::new();
    for (client, ranges) in set.iter() {
        let client = ClientId::new(client.get()).expect("yrs masks client ids to 53 bits");
        let ranges = ranges.iter();
        all.extend(ranges.map(|range| IdRange {
            client,
            start: range.start,
            len: range.end - range.start,
        }));
    }
    all.sort_unstable();
    all
}

pub(super) fn to_set(ranges: &[IdRange]) -> IdSet {
    let mut set = IdSet::new();
    for range in ranges {
        set.insert(ID::new(ClientID::new(range.client.get()), range.start), range.len);
    }
    set
}

/// Reports whether a set contains an item.
pub(super) fn holds(set: &IdSet, item: ItemId) -> bool {
    set.contains(&ID::new(ClientID::new(item.client.get()), item.clock))
}
