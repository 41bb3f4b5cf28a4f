//! What files contain: statistics, previews and contexts.

use std::sync::Arc;

use pyo3::prelude::*;
use serde_json::{Value, json};
use yfs::Workspace;
use yfs_agent_workspace::WorkspaceShelf;
use yfs_analysis::PreviewLimit;
use yfs_artifacts::{AnalysisMemory, ArtifactError, ContextRequest, KeptAnalyses};
use yfs_types::path::VPath;
use yfs_vfs::{FileSystem, FsError, Op};
use yfs_wire::{ContextBody, ContextJson};

use crate::{call::block_on, error};

/// Returns the request for a context, with previews of a number of characters.
pub(crate) fn context_request(py: Python<'_>, body: ContextBody) -> PyResult<ContextRequest> {
    let paths = body.paths.iter().map(|path| error::path(py, Op::Walk, path));
    let (paths, preview) = (paths.collect::<PyResult<_>>()?, body.preview);
    let request = body.request(paths);
    let preview = preview.map_or(request.preview, PreviewLimit::Characters);
    Ok(ContextRequest { preview, ..request })
}

/// Returns the analyses of a filesystem's files, which a workspace keeps.
pub(crate) fn analyses_of(
    fs: Arc<dyn FileSystem>,
    workspace: Option<&Workspace>,
    memory: Arc<AnalysisMemory>,
) -> KeptAnalyses {
    let analyses = KeptAnalyses::new(fs).with_memory(memory);
    match workspace {
        Some(workspace) => analyses.with_shelf(Arc::new(WorkspaceShelf::new(workspace.clone()))),
        None => analyses,
    }
}

/// Returns what a file contains, as `yfs describe --json` prints it.
pub(crate) fn stats(
    analyses: &KeptAnalyses,
    path: &VPath,
    preview: Option<usize>,
) -> Result<Value, FsError> {
    let analysis = block_on(analyses.analysis_of(path))?;
    Ok(json!({
        "path": path.as_str(),
        "version": analysis.version,
        "mime": analysis.media_type,
        "size": analysis.size,
        "stats": analysis.stats,
        "description": analysis.description(),
        "notes": analysis.notes,
        "preview": preview.map(|n_tokens| analysis.preview(PreviewLimit::Tokens(n_tokens))),
    }))
}

/// Renders a context.
pub(crate) fn context(
    analyses: &KeptAnalyses,
    request: &ContextRequest,
) -> Result<ContextJson, FsError> {
    let rendered = block_on(analyses.render_context(request));
    rendered.map(ContextJson::from).map_err(|error| match error {
        ArtifactError::Fs(error) => error,
        // Only a template has other errors.
        error => FsError::bare(yfs_vfs::FsCode::EINVAL, Op::Walk).caused_by(error),
    })
}
