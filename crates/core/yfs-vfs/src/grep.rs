//! Finding lines by pattern.

mod large_file;
mod searcher;
mod sink;

#[cfg(test)]
mod tests;

use std::{
    collections::HashSet,
    ops::Range,
    sync::Arc,
    time::{Duration, Instant},
};

use bytes::Bytes;
use futures::{StreamExt, stream};
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;
use yfs_types::{id::FileId, path::VPath};

use self::large_file::{LargeFileSearch, LargeOutcome};
pub(crate) use self::searcher::{GrepSearcher, SearchOutcome};
pub use self::{
    searcher::searched_text,
    sink::{GrepCollector, GrepSink, PathConverter},
};
use crate::{
    WalkOptions,
    error::{FsError, Op},
    file_system::FileSystem,
    file_system_ext::FileSystemExt,
    glob::SearchLimit,
    stat::{DirEntry, FileKind, WalkEntry},
    walk::vanished,
    work_meter::count_objects,
};

/// The largest compiled pattern, in bytes.
pub(crate) const MAX_PATTERN_BYTES: usize = 10 * 1024 * 1024;

/// The number of batches that are searched concurrently.
const N_BATCHES_AT_ONCE: usize = 8;

/// A batch is full with this many bytes, or this many files.
const BATCH_BYTES: u64 = 1024 * 1024;
const BATCH_FILES: usize = 256;

/// The number of files that are read by one call; before each, the search checks its limits.
const FILES_AT_ONCE: usize = 64;

/// The size of a file that is searched as a stream, in bytes.
const LARGE_BYTES: u64 = if cfg!(test) { 64 } else { 16 << 20 };

/// The greatest number of paths of files that are not text in a result.
pub(crate) const MAX_BINARY_PATHS: usize = 20;

/// The greatest size of the lines of a large file that are held in memory if they can be passed on.
const MAX_HELD_BYTES: usize = if cfg!(test) { 256 } else { 8 << 20 };

/// A search for lines by pattern.
#[derive(Debug, Clone)]
pub struct GrepQuery {
    /// The pattern: a regular expression of the `regex` crate, or literal text.
    pub pattern: String,
    /// The directory or file to search.
    pub root: VPath,
    /// Whether the pattern is literal text.
    pub literal: bool,
    /// Whether the search ignores case.
    pub ignore_case: bool,
    /// Whether a match must begin and end at a word boundary.
    pub whole_word: bool,
    /// Whether a match must be a whole line.
    pub whole_line: bool,
    /// Whether the lines that do not match are returned, as the matches, without ranges.
    pub invert: bool,
    /// Whether files that are not text are searched too. Text in UTF-16 is text.
    pub binary: bool,
    /// Whether searched files without a match are returned too, without lines.
    pub unmatched_files: bool,
    /// Whether only the numbers of matches are returned, without lines.
    pub counts_only: bool,
    /// The number of lines to return before each match.
    pub before: usize,
    /// The number of lines to return after each match.
    pub after: usize,
    /// Globs of the files to search (as in [`GlobQuery`](crate::GlobQuery)); all files if empty.
    pub include: Vec<String>,
    /// Globs of the files and directories to leave out.
    pub exclude: Vec<String>,
    /// Whether files with a hidden component in their path below `root` are searched.
    pub hidden: bool,
    /// The greatest number of matching lines in one file.
    pub max_per_file: usize,
    /// The greatest number of matching lines in all.
    pub max_total: usize,
    /// The greatest number of bytes of a line to return.
    pub max_line_len: usize,
    /// The size limit in bytes; larger files are skipped and counted.
    pub max_file_len: u64,
    /// Whether an index may choose the files to read, if the backend has one. The lines are the
    /// same.
    pub use_index: bool,
    /// Stops the search after this time; the call returns what it has found until then.
    pub timeout: Option<Duration>,
    /// Stops the search; the call returns what it has found until then.
    pub cancel: CancellationToken,
}

/// The files that a search reads: those in which an index does not exclude a match.
#[derive(Debug, Clone, Default)]
pub enum GrepSelection {
    /// All files that the query includes.
    #[default]
    All,
    /// Of the files that the query includes, those with these ids.
    WithIds {
        /// The files to read.
        ids: HashSet<FileId>,
        /// The files that are known not to be text.
        binary: HashSet<FileId>,
    },
    /// Of these files, those that the query includes. There are none but files below the query's
    /// root, which is a directory.
    Files {
        /// The files to read.
        files: Vec<WalkEntry>,
        /// The files that are known not to be text.
        binary: Vec<WalkEntry>,
    },
}

/// A call that reads several files, each as [`FileSystem::read`] does.
pub(crate) type ReadManyFiles<'a> = &'a (dyn Fn(&[VPath]) -> Vec<Result<Bytes, FsError>> + Sync);

/// The result of a [`GrepQuery`].
///
/// Counts of files consider the files that were read. An index excludes files, so they are smaller
/// with [`GrepQuery::use_index`]; but files that are not text are counted with and without it, if
/// no limit ends the search.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct GrepResult {
    /// The files with matches, in the order of [`FileSystem::walk_batches`].
    pub files: Vec<FileMatches>,
    /// The number of matching lines among those returned.
    pub n_matches: usize,
    /// The number of files that were searched.
    pub n_searched: u64,
    /// The number of files that were skipped because they are not text.
    pub n_binary: u64,
    /// The paths of the first 20 of these files, in the order of
    /// [`FileSystem::walk_batches`].
    pub binary_paths: Vec<VPath>,
    /// The number of files that were skipped because they exceed [`GrepQuery::max_file_len`].
    pub n_too_large: u64,
    /// The number of files and directories that could not be read.
    pub n_unreadable: u64,
    /// The limit that ended the search, if there may be more matches. For a limit that ended the
    /// search of one file, see [`FileMatches::cut`].
    pub cut: Option<SearchLimit>,
}

/// The matches in one file.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct FileMatches {
    /// The file's path.
    pub path: VPath,
    /// The file's id.
    pub id: FileId,
    /// The matching lines and their context, in order, each once.
    pub lines: Vec<GrepLine>,
    /// The number of matching lines.
    pub n_matches: usize,
    /// Whether the search of this file ended at [`GrepQuery::max_per_file`].
    pub cut: bool,
}

/// A matching line, or a line of context.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct GrepLine {
    /// The line's number, counted from 1.
    pub number: u64,
    /// The line without its newline; bytes that are not UTF-8 appear as U+FFFD. Of a file in
    /// UTF-16, the line is decoded, and numbers of bytes are of that.
    pub text: String,
    /// The number of bytes of the line before `text` that were left out to show the first match.
    pub n_skipped: usize,
    /// Whether the line is longer than `text`.
    pub cut: bool,
    /// The ranges of the matches in `text`, in bytes; empty for a line of context.
    pub matches: Vec<Range<usize>>,
    /// Whether the line matches.
    pub is_match: bool,
}

impl GrepQuery {
    /// Makes a query for a regular expression in all files that are not hidden.
    pub fn new(pattern: impl Into<String>) -> Self {
        Self {
            pattern: pattern.into(),
            root: VPath::root(),
            literal: false,
            ignore_case: false,
            whole_word: false,
            whole_line: false,
            invert: false,
            binary: false,
            unmatched_files: false,
            counts_only: false,
            before: 0,
            after: 0,
            include: Vec::new(),
            exclude: Vec::new(),
            hidden: false,
            max_per_file: usize::MAX,
            max_total: usize::MAX,
            max_line_len: usize::MAX,
            max_file_len: u64::MAX,
            use_index: true,
            timeout: None,
            cancel: CancellationToken::new(),
        }
    }

    /// Makes a query for literal text in all files that are not hidden.
    pub fn literal(text: impl Into<String>) -> Self {
        Self { literal: true, ..Self::new(text) }
    }
}

/// Finds lines by reading files, and passes them to a sink. See [`FileSystem::grep_each`].
///
/// Files are read and searched in batches, several of them concurrently if there is a tokio
/// runtime. A file of 16 MiB or more is searched as a stream, in windows that end with a line.
pub async fn grep_each<F: FileSystem + ?Sized>(
    fs: &F,
    query: &GrepQuery,
    sink: &mut dyn GrepSink,
) -> Result<GrepResult, FsError> {
    grep_each_selected(fs, query, GrepSelection::All, None, sink).await
}

/// Finds lines as [`grep_each`] does, by reading the files of a selection, which must have every
/// file with a match. The backend may have a faster way to read many small files.
///
/// Of a large file, at most 8 MiB of lines are in memory, unless the sink holds them all. If it has
/// more, it is read twice: it must be known to be a text before the first line is passed on.
pub async fn grep_each_selected<F: FileSystem + ?Sized>(
    fs: &F,
    query: &GrepQuery,
    selection: GrepSelection,
    read_many: Option<ReadManyFiles<'_>>,
    sink: &mut dyn GrepSink,
) -> Result<GrepResult, FsError> {
    // With a limit for all files, its lines are few.
    let holds_all = sink.holds_all() || query.max_total < usize::MAX;
    let max_held = if holds_all { usize::MAX } else { MAX_HELD_BYTES };
    SearchRun { query, sink, max_held, read_many }.search(fs, selection).await
}

/// A search that passes its results to a sink.
struct SearchRun<'a> {
    query: &'a GrepQuery,
    sink: &'a mut dyn GrepSink,
    /// The greatest size of the lines of a large file that are held in memory.
    max_held: usize,
    read_many: Option<ReadManyFiles<'a>>,
}

impl SearchRun<'_> {
    /// Searches, and returns the result without the files.
    async fn search<F: FileSystem + ?Sized>(
        self,
        fs: &F,
        selection: GrepSelection,
    ) -> Result<GrepResult, FsError> {
        let Self { query, sink, max_held, read_many } = self;
        let searcher = Arc::new(GrepSearcher::new(query)?);
        let deadline = query.timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        let stop =
            SearchStop { deadline, cancel: query.cancel.clone(), done: CancellationToken::new() };
        let listed = list_selected(fs, query, &searcher, selection, &stop).await?;
        let ListedFiles { files, binary, n_unreadable } = listed;
        let mut result = GrepResult { n_unreadable, cut: stop.why(), ..GrepResult::default() };
        let known_binary = result.skip_known(binary, query);
        let mut batches = stream::iter(batches(files, &mut result, query))
            .map(|batch| {
                let search = BatchSearch { fs, read_many, searcher: &searcher, stop: &stop };
                search.run(batch, max_held)
            })
            .buffered(N_BATCHES_AT_ONCE);
        while let Some(batch) = batches.next().await {
            count_objects(batch.n_searched + batch.binary.len() as u64 + batch.n_unreadable);
            let long_output = batch.long_output.clone();
            let mut is_over = result.add_batch(batch, query, sink);
            if let Some((path, id)) = long_output.filter(|_| !is_over) {
                let search = LargeFileSearch { fs, searcher: &searcher, stop: &stop };
                is_over = result.add_large(&path, search.pass_on(&path, &id, sink).await);
                count_objects(1);
            }
            if is_over || result.cut.is_some() {
                stop.done.cancel();
                break;
            }
        }
        if !known_binary.is_empty() {
            result.binary_paths.extend(known_binary);
            result.binary_paths.sort_by(|a, b| a.components().cmp(b.components()));
            result.binary_paths.truncate(MAX_BINARY_PATHS);
        }
        Ok(result)
    }
}

/// The conditions that stop a search.
#[derive(Debug, Clone)]
struct SearchStop {
    deadline: Option<Instant>,
    cancel: CancellationToken,
    /// Cancelled by the search itself when it has enough matches.
    done: CancellationToken,
}

/// The files of a selection.
#[derive(Debug, Default)]
struct ListedFiles {
    files: Vec<WalkEntry>,
    /// The files that are known not to be text.
    binary: Vec<WalkEntry>,
    /// The number of directories that could not be listed.
    n_unreadable: u64,
}

/// Files that are read and searched together.
type Batch = Vec<WalkEntry>;

/// The result of searching a batch.
#[derive(Debug, Default)]
struct BatchResult {
    files: Vec<FileMatches>,
    n_searched: u64,
    /// The files that are not text.
    binary: Vec<VPath>,
    n_unreadable: u64,
    cut: Option<SearchLimit>,
    /// A large file with more lines than are held in memory, which is the last of the batch.
    long_output: Option<(VPath, FileId)>,
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
    /// Counts the files that are known not to be text, and returns the first paths in order.
    fn skip_known(&mut self, mut files: Vec<WalkEntry>, query: &GrepQuery) -> Vec<VPath> {
        files.retain(|found| {
            let is_too_large = found.entry.size > query.max_file_len;
            self.n_too_large += u64::from(is_too_large);
            !is_too_large
        });
        self.n_binary += files.len() as u64;
        files.into_iter().take(MAX_BINARY_PATHS).map(|found| found.path).collect()
    }

    /// Counts a file that is not text.
    fn skip_binary(&mut self, path: VPath) {
        self.n_binary += 1;
        if self.binary_paths.len() < MAX_BINARY_PATHS {
            self.binary_paths.push(path);
        }
    }

    /// Adds the result of a batch, passes its files to a sink, and reports whether the search is
    /// over.
    fn add_batch(
        &mut self,
        batch: BatchResult,
        query: &GrepQuery,
        sink: &mut dyn GrepSink,
    ) -> bool {
        self.n_searched += batch.n_searched;
        batch.binary.into_iter().for_each(|path| self.skip_binary(path));
        self.n_unreadable += batch.n_unreadable;
        self.cut = self.cut.or(batch.cut);
        for mut file in batch.files {
            let room = query.max_total - self.n_matches;
            if file.n_matches > room {
                self.cut = Some(SearchLimit::Limit);
                file.keep(room);
            }
            if file.n_matches > 0 || (query.unmatched_files && !file.cut) {
                self.n_matches += file.n_matches;
                if sink.add(file, true).is_break() {
                    return true;
                }
            }
            if self.cut == Some(SearchLimit::Limit) {
                return true;
            }
        }
        false
    }

    /// Adds the result of a file whose lines were passed to a sink, and reports whether the search
    /// is over.
    fn add_large(&mut self, path: &VPath, outcome: LargeOutcome) -> bool {
        match outcome {
            LargeOutcome::Binary => self.skip_binary(path.clone()),
            LargeOutcome::Text(found) => {
                self.n_searched += 1;
                self.n_matches += found.map_or(0, |found| found.n_matches);
            }
            LargeOutcome::LongOutput => (),
            LargeOutcome::Unreadable => self.n_unreadable += 1,
            LargeOutcome::Vanished => (),
            LargeOutcome::Cut(cut) => self.cut = Some(cut),
            LargeOutcome::Ended => return true,
        }
        false
    }
}

impl FileMatches {
    /// Keeps the first matches and the lines before them.
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

/// Describes the files that a search skipped because they are not text: their number, and the first
/// of these names. Returns `None` if there are none.
pub fn describe_binary(
    n_binary: u64,
    names: impl IntoIterator<Item = impl AsRef<str>>,
) -> Option<String> {
    const N_NAMED: usize = 3;
    let mut text = match n_binary {
        0 => return None,
        1 => "1 file is not text and was not searched: ".to_owned(),
        n => format!("{n} files are not text and were not searched: "),
    };
    let mut n_named = 0;
    for name in names.into_iter().take(N_NAMED) {
        text.push_str(if n_named == 0 { "" } else { ", " });
        text.push_str(name.as_ref());
        n_named += 1;
    }
    if n_binary > n_named {
        text.push_str(&format!(" and {} more", n_binary - n_named));
    }
    Some(text)
}

/// Lists the files of a selection to search, and counts the directories that cannot be listed.
async fn list_selected<F: FileSystem + ?Sized>(
    fs: &F,
    query: &GrepQuery,
    searcher: &GrepSearcher,
    selection: GrepSelection,
    stop: &SearchStop,
) -> Result<ListedFiles, FsError> {
    match selection {
        GrepSelection::All => list(fs, query, searcher, stop).await,
        GrepSelection::WithIds { ids, binary } => {
            let mut listed = list(fs, query, searcher, stop).await?;
            let is_binary = |found: &mut WalkEntry| binary.contains(&found.entry.id);
            listed.binary = listed.files.extract_if(.., is_binary).collect();
            listed.files.retain(|found| ids.contains(&found.entry.id));
            Ok(listed)
        }
        GrepSelection::Files { mut files, mut binary } => {
            fs.stat(&query.root).await.map_err(|error| error.during(Op::Grep))?;
            for list in [&mut files, &mut binary] {
                list.retain(|found| searcher.reaches(&found.path));
                list.sort_by(|a, b| a.path.components().cmp(b.path.components()));
            }
            Ok(ListedFiles { files, binary, n_unreadable: 0 })
        }
    }
}

/// Lists the files to search, and counts the directories that cannot be listed.
async fn list<F: FileSystem + ?Sized>(
    fs: &F,
    query: &GrepQuery,
    searcher: &GrepSearcher,
    stop: &SearchStop,
) -> Result<ListedFiles, FsError> {
    let stat = fs.stat(&query.root).await.map_err(|error| error.during(Op::Grep))?;
    if !stat.is_directory() {
        let name = query.root.file_name().unwrap_or_default();
        let mut entry = DirEntry::new(name, stat.id, stat.kind);
        entry.size = stat.size;
        let files = vec![WalkEntry::new(query.root.clone(), entry)];
        return Ok(ListedFiles { files, ..ListedFiles::default() });
    }
    let mut files = Vec::new();
    let mut n_unreadable = 0;
    let mut pending = vec![query.root.clone()];
    let mut below = Vec::new();
    while let Some(dir) = pending.pop() {
        if stop.why().is_some() {
            break;
        }
        // Without a limit, sizes only divide the work.
        let measured = query.max_file_len < u64::MAX;
        let options =
            WalkOptions { max_depth: 1, measured, kinds_only: !measured, ..WalkOptions::default() };
        let entries = match fs.walk(&dir, &options).await {
            Ok(entries) => entries,
            Err(error) if dir == query.root => return Err(error.during(Op::Grep)),
            Err(error) => {
                n_unreadable += u64::from(!vanished(&error));
                continue;
            }
        };
        for found in entries {
            match found.entry.kind {
                FileKind::Directory if searcher.enters(&found.path) => below.push(found.path),
                FileKind::File if searcher.should_search(&found.path) => files.push(found),
                _ => (),
            }
        }
        pending.extend(below.drain(..).rev());
    }
    files.sort_by(|a, b| a.path.components().cmp(b.path.components()));
    Ok(ListedFiles { files, binary: Vec::new(), n_unreadable })
}

/// Splits the files into batches, without those that are too large.
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
            // A large file is a batch of its own.
            Some(batch)
                if size < LARGE_BYTES
                    && n_bytes < BATCH_BYTES.min(LARGE_BYTES)
                    && batch.len() < BATCH_FILES =>
            {
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

/// A search of files that are read together.
struct BatchSearch<'a, F: ?Sized> {
    fs: &'a F,
    read_many: Option<ReadManyFiles<'a>>,
    searcher: &'a Arc<GrepSearcher>,
    stop: &'a SearchStop,
}

impl<F: FileSystem + ?Sized> BatchSearch<'_, F> {
    async fn run(self, batch: Batch, max_held: usize) -> BatchResult {
        let Self { fs, searcher, stop, .. } = self;
        if let [WalkEntry { path, entry }] = &*batch
            && entry.size >= LARGE_BYTES
        {
            if let Some(cut) = stop.why() {
                return BatchResult { cut: Some(cut), ..BatchResult::default() };
            }
            let search = LargeFileSearch { fs, searcher, stop };
            return search.collect(path, &entry.id, max_held).await.into_batch(path, &entry.id);
        }
        let mut result = BatchResult::default();
        let mut contents = Vec::with_capacity(batch.len());
        let (paths, ids): (Vec<VPath>, Vec<FileId>) =
            batch.into_iter().map(|WalkEntry { path, entry }| (path, entry.id)).unzip();
        let mut found = paths.iter().zip(ids);
        for some in paths.chunks(FILES_AT_ONCE) {
            if let Some(cut) = stop.why() {
                result.cut = Some(cut);
                break;
            }
            for (content, (path, id)) in self.read(some).await.into_iter().zip(&mut found) {
                match content {
                    Ok(data) => contents.push((path.clone(), id, data)),
                    Err(error) => result.n_unreadable += u64::from(!vanished(&error)),
                }
            }
        }
        let (searcher, stop) = (Arc::clone(searcher), stop.clone());
        let search = move || search_contents(&searcher, contents, &stop, result);
        match Handle::try_current() {
            Ok(runtime) => runtime.spawn_blocking(search).await.unwrap_or_else(|_| BatchResult {
                // The runtime is shutting down and cancels the search.
                cut: Some(SearchLimit::Cancelled),
                ..BatchResult::default()
            }),
            Err(_) => search(),
        }
    }

    /// Reads several files.
    async fn read(&self, paths: &[VPath]) -> Vec<Result<Bytes, FsError>> {
        if let Some(read_many) = self.read_many {
            return read_many(paths);
        }
        let mut contents = Vec::with_capacity(paths.len());
        for path in paths {
            contents.push(self.fs.read(path).await.map(|content| content.data));
        }
        contents
    }
}

/// Searches contents, and adds what it finds to the result of their batch.
fn search_contents(
    searcher: &GrepSearcher,
    contents: Vec<(VPath, FileId, Bytes)>,
    stop: &SearchStop,
    mut result: BatchResult,
) -> BatchResult {
    for (path, id, data) in contents {
        if let Some(cut) = stop.why() {
            result.cut = Some(cut);
            break;
        }
        match searcher.search(&path, &id, &data) {
            SearchOutcome::Binary => result.binary.push(path),
            SearchOutcome::Text(matches) => {
                result.n_searched += 1;
                result.files.extend(matches);
            }
        }
    }
    result
}
