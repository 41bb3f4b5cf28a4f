//! Tools that describe files, for a model that decides what to read: statistics of one file, and a
//! context of many.

use std::sync::Arc;

use serde_json::Value;
use yfs_analysis::PreviewLimit;
use yfs_artifacts::{
    ArtifactError, ContextRequest, FileAnalysis, FileSelection, KeptAnalyses, human_size,
};
use yfs_vfs::{FileSystem, FileSystemExt, FsCode, FsError, FsView, Op, WalkOptions};

use super::shared::{as_error, path_of};
use crate::{
    large_results::MAX_RESULT_CHARS,
    registered_tool::RegisteredTool,
    tool_call::ToolCall,
    tool_outcome::{ToolAnswer, ToolFailure, ToolOutcome},
    work_budget::{WorkCost, WorkShare},
};

/// The tokens of a preview that the caller does not limit.
const DEFAULT_PREVIEW_TOKENS: usize = 200;

/// The most tokens of a reply, by the estimate of four characters for each.
const MAX_TOKENS: usize = MAX_RESULT_CHARS / 4;

records! { arguments:
FileStatsInput {
    /// Absolute path of the file.
    path: String,
    /// The greatest length of the preview, in tokens of about four characters; 0 for none. Default
    /// 200.
    preview: Option<usize>,
}
ContextInput {
    /// Absolute paths of files and directories. Default `/`.
    #[serde(default)]
    paths: Vec<String>,
    /// Patterns as in .gitignore: a file must match one. Default all files.
    #[serde(default)]
    include: Vec<String>,
    /// Patterns as in .gitignore of files and directories that are left out.
    #[serde(default)]
    exclude: Vec<String>,
    /// The greatest length of the reply, in tokens of about four characters: at most 20,000.
    /// Default 8,000.
    // An earlier name, which models that have seen it may still use.
    #[serde(alias = "tokens")]
    max_tokens: Option<usize>,
    /// The greatest length of each preview, in characters. Default 300.
    preview: Option<usize>,
    /// Whether names that begin with a dot are included. Default false.
    #[serde(default)]
    hidden: bool,
    /// Whether files that .gitignore and .yfsignore name are included. Default false.
    #[serde(default)]
    ignored: bool,
}
}

records! { results:
FileStatsResult {
    /// The path of the file.
    path: String,
    /// The media type.
    mime: String,
    /// The size in bytes.
    size: u64,
    /// The version of the content that was counted.
    version: Option<String>,
    /// An object with one member, named Json, JsonArray, Csv, Html, Markdown, Text or Binary; null
    /// if it is too long for a reply.
    stats: Option<Value>,
    /// What the statistics leave out, and what is wrong with the content.
    notes: Vec<String>,
    /// The beginning of the content, or its structure.
    preview: Option<String>,
}
ContextResult {
    /// The text of the reply.
    content: String,
    /// Its estimated number of tokens.
    tokens: usize,
    /// The number of files that were selected.
    files: usize,
    /// The number of files that the text lists.
    listed: usize,
    /// The number of those that have a preview.
    previewed: usize,
}
}

/// Returns the tools.
pub(super) fn tools() -> Vec<RegisteredTool> {
    tools! { as_error;
        file_stats "Describe a file" READS:
            "Returns what a file contains without reading it whole: type, size, counts, columns or \
             schema, headings, and a preview. Use it before reading a large file.";
        context "Describe many files" READS:
            "Lists the files of a tree with sizes, types and previews, within a number of tokens. \
             What does not fit is summed up by directory. Files that need a person's approval are \
             left out.";
    }
}

async fn file_stats(call: ToolCall, input: FileStatsInput) -> ToolOutcome<FileStatsResult> {
    let path = path_of(&input.path)?;
    let analyses = analyses_of(&call, call.fs().clone());
    let analysis = within_budget(&call, analyses.analysis_of(&path)).await??;
    let n_tokens = input.preview.unwrap_or(DEFAULT_PREVIEW_TOKENS).min(MAX_TOKENS);
    let preview = (n_tokens > 0).then(|| analysis.preview(PreviewLimit::Tokens(n_tokens)));
    let max_chars = call.session().limits().max_list_chars;
    let text = stats_text(path.as_str(), &analysis, preview.as_deref());
    let mut text_chars = text.chars();
    let mut text_kept: String = text_chars.by_ref().take(max_chars).collect();
    if text_chars.next().is_some() {
        text_kept.push_str("\n... [cut, use query for parts of it]");
    }
    let stats = serde_json::to_value(&analysis.stats).ok();
    let result = FileStatsResult {
        path: path.to_string(),
        mime: analysis.media_type.clone(),
        size: analysis.size,
        version: analysis.version.clone(),
        stats: stats.filter(|stats| stats.to_string().chars().count() <= max_chars),
        notes: analysis.notes.clone(),
        preview,
    };
    Ok(ToolAnswer::new(text_kept, &result))
}

fn stats_text(path: &str, analysis: &FileAnalysis, preview: Option<&str>) -> String {
    let size = human_size(analysis.size);
    let mut text = format!("{path} ({size}, {})\n", analysis.media_type);
    text.push_str(&analysis.description());
    for note in &analysis.notes {
        text.push_str(&format!("\nNote: {note}"));
    }
    if let Some(preview) = preview.filter(|preview| !preview.is_empty()) {
        text.push_str(&format!("\n\nPreview:\n{preview}"));
    }
    text
}

async fn context(call: ToolCall, input: ContextInput) -> ToolOutcome<ContextResult> {
    let default = ContextRequest::default();
    let max_tokens = input.max_tokens.unwrap_or(default.max_tokens);
    if max_tokens > MAX_TOKENS {
        return Err(ToolFailure::refused(format!("a context has at most {MAX_TOKENS} tokens")));
    }
    let mut paths = Vec::new();
    for path in &input.paths {
        paths.push(path_of(path)?);
    }
    if paths.is_empty() {
        paths = default.selection.paths;
    }
    let request = ContextRequest {
        selection: FileSelection {
            paths,
            include: input.include,
            exclude: input.exclude,
            hidden: input.hidden,
            ignored: input.ignored,
            max_file_size: default.selection.max_file_size,
        },
        max_tokens,
        preview: input.preview.map_or(default.preview, |n_chars| {
            PreviewLimit::Characters(n_chars.min(MAX_RESULT_CHARS))
        }),
        // A template of a model could take any time and memory.
        template: None,
    };
    // Asks about what is to be read as a whole; the files are then read without questions.
    for path in &request.selection.paths {
        let options = WalkOptions { max_depth: 1, ..WalkOptions::default() };
        drop(call.fs().walk(path, &options).await);
    }
    let fs = call.fs().view(FsView::WithoutQuestions).unwrap_or_else(|| call.fs().clone());
    let analyses = analyses_of(&call, fs);
    let rendered = within_budget(&call, analyses.render_context(&request)).await?;
    let rendered = rendered.map_err(|error| match error {
        ArtifactError::Fs(error) => error.into(),
        error => ToolFailure::refused(error.to_string()),
    })?;
    let result = ContextResult {
        content: rendered.text.clone(),
        tokens: rendered.n_tokens,
        files: rendered.n_files,
        listed: rendered.n_listed,
        previewed: rendered.n_previewed,
    };
    Ok(ToolAnswer::new(rendered.text, &result))
}

/// Returns the analyses that the session keeps, of the files that `fs` shows.
fn analyses_of(call: &ToolCall, fs: Arc<dyn FileSystem>) -> KeptAnalyses {
    let analyses = KeptAnalyses::new(fs).with_memory(call.session().analyses().clone());
    match call.session().shelf() {
        Some(shelf) => analyses.with_shelf(shelf.clone()),
        None => analyses,
    }
}

/// Analyzes files when the budget of heavy work has room, and until the caller cancels it.
async fn within_budget<T>(
    call: &ToolCall,
    part: impl Future<Output = T>,
) -> Result<T, ToolFailure> {
    let share = call.session().work_share();
    let admitted = async {
        let _permit = WorkShare::admit_within(share, WorkCost::ANALYSIS).await;
        part.await
    };
    tokio::select! {
        done = admitted => Ok(done),
        () = call.context().cancel.cancelled() => {
            Err(FsError::bare(FsCode::ECANCELED, Op::Read).into())
        }
    }
}
