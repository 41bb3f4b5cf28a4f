//! A growable pool of values with small indexes, in blocks, so that growing never copies and never
//! holds twice the memory.

/// The number of values in a block.
const BLOCK: usize = 1024;

/// A pool of values. Indexes of removed values are used again.
#[derive(Debug)]
pub(super) struct ValueSlab<T> {
    /// Invariant: all blocks but the last hold [`BLOCK`] values.
    blocks: Vec<Vec<Option<T>>>,
    free: Vec<u32>,
}

impl<T> ValueSlab<T> {
    pub(super) const fn new() -> Self {
        Self { blocks: Vec::new(), free: Vec::new() }
    }

    pub(super) fn insert(&mut self, value: T) -> u32 {
        if let Some(ix) = self.free.pop() {
            *self.slot(ix) = Some(value);
            return ix;
        }
        if self.blocks.last().is_none_or(|block| block.len() == BLOCK) {
            self.blocks.push(Vec::with_capacity(if self.blocks.is_empty() { 0 } else { BLOCK }));
        }
        let before = (self.blocks.len() - 1) * BLOCK;
        let block = self.blocks.last_mut().expect("pushed if there was none");
        block.push(Some(value));
        u32::try_from(before + block.len() - 1).expect("a document holds fewer than 2^32 items")
    }

    pub(super) fn remove(&mut self, ix: u32) -> T {
        let value = self.slot(ix).take().expect("an index is removed once");
        self.free.push(ix);
        value
    }

    pub(super) fn get(&self, ix: u32) -> &T {
        let slot = &self.blocks[ix as usize / BLOCK][ix as usize % BLOCK];
        slot.as_ref().expect("an index is used while its value lives")
    }

    pub(super) fn get_mut(&mut self, ix: u32) -> &mut T {
        self.slot(ix).as_mut().expect("an index is used while its value lives")
    }

    /// Returns all values, in order of index.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, &T)> {
        let slots = self.blocks.iter().flatten();
        (0..).zip(slots).filter_map(|(ix, slot)| Some((ix, slot.as_ref()?)))
    }

    fn slot(&mut self, ix: u32) -> &mut Option<T> {
        &mut self.blocks[ix as usize / BLOCK][ix as usize % BLOCK]
    }
}
