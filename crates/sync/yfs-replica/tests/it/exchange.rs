//! A hub and guests that write, sync over connections that are cut anywhere, compact, and restore
//! old copies: in the end all have the same content, and no write is lost.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{collections::BTreeMap, path::Path, sync::Arc};

use futures::FutureExt;
use proptest::prelude::*;
use yfs::{Workspace, WorkspaceOptions, clock::RandomIds};
use yfs_engine::{
    actor::{Actor, ActorKind},
    path::VPath,
};
use yfs_replica::{HubMarks, ReplicaError, ReplicaSession};
use yfs_store::{MemoryStore, SqliteStore, Store};
use yfs_vfs::{
    CreateMode, FileKind, FileSystem, FileSystemExt, MkdirOptions, MoveOptions, RemoveOptions,
    WalkOptions, WriteOptions,
};

/// Runs a call of a workspace, which completes without waiting.
fn block_on<T>(call: impl Future<Output = T>) -> T {
    call.now_or_never().unwrap()
}

/// The number of stores; the first is the hub.
const N_STORES: usize = 4;

/// A step of a random history.
#[derive(Debug, Clone)]
enum Step {
    /// A store appends a line of its own to a file, which is created if missing.
    Append(usize, usize),
    /// A store writes bytes that are not text.
    Bytes(usize, usize),
    Rename(usize, usize, usize),
    Remove(usize, usize),
    Compact(usize),
    /// A guest and the hub exchange up to this many frames, then the connection is cut.
    Sync(usize, usize),
    /// A store is closed and opened again.
    Reopen(usize),
}

fn step() -> impl Strategy<Value = Step> {
    let (who, file) = (0..N_STORES, 0..6_usize);
    prop_oneof![
        4 => (who.clone(), file.clone()).prop_map(|(who, file)| Step::Append(who, file)),
        1 => (who.clone(), file.clone()).prop_map(|(who, file)| Step::Bytes(who, file)),
        1 => (who.clone(), file.clone(), file.clone())
            .prop_map(|(who, a, b)| Step::Rename(who, a, b)),
        1 => (who.clone(), file).prop_map(|(who, file)| Step::Remove(who, file)),
        1 => who.clone().prop_map(Step::Compact),
        4 => (1..N_STORES, 0..40_usize).prop_map(|(who, n)| Step::Sync(who, n)),
        1 => who.prop_map(Step::Reopen),
    ]
}

/// A store, and the state of its exchange with the hub.
struct Peer {
    store: Arc<dyn Store>,
    workspace: Option<Workspace>,
    remembered: HubMarks,
    number: usize,
}

impl Peer {
    fn workspace(&self) -> Workspace {
        self.workspace.clone().unwrap()
    }

    fn options(number: usize) -> WorkspaceOptions {
        let actor = Actor::new(ActorKind::Human, &number.to_string());
        WorkspaceOptions { ids: Arc::new(RandomIds), ..WorkspaceOptions::one_shot(actor) }
    }

    fn reopen(&mut self) {
        self.workspace.take().unwrap().close().unwrap();
        let options = Self::options(self.number);
        self.workspace = Some(Workspace::open(self.store.clone(), options).unwrap());
    }
}

fn peers() -> Vec<Peer> {
    let new_store = || Arc::new(MemoryStore::new());
    let store = new_store();
    let hub = Workspace::create(store.clone(), Peer::options(0)).unwrap();
    let id = hub.id().clone();
    let remembered = HubMarks::default;
    let mut peers = vec![Peer { store, workspace: Some(hub), remembered: remembered(), number: 0 }];
    for number in 1..N_STORES {
        let store = new_store();
        let made = Workspace::create_replica(store.clone(), &id, Peer::options(number)).unwrap();
        peers.push(Peer { store, workspace: Some(made), remembered: remembered(), number });
    }
    peers
}

fn path(file: usize) -> VPath {
    VPath::parse(["/a.txt", "/b.md", "/d/c.txt", "/d/e.md", "/f.rs", "/g.bin"][file]).unwrap()
}

/// Exchanges up to `frames` frames of each side; returns whether both had everything.
fn exchange(hub: &Workspace, guest: &mut Peer, mut frames: usize) -> bool {
    let mut server = ReplicaSession::hub(hub.clone(), true);
    let mut client = ReplicaSession::guest(guest.workspace(), &guest.remembered);
    loop {
        let (up, down) = (client.next_frame().unwrap(), server.next_frame().unwrap());
        let is_over = client.is_done() && up.is_none() && down.is_none();
        if is_over || frames == 0 {
            guest.remembered = client.remembered().unwrap().clone();
            assert!(client.progress().refused.is_empty(), "{:?}", client.progress());
            return is_over;
        }
        frames -= 1;
        up.into_iter().for_each(|frame| server.receive(&frame).unwrap());
        down.into_iter().for_each(|frame| client.receive(&frame).unwrap());
    }
}

/// Returns the content of every file by path.
fn tree(workspace: &Workspace) -> BTreeMap<String, Vec<u8>> {
    let fs = workspace.fs();
    let found = block_on(fs.walk(&VPath::root(), &WalkOptions::default())).unwrap();
    let files = found.into_iter().filter(|item| item.entry.kind == FileKind::File);
    files
        .map(|item| (item.path.to_string(), block_on(fs.read(&item.path)).unwrap().data.to_vec()))
        .collect()
}

fn play(steps: &[Step]) {
    let mut peers = peers();
    let mut written = Vec::new();
    for (number, step) in steps.iter().enumerate() {
        match step.clone() {
            Step::Append(who, file) => {
                let line = format!("line {number} of {who}\n");
                let fs = peers[who].workspace().fs();
                let held =
                    block_on(fs.read(&path(file))).map(|content| content.data).unwrap_or_default();
                // If two stores write bytes concurrently, one version is the file's and the other
                // an older one.
                if std::str::from_utf8(&held).is_err() {
                    continue;
                }
                let appended =
                    block_on(fs.append(&path(file), line.clone().into(), &WriteOptions::default()));
                written.extend(appended.is_ok().then_some(line));
            }
            Step::Bytes(who, file) => {
                let bytes: Vec<u8> = [0xff, 0xfe, who as u8, number as u8].repeat(700);
                let options = WriteOptions { create: CreateMode::New, ..WriteOptions::default() };
                block_on(peers[who].workspace().fs().write(&path(file), bytes.into(), &options))
                    .ok();
            }
            Step::Rename(who, from, to) => {
                let options = MoveOptions { replace: false, parents: true };
                block_on(peers[who].workspace().fs().mv(&path(from), &path(to), &options)).ok();
            }
            Step::Remove(who, file) => {
                let fs = peers[who].workspace().fs();
                block_on(fs.rm(&path(file), &RemoveOptions::default())).ok();
            }
            Step::Compact(who) => {
                peers[who].workspace().maintenance().compact(&mut |_, _| {}).unwrap();
            }
            Step::Sync(who, frames) => {
                let hub = peers[0].workspace();
                exchange(&hub, &mut peers[who], frames);
            }
            Step::Reopen(who) => peers[who].reopen(),
        }
    }
    // Two rounds, so that the first guest receives the updates of the last.
    for _ in 0..2 {
        for who in 1..N_STORES {
            let hub = peers[0].workspace();
            assert!(exchange(&hub, &mut peers[who], 100_000), "guest {who} never has everything");
        }
    }
    let expected = tree(&peers[0].workspace());
    for peer in &peers[1..] {
        assert!(tree(&peer.workspace()) == expected, "store {} is not as the hub", peer.number);
        assert!(peer.store.quarantined().unwrap().is_empty());
    }
    assert_found(&peers[2].workspace(), &written);
}

/// Checks that every line ever written is in a file, also one restored from the trash, or is named
/// by a conflict.
fn assert_found(workspace: &Workspace, written: &[String]) {
    let back = VPath::parse("/back").unwrap();
    block_on(workspace.fs().mkdir(&back, &MkdirOptions::recursive())).unwrap();
    for trashed in workspace.trash().list().unwrap() {
        let to = VPath::parse(&format!("/back/{}", trashed.id)).unwrap();
        workspace.trash().restore(&trashed.id, Some(&to)).unwrap();
    }
    // What waits in the form that a file had before it was renamed is merged by a repair
    // (decision 23).
    for path in tree(workspace).keys() {
        workspace.maintenance().repair(&VPath::parse(path).unwrap()).unwrap();
    }
    let all = tree(workspace);
    let listed: String =
        workspace.conflicts().unwrap().into_iter().map(|conflict| conflict.detail).collect();
    for line in written {
        let holds =
            |bytes: &Vec<u8>| bytes.windows(line.len()).any(|window| window == line.as_bytes());
        let is_found = all.values().any(holds) || listed.contains(line.trim_end());
        assert!(
            is_found,
            "{line:?} is lost: {:?}",
            all.values().map(|bytes| String::from_utf8_lossy(bytes)).collect::<Vec<_>>()
        );
    }
}

/// Returns a configuration with `n_cases` cases, or with the number in `PROPTEST_CASES` if that
/// variable is set.
fn config(n_cases: u32) -> ProptestConfig {
    let config = ProptestConfig { failure_persistence: None, ..ProptestConfig::default() };
    let is_set = std::env::var_os("PROPTEST_CASES").is_some();
    if is_set { config } else { ProptestConfig { cases: n_cases, ..config } }
}

proptest! {
    #![proptest_config(config(60))]

    #[test]
    fn all_have_everything_in_the_end(steps in proptest::collection::vec(step(), 1..60)) {
        play(&steps);
    }
}

#[test]
fn late_work_in_a_renamed_file_is_merged_by_the_hub() {
    play(&[Step::Append(0, 3), Step::Sync(1, 40), Step::Sync(2, 40)]);
    let mut peers = peers();
    let hub = peers[0].workspace();
    let append = |to: &Workspace, file: usize, line: &str| {
        block_on(to.fs().append(&path(file), line.to_owned().into(), &WriteOptions::default()))
            .unwrap();
    };
    append(&hub, 3, "first\n\n");
    for peer in &mut peers[1..3] {
        assert!(exchange(&hub, peer, 1000));
    }
    // One store converts markdown to text, while two others write to it and the hub removes it.
    block_on(peers[1].workspace().fs().mv(&path(3), &path(2), &MoveOptions::default())).unwrap();
    append(&peers[2].workspace(), 3, "of a guest\n\n");
    append(&hub, 3, "of the hub\n\n");
    block_on(hub.fs().rm(&path(3), &RemoveOptions::default())).unwrap();
    for _ in 0..2 {
        for peer in &mut peers[1..3] {
            assert!(exchange(&hub, peer, 1000));
        }
    }
    let written = ["first\n", "of a guest\n", "of the hub\n"].map(str::to_owned);
    for peer in &peers[..3] {
        assert_found(&peer.workspace(), &written);
    }
}

#[test]
fn nothing_new_is_one_round_trip() {
    let mut peers = peers();
    let hub = peers[0].workspace();
    for n in 0..300 {
        let file = VPath::parse(&format!("/{}/{n}.txt", n % 10)).unwrap();
        block_on(hub.fs().write(&file, format!("file {n}\n").into(), &WriteOptions::default()))
            .unwrap();
    }
    assert!(exchange(&hub, &mut peers[1], 1000));
    // The exchange loaded no document on either side.
    assert_eq!(peers[1].workspace().documents().usage().0, 0);
    let changed = VPath::parse("/3/3.txt").unwrap();
    block_on(hub.fs().append(&changed, "more\n".into(), &WriteOptions::default())).unwrap();
    let mut server = ReplicaSession::hub(hub.clone(), true);
    let mut client = ReplicaSession::guest(peers[1].workspace(), &peers[1].remembered);
    server.receive(&client.next_frame().unwrap().unwrap()).unwrap();
    let mut sizes = Vec::new();
    while let Some(frame) = server.next_frame().unwrap() {
        sizes.push(frame.len());
        client.receive(&frame).unwrap();
    }
    // A welcome, the one update, the position, and the update of the file's row.
    assert!(sizes.iter().sum::<usize>() < 1500, "{sizes:?}");
    assert_eq!(client.progress().n_new, client.progress().n_received);
    assert_eq!(tree(&peers[1].workspace()), tree(&hub));
}

/// Two guests of one hub that never met send each other what the other lacks, and the summaries of
/// their logs. It does not matter that one has merged its records.
#[test]
fn strangers_that_have_the_same_send_little() {
    let mut peers = peers();
    let hub = peers[0].workspace();
    let write = |to: &Workspace, n: usize, text: &str| {
        let file = VPath::parse(&format!("/{}/{n}.txt", n % 10)).unwrap();
        block_on(to.fs().write(&file, text.to_owned().into(), &WriteOptions::default())).unwrap();
    };
    for n in 0..300 {
        write(&hub, n, &format!("file {n}\n").repeat(100));
        write(&hub, n, &format!("again {n}\n").repeat(100));
    }
    for peer in &mut peers[1..3] {
        assert!(exchange(&hub, peer, 1000));
    }
    let (first, second) = (peers[1].workspace(), peers[2].workspace());
    first.maintenance().compact(&mut |_, _| {}).unwrap();
    let meet = || {
        let mut server = ReplicaSession::hub(first.clone(), true);
        let mut client = ReplicaSession::guest(second.clone(), &HubMarks::default());
        while !(client.is_done() && server.is_done()) {
            let (up, down) = (client.next_frame().unwrap(), server.next_frame().unwrap());
            up.into_iter().for_each(|frame| server.receive(&frame).unwrap());
            down.into_iter().for_each(|frame| client.receive(&frame).unwrap());
        }
        client.progress()
    };
    let same = meet();
    assert_eq!((same.n_sent, same.n_received), (0, 0));
    assert!(same.bytes_sent + same.bytes_received < 3000, "{same:?}");
    write(&first, 7, "changed by the first\n");
    write(&second, 8, "changed by the second\n");
    let other = meet();
    // The groups of the two files, whole, and the files table.
    assert!(other.n_sent < 60 && other.n_received < 60, "{other:?}");
    assert_eq!(tree(&first), tree(&second));
    assert_eq!(tree(&first)["/7/7.txt"], b"changed by the first\n");
    assert_eq!(tree(&first)["/8/8.txt"], b"changed by the second\n");
}

/// A guest that was cut off before it stored how far the hub has its log asks what the hub has.
#[test]
fn a_guest_without_a_position_in_its_own_log_sends_little() {
    let mut peers = peers();
    let hub = peers[0].workspace();
    for n in 0..100 {
        let file = VPath::parse(&format!("/{n}.txt")).unwrap();
        let text = format!("file {n}\n").repeat(100);
        block_on(hub.fs().write(&file, text.into(), &WriteOptions::default())).unwrap();
    }
    assert!(exchange(&hub, &mut peers[1], 1000));
    peers[1].remembered.pushed = None;
    let mut server = ReplicaSession::hub(hub.clone(), true);
    let mut client = ReplicaSession::guest(peers[1].workspace(), &peers[1].remembered);
    while !(client.is_done() && server.is_done()) {
        let (up, down) = (client.next_frame().unwrap(), server.next_frame().unwrap());
        up.into_iter().for_each(|frame| server.receive(&frame).unwrap());
        down.into_iter().for_each(|frame| client.receive(&frame).unwrap());
    }
    let progress = client.progress();
    assert_eq!((progress.n_sent, progress.n_received), (0, 0));
}

#[test]
fn a_hub_that_was_restored_from_a_copy_gets_back_what_it_lost() {
    let dir = tempfile::tempdir().unwrap();
    let open = |file: &Path| -> Workspace {
        Workspace::open(Arc::new(SqliteStore::open(file).unwrap()), Peer::options(0)).unwrap()
    };
    let file = dir.path().join("hub.db");
    let hub = Workspace::create_at(&file, Peer::options(0)).unwrap();
    let append = |to: &Workspace, line: &str| {
        block_on(to.fs().append(&path(0), line.to_owned().into(), &WriteOptions::default()))
            .unwrap();
    };
    append(&hub, "before\n");
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let made = Workspace::create_replica(store.clone(), hub.id(), Peer::options(1)).unwrap();
    let remembered = HubMarks::default();
    let mut guest = Peer { store, workspace: Some(made), remembered, number: 1 };
    assert!(exchange(&hub, &mut guest, 1000));
    hub.flush().unwrap();
    let copy = dir.path().join("copy.db");
    hub.store().backup(&copy, &mut |_, _| {}).unwrap();
    append(&guest.workspace(), "from the guest\n");
    append(&hub, "of the hub\n");
    assert!(exchange(&hub, &mut guest, 1000));
    hub.close().unwrap();

    // The hub is restored from an old copy, and then writes beyond its old position.
    let hub = open(&copy);
    for n in 0..20 {
        append(&hub, &format!("after {n}\n"));
    }
    assert!(exchange(&hub, &mut guest, 1000));
    let text = String::from_utf8(tree(&hub)["/a.txt"].clone()).unwrap();
    for line in ["before\n", "from the guest\n", "of the hub\n", "after 0\n", "after 19\n"] {
        assert_eq!(text.matches(line).count(), 1, "{line:?} in {text:?}");
    }
    assert_eq!(tree(&guest.workspace()), tree(&hub));
}

/// The state of a file that was replaced often is larger than a message may be.
#[test]
fn a_state_that_is_larger_than_a_message_is_sent_in_parts() {
    let mut peers = peers();
    let hub = peers[0].workspace();
    let fs = hub.fs();
    for letter in b'a'..=b'i' {
        let text = vec![letter; 8 << 20];
        block_on(fs.write(&path(0), text.into(), &WriteOptions::default())).unwrap();
    }
    hub.maintenance().compact(&mut |_, _| {}).unwrap();
    let mut server = ReplicaSession::hub(hub.clone(), true);
    let mut client = ReplicaSession::guest(peers[1].workspace(), &peers[1].remembered);
    let mut sizes = Vec::new();
    while !client.is_done() {
        client.next_frame().unwrap().into_iter().for_each(|frame| server.receive(&frame).unwrap());
        if let Some(frame) = server.next_frame().unwrap() {
            sizes.push(frame.len());
            client.receive(&frame).unwrap();
        }
    }
    assert!(sizes.iter().sum::<usize>() > 64 << 20, "{sizes:?}");
    assert!(sizes.iter().all(|size| *size < 20 << 20), "{sizes:?}");
    assert!(client.progress().refused.is_empty(), "{:?}", client.progress());
    assert_eq!(tree(&peers[1].workspace()), tree(&hub));
    let versions = |workspace: &Workspace| workspace.fs().versions(&path(0)).unwrap();
    assert_eq!(versions(&peers[1].workspace()), versions(&hub));
    peers[1].reopen();
    assert_eq!(tree(&peers[1].workspace()), tree(&hub));
}

#[test]
fn another_workspace_is_refused_and_a_reader_writes_nothing() {
    let hub = peers()[0].workspace();
    let mut other = peers().remove(1);
    let mut server = ReplicaSession::hub(hub.clone(), true);
    let mut client = ReplicaSession::guest(other.workspace(), &other.remembered);
    server.receive(&client.next_frame().unwrap().unwrap()).unwrap();
    let welcome = server.next_frame().unwrap().unwrap();
    assert!(client.receive(&welcome).unwrap_err().is_final());

    other = peers().remove(1);
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let made = Workspace::create_replica(store, hub.id(), Peer::options(1)).unwrap();
    other.workspace = Some(made);
    let made = other.workspace();
    block_on(made.fs().append(&path(0), "mine\n".into(), &WriteOptions::default())).unwrap();
    let mut server = ReplicaSession::hub(hub.clone(), false);
    let mut client = ReplicaSession::guest(made, &HubMarks::default());
    for _ in 0..20 {
        client.next_frame().unwrap().into_iter().for_each(|frame| server.receive(&frame).unwrap());
        server.next_frame().unwrap().into_iter().for_each(|frame| client.receive(&frame).unwrap());
    }
    assert!(client.is_done() && tree(&hub).is_empty());
}

/// A hub that sends rows without end fills neither the memory nor the disk of a guest. What the
/// guest took is complete in itself, and with a larger limit the next connection gets the rest.
#[test]
fn a_hub_that_sends_rows_without_end_is_stopped_at_the_limit() {
    const LIMIT: u64 = 1 << 20;
    let mut peers = peers();
    let hub = peers[0].workspace();
    let long_name = "n".repeat(200);
    let mut n_dirs = 0;
    let mut add_dirs = || {
        for _ in 0..100 {
            let dir = VPath::parse(&format!("/{long_name}{n_dirs}")).unwrap();
            block_on(hub.fs().mkdir(&dir, &MkdirOptions::default())).unwrap();
            n_dirs += 1;
        }
    };
    let guest = peers[1].workspace();
    let mut server = ReplicaSession::hub(hub.clone(), true);
    let mut client = ReplicaSession::guest(guest.clone(), &HubMarks::default())
        .with_options(|options| options.main_limit = Some(LIMIT));
    let error = loop {
        add_dirs();
        client.next_frame().unwrap().into_iter().for_each(|frame| server.receive(&frame).unwrap());
        let Some(frame) = server.next_frame().unwrap() else { continue };
        if let Err(error) = client.receive(&frame) {
            break error;
        }
        assert!(client.progress().bytes_received < 4 * LIMIT, "nothing stopped the hub");
    };
    assert!(error.is_final(), "a retry would send the same");
    assert!(error.to_string().contains("limit of 1048576 bytes"), "{error}");
    let ReplicaError::MainTooLarge { limit, stored, received } = error else { panic!("{error}") };
    assert!(limit == LIMIT && stored <= limit && stored + received > limit);
    assert_eq!(guest.replication().main_bytes().unwrap(), stored, "nothing of the message is here");
    peers[1].remembered = client.remembered().unwrap().clone();
    peers[1].reopen();
    let dirs = |workspace: &Workspace| {
        let fs = workspace.fs();
        let found = block_on(fs.walk(&VPath::root(), &WalkOptions::default())).unwrap();
        found.into_iter().map(|item| item.path.to_string()).collect::<Vec<_>>()
    };
    assert!(dirs(&peers[1].workspace()).len() < dirs(&hub).len());
    assert!(exchange(&hub, &mut peers[1], usize::MAX));
    assert_eq!(dirs(&peers[1].workspace()), dirs(&hub));
    // The hub of a guest at its limit may send again what the guest has: the whole document, if it
    // is not the same on both sides.
    let one_more = VPath::parse("/one more").unwrap();
    block_on(hub.fs().mkdir(&one_more, &MkdirOptions::default())).unwrap();
    let stored = peers[1].workspace().replication().main_bytes().unwrap();
    let mut server = ReplicaSession::hub(hub.clone(), true);
    let mut client = ReplicaSession::guest(peers[1].workspace(), &HubMarks::default())
        .with_options(|options| options.main_limit = Some(stored + (512 << 10)));
    while !client.is_done() {
        client.next_frame().unwrap().into_iter().for_each(|frame| server.receive(&frame).unwrap());
        server.next_frame().unwrap().into_iter().for_each(|frame| client.receive(&frame).unwrap());
    }
    assert!(client.progress().bytes_received > 512 << 10);
}

/// A hub may have the same limit, so that it does not matter which side of two peers is the hub.
#[test]
fn a_guest_that_sends_rows_without_end_is_stopped_at_the_limit_of_a_hub() {
    const LIMIT: u64 = 64 << 10;
    let peers = peers();
    let hub = peers[0].workspace();
    let guest = peers[1].workspace();
    let name = "n".repeat(200);
    for number in 0..2 * LIMIT / 200 {
        let dir = VPath::parse(&format!("/{name}{number}")).unwrap();
        block_on(guest.fs().mkdir(&dir, &MkdirOptions::default())).unwrap();
    }
    for (limit, is_stopped) in [(Some(LIMIT), true), (None, false)] {
        let mut server = ReplicaSession::hub(hub.clone(), true);
        if let Some(limit) = limit {
            server = server.with_options(|options| options.main_limit = Some(limit));
        }
        let mut client = ReplicaSession::guest(guest.clone(), &HubMarks::default());
        let received = (0..1000).try_for_each(|_| {
            client.next_frame()?.into_iter().try_for_each(|frame| server.receive(&frame))?;
            server.next_frame()?.into_iter().try_for_each(|frame| client.receive(&frame))
        });
        let is_too_large = matches!(received, Err(ReplicaError::MainTooLarge { .. }));
        assert_eq!((is_too_large, received.is_ok()), (is_stopped, !is_stopped));
        assert_eq!(hub.replication().main_bytes().unwrap() <= LIMIT, is_stopped);
    }
}
