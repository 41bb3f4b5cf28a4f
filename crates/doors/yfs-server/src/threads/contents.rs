//! Reading and writing the files of a thread.

use axum::extract::{FromRequest, Request};
use serde_json::Value;
use yfs_agent::work_budget::WorkCost;
use yfs_engine::path::VPath;
use yfs_vfs::{FsCode, FsError, Metadata, Op};
use yfs_wire::{ThreadFileRequest, ThreadReadQuery, ThreadResponse, ThreadWriteQuery};

use super::{RequestThreads, answer};
use crate::{
    body::BlobBody,
    files::{content_response, thumbnail_response},
    prelude::*,
};

/// Makes the request of `GET /api/threads/{id}/files`.
pub(super) fn root(_: ThreadReadQuery) -> Result<ThreadFileRequest> {
    Ok(ThreadFileRequest::List { path: "/".to_owned() })
}

/// Answers `GET /api/threads/{id}/files/{path}`.
pub(super) async fn get(
    all: RequestThreads,
    Path((id, path)): Path<(String, String)>,
    QueryParameters(asked): QueryParameters<ThreadReadQuery>,
    headers: HeaderMap,
) -> Result {
    let at = path_of(&format!("/{path}"))?;
    if asked.thumbnail.is_none() {
        return apart(content_of(&all, &id, &path, &at, &asked, &headers)).await;
    }
    let caller = all.caller.clone();
    let picture = async move { content_of(&all, &id, &path, &at, &asked, &headers).await };
    caller.within_budget(WorkCost::ANALYSIS, picture).await
}

/// Returns a file of a thread, a picture of it, or a listing.
async fn content_of(
    all: &RequestThreads,
    id: &str,
    path: &str,
    at: &VPath,
    asked: &ThreadReadQuery,
    headers: &HeaderMap,
) -> Result {
    let files = all.files(id).await?;
    let missing = || FsError::new(FsCode::ENOENT, Op::Stat, format!("/{path}"));
    let record = files.stat_file(path).await?.ok_or_else(missing)?;
    if record.is_directory {
        let list = ThreadFileRequest::List { path: path.to_owned() };
        return Ok(answer(StatusCode::OK, list.serve(&files).await?));
    }
    if record.is_external() {
        let reason = format!("the bytes are at {}", record.storage);
        return Err(HttpProblem::new(StatusCode::CONFLICT, reason));
    }
    let fs = files.thread().fs();
    let mut stat = fs.stat(at).await?;
    match &asked.thumbnail {
        Some(size) => {
            let directory = files.thread().rooted().thumbnail_directory();
            thumbnail_response(&*fs, at, &stat, size, directory, headers).await
        }
        None => {
            stat.mime = Some(record.mime_type.into());
            content_response(&*fs, at, stat, headers).await
        }
    }
}

/// Answers `PUT /api/threads/{id}/files/{path}`. The body is in a file of the host until it is
/// stored, so a large one takes no memory.
pub(super) async fn put(
    all: RequestThreads,
    Path((id, path)): Path<(String, String)>,
    QueryParameters(asked): QueryParameters<ThreadWriteQuery>,
    request: Request,
) -> Result {
    let metadata = asked.metadata.as_deref().map(parse_metadata).transpose()?;
    let files = apart(async {
        all.caller.needs_write()?;
        let files = all.files(&id).await?;
        files.thread().check_writable(Op::Write, &format!("/{path}"))?;
        Ok::<_, HttpProblem>(files)
    });
    // No byte of a body is read that may not be stored.
    let files = files.await?;
    let mut body = match BlobBody::from_request(request, &all.caller.app).await {
        Ok(body) => body,
        Err(error) => return Ok(error.into_response()),
    };
    apart(async {
        let is_new = files.stat_file(&path).await?.is_none();
        let mime = asked.mime.as_deref();
        let record = files.write_file_from(&path, &mut body.file, mime, metadata).await?;
        let status = if is_new { StatusCode::CREATED } else { StatusCode::OK };
        Ok(answer(status, ThreadResponse::File((&record).into())))
    })
    .await
}

fn parse_metadata(text: &str) -> Result<Metadata> {
    match serde_json::from_str(text) {
        Ok(Value::Object(members)) => Ok(members),
        _ => Err(HttpProblem::bad_request("metadata is not a JSON object")),
    }
}
