//! The tree as JSON: all files, with the guid under which each is synced.

use axum::{
    http::{HeaderMap, StatusCode, header},
    response::IntoResponse,
};
use yfs_engine::kind::profile_name;
use yfs_vfs::{FileKind, WalkOptions};
use yfs_wire::{TreeEntryJson, TreeJson};

use crate::{
    caller::{RequestCaller, apart},
    files::unchanged,
    problem::Result,
};

/// Answers `GET /api/tree`. The entity tag is a hash of the answer, so that a client that has it
/// gets no second copy: of 10,000 files it is 1.2 MB.
pub(crate) async fn tree(caller: RequestCaller, headers: HeaderMap) -> Result {
    let tree = apart(async { list(&caller).await }).await?;
    let json = serde_json::to_vec(&tree).expect("strings and numbers are JSON");
    let etag = format!("\"{}\"", blake3::hash(&json).to_hex());
    if unchanged(&headers, &etag) {
        return Ok((StatusCode::NOT_MODIFIED, [(header::ETAG, etag)]).into_response());
    }
    let fields = [(header::CONTENT_TYPE, "application/json".to_owned()), (header::ETAG, etag)];
    Ok((fields, json).into_response())
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
