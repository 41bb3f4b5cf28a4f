//! `/api/threads/…`: the threads of agents, and their files.
//!
//! A token reaches the threads that lie at or below its directory. Only a token for a directory
//! above a thread creates, archives, deletes or restores it; one for the thread itself has its
//! files.

mod contents;
mod requests;

use axum::{
    Router,
    extract::{DefaultBodyLimit, FromRequestParts, Query},
    http::request::Parts,
    routing::{get, post},
};
use yfs::clock::{Clock, SystemClock};
use yfs_engine::path::VPath;
use yfs_threads::{NamespaceStrategy, ThreadError, ThreadFileError, ThreadFiles, Threads};
use yfs_vfs::{FsCode, FsError, Op};
use yfs_wire::{
    RetentionRules, ThreadFileRequest, ThreadOpening, ThreadPlaceQuery, ThreadQuery, ThreadRequest,
    ThreadResponse, UnixMillis,
};

use self::requests::{on_file, on_files, on_files_body, on_thread};
use crate::prelude::*;

/// The greatest size of a request body that is no file, in bytes.
const MAX_BODY_LEN: usize = 1 << 20;

/// Returns the routes.
pub(crate) fn routes() -> Router<ServerState> {
    use ThreadFileRequest as File;
    use ThreadRequest as Request;
    let thread = get(on_thread(|id| Request::Info { id }));
    let thread = thread.delete(on_thread(|id| Request::Delete { id }));
    let restore = |id| Request::Open(ThreadOpening::Restore { id });
    let file = get(contents::get).put(contents::put);
    let file = file.delete(on_file(|path| File::Delete { path })).patch(requests::patch);
    Router::new()
        .route("/api/threads", get(requests::list).post(requests::create))
        .route("/api/thread-retention", post(requests::prune))
        .route("/api/threads/{id}", thread)
        .route("/api/threads/{id}/stats", get(on_files(|_: ThreadQuery| Ok(File::Stats))))
        .route("/api/threads/{id}/fork", post(requests::fork))
        .route("/api/threads/{id}/archive", post(on_thread(|id| Request::Archive { id })))
        .route("/api/threads/{id}/unarchive", post(on_thread(|id| Request::Unarchive { id })))
        .route("/api/threads/{id}/restore", post(on_thread(restore)))
        .route("/api/threads/{id}/files", get(on_files(contents::root)))
        .route("/api/threads/{id}/files/", get(on_files(contents::root)))
        .route("/api/threads/{id}/files/{*path}", file)
        .route("/api/threads/{id}/stat/{*path}", get(on_file(|path| File::Stat { path })))
        .route("/api/threads/{id}/mkdir", post(on_files_body(File::Mkdir)))
        .route("/api/threads/{id}/move", post(on_files_body(File::Move)))
        .route("/api/threads/{id}/link", post(on_files_body(File::Link)))
        .route("/api/threads/{id}/grep", get(on_files(requests::grep)))
        .route("/api/threads/{id}/find", get(on_files(requests::find)))
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

    /// Rejects a request that the caller may not make.
    fn check(&self, request: &ThreadRequest) -> Result<()> {
        match request {
            // A list has only the threads that the caller may read.
            ThreadRequest::List { .. } => Ok(()),
            ThreadRequest::Info { id } => self.covered(id).map(drop),
            ThreadRequest::Open(ThreadOpening::Fork { from, to }) => {
                self.covered(from)?;
                self.check_manages(to)
            }
            ThreadRequest::Open(ThreadOpening::Create { id } | ThreadOpening::Restore { id })
            | ThreadRequest::Archive { id }
            | ThreadRequest::Unarchive { id }
            | ThreadRequest::Delete { id } => self.check_manages(id),
            ThreadRequest::Prune(rules) => self.check_prunes(rules),
            ThreadRequest::Open(_) => Err(HttpProblem::forbidden("no route opens this")),
        }
    }

    /// Rejects a retention without a limit, and one of a caller that may not delete all threads.
    fn check_prunes(&self, rules: &RetentionRules) -> Result<()> {
        if !rules.dry_run {
            self.caller.needs_write()?;
        }
        if !self.threads.is_above_threads() {
            return Err(HttpProblem::forbidden(
                "this needs a token for a directory that contains those of threads",
            ));
        }
        if rules.older_than_ms.is_none() && rules.max_size.is_none() {
            return Err(HttpProblem::bad_request("a retention needs older_than or max_size"));
        }
        Ok(())
    }

    /// Serves a request, or rejects a caller that may not make it.
    async fn serve_now(
        &self,
        request: ThreadRequest,
    ) -> Result<std::result::Result<ThreadResponse, ThreadError>> {
        self.check(&request)?;
        let _permit = match &request {
            ThreadRequest::List { .. } | ThreadRequest::Prune(_) => {
                Some(self.caller.app.joins.acquire().await)
            }
            _ => None,
        };
        Ok(apart(request.serve(&self.threads, SystemClock.now())).await)
    }

    /// Answers a request.
    async fn serve(&self, request: ThreadRequest) -> Result {
        let status = match &request {
            ThreadRequest::Open(ThreadOpening::Fork { .. }) => StatusCode::CREATED,
            _ => StatusCode::OK,
        };
        Ok(answer(status, self.serve_now(request).await??))
    }

    /// Answers a request for the files of a thread.
    async fn serve_files(&self, id: &str, request: ThreadFileRequest) -> Result {
        if request.writes() {
            self.caller.needs_write()?;
        }
        let status = match &request {
            ThreadFileRequest::Mkdir(_) | ThreadFileRequest::Link(_) => StatusCode::CREATED,
            _ => StatusCode::OK,
        };
        let _permit = match &request {
            ThreadFileRequest::Grep(_) => Some(self.caller.app.joins.acquire().await),
            _ => None,
        };
        let missing = match &request {
            ThreadFileRequest::Stat { path } => format!("/{path}"),
            _ => String::new(),
        };
        apart(async {
            let files = self.files(id).await?;
            match request.serve::<UnixMillis>(&files).await? {
                ThreadResponse::Missing => {
                    Err(FsError::new(FsCode::ENOENT, Op::Stat, missing).into())
                }
                served => Ok(answer(status, served)),
            }
        })
        .await
    }

    /// Returns the files of a thread that the caller may read.
    async fn files(&self, id: &str) -> Result<ThreadFiles> {
        self.covered(id)?;
        Ok(self.threads.existing(id).await?.files())
    }
}

/// Answers with what a request was served.
fn answer(status: StatusCode, served: ThreadResponse) -> Response {
    match served {
        ThreadResponse::Removed => StatusCode::NO_CONTENT.into_response(),
        served => (status, Json(served)).into_response(),
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
