//! The list that is read from the end of the log, beside the one that lists all files first.

use std::sync::atomic::{AtomicU64, Ordering};

use rand::{RngExt, SeedableRng, rngs::ChaCha8Rng};
use yfs_engine::actor::{Actor, ActorKind};
use yfs_vfs::{CopyOptions, MoveOptions, RemoveOptions, WriteOptions};

use super::*;
use crate::{Session, Workspace, WorkspaceOptions, document_provider::DocumentProvider};

fn path(text: &str) -> VPath {
    VPath::parse(text).expect("a path")
}

fn make(directory: &tempfile::TempDir) -> Workspace {
    let options = WorkspaceOptions::one_shot(Actor::new(ActorKind::Agent, "ana"));
    Workspace::create_at(&directory.path().join("workspace.db"), options).expect("created")
}

fn put(session: &Session, at: &str, text: &str) {
    let options = WriteOptions { parents: true, ..WriteOptions::default() };
    session.write(&path(at), text.as_bytes(), &options).expect("written");
}

/// Lists all entries, and checks their order.
fn listed(workspace: &Workspace, below: &str, many: usize) -> Vec<HistoryEntry> {
    let entries = workspace.history().changes_of(&path(below), many).expect("listed");
    let mut entries: Vec<HistoryEntry> = entries.map(|entry| entry.expect("read")).collect();
    assert!(entries.is_sorted_by(|a, b| a.at >= b.at), "{below}");
    entries.sort_by(|a, b| (&a.id, a.version, a.change).cmp(&(&b.id, b.version, b.change)));
    entries
}

#[test]
fn the_log_read_backwards_has_the_changes_of_all_files() {
    let directory = tempfile::tempdir().expect("a directory");
    let workspace = make(&directory);
    let session = workspace.session(Actor::new(ActorKind::Agent, "ana"));
    let mut rng = ChaCha8Rng::seed_from_u64(7);
    for step in 0..300 {
        let at = format!("/d{}/e{}/f{}", rng.random_range(0..2), step % 2, rng.random_range(0..9));
        match rng.random_range(0..12) {
            0 => drop(session.rm(&path(&at), &RemoveOptions::default())),
            1 => {
                let to = path(&format!("/d{}/moved{step}", step % 2));
                drop(session.mv(&path(&at), &to, &MoveOptions::default()));
            }
            3 => drop(session.chmod(&path(&at), 0o600 + step)),
            4 => drop(session.mkdir(&path(&format!("/d1/e1/new{step}")), &Default::default())),
            2 if step % 3 == 0 => {
                workspace.maintenance().compact(&mut |_, _| {}).expect("compacted");
            }
            _ => put(&session, &at, &format!("step {step}\n")),
        }
    }
    session
        .rm(&path("/d1/e0"), &RemoveOptions { recursive: true, ..RemoveOptions::default() })
        .expect("removed");
    for below in ["/", "/d0", "/d1", "/d0/e1"] {
        let expected = listed(&workspace, below, usize::MAX);
        assert!(expected.len() > 20, "{below}: {}", expected.len());
        assert_eq!(listed(&workspace, below, 0), expected, "{below}");
    }
}

/// A clock that stands still.
#[derive(Debug)]
struct StoppedClock;

impl crate::clock::Clock for StoppedClock {
    fn now(&self) -> Millis {
        Millis(1_700_000_000_000)
    }
}

#[test]
fn of_one_moment_what_is_in_a_directory_comes_before_the_directory() {
    let directory = tempfile::tempdir().expect("a directory");
    let options = WorkspaceOptions {
        clock: Arc::new(StoppedClock),
        ..WorkspaceOptions::one_shot(Actor::new(ActorKind::Agent, "ana"))
    };
    let file = directory.path().join("workspace.db");
    let workspace = Workspace::create_at(&file, options).expect("created");
    let session = workspace.session(Actor::new(ActorKind::Agent, "ana"));
    for number in 0..20 {
        put(&session, &format!("/d{number}/e/f"), "text");
    }
    let copy = CopyOptions { recursive: true, parents: true, replace: false };
    session.cp(&path("/d0"), &path("/copy"), &copy).expect("copied");
    for many in [usize::MAX, 0] {
        let entries = workspace.history().changes_of(&path("/"), many).expect("listed");
        let listed: Vec<VPath> = entries.map(|entry| entry.expect("read").path).collect();
        let index = |at: &str| listed.iter().position(|listed| *listed == path(at)).expect(at);
        for top in ["/d0", "/d19", "/copy"] {
            let deeper = [format!("{top}/e/f"), format!("{top}/e")];
            let indexes = [index(&deeper[0]), index(&deeper[1]), index(top)];
            assert!(indexes.is_sorted(), "{top}: {indexes:?}, {many}");
        }
    }
}

/// The number of documents that are loaded, and of files that are looked up, for the last changes.
fn costs_of_the_last_changes(n_files: usize) -> (u64, usize) {
    let directory = tempfile::tempdir().expect("a directory");
    let workspace = make(&directory);
    let session = workspace.session(Actor::new(ActorKind::Agent, "ana"));
    for file in 0..n_files {
        put(&session, &format!("/d{}/f{file}", file % 10), "text");
    }
    drop(session);
    workspace.close().expect("closed");
    let file = directory.path().join("workspace.db");
    let loads = Arc::<LoadCounter>::default();
    let options = WorkspaceOptions { provider: Some(loads.clone()), ..WorkspaceOptions::reading() };
    let workspace = Workspace::open_at(&file, options).expect("opened");
    let mut entries = workspace.history().changes_of(&VPath::root(), 100).expect("listed");
    assert!(entries.by_ref().take(3).all(|entry| entry.is_ok()));
    let n_found = entries.scan.as_ref().map_or(0, |scan| scan.found.len());
    (loads.0.load(Ordering::Relaxed), n_found)
}

/// Counts the documents that are loaded.
#[derive(Debug, Default)]
struct LoadCounter(AtomicU64);

impl DocumentProvider for LoadCounter {
    fn attach(&self, _: &FileId) -> Box<dyn Send> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Box::new(())
    }
}

#[test]
fn what_was_removed_with_its_directory_is_not_walked_for_the_last_changes() {
    let directory = tempfile::tempdir().expect("a directory");
    let workspace = make(&directory);
    let session = workspace.session(Actor::new(ActorKind::Agent, "ana"));
    for file in 0..150 {
        put(&session, &format!("/gone/e/f{file}"), "text");
        put(&session, &format!("/kept/f{file}"), "text");
    }
    session
        .rm(&path("/gone"), &RemoveOptions { recursive: true, ..RemoveOptions::default() })
        .expect("removed");
    let mut entries = workspace.history().changes_of(&VPath::root(), 100).expect("listed");
    let scan = entries.scan.as_ref().expect("the log is read backwards");
    assert_eq!(scan.place.trashed.len(), 1);
    let listed = entries.by_ref().map(|entry| entry.expect("read"));
    let listed: Vec<VPath> = listed.map(|entry| entry.path).collect();
    // The files, and their directory.
    assert_eq!(listed.iter().filter(|at| at.starts_with(&path("/gone/e"))).count(), 151);
    assert_eq!(listed.first(), Some(&path("/gone")));
}

#[test]
fn the_last_changes_cost_the_same_among_any_number_of_files() {
    let (few, many) = (costs_of_the_last_changes(600), costs_of_the_last_changes(1800));
    assert!(few.0 <= 8 && many.0 <= 8, "documents were loaded: {few:?} {many:?}");
    assert!(few.1 <= PAGE && many.1 <= PAGE, "files were looked up: {few:?} {many:?}");
    assert!(few.1 > 0 && many.1 > 0);
}
