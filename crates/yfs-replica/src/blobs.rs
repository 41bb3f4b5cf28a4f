//! Blobs on their way: asked for, sent in parts, put together.

use std::{
    collections::{BTreeSet, VecDeque},
    fs::File,
    io::{Seek, Write},
};

use yfs::clock::{Clock, SystemClock};
use yfs_engine::hash::ContentHash;
use yfs_store::{Store, StoreError};
use yfs_sync::replica::Message;

use crate::session::ReplicaError;

/// How many bytes of a blob one message carries.
const PART_LEN: u64 = 256 << 10;

/// How many hashes one message asks for.
const MAX_ASKED: usize = 256;

/// How many hashes the other may have asked for at once.
const MAX_OWED: usize = 1 << 20;

/// What one side lacks and what it owes.
#[derive(Debug, Default)]
pub(crate) struct Blobs {
    /// What is to be asked for.
    wanted: VecDeque<ContentHash>,
    /// What was asked for.
    asked: BTreeSet<ContentHash>,
    /// The blob that arrives now.
    arriving: Option<Arriving>,
    /// What the other asked for.
    owed: VecDeque<ContentHash>,
    /// The blob that is being sent, and how far.
    sending: Option<(ContentHash, u64, u64)>,
    /// How many arrived.
    pub(crate) n_received: u64,
    /// How many the other lacks as well.
    pub(crate) n_lacking: u64,
}

/// A blob of which parts have arrived. They go to a file, so that a large one is never in memory.
#[derive(Debug)]
struct Arriving {
    hash: ContentHash,
    file: File,
}

impl Blobs {
    /// Adds what is to be asked for.
    pub(crate) fn want(&mut self, hashes: impl IntoIterator<Item = ContentHash>) {
        let asked = &self.asked;
        self.wanted.extend(hashes.into_iter().filter(|hash| !asked.contains(hash)));
    }

    /// Tells whether nothing is missing that was wanted.
    pub(crate) fn is_settled(&self) -> bool {
        self.wanted.is_empty() && self.asked.is_empty()
    }

    /// Tells whether nothing is owed.
    pub(crate) fn owes_nothing(&self) -> bool {
        self.owed.is_empty() && self.sending.is_none()
    }

    /// Notes what the other asks for.
    pub(crate) fn owe(&mut self, hashes: Vec<ContentHash>) -> Result<(), ReplicaError> {
        if self.owed.len() + hashes.len() > MAX_OWED {
            return Err(ReplicaError::TooMuch);
        }
        self.owed.extend(hashes);
        Ok(())
    }

    /// Takes a part that was asked for.
    pub(crate) fn receive(
        &mut self,
        store: &dyn Store,
        hash: ContentHash,
        data: &[u8],
        is_last: bool,
    ) -> Result<(), ReplicaError> {
        if !self.asked.contains(&hash) {
            return Err(ReplicaError::Unasked);
        }
        let mut arriving = match self.arriving.take() {
            Some(arriving) if arriving.hash == hash => arriving,
            Some(_) => return Err(ReplicaError::Unasked),
            None => Arriving { hash, file: tempfile::tempfile()? },
        };
        arriving.file.write_all(data)?;
        if !is_last {
            self.arriving = Some(arriving);
            return Ok(());
        }
        arriving.file.rewind()?;
        self.asked.remove(&hash);
        // One that has another hash is nobody's, and goes with others of its kind.
        if store.put_blob(&mut arriving.file, SystemClock.now())?.hash != hash {
            return Err(ReplicaError::BadBlob(hash));
        }
        self.n_received += 1;
        Ok(())
    }

    /// Notes that the other lacks a blob as well. Its file cannot be read until somebody has it.
    pub(crate) fn lacking(&mut self, hash: &ContentHash) {
        if self.asked.remove(hash) {
            self.n_lacking += 1;
        }
    }

    /// Returns the next frame, if there is one to send.
    pub(crate) fn next_frame(&mut self, store: &dyn Store) -> Result<Option<Vec<u8>>, StoreError> {
        if !self.wanted.is_empty() {
            let n_hashes = self.wanted.len().min(MAX_ASKED);
            let hashes: Vec<ContentHash> = self.wanted.drain(..n_hashes).collect();
            self.asked.extend(&hashes);
            return Ok(Some(Message::Want(hashes).encode()));
        }
        let (hash, at, size) = match self.sending.take() {
            Some(sending) => sending,
            None => {
                let Some(hash) = self.owed.pop_front() else { return Ok(None) };
                match store.blob_info(&hash)? {
                    Some(info) => (hash, 0, info.size),
                    None => return Ok(Some(Message::Lacking(hash).encode())),
                }
            }
        };
        let end = size.min(at + PART_LEN);
        let data = store.read_blob(&hash, at..end)?;
        let is_last = end == size;
        self.sending = (!is_last).then_some((hash, end, size));
        Ok(Some(Message::Blob { hash, is_last, data: &data }.encode()))
    }
}
