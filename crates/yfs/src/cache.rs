//! The plaintext cache: the texts of files, by file id, bounded in bytes.
//!
//! An entry is stored while the document's lock is held, and dropped when an update of the document
//! arrives, so it never outlives the state that it was read from.

use std::sync::Arc;

use quick_cache::{Weighter, sync::Cache};
use yfs_engine::id::FileId;
use yfs_store::DocHead;

/// The bytes of an entry besides its text: key, pointers, table slot.
const OVERHEAD: u64 = 112;

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
}

#[derive(Debug, Clone)]
struct ByBytes;

impl TextCache {
    /// Makes a cache of at most `budget` bytes.
    pub(crate) fn new(budget: u64) -> Self {
        let estimated_items = usize::try_from(budget / 4096).unwrap_or(usize::MAX).max(64);
        Self { cache: Cache::with_weighter(estimated_items, budget, ByBytes) }
    }

    pub(crate) fn get(&self, id: &FileId) -> Option<CachedText> {
        self.cache.get(id)
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
