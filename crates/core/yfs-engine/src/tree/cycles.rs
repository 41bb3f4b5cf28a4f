//! Cycles: directories that were moved into each other at the same time.
//!
//! Of the nodes on a cycle of stored parents, the one whose parent was written last (by timestamp,
//! then id) breaks it. It falls back to the latest of its previous parents from which the root can
//! be reached through directories that are not trashed, else to the root. Breakers choose in
//! ascending order of (timestamp, id), each under the choices already made; otherwise two cycles
//! could mend into a third.

use hashbrown::HashMap;

use super::{
    TreeIndex, TreeNodes,
    arena::{NodeSlot, ROOT, SlotKind},
};

/// The destinations of breakers, and known paths from directories to the root.
///
/// Once a breaker has chosen, it keeps its choice. So a walk need not be repeated: each directory
/// on it leads to where the walk ended.
struct CycleChoices {
    /// The destination of each breaker; `None` until it has chosen.
    choices: HashMap<NodeSlot, Option<NodeSlot>>,
    /// An ancestor of each directory that a walk passed, by effective parents.
    above: HashMap<NodeSlot, NodeSlot>,
}

impl TreeIndex {
    /// Recomputes which directories are detached, and where they show.
    pub(super) fn break_cycles(&mut self) {
        let cycles = match self.walked {
            Some(_) => self.cycles(),
            None => {
                self.nodes.read_all();
                self.nodes.cycles_from(self.nodes.directories())
            }
        };
        let mut breakers: Vec<NodeSlot> =
            cycles.iter().map(|cycle| self.nodes.breaker(cycle)).collect();
        breakers.sort_by(|a, b| self.nodes.by_move_time(*a, *b));

        let choices = breakers.iter().map(|breaker| (*breaker, None)).collect();
        let mut known_paths = CycleChoices { choices, above: HashMap::new() };
        for breaker in &breakers {
            let choice = self.nodes.fall_back(*breaker, &mut known_paths);
            known_paths.choices.insert(*breaker, Some(choice));
        }

        let detached =
            breakers.iter().map(|slot| (self.nodes.arena[*slot].stored_in, *slot)).collect();
        let healed = std::mem::replace(&mut self.detached, detached);
        let healed = healed
            .into_iter()
            .map(|(_, slot)| slot)
            .filter(|slot| !known_paths.choices.contains_key(slot));
        let homes = healed.map(|slot| (slot, self.nodes.parent_of(slot)));
        let chosen = breakers.iter().filter_map(|slot| Some((*slot, known_paths.choices[slot]?)));
        let homes: Vec<(NodeSlot, NodeSlot)> = homes.chain(chosen).collect();
        for (slot, home) in homes {
            if self.nodes.arena[slot].shown_in != home {
                self.nodes.leave(slot);
                self.nodes.enter(slot, home);
            }
        }
    }

    /// Returns the nodes of each cycle of stored parents.
    pub(super) fn cycles(&self) -> Vec<Vec<NodeSlot>> {
        self.nodes.cycles_from(self.detached.iter().map(|(_, slot)| *slot))
    }
}

impl TreeNodes {
    /// Returns the nodes of each cycle of stored parents that some nodes lead to.
    fn cycles_from(&self, starts: impl Iterator<Item = NodeSlot>) -> Vec<Vec<NodeSlot>> {
        let mut cycles = Vec::new();
        let mut seen = vec![false; self.arena.n_slots()];
        seen[ROOT.index() as usize] = true;
        for start in starts {
            let mut walk = Vec::new();
            let mut slot = start;
            while !std::mem::replace(&mut seen[slot.index() as usize], true) {
                walk.push(slot);
                slot = self.parent_of(slot);
                #[cfg(test)]
                crate::steps::count(1);
            }
            // A walk that joins an earlier one has found no new cycle.
            if let Some(at) = walk.iter().position(|passed| *passed == slot) {
                cycles.push(walk.split_off(at));
            }
        }
        cycles
    }

    fn directories(&self) -> impl Iterator<Item = NodeSlot> {
        self.arena.present().filter(|slot| self.arena[*slot].kind == SlotKind::Directory)
    }

    fn breaker(&self, cycle: &[NodeSlot]) -> NodeSlot {
        let breaker = cycle.iter().copied().max_by(|a, b| self.by_move_time(*a, *b));
        breaker.expect("a cycle has a node")
    }

    fn by_move_time(&self, a: NodeSlot, b: NodeSlot) -> std::cmp::Ordering {
        let (a, b) = (&self.arena[a], &self.arena[b]);
        a.parent_ts.total_cmp(&b.parent_ts).then_with(|| a.id.cmp(&b.id))
    }

    fn fall_back(&self, breaker: NodeSlot, known_paths: &mut CycleChoices) -> NodeSlot {
        for prev in self.arena[breaker].prev_parents() {
            let Some(id) = prev else { return ROOT };
            let Some(slot) = self.find(id.as_str()) else { continue };
            if self.arena[slot].kind == SlotKind::Directory
                && self.top_of(slot, known_paths) == ROOT
            {
                return slot;
            }
        }
        ROOT
    }

    /// Returns the root, or the first trashed directory or breaker that has not chosen yet on the
    /// way from `slot` to it. Every cycle contains a breaker, so the walk ends.
    fn top_of(&self, slot: NodeSlot, known_paths: &mut CycleChoices) -> NodeSlot {
        let (mut top, mut passed) = (slot, Vec::new());
        while top != ROOT && !self.arena[top].trashed {
            let above = match (known_paths.above.get(&top), known_paths.choices.get(&top)) {
                (Some(above), _) => *above,
                (None, Some(Some(choice))) => *choice,
                (None, Some(None)) => break,
                (None, None) => self.parent_of(top),
            };
            passed.push(top);
            top = above;
            #[cfg(test)]
            crate::steps::count(1);
        }
        known_paths.above.extend(passed.into_iter().map(|slot| (slot, top)));
        top
    }
}
