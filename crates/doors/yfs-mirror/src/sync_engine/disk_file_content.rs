//! The content of a file as it was read from the disk.

use bytes::Bytes;
use yfs_engine::hash::ContentHash;

use crate::mirror_state::DiskStamp;

/// The content of a file as it was read from the disk.
#[derive(Debug, Clone)]
pub(super) struct DiskFileContent {
    pub(super) data: Bytes,
    pub(super) hash: ContentHash,
    pub(super) stamp: DiskStamp,
    /// Whether a program had it open for writing.
    pub(super) has_writer: bool,
}
