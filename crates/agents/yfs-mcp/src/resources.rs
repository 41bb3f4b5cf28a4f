//! Files as resources, named by `file:` URIs.

use std::sync::Arc;

use base64::{Engine, engine::general_purpose::STANDARD};
use rmcp::{
    ErrorData, RoleServer,
    model::{
        CompleteRequestParams, CompleteResult, CompletionInfo, ListResourcesResult,
        ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult, Resource,
        ResourceContents, ResourceTemplate,
    },
    service::RequestContext,
};
use yfs_agent::{CallContext, ToolCall};
use yfs_types::path::VPath;
use yfs_vfs::{FileKind, FileSystem, FileSystemExt, FsCode, FsError, WalkOptions};

use crate::{
    approvals::{CANNOT_ASK, CallApprovals},
    file_uri::{file_uri, path_of_uri},
    open_session::{OpenedSession, WatchedTree},
};

/// The number of resources on a page.
const PAGE: usize = 500;

/// The most objects of a tree whose files are listed.
const MAX_LISTED: usize = 1_000_000;

/// Returns the templates of URIs.
pub(crate) fn templates() -> Vec<ResourceTemplate> {
    let template = ResourceTemplate::new("file:///{+path}", "file")
        .with_title("File")
        .with_description("A file by its path; text as such, any other content in base64");
    vec![template]
}

/// Returns a page of all files, by path. The cursor is the last path of the page before.
pub(crate) async fn list_resources(
    session: &OpenedSession,
    cursor: Option<String>,
) -> Result<ListResourcesResult, ErrorData> {
    let mut files = Vec::new();
    for tree in &session.trees {
        let found = files_of(session.agent.fs(), tree).await;
        files.extend(found.map_err(|error| failure(&error))?);
    }
    files.sort_unstable();
    files.dedup();
    let start = cursor
        .map_or(0, |after| files.partition_point(|(path, _)| path.as_str() <= after.as_str()));
    let rest = &files[start..];
    let page = &rest[..rest.len().min(PAGE)];
    let resources = page.iter().map(|(path, size)| resource_of(path, *size)).collect();
    let mut result = ListResourcesResult::with_all_items(resources);
    if rest.len() > PAGE {
        result.next_cursor = page.last().map(|(path, _)| path.to_string());
    }
    Ok(result)
}

async fn files_of(
    fs: &Arc<dyn FileSystem>,
    tree: &WatchedTree,
) -> Result<Vec<(VPath, u64)>, FsError> {
    let options = WalkOptions { max_entries: MAX_LISTED, ..WalkOptions::default() };
    let Some(start) = tree.visible_path(&tree.visible) else { return Ok(Vec::new()) };
    let found = match fs.walk(&start, &options).await {
        // A root that does not exist yet has no files.
        Err(error) if error.code == FsCode::ENOENT => Vec::new(),
        found => found?,
    };
    let files = found.into_iter().filter(|found| found.entry.kind == FileKind::File);
    Ok(files.map(|found| (found.path, found.entry.size)).collect())
}

fn resource_of(path: &VPath, size: u64) -> Resource {
    let name = path.as_str().rsplit('/').next().unwrap_or_default();
    let resource = Resource::new(file_uri(path), name).with_size(size);
    match mime_of(path) {
        Some(mime) => resource.with_mime_type(mime),
        None => resource,
    }
}

fn mime_of(path: &VPath) -> Option<String> {
    mime_guess::from_path(path.as_str()).first_raw().map(str::to_owned)
}

/// Reads a file; the session remembers it as read.
pub(crate) async fn read_resource(
    session: &OpenedSession,
    request: ReadResourceRequestParams,
    context: RequestContext<RoleServer>,
) -> Result<ReadResourceResponse, ErrorData> {
    let uri = request.uri;
    let path = checked_path(&uri)?;
    let state = request.request_state.as_deref();
    let approvals = CallApprovals::of_request(&context, request.input_responses, state);
    let call_context = CallContext { cancel: context.ct, ..CallContext::default() };
    let call = ToolCall::new(&session.agent, "resources/read", call_context);
    let read = approvals.scope(call.read(&path)).await;
    if let Some(questions) = approvals.open_questions() {
        return Ok(questions.into());
    }
    let content = match read {
        Ok(content) => content,
        Err(_) if approvals.was_unable() => {
            return Err(ErrorData::invalid_request(CANNOT_ASK, None));
        }
        Err(error) if error.code == FsCode::ENOENT => {
            let data = serde_json::json!({ "uri": uri });
            return Err(ErrorData::resource_not_found("the file does not exist", Some(data)));
        }
        Err(error) => return Err(unreadable(&error, &uri)),
    };
    let is_text = !content.data.contains(&0);
    let contents = match std::str::from_utf8(&content.data) {
        Ok(text) if is_text => ResourceContents::text(text, uri)
            .with_mime_type(mime_of(&path).unwrap_or_else(|| "text/plain".to_owned())),
        _ => {
            let mime = mime_of(&path).unwrap_or_else(|| "application/octet-stream".to_owned());
            ResourceContents::blob(STANDARD.encode(&content.data), uri).with_mime_type(mime)
        }
    };
    Ok(ReadResourceResult::new(vec![contents]).into())
}

/// Completes the argument `path` of prompts and of the template: names in the directory so far.
pub(crate) async fn complete_path(
    session: &OpenedSession,
    request: CompleteRequestParams,
) -> Result<CompleteResult, ErrorData> {
    if request.argument.name != "path" {
        return Ok(CompleteResult::default());
    }
    let typed = request.argument.value;
    let (prefix, begun) = typed.rsplit_once('/').unwrap_or(("", &typed));
    let Ok(directory) = VPath::parse(&format!("/{}", prefix.trim_start_matches('/'))) else {
        return Ok(CompleteResult::default());
    };
    // A directory that cannot be read has no completions.
    let entries = session.agent.fs().readdir(&directory).await.unwrap_or_default();
    let begun_here = entries.into_iter().filter(|entry| entry.name.as_str().starts_with(begun));
    let slash = if typed.contains('/') { "/" } else { "" };
    let mut values: Vec<_> = begun_here
        .map(|entry| {
            let end = if entry.kind == FileKind::Directory { "/" } else { "" };
            format!("{prefix}{slash}{}{end}", entry.name)
        })
        .collect();
    values.sort_unstable();
    let total = values.len();
    values.truncate(CompletionInfo::MAX_VALUES);
    let has_more = total > values.len();
    let info = CompletionInfo::with_pagination(values, total.try_into().ok(), has_more);
    Ok(CompleteResult::new(info.map_err(|error| ErrorData::internal_error(error, None))?))
}

/// Returns the path of a resource.
pub(crate) fn checked_path(uri: &str) -> Result<VPath, ErrorData> {
    path_of_uri(uri).ok_or_else(|| {
        ErrorData::invalid_params(format!("{uri:?} is not the URI of a file of this server"), None)
    })
}

fn failure(error: &FsError) -> ErrorData {
    ErrorData::internal_error(error.to_string(), None)
}

/// Returns the error for a resource that cannot be read: the request is valid, its URI is not one
/// for this client. A failure of the server is one of its own.
fn unreadable(error: &FsError, uri: &str) -> ErrorData {
    let data = serde_json::json!({ "uri": uri, "code": error.code.as_str() });
    let is_of_server = matches!(error.code, FsCode::EIO | FsCode::ESTALE | FsCode::ENOSPC);
    match is_of_server {
        true => ErrorData::internal_error(error.to_string(), Some(data)),
        false => ErrorData::invalid_params(error.to_string(), Some(data)),
    }
}
