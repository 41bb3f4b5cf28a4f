//! The tree as JSON: which files there are, and the guid under which each is synced.

use axum::{Json, response::IntoResponse};
use serde::Serialize;
use yfs_engine::kind::profile_name;
use yfs_vfs::{FileKind, WalkEntry, WalkOptions};

use crate::{
    caller::{RequestCaller, apart},
    problem::Result,
};

/// The answer of `GET /api/tree`.
#[derive(Debug, Serialize)]
struct TreeResponse {
    /// The guid of the main document.
    workspace: String,
    /// The schema of rich text: `gfm` or `commonmark`.
    profile: &'static str,
    /// Everything in the tree, each directory before what it holds.
    entries: Vec<TreeResponseEntry>,
}

/// A file, directory or symbolic link.
#[derive(Debug, Serialize)]
struct TreeResponseEntry {
    path: String,
    /// The id; of a file it is the guid of its content document.
    guid: String,
    kind: &'static str,
    /// The root that an editor of the file binds to: `text` or `richtext`. Absent of what is no text.
    #[serde(skip_serializing_if = "Option::is_none")]
    root: Option<&'static str>,
    /// In bytes.
    size: u64,
    /// In milliseconds since the Unix epoch.
    mtime: i64,
}

/// Answers `GET /api/tree`.
pub(crate) async fn tree(caller: RequestCaller) -> Result {
    let tree = apart(async { list(&caller).await }).await?;
    Ok(Json(tree).into_response())
}

async fn list(caller: &RequestCaller) -> Result<TreeResponse> {
    let workspace = &caller.app.workspace;
    let found = caller.fs().walk(&caller.grant.path, &WalkOptions::default()).await?;
    let files = caller.confined();
    let entries = found.into_iter().map(|found| {
        let info = match found.entry.kind {
            FileKind::File => workspace.documents().info_of(&found.entry.id),
            // What it leads to is found by its path.
            FileKind::Symlink => files.document(&found.path).ok(),
            _ => None,
        };
        TreeResponseEntry {
            root: info.and_then(|info| info.root()),
            ..TreeResponseEntry::from(found)
        }
    });
    let entries = entries.collect();
    let (id, profile) = (workspace.id().to_string(), profile_name(workspace.profile()));
    Ok(TreeResponse { workspace: id, profile, entries })
}

impl From<WalkEntry> for TreeResponseEntry {
    fn from(WalkEntry { path, entry, .. }: WalkEntry) -> Self {
        let kind = match entry.kind {
            FileKind::Directory => "directory",
            FileKind::Symlink => "symlink",
            _ => "file",
        };
        Self {
            path: path.to_string(),
            guid: entry.id.to_string(),
            kind,
            root: None,
            size: entry.size,
            mtime: entry.mtime.0,
        }
    }
}
