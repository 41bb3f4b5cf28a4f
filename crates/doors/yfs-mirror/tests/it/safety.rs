//! What must not happen, whatever other writers write into the workspace and whatever is in the
//! directory.

use std::{
    ffi::OsStr,
    fs,
    os::unix::{
        ffi::OsStrExt,
        fs::{PermissionsExt, symlink},
    },
    path::{Path, PathBuf},
};

use futures::executor::block_on;
use yfs::{Workspace, WorkspaceOptions};
use yfs_engine::{
    content::{ContentDoc, RunAuthor},
    gate::{GateLimits, UpdateSource},
    id::ClientId,
    time::Millis,
};
use yfs_mirror::{Mirror, MirrorOptions, NoticeReason, TrustPolicy};
use yfs_vfs::{
    FileKind, FileSystem, FileSystemExt, FsCode, WriteOptions, name_escaping::HostRules,
};

use crate::support::{Pair, v};

#[test]
fn what_tools_obey_does_not_come_from_elsewhere() {
    let mut pair = Pair::new();
    for path in
        ["/.git/hooks/post-checkout", "/.vscode/tasks.json", "/sub/.ENVRC", "/.npmrc", "/.yfs/x"]
    {
        pair.write(path, "evil\n");
    }
    pair.write("/tool.sh", "#!/bin/sh\n");
    pair.run(pair.fs().chmod(&v("/tool.sh"), 0o755)).unwrap();
    let report = pair.settle();
    for path in [".git", ".vscode", "sub/.ENVRC", ".npmrc", ".yfs/x"] {
        assert!(!pair.at(path).exists(), "{path}");
    }
    assert_eq!(pair.at("tool.sh").metadata().unwrap().permissions().mode() & 0o777, 0o644);
    assert_eq!(report.skipped[Path::new("tool.sh")], NoticeReason::Executable);
    assert_eq!(report.skipped[Path::new(".npmrc")], NoticeReason::Risky);
    // The bits stay as they are in the workspace: the mirror did not remove them.
    assert_eq!(pair.run(pair.fs().stat(&v("/tool.sh"))).unwrap().mode, 0o755);

    // With trust everything arrives except what is never mirrored.
    pair.stop();
    pair.options.trust = TrustPolicy::AnyAuthor;
    pair.write("/tool.sh", "#!/bin/sh\necho\n");
    pair.start();
    pair.settle();
    assert_eq!(
        (pair.text(".npmrc"), pair.text(".vscode/tasks.json")),
        ("evil\n".into(), "evil\n".into())
    );
    assert!(!pair.at(".git").exists() && !pair.at(".yfs/x").exists());
}

#[test]
fn what_is_done_in_the_directory_needs_no_trust() {
    let pair = Pair::new();
    pair.put(".envrc", "export A=1\n");
    pair.put("run.sh", "#!/bin/sh\n");
    fs::set_permissions(pair.at("run.sh"), fs::Permissions::from_mode(0o755)).unwrap();
    pair.check();
    assert_eq!(pair.read("/.envrc"), "export A=1\n");
    // Edits of others reach the script, which stays executable, but not the file that tools obey.
    pair.write("/run.sh", "#!/bin/sh\necho\n");
    pair.write("/.envrc", "export A=evil\n");
    let report = pair.settle();
    assert_eq!(pair.text("run.sh"), "#!/bin/sh\necho\n");
    assert_eq!(pair.at("run.sh").metadata().unwrap().permissions().mode() & 0o777, 0o755);
    assert_eq!(pair.text(".envrc"), "export A=1\n");
    assert_eq!(report.skipped[Path::new(".envrc")], NoticeReason::Risky);
}

#[test]
fn links_that_lead_out_are_not_made_and_not_followed() {
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("secret"), "secret\n").unwrap();
    let pair = Pair::new();
    pair.run(pair.fs().symlink("/etc", &v("/abs"))).unwrap();
    pair.run(pair.fs().symlink("../../up", &v("/a/up"))).unwrap();
    pair.run(pair.fs().symlink("inside", &v("/a/fine"))).unwrap();
    let report = pair.settle();
    assert!(pair.at("abs").symlink_metadata().is_err());
    assert_eq!(report.skipped[Path::new("abs")], NoticeReason::Escapes);
    assert_eq!(fs::read_link(pair.at("a/fine")).unwrap(), Path::new("inside"));

    // A directory is replaced by a link while files of the workspace are to be written into it.
    pair.write("/b/one.txt", "one\n");
    pair.check_but(&["abs", "a/up"]);
    fs::remove_dir_all(pair.at("b")).unwrap();
    symlink(outside.path(), pair.at("b")).unwrap();
    pair.write("/b/two.txt", "two\n");
    pair.settle();
    assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 1, "nothing was written there");
    let tree = pair.tree();
    assert!(!tree.values().any(|shown| shown.contains("secret\\n")), "nothing was read: {tree:?}");
}

#[test]
fn fifos_sockets_and_other_oddities_are_left_alone() {
    let pair = Pair::new();
    let fifo = std::process::Command::new("mkfifo").arg(pair.at("pipe")).status().unwrap();
    assert!(fifo.success());
    pair.put("fine.txt", "fine\n");
    let report = pair.settle();
    assert_eq!(report.skipped[Path::new("pipe")], NoticeReason::Special);
    assert_eq!(pair.read("/fine.txt"), "fine\n");
}

#[test]
fn git_is_never_touched_and_what_is_ignored_stays_where_it_is() {
    let pair = Pair::new();
    pair.put(".git/config", "[core]\n");
    pair.put("sub/.git/HEAD", "ref\n");
    pair.put(".gitignore", "target/\n*.log\n");
    pair.put(".yfsignore", "secret.txt\n");
    pair.put("target/debug/out", "out\n");
    pair.put("secret.txt", "secret\n");
    pair.put("only/ignored.log", "log\n");
    pair.put("kept.txt", "kept\n");
    pair.settle();
    let names: Vec<String> = pair.tree().into_keys().collect();
    assert_eq!(names, [".gitignore", ".yfsignore", "kept.txt"]);
    // Ignored files of the workspace do not reach the disk either.
    pair.write("/target/from-elsewhere", "x\n");
    pair.settle();
    assert!(!pair.at("target/from-elsewhere").exists());

    // A file that becomes ignored stays on both sides, as it is.
    pair.put(".gitignore", "target/\n*.log\nkept.txt\n");
    pair.settle();
    pair.write("/kept.txt", "kept\nedited\n");
    pair.settle();
    assert_eq!(
        (pair.text("kept.txt"), pair.read("/kept.txt")),
        ("kept\n".into(), "kept\nedited\n".into())
    );
    fs::remove_file(pair.at("kept.txt")).unwrap();
    pair.settle();
    assert_eq!(pair.read("/kept.txt"), "kept\nedited\n");
    // A file that is no longer ignored is synchronized.
    pair.put(".gitignore", "");
    pair.put("kept.txt", "kept\n");
    pair.settle();
    assert_eq!(pair.text("kept.txt"), "kept\nedited\n");
    assert_eq!(pair.read("/target/debug/out"), "out\n");
    assert_eq!(pair.text("target/from-elsewhere"), "x\n");
    assert_eq!(pair.text(".git/config"), "[core]\n");
}

#[test]
fn names_that_one_side_cannot_hold_are_spelt_otherwise() {
    let mut pair = Pair::apart();
    let raw = |bytes: &[u8]| -> PathBuf { pair.directory.path().join(OsStr::from_bytes(bytes)) };
    fs::write(raw(b"caf\xe9.txt"), "latin\n").unwrap();
    fs::write(raw(b"back\\slash"), "slash\n").unwrap();
    fs::write(raw("e\u{301}".as_bytes()), "nfd\n").unwrap();
    fs::write(raw("\u{e9}".as_bytes()), "nfc\n").unwrap();
    pair.start();
    pair.settle();
    assert_eq!(pair.read("/%-caf%E9.txt"), "latin\n");
    assert_eq!(pair.read("/%-back%5Cslash"), "slash\n");
    let names: Vec<String> = pair.tree().into_keys().collect();
    assert_eq!(names.len(), 4, "{names:?}");
    pair.write("/%-caf%E9.txt", "latin one\n");
    pair.settle();
    assert_eq!(
        fs::read_to_string(pair.directory.path().join(OsStr::from_bytes(b"caf\xe9.txt"))).unwrap(),
        "latin one\n"
    );
    assert_eq!(pair.disk().len(), 4, "{:?}", pair.disk());
}

/// The rules are those of a host that takes `Foo` for `foo` and reserves `aux`.
#[test]
fn names_that_the_host_takes_for_one_are_told_apart() {
    let mut pair = Pair::apart();
    pair.options.host = Some(HostRules { folds_case: true, folds_unicode: true, windows: true });
    pair.write("/Readme.md", "first\n");
    pair.write("/README.md", "second\n");
    pair.write("/aux.txt", "device\n");
    pair.write("/a:b", "colon\n");
    pair.start();
    pair.settle();
    let disk = pair.disk();
    let folded: std::collections::BTreeSet<String> =
        disk.keys().map(|name| name.to_lowercase()).collect();
    assert_eq!(folded.len(), 4, "{disk:?}");
    assert_eq!(
        (pair.text("%_%61ux.txt"), pair.text("%_a%3Ab")),
        ("device\n".into(), "colon\n".into())
    );
    let spelt = disk.keys().find(|name| name.starts_with("%_%") && name.ends_with(".md")).unwrap();
    let (plain, twin) = if pair.text("Readme.md") == "first\n" {
        ("/Readme.md", "/README.md")
    } else {
        ("/README.md", "/Readme.md")
    };
    assert!(!plain.is_empty());
    let text = pair.text(spelt);
    pair.put(spelt, format!("{text}edited on disk\n"));
    pair.settle();
    assert_eq!(pair.read(twin), format!("{text}edited on disk\n"));
    assert_eq!(pair.tree().len(), 4);
}

#[test]
fn a_directory_that_goes_away_deletes_nothing() {
    let mut pair = Pair::new();
    pair.put("a.txt", "a\n");
    pair.check();
    fs::remove_dir_all(pair.directory.path()).unwrap();
    pair.wait("the end of the mirror", |pair| pair.mirror.as_ref().unwrap().has_ended());
    let ended = pair.mirror.take().unwrap().stop();
    assert!(matches!(ended, Err(yfs_mirror::MirrorError::Gone(_))), "{ended:?}");
    assert_eq!(pair.read("/a.txt"), "a\n");
}

/// `git clean -x` removes `.yfs`; the mirror said that the directory was removed.
#[test]
fn a_state_that_goes_away_is_not_called_the_directory() {
    let mut pair = Pair::new();
    pair.put("a.txt", "a\n");
    pair.check();
    fs::remove_dir_all(pair.at(".yfs")).unwrap();
    pair.put("b.txt", "b\n");
    pair.wait("the end of the mirror", |pair| pair.mirror.as_ref().unwrap().has_ended());
    let ended = pair.mirror.take().unwrap().stop();
    assert!(matches!(ended, Err(yfs_mirror::MirrorError::StateGone(_))), "{ended:?}");
    assert_eq!(pair.text("a.txt"), "a\n");
}

#[test]
fn what_is_deleted_or_replaced_can_be_restored() {
    let pair = Pair::new();
    pair.put("a.txt", "first\n");
    pair.put("dir/b.txt", "b\n");
    pair.check();
    fs::remove_dir_all(pair.at("dir")).unwrap();
    pair.check();
    let trash = pair.workspace.trash().list().unwrap();
    assert_eq!(
        (trash.len(), trash[0].name.as_str(), trash[0].kind),
        (1, "dir", FileKind::Directory)
    );
    pair.workspace.trash().restore(&trash[0].id, None).unwrap();
    pair.check();
    assert_eq!(pair.text("dir/b.txt"), "b\n");
}

/// Even content that stood in the file only for a moment, between two saves.
#[test]
fn each_save_is_a_version() {
    let pair = Pair::new();
    for text in ["one\n", "two\n", "three\n"] {
        pair.put("a.txt", text);
        pair.check();
    }
    let versions = pair.workspace.history().versions(&v("/a.txt")).unwrap();
    let said = |number| pair.workspace.history().version_content(&v("/a.txt"), number).unwrap();
    let said: Vec<_> = versions.iter().map(|version| said(version.number)).collect();
    assert_eq!(said, [&b"one\n"[..], b"two\n", b"three\n"]);
}

/// After a damaged record or a disk error the workspace cannot read a content. The file keeps its
/// own.
#[test]
fn a_content_that_cannot_be_read_is_not_written_to_disk() {
    let directory = tempfile::tempdir().unwrap();
    let (file, at) = (directory.path().join(".yfs/workspace.db"), directory.path().join("a.txt"));
    fs::create_dir(directory.path().join(".yfs")).unwrap();
    let text = "these are precious words of a text\n";
    let workspace = Workspace::create_at(&file, WorkspaceOptions::default()).unwrap();
    fs::write(&at, text).unwrap();
    fs::write(directory.path().join("b.txt"), "b\n").unwrap();
    Mirror::once(&workspace, directory.path(), MirrorOptions::default()).unwrap();
    workspace.close().unwrap();
    let connection = rusqlite::Connection::open(&file).unwrap();
    connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
    drop(connection);
    let mut bytes = fs::read(&file).unwrap();
    let needle = b"precious words";
    let place = bytes.windows(needle.len()).rposition(|window| window == needle).unwrap();
    bytes[place] ^= 0x10;
    fs::write(&file, bytes).unwrap();

    let workspace = Workspace::open_at(&file, WorkspaceOptions::default()).unwrap();
    let refused = Mirror::once(&workspace, directory.path(), MirrorOptions::default());
    assert!(refused.is_err(), "no person has decided: {refused:?}");
    assert_eq!(workspace.maintenance().accept_damage().unwrap(), 1);
    let fs_of_workspace = workspace.fs();
    let append = |path: &str| {
        let options = WriteOptions::default();
        block_on(fs_of_workspace.append(&v(path), "more\n".into(), &options))
    };
    assert_eq!(append("/a.txt").unwrap_err().code, FsCode::EIO);
    append("/b.txt").unwrap();
    // A peer may still send updates of the damaged document.
    let id = block_on(fs_of_workspace.stat(&v("/a.txt"))).unwrap().id;
    let port = workspace.documents().port(id.as_str()).unwrap();
    let mut peer = ContentDoc::new(&id, ClientId::new(77).unwrap(), GateLimits::default());
    peer.receive(&port.diff(&[0]).unwrap(), UpdateSource::Wire).unwrap();
    let author = RunAuthor::new("human:ada".parse().unwrap(), Millis(1));
    let typed = peer.append("more\n", &author).unwrap().update.unwrap();
    port.receive(&typed).unwrap();
    let report = Mirror::once(&workspace, directory.path(), MirrorOptions::default()).unwrap();
    assert_eq!(fs::read_to_string(&at).unwrap(), text);
    assert!(
        matches!(report.skipped[Path::new("a.txt")], NoticeReason::Unreadable(_)),
        "{report:?}"
    );
    assert_eq!(fs::read_to_string(directory.path().join("b.txt")).unwrap(), "b\nmore\n");
    // An unreadable document does not keep other files from being synchronized either.
    fs::write(&at, format!("{text}and more\n")).unwrap();
    fs::write(directory.path().join("b.txt"), "b\nmore\nand more\n").unwrap();
    Mirror::once(&workspace, directory.path(), MirrorOptions::default()).unwrap();
    let read = block_on(fs_of_workspace.read(&v("/b.txt"))).unwrap();
    assert_eq!(&read.data[..], b"b\nmore\nand more\n");
    assert_eq!(fs::read_to_string(&at).unwrap(), format!("{text}and more\n"));
}
