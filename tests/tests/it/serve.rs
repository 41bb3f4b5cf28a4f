//! `yfs serve`, from a folder on disk to an editor and back.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{fs, process::Command};

use serde_json::Value;
use yfs_tests::{
    command::{Server, ok, run},
    copy_tree,
    editor::Editor,
    fixture, node, root,
};

const PAGE: &str = "/CODEOWNERS";

/// The program of the guide, run as it stands, by Node with the packages of the tests.
#[test]
fn the_program_of_the_guide_edits_a_file() {
    let guide = fs::read_to_string(root().join("docs/guides/connect-an-editor.md")).unwrap();
    let (_, program) = guide.split_once("```js\n").unwrap();
    let (program, _) = program.split_once("```").unwrap();
    let dir = tempfile::tempdir().unwrap();
    ok(dir.path(), &["demo", "demo", "--quiet"]);
    let dir = dir.path().join("demo");
    let server = Server::start_with_tokens(&dir, 0);
    let token = ok(&dir, &["token", "new", "--path", "/notes"]);
    node::ensure_installed("");
    let output = Command::new("node")
        .args(["--input-type=module", "--eval", program])
        .current_dir(node::dir())
        .env("SERVER", format!("http://127.0.0.1:{}", server.port()))
        .env("TOKEN", token.trim())
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    let text = ok(&dir, &["cat", "/notes/log.txt"]);
    assert!(text.ends_with("Thu  calm, says the editor\n"), "{text}");
    assert_eq!(String::from_utf8(output.stdout).unwrap(), format!("{text}\n"));
}

#[test]
fn a_folder_is_imported_once_and_edited() {
    let dir = tempfile::tempdir().unwrap();
    copy_tree(&fixture("handbook"), dir.path());
    let before = fs::read_to_string(dir.path().join(&PAGE[1..])).unwrap();

    let server = Server::start(dir.path(), 0);
    let guid = guid_of(&server, PAGE).expect("the folder was imported");
    let mut ana = Editor::open(server.port(), &guid, "ana");
    assert_eq!(ana.text(), before);
    ana.insert(0, "Typed by Ana 😀\n");
    let with_ana = format!("Typed by Ana 😀\n{before}");
    // Another process sees it as soon as it is in the log, and is seen by the editor.
    let mut ben = Editor::open(server.port(), &guid, "ben");
    ben.wait_for_text(&["Typed by Ana"]);
    assert_eq!(ok(dir.path(), &["cat", PAGE]), with_ana);
    ok(dir.path(), &["append", PAGE, "--content", "Appended.\n"]);
    ana.wait_for_text(&["Appended."]);

    // A port has one server, and a refusal leaves nothing behind.
    let other = tempfile::tempdir().unwrap();
    fs::write(other.path().join("file"), "text").unwrap();
    let port = server.port().to_string();
    let refused = run(other.path(), &["serve", ".", "--port", &port], b"");
    let says = format!("yfs serve: cannot listen on 127.0.0.1:{port}: Address already in use\n");
    assert_eq!((refused.code, refused.stderr), (Some(1), says));
    assert!(!other.path().join(".yfs").exists());

    assert_eq!(server.interrupt(), Some(0));
    let expected = format!("{with_ana}Appended.\n");
    assert_eq!(ok(dir.path(), &["cat", PAGE]), expected);
    // The disk has it, too. A change there while no server runs is in the workspace after a
    // restart.
    let file = dir.path().join(&PAGE[1..]);
    assert_eq!(fs::read_to_string(&file).unwrap(), expected);
    let expected = format!("{expected}Written while no server ran.\n");
    fs::write(&file, &expected).unwrap();
    let server = Server::start(dir.path(), 0);
    assert_eq!(guid_of(&server, PAGE), Some(guid.clone()));
    let mut late = Editor::open(server.port(), &guid, "late");
    late.wait_for_text(&["Written while no server ran."]);
    assert_eq!(late.text(), expected);
    // Without the mirror, the disk stays as it is.
    assert_eq!(server.interrupt(), Some(0));
    let server = Server::start_with(dir.path(), &["--open", "--no-mirror"]);
    let mut alone = Editor::open(server.port(), &guid, "alone");
    alone.insert(-1, "In the workspace only.\n");
    // The echo comes after it was logged.
    let mut other = Editor::open(server.port(), &guid, "other");
    other.wait_for_text(&["In the workspace only."]);
    assert_eq!(server.interrupt(), Some(0));
    assert_eq!(fs::read_to_string(&file).unwrap(), expected);
    let all = format!("{expected}In the workspace only.\n");
    assert_eq!(ok(dir.path(), &["cat", PAGE]), all);
}

fn guid_of(server: &Server, path: &str) -> Option<String> {
    let (status, body) = server.get("/api/tree");
    assert_eq!(status, 200, "{body}");
    let tree: Value = serde_json::from_str(&body).unwrap();
    let entry = tree["entries"].as_array().unwrap().iter().find(|entry| entry["path"] == path)?;
    Some(entry["guid"].as_str().unwrap().to_owned())
}
