//! Damage of a workspace, as a person meets it: nothing that is missing reads as if it were there.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{
    fs,
    path::Path,
    process::{Command, Output, Stdio},
};

/// Creates a workspace in which the last record of `f.txt` is damaged.
fn damaged() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    for arguments in [
        &["init"][..],
        &["write", "whole.txt", "--content", "whole"],
        &["write", "f.txt", "--content", "base\n"],
        &["append", "f.txt", "--content", "DAMAGED\n"],
    ] {
        ok(dir.path(), arguments);
    }
    flip(&dir.path().join(".yfs/workspace.db"), b"DAMAGED");
    dir
}

/// Flips a bit of each occurrence of `what`.
fn flip(file: &Path, what: &[u8]) {
    let mut bytes = fs::read(file).unwrap();
    let places: Vec<usize> = (0..bytes.len()).filter(|at| bytes[*at..].starts_with(what)).collect();
    assert!(!places.is_empty());
    places.iter().for_each(|place| bytes[*place] ^= 1);
    fs::write(file, bytes).unwrap();
}

#[test]
fn a_damaged_file_is_an_error_for_every_command_until_it_is_repaired() {
    let dir = damaged();
    for line in [
        "cat f.txt",
        "head f.txt",
        "append f.txt --content more",
        "write f.txt --content new",
        "edit f.txt --old base --new new",
        "cp f.txt g.txt",
        "mv f.txt whole.txt",
        "grep base f.txt",
        "export / out",
        "blame f.txt",
        "fsck",
    ] {
        let output = run(dir.path(), &line.split(' ').collect::<Vec<_>>());
        let text =
            String::from_utf8_lossy(&output.stderr) + String::from_utf8_lossy(&output.stdout);
        let code = output.status.code();
        assert!(matches!(code, Some(1 | 2)), "{line}: {code:?} {text}");
        assert!(text.contains("f.txt"), "{line}: {text}");
    }
    assert_eq!(fs::read_to_string(dir.path().join("out/whole.txt")).unwrap(), "whole");
    assert!(!dir.path().join("out/f.txt").exists());
    assert_eq!(ok(dir.path(), &["ls"]), "f.txt\nwhole.txt\n");

    let repaired = run(dir.path(), &["fsck", "--repair"]);
    assert_eq!(repaired.status.code(), Some(1));
    let stderr = String::from_utf8_lossy(&repaired.stderr);
    assert!(stderr.contains("/f.txt: 1 record moved to the quarantine"), "{stderr}");
    assert_eq!(ok(dir.path(), &["cat", "f.txt"]), "base\n");
    assert_eq!(ok(dir.path(), &["cat", "whole.txt"]), "whole");
    ok(dir.path(), &["fsck"]);
    assert!(ok(dir.path(), &["quarantine", "ls"]).contains("f.txt"));
}

fn run(dir: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_yfs"));
    command.args(arguments).current_dir(dir).env_remove("YFS_WORKSPACE").stdin(Stdio::null());
    command.output().unwrap()
}

fn ok(dir: &Path, arguments: &[&str]) -> String {
    let output = run(dir, arguments);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "yfs {arguments:?}: {stderr}");
    String::from_utf8(output.stdout).unwrap()
}

/// Creates a workspace in which a record of the files table is damaged.
fn damaged_table() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    for arguments in [
        &["init"][..],
        &["write", "whole.txt", "--content", "whole"],
        &["write", "DAMAGED.txt", "--content", "words of a file without a row"],
    ] {
        ok(dir.path(), arguments);
    }
    fs::create_dir(dir.path().join("new")).unwrap();
    fs::write(dir.path().join("new/new.txt"), "new").unwrap();
    flip(&dir.path().join(".yfs/workspace.db"), b"DAMAGED.txt");
    dir
}

#[test]
fn a_damaged_files_table_is_an_error_for_every_command_until_it_is_repaired() {
    let dir = damaged_table();
    for line in [
        "ls",
        "find /",
        "cat whole.txt",
        "export / out",
        "import new",
        "write n.txt --content x",
        "mkdir d",
        "rm whole.txt",
        "status",
        "log",
        "diff",
        "grep whole",
        "backup b.db",
        "mcp",
        "stats",
        "info",
        "du",
        "tree",
        "trash ls",
        "versions ls whole.txt",
        "mirror . --once",
        "compact",
        "serve . --port 0",
    ] {
        let output = run(dir.path(), &line.split(' ').collect::<Vec<_>>());
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{line}: {stderr}");
        assert!(stderr.contains("Input/output error"), "{line}: {stderr}");
        assert!(stderr.contains("`yfs fsck`"), "{line}: {stderr}");
        assert!(output.stdout.is_empty(), "{line}");
    }
    let output = run(dir.path(), &["ls", "--json"]);
    assert!(String::from_utf8_lossy(&output.stderr).contains(r#""code":"EIO""#));
    let output = run(dir.path(), &["fsck"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stdout).contains("the table of files"));
}

#[test]
fn the_content_of_a_file_whose_row_was_damaged_is_recovered() {
    let dir = damaged_table();
    assert_eq!(run(dir.path(), &["fsck", "--repair"]).status.code(), Some(1));
    assert_eq!(ok(dir.path(), &["ls"]), "whole.txt\n");
    let checked = run(dir.path(), &["fsck"]);
    let (stdout, stderr) =
        (String::from_utf8_lossy(&checked.stdout), String::from_utf8_lossy(&checked.stderr));
    assert_eq!(checked.status.code(), Some(1), "{stdout} {stderr}");
    assert!(stdout.contains("no file has this content of 29 bytes"), "{stdout}");
    assert!(stderr.contains("fsck --recover"), "{stderr}");

    let recovered = ok(dir.path(), &["fsck", "--recover"]);
    let path = recovered.split(':').next().unwrap();
    assert!(path.starts_with("/lost+found/"), "{recovered}");
    assert_eq!(ok(dir.path(), &["cat", path]), "words of a file without a row");
    assert!(ok(dir.path(), &["versions", "ls", path]).lines().count() >= 1);
    ok(dir.path(), &["fsck"]);
}

#[test]
fn damage_that_was_accepted_is_no_error() {
    let dir = damaged_table();
    ok(dir.path(), &["fsck", "--accept"]);
    assert_eq!(ok(dir.path(), &["ls"]), "whole.txt\n");
    ok(dir.path(), &["write", "n.txt", "--content", "x"]);
}

/// A path that is nowhere, and a file without lines, are errors with a reason.
#[test]
fn what_cannot_be_answered_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    ok(dir.path(), &["init"]);
    ok(dir.path(), &["write", "a.txt", "--content", "a"]);
    fs::write(dir.path().join("logo"), b"\0\xff").unwrap();
    ok(dir.path(), &["import", "."]);
    let diff = run(dir.path(), &["diff", "nope"]);
    let stderr = String::from_utf8_lossy(&diff.stderr);
    assert_eq!(diff.status.code(), Some(1), "{stderr}");
    assert!(stderr.contains("/nope: No such file or directory"), "{stderr}");
    ok(dir.path(), &["diff", "a.txt", "logo"]);
    let blame = run(dir.path(), &["blame", "logo"]);
    let stderr = String::from_utf8_lossy(&blame.stderr);
    assert_eq!(blame.status.code(), Some(1), "{stderr}");
    assert!(stderr.contains("only a text has lines with authors"), "{stderr}");
}
