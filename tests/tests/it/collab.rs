//! Stock Hocuspocus clients at `/collab`: many documents over one socket, beside y-websocket
//! clients of the same documents.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;

use serde_json::{Value, json};
use yfs_sync::{collab, message::SyncMessage};
use yfs_tests::{
    command::{Server, ok},
    editor::Editor,
    socket::Socket,
};
use yrs::{Doc, GetString, ReadTxn, Text, Transact, Update, updates::decoder::Decode};

#[test]
fn one_socket_carries_many_documents() {
    let dir = tempfile::tempdir().unwrap();
    for name in ["a.txt", "b.txt", "c.txt"] {
        fs::write(dir.path().join(name), format!("this is {name}\n")).unwrap();
    }
    let server = Server::start(dir.path(), 0);
    let [a, b, c] = ["/a.txt", "/b.txt", "/c.txt"].map(|path| guid_of(&server, path));
    let mut ana = Editor::connect(server.port(), "ana");
    for (at, room, shared) in [("a", &a, false), ("b1", &b, true), ("b2", &b, true)] {
        ana.call(&json!({ "do": "open", "as": at, "room": room, "shared": shared }));
    }
    ana.call(&json!({ "do": "open", "as": "none", "room": "no-such-file" }));
    for at in ["a", "b1", "b2"] {
        // The server asked what we have, and confirmed that it has it.
        wait(&mut ana, at, "saved");
    }
    wait(&mut ana, "none", "denied");
    let state = ana.call(&json!({ "do": "state" }));
    assert_eq!(state["documents"]["none"]["denied"], "no file no-such-file");
    assert_eq!(state["documents"]["a"]["scope"], "read-write");
    assert_eq!(state["documents"]["b2"]["text"], "this is b.txt\n");

    // Across both protocols, both ways, and seen by each other.
    let mut ben = Editor::open(server.port(), &a, "ben");
    ben.insert(-1, "From Ben.\n");
    ana.call(&json!({ "do": "wait", "as": "a", "text": ["From Ben."] }));
    ana.call(&json!({ "do": "insert", "as": "a", "at": 0, "text": "From Ana 😀.\n" }));
    ben.wait_for_text(&["From Ana 😀."]);
    ana.call(&json!({ "do": "wait", "as": "a", "peers": 1 }));
    assert_eq!(ben.call(&json!({ "do": "state" }))["peers"], 1);
    // What is confirmed is in the log, for every process.
    wait(&mut ana, "a", "saved");
    assert_eq!(ok(dir.path(), &["cat", "/a.txt"]), "From Ana 😀.\nthis is a.txt\nFrom Ben.\n");
    // Two sessions of one document on one socket are two peers.
    ana.call(&json!({ "do": "insert", "as": "b1", "at": 0, "text": "once, " }));
    ana.call(&json!({ "do": "wait", "as": "b2", "text": ["once, this is b"] }));
    ana.call(&json!({ "do": "wait", "as": "b2", "peers": 1 }));

    // What one document refuses ends that document's part, and no other's.
    ana.call(&json!({ "do": "open", "as": "c", "room": c }));
    wait(&mut ana, "c", "saved");
    ana.call(&json!({ "do": "garble", "as": "c" }));
    wait(&mut ana, "c", "closed");
    let state = ana.call(&json!({ "do": "insert", "as": "b1", "at": 0, "text": "Still here: " }));
    assert!(state["documents"]["c"]["closed"].as_str().unwrap().contains("malformed"), "{state}");
    wait(&mut ana, "b1", "saved");
    assert_eq!(ok(dir.path(), &["cat", "/c.txt"]), "this is c.txt\n");

    // Who detaches is gone for the others, at once.
    ana.call(&json!({ "do": "detach", "as": "b2" }));
    ana.call(&json!({ "do": "wait", "as": "b1", "peers": 0 }));

    // Offline, both sides write; then the server ends without a word, and comes back.
    ana.call(&json!({ "do": "disconnect" }));
    ana.call(&json!({ "do": "insert", "as": "a", "at": -1, "text": "Offline.\n" }));
    let port = server.port();
    server.kill();
    ok(dir.path(), &["append", "/a.txt", "--content", "Meanwhile.\n"]);
    let _server = Server::start(dir.path(), port);
    let state = ana.call(&json!({ "do": "connect" }));
    assert_eq!(state["n_connects"], 1, "one socket for all: {state}");
    let both = ["Offline.\n", "Meanwhile.\n", "From Ben.\n"];
    ana.call(&json!({ "do": "wait", "as": "a", "text": both }));
    wait(&mut ana, "a", "saved");
    ben.wait_for_text(&both);
    let text = ok(dir.path(), &["cat", "/a.txt"]);
    assert_eq!(ben.text(), text);
    assert_eq!(text.matches("Offline.").count(), 1);
}

/// A client that returns must say what it typed offline before it merges the work of others:
/// otherwise it has deleted its own words in the blocks that the others deleted, and says so. Two
/// clients that return at the same moment lost words that way.
#[test]
fn a_client_is_asked_for_its_work_before_it_gets_that_of_others() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("a.txt"), "").unwrap();
    let server = Server::start(dir.path(), 0);
    let guid = guid_of(&server, "/a.txt");
    // None of them asks yet.
    let path = format!("/sync/{guid}");
    let mut waiting: Vec<Socket> =
        (0..10).map(|_| Socket::open(server.port(), &path, &[])).collect();
    let mut providers: Vec<Socket> = (0..10).map(|_| open(&server, &guid)).collect();
    let author = Doc::with_client_id(7);
    let text = author.get_or_insert_text("text");
    let update = {
        let mut txn = author.transact_mut();
        text.push(&mut txn, "meanwhile");
        txn.encode_update_v1()
    };
    send(&mut open(&server, &guid), &guid, &update);
    let key = collab::prefix(&guid);
    for (sockets, key) in [(&mut waiting, &[][..]), (&mut providers, &key[..])] {
        for socket in sockets {
            socket.send(&SyncMessage::Step1(&[0]).encode_after(key));
            let first = socket.wait_for(|message| {
                let message = message.strip_prefix(key).unwrap();
                matches!(
                    SyncMessage::decode(message),
                    Ok(SyncMessage::Step1(_) | SyncMessage::Step2(_) | SyncMessage::Update(_))
                )
            });
            assert!(first[key.len()..].starts_with(&[0, 0]), "{first:?}");
        }
    }
}

/// A provider that reconnects sends what it types at once before what it had typed offline: for a
/// moment the server holds an update that waits for others. A client that joins at that moment must
/// receive it as well.
#[test]
fn a_client_that_joins_while_an_update_is_parked_receives_it_too() {
    // The state of a large document is computed once for several that join.
    for len in [1, 40_000] {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("a.txt"), "").unwrap();
        let server = Server::start(dir.path(), 0);
        let guid = guid_of(&server, "/a.txt");
        let author = Doc::with_client_id(7);
        let text = author.get_or_insert_text("text");
        let typed = |part: &str| {
            let mut txn = author.transact_mut();
            text.push(&mut txn, part);
            txn.encode_update_v1()
        };
        let updates =
            [typed(&"x".repeat(len)), typed("second "), typed("third "), typed("fourth ")];
        let mut writer = open(&server, &guid);
        for at in [0, 2] {
            send(&mut writer, &guid, &updates[at]);
        }
        let mut joiners = [(); 2].map(|()| (open(&server, &guid), Doc::new()));
        for (joiner, doc) in &mut joiners {
            joiner.send(&SyncMessage::Step1(&[0]).encode_after(&collab::prefix(&guid)));
            let is_step_2 = |message: &SyncMessage<'_>| matches!(message, SyncMessage::Step2(_));
            read_until(joiner, &guid, doc, |message| is_step_2(message));
        }
        for at in [1, 3] {
            send(&mut writer, &guid, &updates[at]);
        }
        for (joiner, doc) in &mut joiners {
            read_until(joiner, &guid, doc, |message| *message == SyncMessage::Update(&updates[3]));
            let txn = doc.transact();
            assert!(!txn.has_missing_updates(), "updates are missing for ever");
            let text = txn.get_text("text").unwrap().get_string(&txn);
            assert_eq!(text, format!("{}second third fourth ", "x".repeat(len)));
        }
    }
}

/// Opens a document at `/collab`.
fn open(server: &Server, guid: &str) -> Socket {
    let mut socket = Socket::open(server.port(), "/collab", &[]);
    let prefix = collab::prefix(guid);
    socket.send(&[&prefix[..], &[2, 0, 1, b'-', 5], b"4.8.0"].concat());
    socket.wait_for(|message| message.starts_with(&[&prefix[..], &[2, 2]].concat()));
    socket
}

/// Sends an update, and waits until the server has confirmed it.
fn send(socket: &mut Socket, guid: &str, update: &[u8]) {
    let prefix = collab::prefix(guid);
    socket.send(&SyncMessage::Update(update).encode_after(&prefix));
    socket.wait_for(|message| message == [&prefix[..], &[8, 1]].concat());
}

/// Applies what a client is sent to its document, as far as a message that `is_it`.
fn read_until(
    socket: &mut Socket,
    guid: &str,
    doc: &Doc,
    is_it: impl Fn(&SyncMessage<'_>) -> bool,
) {
    let prefix = collab::prefix(guid);
    socket.wait_for(|frame| {
        let Ok(message) = SyncMessage::decode(&frame[prefix.len()..]) else { return false };
        if let SyncMessage::Step2(update) | SyncMessage::Update(update) = message {
            doc.transact_mut().apply_update(Update::decode_v1(update).unwrap()).unwrap();
        }
        is_it(&message)
    });
}

fn wait(editor: &mut Editor, at: &str, what: &str) {
    editor.call(&json!({ "do": "wait", "as": at, "for": what }));
}

fn guid_of(server: &Server, path: &str) -> String {
    let (status, body) = server.get("/api/tree");
    assert_eq!(status, 200, "{body}");
    let tree: Value = serde_json::from_str(&body).unwrap();
    let entry =
        tree["entries"].as_array().unwrap().iter().find(|entry| entry["path"] == path).unwrap();
    entry["guid"].as_str().unwrap().to_owned()
}
