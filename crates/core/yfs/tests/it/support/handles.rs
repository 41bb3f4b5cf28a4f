//! Helpers for tests of workspaces.
#![allow(dead_code, clippy::allow_attributes, reason = "not every test needs all of it")]

use std::{
    pin::pin,
    sync::Arc,
    task::{Context, Poll, Waker},
    thread,
    time::{Duration, Instant},
};

use yfs::{Workspace, WorkspaceOptions};
use yfs_engine::path::VPath;
use yfs_store::{MemoryStore, SqliteStore};
use yfs_vfs::{FileSystem, FileSystemExt, WalkOptions, WriteOptions};

/// Two handles of one SQLite file, as two processes have them.
#[derive(Debug)]
pub(crate) struct Pair {
    pub(crate) a: Workspace,
    pub(crate) b: Workspace,
    pub(crate) _dir: tempfile::TempDir,
}

impl Pair {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let file = dir.path().join("workspace.db");
        let options = WorkspaceOptions { follow: false, ..WorkspaceOptions::default() };
        let store = Arc::new(SqliteStore::create_new(&file).expect("a store"));
        let a = Workspace::create(store, options.clone()).expect("a workspace");
        let b = Workspace::open_at(&file, options).expect("a second handle");
        Self { a, b, _dir: dir }
    }
}

/// Runs a future that never waits.
pub(crate) fn now<T>(future: impl Future<Output = T>) -> T {
    let mut future = pin!(future);
    match future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("a call of a workspace waited"),
    }
}

pub(crate) fn create() -> Workspace {
    Workspace::create(Arc::new(MemoryStore::new()), WorkspaceOptions::default())
        .expect("a workspace")
}

pub(crate) fn at(path: &str) -> VPath {
    VPath::parse(path).expect("a path")
}

pub(crate) fn put(workspace: &Workspace, path: &str, text: &str) {
    let text = text.to_owned();
    now(workspace.fs().write(&at(path), text.into(), &WriteOptions::default())).expect("written");
}

pub(crate) fn append(workspace: &Workspace, path: &str, text: &str) {
    let text = text.to_owned();
    let fs = workspace.fs();
    now(fs.append(&at(path), text.into(), &WriteOptions::default())).expect("appended");
}

pub(crate) fn cat(workspace: &Workspace, path: &str) -> String {
    let content = now(workspace.fs().read(&at(path))).expect("read");
    String::from_utf8(content.data.to_vec()).expect("text")
}

/// Returns all paths, in order.
pub(crate) fn ls(workspace: &Workspace) -> String {
    let found = now(workspace.fs().walk(&VPath::root(), &WalkOptions::default())).expect("walked");
    let paths: Vec<String> = found.iter().map(|entry| entry.path.to_string()).collect();
    paths.join(" ")
}

/// Opens two handles of one SQLite file, which follow each other in the background.
pub(crate) fn two_processes() -> (Workspace, Workspace, tempfile::TempDir) {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let file = dir.path().join("workspace.db");
    let store = Arc::new(SqliteStore::create_new(&file).expect("a store"));
    let here = Workspace::create(store, WorkspaceOptions::default()).expect("a workspace");
    let there = Workspace::open_at(&file, WorkspaceOptions::default()).expect("a second handle");
    (here, there, dir)
}

/// Waits until two handles have the same tree and contents.
pub(crate) fn until_equal(here: &Workspace, there: &Workspace, paths: &[&str]) {
    let begun = Instant::now();
    let shown = |workspace: &Workspace| {
        let read = |path| now(workspace.fs().read(&at(path))).ok().map(|content| content.data);
        (ls(workspace), paths.iter().map(|path| read(path)).collect::<Vec<_>>())
    };
    while shown(here) != shown(there) {
        assert!(begun.elapsed() < Duration::from_secs(600), "{:?} {:?}", shown(here), shown(there));
        thread::yield_now();
    }
}
