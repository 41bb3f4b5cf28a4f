//! The tree of a thread: attributes, directories, moves, searches.

use axum::{
    Json,
    extract::Path,
    http::StatusCode,
    response::{IntoResponse, Response},
};
use yfs_threads::{ExternalFile, FileRecord, FileSearch, ThreadFiles, ThreadMatches};
use yfs_vfs::{FsCode, FsError, Metadata, Op};
use yfs_wire::{
    ThreadFileJson, ThreadFindQuery, ThreadGrepQuery, ThreadLinkRequest, ThreadMatchList,
    ThreadMatchesJson, ThreadMkdirRequest, ThreadMoveRequest, ThreadPathList, ThreadQuery,
};

use super::RequestThreads;
use crate::{
    caller::apart,
    extract::{JsonBody, QueryParameters},
    problem::{HttpProblem, Result},
};

/// The number of matching lines that are returned by default, and the greatest.
const DEFAULT_LINES: usize = 500;
const MAX_LINES: usize = 5_000;

/// The greatest length of a pattern, in bytes.
const MAX_PATTERN_LEN: usize = 1_000;

/// Answers `GET /api/threads/{id}/stat/{path}`.
pub(super) async fn stat(
    all: RequestThreads,
    Path((id, path)): Path<(String, String)>,
    _: QueryParameters<ThreadQuery>,
) -> Result {
    apart(async {
        let files = all.files(&id).await?;
        Ok(described(StatusCode::OK, &existing(&files, &path).await?))
    })
    .await
}

/// Answers `PATCH /api/threads/{id}/files/{path}`: sets members of the metadata.
pub(super) async fn set_metadata(
    all: RequestThreads,
    Path((id, path)): Path<(String, String)>,
    _: QueryParameters<ThreadQuery>,
    JsonBody(patch): JsonBody<Metadata>,
) -> Result {
    apart(async {
        let files = all.writable_files(&id).await?;
        Ok(described(StatusCode::OK, &files.patch_metadata(&path, &patch).await?))
    })
    .await
}

/// Answers `DELETE /api/threads/{id}/files/{path}`: moves a file or an empty directory to the
/// trash.
pub(super) async fn delete(
    all: RequestThreads,
    Path((id, path)): Path<(String, String)>,
    _: QueryParameters<ThreadQuery>,
) -> Result {
    apart(async {
        let files = all.writable_files(&id).await?;
        match files.unlink_file(&path).await {
            Err(yfs_threads::ThreadFileError::Fs(error)) if error.code == FsCode::EISDIR => {
                files.rmdir_file(&path).await?;
            }
            unlinked => unlinked?,
        }
        Ok(StatusCode::NO_CONTENT.into_response())
    })
    .await
}

/// Answers `POST /api/threads/{id}/mkdir`.
pub(super) async fn mkdir(
    all: RequestThreads,
    Path(id): Path<String>,
    _: QueryParameters<ThreadQuery>,
    JsonBody(body): JsonBody<ThreadMkdirRequest>,
) -> Result {
    apart(async {
        let made = all.writable_files(&id).await?.mkdir_file(&body.path).await?;
        Ok(described(StatusCode::CREATED, &made))
    })
    .await
}

/// Answers `POST /api/threads/{id}/move`.
pub(super) async fn move_(
    all: RequestThreads,
    Path(id): Path<String>,
    _: QueryParameters<ThreadQuery>,
    JsonBody(body): JsonBody<ThreadMoveRequest>,
) -> Result {
    apart(async {
        let moved = all.writable_files(&id).await?.move_file(&body.from, &body.to).await?;
        Ok(described(StatusCode::OK, &moved))
    })
    .await
}

/// Answers `POST /api/threads/{id}/link`.
pub(super) async fn link(
    all: RequestThreads,
    Path(id): Path<String>,
    _: QueryParameters<ThreadQuery>,
    JsonBody(body): JsonBody<ThreadLinkRequest>,
) -> Result {
    apart(async {
        let files = all.writable_files(&id).await?;
        let external = ExternalFile { url: body.url, size: body.size, hash: body.hash };
        let mime = body.mime.as_deref();
        let linked = files.link_file(&body.path, &external, mime, body.metadata).await?;
        Ok(described(StatusCode::CREATED, &linked))
    })
    .await
}

/// Answers `GET /api/threads/{id}/grep`.
pub(super) async fn grep(
    all: RequestThreads,
    Path(id): Path<String>,
    QueryParameters(asked): QueryParameters<ThreadGrepQuery>,
) -> Result {
    if asked.pattern.is_empty() || asked.pattern.len() > MAX_PATTERN_LEN {
        let reason = format!("a pattern has 1 to {MAX_PATTERN_LEN} bytes");
        return Err(HttpProblem::bad_request(reason));
    }
    let search = FileSearch {
        regex: asked.regex,
        ignore_case: asked.ignore_case,
        include: asked.include.into_iter().collect(),
        limit: Some(asked.limit.unwrap_or(DEFAULT_LINES).min(MAX_LINES)),
    };
    let _permit = all.caller.app.joins.acquire().await;
    apart(async {
        let found = all.files(&id).await?.grep_files(&asked.pattern, &search).await?;
        let ThreadMatches { files, n_binary: binary, binary_paths } = found;
        let files = files.into_iter().map(ThreadMatchesJson::from).collect();
        Ok(Json(ThreadMatchList { files, binary, binary_paths }).into_response())
    })
    .await
}

/// Answers `GET /api/threads/{id}/find`.
pub(super) async fn find(
    all: RequestThreads,
    Path(id): Path<String>,
    QueryParameters(asked): QueryParameters<ThreadFindQuery>,
) -> Result {
    if asked.glob.is_empty() || asked.glob.len() > MAX_PATTERN_LEN {
        let reason = format!("a glob has 1 to {MAX_PATTERN_LEN} bytes");
        return Err(HttpProblem::bad_request(reason));
    }
    apart(async {
        let paths = all.files(&id).await?.find_files(&asked.glob).await?;
        Ok(Json(ThreadPathList { paths }).into_response())
    })
    .await
}

/// Returns the record of a file that must exist.
pub(super) async fn existing(files: &ThreadFiles, path: &str) -> Result<FileRecord> {
    let record = files.stat_file(path).await?;
    Ok(record.ok_or_else(|| FsError::new(FsCode::ENOENT, Op::Stat, format!("/{path}")))?)
}

/// Answers with the record of a file.
pub(super) fn described(status: StatusCode, record: &FileRecord) -> Response {
    (status, Json(ThreadFileJson::from(record))).into_response()
}
