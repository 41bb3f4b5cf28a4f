//! What hides nodes, found for many of them at once.
//!
//! One node finds what hides it by a walk up. In a tree of great depth many such walks would cost
//! the square of its size, so each remembers what it passed.

use hashbrown::HashMap;

use super::{
    NodeRef, TreeIndex,
    arena::{NodeSlot, ROOT},
};

/// What hides the nodes that were asked for so far.
#[derive(Debug)]
pub(crate) struct Hiders<'a> {
    tree: &'a TreeIndex,
    /// For each node that was passed, the trashed node that hides it.
    known: HashMap<NodeSlot, Option<NodeSlot>>,
}

impl<'a> Hiders<'a> {
    pub(crate) fn new(tree: &'a TreeIndex) -> Self {
        Self { tree, known: HashMap::new() }
    }

    /// Reports whether a node or what holds it is trashed.
    pub(crate) fn hide(&mut self, node: &NodeRef<'_>) -> bool {
        self.of(node.slot()).is_some()
    }

    /// Returns the trashed node that hides `slot`: itself or the nearest above.
    pub(super) fn of(&mut self, slot: NodeSlot) -> Option<NodeSlot> {
        let (mut at, mut passed) = (slot, Vec::new());
        let hider = loop {
            if at == ROOT {
                break None;
            }
            let node = &self.tree.arena[at];
            if node.trashed {
                break Some(at);
            }
            if let Some(known) = self.known.get(&at) {
                break *known;
            }
            #[cfg(test)]
            crate::steps::count(1);
            passed.push(at);
            at = node.shown_in;
        };
        self.known.extend(passed.into_iter().map(|slot| (slot, hider)));
        hider
    }
}

impl TreeIndex {
    /// Returns all that is visible but the root: folders before what they hold.
    pub fn visible(&self) -> impl Iterator<Item = NodeRef<'_>> {
        self.root().walk()
    }

    /// Returns all that is trashed, or in what is trashed, in no order.
    pub fn hidden(&self) -> impl Iterator<Item = NodeRef<'_>> {
        let trashed = self.trashed.iter().map(|slot| self.node_at(*slot));
        trashed.flat_map(|node| std::iter::once(node).chain(node.covered()))
    }
}
