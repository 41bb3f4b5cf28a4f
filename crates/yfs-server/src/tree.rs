//! The tree as JSON: which files there are, and the guid under which each is synced.

use axum::{
    Json,
    extract::State,
    http::StatusCode,
    response::{IntoResponse, Response},
};
use serde::Serialize;
use yfs_engine::{kind::profile_name, path::VPath};
use yfs_vfs::{FileKind, FileSystem, FsError, WalkEntry, WalkOptions};

use crate::serve::App;

/// The answer of `GET /api/tree`.
#[derive(Debug, Serialize)]
struct Tree {
    /// The guid of the main document.
    workspace: String,
    /// The schema of rich text: `gfm` or `commonmark`.
    profile: &'static str,
    /// Everything in the tree, each directory before what it holds.
    entries: Vec<Node>,
}

/// A file, directory or symbolic link.
#[derive(Debug, Serialize)]
struct Node {
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

pub(crate) async fn tree(State(app): State<App>) -> Response {
    match list(&app).await {
        Ok(tree) => Json(tree).into_response(),
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response(),
    }
}

async fn list(app: &App) -> Result<Tree, FsError> {
    let found = app.workspace.fs().walk(&VPath::root(), &WalkOptions::default()).await?;
    let workspace = app.workspace.id().to_string();
    let profile = profile_name(app.workspace.profile());
    let entries = found.into_iter().map(|found| {
        let info = app.workspace.document(&found.path).ok();
        Node { root: info.and_then(|info| info.root()), ..Node::from(found) }
    });
    Ok(Tree { workspace, profile, entries: entries.collect() })
}

impl From<WalkEntry> for Node {
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
