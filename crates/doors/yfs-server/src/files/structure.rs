//! Directories, moves, copies, links, the trash, versions.

use yfs::workspace::trash::TrashEntry;
use yfs_engine::{id::FileId, path::VPath};
use yfs_vfs::{CopyOptions, FileSystem, MkdirOptions, MoveOptions, RemoveOptions};
use yfs_wire::{
    BlameLineJson, BlameList, MkdirRequest, RestoreRequest, RestoredJson, SymlinkRequest,
    TransferRequest, TrashEntryJson, TrashList, VersionJson, VersionList,
};

use super::{Rest, parse_rest};
use crate::prelude::*;

/// Answers `POST /api/mkdir`.
pub(super) async fn mkdir(caller: RequestCaller, JsonBody(body): JsonBody<MkdirRequest>) -> Result {
    let path = path_of(&body.path)?;
    let options = MkdirOptions { recursive: body.recursive, mode: None };
    apart(async { caller.fs().mkdir(&path, &options).await }).await?;
    Ok(created())
}

/// Answers `POST /api/move`.
pub(super) async fn move_(
    caller: RequestCaller,
    JsonBody(body): JsonBody<TransferRequest>,
) -> Result {
    let (from, to) = (path_of(&body.from)?, path_of(&body.to)?);
    let options = MoveOptions { replace: body.replace, parents: true };
    apart(async { caller.fs().mv(&from, &to, &options).await }).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

/// Answers `POST /api/copy`.
pub(super) async fn copy(
    caller: RequestCaller,
    JsonBody(body): JsonBody<TransferRequest>,
) -> Result {
    let (from, to) = (path_of(&body.from)?, path_of(&body.to)?);
    let options = CopyOptions { recursive: body.recursive, replace: body.replace, parents: true };
    apart(async { caller.fs().cp(&from, &to, &options).await }).await?;
    Ok(created())
}

/// Answers `POST /api/symlink`.
pub(super) async fn symlink(
    caller: RequestCaller,
    JsonBody(body): JsonBody<SymlinkRequest>,
) -> Result {
    let path = path_of(&body.path)?;
    apart(async { caller.fs().symlink(&body.target, &path).await }).await?;
    Ok(created())
}

/// Answers `GET /api/trash`: what was removed below the path of the caller's token.
pub(super) async fn trash(caller: RequestCaller) -> Result {
    let trashed = apart(async { caller.app.workspace.trash() }).await.list()?;
    let covered = trashed.iter().filter(|entry| was_covered(&caller, entry));
    let entries = covered.map(TrashEntryJson::from).collect();
    Ok(Json(TrashList { entries }).into_response())
}

/// Answers `POST /api/restore`.
pub(super) async fn restore(
    caller: RequestCaller,
    JsonBody(body): JsonBody<RestoreRequest>,
) -> Result {
    caller.needs_write()?;
    let id =
        FileId::parse(&body.id).map_err(|error| HttpProblem::bad_request(error.to_string()))?;
    let to = body.to.as_deref().map(path_of).transpose()?;
    let path = match caller.grant.is_whole() {
        true => apart(async { caller.app.workspace.trash().restore(&id, to.as_ref()) }).await?,
        false => apart(async { restore_below(&caller, &id, to).await }).await?,
    };
    Ok(Json(RestoredJson { path: path.to_string() }).into_response())
}

/// Restores a node below the path of the caller's token, to which it returns, and nowhere else.
async fn restore_below(caller: &RequestCaller, id: &FileId, to: Option<VPath>) -> Result<VPath> {
    let trash = caller.app.workspace.trash();
    let refused = || HttpProblem::forbidden("the token does not reach this node of the trash");
    let listed = trash.list()?;
    let entry = listed.iter().find(|entry| entry.id == *id).filter(|e| was_covered(caller, e));
    let entry = entry.ok_or_else(refused)?;
    let to = match to {
        Some(to) => to,
        None => path_of(entry.original.as_str())?,
    };
    if !caller.grant.covers(&to) {
        return Err(refused());
    }
    // No link leads out of the directory into which it returns.
    let parent = to.parent().unwrap_or_else(VPath::root);
    if caller.grant.covers(&parent) {
        caller.fs().stat(&parent).await?;
    }
    let path = trash.restore(id, Some(&to))?;
    let real = caller.app.workspace.nodes().path_of(id)?;
    if real.is_none_or(|real| caller.grant.covers(&real)) {
        return Ok(path);
    }
    // A directory on the way was replaced by a link meanwhile.
    let files = caller.app.workspace.fs_for(caller.grant.actor.clone());
    files.rm(&path, &RemoveOptions { recursive: true, ..RemoveOptions::default() }).await?;
    Err(refused())
}

/// Reports whether a node of the trash was below the path of the caller's token.
fn was_covered(caller: &RequestCaller, entry: &TrashEntry) -> bool {
    caller.grant.is_whole()
        || path_of(entry.original.as_str()).is_ok_and(|path| caller.grant.covers(&path))
}

/// Answers `GET /api/versions/{path}`.
pub(super) async fn versions(path: Rest, caller: RequestCaller) -> Result {
    let path = parse_rest(path)?;
    let versions = apart(async { caller.confined().versions(&path) }).await?;
    let versions = versions.iter().map(VersionJson::from).collect();
    Ok(Json(VersionList { path: path.to_string(), versions }).into_response())
}

/// Answers `GET /api/blame/{path}`.
pub(super) async fn blame(path: Rest, caller: RequestCaller) -> Result {
    let path = parse_rest(path)?;
    let lines = apart(async { caller.confined().blame(&path) }).await?;
    let lines = lines.iter().map(BlameLineJson::from).collect();
    Ok(Json(BlameList { path: path.to_string(), lines }).into_response())
}

fn created() -> Response {
    StatusCode::CREATED.into_response()
}
