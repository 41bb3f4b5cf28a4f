//! `/api/files/…`: the files of the workspace as HTTP resources.
//!
//! The `ETag` of a file is its version. If another writer changed the file since, a write with
//! `If-Match` is rejected with 412, or merged with `?conflict=merge` (docs/spec/filesystem.md: no
//! work is lost).

mod conflicts;
mod list;
mod log;
mod range;
mod read;
mod search;
mod structure;
mod thumbnail;
mod write;

pub(crate) use self::{range::ranged, read::content_response, thumbnail::thumbnail_response};

use axum::{
    Router,
    extract::DefaultBodyLimit,
    routing::{get, patch, post},
};
use yfs_engine::path::VPath;

use crate::prelude::*;

/// The greatest size of an edit in a request, in bytes; [`FileBody`](crate::body::FileBody) limits
/// the size of a file.
const MAX_EDIT_LEN: usize = 16 << 20;

/// The greatest size of a request body that names paths, in bytes.
const MAX_PATHS_LEN: usize = 1 << 20;

/// Returns the routes.
pub(crate) fn routes() -> Router<ServerState> {
    let file = get(read::get).put(write::put).post(write::append);
    let edit = patch(write::edit).layer(DefaultBodyLimit::max(MAX_EDIT_LEN));
    let file = file.delete(write::delete).merge(edit);
    Router::new()
        .route("/api/files", get(read::get))
        .route("/api/files/", get(read::get))
        .route("/api/files/{*path}", file)
        .route("/api/stat/", get(read::stat))
        .route("/api/stat/{*path}", get(read::stat))
        .route("/api/search", get(search::search))
        .route("/api/log", get(log::log))
        .route("/api/mkdir", post(structure::mkdir))
        .route("/api/move", post(structure::move_))
        .route("/api/copy", post(structure::copy))
        .route("/api/symlink", post(structure::symlink))
        .route("/api/trash", get(structure::trash))
        .route("/api/trash/{id}", get(structure::trashed_content))
        .route("/api/restore", post(structure::restore))
        .route("/api/conflicts", get(conflicts::list))
        .route("/api/conflicts/{*path}", get(conflicts::words).post(conflicts::settle))
        .route("/api/versions/{*path}", get(structure::versions))
        .route("/api/blame/{*path}", get(structure::blame))
        .layer(DefaultBodyLimit::max(MAX_PATHS_LEN))
}

/// The path behind the prefix of a route.
type Rest = Option<Path<String>>;

fn parse_rest(path: Rest) -> Result<VPath> {
    path_of(&format!("/{}", path.map_or_else(String::new, |Path(path)| path)))
}
