//! `/api/artifacts` and what belongs to it: results of tools as files with references, statistics
//! of files, contexts for models.
//!
//! All calls go through the files that the caller may see, so a token for a directory needs
//! `?root=` with a directory of its own.

mod describe;
mod store;

use axum::{
    Router,
    extract::DefaultBodyLimit,
    routing::{get, post},
};
use yfs_artifacts::ArtifactError;
use yfs_vfs::FsCode;

use crate::{problem::HttpProblem, server_state::ServerState};

/// The greatest size of a request body that is no result, in bytes.
const MAX_BODY_LEN: usize = 1 << 20;

/// Returns the routes.
pub(crate) fn routes() -> Router<ServerState> {
    Router::new()
        .route("/api/artifacts", get(store::list).post(store::put))
        .route("/api/artifacts/{*path}", get(store::get))
        .route("/api/artifact-references", post(store::resolve))
        .route("/api/artifact-references/{*path}", get(store::show))
        .route("/api/artifact-cleanup", post(store::clean))
        .route("/api/context", post(describe::context))
        .route("/api/stats", get(describe::stats))
        .layer(DefaultBodyLimit::max(MAX_BODY_LEN))
}

impl From<ArtifactError> for HttpProblem {
    fn from(error: ArtifactError) -> Self {
        match error {
            ArtifactError::Fs(error) => error.into(),
            ArtifactError::Missing { .. } => Self::coded(FsCode::ENOENT, &error),
            ArtifactError::Corrupt { .. } | ArtifactError::Open { .. } => {
                Self::coded(FsCode::EIO, &error)
            }
            error => Self::coded(FsCode::EINVAL, &error),
        }
    }
}
