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
