//! A session's moves, directories and links are taken back, where nothing of others' work is in
//! the way.

use std::sync::Arc;

use serde_json::{Value, json};
use yfs::{Workspace, WorkspaceOptions};
use yfs_agent::{AgentSession, CallContext, ToolCatalog, ToolVocabulary};
use yfs_agent_workspace::{open_workspace_audit, session_over};
use yfs_types::{
    actor::{Actor, ActorKind},
    path::VPath,
};
use yfs_vfs::{FileSystem, FileSystemExt, MkdirOptions, MoveOptions};

/// A workspace with a recorded session of an agent, and a person.
struct RecordedWorkspace {
    _directory: tempfile::TempDir,
    catalog: ToolCatalog,
    session: AgentSession,
    person: Arc<dyn FileSystem>,
}

fn path(text: &str) -> VPath {
    text.parse().expect("a path")
}

impl RecordedWorkspace {
    async fn new() -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let file = directory.path().join("workspace.db");
        let workspace = Workspace::create_at(&file, WorkspaceOptions::default()).expect("made");
        let audit = open_workspace_audit(&workspace).expect("opened").expect("a directory");
        let actor = Actor::new(ActorKind::Agent, "bob");
        let session = session_over(&workspace, actor, "s1").audit(audit).build();
        let person: Arc<dyn FileSystem> =
            Arc::new(workspace.fs_for(Actor::new(ActorKind::Human, "ana")));
        for file in ["/a", "/b", "/docs/c"] {
            person.write_text(&path(file), "text\n").await.expect("written");
        }
        let catalog = ToolCatalog::new(&[ToolVocabulary::FileTools, ToolVocabulary::Beyond]);
        Self { _directory: directory, catalog: catalog.expect("names differ"), session, person }
    }

    async fn call(&self, name: &str, arguments: Value) -> String {
        let called = self.catalog.call_tool(&self.session, name, arguments, CallContext::default());
        let reply = called.await.expect("a tool");
        assert!(!reply.is_error, "{}", reply.joined_text());
        reply.joined_text()
    }

    async fn moves(&self, from: &str, to: &str) {
        self.call("fs_move", json!({ "source": from, "destination": to })).await;
    }

    /// Returns all paths, sorted.
    async fn tree(&self) -> Vec<String> {
        let walked = self.person.walk(&VPath::root(), &Default::default()).await.expect("walked");
        let mut paths: Vec<String> = walked.iter().map(|found| found.path.to_string()).collect();
        paths.sort();
        paths
    }

    /// Undoes the session; returns the lines of the reply, sorted.
    async fn undo(&self) -> Vec<String> {
        let text = self.call("undo_session", json!({})).await;
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        lines.sort();
        lines
    }
}

#[tokio::test]
async fn moves_and_directories_are_taken_back() {
    let shared = RecordedWorkspace::new().await;
    let before = shared.tree().await;
    shared.call("fs_mkdir", json!({ "path": "/new/deep/er" })).await;
    shared.moves("/a", "/new/a").await;
    shared.moves("/new", "/newer").await;
    shared.moves("/docs", "/newer/docs").await;
    shared.call("fs_write", json!({ "path": "/made/by/write", "content": "x" })).await;
    shared.call("fs_copy", json!({ "source": "/newer/docs", "destination": "/copy" })).await;
    assert_ne!(shared.tree().await, before);
    let undone = shared.undo().await;
    assert_eq!(shared.tree().await, before, "{undone:#?}");
    for (from, to) in [("/newer/docs", "/docs"), ("/newer/a", "/a")] {
        assert!(undone.contains(&format!("{from}: moved back to {to}")), "{undone:#?}");
    }
    // It was moved back as well, and then removed.
    let of_directory: Vec<&String> =
        undone.iter().filter(|line| line.starts_with("/newer:")).collect();
    assert_eq!(of_directory, ["/newer: moved to the trash, because the session created it"]);
    assert_eq!(shared.undo().await, ["There is nothing to undo"]);
}

#[tokio::test]
async fn what_others_did_meanwhile_stays() {
    let shared = RecordedWorkspace::new().await;
    let person = &shared.person;
    shared.call("fs_mkdir", json!({ "path": "/full" })).await;
    shared.call("fs_mkdir", json!({ "path": "/empty" })).await;
    shared.moves("/a", "/moved").await;
    shared.moves("/b", "/taken").await;
    shared.moves("/docs/c", "/gone").await;
    person.write_text(&path("/full/of-ana"), "x").await.expect("written");
    person.mv(&path("/moved"), &path("/by-ana"), &MoveOptions::default()).await.expect("moved");
    person.write_text(&path("/b"), "another\n").await.expect("written");
    person.rm(&path("/docs"), &Default::default()).await.expect("removed");
    let undone = shared.undo().await;
    let expected = [
        "/by-ana: not undone: it was renamed or moved again since",
        "/empty: moved to the trash, because the session created it",
        "/full: not undone: the directory is not empty",
        "/gone: not undone: the directory that it was in is gone",
        "/taken: not undone: another object has its former path",
    ];
    assert_eq!(undone, expected);
    let left = ["/b", "/by-ana", "/full", "/full/of-ana", "/gone", "/taken"];
    assert_eq!(shared.tree().await, left);
}

/// A directory that was there is not the session's, although it asked for it.
#[tokio::test]
async fn what_was_there_is_not_removed() {
    let shared = RecordedWorkspace::new().await;
    let options = MkdirOptions { recursive: true, mode: None };
    shared.person.mkdir(&path("/empty/inner"), &options).await.expect("made");
    shared.call("fs_mkdir", json!({ "path": "/empty/inner" })).await;
    shared.moves("/a", "/empty/inner/a").await;
    assert_eq!(shared.undo().await, ["/empty/inner/a: moved back to /a"]);
    assert_eq!(shared.tree().await, ["/a", "/b", "/docs", "/docs/c", "/empty", "/empty/inner"]);
}
