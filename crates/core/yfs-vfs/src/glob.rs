//! Finding paths by pattern.

mod pattern;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use tokio_util::sync::CancellationToken;
use yfs_types::path::VPath;

use self::pattern::States;
pub use self::pattern::{BadPattern, GlobPattern};
use crate::{
    error::{FsError, Op},
    file_system::FileSystem,
    stat::{DirEntry, FileKind, WalkEntry},
    walk::vanished,
    work_meter::count_objects,
};

/// A search for paths by pattern.
///
/// - `*` matches any characters but `/`, `?` matches one, `[a-z]` and `[!a-z]` match one of a
///   class, `**` as a whole component matches any number of components, `{a,b/c}` matches either
///   alternative; a backslash escapes the next character.
/// - A pattern without a slash is matched against names at any depth. One with a slash in the
///   middle is matched against paths relative to `root`; one that begins with a slash, against
///   paths from `/`. A slash at the end finds directories only.
/// - **Hidden names** (that begin with a dot) are found only by a component of the pattern that
///   itself begins with a dot, unless `hidden` is set. `**`, `*` and the search for a name at any
///   depth neither find hidden names nor descend into hidden directories.
/// - Links are found as themselves and not followed.
#[derive(Debug, Clone)]
pub struct GlobQuery {
    /// The pattern.
    pub pattern: String,
    /// The directory where the search begins.
    pub root: VPath,
    /// Whether hidden names are treated like others.
    pub hidden: bool,
    /// Whether the search ignores case.
    pub ignore_case: bool,
    /// Whether directories are found too, not only files and links.
    pub directories: bool,
    /// The greatest number of paths to return.
    pub limit: usize,
    /// Stops the search; the call returns what it has found until then.
    pub cancel: CancellationToken,
}

/// The result of a [`GlobQuery`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct GlobResult {
    /// The matching entries, in the order of [`FileSystemExt::walk`](crate::FileSystemExt::walk).
    pub entries: Vec<WalkEntry>,
    /// The limit that ended the search, if there may be more matches.
    pub cut: Option<SearchLimit>,
    /// The number of directories that could not be listed.
    pub n_unreadable: u64,
}

/// The reason why a search ended early.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum SearchLimit {
    /// The limit on the number of results.
    Limit,
    /// The timeout.
    Deadline,
    /// Cancellation by the caller.
    Cancelled,
}

impl GlobQuery {
    /// Makes a query for files in the whole tree.
    pub fn new(pattern: impl Into<String>) -> Self {
        Self {
            pattern: pattern.into(),
            root: VPath::root(),
            hidden: false,
            ignore_case: false,
            directories: false,
            limit: usize::MAX,
            cancel: CancellationToken::new(),
        }
    }
}

/// Finds paths by listing directories. See [`FileSystem::glob`].
///
/// Only directories that can hold a match are listed.
pub async fn glob<F: FileSystem + ?Sized>(
    fs: &F,
    query: &GlobQuery,
) -> Result<GlobResult, FsError> {
    let pattern = GlobPattern::for_query(query)?;
    let mut result = GlobResult { entries: Vec::new(), cut: None, n_unreadable: 0 };
    let first = fs.readdir(&query.root).await.map_err(|error| error.during(Op::Glob))?;
    // The entries still to be matched, last first, with the pattern's states in their directory.
    let mut pending = Vec::new();
    push(&mut pending, &query.root, first, &Arc::new(pattern.start(&query.root)));
    while let Some((item, states)) = pending.pop() {
        if query.cancel.is_cancelled() {
            result.cut = Some(SearchLimit::Cancelled);
            break;
        }
        let is_directory = item.entry.kind == FileKind::Directory;
        let states = pattern.advance(&states, &item.entry.name);
        if is_directory && pattern.goes_on(&states) {
            match fs.readdir(&item.path).await {
                Ok(entries) => push(&mut pending, &item.path, entries, &Arc::new(states.clone())),
                Err(error) if vanished(&error) => continue,
                Err(_) => result.n_unreadable += 1,
            }
        }
        if (query.directories || !is_directory || pattern.directories_only())
            && pattern.accepts(&states, is_directory)
        {
            if result.entries.len() >= query.limit {
                result.cut = Some(SearchLimit::Limit);
                break;
            }
            result.entries.push(item);
        }
    }
    Ok(result)
}

fn push(
    pending: &mut Vec<(WalkEntry, Arc<States>)>,
    dir: &VPath,
    entries: Vec<DirEntry>,
    states: &Arc<States>,
) {
    count_objects(entries.len() as u64);
    let entries = entries.into_iter().rev();
    pending.extend(
        entries.map(|entry| (WalkEntry::new(dir.join(&entry.name), entry), states.clone())),
    );
}
