//! Workspaces that are opened again and again from checkpoints, beside one that stays in memory.

use std::{
    fs,
    path::{Path, PathBuf},
};

use rand::{RngExt, SeedableRng, rngs::ChaCha8Rng, seq::IndexedRandom};
use yfs_engine::{main_doc::VisibleTotals, path::VPath};
use yfs_store::MemoryStore;
use yfs_vfs::{MkdirOptions, MoveOptions, RemoveOptions, WalkOptions, WriteOptions};

use super::*;
use crate::{
    Session, Workspace, WorkspaceOptions,
    eager_disk::{EagerDisk, options, path, session},
};

/// Returns the files of the checkpoint that hold entries.
fn levels(disk: &EagerDisk) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(disk.derived(DIRECTORY)) else { return Vec::new() };
    let paths = entries.map(|entry| entry.expect("listed").path());
    paths.filter(|path| path.extension().is_some_and(|end| end == "level")).collect()
}

fn is_on_checkpoint(workspace: &Workspace) -> bool {
    workspace.state.main.read().is_on_checkpoint()
}

/// Shows everything that can be seen of a workspace, without ids and times.
fn show(workspace: &Workspace) -> String {
    let session = session(workspace);
    let options = WalkOptions { hidden: true, ..WalkOptions::default() };
    let mut lines: Vec<String> = Vec::new();
    for entry in session.walk(&path("/"), &options).expect("walked") {
        let text = session.read(&entry.path).map(|content| content.data.to_vec());
        lines.push(format!("{} {:?} {:?}", entry.path, entry.entry.kind, text.ok()));
    }
    let trash = workspace.trash().list().expect("listed");
    let mut trash: Vec<String> =
        trash.iter().map(|entry| format!("{} {}", entry.original, entry.n_hidden)).collect();
    trash.sort();
    let stats = workspace.maintenance().stats().expect("counted");
    let VisibleTotals { n_files, n_links, n_directories, .. } = stats.visible;
    assert_eq!(n_files + n_links + n_directories + 1, lines.len() as u64 + 1);
    lines.push(format!("{trash:#?} {} {}", stats.n_files, stats.n_directories));
    lines.join("\n")
}

fn any_path(rng: &mut ChaCha8Rng) -> VPath {
    let n_parts = rng.random_range(1..4);
    let parts: Vec<&str> =
        (0..n_parts).map(|_| *["a", "b", "c", "d.md"].choose(rng).expect("some")).collect();
    path(&format!("/{}", parts.join("/")))
}

/// Makes one random call, and shows its result.
fn call(session: &Session, rng: &mut ChaCha8Rng) -> String {
    let (one, two) = (any_path(rng), any_path(rng));
    let text = format!("text {}\n", rng.random_range(0..1000));
    let result = match rng.random_range(0..10) {
        0..3 => session.write(&one, text.as_bytes(), &WriteOptions::default()).map(drop),
        3 => session.append(&one, text.as_bytes(), &WriteOptions::default()).map(drop),
        4..6 => session.mkdir(&one, &MkdirOptions { recursive: true, ..MkdirOptions::default() }),
        6..8 => session.mv(&one, &two, &MoveOptions::default()),
        8 => session.rm(&one, &RemoveOptions { recursive: true, ..RemoveOptions::default() }),
        _ => session.stat(&one).map(drop),
    };
    format!("{one} {two} {:?}", result.map_err(|error| error.code))
}

/// A workspace that is opened from a checkpoint before every few calls is one that was never
/// closed.
#[test]
fn a_workspace_on_checkpoints_is_the_workspace() {
    for seed in 0..12 {
        let disk = EagerDisk::new();
        let memory = Workspace::create(Arc::new(MemoryStore::new()), options()).expect("created");
        let expected = session(&memory);
        let [mut here, mut there] = [1, 1].map(|_| ChaCha8Rng::seed_from_u64(seed));
        let mut n_on_checkpoint = 0;
        for _ in 0..25 {
            let workspace = disk.open();
            n_on_checkpoint += usize::from(is_on_checkpoint(&workspace));
            let on_checkpoint = session(&workspace);
            for _ in 0..4 {
                assert_eq!(call(&on_checkpoint, &mut here), call(&expected, &mut there), "{seed}");
            }
            drop(on_checkpoint);
            workspace.close().expect("closed");
        }
        let workspace = disk.open();
        assert!(n_on_checkpoint > 20, "{n_on_checkpoint}");
        assert_eq!(show(&workspace), show(&memory), "seed {seed}");
    }
}

/// Two processes that put their rows back to checkpoints again and again see what one sees that
/// keeps all in memory.
#[test]
fn a_workspace_that_sheds_its_rows_is_the_workspace() {
    for seed in 0..12 {
        let disk = EagerDisk::new();
        let few = WorkspaceOptions { row_budget: 4, ..options() };
        let handles =
            [few.clone(), few].map(|few| Workspace::open_at(&disk.file(), few).expect("opened"));
        let memory = Workspace::create(Arc::new(MemoryStore::new()), options()).expect("created");
        // A session remembers what it read, and its writes start from there.
        let expected = [1, 1].map(|_| session(&memory));
        let sessions = handles.each_ref().map(session);
        let [mut here, mut there] = [1, 1].map(|_| ChaCha8Rng::seed_from_u64(seed));
        let mut n_shed = 0;
        for at in 0..120 {
            let (workspace, session) = (&handles[at % 2], &sessions[at % 2]);
            assert_eq!(
                call(session, &mut here),
                call(&expected[at % 2], &mut there),
                "{seed} {at}"
            );
            let before = workspace.state.main.read().n_rows_in_memory();
            workspace.state.checkpoint.shed_rows(&workspace.state);
            n_shed += usize::from(workspace.state.main.read().n_rows_in_memory() < before);
        }
        assert!(n_shed > 20, "{n_shed}");
        for workspace in &handles {
            assert_eq!(show(workspace), show(&memory), "seed {seed}");
        }
    }
}

/// A workspace of a few files, closed and with a checkpoint.
fn sample() -> (EagerDisk, String) {
    let disk = EagerDisk::new();
    let workspace = disk.open();
    let writer = session(&workspace);
    for number in 0..300 {
        let file = path(&format!("/d{}/f{number}", number % 7));
        let options = WriteOptions { parents: true, ..WriteOptions::default() };
        writer.write(&file, b"text", &options).expect("written");
    }
    drop(writer);
    workspace.close().expect("closed");
    let workspace = disk.open();
    let shown = show(&workspace);
    drop(workspace);
    assert_eq!(levels(&disk).len(), 1);
    (disk, shown)
}

#[test]
fn a_damaged_checkpoint_is_mended_from_the_log() {
    let (disk, expected) = sample();
    let level = levels(&disk).pop().expect("a file");
    let sound = fs::read(&level).expect("read");
    for at in (0..sound.len()).step_by(sound.len() / 40) {
        let mut bytes = sound.clone();
        bytes[at] ^= 0x10;
        fs::write(&level, &bytes).expect("written");
        let workspace = Workspace::open_at(&disk.file(), WorkspaceOptions::reading());
        let workspace = workspace.expect("opened");
        assert_eq!(show(&workspace), expected, "a flipped bit at {at}");
        drop(workspace);
    }
    fs::write(&level, &sound[..sound.len() / 2]).expect("written");
    assert_eq!(show(&disk.open()), expected, "a cut");
}

#[test]
fn a_checkpoint_of_a_log_that_went_back_is_not_used() {
    let (disk, expected) = sample();
    let copy = disk.directory().join("copy.db");
    let workspace = disk.open();
    workspace.store().backup(&copy, &mut |_, _| {}).expect("a backup");
    session(&workspace).write(&path("/new"), b"late", &WriteOptions::default()).expect("written");
    workspace.close().expect("closed");
    assert!(is_on_checkpoint(&disk.open()));
    put_back(&copy, &disk.file());
    let workspace = disk.open();
    assert!(!is_on_checkpoint(&workspace), "the checkpoint is newer than the log");
    assert_eq!(show(&workspace), expected);
    session(&workspace).write(&path("/other"), b"x", &WriteOptions::default()).expect("written");
    workspace.close().expect("closed");
    let workspace = disk.open();
    assert!(is_on_checkpoint(&workspace), "it has a new checkpoint");
    assert!(session(&workspace).read(&path("/new")).is_err());
    assert!(session(&workspace).read(&path("/other")).is_ok());
}

/// The changes after a cursor are the same whether the files at the cursor are read from a
/// checkpoint or from the log.
#[test]
fn changes_are_replayed_from_a_checkpoint() {
    let (disk, _) = sample();
    let rare = WorkspaceOptions { checkpoint_after: u64::MAX, ..options() };
    let open = || Workspace::open_at(&disk.file(), rare.clone()).expect("opened");
    let workspace = open();
    let position = workspace.store().head().expect("a head");
    let writer = session(&workspace);
    let write = WriteOptions::default();
    writer.write(&path("/d0/f0"), b"more text", &write).expect("written");
    writer.write(&path("/new"), b"text", &write).expect("written");
    writer.mv(&path("/d1/f1"), &path("/d2/moved"), &MoveOptions::default()).expect("moved");
    writer.rm(&path("/d2/f2"), &RemoveOptions::default()).expect("removed");
    drop(writer);
    workspace.close().expect("closed");
    let replayed = |has_checkpoint| {
        let workspace = open();
        let home = workspace.state.checkpoint.home.clone().expect("it has a place");
        assert_eq!(home.open_at(position).expect("read").is_some(), has_checkpoint);
        let state = &workspace.state;
        let page = state.replay.changes_since(state, position).expect("replayed").expect("kept");
        let mut lines: Vec<String> = page
            .events
            .iter()
            .map(|change| format!("{:?} {:?}", change.path, change.kind))
            .collect();
        lines.sort();
        lines
    };
    let on_checkpoint = replayed(true);
    assert!(on_checkpoint.len() >= 4, "{on_checkpoint:?}");
    fs::remove_dir_all(disk.directory().join("workspace-db.derived")).expect("removed");
    assert_eq!(replayed(false), on_checkpoint);
}

/// A process that exports keeps its budget of rows, and not those of all files.
#[test]
fn an_export_keeps_few_rows_in_memory() {
    let (disk, _) = sample();
    let out = tempfile::tempdir().expect("a directory");
    let few = WorkspaceOptions { row_budget: 20, ..WorkspaceOptions::reading() };
    let workspace = Workspace::open_at(&disk.file(), few).expect("opened");
    let export = crate::ExportOptions::default();
    let report = workspace.export(&path("/"), out.path(), &export, &|_| ()).expect("exported");
    assert_eq!((report.n_written, report.n_directories, report.skipped.len()), (300, 7, 0));
    assert_eq!(fs::read(out.path().join("d3/f10")).expect("read"), b"text");
    let n_rows = workspace.state.main.read().n_rows_in_memory();
    assert!(n_rows < 150, "{n_rows}");
}

/// A process that has rested holds none of the rows that it wrote, and reads them when it needs
/// them.
#[test]
fn a_process_at_rest_holds_few_rows() {
    let disk = EagerDisk::new();
    let workspace = disk.open();
    let session = session(&workspace);
    for at in 0..1_100 {
        let file = path(&format!("/f{at}"));
        session.write(&file, b"text", &WriteOptions::default()).expect("written");
    }
    let shown = show(&workspace);
    assert!(workspace.state.main.read().n_rows_in_memory() > 1_000);
    workspace.state.rest();
    // The root.
    assert_eq!(workspace.state.main.read().n_rows_in_memory(), 1);
    assert_eq!(show(&workspace), shown);
}

/// Documents that were read and not used since do not stay in memory.
#[test]
fn idle_documents_are_unloaded() {
    let (disk, _) = sample();
    let workspace = disk.open();
    let reader = session(&workspace);
    let read = |name: &str| {
        let id = reader.stat(&path(name)).expect("found").id;
        let n = workspace.state.documents.acquire(&id).with(|loaded| loaded.doc.text().len());
        assert_eq!(n.expect("loaded"), 4);
    };
    let n_bytes = || workspace.documents().usage().1;
    for at in 0..20 {
        read(&format!("/d3/f{}", 3 + 7 * at));
    }
    let all = n_bytes();
    assert!(!workspace.state.documents.unload_idle(0), "all were used");
    read("/d3/f10");
    assert!(workspace.state.documents.unload_idle(0));
    let used = n_bytes();
    assert!(0 < used && used < all / 10, "{used} of {all}");
    assert!(workspace.state.documents.unload_idle(0));
    assert_eq!(n_bytes(), 0);
    assert_eq!(&reader.read(&path("/d3/f10")).expect("read").data[..], b"text");
}

/// A checkpoint lists the rows that changed before it. They are not taken for the ids of names that
/// are not shown as they are stored.
#[test]
fn conflicts_are_read_from_a_checkpoint_that_lists_changes() {
    let (disk, _) = sample();
    let workspace = disk.open();
    // The list is kept for the index.
    assert!(workspace.maintenance().renew_search_index().expect("renewed"));
    let position = workspace.store().head().expect("a head");
    session(&workspace).write(&path("/new"), b"x", &WriteOptions::default()).expect("written");
    workspace.close().expect("closed");
    let workspace = disk.open();
    let home = workspace.state.checkpoint.home.clone().expect("it has a place");
    let (map, _) = home.open_map().expect("opened").expect("a checkpoint");
    let changed = journal::changed_after(&map, position).expect("read").expect("a list");
    assert_eq!(changed.len(), 1);
    let main = workspace.state.main.read();
    assert!(main.is_on_checkpoint());
    assert_eq!(main.tree().conflicts(workspace.state.now()).len(), 0);
    assert_eq!(main.checkpoint_failure(), None);
}

fn put_back(copy: &Path, file: &Path) {
    for suffix in ["-wal", "-shm"] {
        let mut beside = file.as_os_str().to_owned();
        beside.push(suffix);
        fs::remove_file(beside).ok();
    }
    fs::copy(copy, file).expect("copied");
}

#[test]
fn compaction_and_wiping_leave_no_old_names() {
    let (disk, _) = sample();
    let workspace = disk.open();
    let writer = session(&workspace);
    writer.write(&path("/secret-name"), b"x", &WriteOptions::default()).expect("written");
    drop(writer);
    workspace.close().expect("closed");
    let is_there = || {
        let contains = |file: &PathBuf| {
            let bytes = fs::read(file).expect("read");
            bytes.windows(11).any(|window| window == b"secret-name")
        };
        levels(&disk).iter().any(contains)
    };
    assert!(is_there());
    let workspace = disk.open();
    workspace.state.compaction.wipe(&workspace.state).expect("wiped");
    assert!(!is_there());
    session(&workspace).rm(&path("/secret-name"), &RemoveOptions::default()).expect("removed");
    workspace.close().expect("closed");
    let workspace = disk.open();
    workspace.maintenance().compact(&mut |_, _| {}).expect("compacted");
    session(&workspace).write(&path("/last"), b"x", &WriteOptions::default()).expect("written");
    workspace.close().expect("closed");
    assert!(session(&disk.open()).read(&path("/last")).is_ok());
}
