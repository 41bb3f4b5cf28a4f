//! Faults and a full disk while a checkpoint or the index for searches is made: no call of the
//! workspace fails for them, and all answers stay those of the log.

#[path = "it/support/handles.rs"]
mod support;

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::Arc,
};

use support::{at, now, put};
use yfs::{Workspace, WorkspaceOptions};
use yfs_conformance::{FaultStore, StoreFault};
use yfs_store::{SqliteStore, StoreError};
use yfs_vfs::{FileSystem, FileSystemExt, GrepQuery};

const N_FILES: usize = 60;

/// Options under which every change makes a checkpoint due.
fn options() -> WorkspaceOptions {
    WorkspaceOptions { follow: false, checkpoint_after: 1, ..WorkspaceOptions::default() }
}

fn path_of(number: usize) -> String {
    let end = ["txt", "md"][number % 2];
    format!("/d{}/{number}.{end}", number % 7)
}

fn text_of(number: usize, round: usize) -> String {
    format!("# Number {number}\n\n- lantern{number} of round{round}\n")
}

/// Compares what a workspace says of its files with what was written.
#[track_caller]
fn assert_whole(workspace: &Workspace, round: usize, context: &str) {
    let fs = workspace.fs();
    for number in (0..N_FILES).step_by(7) {
        let content = now(fs.read(&at(&path_of(number)))).expect("read").data;
        assert_eq!(content, text_of(number, round), "{context}");
        for use_index in [true, false] {
            let query = GrepQuery::literal(format!("lantern{number} "));
            let found = now(fs.grep(&GrepQuery { use_index, ..query })).expect("searched");
            let paths: Vec<_> = found.files.iter().map(|found| found.path.as_str()).collect();
            assert_eq!(paths, [path_of(number)], "{context}");
        }
    }
    let listed = now(fs.walk(&at("/"), &Default::default())).expect("listed");
    assert_eq!(listed.len(), N_FILES + 7, "{context}");
}

fn write_all(workspace: &Workspace, round: usize) {
    (0..N_FILES).for_each(|number| put(workspace, &path_of(number), &text_of(number, round)));
}

fn derived(file: &Path) -> PathBuf {
    file.with_file_name("workspace-db.derived")
}

#[test]
fn a_store_that_fails_while_the_index_is_made_costs_no_answer() {
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("workspace.db");
    let workspace = Workspace::create_at(&file, options()).expect("a workspace");
    for round in 0..2 {
        write_all(&workspace, round);
    }
    workspace.close().expect("closed");
    let (mut n_made, mut n_failed) = (0, 0);
    for (fault, n_good) in [StoreFault::Load, StoreFault::Tail]
        .into_iter()
        .flat_map(|fault| [0, 1, 2, 5, 17, 50, 90].map(|n_good| (fault, n_good)))
    {
        fs::remove_dir_all(derived(&file)).ok();
        let store = SqliteStore::open_or_create(&file).expect("a store");
        let store = Arc::new(FaultStore::new(Arc::new(store)));
        let workspace = Workspace::open(store.clone(), options()).expect("opened");
        store.fail(fault, n_good, StoreError::Full { action: "test" });
        match workspace.maintenance().renew_search_index() {
            Ok(is_made) => n_made += usize::from(is_made),
            Err(_) => n_failed += 1,
        }
        let never = StoreError::Full { action: "never" };
        store.fail(fault, u64::MAX, never);
        let context = format!("{fault:?} after {n_good}");
        assert_whole(&workspace, 1, &context);
        workspace.close().expect("closed");
        let workspace = Workspace::open_at(&file, options()).expect("opened");
        assert_whole(&workspace, 1, &context);
        workspace.close().expect("closed");
    }
    assert!(n_made > 0 && n_failed > 0, "{n_made} made, {n_failed} failed");
}

/// A disk of some KiB in the place of the derived files; the store itself has room.
struct SmallDisk(PathBuf);

impl SmallDisk {
    /// `None` where mounting is not allowed.
    fn mount(at: &Path, n_kib: u64) -> Option<Self> {
        fs::create_dir_all(at).expect("a directory");
        let size = format!("size={n_kib}k");
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &size, "tmpfs"]).arg(at).stderr(Stdio::null());
        let is_mounted = mount.status().is_ok_and(|status| status.success());
        is_mounted.then(|| Self(at.to_owned()))
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        Command::new("umount").arg("-l").arg(&self.0).status().ok();
    }
}

#[test]
fn a_disk_that_is_full_of_derived_files_fails_no_call() {
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("workspace.db");
    Workspace::create_at(&file, options()).expect("a workspace").close().expect("closed");
    for (round, n_kib) in [0, 8, 16, 24, 32, 48, 96].into_iter().enumerate() {
        fs::remove_dir_all(derived(&file)).ok();
        // A tmpfs of no size has no limit.
        let Some(disk) = SmallDisk::mount(&derived(&file), n_kib.max(4)) else {
            println!("skipped: mounting a tmpfs is not allowed here");
            return;
        };
        let workspace = Workspace::open_at(&file, options()).expect("opened");
        write_all(&workspace, round);
        // It may fail, but leaves nothing that is wrong.
        let made = workspace.maintenance().renew_search_index();
        let context = format!("{n_kib} KiB, {made:?}");
        assert_whole(&workspace, round, &context);
        workspace.close().expect("closing makes checkpoints, whose failure is not its own");
        let workspace = Workspace::open_at(&file, options()).expect("opened");
        assert_whole(&workspace, round, &context);
        workspace.close().expect("closed");
        drop(disk);
        let workspace = Workspace::open_at(&file, options()).expect("opened");
        assert_whole(&workspace, round, &context);
        assert!(workspace.maintenance().renew_search_index().expect("there is room"), "{context}");
        assert_whole(&workspace, round, &context);
        workspace.close().expect("closed");
    }
}
