//! Blobs: content that is not text, kept by the hash of its bytes.

use yfs_types::{hash::ContentHash, time::Millis};

/// A moment in the order in which blobs were put into a store.
///
/// The store defines the order, not a clock: putting a blob again moves it to the end of the order.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlobMark(pub(crate) u64);

/// A blob that the store holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlobInfo {
    /// The BLAKE3 hash of the whole content.
    pub hash: ContentHash,
    /// The length of the content, in bytes.
    pub size: u64,
    /// When it was last put, by the clock of the caller that put it.
    pub at: Millis,
}
