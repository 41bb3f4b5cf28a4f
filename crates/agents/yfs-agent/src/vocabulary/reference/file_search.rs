//! Finding files by the patterns of the reference server.

use globset::{GlobBuilder, GlobMatcher};
use yfs_types::path::VPath;
use yfs_vfs::{FileKind, FileSystemExt, WalkEntry, WalkOptions};

use super::{allowed_path, worded};
use crate::{
    tool_call::ToolCall,
    tool_outcome::{ToolFailure, ToolOutcome, text_answer},
};

/// The most objects that a tree or a search lists.
const MAX_LISTED: usize = 100_000;

records! { open arguments:
pub(super) SearchFilesInput {
    path: String,
    pattern: String,
    #[serde(default, rename = "excludePatterns")]
    exclude_patterns: Vec<String>,
}
}

/// A pattern of paths, which a leading `!` negates.
pub(super) struct ReferencePattern {
    matcher: GlobMatcher,
    is_negated: bool,
}

impl ReferencePattern {
    fn new(text: &str) -> Result<Self, ToolFailure> {
        let positive = text.trim_start_matches('!');
        let is_negated = (text.len() - positive.len()) % 2 == 1;
        let built =
            GlobBuilder::new(positive).literal_separator(true).backslash_escape(true).build();
        let bad = |error: globset::Error| ToolFailure::refused(format!("bad pattern: {error}"));
        Ok(Self { matcher: built.map_err(bad)?.compile_matcher(), is_negated })
    }

    fn is_match(&self, path: &str) -> bool {
        self.matcher.is_match(path) != self.is_negated
    }
}

/// Returns what the patterns leave out: of a plain name, the name anywhere and all below it.
pub(super) fn exclusions(
    patterns: &[String],
    names_anywhere: bool,
) -> Result<Vec<ReferencePattern>, ToolFailure> {
    let mut matchers = Vec::new();
    for text in patterns {
        matchers.push(ReferencePattern::new(text)?);
        if names_anywhere && !text.contains('*') {
            matchers.push(ReferencePattern::new(&format!("**/{text}"))?);
            matchers.push(ReferencePattern::new(&format!("**/{text}/**"))?);
        }
    }
    Ok(matchers)
}

/// Lists what is below a directory, with paths relative to it. What is below an excluded
/// directory is excluded, too.
pub(super) async fn list_below(
    call: &ToolCall,
    root: &VPath,
    excluded: &[ReferencePattern],
) -> Result<Vec<(String, WalkEntry)>, ToolFailure> {
    let options = WalkOptions { max_entries: MAX_LISTED, ..WalkOptions::default() };
    let mut listed = Vec::new();
    let mut skipped: Option<VPath> = None;
    for item in worded(call, root, call.fs().walk(root, &options).await).await? {
        if skipped.as_ref().is_some_and(|above| item.path.starts_with(above)) {
            continue;
        }
        let relative = item.path.relative_to(root).unwrap_or_default().to_owned();
        if excluded.iter().any(|matcher| matcher.is_match(&relative)) {
            skipped = Some(item.path);
        } else {
            listed.push((relative, item));
        }
    }
    Ok(listed)
}

pub(super) async fn search_files(call: ToolCall, input: SearchFilesInput) -> ToolOutcome {
    let typed = allowed_path(&call, &input.path)?;
    // Paths are reported without the links on the way.
    let root = worded(&call, &typed, call.fs().realpath(&typed).await).await?;
    let wanted = ReferencePattern::new(&input.pattern)?;
    let excluded = exclusions(&input.exclude_patterns, false)?;
    let mut found = Vec::new();
    for (relative, item) in list_below(&call, &root, &excluded).await? {
        // A link that leads nowhere, or where the caller may not go, is left out.
        let is_shown = wanted.is_match(&relative)
            && (item.entry.kind != FileKind::Symlink || call.fs().stat(&item.path).await.is_ok());
        if is_shown {
            found.push(item.path.to_string());
        }
    }
    Ok(text_answer(match found.is_empty() {
        true => "No matches found".to_owned(),
        false => found.join("\n"),
    }))
}
