//! What files contain, for programs and for models.

use std::sync::Arc;

use yfs_agent::work_budget::WorkCost;
use yfs_agent_workspace::WorkspaceShelf;
use yfs_analysis::PreviewLimit;
use yfs_artifacts::KeptAnalyses;
use yfs_wire::{ContextBody, ContextJson, FileStatsJson, StatsQuery};

use crate::prelude::*;

/// The greatest length of a preview, in tokens or characters.
const MAX_PREVIEW: usize = 100_000;

/// The greatest length of a context, in tokens.
const MAX_TOKENS: usize = 1_000_000;

/// Answers `GET /api/stats`.
pub(super) async fn stats(
    caller: RequestCaller,
    QueryParameters(asked): QueryParameters<StatsQuery>,
) -> Result {
    let path = path_of(&asked.path)?;
    let (analyses, at) = (kept_analyses(&caller), path.clone());
    let analysis = async move { analyses.analysis_of(&at).await };
    let analysis = caller.within_budget(WorkCost::ANALYSIS, analysis).await?;
    let preview = asked.preview.map(|n_tokens| n_tokens.min(MAX_PREVIEW));
    let preview = preview.map(|n_tokens| analysis.preview(PreviewLimit::Tokens(n_tokens)));
    Ok(Json(FileStatsJson::new(&path, &analysis, preview)).into_response())
}

/// Answers `POST /api/context`.
pub(super) async fn context(
    caller: RequestCaller,
    JsonBody(body): JsonBody<ContextBody>,
) -> Result {
    let mut paths = Vec::new();
    for path in &body.paths {
        paths.push(path_of(path)?);
    }
    if paths.is_empty() {
        paths.push(caller.grant.path.clone());
    }
    if body.max_tokens.is_some_and(|n_tokens| n_tokens > MAX_TOKENS) {
        let reason = format!("a context has at most {MAX_TOKENS} tokens");
        return Err(HttpProblem::bad_request(reason));
    }
    let preview = body.preview;
    // It has no template: that of a stranger could take any time and memory.
    let mut request = body.request(paths);
    if let Some(n_chars) = preview {
        request.preview = PreviewLimit::Characters(n_chars.min(MAX_PREVIEW));
    }
    let analyses = kept_analyses(&caller);
    let rendered = async move { analyses.render_context(&request).await };
    let rendered = caller.within_budget(WorkCost::ANALYSIS, rendered).await?;
    Ok(Json(ContextJson::from(rendered)).into_response())
}

/// Returns the statistics of the files that the caller may see, kept in the store.
fn kept_analyses(caller: &RequestCaller) -> KeptAnalyses {
    let shelf = WorkspaceShelf::new(caller.app.workspace.clone());
    KeptAnalyses::new(caller.fs()).with_shelf(Arc::new(shelf))
}
