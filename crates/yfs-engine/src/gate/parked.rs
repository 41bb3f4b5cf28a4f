//! Updates that wait, outside the document, for what has not arrived.
//!
//! yrs would keep them inside the document, retry all of them at every update, and write them into
//! its own state in a form that it sometimes cannot read again. Here each waits for one item that it
//! is known to lack, and is looked at again when that item arrives, not before.

use std::collections::BTreeMap;

use super::role::Source;
use crate::id::{ClientId, ItemId};

/// An update that waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parked {
    /// The update, as it came.
    pub update: Vec<u8>,
    /// Where it came from.
    pub source: Source,
    /// An item that it refers to and that the document lacks. There may be others.
    pub waits_for: ItemId,
}

/// The updates that wait for what has not arrived.
#[derive(Debug, Default)]
pub(crate) struct ParkedSet {
    parked: Vec<Parked>,
    /// Where those are that wait for an item.
    waiting: BTreeMap<ItemId, Vec<usize>>,
    bytes: usize,
}

impl ParkedSet {
    pub(crate) fn as_slice(&self) -> &[Parked] {
        &self.parked
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(crate) fn contains(&self, waits_for: ItemId, update: &[u8]) -> bool {
        let slots = self.waiting.get(&waits_for).map_or(&[][..], Vec::as_slice);
        slots.iter().any(|slot| self.parked[*slot].update == update)
    }

    pub(crate) fn add(&mut self, parked: Parked) {
        self.bytes += parked.update.len();
        self.waiting.entry(parked.waits_for).or_default().push(self.parked.len());
        self.parked.push(parked);
    }

    /// Takes one that waits for an item of a client below a clock.
    pub(crate) fn take(&mut self, client: ClientId, end: u32) -> Option<Parked> {
        let range = ItemId::new(client, 0)..ItemId::new(client, end);
        let (_, slots) = self.waiting.range_mut(range).next()?;
        let slot = slots.pop()?;
        let taken = self.parked.swap_remove(slot);
        if self.waiting.get(&taken.waits_for).is_some_and(Vec::is_empty) {
            self.waiting.remove(&taken.waits_for);
        }
        let moved_from = self.parked.len();
        if let Some(moved) = self.parked.get(slot)
            && let Some(slots) = self.waiting.get_mut(&moved.waits_for)
            && let Some(entry) = slots.iter_mut().find(|entry| **entry == moved_from)
        {
            *entry = slot;
        }
        self.bytes -= taken.update.len();
        Some(taken)
    }
}
