//! A cache of the slots of names.
//!
//! It holds a guess for each directory and name, which is checked against the node itself: changes
//! of the tree need no invalidation. It saves the walk down a directory's map, which in a tree of
//! 100,000 files is mostly waiting for memory.

use std::{
    hash::BuildHasher,
    sync::atomic::{AtomicU32, Ordering},
};

use hashbrown::DefaultHashBuilder;

use super::arena::NodeSlot;

/// The least number of guesses.
const MIN_LEN: usize = 256;

/// Guesses at the slots of names.
#[derive(Debug, Default)]
pub(super) struct NameCache {
    /// The length is a power of two, or zero. Each guess is the number of a slot, or zero.
    guesses: Vec<AtomicU32>,
    hasher: DefaultHashBuilder,
}

impl NameCache {
    /// Makes room for so many names. Old guesses are lost if there was too little.
    pub(super) fn fit(&mut self, n_names: usize) {
        if self.guesses.len() < n_names.max(MIN_LEN) {
            let len = (2 * n_names).max(MIN_LEN).next_power_of_two();
            self.guesses = (0..len).map(|_| AtomicU32::new(0)).collect();
        }
    }

    /// Returns the slot that a name may have.
    pub(super) fn guess(&self, home: NodeSlot, name: &str) -> Option<NodeSlot> {
        let guess = self.guesses.get(self.place(home, name))?.load(Ordering::Relaxed);
        (guess != 0).then(|| NodeSlot::from_index(guess))
    }

    /// Notes the slot of a name.
    pub(super) fn note(&self, home: NodeSlot, name: &str, found: NodeSlot) {
        if let Some(guess) = self.guesses.get(self.place(home, name)) {
            guess.store(found.index(), Ordering::Relaxed);
        }
    }

    fn place(&self, home: NodeSlot, name: &str) -> usize {
        self.hasher.hash_one((home.index(), name)) as usize & self.guesses.len().wrapping_sub(1)
    }
}

impl Clone for NameCache {
    fn clone(&self) -> Self {
        Self::default()
    }
}
