//! Tests of the backends.

mod commands;
mod composite;
mod saved;

use std::sync::{Arc, Mutex};

use yfs::{Workspace, WorkspaceOptions};
use yfs_conformance::file_system::{self as conformance, BackendCapabilities};
use yfs_types::{
    actor::{Actor, ActorKind},
    path::VPath,
};
use yfs_vfs::{FileSystem, MemoryFs};

use super::*;

fn parse(path: &str) -> VPath {
    path.parse().expect("a path")
}

fn new_workspace() -> Workspace {
    let store = Arc::new(yfs_store::MemoryStore::new());
    Workspace::create(store, WorkspaceOptions::default()).expect("a new workspace")
}

fn agent() -> Actor {
    Actor::new(ActorKind::Agent, "tester")
}

const HOST: BackendCapabilities = BackendCapabilities {
    metadata: false,
    keeps_identity: false,
    clamps_links: false,
    normalizes_names: false,
    ..BackendCapabilities::ALL
};

#[tokio::test(flavor = "multi_thread")]
async fn the_state_conforms() {
    let make = async || StateBackend::new().fs();
    conformance::run(make, BackendCapabilities::ALL).await.assert();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_local_directory_conforms() {
    let directories = Mutex::new(Vec::new());
    let make = async || {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let local = LocalBackend::open(directory.path()).expect("the directory exists");
        directories.lock().expect("no test panicked").push(directory);
        local.fs()
    };
    conformance::run(make, HOST).await.assert();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_local_sandbox_conforms() {
    let sandboxes = Mutex::new(Vec::new());
    let make = async || {
        let sandbox = SandboxBackend::local().expect("a temporary directory");
        let fs = sandbox.fs();
        sandboxes.lock().expect("no test panicked").push(sandbox);
        fs
    };
    conformance::run(make, HOST).await.assert();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_composite_conforms() {
    // A route that nothing in the suite meets: listings of the root would show it otherwise.
    let make = async || {
        let fs = CompositeFs::new(Arc::new(MemoryFs::new()), []).expect("no route is bad");
        Arc::new(fs) as Arc<dyn FileSystem>
    };
    conformance::run(make, BackendCapabilities::ALL).await.assert();
}

/// A route is a whole filesystem of its own, so the suite runs inside of one.
#[tokio::test(flavor = "multi_thread")]
async fn a_route_of_a_composite_conforms() {
    let make = async || {
        let route = PathRoute::new(parse("/deep/route"), Arc::new(MemoryFs::new()));
        let routes = CompositeFs::new(Arc::new(MemoryFs::new()), [route]).expect("a route");
        let inside = PathRoute::within(VPath::root(), Arc::new(routes), parse("/deep/route"));
        Arc::new(CompositeFs::single(inside)) as Arc<dyn FileSystem>
    };
    conformance::run(make, BackendCapabilities::ALL).await.assert();
}

#[tokio::test]
async fn transfers_report_each_file_in_order() {
    let fs = MemoryFs::new();
    fs.mkdir(&parse("/dir"), &Default::default()).await.unwrap();
    let paths = ["/a", "b", "/dir", "/x/../y", "~/c", "C:\\d", "/new/e", "", "/a/f"];
    let files = paths.map(|path| (path.to_owned(), path.as_bytes().to_vec().into()));
    let uploaded = upload_files(&fs, files.to_vec()).await;
    let shown = |code: Option<TransferCode>| code.map_or("ok", TransferCode::as_str);
    let codes: Vec<_> = uploaded
        .iter()
        .map(|result| (&*result.path, shown(result.error.as_ref().map(|error| error.code))))
        .collect();
    let expected = [
        ("/a", "ok"),
        ("b", "invalid_path"),
        ("/dir", "is_directory"),
        ("/x/../y", "invalid_path"),
        ("~/c", "invalid_path"),
        ("C:\\d", "invalid_path"),
        ("/new/e", "ok"),
        ("", "invalid_path"),
        ("/a/f", "invalid_path"),
    ];
    assert_eq!(codes, expected);

    let paths = ["/new/e", "/none", "/dir", "a", "/a"].map(str::to_owned);
    let downloaded = download_files(&fs, paths.to_vec()).await;
    let codes: Vec<_> = downloaded
        .iter()
        .map(|result| shown(result.content.as_ref().err().map(|error| error.code)))
        .collect();
    assert_eq!(codes, ["ok", "file_not_found", "is_directory", "invalid_path", "ok"]);
    let data = downloaded[0].content.as_ref().ok().map(|data| &data[..]);
    assert_eq!(data, Some(&b"/new/e"[..]));

    let large = bytes::Bytes::from(vec![7; 10 * 1024 * 1024]);
    let uploaded = upload_files(&fs, vec![("/large".to_owned(), large.clone())]).await;
    assert!(uploaded[0].error.is_none());
    let downloaded = download_files(&fs, vec!["/large".to_owned()]).await;
    assert!(downloaded[0].content.as_ref().is_ok_and(|data| *data == large));
}

#[tokio::test]
async fn refused_transfers_are_permission_denied() {
    use crate::permissions::{AccessKind, PermissionRule, PermissionRules, PermittedFs, RuleMode};
    let access = [AccessKind::Read, AccessKind::Write];
    let rule = PermissionRule::new(RuleMode::Deny, &access, "/secret/**");
    let rules = PermissionRules::new([rule]).unwrap();
    let fs = PermittedFs::new(Arc::new(MemoryFs::new()), rules).unwrap();
    let uploaded = upload_files(&fs, vec![("/secret/a".to_owned(), "x".into())]).await;
    let code = uploaded[0].error.as_ref().map(|error| error.code);
    assert_eq!(code, Some(TransferCode::PermissionDenied));
    let downloaded = download_files(&fs, vec!["//secret/a".to_owned()]).await;
    let code = downloaded[0].content.as_ref().err().map(|error| error.code);
    assert_eq!(code, Some(TransferCode::PermissionDenied));
}
