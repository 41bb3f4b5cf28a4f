//! Stores that go back in time or on from a copy, and disks that are full or cannot be written.

use std::{fs, path::Path};

use rand::{SeedableRng, rngs::ChaCha8Rng};
use yfs_tests::answers::{
    StoreCopy, answers_of, assert_derived_files_say_nothing_else, assert_same, derived_directory,
};

use super::{Disk, are_sound, open, play_some};

/// Puts the files of a store in the place of those of another, but not the derived ones.
fn put_back(from: &StoreCopy, to: &Path) {
    for end in ["", "-wal", "-shm"] {
        let name = |file: &Path| format!("{}{end}", file.display());
        fs::remove_file(name(to)).ok();
        if Path::new(&name(&from.file())).exists() {
            fs::copy(name(&from.file()), name(to)).expect("copied");
        }
    }
}

/// The store is an earlier one, and its derived files are of a history that did not happen. Then
/// it gets as many other records.
#[test]
fn a_store_that_went_back_in_time_ignores_newer_derived_files() {
    let disk = Disk::sample(21);
    let mut rng = ChaCha8Rng::seed_from_u64(21);
    for round in 0..6 {
        let earlier = StoreCopy::without_derived(&disk.file());
        play_some(&disk.file(), &mut rng, 10);
        put_back(&earlier, &disk.file());
        assert_derived_files_say_nothing_else(&disk.file(), &format!("back, {round}"));
        play_some(&disk.file(), &mut rng, 10 + round);
        assert_derived_files_say_nothing_else(&disk.file(), &format!("on, {round}"));
        assert!(are_sound(&disk.file()));
    }
}

/// A power cut takes what was written last, but not the derived files, which are synced apart.
#[test]
fn a_store_that_lost_the_end_of_its_log_ignores_newer_derived_files() {
    let disk = Disk::sample(22);
    let mut rng = ChaCha8Rng::seed_from_u64(22);
    for round in 0..8 {
        // Held open, so that the log is not copied to the file when the other is closed.
        let held = yfs::Workspace::open_at(&disk.file(), yfs::WorkspaceOptions::reading());
        play_some(&disk.file(), &mut rng, 10);
        let copy = StoreCopy::with_derived(&disk.file());
        held.expect("it opens").close().expect("it closes");
        let wal = format!("{}-wal", copy.file().display());
        let n_bytes = fs::metadata(&wal).expect("a log of SQLite").len();
        let wal_file = fs::OpenOptions::new().write(true).open(&wal).expect("it opens");
        wal_file.set_len(n_bytes * round / 8).expect("cut");
        assert_derived_files_say_nothing_else(&copy.file(), &format!("cut to {round}/8"));
        play_some(&copy.file(), &mut rng, 10);
        assert_derived_files_say_nothing_else(&copy.file(), &format!("on from {round}/8"));
    }
}

/// Two copies of a store go on apart, and one gets the derived files of the other.
#[test]
fn copies_of_a_store_do_not_take_the_derived_files_of_each_other() {
    let disk = Disk::sample(23);
    let mut rng = ChaCha8Rng::seed_from_u64(23);
    let twin = StoreCopy::with_derived(&disk.file());
    for round in 0..4 {
        for file in [disk.file(), twin.file()] {
            play_some(&file, &mut rng, 8);
            assert_derived_files_say_nothing_else(&file, &format!("apart, {round}"));
        }
        let (from, to) = (derived_directory(&disk.file()), derived_directory(&twin.file()));
        fs::remove_dir_all(&to).expect("removed");
        copy_directory(&from, &to);
        assert_derived_files_say_nothing_else(&twin.file(), &format!("exchanged, {round}"));
    }
}

fn copy_directory(from: &Path, to: &Path) {
    fs::create_dir(to).expect("created");
    for entry in fs::read_dir(from).expect("listed") {
        let path = entry.expect("listed").path();
        let target = to.join(path.file_name().expect("a name"));
        if path.is_dir() {
            copy_directory(&path, &target);
        } else {
            fs::copy(&path, &target).expect("copied");
        }
    }
}

/// Calls read and write although no derived file can be written.
#[test]
fn a_derived_directory_that_cannot_be_written_refuses_no_call() {
    let disk = Disk::sample(24);
    let mut rng = ChaCha8Rng::seed_from_u64(24);
    let derived = derived_directory(&disk.file());
    // A file where the directory was cannot be written to, also by the superuser.
    fs::remove_dir_all(&derived).expect("removed");
    fs::write(&derived, b"in the way").expect("written");
    let before = answers_of(&disk.file());
    let mut player = open(&disk.file());
    player.play("write /late = written|").expect("it writes");
    player.play("compact").expect("it compacts");
    player.workspace.close().expect("it closes");
    play_some(&disk.file(), &mut rng, 10);
    let after = answers_of(&disk.file());
    assert_ne!(before, after);
    fs::remove_file(&derived).expect("removed");
    assert_same(&answers_of(&disk.file()), &after, "without what was in the way");
    play_some(&disk.file(), &mut rng, 10);
    assert!(are_sound(&disk.file()));
    assert_derived_files_say_nothing_else(&disk.file(), "written again");
}
