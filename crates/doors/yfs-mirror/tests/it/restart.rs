//! Changes made while no mirror runs.

use std::fs;

use crate::support::Pair;

#[test]
fn both_sides_go_on_while_no_mirror_runs() {
    let mut pair = Pair::new();
    for name in ["merged", "edited", "renamed", "deleted", "trashed", "moved"] {
        pair.put(&format!("{name}.txt"), format!("{name}\none\ntwo\nthree\n"));
    }
    pair.put("dir/inside.txt", "inside\n");
    pair.check();
    let ids: Vec<String> = ["/renamed.txt", "/moved.txt", "/dir/inside.txt", "/merged.txt"]
        .map(|path| pair.id(path))
        .into();
    pair.stop();

    pair.put("merged.txt", "merged\none\ndisk\ntwo\nthree\n");
    pair.write("/merged.txt", "merged\none\ntwo\nthree\nworkspace\n");
    pair.put("edited.txt", "edited on disk\n");
    fs::rename(pair.at("renamed.txt"), pair.at("other.txt")).unwrap();
    fs::remove_file(pair.at("deleted.txt")).unwrap();
    pair.rm("/trashed.txt");
    pair.mv("/moved.txt", "/far/moved.txt");
    fs::rename(pair.at("dir"), pair.at("directory")).unwrap();
    pair.put("directory/new.txt", "new\n");

    pair.start();
    pair.check();
    let now: Vec<String> = ["/other.txt", "/far/moved.txt", "/directory/inside.txt", "/merged.txt"]
        .map(|path| pair.id(path))
        .into();
    assert_eq!(now, ids);
    assert_eq!(pair.text("merged.txt"), "merged\none\ndisk\ntwo\nthree\nworkspace\n");
    assert_eq!(pair.read("/edited.txt"), "edited on disk\n");
    assert_eq!(
        (pair.read("/deleted.txt"), pair.at("trashed.txt").exists()),
        ("(ENOENT)".into(), false)
    );
    assert_eq!(pair.text("far/moved.txt"), "moved\none\ntwo\nthree\n");
}

#[test]
fn a_second_start_finds_nothing_to_do() {
    let mut pair = Pair::new();
    pair.put("a/b.txt", "b\n");
    pair.write("/c/d.md", "# D\n");
    pair.check();
    pair.stop();
    pair.start();
    let report = pair.check();
    assert_eq!(report.to_workspace, Default::default());
    assert_eq!(report.to_directory, Default::default());
}

/// The base of a merge is found even if the log was compacted meanwhile.
#[test]
fn the_base_outlives_the_log() {
    let mut pair = Pair::new();
    pair.put("list.txt", "one\ntwo\nthree\n");
    pair.check();
    pair.stop();
    for number in 0..200 {
        let text = pair.read("/list.txt");
        pair.write("/list.txt", format!("{text}{number}\n"));
    }
    pair.workspace.maintenance().compact(&mut |_, _| ()).unwrap();
    pair.put("list.txt", "zero\none\ntwo\nthree\n");
    pair.start();
    pair.check();
    let text = pair.text("list.txt");
    assert!(text.starts_with("zero\none\ntwo\nthree\n0\n1\n") && text.ends_with("199\n"), "{text}");
}

#[test]
fn what_was_written_in_a_directory_that_stepped_aside_is_news() {
    let mut pair = Pair::new();
    pair.put("d/one.txt", "one\n");
    pair.settle();
    let id = pair.id("/d");
    pair.stop();
    pair.rm("/d");
    pair.write("/d/two.txt", "two\n");
    // A mirror that was killed left this, while a program works in the directory.
    let aside = format!(".yfs-tmp-{id}");
    fs::rename(pair.at("d"), pair.at(&aside)).unwrap();
    pair.put(&format!("{aside}/one.txt"), "one\nnews\n");
    pair.start();
    pair.settle();
    pair.check();
    let all: Vec<String> = pair.disk().into_values().collect();
    assert!(all.iter().any(|name| name.contains("news")) && !pair.at(&aside).exists(), "{all:?}");
}

/// Leaves a directory as a mirror does that died when it had moved a file out of the way. A program
/// wrote to the file there, and the workspace deleted it.
fn park_changed_and_deleted() -> Pair {
    let mut pair = Pair::new();
    pair.put("b/a.txt", "one\n");
    pair.check();
    pair.stop();
    let parked = pair.at(&format!("b/.yfs-tmp-{}", pair.id("/b/a.txt")));
    fs::rename(pair.at("b/a.txt"), &parked).unwrap();
    fs::write(&parked, "one\ntwo\n").unwrap();
    pair.rm("/b/a.txt");
    pair
}

#[test]
fn a_parked_file_that_was_deleted_and_changed_returns() {
    let mut pair = park_changed_and_deleted();
    pair.start();
    let report = pair.check();
    assert!(report.skipped.is_empty(), "{report:?}");
    assert_eq!(pair.read("/b/a.txt"), "one\ntwo\n");
}

#[test]
fn a_parked_file_whose_name_was_taken_returns_under_another() {
    let mut pair = park_changed_and_deleted();
    pair.put("b/a.txt", "other\n");
    pair.start();
    let report = pair.check();
    assert!(report.skipped.is_empty(), "{report:?}");
    let texts: Vec<String> = pair.disk().into_values().collect();
    for text in ["one\\ntwo", "other"] {
        assert!(texts.iter().any(|shown| shown.contains(text)), "{texts:?}");
    }
}
