//! The changes of all files, in one list.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;

use crate::support::handles::{at, now, put};
use crate::support::step_clock::{LoadCounter, TestWorkspace};
use yfs::{
    ImportOptions, Workspace, WorkspaceError,
    workspace::{
        change_list::{HistoryChange, HistoryEntry},
        undo::{UndoOutcome, UndoneChanges},
    },
};
use yfs_engine::{actor::Actor, path::VPath};
use yfs_vfs::{FileSystem, FileSystemExt, FsCode, MoveOptions, RemoveOptions, WriteOptions};

fn changes(workspace: &Workspace, below: &str) -> Vec<HistoryEntry> {
    workspace.history().changes(&at(below)).unwrap().map(Result::unwrap).collect()
}

/// Returns the changes as lines.
fn shown(workspace: &Workspace, below: &str) -> String {
    let line = |entry: &HistoryEntry| {
        let actor = entry.actor.as_ref().map_or_else(|| "-".to_owned(), ToString::to_string);
        format!("{} {} {actor} {:?}\n", entry.change.as_str(), entry.path, entry.version)
    };
    changes(workspace, below).iter().map(line).collect()
}

fn path_of(file: usize) -> VPath {
    at(&format!("/d{}/f{file}.txt", file % 3))
}

/// Makes changes of a dozen files, by two actors, and compacts some in between.
fn make_changes(workspace: &Workspace) {
    (0..3).for_each(|n| {
        now(workspace.fs().mkdir(&at(&format!("/d{n}")), &Default::default())).unwrap();
    });
    for step in 0..120_usize {
        let file = step * step % 13;
        let actor: Actor = ["human:ana", "agent:bot"][step % 2].parse().unwrap();
        let text = format!("step {step}\n");
        let fs = workspace.fs_for(actor);
        now(fs.append(&path_of(file), text.into(), &WriteOptions::default())).unwrap();
        if step % 31 == 30 {
            workspace.maintenance().compact(&mut |_, _| ()).unwrap();
        }
    }
}

#[test]
fn changes_of_all_files_are_listed_from_the_last() {
    let (own, workspace) = TestWorkspace::create();
    make_changes(&workspace);
    now(workspace.fs().mv(&path_of(1), &at("/d2/moved.txt"), &MoveOptions::default())).unwrap();
    now(workspace.fs().rm(&path_of(3), &RemoveOptions::default())).unwrap();
    drop(workspace);
    let workspace = own.reopen(&Arc::default());
    let listed = changes(&workspace, "/");
    assert!(listed.is_sorted_by(|a, b| a.at >= b.at), "{listed:?}");
    assert_eq!((listed[0].change, &listed[0].path), (HistoryChange::Deleted, &path_of(3)));
    let mut expected = Vec::new();
    for file in (0..13).filter(|file| *file != 3) {
        let path = if file == 1 { at("/d2/moved.txt") } else { path_of(file) };
        let Ok(versions) = workspace.history().versions(&path) else { continue };
        expected.extend(versions.into_iter().map(|info| (info.at, path.clone(), info.number)));
    }
    let versions = listed.iter().filter(|entry| entry.path != path_of(3));
    let mut versions: Vec<_> =
        versions.filter_map(|entry| Some((entry.at, entry.path.clone(), entry.version?))).collect();
    expected.sort();
    versions.sort();
    assert_eq!(versions, expected);
    assert!(listed.iter().any(|entry| entry.path == path_of(3) && entry.version == Some(1)));
}

#[test]
fn the_last_changes_load_only_what_was_changed_last() {
    let (own, workspace) = TestWorkspace::create();
    (0..50).for_each(|n| put(&workspace, &format!("/f{n}.txt"), "one\n"));
    put(&workspace, "/f7.txt", "two\n");
    drop(workspace);
    let loads = Arc::<LoadCounter>::default();
    let workspace = own.reopen(&loads);
    let mut entries = workspace.history().changes(&VPath::root()).unwrap();
    let last = entries.next().unwrap().unwrap();
    assert_eq!((last.path.as_str(), last.version), ("/f7.txt", Some(2)));
    assert_eq!(entries.next().unwrap().unwrap().path, at("/f49.txt"));
    let n_loaded = loads.count();
    assert!((1..5).contains(&n_loaded), "{n_loaded} documents");
    assert_eq!(entries.count(), 49);
    assert_eq!(loads.count(), 50);
}

#[test]
fn changes_below_a_path_include_what_was_removed_there() {
    let (_own, workspace) = TestWorkspace::create();
    for path in ["/a/x.txt", "/a/b/y.txt", "/c/z.txt", "/ab.txt"] {
        put(&workspace, path, "one\n");
    }
    put(&workspace, "/a/x.txt", "one\ntwo\n");
    let remove = RemoveOptions { recursive: true, force: false };
    now(workspace.fs().rm(&at("/a/b"), &remove)).unwrap();
    now(workspace.fs().rm(&at("/c"), &remove)).unwrap();
    expect_test::expect![[r#"
        deleted /a/b system: None
        edited /a/x.txt system: Some(2)
        created /a/b/y.txt system: Some(1)
        created /a/b system: None
        created /a/x.txt system: Some(1)
        created /a system: None
    "#]]
    .assert_eq(&shown(&workspace, "/a"));
    expect_test::expect![[r#"
        created /c/z.txt system: Some(1)
    "#]]
    .assert_eq(&shown(&workspace, "/c/z.txt"));
    let missing = workspace.history().changes(&at("/nothing")).unwrap_err();
    assert!(matches!(missing, WorkspaceError::Fs(error) if error.code == FsCode::ENOENT));
}

#[test]
fn a_change_has_the_contents_before_and_after_it() {
    let (_own, workspace) = TestWorkspace::create();
    put(&workspace, "/a.txt", "one\n");
    put(&workspace, "/a.txt", "one\ntwo\n");
    now(workspace.fs().rm(&at("/a.txt"), &RemoveOptions::default())).unwrap();
    let contents: Vec<_> = changes(&workspace, "/")
        .iter()
        .map(|entry| workspace.history().contents_of(entry).unwrap())
        .collect();
    let text = |text: &'static str| Some(bytes::Bytes::from_static(text.as_bytes()));
    assert_eq!(
        contents,
        [[None, None], [text("one\n"), text("one\ntwo\n")], [None, text("one\n")]]
    );
}

#[test]
fn what_rows_record_is_in_the_history_and_undone() {
    let (_own, workspace) = TestWorkspace::create();
    let fs = workspace.fs_for("human:ana".parse().unwrap());
    put(&workspace, "/a.txt", "text");
    now(fs.mkdir(&at("/d"), &Default::default())).unwrap();
    let mv = |from: &str, to: &str| now(fs.mv(&at(from), &at(to), &MoveOptions::default()));
    mv("/a.txt", "/b.txt").unwrap();
    mv("/b.txt", "/d/b.txt").unwrap();
    now(fs.chmod(&at("/d/b.txt"), 0o755)).unwrap();
    mv("/d", "/e").unwrap();
    now(fs.symlink("b.txt", &at("/e/link"))).unwrap();
    now(fs.rm(&at("/e"), &RemoveOptions { recursive: true, force: false })).unwrap();
    let removed = changes(&workspace, "/").remove(0);
    assert_eq!(removed.change, HistoryChange::Deleted);
    workspace.trash().restore(&removed.id, None).unwrap();
    let listed = changes(&workspace, "/");
    let paths = |entry: &HistoryEntry| {
        let paths = entry.paths.clone().map(|paths| paths.map(|path| path.to_string()));
        format!("{} {} {paths:?} {:?}", entry.change.as_str(), entry.path, entry.modes)
    };
    let lines: Vec<String> = listed.iter().map(paths).collect();
    assert_eq!(
        lines,
        [
            "restored /e None None",
            "created /e/link None None",
            r#"renamed /e Some(["/d", "/e"]) None"#,
            "mode /e/b.txt None Some([420, 493])",
            r#"moved /e/b.txt Some(["/b.txt", "/e/b.txt"]) None"#,
            r#"renamed /e/b.txt Some(["/a.txt", "/b.txt"]) None"#,
            "created /e None None",
            "created /e/b.txt None None",
        ]
    );
    assert!(listed[1..7].iter().all(|entry| entry.actor == Some("human:ana".parse().unwrap())));

    // The first rename cannot be undone before the move is.
    let undo = |entry: &HistoryEntry| workspace.history().undo(entry);
    let refused = |entry: &HistoryEntry| undo(entry).unwrap_err().to_string();
    assert!(refused(&listed[5]).contains("renamed or moved again since"));
    assert!(refused(&listed[6]).contains("the directory is not empty"));
    assert_eq!(undo(&listed[3]).unwrap(), UndoOutcome::ModeRestored);
    assert_eq!(undo(&listed[4]).unwrap(), UndoOutcome::MovedBack(at("/b.txt")));
    put(&workspace, "/a.txt", "another");
    assert!(refused(&listed[5]).contains("another object has its former path"));
    now(fs.rm(&at("/a.txt"), &RemoveOptions::default())).unwrap();
    assert_eq!(undo(&listed[5]).unwrap(), UndoOutcome::MovedBack(at("/a.txt")));
    assert_eq!(undo(&listed[1]).unwrap(), UndoOutcome::Removed);
    assert_eq!(undo(&listed[6]).unwrap(), UndoOutcome::Removed);
    let back = changes(&workspace, "/a.txt");
    assert!(back.iter().any(|entry| entry.change == HistoryChange::Moved && entry.is_undo()));
    let mut undone = UndoneChanges::default();
    let left = changes(&workspace, "/").into_iter().filter(|entry| !undone.includes(entry));
    let left: Vec<String> = left.map(|entry| paths(&entry)).collect();
    assert_eq!(
        left,
        [
            "deleted /a.txt None None",
            "created /a.txt None None",
            "restored /e None None",
            r#"renamed /e Some(["/d", "/e"]) None"#,
            "created /a.txt None None",
        ]
    );
}

/// What another actor has changed since would have gone to the trash with it.
#[test]
fn what_was_restored_is_not_removed_with_the_work_of_others() {
    let (_own, workspace) = TestWorkspace::create();
    now(workspace.fs().mkdir(&at("/d"), &Default::default())).unwrap();
    put(&workspace, "/d/a.txt", "one");
    now(workspace.fs().rm(&at("/d"), &RemoveOptions { recursive: true, force: false })).unwrap();
    let removal = changes(&workspace, "/").remove(0);
    workspace.trash().restore(&removal.id, None).unwrap();
    let restored = changes(&workspace, "/").remove(0);
    assert_eq!(restored.change, HistoryChange::Restored);
    let bob = workspace.fs_for("agent:bob".parse().unwrap());
    now(bob.append(&at("/d/a.txt"), "two".into(), &WriteOptions::default())).unwrap();
    let refused = workspace.history().undo(&restored).unwrap_err().to_string();
    assert!(refused.contains("others have changed it since"), "{refused}");
    let edit = changes(&workspace, "/d").remove(0);
    workspace.history().undo(&edit).unwrap();
    assert!(workspace.history().undo(&restored).is_ok());
}

#[test]
fn a_copy_has_no_records_of_its_source_and_old_records_are_removed() {
    let (_own, workspace) = TestWorkspace::create();
    let fs = workspace.fs();
    put(&workspace, "/0", "text");
    for n in 0..40 {
        let (from, to) = (at(&format!("/{n}")), at(&format!("/{}", n + 1)));
        now(fs.mv(&from, &to, &MoveOptions::default())).unwrap();
    }
    let renames = |below: &str| {
        let listed = changes(&workspace, below).into_iter();
        listed.filter(|entry| entry.change == HistoryChange::Renamed).count()
    };
    assert_eq!(renames("/40"), 16);
    now(fs.cp(&at("/40"), &at("/copy"), &Default::default())).unwrap();
    assert_eq!(renames("/copy"), 0);
}

#[test]
fn what_a_move_replaces_is_removed_by_its_actor() {
    let (_own, workspace) = TestWorkspace::create();
    let fs = workspace.fs_for("human:ana".parse().unwrap());
    put(&workspace, "/a.txt", "a");
    put(&workspace, "/b.txt", "b");
    now(fs.symlink("a.txt", &at("/link"))).unwrap();
    put(&workspace, "/c.txt", "c");
    now(fs.mv(&at("/a.txt"), &at("/b.txt"), &MoveOptions::default())).unwrap();
    now(fs.mv(&at("/c.txt"), &at("/link"), &MoveOptions::default())).unwrap();
    let removed = changes(&workspace, "/").into_iter();
    let removed: Vec<_> = removed.filter(|entry| entry.change == HistoryChange::Deleted).collect();
    assert_eq!(removed.len(), 2, "the file that was moved over another, and the link");
    assert!(removed.iter().all(|entry| entry.actor == Some("human:ana".parse().unwrap())));
}

/// The versions of the form that a file no longer had came first, so that numbers moved, and a
/// version was restored that a person had not named.
#[test]
fn versions_keep_their_numbers_when_a_file_is_a_text_and_a_blob_in_turn() {
    let (_own, workspace) = TestWorkspace::create();
    let path = at("/g");
    let contents: [&[u8]; 7] = [b"one", b"two", b"x\0y", b"x\0z", b"three", b"w\0w", b"four"];
    let history = workspace.history();
    for (n_written, content) in (1..).zip(contents) {
        let data = bytes::Bytes::from_static(content);
        now(workspace.fs().write(&path, data, &WriteOptions::default())).expect("written");
        let versions = history.versions(&path).expect("listed");
        let numbers: Vec<u64> = versions.iter().map(|version| version.number).collect();
        assert_eq!(numbers, (1..=n_written).collect::<Vec<u64>>());
        assert!(versions.is_sorted_by_key(|version| version.at), "{versions:?}");
        assert!(versions.last().is_some_and(|version| version.current));
        for (number, content) in (1..=n_written).zip(contents) {
            let then = history.version_content(&path, number).expect("read");
            assert_eq!(then, content, "version {number} of {n_written}");
        }
    }
    let blamed = history.blame(&path).expect("blamed");
    assert!(blamed.iter().all(|line| line.shares.iter().all(|share| share.version == Some(7))));
}

/// The number of files of a large import; more than are written in one transaction.
const N_IMPORTED: usize = 1200;

/// Makes a workspace with changes before, beside and after a large import.
fn with_large_import() -> (TestWorkspace, Workspace) {
    let (own, workspace) = TestWorkspace::create();
    (0..5).for_each(|n| put(&workspace, &format!("/before{n}.txt"), "one\n"));
    let from = tempfile::tempdir().unwrap();
    for n in 0..N_IMPORTED {
        let directory = from.path().join(format!("d{}", n % 12));
        std::fs::create_dir_all(&directory).unwrap();
        std::fs::write(directory.join(format!("f{n}.txt")), format!("file {n}\n")).unwrap();
    }
    let options = ImportOptions { n_threads: 1, ..ImportOptions::default() };
    workspace.import(from.path(), &at("/in"), &options, &|_| ()).unwrap();
    (0..5).for_each(|n| put(&workspace, &format!("/after{n}.txt"), "one\n"));
    put(&workspace, "/in/d3/f3.txt", "edited\n");
    (own, workspace)
}

#[test]
fn the_last_changes_after_a_large_import_read_no_more_files_than_are_listed() {
    let (own, workspace) = with_large_import();
    drop(workspace);
    let loads = Arc::<LoadCounter>::default();
    let workspace = own.reopen(&loads);
    let entries = workspace.history().changes(&VPath::root()).unwrap();
    let listed: Vec<HistoryEntry> = entries.take(20).map(Result::unwrap).collect();
    assert_eq!(listed.iter().filter(|entry| entry.import_source().is_some()).count(), 14);
    assert!(loads.count() <= 22, "{} documents", loads.count());
}

#[test]
fn an_import_that_is_shown_as_one_change_is_not_read() {
    let (own, workspace) = with_large_import();
    let all = changes(&workspace, "/");
    drop(workspace);
    let loads = Arc::<LoadCounter>::default();
    let workspace = own.reopen(&loads);
    let imports = workspace.history().noted_imports().unwrap();
    let [import] = imports.as_slice() else { panic!("{imports:?}") };
    assert_eq!(import.n_files, N_IMPORTED as u64);
    let mut entries = workspace.history().changes(&VPath::root()).unwrap();
    entries.skip_imports(&imports).unwrap();
    let listed: Vec<HistoryEntry> = entries.map(Result::unwrap).collect();
    assert!(loads.count() <= 12, "{} documents", loads.count());
    // What was edited since, and directories, are listed.
    let is_left = |entry: &&HistoryEntry| {
        let is_file = entry.version.is_some() && entry.path != at("/in/d3/f3.txt");
        !is_file || entry.label.as_ref() != Some(&import.label)
    };
    let expected: Vec<HistoryEntry> = all.iter().filter(is_left).cloned().collect();
    assert_eq!(listed, expected);
    assert!(all.iter().all(|entry| entry.import_source().is_none() || entry.at <= import.at));
    let n_made = all.iter().filter(|entry| entry.label.as_ref() == Some(&import.label)).count();
    assert_eq!(n_made, N_IMPORTED + 13);
}

#[test]
fn files_of_an_import_that_were_compacted_are_read() {
    let (_own, workspace) = with_large_import();
    (0..40).for_each(|n| put(&workspace, "/in/d5/f5.txt", &format!("edit {n}\n")));
    let all = changes(&workspace, "/");
    workspace.maintenance().compact(&mut |_, _| ()).unwrap();
    let sorted = |mut entries: Vec<HistoryEntry>| {
        entries.sort_by(|a, b| (&a.id, a.version, a.change).cmp(&(&b.id, b.version, b.change)));
        entries
    };
    assert_eq!(sorted(changes(&workspace, "/")), sorted(all));
    let imports = workspace.history().noted_imports().unwrap();
    let mut entries = workspace.history().changes(&VPath::root()).unwrap();
    entries.skip_imports(&imports).unwrap();
    let is_of_file = |entry: &HistoryEntry| entry.path == at("/in/d5/f5.txt");
    let left = entries.map(Result::unwrap).filter(is_of_file).count();
    assert_eq!(left, 41);
}
