//! Blobs: contents that are stored by their hash.

use axum::{
    body::Bytes,
    extract::{FromRequest, Request, State},
};
use tokio::task::block_in_place;
use yfs::clock::{Clock, SystemClock};
use yfs_dav::conditions::unchanged;
use yfs_engine::hash::ContentHash;
use yfs_wire::BlobJson;

use crate::{body::BlobBody, files::ranged, prelude::*};

/// Answers `GET /api/blobs/{hash}`.
pub(crate) async fn get(
    State(app): State<ServerState>,
    caller: RequestCaller,
    Path(hash): Path<String>,
    headers: HeaderMap,
) -> Result {
    caller.needs_whole()?;
    let hash = hash_of(&hash)?;
    let store = app.workspace.store();
    let info = block_in_place(|| store.blob_info(&hash))?;
    let info =
        info.ok_or_else(|| HttpProblem::new(StatusCode::NOT_FOUND, format!("no blob {hash}")))?;
    let etag = format!("\"{hash}\"");
    if unchanged(&headers, &etag) {
        return Ok((StatusCode::NOT_MODIFIED, [(header::ETAG, etag)]).into_response());
    }
    let read = |range| block_in_place(|| store.read_blob(&hash, range)).map(Bytes::from);
    let mut response = ranged(&headers, &etag, info.size, |range| Ok(read(range)?))?;
    // The content of a hash never changes.
    let forever = "private, max-age=31536000, immutable".parse().expect("visible ASCII");
    response.headers_mut().insert(header::CACHE_CONTROL, forever);
    Ok(response)
}

/// Answers `PUT /api/blobs/{hash}`.
pub(crate) async fn put(
    State(app): State<ServerState>,
    caller: RequestCaller,
    Path(hash): Path<String>,
    request: Request,
) -> Result {
    let expected = hash_of(&hash)?;
    check(&caller)?;
    match BlobBody::from_request(request, &app).await {
        Ok(body) if body.hash == expected => store_blob(&app, body),
        Ok(_) => {
            Err(HttpProblem::bad_request(format!("the content does not have the hash {hash}")))
        }
        Err(error) => Ok(error.into_response()),
    }
}

/// Answers `POST /api/blobs`.
pub(crate) async fn post(
    State(app): State<ServerState>,
    caller: RequestCaller,
    request: Request,
) -> Result {
    check(&caller)?;
    match BlobBody::from_request(request, &app).await {
        Ok(body) => store_blob(&app, body),
        Err(error) => Ok(error.into_response()),
    }
}

/// Rejects a caller that may not add blobs, before any byte of one is read.
fn check(caller: &RequestCaller) -> Result<()> {
    caller.needs_whole()?;
    caller.needs_write()
}

fn store_blob(app: &ServerState, mut body: BlobBody) -> Result<Response> {
    let put = || app.workspace.store().put_blob(&mut body.file, SystemClock.now());
    let info = block_in_place(put)?;
    let answer = BlobJson { hash: info.hash.to_string(), size: info.size };
    Ok((StatusCode::CREATED, Json(answer)).into_response())
}

fn hash_of(text: &str) -> Result<ContentHash> {
    text.parse().map_err(|_| HttpProblem::bad_request(format!("not a hash: {text:?}")))
}
