//! Finds the trashed nodes that hide others, for many nodes at once.
//!
//! For one node this is a walk up. In a tree of great depth many such walks would cost the square
//! of its size, so each records the nodes that it passed.

use hashbrown::HashMap;

use super::{
    NodeRef, TreeIndex,
    arena::{NodeSlot, ROOT},
};
use crate::{id::FileId, path::VPath};

/// The hiding nodes of all nodes that were queried so far.
#[derive(Debug)]
pub(crate) struct HidingAncestors<'a> {
    tree: &'a TreeIndex,
    /// For each node that was passed, the trashed node that hides it.
    known: HashMap<NodeSlot, Option<NodeSlot>>,
}

impl<'a> HidingAncestors<'a> {
    pub(crate) fn new(tree: &'a TreeIndex) -> Self {
        Self { tree, known: HashMap::new() }
    }

    /// Reports whether a node or a directory above it is trashed.
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
            let node = &self.tree.nodes.arena[at];
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

/// Finds the paths of many nodes. The directories above a node are walked once for all of them, so
/// a deep tree does not cost the square of its size.
#[derive(Debug)]
pub struct PathResolver<'a> {
    hiding: HidingAncestors<'a>,
}

impl PathResolver<'_> {
    /// Returns the path of a node that is shown, as [`TreeIndex::path_of`] does.
    pub fn path_of(&mut self, id: &FileId) -> Option<VPath> {
        let node = self.hiding.tree.node(id)?;
        (!self.hiding.hide(&node)).then(|| node.path())
    }
}

impl TreeIndex {
    /// Returns a resolver of the paths of many nodes.
    pub fn path_resolver(&self) -> PathResolver<'_> {
        PathResolver { hiding: HidingAncestors::new(self) }
    }

    /// Returns all visible nodes but the root: directories before their children.
    pub fn visible(&self) -> impl Iterator<Item = NodeRef<'_>> {
        self.root().walk()
    }

    /// Returns all nodes that are trashed, or below a trashed one, in no order.
    pub fn hidden(&self) -> impl Iterator<Item = NodeRef<'_>> {
        self.trashed().flat_map(|node| std::iter::once(node).chain(node.covered()))
    }
}
