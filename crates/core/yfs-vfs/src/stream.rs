//! Content in chunks.

use std::pin::Pin;

use bytes::Bytes;
use futures::{Stream, stream};
use yfs_types::path::VPath;

use crate::{
    directory_listing::DirectoryListing,
    error::{FsCode, FsError, Op},
    options::StreamOptions,
    stat::WalkEntry,
};

/// The default length of a chunk, in bytes.
pub(crate) const DEFAULT_CHUNK_LEN: usize = 256 * 1024;

/// A chunk of a file's content (`docs/spec/thread-files.md`, section 8.3).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileChunk {
    /// The bytes.
    pub data: Bytes,
    /// The chunk's number, counted from 0.
    pub index: u64,
    /// The number of chunks; the same in all of them.
    pub total_chunks: u64,
    /// Whether it is the last.
    pub is_last: bool,
}

/// The chunks of one version of a file, in order. Dropping the stream ends the reading.
pub type ChunkStream = Pin<Box<dyn Stream<Item = Result<FileChunk, FsError>> + Send>>;

/// The entries of a tree in batches; see [`FileSystem::walk_batches`](crate::FileSystem).
pub type WalkStream<'a> = Pin<Box<dyn Stream<Item = Result<Vec<WalkEntry>, FsError>> + Send + 'a>>;

/// The directories of a tree; see [`FileSystem::walk_directories`](crate::FileSystem).
pub type DirectoryStream<'a> =
    Pin<Box<dyn Stream<Item = Result<DirectoryListing, FsError>> + Send + 'a>>;

/// Returns the number of chunks of a file of `size` bytes: at least one.
pub fn n_chunks(size: u64, chunk_len: usize) -> u64 {
    size.div_ceil(chunk_len.max(1) as u64).max(1)
}

/// Splits content that is already in memory into a stream of chunks, without copying it.
pub fn chunks_of(path: &VPath, content: Bytes, options: &StreamOptions) -> ChunkStream {
    let chunk_len = options.chunk_len.max(1);
    let total_chunks = n_chunks(content.len() as u64, chunk_len);
    let (path, cancel) = (path.clone(), options.cancel.clone());
    Box::pin(stream::unfold(Some((content, 0)), move |state| {
        let next = state.map(|(mut rest, index)| {
            if cancel.is_cancelled() {
                return (Err(FsError::new(FsCode::ECANCELED, Op::Read, &path)), None);
            }
            let data = rest.split_to(rest.len().min(chunk_len));
            let is_last = index + 1 == total_chunks;
            let chunk = FileChunk { data, index, total_chunks, is_last };
            (Ok(chunk), (!is_last).then_some((rest, index + 1)))
        });
        async move { next }
    }))
}
