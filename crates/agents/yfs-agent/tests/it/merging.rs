//! Writes and edits of several agents and people at once: all of them land, and the reply to each
//! agent reports what else changed.

use std::{sync::Arc, thread};

use serde_json::{Value, json};
use yfs::{Workspace, WorkspaceOptions};
use yfs_agent::{
    AgentSession, CallContext, DeepAgentsProfile, ToolCatalog, ToolReply, ToolVocabulary,
};
use yfs_types::actor::{Actor, ActorKind};
use yfs_vfs::{FileSystem, FileSystemExt, HostFs, MemoryFs, RemoveOptions, TextReplacement};

const REPLACING: ToolVocabulary = ToolVocabulary::DeepAgents(DeepAgentsProfile::Replacing);

fn agent(name: &str) -> Actor {
    Actor::new(ActorKind::Agent, name)
}

fn workspace() -> Workspace {
    let store = Arc::new(yfs_store::MemoryStore::new());
    Workspace::create(store, WorkspaceOptions::default()).expect("a workspace")
}

fn session(fs: &Arc<dyn FileSystem>, name: &str) -> AgentSession {
    AgentSession::builder(fs.clone(), agent(name)).id(name).build()
}

async fn call(session: &AgentSession, name: &str, arguments: Value) -> ToolReply {
    let catalog = ToolCatalog::new(&[REPLACING, ToolVocabulary::FileTools]).expect("names differ");
    let context = CallContext { call_id: Some("c1".into()), ..CallContext::default() };
    catalog.call_tool(session, name, arguments, context).await.expect("a tool")
}

async fn text(fs: &Arc<dyn FileSystem>, path: &str) -> String {
    fs.read_to_string(&path.parse().expect("a path")).await.expect("text")
}

/// Twenty threads edit a line each of one file, as the twenty parallel calls of a model.
fn edit_from_threads(fs: &Arc<dyn FileSystem>, tool: &'static str, vocabulary: ToolVocabulary) {
    let path = "/f".parse().expect("a path");
    let lines: String = (0..20).map(|number| format!("line {number:02}\n")).collect();
    let runtime = || tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    runtime().block_on(fs.write_text(&path, &lines)).expect("written");
    let catalog = Arc::new(ToolCatalog::new(&[vocabulary]).expect("names differ"));
    let session = session(fs, "s1");
    let threads: Vec<_> = (0..20)
        .map(|number| {
            let (catalog, session) = (catalog.clone(), session.clone());
            thread::spawn(move || {
                let (old, new) = (format!("line {number:02}"), format!("LINE {number:02}"));
                let arguments = match tool {
                    "fs_patch" => {
                        json!({"path": "/f", "hunks": [{"old_text": old, "new_text": new}]})
                    }
                    "edit_file" if vocabulary == ToolVocabulary::Reference => {
                        json!({"path": "/f", "edits": [{"oldText": old, "newText": new}]})
                    }
                    "apply_patch" => json!({"patch": format!(
                        "*** Begin Patch\n*** Update File: f\n@@\n-{old}\n+{new}\n*** End Patch"
                    )}),
                    _ => json!({"file_path": "/f", "old_string": old, "new_string": new}),
                };
                let called = catalog.call_tool(&session, tool, arguments, CallContext::default());
                let runtime = tokio::runtime::Builder::new_current_thread().build();
                let reply = runtime.expect("a runtime").block_on(called).expect("a tool");
                assert!(!reply.is_error, "{}", reply.joined_text());
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().expect("no panic"));
    let read = runtime().block_on(fs.read_to_string(&path)).expect("text");
    assert_eq!(read, lines.replace("line", "LINE"));
}

#[test]
fn twenty_parallel_edits_are_all_kept() {
    for _ in 0..100 {
        let memory: Arc<dyn FileSystem> = Arc::new(MemoryFs::new());
        edit_from_threads(&memory, "edit_file", REPLACING);
    }
    for _ in 0..100 {
        let workspace = workspace();
        let fs: Arc<dyn FileSystem> = Arc::new(workspace.fs_for(agent("s1")));
        edit_from_threads(&fs, "edit_file", REPLACING);
    }
}

#[test]
fn tools_of_several_steps_keep_parallel_edits_too() {
    let tools = [
        ("fs_patch", ToolVocabulary::FileTools),
        ("edit_file", ToolVocabulary::Reference),
        ("apply_patch", ToolVocabulary::Beyond),
    ];
    for (tool, vocabulary) in tools {
        for _ in 0..10 {
            let memory: Arc<dyn FileSystem> = Arc::new(MemoryFs::new());
            edit_from_threads(&memory, tool, vocabulary);
            let workspace = workspace();
            let fs: Arc<dyn FileSystem> = Arc::new(workspace.fs_for(agent("s1")));
            edit_from_threads(&fs, tool, vocabulary);
        }
    }
}

/// The story that agents' users tell most: the agent reads, a person types, the agent writes the
/// whole file.
async fn write_stale(fs: Arc<dyn FileSystem>) -> ToolReply {
    let path = "/plan".parse().expect("a path");
    fs.write_text(&path, "one\ntwo\nthree\nfour\n").await.expect("written");
    let session = session(&fs, "s1");
    call(&session, "read_file", json!({"file_path": "/plan"})).await;
    fs.edit(&path, &TextReplacement::once("four", "4, by a person")).await.expect("edited");
    let content = "1, by the agent\ntwo\nthree\nfour\n";
    let arguments = json!({"file_path": "/plan", "content": content});
    let reply = call(&session, "write_file", arguments).await;
    assert_eq!(text(&fs, "/plan").await, "1, by the agent\ntwo\nthree\n4, by a person\n");
    // The reply reported it, but the agent has not sent what the person wrote: that stays.
    let content = "1, by the agent\n2, by the agent\nthree\nfour\n";
    call(&session, "write_file", json!({"file_path": "/plan", "content": content})).await;
    let now = "1, by the agent\n2, by the agent\nthree\n4, by a person\n";
    assert_eq!(text(&fs, "/plan").await, now);
    reply
}

#[tokio::test]
async fn a_stale_write_merges_in_a_workspace() {
    let workspace = workspace();
    let reply = write_stale(Arc::new(workspace.fs_for(agent("s1")))).await;
    assert!(reply.joined_text().contains("+4, by a person"), "{}", reply.joined_text());
}

#[tokio::test]
async fn a_stale_write_merges_where_the_backend_cannot() {
    let reply = write_stale(Arc::new(MemoryFs::new())).await;
    assert!(reply.joined_text().contains("+4, by a person"), "{}", reply.joined_text());
}

#[tokio::test]
async fn overlaps_are_reported_and_never_dropped() {
    let path = "/plan".parse().expect("a path");
    // A workspace keeps both changes, and says where.
    let workspace = workspace();
    let fs: Arc<dyn FileSystem> = Arc::new(workspace.fs_for(agent("s1")));
    for (fs, is_kept) in [(fs, true), (Arc::new(MemoryFs::new()) as Arc<dyn FileSystem>, false)] {
        fs.write_text(&path, "one\ntwo\n").await.expect("written");
        let session = session(&fs, "s1");
        call(&session, "fs_read", json!({"path": "/plan"})).await;
        fs.edit(&path, &TextReplacement::once("two", "2 by a person")).await.expect("edited");
        let content = "one\nII\n";
        let reply = call(&session, "fs_write", json!({"path": "/plan", "content": content})).await;
        let now = text(&fs, "/plan").await;
        assert!(now.contains("by a person"), "{now}");
        assert_eq!(reply.is_error, !is_kept, "{}", reply.joined_text());
        let reason = if is_kept { "were changed by" } else { "both changed lines 2 to 2" };
        assert!(reply.joined_text().contains(reason), "{}", reply.joined_text());
    }
}

#[tokio::test]
async fn a_patch_after_a_stale_read_is_not_made_twice() {
    let workspace = workspace();
    let fs: Arc<dyn FileSystem> = Arc::new(workspace.fs_for(agent("s1")));
    let path = "/plan".parse().expect("a path");
    fs.write_text(&path, "one\ntwo\nthree\n").await.expect("written");
    let session = session(&fs, "s1");
    call(&session, "fs_read", json!({"path": "/plan"})).await;
    fs.edit(&path, &TextReplacement::once("three", "III")).await.expect("edited");
    let hunks = json!([{"old_text": "one\n", "new_text": "one\none and a half\n"}]);
    call(&session, "fs_patch", json!({"path": "/plan", "hunks": hunks})).await;
    let content = "one\none and a half\n2\nthree\n";
    call(&session, "fs_write", json!({"path": "/plan", "content": content})).await;
    assert_eq!(text(&fs, "/plan").await, "one\none and a half\n2\nIII\n");
}

/// Programs that share a session, because nothing distinguishes them: what one read or wrote is no
/// base for the write of another.
#[tokio::test(flavor = "multi_thread")]
async fn programs_that_share_a_session_take_back_nothing() {
    let backends: [Arc<dyn FileSystem>; 2] =
        [Arc::new(MemoryFs::new()), Arc::new(workspace().fs())];
    for fs in backends {
        let session = AgentSession::builder(fs.clone(), agent("twin")).shared(true).build();
        let write_at = async |path: &str, content: &str| {
            let arguments = json!({"file_path": path, "content": content});
            call(&session, "write_file", arguments).await.joined_text()
        };
        let write = async |content: &str| write_at("/f", content).await;
        let read = async || call(&session, "read_file", json!({"file_path": "/f"})).await;
        write("one\ntwo\nthree\n").await;
        // Two programs read, and each changes another line.
        read().await;
        read().await;
        write("ONE\ntwo\nthree\n").await;
        let reply = write("one\ntwo\nTHREE\n").await;
        assert!(reply.contains("Others changed the file"), "{reply}");
        assert_eq!(text(&fs, "/f").await, "ONE\ntwo\nTHREE\n");
        // One program alone replaces what it wrote, also by an earlier text.
        for content in ["a\n", "b\n", "a\n"] {
            write_at("/g", content).await;
            assert_eq!(text(&fs, "/g").await, content);
        }
        // A file that no one has read is replaced, and the reply says so.
        fs.write_text(&"/unread".parse().expect("a path"), "theirs").await.expect("written");
        let reply = write_at("/unread", "mine").await;
        assert!(reply.contains("this session has not read it"), "{reply}");
    }
}

/// A directory of the host gives a file another id with each write, of this process and of others.
#[tokio::test]
async fn stale_writes_of_replaced_files_are_changes_of_what_was_read() {
    let dir = tempfile::tempdir().expect("a directory");
    let open = || -> Arc<dyn FileSystem> { Arc::new(HostFs::open(dir.path()).expect("opened")) };
    let reply = write_stale(open()).await;
    assert!(reply.joined_text().contains("+4, by a person"), "{}", reply.joined_text());

    // The agent edits, another process replaces the file, the agent writes it as a whole.
    let (ours, theirs) = (open(), open());
    let session = session(&ours, "s1");
    let path = "/plan".parse().expect("a path");
    let write = async |content: &str| {
        call(&session, "fs_write", json!({"path": "/plan", "content": content})).await
    };
    ours.write_text(&path, "one\ntwo\nthree\nfour\n").await.expect("written");
    call(&session, "fs_read", json!({"path": "/plan"})).await;
    let edit = json!({"path": "/plan", "old_text": "one", "new_text": "1"});
    call(&session, "fs_edit", edit).await;
    let reply = write("I\ntwo\nthree\nfour\n").await;
    assert!(!reply.joined_text().contains("Others"), "{}", reply.joined_text());
    theirs.edit(&path, &TextReplacement::once("four", "4")).await.expect("edited");
    let reply = write("I\nII\nthree\nfour\n").await;
    assert!(reply.joined_text().contains("Others changed"), "{}", reply.joined_text());
    assert_eq!(text(&theirs, "/plan").await, "I\nII\nthree\n4\n");

    // An overlap fails, and changes nothing. After reading again, the write goes through.
    theirs.edit(&path, &TextReplacement::once("three", "3")).await.expect("edited");
    let reply = write("I\nII\nIII\n4\n").await;
    assert!(reply.is_error && reply.joined_text().contains("both changed"), "{reply:?}");
    assert_eq!(text(&theirs, "/plan").await, "I\nII\n3\n4\n");
    call(&session, "fs_read", json!({"path": "/plan"})).await;
    assert!(!write("I\nII\nIII\n4\n").await.is_error);
    assert_eq!(text(&theirs, "/plan").await, "I\nII\nIII\n4\n");
}

/// Another agent removes the file that was read and creates another one at its path.
#[tokio::test]
async fn a_file_that_took_the_path_of_another_is_not_replaced_unread() {
    let workspace = workspace();
    let fs: Arc<dyn FileSystem> = Arc::new(workspace.fs_for(agent("s1")));
    let path = "/plan".parse().expect("a path");
    fs.write_text(&path, "one\ntwo\n").await.expect("written");
    let session = session(&fs, "s1");
    call(&session, "fs_read", json!({"path": "/plan"})).await;
    fs.rm(&path, &RemoveOptions::default()).await.expect("removed");
    fs.write_text(&path, "by another\n").await.expect("written");
    let content = json!({"path": "/plan", "content": "1\ntwo\n"});
    let reply = call(&session, "fs_write", content.clone()).await;
    assert!(reply.is_error && reply.joined_text().contains("read it again"), "{reply:?}");
    assert_eq!(text(&fs, "/plan").await, "by another\n");
    call(&session, "fs_read", json!({"path": "/plan"})).await;
    assert!(!call(&session, "fs_write", content).await.is_error);
}
