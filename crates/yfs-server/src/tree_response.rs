//! The tree as JSON: all files, with the guid under which each is synced.

use axum::{Json, response::IntoResponse};
use yfs_engine::kind::profile_name;
use yfs_vfs::{FileKind, WalkOptions};
use yfs_wire::{TreeEntryJson, TreeJson};

use crate::{
    caller::{RequestCaller, apart},
    problem::Result,
};

/// Answers `GET /api/tree`.
pub(crate) async fn tree(caller: RequestCaller) -> Result {
    let tree = apart(async { list(&caller).await }).await?;
    Ok(Json(tree).into_response())
}

async fn list(caller: &RequestCaller) -> Result<TreeJson> {
    let workspace = &caller.app.workspace;
    let found = caller.fs().walk(&caller.grant.path, &WalkOptions::default()).await?;
    let files = caller.confined();
    let entries = found.into_iter().map(|found| {
        let info = match found.entry.kind {
            FileKind::File => workspace.documents().info_of(&found.entry.id),
            // The target of a link is found by its path.
            FileKind::Symlink => files.document(&found.path).ok(),
            _ => None,
        };
        TreeEntryJson {
            root: info.and_then(|info| info.root()),
            ..TreeEntryJson::new(&found.path, &found.entry)
        }
    });
    let entries = entries.collect();
    let (id, profile) = (workspace.id().to_string(), profile_name(workspace.profile()));
    Ok(TreeJson { workspace: id, profile, entries })
}
