//! What files contain: statistics, previews and contexts.

use std::sync::Arc;

use pyo3::prelude::*;
use serde_json::{Value, json};
use yfs::Workspace;
use yfs_agent_workspace::WorkspaceShelf;
use yfs_analysis::PreviewLimit;
use yfs_artifacts::{AnalysisMemory, ArtifactError, ContextRequest, FileSelection, KeptAnalyses};
use yfs_types::path::VPath;
use yfs_vfs::{FileSystem, FsError, Op};

use crate::{call::block_on, error};

/// The files of a context, as Python names them.
pub(crate) struct ContextArguments {
    pub(crate) paths: Vec<String>,
    pub(crate) include: Vec<String>,
    pub(crate) exclude: Vec<String>,
    pub(crate) hidden: bool,
    pub(crate) ignored: bool,
    pub(crate) max_tokens: Option<usize>,
    pub(crate) preview: Option<usize>,
    pub(crate) max_file_size: Option<u64>,
}

impl ContextArguments {
    pub(crate) fn into_request(self, py: Python<'_>) -> PyResult<ContextRequest> {
        let default = ContextRequest::default();
        let paths = self.paths.iter().map(|path| error::path(py, Op::Walk, path));
        Ok(ContextRequest {
            selection: FileSelection {
                paths: paths.collect::<PyResult<_>>()?,
                include: self.include,
                exclude: self.exclude,
                hidden: self.hidden,
                ignored: self.ignored,
                max_file_size: self.max_file_size.unwrap_or(default.selection.max_file_size),
            },
            max_tokens: self.max_tokens.unwrap_or(default.max_tokens),
            preview: self.preview.map_or(default.preview, PreviewLimit::Characters),
            template: None,
        })
    }
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

/// Renders a context, as `yfs artifact context --json` prints it.
pub(crate) fn context(analyses: &KeptAnalyses, request: &ContextRequest) -> Result<Value, FsError> {
    let rendered = block_on(analyses.render_context(request)).map_err(|error| match error {
        ArtifactError::Fs(error) => error,
        // Only a template has other errors.
        error => FsError::bare(yfs_vfs::FsCode::EINVAL, Op::Walk).caused_by(error),
    })?;
    Ok(json!({
        "text": rendered.text,
        "tokens": rendered.n_tokens,
        "files": rendered.n_files,
        "listed": rendered.n_listed,
        "previewed": rendered.n_previewed,
    }))
}
