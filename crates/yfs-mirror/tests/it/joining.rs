//! A directory and a workspace that both have content when they first meet.

use std::sync::Arc;

use yfs::{ImportOptions, Workspace, WorkspaceOptions};
use yfs_engine::path::VPath;
use yfs_mirror::Mirror;
use yfs_store::MemoryStore;

use crate::support::Pair;

#[test]
fn nothing_of_the_directory_is_overwritten_or_deleted() {
    let mut pair = Pair::apart();
    pair.put("same.txt", "same\n");
    pair.put("local/only.txt", "local\n");
    pair.put("differs.txt", "mine\n");
    pair.put("kind", "a file here\n");
    pair.write("/same.txt", "same\n");
    pair.write("/remote/only.txt", "remote\n");
    pair.write("/differs.txt", "theirs\n");
    pair.write("/kind/in.txt", "a directory there\n");
    let id = pair.id("/differs.txt");
    pair.start();
    let report = pair.check();
    assert_eq!(report.n_matched, 1);
    assert_eq!(report.to_directory.deleted + report.to_directory.written, 0);
    assert_eq!(pair.text("local/only.txt"), "local\n");
    assert_eq!(pair.text("differs.txt"), "mine\n");
    assert_eq!(pair.text("remote/only.txt"), "remote\n");
    assert_eq!(
        (pair.text("kind (1)"), pair.text("kind/in.txt")),
        ("a file here\n".into(), "a directory there\n".into())
    );
    // The workspace's text is a version of the same file.
    assert_eq!(pair.id("/differs.txt"), id);
    let versions =
        pair.workspace.history().versions(&VPath::parse("/differs.txt").unwrap()).unwrap();
    assert_eq!(versions.len(), 2);
    let first = pair
        .workspace
        .history()
        .version_content(&VPath::parse("/differs.txt").unwrap(), 1)
        .unwrap();
    assert_eq!(&first[..], b"theirs\n");
}

/// A server imports a directory, and people may type before its mirror first scans the disk.
#[test]
fn what_is_typed_into_an_imported_empty_file_is_not_deleted() {
    let mut pair = Pair::apart();
    pair.put("empty.txt", "");
    pair.put("line.txt", "a line\n");
    pair.workspace
        .import(pair.directory.path(), &VPath::root(), &ImportOptions::default(), &|_| ())
        .unwrap();
    pair.write("/empty.txt", "typed\n");
    pair.write("/line.txt", "a line\ntyped\n");
    pair.start();
    pair.check();
    assert_eq!(pair.text("empty.txt"), "typed\n");
    assert_eq!(pair.text("line.txt"), "a line\ntyped\n");
}

#[test]
fn two_who_brought_the_same_checkout_have_each_file_once() {
    let mut one = Pair::apart();
    for number in 0..50 {
        one.put(&format!("d{}/f{number}.md", number % 5), format!("# File {number}\n"));
    }
    one.workspace
        .import(one.directory.path(), &VPath::root(), &ImportOptions::default(), &|_| ())
        .unwrap();
    let before = one.tree();
    one.start();
    let report = one.check();
    assert_eq!((one.tree(), report.n_matched), (before, 55));
    assert_eq!(report.to_workspace, Default::default());
    assert_eq!(report.to_directory, Default::default());
}

/// An outdated copy is not an edit: the workspace's text stays, and the copy is updated.
#[test]
fn an_earlier_state_is_brought_up_to_date() {
    let mut pair = Pair::apart();
    pair.write("/a.txt", "one\n");
    pair.workspace.history().name_version(&VPath::parse("/a.txt").unwrap(), "first").unwrap();
    pair.write("/a.txt", "one\ntwo\n");
    pair.put("a.txt", "one\n");
    pair.start();
    pair.check();
    assert_eq!(pair.text("a.txt"), "one\ntwo\n");
}

#[test]
fn two_files_of_one_name_that_are_made_at_once_both_stay() {
    let pair = Pair::new();
    pair.put("seen.txt", "seen\n");
    pair.check();
    let mut pair = pair;
    pair.stop();
    pair.put("new.txt", "mine\n");
    pair.write("/new.txt", "theirs\n");
    pair.start();
    pair.check();
    assert_eq!(
        (pair.text("new.txt"), pair.text("new (1).txt")),
        ("theirs\n".into(), "mine\n".into())
    );
}

#[test]
fn a_directory_belongs_to_one_mirror_and_one_workspace() {
    let pair = Pair::new();
    pair.settle();
    let again = Mirror::once(&pair.workspace, pair.directory.path(), Default::default());
    assert!(matches!(again, Err(yfs_mirror::MirrorError::Busy(_))));
    let mut pair = pair;
    pair.stop();
    let other =
        Workspace::create(Arc::new(MemoryStore::new()), WorkspaceOptions::default()).unwrap();
    let again = Mirror::once(&other, pair.directory.path(), Default::default());
    assert!(matches!(again, Err(yfs_mirror::MirrorError::OtherWorkspace { .. })));
}
