//! Creating, listing, forking, archiving, deleting and restoring threads, and retention.

use std::time::Duration;

use axum::{
    Json,
    extract::Path,
    http::StatusCode,
    response::{IntoResponse, Response},
};
use yfs::clock::{Clock, SystemClock};
use yfs_threads::{RetentionPolicy, ThreadError, ThreadInfo};
use yfs_wire::{
    ArchivedThreadJson, CreateThreadRequest, ForkThreadRequest, RetentionReportJson,
    RetentionRequest, ThreadJson, ThreadList, ThreadQuery, ThreadStatsJson, ThreadsQuery,
    UnixMillis,
};

use super::RequestThreads;
use crate::{
    caller::apart,
    extract::{JsonBody, QueryParameters},
    problem::{HttpProblem, Result},
};

/// Answers `GET /api/threads`.
pub(super) async fn list(
    all: RequestThreads,
    QueryParameters(asked): QueryParameters<ThreadsQuery>,
) -> Result {
    let _permit = all.caller.app.joins.acquire().await;
    let infos = apart(all.threads.list(asked.archived)).await?;
    let threads = infos.iter().map(ThreadJson::from).collect();
    Ok(Json(ThreadList { threads }).into_response())
}

/// Answers `POST /api/threads`.
pub(super) async fn create(
    all: RequestThreads,
    _: QueryParameters<ThreadQuery>,
    JsonBody(body): JsonBody<CreateThreadRequest>,
) -> Result {
    all.check_manages(&body.id)?;
    apart(async {
        let status = match all.threads.create(&body.id).await {
            Err(ThreadError::Exists(_)) if body.if_missing => StatusCode::OK,
            created => {
                created?;
                StatusCode::CREATED
            }
        };
        Ok(described(status, &all.threads.info(&body.id).await?))
    })
    .await
}

/// Answers `GET /api/threads/{id}`.
pub(super) async fn show(
    all: RequestThreads,
    Path(id): Path<String>,
    _: QueryParameters<ThreadQuery>,
) -> Result {
    all.covered(&id)?;
    let info = apart(all.threads.info(&id)).await?;
    Ok(described(StatusCode::OK, &info))
}

/// Answers `GET /api/threads/{id}/stats`.
pub(super) async fn stats(
    all: RequestThreads,
    Path(id): Path<String>,
    _: QueryParameters<ThreadQuery>,
) -> Result {
    let stats = apart(async { Ok(all.files(&id).await?.file_stats().await?) });
    let stats: Result<_> = stats.await;
    Ok(Json(ThreadStatsJson::new(&id, &stats?)).into_response())
}

/// Answers `POST /api/threads/{id}/fork`.
pub(super) async fn fork(
    all: RequestThreads,
    Path(id): Path<String>,
    _: QueryParameters<ThreadQuery>,
    JsonBody(body): JsonBody<ForkThreadRequest>,
) -> Result {
    all.covered(&id)?;
    all.check_manages(&body.to)?;
    apart(async {
        all.threads.fork(&id, &body.to).await?;
        Ok(described(StatusCode::CREATED, &all.threads.info(&body.to).await?))
    })
    .await
}

/// Answers `POST /api/threads/{id}/archive`.
pub(super) async fn archive(
    all: RequestThreads,
    Path(id): Path<String>,
    _: QueryParameters<ThreadQuery>,
) -> Result {
    all.check_manages(&id)?;
    let at = apart(all.threads.archive(&id, SystemClock.now())).await?;
    let archived = ArchivedThreadJson::<UnixMillis> { id, archived: Some(at.into()) };
    Ok(Json(archived).into_response())
}

/// Answers `POST /api/threads/{id}/unarchive`.
pub(super) async fn unarchive(
    all: RequestThreads,
    Path(id): Path<String>,
    _: QueryParameters<ThreadQuery>,
) -> Result {
    all.check_manages(&id)?;
    apart(all.threads.unarchive(&id)).await?;
    Ok(Json(ArchivedThreadJson::<UnixMillis> { id, archived: None }).into_response())
}

/// Answers `DELETE /api/threads/{id}`: moves the thread to the trash.
pub(super) async fn delete(
    all: RequestThreads,
    Path(id): Path<String>,
    _: QueryParameters<ThreadQuery>,
) -> Result {
    all.check_manages(&id)?;
    apart(all.threads.delete(&id)).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

/// Answers `POST /api/threads/{id}/restore`.
pub(super) async fn restore(
    all: RequestThreads,
    Path(id): Path<String>,
    _: QueryParameters<ThreadQuery>,
) -> Result {
    all.check_manages(&id)?;
    apart(async {
        all.threads.restore(&id).await?;
        Ok(described(StatusCode::OK, &all.threads.info(&id).await?))
    })
    .await
}

/// Answers `POST /api/thread-retention`: moves threads to the trash that a policy does not keep.
pub(super) async fn prune(
    all: RequestThreads,
    _: QueryParameters<ThreadQuery>,
    JsonBody(body): JsonBody<RetentionRequest>,
) -> Result {
    if !body.dry_run {
        all.caller.needs_write()?;
    }
    if !all.threads.is_above_threads() {
        return Err(HttpProblem::forbidden(
            "this needs a token for a directory that contains those of threads",
        ));
    }
    if body.older_than.is_none() && body.max_size.is_none() {
        return Err(HttpProblem::bad_request("a retention needs older_than or max_size"));
    }
    let policy = RetentionPolicy {
        max_age: body.older_than.map(Duration::from_secs),
        max_bytes: body.max_size,
        archived: body.archived,
        dry_run: body.dry_run,
    };
    let _permit = all.caller.app.joins.acquire().await;
    let report = apart(all.threads.prune(&policy, SystemClock.now())).await?;
    Ok(Json(RetentionReportJson::<UnixMillis>::new(&report, body.dry_run)).into_response())
}

fn described(status: StatusCode, info: &ThreadInfo) -> Response {
    (status, Json(ThreadJson::<UnixMillis>::from(info))).into_response()
}
