//! Content in chunks, and the cancellation of reading it.

use std::{
    fmt,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use bytes::Bytes;
use futures::{Stream, stream};
use tokio::sync::Notify;
use yfs_types::path::VPath;

use crate::{
    error::{FsCode, FsError, Op},
    options::StreamOptions,
};

/// The default length of a chunk, in bytes.
pub const DEFAULT_CHUNK_LEN: usize = 256 * 1024;

/// A chunk of a file's content (seed 000, section 8.3).
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

/// A flag that cancels work in progress. Clones share the flag.
#[derive(Clone, Default)]
pub struct CancelToken(Arc<CancelState>);

#[derive(Default)]
struct CancelState {
    cancelled: AtomicBool,
    /// Wakes all tasks that wait in [`CancelToken::cancelled`]. [`CancelToken::cancel`] notifies
    /// after it has set `cancelled`.
    waiters: Notify,
}

impl CancelToken {
    /// Makes a token that is not cancelled.
    pub fn new() -> Self {
        Self::default()
    }

    /// Cancels the token permanently.
    pub fn cancel(&self) {
        self.0.cancelled.store(true, Ordering::SeqCst);
        self.0.waiters.notify_waiters();
    }

    /// Reports whether the token is cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.0.cancelled.load(Ordering::SeqCst)
    }

    /// Waits until the token is cancelled.
    pub async fn cancelled(&self) {
        loop {
            let notified = self.0.waiters.notified();
            if self.is_cancelled() {
                return;
            }
            notified.await;
        }
    }
}

impl fmt::Debug for CancelToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CancelToken({})", if self.is_cancelled() { "cancelled" } else { "live" })
    }
}

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
