//! Request bodies. A body that may be a text is held in memory, within one budget for all requests;
//! a longer one, and the body of a blob, are written to a file.

use std::{error::Error, io::Write, sync::Arc};

use axum::{
    body::{Body, Bytes},
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use futures::StreamExt;
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    task::block_in_place,
};
use tower_http::timeout::TimeoutError;
use yfs::SpoolFile;
use yfs_engine::hash::ContentHash;

use crate::problem::HttpProblem;

/// The greatest size of a result in a request, in bytes. It is held in memory.
pub(crate) const MAX_RESULT_LEN: u64 = 128 << 20;

/// The greatest size of a file or a blob in a request, in bytes.
pub(crate) const MAX_FILE_LEN: u64 = 1 << 30;

/// The number of chunks of bodies that may be in memory at once, and the length of each.
const MAX_PIECES: usize = 384;
const PIECE_LEN: usize = 1 << 20;

/// The permits for the memory that bodies use, and their number.
#[derive(Debug, Clone)]
pub(crate) struct BodyBudget(Arc<Semaphore>, usize);

/// The content of a result from a request, in memory. It counts against the budget until the
/// request is answered.
#[derive(Debug)]
pub(crate) struct ResultBody {
    pub(crate) data: Bytes,
    _held: Option<OwnedSemaphorePermit>,
}

/// The content of a file from a request.
#[derive(Debug)]
pub(crate) enum FileBody {
    /// It is no longer than a text may be, and in memory.
    InMemory(ResultBody),
    /// It is longer, and in a file of the host.
    Spooled(SpooledBody),
}

/// A long content. The memory that writing it takes counts against the budget.
#[derive(Debug)]
pub(crate) struct SpooledBody {
    /// The file with the content, positioned at its beginning.
    pub(crate) file: SpoolFile,
    _held: OwnedSemaphorePermit,
}

/// The bytes of a body that arrived so far, and the permits for their memory.
#[derive(Debug, Default)]
struct ReceivedBytes {
    data: Vec<u8>,
    held: Option<OwnedSemaphorePermit>,
}

/// The content of a blob from a request.
#[derive(Debug)]
pub(crate) struct BlobBody {
    /// The file with the content, positioned at its beginning.
    pub(crate) file: SpoolFile,
    pub(crate) hash: ContentHash,
}

/// The reason why a body was not read to its end.
#[derive(Debug)]
pub(crate) enum BodyError {
    /// The caller may not write.
    Unwelcome,
    /// The body is longer than this limit, in bytes.
    TooLong(u64),
    /// Other requests use the whole budget.
    Busy,
    /// The client stopped sending, or the connection was cut.
    Cut(axum::Error),
    /// The body could not be stored.
    Io(std::io::Error),
}

impl Default for BodyBudget {
    fn default() -> Self {
        Self::of(MAX_PIECES)
    }
}

impl BodyBudget {
    fn of(n_pieces: usize) -> Self {
        Self(Arc::new(Semaphore::new(n_pieces)), n_pieces)
    }

    /// Reads a body into memory. The memory grows with the bytes that arrive, so a body that is
    /// announced and never sent uses none. A body that exceeds the budget is rejected at once.
    pub(crate) async fn read(&self, body: Body) -> Result<ResultBody, BodyError> {
        let mut stream = body.into_data_stream();
        let mut received = ReceivedBytes::default();
        while let Some(chunk) = stream.next().await {
            let chunk = chunk.map_err(BodyError::Cut)?;
            if (received.data.len() + chunk.len()) as u64 > MAX_RESULT_LEN {
                return Err(BodyError::TooLong(MAX_RESULT_LEN));
            }
            received.push(self, &chunk)?;
        }
        Ok(received.finish())
    }

    /// Reads a body into memory as [`read`](Self::read) does. Once it is longer than a limit, it
    /// goes to a file, and its memory is free again.
    pub(crate) async fn read_or_spool(
        &self,
        body: Body,
        limit: usize,
    ) -> Result<FileBody, BodyError> {
        let mut stream = body.into_data_stream();
        let mut received = ReceivedBytes::default();
        let mut spooled: Option<SpoolFile> = None;
        let mut len = 0;
        while let Some(chunk) = stream.next().await {
            let chunk = chunk.map_err(BodyError::Cut)?;
            len += chunk.len() as u64;
            if len > MAX_FILE_LEN {
                return Err(BodyError::TooLong(MAX_FILE_LEN));
            }
            if spooled.is_none() && len > limit as u64 {
                let begun = std::mem::take(&mut received);
                spooled = Some(block_in_place(|| spool(&begun.data)).map_err(BodyError::Io)?);
            }
            match &mut spooled {
                Some(file) => block_in_place(|| file.write_all(&chunk)).map_err(BodyError::Io)?,
                None => received.push(self, &chunk)?,
            }
        }
        let Some(mut file) = spooled else { return Ok(FileBody::InMemory(received.finish())) };
        file.rewind().map_err(BodyError::Io)?;
        let _held = self.reserve_text(limit).await.map_err(|_| BodyError::Busy)?;
        Ok(FileBody::Spooled(SpooledBody { file, _held }))
    }

    /// Waits for the memory to write a long content: a write reads as much as a text may have
    /// before it finds that the content is longer.
    pub(crate) async fn reserve_text(
        &self,
        limit: usize,
    ) -> Result<OwnedSemaphorePermit, HttpProblem> {
        // Those that hold permits do not wait for others, so this comes to an end.
        let n_pieces = (limit / PIECE_LEN + 1).min(self.1);
        let held = self.0.clone().acquire_many_owned(n_pieces as u32).await;
        let busy = "other requests take all memory";
        held.map_err(|_| HttpProblem::new(StatusCode::SERVICE_UNAVAILABLE, busy))
    }
}

/// Makes a file with the beginning of a body.
fn spool(begun: &[u8]) -> std::io::Result<SpoolFile> {
    let mut file = SpoolFile::new()?;
    file.write_all(begun)?;
    Ok(file)
}

impl ReceivedBytes {
    /// Adds bytes, if the budget allows them.
    fn push(&mut self, budget: &BodyBudget, chunk: &[u8]) -> Result<(), BodyError> {
        let len = self.data.len() + chunk.len();
        // A short body costs no more than its connection.
        let n_held = self.held.as_ref().map_or(0, OwnedSemaphorePermit::num_permits);
        let n_more = (len / PIECE_LEN).saturating_sub(n_held);
        if n_more > 0 {
            let n_more = u32::try_from(n_more).map_err(|_| BodyError::Busy)?;
            let more = budget.0.clone().try_acquire_many_owned(n_more);
            let more = more.map_err(|_| BodyError::Busy)?;
            match &mut self.held {
                Some(held) => held.merge(more),
                None => self.held = Some(more),
            }
        }
        if self.data.capacity() < len {
            // Grows in small steps, because capacity beyond the length is not counted.
            self.data.reserve_exact(chunk.len().max(PIECE_LEN).max(len / 8));
        }
        self.data.extend_from_slice(chunk);
        Ok(())
    }

    fn finish(self) -> ResultBody {
        ResultBody { data: self.data.into(), _held: self.held }
    }
}

impl IntoResponse for BodyError {
    fn into_response(self) -> Response {
        let mut problem = match self {
            Self::Unwelcome => HttpProblem::forbidden("this needs a token that allows writing"),
            Self::TooLong(max) => {
                let detail = format!("the body is longer than {} MiB", max >> 20);
                HttpProblem::new(StatusCode::PAYLOAD_TOO_LARGE, detail)
            }
            Self::Busy => {
                HttpProblem::new(StatusCode::SERVICE_UNAVAILABLE, "other requests take all memory")
            }
            Self::Cut(error) if is_timeout(&error) => {
                HttpProblem::new(StatusCode::REQUEST_TIMEOUT, "the body does not go on")
            }
            Self::Cut(error) => HttpProblem::bad_request(format!("the body was cut: {error}")),
            Self::Io(error) => {
                let detail = format!("the body cannot be kept: {error}");
                HttpProblem::new(StatusCode::INTERNAL_SERVER_ERROR, detail)
            }
        }
        .into_response();
        if problem.status() == StatusCode::SERVICE_UNAVAILABLE {
            problem.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
        }
        problem
    }
}

fn is_timeout(error: &axum::Error) -> bool {
    let mut causes = std::iter::successors(error.source(), |cause| (*cause).source());
    causes.any(<dyn Error>::is::<TimeoutError>)
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use futures::{SinkExt, channel::mpsc};

    use super::*;

    #[tokio::test]
    async fn bodies_share_one_budget_and_use_memory_as_they_arrive() {
        let budget = BodyBudget::of(3);
        let piece = || Ok::<_, std::io::Error>(Bytes::from(vec![0; PIECE_LEN]));
        // A body that never arrives uses no memory, and small ones are always read.
        let (mut sender, first) = mpsc::channel(8);
        let first = budget.read(Body::from_stream(first));
        let held = budget.read(Body::from(vec![0; 2 * PIECE_LEN])).await.unwrap();
        assert_eq!((held.data.len(), budget.0.available_permits()), (2 * PIECE_LEN, 1));
        assert!(budget.read(Body::from("small")).await.is_ok());
        let refused = budget.read(Body::from(vec![0; 2 * PIECE_LEN])).await;
        assert!(matches!(refused, Err(BodyError::Busy)));
        drop(held);
        for _ in 0..3 {
            sender.send(piece()).await.unwrap();
        }
        drop(sender);
        let first = first.await.unwrap();
        assert_eq!((first.data.len(), budget.0.available_permits()), (3 * PIECE_LEN, 0));
        drop(first);
        assert_eq!(budget.0.available_permits(), 3);
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_body_beyond_the_limit_goes_to_a_file_and_holds_no_memory() {
        let budget = BodyBudget::of(3);
        let limit = 2 * PIECE_LEN;
        let content: Vec<u8> = (0..5 * PIECE_LEN + 3).map(|at| (at % 251) as u8).collect();
        let read = |len: usize| {
            let chunks = content[..len].chunks(100_000).map(Bytes::copy_from_slice);
            let chunks: Vec<_> = chunks.map(Ok::<_, std::io::Error>).collect();
            budget.read_or_spool(Body::from_stream(futures::stream::iter(chunks)), limit)
        };
        let FileBody::InMemory(held) = read(limit).await.unwrap() else { panic!("a short body") };
        assert_eq!((&held.data[..], budget.0.available_permits()), (&content[..limit], 1));
        drop(held);
        let FileBody::Spooled(mut body) = read(content.len()).await.unwrap() else {
            panic!("a long body")
        };
        let mut spooled = Vec::new();
        body.file.read_to_end(&mut spooled).unwrap();
        drop(body);
        assert_eq!(budget.0.available_permits(), 3);
        assert!(spooled == content, "all of it, in order");
    }
}
