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
        "versions ls f.txt",
        "versions show f.txt 1",
        "log f.txt",
        "log",
        "log --reverse",
        "admin fsck",
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

    let repaired = run(dir.path(), &["admin", "fsck", "--repair"]);
    assert_eq!(repaired.status.code(), Some(1));
    let stderr = String::from_utf8_lossy(&repaired.stderr);
    assert!(stderr.contains("/f.txt: 1 record moved to the quarantine"), "{stderr}");
    assert_eq!(ok(dir.path(), &["cat", "f.txt"]), "base\n");
    assert_eq!(ok(dir.path(), &["cat", "whole.txt"]), "whole");
    ok(dir.path(), &["admin", "fsck"]);
    assert!(ok(dir.path(), &["admin", "quarantine", "ls"]).contains("f.txt"));
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

/// The copy of a damaged workspace was written without a word.
#[test]
fn a_backup_of_a_damaged_workspace_says_so() {
    let dir = damaged();
    let saved = run(dir.path(), &["admin", "backup", "saved.db"]);
    let stderr = String::from_utf8_lossy(&saved.stderr).into_owned();
    assert_eq!(saved.status.code(), Some(1), "{stderr}");
    assert!(stderr.contains("the workspace is damaged"), "{stderr}");
    let (dir, _) = with_damaged_blob();
    assert_eq!(run(dir.path(), &["admin", "backup", "saved.db"]).status.code(), Some(1));
    let whole = tempfile::tempdir().unwrap();
    ok(whole.path(), &["init"]);
    ok(whole.path(), &["admin", "backup", "saved.db"]);
}

#[test]
fn a_text_of_which_nothing_is_left_cannot_be_read_until_it_comes_back() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("f.txt"), "DAMAGED\n").unwrap();
    ok(dir.path(), &["mirror", ".", "--once"]);
    flip(&dir.path().join(".yfs/workspace.db"), b"DAMAGED");
    assert_eq!(run(dir.path(), &["admin", "fsck", "--repair"]).status.code(), Some(1));
    for line in ["cat f.txt", "append f.txt --content more", "export / out", "admin fsck"] {
        let output = run(dir.path(), &line.split(' ').collect::<Vec<_>>());
        assert_eq!(output.status.code(), Some(1), "{line}");
    }
    ok(dir.path(), &["mirror", ".", "--once"]);
    assert_eq!(ok(dir.path(), &["cat", "f.txt"]), "DAMAGED\n");
    assert_eq!(fs::read_to_string(dir.path().join("f.txt")).unwrap(), "DAMAGED\n");
    ok(dir.path(), &["admin", "fsck"]);
}

/// The store lost its last records, as when the end of `workspace.db-wal` is damaged: reading ended
/// with exit code 0 and the older content.
#[test]
fn a_workspace_that_lost_its_last_records_is_not_read_in_silence() {
    let dir = tempfile::tempdir().unwrap();
    let store = dir.path().join(".yfs/workspace.db");
    fs::write(dir.path().join("f.txt"), "old\n").unwrap();
    ok(dir.path(), &["mirror", ".", "--once"]);
    let before = fs::read(&store).unwrap();
    fs::write(dir.path().join("f.txt"), "new\n").unwrap();
    ok(dir.path(), &["mirror", ".", "--once"]);
    ok(dir.path(), &["cat", "f.txt"]);
    fs::write(&store, before).unwrap();
    for line in ["cat f.txt", "ls", "log", "head f.txt", "export / out"] {
        let output = run(dir.path(), &line.split(' ').collect::<Vec<_>>());
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{line}: {stderr}");
        assert!(stderr.contains("lacks changes"), "{line}: {stderr}");
    }
    ok(dir.path(), &["mirror", ".", "--once"]);
    assert_eq!(ok(dir.path(), &["cat", "f.txt"]), "new\n");
}

/// Creates a directory with a workspace that has its files, and a damaged piece of `bin/r.bin`.
fn with_damaged_blob() -> (tempfile::TempDir, Vec<u8>) {
    let dir = tempfile::tempdir().unwrap();
    // Bytes that do not compress, so that a piece has them as they are.
    let number = |n: u64| (n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as u32;
    let content: Vec<u8> = (0..300_000).flat_map(|n| number(n).to_le_bytes()).collect();
    fs::create_dir(dir.path().join("bin")).unwrap();
    fs::write(dir.path().join("bin/r.bin"), &content).unwrap();
    ok(dir.path(), &["mirror", ".", "--once"]);
    let file = dir.path().join(".yfs/workspace.db");
    let stored = fs::read(&file).unwrap();
    let is_in_store = |part: &&[u8]| stored.windows(part.len()).any(|window| window == *part);
    let part = content.chunks(64).skip(9000).find(is_in_store).unwrap();
    flip(&file, part);
    (dir, content)
}

/// Writing the bytes again ended with exit code 0, and they could not be read.
#[test]
fn content_that_is_written_again_replaces_a_damaged_piece() {
    let (dir, content) = with_damaged_blob();
    assert_eq!(run(dir.path(), &["cat", "bin/r.bin"]).status.code(), Some(1));
    let mut write = Command::new(env!("CARGO_BIN_EXE_yfs"));
    write.args(["write", "copy.bin"]).current_dir(dir.path()).env_remove("YFS_WORKSPACE");
    let on_disk = fs::File::open(dir.path().join("bin/r.bin")).unwrap();
    assert!(write.stdin(on_disk).status().unwrap().success());
    for path in ["copy.bin", "bin/r.bin"] {
        assert!(run(dir.path(), &["cat", path]).stdout == content, "{path}");
    }
    ok(dir.path(), &["admin", "fsck"]);
}

#[test]
fn fsck_names_the_files_of_a_damaged_blob_and_takes_it_from_the_directory() {
    let (dir, content) = with_damaged_blob();
    let checked = run(dir.path(), &["admin", "fsck"]);
    let stdout = String::from_utf8_lossy(&checked.stdout).into_owned();
    assert_eq!(checked.status.code(), Some(1), "{stdout}");
    assert!(stdout.contains("/bin/r.bin: blob "), "{stdout}");

    // A file with other content is no source.
    let good = dir.path().join("bin/good");
    fs::rename(dir.path().join("bin/r.bin"), &good).unwrap();
    fs::write(dir.path().join("bin/r.bin"), "other").unwrap();
    let repaired = run(dir.path(), &["admin", "fsck", "--repair"]);
    assert_eq!(repaired.status.code(), Some(1));
    let stderr = String::from_utf8_lossy(&repaired.stderr).into_owned();
    assert!(stderr.contains("/bin/r.bin: still cannot be read"), "{stderr}");
    assert_eq!(run(dir.path(), &["cat", "bin/r.bin"]).status.code(), Some(1));

    fs::rename(&good, dir.path().join("bin/r.bin")).unwrap();
    let repaired = run(dir.path(), &["admin", "fsck", "--repair"]);
    assert_eq!(repaired.status.code(), Some(1), "there was damage");
    assert!(run(dir.path(), &["cat", "bin/r.bin"]).stdout == content);
    ok(dir.path(), &["admin", "fsck"]);
}

/// Commands went on with a part of the files, and ended with exit code 0.
#[test]
fn a_damaged_table_of_files_is_an_error_for_every_command() {
    let dir = damaged_table();
    for line in [
        "ls",
        "ls -l /",
        "find /",
        "tree",
        "cat whole.txt",
        "export / out",
        "write new.txt --content new",
        "mkdir new",
        "rm whole.txt",
        "log",
        "trash ls",
        "grep whole /",
        "status",
        "admin backup saved.db",
        "admin fsck",
        "import disk",
        "diff",
        "mcp",
        "describe /",
        "admin info",
        "du",
        "versions ls whole.txt",
        "mirror . --once",
        "admin compact",
        "serve . --port 0",
    ] {
        let output = run(dir.path(), &line.split(' ').collect::<Vec<_>>());
        let code = output.status.code();
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(matches!(code, Some(1 | 2)), "{line}: {code:?} {stderr}");
        assert!(line == "admin fsck" || stderr.contains("yfs admin fsck"), "{line}: {stderr}");
    }
    assert_eq!(run(dir.path(), &["admin", "fsck", "--repair"]).status.code(), Some(1));
    ok(dir.path(), &["ls"]);
    ok(dir.path(), &["write", "new.txt", "--content", "new"]);
    assert_eq!(ok(dir.path(), &["cat", "new.txt"]), "new");
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
    fs::create_dir(dir.path().join("disk")).unwrap();
    fs::write(dir.path().join("disk/new.txt"), "new").unwrap();
    flip(&dir.path().join(".yfs/workspace.db"), b"DAMAGED.txt");
    fs::remove_dir_all(dir.path().join(".yfs/workspace-db.derived")).ok();
    dir
}

#[test]
fn the_content_of_a_file_whose_row_was_damaged_is_recovered() {
    let dir = damaged_table();
    assert_eq!(run(dir.path(), &["admin", "fsck", "--repair"]).status.code(), Some(1));
    assert_eq!(ok(dir.path(), &["ls"]), "whole.txt\n");
    let checked = run(dir.path(), &["admin", "fsck"]);
    let (stdout, stderr) =
        (String::from_utf8_lossy(&checked.stdout), String::from_utf8_lossy(&checked.stderr));
    assert_eq!(checked.status.code(), Some(1), "{stdout} {stderr}");
    assert!(stdout.contains("no file has this content of 29 bytes"), "{stdout}");
    assert!(stderr.contains("fsck --recover"), "{stderr}");

    let recovered = ok(dir.path(), &["admin", "fsck", "--recover"]);
    let path = recovered.split(':').next().unwrap();
    assert!(path.starts_with("/lost+found/"), "{recovered}");
    assert_eq!(ok(dir.path(), &["cat", path]), "words of a file without a row");
    assert!(ok(dir.path(), &["versions", "ls", path]).lines().count() >= 1);
    ok(dir.path(), &["admin", "fsck"]);
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
    assert!(!stderr.contains("not permitted"), "{stderr}");
}
