//! A context for a model: the files of a tree, described within a number of tokens.
//!
//! As many files as fit are listed, in the order of their paths; as many of those as fit have a
//! preview, the first ones first. The others are summed up by directory, with the command that
//! shows more. The same files have the same context, byte for byte, so caches of prefixes hold.
//!
//! # Cost
//!
//! Only files with a preview are read, and those only if no analysis is kept.

mod template;

use std::{cmp::Reverse, collections::BTreeMap};

use serde::Serialize;
use yfs_analysis::{PreviewLimit, estimate_tokens, token_budget_chars};

pub use self::template::DEFAULT_TEMPLATE;
use self::template::{ContextTemplate, OmittedDirectory, OmittedFiles, TemplateData, TemplateFile};
use crate::{
    error::ArtifactError,
    kept_analyses::KeptAnalyses,
    tool_response::human_size,
    tree_walker::{FileSelection, SelectedFile},
};

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

/// The number and size of files.
#[derive(Debug, Default, Clone, Copy)]
struct DirectoryTotals {
    n_files: usize,
    n_bytes: u64,
}

/// A directory for which files count.
struct DirectoryPrefix<'a> {
    path: &'a str,
    /// Whether files in directories below count for those.
    has_files_only: bool,
}

/// A context while it is made: how many files are listed, and how many have a preview.
struct ContextDraft<'a> {
    template: ContextTemplate,
    files: &'a [SelectedFile],
    /// The files that may be listed, without previews.
    plain: Vec<TemplateFile<'a>>,
    /// The first files, with previews.
    described: Vec<TemplateFile<'a>>,
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
        let max_tokens = request.max_tokens;
        let mut draft = ContextDraft::new(&files, request)?;
        let (n_listed, text) = largest(
            draft.plain.len(),
            |n_listed| draft.render(n_listed, 0),
            |n_listed, text| {
                let share = if n_listed == files.len() { 100 } else { 100 - PREVIEW_SHARE };
                estimate_tokens(text) * 100 <= max_tokens * share
            },
        )?;
        let mut n_left = max_tokens.saturating_sub(estimate_tokens(&text));
        for (file, plain) in files[..n_listed].iter().zip(&draft.plain) {
            if n_left == 0 {
                break;
            }
            let described = self.describe(file, plain, request).await;
            let n_tokens = described.preview.as_deref().map_or(0, estimate_tokens);
            // What is shown of a file that is not read is part of the list.
            n_left = n_left.saturating_sub(if file.is_too_large { 0 } else { n_tokens });
            draft.described.push(described);
        }
        // The estimate of parts is not that of the whole.
        let (n_previewed, text) = largest(
            draft.described.len(),
            |n_previewed| draft.render(n_listed, n_previewed),
            |_, text| estimate_tokens(text) <= max_tokens,
        )?;
        Ok(RenderedContext {
            n_tokens: estimate_tokens(&text),
            text,
            n_files: files.len(),
            n_listed,
            n_previewed,
        })
    }

    /// Returns what a template sees of a file with its preview.
    async fn describe<'a>(
        &self,
        file: &SelectedFile,
        plain: &TemplateFile<'a>,
        request: &ContextRequest,
    ) -> TemplateFile<'a> {
        let mut described = plain.clone();
        if file.is_too_large {
            return described;
        }
        // A file may vanish, or be one that the caller must not read.
        if let Ok(analysis) = self.analysis_of(&file.path).await {
            described.media_type.clone_from(&analysis.media_type);
            let preview = analysis.preview(request.preview);
            described.preview = Some(preview).filter(|preview| !preview.is_empty());
            if request.template.is_some() {
                described.stats = Some(analysis.description());
            }
        }
        described
    }
}

impl<'a> ContextDraft<'a> {
    fn new(files: &'a [SelectedFile], request: &ContextRequest) -> Result<Self, ArtifactError> {
        let template = ContextTemplate::parse(request.template.as_deref())?;
        let n_possible = match template.is_default() {
            true => count_possible(files, request.max_tokens),
            false => files.len(),
        };
        let plain = files[..n_possible].iter().map(plain_file).collect();
        Ok(Self { template, files, plain, described: Vec::new() })
    }

    /// Renders the context with the first files listed, and the first of those with previews.
    fn render(&self, n_listed: usize, n_previewed: usize) -> Result<String, ArtifactError> {
        let described = self.described[..n_previewed].iter();
        let files = described.chain(&self.plain[n_previewed..n_listed]).collect();
        let omitted = sum_up(&self.files[n_listed..]);
        self.template.render(&TemplateData { files, omitted })
    }
}

/// Returns what a template sees of a file without its content.
fn plain_file(file: &SelectedFile) -> TemplateFile<'_> {
    let name = file.path.file_name().unwrap_or_default();
    TemplateFile {
        path: file.path.as_str(),
        name,
        size: human_size(file.size),
        bytes: file.size,
        media_type: yfs_vfs::stat::mime_of(name).to_string(),
        preview: file.is_too_large.then(|| "too large to be read".to_owned()),
        stats: None,
    }
}

/// Returns the largest number up to `max` that fits, if smaller ones fit as well, and what is
/// rendered for it; 0 if none does.
fn largest(
    max: usize,
    mut render: impl FnMut(usize) -> Result<String, ArtifactError>,
    mut fits: impl FnMut(usize, &str) -> bool,
) -> Result<(usize, String), ArtifactError> {
    let text = render(max)?;
    if fits(max, &text) {
        return Ok((max, text));
    }
    let (mut low, mut high) = (0, max);
    let mut fitting = None;
    // From small numbers up, because large ones cost more.
    let mut step = 16;
    while low + step < high {
        let text = render(low + step)?;
        if !fits(low + step, &text) {
            break;
        }
        fitting = Some(text);
        low += step;
        step *= 2;
    }
    high = high.min(low + step);
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        let text = render(middle)?;
        match fits(middle, &text) {
            true => (low, fitting) = (middle, Some(text)),
            false => high = middle,
        }
    }
    let text = fitting.map_or_else(|| render(0), Ok)?;
    Ok((low, text))
}

/// Sums up files by directory, at the deepest level that has not too many directories.
fn sum_up(files: &[SelectedFile]) -> OmittedFiles<'_> {
    let mut depth = 1;
    let mut directories = totals_at(files, depth, usize::MAX).unwrap_or_default();
    while let Some(deeper) = totals_at(files, depth + 1, MAX_DIRECTORIES) {
        if deeper.len() == directories.len() {
            break;
        }
        directories = deeper;
        depth += 1;
    }
    let mut directories: Vec<(&str, DirectoryTotals)> = directories.into_iter().collect();
    if directories.len() > MAX_DIRECTORIES {
        directories.sort_by_key(|(path, totals)| (Reverse(totals.n_files), *path));
        directories.truncate(MAX_DIRECTORIES);
        directories.sort_by_key(|(path, _)| *path);
    }
    let directories = directories.into_iter().map(|(path, totals)| OmittedDirectory {
        path,
        files: totals.n_files,
        size: human_size(totals.n_bytes),
    });
    let directories = directories.collect();
    let n_bytes = files.iter().map(|file| file.size).sum();
    OmittedFiles { files: files.len(), size: human_size(n_bytes), directories }
}

/// Returns the totals of the directories at a depth, and of those above with files of their own;
/// `None` if there are more than `max_directories`.
fn totals_at(
    files: &[SelectedFile],
    depth: usize,
    max_directories: usize,
) -> Option<BTreeMap<&str, DirectoryTotals>> {
    let mut directories: BTreeMap<&str, DirectoryTotals> = BTreeMap::new();
    let mut rest = files;
    while let Some(first) = rest.first() {
        // Files of one directory follow each other, unless a name sorts before the slash.
        let directory = DirectoryPrefix::of(first.path.as_str(), depth);
        let n_files = rest.iter().take_while(|file| directory.has(file.path.as_str())).count();
        let (run, after) = rest.split_at(n_files.max(1));
        let totals = directories.entry(directory.path).or_default();
        totals.n_files += run.len();
        totals.n_bytes += run.iter().map(|file| file.size).sum::<u64>();
        if directories.len() > max_directories {
            return None;
        }
        rest = after;
    }
    Some(directories)
}

impl<'a> DirectoryPrefix<'a> {
    /// Returns the directory of a file, or the one above it that has `depth` parts.
    fn of(path: &'a str, depth: usize) -> Self {
        let mut slashes = memchr::memchr_iter(b'/', path.as_bytes()).skip(1).take(depth);
        let (mut end, mut n_parts) = (0, 0);
        for at in &mut slashes {
            (end, n_parts) = (at, n_parts + 1);
        }
        let path = if end == 0 { "/" } else { &path[..end] };
        Self { path, has_files_only: n_parts < depth }
    }

    /// Reports whether a file counts for the directory.
    fn has(&self, path: &str) -> bool {
        let start = if self.path == "/" { 0 } else { self.path.len() };
        let name = path.strip_prefix(&self.path[..start]).and_then(|rest| rest.strip_prefix('/'));
        name.is_some_and(|name| {
            !self.has_files_only || memchr::memchr(b'/', name.as_bytes()).is_none()
        })
    }
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
