//! `/api/conflicts`: what a person should decide, and the decisions.

use yfs::workspace::removals::RemovalDecision;
use yfs_vfs::Op;
use yfs_wire::{
    ConflictJson, ConflictList, RemovalChoice, SettleRequest, WordConflictJson, WordConflictList,
};

use super::{Rest, parse_rest};
use crate::prelude::*;

/// Answers `GET /api/conflicts`.
pub(super) async fn list(caller: RequestCaller) -> Result {
    caller.needs_whole()?;
    let found = apart(async { caller.app.workspace.conflicts() }).await?;
    let conflicts = found.iter().map(ConflictJson::from).collect();
    Ok(Json(ConflictList { conflicts }).into_response())
}

/// Answers `GET /api/conflicts/{path}`: the words of one file.
pub(super) async fn words(path: Rest, caller: RequestCaller) -> Result {
    let path = parse_rest(path)?;
    let places = apart(async { caller.confined().word_conflicts(&path) }).await?;
    let places = places.iter().map(WordConflictJson::from).collect();
    Ok(Json(WordConflictList { path: path.to_string(), places }).into_response())
}

/// Answers `POST /api/conflicts/{path}`.
pub(super) async fn settle(
    path: Rest,
    caller: RequestCaller,
    JsonBody(body): JsonBody<SettleRequest>,
) -> Result {
    let path = parse_rest(path)?;
    let is_settled = match body.removal {
        None => {
            let fs = caller.writer(Op::Write, &path)?;
            let SettleRequest { place, words, keep, .. } = &body;
            apart(async { fs.settle_words(&path, *place, words, *keep) }).await?
        }
        Some(choice) => {
            caller.needs_whole()?;
            caller.needs_write()?;
            let decision = match choice {
                RemovalChoice::Restore => RemovalDecision::Restore,
                RemovalChoice::Delete => RemovalDecision::KeepRemoved,
            };
            let trash = caller.app.workspace.trash();
            !apart(async { trash.resolve_removal(&path, decision) }).await?.is_empty()
        }
    };
    if is_settled {
        return Ok(StatusCode::NO_CONTENT.into_response());
    }
    Err(HttpProblem::new(StatusCode::CONFLICT, "this conflict is no longer there"))
}
