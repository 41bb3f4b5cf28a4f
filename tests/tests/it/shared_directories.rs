//! `yfs peer share --path` as people run it: real processes over loopback. The peer has the
//! directory and nothing else, and what either side changes reaches the other.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde_json::Value;
use yfs_tests::{
    command::{ok, run},
    peers::{Connected, LOOPBACK, peers, wait_for_file, wait_until},
};

/// Texts that only files outside of the directory have.
const SECRETS: [&str; 5] =
    ["secret-name", "secret-text", "secret-bytes", "private-plans", "former-secret"];

/// Makes a mirrored directory with `docs`, which is to be shared, and `private-plans`.
fn workspace(home: &Path) -> PathBuf {
    let here = home.join("here");
    fs::create_dir_all(here.join("docs/notes")).unwrap();
    fs::create_dir_all(here.join("private-plans")).unwrap();
    fs::write(here.join("docs/plan.md"), "# Plan\n\none\n").unwrap();
    fs::write(here.join("docs/notes/a.txt"), "a\n").unwrap();
    fs::write(here.join("docs/image.bin"), b"\0\x01 shared bytes").unwrap();
    fs::write(here.join("private-plans/secret-name.txt"), "secret-text\n").unwrap();
    fs::write(here.join("private-plans/image.bin"), b"\0\x01 secret-bytes").unwrap();
    fs::write(here.join("former-secret.txt"), "moved in\n").unwrap();
    ok(&here, &["mirror", ".", "--once", "--quiet"]);
    ok(&here, &["mv", "/former-secret.txt", "/docs/moved.txt"]);
    ok(&here, &["mirror", ".", "--once", "--quiet"]);
    here
}

fn share_docs(here: &Path, args: &[&str]) -> Connected {
    Connected::share(here, &[&["--path", "/docs"], args].concat())
}

fn join(home: &Path, share: &Connected) -> (Connected, PathBuf) {
    let joined = Connected::start(home, &["peer", "join", &share.ticket(), "there"]);
    (joined, home.join("there"))
}

/// Returns the bytes of all files below a directory.
fn all_bytes(dir: &Path) -> Vec<u8> {
    let mut bytes = Vec::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            bytes.extend(all_bytes(&path));
        } else if path.is_file() {
            bytes.extend(path.file_name().unwrap().as_encoded_bytes());
            bytes.extend(fs::read(&path).unwrap());
        }
    }
    bytes
}

fn check_no_secrets(dir: &Path) {
    let bytes = all_bytes(dir);
    for secret in SECRETS {
        let is_there = bytes.windows(secret.len()).any(|window| window == secret.as_bytes());
        assert!(!is_there, "the peer has {secret}");
    }
}

fn wait_until_gone(path: &Path) {
    wait_until(&format!("{} is gone", path.display()), || !path.exists());
}

#[test]
fn a_peer_has_the_directory_and_nothing_else() {
    let home = tempfile::tempdir().unwrap();
    let here = workspace(home.path());
    let share = share_docs(&here, &["--for", "ben"]);
    assert_eq!(share.printed()["path"], "/docs");
    let (joined, there) = join(home.path(), &share);
    wait_for_file(&there, "plan.md", "# Plan\n\none\n");
    wait_for_file(&there, "moved.txt", "moved in\n");
    // A text that the disk has before the mirror writes the file there is a file of its own.
    wait_for_file(&there, "notes/a.txt", "a\n");
    wait_until("the binary file is there", || {
        fs::read(there.join("image.bin")).is_ok_and(|bytes| bytes == b"\0\x01 shared bytes")
    });
    assert!(!there.join("docs").exists());

    // Edits, new files, renames and removals, on the disk and by commands, in both directions.
    fs::write(there.join("notes/a.txt"), "a\nfrom there\n").unwrap();
    wait_for_file(&here, "docs/notes/a.txt", "a\nfrom there\n");
    ok(&here, &["edit", "/docs/plan.md", "--old", "one", "--new", "one\n\ntwo"]);
    wait_for_file(&there, "plan.md", "# Plan\n\none\n\ntwo\n");
    fs::create_dir(there.join("letters")).unwrap();
    fs::write(there.join("letters/b.txt"), "b\n").unwrap();
    wait_for_file(&here, "docs/letters/b.txt", "b\n");
    fs::rename(there.join("letters"), there.join("mail")).unwrap();
    wait_for_file(&here, "docs/mail/b.txt", "b\n");
    fs::write(there.join("there.bin"), b"\0\x02 from there").unwrap();
    wait_until("the bytes are here", || {
        fs::read(here.join("docs/there.bin")).is_ok_and(|bytes| bytes == b"\0\x02 from there")
    });
    fs::remove_file(there.join("mail/b.txt")).unwrap();
    wait_until_gone(&here.join("docs/mail/b.txt"));

    // A file that leaves the directory leaves the peer; what is written to it then stays here.
    fs::rename(here.join("docs/moved.txt"), here.join("private-plans/moved.txt")).unwrap();
    wait_until_gone(&there.join("moved.txt"));
    fs::write(here.join("private-plans/moved.txt"), "moved in\nsecret-text of later\n").unwrap();
    ok(&here, &["append", "/docs/notes/a.txt", "--content", "after\n"]);
    wait_for_file(&there, "notes/a.txt", "a\nfrom there\nafter\n");
    // The directory has another name, and is the same.
    fs::rename(here.join("docs"), here.join("renamed")).unwrap();
    fs::write(there.join("notes/a.txt"), "still\n").unwrap();
    wait_for_file(&here, "renamed/notes/a.txt", "still\n");

    wait_until("the peer is listed", || {
        let members = peers(&here);
        assert_eq!(members.len(), 1, "{members:?}");
        assert_eq!(members[0]["name"], "ben");
        members[0]["path"] == "/renamed" && members[0]["connected"] == true
    });
    drop((share, joined));
    check_no_secrets(&there);
    let files: Vec<Value> = ok(&there, &["ls", "/", "--json"])
        .lines()
        .map(|l| serde_json::from_str(l).unwrap())
        .collect();
    assert!(files.iter().all(|file| !file.to_string().contains("private")), "{files:?}");
}

#[test]
fn both_sides_go_on_after_a_kill_and_plain_share_resumes() {
    let home = tempfile::tempdir().unwrap();
    let here = workspace(home.path());
    let share = share_docs(&here, &[]);
    let (joined, there) = join(home.path(), &share);
    wait_for_file(&there, "notes/a.txt", "a\n");
    // Killed in the middle of changes on both sides.
    for n in 0..40 {
        fs::write(there.join(format!("there{n}.txt")), format!("there {n}\n")).unwrap();
        fs::write(here.join(format!("docs/here{n}.txt")), format!("here {n}\n")).unwrap();
    }
    wait_until("some have arrived", || here.join("docs/there3.txt").exists());
    drop(share);
    fs::write(there.join("notes/a.txt"), "a\nmeanwhile there\n").unwrap();
    drop(joined);
    ok(&here, &["append", "/docs/plan.md", "--content", "\nmeanwhile here\n"]);

    let share = Connected::share(&here, &[]);
    assert_eq!(share.printed()["path"], Value::Null);
    let joined = Connected::start(&there, &["peer", "join"]);
    wait_for_file(&here, "docs/notes/a.txt", "a\nmeanwhile there\n");
    wait_for_file(&there, "plan.md", "# Plan\n\none\n\nmeanwhile here\n");
    for n in 0..40 {
        wait_for_file(&here, &format!("docs/there{n}.txt"), &format!("there {n}\n"));
        wait_for_file(&there, &format!("here{n}.txt"), &format!("here {n}\n"));
    }
    // Another ticket for the same directory is one for the same share.
    let ticket = ok(&here, &[&["peer", "share", "--path", "/docs"], &LOOPBACK[..]].concat());
    let other = home.path().join("other");
    let args = [&["peer", "join", ticket.trim(), "other", "--no-wait"], &LOOPBACK[..]].concat();
    ok(home.path(), &args);
    assert_eq!(fs::read_to_string(other.join("here7.txt")).unwrap(), "here 7\n");
    let stores = fs::read_dir(here.join(".yfs/shares")).unwrap().count();
    assert_eq!(stores, 1);
    drop((share, joined));
    check_no_secrets(&there);
}

#[test]
fn rights_and_blocks_are_those_of_the_share() {
    let home = tempfile::tempdir().unwrap();
    let here = workspace(home.path());
    let share = share_docs(&here, &["--read-only", "--for", "rea"]);
    let (joined, there) = join(home.path(), &share);
    wait_for_file(&there, "notes/a.txt", "a\n");
    wait_for_file(&there, "plan.md", "# Plan\n\none\n");
    // What a reader writes stays there, and what others write still arrives.
    fs::write(there.join("own.txt"), "mine\n").unwrap();
    ok(&here, &["append", "/docs/notes/a.txt", "--content", "b\n"]);
    wait_for_file(&there, "notes/a.txt", "a\nb\n");
    assert!(!here.join("docs/own.txt").exists());
    ok(&here, &["peer", "rename", "rea", "reader"]);
    ok(&here, &["peer", "block", "reader"]);
    wait_until("the reader is cut off", || {
        peers(&here).iter().any(|peer| peer["blocked"] == true && peer["connected"] == false)
    });
    ok(&here, &["append", "/docs/plan.md", "--content", "later\n"]);
    drop(joined);

    // A ticket is withdrawn by its id.
    let invitation = share.ticket();
    let ticket = share.printed()["ticket_id"].as_str().unwrap().to_owned();
    ok(&here, &["peer", "block", &ticket]);
    let args = [&["peer", "join", &invitation, "late", "--no-wait"], &LOOPBACK[..]].concat();
    let refused = run(home.path(), &args, b"");
    assert_eq!(refused.code, Some(1), "{}", refused.stderr);
    assert!(!home.path().join("late/plan.md").exists());
    assert!(!fs::read_to_string(there.join("plan.md")).unwrap().contains("later"));
}

/// The share of a directory of an encrypted workspace is encrypted, and opens with the same key,
/// also after that was changed.
#[test]
fn a_share_of_an_encrypted_workspace_has_its_key() {
    let home = tempfile::tempdir().unwrap();
    let here = home.path().join("here");
    fs::create_dir(&here).unwrap();
    let keys = ["old.key", "new.key"].map(|name| home.path().join(name).display().to_string());
    let [old, new] = [0, 1].map(|n| ["--key-file", keys[n].as_str()]);
    ok(&here, &[&["init", "--encrypt"], &old[..]].concat());
    ok(&here, &[&["mkdir", "/docs"], &old[..]].concat());
    let write = ["write", "/docs/a.txt", "--content", "secret-text\n"];
    ok(&here, &[&write, &old[..]].concat());
    let share = share_docs(&here, &old);
    let (joined, there) = join(home.path(), &share);
    wait_for_file(&there, "a.txt", "secret-text\n");
    fs::write(there.join("a.txt"), "secret-text of there\n").unwrap();
    let text = || ok(&here, &[&["cat", "/docs/a.txt"], &old[..]].concat());
    wait_until("the text is here", || text() == "secret-text of there\n");
    drop(share);

    ok(&here, &[&["admin", "key", "change", "--new-key-file", &keys[1]], &old[..]].concat());
    let shares = fs::read_dir(here.join(".yfs/shares")).unwrap();
    let [file] = shares.map(|entry| entry.unwrap().path()).collect::<Vec<_>>().try_into().unwrap();
    let open_with =
        |key: [&str; 2]| run(&file, &[&["ls", "/", "--workspace", "."], &key[..]].concat(), b"");
    assert_eq!(open_with(new).stdout, b"a.txt\n");
    let denied = open_with(old);
    assert_eq!(denied.code, Some(1), "the old key opens the share: {}", denied.stderr);
    let share = Connected::share(&here, &new);
    fs::write(there.join("a.txt"), "secret-text of later\n").unwrap();
    let text = || ok(&here, &[&["cat", "/docs/a.txt"], &new[..]].concat());
    wait_until("the later text is here", || text() == "secret-text of later\n");
    let listed = ok(&here, &[&["peer", "ls", "--json"], &new[..]].concat());
    assert_eq!(serde_json::from_str::<Value>(&listed).unwrap()["path"], "/docs");
    drop((share, joined));
    check_no_secrets(&here);
}

#[test]
fn what_is_no_directory_is_refused() {
    let home = tempfile::tempdir().unwrap();
    let here = workspace(home.path());
    let file = run(&here, &["peer", "share", "--path", "/docs/plan.md"], b"");
    assert_eq!(file.code, Some(1));
    assert!(file.stderr.contains("only a directory can be shared"), "{}", file.stderr);
    let none = run(&here, &["peer", "share", "--path", "/nothing"], b"");
    assert!(none.stderr.contains("/nothing"), "{}", none.stderr);
    assert!(!here.join(".yfs/shares").exists());
}
