//! Tests of the backends over a workspace.

use std::sync::Arc;

use yfs::{Workspace, WorkspaceOptions};
use yfs_agent::backends::AgentBackend;
use yfs_agent_workspace::{BadNamespace, StoreBackend, StoreNamespace, WorkspaceBackend};
use yfs_conformance::file_system::{self as conformance, BackendCapabilities, script};
use yfs_types::{
    actor::{Actor, ActorKind},
    path::VPath,
};
use yfs_vfs::{FileSystem, FileSystemExt, FsCode, FsView, MoveOptions};

fn parse(path: &str) -> VPath {
    path.parse().expect("a path")
}

fn agent() -> Actor {
    Actor::new(ActorKind::Agent, "tester")
}

fn new_workspace() -> Workspace {
    let store = Arc::new(yfs_store::MemoryStore::new());
    Workspace::create(store, WorkspaceOptions::default()).expect("a new workspace")
}

const WORKSPACE: BackendCapabilities =
    BackendCapabilities { merges: true, ..BackendCapabilities::ALL };

#[tokio::test(flavor = "multi_thread")]
async fn a_workspace_conforms() {
    let make = async || WorkspaceBackend::new(&new_workspace(), agent(), "test").fs();
    conformance::run(make, WORKSPACE).await.assert();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_namespace_conforms() {
    let make = async || {
        let workspace = new_workspace();
        let namespace = StoreNamespace::new(["users", "ada"]).expect("a namespace");
        let store = StoreBackend::open(workspace.fs_for(agent()), namespace).await;
        store.expect("the namespace is made").fs()
    };
    conformance::run(make, WORKSPACE).await.assert();
}

/// A namespace is a directory, not a path: another one in its place is another namespace.
#[tokio::test]
async fn a_namespace_goes_with_its_directory() {
    let workspace = new_workspace();
    let namespace = StoreNamespace::new(["users", "ada"]).expect("a namespace");
    let store = StoreBackend::open(workspace.fs_for(agent()), namespace).await;
    let files = store.expect("the namespace is made").fs();
    files.write_text(&parse("/note"), "mine").await.unwrap();
    let outside = workspace.fs_for(agent());
    let (from, to) = (parse("/n-users/n-ada"), parse("/n-users/n-eve"));
    outside.mv(&from, &to, &MoveOptions::default()).await.unwrap();
    outside.write_text(&parse("/n-users/n-ada/files/note"), "of another").await.unwrap();
    assert_eq!(files.read_to_string(&parse("/note")).await.unwrap(), "mine");
}

#[tokio::test]
async fn the_changes_of_a_call_in_a_namespace_are_one_step() {
    let workspace = new_workspace();
    let namespace = StoreNamespace::new(["users", "ada"]).expect("a namespace");
    let store = StoreBackend::open(workspace.fs_for(agent()), namespace).await;
    let files = store.expect("the namespace is made").fs();
    let call = files.view(FsView::NewStep).expect("a workspace records steps");
    call.write_text(&parse("/a"), "1").await.unwrap();
    call.write_text(&parse("/b"), "2").await.unwrap();
    let changes = workspace.history().changes(&parse("/n-users/n-ada/files")).unwrap();
    let mut steps = changes.map(|entry| entry.unwrap()).filter(|entry| entry.version.is_some());
    let (last, first) = (steps.next().expect("a change"), steps.next().expect("a change"));
    assert!(last.step.is_some() && last.step == first.step, "{:?} {:?}", last.step, first.step);
}

#[test]
fn components_of_namespaces_are_checked() {
    for bad in ["", "*", "a?", "a/b", "a\\b", "\0", "a\nb", "e\u{301}"] {
        let namespace = StoreNamespace::new(["users", bad]);
        assert_eq!(namespace, Err(BadNamespace::Component(bad.to_owned())));
    }
    assert_eq!(StoreNamespace::new([""; 0]), Err(BadNamespace::Empty));
    // They become names with a prefix, so these are names like others.
    assert!(StoreNamespace::new(["..", ".", "files"]).is_ok());
}

#[tokio::test]
async fn no_namespace_reaches_another() {
    let workspace = new_workspace();
    let open = async |components: &[&str]| {
        let context = components.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        let opened = StoreBackend::open_for(&workspace, agent(), &context, Clone::clone).await;
        opened.expect("a namespace").fs()
    };
    let victims = [&["b"][..], &["a", "b"], &["a", "files"], &["a", "b", "c"], &["n-a"], &[".."]];
    for components in victims {
        open(components).await.write_text(&parse("/s/secret"), "SECRET").await.unwrap();
    }
    let fs = open(&["a"]).await;
    let attempts = "
        ln / /top
        ln .. /up
        ln ../.. /upper
        ln ../../n-b/files/s /b
        ln ../n-b/files/s /ab
        ln /n-b/files/s /abs
        ln /../n-b/files/s/secret /file
        mkdir /d
        ln ../../../n-b/files /d/deep
        mv /d /e
        cp -r /up /copy
        cp /file /copied
        link /file /hard
        write /file HACKED
        write /b/secret HACKED
        append /upper/n-b/files/s/secret HACKED
        rm -r /up/../n-b
        rm -r /upper/n-b
        mv /upper/n-b /mine
        mv /e /upper/n-b/files/e
        cat /b/secret
        cat /ab/secret
        cat /abs/secret
        cat /file
        cat /copied
        cat /e/deep/s/secret
        cat /../../n-b/files/s/secret
        cat /top/n-b/files/s/secret
        ls /up
        ls /upper
        walk /
        glob -hidden **/secret
        grep SECRET";
    let mut runner = script::ScriptRunner::new(fs);
    for line in attempts.lines() {
        let outcome = runner.run(line).await.unwrap();
        let output = outcome.unwrap_or_default();
        assert!(!output.contains("SECRET"), "{line}: {output}");
        assert!(!output.contains("secret"), "{line}: {output}");
    }
    for components in victims {
        let text = open(components).await.read_to_string(&parse("/s/secret")).await;
        assert_eq!(text.ok().as_deref(), Some("SECRET"), "{components:?}");
    }
}

#[tokio::test]
async fn a_namespace_is_durable_and_its_root_stays() {
    let workspace = new_workspace();
    let open = async || {
        let namespace = StoreNamespace::new(["a"]).unwrap();
        StoreBackend::open(workspace.fs_for(agent()), namespace).await.unwrap().fs()
    };
    open().await.write_text(&parse("/f"), "kept").await.unwrap();
    let again = open().await;
    assert_eq!(again.read_to_string(&parse("/f")).await.unwrap(), "kept");
    let error = again.rm_all(&parse("/")).await.unwrap_err();
    assert_eq!(error.code, FsCode::EBUSY);
    let real = workspace.fs().read_to_string(&parse("/n-a/files/f")).await.unwrap();
    assert_eq!(real, "kept");
}
