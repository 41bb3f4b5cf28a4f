//! One handle renames a file from plain text to markdown and back and edits it, while another one,
//! as a mirror does, saves it by id on the base of what the disk last showed. Each word that was
//! written is in the file once, for both of them and for a handle that has just been opened.

use std::{
    sync::{Arc, Barrier},
    thread,
    time::Duration,
};

use crate::support::handles::now;
use rand::{RngExt as _, SeedableRng as _, rngs::ChaCha8Rng};
use yfs::{Workspace, WorkspaceOptions};
use yfs_engine::{
    actor::{Actor, ActorKind},
    path::VPath,
};
use yfs_vfs::{
    CreateMode, FileSystem as _, FileSystemExt as _, MoveOptions, VersionBase, WriteOptions,
};

const N_SEEDS: u64 = 3;
const N_STEPS: usize = 25;

#[test]
fn each_word_is_in_the_file_once() {
    for seed in 0..N_SEEDS {
        let dir = tempfile::tempdir().expect("a directory");
        let file = dir.path().join("workspace.db");
        let library = Workspace::create_at(&file, options("library")).expect("a workspace");
        let disk = Workspace::open_at(&file, options("disk")).expect("a workspace");
        now(library.fs().create_new(&path("/f.txt"), "w0.\n".into())).expect("a file");
        let id = now(library.fs().stat(&path("/f.txt"))).expect("a file").id;
        let by_id = path(&format!("/.id/{id}"));
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let (mut shown, mut words, mut is_markdown) = ("w0.\n".to_owned(), vec![0], false);
        for step in 1..=N_STEPS {
            let (edit, save) = (step * 2, step * 2 + 1);
            let ((edited, renamed), saved) = race(
                &mut rng,
                |at, is_rename| match is_rename {
                    true => (false, rename(&library, is_markdown)),
                    false => (insert(&library, name(is_markdown), at, edit), false),
                },
                |at| save_by_id(&disk, &by_id, &shown, at, save),
            );
            is_markdown ^= renamed;
            words.extend(edited.then_some(edit));
            if let Some(text) = saved {
                words.push(save);
                shown = text;
            }
            let fresh = Workspace::open_at(&file, options("fresh")).expect("a workspace");
            for workspace in [&fresh, &library, &disk] {
                workspace.catch_up().expect("the log can be read");
                let text = read(workspace, &by_id);
                for word in &words {
                    let n_times = text.lines().filter(|line| *line == format!("w{word}.")).count();
                    assert_eq!(n_times, 1, "seed {seed}, step {step}: w{word} in {text:?}");
                }
            }
            if rng.random_ratio(1, 2) {
                shown = read(&disk, &by_id);
            }
        }
    }
}

/// Runs two calls at the same time, each after a short pause.
fn race<A: Send, B: Send>(
    rng: &mut ChaCha8Rng,
    one: impl FnOnce(usize, bool) -> A + Send,
    other: impl FnOnce(usize) -> B + Send,
) -> (A, B) {
    let pauses = [(); 2].map(|()| Duration::from_micros(rng.random_range(0..400)));
    let (at, other_at) = (rng.random_range(0..8), rng.random_range(0..8));
    let is_rename = rng.random_ratio(2, 3);
    let barrier = Arc::new(Barrier::new(2));
    thread::scope(|scope| {
        let one = scope.spawn(|| {
            barrier.wait();
            thread::sleep(pauses[0]);
            one(at, is_rename)
        });
        barrier.wait();
        thread::sleep(pauses[1]);
        let other = other(other_at);
        (one.join().expect("it does not panic"), other)
    })
}

fn rename(workspace: &Workspace, is_markdown: bool) -> bool {
    let (from, to) = (path(name(is_markdown)), path(name(!is_markdown)));
    let options = MoveOptions { replace: false, parents: false };
    now(workspace.fs().mv(&from, &to, &options)).is_ok()
}

fn insert(workspace: &Workspace, name: &str, at: usize, word: usize) -> bool {
    let read = now(workspace.fs().read(&path(name))).expect("a file");
    let text = String::from_utf8(read.data.to_vec()).expect("a text");
    let base = Some(VersionBase::Version(read.version));
    let options = WriteOptions { base, ..WriteOptions::default() };
    now(workspace.fs().write(&path(name), with_line(&text, at, word).into(), &options)).is_ok()
}

/// Saves what the disk showed with one more line. Returns the text that was saved.
fn save_by_id(
    workspace: &Workspace,
    file: &VPath,
    shown: &str,
    at: usize,
    word: usize,
) -> Option<String> {
    let text = with_line(shown, at, word);
    let base = Some(VersionBase::Content(shown.to_owned().into_bytes().into()));
    let options =
        WriteOptions { create: CreateMode::Never, base, follow: false, ..WriteOptions::default() };
    now(workspace.fs().write(file, text.clone().into(), &options)).is_ok().then_some(text)
}

fn read(workspace: &Workspace, file: &VPath) -> String {
    let read = now(workspace.fs().read(file)).expect("a file");
    String::from_utf8(read.data.to_vec()).expect("a text")
}

fn with_line(text: &str, at: usize, word: usize) -> String {
    let mut lines: Vec<&str> = text.lines().collect();
    let line = format!("w{word}.");
    lines.insert(at.min(lines.len()), &line);
    lines.join("\n") + "\n"
}

fn name(is_markdown: bool) -> &'static str {
    if is_markdown { "/f.md" } else { "/f.txt" }
}

fn path(text: &str) -> VPath {
    VPath::parse(text).expect("a path")
}

fn options(name: &str) -> WorkspaceOptions {
    WorkspaceOptions::one_shot(Actor::new(ActorKind::Agent, name))
}
