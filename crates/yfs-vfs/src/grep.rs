//! Finding lines by pattern.

mod searcher;

#[cfg(test)]
mod tests;

use std::{
    ops::Range,
    sync::Arc,
    time::{Duration, Instant},
};

use futures::{StreamExt, stream};
use tokio::runtime::Handle;
use yfs_types::{id::FileId, path::VPath};

pub use self::searcher::{GrepSearcher, SearchOutcome};
use crate::{
    error::{FsError, Op},
    file_system::FileSystem,
    glob::SearchLimit,
    stat::{DirEntry, FileKind, WalkEntry},
    stream::CancelToken,
    walk::vanished,
};

/// The limit of a compiled pattern, in bytes.
pub const MAX_PATTERN_BYTES: usize = 10 * 1024 * 1024;

/// How many batches are in the works at once.
const N_BATCHES_AT_ONCE: usize = 8;

/// A batch is full with this many bytes, or files.
const BATCH_BYTES: u64 = 1024 * 1024;
const BATCH_FILES: usize = 256;

/// Which lines to find.
#[derive(Debug, Clone)]
pub struct GrepQuery {
    /// The pattern: a regular expression of the `regex` crate, or literal text.
    pub pattern: String,
    /// Where to look: a directory, or one file.
    pub root: VPath,
    /// Whether the pattern is literal text.
    pub literal: bool,
    /// Whether upper and lower case are the same.
    pub ignore_case: bool,
    /// Whether a match must begin and end at a word's border.
    pub whole_word: bool,
    /// How many lines to show before each match.
    pub before: usize,
    /// How many lines to show after each match.
    pub after: usize,
    /// Search only files that one of these globs finds (as in [`GlobQuery`](crate::GlobQuery)), if
    /// there are any.
    pub include: Vec<String>,
    /// Leave out files and directories that one of these globs finds.
    pub exclude: Vec<String>,
    /// Whether files whose path has a hidden component below `root` are searched.
    pub hidden: bool,
    /// The greatest number of matching lines in one file.
    pub max_per_file: usize,
    /// The greatest number of matching lines in all.
    pub max_total: usize,
    /// The greatest number of bytes of a line that are returned.
    pub max_line_len: usize,
    /// Larger files are skipped and counted.
    pub max_file_len: u64,
    /// Stops the search after this time; what was found until then is returned.
    pub timeout: Option<Duration>,
    /// Stops the search; what was found until then is returned.
    pub cancel: CancelToken,
}

/// What was found.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct GrepResult {
    /// The files with matches, in the order of [`FileSystem::walk`].
    pub files: Vec<FileMatches>,
    /// How many lines matched, of those returned.
    pub n_matches: usize,
    /// How many files were searched.
    pub n_searched: u64,
    /// How many files were skipped because they are not text.
    pub n_binary: u64,
    /// How many files were skipped because they are larger than [`GrepQuery::max_file_len`].
    pub n_too_large: u64,
    /// How many files and directories could not be read.
    pub n_unreadable: u64,
    /// Why there may be more, if that is so; a cut inside one file is [`FileMatches::cut`].
    pub cut: Option<SearchLimit>,
}

/// The matches in one file.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct FileMatches {
    /// Where the file is.
    pub path: VPath,
    /// The file.
    pub id: FileId,
    /// The lines that matched and those around them, in order, each once.
    pub lines: Vec<GrepLine>,
    /// How many of them matched.
    pub n_matches: usize,
    /// Whether the search of this file ended at [`GrepQuery::max_per_file`].
    pub cut: bool,
}

/// A line that matched, or one beside it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct GrepLine {
    /// Its number, from 1.
    pub number: u64,
    /// The line without its newline; what is not UTF-8 shows as U+FFFD.
    pub text: String,
    /// How many bytes of the line were left out before `text`, to show the first match.
    pub n_skipped: usize,
    /// Whether the line is longer than what is shown.
    pub cut: bool,
    /// Where in `text` the matches are, in bytes; empty for a line that only stands beside one.
    pub matches: Vec<Range<usize>>,
    /// Whether it matched.
    pub is_match: bool,
}

impl GrepQuery {
    /// Looks for a regular expression in all files that are not hidden.
    pub fn new(pattern: impl Into<String>) -> Self {
        Self {
            pattern: pattern.into(),
            root: VPath::root(),
            literal: false,
            ignore_case: false,
            whole_word: false,
            before: 0,
            after: 0,
            include: Vec::new(),
            exclude: Vec::new(),
            hidden: false,
            max_per_file: usize::MAX,
            max_total: usize::MAX,
            max_line_len: usize::MAX,
            max_file_len: u64::MAX,
            timeout: None,
            cancel: CancelToken::new(),
        }
    }

    /// Looks for literal text in all files that are not hidden.
    pub fn literal(text: impl Into<String>) -> Self {
        Self { literal: true, ..Self::new(text) }
    }
}

/// Finds lines by reading files. See [`FileSystem::grep`].
///
/// Files are read and searched in batches, several at once where a tokio runtime is there to help.
pub async fn grep<F: FileSystem + ?Sized>(
    fs: &F,
    query: &GrepQuery,
) -> Result<GrepResult, FsError> {
    let searcher = Arc::new(GrepSearcher::new(query)?);
    let deadline = query.timeout.and_then(|timeout| Instant::now().checked_add(timeout));
    let stop = SearchStop { deadline, cancel: query.cancel.clone(), done: CancelToken::new() };
    let (files, n_unreadable) = list(fs, query, &searcher, &stop).await?;
    let mut result = GrepResult { n_unreadable, cut: stop.why(), ..GrepResult::default() };
    let mut batches = stream::iter(batches(files, &mut result, query))
        .map(|batch| search_batch(fs, batch, searcher.clone(), stop.clone()))
        .buffered(N_BATCHES_AT_ONCE);
    while let Some(batch) = batches.next().await {
        let full = result.absorb(batch, query.max_total);
        if full || result.cut.is_some() {
            stop.done.cancel();
            break;
        }
    }
    Ok(result)
}

/// When to stop, and who says so.
#[derive(Debug, Clone)]
struct SearchStop {
    deadline: Option<Instant>,
    cancel: CancelToken,
    /// Triggered by the search itself when it has enough.
    done: CancelToken,
}

/// Files that are read and searched together.
type Batch = Vec<WalkEntry>;

/// What the search of a batch brought.
#[derive(Debug, Default)]
struct BatchResult {
    files: Vec<FileMatches>,
    n_searched: u64,
    n_binary: u64,
    n_unreadable: u64,
    cut: Option<SearchLimit>,
}

impl SearchStop {
    fn why(&self) -> Option<SearchLimit> {
        if self.cancel.is_cancelled() {
            Some(SearchLimit::Cancelled)
        } else if self.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            Some(SearchLimit::Deadline)
        } else if self.done.is_cancelled() {
            Some(SearchLimit::Limit)
        } else {
            None
        }
    }
}

impl GrepResult {
    /// Adds what a batch brought, and tells whether that is enough.
    fn absorb(&mut self, batch: BatchResult, max_total: usize) -> bool {
        self.n_searched += batch.n_searched;
        self.n_binary += batch.n_binary;
        self.n_unreadable += batch.n_unreadable;
        self.cut = self.cut.or(batch.cut);
        for mut file in batch.files {
            let room = max_total - self.n_matches;
            if file.n_matches > room {
                self.cut = Some(SearchLimit::Limit);
                file.keep(room);
            }
            if file.n_matches > 0 {
                self.n_matches += file.n_matches;
                self.files.push(file);
            }
            if self.cut == Some(SearchLimit::Limit) {
                return true;
            }
        }
        false
    }
}

impl FileMatches {
    /// Keeps the first matches, with what stands before them.
    fn keep(&mut self, n_matches: usize) {
        let mut n_seen = 0;
        self.lines.retain(|line| {
            n_seen += usize::from(line.is_match);
            n_seen <= n_matches && (n_seen < n_matches || line.is_match)
        });
        self.n_matches = n_matches;
        self.cut = true;
    }
}

/// Lists the files to search, and counts directories that cannot be listed.
async fn list<F: FileSystem + ?Sized>(
    fs: &F,
    query: &GrepQuery,
    searcher: &GrepSearcher,
    stop: &SearchStop,
) -> Result<(Vec<WalkEntry>, u64), FsError> {
    let stat = fs.stat(&query.root).await.map_err(|error| error.during(Op::Grep))?;
    if !stat.is_directory() {
        let name = query.root.file_name().unwrap_or_default();
        let mut entry = DirEntry::new(name, stat.id, stat.kind);
        entry.size = stat.size;
        return Ok((vec![WalkEntry::new(query.root.clone(), entry)], 0));
    }
    let mut files = Vec::new();
    let mut n_unreadable = 0;
    let mut pending = vec![query.root.clone()];
    let mut below = Vec::new();
    while let Some(dir) = pending.pop() {
        if stop.why().is_some() {
            break;
        }
        let entries = match fs.readdir(&dir).await {
            Ok(entries) => entries,
            Err(error) if dir == query.root => return Err(error.during(Op::Grep)),
            Err(error) => {
                n_unreadable += u64::from(!vanished(&error));
                continue;
            }
        };
        for entry in entries {
            let path = dir.join(&entry.name);
            match entry.kind {
                FileKind::Directory if searcher.enters(&path) => below.push(path),
                FileKind::File if searcher.wants(&path) => {
                    files.push(WalkEntry::new(path, entry));
                }
                _ => (),
            }
        }
        pending.extend(below.drain(..).rev());
    }
    files.sort_by(|a, b| a.path.components().cmp(b.path.components()));
    Ok((files, n_unreadable))
}

/// Cuts the files into batches, without those that are too large.
fn batches(files: Vec<WalkEntry>, result: &mut GrepResult, query: &GrepQuery) -> Vec<Batch> {
    let mut batches: Vec<Batch> = Vec::new();
    let mut n_bytes = u64::MAX;
    for file in files {
        let size = file.entry.size;
        if size > query.max_file_len {
            result.n_too_large += 1;
            continue;
        }
        match batches.last_mut() {
            Some(batch) if n_bytes < BATCH_BYTES && batch.len() < BATCH_FILES => {
                n_bytes += size;
                batch.push(file);
            }
            _ => {
                n_bytes = size;
                batches.push(vec![file]);
            }
        }
    }
    batches
}

async fn search_batch<F: FileSystem + ?Sized>(
    fs: &F,
    batch: Batch,
    searcher: Arc<GrepSearcher>,
    stop: SearchStop,
) -> BatchResult {
    let mut result = BatchResult::default();
    let mut contents = Vec::with_capacity(batch.len());
    for WalkEntry { path, entry } in batch {
        if let Some(cut) = stop.why() {
            result.cut = Some(cut);
            break;
        }
        match fs.read(&path).await {
            Ok(content) => contents.push((path, entry.id, content.data)),
            Err(error) => result.n_unreadable += u64::from(!vanished(&error)),
        }
    }
    let search = move || {
        for (path, id, data) in contents {
            if let Some(cut) = stop.why() {
                result.cut = Some(cut);
                break;
            }
            match searcher.search(&path, &id, &data) {
                SearchOutcome::Binary => result.n_binary += 1,
                SearchOutcome::Text(matches) => {
                    result.n_searched += 1;
                    result.files.extend(matches);
                }
            }
        }
        result
    };
    match Handle::try_current() {
        Ok(runtime) => runtime.spawn_blocking(search).await.unwrap_or_else(|_| BatchResult {
            // The runtime is shutting down, and takes the search with it.
            cut: Some(SearchLimit::Cancelled),
            ..BatchResult::default()
        }),
        Err(_) => search(),
    }
}
