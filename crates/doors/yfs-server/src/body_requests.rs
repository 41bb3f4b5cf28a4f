//! Bodies of requests as arguments of handlers.

use std::io::Write;

use axum::{
    extract::{FromRequest, Request},
    http::header,
};
use futures::StreamExt;
use tokio::task::block_in_place;
use yfs::SpoolFile;
use yfs_engine::hash::ContentHash;

use crate::{
    body::{BlobBody, BodyError, FileBody, MAX_FILE_LEN, MAX_RESULT_LEN, ResultBody},
    caller::MayWrite,
    server_state::ServerState,
};

impl FromRequest<ServerState> for ResultBody {
    type Rejection = BodyError;

    async fn from_request(request: Request, app: &ServerState) -> Result<Self, BodyError> {
        check_welcome(&request)?;
        check_len(&request, MAX_RESULT_LEN)?;
        app.bodies.read(request.into_body()).await
    }
}

impl FromRequest<ServerState> for FileBody {
    type Rejection = BodyError;

    async fn from_request(request: Request, app: &ServerState) -> Result<Self, BodyError> {
        check_welcome(&request)?;
        check_len(&request, MAX_FILE_LEN)?;
        let limit = app.workspace.fs().text_limit();
        app.bodies.read_or_spool(request.into_body(), limit).await
    }
}

/// Rejects a body that the caller may not write, before any of it is read.
fn check_welcome(request: &Request) -> Result<(), BodyError> {
    match request.extensions().get::<MayWrite>() {
        Some(MayWrite(false)) => Err(BodyError::Unwelcome),
        _ => Ok(()),
    }
}

impl<S: Sync> FromRequest<S> for BlobBody {
    type Rejection = BodyError;

    async fn from_request(request: Request, _state: &S) -> Result<Self, BodyError> {
        check_len(&request, MAX_FILE_LEN)?;
        let mut file = SpoolFile::new().map_err(BodyError::Io)?;
        let (mut hasher, mut len) = (blake3::Hasher::new(), 0);
        let mut stream = request.into_body().into_data_stream();
        while let Some(chunk) = stream.next().await {
            let chunk = chunk.map_err(BodyError::Cut)?;
            len += chunk.len() as u64;
            if len > MAX_FILE_LEN {
                return Err(BodyError::TooLong(MAX_FILE_LEN));
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
