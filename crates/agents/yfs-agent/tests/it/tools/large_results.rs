//! Results and messages that are too large for a model's context go to files.

use std::sync::Arc;

use serde_json::json;
use yfs_agent::{
    CallContext, DeepAgentsProfile, ToolCall, ToolVocabulary,
    large_results::{MAX_MESSAGE_CHARS, MAX_RESULT_CHARS, keep_large_message, keep_large_result},
};
use yfs_vfs::{FileSystemExt, ReadOnlyFs};

use crate::support::fixture::ToolFixture;

const PROFILE: ToolVocabulary = ToolVocabulary::DeepAgents(DeepAgentsProfile::Replacing);

fn call(fixture: &ToolFixture, id: Option<&str>) -> ToolCall {
    let context = CallContext { call_id: id.map(Into::into), ..CallContext::default() };
    ToolCall::new(&fixture.session, "execute", context)
}

/// Returns numbered lines with more than this many characters.
fn many_lines(n_chars: usize) -> String {
    let lines: Vec<String> = (1..=n_chars / 8).map(|n| format!("line {n:03} ü\n")).collect();
    lines.concat()
}

#[tokio::test]
async fn a_large_result_is_in_a_file_that_pages_join_to() {
    let fixture = ToolFixture::new(&[PROFILE]);
    let text = many_lines(MAX_RESULT_CHARS);
    let n_lines = text.lines().count();
    let reply = keep_large_result(&call(&fixture, Some("call/1.a")), text.clone()).await;
    let path = "/large_tool_results/call_1_a";
    assert!(reply.starts_with(&format!(
        "Tool result too large, the result of this tool call call/1.a was saved in the filesystem \
         at this path: {path}\n\n"
    )));
    let omitted = format!("\n... [{} lines truncated] ...\n", n_lines - 10);
    assert!(reply.contains(&omitted), "{reply}");
    assert!(reply.contains("\n1  line 001 ü\n") && reply.contains("\n5  line 005 ü\n"), "{reply}");
    assert!(!reply.contains("line 006 ü\n"), "{reply}");
    assert!(reply.ends_with(&format!("{n_lines}  line {n_lines} ü\n")), "{reply}");
    assert!(reply.len() < 2_000, "{}", reply.len());

    let stored = fixture.session.fs().read(&path.parse().unwrap()).await.unwrap();
    assert_eq!(stored.data, text.as_bytes());
    // As a model reads it: in pages, which join to the whole.
    let mut joined = String::new();
    while joined.lines().count() < n_lines {
        let offset = joined.lines().count();
        let page = json!({ "file_path": path, "offset": offset, "limit": 2_000 });
        let page = fixture.call("read_file", page).await.joined_text();
        let (head, lines) = page.split_once("@@\n").unwrap();
        assert!(head.starts_with(&format!("@@ lines {}-", offset + 1)), "{head}");
        joined.push_str(lines);
        if !joined.ends_with('\n') {
            joined.push('\n');
        }
    }
    assert!(joined == text, "the pages do not join to the result");
}

#[tokio::test]
async fn what_fits_stays_and_the_limit_counts_characters() {
    let fixture = ToolFixture::new(&[PROFILE]);
    let fits = "ü".repeat(MAX_RESULT_CHARS);
    let kept = keep_large_result(&call(&fixture, Some("a")), fits.clone()).await;
    assert!(kept == fits);
    assert_eq!(fixture.session.fs().readdir(&"/".parse().unwrap()).await.unwrap(), []);

    // One long line is clipped in the preview, and whole in the file.
    let long = "ü".repeat(MAX_RESULT_CHARS + 1);
    let reply = keep_large_result(&call(&fixture, None), long.clone()).await;
    assert!(reply.contains("this preview shows only their first 1000 characters"), "{reply}");
    assert_eq!(reply.matches('ü').count(), 1_000);
    let path = reply.split("at this path: ").nth(1).unwrap().lines().next().unwrap();
    assert_eq!(fixture.session.fs().read(&path.parse().unwrap()).await.unwrap().data, long);
}

#[tokio::test]
async fn a_large_message_is_in_the_history_of_the_conversation() {
    let fixture = ToolFixture::new(&[PROFILE]);
    let text = many_lines(MAX_MESSAGE_CHARS);
    let message = call(&fixture, None);
    let reply = keep_large_message(&message, "msg-7", text.clone()).await.unwrap();
    let path = "/conversation_history/msg-7";
    let beginning =
        format!("Message content too large and was saved to the filesystem at: {path}\n");
    assert!(reply.starts_with(&beginning), "{reply}");
    assert_eq!(fixture.session.fs().read(&path.parse().unwrap()).await.unwrap().data, text);
    let short = "short".to_owned();
    assert_eq!(keep_large_message(&message, "msg-8", short.clone()).await.unwrap(), short);
}

/// Both forms of a list have the limit: a client may pass either of them to its model.
#[tokio::test]
async fn lists_are_cut_as_text_and_as_values() {
    let fixture = ToolFixture::new(&[PROFILE, ToolVocabulary::FileTools, ToolVocabulary::Beyond]);
    let fs = fixture.session.fs();
    let cursor = fs.cursor().await.unwrap();
    for n in 0..900 {
        let path = format!("/d/{}{n:03}", "x".repeat(200));
        fs.write_text(&path.parse().unwrap(), &"needle\n".repeat(100)).await.unwrap();
    }
    let calls = [
        ("ls", json!({ "path": "/d" }), "entries"),
        ("glob", json!({ "pattern": "x*", "path": "/d" }), "paths"),
        ("grep", json!({ "pattern": "needle", "path": "/d", "max_count": 100_000 }), "matches"),
        ("fs_list", json!({ "path": "/d" }), "entries"),
    ];
    for (tool, arguments, list) in calls {
        let reply = fixture.call(tool, arguments).await;
        let structured = reply.structured.clone().unwrap();
        let n_chars = structured.to_string().chars().count();
        assert!(n_chars < MAX_RESULT_CHARS + 100, "{tool}: {n_chars}");
        assert!(n_chars > MAX_RESULT_CHARS - 1_000, "{tool} is cut too short: {n_chars}");
        assert_eq!(structured["truncated"], true, "{tool}");
        assert!(!structured[list].as_array().unwrap().is_empty(), "{tool}");
        let text = reply.joined_text();
        assert!(text.chars().count() < MAX_RESULT_CHARS + 300, "{tool}: {}", text.len());
    }
    // Pages of changes are smaller instead, and none is left out.
    let (mut next, mut n_changes) = (cursor.as_str().to_owned(), 0);
    loop {
        let page = fixture.call("changes_since", json!({ "cursor": next, "own": true })).await;
        let page = page.structured.unwrap();
        assert!(page.to_string().chars().count() < MAX_RESULT_CHARS + 200);
        n_changes += page["changes"].as_array().unwrap().len();
        next = page["cursor"].as_str().unwrap().to_owned();
        if page["more"] == false {
            break;
        }
    }
    assert!(n_changes >= 900, "{n_changes}");
}

#[tokio::test]
async fn a_large_diff_is_in_a_file() {
    let fixture = ToolFixture::new(&[ToolVocabulary::FileTools]);
    let fs = fixture.session.fs();
    fs.write_text(&"/a".parse().unwrap(), &many_lines(MAX_RESULT_CHARS)).await.unwrap();
    fs.write_text(&"/b".parse().unwrap(), "").await.unwrap();
    let reply = fixture.call("fs_diff", json!({ "file_a": "/a", "file_b": "/b" })).await;
    let text = reply.joined_text();
    assert!(text.starts_with("Tool result too large"), "{text}");
    assert_eq!(reply.structured.unwrap()["content"], text);
    let path = text.split("at this path: ").nth(1).unwrap().lines().next().unwrap();
    let stored = fs.read_to_string(&path.parse().unwrap()).await.unwrap();
    assert!(stored.starts_with("--- /a\n+++ /b\n") && stored.ends_with("ü\n"));

    // A session that cannot write gets the beginning.
    let fs = Arc::new(ReadOnlyFs::wrap(fs.clone()));
    let fixture = ToolFixture::over(fs, &[ToolVocabulary::FileTools]);
    let reply = fixture.call("fs_diff", json!({ "file_a": "/a", "file_b": "/b" })).await;
    let text = reply.joined_text();
    assert!(!reply.is_error && text.starts_with("--- /a\n+++ /b\n"), "{text}");
    assert!(text.ends_with("could not be saved]"), "{}", &text[text.len() - 200..]);
    assert!(text.chars().count() <= MAX_RESULT_CHARS);
}
