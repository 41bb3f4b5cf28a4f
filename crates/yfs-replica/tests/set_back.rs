//! A clone whose volume is set back without a reboot uses client ids twice: what it wrote before
//! and after stands at all replicas, in files and in the table of files.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{collections::BTreeMap, sync::Arc};

use futures::FutureExt;
use yfs::{Workspace, WorkspaceOptions, clock::RandomIds, workspace::conflicts::ConflictKind};
use yfs_engine::{
    actor::{Actor, ActorKind},
    path::VPath,
};
use yfs_replica::{HubMarks, ReplicaSession};
use yfs_store::MemoryStore;
use yfs_vfs::{FileKind, FileSystem, MoveOptions, WalkOptions, WriteOptions};

fn options(name: &str) -> WorkspaceOptions {
    let actor = Actor::new(ActorKind::Human, name);
    WorkspaceOptions { ids: Arc::new(RandomIds), ..WorkspaceOptions::one_shot(actor) }
}

fn block_on<T>(call: impl Future<Output = T>) -> T {
    call.now_or_never().unwrap()
}

fn append(to: &Workspace, path: &str, text: &str) {
    let (path, text) = (VPath::parse(path).unwrap(), text.to_owned());
    block_on(to.fs().append(&path, text.into(), &WriteOptions::default())).unwrap();
}

fn rename(of: &Workspace, from: &str, to: &str) {
    let [from, to] = [from, to].map(|path| VPath::parse(path).unwrap());
    block_on(of.fs().mv(&from, &to, &MoveOptions::default())).unwrap();
}

fn tree(of: &Workspace) -> BTreeMap<String, String> {
    let fs = of.fs();
    let found = block_on(fs.walk(&VPath::root(), &WalkOptions::default())).unwrap();
    let files = found.into_iter().filter(|item| item.entry.kind == FileKind::File);
    let text = |path: &VPath| block_on(fs.read(path)).unwrap().data.to_vec();
    files
        .map(|item| (item.path.to_string(), String::from_utf8(text(&item.path)).unwrap()))
        .collect()
}

/// Exchanges everything, and returns the documents that the guest wrote anew.
fn exchange(hub: &Workspace, guest: &Workspace) -> usize {
    let mut server = ReplicaSession::hub(hub.clone(), true);
    let mut client = ReplicaSession::guest(guest.clone(), &HubMarks::default());
    for _ in 0..10_000 {
        let (up, down) = (client.next_frame().unwrap(), server.next_frame().unwrap());
        if client.is_done() && up.is_none() && down.is_none() {
            assert!(client.progress().refused.is_empty(), "{:?}", client.progress());
            return client.progress().rewritten.len();
        }
        up.into_iter().for_each(|frame| server.receive(&frame).unwrap());
        down.into_iter().for_each(|frame| client.receive(&frame).unwrap());
    }
    panic!("the exchange does not end");
}

/// A hub, a clone, and another guest.
struct Scene {
    hub: Workspace,
    store: Arc<MemoryStore>,
    clone: Workspace,
    guest: Workspace,
}

impl Scene {
    /// Makes replicas of a workspace with some files; the clone has written under ids that it has
    /// released and claimed again.
    fn new(files: &[&str]) -> Self {
        let hub = Workspace::create(Arc::new(MemoryStore::new()), options("hub")).unwrap();
        files.iter().for_each(|path| append(&hub, path, "base\n"));
        let store = Arc::new(MemoryStore::with_power_cuts());
        let clone = Workspace::create_replica(store.clone(), hub.id(), options("clone")).unwrap();
        exchange(&hub, &clone);
        files.iter().for_each(|path| append(&clone, path, "\nfirst\n"));
        exchange(&hub, &clone);
        clone.close().unwrap();
        let guest = Arc::new(MemoryStore::new());
        let guest = Workspace::create_replica(guest, hub.id(), options("guest")).unwrap();
        exchange(&hub, &guest);
        let clone = Workspace::open(store.clone(), options("clone")).unwrap();
        Self { hub, store, clone, guest }
    }

    /// Sets the volume of the clone back to the time before it was opened.
    fn set_back(&mut self) {
        self.store.cut_power();
        let again = Workspace::open(self.store.clone(), options("clone")).unwrap();
        // The process that was running then is gone, and closes nothing.
        std::mem::forget(std::mem::replace(&mut self.clone, again));
    }

    /// Exchanges everything, and returns the one tree.
    fn meet(&self) -> BTreeMap<String, String> {
        for _ in 0..3 {
            exchange(&self.hub, &self.clone);
            exchange(&self.hub, &self.guest);
        }
        let hub = tree(&self.hub);
        assert_eq!(tree(&self.clone), hub);
        assert_eq!(tree(&self.guest), hub);
        for workspace in [&self.hub, &self.clone, &self.guest] {
            let conflicts = workspace.conflicts().unwrap();
            assert!(conflicts.iter().all(|one| one.kind != ConflictKind::Forked), "{conflicts:?}");
        }
        hub
    }
}

#[test]
fn what_a_clone_wrote_before_and_after_it_was_set_back_stands() {
    let mut scene = Scene::new(&["/a.txt", "/b.md"]);
    for path in ["/a.txt", "/b.md"] {
        append(&scene.clone, path, "\nTAKEN-BACK\n");
    }
    exchange(&scene.hub, &scene.clone);
    exchange(&scene.hub, &scene.guest);
    for path in ["/a.txt", "/b.md"] {
        append(&scene.hub, path, "\nhub\n");
    }
    scene.set_back();
    for path in ["/a.txt", "/b.md"] {
        append(&scene.clone, path, "\nAFTERWARDS and more\n");
    }
    assert_eq!(exchange(&scene.hub, &scene.clone), 2, "both files were written anew");
    let tree = scene.meet();
    for (path, text) in &tree {
        for word in ["base", "first", "TAKEN-BACK", "hub", "AFTERWARDS and more"] {
            assert_eq!(text.matches(word).count(), 1, "{word} in {path}: {text}");
        }
    }
    assert_eq!(tree.len(), 2);
    // All go on, the clone under other ids.
    append(&scene.clone, "/a.txt", "of the clone\n");
    append(&scene.guest, "/a.txt", "of the guest\n");
    let text = &scene.meet()["/a.txt"];
    assert!(text.contains("of the clone\n") && text.contains("of the guest\n"), "{text}");
    assert_eq!(exchange(&scene.hub, &scene.clone), 0);
}

#[test]
fn files_and_names_of_both_sides_stand() {
    let mut scene = Scene::new(&["/a.txt", "/b.txt", "/c.txt"]);
    append(&scene.clone, "/taken-back.txt", "1\n");
    rename(&scene.clone, "/a.txt", "/a-taken-back.txt");
    exchange(&scene.hub, &scene.clone);
    append(&scene.hub, "/of-the-hub.txt", "2\n");
    scene.set_back();
    append(&scene.clone, "/afterwards.txt", "3\n");
    rename(&scene.clone, "/b.txt", "/b-afterwards.txt");
    append(&scene.clone, "/more.txt", "4\n");
    let names: Vec<String> = scene.meet().into_keys().collect();
    let expected = [
        "/a-taken-back.txt",
        "/afterwards.txt",
        "/b-afterwards.txt",
        "/c.txt",
        "/more.txt",
        "/of-the-hub.txt",
        "/taken-back.txt",
    ];
    assert_eq!(names, expected);
}
