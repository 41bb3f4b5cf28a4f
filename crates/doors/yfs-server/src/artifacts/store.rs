//! Storing results of tools, and finding them again.

use std::sync::Arc;

use async_trait::async_trait;
use axum::body::Bytes;
use serde_json::Value;
use yfs::{
    WorkspaceFs,
    clock::{Clock, SystemClock},
};
use yfs_agent::work_budget::WorkCost;
use yfs_analysis::PreviewLimit;
use yfs_artifacts::{
    ArtifactIds, ArtifactOptions, FileMetadata, FileSystemOps, FileSystemStore, NamespaceStrategy,
    PastContents, ToolResponseContent, content_hash,
};
use yfs_engine::path::VPath;
use yfs_vfs::FsError;
use yfs_wire::{
    ArtifactQuery, ArtifactRequest, ArtifactsQuery, CleanupRequest, CleanupRules,
    StoreArtifactQuery, UnixMillis,
};

use crate::{body::ResultBody, prelude::*};

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

/// Answers a request for the artifacts below a root.
async fn serve(
    caller: &RequestCaller,
    root: Option<&str>,
    preview: Option<usize>,
    request: ArtifactRequest,
) -> Result {
    let store = store_of(caller, options_of(root, preview)?);
    let failed = |(path, _): &(VPath, FsError)| path.to_string();
    let is_cleanup = matches!(request, ArtifactRequest::Clean(_));
    let served =
        async move { request.serve::<_, UnixMillis>(&store, SystemClock.now(), failed).await };
    let served = match is_cleanup {
        true => apart(served).await,
        false => caller.within_budget(WorkCost::ARTIFACT, served).await,
    };
    Ok(Json(served?).into_response())
}

/// Answers `GET /api/artifacts`.
pub(super) async fn list(
    caller: RequestCaller,
    QueryParameters(asked): QueryParameters<ArtifactsQuery>,
) -> Result {
    let list = ArtifactRequest::List { patterns: asked.pattern.into_iter().collect() };
    serve(&caller, asked.root.as_deref(), None, list).await
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
        let direct = ToolResponseContent::direct(&content).ok_or_else(|| {
            HttpProblem::bad_request("the result is not UTF-8 text, and too small to be stored")
        })?;
        return Ok(Json(direct).into_response());
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
    Ok((StatusCode::CREATED, Json(ToolResponseContent::from(metadata))).into_response())
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
    let reference = FileMetadata::of_reference(&body)
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
    let show = ArtifactRequest::Show { artifact: path };
    serve(&caller, asked.root.as_deref(), asked.preview, show).await
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
    let rules = CleanupRules {
        older_than_ms: body.older_than.map(|seconds| seconds as f64 * 1000.0),
        max_size: body.max_size,
        max_files: body.max_files,
        keep: body.keep,
        dry_run: body.dry_run,
    };
    serve(&caller, asked.root.as_deref(), None, ArtifactRequest::Clean(rules)).await
}

/// Makes the store of the artifacts that the caller may see.
fn store_of(caller: &RequestCaller, options: ArtifactOptions) -> FileSystemStore {
    let options = ArtifactOptions { search_root: caller.grant.path.clone(), ..options };
    let past = CallerPast { fs: caller.confined() };
    FileSystemStore::new(caller.fs(), options).with_past(Arc::new(past))
}

fn options_of(root: Option<&str>, preview: Option<usize>) -> Result<ArtifactOptions> {
    let root = path_of(root.unwrap_or(DEFAULT_ROOT))?;
    let mut options = ArtifactOptions { root, ..ArtifactOptions::default() };
    if let Some(n_chars) = preview {
        options.preview = PreviewLimit::Characters(n_chars.min(MAX_PREVIEW));
    }
    Ok(options)
}
