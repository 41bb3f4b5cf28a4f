//! Cases of rebasing an edit by texts alone: the text that the writer read, the current text, the
//! writer's result, and the outcome.

use expect_test::{Expect, expect};

use super::{RunAlignment, TextLength, TextSide, rebase};
use crate::content::diff::diff;

/// Parses the current text with the base in it: `[-gone-]` and `{+new+}` are changes by others.
fn parse(marked: &str) -> (String, String, RunAlignment) {
    let (mut base, mut current, mut runs) = (String::new(), String::new(), RunAlignment::default());
    let mut rest = marked;
    while !rest.is_empty() {
        let (side, text, end) = if let Some(inner) = rest.strip_prefix("[-") {
            let (text, end) = inner.split_once("-]").unwrap();
            (TextSide::Old, text, end)
        } else if let Some(inner) = rest.strip_prefix("{+") {
            let (text, end) = inner.split_once("+}").unwrap();
            (TextSide::New, text, end)
        } else {
            let end =
                rest.find("[-").unwrap_or(rest.len()).min(rest.find("{+").unwrap_or(rest.len()));
            (TextSide::Both, &rest[..end], &rest[end..])
        };
        if side != TextSide::New {
            base.push_str(text);
        }
        if side != TextSide::Old {
            current.push_str(text);
        }
        runs.push(side, TextLength::of(text));
        rest = end;
    }
    (base, current, runs)
}

fn check(marked: &str, new: &str, expected: Expect) {
    let (base, current, runs) = parse(marked);
    assert!(runs.fit(&base, &current));
    let (ops, overlaps) = rebase(&runs, &diff(&base, new), &base, &current, new);
    let (mut text, mut end) = (String::new(), 0);
    for op in ops {
        assert!(op.at.bytes >= end);
        text.push_str(&current[end..op.at.bytes]);
        text.push_str(&new[op.insert]);
        end = op.at.bytes + op.delete.bytes;
    }
    text.push_str(&current[end..]);
    let mut lines = vec![format!("{text:?}")];
    for overlap in overlaps {
        assert!(text.is_char_boundary(overlap.at), "{overlap:?}");
        lines.push(format!(
            "at {} {:?} -> {:?}, theirs {:?}{}",
            overlap.at,
            overlap.deleted,
            overlap.inserted,
            overlap.theirs,
            if overlap.deleted_by_both { ", deleted by both" } else { "" },
        ));
    }
    expected.assert_eq(&lines.join("\n"));
}

#[test]
fn work_in_other_places_is_kept() {
    check("one {+1+}two three[- four-]", "one two 3 four", expect![[r#""one 1two 3""#]]);
    check("a\nb\n{+x\n+}c\n", "A\nb\nc\nd\n", expect![[r#""A\nb\nx\nc\nd\n""#]]);
    check("{+😀+}é[-😀-]日", "é😀日!", expect![[r#""😀é日!""#]]);
}

#[test]
fn what_begins_a_line_goes_before_and_what_ends_one_behind() {
    // Another client types at the beginning of the line before which a line is inserted.
    check("a\n{+x+}b\n", "a\nnew\nb\n", expect![[r#""a\nnew\nxb\n""#]]);
    // Another client types at the end of the last line, behind which a line is added.
    check("a\nb{+x+}", "a\nb\nnew", expect![[r#""a\nbx\nnew""#]]);
    // Another client continues a word behind which another comes.
    check("a foo{+bar+}", "a foo baz", expect![[r#""a foobar baz""#]]);
    // Both append a line.
    check("a\n{+theirs\n+}", "a\nmine\n", expect![[r#""a\nmine\ntheirs\n""#]]);
    // Indented lines are lines, too.
    check("a\n{+x+}b\n", "a\n  new\nb\n", expect![[r#""a\n  new\nxb\n""#]]);
}

#[test]
fn a_change_that_both_made_is_made_once() {
    check("let [-x-]{+y+} = 1;\n", "let y = 1;\n", expect![[r#""let y = 1;\n""#]]);
    check("a\n{+use b;\n+}c\n", "a\nuse b;\nc\n", expect![[r#""a\nuse b;\nc\n""#]]);
    check("a [-b-] c", "a  c", expect![[r#""a  c""#]]);
    // But the same line added at the end is one more line.
    check("a\n{+x\n+}", "a\nx\n", expect![[r#""a\nx\nx\n""#]]);
}

#[test]
fn overlaps_are_reported_and_lose_nothing() {
    // Typed inside a word that is replaced.
    check(
        "a wo{+X+}rd b",
        "a term b",
        expect![[r#"
        "a termX b"
        at 2 "word" -> "term", theirs "X""#]],
    );
    // Both replaced the same word.
    check(
        "a [-word-]{+theirs+} b",
        "a mine b",
        expect![[r#"
        "a minetheirs b"
        at 2 "word" -> "mine", theirs "theirs", deleted by both"#]],
    );
    check(
        "a {+theirs+}[-word-] b",
        "a mine b",
        expect![[r#"
        "a theirsmine b"
        at 8 "word" -> "mine", theirs "theirs", deleted by both"#]],
    );
    // Typed inside a line that is deleted.
    check(
        "a\nli{+X+}ne\nb\n",
        "a\nb\n",
        expect![[r#"
        "a\nXb\n"
        at 2 "line\n" -> "", theirs "X""#]],
    );
    // Changed text that others had deleted.
    check(
        "a\n[-some line\n-]b\n",
        "a\nsome other line\nb\n",
        expect![[r#"
        "a\nother b\n"
        at 2 "" -> "other ", theirs "", deleted by both"#]],
    );
    // Deleted by both is no overlap, nor is typing beside deleted text.
    check("a{+X+} b {+Y+}c", "a c", expect![[r#""aX Yc""#]]);
}
