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
