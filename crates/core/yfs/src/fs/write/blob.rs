//! Blobs of contents: storing one, and the error of one that was removed.

use std::io::Read;

use yfs_engine::{content::NewBlob, path::VPath, table::BlobRef, time::Millis};
use yfs_store::StoreError;
use yfs_vfs::{CreateMode, FsCode, FsError, Op, WriteOptions};

use super::FileContentWriter;
use super::{MAX_ATTEMPTS, row_options::row_changes, write_target::WriteTarget};
use crate::{error::WorkspaceError, fs::convert_types::fs_error};

impl FileContentWriter<'_> {
    /// Stores bytes as a blob.
    pub(in crate::fs) fn put_blob(
        &self,
        op: Op,
        path: &VPath,
        data: &[u8],
    ) -> Result<BlobRef, FsError> {
        let mut reader = data;
        self.put_stream(op, path, &mut reader)
    }

    /// Stores the bytes that a reader gives as a blob, piece by piece.
    pub(crate) fn put_stream(
        &self,
        op: Op,
        path: &VPath,
        data: &mut dyn Read,
    ) -> Result<BlobRef, FsError> {
        let info = self.state.store.put_blob(data, self.state.now());
        let info = info.map_err(|error| fs_error(error.into(), op, path))?;
        Ok(BlobRef { hash: info.hash, size: info.size })
    }

    /// Replaces the content of an existing file by a blob that was put into the store.
    pub(crate) fn overwrite_by_blob(
        &self,
        path: &VPath,
        blob: BlobRef,
        mode: Option<u32>,
        mtime: Option<Millis>,
    ) -> Result<(), FsError> {
        let create = CreateMode::Never;
        let options = WriteOptions { mode, mtime, create, follow: false, ..Default::default() };
        let (op, by, row) = (Op::Open, &self.author(None), &row_changes(&options));
        for _ in 0..MAX_ATTEMPTS {
            let found = self.find_target(Op::Open, path, &options)?;
            let Some(found) = found else {
                return Err(FsError::new(FsCode::ESTALE, Op::Open, path));
            };
            let (found, options) = (&found, &options);
            let expected = None;
            let target = WriteTarget { fs: self, op, path, found, options, expected, by, row };
            match self.put_stored(target, blob) {
                // Another process has replaced the file meanwhile.
                Err(error) if error.code == FsCode::ESTALE => (),
                written => return written.map(drop),
            }
        }
        Err(FsError::new(FsCode::EBUSY, Op::Open, path))
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
