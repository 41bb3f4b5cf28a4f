//! The order of the items of a text, in which a position is found without a walk.
//!
//! yrs finds a position by walking over all items of a text from its start, deleted ones among
//! them, so each edit would cost more than the edit before. Here the items are in *runs*: units of
//! one client, one behind the other, that were inserted as one. The runs are in leaves of bounded
//! size, which are in the order of the text with the number of living units in each. Runs that
//! arrive are put in order as Yjs does it.
//!
//! # Invariants
//!
//! - The clients' maps have the leaf of every run by its first clock.
//! - `living` has the number of living units of each leaf, in the order of the leaves.
//! - No leaf is empty, but the first of an empty text. The first leaf stays the first.
//!
//! # Cost
//!
//! A run takes about 50 bytes. An insertion, a deletion and a search take a logarithmic search, a
//! walk over one leaf, and a sum over the leaves: a million runs have 8,000 of them, which takes 2
//! µs. Runs that were inserted at one place by writers who did not know of each other are walked
//! over, as in Yjs.

use std::collections::BTreeMap;

use hashbrown::{HashMap, HashSet};

use super::update_scan::IdRange;
use crate::id::{ClientId, ItemId};

/// The most runs of a leaf.
const MAX_RUNS: usize = if cfg!(test) { 4 } else { 256 };

/// A unit of the text, with the number of its client; [`NONE`] is no unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct UnitKey {
    client: u32,
    clock: u32,
}

const NONE: UnitKey = UnitKey { client: u32::MAX, clock: u32::MAX };

/// Units that were inserted as one, or the rest of such units.
#[derive(Debug, Clone, Copy)]
struct UnitRun {
    first: UnitKey,
    len: u32,
    is_deleted: bool,
    /// The left neighbor of the first unit when it was inserted.
    origin: UnitKey,
    /// The right neighbor.
    right: UnitKey,
}

/// Some runs that follow each other in the text.
#[derive(Debug)]
struct RunLeaf {
    runs: Vec<UnitRun>,
    next: Option<u32>,
}

/// Where a run is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct RunPlace {
    leaf: u32,
    index: usize,
}

/// The runs of one client.
#[derive(Debug)]
struct ClientLeaves {
    id: ClientId,
    /// The leaf of each run, by its first clock.
    leaves: BTreeMap<u32, u32>,
}

/// The order of the items of a text.
#[derive(Debug)]
pub(crate) struct TextOrder {
    clients: Vec<ClientLeaves>,
    numbers: HashMap<ClientId, u32>,
    leaves: Vec<RunLeaf>,
    /// The numbers of the leaves in the order of the text.
    order: Vec<u32>,
    living: Vec<u32>,
    n_living: u32,
}

/// A run of items as it arrives.
#[derive(Debug, Clone, Copy)]
pub(super) struct ArrivingRun {
    pub(super) id: ItemId,
    pub(super) len: u32,
    pub(super) is_deleted: bool,
    pub(super) origin: Option<ItemId>,
    pub(super) right: Option<ItemId>,
}

impl UnitRun {
    fn last(&self) -> UnitKey {
        UnitKey { clock: self.first.clock + self.len - 1, ..self.first }
    }

    fn living(&self) -> u32 {
        if self.is_deleted { 0 } else { self.len }
    }

    /// Reports whether another run goes on where this one ends.
    fn is_continued_by(&self, next: &Self) -> bool {
        next.origin == self.last()
            && next.first == (UnitKey { clock: self.first.clock + self.len, ..self.first })
            && next.right == self.right
            && next.is_deleted == self.is_deleted
    }
}

impl Default for TextOrder {
    fn default() -> Self {
        Self {
            clients: Vec::new(),
            numbers: HashMap::new(),
            leaves: vec![RunLeaf { runs: Vec::new(), next: None }],
            order: vec![0],
            living: vec![0],
            n_living: 0,
        }
    }
}

impl TextOrder {
    /// Returns the length of the text, in units.
    pub(super) fn n_living(&self) -> u32 {
        self.n_living
    }

    /// Inserts a run. Reports whether its neighbors are in the text: if not, nothing changed.
    #[must_use]
    pub(super) fn insert(&mut self, run: &ArrivingRun) -> bool {
        let number = self.number_of(run.id.client);
        let key = |id: Option<ItemId>| match id {
            None => Some(NONE),
            Some(id) => {
                let client = *self.numbers.get(&id.client)?;
                let unit = UnitKey { client, clock: id.clock };
                self.place_of(unit).map(|_| unit)
            }
        };
        let (Some(origin), Some(right)) = (key(run.origin), key(run.right)) else { return false };
        let first = UnitKey { client: number, clock: run.id.clock };
        let new = UnitRun { first, len: run.len, is_deleted: run.is_deleted, origin, right };
        if origin != NONE {
            self.split_before(UnitKey { clock: origin.clock + 1, ..origin });
        }
        if right != NONE {
            self.split_before(right);
        }
        match self.left_of(&new) {
            Some(left) if self.run(left).is_continued_by(&new) => {
                self.leaves[left.leaf as usize].runs[left.index].len += new.len;
                self.add_living(left.leaf, i64::from(new.living()));
            }
            Some(left) => self.insert_at(RunPlace { index: left.index + 1, ..left }, new),
            None => self.insert_at(RunPlace { leaf: 0, index: 0 }, new),
        }
        true
    }

    /// Returns the number of living units before one that is in the text.
    pub(super) fn position(&self, id: ItemId) -> Option<u32> {
        let client = *self.numbers.get(&id.client)?;
        let place = self.place_of(UnitKey { client, clock: id.clock })?;
        let before = self.living[..self.rank(place.leaf)].iter().sum::<u32>();
        let runs = &self.leaves[place.leaf as usize].runs[..place.index];
        let run = self.run(place);
        let inside = if run.is_deleted { 0 } else { id.clock - run.first.clock };
        Some(before + runs.iter().map(UnitRun::living).sum::<u32>() + inside)
    }

    /// Returns the living ones of the units that are in the text.
    pub(super) fn living(&self, range: &IdRange) -> Vec<IdRange> {
        let mut living = Vec::new();
        let Some(&client) = self.numbers.get(&range.client) else { return living };
        let leaves = &self.clients[client as usize].leaves;
        let first =
            leaves.range(..=range.start).next_back().map_or(range.start, |(first, _)| *first);
        for (clock, _) in leaves.range(first..range.end()) {
            let Some(place) = self.place_of(UnitKey { client, clock: *clock }) else { continue };
            let run = self.run(place);
            let start = clock.max(&range.start);
            let len = (clock + run.len).min(range.end()).saturating_sub(*start);
            if !run.is_deleted && len > 0 {
                living.push(IdRange { client: range.client, start: *start, len });
            }
        }
        living
    }

    /// Deletes those of the units that are in the text.
    pub(super) fn delete(&mut self, range: &IdRange) {
        let Some(&client) = self.numbers.get(&range.client) else { return };
        let mut from = range.start;
        while from < range.end() {
            let unit = UnitKey { client, clock: from };
            if self.place_of(unit).is_none() {
                let leaves = &self.clients[client as usize].leaves;
                let Some((next, _)) = leaves.range(from..range.end()).next() else { return };
                from = *next;
                continue;
            }
            self.split_before(unit);
            self.split_before(UnitKey { client, clock: range.end() });
            let Some(place) = self.place_of(unit) else { return };
            let run = &mut self.leaves[place.leaf as usize].runs[place.index];
            let living = i64::from(run.living());
            run.is_deleted = true;
            from += run.len;
            self.add_living(place.leaf, -living);
        }
    }

    /// Returns the neighbors of what is inserted before the unit at a position: that unit, and the
    /// item before it, which may be deleted, as Yjs takes them. Returns `None` behind the end.
    pub(super) fn neighbors(&self, at: u32) -> Option<(Option<ItemId>, Option<ItemId>)> {
        if at == self.n_living {
            let last = self.leaves[*self.order.last()? as usize].runs.last();
            return Some((last.map(|run| self.id_of(run.last())), None));
        }
        let (place, offset) = self.find(at)?;
        let first = self.run(place).first;
        let unit = UnitKey { clock: first.clock + offset, ..first };
        let left = match offset {
            0 => self.previous(place).map(|before| self.run(before).last()),
            _ => Some(UnitKey { clock: unit.clock - 1, ..unit }),
        };
        Some((left.map(|left| self.id_of(left)), Some(self.id_of(unit))))
    }

    /// Returns the ids of units from a position on; `None` if there are not so many.
    pub(super) fn units(&self, at: u32, len: u32) -> Option<Vec<IdRange>> {
        let (mut ranges, mut rest) = (Vec::new(), len);
        if len == 0 {
            return Some(ranges);
        }
        let (mut place, mut offset) = self.find(at)?;
        loop {
            let run = self.run(place);
            if !run.is_deleted {
                let ItemId { client, clock } = self.id_of(run.first);
                let len = rest.min(run.len - offset);
                ranges.push(IdRange { client, start: clock + offset, len });
                rest -= len;
                offset = 0;
            }
            if rest == 0 {
                return Some(ranges);
            }
            place = self.next(place)?;
        }
    }

    /// Finds the run behind which a new one belongs, whose neighbors begin and end runs; `None` for
    /// the beginning.
    fn left_of(&self, new: &UnitRun) -> Option<RunPlace> {
        let mut left = if new.origin == NONE { None } else { self.place_of(new.origin) };
        let mut at = left.map_or_else(|| self.first(), |left| self.next(left));
        let (mut conflicting, mut before) = (HashSet::new(), HashSet::new());
        // As `Item.integrate` of Yjs.
        while let Some(place) = at {
            let other = self.run(place);
            if other.first == new.right {
                break;
            }
            #[cfg(test)]
            crate::steps::count(1);
            conflicting.insert(other.first);
            before.insert(other.first);
            if other.origin == new.origin {
                if self.id_of(other.first).client < self.id_of(new.first).client {
                    left = Some(place);
                    conflicting.clear();
                } else if other.right == new.right {
                    break;
                }
            } else {
                let origin = self.place_of(other.origin).map(|origin| self.run(origin).first);
                let Some(origin) = origin.filter(|origin| before.contains(origin)) else { break };
                if !conflicting.contains(&origin) {
                    left = Some(place);
                    conflicting.clear();
                }
            }
            at = self.next(place);
        }
        left
    }

    /// Makes a unit the first of its run, if it is in the text.
    fn split_before(&mut self, unit: UnitKey) {
        let Some(place) = self.place_of(unit) else { return };
        let run = &mut self.leaves[place.leaf as usize].runs[place.index];
        let offset = unit.clock - run.first.clock;
        if offset == 0 {
            return;
        }
        let origin = UnitKey { clock: unit.clock - 1, ..unit };
        let rest = UnitRun { first: unit, len: run.len - offset, origin, ..*run };
        run.len = offset;
        self.add_living(place.leaf, -i64::from(rest.living()));
        self.insert_at(RunPlace { index: place.index + 1, ..place }, rest);
    }

    /// Inserts a run at a place.
    fn insert_at(&mut self, place: RunPlace, run: UnitRun) {
        self.clients[run.first.client as usize].leaves.insert(run.first.clock, place.leaf);
        self.add_living(place.leaf, i64::from(run.living()));
        let leaf = &mut self.leaves[place.leaf as usize];
        leaf.runs.insert(place.index, run);
        if leaf.runs.len() > MAX_RUNS {
            self.divide(place.leaf);
        }
    }

    /// Moves half of a leaf into a new one behind it.
    fn divide(&mut self, number: u32) {
        let new = self.leaves.len() as u32;
        let leaf = &mut self.leaves[number as usize];
        let runs = leaf.runs.split_off(leaf.runs.len() / 2);
        let next = leaf.next.replace(new);
        let living = runs.iter().map(UnitRun::living).sum();
        for run in &runs {
            self.clients[run.first.client as usize].leaves.insert(run.first.clock, new);
        }
        self.leaves.push(RunLeaf { runs, next });
        let rank = self.rank(number);
        self.living[rank] -= living;
        self.order.insert(rank + 1, new);
        self.living.insert(rank + 1, living);
    }

    fn add_living(&mut self, leaf: u32, n_units: i64) {
        if n_units != 0 {
            let rank = self.rank(leaf);
            let sum = |n: u32| u32::try_from(i64::from(n) + n_units).expect("it counts the units");
            (self.living[rank], self.n_living) = (sum(self.living[rank]), sum(self.n_living));
        }
    }

    /// Returns where a leaf is in the order.
    fn rank(&self, leaf: u32) -> usize {
        let rank = self.order.iter().position(|number| *number == leaf);
        rank.expect("every leaf is in the order")
    }

    /// Finds the unit at a position, as its run and its offset there.
    fn find(&self, at: u32) -> Option<(RunPlace, u32)> {
        let (mut rest, mut rank) = (at, 0);
        while rest >= *self.living.get(rank)? {
            rest -= self.living[rank];
            rank += 1;
        }
        let leaf = self.order[rank];
        for (index, run) in self.leaves[leaf as usize].runs.iter().enumerate() {
            #[cfg(test)]
            crate::steps::count(1);
            if rest < run.living() {
                return Some((RunPlace { leaf, index }, rest));
            }
            rest -= run.living();
        }
        None
    }

    /// Returns the run that has a unit.
    fn place_of(&self, unit: UnitKey) -> Option<RunPlace> {
        let leaves = &self.clients.get(unit.client as usize)?.leaves;
        let (&clock, &leaf) = leaves.range(..=unit.clock).next_back()?;
        let first = UnitKey { clock, ..unit };
        let runs = &self.leaves[leaf as usize].runs;
        let index = runs.iter().position(|run| run.first == first)?;
        (unit.clock - clock < runs[index].len).then_some(RunPlace { leaf, index })
    }

    fn run(&self, place: RunPlace) -> &UnitRun {
        &self.leaves[place.leaf as usize].runs[place.index]
    }

    fn first(&self) -> Option<RunPlace> {
        (!self.leaves[0].runs.is_empty()).then_some(RunPlace { leaf: 0, index: 0 })
    }

    fn next(&self, place: RunPlace) -> Option<RunPlace> {
        let leaf = &self.leaves[place.leaf as usize];
        if place.index + 1 < leaf.runs.len() {
            return Some(RunPlace { index: place.index + 1, ..place });
        }
        leaf.next.map(|leaf| RunPlace { leaf, index: 0 })
    }

    fn previous(&self, place: RunPlace) -> Option<RunPlace> {
        if place.index > 0 {
            return Some(RunPlace { index: place.index - 1, ..place });
        }
        let leaf = self.order[self.rank(place.leaf).checked_sub(1)?];
        Some(RunPlace { leaf, index: self.leaves[leaf as usize].runs.len() - 1 })
    }

    fn id_of(&self, unit: UnitKey) -> ItemId {
        ItemId::new(self.clients[unit.client as usize].id, unit.clock)
    }

    fn number_of(&mut self, client: ClientId) -> u32 {
        *self.numbers.entry(client).or_insert_with(|| {
            self.clients.push(ClientLeaves { id: client, leaves: BTreeMap::new() });
            self.clients.len() as u32 - 1
        })
    }
}
