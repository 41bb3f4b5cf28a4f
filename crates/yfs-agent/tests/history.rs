//! Versions, undo and changes by others, over a workspace.

use std::sync::Arc;

use expect_test::expect;
use serde_json::{Value, json};
use yfs::{Workspace, WorkspaceOptions};
use yfs_agent::{AgentSession, CallContext, DeepAgentsProfile, ToolCatalog, ToolVocabulary};
use yfs_types::actor::{Actor, ActorKind};
use yfs_vfs::{FileSystem, FileSystemExt, RemoveOptions, TextReplacement};

/// A workspace, an agent's session over it, and a person.
struct SharedWorkspace {
    workspace: Workspace,
    catalog: ToolCatalog,
    session: AgentSession,
    person: Arc<dyn FileSystem>,
}

impl SharedWorkspace {
    async fn new() -> Self {
        let store = Arc::new(yfs_store::MemoryStore::new());
        let workspace = Workspace::create(store, WorkspaceOptions::default()).expect("made");
        let replacing = ToolVocabulary::DeepAgents(DeepAgentsProfile::Replacing);
        let catalog = ToolCatalog::new(&[replacing, ToolVocabulary::Beyond]).expect("names differ");
        let actor = Actor::new(ActorKind::Agent, "bob");
        let session = AgentSession::over_workspace(&workspace, actor, "s1").build();
        let person = Arc::new(workspace.fs_for(Actor::new(ActorKind::Human, "ana")));
        let path = "/plan".parse().expect("a path");
        person.write_text(&path, "one\ntwo\nthree\n").await.expect("written");
        Self { workspace, catalog, session, person }
    }

    async fn call(&self, name: &str, arguments: Value) -> String {
        let context = CallContext { call_id: Some("c1".into()), ..CallContext::default() };
        let called = self.catalog.call_tool(&self.session, name, arguments, context);
        called.await.expect("a tool").joined_text()
    }

    async fn edit(&self, path: &str, old: &str, new: &str) -> String {
        let arguments = json!({"file_path": path, "old_string": old, "new_string": new});
        self.call("edit_file", arguments).await
    }

    async fn person_edits(&self, path: &str, old: &str, new: &str) {
        let path = path.parse().expect("a path");
        let edit = TextReplacement::once(old, new);
        self.person.edit(&path, &edit).await.expect("edited");
    }

    async fn text(&self, path: &str) -> Option<String> {
        let read = self.person.read_to_string(&path.parse().expect("a path")).await;
        read.ok()
    }
}

#[tokio::test]
async fn versions_are_listed_compared_and_restored() {
    let shared = SharedWorkspace::new().await;
    shared.edit("/plan", "one", "1").await;
    shared.person_edits("/plan", "three", "3").await;
    expect![[r#"
        1 human:ana 
        2 agent:bob s1 c1
        3 human:ana  (now)"#]]
    .assert_eq(&shared.call("history", json!({"path": "/plan"})).await);
    let diff = json!({"path": "/plan", "from": 1});
    expect![[r#"
        --- /plan (version 1)
        +++ /plan (now)
        @@ -1,3 +1,3 @@
        -one
        +1
         two
        -three
        +3
    "#]]
    .assert_eq(&shared.call("diff_versions", diff).await);
    let restored = shared.call("restore", json!({"path": "/plan", "version": 1})).await;
    expect!["Restored version 1 of /plan"].assert_eq(&restored);
    assert_eq!(shared.text("/plan").await.as_deref(), Some("one\ntwo\nthree\n"));
    expect!["Error: EINVAL: invalid argument, read '/plan'"]
        .assert_eq(&shared.call("restore", json!({"path": "/plan", "version": 99})).await);
    expect!["Error: ENOENT: no such file or directory, open '/none'"]
        .assert_eq(&shared.call("history", json!({"path": "/none"})).await);
}

#[tokio::test]
async fn undoing_a_session_keeps_the_later_work_of_others() {
    let shared = SharedWorkspace::new().await;
    shared.edit("/plan", "one", "1, by bob").await;
    shared.call("write_file", json!({"file_path": "/own", "content": "mine"})).await;
    shared.call("write_file", json!({"file_path": "/shared", "content": "mine\n"})).await;
    shared.person_edits("/plan", "three", "three, by ana").await;
    shared.person_edits("/shared", "mine", "mine and ana's").await;
    let listed = shared.call("undo_session", json!({"dry_run": true})).await;
    expect![[r#"
        /own: would be undone
        /plan: would be undone
        /shared: would be undone"#]]
    .assert_eq(&listed);
    // Changes of different files in one millisecond have no order.
    let undone = shared.call("undo_session", json!({})).await;
    let mut lines: Vec<&str> = undone.lines().collect();
    lines.sort_unstable();
    expect![[r#"
        /own: moved to the trash, because the session created it
        /plan: changed back; later changes by others were kept
        /shared: not undone: others have edited it since it was created"#]]
    .assert_eq(&lines.join("\n"));
    assert_eq!(shared.text("/plan").await.as_deref(), Some("one\ntwo\nthree, by ana\n"));
    assert_eq!(shared.text("/own").await, None);
    assert_eq!(shared.text("/shared").await.as_deref(), Some("mine and ana's\n"));
    // Another session of the same agent is not touched, and a second undo has nothing to do.
    let expected = expect!["/shared: not undone: others have edited it since it was created"];
    expected.assert_eq(&shared.call("undo_session", json!({})).await);
}

#[tokio::test]
async fn a_deleted_file_comes_back() {
    let shared = SharedWorkspace::new().await;
    shared.call("delete", json!({"file_path": "/plan"})).await;
    assert_eq!(shared.text("/plan").await, None);
    expect!["/plan: restored from the trash"]
        .assert_eq(&shared.call("undo_session", json!({})).await);
    assert_eq!(shared.text("/plan").await.as_deref(), Some("one\ntwo\nthree\n"));
}

#[tokio::test]
async fn changes_by_others_are_listed_since_the_last_call() {
    let shared = SharedWorkspace::new().await;
    shared.call("changes_since", json!({})).await;
    shared.edit("/plan", "one", "1").await;
    shared.person_edits("/plan", "two", "2").await;
    shared.person.write_text(&"/new".parse().expect("a path"), "x").await.expect("written");
    expect![[r#"
        changed /plan by human:ana
        created /new by human:ana"#]]
    .assert_eq(&shared.call("changes_since", json!({})).await);
    expect!["Nothing changed"].assert_eq(&shared.call("changes_since", json!({})).await);
    let gone = "/new".parse().expect("a path");
    shared.person.rm(&gone, &RemoveOptions::default()).await.expect("removed");
    expect!["removed /new by human:ana"].assert_eq(&shared.call("changes_since", json!({})).await);
    let lost = shared.call("changes_since", json!({"cursor": "nonsense"})).await;
    expect!["Error: the cursor is too old: list the files again, and call without a cursor"]
        .assert_eq(&lost);
    assert!(shared.workspace.close().is_ok());
}
