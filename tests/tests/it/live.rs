//! People in live editors, a shell on the disk and the command change the same files of a served
//! directory: all of them see all changes, no change is doubled or lost, and carets stay.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{
    fs::{self, OpenOptions},
    io::Write,
    path::Path,
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use yfs_tests::{
    command::{Server, ok},
    copy_tree,
    editor::Editor,
    fixture,
};

/// A text, as markdown and as plain text.
const PAGES: [&str; 2] = ["/runbooks/on-call.md", "/CODEOWNERS"];

/// How long the clients may take to see all changes.
const PATIENCE: Duration = Duration::from_secs(600);

#[test]
fn all_see_all_over_both_protocols() {
    let dir = tempfile::tempdir().unwrap();
    copy_tree(&fixture("handbook"), dir.path());
    let server = Server::start_with_tokens(dir.path(), 0);
    let token = ok(dir.path(), &["--quiet", "token", "owner"]).trim().to_owned();
    let [mut ana, mut ben] = ["Ana", "Ben"].map(|name| Editor::live(server.port(), name, &token));
    // Ana speaks y-websocket, Ben Hocuspocus; both have both pages open.
    for (person, protocol) in [(&mut ana, "websocket"), (&mut ben, "hocuspocus")] {
        for (page, editor) in PAGES.iter().zip(["milkdown", "codemirror"]) {
            let open = json!({
                "do": "open", "as": page, "guid": guid_of(dir.path(), page),
                "editor": editor, "protocol": protocol,
            });
            person.call(&open);
        }
    }
    let typed = |name: &str, page: usize| format!("«typed by {name} in page {page} 😀»");
    let places = [["Acknowledge", "minutes"], ["tidemark", "data"]];
    for (n, (person, name)) in [(&mut ana, "Ana"), (&mut ben, "Ben")].into_iter().enumerate() {
        for (page, path) in PAGES.iter().enumerate() {
            person.call(&json!({
                "do": "type", "as": path, "behind": places[page][n],
                "text": typed(name, page), "every_ms": 30,
            }));
        }
    }
    // Meanwhile others write to the same files.
    let mut lines = Vec::new();
    for n in 0..8 {
        for page in PAGES {
            let line = format!("Line {n} of the command.");
            ok(dir.path(), &["append", page, "--content", &format!("\n{line}\n")]);
            lines.push((page, line));
            let line = format!("Line {n} of the disk.");
            append_on_disk(&dir.path().join(&page[1..]), &format!("\n{line}\n"));
            lines.push((page, line));
        }
        thread::sleep(Duration::from_millis(40));
    }
    for person in [&mut ana, &mut ben] {
        for page in PAGES {
            person.call(&json!({ "do": "wait", "as": page, "for": "typed" }));
        }
    }
    let mut expected: Vec<(&str, String)> = lines;
    for (page, path) in PAGES.iter().enumerate() {
        expected.extend(["Ana", "Ben"].map(|name| (*path, typed(name, page))));
    }
    for (page, text) in &expected {
        for person in [&mut ana, &mut ben] {
            person.call(&json!({ "do": "wait", "as": page, "text": [text] }));
        }
    }
    for page in PAGES {
        wait_until(|| {
            fs::read_to_string(dir.path().join(&page[1..])).unwrap()
                == ok(dir.path(), &["cat", page])
        });
        let text = ok(dir.path(), &["cat", page]);
        for (_, part) in expected.iter().filter(|(of, _)| *of == page) {
            assert_eq!(text.matches(part.as_str()).count(), 1, "{part:?} in {page}: {text}");
        }
    }
    save_on_disk(dir.path(), [&mut ana, &mut ben]);
    // Each caret is behind the last character that its editor typed.
    for (person, name) in [(&mut ana, "Ana"), (&mut ben, "Ben")] {
        let state = person.call(&json!({ "do": "state" }));
        for (page, path) in PAGES.iter().enumerate() {
            let before = state[path]["before"].as_str().unwrap();
            assert!(before.ends_with(&typed(name, page)), "{name} in {path}: {before:?}");
        }
    }
    assert_eq!(server.interrupt(), Some(0));
}

fn guid_of(dir: &Path, page: &str) -> String {
    let stat: Value = serde_json::from_str(&ok(dir, &["stat", "--json", page])).unwrap();
    stat["id"].as_str().unwrap().to_owned()
}

/// Saves each page as editors do: a new file, moved over the old one; it is the same file still.
fn save_on_disk(dir: &Path, mut people: [&mut Editor; 2]) {
    for page in PAGES {
        let path = dir.join(&page[1..]);
        let saved = fs::read_to_string(&path).unwrap() + "\nSaved on the disk.\n";
        fs::write(path.with_extension("new~"), saved).unwrap();
        fs::rename(path.with_extension("new~"), &path).unwrap();
        for person in &mut people {
            person.call(&json!({ "do": "wait", "as": page, "text": ["Saved on the disk."] }));
        }
    }
}

/// Adds to a file as a shell does with `>>`.
fn append_on_disk(path: &Path, text: &str) {
    let mut file = OpenOptions::new().append(true).open(path).unwrap();
    file.write_all(text.as_bytes()).unwrap();
}

fn wait_until(condition: impl Fn() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !condition() {
        assert!(Instant::now() < deadline, "waited too long");
        thread::sleep(Duration::from_millis(20));
    }
}
