//! The trash is in the order of removal, also of removals in one millisecond.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;

use crate::support::handles::{at, cat, now, put};
use yfs::{Workspace, WorkspaceOptions, clock::Clock};
use yfs_engine::time::Millis;
use yfs_store::{MemoryStore, Store};
use yfs_vfs::{FileSystem, RemoveOptions};

/// A clock that stands still.
#[derive(Debug)]
struct StoppedClock;

impl Clock for StoppedClock {
    fn now(&self) -> Millis {
        Millis(1_795_305_600_000)
    }
}

fn options() -> WorkspaceOptions {
    let clock = Arc::new(StoppedClock);
    WorkspaceOptions { clock, follow: false, checkpoint_after: 1, ..WorkspaceOptions::default() }
}

fn remove(workspace: &Workspace, path: &str) {
    now(workspace.fs().rm(&at(path), &RemoveOptions::default())).unwrap();
}

/// Returns the ids in the trash, the last removal first.
fn trash(workspace: &Workspace) -> Vec<String> {
    let listed = workspace.trash().list().unwrap();
    assert!(listed.is_sorted_by(|a, b| a.order > b.order), "{listed:?}");
    listed.into_iter().map(|entry| entry.id.to_string()).collect()
}

/// Of two files of one name, either was the one that was removed last.
#[test]
fn removals_in_one_millisecond_keep_their_order() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let workspace = Workspace::create(store.clone(), options()).unwrap();
    let mut removed = Vec::new();
    for n in 0..20 {
        put(&workspace, "/a.txt", &format!("content {n}"));
        let id = now(workspace.fs().stat(&at("/a.txt"))).unwrap().id;
        remove(&workspace, "/a.txt");
        removed.insert(0, id.to_string());
    }
    assert_eq!(trash(&workspace), removed);

    // Another handle of the log, and one that reads a checkpoint, agree.
    workspace.flush().unwrap();
    drop(workspace);
    let workspace = Workspace::open(store, options()).unwrap();
    assert_eq!(trash(&workspace), removed);
    let last = workspace.trash().list().unwrap().remove(0);
    workspace.trash().restore(&last.id, None).unwrap();
    assert_eq!(cat(&workspace, "/a.txt"), "content 19");
    let history = workspace.history();
    let removals = history.changes(&at("/")).unwrap().map(Result::unwrap);
    let removals = removals.filter(|entry| entry.change.as_str() == "deleted");
    let removals: Vec<String> = removals.map(|entry| entry.id.to_string()).collect();
    assert_eq!(removals, removed[1..]);
}
