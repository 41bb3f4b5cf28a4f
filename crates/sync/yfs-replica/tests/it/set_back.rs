//! A clone whose volume is set back without a reboot uses client ids twice: hub and clone have
//! other words under the same ids.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;

use futures::FutureExt;
use yfs::{Workspace, WorkspaceOptions, clock::RandomIds};
use yfs_engine::{
    actor::{Actor, ActorKind},
    path::VPath,
};
use yfs_replica::{HubMarks, ReplicaSession};
use yfs_store::MemoryStore;
use yfs_vfs::{FileSystem, WriteOptions};

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

fn cat(of: &Workspace, path: &str) -> String {
    let path = VPath::parse(path).unwrap();
    String::from_utf8(block_on(of.fs().read(&path)).unwrap().data.to_vec()).unwrap()
}

fn exchange(hub: &Workspace, guest: &Workspace) {
    let mut server = ReplicaSession::hub(hub.clone(), true);
    let mut client = ReplicaSession::guest(guest.clone(), &HubMarks::default());
    for _ in 0..10_000 {
        let (up, down) = (client.next_frame().unwrap(), server.next_frame().unwrap());
        if client.is_done() && up.is_none() && down.is_none() {
            return;
        }
        up.into_iter().for_each(|frame| server.receive(&frame).unwrap());
        down.into_iter().for_each(|frame| client.receive(&frame).unwrap());
    }
    panic!("the exchange does not end");
}

/// A hub and its clone.
struct Scene {
    hub: Workspace,
    store: Arc<MemoryStore>,
    clone: Workspace,
}

impl Scene {
    /// Makes both with two files; the clone has written under ids that it released and claimed
    /// again.
    fn new() -> Self {
        let hub = Workspace::create(Arc::new(MemoryStore::new()), options("hub")).unwrap();
        FILES.iter().for_each(|path| append(&hub, path, "base\n"));
        let store = Arc::new(MemoryStore::with_power_cuts());
        let clone = Workspace::create_replica(store.clone(), hub.id(), options("clone")).unwrap();
        exchange(&hub, &clone);
        FILES.iter().for_each(|path| append(&clone, path, "\nfirst\n"));
        exchange(&hub, &clone);
        clone.close().unwrap();
        let clone = Workspace::open(store.clone(), options("clone")).unwrap();
        Self { hub, store, clone }
    }

    /// Sets the volume of the clone back to the time before it was opened.
    fn set_back(&mut self) {
        self.store.cut_power();
        let again = Workspace::open(self.store.clone(), options("clone")).unwrap();
        // The process that was running then is gone, and closes nothing.
        std::mem::forget(std::mem::replace(&mut self.clone, again));
    }

    /// Plays what acceptance found: hub and clone have other words under the same ids.
    fn fork(&mut self) {
        for path in FILES {
            append(&self.clone, path, "\nTAKEN-BACK and much more than the clone writes later\n");
        }
        exchange(&self.hub, &self.clone);
        self.set_back();
        FILES.iter().for_each(|path| append(&self.clone, path, "\nAFTERWARDS\n"));
        exchange(&self.hub, &self.clone);
    }

    fn forked_files(&self) -> [Vec<String>; 2] {
        [&self.hub, &self.clone].map(|workspace| {
            let forked = workspace.replication().forked_files().unwrap();
            forked.into_iter().map(|file| file.path).collect()
        })
    }
}

const FILES: [&str; 2] = ["/a.txt", "/b.md"];

/// The way out that `yfs sync` names.
#[test]
fn a_repair_at_both_sides_before_they_meet_keeps_the_words_of_both() {
    let mut scene = Scene::new();
    scene.fork();
    for files in scene.forked_files() {
        assert!(FILES.iter().all(|path| files.iter().any(|file| file == path)), "{files:?}");
    }
    for workspace in [&scene.hub, &scene.clone] {
        for path in FILES {
            assert!(workspace.maintenance().repair(&VPath::parse(path).unwrap()).unwrap());
        }
    }
    exchange(&scene.hub, &scene.clone);
    exchange(&scene.hub, &scene.clone);
    for path in FILES {
        let text = cat(&scene.hub, path);
        assert_eq!(cat(&scene.clone, path), text);
        for word in ["base", "first", "TAKEN-BACK", "AFTERWARDS"] {
            assert!(text.contains(word), "{word} in {path}: {text}");
        }
    }
    assert_eq!(scene.forked_files(), [[""; 0]; 2]);
}

/// While the ids were used on, what the clone wrote later was under ids that the hub has, too.
#[test]
fn ids_that_were_used_twice_are_given_up() {
    let mut scene = Scene::new();
    scene.fork();
    FILES.iter().for_each(|path| append(&scene.clone, path, "\nin the same process\n"));
    append(&scene.clone, "/same.txt", "1\n");
    exchange(&scene.hub, &scene.clone);
    scene.clone.close().unwrap();
    scene.clone = Workspace::open(scene.store.clone(), options("clone")).unwrap();
    FILES.iter().for_each(|path| append(&scene.clone, path, "\nin the next one\n"));
    append(&scene.clone, "/next.txt", "2\n");
    exchange(&scene.hub, &scene.clone);
    for path in FILES {
        let text = cat(&scene.hub, path);
        for words in ["TAKEN-BACK", "in the same process", "in the next one"] {
            assert!(text.contains(words), "{words} in {path}: {text}");
        }
    }
    assert_eq!([cat(&scene.hub, "/same.txt"), cat(&scene.hub, "/next.txt")], ["1\n", "2\n"]);
}
