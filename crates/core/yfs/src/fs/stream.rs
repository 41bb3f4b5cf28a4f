//! Contents that are not held in memory as a whole: blobs, read and written piece by piece.
//!
//! A content above the limit of texts is a blob whatever its bytes are, so it can be put into the
//! store without reading it first.

use std::io::{self, Read, Write};

use futures::stream;
use yfs_engine::{path::VPath, table::BlobRef};
use yfs_vfs::{
    ChunkStream, FsCode, FsError, Op, StreamOptions,
    stream::{FileChunk, chunks_of, n_chunks},
};

use super::read::FileContentReader;
use super::{
    WorkspaceFs,
    convert_types::{ContentLocation, fs_error},
};

/// The bytes of a blob that are compared at a time.
const COMPARED_LEN: u64 = 4 << 20;

impl WorkspaceFs {
    /// Returns the greatest size of a text that is written as text, in bytes.
    pub fn text_limit(&self) -> usize {
        self.state.options.limits.text_bytes
    }
}

impl FileContentReader<'_> {
    /// Reports whether a content of this many bytes is a blob, whatever the bytes are.
    pub(crate) fn is_surely_blob(&self, size: u64) -> bool {
        size > self.text_limit() as u64
    }

    /// Reads a file in chunks. A blob is read from the store chunk by chunk, and stays the one that
    /// the file had at the call; a text is in memory already.
    pub(super) fn read_stream(
        &self,
        path: &VPath,
        options: &StreamOptions,
    ) -> Result<ChunkStream, FsError> {
        let Some(blob) = self.blob_at(path)? else {
            return Ok(chunks_of(path, self.read(path)?.data, options));
        };
        let chunk_len = options.chunk_len.max(1);
        let total_chunks = n_chunks(blob.size, chunk_len);
        let (fs, path, cancel) = (self.fs.clone(), path.clone(), options.cancel.clone());
        let read = move |index: u64| {
            if cancel.is_cancelled() {
                return Err(FsError::new(FsCode::ECANCELED, Op::Read, &path));
            }
            let start = index * chunk_len as u64;
            let end = start.saturating_add(chunk_len as u64).min(blob.size);
            let data = fs.reader().read_blob(&path, blob, start, end)?;
            Ok(FileChunk { data, index, total_chunks, is_last: index + 1 == total_chunks })
        };
        Ok(Box::pin(stream::unfold(Some(0), move |next| {
            let chunk = next.map(|index| {
                let chunk = read(index);
                let next = chunk.as_ref().is_ok_and(|chunk| !chunk.is_last).then_some(index + 1);
                (chunk, next)
            });
            async move { chunk }
        })))
    }

    /// Returns the blob that is the content of a file; `None` if the content is a text.
    pub(crate) fn blob_at(&self, path: &VPath) -> Result<Option<BlobRef>, FsError> {
        self.refresh_if_unfollowed(Op::Open)?;
        let found = self.resolve_file(&self.state.main.read(), Op::Open, path)?;
        Ok(match found.location {
            ContentLocation::Text => None,
            ContentLocation::Blob(blob) => Some(blob),
        })
    }

    /// Writes a blob to `to`, piece by piece, each verified.
    pub(crate) fn copy_blob(
        &self,
        path: &VPath,
        blob: BlobRef,
        to: &mut dyn Write,
    ) -> Result<(), FsError> {
        let copied = self.state.store.copy_blob(&blob.hash, to);
        copied.map(drop).map_err(|error| fs_error(error.into(), Op::Read, path))
    }

    /// Reports whether a file has exactly the bytes that `data` gives. The caller knows that they
    /// are no text.
    pub(crate) fn has_streamed_content(
        &self,
        path: &VPath,
        data: &mut dyn Read,
    ) -> Result<io::Result<bool>, FsError> {
        let Some(blob) = self.blob_at(path)? else { return Ok(Ok(false)) };
        let mut start = 0;
        loop {
            let end = (start + COMPARED_LEN).min(blob.size);
            let mine = self.read_blob(path, blob, start, end)?;
            let mut theirs = Vec::with_capacity(mine.len());
            // One byte more at the end, where there must be none.
            let is_last = end == blob.size;
            let len = mine.len() as u64 + u64::from(is_last);
            if let Err(error) = data.take(len).read_to_end(&mut theirs) {
                return Ok(Err(error));
            }
            if mine != theirs || is_last {
                return Ok(Ok(mine == theirs));
            }
            start = end;
        }
    }
}
