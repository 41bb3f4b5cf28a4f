//! A context for a model: the files of a tree, described within a number of tokens.
//!
//! As many files as fit are listed, in the order of their paths; as many of those as fit have a
//! preview, the first ones first. The others are summed up by directory, with the command that
//! shows more. The same files have the same context, byte for byte, so caches of prefixes hold.
//!
//! # Cost
//!
//! Only files with a preview are read, and those only if no analysis is kept.

use std::{collections::BTreeMap, sync::Arc};

use handlebars::{
    Context, Handlebars, Helper, HelperResult, Output, RenderContext, RenderError,
    RenderErrorReason, no_escape,
};
use serde::Serialize;
use serde_json::Value;
use yfs_analysis::{PreviewLimit, estimate_tokens, token_budget_chars};

use crate::{
    error::ArtifactError,
    kept_analyses::{FileAnalysis, KeptAnalyses},
    tool_response::human_size,
    tree_walker::{FileSelection, SelectedFile},
};

/// The template of seed 004, followed by what is left out.
pub const DEFAULT_TEMPLATE: &str = "<file_list>
{{#each files}}
- {{this.path}} ({{this.size}}, {{this.type}})
  {{#if this.preview}}Preview: {{this.preview}}{{/if}}
{{/each}}
</file_list>
{{#if omitted.files}}
{{omitted.files}} more files ({{omitted.size}}) are not listed:
{{#each omitted.directories}}
- {{this.path}} ({{this.files}} files, {{this.size}})
{{/each}}
To see them, ask for the context of one of these directories, or for more tokens.
{{/if}}
";

/// The share of the budget in which previews are given even if not all files are listed, in
/// percent.
const PREVIEW_SHARE: usize = 30;

/// The most directories that a summary lists.
const MAX_DIRECTORIES: usize = 20;

/// A wish for a context.
#[derive(Debug, Clone)]
pub struct ContextRequest {
    /// The files.
    pub selection: FileSelection,
    /// The most tokens of the context, by the estimate of
    /// [`estimate_tokens`](yfs_analysis::estimate_tokens).
    pub max_tokens: usize,
    /// The length of each preview.
    pub preview: PreviewLimit,
    /// The template; [`DEFAULT_TEMPLATE`] if absent.
    pub template: Option<String>,
}

/// A context.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RenderedContext {
    /// The text.
    pub text: String,
    /// Its estimated number of tokens.
    pub n_tokens: usize,
    /// The number of files that were selected.
    pub n_files: usize,
    /// The number of files in the list.
    pub n_listed: usize,
    /// The number of files in the list that have a preview.
    pub n_previewed: usize,
}

/// What a template sees.
#[derive(Debug, Serialize)]
struct TemplateData<'a> {
    files: Vec<TemplateFile<'a>>,
    omitted: OmittedFiles,
}

/// What a template sees of a file.
#[derive(Debug, Serialize)]
struct TemplateFile<'a> {
    path: &'a str,
    name: &'a str,
    size: String,
    bytes: u64,
    #[serde(rename = "type")]
    media_type: String,
    preview: Option<String>,
    stats: Option<String>,
}

#[derive(Debug, Default, Serialize)]
struct OmittedFiles {
    files: usize,
    size: String,
    directories: Vec<OmittedDirectory>,
}

#[derive(Debug, Serialize)]
struct OmittedDirectory {
    path: String,
    files: usize,
    size: String,
}

impl Default for ContextRequest {
    fn default() -> Self {
        Self {
            selection: FileSelection::default(),
            max_tokens: 8_000,
            preview: PreviewLimit::default(),
            template: None,
        }
    }
}

impl KeptAnalyses {
    /// Renders the context of files.
    ///
    /// # Errors
    ///
    /// Fails if the files cannot be listed, or for a malformed template. A file that cannot be read
    /// is listed without a preview.
    pub async fn render_context(
        &self,
        request: &ContextRequest,
    ) -> Result<RenderedContext, ArtifactError> {
        let files = request.selection.select(&**self.fs()).await?;
        let template = request.template.as_deref().unwrap_or(DEFAULT_TEMPLATE);
        let engine = template_engine(template)?;
        let max_tokens = request.max_tokens;
        let n_possible = match request.template {
            Some(_) => files.len(),
            None => count_possible(&files, max_tokens),
        };
        let n_listed = largest(n_possible, |n_listed| {
            let data = template_data(&files[..n_listed], &files[n_listed..], &[]);
            let share = if n_listed == files.len() { 100 } else { 100 - PREVIEW_SHARE };
            Ok(estimate_tokens(&render(&engine, &data)?) * 100 <= max_tokens * share)
        })?;
        let (listed, omitted) = files.split_at(n_listed);
        let mut analyses = Vec::new();
        let mut n_left = max_tokens;
        n_left -= estimate_tokens(&render(&engine, &template_data(listed, omitted, &[]))?)
            .min(max_tokens);
        for file in listed {
            if n_left == 0 {
                break;
            }
            let analysis = match file.is_too_large {
                true => None,
                // A file may vanish, or be one that the caller must not read.
                false => self.analysis_of(&file.path).await.ok(),
            };
            let shown = analysis.as_ref().map(|analysis| analysis.preview(request.preview));
            n_left = n_left.saturating_sub(shown.map_or(0, |text| estimate_tokens(&text)));
            analyses.push((analysis, request.preview));
        }
        // The estimate of parts is not that of the whole.
        let n_previewed = largest(analyses.len(), |n_previewed| {
            let data = template_data(listed, omitted, &analyses[..n_previewed]);
            Ok(estimate_tokens(&render(&engine, &data)?) <= max_tokens)
        })?;
        let text = render(&engine, &template_data(listed, omitted, &analyses[..n_previewed]))?;
        Ok(RenderedContext {
            n_tokens: estimate_tokens(&text),
            text,
            n_files: files.len(),
            n_listed,
            n_previewed,
        })
    }
}

/// Returns the largest number up to `max` that fits, if smaller ones fit as well; 0 if none does.
fn largest(
    max: usize,
    mut fits: impl FnMut(usize) -> Result<bool, ArtifactError>,
) -> Result<usize, ArtifactError> {
    if fits(max)? {
        return Ok(max);
    }
    let (mut low, mut high) = (0, max);
    // From small numbers up, because large ones cost more.
    let mut step = 16;
    while low + step < high && fits(low + step)? {
        low += step;
        step *= 2;
    }
    high = high.min(low + step);
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        match fits(middle)? {
            true => low = middle,
            false => high = middle,
        }
    }
    Ok(low)
}

fn template_data<'a>(
    listed: &'a [SelectedFile],
    omitted: &[SelectedFile],
    analyses: &[(Option<Arc<FileAnalysis>>, PreviewLimit)],
) -> TemplateData<'a> {
    let files = listed.iter().enumerate().map(|(at, file)| {
        let name = file.path.file_name().unwrap_or_default();
        let analysis =
            analyses.get(at).and_then(|(analysis, limit)| Some((analysis.as_ref()?, *limit)));
        let media_type = match &analysis {
            Some((analysis, _)) => analysis.media_type.clone(),
            None => yfs_vfs::stat::mime_of(name).to_string(),
        };
        let preview = match (&analysis, file.is_too_large) {
            (Some((analysis, limit)), _) => Some(analysis.preview(*limit)),
            (None, true) => Some("too large to be read".to_owned()),
            (None, false) => None,
        };
        TemplateFile {
            path: file.path.as_str(),
            name,
            size: human_size(file.size),
            bytes: file.size,
            media_type,
            preview: preview.filter(|preview| !preview.is_empty()),
            stats: analysis.map(|(analysis, _)| analysis.description()),
        }
    });
    TemplateData { files: files.collect(), omitted: sum_up(omitted) }
}

/// Sums up files by directory, at the deepest level that has not too many directories.
fn sum_up(files: &[SelectedFile]) -> OmittedFiles {
    let mut depth = 1;
    let mut directories = totals_at(files, depth);
    loop {
        let deeper = totals_at(files, depth + 1);
        if deeper.len() == directories.len() || deeper.len() > MAX_DIRECTORIES {
            break;
        }
        directories = deeper;
        depth += 1;
    }
    let mut directories: Vec<(&str, (usize, u64))> = directories.into_iter().collect();
    if directories.len() > MAX_DIRECTORIES {
        directories.sort_by(|one, other| (other.1.0, one.0).cmp(&(one.1.0, other.0)));
        directories.truncate(MAX_DIRECTORIES);
        directories.sort();
    }
    let n_bytes = files.iter().map(|file| file.size).sum();
    let directories = directories.into_iter().map(|(path, (files, n_bytes))| OmittedDirectory {
        path: path.to_owned(),
        files,
        size: human_size(n_bytes),
    });
    OmittedFiles {
        files: files.len(),
        size: human_size(n_bytes),
        directories: directories.collect(),
    }
}

/// Returns the totals of the directories at a depth, and of those above with files of their own.
fn totals_at(files: &[SelectedFile], depth: usize) -> BTreeMap<&str, (usize, u64)> {
    let mut totals: BTreeMap<&str, (usize, u64)> = BTreeMap::new();
    let mut run: Option<(&str, (usize, u64))> = None;
    for file in files {
        let directory = directory_at(file.path.as_str(), depth);
        match &mut run {
            // Files of one directory mostly follow each other.
            Some((known, total)) if *known == directory => {
                total.0 += 1;
                total.1 += file.size;
            }
            _ => {
                add_total(&mut totals, run.replace((directory, (1, file.size))));
            }
        }
    }
    add_total(&mut totals, run);
    totals
}

fn add_total<'a>(
    totals: &mut BTreeMap<&'a str, (usize, u64)>,
    run: Option<(&'a str, (usize, u64))>,
) {
    if let Some((directory, (n_files, n_bytes))) = run {
        let total = totals.entry(directory).or_default();
        total.0 += n_files;
        total.1 += n_bytes;
    }
}

/// Returns the directory of a file, or the one above it that has `depth` parts.
fn directory_at(path: &str, depth: usize) -> &str {
    let mut slashes = path.match_indices('/').map(|(at, _)| at).skip(1);
    let mut end = 0;
    for at in slashes.by_ref().take(depth) {
        end = at;
    }
    if end == 0 { "/" } else { &path[..end] }
}

/// Returns how many files the default template can list at most: it shows their paths.
fn count_possible(files: &[SelectedFile], max_tokens: usize) -> usize {
    let mut n_left = token_budget_chars(max_tokens);
    let fits = |file: &&SelectedFile| match n_left.checked_sub(file.path.as_str().chars().count()) {
        Some(left) => {
            n_left = left;
            true
        }
        None => false,
    };
    files.iter().take_while(fits).count()
}

fn render(engine: &Handlebars<'_>, data: &TemplateData<'_>) -> Result<String, ArtifactError> {
    engine.render("context", data).map_err(|error| ArtifactError::Template(Box::new(error)))
}

/// Makes an engine with a template named `context`, and the helpers `size`, `type`, `preview` and
/// `stats`.
///
/// - `{{size file}}` and `{{size 1024}}`: a size as people write it.
/// - `{{type file}}`: the media type.
/// - `{{preview file 80}}`: the preview, in at most so many characters.
/// - `{{stats file}}`: the description from the statistics.
fn template_engine(template: &str) -> Result<Handlebars<'static>, ArtifactError> {
    let mut engine = Handlebars::new();
    engine.register_escape_fn(no_escape);
    engine.register_helper("size", Box::new(write_size));
    engine.register_helper("type", Box::new(write_type));
    engine.register_helper("preview", Box::new(write_preview));
    engine.register_helper("stats", Box::new(write_stats));
    engine
        .register_template_string("context", template)
        .map_err(|error| ArtifactError::Template(Box::new(error)))?;
    Ok(engine)
}

fn parameter<'a>(
    helper: &'a Helper<'_>,
    index: usize,
    name: &'static str,
) -> Result<&'a Value, RenderError> {
    let found = helper.param(index).map(handlebars::PathAndJson::value);
    found.ok_or_else(|| RenderErrorReason::ParamNotFoundForIndex(name, index).into())
}

fn write_size(
    helper: &Helper<'_>,
    _: &Handlebars<'_>,
    _: &Context,
    _: &mut RenderContext<'_, '_>,
    out: &mut dyn Output,
) -> HelperResult {
    let value = parameter(helper, 0, "size")?;
    let n_bytes = value.get("bytes").unwrap_or(value).as_u64().unwrap_or(0);
    Ok(out.write(&human_size(n_bytes))?)
}

fn write_type(
    helper: &Helper<'_>,
    _: &Handlebars<'_>,
    _: &Context,
    _: &mut RenderContext<'_, '_>,
    out: &mut dyn Output,
) -> HelperResult {
    let value = parameter(helper, 0, "type")?;
    Ok(out.write(value.get("type").and_then(Value::as_str).unwrap_or_default())?)
}

fn write_preview(
    helper: &Helper<'_>,
    _: &Handlebars<'_>,
    _: &Context,
    _: &mut RenderContext<'_, '_>,
    out: &mut dyn Output,
) -> HelperResult {
    let value = parameter(helper, 0, "preview")?;
    let preview = value.get("preview").and_then(Value::as_str).unwrap_or_default();
    let limit = helper.param(1).and_then(|limit| limit.value().as_u64());
    let limit = limit.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(usize::MAX);
    if preview.chars().count() <= limit {
        return Ok(out.write(preview)?);
    }
    let shown: String = preview.chars().take(limit.saturating_sub(1)).collect();
    Ok(out.write(&format!("{shown}…"))?)
}

fn write_stats(
    helper: &Helper<'_>,
    _: &Handlebars<'_>,
    _: &Context,
    _: &mut RenderContext<'_, '_>,
    out: &mut dyn Output,
) -> HelperResult {
    let value = parameter(helper, 0, "stats")?;
    Ok(out.write(value.get("stats").and_then(Value::as_str).unwrap_or_default())?)
}
