//! Directories, moves, copies, links, the trash, versions.

use axum::{
    Json,
    http::StatusCode,
    response::{IntoResponse, Response},
};
use serde::Deserialize;
use serde_json::{Value, json};
use yfs_engine::id::FileId;
use yfs_vfs::{CopyOptions, MkdirOptions, MoveOptions};

use super::{Rest, list::word, rest};
use crate::{
    caller::{RequestCaller, apart, path_of},
    problem::{HttpProblem, Result},
};

/// Which directory to make.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct MkdirRequest {
    path: String,
    #[serde(default)]
    recursive: bool,
}

/// What goes where.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FromTo {
    from: String,
    to: String,
    /// Whether what is at the destination is replaced.
    #[serde(default)]
    replace: bool,
    /// Whether a directory is copied with all it holds.
    #[serde(default)]
    recursive: bool,
}

/// Which link to make.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SymlinkRequest {
    path: String,
    target: String,
}

/// What comes back from the trash, and where to.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RestoreRequest {
    id: String,
    to: Option<String>,
}

/// Answers `POST /api/mkdir`.
pub(super) async fn mkdir(caller: RequestCaller, Json(body): Json<MkdirRequest>) -> Result {
    let path = path_of(&body.path)?;
    let options = MkdirOptions { recursive: body.recursive, mode: None };
    apart(async { caller.fs().mkdir(&path, &options).await }).await?;
    Ok(made())
}

/// Answers `POST /api/move`.
pub(super) async fn move_(caller: RequestCaller, Json(body): Json<FromTo>) -> Result {
    let (from, to) = (path_of(&body.from)?, path_of(&body.to)?);
    let options = MoveOptions { replace: body.replace, parents: true };
    apart(async { caller.fs().mv(&from, &to, &options).await }).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

/// Answers `POST /api/copy`.
pub(super) async fn copy(caller: RequestCaller, Json(body): Json<FromTo>) -> Result {
    let (from, to) = (path_of(&body.from)?, path_of(&body.to)?);
    let options = CopyOptions { recursive: body.recursive, replace: body.replace, parents: true };
    apart(async { caller.fs().cp(&from, &to, &options).await }).await?;
    Ok(made())
}

/// Answers `POST /api/symlink`.
pub(super) async fn symlink(caller: RequestCaller, Json(body): Json<SymlinkRequest>) -> Result {
    let path = path_of(&body.path)?;
    apart(async { caller.fs().symlink(&body.target, &path).await }).await?;
    Ok(made())
}

/// Answers `GET /api/trash`.
pub(super) async fn trash(caller: RequestCaller) -> Result {
    caller.needs_whole()?;
    let trashed = apart(async { caller.app.workspace.trash() }).await.list()?;
    let entries = trashed.iter().map(|it| {
        json!({
            "id": it.id.to_string(),
            "name": it.name,
            "kind": word(it.kind),
            "trashed_at": it.trashed_at.0,
            "original": it.original,
        })
    });
    Ok(Json(json!({ "entries": entries.collect::<Vec<Value>>() })).into_response())
}

/// Answers `POST /api/restore`.
pub(super) async fn restore(caller: RequestCaller, Json(body): Json<RestoreRequest>) -> Result {
    caller.needs_whole()?;
    caller.needs_write()?;
    let id =
        FileId::parse(&body.id).map_err(|error| HttpProblem::bad_request(error.to_string()))?;
    let to = body.to.as_deref().map(path_of).transpose()?;
    let path = apart(async { caller.app.workspace.trash().restore(&id, to.as_ref()) }).await?;
    Ok(Json(json!({ "path": path.to_string() })).into_response())
}

/// Answers `GET /api/versions/{path}`.
pub(super) async fn versions(path: Rest, caller: RequestCaller) -> Result {
    let path = rest(path)?;
    let versions = apart(async { caller.confined().versions(&path) }).await?;
    let versions = versions.iter().map(|it| {
        json!({
            "number": it.number,
            "at": it.at.0,
            "actor": it.actor.as_ref().map(ToString::to_string),
            "label": it.label.as_deref(),
            "names": it.names.iter().map(AsRef::as_ref).collect::<Vec<&str>>(),
            "redacted": it.redacted,
            "current": it.current,
        })
    });
    let versions: Vec<Value> = versions.collect();
    Ok(Json(json!({ "path": path.to_string(), "versions": versions })).into_response())
}

fn made() -> Response {
    StatusCode::CREATED.into_response()
}
