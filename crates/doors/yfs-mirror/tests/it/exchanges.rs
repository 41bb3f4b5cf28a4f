//! Programs that exchange directories on disk, and the guard against mass deletions.

use std::{fs, path::Path, time::Duration};

use yfs_mirror::{Mirror, MirrorError, MirrorOptions, NoticeReason};

use crate::support::Pair;

/// A pass sees one half of the exchange: the first directory is gone, and the second one has its
/// name.
#[test]
fn directories_that_exchange_their_names_are_not_deleted() {
    let mut pair = Pair::apart();
    pair.options.grace = Duration::from_secs(3_600);
    pair.start();
    for number in 0..12 {
        pair.put(&format!("a/{number}.txt"), format!("a {number}\n"));
        pair.put(&format!("b/{number}.txt"), format!("b {number}\n"));
    }
    pair.check();
    let (a, b, file) = (pair.id("/a"), pair.id("/b"), pair.id("/a/7.txt"));
    let outside = tempfile::tempdir_in(pair.directory.path().parent().unwrap()).unwrap();
    fs::rename(pair.at("a"), outside.path().join("a")).unwrap();
    fs::rename(pair.at("b"), pair.at("a")).unwrap();
    pair.put("seen", "the exchange was seen\n");
    pair.wait("a pass", |pair| pair.read("/seen") == "the exchange was seen\n");
    fs::rename(outside.path().join("a"), pair.at("b")).unwrap();
    let report = pair.check();
    assert_eq!((pair.id("/a"), pair.id("/b"), pair.id("/b/7.txt")), (b, a, file));
    assert_eq!(report.to_workspace.deleted, 0, "{report:?}");
    assert!(pair.workspace.trash().list().unwrap().is_empty());
}

/// A directory has the name of another one that is missing and may appear elsewhere, so its move
/// waits. Then a file takes its place on disk. The temporary name under which the mirror keeps the
/// directory in mind stays out of the workspace.
#[test]
fn a_directory_whose_move_waits_brings_no_temporary_name_to_the_workspace() {
    let mut pair = Pair::apart();
    pair.options.grace = Duration::from_secs(3_600);
    pair.start();
    for number in 0..12 {
        pair.put(&format!("c/{number}.txt"), format!("{number}\n"));
    }
    pair.put("a/one.txt", "one\n");
    pair.put("b/two.txt", "two\n");
    pair.check();
    fs::remove_dir_all(pair.at("b")).unwrap();
    fs::rename(pair.at("a"), pair.at("b")).unwrap();
    pair.put("seen", "the rename was seen\n");
    pair.wait("a pass", |pair| pair.read("/seen") == "the rename was seen\n");
    fs::remove_dir_all(pair.at("b")).unwrap();
    pair.put("b", "a file\n");
    for number in 0..3 {
        pair.put("seen", format!("{number}\n"));
        pair.wait("a pass", |pair| pair.read("/seen") == format!("{number}\n"));
        let names: Vec<String> = pair.tree().into_keys().collect();
        assert!(names.iter().all(|name| !name.contains(".yfs-tmp-")), "{names:?}");
    }
    pair.stop();
    pair.options = MirrorOptions::default();
    pair.start();
    pair.check();
    assert_eq!(pair.read("/b"), "a file\n");
}

/// The directory that moves is below the one that is deleted.
#[test]
fn a_directory_that_takes_the_place_of_the_one_above_it_keeps_its_files() {
    let pair = Pair::new();
    for number in 0..12 {
        pair.put(&format!("a/b/{number}.txt"), format!("{number}\n"));
    }
    pair.put("a/other.txt", "other\n");
    pair.check();
    let file = pair.id("/a/b/7.txt");
    fs::rename(pair.at("a/b"), pair.at("moving")).unwrap();
    fs::remove_dir_all(pair.at("a")).unwrap();
    fs::rename(pair.at("moving"), pair.at("a")).unwrap();
    pair.check();
    assert_eq!((pair.id("/a/7.txt"), pair.text("a/7.txt")), (file, "7\n".to_owned()));
    assert_eq!(pair.tree().len(), 13);
}

fn twenty_files() -> Pair {
    let pair = Pair::new();
    for number in 0..20 {
        pair.put(&format!("dir/{number}.txt"), format!("{number}\n"));
    }
    pair.check();
    pair
}

fn n_files(pair: &Pair, dir: &str) -> usize {
    fs::read_dir(pair.at(dir)).map_or(0, Iterator::count)
}

#[test]
fn a_running_mirror_asks_before_a_mass_deletion_and_goes_on() {
    let mut pair = twenty_files();
    let directory = pair.directory.path().to_owned();
    assert!(!Mirror::confirm_deletions(&directory).unwrap(), "nothing is to be confirmed");
    pair.rm("/dir");
    let refused = pair.run(pair.mirror.as_ref().unwrap().settled()).unwrap_err();
    assert!(
        matches!(refused, MirrorError::MassDeletion { n_deleted: 20, n_files: 20 }),
        "{refused:?}"
    );
    let pending = Mirror::pending_deletions(&directory).unwrap();
    assert_eq!(pending.map(|pending| (pending.n_deleted, pending.n_files)), Some((20, 20)));
    assert_eq!(n_files(&pair, "dir"), 20);

    // What is saved in the directory still reaches the workspace.
    pair.put("meanwhile.txt", "meanwhile\n");
    pair.wait("an import", |pair| pair.read("/meanwhile.txt") == "meanwhile\n");
    let report = pair.run(pair.mirror.as_ref().unwrap().report()).unwrap();
    assert!(
        matches!(report.skipped[Path::new(".")], NoticeReason::MassDeletion { n_deleted: 20, .. }),
        "{report:?}"
    );

    // A restart asks again.
    pair.stop();
    pair.start();
    pair.run(pair.mirror.as_ref().unwrap().settled()).unwrap_err();
    assert_eq!(n_files(&pair, "dir"), 20);
    assert!(Mirror::confirm_deletions(&directory).unwrap());
    pair.wait("the deletion", |pair| n_files(pair, "dir") == 0);
    let report = pair.check();
    assert!(!report.skipped.contains_key(Path::new(".")), "{report:?}");
    assert_eq!(Mirror::pending_deletions(&directory).unwrap().map(|_| ()), None);
    assert!(!Mirror::confirm_deletions(&directory).unwrap(), "it was for one deletion");
}

#[test]
fn a_mass_deletion_that_is_undone_needs_no_answer() {
    let pair = twenty_files();
    pair.rm("/dir");
    pair.run(pair.mirror.as_ref().unwrap().settled()).unwrap_err();
    let trash = pair.workspace.trash().list().unwrap();
    pair.workspace.trash().restore(&trash[0].id, None).unwrap();
    let report = pair.check();
    assert_eq!((n_files(&pair, "dir"), report.skipped.len()), (20, 0), "{report:?}");
    assert!(Mirror::pending_deletions(pair.directory.path()).unwrap().is_none());
}

/// A program that copies files and deletes the originals moves them, and so does one that replaces
/// files under other ids.
#[test]
fn files_whose_contents_are_elsewhere_do_not_count_as_deleted() {
    let mut pair = twenty_files();
    pair.stop();
    for number in 0..20 {
        pair.write(&format!("/elsewhere/{number}.txt"), format!("{number}\n"));
    }
    pair.rm("/dir");
    pair.start();
    pair.check();
    assert_eq!((n_files(&pair, "elsewhere"), n_files(&pair, "dir")), (20, 0));
}
