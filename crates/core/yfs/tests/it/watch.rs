//! Cursors: positions in the log of changes that outlive the workspace that gave them.

use std::sync::Arc;

use crate::support::handles::{append, at, now, put};
use expect_test::{Expect, expect};
use yfs::{Workspace, WorkspaceOptions};
use yfs_store::{MemoryStore, Store};
use yfs_vfs::{
    ChangeCursor, ChangeKind, ChangesOptions, FileChange, FileSystem, MoveOptions, RemoveOptions,
};

fn options() -> WorkspaceOptions {
    WorkspaceOptions { follow: false, ..WorkspaceOptions::default() }
}

fn open(store: &Arc<MemoryStore>) -> Workspace {
    Workspace::open(store.clone() as Arc<dyn Store>, options()).expect("it holds a workspace")
}

fn make() -> (Arc<MemoryStore>, Workspace) {
    let store = Arc::new(MemoryStore::new());
    let workspace = Workspace::create(store.clone() as Arc<dyn Store>, options());
    let workspace = workspace.expect("a workspace");
    (store, workspace)
}

fn cursor(workspace: &Workspace) -> ChangeCursor {
    now(workspace.fs().cursor()).expect("a cursor")
}

fn shown(change: &FileChange) -> String {
    let path = &change.path;
    match &change.kind {
        ChangeKind::Created => format!("+{path}"),
        ChangeKind::Removed => format!("-{path}"),
        ChangeKind::Moved { from } => format!("{from}>{path}"),
        _ => format!("{path}"),
    }
}

/// Checks the changes that a workspace returns since a cursor, in any order, and returns the next
/// one.
fn check(workspace: &Workspace, since: &ChangeCursor, expected: Expect) -> ChangeCursor {
    let changes = now(workspace.fs().changes(since, &ChangesOptions::default()));
    let changes = changes.expect("a cursor that counts");
    let mut reported: Vec<String> = changes.events.iter().map(shown).collect();
    reported.sort_unstable();
    expected.assert_eq(&reported.join(" "));
    changes.next
}

#[test]
fn a_cursor_goes_on_in_a_workspace_that_was_opened_again() {
    let (store, first) = make();
    put(&first, "/seen", "x");
    let start = cursor(&first);
    put(&first, "/a", "1");
    let known = check(&first, &start, expect!["+/a"]);
    put(&first, "/b", "2");
    first.close().unwrap();

    let second = open(&store);
    append(&second, "/a", "more");
    put(&second, "/b", "changed before it moves");
    let moves = MoveOptions::default();
    now(second.fs().mv(&at("/b"), &at("/d/c"), &moves)).unwrap();
    now(second.fs().rm(&at("/seen"), &RemoveOptions::default())).unwrap();
    let next = check(&second, &known, expect!["+/b +/d -/seen /a /b>/d/c"]);
    check(&second, &next, expect![""]);
    put(&second, "/e", "3");
    let next = check(&second, &next, expect!["+/e"]);
    // The first cursor is still valid, and everything is replayed.
    check(&second, &start, expect!["+/a +/b +/d +/e -/seen /b>/d/c"]);
    // The replay for one caller is reused for another, from its own position.
    check(&second, &known, expect!["+/b +/d +/e -/seen /a /b>/d/c"]);
    second.close().unwrap();
    let third = open(&store);
    // Sizes and times were written to their rows when the second handle was closed.
    check(&third, &next, expect!["/a /d/c"]);
}

#[test]
fn a_cursor_is_lost_where_nothing_tells_what_came_since() {
    let (store, workspace) = make();
    put(&workspace, "/a", "1");
    let old = cursor(&workspace);
    put(&workspace, "/b", "2");
    let other = cursor(&make().1);
    let is_lost = |workspace: &Workspace, cursor: &ChangeCursor| {
        let changes = now(workspace.fs().changes(cursor, &ChangesOptions::default()));
        changes.is_err_and(|error| error.is_cursor_lost())
    };
    assert!(is_lost(&workspace, &ChangeCursor::new("nonsense")));
    assert!(is_lost(&workspace, &other));
    let from_the_future = old.as_str().rsplit_once('.').unwrap().0.to_owned() + ".999999";
    assert!(is_lost(&workspace, &ChangeCursor::new(from_the_future.replace('-', "0-"))));
    workspace.maintenance().compact(&mut |_, _| ()).unwrap();
    workspace.close().unwrap();
    assert!(is_lost(&open(&store), &old));
}
