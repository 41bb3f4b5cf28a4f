//! The large blobs that a store lacks, fetched in parts by all its connections together.
//!
//! Each connection is a [`PoolLink`]. A link asks its peer for the hashes of the parts of a blob
//! ([`BlobTree`]), which are verified against the blob's hash, and then for parts that no other
//! link has asked for. A part is verified when it arrives, so a peer that lies is known, and the
//! parts of others stay. A link that ends gives its parts back, and the rest continues with what
//! has arrived.
//!
//! # Invariants
//!
//! - At most [`MAX_OPEN`] blobs have parts here. Their parts are in files beside the store, so that
//!   the next process continues with them.
//! - An entry is removed only once the store has the blob.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    sync::Arc,
};

use parking_lot::Mutex;
use yfs::{
    PartialFile, SealedDirectory,
    clock::{Clock, SystemClock},
};
use yfs_engine::hash::ContentHash;
use yfs_store::Store;

use crate::{
    blob_tree::{BlobTree, MAX_TREE_PARTS, PART_LEN},
    part_store::PartStore,
    replica_error::ReplicaError,
};

/// The most blobs that are fetched at the same time.
const MAX_OPEN: usize = 4;

/// The most parts that a link has asked for and not received: 4 MiB.
const MAX_ASKED_PARTS: usize = 16;

/// The most blobs that a pool knows. Others are fetched whole, by one link each.
const MAX_POOLED: usize = 1 << 16;

/// The size that every blob may have, in bytes, whatever its row says.
const MIN_LIMIT: u64 = 16 << 20;

type LinkId = u64;

/// The directory of the parts of blobs, among the files that are derived from a store.
const DIRECTORY: &str = "partial-blobs";

/// The large blobs that a store lacks.
#[derive(Debug, Default)]
pub struct BlobPool {
    state: Mutex<PoolState>,
    /// Where parts are kept for the next process.
    directory: Option<SealedDirectory>,
}

/// A connection of a pool. It gives back what it has asked for when it is dropped.
#[derive(Debug)]
pub(crate) struct PoolLink {
    pool: Arc<BlobPool>,
    id: LinkId,
}

/// What a link should ask its peer for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PoolRequest {
    /// The hashes of the parts of a blob.
    Tree(ContentHash),
    /// A part.
    Part(ContentHash, u64),
}

/// The most offers of lacked blobs that are kept for links that have not considered them yet. A
/// connection searches for all missing blobs when it begins.
const MAX_OFFERED: usize = 1 << 16;

/// The state of a blob, for one link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PoolBlobState {
    /// The store has it.
    Arrived,
    /// The peer of the link does not have it.
    Lacking,
    /// It is being fetched.
    Awaited,
}

#[derive(Debug, Default)]
struct PoolState {
    blobs: BTreeMap<ContentHash, PooledBlob>,
    links: BTreeMap<LinkId, LinkRequests>,
    last_link: LinkId,
    /// The number of blobs that arrived, also of those that are fetched whole.
    n_arrivals: u64,
    /// The blobs that are fetched whole and that the peer of a link lacked, with their sizes.
    /// The oldest make room for new ones; `n_dropped` have.
    lacked: VecDeque<(LinkId, ContentHash, u64)>,
    n_dropped: usize,
}

/// What a link has asked for and not received.
#[derive(Debug, Default)]
struct LinkRequests {
    trees: BTreeSet<ContentHash>,
    parts: BTreeSet<(ContentHash, u64)>,
    /// The number of requests that the peer has not answered, of each blob. More than is still
    /// awaited: the peer may report that it lacks a blob, receive it, and then answer the requests
    /// that were on their way.
    n_unanswered: BTreeMap<ContentHash, u32>,
}

impl LinkRequests {
    fn ask_for_tree(&mut self, hash: ContentHash) -> PoolRequest {
        self.trees.insert(hash);
        *self.n_unanswered.entry(hash).or_default() += 1;
        PoolRequest::Tree(hash)
    }

    fn ask_for_part(&mut self, hash: ContentHash, index: u64) -> PoolRequest {
        self.parts.insert((hash, index));
        *self.n_unanswered.entry(hash).or_default() += 1;
        PoolRequest::Part(hash, index)
    }

    /// Counts an answer. Reports whether there was a request for it.
    fn count_answer(&mut self, hash: &ContentHash) -> bool {
        let Some(n) = self.n_unanswered.get_mut(hash) else { return false };
        *n -= 1;
        if *n == 0 {
            self.n_unanswered.remove(hash);
        }
        true
    }
}

#[derive(Debug, Default)]
struct PooledBlob {
    /// The greatest size in the rows that name it, in bytes.
    size: u64,
    /// The links whose peers do not have it.
    lacking: BTreeSet<LinkId>,
    open: Option<OpenBlob>,
    /// Whether a link verifies the parts that an earlier process received.
    is_opening: bool,
}

/// A blob whose parts are being received.
#[derive(Debug)]
struct OpenBlob {
    tree: BlobTree,
    /// The parts; `None` while the store reads them.
    store: Option<PartStore>,
    parts: Vec<PartState>,
    n_arrived: usize,
    /// No part before it is missing.
    first_missing: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PartState {
    Missing,
    Asked(LinkId),
    Arrived,
}

impl BlobPool {
    /// Makes the pool of a store. Parts are kept beside the store, if it is in a file.
    pub fn of(store: &dyn Store) -> Self {
        let directory = store.derived_directory().map(|derived| derived.join(DIRECTORY));
        Self { directory, ..Self::default() }
    }

    /// Makes a link for a connection.
    pub(crate) fn link(self: &Arc<Self>) -> PoolLink {
        let mut state = self.state.lock();
        state.last_link += 1;
        let id = state.last_link;
        if let Some(directory) = self.directory.as_ref().filter(|_| id == 1) {
            PartialFile::remove_abandoned(directory);
        }
        state.links.insert(id, LinkRequests::default());
        drop(state);
        PoolLink { pool: self.clone(), id }
    }
}

impl PoolLink {
    /// Adds a blob that the store lacks. Reports whether the pool fetches it.
    pub(crate) fn want(&self, hash: ContentHash, size: u64) -> bool {
        if size <= PART_LEN || size.div_ceil(PART_LEN) > MAX_TREE_PARTS {
            return false;
        }
        let mut state = self.pool.state.lock();
        if state.blobs.len() >= MAX_POOLED && !state.blobs.contains_key(&hash) {
            return false;
        }
        let blob = state.blobs.entry(hash).or_default();
        blob.size = blob.size.max(size);
        true
    }

    /// Returns the state of a blob.
    pub(crate) fn state_of(&self, hash: &ContentHash) -> PoolBlobState {
        match self.pool.state.lock().blobs.get(hash) {
            None => PoolBlobState::Arrived,
            Some(blob) if blob.lacking.contains(&self.id) => PoolBlobState::Lacking,
            Some(_) => PoolBlobState::Awaited,
        }
    }

    /// Returns what to ask the peer for next.
    pub(crate) fn next_request(&self) -> Option<PoolRequest> {
        let mut state = self.pool.state.lock();
        let PoolState { blobs, links, .. } = &mut *state;
        let asked = links.get_mut(&self.id)?;
        if asked.parts.len() >= MAX_ASKED_PARTS {
            return None;
        }
        let here = |blob: &PooledBlob| !blob.lacking.contains(&self.id);
        for (hash, blob) in blobs.iter_mut().filter(|(_, blob)| here(blob)) {
            let Some(index) = blob.open.as_mut().and_then(|open| open.claim(self.id)) else {
                continue;
            };
            return Some(asked.ask_for_part(*hash, index));
        }
        let is_idle = asked.parts.is_empty() && asked.trees.is_empty();
        if is_idle && let Some((hash, index)) = self.second_request(&state) {
            return Some(state.links.get_mut(&self.id)?.ask_for_part(hash, index));
        }
        self.next_tree(&mut state)
    }

    /// Returns a part that another link has asked for, and that has not arrived: its peer may be
    /// slow, or never answer.
    fn second_request(&self, state: &PoolState) -> Option<(ContentHash, u64)> {
        let is_late = |part: &PartState| matches!(part, PartState::Asked(_));
        state.blobs.iter().find_map(|(hash, blob)| {
            let open = blob.open.as_ref().filter(|_| !blob.lacking.contains(&self.id))?;
            let index = open.parts.iter().position(is_late)?;
            Some((*hash, index as u64))
        })
    }

    /// Returns a blob whose hashes to ask for. A link that waits for nothing asks for those that
    /// another one asked for: the peer of the other may never answer.
    fn next_tree(&self, state: &mut PoolState) -> Option<PoolRequest> {
        let is_idle = state.links.get(&self.id)?.trees.is_empty();
        let asked: BTreeSet<ContentHash> =
            state.links.values().flat_map(|link| link.trees.iter().copied()).collect();
        let n_open = state.blobs.values().filter(|blob| blob.is_open()).count();
        let is_full = n_open + asked.len() >= MAX_OPEN && !state.close_stuck();
        let wanted = state.blobs.iter().filter(|(hash, blob)| {
            let may_ask = if asked.contains(hash) { is_idle } else { !is_full };
            may_ask && !blob.is_open() && !blob.lacking.contains(&self.id)
        });
        // One that no other link asks for comes first.
        let (hash, _) = wanted.min_by_key(|(hash, _)| asked.contains(hash))?;
        let hash = *hash;
        Some(state.links.get_mut(&self.id)?.ask_for_tree(hash))
    }

    /// Processes the hashes of the parts of a blob.
    ///
    /// # Errors
    ///
    /// [`ReplicaError::BadBlob`] if they are not those of the blob, or more than its row allows.
    pub(crate) fn receive_tree(&self, hash: ContentHash, bytes: &[u8]) -> Result<(), ReplicaError> {
        let mut state = self.pool.state.lock();
        let PoolState { blobs, links, .. } = &mut *state;
        let link = links.get_mut(&self.id).ok_or(ReplicaError::Unasked)?;
        if !link.count_answer(&hash) {
            return Err(ReplicaError::Unasked);
        }
        if !link.trees.remove(&hash) {
            return Ok(());
        }
        // It may have arrived by another link meanwhile.
        let Some(blob) = blobs.get_mut(&hash).filter(|blob| !blob.is_open()) else {
            return Ok(());
        };
        let max_parts = blob.size.max(MIN_LIMIT).div_ceil(PART_LEN);
        let tree = BlobTree::verify(hash, bytes).filter(|tree| tree.n_parts() as u64 <= max_parts);
        let tree = tree.ok_or(ReplicaError::BadBlob(hash))?;
        blob.is_opening = true;
        drop(state);
        let opened = OpenBlob::new(tree, self.pool.directory.as_ref());
        let mut state = self.pool.state.lock();
        let blob = state.blobs.entry(hash).or_default();
        blob.is_opening = false;
        blob.open = Some(opened?);
        Ok(())
    }

    /// Processes a part. Reports whether the blob is complete and in the store.
    ///
    /// # Errors
    ///
    /// [`ReplicaError::BadBlob`] if it is not that part of the blob.
    pub(crate) fn receive_part(
        &self,
        store: &dyn Store,
        hash: ContentHash,
        index: u64,
        data: &[u8],
    ) -> Result<bool, ReplicaError> {
        let mut state = self.pool.state.lock();
        let PoolState { blobs, links, .. } = &mut *state;
        let link = links.get_mut(&self.id).ok_or(ReplicaError::Unasked)?;
        if !link.count_answer(&hash) {
            return Err(ReplicaError::Unasked);
        }
        if !link.parts.remove(&(hash, index)) {
            return Ok(false);
        }
        let Some(open) = blobs.get_mut(&hash).and_then(|blob| blob.open.as_mut()) else {
            return Ok(false);
        };
        if !open.receive(hash, index, data)? {
            return Ok(false);
        }
        let mut parts = open.store.take().expect("parts arrive before the store reads them");
        // The entry stays until the store has the blob, so that no link counts it as arrived.
        drop(state);
        let put = parts.rewind().map_err(ReplicaError::from).and_then(|()| {
            let info = store.put_blob(&mut parts, SystemClock.now())?;
            if info.hash == hash { Ok(()) } else { Err(ReplicaError::BadBlob(hash)) }
        });
        // If the store fails, another connection or process may try again.
        if matches!(put, Ok(()) | Err(ReplicaError::BadBlob(_))) {
            parts.discard();
        }
        let mut state = self.pool.state.lock();
        if put.is_ok() {
            state.n_arrivals += 1;
            state.blobs.remove(&hash);
        } else if let Some(blob) = state.blobs.get_mut(&hash) {
            blob.open = None;
        }
        put.map(|()| true)
    }

    /// Returns the number of blobs that have arrived by any link.
    pub(crate) fn n_arrivals(&self) -> u64 {
        self.pool.state.lock().n_arrivals
    }

    /// Counts a blob that was fetched whole.
    pub(crate) fn note_arrival(&self) {
        self.pool.state.lock().n_arrivals += 1;
    }

    /// Offers a blob that is fetched whole, and that the peer of this link lacks, to the others.
    pub(crate) fn offer(&self, hash: ContentHash, size: u64) {
        let mut state = self.pool.state.lock();
        if state.lacked.len() == MAX_OFFERED {
            state.lacked.pop_front();
            state.n_dropped += 1;
        }
        state.lacked.push_back((self.id, hash, size));
    }

    /// Returns the number of offers so far.
    pub(crate) fn n_offers(&self) -> usize {
        let state = self.pool.state.lock();
        state.n_dropped + state.lacked.len()
    }

    /// Returns what other links offered after the first `n_seen` offers.
    pub(crate) fn offers_after(&self, n_seen: usize) -> Vec<(ContentHash, u64)> {
        let state = self.pool.state.lock();
        let new = state.lacked.iter().skip(n_seen.saturating_sub(state.n_dropped));
        let others = new.filter(|(link, ..)| *link != self.id);
        others.map(|(_, hash, size)| (*hash, *size)).collect()
    }

    /// Records that the peer has a blob that it lacked.
    pub(crate) fn regained(&self, hash: &ContentHash) {
        if let Some(blob) = self.pool.state.lock().blobs.get_mut(hash) {
            blob.lacking.remove(&self.id);
        }
    }

    /// Records that the peer lacks a blob, if it was asked for it.
    pub(crate) fn lacking(&self, hash: &ContentHash) {
        let mut state = self.pool.state.lock();
        let link = state.links.get_mut(&self.id);
        if !link.is_some_and(|link| link.count_answer(hash)) {
            return;
        }
        state.give_back(self.id, Some(hash));
        if let Some(blob) = state.blobs.get_mut(hash) {
            blob.lacking.insert(self.id);
        }
    }
}

impl Drop for PoolLink {
    fn drop(&mut self) {
        let mut state = self.pool.state.lock();
        state.give_back(self.id, None);
        state.links.remove(&self.id);
        for blob in state.blobs.values_mut() {
            blob.lacking.remove(&self.id);
        }
        if state.links.is_empty() {
            // The next connection names what the store lacks. Parts that arrived stay.
            state.blobs.retain(|_, blob| blob.is_open());
            state.lacked = VecDeque::new();
        }
    }
}

impl PoolState {
    /// Lets other links ask for what a link has asked for, of one blob or of all.
    fn give_back(&mut self, id: LinkId, of: Option<&ContentHash>) {
        let Some(link) = self.links.get_mut(&id) else { return };
        let is_meant = |hash: &ContentHash| of.is_none_or(|of| of == hash);
        link.trees.retain(|hash| !is_meant(hash));
        let parts = std::mem::take(&mut link.parts);
        for (hash, index) in parts {
            if !is_meant(&hash) {
                link.parts.insert((hash, index));
                continue;
            }
            let open = self.blobs.get_mut(&hash).and_then(|blob| blob.open.as_mut());
            if let Some(open) = open {
                open.give_back(id, index);
            }
        }
    }

    /// Discards the parts of a blob that no link can continue, to make room for another. Reports
    /// whether there was one.
    fn close_stuck(&mut self) -> bool {
        let links: BTreeSet<LinkId> = self.links.keys().copied().collect();
        let is_stuck = |blob: &&mut PooledBlob| {
            let is_idle = blob.open.as_ref().is_some_and(|open| open.store.is_some());
            is_idle && links.is_subset(&blob.lacking)
        };
        let stuck = self.blobs.values_mut().find(is_stuck);
        stuck.map(|blob| blob.open = None).is_some()
    }
}

impl PooledBlob {
    fn is_open(&self) -> bool {
        self.is_opening || self.open.is_some()
    }
}

impl OpenBlob {
    fn new(tree: BlobTree, directory: Option<&SealedDirectory>) -> Result<Self, ReplicaError> {
        let (store, mut arrived) = PartStore::open(directory, &tree)?;
        // If the process ended before the store had read all parts, one is fetched again: then the
        // blob is completed as others are.
        if arrived.iter().all(|arrived| *arrived) {
            arrived[0] = false;
        }
        let n_arrived = arrived.iter().filter(|arrived| **arrived).count();
        let state = |arrived| if arrived { PartState::Arrived } else { PartState::Missing };
        let parts = arrived.into_iter().map(state).collect();
        Ok(Self { tree, store: Some(store), parts, n_arrived, first_missing: 0 })
    }

    /// Takes the first part that no link has asked for.
    fn claim(&mut self, link: LinkId) -> Option<u64> {
        let after = &self.parts[self.first_missing..];
        let found = after.iter().position(|part| *part == PartState::Missing);
        let Some(found) = found else {
            self.first_missing = self.parts.len();
            return None;
        };
        let index = self.first_missing + found;
        self.parts[index] = PartState::Asked(link);
        self.first_missing = index + 1;
        Some(index as u64)
    }

    fn give_back(&mut self, link: LinkId, index: u64) {
        let index = usize::try_from(index).unwrap_or(usize::MAX);
        if self.parts.get(index) == Some(&PartState::Asked(link)) {
            self.parts[index] = PartState::Missing;
            self.first_missing = self.first_missing.min(index);
        }
    }

    /// Keeps a part. Reports whether it was the last one.
    fn receive(
        &mut self,
        hash: ContentHash,
        index: u64,
        data: &[u8],
    ) -> Result<bool, ReplicaError> {
        let at = usize::try_from(index).map_err(|_| ReplicaError::Unasked)?;
        if !self.tree.has_part(at, data) {
            // Another peer is asked.
            if self.parts.get(at).is_some_and(|part| *part != PartState::Arrived) {
                self.parts[at] = PartState::Missing;
                self.first_missing = self.first_missing.min(at);
            }
            return Err(ReplicaError::BadBlob(hash));
        }
        let Some(store) = &mut self.store else { return Ok(false) };
        if self.parts[at] == PartState::Arrived {
            return Ok(false);
        }
        if let Err(error) = store.write_part(index, data) {
            self.parts[at] = PartState::Missing;
            self.first_missing = self.first_missing.min(at);
            return Err(error.into());
        }
        self.parts[at] = PartState::Arrived;
        self.n_arrived += 1;
        Ok(self.n_arrived == self.parts.len())
    }
}

#[cfg(test)]
mod tests {
    use yfs_store::MemoryStore;

    use super::*;
    use crate::blob_tree::hash_parts;

    const SIZE: u64 = 3 * PART_LEN;

    /// A peer was disconnected that reported a blob as lacking, received it, and then answered what
    /// had been asked of it before.
    #[test]
    fn requests_on_their_way_may_be_answered_after_a_blob_was_lacking() {
        let content = vec![7; SIZE as usize];
        let hash = ContentHash::of(&content);
        let read = |range: std::ops::Range<u64>| {
            Ok::<_, ReplicaError>(content[range.start as usize..range.end as usize].to_vec())
        };
        let tree = hash_parts(&hash, SIZE, read).expect("read").expect("few parts");
        let pool = Arc::new(BlobPool::default());
        let (slow, other) = (pool.link(), pool.link());
        assert!(slow.want(hash, SIZE) && other.want(hash, SIZE));
        assert_eq!(slow.next_request(), Some(PoolRequest::Tree(hash)));
        assert_eq!(other.next_request(), Some(PoolRequest::Tree(hash)));
        other.receive_tree(hash, &tree).expect("asked for");
        assert_eq!(slow.next_request(), Some(PoolRequest::Part(hash, 0)));
        // The hashes are not there yet; the part is, a moment later.
        slow.lacking(&hash);
        let store = MemoryStore::new();
        let part = &content[..PART_LEN as usize];
        assert!(!slow.receive_part(&store, hash, 0, part).expect("asked for"));
        let again = slow.receive_part(&store, hash, 0, part);
        assert!(matches!(again, Err(ReplicaError::Unasked)), "{again:?}");
        assert!(matches!(slow.receive_tree(hash, &tree), Err(ReplicaError::Unasked)));
    }
}
