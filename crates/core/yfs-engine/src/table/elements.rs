//! The live elements of one array, and which of them wins.
//!
//! Elements with one key form a group: a list whose head is the winner. Finding the winner of a
//! group whose timestamps are finite numbers with one maximum needs no order, and one look-up.
//! Where it does need an order (ties at the maximum, and timestamps that are no numbers), [`rank`]
//! walks the array once for all groups that a change touched; ranks are kept, because elements
//! never change places.

use std::{
    cmp::Ordering,
    collections::{BTreeMap, BTreeSet, HashMap, VecDeque},
    iter, mem,
};

use yrs::{Any, Out, ReadTxn};

use super::{timestamp::ElementTimestamp, value_slab::ValueSlab};
use crate::{
    gate::{GatedDoc, values_in},
    id::{ClientId, ItemId},
    lib0::{ObjectMembers, ValueView, write_any},
};

/// No element.
pub(super) const NONE: u32 = u32::MAX;

/// Elements of one array that are not deleted.
#[derive(Debug)]
pub(super) struct LiveElements<V> {
    slab: ValueSlab<TableElement<V>>,
    /// The index of each live element, by client and clock.
    by_id: BTreeMap<ClientId, BTreeMap<u32, u32>>,
    /// The place in the array of elements whose groups need one. Ranks of the contenders of one
    /// group come from one walk and can be compared.
    ranks: HashMap<u32, u32>,
    /// The groups of several elements.
    contests: ValueSlab<Contest>,
}

/// The elements of a group, by the rule that orders them.
#[derive(Debug, Default)]
struct Contest {
    /// Those with finite timestamps, by these (see [`sortable`]).
    timed: BTreeSet<(u64, u32)>,
    /// The others. While there are any, all elements contend.
    odd: BTreeSet<u32>,
    /// Whether a ranked element was deleted. It may have been mistaken for an equal one.
    has_lost: bool,
}

/// One element.
#[derive(Debug)]
pub(super) struct TableElement<V> {
    pub(super) id: ItemId,
    /// The owner of its group.
    pub(super) owner: u32,
    pub(super) stamp: ElementTimestamp,
    pub(super) value: V,
    previous: u32,
    next: u32,
    /// The contest of its group, or [`NONE`] if the group never held two.
    contest: u32,
    /// Of the head of a group: the head of the next group of the same owner.
    pub(super) sibling: u32,
}

/// An element that was removed from its group.
#[derive(Debug, Clone, Copy)]
pub(super) struct UnlinkedElement {
    pub(super) owner: u32,
    /// If the element was the head of its group: its replacement in the list of heads, the new head
    /// or the head of the next group.
    pub(super) replacement: Option<u32>,
}

impl<V> LiveElements<V> {
    pub(super) fn new() -> Self {
        Self {
            slab: ValueSlab::new(),
            by_id: BTreeMap::new(),
            ranks: HashMap::new(),
            contests: ValueSlab::new(),
        }
    }

    pub(super) fn get(&self, ix: u32) -> &TableElement<V> {
        self.slab.get(ix)
    }

    pub(super) fn get_mut(&mut self, ix: u32) -> &mut TableElement<V> {
        self.slab.get_mut(ix)
    }

    /// Adds an element to the group with the given head and returns the group's head.
    pub(super) fn insert(
        &mut self,
        head: u32,
        id: ItemId,
        owner: u32,
        stamp: ElementTimestamp,
        value: V,
    ) -> u32 {
        let next = if head == NONE { NONE } else { self.get(head).next };
        let contest = if head == NONE { NONE } else { self.contest_of(head) };
        let (previous, sibling) = (head, NONE);
        let element = TableElement { id, owner, stamp, value, previous, next, contest, sibling };
        let ix = self.slab.insert(element);
        self.contend(ix);
        self.by_id.entry(id.client).or_default().insert(id.clock, ix);
        if next != NONE {
            self.get_mut(next).previous = ix;
        }
        if head == NONE {
            return ix;
        }
        self.get_mut(head).next = ix;
        head
    }

    /// Returns the contest of a group; it holds at least the group's head.
    fn contest_of(&mut self, head: u32) -> u32 {
        if self.get(head).contest == NONE {
            self.get_mut(head).contest = self.contests.insert(Contest::default());
            self.contend(head);
        }
        self.get(head).contest
    }

    /// Adds an element to the contest of its group.
    fn contend(&mut self, ix: u32) {
        let element = self.slab.get(ix);
        if element.contest == NONE {
            return;
        }
        let contest = self.contests.get_mut(element.contest);
        match element.stamp {
            ElementTimestamp::Finite(ts) => drop(contest.timed.insert((sortable(ts), ix))),
            ElementTimestamp::Odd(_) => drop(contest.odd.insert(ix)),
        }
    }

    /// Removes the live elements in a range of clocks from the index. Each must then be passed to
    /// [`unlink`](Self::unlink).
    pub(super) fn take_range(&mut self, client: ClientId, start: u32, len: u32) -> Vec<u32> {
        let Some(clocks) = self.by_id.get_mut(&client) else { return Vec::new() };
        let end = start.saturating_add(len);
        let found: Vec<(u32, u32)> =
            clocks.range(start..end).map(|(clock, ix)| (*clock, *ix)).collect();
        for (clock, _) in &found {
            clocks.remove(clock);
        }
        if clocks.is_empty() {
            self.by_id.remove(&client);
        }
        found.into_iter().map(|(_, ix)| ix).collect()
    }

    /// Removes an element from its group and for good.
    pub(super) fn unlink(&mut self, ix: u32) -> UnlinkedElement {
        let was_ranked = self.ranks.remove(&ix).is_some();
        let element = self.slab.remove(ix);
        if element.contest != NONE {
            let contest = self.contests.get_mut(element.contest);
            contest.has_lost |= was_ranked;
            match element.stamp {
                ElementTimestamp::Finite(ts) => drop(contest.timed.remove(&(sortable(ts), ix))),
                ElementTimestamp::Odd(_) => drop(contest.odd.remove(&ix)),
            }
            if contest.timed.is_empty() && contest.odd.is_empty() {
                self.contests.remove(element.contest);
            }
        }
        if element.next != NONE {
            self.get_mut(element.next).previous = element.previous;
        }
        let mut replacement = None;
        if element.previous != NONE {
            self.get_mut(element.previous).next = element.next;
        } else if element.next != NONE {
            self.get_mut(element.next).sibling = element.sibling;
            replacement = Some(element.next);
        } else {
            replacement = Some(element.sibling);
        }
        UnlinkedElement { owner: element.owner, replacement }
    }

    /// Returns the elements of a group, its head first.
    pub(super) fn group(&self, head: u32) -> impl Iterator<Item = (u32, &TableElement<V>)> {
        self.follow(head, |element| element.next)
    }

    /// Returns the heads of all groups of an owner, from the first on.
    pub(super) fn siblings(&self, first: u32) -> impl Iterator<Item = (u32, &TableElement<V>)> {
        self.follow(first, |element| element.sibling)
    }

    fn follow(
        &self,
        mut ix: u32,
        next: impl Fn(&TableElement<V>) -> u32,
    ) -> impl Iterator<Item = (u32, &TableElement<V>)> {
        iter::from_fn(move || {
            let element = (ix != NONE).then(|| (ix, self.get(ix)))?;
            ix = next(element.1);
            Some(element)
        })
    }

    /// Returns the elements of a group that may win, in no order: those with the greatest
    /// timestamp, or all if one has a timestamp that is no number.
    fn contenders(&self, head: u32) -> impl Iterator<Item = u32> {
        let contest = self.get(head).contest;
        let contest = (contest != NONE).then(|| self.contests.get(contest)).into_iter();
        contest.flat_map(|contest| {
            let greatest = contest.timed.last().filter(|_| contest.odd.is_empty());
            let least = greatest.map_or((0, 0), |(ts, _)| (*ts, 0));
            let timed = contest.timed.range(least..).map(|(_, ix)| *ix);
            timed.chain(contest.odd.iter().copied())
        })
    }

    /// Reports whether a group must be ranked before its winner is known.
    pub(super) fn needs_rank(&self, head: u32) -> bool {
        let contest = self.get(head).contest;
        let has_lost = contest != NONE && self.contests.get(contest).has_lost;
        let is_ranked = |ix: u32| !has_lost && self.ranks.contains_key(&ix);
        self.contenders(head).nth(1).is_some() && !self.contenders(head).all(is_ranked)
    }

    /// Puts the winner at the head of its group and returns it. The group must have been ranked if
    /// it needs to be.
    pub(super) fn elect(&mut self, head: u32) -> u32 {
        let mut contenders: Vec<u32> = self.contenders(head).collect();
        #[cfg(test)]
        crate::steps::count(contenders.len());
        if contenders.len() > 1 {
            contenders.sort_by_key(|ix| self.ranks.get(ix).copied().unwrap_or(0));
        }
        let winner = contenders.into_iter().reduce(|best, next| {
            let order = self.get(next).stamp.compare(&self.get(best).stamp);
            if order == Ordering::Less { best } else { next }
        });
        let winner = winner.unwrap_or(head);
        self.move_to_head(head, winner);
        winner
    }

    /// Drops the ranks of a group that lost a ranked element.
    fn forget_doubtful_ranks(&mut self, head: u32) {
        let contest = self.get(head).contest;
        if contest == NONE || !mem::take(&mut self.contests.get_mut(contest).has_lost) {
            return;
        }
        let members: Vec<u32> = self.group(head).map(|(ix, _)| ix).collect();
        for member in members {
            self.ranks.remove(&member);
        }
    }

    fn move_to_head(&mut self, head: u32, ix: u32) {
        if head == ix {
            return;
        }
        let (previous, next) = (self.get(ix).previous, self.get(ix).next);
        self.get_mut(previous).next = next;
        if next != NONE {
            self.get_mut(next).previous = previous;
        }
        let sibling = mem::replace(&mut self.get_mut(head).sibling, NONE);
        self.get_mut(head).previous = ix;
        let element = self.get_mut(ix);
        (element.previous, element.next, element.sibling) = (NONE, head, sibling);
    }

    /// Counts the live elements of a client with adjacent clocks up to, and without, `clock`.
    pub(super) fn run_before(&self, client: ClientId, clock: u32, most: usize) -> usize {
        let Some(clocks) = self.by_id.get(&client) else { return 0 };
        let adjacent = clocks.range(..clock).rev().zip(1_u32..);
        adjacent
            .take(most)
            .take_while(|((element_clock, _), back)| {
                clock.checked_sub(*back) == Some(**element_clock)
            })
            .count()
    }
}

/// Returns a finite timestamp as an integer that orders as it does.
fn sortable(ts: f64) -> u64 {
    // Both zeros are one timestamp.
    let bits = (ts + 0.0).to_bits();
    if ts.is_sign_negative() && ts != 0.0 { !bits } else { bits | 1 << 63 }
}

/// Numbers the contenders of the groups with the given keys from left to right, in one walk over
/// the array.
///
/// yrs shows values, not ids, so elements are recognized by their values: `write` must write all
/// that has an effect. Two equal ones may be mistaken for each other, which makes no difference.
pub(super) fn rank<V>(
    elements: &mut LiveElements<V>,
    doc: &GatedDoc,
    root: &str,
    groups: &BTreeMap<String, u32>,
    read: impl Fn(&str, ObjectMembers<'_>) -> Option<V>,
    write: impl Fn(&str, &V, &mut Vec<u8>),
) {
    let print = |key: &str, stamp: &ElementTimestamp, value: &V| {
        let mut bytes = Vec::new();
        write_any(&mut bytes, &stamp.to_any());
        write(key, value, &mut bytes);
        bytes
    };
    let mut waiting: HashMap<(&str, Vec<u8>), VecDeque<u32>> = HashMap::new();
    for (key, head) in groups {
        elements.forget_doubtful_ranks(*head);
        for ix in elements.contenders(*head) {
            let element = elements.get(ix);
            let print = print(key, &element.stamp, &element.value);
            waiting.entry((key, print)).or_default().push_back(ix);
        }
    }
    let (mut ranks, mut bytes) = (Vec::new(), Vec::new());
    doc.read(|txn| {
        let Some(array) = txn.get_array(root) else { return };
        for (rank, out) in (0..).zip(values_in(txn, &array)) {
            #[cfg(test)]
            crate::steps::count(1);
            let Out::Any(Any::Map(element)) = out else { continue };
            let Some(Any::String(key)) = element.get("key") else { continue };
            let Some((key, _)) = groups.get_key_value(key.as_ref()) else { continue };
            bytes.clear();
            write_any(&mut bytes, &Any::Map(element));
            let Ok(ValueView::Map(element)) = ValueView::of(&bytes) else { continue };
            let Some(value) = read(key, element) else { continue };
            let print = print(key, &ElementTimestamp::of(element.get("ts")), &value);
            let found = waiting.get_mut(&(key.as_str(), print)).and_then(VecDeque::pop_front);
            ranks.extend(found.map(|ix| (ix, rank)));
        }
    });
    elements.ranks.extend(ranks);
}
