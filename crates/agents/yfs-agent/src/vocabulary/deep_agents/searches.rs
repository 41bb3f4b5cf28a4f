//! Finding files by patterns and by what they contain.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use yfs_vfs::{FileSystemExt, GlobQuery, GrepQuery, SearchLimit, grep::describe_binary};

use super::{
    listing::{format_matches, format_paths, regex_note},
    words_of,
};
use crate::{
    large_results::keep_items,
    permissions::escape_literal,
    tool_call::ToolCall,
    tool_outcome::{ToolAnswer, ToolFailure, ToolOutcome, in_words},
    vocabulary::shared::path_of,
};

/// The most matching lines of `grep` if the caller names no limit.
const DEFAULT_MATCHES: usize = 1_000;

/// The most paths of `glob`.
const MAX_PATHS: usize = 10_000;

/// The time after which `grep` returns what it has found.
const GREP_TIME: Duration = Duration::from_secs(15);

const GREP_STOPPED: &str = "Note: the search stopped early (it hit its time limit or the maximum \
    match count). The matches above are valid but incomplete. Narrow the search (a more specific \
    pattern or a narrower path), or raise max_count, to see the rest.";

const GLOB_STOPPED: &str = "Note: the search stopped early because it hit its time or size limit. \
    The paths above are valid but incomplete. Narrow the search (a more specific pattern or a \
    narrower path) to see the rest.";

const GLOB_UNREADABLE: &str = "Note: some directories could not be read, so the paths above are \
    valid but incomplete. Narrowing the search will NOT reveal the missing files -- they are \
    inaccessible. Continue with what is listed, or report the access problem rather than retrying.";

records! { arguments:
pub(super) GlobInput {
    /// Pattern of the paths: `*`, `?`, `[abc]`, `{a,b}` within a name, `**` for any directories.
    /// One without `/` matches names at any depth, one that begins with `/` begins at the searched
    /// directory. Hidden names match only a pattern that begins with a dot.
    pattern: String,
    /// Absolute path of the directory to search. Default `/`.
    path: Option<String>,
}
pub(super) GrepInput {
    /// Text to find, literally.
    pattern: String,
    /// Absolute path of the directory or file to search. Default `/`.
    path: Option<String>,
    /// Pattern of the files to search, as of the tool `glob`.
    glob: Option<String>,
    /// Form of the result: the files, the lines, or the number of lines of each file.
    #[serde(default)]
    output_mode: GrepOutputMode,
    /// The greatest number of matches in all. Default 1,000.
    #[schemars(range(min = 1))]
    max_count: Option<usize>,
}
}

records! { results:
pub(super) GlobOutput {
    /// The absolute paths.
    paths: Vec<String>,
    /// Whether there may be more.
    truncated: bool,
}
pub(super) GrepOutput {
    /// The matching lines.
    matches: Vec<GrepOutputLine>,
    /// Whether there may be more.
    truncated: bool,
    /// The number of files that were not searched because they are not text.
    n_binary: u64,
    /// The paths of the first 20 of these files.
    binary_paths: Vec<String>,
}
GrepOutputLine {
    /// The absolute path of the file.
    path: String,
    /// The number of the line, counted from 1.
    line: u64,
    /// The line.
    text: String,
}
}

/// The form in which matches are returned.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum GrepOutputMode {
    #[default]
    FilesWithMatches,
    Content,
    Count,
}

pub(super) async fn glob(call: ToolCall, input: GlobInput) -> ToolOutcome<GlobOutput> {
    let root = path_of(input.path.as_deref().unwrap_or("/"))?;
    let pattern = match input.pattern.strip_prefix('/') {
        // In the filesystem's patterns a leading slash is the root of the filesystem.
        Some(rest) => format!("{}/{rest}", escape_literal(root.as_str().trim_end_matches('/'))),
        None => input.pattern.clone(),
    };
    let cancel = call.context().cancel.clone();
    // As `ls` and `grep`, it finds names that begin with a dot.
    let query = GlobQuery {
        root: root.clone(),
        hidden: true,
        limit: MAX_PATHS,
        cancel,
        ..GlobQuery::new(pattern)
    };
    let found = in_words(call.fs().glob(&query).await, |error| words_of(error, "read", &root))?;
    let paths: Vec<String> = found.entries.iter().map(|entry| entry.path.to_string()).collect();
    let max_chars = call.session().limits().max_list_chars;
    let mut text = format_paths(paths.iter().map(String::as_str), max_chars);
    let note = match (found.cut, found.n_unreadable) {
        (Some(_), _) => Some(GLOB_STOPPED),
        (None, 0) => None,
        (None, _) => Some(GLOB_UNREADABLE),
    };
    if let Some(note) = note {
        text = format!("{text}\n\n{note}");
    }
    let (paths, is_cut) = keep_items(paths, max_chars);
    let output = GlobOutput { paths, truncated: is_cut || note.is_some() };
    Ok(ToolAnswer::new(text, &output))
}

pub(super) async fn grep(call: ToolCall, input: GrepInput) -> ToolOutcome<GrepOutput> {
    let root = path_of(input.path.as_deref().unwrap_or("/"))?;
    if input.max_count == Some(0) {
        return Err(ToolFailure::refused("max_count must be at least 1"));
    }
    let query = GrepQuery {
        root: root.clone(),
        include: input.glob.into_iter().collect(),
        hidden: true,
        max_total: input.max_count.unwrap_or(DEFAULT_MATCHES),
        timeout: Some(GREP_TIME),
        cancel: call.context().cancel.clone(),
        ..GrepQuery::literal(&input.pattern)
    };
    let found = in_words(call.fs().grep(&query).await, |error| words_of(error, "read", &root))?;
    let truncated = matches!(
        found.cut,
        Some(SearchLimit::Limit | SearchLimit::Deadline | SearchLimit::Cancelled)
    );
    let max_chars = call.session().limits().max_list_chars;
    let mut text = format_matches(&found, input.output_mode, max_chars);
    if truncated {
        text = format!("{text}\n\n{GREP_STOPPED}");
    } else if let Some(note) = regex_note(&input.pattern).filter(|_| found.files.is_empty()) {
        text = format!("{text}\n\n{note}");
    }
    if let Some(note) = describe_binary(found.n_binary, &found.binary_paths) {
        text = format!("{text}\n\nNote: {note}");
    }
    let matches = found.files.iter().flat_map(|file| {
        file.lines.iter().filter(|line| line.is_match).map(|line| GrepOutputLine {
            path: file.path.to_string(),
            line: line.number,
            text: line.text.clone(),
        })
    });
    let (matches, is_cut) = keep_items(matches, max_chars);
    let output = GrepOutput {
        matches,
        truncated: truncated || is_cut,
        n_binary: found.n_binary,
        binary_paths: found.binary_paths.iter().map(ToString::to_string).collect(),
    };
    Ok(ToolAnswer::new(text, &output))
}
