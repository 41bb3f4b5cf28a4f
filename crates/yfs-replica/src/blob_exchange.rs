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
use yfs_store::{Store, StoreError};
use yfs_sync::replica::ReplicaMessage;

use crate::replica_error::ReplicaError;

/// The most bytes of a blob in one message.
const PART_LEN: u64 = 256 << 10;

/// The most hashes in one request.
const MAX_ASKED: usize = 256;

/// The most hashes that may be requested and not received yet.
const MAX_OUTSTANDING: usize = 16 * MAX_ASKED;

/// The most hashes that the peer may have requested and not received yet.
const MAX_OWED: usize = 1 << 16;

/// The size that every blob may have, in bytes, whatever its row says. A larger blob may have at
/// most the size in its row.
const MIN_LIMIT: u64 = 16 << 20;

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
    /// The number of blobs received.
    pub(crate) n_received: u64,
    /// The number of blobs that the peer lacks as well.
    pub(crate) n_lacking: u64,
}

/// A partly received blob. Its parts are written to a file, so that a large one is never in memory.
#[derive(Debug)]
struct IncomingBlob {
    hash: ContentHash,
    file: SpoolFile,
    len: u64,
}

impl BlobExchange {
    /// Adds hashes to request, with the sizes in their rows.
    pub(crate) fn request(&mut self, blobs: impl IntoIterator<Item = (ContentHash, u64)>) {
        for (hash, size) in blobs {
            let known = match self.asked.get_mut(&hash) {
                Some(known) => known,
                None => self.wanted.entry(hash).or_default(),
            };
            *known = size.max(*known);
        }
    }

    /// Reports whether all wanted blobs have arrived or are known to be missing.
    pub(crate) fn is_settled(&self) -> bool {
        self.wanted.is_empty() && self.asked.is_empty()
    }

    /// Reports whether every request of the peer has been answered.
    pub(crate) fn has_sent_all(&self) -> bool {
        self.owed.is_empty() && self.sending.is_none()
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
        Ok(())
    }

    /// Records that the peer lacks a blob as well. Its file stays unreadable until a peer has the
    /// blob.
    pub(crate) fn lacking(&mut self, hash: &ContentHash) {
        if self.asked.remove(hash).is_some() {
            self.n_lacking += 1;
        }
    }

    /// Returns the next frame, if there is one to send.
    pub(crate) fn next_frame(&mut self, store: &dyn Store) -> Result<Option<Vec<u8>>, StoreError> {
        if !self.wanted.is_empty() && self.asked.len() + MAX_ASKED <= MAX_OUTSTANDING {
            let next = self.wanted.iter().take(MAX_ASKED);
            let hashes: Vec<ContentHash> = next.map(|(hash, _)| *hash).collect();
            for hash in &hashes {
                self.asked.extend(self.wanted.remove_entry(hash));
            }
            return Ok(Some(ReplicaMessage::Want(hashes).encode()));
        }
        let (hash, at, size) = match self.sending.take() {
            Some(sending) => sending,
            None => {
                let Some(hash) = self.owed.pop_front() else { return Ok(None) };
                self.is_owed.remove(&hash);
                match store.blob_info(&hash)? {
                    Some(info) => (hash, 0, info.size),
                    None => return Ok(Some(ReplicaMessage::Lacking(hash).encode())),
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
