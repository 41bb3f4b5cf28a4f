//! Updates that wait in the contents of files for items that have not arrived.

use std::{
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};

use crate::support::handles::{Pair, at, cat, now, put};
use yfs::{
    Workspace, WorkspaceOptions, clock::Clock, replica::ReplicaUpdate, workspace::parked::MAX_WAIT,
};
use yfs_conformance::FaultStore;
use yfs_engine::{
    content::{ContentDoc, RunAuthor},
    gate::GateLimits,
    id::{ClientId, FileId},
    time::Millis,
};
use yfs_store::MemoryStore;
use yfs_vfs::FileSystem;

fn id_of(workspace: &Workspace, path: &str) -> FileId {
    now(workspace.fs().stat(&at(path))).expect("a file").id
}

/// Returns the updates of a client that types words into an empty file.
fn typed(id: &FileId, client: u64, words: &[&str]) -> Vec<Vec<u8>> {
    let client = ClientId::new(client).expect("an id");
    let mut editor = ContentDoc::new(id, client, GateLimits::default());
    let author = RunAuthor::new("human:ada".parse().expect("an actor"), Millis(1));
    let mut type_word =
        |word: &&str| editor.append(word, &author).expect("typed").update.expect("an update");
    words.iter().map(&mut type_word).collect()
}

fn receive(workspace: &Workspace, id: &FileId, update: &[u8]) {
    let port = workspace.documents().port(id.as_str()).expect("a port");
    let actor = "human:eve".parse().expect("an actor");
    port.acting_for(actor).receive(update).expect("accepted");
}

fn n_parked(workspace: &Workspace) -> u64 {
    workspace.maintenance().stats().expect("stats").n_parked
}

/// A clock that a test sets.
#[derive(Debug, Default)]
struct SetClock(AtomicI64);

impl Clock for SetClock {
    fn now(&self) -> Millis {
        Millis(self.0.load(Ordering::Relaxed))
    }
}

/// They were counted in the files table only, and no command showed or dropped them.
#[test]
fn updates_that_wait_in_contents_are_counted_listed_and_dropped() {
    let Pair { a, b, _dir } = Pair::new();
    put(&a, "/f.txt", "");
    put(&a, "/g.txt", "");
    let (f, g) = (id_of(&a, "/f.txt"), id_of(&a, "/g.txt"));
    let early = typed(&f, 1 << 40, &["one ", "two ", "three "]);
    receive(&a, &f, &early[1]);
    receive(&a, &f, &early[2]);
    receive(&a, &g, &typed(&g, 2 << 40, &["four ", "five "])[1]);
    // Both are counted by another process, and after compaction, which keeps them.
    assert_eq!((n_parked(&a), n_parked(&b)), (3, 3));
    a.maintenance().compact(&mut |_, _| ()).expect("compacted");
    assert_eq!((n_parked(&a), n_parked(&b)), (3, 3));

    let waiting = b.maintenance().parked().expect("a list");
    assert_eq!(waiting.len(), 3);
    let of_f: Vec<_> = waiting.iter().filter(|waiting| waiting.doc == f).collect();
    assert_eq!(of_f.len(), 2, "{waiting:?}");
    for waiting in of_f {
        let client = ClientId::new(1 << 40).expect("an id");
        assert_eq!((waiting.first.client, waiting.waits_for.client), (client, client));
        assert!(waiting.waits_for.clock < waiting.first.clock, "{waiting:?}");
        assert!(waiting.n_bytes > 0 && waiting.since.0 > 0);
        assert_eq!(waiting.author.as_deref(), Some("eve"));
    }

    // One process drops them; another one that has them in memory does not bring them back.
    assert_eq!(cat(&b, "/f.txt"), "");
    assert_eq!(b.maintenance().drop_parked(&f).expect("dropped"), 2);
    assert_eq!((n_parked(&a), n_parked(&b)), (1, 1));
    receive(&a, &f, &early[0]);
    assert_eq!((cat(&a, "/f.txt"), cat(&b, "/f.txt")), ("one ".into(), "one ".into()));
    // An editor that still has them sends them again.
    receive(&b, &f, &early[1]);
    receive(&a, &f, &early[2]);
    let all = "one two three ";
    assert_eq!((cat(&a, "/f.txt"), cat(&b, "/f.txt")), (all.into(), all.into()));
    assert_eq!(b.maintenance().parked().expect("a list").len(), 1, "the one of the other file");
}

/// What a process integrates from its memory, in the moment in which another one drops it from the
/// log, goes with the log.
#[test]
fn what_was_dropped_is_nowhere_in_memory() {
    let Pair { a, b, _dir } = Pair::new();
    put(&a, "/f.txt", "");
    let f = id_of(&a, "/f.txt");
    let early = typed(&f, 1 << 40, &["one ", "two "]);
    receive(&a, &f, &early[1]);
    // The process has read everything up to the drop, which follows.
    assert_eq!(cat(&a, "/f.txt"), "");
    assert_eq!(b.maintenance().drop_parked(&f).expect("dropped"), 1);
    b.maintenance().compact(&mut |_, _| ()).expect("compacted");
    receive(&a, &f, &early[0]);
    assert_eq!((cat(&a, "/f.txt"), cat(&b, "/f.txt")), ("one ".into(), "one ".into()));
    assert_eq!(n_parked(&a), 0);
}

#[test]
fn what_arrives_takes_what_waited_off_the_count() {
    let Pair { a, b, _dir } = Pair::new();
    put(&a, "/f.txt", "");
    let f = id_of(&a, "/f.txt");
    let words = typed(&f, 1 << 40, &["one ", "two "]);
    receive(&a, &f, &words[1]);
    assert_eq!((n_parked(&a), n_parked(&b)), (1, 1));
    receive(&b, &f, &words[0]);
    assert_eq!((n_parked(&a), n_parked(&b)), (0, 0));
    assert_eq!(cat(&a, "/f.txt"), "one two ");
}

/// A replica logs the first updates of a document unread, unless they would wait.
#[test]
fn what_waits_in_the_first_update_of_a_document_is_counted() {
    let Pair { a, _dir, .. } = Pair::new();
    put(&a, "/f.txt", "");
    let f = id_of(&a, "/f.txt");
    let update = typed(&f, 1 << 40, &["one ", "two "]).remove(1);
    let arrival = ReplicaUpdate { doc: f, update, is_new: true };
    a.replication().receive(&[arrival]).expect("received");
    assert_eq!(n_parked(&a), 1);
}

#[test]
fn what_waits_for_too_long_goes_to_the_quarantine() {
    let clock = Arc::new(SetClock::default());
    clock.0.store(1_000_000, Ordering::Relaxed);
    let options =
        WorkspaceOptions { clock: clock.clone(), follow: false, ..WorkspaceOptions::default() };
    let store = Arc::new(FaultStore::new(Arc::new(MemoryStore::new())));
    let workspace = Workspace::create(store.clone(), options).expect("a workspace");
    put(&workspace, "/f.txt", "");
    let f = id_of(&workspace, "/f.txt");
    let pass = |time: Duration| {
        clock.0.fetch_add(time.as_millis() as i64, Ordering::Relaxed);
    };
    receive(&workspace, &f, &typed(&f, 1 << 40, &["one ", "two "])[1]);
    pass(MAX_WAIT / 2);
    receive(&workspace, &f, &typed(&f, 2 << 40, &["three ", "four "])[1]);
    assert_eq!(workspace.maintenance().expire_parked().expect("checked"), 0);
    pass(MAX_WAIT / 2 + Duration::from_secs(1));
    assert_eq!(workspace.maintenance().expire_parked().expect("expired"), 1);
    assert_eq!(n_parked(&workspace), 1, "the younger one stays");
    let refused = workspace.maintenance().quarantined().expect("a list");
    assert_eq!(refused.len(), 1);
    assert!(refused[0].reason.contains("30 days"), "{refused:?}");
    pass(MAX_WAIT / 2 + Duration::from_secs(1));
    assert_eq!(workspace.maintenance().expire_parked().expect("expired"), 1);
    assert_eq!(n_parked(&workspace), 0);
}

/// Counting and listing read no document in which nothing waits.
#[test]
fn counting_reads_no_document() {
    let store = Arc::new(FaultStore::new(Arc::new(MemoryStore::new())));
    let options = WorkspaceOptions { follow: false, ..WorkspaceOptions::default() };
    let workspace = Workspace::create(store.clone(), options.clone()).expect("a workspace");
    for n in 0..100 {
        put(&workspace, &format!("/{n}.txt"), "text\n");
    }
    let id = id_of(&workspace, "/7.txt");
    receive(&workspace, &id, &typed(&id, 1 << 40, &["one ", "two "])[1]);
    let before = store.n_loads();
    assert_eq!(n_parked(&workspace), 1);
    assert_eq!(store.n_loads(), before);
    assert_eq!(workspace.maintenance().parked().expect("a list").len(), 1);
    assert!(store.n_loads() <= before + 1, "{} documents were read", store.n_loads() - before);
}
