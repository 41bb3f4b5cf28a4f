//! `kill -9` while a checkpoint is made.

use std::{path::Path, thread, time::Duration};

use rand::{RngExt, SeedableRng, rngs::ChaCha8Rng};
use yfs::WorkspaceOptions;
use yfs_tests::{
    answers::assert_derived_files_say_nothing_else,
    process::{Process, Role, write_line},
    script::Player,
};

use super::{Disk, any_call, are_sound, eager, number, open};

/// Two processes each make checkpoints again and again, and are killed meanwhile.
#[test]
fn a_process_that_is_killed_while_it_makes_a_checkpoint_falsifies_nothing() {
    let (n_kills, seed) = (number("YFS_KILLS", 20), number("YFS_SEED", 3));
    let disk = Disk::sample(seed);
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let (mut n_made, mut n_left) = (0, 0);
    for kill in 0..n_kills {
        let names = (0..if kill % 2 == 0 { 2 } else { 1 }).map(|at| format!("{seed}-{kill}-{at}"));
        let children: Vec<Process> =
            names.map(|name| Process::spawn(super::MODULE, "maker", &name, &disk.file())).collect();
        for child in &children {
            assert_eq!(child.read_line(), "ready");
        }
        thread::sleep(Duration::from_micros(rng.random_range(0..80_000)));
        for child in children {
            n_made += child.kill().len();
        }
        n_left += usize::from(has_unfinished_files(&disk.file()));
        assert_derived_files_say_nothing_else(&disk.file(), &format!("kill {kill} of {seed}"));
    }
    open(&disk.file()).play("write /last = written|").expect("it writes");
    assert_derived_files_say_nothing_else(&disk.file(), "the end");
    assert!(are_sound(&disk.file()));
    assert!(!has_unfinished_files(&disk.file()), "a writer removes what killed ones left");
    println!("{n_kills} kills, {n_made} checkpoints before, {n_left} with an unfinished one");
}

/// Writes, and makes checkpoints by closing and by shedding rows, until it is killed.
pub(super) fn play(role: &Role) {
    let seed = role.name.bytes().fold(7_u64, |seed, byte| seed.wrapping_mul(31) + u64::from(byte));
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    write_line("ready");
    loop {
        let options = WorkspaceOptions { row_budget: 16, ..eager() };
        let workspace = yfs::Workspace::open_at(&role.place, options).expect("it opens");
        let mut player = Player::new(workspace);
        for _ in 0..rng.random_range(1..4) {
            player.play(&any_call(&mut rng)).ok();
        }
        player.workspace.close().expect("it closes");
        write_line("made");
    }
}

/// Reports whether there are files that a killed process left.
pub(super) fn has_unfinished_files(store: &Path) -> bool {
    let derived = yfs_tests::answers::derived_directory(store);
    let maps = std::fs::read_dir(derived).expect("listed");
    let mut maps = maps.map(|entry| entry.expect("listed").path());
    maps.any(|directory| {
        let map = yfs_store::SealedDirectory::plain(&directory);
        let Ok(map) = yfs_store::checkpoint::CheckpointMap::open(&map, 0) else { return true };
        let levels = std::fs::read_dir(&directory).expect("listed");
        let levels = levels.map(|entry| entry.expect("listed"));
        let levels = levels.filter(|entry| entry.file_name().to_string_lossy().ends_with(".level"));
        let n_bytes: u64 = levels.map(|entry| entry.metadata().expect("a size").len()).sum();
        n_bytes != map.map_or(0, |map| map.n_bytes())
    })
}
