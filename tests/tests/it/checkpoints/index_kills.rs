//! `kill -9` while the index of contents is made or renewed.

use std::{path::Path, thread, time::Duration};

use rand::{RngExt, SeedableRng, rngs::ChaCha8Rng};
use yfs::{Session, Workspace, WorkspaceOptions};
use yfs_engine::actor::{Actor, ActorKind};
use yfs_tests::{
    answers::StoreCopy,
    process::{Process, Role, write_line},
    script::{Player, path},
};
use yfs_vfs::{GrepQuery, WriteOptions};

use super::{Disk, any_call, are_sound, eager, kills::has_unfinished_files, number, open};

/// The number of files whose texts are indexed.
const N_FILES: usize = 160;

/// Patterns that the index serves, and one that is in every file.
const PATTERNS: [&str; 6] =
    ["needle17", "Needle(3|4)2\\b", "written [0-9]*7", "needle.*1 end", "no such text", "lantern"];

/// A process builds the index and keeps it up, again and again, and is killed meanwhile. After each
/// kill, searches find the same lines with it as without, and the next process that searches
/// completes it.
#[test]
fn a_process_that_is_killed_while_it_indexes_falsifies_no_search() {
    let (n_kills, seed) = (number("YFS_KILLS", 12), number("YFS_SEED", 7));
    let disk = Disk::sample(seed);
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    write_texts(&disk.file(), &mut rng);
    let (mut n_made, mut n_left) = (0, 0);
    // As long as indexing takes on this machine, so that kills are in it and after it.
    let mut pause = Duration::from_millis(50);
    for kill in 0..n_kills {
        let names = (0..1 + kill % 2).map(|at| format!("{seed}-{kill}-{at}"));
        let children: Vec<Process> = names
            .map(|name| Process::spawn(super::MODULE, "indexer", &name, &disk.file()))
            .collect();
        let n_before = rng.random_range(0..3);
        for _ in 0..n_before {
            read_until(&children[0], "made");
        }
        read_until(&children[0], "begins");
        thread::sleep(pause.mul_f64(rng.random_range(0.0..2.0)));
        let left: Vec<String> = children.into_iter().flat_map(Process::kill).collect();
        let has_made = left.iter().any(|line| line == "made");
        n_made += n_before + usize::from(has_made);
        pause = pause.mul_f64(if has_made { 0.8 } else { 1.25 });
        n_left += usize::from(has_unfinished_files(&disk.file()));
        let context = format!("kill {kill} of {seed}");
        check_searches(&disk.file(), &context);
        check_completion(&disk.file(), &context);
    }
    println!("{n_kills} kills, {n_made} indexes before, {n_left} with an unfinished one");
}

fn read_until(child: &Process, expected: &str) {
    while child.read_line() != expected {}
}

/// Writes the texts to search.
fn write_texts(file: &Path, rng: &mut ChaCha8Rng) {
    let workspace = Workspace::open_at(file, eager()).expect("it opens");
    let session = session(&workspace);
    let options = WriteOptions { parents: true, ..WriteOptions::default() };
    for at in 0..N_FILES {
        let end = ["txt", "md"][at % 2];
        let text = any_text(rng, at);
        session.write(&path(&format!("/texts/{at}.{end}")), &text, &options).expect("written");
    }
    workspace.close().expect("it closes");
}

/// Returns a text of a few KB.
fn any_text(rng: &mut ChaCha8Rng, at: usize) -> Vec<u8> {
    let word = |rng: &mut ChaCha8Rng| format!("{:08x} ", rng.random::<u32>());
    let line = |rng: &mut ChaCha8Rng| (0..8).map(|_| word(rng)).collect::<String>() + "lantern\n";
    let lines: String = (0..30).map(|_| line(rng)).collect();
    format!("{lines}needle{at} end\n").into_bytes()
}

fn session(workspace: &Workspace) -> Session {
    workspace.session(Actor::new(ActorKind::Agent, "ana"))
}

/// Searches with the index or without, and returns what is found and the number of files read.
fn search(session: &Session, pattern: &str, use_index: bool) -> (String, u64) {
    let ignore_case = pattern.starts_with('N');
    let query = GrepQuery { use_index, ignore_case, ..GrepQuery::new(pattern) };
    let found = session.grep(&query).expect("searched");
    (format!("{:?} {:?}", found.files, found.cut), found.n_searched)
}

/// Searches find the same with the index as without it, and as in a store that has no derived
/// files.
fn check_searches(file: &Path, context: &str) {
    let (copy, plain) = (StoreCopy::with_derived(file), StoreCopy::without_derived(file));
    let [workspace, plain] = [copy.file(), plain.file()]
        .map(|file| Workspace::open_at(&file, WorkspaceOptions::reading()).expect("it opens"));
    for pattern in PATTERNS {
        let expected = search(&session(&plain), pattern, false).0;
        for use_index in [true, false] {
            let found = search(&session(&workspace), pattern, use_index).0;
            assert_eq!(found, expected, "{context}: {pattern}, index: {use_index}");
        }
    }
    assert!(search(&session(&plain), "needle17", false).0.contains("needle17"), "{context}");
}

/// A process that searches and is not killed leaves an index that later ones use, and nothing
/// unfinished.
fn check_completion(file: &Path, context: &str) {
    let copy = StoreCopy::with_derived(file);
    for text in [&b"first\n"[..], b"zanzibar\n"] {
        let workspace = Workspace::open_at(&copy.file(), eager()).expect("it opens");
        session(&workspace).write(&path("/last"), text, &WriteOptions::default()).expect("written");
        search(&session(&workspace), "zanzibar", true);
        workspace.close().expect("it closes");
    }
    let workspace = Workspace::open_at(&copy.file(), eager()).expect("it opens");
    let [(with, n_with), (without, n_without)] =
        [true, false].map(|use_index| search(&session(&workspace), "zanzibar", use_index));
    assert_eq!(with, without, "{context}: completed");
    assert!(n_with * 4 < n_without, "{context}: {n_with} of {n_without} files were read");
    workspace.close().expect("it closes");
    assert!(are_sound(&copy.file()), "{context}: the index can be read whole");
    assert!(!has_unfinished_files(&copy.file()), "{context}: nothing unfinished is left");
}

/// Changes texts, and renews the index or builds it anew, until it is killed.
pub(super) fn play(role: &Role) {
    let seed = role.name.bytes().fold(7_u64, |seed, byte| seed.wrapping_mul(31) + u64::from(byte));
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    loop {
        let mut player = open(&role.place);
        for _ in 0..rng.random_range(1..4) {
            player.play(&any_call(&mut rng)).ok();
        }
        change_text(&player, &mut rng);
        let maintenance = player.workspace.maintenance();
        if rng.random_bool(0.5) {
            maintenance.remove_derived_map("search").expect("removed");
        }
        write_line("begins");
        if rng.random_bool(0.5) {
            maintenance.renew_search_index().expect("renewed");
        } else {
            maintenance.request_search_index();
        }
        player.workspace.close().expect("it closes");
        write_line("made");
    }
}

fn change_text(player: &Player, rng: &mut ChaCha8Rng) {
    let (at, other) = (rng.random_range(0..N_FILES), rng.random_range(0..1000));
    // One text stays.
    let at = if at == 17 { 0 } else { at };
    let file = path(&format!("/texts/{at}.{}", ["txt", "md"][at % 2]));
    let session = session(&player.workspace);
    let (text, options) = (any_text(rng, other), WriteOptions::default());
    if rng.random_bool(0.5) {
        session.write(&file, &text, &options).expect("written");
    } else {
        session.append(&file, format!("needle{other} end\n").as_bytes(), &options).expect("ok");
    }
}
