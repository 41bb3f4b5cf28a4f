//! How many steps yrs takes to order the items of an update.
//!
//! Items with one origin are *siblings*. yrs inserts an item behind its origin at once if its right
//! origin is the neighbor of that, as where one client typed after reading what others typed. Else
//! it walks over the siblings, and over what stands behind each of them, until one of a greater
//! client with the same right origin, or the right origin, stops it. So items of different clients
//! that were all made for one place may cost a number of steps that grows with their square.
//!
//! The walks are repeated here over siblings only, with the number of structs behind each of them
//! as its weight. Nothing is touched, and the count ends at its limit.
//!
//! # Cost
//!
//! Linear in the structs, and a hundredth of what yrs would need for each step that is counted.

use hashbrown::HashMap;

use super::{
    item_lists::ListTag,
    parse::{ParsedUpdate, StructKind},
    run_segment::RunSegment,
};
use crate::id::{ClientId, ItemId};

/// What siblings have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum SiblingGroup<'a> {
    Behind(ItemId),
    /// The first of a list, or of a key.
    First(u32, Option<&'a str>),
}

#[derive(Debug)]
struct SiblingItem<'a> {
    id: ItemId,
    /// The clock after its last unit.
    end: u32,
    right: Option<ItemId>,
    group: SiblingGroup<'a>,
    /// How many structs stand behind it because of it, itself included.
    weight: u64,
}

#[derive(Debug, Clone, Copy)]
struct PlacedSibling {
    id: ItemId,
    right: Option<ItemId>,
    weight: u64,
}

/// Items in the order in which yrs integrates them.
#[derive(Debug, Default)]
pub(super) struct SiblingOrder<'a> {
    items: Vec<SiblingItem<'a>>,
    /// Where the items of each client are, by clock.
    by_client: HashMap<ClientId, Vec<usize>>,
    /// How many of the items the document held before.
    n_known: usize,
}

/// What ordering items costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct OrderingCost {
    /// How many steps it takes among the items that are known; a count that exceeds the limit is
    /// not continued.
    pub(super) n_steps: u64,
    /// How many items may have siblings among items that are not known here.
    pub(super) n_outside: u64,
}

impl<'a> SiblingOrder<'a> {
    /// Adds the structs of an update, in the order in which they are integrated; `tag_of` returns
    /// in which list an item of a run is.
    pub(super) fn add(
        &mut self,
        parsed: &ParsedUpdate<'a>,
        order: &[RunSegment],
        tag_of: impl Fn(usize, ItemId) -> ListTag,
    ) {
        for segment in order {
            let client = parsed.runs[segment.run].client;
            for item in &parsed.structs[segment.first..segment.end] {
                let id = ItemId::new(client, item.clock.max(segment.known));
                let tag = tag_of(segment.run, id);
                if item.kind == StructKind::Skip || tag.is_gone() {
                    continue;
                }
                // Of a struct that is partly known yrs takes the rest.
                let origin = match id.clock > item.clock {
                    true => Some(ItemId::new(client, id.clock - 1)),
                    false => item.origin,
                };
                let group = match origin {
                    Some(origin) => SiblingGroup::Behind(origin),
                    None => SiblingGroup::First(tag.place(), item.key),
                };
                let (end, right) = (item.clock + item.len, item.right);
                self.by_client.entry(client).or_default().push(self.items.len());
                self.items.push(SiblingItem { id, end, right, group, weight: 1 });
            }
        }
    }

    /// Says that the items so far are those of the document.
    pub(super) fn mark_known(&mut self) {
        self.n_known = self.items.len();
    }

    /// Counts the steps of ordering the items that the document did not hold.
    pub(super) fn cost(mut self, limit: u64) -> OrderingCost {
        self.weigh();
        let mut siblings: HashMap<SiblingGroup<'a>, Vec<PlacedSibling>> = HashMap::new();
        let mut cost = OrderingCost { n_steps: 0, n_outside: 0 };
        let mut n_known_steps = 0;
        for (nth, item) in self.items.iter().enumerate() {
            let placed = PlacedSibling { id: item.id, right: item.right, weight: item.weight };
            let list = siblings.entry(item.group).or_insert_with(|| self.rest_behind(item.group));
            let is_beside = list.last().is_some_and(|first| item.right == Some(first.id));
            cost.n_outside += u64::from(!is_beside && !self.is_inside(item.group));
            let n_steps = insert(list, placed, limit);
            let sum = if nth < self.n_known { &mut n_known_steps } else { &mut cost.n_steps };
            *sum += n_steps;
            if cost.n_steps > limit || n_known_steps > limit.saturating_mul(16) {
                cost.n_steps = cost.n_steps.max(limit.saturating_add(1));
                break;
            }
        }
        cost
    }

    /// Reports whether all siblings of a group are among the items.
    fn is_inside(&self, group: SiblingGroup<'a>) -> bool {
        match group {
            SiblingGroup::Behind(origin) => self.holder_of(origin).is_some(),
            SiblingGroup::First(..) => false,
        }
    }

    /// Adds to the weight of each item that of those that stand behind it. An item comes after the
    /// one that it stands behind.
    fn weigh(&mut self) {
        for nth in (0..self.items.len()).rev() {
            let SiblingItem { group, weight, .. } = self.items[nth];
            let SiblingGroup::Behind(origin) = group else { continue };
            if let Some(holder) = self.holder_of(origin) {
                self.items[holder].weight += weight;
            }
        }
    }

    /// Returns the item that holds a unit.
    fn holder_of(&self, id: ItemId) -> Option<usize> {
        let all = self.by_client.get(&id.client)?;
        let after = all.partition_point(|nth| self.items[*nth].id.clock <= id.clock);
        let nth = *all.get(after.checked_sub(1)?)?;
        (id.clock < self.items[nth].end).then_some(nth)
    }

    /// Returns the part of an item that stands behind an origin within it.
    fn rest_behind(&self, group: SiblingGroup<'a>) -> Vec<PlacedSibling> {
        let SiblingGroup::Behind(origin) = group else { return Vec::new() };
        let Some(holder) = self.holder_of(origin) else { return Vec::new() };
        let item = &self.items[holder];
        let id = ItemId::new(origin.client, origin.clock + 1);
        match id.clock < item.end {
            true => vec![PlacedSibling { id, right: item.right, weight: item.weight }],
            false => Vec::new(),
        }
    }
}

/// Inserts a sibling into a list, whose first is its last element, and returns how many steps it
/// took to find its place.
fn insert(list: &mut Vec<PlacedSibling>, new: PlacedSibling, limit: u64) -> u64 {
    let (mut at, mut n_steps) = (list.len(), 0_u64);
    for (nth, other) in list.iter().enumerate().rev() {
        if new.right == Some(other.id) || n_steps > limit {
            break;
        }
        #[cfg(test)]
        crate::steps::count(1);
        if other.id.client < new.id.client {
            at = nth;
        } else if other.right == new.right {
            n_steps += 1;
            break;
        }
        n_steps += other.weight;
    }
    list.insert(at, new);
    n_steps
}
