//! A name that is now a directory and now a link that leads elsewhere, changed as fast as an
//! attacker can, while requests go below it: nothing outside is read or written.
//!
//! Each attacker makes a number of attempts, whatever the time they take.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{
    env, fs,
    os::unix::fs::symlink,
    path::Path,
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
    thread,
    time::{Duration, Instant},
};

use rustix::fs::{CWD, RenameFlags, renameat_with};
use serde_json::json;
use tempfile::TempDir;
use yfs_tests::{
    command::{Server, ok, run},
    http::{Answer, Client},
};

/// How long the server may take for what the attackers left to do.
const PATIENCE: Duration = Duration::from_secs(600);

const SECRET: &str = "SECRET";

/// How often a name is exchanged; the environment variable `YFS_RACES` is for long runs.
fn n_races() -> usize {
    env::var("YFS_RACES").map_or(150, |races| races.parse().unwrap())
}

fn post(client: &Client, path: &str, body: &serde_json::Value) -> Answer {
    let json = [("Content-Type", "application/json")];
    client.send("POST", path, &json, body.to_string().as_bytes())
}

fn put(client: &Client, path: &str, body: &str) -> Answer {
    client.send("PUT", &format!("/api/files{path}"), &[], body.as_bytes())
}

/// Makes a directory with a secret in `out`, and a file in `docs/real`.
fn directory_with_a_secret() -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir_all(dir.path().join("docs/real")).unwrap();
    fs::create_dir(dir.path().join("out")).unwrap();
    fs::write(dir.path().join("out/a.txt"), SECRET).unwrap();
    fs::write(dir.path().join("docs/real/a.txt"), "harmless").unwrap();
    dir
}

/// The owner of a token for one directory exchanges a directory in it for a link that leads out,
/// and reads, writes, copies and lists below the name meanwhile.
#[test]
fn a_token_for_a_folder_reads_and_writes_nothing_outside_by_links() {
    let dir = directory_with_a_secret();
    let server = Server::start_with(dir.path(), &["--no-mirror"]);
    let token = ok(dir.path(), &["--quiet", "token", "new", "--path", "/docs"]);
    let thief = Client { port: server.port(), token: Some(token.trim().to_owned()) };
    assert_eq!(thief.get("/api/files/out/a.txt").status, 403);
    let link = post(&thief, "/api/symlink", &json!({ "path": "/docs/link", "target": "../out" }));
    assert!(link.status < 300, "{}", link.text());
    let is_over = AtomicBool::new(false);
    let n_answers = AtomicUsize::new(0);
    let meanwhile = |attempt: &dyn Fn(usize)| {
        let mut number = 0;
        while !is_over.load(Ordering::Relaxed) {
            attempt(number);
            number += 1;
            n_answers.fetch_add(1, Ordering::Relaxed);
        }
    };
    let is_secret = |answer: &Answer| answer.text().contains(SECRET);
    thread::scope(|scope| {
        let mut attackers = Vec::new();
        for _ in 0..3 {
            attackers.push(scope.spawn(|| {
                meanwhile(&|_| {
                    for path in ["/api/files/docs/x/a.txt", "/api/files/docs/x/a.txt?version=1"] {
                        assert!(!is_secret(&thief.get(path)), "{path} leads out");
                    }
                });
            }));
        }
        for writer in 0..2 {
            let thief = &thief;
            attackers.push(scope.spawn(move || {
                meanwhile(&|_| {
                    put(thief, &format!("/docs/x/new{writer}.txt"), "from outside");
                    let path = format!("/api/files/docs/x/new{writer}.txt");
                    thief.send("DELETE", &path, &[], b"");
                });
            }));
        }
        attackers.push(scope.spawn(|| {
            meanwhile(&|number| {
                let to = format!("/docs/copy{}", number % 5);
                let copy =
                    json!({ "from": "/docs/x", "to": to, "recursive": true, "replace": true });
                post(&thief, "/api/copy", &copy);
                assert!(!is_secret(&thief.get(&format!("/api/files{to}/a.txt"))), "{to}");
                let listed = thief.get("/api/files/docs/x?recursive=true");
                assert!(!listed.text().contains("/out/"), "{}", listed.text());
            });
        }));
        let rename = |from: &str, to: &str| {
            post(&thief, "/api/move", &json!({ "from": from, "to": to }));
        };
        let is_too_early = || {
            let n_answers = n_answers.load(Ordering::Relaxed);
            n_answers <= 20 && attackers.iter().all(|attacker| !attacker.is_finished())
        };
        for _ in (0..).take_while(|number| *number < n_races() || is_too_early()) {
            rename("/docs/real", "/docs/x");
            rename("/docs/x", "/docs/real");
            rename("/docs/link", "/docs/x");
            rename("/docs/x", "/docs/link");
        }
        is_over.store(true, Ordering::Relaxed);
    });
    assert_eq!(ok(dir.path(), &["find", "/out"]), "/out\n/out/a.txt\n");
    assert_eq!(ok(dir.path(), &["cat", "/out/a.txt"]), SECRET);
    let found = run(dir.path(), &["grep", "-rl", SECRET, "/docs"], b"");
    assert_eq!((found.code, found.stdout), (Some(1), vec![]), "a copy is inside");
}

/// A local program exchanges a directory of the mirrored tree for a link that leads outside, while
/// a remote writer has the mirror write below it.
#[test]
fn the_mirror_follows_no_link_that_takes_the_place_of_a_directory() {
    let base = tempfile::tempdir().unwrap();
    let (tree, outside) = (base.path().join("tree"), base.path().join("outside"));
    for (root, text) in [(&tree.join("d"), "x\n"), (&outside, SECRET)] {
        fs::create_dir_all(root.join("sub")).unwrap();
        for number in 0..6 {
            fs::write(root.join(format!("f{number}.txt")), text).unwrap();
            fs::write(root.join(format!("sub/g{number}.txt")), text).unwrap();
        }
    }
    let link = base.path().join("link");
    symlink(&outside, &link).unwrap();
    let server = Server::start(&tree, 0);
    let client = Client { port: server.port(), token: None };
    let is_over = AtomicBool::new(false);
    let directory = tree.join("d");
    // Fails while the mirror has one of the two names in hand.
    let exchange = || renameat_with(CWD, &directory, CWD, &link, RenameFlags::EXCHANGE).is_ok();
    let n_exchanges = AtomicUsize::new(0);
    thread::scope(|scope| {
        let attacker = scope.spawn(|| {
            // Both states last a little, in turn, so that the mirror meets each.
            while !is_over.load(Ordering::Relaxed) {
                let n_done = (0..41).filter(|_| exchange()).count();
                n_exchanges.fetch_add(n_done, Ordering::Relaxed);
                thread::yield_now();
            }
            if directory.is_symlink() {
                exchange();
            }
        });
        let is_too_early = || n_exchanges.load(Ordering::Relaxed) <= 40 && !attacker.is_finished();
        for number in (0..).take_while(|number| *number < n_races() * 2 || is_too_early()) {
            let nth = number % 6;
            match number % 5 {
                0 => drop(put(&client, &format!("/d/f{nth}.txt"), &format!("remote {number}\n"))),
                1 => drop(put(&client, &format!("/d/new{nth}.txt"), "new\n")),
                2 => {
                    let path = format!("/api/files/d/new{nth}.txt");
                    drop(client.send("DELETE", &path, &[], b""));
                }
                3 => drop(put(&client, &format!("/d/sub/g{nth}.txt"), &format!("{number}\n"))),
                _ => drop(post(&client, "/api/mkdir", &json!({ "path": format!("/d/m{nth}") }))),
            }
        }
        is_over.store(true, Ordering::Relaxed);
    });
    // The mirror works on, and has come to what was written last.
    assert!(put(&client, "/last.txt", "last\n").status < 300);
    let deadline = Instant::now() + PATIENCE;
    while fs::read_to_string(tree.join("last.txt")).ok().as_deref() != Some("last\n") {
        assert!(Instant::now() < deadline, "the mirror does not go on");
        thread::sleep(Duration::from_millis(20));
    }
    assert_untouched(&outside);
    let found = run(&tree, &["grep", "-rl", SECRET, "/"], b"");
    assert_eq!((found.code, found.stdout), (Some(1), vec![]), "a text of outside came in");
    assert_eq!(server.interrupt(), Some(0));
}

fn assert_untouched(outside: &Path) {
    let mut names = Vec::new();
    for dir in [outside.to_owned(), outside.join("sub")] {
        for entry in fs::read_dir(&dir).unwrap() {
            let path = entry.unwrap().path();
            names.push(path.strip_prefix(outside).unwrap().to_string_lossy().into_owned());
            if path.is_file() {
                assert_eq!(fs::read_to_string(&path).unwrap(), SECRET, "{}", path.display());
            }
        }
    }
    names.sort();
    let expected: Vec<String> = (0..6)
        .map(|number| format!("f{number}.txt"))
        .chain(["sub".to_owned()])
        .chain((0..6).map(|number| format!("sub/g{number}.txt")))
        .collect();
    assert_eq!(names, expected);
}
