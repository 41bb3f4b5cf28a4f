//! Where names were found before.
//!
//! A guess for each directory and name, to be checked against the node itself: nothing has to be
//! told when the tree changes. It saves the walk down a directory's map, which in a tree of 100,000 files
//! is mostly waiting for memory.

use std::{
    hash::BuildHasher,
    sync::atomic::{AtomicU32, Ordering},
};

use hashbrown::DefaultHashBuilder;

use super::arena::NodeSlot;

/// How many guesses there is room for at least.
const MIN_LEN: usize = 256;

/// Guesses at the slots of names.
#[derive(Debug, Default)]
pub(super) struct NameCache {
    /// A power of two, or none. Each guess is the number of a slot, or zero.
    guesses: Vec<AtomicU32>,
    hasher: DefaultHashBuilder,
}

impl NameCache {
    /// Makes room for so many names. Guesses are lost where there is too little.
    pub(super) fn fit(&mut self, n_names: usize) {
        if self.guesses.len() < n_names.max(MIN_LEN) {
            let len = (2 * n_names).max(MIN_LEN).next_power_of_two();
            self.guesses = (0..len).map(|_| AtomicU32::new(0)).collect();
        }
    }

    /// Returns where a name may be.
    pub(super) fn guess(&self, home: NodeSlot, name: &str) -> Option<NodeSlot> {
        let guess = self.guesses.get(self.place(home, name))?.load(Ordering::Relaxed);
        (guess != 0).then(|| NodeSlot::from_index(guess))
    }

    /// Notes where a name was found.
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
