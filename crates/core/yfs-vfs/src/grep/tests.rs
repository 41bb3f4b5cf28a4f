//! A test is a query, a file's bytes, and the lines found: `3:text` is a match, `3-text` is
//! context.

use std::ops::ControlFlow;

use bytes::Bytes;
use proptest::prelude::*;
use tokio::sync::mpsc;
use yfs_types::{id::FileId, path::VPath};

use super::{
    large_file::{ChunkReader, LargeOutcome},
    searcher::WhenFull,
    *,
};
use crate::{MemoryFs, WriteOptions};

#[track_caller]
fn check(query: &GrepQuery, content: &[u8], expected: &str) {
    let searcher = GrepSearcher::new(query).unwrap();
    let path = VPath::parse("/x").unwrap();
    let shown = match searcher.search(&path, &FileId::parse("x").unwrap(), content) {
        SearchOutcome::Binary => "binary".to_owned(),
        SearchOutcome::Text(None) => "nothing".to_owned(),
        SearchOutcome::Text(Some(found)) => show(&found),
    };
    assert_eq!(shown, expected);
}

fn show(found: &FileMatches) -> String {
    let mut shown: Vec<String> = found.lines.iter().map(show_line).collect();
    if found.cut {
        shown.push("cut".to_owned());
    }
    shown.join(" ")
}

fn show_line(line: &GrepLine) -> String {
    let mark = if line.is_match { ':' } else { '-' };
    let cut = if line.cut { "~" } else { "" };
    let mut text = line.text.clone();
    for range in line.matches.iter().rev() {
        text.replace_range(range.clone(), &format!("<{}>", &line.text[range.clone()]));
    }
    format!("{}{mark}{text}{cut}", line.number)
}

#[test]
fn regular_expressions_and_literal_text() {
    check(&GrepQuery::new("b.t"), b"bat\nbt\nabut\n", "1:<bat> 3:a<but>");
    check(&GrepQuery::literal("b.t"), b"bat\nb.t", "2:<b.t>");
    check(&GrepQuery::new("^a$"), b"a\nba\na", "1:<a> 3:<a>");
    check(&GrepQuery::new("x"), b"a\n", "nothing");
    check(&GrepQuery::new("a"), b"a\0", "binary");
    check(&GrepQuery { ignore_case: true, ..GrepQuery::new("ä") }, "Ä\nx".as_bytes(), "1:<Ä>");
    check(&GrepQuery { whole_word: true, ..GrepQuery::new("a") }, b"ab\na b\n", "2:<a> b");
    check(&GrepQuery::new("a"), b"aXa\n", "1:<a>X<a>");
}

#[test]
fn context_comes_once() {
    let query = GrepQuery { before: 1, after: 1, ..GrepQuery::new("x") };
    check(&query, b"1\nx\n3\nx\n5\n6\n", "1-1 2:<x> 3-3 4:<x> 5-5");
}

#[test]
fn limits_say_that_they_cut() {
    let query = GrepQuery { max_per_file: 2, ..GrepQuery::new("x") };
    check(&query, b"x\nx\nx\n", "1:<x> 2:<x> cut");
    check(&query, b"x\nx\ny\n", "1:<x> 2:<x>");
    check(&query, b"x\nx\n", "1:<x> 2:<x>");
    let query = GrepQuery { max_per_file: 1, after: 1, ..GrepQuery::new("x") };
    check(&query, b"x\nb\nx\n", "1:<x> 2-b cut");
}

#[test]
fn long_lines_show_where_the_match_is() {
    let query = GrepQuery { max_line_len: 8, ..GrepQuery::new("X+") };
    check(&query, b"aaaaaaaaaaaaXbbbbbbbbbbbb", "1:aa<X>bbbbb~");
    check(&query, b"aXaaaaaaaaaaaa", "1:a<X>aaaaaa~");
    check(&query, "äääXääää".as_bytes(), "1:äää<X>~");
    check(&query, b"aaaaXXXXXXXX", "1:aaaa<XXXX>~");
}

#[test]
fn bytes_that_are_no_text_do_not_shift_matches() {
    check(&GrepQuery::new("b+"), b"\xFFa\xFE\xFDbb\n", "1:\u{FFFD}a\u{FFFD}\u{FFFD}<bb>");
}

#[test]
fn monstrous_patterns_are_refused() {
    for pattern in ["(", "a\\nb", "(?:(?:a{1000}){1000}){100}", "\\p{L}{100000}"] {
        let error = GrepSearcher::new(&GrepQuery::new(pattern)).unwrap_err();
        assert_eq!(error.code.as_str(), "EINVAL", "{pattern}");
    }
}

#[test]
fn ranges_never_split_a_character() {
    check(&GrepQuery::new(""), "é日\n".as_bytes(), "1:<>é<>日");
    check(&GrepQuery::new("x*"), "é".as_bytes(), "1:<>é");
    check(&GrepQuery::new(r"(?-u:\xC3)"), "é".as_bytes(), "1:<é>");
}

#[test]
fn lines_that_do_not_match_can_be_searched() {
    let query = GrepQuery { invert: true, ..GrepQuery::new("a") };
    check(&query, b"a\nb\nc\nba\n", "2:b 3:c");
    check(&GrepQuery { max_per_file: 1, ..query.clone() }, b"b\na\nc\n", "1:b cut");
    check(&GrepQuery { max_per_file: 1, ..query.clone() }, b"b\na\n", "1:b");
    check(&GrepQuery { after: 1, ..query }, b"b\na\na\n", "1:b 2-a");
}

#[test]
fn whole_lines_and_bytes_that_are_not_text() {
    check(&GrepQuery { whole_line: true, ..GrepQuery::new("a|b") }, b"a\nab\nb", "1:<a> 3:<b>");
    check(&GrepQuery { binary: true, ..GrepQuery::new("a") }, b"\0a\n", "1:\0<a>");
}

#[test]
fn files_without_matches_are_returned_if_asked_for() {
    let query = GrepQuery { unmatched_files: true, ..GrepQuery::new("x") };
    check(&query, b"a\n", "");
    check(&query, b"x\n", "1:<x>");
    check(&query, b"\0", "binary");
}

/// Returns a text in UTF-16, the lower byte of each unit first or last, with a mark or without.
fn utf16(text: &str, is_little: bool, has_mark: bool) -> Vec<u8> {
    let units = has_mark.then_some(0xFEFF).into_iter().chain(text.encode_utf16());
    let bytes = |unit: u16| if is_little { unit.to_le_bytes() } else { unit.to_be_bytes() };
    units.flat_map(bytes).collect()
}

/// Files in UTF-16 were skipped in silence, as if they were not text.
#[test]
fn text_in_utf16_is_searched() {
    let query = GrepQuery::new("[äb]");
    for (is_little, has_mark) in [(true, true), (true, false), (false, true), (false, false)] {
        let content = utf16("a long line\nä and b\n\u{1F600}b\n", is_little, has_mark);
        check(&query, &content, "2:<ä> and <b> 3:\u{1F600}<b>");
        let anchored = GrepQuery::new("^a");
        check(&anchored, &content, "1:<a> long line");
    }
    // With a mark, one line without a zero byte is text, too.
    check(&GrepQuery::new("日"), &utf16("日本", true, true), "1:<日>本");
    check(&GrepQuery::new("a"), b"\xFF\xFEa\0b", "1:<a>\u{FFFD}");
    for binary in [&b"\xFF\xFE\0\0a\0\0\0"[..], b"a\0b\0\0\0c\0", b"\xFF\xFE\x01\0\x02\0a\0"] {
        check(&GrepQuery::new("a"), binary, "binary");
    }
}

/// A large file in UTF-16 has the lines of a small one, wherever its chunks end.
#[test]
fn large_files_in_utf16_are_searched() {
    let text = "äb and more\nb\nnone\n\u{1F600}ab\n".repeat(5);
    let searcher = GrepSearcher::new(&GrepQuery { before: 1, ..GrepQuery::new("b|^$") }).unwrap();
    let (path, id) = (VPath::root(), FileId::parse("x").unwrap());
    let SearchOutcome::Text(whole) = searcher.search(&path, &id, text.as_bytes()) else {
        panic!("text");
    };
    for (is_little, has_mark) in [(true, true), (true, false), (false, true), (false, false)] {
        let content = utf16(&text, is_little, has_mark);
        for chunk_len in 1..40 {
            let LargeOutcome::Text(found) = in_chunks(&searcher, &content, chunk_len) else {
                panic!("text");
            };
            assert_eq!(found, whole);
        }
    }
}

/// A pattern, and options that matter where a file is divided.
fn any_query() -> impl Strategy<Value = GrepQuery> {
    let patterns = vec![
        "a",
        "b+",
        "^a",
        "a$",
        "^$",
        "",
        "x*",
        "[^a]",
        r"\bb",
        r"\Aa",
        r"a\z",
        r"(?-m:^)b",
        "é",
        "a|é",
    ];
    let switches = any::<[bool; 6]>();
    let limits = prop::sample::select(vec![usize::MAX, 0, 1, 2, 3]);
    let numbers = (0..4_usize, 0..4_usize, limits);
    (prop::sample::select(patterns), switches, numbers).prop_map(|(pattern, switches, numbers)| {
        let [invert, ignore_case, whole_word, whole_line, binary, unmatched_files] = switches;
        let (before, after, max_per_file) = numbers;
        GrepQuery {
            invert,
            ignore_case,
            whole_word,
            whole_line,
            binary,
            unmatched_files,
            before,
            after,
            max_per_file,
            ..GrepQuery::new(pattern)
        }
    })
}

/// Lines, most of them short, and rarely a NUL.
fn any_content() -> impl Strategy<Value = Vec<u8>> {
    let bytes: Vec<&[u8]> =
        vec![b"a", b"b", b" ", b"A", "é".as_bytes(), b"\n", b"\n", b"ab\n", b"\xFF", b"\nb b\n"];
    let nul = prop::option::weighted(0.1, 0..200_usize);
    (prop::collection::vec(prop::sample::select(bytes), 0..200), nul).prop_map(|(pieces, nul)| {
        let mut content = pieces.concat();
        if let Some(at) = nul.filter(|at| *at < content.len()) {
            content[at] = 0;
        }
        content
    })
}

/// The lines that a search of some content returns, found one by one.
fn modelled(query: &GrepQuery, content: &[u8]) -> Option<(Vec<(u64, bool)>, bool)> {
    if content.contains(&0) && !query.binary {
        return None;
    }
    let one = GrepQuery {
        before: 0,
        after: 0,
        binary: true,
        max_per_file: usize::MAX,
        unmatched_files: false,
        ..query.clone()
    };
    let searcher = GrepSearcher::new(&one).unwrap();
    let (path, id) = (VPath::root(), FileId::parse("x").unwrap());
    let is_match =
        |line: &[u8]| matches!(searcher.search(&path, &id, line), SearchOutcome::Text(Some(_)));
    let lines = content.split_inclusive(|byte| *byte == b'\n');
    let lines: Vec<bool> = lines.map(is_match).collect();
    let (mut shown, mut n_matches, mut cut) = (vec![None; lines.len()], 0, false);
    let mut end = usize::MAX;
    for at in (0..lines.len()).filter(|at| lines[*at] && query.max_per_file > 0) {
        if at > end {
            cut = true;
            break;
        }
        n_matches += 1;
        if n_matches == query.max_per_file {
            end = at + query.after;
        }
        let first = at.saturating_sub(query.before);
        let last = (at + query.after).min(end).min(lines.len() - 1);
        for (line, is_match) in shown[first..=last].iter_mut().zip(&lines[first..=last]) {
            *line = Some(*is_match);
        }
    }
    let shown = (1..).zip(shown).filter_map(|(number, line)| Some((number, line?)));
    Some((shown.collect(), cut))
}

fn in_chunks(searcher: &GrepSearcher, content: &[u8], chunk_len: usize) -> LargeOutcome {
    let chunks: Vec<_> = content.chunks(chunk_len).map(Bytes::copy_from_slice).collect();
    let (sender, receiver) = mpsc::channel(chunks.len() + 1);
    for chunk in chunks {
        sender.try_send(chunk).unwrap();
    }
    drop(sender);
    let mut reader = ChunkReader::new(receiver, !searcher.searches_binary());
    let when_full = WhenFull::Stop { max_held: usize::MAX };
    let (path, id) = (VPath::root(), FileId::parse("x").unwrap());
    searcher.search_reader(&path, &id, &mut reader, when_full)
}

/// A sink that keeps the parts of each file.
#[derive(Default)]
struct Parts {
    files: Vec<FileMatches>,
    n_parts: usize,
    is_open: bool,
}

impl GrepSink for Parts {
    fn add(&mut self, part: FileMatches, is_last: bool) -> ControlFlow<()> {
        self.n_parts += 1;
        match self.files.last_mut().filter(|_| self.is_open) {
            Some(file) => {
                assert_eq!(file.path, part.path);
                file.lines.extend(part.lines);
                file.n_matches += part.n_matches;
                file.cut |= part.cut;
            }
            None => self.files.push(part),
        }
        self.is_open = !is_last;
        ControlFlow::Continue(())
    }
}

proptest! {
    /// A file that is searched in windows has the lines of one that is searched whole, whatever the
    /// length of the windows is, and both have those that are found line by line.
    #[test]
    fn windows_have_the_lines_of_the_whole_file(
        query in any_query(),
        content in any_content(),
        chunk_len in 1..40_usize,
    ) {
        let searcher = GrepSearcher::new(&query).unwrap();
        let (path, id) = (VPath::root(), FileId::parse("x").unwrap());
        let whole = match searcher.search(&path, &id, &content) {
            SearchOutcome::Binary => None,
            SearchOutcome::Text(found) => Some(found),
        };
        let windows = match in_chunks(&searcher, &content, chunk_len) {
            LargeOutcome::Binary => None,
            LargeOutcome::Text(found) => Some(found),
            other => panic!("{other:?}"),
        };
        prop_assert_eq!(&windows, &whole);
        let counter = GrepSearcher::new(&GrepQuery { counts_only: true, ..query.clone() }).unwrap();
        if let LargeOutcome::Text(Some(counted)) = in_chunks(&counter, &content, chunk_len) {
            let n_matches = whole.as_ref().unwrap().as_ref().unwrap().n_matches;
            prop_assert_eq!(counted.lines.len(), 0);
            // The context after the last match, with its matches, is no part of a count.
            let has_context = query.after > 0 && query.max_per_file < usize::MAX;
            prop_assert!(counted.n_matches == n_matches || has_context);
        }
        let found = whole.map(|found| {
            let lines = found.iter().flat_map(|file| &file.lines);
            let lines = lines.map(|line| (line.number, line.is_match)).collect();
            (lines, found.is_some_and(|file| file.cut))
        });
        prop_assert_eq!(found, modelled(&query, &content));
    }

    /// Lines that are passed on, some of them in parts, are those that are returned, and those of a
    /// search of each file by itself.
    #[test]
    fn lines_in_parts_are_those_of_the_whole_search(
        query in any_query(),
        contents in prop::collection::vec(any_content(), 0..5),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let (fs, mut expected) = (MemoryFs::new(), Vec::new());
            let searcher = GrepSearcher::new(&query).unwrap();
            for (number, content) in contents.into_iter().enumerate() {
                let path = VPath::parse(&format!("/{number}")).unwrap();
                let options = WriteOptions::default();
                let id = fs.write(&path, content.clone().into(), &options).await.unwrap().id;
                if let SearchOutcome::Text(Some(file)) = searcher.search(&path, &id, &content)
                    && (file.n_matches > 0 || !file.cut)
                {
                    expected.push(file);
                }
            }
            let query = GrepQuery { max_file_len: u64::MAX - 1, ..query };
            let found = fs.grep(&query).await.unwrap();
            assert_eq!(found.files, expected);
            let mut parts = Parts::default();
            let each = grep_each(&fs, &query, &mut parts);
            let each = each.await.unwrap();
            assert_eq!(parts.files, expected);
            assert!(!parts.is_open);
            assert_eq!(GrepResult { files: parts.files, ..each }, found);
        });
    }
}

/// A file with many lines to return comes in several parts, and what is not text comes not at all,
/// also if that shows late.
#[test]
fn a_file_with_many_lines_comes_in_parts() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let fs = MemoryFs::new();
        let text = "a line of some bytes\n".repeat(100);
        for (name, content) in [("/text", text.clone()), ("/binary", text + "\0")] {
            let path = VPath::parse(name).unwrap();
            fs.write(&path, content.into(), &WriteOptions::default()).await.unwrap();
        }
        let query = GrepQuery { max_file_len: u64::MAX - 1, ..GrepQuery::new("line") };
        let mut parts = Parts::default();
        let each = grep_each(&fs, &query, &mut parts).await.unwrap();
        assert!(parts.n_parts > 5, "{}", parts.n_parts);
        let lines: Vec<u64> = parts.files[0].lines.iter().map(|line| line.number).collect();
        assert_eq!(lines, (1..=100).collect::<Vec<u64>>());
        assert_eq!(
            (parts.files.len(), each.n_matches, each.n_searched, each.n_binary),
            (1, 100, 1, 1)
        );
    });
}
