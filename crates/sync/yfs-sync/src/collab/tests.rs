//! Frames as Hocuspocus 4 sends them, for a hub with one document.

use std::{cell::RefCell, rc::Rc};

use super::*;
use crate::{
    frame::SharedFrame,
    message::SyncMessage,
    presence::PresenceRoom,
    sync_document::{StateDiff, SyncDocument},
};

const NOW: Duration = Duration::from_secs(1);

/// The update that the document rejects.
const BAD: &[u8] = b"bad";

/// A document that records the updates that it received, and its presence room.
#[derive(Debug, Default)]
struct Shared {
    room: PresenceRoom,
    updates: Vec<Vec<u8>>,
    relayed: Vec<Vec<u8>>,
    n_seats: usize,
    most_seats: usize,
}

#[derive(Debug)]
struct TestDocument {
    shared: Rc<RefCell<Shared>>,
    connection: PresenceConnection,
}

/// An opener that opens the document `doc` for the tokens `open` and `look`.
#[derive(Debug, Default)]
struct Office(Rc<RefCell<Shared>>);

impl DocumentOpener for Office {
    type Document = TestDocument;

    fn open(&mut self, request: &OpenRequest<'_>) -> Result<(TestDocument, PeerAccess), String> {
        let access = match (request.name, request.token) {
            ("doc", "open") => PeerAccess::ReadWrite,
            ("doc", "look") => PeerAccess::ReadOnly,
            _ => return Err("no".to_owned()),
        };
        let mut shared = self.0.borrow_mut();
        shared.n_seats += 1;
        shared.most_seats = shared.most_seats.max(shared.n_seats);
        let connection = shared.room.enter();
        drop(shared);
        Ok((TestDocument { shared: self.0.clone(), connection }, access))
    }
}

impl SyncDocument for TestDocument {
    fn state_vector(&self) -> Result<Vec<u8>, SyncError> {
        Ok(vec![0])
    }

    fn diff(&self, _state_vector: &[u8]) -> Result<StateDiff, SyncError> {
        Ok(vec![0, 0].into())
    }

    fn receive(&mut self, update: &[u8]) -> Result<(), SyncError> {
        if update == BAD {
            return Err(Lib0Error::End.into());
        }
        self.shared.borrow_mut().updates.push(update.to_vec());
        Ok(())
    }

    fn contains_update(&self, update: &[u8]) -> Result<bool, SyncError> {
        Ok(update == [0, 0])
    }
}

impl DocumentWithPresence for TestDocument {
    fn receive_presence(
        &mut self,
        connection: PresenceConnection,
        update: &[u8],
        now: Duration,
    ) -> Result<Option<Vec<u8>>, SyncError> {
        Ok(self.shared.borrow_mut().room.receive(connection, update, now)?)
    }

    fn all_states(&self) -> Option<Vec<u8>> {
        self.shared.borrow().room.all()
    }
}

impl CollabDocument for TestDocument {
    fn connection(&self) -> PresenceConnection {
        self.connection
    }

    fn broadcast_presence(&self, update: &[u8]) {
        self.shared.borrow_mut().relayed.push(update.to_vec());
    }

    fn take_over_presence(&self, previous: &Self) {
        self.shared.borrow_mut().room.transfer_clients(previous.connection, self.connection);
    }
}

impl Drop for TestDocument {
    fn drop(&mut self) {
        let mut shared = self.shared.borrow_mut();
        shared.n_seats -= 1;
        let gone = shared.room.leave(self.connection, Duration::ZERO);
        shared.relayed.extend(gone);
    }
}

/// Returns a frame with a key and these bytes.
fn frame(key: &str, rest: &[u8]) -> Vec<u8> {
    [&prefix(key), rest].concat()
}

fn token(key: &str, token: &str) -> Vec<u8> {
    let mut frame = frame(key, &[2, 0]);
    write_string(&mut frame, token);
    write_string(&mut frame, "4.8.0");
    frame
}

fn update(key: &str, update: &[u8]) -> Vec<u8> {
    SyncMessage::Update(update).encode_after(&prefix(key))
}

/// Processes a frame, and returns the responses.
fn tell(
    collab: &mut CollabSession<TestDocument>,
    office: &mut Office,
    frame: &[u8],
) -> Vec<Vec<u8>> {
    collab.receive(office, frame, NOW).unwrap().into_iter().map(SharedFrame::into_bytes).collect()
}

/// Returns a connection on which `key` was opened with a token.
fn opened(key: &str, with: &str) -> (Office, CollabSession<TestDocument>) {
    let (mut office, mut collab) = (Office::default(), CollabSession::default());
    tell(&mut collab, &mut office, &token(key, with));
    assert_eq!(collab.len(), 1);
    (office, collab)
}

#[test]
fn a_client_is_let_in_and_synced() {
    let (mut office, mut collab) = (Office::default(), CollabSession::default());
    let scope = [&[2, 2, 10][..], b"read-write"].concat();
    let answer = tell(&mut collab, &mut office, &token("doc", "open"));
    // The hub asks for the client's updates before it sends those of others.
    assert_eq!(answer, [frame("doc", &scope), frame("doc", &[0, 0, 1, 0])]);
    assert!(collab.requested_document(&frame("doc", &[0, 0, 1, 0])).is_some());
    assert!(collab.requested_document(&frame("other", &[0, 0, 1, 0])).is_none());
    assert!(collab.requested_document(&frame("doc", &[0, 1, 2, 0, 0])).is_none());
    let answer = tell(&mut collab, &mut office, &frame("doc", &[0, 0, 1, 0]));
    assert_eq!(answer, [frame("doc", &[0, 1, 2, 0, 0])]);
    // A client that asks again is asked again, before it gets anything; another hub is not.
    let answer = tell(&mut collab, &mut office, &frame("doc", &[0, 0, 1, 0]));
    assert_eq!(answer, [frame("doc", &[0, 0, 1, 0]), frame("doc", &[0, 1, 2, 0, 0])]);
    let answer = tell(&mut collab, &mut office, &frame("doc", &[4, 0, 1, 0]));
    assert_eq!(answer, [frame("doc", &[0, 1, 2, 0, 0])]);
    // The hub confirms the client's first state and each change.
    let answer = tell(&mut collab, &mut office, &frame("doc", &[0, 1, 2, 0, 0]));
    assert_eq!(answer, [frame("doc", &[8, 1])]);
    let answer = tell(&mut collab, &mut office, &update("doc", b"new"));
    assert_eq!(answer, [frame("doc", &[8, 1])]);
    assert_eq!(office.0.borrow().updates, [&[0, 0][..], b"new"]);
    assert_eq!(tell(&mut collab, &mut office, &PING), [PONG]);
}

#[test]
fn who_is_not_let_in_is_not_heard() {
    let (mut office, mut collab) = (Office::default(), CollabSession::<TestDocument>::default());
    assert!(tell(&mut collab, &mut office, &update("doc", b"early")).is_empty());
    let answer = tell(&mut collab, &mut office, &token("doc", "wrong"));
    assert_eq!(answer, [frame("doc", &[2, 1, 2, b'n', b'o'])]);
    assert!(tell(&mut collab, &mut office, &update("doc", b"still")).is_empty());
    assert!(office.0.borrow().updates.is_empty());
    // A client that loses access to an open document is rejected as well.
    let (mut office, mut collab) = opened("doc", "open");
    tell(&mut collab, &mut office, &token("doc", "wrong"));
    assert!(collab.is_empty());
}

#[test]
fn who_may_only_look_changes_nothing() {
    let (mut office, mut collab) = opened("doc", "look");
    let answer = tell(&mut collab, &mut office, &update("doc", b"new"));
    assert_eq!(answer, [frame("doc", &[8, 0])]);
    // An update without new content is accepted.
    let answer = tell(&mut collab, &mut office, &frame("doc", &[0, 1, 2, 0, 0]));
    assert_eq!(answer, [frame("doc", &[8, 1])]);
    assert!(office.0.borrow().updates.is_empty());
}

#[test]
fn sessions_of_one_document_are_apart() {
    let (mut office, mut collab) = opened("doc\0one", "open");
    let answer = tell(&mut collab, &mut office, &token("doc\0two", "open"));
    assert!(answer[0].starts_with(&prefix("doc\0two")));
    assert_eq!(collab.len(), 2);
    let bad = tell(&mut collab, &mut office, &update("doc\0one", BAD));
    let reason = close("doc\0one", "malformed message");
    assert_eq!(bad, [frame("doc\0one", &[8, 0]), reason]);
    assert_eq!(collab.len(), 1);
    let answer = tell(&mut collab, &mut office, &update("doc\0two", b"new"));
    assert_eq!(answer, [frame("doc\0two", &[8, 1])]);
    tell(&mut collab, &mut office, &frame("doc\0two", &[7]));
    assert!(collab.is_empty());
}

#[test]
fn presence_is_relayed_and_told_to_who_comes() {
    let (mut office, mut collab) = opened("doc\0one", "open");
    let presence = [1, 6, 1, 7, 1, 2, b'{', b'}'];
    let answer = tell(&mut collab, &mut office, &frame("doc\0one", &presence));
    assert!(answer.is_empty());
    // The first state of a client is published at the next clock.
    let shown = [1, 6, 1, 7, 2, 2, b'{', b'}'];
    assert_eq!(office.0.borrow().relayed, [&shown[2..]]);
    let answer = tell(&mut collab, &mut office, &token("doc\0two", "look"));
    assert_eq!(answer[2], frame("doc\0two", &shown));
}

/// A provider that refreshes its token does not sync again, so it must still receive the changes of
/// other peers meanwhile.
#[test]
fn a_document_is_not_left_while_its_token_is_refreshed() {
    let (mut office, mut collab) = opened("doc", "open");
    let presence = [1, 6, 1, 7, 1, 2, b'{', b'}'];
    tell(&mut collab, &mut office, &frame("doc", &presence));
    let answer = tell(&mut collab, &mut office, &token("doc", "look"));
    let shown = [1, 6, 1, 7, 2, 2, b'{', b'}'];
    assert_eq!(answer[2], frame("doc", &shown));
    let shared = office.0.borrow();
    assert_eq!((shared.n_seats, shared.most_seats), (1, 2));
    assert_eq!(shared.relayed, [&shown[2..]], "its client is still present");
}

#[test]
fn what_is_no_frame_ends_the_connection() {
    let (mut office, mut collab) = opened("doc", "open");
    let long = "x".repeat(MAX_KEY_LEN + 1);
    let frames = [
        vec![],
        vec![9, 9],
        vec![255; 20],
        frame("doc", &[]),
        frame("doc", &[99]),
        token(&long, ""),
    ];
    for bytes in frames {
        assert!(collab.receive(&mut office, &bytes, NOW).is_err(), "{bytes:?}");
    }
    // A client may not send the messages of a server.
    assert!(collab.receive(&mut office, &frame("doc", &[2, 2, 0]), NOW).is_err());
    assert!(collab.receive(&mut office, &frame("doc", &[6, 0]), NOW).is_err());
}

#[test]
fn one_key_is_expelled_and_the_others_stay() {
    let (mut office, mut collab) = opened("doc", "open");
    tell(&mut collab, &mut office, &token("doc\0two", "open"));
    let closed = collab.close_documents(|key| (key == "doc").then(|| "moved away".to_owned()));
    // The denial comes first: a provider treats a close alone as a normal end.
    assert_eq!(closed, [denied("doc", "moved away"), close("doc", "moved away")]);
    assert!(!collab.is_open("doc") && collab.is_open("doc\0two"));
    // Later updates for the closed key are dropped, those for the other key are applied.
    tell(&mut collab, &mut office, &update("doc", b"lost"));
    tell(&mut collab, &mut office, &update("doc\0two", b"kept"));
    assert_eq!(office.0.borrow().updates, [b"kept"]);
}
