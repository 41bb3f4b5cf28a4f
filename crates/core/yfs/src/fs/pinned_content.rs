//! The content of a file as of one moment, for those that read it while it changes.

use std::sync::Arc;

use bytes::Bytes;
use yfs_engine::{id::FileId, path::VPath, table::BlobRef};
use yfs_store::Store;
use yfs_vfs::{FsCode, FsError, Op, VersionToken};

use super::{ContentLocation, WorkspaceFs};

/// The content of a file as of one moment. It can be read while the file changes, is renamed or is
/// removed.
#[derive(Debug, Clone)]
pub struct PinnedContent {
    /// The file.
    pub id: FileId,
    /// The version of the content, which can be the base of a write.
    pub version: VersionToken,
    bytes: PinnedBytes,
}

#[derive(Debug, Clone)]
enum PinnedBytes {
    Memory(Bytes),
    Blob(BlobRef, Arc<dyn Store>),
}

impl WorkspaceFs {
    /// Returns the content of a file as it is now. A text is held in memory, shared with the cache;
    /// a blob is read from the store, piece by piece.
    ///
    /// # Errors
    ///
    /// Fails as [`FileSystem::read`](yfs_vfs::FileSystem::read) does.
    pub fn pin(&self, path: &VPath) -> Result<PinnedContent, FsError> {
        let found = self.resolve_at(Op::Open, path)?;
        if let ContentLocation::Blob(blob) = found.location {
            let version = self.reader().refreshed_version_of(&found, path)?;
            let bytes = PinnedBytes::Blob(blob, self.state.store.clone());
            return Ok(PinnedContent { id: found.id, version, bytes });
        }
        let content = self.reader().read_found(path, &found)?;
        let bytes = PinnedBytes::Memory(content.data);
        Ok(PinnedContent { id: found.id, version: content.version, bytes })
    }
}

impl PinnedContent {
    /// Returns the number of bytes.
    pub fn size(&self) -> u64 {
        match &self.bytes {
            PinnedBytes::Memory(data) => data.len() as u64,
            PinnedBytes::Blob(blob, _) => blob.size,
        }
    }

    /// Returns the content if it is in memory: all texts are.
    pub fn in_memory(&self) -> Option<&Bytes> {
        match &self.bytes {
            PinnedBytes::Memory(data) => Some(data),
            PinnedBytes::Blob(..) => None,
        }
    }

    /// Returns up to `len` bytes from byte `offset` on: fewer only at the end, none past it.
    ///
    /// # Errors
    ///
    /// `EIO` if the store fails, or has the blob no more.
    pub fn read_range(&self, offset: u64, len: u64) -> Result<Bytes, FsError> {
        let start = offset.min(self.size());
        let end = start.saturating_add(len).min(self.size());
        match &self.bytes {
            PinnedBytes::Memory(data) => Ok(data.slice(start as usize..end as usize)),
            PinnedBytes::Blob(blob, store) => match store.read_blob(&blob.hash, start..end) {
                Ok(data) => Ok(data.into()),
                Err(error) => Err(FsError::bare(FsCode::EIO, Op::Read).caused_by(error)),
            },
        }
    }
}
