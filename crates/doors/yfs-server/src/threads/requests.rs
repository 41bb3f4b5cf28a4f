//! The requests for threads that routes make of paths, queries and bodies.

use futures::{FutureExt, future::BoxFuture};
use yfs_threads::ThreadError;
use yfs_vfs::Metadata;
use yfs_wire::{
    CreateThreadRequest, ForkThreadRequest, RetentionRequest, RetentionRules, ThreadFileRequest,
    ThreadFindQuery, ThreadGrepQuery, ThreadOpening, ThreadQuery, ThreadRequest,
    ThreadSearchRequest, ThreadsQuery,
};

use super::{RequestThreads, answer};
use crate::prelude::*;

/// The number of matching lines that are returned by default, and the greatest.
const DEFAULT_LINES: usize = 500;
const MAX_LINES: usize = 5_000;

/// The greatest length of a pattern, in bytes.
const MAX_PATTERN_LEN: usize = 1_000;

type Answer = BoxFuture<'static, Result>;
type PlainQuery = QueryParameters<ThreadQuery>;
type FilePath = Path<(String, String)>;

/// Makes the handler of a route whose path names a thread.
pub(super) fn on_thread(
    request: fn(String) -> ThreadRequest,
) -> impl Fn(RequestThreads, Path<String>, PlainQuery) -> Answer + Clone {
    move |all, Path(id), _| async move { all.serve(request(id)).await }.boxed()
}

/// Makes the handler of a route for the files of a thread, with a query.
pub(super) fn on_files<Q: Send + 'static>(
    request: fn(Q) -> Result<ThreadFileRequest>,
) -> impl Fn(RequestThreads, Path<String>, QueryParameters<Q>) -> Answer + Clone {
    move |all, Path(id), QueryParameters(asked)| {
        async move { all.serve_files(&id, request(asked)?).await }.boxed()
    }
}

/// Makes the handler of a route for the files of a thread, with a body.
pub(super) fn on_files_body<B: Send + 'static>(
    request: fn(B) -> ThreadFileRequest,
) -> impl Fn(RequestThreads, Path<String>, PlainQuery, JsonBody<B>) -> Answer + Clone {
    move |all, Path(id), _, JsonBody(body)| {
        async move { all.serve_files(&id, request(body)).await }.boxed()
    }
}

/// Makes the handler of a route whose path names a file of a thread.
pub(super) fn on_file(
    request: fn(String) -> ThreadFileRequest,
) -> impl Fn(RequestThreads, FilePath, PlainQuery) -> Answer + Clone {
    move |all, Path((id, path)), _| async move { all.serve_files(&id, request(path)).await }.boxed()
}

/// Answers `PATCH /api/threads/{id}/files/{path}`: sets members of the metadata.
pub(super) async fn patch(
    all: RequestThreads,
    Path((id, path)): FilePath,
    _: PlainQuery,
    JsonBody(metadata): JsonBody<Metadata>,
) -> Result {
    all.serve_files(&id, ThreadFileRequest::Patch { path, metadata }).await
}

/// Answers `GET /api/threads`.
pub(super) async fn list(
    all: RequestThreads,
    QueryParameters(asked): QueryParameters<ThreadsQuery>,
) -> Result {
    all.serve(ThreadRequest::List { archived: asked.archived }).await
}

/// Answers `POST /api/threads`.
pub(super) async fn create(
    all: RequestThreads,
    _: PlainQuery,
    JsonBody(CreateThreadRequest { id, if_missing }): JsonBody<CreateThreadRequest>,
) -> Result {
    let create = ThreadOpening::Create { id: id.clone() };
    match all.serve_now(ThreadRequest::Open(create)).await? {
        Err(ThreadError::Exists(_)) if if_missing => all.serve(ThreadRequest::Info { id }).await,
        created => Ok(answer(StatusCode::CREATED, created?)),
    }
}

/// Answers `POST /api/threads/{id}/fork`.
pub(super) async fn fork(
    all: RequestThreads,
    Path(from): Path<String>,
    _: PlainQuery,
    JsonBody(ForkThreadRequest { to }): JsonBody<ForkThreadRequest>,
) -> Result {
    all.serve(ThreadRequest::Open(ThreadOpening::Fork { from, to })).await
}

/// Answers `POST /api/thread-retention`: moves threads to the trash that a policy does not keep.
pub(super) async fn prune(
    all: RequestThreads,
    _: PlainQuery,
    JsonBody(body): JsonBody<RetentionRequest>,
) -> Result {
    let rules = RetentionRules {
        older_than_ms: body.older_than.map(|seconds| seconds as f64 * 1000.0),
        max_size: body.max_size.map(|size| size as f64),
        archived: body.archived,
        dry_run: body.dry_run,
    };
    all.serve(ThreadRequest::Prune(rules)).await
}

/// Makes the request of `GET /api/threads/{id}/grep`.
pub(super) fn grep(asked: ThreadGrepQuery) -> Result<ThreadFileRequest> {
    check_len("pattern", &asked.pattern)?;
    Ok(ThreadFileRequest::Grep(ThreadSearchRequest {
        pattern: asked.pattern,
        regex: asked.regex,
        ignore_case: asked.ignore_case,
        include: asked.include.into_iter().collect(),
        limit: Some(asked.limit.unwrap_or(DEFAULT_LINES).min(MAX_LINES)),
    }))
}

/// Makes the request of `GET /api/threads/{id}/find`.
pub(super) fn find(asked: ThreadFindQuery) -> Result<ThreadFileRequest> {
    check_len("glob", &asked.glob)?;
    Ok(ThreadFileRequest::Find { glob: asked.glob })
}

fn check_len(what: &str, text: &str) -> Result<()> {
    match text.len() {
        1..=MAX_PATTERN_LEN => Ok(()),
        _ => Err(HttpProblem::bad_request(format!("a {what} has 1 to {MAX_PATTERN_LEN} bytes"))),
    }
}
