//! Blobs: content that is not text, kept by the hash of its bytes.

use yfs_engine::{hash::ContentHash, time::Millis};

/// A blob that the store holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlobInfo {
    /// The BLAKE3 hash of the whole content.
    pub hash: ContentHash,
    /// The length of the content, in bytes.
    pub size: u64,
    /// When it was put last, by the clock of whoever put it.
    pub at: Millis,
}
