//! The requests of an upload.

use axum::{
    body::Body,
    extract::{Path, State},
};
use yfs_vfs::{CreateMode, Op, WriteOptions};
use yfs_wire::{FinishUploadRequest, UploadJson, UploadRequest, WriteOutcomeJson};

use super::uploads::StagedUpload;
use crate::prelude::*;

/// The header with the number of bytes that have arrived.
const OFFSET: &str = "upload-offset";

/// Answers `POST /api/uploads`.
pub(super) async fn create(
    State(app): State<ServerState>,
    caller: RequestCaller,
    JsonBody(body): JsonBody<UploadRequest>,
) -> Result {
    let path = path_of(&body.path)?;
    caller.writer(Op::Write, &path)?;
    let id = app.uploads.begin(&caller.grant.id, path, body.size)?;
    let answer = UploadJson { id, offset: 0, size: body.size };
    Ok((StatusCode::CREATED, Json(answer)).into_response())
}

/// Answers `GET /api/uploads/{id}`.
pub(super) async fn get(
    State(app): State<ServerState>,
    caller: RequestCaller,
    Path(id): Path<String>,
) -> Result {
    let upload = app.uploads.find(&caller.grant.id, &id)?;
    let offset = upload.content.lock().await.len;
    let answer = UploadJson { id, offset, size: upload.size };
    Ok(([(OFFSET, offset.to_string())], Json(answer)).into_response())
}

/// Answers `PATCH /api/uploads/{id}`: appends the body.
pub(super) async fn patch(
    State(app): State<ServerState>,
    caller: RequestCaller,
    Path(id): Path<String>,
    headers: HeaderMap,
    body: Body,
) -> Result {
    let upload = app.uploads.find(&caller.grant.id, &id)?;
    caller.writer(Op::Write, &upload.path)?;
    let offset = headers.get(OFFSET).and_then(|value| value.to_str().ok()?.parse().ok());
    let offset = offset.ok_or_else(|| HttpProblem::bad_request("Upload-Offset is missing"))?;
    let len = upload.receive(offset, body).await?;
    Ok((StatusCode::NO_CONTENT, [(OFFSET, len.to_string())]).into_response())
}

/// Answers `POST /api/uploads/{id}`: makes the file of all bytes that have arrived.
pub(super) async fn finish(
    State(app): State<ServerState>,
    caller: RequestCaller,
    Path(id): Path<String>,
    JsonBody(body): JsonBody<FinishUploadRequest>,
) -> Result {
    let upload = app.uploads.find(&caller.grant.id, &id)?;
    let mut content = upload.content.lock().await;
    if let Some((status, answer)) = &content.finished {
        return Ok((*status, Json(answer.clone())).into_response());
    }
    if content.len < upload.size {
        let detail = format!("{} of {} bytes have arrived", content.len, upload.size);
        return Err(HttpProblem::new(StatusCode::CONFLICT, detail));
    }
    content.rewind()?;
    let path = body.path.as_deref().map_or_else(|| Ok(upload.path.clone()), path_of)?;
    let create = if body.replace { CreateMode::default() } else { CreateMode::New };
    let options = WriteOptions { create, ..WriteOptions::default() };
    let writer = caller.writer(Op::Write, &path)?;
    let _held = app.bodies.reserve_text(app.workspace.fs().text_limit()).await?;
    let write = || writer.write_from(&path, &mut content.file, &options);
    let written = tokio::task::block_in_place(write)?;
    let answer = WriteOutcomeJson::from(&written).at(path.as_str());
    let answer = serde_json::to_value(answer).expect("strings and numbers are JSON");
    let status = if written.created { StatusCode::CREATED } else { StatusCode::OK };
    content.free(status, answer.clone());
    Ok((status, Json(answer)).into_response())
}

/// Answers `DELETE /api/uploads/{id}`: removes the bytes.
pub(super) async fn delete(
    State(app): State<ServerState>,
    caller: RequestCaller,
    Path(id): Path<String>,
) -> Result {
    let _: std::sync::Arc<StagedUpload> = app.uploads.find(&caller.grant.id, &id)?;
    app.uploads.remove(&id);
    Ok(StatusCode::NO_CONTENT.into_response())
}
