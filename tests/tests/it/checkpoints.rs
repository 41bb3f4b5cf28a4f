//! Checkpoints lose and falsify nothing: processes that are killed while they make one, derived
//! files that are damaged, of another store or of another time, disks that are full, and stores of
//! older versions. After each, a handle that uses the derived files answers as one that finds none.
//!
//! What is tested is whatever is in the directory of derived files, so further ones are covered.
//! `YFS_KILLS` and `YFS_DAMAGES` are the numbers of kills and of damaged copies; `YFS_SEED` gives
//! others.

mod damage;
mod histories;
mod index_kills;
mod kills;
mod old_store;

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use rand::{RngExt, SeedableRng, rngs::ChaCha8Rng};
use tempfile::TempDir;
use yfs::{Workspace, WorkspaceOptions};
use yfs_engine::actor::{Actor, ActorKind};
use yfs_tests::script::Player;

/// The module with the test that plays the roles of children.
const MODULE: &str = module_path!();

/// Plays a role, if this process is a child.
#[test]
fn child() {
    let Some(role) = yfs_tests::process::role() else { return };
    match role.what.as_str() {
        "indexer" => index_kills::play(&role),
        _ => kills::play(&role),
    }
}

/// Returns a number that the environment sets.
fn number(name: &str, default: u64) -> u64 {
    env::var(name).map_or(default, |text| text.parse().expect("a number"))
}

/// Options under which every close makes checkpoints.
fn eager() -> WorkspaceOptions {
    let actor = Actor::new(ActorKind::Agent, "ana");
    WorkspaceOptions { checkpoint_after: 1, ..WorkspaceOptions::one_shot(actor) }
}

fn open(file: &Path) -> Player {
    Player::new(Workspace::open_at(file, eager()).expect("it opens"))
}

/// A store in a directory of its own.
struct Disk {
    directory: TempDir,
}

impl Disk {
    fn new() -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let disk = Self { directory };
        Workspace::create_at(&disk.file(), eager()).expect("created").close().expect("closed");
        disk
    }

    /// A store with files of all kinds, whose checkpoints consist of several files.
    fn sample(seed: u64) -> Self {
        let disk = Self::new();
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let player = open(&disk.file());
        for number in 0..300 {
            let path = yfs_tests::script::path(&format!("/many/d{}/f{number}", number % 5));
            let options =
                yfs_vfs::WriteOptions { parents: true, ..yfs_vfs::WriteOptions::default() };
            let text = format!("written {number}\n");
            let session = player.workspace.session(Actor::new(ActorKind::Agent, "ana"));
            session.write(&path, text.as_bytes(), &options).expect("written");
        }
        player.workspace.close().expect("it closes");
        for _ in 0..3 {
            play_some(&disk.file(), &mut rng, 30);
        }
        disk
    }

    fn file(&self) -> PathBuf {
        self.directory.path().join("workspace.db")
    }
}

/// Opens a workspace, plays random calls, and closes it, which makes checkpoints.
fn play_some(file: &Path, rng: &mut ChaCha8Rng, n_calls: usize) {
    let mut player = open(file);
    for _ in 0..n_calls {
        // A call may be refused.
        player.play(&any_call(rng)).ok();
    }
    player.workspace.close().expect("it closes");
}

/// Returns a random call.
fn any_call(rng: &mut ChaCha8Rng) -> String {
    let number = rng.random_range(0..1000);
    let mut any_path = || {
        let top = ["", "/d", "/d/e", "/many/d1"][rng.random_range(0..4)];
        let name = ["a", "b.md", "c", "d", "f11", "f21"][rng.random_range(0..6)];
        format!("{top}/{name}")
    };
    let [one, two] = [any_path(), any_path()];
    match rng.random_range(0..30) {
        0..7 => format!("write {one} = written {number}|"),
        7..11 => format!("append {one} = appended {number}|"),
        11 => format!("edit {one} = written -> edited {number}"),
        12..15 => format!("mkdir -p {one}"),
        15..19 => format!("mv {one} {two}"),
        19 => format!("cp {one} {two}"),
        20..23 => format!("rm {one}"),
        23 => format!("ln {one} {two}"),
        24 => format!("chmod {} {one}", number % 512),
        25 => format!("meta kind {number} {one}"),
        26 => format!("restore {}", &two[two.len() - 1..]),
        27 => format!("purge {}", &two[two.len() - 1..]),
        28 => format!("bytes {one} {number}"),
        _ => {
            if number % 4 == 0 {
                "compact".to_owned()
            } else {
                format!("utimes {number} {one}")
            }
        }
    }
}

/// Returns whether all checkpoints of a store can be read whole.
fn are_sound(file: &Path) -> bool {
    let derived = yfs_tests::answers::derived_directory(file);
    let maps = fs::read_dir(derived).expect("listed").map(|entry| entry.expect("listed").path());
    let mut maps = maps.filter(|path| path.join("lock").exists());
    maps.all(|path| {
        let map = yfs_store::checkpoint::CheckpointMap::open(
            &yfs_store::SealedDirectory::plain(&path),
            1 << 20,
        );
        map.is_ok_and(|map| map.is_some_and(|map| map.check().is_ok()))
    })
}
