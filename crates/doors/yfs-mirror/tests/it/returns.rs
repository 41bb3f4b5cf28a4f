//! What comes back to a directory that had it, and what the mirror says about names.

use std::{fs, os::unix::fs::PermissionsExt, path::Path};

use yfs_engine::id::FileId;
use yfs_mirror::{MirrorError, NoticeReason};

use crate::support::{Pair, v};

/// Removes objects in the workspace, restores them, and settles after both.
fn remove_and_restore(pair: &Pair, paths: &[&str]) {
    for path in paths {
        pair.rm(path);
    }
    pair.settle();
    for path in paths {
        assert!(!pair.at(&path[1..]).exists(), "{path}");
    }
    restore_all(pair);
}

fn restore_all(pair: &Pair) {
    let ids: Vec<FileId> =
        pair.workspace.trash().list().unwrap().into_iter().map(|entry| entry.id).collect();
    for id in ids {
        pair.workspace.trash().restore(&id, None).unwrap();
    }
}

fn mode(pair: &Pair, path: &str) -> u32 {
    pair.at(path).metadata().unwrap().permissions().mode() & 0o777
}

#[test]
fn what_the_directory_had_comes_back_as_it_was() {
    let mut pair = Pair::new();
    pair.put("run.sh", "#!/bin/sh\n");
    pair.put("node_modules/p/tsc", "#!/usr/bin/env node\n");
    pair.put(".npmrc", "registry=here\n");
    pair.put(".vscode/tasks.json", "{}\n");
    for path in ["run.sh", "node_modules/p/tsc"] {
        fs::set_permissions(pair.at(path), fs::Permissions::from_mode(0o755)).unwrap();
    }
    pair.settle();
    remove_and_restore(&pair, &["/run.sh", "/.npmrc", "/.vscode"]);
    // The memory is that of the directory, not of the process.
    pair.stop();
    pair.start();
    let report = pair.settle();
    assert_eq!((pair.text(".npmrc"), mode(&pair, "run.sh")), ("registry=here\n".into(), 0o755));
    assert_eq!(pair.text(".vscode/tasks.json"), "{}\n");
    assert!(report.skipped.is_empty(), "{report:?}");

    // Removed on disk, as by `rm -rf`.
    fs::remove_dir_all(pair.at("node_modules")).unwrap();
    pair.settle();
    restore_all(&pair);
    pair.settle();
    assert_eq!(mode(&pair, "node_modules/p/tsc"), 0o755);
}

#[test]
fn what_others_changed_meanwhile_does_not_come_back() {
    let pair = Pair::new();
    pair.put(".npmrc", "registry=here\n");
    pair.put("run.sh", "#!/bin/sh\n");
    fs::set_permissions(pair.at("run.sh"), fs::Permissions::from_mode(0o755)).unwrap();
    pair.settle();
    pair.rm("/.npmrc");
    pair.rm("/run.sh");
    pair.settle();
    for (name, text) in [("/.npmrc", "registry=elsewhere\n"), ("/run.sh", "#!/bin/sh\nevil\n")] {
        let trash = pair.workspace.trash().list().unwrap();
        let entry = trash.iter().find(|entry| entry.name == name[1..]).unwrap();
        pair.workspace.trash().restore(&entry.id, None).unwrap();
        pair.write(name, text);
    }
    let report = pair.settle();
    // The mirror may have written the restored file before the change.
    assert_ne!(pair.text(".npmrc"), "registry=elsewhere\n");
    assert_eq!(report.skipped[Path::new(".npmrc")], NoticeReason::Risky);
}

#[test]
fn a_file_that_gets_another_name_is_reported() {
    let mut pair = Pair::new();
    pair.put("a.txt", "a\n");
    pair.settle();
    pair.stop();
    pair.write("/x.txt", "of the workspace\n");
    pair.put("x.txt", "of the disk\n");
    pair.start();
    let report = pair.settle();
    assert_eq!(pair.text("x (1).txt"), "of the disk\n");
    let why = NoticeReason::Renamed("x (1).txt".into());
    let said: Vec<_> = report.notices.iter().filter(|notice| notice.why == why).collect();
    assert_eq!(said.len(), 1, "{report:?}");
    assert_eq!(said[0].path, Path::new("x.txt"));
    assert!(why.to_string().contains("\"x (1).txt\""), "{why}");
    assert_eq!(
        pair.run(yfs_vfs::FileSystem::read(&pair.fs(), &v("/x.txt"))).unwrap().data,
        "of the workspace\n"
    );
}

/// As `git clean -fdx` does.
#[test]
fn the_removal_of_the_state_is_no_removal_of_the_directory() {
    let mut pair = Pair::new();
    pair.put("a.txt", "a\n");
    pair.check();
    fs::remove_dir_all(pair.at(".yfs")).unwrap();
    pair.wait("the end of the mirror", |pair| pair.mirror.as_ref().unwrap().has_ended());
    let ended = pair.mirror.take().unwrap().stop();
    let Err(error @ MirrorError::StateGone(_)) = ended else { panic!("{ended:?}") };
    assert!(error.to_string().contains("git clean"), "{error}");
    assert_eq!((pair.text("a.txt"), pair.read("/a.txt")), ("a\n".into(), "a\n".into()));
}
