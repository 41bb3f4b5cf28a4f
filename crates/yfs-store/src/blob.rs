//! Blobs: content that is not text, kept by the hash of its bytes.

use yfs_types::{hash::ContentHash, time::Millis};

/// A moment in the order in which blobs were put into a store.
///
/// It is the store's own order, which no clock decides: a blob that is put again counts as put
/// then.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlobMark(pub(crate) u64);

/// A blob that the store holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlobInfo {
    /// The BLAKE3 hash of the whole content.
    pub hash: ContentHash,
    /// The length of the content, in bytes.
    pub size: u64,
    /// The time of the last put, by the clock of the process that put it.
    pub at: Millis,
}
