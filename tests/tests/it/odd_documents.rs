//! Documents that stock Yjs can make and no editor should (`tests/node/odd-documents.mjs`): each is
//! taken or refused as a whole. Afterwards every file can be read, written and listed, others are
//! not disturbed, and a restart and a compaction change nothing.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{
    fs,
    io::{BufRead, BufReader},
    path::Path,
};

use serde_json::{Value, json};
use yfs_sync::message::SyncMessage;
use yfs_tests::{
    command::{Server, ok, run},
    http::{Answer, Client},
    node::{Yjs, from_hex, spawn},
    socket::{Received, Socket},
};

/// Memory that no document may make a server take, in bytes.
const MAX_MEMORY: u64 = 1_000 << 20;

/// A document, and the file that it is sent to.
struct OddDocument {
    name: String,
    path: String,
    update: Vec<u8>,
}

fn odd_documents() -> Vec<OddDocument> {
    let mut script = spawn("odd-documents.mjs", &[]);
    drop(script.stdin.take());
    let lines = BufReader::new(script.stdout.take().unwrap()).lines().map(|line| line.unwrap());
    let documents = lines
        .enumerate()
        .map(|(number, line)| {
            let case: Value = serde_json::from_str(&line).unwrap();
            let field = |name: &str| case[name].as_str().unwrap();
            OddDocument {
                name: field("name").to_owned(),
                path: format!("/odd{number}.{}", field("extension")),
                update: from_hex(field("update")),
            }
        })
        .collect();
    assert!(script.wait().unwrap().success());
    documents
}

fn id_of(client: &Client, path: &str) -> String {
    client.get(&format!("/api/stat{path}")).json()["id"].as_str().unwrap().to_owned()
}

/// Sends an update as a stock client does, and tells whether it was taken.
fn send(port: u16, guid: &str, update: &[u8]) -> bool {
    let mut socket = Socket::open(port, &format!("/sync/{guid}"), &[]);
    socket.send(&SyncMessage::Step1(&[0]).encode());
    socket.wait_for(|message| message.starts_with(&[0, 1]));
    socket.send(&SyncMessage::Update(update).encode());
    socket.send(&SyncMessage::Step1(&[0]).encode());
    loop {
        match socket.receive() {
            Received::Message(answer) if answer.starts_with(&[0, 1]) => return true,
            Received::Message(_) => (),
            Received::Closed(4400..4500, _) => return false,
            end => panic!("{end:?}"),
        }
    }
}

/// Asks the server for a whole document, as a stock client does.
fn state(port: u16, guid: &str) -> Vec<u8> {
    let mut socket = Socket::open(port, &format!("/sync/{guid}"), &[]);
    socket.send(&SyncMessage::Step1(&[0]).encode());
    let answer = socket.wait_for(|message| message.starts_with(&[0, 1]));
    match SyncMessage::decode(&answer) {
        Ok(SyncMessage::Step2(update)) => update.to_vec(),
        other => panic!("{other:?}"),
    }
}

/// Reads the file, adds a line to what was read, and reads it again.
fn read_and_write(client: &Client, document: &OddDocument) -> Answer {
    let url = format!("/api/files{}", document.path);
    let was = client.get(&url);
    assert_eq!(was.status, 200, "{}: {:?}", document.name, was.text());
    let versions = client.get(&format!("/api/versions{}", document.path));
    assert_eq!(versions.status, 200, "{}: {}", document.name, versions.text());
    let mut text = was.body.clone();
    text.extend(b"\nhonest\n");
    let headers = [("If-Match", was.header("etag"))];
    let written = client.send("PUT", &format!("{url}?conflict=merge"), &headers, &text);
    assert!(written.status < 500, "{}: {}", document.name, written.text());
    let is = client.get(&url);
    assert_eq!(is.status, 200, "{}", document.name);
    if written.status < 300 {
        let has_line = is.body.windows(6).any(|part| part == b"honest");
        assert!(has_line, "{}: what was written is there", document.name);
    } else {
        assert_eq!(is.body, was.body, "{}: a refused write changes nothing", document.name);
    }
    is
}

fn contents(client: &Client, documents: &[OddDocument]) -> Vec<Vec<u8>> {
    let read = |document: &OddDocument| client.get(&format!("/api/files{}", document.path)).body;
    documents.iter().map(read).collect()
}

fn serve(dir: &Path) -> (Server, Client) {
    let server = Server::start(dir, 0);
    let client = Client { port: server.port(), token: None };
    (server, client)
}

#[test]
fn each_is_taken_or_refused_and_harms_nothing() {
    let documents = odd_documents();
    assert!(documents.len() > 35, "{}", documents.len());
    let dir = tempfile::tempdir().unwrap();
    for document in &documents {
        let text = if document.path.ends_with("md") { "# hi\n" } else { "" };
        fs::write(dir.path().join(&document.path[1..]), text).unwrap();
    }
    fs::write(dir.path().join("honest.txt"), "").unwrap();
    let (server, client) = serve(dir.path());
    let mut yjs = Yjs::start();
    let mut n_taken = 0;
    for (number, document) in documents.iter().enumerate() {
        let guid = id_of(&client, &document.path);
        n_taken += usize::from(send(server.port(), &guid, &document.update));
        read_and_write(&client, document);
        // Real Yjs reads what the server has.
        yjs.call("new", json!({ "doc": document.name, "gc": false }));
        let is_waiting = yjs.apply(&document.name, &state(server.port(), &guid));
        assert!(!is_waiting, "{}: an update is missing", document.name);
        yjs.call("drop", json!({ "doc": document.name }));
        for command in [&["blame"][..], &["versions", "ls"]] {
            let ran = run(dir.path(), &[command, &[document.path.as_str()]].concat(), b"");
            assert!(matches!(ran.code, Some(0 | 1)), "{} {command:?}: {ran:?}", document.name);
        }
        let honest = format!("honest {number}");
        let written = client.send("PUT", "/api/files/honest.txt", &[], honest.as_bytes());
        assert!(written.status < 300, "{}: {}", document.name, written.text());
        assert_eq!(client.get("/api/files/honest.txt").text(), honest, "{}", document.name);
    }
    assert!(n_taken > documents.len() / 2, "only {n_taken} were taken");
    let memory = server.peak_memory();
    assert!(memory < MAX_MEMORY, "the server took {} MB", memory >> 20);
    let before = contents(&client, &documents);
    assert_eq!(server.interrupt(), Some(0));
    let (server, client) = serve(dir.path());
    assert_equal(&documents, &before, &contents(&client, &documents), "a restart");
    assert_eq!(server.interrupt(), Some(0));
    ok(dir.path(), &["admin", "compact"]);
    let (server, client) = serve(dir.path());
    assert_equal(&documents, &before, &contents(&client, &documents), "a compaction");
    drop(server);
    ok(dir.path(), &["admin", "fsck"]);
}

fn assert_equal(documents: &[OddDocument], was: &[Vec<u8>], is: &[Vec<u8>], after: &str) {
    for (document, (was, is)) in documents.iter().zip(was.iter().zip(is)) {
        let (was, is) = (String::from_utf8_lossy(was), String::from_utf8_lossy(is));
        assert!(was == is, "{} differs after {after}:\n{was:.300}\n{is:.300}", document.name);
    }
}
