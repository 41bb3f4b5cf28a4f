//! Many threads at one document: each gets all updates, in one order, whenever it joins.

use std::{
    sync::{
        Barrier,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use yfs::{Workspace, WorkspaceOptions};
use yfs_engine::{
    gate::{DocRole, GateLimits, GatedDoc, UpdateSource},
    id::ClientId,
    path::VPath,
};
use yfs_store::MemoryStore;
use yfs_sync::presence::{PresenceEntry, decode, encode};
use yfs_vfs::{FileSystem, WriteOptions};

use super::*;

const N_WRITERS: usize = 4;
const N_UPDATES: usize = 40;
const N_JOINERS: usize = 6;

fn workspace() -> Workspace {
    Workspace::create(Arc::new(MemoryStore::new()), WorkspaceOptions::default())
        .expect("an empty store")
}

async fn guid_of(workspace: &Workspace, path: &str, text: &str) -> String {
    let path = VPath::parse(path).unwrap();
    let options = WriteOptions::default();
    workspace.fs().write(&path, text.to_owned().into(), &options).await.unwrap();
    workspace.fs().stat(&path).await.unwrap().id.to_string()
}

fn rooms() -> Arc<DocumentRooms> {
    Arc::new(DocumentRooms::new(Arc::default()))
}

fn editor(client: u64) -> GatedDoc {
    let (guid, client) = (FileId::parse("document").unwrap(), ClientId::from_random(client));
    GatedDoc::new(&guid, DocRole::Content, client, GateLimits::default())
}

fn text_of(doc: &GatedDoc) -> String {
    use yrs::{GetString, ReadTxn};
    doc.read(|txn| txn.get_text("text").map(|text| text.get_string(txn))).unwrap_or_default()
}

fn update_in(frame: &[u8]) -> Option<&[u8]> {
    match SyncMessage::decode(frame) {
        Ok(SyncMessage::Update(update)) => Some(update),
        _ => None,
    }
}

/// Reads frames until the text has a number of characters, and returns the document.
async fn read_on(mut doc: GatedDoc, outbox: &ConnectionOutbox, len: usize) -> GatedDoc {
    while text_of(&doc).len() < len {
        for frame in outbox.take().await.unwrap() {
            let frame = frame.into_frame();
            doc.receive(update_in(&frame).unwrap(), UpdateSource::Wire).unwrap();
        }
    }
    doc
}

/// A client that joins and then requests the state gets everything: in the state, or after it.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn no_update_is_missed_between_joining_and_the_first_state() {
    let workspace = workspace();
    let guid = guid_of(&workspace, "/a.txt", "").await;
    // Long enough for its states to be cached.
    let long = "x".repeat(20 << 10);
    workspace.documents().port(&guid).unwrap();
    let (rooms, barrier) = (rooms(), Arc::new(Barrier::new(N_WRITERS + N_JOINERS)));
    let n_written = Arc::new(AtomicUsize::new(0));
    let mut first = editor(1);
    let (_, update) = first.edit(|txn| {
        use yrs::{Text, WriteTxn};
        txn.get_or_insert_text("text").insert(txn, 0, &long);
    });
    workspace.documents().port(&guid).unwrap().receive(&update.unwrap()).unwrap();
    let writers = (0..N_WRITERS).map(|number| {
        let (port, barrier) = (workspace.documents().port(&guid).unwrap(), barrier.clone());
        let n_written = n_written.clone();
        thread::spawn(move || {
            let mut doc = editor(100 + number as u64);
            barrier.wait();
            for _ in 0..N_UPDATES {
                let (_, update) = doc.edit(|txn| {
                    use yrs::{Text, WriteTxn};
                    txn.get_or_insert_text("text").push(txn, "y");
                });
                port.receive(&update.unwrap()).unwrap();
                n_written.fetch_add(1, Ordering::Relaxed);
            }
        })
    });
    let writers: Vec<_> = writers.collect();
    let len = long.len() + N_WRITERS * N_UPDATES;
    let joiners = (0..N_JOINERS).map(|number| {
        let (workspace, rooms) = (workspace.clone(), rooms.clone());
        let (barrier, guid, n_written) = (barrier.clone(), guid.clone(), n_written.clone());
        tokio::spawn(async move {
            block_in_place(|| barrier.wait());
            // Each client joins at another moment of the writing.
            block_in_place(|| {
                while n_written.load(Ordering::Relaxed) < number * N_UPDATES / 2 {
                    thread::yield_now();
                }
            });
            let outbox = Arc::<ConnectionOutbox>::default();
            let subscription = rooms.join(workspace.documents().port(&guid).unwrap(), &outbox, &[]);
            let diff = subscription.diff(&[0]).unwrap();
            let mut doc = editor(200 + number as u64);
            doc.receive(&diff.update, UpdateSource::Wire).unwrap();
            for update in &diff.later {
                doc.receive(update, UpdateSource::Wire).unwrap();
            }
            text_of(&read_on(doc, &outbox, len).await)
        })
    });
    let texts = futures::future::join_all(joiners.collect::<Vec<_>>()).await;
    writers.into_iter().for_each(|writer| writer.join().unwrap());
    let expected = workspace.fs().read(&VPath::parse("/a.txt").unwrap()).await.unwrap();
    for text in texts {
        assert!(text.unwrap().as_bytes() == &expected.data[..]);
    }
    assert!(rooms.rooms.is_empty());
}

/// All members get the same updates in the same order, which is that of the log.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn all_members_get_the_same_updates_in_the_same_order() {
    let workspace = workspace();
    let guid = guid_of(&workspace, "/a.txt", "").await;
    let rooms = rooms();
    let enter = |prefix: &[u8]| {
        let outbox = Arc::<ConnectionOutbox>::default();
        (rooms.join(workspace.documents().port(&guid).unwrap(), &outbox, prefix), outbox)
    };
    let members = [enter(&[]), enter(&[]), enter(b"key")];
    let port = workspace.documents().port(&guid).unwrap();
    let writers = (0..N_WRITERS).map(|number| {
        let port = port.clone();
        thread::spawn(move || {
            let mut doc = editor(100 + number as u64);
            for _ in 0..N_UPDATES {
                let (_, update) = doc.edit(|txn| {
                    use yrs::{Text, WriteTxn};
                    txn.get_or_insert_text("text").push(txn, "y");
                });
                port.receive(&update.unwrap()).unwrap();
            }
        })
    });
    writers.collect::<Vec<_>>().into_iter().for_each(|writer| writer.join().unwrap());
    let mut sent = Vec::new();
    for (_, outbox) in &members {
        let mut frames = Vec::new();
        while frames.len() < N_WRITERS * N_UPDATES {
            frames.extend(outbox.take().await.unwrap().into_iter().map(OutgoingFrame::into_frame));
        }
        sent.push(frames);
    }
    let tail = workspace.store().load(&yfs_store::DocName::from(&FileId::parse(&guid).unwrap()));
    let logged: Vec<Vec<u8>> =
        tail.unwrap().updates.into_iter().map(|update| update.data).collect();
    let updates: Vec<&[u8]> = sent[0].iter().map(|frame| update_in(frame).unwrap()).collect();
    assert!(logged.ends_with(&updates.iter().map(|update| update.to_vec()).collect::<Vec<_>>()));
    assert!(sent[1] == sent[0]);
    let keyed = sent[2].iter().map(|frame| frame.strip_prefix(b"key").unwrap());
    assert!(keyed.eq(sent[0].iter().map(|frame| &frame[..])));
}

/// A room ends with its last subscription, and presence removes the clients of each that ends.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_leaving_client_is_reported_to_the_remaining_members() {
    let workspace = workspace();
    let guid = guid_of(&workspace, "/a.txt", "text").await;
    let rooms = rooms();
    let (stays, goes) = (Arc::<ConnectionOutbox>::default(), Arc::<ConnectionOutbox>::default());
    let port = || workspace.documents().port(&guid).unwrap();
    let one = rooms.join(port(), &stays, &[]);
    let mut two = rooms.join(port(), &goes, &[]);
    let said = encode(&[PresenceEntry { id: 7, clock: 1, state: "{}" }]);
    let connection = collab::CollabDocument::connection(&two);
    let update = two.receive_presence(connection, &said, rooms.now()).unwrap().unwrap();
    collab::CollabDocument::broadcast_presence(&two, &update);
    let states = async |outbox: &ConnectionOutbox| {
        let frames = outbox.take().await.unwrap();
        let frame = frames.into_iter().next_back().unwrap().into_frame();
        let Ok(SyncMessage::Awareness(update)) = SyncMessage::decode(&frame) else {
            panic!("{frame:?}")
        };
        decode(update)
            .unwrap()
            .iter()
            .map(|entry| (entry.id, entry.state.to_owned()))
            .collect::<Vec<_>>()
    };
    assert_eq!(states(&stays).await, [(7, "{}".to_owned())]);
    drop(two);
    assert_eq!(states(&stays).await, [(7, "null".to_owned())]);
    assert_eq!(rooms.rooms.len(), 1);
    drop(one);
    assert!(rooms.rooms.is_empty());
}

/// A room with one member, whose editor has the client id 7, and the ids that the member sees.
struct ObservedRoom {
    rooms: Arc<DocumentRooms>,
    guid: FileId,
    member: DocSubscription,
    outbox: Arc<ConnectionOutbox>,
    _workspace: Workspace,
}

impl ObservedRoom {
    async fn open() -> Self {
        let workspace = workspace();
        let guid = guid_of(&workspace, "/a.txt", "text").await;
        let (rooms, outbox) = (rooms(), Arc::<ConnectionOutbox>::default());
        let member = rooms.join(workspace.documents().port(&guid).unwrap(), &outbox, &[]);
        let guid = FileId::parse(&guid).unwrap();
        Self { rooms, guid, member, outbox, _workspace: workspace }
    }

    /// The editor of this server says so.
    fn say(&mut self, id: u64, clock: u64, state: &str) {
        let update = self.receive_own(id, clock, state).unwrap();
        collab::CollabDocument::broadcast_presence(&self.member, &update);
    }

    /// The editor of this server repeats what it was sent.
    fn repeat(&mut self, id: u64, clock: u64, state: &str) {
        assert_eq!(self.receive_own(id, clock, state), None);
    }

    fn receive_own(&mut self, id: u64, clock: u64, state: &str) -> Option<Vec<u8>> {
        let said = encode(&[PresenceEntry { id, clock, state }]);
        let connection = collab::CollabDocument::connection(&self.member);
        let now = self.rooms.now();
        self.member.receive_presence(connection, &said, now).unwrap()
    }

    /// The editors of a peer arrive.
    fn receive(&self, peer: u8, editors: &[(u64, u64, &str)]) {
        let entries = editors.iter().map(|(id, clock, state)| PresenceEntry {
            id: *id,
            clock: *clock,
            state,
        });
        let states = encode(&entries.collect::<Vec<_>>());
        let peer = yfs_peer::PeerId::from_bytes([peer; 32]);
        let doc = self.guid.clone();
        self.rooms.receive_remote(&yfs_peer::RemotePresence { peer, doc, states });
    }

    /// Returns the next broadcast.
    async fn broadcast(&self) -> Vec<(u64, String)> {
        let frames = self.outbox.take().await.unwrap();
        let frame = frames.into_iter().next_back().unwrap().into_frame();
        let Ok(SyncMessage::Awareness(update)) = SyncMessage::decode(&frame) else {
            panic!("{frame:?}")
        };
        listed(update)
    }

    /// Returns what a client that asks is sent.
    fn all(&self) -> Vec<(u64, String)> {
        self.member.all_states().map_or_else(Vec::new, |update| listed(&update))
    }
}

fn listed(update: &[u8]) -> Vec<(u64, String)> {
    decode(update).unwrap().iter().map(|entry| (entry.id, entry.state.to_owned())).collect()
}

fn seen(editors: &[(u64, &str)]) -> Vec<(u64, String)> {
    editors.iter().map(|(id, state)| (*id, (*state).to_owned())).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn editors_of_peers_are_seen_until_their_peer_or_its_process_is_gone() {
    let mut room = ObservedRoom::open().await;
    room.receive(1, &[(8, 1, "{}")]);
    assert_eq!(room.broadcast().await, seen(&[(8, "{}")]));
    room.say(7, 1, "{}");
    assert_eq!(room.broadcast().await, seen(&[(7, "{}")]));
    assert_eq!(room.all(), seen(&[(7, "{}"), (8, "{}")]));
    let others: Vec<_> = room.rooms.remote_editors().into_values().collect();
    assert_eq!(others, [["{}".to_owned()]]);
    // Nothing is sent again that has not changed.
    room.receive(1, &[(8, 1, "{}")]);
    room.receive(1, &[]);
    assert_eq!(room.broadcast().await, seen(&[(8, "null")]));
    room.receive(1, &[(9, 1, "{}")]);
    assert_eq!(room.broadcast().await, seen(&[(9, "{}")]));
    room.rooms.set_shared(false);
    assert_eq!(room.broadcast().await, seen(&[(9, "null")]));
    assert!(room.rooms.remote_editors().is_empty());
    room.receive(1, &[(9, 3, "{}")]);
    assert_eq!(room.broadcast().await, seen(&[(9, "{}")]));
    room.rooms.expire_remote(room.rooms.now() + yfs_sync::presence::EXPIRY);
    assert_eq!(room.broadcast().await, seen(&[(9, "null")]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_peer_cannot_change_or_imitate_an_editor_of_this_server() {
    let mut room = ObservedRoom::open().await;
    room.say(7, 1, "{}");
    assert_eq!(room.broadcast().await, seen(&[(7, "{}")]));
    // While it is there: neither by the same client id nor by its end.
    room.receive(1, &[(7, 9, "{\"evil\":1}"), (8, 1, "{}")]);
    assert_eq!(room.broadcast().await, seen(&[(8, "{}")]));
    assert_eq!(room.all(), seen(&[(7, "{}"), (8, "{}")]));
    room.receive(1, &[(8, 1, "{}")]);
    room.receive(1, &[(8, 2, "{\"n\":2}")]);
    assert_eq!(room.broadcast().await, seen(&[(8, "{\"n\":2}")]));
    // A moment after it has left, when it may come back.
    room.say(7, 2, "null");
    assert_eq!(room.broadcast().await, seen(&[(7, "null")]));
    room.receive(1, &[(7, 9, "{\"evil\":1}"), (8, 3, "{}")]);
    assert_eq!(room.broadcast().await, seen(&[(8, "{}")]));
    assert_eq!(room.all(), seen(&[(8, "{}")]));
    room.say(7, 3, "{}");
    assert_eq!(room.broadcast().await, seen(&[(7, "{}")]));
    room.say(7, 4, "null");
    assert_eq!(room.broadcast().await, seen(&[(7, "null")]));
    // An editor that comes takes its client id from a peer.
    room.say(8, 4, "{\"own\":1}");
    assert_eq!(room.broadcast().await, seen(&[(8, "{\"own\":1}")]));
    assert_eq!(room.all(), seen(&[(8, "{\"own\":1}")]));
    room.receive(1, &[]);
    room.receive(1, &[(6, 1, "{}")]);
    assert_eq!(room.broadcast().await, seen(&[(6, "{}")]));
}

/// Clients of y-websocket send all changes back, also those of others.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_an_editor_repeats_of_another_peer_is_not_its_own() {
    let mut room = ObservedRoom::open().await;
    room.receive(1, &[(8, 3, "{}")]);
    for clock in [2, 3] {
        room.repeat(8, clock, "{}");
        assert!(room.rooms.editors_of(&room.guid).is_empty());
    }
    // What was under way when the other left.
    room.receive(1, &[]);
    room.repeat(8, 3, "{}");
    assert!(room.rooms.editors_of(&room.guid).is_empty());
    // The other has moved to this server.
    room.say(8, 4, "{}");
    assert_eq!(room.rooms.editors_of(&room.guid), [(8, 5, "{}".to_owned())]);
    room.receive(1, &[(9, 3, "{}")]);
    room.say(9, 4, "{}");
    assert_eq!(room.rooms.editors_of(&room.guid).len(), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_the_editors_of_this_server_are_shared() {
    let mut room = ObservedRoom::open().await;
    room.say(7, 1, "{}");
    room.rooms.set_shared(true);
    assert_eq!(room.rooms.changed_documents().await, [room.guid.clone()].into());
    assert_eq!(room.rooms.editors_of(&room.guid), [(7, 2, "{}".to_owned())]);
    room.receive(1, &[(8, 1, "{}")]);
    assert_eq!(room.rooms.editors_of(&room.guid).len(), 1);
    room.say(7, 3, "{}");
    assert_eq!(room.rooms.changed_documents().await, [room.guid.clone()].into());
    // The last member goes, and its room with it.
    let ObservedRoom { rooms, guid, member, .. } = room;
    drop(member);
    assert_eq!(rooms.changed_documents().await, [guid.clone()].into());
    assert!(rooms.editors_of(&guid).is_empty());
}
