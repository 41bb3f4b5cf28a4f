//! Structs and deletions that wait, outside the document, for missing items.
//!
//! yrs would keep them inside the document, retry all of them at every update, and write them into
//! its own state in a form that it sometimes cannot read again. Here the structs of each client
//! wait in a queue of their own, in chunks that follow each other in an update. Only the first
//! chunk of a queue names an item that it waits for, and is tried again when that item arrives, not
//! before.
//!
//! # Invariants
//!
//! - No interval of a queue is covered by the others of its queue, so that an update that arrives
//!   many times is parked once.
//! - `bytes` is the total size of all intervals, their overhead included.

use std::collections::{BTreeMap, BTreeSet};

use super::update_scan::IdRange;
use crate::{
    id::{ClientId, ItemId},
    lib0::write_var_uint,
};

/// The greatest number of structs in a chunk. A queue that repeatedly gets stuck costs that much
/// each time.
pub(super) const CHUNK_STRUCTS: usize = 64;

/// The size of an interval beside its bytes: two tree nodes and the allocation.
const OVERHEAD: usize = 128;

/// Work that waits for an item that has not arrived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParkedUpdate {
    /// The structs or deletions that wait, as an update.
    pub update: Vec<u8>,
    /// An item that they need and that the document lacks. There may be others.
    pub waits_for: ItemId,
}

/// The sum of all work that waits in a document.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct ParkedTotals {
    /// The number of [`ParkedUpdate`]s, roughly: deletions of one client are counted one by one.
    pub n_updates: usize,
    /// Their memory, in bytes.
    pub n_bytes: usize,
}

/// Structs of one client that follow each other.
#[derive(Debug, Clone)]
pub(crate) struct ParkedChunk {
    pub(crate) client: ClientId,
    pub(crate) start: u32,
    pub(crate) end: u32,
    pub(crate) n_structs: usize,
    /// The structs in a form that yrs reads.
    pub(crate) structs: Vec<u8>,
}

/// Deletions that wait until other structs of their update are in the document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HeldDeletes {
    pub(crate) deletes: Vec<IdRange>,
    /// The last of those structs, of each client.
    ///
    /// Invariant: there is one.
    pub(crate) after: Vec<ItemId>,
}

/// Structs and deletions that wait for missing items.
#[derive(Debug, Default)]
pub struct ParkedSet {
    structs: BTreeMap<ClientId, ParkedQueue>,
    deletes: BTreeMap<ClientId, Intervals<()>>,
    /// By the last of the items that they wait for.
    held: BTreeMap<ItemId, Vec<HeldDeletes>>,
    /// Which queues wait for an item.
    waiting: BTreeSet<(ItemId, ClientId)>,
    /// All intervals, the oldest first.
    ages: BTreeSet<(u64, ParkedSlot)>,
    next_age: u64,
    bytes: usize,
}

#[derive(Debug, Default)]
struct ParkedQueue {
    chunks: Intervals<ChunkBytes>,
    waits_for: Option<ItemId>,
}

#[derive(Debug)]
struct ChunkBytes {
    n_structs: usize,
    structs: Vec<u8>,
}

/// Values by start and end, each with its age.
type Intervals<T> = BTreeMap<(u32, u32), (u64, T)>;

/// The place of an interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum ParkedSlot {
    Structs(ClientId, u32, u32),
    Deletes(ClientId, u32, u32),
}

impl ParkedSet {
    /// Reports whether no structs or deletions wait.
    pub fn is_empty(&self) -> bool {
        self.structs.is_empty() && self.deletes.is_empty() && self.held.is_empty()
    }

    /// Returns the memory of all parked structs and deletions, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Reports whether structs or deletions ever waited.
    pub fn was_used(&self) -> bool {
        self.next_age > 0
    }

    /// Returns the number and the memory of everything that waits.
    pub fn totals(&self) -> ParkedTotals {
        let n_held: usize = self.held.values().map(Vec::len).sum();
        ParkedTotals { n_updates: self.ages.len() + n_held, n_bytes: self.bytes }
    }

    /// Returns everything that waits.
    pub fn list(&self) -> Vec<ParkedUpdate> {
        let mut list = Vec::new();
        for (client, queue) in &self.structs {
            for ((start, end), (_, chunk)) in &queue.chunks {
                let waits_for = queue.waits_for.unwrap_or(ItemId::new(*client, *start));
                let update = encode(&[chunk.to_chunk(*client, *start, *end)], &[]);
                list.push(ParkedUpdate { update, waits_for });
            }
        }
        for (client, ranges) in &self.deletes {
            let deletes: Vec<IdRange> = ranges.keys().map(|key| range_of(*client, *key)).collect();
            let waits_for = deletes.first().map(|range| ItemId::new(*client, range.start));
            let update = encode(&[], &deletes);
            list.extend(waits_for.map(|waits_for| ParkedUpdate { update, waits_for }));
        }
        for held in self.held.values().flatten() {
            list.push(ParkedUpdate {
                update: encode(&[], &held.deletes),
                waits_for: held.waits_for(),
            });
        }
        list
    }

    /// Reports whether structs wait already.
    pub(crate) fn covers_chunk(&self, chunk: &ParkedChunk) -> bool {
        let queue = self.structs.get(&chunk.client);
        queue.is_some_and(|queue| is_covered(&queue.chunks, chunk.start, chunk.end))
    }

    /// Reports whether a deletion waits already for the items that it deletes.
    pub(crate) fn covers_delete(&self, range: &IdRange) -> bool {
        let ranges = self.deletes.get(&range.client);
        ranges.is_some_and(|ranges| is_covered(ranges, range.start, range.end()))
    }

    /// Reports whether deletions wait already, and for no more than these.
    pub(crate) fn covers_held(&self, new: &HeldDeletes, end_of: impl Fn(ClientId) -> u32) -> bool {
        let waits_for_no_more = |held: &HeldDeletes| {
            held.after.iter().all(|id| {
                let is_there = id.clock < end_of(id.client);
                is_there
                    || new
                        .after
                        .iter()
                        .any(|waited| waited.client == id.client && waited.clock >= id.clock)
            })
        };
        new.deletes.iter().all(|range| {
            let mut held = self.held.values().flatten();
            self.covers_delete(range)
                || held.any(|held| held.covers(range) && waits_for_no_more(held))
        })
    }

    /// Returns the memory that structs and deletions would take, in bytes.
    pub(crate) fn cost(chunks: &[ParkedChunk], n_deletes: usize) -> usize {
        let chunks: usize = chunks.iter().map(|chunk| chunk.structs.len() + OVERHEAD).sum();
        chunks + n_deletes * OVERHEAD
    }

    /// Returns the age for the additions of one update.
    pub(crate) fn new_age(&mut self) -> u64 {
        self.next_age += 1;
        self.next_age
    }

    /// Adds structs. The caller must then set the item that the queue [waits for](Self::set_wait).
    pub(crate) fn add_chunk(&mut self, chunk: ParkedChunk, age: u64) {
        if self.covers_chunk(&chunk) {
            return;
        }
        let ParkedChunk { client, start, end, n_structs, structs } = chunk;
        let queue = self.structs.entry(client).or_default();
        for (start, end) in covered_by(&queue.chunks, start, end) {
            if let Some((age, old)) = queue.chunks.remove(&(start, end)) {
                self.bytes -= old.structs.len() + OVERHEAD;
                self.ages.remove(&(age, ParkedSlot::Structs(client, start, end)));
            }
        }
        self.bytes += structs.len() + OVERHEAD;
        self.ages.insert((age, ParkedSlot::Structs(client, start, end)));
        queue.chunks.insert((start, end), (age, ChunkBytes { n_structs, structs }));
    }

    /// Adds the deletion of items that have not arrived.
    pub(crate) fn add_delete(&mut self, range: IdRange, age: u64) {
        if self.covers_delete(&range) {
            return;
        }
        let (client, start, end) = (range.client, range.start, range.end());
        let ranges = self.deletes.entry(client).or_default();
        for (start, end) in covered_by(ranges, start, end) {
            if let Some((age, ())) = ranges.remove(&(start, end)) {
                self.bytes -= OVERHEAD;
                self.ages.remove(&(age, ParkedSlot::Deletes(client, start, end)));
            }
        }
        self.bytes += OVERHEAD;
        self.ages.insert((age, ParkedSlot::Deletes(client, start, end)));
        ranges.insert((start, end), (age, ()));
    }

    /// Adds deletions that wait for other structs of their update.
    pub(crate) fn add_held(&mut self, held: HeldDeletes) {
        self.bytes += OVERHEAD * (1 + held.deletes.len());
        self.held.entry(held.waits_for()).or_default().push(held);
    }

    /// Sets the item that the first structs of a client wait for.
    pub(crate) fn set_wait(&mut self, client: ClientId, waits_for: ItemId) {
        let Some(queue) = self.structs.get_mut(&client) else { return };
        if let Some(old) = queue.waits_for.replace(waits_for) {
            self.waiting.remove(&(old, client));
        }
        self.waiting.insert((waits_for, client));
    }

    /// Returns the clock of the first structs of a client that wait.
    pub(crate) fn first_of(&self, client: ClientId) -> Option<u32> {
        let ((start, _), _) = self.structs.get(&client)?.chunks.first_key_value()?;
        Some(*start)
    }

    /// Returns the clients whose structs wait for an item of a client below a clock, and the client
    /// itself.
    pub(crate) fn clients_unblocked_by(&self, client: ClientId, end: u32) -> Vec<ClientId> {
        let least = ClientId::new(0).expect("0 is below the limit");
        let below = (ItemId::new(client, 0), least)..(ItemId::new(client, end), least);
        let woken = self.waiting.range(below).map(|(_, waiter)| *waiter);
        let itself = self.structs.contains_key(&client).then_some(client);
        woken.chain(itself).collect()
    }

    /// Removes and returns the first structs of a client whose clock is `end` now, if no gap is
    /// before them. Structs that the document has meanwhile are dropped.
    pub(crate) fn take_chunk(&mut self, client: ClientId, end: u32) -> Option<(ParkedChunk, u64)> {
        loop {
            let queue = self.structs.get(&client)?;
            let (first, _) = queue.chunks.first_key_value()?;
            if first.0 > end {
                self.set_wait(client, ItemId::new(client, end));
                return None;
            }
            let (start, chunk_end) = *first;
            let (chunk, age) = self.remove_chunk(client, start, chunk_end)?;
            if chunk_end > end {
                return Some((chunk, age));
            }
        }
    }

    /// Removes and returns the structs of a client from the clock `end` on up to the next gap or
    /// overlap, as one chunk.
    pub(crate) fn take_connected(
        &mut self,
        client: ClientId,
        end: u32,
    ) -> Option<(ParkedChunk, u64)> {
        let (mut whole, age) = self.take_chunk(client, end)?;
        while let Some(queue) = self.structs.get(&client)
            && let Some((&(start, chunk_end), _)) = queue.chunks.first_key_value()
            && start == whole.end
        {
            let Some((next, _)) = self.remove_chunk(client, start, chunk_end) else { break };
            whole.structs.extend_from_slice(&next.structs);
            (whole.end, whole.n_structs) = (next.end, whole.n_structs + next.n_structs);
        }
        Some((whole, age))
    }

    /// Returns the clients whose structs wait.
    pub(crate) fn clients(&self) -> Vec<ClientId> {
        self.structs.keys().copied().collect()
    }

    /// Removes and returns the deletions of items of a client below a clock.
    pub(crate) fn take_deletes(&mut self, client: ClientId, end: u32, out: &mut Vec<IdRange>) {
        while let Some(ranges) = self.deletes.get_mut(&client) {
            let Some((&(start, range_end), _)) = ranges.first_key_value() else { return };
            if start >= end {
                return;
            }
            let (age, ()) = ranges.remove(&(start, range_end)).expect("it was just found");
            if ranges.is_empty() {
                self.deletes.remove(&client);
            }
            self.bytes -= OVERHEAD;
            self.ages.remove(&(age, ParkedSlot::Deletes(client, start, range_end)));
            out.push(range_of(client, (start, range_end.min(end))));
            if range_end > end {
                self.add_delete(range_of(client, (end, range_end)), age);
            }
        }
    }

    /// Removes and returns the held deletions that wait for nothing more after an item of a client
    /// below a clock arrived.
    pub(crate) fn take_held(
        &mut self,
        client: ClientId,
        end_of: impl Fn(ClientId) -> u32,
    ) -> Vec<IdRange> {
        let range = ItemId::new(client, 0)..ItemId::new(client, end_of(client));
        let keys: Vec<ItemId> = self.held.range(range).map(|(id, _)| *id).collect();
        let woken: Vec<HeldDeletes> =
            keys.iter().filter_map(|id| self.held.remove(id)).flatten().collect();
        let mut ready = Vec::new();
        for mut held in woken {
            self.bytes -= OVERHEAD * (1 + held.deletes.len());
            held.after.retain(|id| id.clock >= end_of(id.client));
            if held.after.is_empty() {
                ready.extend(held.deletes);
            } else {
                self.add_held(held);
            }
        }
        ready
    }

    /// Drops the oldest structs, deletions or held deletions, and returns them as an update.
    pub(crate) fn drop_oldest(&mut self, end_of: impl Fn(ClientId) -> u32) -> Option<Vec<u8>> {
        let Some((_, slot)) = self.ages.first().copied() else {
            let (_, mut held) = self.held.pop_first()?;
            let deletes: Vec<IdRange> = held
                .drain(..)
                .flat_map(|held| {
                    self.bytes -= OVERHEAD * (1 + held.deletes.len());
                    held.deletes
                })
                .collect();
            return Some(encode(&[], &deletes));
        };
        match slot {
            ParkedSlot::Structs(client, start, end) => {
                let (chunk, _) = self.remove_chunk(client, start, end)?;
                let queue = self.structs.get(&client);
                if queue.and_then(|queue| queue.chunks.first_key_value()).is_some() {
                    self.set_wait(client, ItemId::new(client, end_of(client)));
                }
                Some(encode(&[chunk], &[]))
            }
            ParkedSlot::Deletes(client, start, end) => {
                let ranges = self.deletes.get_mut(&client)?;
                let (age, ()) = ranges.remove(&(start, end))?;
                if ranges.is_empty() {
                    self.deletes.remove(&client);
                }
                self.bytes -= OVERHEAD;
                self.ages.remove(&(age, slot));
                Some(encode(&[], &[range_of(client, (start, end))]))
            }
        }
    }

    fn remove_chunk(
        &mut self,
        client: ClientId,
        start: u32,
        end: u32,
    ) -> Option<(ParkedChunk, u64)> {
        let queue = self.structs.get_mut(&client)?;
        let (age, bytes) = queue.chunks.remove(&(start, end))?;
        self.bytes -= bytes.structs.len() + OVERHEAD;
        self.ages.remove(&(age, ParkedSlot::Structs(client, start, end)));
        if queue.chunks.is_empty() {
            if let Some(waits_for) = queue.waits_for {
                self.waiting.remove(&(waits_for, client));
            }
            self.structs.remove(&client);
        }
        Some((bytes.into_chunk(client, start, end), age))
    }
}

impl HeldDeletes {
    /// Reports whether a range is in one of these, which are sorted and disjoint.
    fn covers(&self, range: &IdRange) -> bool {
        let before = self
            .deletes
            .partition_point(|delete| (delete.client, delete.start) <= (range.client, range.start));
        let found = before.checked_sub(1).map(|at| self.deletes[at]);
        found.is_some_and(|delete| delete.client == range.client && delete.end() >= range.end())
    }

    fn waits_for(&self) -> ItemId {
        *self.after.last().expect("they wait for at least one item")
    }
}

impl ChunkBytes {
    fn to_chunk(&self, client: ClientId, start: u32, end: u32) -> ParkedChunk {
        ParkedChunk { client, start, end, n_structs: self.n_structs, structs: self.structs.clone() }
    }

    fn into_chunk(self, client: ClientId, start: u32, end: u32) -> ParkedChunk {
        ParkedChunk { client, start, end, n_structs: self.n_structs, structs: self.structs }
    }
}

/// Writes chunks, at most one of each client, and deletions as an update.
pub(crate) fn encode(chunks: &[ParkedChunk], deletes: &[IdRange]) -> Vec<u8> {
    let mut out = Vec::new();
    write_var_uint(&mut out, chunks.len() as u64);
    for chunk in chunks {
        write_var_uint(&mut out, chunk.n_structs as u64);
        write_var_uint(&mut out, chunk.client.get());
        write_var_uint(&mut out, u64::from(chunk.start));
        out.extend_from_slice(&chunk.structs);
    }
    super::update::write_delete_set(&mut out, deletes.to_vec());
    out
}

fn range_of(client: ClientId, (start, end): (u32, u32)) -> IdRange {
    IdRange { client, start, len: end - start }
}

/// Reports whether intervals cover a range together. As none is inside another, their ends ascend
/// like their starts.
fn is_covered<T>(intervals: &Intervals<T>, start: u32, end: u32) -> bool {
    let before = intervals.range(..=(start, u32::MAX)).next_back();
    let Some((&(_, mut covered), _)) = before else { return false };
    for ((next, next_end), _) in intervals.range((start, u32::MAX)..) {
        if covered >= end || *next > covered {
            break;
        }
        covered = covered.max(*next_end);
    }
    covered >= end
}

/// Returns the intervals that a range covers.
fn covered_by<T>(intervals: &Intervals<T>, start: u32, end: u32) -> Vec<(u32, u32)> {
    let inside = intervals.range((start, 0)..(end, 0)).map(|(key, _)| *key);
    inside.take_while(|(_, inner_end)| *inner_end <= end).collect()
}
