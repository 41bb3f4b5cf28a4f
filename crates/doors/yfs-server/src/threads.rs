//! `/api/threads/…`: the threads of agents, and their files.
//!
//! A token reaches the threads that lie at or below its directory. Only a token for a directory
//! above a thread creates, archives, deletes or restores it; one for the thread itself has its
//! files.

mod contents;
mod manage;
mod tree;

use axum::{
    Router,
    extract::{DefaultBodyLimit, FromRequestParts, Query},
    http::request::Parts,
    routing::{get, post},
};
use yfs_engine::path::VPath;
use yfs_threads::{NamespaceStrategy, ThreadError, ThreadFileError, ThreadFiles, Threads};
use yfs_vfs::FsCode;
use yfs_wire::ThreadPlaceQuery;

use crate::{
    caller::{RequestCaller, path_of},
    problem::{HttpProblem, Result},
    server_state::ServerState,
};

/// The greatest size of a request body that is no file, in bytes.
const MAX_BODY_LEN: usize = 1 << 20;

/// Returns the routes.
pub(crate) fn routes() -> Router<ServerState> {
    let file = get(contents::get).put(contents::put);
    let file = file.delete(tree::delete).patch(tree::set_metadata);
    Router::new()
        .route("/api/threads", get(manage::list).post(manage::create))
        .route("/api/thread-retention", post(manage::prune))
        .route("/api/threads/{id}", get(manage::show).delete(manage::delete))
        .route("/api/threads/{id}/stats", get(manage::stats))
        .route("/api/threads/{id}/fork", post(manage::fork))
        .route("/api/threads/{id}/archive", post(manage::archive))
        .route("/api/threads/{id}/unarchive", post(manage::unarchive))
        .route("/api/threads/{id}/restore", post(manage::restore))
        .route("/api/threads/{id}/files", get(contents::get_root))
        .route("/api/threads/{id}/files/", get(contents::get_root))
        .route("/api/threads/{id}/files/{*path}", file)
        .route("/api/threads/{id}/stat/{*path}", get(tree::stat))
        .route("/api/threads/{id}/mkdir", post(tree::mkdir))
        .route("/api/threads/{id}/move", post(tree::move_))
        .route("/api/threads/{id}/link", post(tree::link))
        .route("/api/threads/{id}/grep", get(tree::grep))
        .route("/api/threads/{id}/find", get(tree::find))
        .layer(DefaultBodyLimit::max(MAX_BODY_LEN))
}

/// The threads that the caller of a request may see.
#[derive(Debug)]
struct RequestThreads {
    caller: RequestCaller,
    threads: Threads,
}

impl RequestThreads {
    /// Returns the directory of a thread that the caller may read.
    fn covered(&self, id: &str) -> Result<VPath> {
        let directory = self.threads.directory_of(id)?;
        if self.caller.grant.covers(&directory) {
            return Ok(directory);
        }
        Err(HttpProblem::forbidden("the token does not cover this thread"))
    }

    /// Rejects a caller that may not create and remove a thread.
    fn check_manages(&self, id: &str) -> Result<()> {
        self.caller.needs_write()?;
        let above = self.covered(id)?.parent();
        if above.is_some_and(|above| self.caller.grant.covers(&above)) {
            return Ok(());
        }
        Err(HttpProblem::forbidden("this needs a token for the directory that has the thread's"))
    }

    /// Returns the files of a thread.
    async fn files(&self, id: &str) -> Result<ThreadFiles> {
        self.covered(id)?;
        Ok(self.threads.existing(id).await?.files())
    }

    /// Returns the files of a thread for a caller that writes.
    async fn writable_files(&self, id: &str) -> Result<ThreadFiles> {
        self.caller.needs_write()?;
        self.files(id).await
    }
}

impl FromRequestParts<ServerState> for RequestThreads {
    type Rejection = HttpProblem;

    async fn from_request_parts(parts: &mut Parts, app: &ServerState) -> Result<Self> {
        let caller = RequestCaller::from_request_parts(parts, app).await?;
        let Query(place) = Query::<ThreadPlaceQuery>::try_from_uri(&parts.uri)
            .map_err(|reason| HttpProblem::new(reason.status(), reason.body_text()))?;
        let mut threads = Threads::open(&app.workspace)
            .acting_for(caller.grant.actor.clone())
            .confined_to(caller.grant.path.clone());
        if let Some(root) = &place.root {
            threads = threads.in_directory(path_of(root)?);
        }
        if let Some(namespace) = &place.namespace {
            let parsed = NamespaceStrategy::parse(namespace);
            let strategy = parsed.map_err(|error| HttpProblem::bad_request(error.to_string()))?;
            threads = threads.with_strategy(strategy);
        }
        Ok(Self { caller, threads })
    }
}

impl From<ThreadError> for HttpProblem {
    fn from(error: ThreadError) -> Self {
        match error {
            ThreadError::Fs(error) => error.into(),
            ThreadError::Workspace(error) => error.into(),
            ThreadError::Missing(_) => Self::coded(FsCode::ENOENT, &error),
            ThreadError::Exists(_) => Self::coded(FsCode::EEXIST, &error),
            error => Self::coded(FsCode::EINVAL, &error),
        }
    }
}

impl From<ThreadFileError> for HttpProblem {
    fn from(error: ThreadFileError) -> Self {
        match error {
            ThreadFileError::Fs(error) => error.into(),
            ThreadFileError::Thumbnail { source, .. } => source.into(),
            error => Self::coded(FsCode::EINVAL, &error),
        }
    }
}
