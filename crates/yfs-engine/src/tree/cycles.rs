//! Cycles: folders that were moved into each other at the same time.
//!
//! Of the nodes on a cycle of stored parents, the one whose parent was written last (by timestamp,
//! then id) breaks it. It falls back to the latest of its previous parents from which the root can
//! be reached through folders that are not trashed, else to the root. Breakers choose in ascending
//! order of (timestamp, id), each under the choices already made; otherwise two cycles could mend
//! into a third.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    TreeIndex,
    arena::{NodeSlot, ROOT, SlotKind},
};

/// Where each breaker goes; nothing until it has chosen.
type Choices = BTreeMap<NodeSlot, Option<NodeSlot>>;

impl TreeIndex {
    /// Works out anew which folders are detached, and where they show.
    pub(super) fn break_cycles(&mut self) {
        let mut breakers: Vec<NodeSlot> =
            self.cycles().iter().map(|cycle| self.breaker(cycle)).collect();
        breakers.sort_by(|a, b| self.by_move_time(*a, *b));

        let mut choices: Choices = breakers.iter().map(|breaker| (*breaker, None)).collect();
        for breaker in breakers {
            let choice = self.fall_back(breaker, &choices);
            choices.insert(breaker, Some(choice));
        }

        let detached = choices.keys().map(|slot| (self.arena[*slot].stored_in, *slot)).collect();
        let healed = std::mem::replace(&mut self.detached, detached);
        let healed =
            healed.into_iter().map(|(_, slot)| slot).filter(|slot| !choices.contains_key(slot));
        let homes = healed.map(|slot| (slot, self.parent_of(slot)));
        let chosen = choices.iter().filter_map(|(slot, choice)| Some((*slot, (*choice)?)));
        let homes: Vec<(NodeSlot, NodeSlot)> = homes.chain(chosen).collect();
        for (slot, home) in homes {
            if self.arena[slot].shown_in != home {
                self.leave(slot);
                self.enter(slot, home);
            }
        }
    }

    /// Returns the nodes of each cycle of stored parents.
    pub(super) fn cycles(&self) -> Vec<Vec<NodeSlot>> {
        let mut cycles = Vec::new();
        let mut seen = BTreeSet::from([ROOT]);
        for &(_, start) in &self.detached {
            let mut walk = Vec::new();
            let mut slot = start;
            while seen.insert(slot) {
                walk.push(slot);
                slot = self.parent_of(slot);
            }
            if let Some(at) = walk.iter().position(|passed| *passed == slot) {
                cycles.push(walk.split_off(at));
            }
        }
        cycles
    }

    fn breaker(&self, cycle: &[NodeSlot]) -> NodeSlot {
        let breaker = cycle.iter().copied().max_by(|a, b| self.by_move_time(*a, *b));
        breaker.expect("a cycle has a node")
    }

    fn by_move_time(&self, a: NodeSlot, b: NodeSlot) -> std::cmp::Ordering {
        let (a, b) = (&self.arena[a], &self.arena[b]);
        a.parent_ts.total_cmp(&b.parent_ts).then_with(|| a.id.cmp(&b.id))
    }

    fn fall_back(&self, breaker: NodeSlot, choices: &Choices) -> NodeSlot {
        for prev in self.arena[breaker].prev_parents() {
            let Some(id) = prev else { return ROOT };
            let Some(slot) = self.arena.find(id.as_str()) else { continue };
            if self.arena[slot].kind == SlotKind::Folder && self.reaches_root(slot, choices) {
                return slot;
            }
        }
        ROOT
    }

    /// Tells whether the root is reached from `slot` without passing a trashed folder or a breaker
    /// that has not chosen yet. Every cycle holds a breaker, so the walk ends.
    fn reaches_root(&self, mut slot: NodeSlot, choices: &Choices) -> bool {
        while slot != ROOT && !self.arena[slot].trashed {
            slot = match choices.get(&slot) {
                Some(Some(choice)) => *choice,
                Some(None) => return false,
                None => self.parent_of(slot),
            };
        }
        slot == ROOT
    }
}
