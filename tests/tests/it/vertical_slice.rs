//! The promise, from bytes on disk to a stock Yjs client: two editors type in a file while three
//! processes edit it, append to it and rename it, and the server is killed in the middle.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{
    fs,
    path::Path,
    sync::mpsc::{Receiver, Sender, channel},
    thread,
};

use serde_json::Value;
use yfs_tests::{
    command::{self, Server, ok},
    editor::Editor,
};

/// How often each process does its work.
const N_TIMES: usize = 20;

/// How often each does it after the server was killed and started again, at least.
const N_TIMES_AFTER: usize = 3;

/// The two names of the file; it has one of them at any time.
const NAMES: [&str; 2] = ["/notes/plan.txt", "/notes/plan 📌.txt"];

const START: &str = "A plan 😀\nana: []\nben: []\ncounter=0;\n";
const ANA: &str = "Ana types, naïvely and all the while, what no other writer may lose 🌊";
const BEN: &str = "Ben does too, a little slower: 東京, e\u{301}, “quotes” and more";

#[test]
fn everybody_sees_everything_and_nothing_is_lost_or_doubled() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("notes")).unwrap();
    fs::write(dir.path().join("notes/plan.txt"), START).unwrap();
    let server = Server::start(dir.path(), 0);
    let port = server.port();
    let guid = guid_of(&server, NAMES[0]).expect("the file was imported");
    let mut ana = Editor::open(port, &guid, "ana");
    let mut ben = Editor::open(port, &guid, "ben");
    assert_eq!(ana.text(), START);
    ana.type_slowly(utf16(START, "ana: ["), ANA, 40);
    ben.type_slowly(utf16(START, "ben: ["), BEN, 45);

    let server = thread::scope(|scope| {
        let (sender, done) = channel();
        let works: [fn(&Path, &Progress); 3] = [edits, appends, renames];
        let restarts = works.map(|work| {
            let (restart, is_restarted) = channel();
            let progress = Progress { done: sender.clone(), is_restarted };
            let dir = dir.path();
            scope.spawn(move || work(dir, &progress));
            restart
        });
        drop(sender);
        // Half of the work is done: the server is killed with all connections open.
        done.iter().nth(N_TIMES * works.len() / 2).expect("no command failed yet");
        server.kill();
        done.iter().nth(works.len()).expect("the command works without a server");
        let server = Server::start(dir.path(), port);
        drop(restarts);
        let n_after = done.iter().count();
        assert!(n_after >= N_TIMES_AFTER * works.len(), "{n_after} are left for the new server");
        server
    });

    for editor in [&mut ana, &mut ben] {
        editor.wait_for("typed");
        editor.wait_for("synced");
    }
    let last = [ANA, BEN, &format!("counter={N_TIMES};"), &appended(N_TIMES)];
    ana.wait_for_text(&last);
    ben.wait_for_text(&last);
    let text = ana.text();
    assert_eq!(ben.text(), text);
    assert_nothing_lost_or_doubled(&text);

    // On disk as on the wire; under one name, and still the same file.
    let name = NAMES[N_TIMES % 2];
    assert_eq!(guid_of(&server, name), Some(guid.clone()));
    assert_eq!(guid_of(&server, NAMES[1 - N_TIMES % 2]), None);
    assert_eq!(ok(dir.path(), &["cat", name]), text);
    server.kill();
    assert_eq!(ok(dir.path(), &["cat", name]), text);
    let _server = Server::start(dir.path(), port);
    let mut late = Editor::open(port, &guid, "late");
    assert_eq!(late.text(), text);
}

/// What a process tells the test of its work, and what it waits for.
struct Progress {
    done: Sender<()>,
    /// Closed when the server runs again.
    is_restarted: Receiver<()>,
}

impl Progress {
    /// Reports that some work was done, and waits for the new server before the last ones.
    fn report(&self, n_done: usize) {
        self.done.send(()).ok();
        if n_done == N_TIMES - N_TIMES_AFTER {
            self.is_restarted.recv().ok();
        }
    }
}

/// Every line is there once. Others' lines may stand in any order.
fn assert_nothing_lost_or_doubled(text: &str) {
    let (head, tail) = text.split_at(text.find("appended").unwrap());
    assert_eq!(head, format!("A plan 😀\nana: [{ANA}]\nben: [{BEN}]\ncounter={N_TIMES};\n"));
    let expected: String = (1..=N_TIMES).map(|n| appended(n) + "\n").collect();
    assert_eq!(tail, expected);
}

/// Counts up, each time by an edit of its own.
fn edits(dir: &Path, progress: &Progress) {
    for n in 0..N_TIMES {
        let (old, new) = (format!("counter={n};"), format!("counter={};", n + 1));
        under_either_name(dir, |name| vec!["edit", name, "--old", &old, "--new", &new]);
        progress.report(n + 1);
    }
}

fn appends(dir: &Path, progress: &Progress) {
    for n in 1..=N_TIMES {
        let line = appended(n) + "\n";
        under_either_name(dir, |name| vec!["append", "--no-create", name, "--content", &line]);
        progress.report(n);
    }
}

/// Renames to and fro. No other process renames, so each call must succeed at once.
fn renames(dir: &Path, progress: &Progress) {
    for n in 0..N_TIMES {
        ok(dir, &["mv", NAMES[n % 2], NAMES[1 - n % 2]]);
        progress.report(n + 1);
    }
}

/// Runs a command on the file under the name that it happens to have.
fn under_either_name<'a>(dir: &Path, args: impl Fn(&'static str) -> Vec<&'a str>) {
    for name in NAMES.iter().cycle() {
        let args = args(name);
        let ran = command::run(dir, &args, b"");
        if ran.code == Some(0) {
            return;
        }
        let is_elsewhere = ran.stderr.to_lowercase().contains("no such file");
        assert!(is_elsewhere, "yfs {args:?}: {}", ran.stderr);
    }
}

fn appended(n: usize) -> String {
    format!("appended line {n} of {N_TIMES} 😀")
}

/// Returns where, in UTF-16 units, the text stands behind `mark`.
fn utf16(text: &str, mark: &str) -> i64 {
    let end = text.find(mark).unwrap() + mark.len();
    text[..end].encode_utf16().count() as i64
}

fn guid_of(server: &Server, path: &str) -> Option<String> {
    let (status, body) = server.get("/api/tree");
    assert_eq!(status, 200, "{body}");
    let tree: Value = serde_json::from_str(&body).unwrap();
    let entry = tree["entries"].as_array().unwrap().iter().find(|entry| entry["path"] == path)?;
    Some(entry["guid"].as_str().unwrap().to_owned())
}
