//! The search of one file's bytes, for backends that have the bytes available.

use std::{borrow::Cow, io, ops::Range};

use grep_matcher::Matcher;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{
    BinaryDetection, Encoding, Searcher, SearcherBuilder, Sink, SinkContext, SinkMatch,
};
use parking_lot::Mutex;
use tokio::sync::mpsc;
use yfs_types::{id::FileId, path::VPath, utf16::Utf16Order};

use super::{
    FileMatches, GrepLine, GrepQuery, MAX_PATTERN_BYTES,
    large_file::{ChunkReader, LargeOutcome, MAX_LINE_BYTES},
};
use crate::{
    error::{FsCode, FsError, Op},
    glob::{BadPattern, GlobPattern},
};

/// A compiled [`GrepQuery`].
#[derive(Debug)]
pub(crate) struct GrepSearcher {
    matcher: RegexMatcher,
    root: VPath,
    include: Vec<GlobPattern>,
    exclude: Vec<GlobPattern>,
    hidden: bool,
    invert: bool,
    binary: bool,
    unmatched_files: bool,
    counts_only: bool,
    before: usize,
    after: usize,
    max_matches: usize,
    max_line_len: usize,
    /// Searchers that are not in use: each has a buffer of 64 KB, which takes longer to make than a
    /// small file takes to search.
    idle_searchers: Mutex<Vec<Searcher>>,
}

/// The result of searching one file.
#[derive(Debug)]
pub(crate) enum SearchOutcome {
    /// The file is not text: it holds a NUL, and is not UTF-16.
    Binary,
    /// The matches, if there are any.
    Text(Option<FileMatches>),
}

/// Returns the bytes in which a search finds the lines of a file: text in UTF-16 is UTF-8 there.
/// Returns `None` if the file is not text.
pub fn searched_text(content: &[u8]) -> Option<Cow<'_, [u8]>> {
    let has_nul = content.contains(&0);
    let may_be_utf16 = has_nul || matches!(content, [0xFF, 0xFE, ..] | [0xFE, 0xFF, ..]);
    match may_be_utf16.then(|| Utf16Order::detect(content)).flatten() {
        Some(order) => Some(Cow::Owned(order.decode(content).into_bytes())),
        None if has_nul => None,
        None => Some(Cow::Borrowed(content)),
    }
}

impl GrepSearcher {
    /// Compiles a query. `EINVAL` where a pattern is malformed or needs more than
    /// 10 MiB.
    pub(crate) fn new(query: &GrepQuery) -> Result<Self, FsError> {
        let bad = || FsError::new(FsCode::EINVAL, Op::Grep, &query.pattern);
        let mut builder = RegexMatcherBuilder::new();
        builder
            .case_insensitive(query.ignore_case)
            .word(query.whole_word)
            .whole_line(query.whole_line)
            .fixed_strings(query.literal)
            .multi_line(true)
            .line_terminator(Some(b'\n'))
            .size_limit(MAX_PATTERN_BYTES)
            .dfa_size_limit(MAX_PATTERN_BYTES);
        let matcher = builder.build(&query.pattern).map_err(|error| bad().caused_by(error))?;
        let globs = |texts: &[String]| {
            let globs = texts.iter().map(|text| {
                GlobPattern::new(text, true, false).map_err(|error: BadPattern| {
                    FsError::new(FsCode::EINVAL, Op::Grep, text).caused_by(error)
                })
            });
            globs.collect::<Result<Vec<_>, _>>()
        };
        Ok(Self {
            matcher,
            root: query.root.clone(),
            include: globs(&query.include)?,
            exclude: globs(&query.exclude)?,
            hidden: query.hidden,
            invert: query.invert,
            binary: query.binary,
            unmatched_files: query.unmatched_files,
            counts_only: query.counts_only,
            before: if query.counts_only { 0 } else { query.before },
            after: if query.counts_only { 0 } else { query.after },
            // One match above the total limit shows that there is more.
            max_matches: query.max_per_file.min(query.max_total.saturating_add(1)),
            max_line_len: query.max_line_len,
            idle_searchers: Mutex::default(),
        })
    }

    /// Reports whether the query includes a file, provided that the directories above it are
    /// entered.
    pub(crate) fn should_search(&self, path: &VPath) -> bool {
        let included = self.include.is_empty() || self.found_by(&self.include, path, false);
        included && self.shows(path) && !self.found_by(&self.exclude, path, false)
    }

    /// Reports whether the query may include files below a directory.
    pub(crate) fn enters(&self, path: &VPath) -> bool {
        self.shows(path) && !self.found_by(&self.exclude, path, true)
    }

    /// Reports whether a walk from the root of the query finds a file and searches it.
    pub(crate) fn reaches(&self, path: &VPath) -> bool {
        let above = std::iter::successors(path.parent(), VPath::parent);
        let mut directories = above.take_while(|directory| *directory != self.root);
        self.should_search(path) && directories.all(|directory| self.enters(&directory))
    }

    /// Reports whether files that are not text are searched too.
    pub(super) fn searches_binary(&self) -> bool {
        self.binary
    }

    /// Searches one file, whether or not the query includes it.
    pub(crate) fn search(&self, path: &VPath, id: &FileId, content: &[u8]) -> SearchOutcome {
        let text = match searched_text(content) {
            Some(text) => text,
            None if self.binary => Cow::Borrowed(content),
            None => return SearchOutcome::Binary,
        };
        let mut lines = LineCollector::new(self, WhenFull::Stop { max_held: usize::MAX });
        if self.max_matches > 0 {
            let mut searcher = self.take_searcher();
            let found = searcher.search_slice(&self.matcher, &text, &mut lines);
            self.idle_searchers.lock().push(searcher);
            debug_assert!(found.is_ok(), "neither a slice nor our sink fails: {found:?}");
        }
        SearchOutcome::Text(lines.into_matches(path, id))
    }

    /// Searches a file that a reader gives, in windows that end with a line.
    pub(super) fn search_reader(
        &self,
        path: &VPath,
        id: &FileId,
        data: &mut ChunkReader,
        when_full: WhenFull,
    ) -> LargeOutcome {
        let mut lines = LineCollector::new(self, when_full);
        if self.max_matches > 0 {
            // Not one of those that are kept: its buffer may grow to the length of a line.
            let mut builder = self.builder();
            builder.heap_limit(Some(MAX_LINE_BYTES));
            if let Some(order) = data.detect_utf16() {
                let label = match order {
                    Utf16Order::LittleEndian => "utf-16le",
                    Utf16Order::BigEndian => "utf-16be",
                };
                // With sniffing, the mark at the beginning is no part of the first line.
                builder.encoding(Encoding::new(label).ok()).bom_sniffing(true);
            }
            let mut searcher = builder.build();
            if searcher.search_reader(&self.matcher, &mut *data, &mut lines).is_err() {
                return LargeOutcome::Unreadable;
            }
        }
        if data.ends_with_nul() {
            return LargeOutcome::Binary;
        }
        if lines.is_too_long {
            return LargeOutcome::LongOutput;
        }
        LargeOutcome::Text(lines.into_matches(path, id))
    }

    fn take_searcher(&self) -> Searcher {
        let idle = self.idle_searchers.lock().pop();
        idle.unwrap_or_else(|| self.builder().build())
    }

    fn builder(&self) -> SearcherBuilder {
        let mut builder = SearcherBuilder::new();
        builder
            .before_context(self.before)
            .after_context(self.after)
            .invert_match(self.invert)
            .line_number(!self.counts_only)
            .binary_detection(BinaryDetection::none())
            .bom_sniffing(false);
        builder
    }

    fn shows(&self, path: &VPath) -> bool {
        let below = path.relative_to(&self.root).unwrap_or_default();
        self.hidden || !below.split('/').any(|name| name.starts_with('.'))
    }

    fn found_by(&self, globs: &[GlobPattern], path: &VPath, is_directory: bool) -> bool {
        globs.iter().any(|glob| glob.is_match(&self.root, path, is_directory))
    }

    fn line(&self, number: Option<u64>, bytes: &[u8], is_match: bool) -> GrepLine {
        let bytes = bytes.strip_suffix(b"\n").unwrap_or(bytes);
        let mut matches: Vec<Range<usize>> = Vec::new();
        if is_match && !self.invert {
            // A line that is returned in full has room for all its matches.
            let max =
                if self.max_line_len == usize::MAX { usize::MAX } else { MAX_MATCHES_PER_LINE };
            let found = self.matcher.find_iter(bytes, |found| {
                matches.push(found.start()..found.end());
                matches.len() < max
            });
            debug_assert!(found.is_ok(), "this matcher's error has no values");
        }
        let first = matches.first().map_or(0, |range| range.start);
        let (text, n_skipped) = window(bytes, first, self.max_line_len);
        let cut = text.len() < bytes.len();
        let shown = n_skipped..n_skipped + text.len();
        matches.retain(|range| shown.start <= range.start && range.start < shown.end.max(1));
        let decoded = DecodedText::new(text);
        for range in &mut matches {
            let in_text = |at: usize| decoded.place(at.min(shown.end) - shown.start);
            *range = in_text(range.start)..in_text(range.end);
        }
        matches.retain_mut(|range| keeps_characters_whole(&decoded.text, range));
        let number = number.unwrap_or_default();
        GrepLine { number, text: decoded.text, n_skipped, cut, matches, is_match }
    }
}

/// Extends a range to whole characters of a text. Reports whether the range should be kept: a match
/// of nothing inside a character, which a search of bytes finds, is not one in the text.
fn keeps_characters_whole(text: &str, range: &mut Range<usize>) -> bool {
    let was_empty = range.start == range.end;
    *range = text.floor_char_boundary(range.start)..text.ceil_char_boundary(range.end);
    (range.start == range.end) == was_empty
}

/// The most matches in one line that are reported separately.
const MAX_MATCHES_PER_LINE: usize = 1_000;

/// Returns at most `max_len` bytes of a line, either its beginning or the part with the first
/// match, and the offset of that part.
fn window(bytes: &[u8], first_match: usize, max_len: usize) -> (&[u8], usize) {
    if bytes.len() <= max_len {
        return (bytes, 0);
    }
    let mut start = 0;
    if first_match >= max_len {
        start = (first_match - max_len / 4).min(bytes.len() - max_len);
    }
    let mut end = start + max_len;
    // Neither end may be inside a character.
    let continues = |at: usize| bytes.get(at).is_some_and(|byte| byte & 0xC0 == 0x80);
    while start < end && continues(start) {
        start += 1;
    }
    while start < end && continues(end) {
        end -= 1;
    }
    (&bytes[start..end], start)
}

/// Bytes converted to text, with a map of their offsets.
struct DecodedText {
    text: String,
    /// For each run of bytes that is not UTF-8: its offset, its length, and the offset of its
    /// U+FFFD.
    replaced: Vec<(usize, usize, usize)>,
}

impl DecodedText {
    fn new(bytes: &[u8]) -> Self {
        let mut decoded = Self { text: String::with_capacity(bytes.len()), replaced: Vec::new() };
        let mut at = 0;
        for chunk in bytes.utf8_chunks() {
            decoded.text.push_str(chunk.valid());
            at += chunk.valid().len();
            if !chunk.invalid().is_empty() {
                decoded.replaced.push((at, chunk.invalid().len(), decoded.text.len()));
                decoded.text.push(char::REPLACEMENT_CHARACTER);
                at += chunk.invalid().len();
            }
        }
        decoded
    }

    /// Returns the offset in the text of the byte at `at`.
    fn place(&self, at: usize) -> usize {
        let after = self.replaced.partition_point(|(start, ..)| *start <= at);
        let Some(&(start, len, place)) = after.checked_sub(1).and_then(|ix| self.replaced.get(ix))
        else {
            return at;
        };
        let width = char::REPLACEMENT_CHARACTER.len_utf8();
        if at == start { place } else { place + width + (at - start).saturating_sub(len) }
    }
}

/// What a collector does with its lines when they are many.
#[derive(Debug)]
pub(super) enum WhenFull {
    /// It drops lines of more than `max_held` bytes, and ends the search.
    Stop { max_held: usize },
    /// It sends them to a receiver, in parts.
    Send(mpsc::Sender<Vec<GrepLine>>),
}

/// The size of the lines that are sent together, in bytes.
const PART_BYTES: usize = if cfg!(test) { 100 } else { 1 << 20 };

/// The size of a line in memory besides its text, in bytes.
const LINE_BYTES: usize = size_of::<GrepLine>() + size_of::<Range<usize>>();

/// A sink that collects matching lines and their context, up to the greatest number of matches.
/// Matching lines among the context after the last one are returned too.
struct LineCollector<'a> {
    searcher: &'a GrepSearcher,
    lines: Vec<GrepLine>,
    /// The number of all matching lines.
    n_matches: usize,
    /// The number of lines that may follow the last match; `None` before that is found.
    after_left: Option<usize>,
    /// Whether a later line matches as well.
    cut: bool,
    /// The size of the lines, in bytes.
    n_held: usize,
    when_full: WhenFull,
    /// Whether lines were dropped.
    is_too_long: bool,
}

impl<'a> LineCollector<'a> {
    fn new(searcher: &'a GrepSearcher, when_full: WhenFull) -> Self {
        let (lines, n_matches, after_left) = (Vec::new(), 0, None);
        let (cut, n_held, is_too_long) = (false, 0, false);
        Self { searcher, lines, n_matches, after_left, cut, n_held, when_full, is_too_long }
    }

    /// Adds a line, and reports whether the search goes on.
    fn add(&mut self, number: Option<u64>, bytes: &[u8], is_match: bool) -> bool {
        if self.searcher.counts_only {
            return true;
        }
        let line = self.searcher.line(number, bytes, is_match);
        self.n_held += LINE_BYTES + line.text.len();
        self.lines.push(line);
        match &self.when_full {
            WhenFull::Stop { max_held } if self.n_held > *max_held => {
                (self.lines, self.is_too_long) = (Vec::new(), true);
                false
            }
            WhenFull::Send(parts) if self.n_held > PART_BYTES => {
                self.n_held = 0;
                parts.blocking_send(std::mem::take(&mut self.lines)).is_ok()
            }
            _ => true,
        }
    }

    /// Returns the matches of a file; `None` if there is none and the file is not to be returned.
    fn into_matches(self, path: &VPath, id: &FileId) -> Option<FileMatches> {
        let Self { searcher, lines, n_matches, cut, .. } = self;
        let is_returned = n_matches > 0 || searcher.unmatched_files;
        let (path, id) = (path.clone(), id.clone());
        is_returned.then_some(FileMatches { path, id, lines, n_matches, cut })
    }
}

impl Sink for LineCollector<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> Result<bool, io::Error> {
        match &mut self.after_left {
            Some(0) => {
                self.cut = true;
                return Ok(false);
            }
            Some(n_left) => *n_left -= 1,
            None => (),
        }
        self.n_matches += 1;
        if self.n_matches >= self.searcher.max_matches && self.after_left.is_none() {
            self.after_left = Some(self.searcher.after);
        }
        Ok(self.add(found.line_number(), found.bytes(), true))
    }

    fn context(&mut self, _: &Searcher, context: &SinkContext<'_>) -> Result<bool, io::Error> {
        match &mut self.after_left {
            Some(0) => return Ok(true),
            Some(n_left) => *n_left -= 1,
            None => (),
        }
        Ok(self.add(context.line_number(), context.bytes(), false))
    }
}
