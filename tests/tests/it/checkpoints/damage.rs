//! Derived files with random damage.

use std::{
    fs,
    path::{Path, PathBuf},
};

use rand::{Rng, RngExt, SeedableRng, rngs::ChaCha8Rng, seq::IndexedRandom};
use yfs_tests::answers::{StoreCopy, answers_of, assert_same, derived_files};

use yfs_tests::script::Player;

use super::{Disk, any_call, are_sound, number, open, play_some};

/// The kinds of damage.
const KINDS: [&str; 9] =
    ["flip", "cut", "zeros", "delete", "foreign", "older", "swap", "version", "noise"];

/// However its derived files are damaged, a workspace gives the same answers, takes the same
/// writes, and has sound derived files again when it is closed.
#[test]
fn damaged_derived_files_change_no_answer_and_are_made_anew() {
    let (n_damages, seed) = (number("YFS_DAMAGES", 27), number("YFS_SEED", 5));
    let (disk, foreign) = (Disk::sample(seed), Disk::sample(seed + 1));
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let older = StoreCopy::with_derived(&disk.file());
    play_some(&disk.file(), &mut rng, 20);
    let expected = answers_of(&StoreCopy::without_derived(&disk.file()).file());
    for at in 0..n_damages {
        let kind = KINDS[at as usize % KINDS.len()];
        let copy = StoreCopy::with_derived(&disk.file());
        let context = damage(kind, &copy, [&older.file(), &foreign.file()], &mut rng);
        let context = format!("{context}, damage {at} of seed {seed}");
        assert_same(&answers_of(&copy.file()), &expected, &context);
        check_writes(&disk, &copy, &mut rng, &context);
    }
}

/// Makes the same calls in a store with damaged derived files and in one without any.
fn check_writes(disk: &Disk, copy: &StoreCopy, rng: &mut ChaCha8Rng, context: &str) {
    let calls: Vec<String> = (0..12).map(|_| any_call(rng)).collect();
    let plain = StoreCopy::without_derived(&disk.file());
    let [found, expected] = [copy, &plain].map(|store| {
        let mut player = open(&store.file());
        let results: Vec<String> = calls
            .iter()
            .map(|call| format!("{:?}", player.play(call).map_err(|error| error.to_string())))
            .collect();
        let shown = yfs_tests::script::show(&player.workspace.fs());
        player.workspace.close().expect("it closes");
        (results, shown)
    });
    assert_eq!(found, expected, "{context}: {calls:#?}");
    let expected = answers_of(&StoreCopy::without_derived(&copy.file()).file());
    assert_same(&answers_of(&copy.file()), &expected, &format!("{context}, after writes"));
    assert!(are_sound(&copy.file()), "{context}: it was not made anew");
}

/// A workspace whose checkpoint is damaged while it is open, and whose log is then compacted by any
/// process, reads and writes what the log has: compaction removed the records from which the
/// checkpoint could be derived again as of its own position.
#[test]
fn a_checkpoint_that_is_damaged_under_an_open_workspace_is_mended_after_compaction() {
    for compacts_elsewhere in [false, true] {
        let disk = Disk::sample(number("YFS_SEED", 5));
        let copy = StoreCopy::with_derived(&disk.file());
        let plain = StoreCopy::without_derived(&disk.file());
        let mut player = open(&plain.file());
        play_all(&mut player, ["write /beside = one", "compact", "write /after = two"]);
        let expected = yfs_tests::script::show(&player.workspace.fs());
        player.workspace.close().expect("it closes");

        let mut here = open(&copy.file());
        play_all(&mut here, ["write /beside = one"]);
        damage_all_blocks_of_rows(&copy);
        if compacts_elsewhere {
            let mut elsewhere = open(&copy.file());
            play_all(&mut elsewhere, ["compact"]);
            elsewhere.workspace.close().expect("it closes");
        } else {
            play_all(&mut here, ["compact"]);
        }
        play_all(&mut here, ["write /after = two"]);
        let context = format!("compacted by another process: {compacts_elsewhere}");
        assert_eq!(yfs_tests::script::show(&here.workspace.fs()), expected, "{context}");
        here.workspace.close().expect("it closes");
        assert!(are_sound(&copy.file()), "{context}: it was not made anew");
    }
}

fn play_all<'a>(player: &mut Player, calls: impl IntoIterator<Item = &'a str>) {
    for call in calls {
        player.play(call).expect("it can be done");
    }
}

/// Flips a bit in each block of the checkpoint of rows, in place.
fn damage_all_blocks_of_rows(copy: &StoreCopy) {
    for path in copy.derived_files() {
        let is_of_rows = path.parent().is_some_and(|map| map.ends_with("main"));
        if is_of_rows && path.extension().is_some_and(|kind| kind == "level") {
            let mut bytes = fs::read(&path).expect("read");
            bytes.iter_mut().skip(64).step_by(256).for_each(|byte| *byte ^= 1);
            fs::write(&path, bytes).expect("written");
        }
    }
}

/// Damages a random derived file, and says how.
fn damage(kind: &str, copy: &StoreCopy, others: [&Path; 2], rng: &mut ChaCha8Rng) -> String {
    let files = copy.derived_files();
    // A lock has no content.
    let files: Vec<PathBuf> = files
        .into_iter()
        .filter(|path| fs::metadata(path).is_ok_and(|file| file.len() > 0))
        .collect();
    let path = files.choose(rng).expect("some").clone();
    let mut bytes = fs::read(&path).expect("read");
    let at = rng.random_range(0..bytes.len());
    match kind {
        "flip" => bytes[at] ^= 1 << rng.random_range(0..8),
        "cut" => bytes.truncate(at),
        "zeros" => {
            let page = at / 4096 * 4096;
            let end = (page + 4096).min(bytes.len());
            bytes[page..end].fill(0);
        }
        "noise" => rng.fill_bytes(&mut bytes[at..]),
        "version" => bytes[7] = b'9',
        "delete" => {
            fs::remove_file(&path).expect("removed");
            return format!("{path:?} was deleted");
        }
        "swap" => {
            let other = files.choose(rng).expect("some");
            let theirs = fs::read(other).expect("read");
            fs::write(other, &bytes).expect("written");
            bytes = theirs;
        }
        _ => return put_others(kind, copy, others, rng),
    }
    fs::write(&path, bytes).expect("written");
    format!("{kind} at {at} of {path:?}")
}

/// Puts derived files of another store, or of an earlier time, in the place of those of a store:
/// all of them, or only the manifests.
fn put_others(kind: &str, copy: &StoreCopy, others: [&Path; 2], rng: &mut ChaCha8Rng) -> String {
    let from = if kind == "older" { others[0] } else { others[1] };
    let only_manifests = rng.random_bool(0.3);
    let from_root = yfs_tests::answers::derived_directory(from);
    let to_root = yfs_tests::answers::derived_directory(&copy.file());
    for path in derived_files(from) {
        let below = path.strip_prefix(&from_root).expect("it is below");
        if !only_manifests || path.ends_with("manifest") {
            fs::copy(&path, to_root.join(below)).expect("copied");
        }
    }
    format!("{kind} files, only manifests: {only_manifests}")
}

/// The check of a workspace names each damaged map, and removes it on request.
#[test]
fn damage_of_derived_files_is_named_and_removed() {
    let disk = Disk::sample(number("YFS_SEED", 5));
    let expected = answers_of(&disk.file());
    for name in ["log", "main"] {
        let copy = StoreCopy::with_derived(&disk.file());
        let is_level = |path: &PathBuf| path.extension().is_some_and(|kind| kind == "level");
        let mut levels = copy.derived_files().into_iter().filter(is_level);
        let level = levels.find(|path| path.parent().is_some_and(|map| map.ends_with(name)));
        let level = level.expect("a file with entries");
        let mut bytes = fs::read(&level).expect("read");
        bytes[20] ^= 1;
        fs::write(&level, bytes).expect("written");
        let player = open(&copy.file());
        let maintenance = player.workspace.maintenance();
        assert_eq!(maintenance.damaged_derived_maps().expect("checked"), [name]);
        maintenance.remove_derived_map(name).expect("removed");
        assert!(maintenance.damaged_derived_maps().expect("checked").is_empty());
        player.workspace.close().expect("it closes");
        assert_same(&answers_of(&copy.file()), &expected, name);
    }
}
