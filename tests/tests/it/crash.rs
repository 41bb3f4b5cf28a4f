//! `kill -9` at random points of a process that works in an SQLite workspace. Every call that it
//! acknowledged must have happened, the one that it was in the middle of whole or not at all.
//!
//! The child plays a script that its name decides, each in a folder of its own, and says a line
//! after every call. The parent runs the same calls, up to the last one that the child reported, on
//! a filesystem in memory, and compares. The children close their workspace and open it again, so
//! many are killed while they make a checkpoint. `YFS_KILLS` is the number of kills; `YFS_SEED`
//! gives other scripts and other moments.

use std::{collections::BTreeMap, env, path::Path, thread, time::Duration};

use rand::{RngExt, SeedableRng, rngs::ChaCha8Rng};
use yfs::Workspace;
use yfs_engine::path::VPath;
use yfs_tests::{
    process::{Process, options, role, write_line},
    script::{Player, now, path, play_on},
};
use yfs_vfs::{FileKind, FileSystem, FileSystemExt, MemoryFs, WalkOptions};

/// How many calls a script has; a child is killed before it has made them all.
const N_CALLS: usize = 100_000;

/// What a folder holds: what is at each path below it.
type Tree = BTreeMap<String, String>;

#[test]
fn what_was_acknowledged_survives_kill_9() {
    let (n_kills, seed) = (number("YFS_KILLS", 30), number("YFS_SEED", 9));
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("workspace.db");
    Workspace::create_at(&file, options()).expect("a workspace").close().expect("closed");
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let (mut n_acked, mut n_landed) = (0, 0);
    let mut known: BTreeMap<String, Tree> = BTreeMap::new();
    for kill in 0..n_kills {
        // Two at once every third time: one may die while the other goes on.
        let names = (0..if kill % 3 == 0 { 2 } else { 1 }).map(|n| format!("{seed}-{kill}-{n}"));
        let children: Vec<(String, Process)> = names
            .map(|name| (name.clone(), Process::spawn(module_path!(), "worker", &name, &file)))
            .collect();
        for (_, child) in &children {
            assert_eq!(child.read_line(), "ready");
        }
        for (name, child) in children {
            thread::sleep(Duration::from_micros(rng.random_range(0..60_000)));
            let acked = child.kill();
            assert!(
                acked.iter().all(|line| line == "ok" || line.starts_with("refused")),
                "{acked:?}"
            );
            n_acked += acked.len();
            let workspace = Workspace::open_at(&file, options()).expect("it opens");
            let there = tree(&workspace.fs(), &format!("/{name}"));
            let [before, after] = [acked.len(), acked.len() + 1].map(|n| played(&name, n));
            n_landed += usize::from(there == after && after != before);
            if there != before {
                assert_eq!(there, after, "after {} calls of {name}, not {before:#?}", acked.len());
            }
            known.insert(name, there);
            workspace.close().expect("it closes");
        }
    }
    check_all(&file, &known);
    println!("{n_kills} kills, {n_acked} calls acknowledged, {n_landed} landed unheard");
}

/// Nothing of earlier lives changed, and the store finds nothing wrong with itself.
fn check_all(file: &Path, known: &BTreeMap<String, Tree>) {
    let workspace = Workspace::open_at(file, options()).expect("it opens");
    for (name, tree_then) in known {
        assert_eq!(tree(&workspace.fs(), &format!("/{name}")), *tree_then, "{name}");
    }
    assert_eq!(workspace.store().check().expect("a check").problems, []);
    let listed = now(workspace.fs().walk(&VPath::root(), &WalkOptions::default())).expect("a tree");
    let below: usize = known.values().map(BTreeMap::len).sum();
    let n_folders = listed.iter().filter(|item| item.path.components().count() == 1).count();
    assert_eq!(listed.len(), below + n_folders, "each entry is in the directory of a child");
}

/// Plays a role, if this process is a child.
#[test]
fn child() {
    let Some(role) = role() else { return };
    let workspace = Workspace::open_at(&role.place, options()).expect("it opens");
    let mut player = Player::new(workspace);
    write_line("ready");
    for line in script(&role.name).take(N_CALLS) {
        if line == "reopen" {
            player.workspace.close().expect("it closes");
            player = Player::new(Workspace::open_at(&role.place, options()).expect("it opens"));
            write_line("ok");
            continue;
        }
        match player.play(&line) {
            Ok(()) => write_line("ok"),
            Err(error) => write_line(&format!("refused {error}")),
        }
    }
}

/// Returns a number that the environment sets.
fn number(name: &str, default: u64) -> u64 {
    env::var(name).map_or(default, |text| text.parse().expect("a number"))
}

/// What the child of this name does, forever.
fn script(name: &str) -> impl Iterator<Item = String> {
    let seed = name.bytes().fold(7_u64, |seed, byte| seed.wrapping_mul(31) + u64::from(byte));
    let (mut rng, top) = (ChaCha8Rng::seed_from_u64(seed), format!("/{name}"));
    let file = |rng: &mut ChaCha8Rng| {
        format!("{}/{}", ["", "/d", "/e/f"][rng.random_range(0..3)], rng.random_range(0..6))
    };
    (0..).map(move |number| {
        let at = format!("{top}{}", file(&mut rng));
        match rng.random_range(0..26) {
            0..4 => format!("create {at} = created {number}|"),
            4..8 => {
                format!("write {at} = written {number}|{}", "more|".repeat(rng.random_range(0..9)))
            }
            8..13 => format!("append {at} = appended {number}|"),
            13 => format!("edit {at} = written -> edited {number}"),
            14 => format!("mkdir -p {top}/d/{}", 6 + rng.random_range(0..4)),
            15 => format!("mv {at} {top}/m{number}"),
            16..19 => format!("mv {at} {top}{}", file(&mut rng)),
            19..21 => format!("cp {at} {top}{}", file(&mut rng)),
            21 => format!("rm {at}"),
            22 => "flush".to_owned(),
            // Closing makes a checkpoint, from which the process goes on.
            23 | 24 => "reopen".to_owned(),
            _ if number % 3 == 0 => "compact".to_owned(),
            _ => format!("bytes {at} {number}"),
        }
    })
}

/// Plays the first calls of a script in memory.
fn played(name: &str, n_calls: usize) -> Tree {
    let fs = MemoryFs::new();
    for line in script(name).take(n_calls) {
        let (call, text) = line.split_once(" = ").unwrap_or((&line, ""));
        let words: Vec<&str> = call.split(' ').collect();
        if !matches!(words[..], ["flush" | "compact" | "reopen"]) {
            // What is refused there is refused here.
            play_on(&fs, &words, text.replace('|', "\n")).ok();
        }
    }
    tree(&fs, &format!("/{name}"))
}

fn tree(fs: &dyn FileSystem, top: &str) -> Tree {
    let Ok(found) = now(fs.walk(&path(top), &WalkOptions::default())) else { return Tree::new() };
    let shown = found.into_iter().map(|item| {
        let content = match item.entry.kind {
            FileKind::Directory => "a directory".to_owned(),
            _ => {
                let read = now(fs.read(&item.path)).unwrap_or_else(|error| panic!("{error}"));
                format!("{:?}", String::from_utf8_lossy(&read.data))
            }
        };
        (item.path.to_string(), content)
    });
    shown.collect()
}
