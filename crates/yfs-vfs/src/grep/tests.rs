//! A test is a query, a file's bytes, and the lines found: `3:text` is a match, `3-text` is
//! context.

use yfs_types::{id::FileId, path::VPath};

use super::*;

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
