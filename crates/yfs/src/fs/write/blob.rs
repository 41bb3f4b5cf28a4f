//! Blobs of contents: storing one, and the error of one that was removed.

use yfs_engine::{content::NewBlob, path::VPath, table::BlobRef};
use yfs_store::StoreError;
use yfs_vfs::{FsError, Op};

use crate::{
    error::WorkspaceError,
    fs::{WorkspaceFs, convert_types::fs_error},
};

impl WorkspaceFs {
    /// Stores bytes as a blob.
    pub(in crate::fs) fn put_blob(
        &self,
        op: Op,
        path: &VPath,
        data: &[u8],
    ) -> Result<BlobRef, FsError> {
        let mut reader = data;
        let info = self.state.store.put_blob(&mut reader, self.state.now());
        let info = info.map_err(|error| fs_error(error.into(), op, path))?;
        Ok(BlobRef { hash: info.hash, size: info.size })
    }
}

/// Returns the blob as a document records it, without a media type.
pub(in crate::fs) fn new_blob(blob: BlobRef) -> NewBlob {
    NewBlob { hash: blob.hash, size: blob.size, mime: None }
}

/// Reports whether a call failed because its blob was removed before the row named it.
pub(super) fn is_blob_gone(error: &FsError) -> bool {
    let source = error.source.as_ref().and_then(|source| source.downcast_ref());
    matches!(source, Some(WorkspaceError::Store(StoreError::NoBlob { .. })))
}
