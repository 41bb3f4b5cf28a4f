//! Storing results of tools, and finding them again.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use axum::{
    Json,
    body::Bytes,
    extract::Path,
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};
use serde_json::Value;
use yfs::{
    WorkspaceFs,
    clock::{Clock, SystemClock},
};
use yfs_agent::work_budget::WorkCost;
use yfs_analysis::PreviewLimit;
use yfs_artifacts::{
    ArtifactIds, ArtifactOptions, CleanupPolicy, FileMetadata, FileSystemOps, FileSystemStore,
    NamespaceStrategy, PastContents, ToolResponseContent, content_hash,
};
use yfs_engine::path::VPath;
use yfs_vfs::FsError;
use yfs_wire::{
    ArtifactJson, ArtifactList, ArtifactQuery, ArtifactsQuery, CleanupReportJson, CleanupRequest,
    RemovedArtifactJson, StoreArtifactQuery,
};

use crate::{
    body::ResultBody,
    caller::{RequestCaller, apart, path_of},
    extract::{JsonBody, QueryParameters},
    problem::{HttpProblem, Result},
};

/// The directory of all artifacts, unless a request names another one.
const DEFAULT_ROOT: &str = "/artifacts";

/// The name of a thread or task that a request does not name.
const SHARED: &str = "shared";

/// The greatest length of a preview in characters.
const MAX_PREVIEW: usize = 100_000;

/// The earlier contents of the files that a caller may see.
#[derive(Debug)]
struct CallerPast {
    fs: WorkspaceFs,
}

#[async_trait]
impl PastContents for CallerPast {
    async fn find_content(
        &self,
        path: &VPath,
        is_wanted: &(dyn for<'a> Fn(&'a [u8]) -> bool + Sync),
    ) -> std::result::Result<Option<Bytes>, FsError> {
        for version in self.fs.versions(path)?.into_iter().rev() {
            let content = self.fs.version_content(path, version.number)?;
            if is_wanted(&content) {
                return Ok(Some(content));
            }
        }
        Ok(None)
    }
}

/// Answers `GET /api/artifacts`.
pub(super) async fn list(
    caller: RequestCaller,
    QueryParameters(asked): QueryParameters<ArtifactsQuery>,
) -> Result {
    let store = store_of(&caller, options_of(asked.root.as_deref(), None)?);
    let patterns: Vec<String> = asked.pattern.into_iter().collect();
    let list = async move {
        let listed = store.list(&patterns).await?.into_iter().map(|artifact| ArtifactJson {
            path: artifact.path.to_string(),
            artifact: artifact.relative_path,
            size: artifact.size,
            mime: artifact.media_type,
            changed: artifact.changed.into(),
        });
        Ok(Json(ArtifactList { artifacts: listed.collect() }).into_response())
    };
    caller.within_budget(WorkCost::ARTIFACT, list).await
}

/// Answers `POST /api/artifacts`: stores a result, and returns its reference.
pub(super) async fn put(
    caller: RequestCaller,
    QueryParameters(asked): QueryParameters<StoreArtifactQuery>,
    body: ResultBody,
) -> Result {
    caller.needs_write()?;
    let content = body.data.clone();
    if asked.threshold.is_some_and(|threshold| content.len() as u64 <= threshold) {
        return direct(&content);
    }
    let namespace = asked.namespace.as_deref().map(NamespaceStrategy::parse).transpose();
    let namespace = namespace.map_err(|error| HttpProblem::bad_request(error.to_string()))?;
    let shared = |id: Option<String>| id.unwrap_or_else(|| SHARED.to_owned());
    let ids = ArtifactIds {
        thread_id: shared(asked.thread),
        task_id: shared(asked.task),
        tool_call_id: asked.call.unwrap_or_else(|| content_hash(&content)[..16].to_owned()),
    };
    let mut options = options_of(asked.root.as_deref(), asked.preview)?;
    options.namespace_strategy = namespace.unwrap_or_default();
    let store = store_of(&caller, options);
    let metadata = async move { store.store_file(&ids, content).await };
    let metadata = caller.within_budget(WorkCost::ARTIFACT, metadata).await?;
    let preview = metadata.preview.clone();
    let reference = ToolResponseContent::FileReference { metadata, preview };
    Ok((StatusCode::CREATED, Json(reference)).into_response())
}

/// Answers with a result that is not stored.
fn direct(content: &[u8]) -> Result {
    let text = std::str::from_utf8(content).map_err(|_| {
        HttpProblem::bad_request("the result is not UTF-8 text, and too small to be stored")
    })?;
    let result = serde_json::from_str(text).unwrap_or_else(|_| Value::from(text));
    Ok(Json(ToolResponseContent::Direct { result }).into_response())
}

/// Answers `GET /api/artifacts/{path}`: the content as it was stored, verified if the request has a
/// hash.
pub(super) async fn get(
    caller: RequestCaller,
    Path(path): Path<String>,
    QueryParameters(asked): QueryParameters<ArtifactQuery>,
) -> Result {
    let reference = FileMetadata::at_path(path, asked.checksum);
    read(&caller, asked.root.as_deref(), reference).await
}

/// Answers `POST /api/artifact-references`: the content of a reference, verified.
pub(super) async fn resolve(
    caller: RequestCaller,
    QueryParameters(asked): QueryParameters<ArtifactsQuery>,
    JsonBody(body): JsonBody<Value>,
) -> Result {
    let reference = FileMetadata::parse_reference(body.to_string().as_bytes());
    let reference = reference
        .map_err(|error| HttpProblem::bad_request(format!("this is no reference: {error}")))?;
    read(&caller, asked.root.as_deref(), reference).await
}

async fn read(
    caller: &RequestCaller,
    root: Option<&str>,
    reference: FileMetadata,
) -> Result<Response> {
    let store = store_of(caller, options_of(root, None)?);
    let content = async move { store.read_file(&reference).await };
    let content = caller.within_budget(WorkCost::ARTIFACT, content).await?;
    // A browser must never run the content as a page of this server.
    let headers = [
        (header::CONTENT_TYPE, "application/octet-stream"),
        (header::CONTENT_SECURITY_POLICY, "sandbox; default-src 'none'"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ];
    Ok((headers, content).into_response())
}

/// Answers `GET /api/artifact-references/{path}`.
pub(super) async fn show(
    caller: RequestCaller,
    Path(path): Path<String>,
    QueryParameters(asked): QueryParameters<ArtifactQuery>,
) -> Result {
    let reference = FileMetadata::at_path(path, None);
    let options = options_of(asked.root.as_deref(), asked.preview)?;
    let store = store_of(&caller, options);
    let metadata = async move { store.reference_at(&store.path_now(&reference).await?).await };
    Ok(Json(caller.within_budget(WorkCost::ARTIFACT, metadata).await?).into_response())
}

/// Answers `POST /api/artifact-cleanup`.
pub(super) async fn clean(
    caller: RequestCaller,
    QueryParameters(asked): QueryParameters<ArtifactsQuery>,
    JsonBody(body): JsonBody<CleanupRequest>,
) -> Result {
    if !body.dry_run {
        caller.needs_write()?;
    }
    if body.older_than.is_none() && body.max_size.is_none() && body.max_files.is_none() {
        return Err(HttpProblem::bad_request("a cleanup needs older_than, max_size or max_files"));
    }
    let policy = CleanupPolicy {
        max_age: body.older_than.map(Duration::from_secs),
        max_total_bytes: body.max_size,
        max_files: body.max_files,
        kept_directories: body.keep.into_iter().collect(),
    };
    let options = options_of(asked.root.as_deref(), None)?;
    let report = apart(async {
        store_of(&caller, options).clean_up(&policy, SystemClock.now(), body.dry_run).await
    })
    .await?;
    let removed = report.removed.iter().map(|removed| RemovedArtifactJson {
        path: removed.path.to_string(),
        size: removed.size,
        reason: removed.reason.name(),
    });
    let answer = CleanupReportJson {
        removed: removed.collect(),
        freed_bytes: report.freed_bytes,
        failed: report.failed.iter().map(|(path, _)| path.to_string()).collect(),
        dry_run: body.dry_run,
    };
    Ok(Json(answer).into_response())
}

/// Makes the store of the artifacts that the caller may see.
fn store_of(caller: &RequestCaller, options: ArtifactOptions) -> FileSystemStore {
    let options = ArtifactOptions { search_root: caller.grant.path.clone(), ..options };
    let past = CallerPast { fs: caller.confined() };
    FileSystemStore::new(caller.fs(), options).with_past(Arc::new(past))
}

fn options_of(root: Option<&str>, preview: Option<usize>) -> Result<ArtifactOptions> {
    let mut options = ArtifactOptions { root: root_of(root)?, ..ArtifactOptions::default() };
    if let Some(n_chars) = preview {
        options.preview = PreviewLimit::Characters(n_chars.min(MAX_PREVIEW));
    }
    Ok(options)
}

fn root_of(root: Option<&str>) -> Result<VPath> {
    path_of(root.unwrap_or(DEFAULT_ROOT))
}
