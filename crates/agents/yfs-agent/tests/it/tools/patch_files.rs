//! The contract of `apply_patch`: the files before, a patch, the files after.

use expect_test::{Expect, expect};
use serde_json::json;
use yfs_agent::ToolVocabulary;
use yfs_vfs::{FileKind, FileSystemExt, WalkOptions};

use crate::support::fixture::ToolFixture;

/// Writes the files (`path=content`, `|` is a newline), applies a patch, and lists the reply and
/// the files.
async fn check(files: &[&str], patch: &str, expected: Expect) {
    check_kept(files, patch, false, expected).await;
}

async fn check_kept(files: &[&str], patch: &str, keep_earlier: bool, expected: Expect) {
    let fixture = ToolFixture::new(&[ToolVocabulary::Beyond]);
    let fs = fixture.session.fs();
    for file in files {
        let (path, content) = file.split_once('=').expect("a path and a content");
        let path = path.parse().expect("a path");
        fs.write_text(&path, &content.replace('|', "\n")).await.expect("written");
    }
    let arguments = json!({"patch": patch, "keep_earlier": keep_earlier});
    let reply = fixture.call("apply_patch", arguments).await;
    let mut printed = reply.joined_text() + "\n";
    let entries = fs.walk(&"/".parse().expect("a path"), &WalkOptions::default()).await;
    for item in entries.expect("a tree") {
        if item.entry.kind == FileKind::File {
            let text = fs.read_to_string(&item.path).await.expect("text");
            let shown = text.replace('\r', "␍").replace('\n', "|");
            printed.push_str(&format!("{}={shown}\n", item.path));
        }
    }
    expected.assert_eq(&printed);
}

fn patch(body: &str) -> String {
    format!("*** Begin Patch\n{body}\n*** End Patch")
}

#[tokio::test]
async fn files_are_added_changed_moved_and_deleted() {
    let body = "*** Add File: new/a.txt\n+one\n+two\n*** Update File: b.txt\n@@\n one\n-two\n+2\n\
        *** Delete File: c.txt\n*** Update File: d.txt\n*** Move to: sub/e.txt\n@@\n-x\n+y";
    check(
        &["/b.txt=one|two|three|", "/c.txt=c", "/d.txt=x|"],
        &patch(body),
        expect![[r#"
        Success. Updated the following files:
        A /new/a.txt
        M /b.txt
        M /sub/e.txt
        D /c.txt
        /b.txt=one|2|three|
        /new/a.txt=one|two|
        /sub/e.txt=y|
    "#]],
    )
    .await;
}

#[tokio::test]
async fn hunks_are_found_in_order_by_header_and_loosely() {
    let body = "*** Update File: a.py\n@@ def g():\n-    return 1\n+    return 2\n@@\n-end\n+END\n\
        *** End of File";
    let file = "/a.py=def f():|    return 1|def g():|    return 1|end|x|end|";
    check(
        &[file],
        &patch(body),
        expect![[r#"
        Success. Updated the following files:
        M /a.py
        /a.py=def f():|    return 1|def g():|    return 2|end|x|END|
    "#]],
    )
    .await;
    let body = "*** Update File: a\n@@\n \u{201C}a\u{201D} \u{2013} b   \n-c\n+d";
    check(
        &["/a=  \"a\" - b|c"],
        &patch(body),
        expect![[r#"
        Success. Updated the following files:
        M /a
        /a=  "a" - b|d
    "#]],
    )
    .await;
    check(
        &["/a=a|b|"],
        &patch("*** Update File: a\n@@\n+c"),
        expect![[r#"
        Success. Updated the following files:
        M /a
        /a=a|b|c|
    "#]],
    )
    .await;
    check(
        &["/a=a|b|c|"],
        &patch("*** Update File: a\n@@\n a\n-b\n c"),
        expect![[r#"
        Success. Updated the following files:
        M /a
        /a=a|c|
    "#]],
    )
    .await;
    let padded = "  *** Begin Patch  \n  *** Update File: a  \n@@\n-a\n+é\n  *** End Patch  ";
    check(
        &["/a=a\r|b\r|"],
        padded,
        expect![[r#"
        Success. Updated the following files:
        M /a
        /a=é␍|b␍|
    "#]],
    )
    .await;
}

#[tokio::test]
async fn adds_and_moves_replace_what_is_there() {
    let body = "*** Add File: a\n+new\n*** Update File: b\n*** Move to: c\n@@\n-b\n+B";
    check(
        &["/a=old|", "/b=b|", "/c=c|"],
        &patch(body),
        expect![[r#"
        Success. Updated the following files:
        A /a
        M /c
        /a=new|
        /c=B|
    "#]],
    )
    .await;
    let body = "*** Update File: a\n*** Move to: b\n*** Update File: b\n*** Move to: c\n\
        *** Add File: x\n+x\n*** Update File: x\n*** Move to: y\n@@\n-x\n+z";
    check(
        &["/a=a|"],
        &patch(body),
        expect![[r#"
        Success. Updated the following files:
        A /x
        M /b
        M /c
        M /y
        /c=a|
        /y=z|
    "#]],
    )
    .await;
}

#[tokio::test]
async fn a_bad_patch_changes_nothing() {
    let files = ["/a=a|", "/dir/b=b|"];
    let first = "*** Add File: n\n+n\n";
    for body in [
        "*** Update File: a\n@@\n-none\n+x",
        "*** Delete File: none",
        "*** Update File: none\n@@\n-a\n+b",
        "*** Delete File: dir",
        "*** Update File: a",
        "*** Frobnicate File: a",
        "*** Update File: a\n@@\n*** Delete File: a",
        "*** Update File: a\n@@\nbad",
        "*** Add File: ../x\n+x",
    ] {
        let body = patch(&format!("{first}{body}"));
        let reply = std::sync::Arc::new(ToolFixture::new(&[ToolVocabulary::Beyond]));
        let fs = reply.session.fs();
        for file in files {
            let (path, content) = file.split_once('=').expect("a path and a content");
            let path = path.parse().expect("a path");
            fs.write_text(&path, &content.replace('|', "\n")).await.expect("written");
        }
        let before = fs.totals(&"/".parse().expect("a path")).await.expect("totals");
        let called = reply.call("apply_patch", json!({"patch": body})).await;
        assert!(called.is_error, "{body}");
        let after = fs.totals(&"/".parse().expect("a path")).await.expect("totals");
        assert_eq!(before, after, "{body}");
    }
    check(
        &files,
        "*** Begin Patch\n*** End Patch",
        expect![[r#"
        Error: the patch changes no file
        /a=a|
        /dir/b=b|
    "#]],
    )
    .await;
    let body = patch(&format!("{first}*** Delete File: none"));
    check_kept(
        &files,
        &body,
        true,
        expect![[r#"
        Error: ENOENT: no such file or directory, rm '/none'

        Done before:
        A /n
        /a=a|
        /dir/b=b|
        /n=n|
    "#]],
    )
    .await;
}

/// What a patch does not remove keeps its bytes: tabs, quotes, spaces, line ends, marks.
#[tokio::test]
async fn a_patch_touches_only_the_lines_that_it_names() {
    let cases = [
        ("all:|\tcc a.c|old|", "@@\n     cc a.c\n-old\n+new", "all:|\tcc a.c|new|"),
        ("it’s – ok|old|", "@@\n it's - ok\n-old\n+new", "it’s – ok|new|"),
        ("line one  |old|", "@@\n line one\n-old\n+new", "line one  |new|"),
        ("a\r|old|c\r|", "@@\n a\n-old\n+new\n c", "a\r|new|c\r|"),
        ("a|b", "@@\n-a\n+A\n b", "A|b"),
        ("{\"a\": 1}", "@@\n-{\"a\": 1}\n+{\"a\": 2}", "{\"a\": 2}"),
        ("a|b", "@@\n b\n+c", "a|b|c"),
        ("a\r|b", "@@\n b\n+c", "a\r|b\r|c"),
        (
            "\u{FEFF}const v = 1;|let w|",
            "@@\n-const v = 1;\n+const v = 2;",
            "\u{FEFF}const v = 2;|let w|",
        ),
        (
            "class A:|  def f|class B:|",
            "@@ class A:\n+  x = 1",
            "class A:|  x = 1|  def f|class B:|",
        ),
        ("import a||def f|", "@@ import a\n+import b", "import a|import b||def f|"),
        ("import a||def f|", "@@ import a\n+end\n*** End of File", "import a||def f|end|"),
    ];
    for (before, hunk, after) in cases {
        let fixture = ToolFixture::new(&[ToolVocabulary::Beyond]);
        let path = "/f".parse().expect("a path");
        let fs = fixture.session.fs();
        fs.write_text(&path, &before.replace('|', "\n")).await.expect("written");
        let patch = patch(&format!("*** Update File: f\n{hunk}"));
        let reply = fixture.call("apply_patch", json!({ "patch": patch })).await;
        assert!(!reply.is_error, "{before:?}: {}", reply.joined_text());
        let text = fs.read_to_string(&path).await.expect("text");
        assert_eq!(text.replace('\n', "|"), after, "{before:?}");
    }
}

/// Every edit tool finds text whatever its line ends, and keeps those of the file.
#[tokio::test]
async fn every_edit_tool_keeps_the_line_ends_of_the_file() {
    let cases = [
        ("one\r\ntwo\r\n", "one\ntwo", "1\n2", "1\r\n2\r\n"),
        ("one\r\ntwo\r\n", "two", "two\nthree", "one\r\ntwo\r\nthree\r\n"),
        ("one\ntwo\n", "one\r\ntwo", "1\r\n2", "1\n2\n"),
        ("one\ntwo\n", "two", "two\r\nthree", "one\ntwo\nthree\n"),
        ("a\r\nb\nc\r\n", "a\nb\nc", "x", "x\r\n"),
        ("a\r\nb\nc\r\n", "c", "c\nd", "a\r\nb\nc\r\nd\r\n"),
        ("\u{FEFF}one\ntwo", "one\r\n", "1\r\n", "\u{FEFF}1\ntwo"),
        ("one\ntwo", "\u{FEFF}one", "\u{FEFF}1", "1\ntwo"),
    ];
    let tools = [
        ("edit_file", ToolVocabulary::DeepAgents(yfs_agent::DeepAgentsProfile::Replacing)),
        ("fs_edit", ToolVocabulary::FileTools),
        ("fs_patch", ToolVocabulary::FileTools),
        ("str_replace_based_edit_tool", ToolVocabulary::TextEditor),
        ("edit_file", ToolVocabulary::Reference),
    ];
    for (before, old, new, after) in cases {
        for (tool, vocabulary) in tools {
            let fixture = ToolFixture::new(&[vocabulary]);
            let path = "/f".parse().expect("a path");
            let fs = fixture.session.fs();
            fs.write_text(&path, before).await.expect("written");
            let arguments = match (tool, vocabulary) {
                ("edit_file", ToolVocabulary::Reference) => {
                    json!({ "path": "/f", "edits": [{ "oldText": old, "newText": new }] })
                }
                ("edit_file", _) => {
                    json!({ "file_path": "/f", "old_string": old, "new_string": new })
                }
                ("fs_edit", _) => json!({ "path": "/f", "old_text": old, "new_text": new }),
                ("fs_patch", _) => {
                    json!({ "path": "/f", "hunks": [{ "old_text": old, "new_text": new }] })
                }
                _ => json!({
                    "command": "str_replace", "path": "/f", "old_str": old, "new_str": new,
                }),
            };
            let reply = fixture.call(tool, arguments).await;
            assert!(!reply.is_error, "{tool} {vocabulary:?} {old:?}: {}", reply.joined_text());
            let text = fs.read_to_string(&path).await.expect("text");
            assert_eq!(text, after, "{tool} {vocabulary:?} {before:?} {old:?}");
        }
    }
}
