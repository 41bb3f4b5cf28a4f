//! The plaintext cache: the texts of files, by file id, bounded in bytes.
//!
//! An entry is stored while the document's lock is held, and dropped when an update of the document
//! arrives, so it never outlives the state that it was read from.

use std::{
    hash::{BuildHasher, RandomState},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use quick_cache::{Weighter, sync::Cache};
use yfs_engine::id::FileId;
use yfs_store::DocHead;

/// The bytes of an entry besides its text: key, pointers, table slot.
const OVERHEAD: u64 = 112;

/// The number of recent requests for files that the cache remembers.
const N_ASKED: usize = 1 << 14;

/// The text of a file, and the record of its document at which it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CachedText {
    /// The text.
    pub(crate) content: Arc<str>,
    /// The last record that the text includes.
    pub(crate) head: DocHead,
}

/// Texts of files that were read.
#[derive(Debug)]
pub(crate) struct TextCache {
    cache: Cache<FileId, CachedText, ByBytes>,
    /// The hashes of files that were asked for, each at a place that its hash determines.
    asked: Box<[AtomicU64]>,
    hasher: RandomState,
}

#[derive(Debug, Clone)]
struct ByBytes;

impl TextCache {
    /// Makes a cache of at most `budget` bytes.
    pub(crate) fn new(budget: u64) -> Self {
        let estimated_items = usize::try_from(budget / 4096).unwrap_or(usize::MAX).max(64);
        let asked = std::iter::repeat_with(AtomicU64::default).take(N_ASKED);
        Self {
            cache: Cache::with_weighter(estimated_items, budget, ByBytes),
            asked: asked.collect(),
            hasher: RandomState::new(),
        }
    }

    pub(crate) fn get(&self, id: &FileId) -> Option<CachedText> {
        self.cache.get(id)
    }

    /// Reports whether a file was asked for lately, and notes that it is. A text that is read once,
    /// as by a search, is not worth its place.
    pub(crate) fn is_asked_again(&self, id: &FileId) -> bool {
        let hash = self.hasher.hash_one(id);
        let at = &self.asked[hash as usize % self.asked.len()];
        at.swap(hash, Ordering::Relaxed) == hash
    }

    pub(crate) fn put(&self, id: &FileId, text: &CachedText) {
        self.cache.insert(id.clone(), text.clone());
    }

    pub(crate) fn forget(&self, id: &FileId) {
        self.cache.remove(id);
    }

    /// Returns the number of texts and their size in bytes.
    pub(crate) fn usage(&self) -> (usize, u64) {
        (self.cache.len(), self.cache.weight())
    }
}

impl Weighter<FileId, CachedText> for ByBytes {
    fn weight(&self, _id: &FileId, text: &CachedText) -> u64 {
        OVERHEAD + text.content.len() as u64
    }
}
