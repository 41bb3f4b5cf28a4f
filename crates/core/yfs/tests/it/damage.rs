//! Files with damaged records: they are not read and not edited, until a person sets what is
//! damaged aside.

use std::path::Path;

use crate::support::damage::damage;
use crate::support::handles::{at, cat, now, put};
use yfs::{Workspace, WorkspaceError, WorkspaceOptions};
use yfs_vfs::{
    CopyOptions, FileSystem, FileSystemExt, FsCode, FsError, MoveOptions, RemoveOptions,
    WalkOptions, WriteOptions,
};

fn options() -> WorkspaceOptions {
    WorkspaceOptions { follow: false, ..WorkspaceOptions::default() }
}

/// Creates a workspace with two files; the last record of `/f.txt` is damaged.
fn damaged(file: &Path) -> Workspace {
    let workspace = Workspace::create_at(file, options()).expect("a workspace");
    put(&workspace, "/whole.txt", "whole\n");
    put(&workspace, "/f.txt", "base\n");
    let more = now(workspace.fs().append(&at("/f.txt"), "DAMAGED\n".into(), &Default::default()));
    more.expect("appended");
    workspace.close().expect("closed");
    damage(file, b"DAMAGED");
    Workspace::open_at(file, options()).expect("a workspace")
}

#[track_caller]
fn assert_damaged<T: std::fmt::Debug>(result: Result<T, FsError>) {
    let error = result.expect_err("the file is damaged");
    assert_eq!(error.code, FsCode::EIO, "{error}");
    let cause = WorkspaceError::cause_of(&error);
    assert!(matches!(cause, Some(WorkspaceError::Damaged(_))), "{error:?}");
}

#[test]
fn a_damaged_text_is_neither_read_nor_edited() {
    let dir = tempfile::tempdir().expect("a directory");
    let workspace = damaged(&dir.path().join("workspace.db"));
    let (fs, path) = (workspace.fs(), at("/f.txt"));
    let head = workspace.store().head().expect("a head");
    let write = WriteOptions::default;
    for _ in 0..2 {
        assert_damaged(now(fs.read(&path)));
        assert_damaged(now(fs.read_range(&path, 0, 3)));
        assert_damaged(now(fs.append(&path, "more".into(), &write())));
        assert_damaged(now(fs.write(&path, "new".into(), &write())));
        assert_damaged(now(fs.cp(&path, &at("/copy.txt"), &CopyOptions::default())));
        let onto = MoveOptions { replace: true, ..MoveOptions::default() };
        assert_damaged(now(fs.mv(&path, &at("/whole.txt"), &onto)));
    }
    assert!(workspace.history().version_content(&path, 1).is_err());
    assert!(workspace.history().blame(&path).is_err());
    assert_eq!(workspace.store().head().expect("a head"), head, "nothing was logged");
    let listed = now(fs.walk(&at("/"), &WalkOptions::default())).expect("listed");
    assert_eq!(listed.len(), 2, "{listed:?}");
    now(fs.stat(&path)).expect("its attributes are not damaged");
    let exported = tempfile::tempdir().expect("a directory");
    let report = workspace.export(&at("/"), exported.path(), &Default::default(), &|_| ());
    let report = report.expect("exported");
    let skipped: Vec<&str> = report.skipped.iter().map(|skipped| &*skipped.path).collect();
    assert_eq!((report.n_written, skipped), (1, vec!["/f.txt"]));
    assert_eq!(cat(&workspace, "/whole.txt"), "whole\n");
    let found = workspace.maintenance().damaged_documents().expect("searched");
    let found: Vec<_> =
        found.iter().map(|found| (found.path.as_deref(), found.n_records)).collect();
    assert_eq!(found, [(Some("/f.txt"), 1)]);
    // Its name is not damaged.
    now(fs.mv(&path, &at("/g.txt"), &MoveOptions::default())).expect("renamed");
    now(fs.rm(&at("/g.txt"), &RemoveOptions::default())).expect("removed");
    let listed = now(fs.walk(&at("/"), &WalkOptions::default())).expect("listed");
    assert_eq!(listed.len(), 1, "{listed:?}");
}

#[test]
fn what_is_damaged_is_set_aside_and_the_rest_can_be_used() {
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("workspace.db");
    let workspace = damaged(&file);
    assert_damaged(now(workspace.fs().read(&at("/f.txt"))));
    let aside = workspace.maintenance().set_damage_aside().expect("set aside");
    assert_eq!(aside.iter().map(|found| found.n_records).collect::<Vec<_>>(), [1]);
    assert_eq!(cat(&workspace, "/f.txt"), "base\n");
    put(&workspace, "/f.txt", "base\nnew\n");
    let kept = workspace.store().quarantined().expect("listed");
    assert_eq!(kept.len(), 1);
    assert!(kept[0].reason.contains("checksum"), "{}", kept[0].reason);
    assert!(workspace.store().check().expect("checked").problems.is_empty());
    workspace.maintenance().compact(&mut |_, _| {}).expect("compacted");
    workspace.close().expect("closed");
    let workspace = Workspace::open_at(&file, options()).expect("a workspace");
    assert_eq!(cat(&workspace, "/f.txt"), "base\nnew\n");
    assert!(workspace.maintenance().set_damage_aside().expect("searched").is_empty());
}

#[test]
fn a_damaged_snapshot_is_set_aside_too() {
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("workspace.db");
    let workspace = Workspace::create_at(&file, options()).expect("a workspace");
    put(&workspace, "/f.txt", &"DAMAGED ".repeat(200));
    workspace.maintenance().compact(&mut |_, _| {}).expect("compacted");
    workspace.close().expect("closed");
    damage(&file, &"DAMAGED ".repeat(20).into_bytes());
    let workspace = Workspace::open_at(&file, options()).expect("a workspace");
    assert_damaged(now(workspace.fs().read(&at("/f.txt"))));
    let aside = workspace.maintenance().set_damage_aside().expect("set aside");
    assert_eq!(aside.len(), 1, "{aside:?}");
    put(&workspace, "/f.txt", "new\n");
    assert_eq!(cat(&workspace, "/f.txt"), "new\n");
    assert!(workspace.maintenance().missing_contents().expect("searched").is_empty());
}

/// Creates a workspace whose file `/f.txt` has lost all content, and was repaired.
fn lost(file: &Path) -> Workspace {
    let workspace = Workspace::create_at(file, options()).expect("a workspace");
    put(&workspace, "/whole.txt", "whole\n");
    put(&workspace, "/f.txt", "DAMAGED\n");
    workspace.close().expect("closed");
    damage(file, b"DAMAGED");
    let workspace = Workspace::open_at(file, options()).expect("a workspace");
    workspace.maintenance().set_damage_aside().expect("set aside");
    workspace
}

#[track_caller]
fn assert_lost<T: std::fmt::Debug>(result: Result<T, FsError>) {
    let error = result.expect_err("the content is lost");
    assert_eq!(error.code, FsCode::EIO, "{error}");
    let cause = WorkspaceError::cause_of(&error);
    assert!(matches!(cause, Some(WorkspaceError::ContentLost(_))), "{error:?}");
}

/// A text whose only record was damaged read as an empty file once it was repaired.
#[test]
fn a_text_of_which_nothing_is_left_is_not_an_empty_file() {
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("workspace.db");
    let mut workspace = lost(&file);
    for _ in 0..2 {
        let (fs, path) = (workspace.fs(), at("/f.txt"));
        assert_lost(now(fs.read(&path)));
        assert_lost(now(fs.read_range(&path, 0, 3)));
        assert_lost(now(fs.append(&path, "more".into(), &WriteOptions::default())));
        assert_lost(now(fs.cp(&path, &at("/copy.txt"), &CopyOptions::default())));
        assert!(workspace.history().versions(&path).is_err());
        let missing = workspace.maintenance().missing_contents().expect("searched");
        let missing: Vec<_> =
            missing.iter().map(|missing| (&*missing.path, missing.is_lost)).collect();
        assert_eq!(missing, [("/f.txt", true)]);
        assert_eq!(cat(&workspace, "/whole.txt"), "whole\n");
        workspace.close().expect("closed");
        workspace = Workspace::open_at(&file, options()).expect("a workspace");
    }
    // A person decides: by writing the file, or by accepting the loss.
    put(&workspace, "/f.txt", "again\n");
    assert_eq!(cat(&workspace, "/f.txt"), "again\n");
    put(&workspace, "/f.txt", "");
    assert_eq!(cat(&workspace, "/f.txt"), "");

    let workspace = lost(&dir.path().join("other.db"));
    assert_eq!(workspace.maintenance().accept_lost_contents().expect("accepted"), 1);
    assert_eq!(cat(&workspace, "/f.txt"), "");
    assert!(workspace.maintenance().missing_contents().expect("searched").is_empty());
}

/// The list of versions of a damaged file was empty.
#[test]
fn the_history_of_a_damaged_file_is_an_error_and_not_empty() {
    let dir = tempfile::tempdir().expect("a directory");
    let workspace = damaged(&dir.path().join("workspace.db"));
    let error = workspace.history().versions(&at("/f.txt")).expect_err("it is damaged");
    assert_damaged::<()>(Err(error.into()));
    let listed = workspace.history().changes(&at("/")).expect("listed");
    let (listed, failed): (Vec<_>, Vec<_>) = listed.partition(Result::is_ok);
    assert_eq!(failed.len(), 1);
    assert!(failed[0].as_ref().is_err_and(WorkspaceError::is_damage), "{failed:?}");
    let paths: Vec<_> = listed.into_iter().flatten().map(|entry| entry.path.to_string()).collect();
    assert_eq!(paths, ["/whole.txt"], "the list continues");
}

/// A part of the files was listed as if it were all of them.
#[test]
fn a_damaged_table_of_files_is_not_read_as_the_workspace() {
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("workspace.db");
    let workspace = Workspace::create_at(&file, options()).expect("a workspace");
    put(&workspace, "/whole.txt", "whole\n");
    put(&workspace, "/DAMAGED.txt", "other\n");
    workspace.close().expect("closed");
    damage(&file, b"DAMAGED");
    let derived = dir.path().join("workspace-db.derived");
    std::fs::remove_dir_all(derived).ok();

    let open = || Workspace::open_at(&file, options()).expect("a workspace");
    let workspace = open();
    #[track_caller]
    fn assert_eio<T: std::fmt::Debug>(result: Result<T, FsError>) {
        let error = result.expect_err("the table is damaged");
        assert_eq!(error.code, FsCode::EIO, "{error}");
        let cause = WorkspaceError::cause_of(&error);
        assert!(matches!(cause, Some(WorkspaceError::DamagedLog { .. })), "{error:?}");
    }
    let fs = workspace.fs();
    assert_eio(now(fs.walk(&at("/"), &WalkOptions::default())));
    assert_eio(now(fs.read(&at("/whole.txt"))));
    assert_eio(now(fs.stat(&at("/DAMAGED.txt"))));
    assert_eio(now(fs.write(&at("/new.txt"), "new".into(), &WriteOptions::default())));
    assert_eio(now(fs.rm(&at("/whole.txt"), &RemoveOptions::default())));
    assert!(workspace.history().changes(&at("/")).is_err());
    assert!(workspace.trash().list().is_err());
    let exported = tempfile::tempdir().expect("a directory");
    let export = workspace.export(&at("/"), exported.path(), &Default::default(), &|_| ());
    assert!(export.is_err(), "{export:?}");
    workspace.close().expect("closed");

    let workspace = open();
    workspace.maintenance().accept_damage().expect("accepted");
    now(workspace.fs().walk(&at("/"), &WalkOptions::default())).expect("listed");
    workspace.close().expect("closed");
    let workspace = open();
    now(workspace.fs().walk(&at("/"), &WalkOptions::default())).expect("it stays accepted");
    workspace.maintenance().set_damage_aside().expect("set aside");
    put(&workspace, "/new.txt", "new\n");
    assert_eq!(cat(&workspace, "/new.txt"), "new\n");
}

/// Two pages of the store that are swapped can hide all records without an error of SQLite.
#[test]
fn a_log_whose_records_cannot_be_found_is_no_empty_workspace() {
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("workspace.db");
    let workspace = Workspace::create_at(&file, options()).expect("a workspace");
    put(&workspace, "/f.txt", "text\n");
    let id = workspace.id().clone();
    workspace.close().expect("closed");
    std::fs::remove_dir_all(dir.path().join("workspace-db.derived")).ok();
    // The pages that have the id of the workspace become empty leaves, one by one. One of them has
    // the table of documents.
    let bytes = std::fs::read(&file).expect("a file");
    let guid = id.as_str().as_bytes();
    let (pages, _) = bytes.as_chunks::<4096>();
    let mut n_opened = 0;
    for page in (0..pages.len()).filter(|n| pages[*n].windows(guid.len()).any(|part| part == guid))
    {
        let mut changed = bytes.clone();
        changed[page * 4096 + 3..page * 4096 + 5].fill(0);
        std::fs::write(&file, changed).expect("written");
        let Ok(workspace) = Workspace::open_at(&file, options()) else { continue };
        let error = now(workspace.fs().walk(&at("/"), &WalkOptions::default()));
        assert_eq!(error.expect_err("nothing can be read").code, FsCode::EIO);
        n_opened += 1;
    }
    assert!(n_opened > 0, "the table of documents was not changed");
}
