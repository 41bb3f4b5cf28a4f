//! The transfer of blobs: requested by hash, sent in parts, and assembled.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    io::Write,
};

use yfs::{
    SpoolFile,
    clock::{Clock, SystemClock},
};
use yfs_engine::hash::ContentHash;
use yfs_store::{Store, StoreExt};
use yfs_sync::replica::ReplicaMessage;

use crate::{
    blob_pool::{PoolBlobState, PoolLink, PoolRequest},
    blob_tree::{MAX_TREE_PARTS, PART_LEN, hash_parts},
    replica_error::ReplicaError,
};

/// The most hashes in one request.
const MAX_ASKED: usize = 256;

/// The most hashes that may be requested and not received yet.
const MAX_OUTSTANDING: usize = 16 * MAX_ASKED;

/// The most hashes that the peer may have requested and not received yet.
const MAX_OWED: usize = 1 << 16;

/// The size that every blob may have, in bytes, whatever its row says. A larger blob may have at
/// most the size in its row.
const MIN_LIMIT: u64 = 16 << 20;

/// The most parts, and the most lists of hashes of parts, that the peer may have requested and not
/// received yet.
const MAX_OWED_PARTS: usize = 1 << 12;
const MAX_OWED_TREES: usize = 64;

/// How often the hashes of the parts of one blob are sent. Each time reads the whole blob.
const MAX_TREE_ANSWERS: u8 = 8;

/// The most hashes that this side lacked and reports once they have arrived.
const MAX_REPORTED_LACKING: usize = 1 << 12;

/// The most blobs that the peer lacks and that are looked up after each arrival.
const MAX_CHECKED_LACKING: usize = 256;

/// The state of the transfer of blobs in both directions.
#[derive(Debug, Default)]
pub(crate) struct BlobExchange {
    /// The hashes to request, with the sizes in their rows.
    wanted: BTreeMap<ContentHash, u64>,
    /// The requested hashes, with the sizes in their rows.
    asked: BTreeMap<ContentHash, u64>,
    /// The blob that is being received.
    arriving: Option<IncomingBlob>,
    /// The hashes that the peer requested, in that order, each once.
    owed: VecDeque<ContentHash>,
    is_owed: BTreeSet<ContentHash>,
    /// The blob that is being sent, the offset of its next part, and its size, both in bytes.
    sending: Option<(ContentHash, u64, u64)>,
    /// The connection of the pool that fetches large blobs, if there is one.
    link: Option<PoolLink>,
    /// The hashes that the pool fetches and that this connection waits for, with the sizes in
    /// their rows.
    pooled: BTreeMap<ContentHash, u64>,
    /// The number of offers of other connections that were considered, and whether the exchange has
    /// begun, so that the peer may be asked.
    n_offers: usize,
    has_begun: bool,
    /// The hashes that were requested and that the peer lacks as well, with the sizes.
    lacked: BTreeMap<ContentHash, u64>,
    /// The hashes that the peer requested and that this side lacked, and those of them that have
    /// arrived since.
    reported_lacking: BTreeSet<ContentHash>,
    arrived_since: VecDeque<ContentHash>,
    /// The number of arrivals in the pool when the hashes above were checked.
    n_arrivals: u64,
    /// The parts, and the lists of hashes of parts, that the peer requested.
    owed_parts: VecDeque<(ContentHash, u64)>,
    owed_trees: VecDeque<ContentHash>,
    n_tree_answers: BTreeMap<ContentHash, u8>,
    /// The number of blobs received.
    pub(crate) n_received: u64,
}

/// A partly received blob. Its parts are written to a file, so that a large one is never in memory.
#[derive(Debug)]
struct IncomingBlob {
    hash: ContentHash,
    file: SpoolFile,
    len: u64,
}

impl BlobExchange {
    /// Fetches large blobs together with the other connections of a pool.
    pub(crate) fn set_link(&mut self, link: PoolLink) {
        self.n_offers = link.n_offers();
        self.link = Some(link);
    }

    /// Adds hashes to request, with the sizes in their rows. Called first when the exchange begins.
    pub(crate) fn request(&mut self, blobs: impl IntoIterator<Item = (ContentHash, u64)>) {
        self.has_begun = true;
        for (hash, size) in blobs {
            let is_asked = self.asked.contains_key(&hash) || self.wanted.contains_key(&hash);
            if !is_asked && self.link.as_ref().is_some_and(|link| link.want(hash, size)) {
                let known = self.pooled.entry(hash).or_default();
                *known = size.max(*known);
                continue;
            }
            let known = match self.asked.get_mut(&hash) {
                Some(known) => known,
                None => self.wanted.entry(hash).or_default(),
            };
            *known = size.max(*known);
        }
    }

    /// Reports whether all wanted blobs have arrived or are known to be missing.
    pub(crate) fn is_settled(&mut self) -> bool {
        if let Some(link) = &self.link {
            self.pooled.retain(|hash, size| {
                let state = link.state_of(hash);
                if state == PoolBlobState::Lacking {
                    self.lacked.insert(*hash, *size);
                }
                state == PoolBlobState::Awaited
            });
        }
        self.wanted.is_empty() && self.asked.is_empty() && self.pooled.is_empty()
    }

    /// Reports whether every request of the peer has been answered.
    pub(crate) fn has_sent_all(&self) -> bool {
        let has_sent_parts = self.owed_parts.is_empty() && self.owed_trees.is_empty();
        self.owed.is_empty() && self.sending.is_none() && has_sent_parts
    }

    /// Adds a blob for whose hashes of parts the peer asks.
    pub(crate) fn queue_tree(&mut self, hash: ContentHash) -> Result<(), ReplicaError> {
        if self.owed_trees.len() >= MAX_OWED_TREES {
            return Err(ReplicaError::TooMuch);
        }
        self.owed_trees.push_back(hash);
        Ok(())
    }

    /// Adds a part that the peer requests.
    pub(crate) fn queue_part(&mut self, hash: ContentHash, index: u64) -> Result<(), ReplicaError> {
        if self.owed_parts.len() >= MAX_OWED_PARTS {
            return Err(ReplicaError::TooMuch);
        }
        self.owed_parts.push_back((hash, index));
        Ok(())
    }

    /// Processes the hashes of the parts of a blob.
    pub(crate) fn receive_tree(
        &mut self,
        hash: ContentHash,
        parts: &[u8],
    ) -> Result<(), ReplicaError> {
        self.link.as_ref().ok_or(ReplicaError::Unasked)?.receive_tree(hash, parts)
    }

    /// Processes a part of a blob.
    pub(crate) fn receive_part(
        &mut self,
        store: &dyn Store,
        hash: ContentHash,
        index: u64,
        data: &[u8],
    ) -> Result<(), ReplicaError> {
        let link = self.link.as_ref().ok_or(ReplicaError::Unasked)?;
        self.n_received += u64::from(link.receive_part(store, hash, index, data)?);
        Ok(())
    }

    /// Adds the hashes that the peer requests.
    pub(crate) fn queue_requested(&mut self, hashes: Vec<ContentHash>) -> Result<(), ReplicaError> {
        for hash in hashes {
            if self.is_owed.insert(hash) {
                self.owed.push_back(hash);
            }
        }
        if self.owed.len() > MAX_OWED { Err(ReplicaError::TooMuch) } else { Ok(()) }
    }

    /// Processes a part of a requested blob.
    pub(crate) fn receive(
        &mut self,
        store: &dyn Store,
        hash: ContentHash,
        data: &[u8],
        is_last: bool,
    ) -> Result<(), ReplicaError> {
        let size = *self.asked.get(&hash).ok_or(ReplicaError::Unasked)?;
        let mut arriving = match self.arriving.take() {
            Some(arriving) if arriving.hash == hash => arriving,
            Some(_) => return Err(ReplicaError::Unasked),
            None => IncomingBlob { hash, file: SpoolFile::new()?, len: 0 },
        };
        arriving.len += data.len() as u64;
        if arriving.len > size.max(MIN_LIMIT) {
            return Err(ReplicaError::BadBlob(hash));
        }
        arriving.file.write_all(data)?;
        if !is_last {
            self.arriving = Some(arriving);
            return Ok(());
        }
        arriving.file.rewind()?;
        self.asked.remove(&hash);
        // A blob with the wrong hash stays unreferenced, and is purged with other unreferenced
        // blobs.
        if store.put_blob(&mut arriving.file, SystemClock.now())?.hash != hash {
            return Err(ReplicaError::BadBlob(hash));
        }
        self.n_received += 1;
        if let Some(link) = &self.link {
            link.note_arrival();
        }
        Ok(())
    }

    /// Returns the number of blobs that the peer lacks as well.
    pub(crate) fn n_lacking(&self) -> u64 {
        self.lacked.len() as u64
    }

    /// Requests a blob again that the peer lacked, and has received since.
    pub(crate) fn regained(
        &mut self,
        store: &dyn Store,
        hash: ContentHash,
    ) -> Result<(), ReplicaError> {
        // The pool asks for what any of its connections waits for.
        if let Some(link) = &self.link {
            link.regained(&hash);
        }
        let Some(size) = self.lacked.remove(&hash) else { return Ok(()) };
        if !store.has_blob(&hash)? {
            self.request([(hash, size)]);
        }
        Ok(())
    }

    /// Requests what other connections requested in vain: the peer of this one may have it, though
    /// its rows came by another connection.
    fn take_offers(&mut self, store: &dyn Store) -> Result<(), ReplicaError> {
        let Some(link) = self.link.as_ref().filter(|_| self.has_begun) else { return Ok(()) };
        let n_offers = link.n_offers();
        if n_offers == self.n_offers {
            return Ok(());
        }
        let offers = link.offers_after(self.n_offers);
        self.n_offers = n_offers;
        for (hash, size) in offers {
            if !self.lacked.contains_key(&hash) && !store.has_blob(&hash)? {
                self.request([(hash, size)]);
            }
        }
        Ok(())
    }

    /// Returns a report that a blob has arrived that the peer requested in vain.
    fn next_have_frame(&mut self, store: &dyn Store) -> Result<Option<Vec<u8>>, ReplicaError> {
        let n_arrivals = self.link.as_ref().map_or(0, PoolLink::n_arrivals);
        if n_arrivals != self.n_arrivals && self.lacked.len() <= MAX_CHECKED_LACKING {
            // They may have arrived by another connection.
            let mut still_lacked = BTreeMap::new();
            for (hash, size) in std::mem::take(&mut self.lacked) {
                if !store.has_blob(&hash)? {
                    still_lacked.insert(hash, size);
                }
            }
            self.lacked = still_lacked;
        }
        if n_arrivals != self.n_arrivals && !self.reported_lacking.is_empty() {
            let reported = std::mem::take(&mut self.reported_lacking);
            for hash in reported {
                if store.has_blob(&hash)? {
                    self.arrived_since.push_back(hash);
                } else {
                    self.reported_lacking.insert(hash);
                }
            }
        }
        self.n_arrivals = n_arrivals;
        let arrived = self.arrived_since.pop_front();
        Ok(arrived.map(|hash| ReplicaMessage::Have(hash).encode()))
    }

    /// Returns the answer to a request for a blob that this side lacks.
    fn lacking_frame(&mut self, hash: ContentHash) -> Vec<u8> {
        if self.link.is_some() && self.reported_lacking.len() < MAX_REPORTED_LACKING {
            self.reported_lacking.insert(hash);
        }
        ReplicaMessage::Lacking(hash).encode()
    }

    /// Records that the peer lacks a blob as well. Its file stays unreadable until a peer has the
    /// blob.
    pub(crate) fn lacking(&mut self, hash: &ContentHash) {
        if let Some(size) = self.asked.remove(hash) {
            self.lacked.insert(*hash, size);
            if let Some(link) = &self.link {
                link.offer(*hash, size);
            }
        }
        if let Some(link) = &self.link {
            link.lacking(hash);
        }
    }

    /// Returns the next request of the pool, or the next answer to one of the peer's.
    fn next_part_frame(&mut self, store: &dyn Store) -> Result<Option<Vec<u8>>, ReplicaError> {
        if let Some(request) = self.link.as_ref().and_then(PoolLink::next_request) {
            let message = match request {
                PoolRequest::Tree(hash) => ReplicaMessage::WantTree(hash),
                PoolRequest::Part(hash, index) => ReplicaMessage::WantPart { hash, index },
            };
            return Ok(Some(message.encode()));
        }
        if let Some(hash) = self.owed_trees.pop_front() {
            return self.tree_frame(store, hash).map(Some);
        }
        let Some((hash, index)) = self.owed_parts.pop_front() else { return Ok(None) };
        let at = index.saturating_mul(PART_LEN);
        let info = store.blob_info(&hash)?.filter(|info| index == 0 || at < info.size);
        let Some(size) = info.map(|info| info.size) else {
            return Ok(Some(self.lacking_frame(hash)));
        };
        let data = store.read_blob(&hash, at..size.min(at + PART_LEN))?;
        Ok(Some(ReplicaMessage::Part { hash, index, data: &data }.encode()))
    }

    /// Returns the answer to a request for the hashes of the parts of a blob.
    fn tree_frame(
        &mut self,
        store: &dyn Store,
        hash: ContentHash,
    ) -> Result<Vec<u8>, ReplicaError> {
        let Some(info) = store.blob_info(&hash)? else { return Ok(self.lacking_frame(hash)) };
        let n_answers = self.n_tree_answers.entry(hash).or_default();
        if *n_answers >= MAX_TREE_ANSWERS {
            return Err(ReplicaError::TooMuch);
        }
        *n_answers += 1;
        if info.size.div_ceil(PART_LEN) > MAX_TREE_PARTS {
            return Ok(ReplicaMessage::Lacking(hash).encode());
        }
        let parts = hash_parts(&hash, info.size, |range| store.read_blob(&hash, range))?;
        Ok(match parts {
            Some(parts) => ReplicaMessage::Tree { hash, parts: &parts }.encode(),
            None => self.lacking_frame(hash),
        })
    }

    /// Returns the next frame, if there is one to send.
    pub(crate) fn next_frame(
        &mut self,
        store: &dyn Store,
    ) -> Result<Option<Vec<u8>>, ReplicaError> {
        self.take_offers(store)?;
        if !self.wanted.is_empty() && self.asked.len() + MAX_ASKED <= MAX_OUTSTANDING {
            let next = self.wanted.iter().take(MAX_ASKED);
            let hashes: Vec<ContentHash> = next.map(|(hash, _)| *hash).collect();
            for hash in &hashes {
                self.asked.extend(self.wanted.remove_entry(hash));
            }
            return Ok(Some(ReplicaMessage::Want(hashes).encode()));
        }
        if let Some(frame) = self.next_have_frame(store)? {
            return Ok(Some(frame));
        }
        if let Some(frame) = self.next_part_frame(store)? {
            return Ok(Some(frame));
        }
        let (hash, at, size) = match self.sending.take() {
            Some(sending) => sending,
            None => {
                let Some(hash) = self.owed.pop_front() else { return Ok(None) };
                self.is_owed.remove(&hash);
                match store.blob_info(&hash)? {
                    Some(info) => (hash, 0, info.size),
                    None => return Ok(Some(self.lacking_frame(hash))),
                }
            }
        };
        let end = size.min(at + PART_LEN);
        let data = store.read_blob(&hash, at..end)?;
        let is_last = end == size;
        self.sending = (!is_last).then_some((hash, end, size));
        Ok(Some(ReplicaMessage::Blob { hash, is_last, data: &data }.encode()))
    }
}
