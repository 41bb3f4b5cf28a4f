//! A directory and a workspace that both have content when they first meet.

use std::{fs, sync::Arc};

use yfs::{ImportOptions, Workspace, WorkspaceOptions};
use yfs_engine::path::VPath;
use yfs_mirror::{Mirror, MirrorOptions, MirrorReport};
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

/// The text of a directory that became a clone replaced that of all others.
#[test]
fn a_clone_keeps_the_text_of_the_directory_and_that_of_the_others() {
    let mut pair = Pair::apart();
    pair.options.keep_both = true;
    for (name, mine, theirs) in
        [("same.txt", "same\n", "same\n"), ("plan.md", "mine\n", "theirs\n"), ("x", "1\n", "2\n")]
    {
        pair.put(name, mine);
        pair.write(&format!("/{name}"), theirs);
    }
    pair.write("/old.txt", "one\n");
    pair.workspace.history().name_version(&VPath::parse("/old.txt").unwrap(), "first").unwrap();
    pair.write("/old.txt", "one\ntwo\n");
    pair.put("old.txt", "one\n");
    let id = pair.id("/plan.md");
    pair.start();
    let report = pair.check();
    assert_eq!(report.to_directory.deleted, 0);
    let texts = ["same.txt", "plan.md", "plan (1).md", "x", "x (1)", "old.txt"];
    assert_eq!(
        texts.map(|name| pair.text(name)),
        ["same\n", "theirs\n", "mine\n", "2\n", "1\n", "one\ntwo\n"]
    );
    assert_eq!((pair.id("/plan.md"), pair.tree().len()), (id, 6));
    assert_eq!(pair.versions("plan.md"), ["theirs\n"]);
    let mut named: Vec<String> =
        report.notices.iter().map(|notice| notice.path.display().to_string()).collect();
    named.sort();
    assert_eq!(named, ["plan.md", "x"]);
    pair.stop();
    pair.start();
    assert_eq!(pair.check().to_workspace, Default::default());
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

/// The two names of `é.txt` that Unicode takes for one: composed and decomposed.
const TWINS: [&str; 2] = ["\u{e9}.txt", "e\u{301}.txt"];

/// Synchronizes once; a mirror that does not end fails the test.
fn once(pair: &Pair) -> MirrorReport {
    let (workspace, directory) = (pair.workspace.clone(), pair.directory.path().to_owned());
    let (sender, receiver) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        sender.send(Mirror::once(&workspace, &directory, MirrorOptions::default())).ok();
    });
    receiver.recv_timeout(std::time::Duration::from_secs(120)).expect("it ends").unwrap()
}

fn check_twins(pair: &Pair, [composed, decomposed]: [&str; 2]) {
    let tree = pair.tree();
    let names: Vec<&str> = tree.keys().map(String::as_str).collect();
    assert_eq!(names, ["%-e%CC%81.txt", TWINS[0]]);
    assert_eq!(pair.read("/\u{e9}.txt"), composed);
    assert_eq!(pair.read("/%-e%CC%81.txt"), decomposed);
    assert_eq!(pair.text(TWINS[0]), composed);
    assert_eq!(pair.text(TWINS[1]), decomposed);
    assert_eq!(fs::read_dir(pair.directory.path()).unwrap().count(), 3, "with .yfs");
}

/// Imports and mirrors gave the spelling to different sides, and the mirror renamed for ever.
#[test]
fn of_two_names_that_unicode_takes_for_one_the_composed_one_keeps_it() {
    for round in 0..6 {
        let pair = Pair::apart();
        let [first, second] = if round % 2 == 0 { [0, 1] } else { [1, 0] };
        let contents = ["composed", "decomposed"];
        pair.put(TWINS[first], contents[first]);
        pair.put(TWINS[second], contents[second]);
        let import = || {
            let (from, to) = (pair.directory.path(), VPath::root());
            pair.workspace.import(from, &to, &Default::default(), &|_| ()).unwrap()
        };
        if round < 3 {
            import();
        }
        let report = once(&pair);
        assert!(report.notices.is_empty() && report.skipped.is_empty(), "{report:?}");
        check_twins(&pair, contents);
        let again = import();
        assert_eq!((again.n_created, again.n_updated), (0, 0), "{again:?}");
        let report = once(&pair);
        assert_eq!((report.to_workspace, report.to_directory), Default::default());
        check_twins(&pair, contents);
    }
}

/// The decomposed name has the plain name in the workspace until the composed one appears.
#[test]
fn a_composed_name_takes_the_name_from_a_decomposed_one_that_was_there_first() {
    let mut pair = Pair::new();
    pair.put(TWINS[1], "decomposed");
    pair.settle();
    assert_eq!(pair.read("/\u{e9}.txt"), "decomposed");
    pair.put(TWINS[0], "composed");
    pair.settle();
    check_twins(&pair, ["composed", "decomposed"]);
    pair.stop();
    // While no mirror runs, it is the same.
    fs::remove_file(pair.at(TWINS[0])).unwrap();
    once(&pair);
    pair.put(TWINS[0], "composed again");
    once(&pair);
    check_twins(&pair, ["composed again", "decomposed"]);
}

/// A workspace that an earlier version left with three names for the two files.
#[test]
fn names_that_contend_for_one_on_disk_end_and_leave_no_temporary_file() {
    let pair = Pair::apart();
    pair.put(TWINS[0], "composed");
    pair.put(TWINS[1], "decomposed");
    for (name, text) in [
        ("/%-%C3%A9.txt", "composed"),
        ("/%-e%CC%81.txt", "decomposed"),
        ("/\u{e9}.txt", "decomposed"),
    ] {
        pair.write(name, text);
    }
    once(&pair);
    let report = once(&pair);
    assert_eq!((report.to_workspace, report.to_directory), Default::default());
    let temporary = |name: &String| name.contains("yfs-tmp");
    assert!(!pair.disk().keys().any(temporary), "{:?}", pair.disk());
}
