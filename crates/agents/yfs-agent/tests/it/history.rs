//! Versions, undo and changes by others, over a workspace.

use std::sync::{
    Arc,
    atomic::{AtomicI64, Ordering},
};

use expect_test::expect;
use serde_json::{Value, json};
use yfs::{
    Workspace, WorkspaceOptions,
    clock::{Clock, SystemClock},
};
use yfs_agent::{AgentSession, CallContext, DeepAgentsProfile, ToolCatalog, ToolVocabulary};
use yfs_agent_workspace::{WorkspaceHistory, session_over};
use yfs_types::{
    actor::{Actor, ActorKind},
    time::Millis,
};
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
        Self::with_clock(Arc::new(SystemClock)).await
    }

    async fn with_clock(clock: Arc<dyn Clock>) -> Self {
        let store = Arc::new(yfs_store::MemoryStore::new());
        let options = WorkspaceOptions { clock, ..WorkspaceOptions::default() };
        let workspace = Workspace::create(store, options).expect("made");
        let replacing = ToolVocabulary::DeepAgents(DeepAgentsProfile::Replacing);
        let catalog = ToolCatalog::new(&[replacing, ToolVocabulary::Beyond]).expect("names differ");
        let actor = Actor::new(ActorKind::Agent, "bob");
        let session = session_over(&workspace, actor, "s1").build();
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

/// A clock that goes back by a millisecond at each call, as the clocks of several writers do.
#[derive(Debug)]
struct BackwardClock(AtomicI64);

impl Clock for BackwardClock {
    fn now(&self) -> Millis {
        Millis(self.0.fetch_sub(1, Ordering::Relaxed))
    }
}

/// The edits of a session get their times before they get their places in the file:
/// parallel calls (`docs/spec/agent-tools.md`) were undone in another order than they were made,
/// and each undo but a few found "changes by others".
#[tokio::test]
async fn own_edits_are_undone_as_one_change_and_name_no_others() {
    let clock = Arc::new(BackwardClock(AtomicI64::new(1_700_000_000_000)));
    let shared = SharedWorkspace::with_clock(clock).await;
    let lines: String = (0..20).map(|number| format!("<{number}>\n")).collect();
    shared.person.write_text(&"/race".parse().expect("a path"), &lines).await.expect("written");
    for number in 0..20 {
        shared.edit("/race", &format!("<{number}>"), &format!("[{number}]")).await;
    }
    let undone = shared.call("undo_session", json!({})).await;
    expect!["/race: changed back"].assert_eq(&undone);
    assert_eq!(shared.text("/race").await, Some(lines));
}

/// The same with a person's edit in between, and in a file that the session made.
#[tokio::test]
async fn each_file_has_one_line() {
    let shared = SharedWorkspace::new().await;
    shared.edit("/plan", "one", "1").await;
    shared.person_edits("/plan", "two", "2, by ana").await;
    shared.edit("/plan", "three", "3").await;
    shared.call("write_file", json!({"file_path": "/own", "content": "a\nb\n"})).await;
    shared.edit("/own", "a", "A").await;
    shared.edit("/own", "b", "B").await;
    let undone = shared.call("undo_session", json!({})).await;
    let mut lines: Vec<&str> = undone.lines().collect();
    lines.sort_unstable();
    expect![[r#"
        /own: moved to the trash, because the session created it
        /plan: changed back; later changes by others were kept"#]]
    .assert_eq(&lines.join("\n"));
    assert_eq!(shared.text("/plan").await.as_deref(), Some("one\n2, by ana\nthree\n"));
}

#[tokio::test]
async fn an_undo_of_many_files_is_counted() {
    let shared = SharedWorkspace::new().await;
    for number in 0..120 {
        let path = format!("/many/{number}");
        shared.call("write_file", json!({"file_path": path, "content": "x"})).await;
    }
    shared.call("write_file", json!({"file_path": "/first", "content": "x\n"})).await;
    shared.person_edits("/first", "x", "x, by ana").await;
    let undone = shared.call("undo_session", json!({})).await;
    let lines: Vec<&str> = undone.lines().collect();
    assert_eq!(lines.len(), 101, "{undone}");
    expect!["/first: not undone: others have edited it since it was created"].assert_eq(lines[0]);
    expect!["... [22 more: 22 moved to the trash]"].assert_eq(lines[100]);
}

#[tokio::test]
async fn a_label_without_changes_is_an_error_that_says_why() {
    let shared = SharedWorkspace::new().await;
    shared.edit("/plan", "one", "1").await;
    let history = WorkspaceHistory::new(shared.workspace.clone());
    let undo = |actor: &str, label: &str| {
        let actor: Actor = actor.parse().expect("an actor");
        history.undo_label(&actor, label).map_err(|error| error.to_string())
    };
    expect![[r#"no change has the label "nope""#]]
        .assert_eq(&undo("agent:bob", "nope").expect_err("refused"));
    expect![[r#"no change of human:ana has the label "s1", only changes of agent:bob"#]]
        .assert_eq(&undo("human:ana", "s1").expect_err("refused"));
    assert_eq!(undo("agent:bob", "s1").map(|undone| undone.len()), Ok(1));
    assert_eq!(shared.text("/plan").await.as_deref(), Some("one\ntwo\nthree\n"));
    // What was undone before is no mistake of the caller.
    assert_eq!(undo("agent:bob", "s1").map(|undone| undone.len()), Ok(0));
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
