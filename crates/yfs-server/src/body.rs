//! Request bodies. The body of a file is held in memory, within one budget for all requests; the
//! body of a blob is written to a file.

use std::{error::Error, io::Write, sync::Arc};

use axum::{
    body::{Body, Bytes},
    extract::{FromRequest, Request},
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

use crate::{caller::MayWrite, problem::HttpProblem, serve::ServerState};

/// The greatest size of a file in a request, in bytes.
const MAX_FILE_LEN: u64 = 128 << 20;

/// The greatest size of a blob in a request, in bytes.
const MAX_BLOB_LEN: u64 = 1 << 30;

/// The number of chunks of bodies that may be in memory at once, and the length of each.
const MAX_PIECES: usize = 384;
const PIECE_LEN: usize = 1 << 20;

/// The permits for the memory that bodies use.
#[derive(Debug, Clone)]
pub(crate) struct BodyBudget(Arc<Semaphore>);

/// The content of a file from a request. It counts against the budget until the request is
/// answered.
#[derive(Debug)]
pub(crate) struct FileBody {
    pub(crate) data: Bytes,
    _held: Option<OwnedSemaphorePermit>,
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
        Self(Arc::new(Semaphore::new(MAX_PIECES)))
    }
}

impl BodyBudget {
    /// Reads a body into memory. The memory grows with the bytes that arrive, so a body that is
    /// announced and never sent uses none. A body that exceeds the budget is rejected at once.
    async fn read(&self, body: Body) -> Result<FileBody, BodyError> {
        let mut stream = body.into_data_stream();
        let (mut data, mut held) = (Vec::<u8>::new(), None::<OwnedSemaphorePermit>);
        while let Some(chunk) = stream.next().await {
            let chunk = chunk.map_err(BodyError::Cut)?;
            let len = data.len() + chunk.len();
            if len as u64 > MAX_FILE_LEN {
                return Err(BodyError::TooLong(MAX_FILE_LEN));
            }
            // A short body costs no more than its connection.
            let n_held = held.as_ref().map_or(0, OwnedSemaphorePermit::num_permits);
            let n_more = (len / PIECE_LEN).saturating_sub(n_held);
            if n_more > 0 {
                let n_more = u32::try_from(n_more).map_err(|_| BodyError::Busy)?;
                let more = self.0.clone().try_acquire_many_owned(n_more);
                let more = more.map_err(|_| BodyError::Busy)?;
                match &mut held {
                    Some(held) => held.merge(more),
                    None => held = Some(more),
                }
            }
            if data.capacity() < len {
                // Grows in small steps, because capacity beyond the length is not counted.
                data.reserve_exact(chunk.len().max(PIECE_LEN).max(len / 8));
            }
            data.extend_from_slice(&chunk);
        }
        Ok(FileBody { data: data.into(), _held: held })
    }
}

impl FromRequest<ServerState> for FileBody {
    type Rejection = BodyError;

    async fn from_request(request: Request, app: &ServerState) -> Result<Self, BodyError> {
        // A body that the caller may not write is not read.
        if request.extensions().get::<MayWrite>() == Some(&MayWrite(false)) {
            return Err(BodyError::Unwelcome);
        }
        check_len(&request, MAX_FILE_LEN)?;
        app.bodies.read(request.into_body()).await
    }
}

impl<S: Sync> FromRequest<S> for BlobBody {
    type Rejection = BodyError;

    async fn from_request(request: Request, _state: &S) -> Result<Self, BodyError> {
        check_len(&request, MAX_BLOB_LEN)?;
        let mut file = SpoolFile::new().map_err(BodyError::Io)?;
        let (mut hasher, mut len) = (blake3::Hasher::new(), 0);
        let mut stream = request.into_body().into_data_stream();
        while let Some(chunk) = stream.next().await {
            let chunk = chunk.map_err(BodyError::Cut)?;
            len += chunk.len() as u64;
            if len > MAX_BLOB_LEN {
                return Err(BodyError::TooLong(MAX_BLOB_LEN));
            }
            hasher.update(&chunk);
            block_in_place(|| file.write_all(&chunk)).map_err(BodyError::Io)?;
        }
        file.rewind().map_err(BodyError::Io)?;
        Ok(Self { file, hash: ContentHash::from_bytes(*hasher.finalize().as_bytes()) })
    }
}

/// Rejects a body whose declared length is too large.
fn check_len(request: &Request, max: u64) -> Result<(), BodyError> {
    let len = request.headers().get(header::CONTENT_LENGTH);
    let len = len.and_then(|len| len.to_str().ok()?.parse::<u64>().ok());
    if len.is_some_and(|len| len > max) { Err(BodyError::TooLong(max)) } else { Ok(()) }
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
    use futures::{SinkExt, channel::mpsc};

    use super::*;

    #[tokio::test]
    async fn bodies_share_one_budget_and_use_memory_as_they_arrive() {
        let budget = BodyBudget(Arc::new(Semaphore::new(3)));
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
}
