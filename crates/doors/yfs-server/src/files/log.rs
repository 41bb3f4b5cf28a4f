//! `GET /api/log`: who changed which files, the latest first.

use yfs_vfs::FsCode;
use yfs_wire::{LogEntryJson, LogList, LogQuery};

use crate::prelude::*;

/// The number of changes that are returned by default, and the greatest.
const DEFAULT_CHANGES: usize = 50;
const MAX_CHANGES: usize = 500;

/// Answers `GET /api/log`.
pub(super) async fn log(
    caller: RequestCaller,
    QueryParameters(asked): QueryParameters<LogQuery>,
) -> Result {
    let limit = asked.limit.unwrap_or(DEFAULT_CHANGES).min(MAX_CHANGES);
    let path = match &asked.path {
        Some(path) => path_of(path)?,
        None => caller.grant.path.clone(),
    };
    if !caller.grant.covers(&path) {
        return Err(HttpProblem::forbidden("the token does not cover this path"));
    }
    let _permit = caller.app.joins.acquire().await;
    let entries = apart(async {
        // What a link leads to is not the caller's to know if it is outside.
        let stat = caller.fs().stat(&path).await;
        if let Err(error) = stat.map(drop)
            && error.code == FsCode::EACCES
        {
            return Err(error.into());
        }
        let changes = caller.app.workspace.history().changes(&path)?;
        let covered = changes
            .filter(|entry| entry.as_ref().map_or(true, |entry| caller.grant.covers(&entry.path)));
        let entries = covered.skip(asked.skip).take(limit).map(|entry| {
            let mut entry = entry?;
            // A former path may be one that the caller must not know.
            entry.paths = entry.paths.filter(|[from, _]| caller.grant.covers(from));
            Ok(LogEntryJson::from(&entry))
        });
        entries.collect::<std::result::Result<Vec<_>, yfs::WorkspaceError>>()
    })
    .await?;
    Ok(Json(LogList { entries }).into_response())
}
