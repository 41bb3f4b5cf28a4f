//! A server among attackers: whatever one of them sends, or does not, all other clients work as
//! before.
//!
//! The processes and sockets are real. No test measures time; only the server's own limits do.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{
    collections::HashMap,
    fs,
    io::{Read, Write},
    thread,
};

use serde_json::Value;
use yfs_engine::{hash::ContentHash, id::FileId};
use yfs_sync::{
    collab,
    message::SyncMessage,
    presence::{PresenceEntry, decode, encode},
    replica,
};
use yfs_tests::{
    command::{Server, ok},
    fixture,
    http::Client,
    socket::{BINARY, CONTINUATION, Received, Socket, connect},
};
use yrs::{Any, Array, Doc, Text, Transact};

/// Memory that no attack may make a server take, in bytes. It serves next to nothing otherwise.
const MAX_MEMORY: u64 = 700 << 20;

/// A served folder.
struct Served {
    dir: tempfile::TempDir,
    server: Server,
    /// The ids of `/a.txt` and `/victim.txt`, and of the workspace.
    honest: String,
    victim: String,
    main: String,
}

/// Two people at one document, who must not notice anything.
struct Pair {
    doc: Doc,
    writer: Socket,
    reader: Socket,
    n_written: usize,
}

impl Served {
    fn start() -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("a.txt"), "").unwrap();
        fs::write(dir.path().join("victim.txt"), "").unwrap();
        let server = Server::start(dir.path(), 0);
        let tree = Client { port: server.port(), token: None }.get("/api/tree").json();
        let guid = |path: &str| {
            let mut entries = tree["entries"].as_array().unwrap().iter();
            let entry = entries.find(|entry| entry["path"] == path).unwrap();
            entry["guid"].as_str().unwrap().to_owned()
        };
        let main = tree["workspace"].as_str().unwrap().to_owned();
        Self { honest: guid("/a.txt"), victim: guid("/victim.txt"), main, dir, server }
    }

    fn sync(&self, guid: &str) -> Socket {
        let mut socket = Socket::open(self.server.port(), &format!("/sync/{guid}"), &[]);
        socket.send(&SyncMessage::Step1(&[0]).encode());
        socket.wait_for(|message| message.starts_with(&[0, 1]));
        socket
    }

    fn collab(&self) -> Socket {
        Socket::open(self.server.port(), "/collab", &[])
    }

    /// Connects as another store of the workspace.
    fn replicate(&self) -> Socket {
        let mut socket = Socket::open(self.server.port(), "/replicate", &[]);
        socket.send(&replica::ReplicaMessage::Hello { since: "", summarizes: false }.encode());
        socket.wait_for(|frame| {
            matches!(
                replica::ReplicaMessage::decode(frame),
                Ok(replica::ReplicaMessage::Welcome { .. })
            )
        });
        socket
    }

    fn pair(&self) -> Pair {
        let (writer, reader) = (self.sync(&self.honest), self.sync(&self.honest));
        Pair { doc: Doc::with_client_id(77), writer, reader, n_written: 0 }
    }

    /// Whatever was attacked: it runs, has not grown, and nothing is there but what the pair wrote.
    fn assert_unharmed(&self, mut pair: Pair) {
        pair.go_on();
        let memory = self.server.peak_memory();
        assert!(memory < MAX_MEMORY, "the server took {} MB", memory >> 20);
        assert_eq!(ok(self.dir.path(), &["cat", "/a.txt"]), "honest\n".repeat(pair.n_written));
        assert_eq!(ok(self.dir.path(), &["find", "/"]), "/\n/a.txt\n/victim.txt\n");
    }
}

impl Pair {
    /// One writes, and the other sees it.
    fn go_on(&mut self) {
        let text = self.doc.get_or_insert_text("text");
        let update = {
            let mut txn = self.doc.transact_mut();
            text.push(&mut txn, "honest\n");
            txn.encode_update_v1()
        };
        self.n_written += 1;
        let frame = SyncMessage::Update(&update).encode();
        self.writer.send(&frame);
        self.reader.wait_for(|message| message == frame);
    }
}

/// Opens a document at `/collab`.
fn open(socket: &mut Socket, key: &str) -> Vec<u8> {
    let prefix = collab::prefix(key);
    socket.send(&[&prefix[..], &[2, 0, 1, b'-', 5], b"4.8.0"].concat());
    socket.wait_for(|message| message.starts_with(&[&prefix[..], &[2]].concat()));
    prefix
}

#[test]
fn hostile_updates_are_refused_and_disturb_nobody() {
    let served = Served::start();
    let mut pair = served.pair();
    let mut hostile: Vec<(String, Vec<u8>)> = fs::read_dir(fixture("hostile-updates"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|path| (path.file_name().unwrap().to_string_lossy().into(), fs::read(path).unwrap()))
        .collect();
    hostile.sort();
    hostile.push(("nothing".to_owned(), Vec::new()));
    hostile.push(("noise".to_owned(), vec![0xFF; 1000]));
    assert!(hostile.len() > 10);
    let mut n_refused = 0;
    for (name, update) in &hostile {
        for guid in [&served.main, &served.victim] {
            for message in [SyncMessage::Update(update), SyncMessage::Step2(update)] {
                // By y-websocket: the connection ends, or what is asked next is answered.
                let mut socket = served.sync(guid);
                socket.send(&message.encode());
                socket.send(&SyncMessage::QueryAwareness.encode());
                socket.send(&SyncMessage::Step1(&[0]).encode());
                n_refused += loop {
                    match socket.receive() {
                        Received::Message(answer) if answer.starts_with(&[0, 1]) => break 0,
                        Received::Message(_) => (),
                        Received::Closed(4400..4500, _) => break 1,
                        end => panic!("{name}: {end:?}"),
                    }
                };
                // By Hocuspocus: that document's part ends, and no other's.
                let mut socket = served.collab();
                let (prefix, other) = (open(&mut socket, guid), open(&mut socket, &served.honest));
                socket.send(&message.encode_after(&prefix));
                let status = |message: &[u8]| message.starts_with(&[&prefix[..], &[8]].concat());
                let answer = socket.wait_for(status);
                if answer.ends_with(&[0]) {
                    n_refused += 1;
                    socket.wait_for(|message| message.starts_with(&[&prefix[..], &[7]].concat()));
                }
                socket.send(&SyncMessage::Step1(&[0]).encode_after(&other));
                socket.wait_for(|message| message.starts_with(&[&other[..], &[0, 1]].concat()));
            }
        }
        pair.go_on();
    }
    assert!(n_refused > hostile.len() * 4, "{n_refused}");
    // The quarantine keeps what was refused.
    let info: Value =
        serde_json::from_str(&ok(served.dir.path(), &["admin", "info", "--json"])).unwrap();
    assert_eq!(info["refused"], n_refused);
    served.assert_unharmed(pair);
}

#[test]
fn frames_that_are_none_end_their_own_connection() {
    let served = Served::start();
    let pair = served.pair();
    let sockets = || [served.sync(&served.victim), served.collab()];
    for mut socket in sockets() {
        // A hundred megabytes are announced.
        socket.frame(0x80 | BINARY, 100 << 20, &[0; 100]).unwrap();
        assert_eq!(socket.end(), Some(1009));
    }
    for mut socket in sockets() {
        // Reserved bits and opcodes; an unmasked frame is as bad.
        socket.frame(0xF0 | BINARY, 1, &[0]).unwrap();
        assert_eq!(socket.end(), Some(1002));
    }
    for mut socket in sockets() {
        socket.frame(0x80 | CONTINUATION, 1, &[0]).unwrap();
        assert_eq!(socket.end(), Some(1002));
    }
    for message in [&[][..], &[0], &[0, 9], &[99], &[1, 200], &[0, 0, 255, 255, 255, 255, 15]] {
        let mut socket = served.sync(&served.victim);
        socket.send(message);
        assert_eq!(socket.end(), Some(4400), "{message:?}");
    }
    for message in [&[][..], &[200], &[1], &[1, b'x', 99], &[1, b'x', 2, 7], &[255, 255, 3, 0]] {
        let mut socket = served.collab();
        socket.send(message);
        assert_eq!(socket.end(), Some(4400), "{message:?}");
    }
    // A message in parts that never ends is as long as any may be.
    let mut socket = served.sync(&served.victim);
    let part = vec![0; 1 << 20];
    let mut first = BINARY;
    for _ in 0..70 {
        if socket.frame(first, part.len() as u64, &part).is_err() {
            break;
        }
        first = CONTINUATION;
    }
    // It may have been cut before the code was read.
    assert!([Some(1009), None].contains(&socket.end()));
    served.assert_unharmed(pair);
}

#[test]
fn names_that_are_no_documents_open_nothing() {
    let served = Served::start();
    let pair = served.pair();
    let odd = ["..", "%2e%2e%2fa.txt", "a.txt", "%00", "*", "'%20OR%201=1", &"x".repeat(600)];
    for name in odd {
        let mut socket = Socket::open(served.server.port(), &format!("/sync/{name}"), &[]);
        socket.send(&SyncMessage::Update(&[0, 0]).encode());
        assert_eq!(socket.end(), Some(4404), "{name}");
    }
    let mut socket = served.collab();
    for name in ["", "..", "/a.txt", "a.txt", "\0", "*", "😀"] {
        let prefix = collab::prefix(name);
        socket.send(&[&prefix[..], &[2, 0, 0, 0]].concat());
        socket.wait_for(|message| message.starts_with(&[&prefix[..], &[2, 1]].concat()));
    }
    let raw = |head: &str| {
        let mut stream = connect(served.server.port());
        stream.write_all(head.as_bytes()).unwrap();
        let mut answer = [0; 12];
        stream.read_exact(&mut answer).unwrap();
        String::from_utf8_lossy(&answer).into_owned()
    };
    // A request without an upgrade gets a 426, and one from another origin is refused.
    let host = "Host: 127.0.0.1\r\n";
    assert_eq!(raw(&format!("GET /collab HTTP/1.1\r\n{host}\r\n")), "HTTP/1.1 426");
    assert_eq!(raw("GET /collab HTTP/1.1\r\nHost: evil.example\r\n\r\n"), "HTTP/1.1 403");
    served.assert_unharmed(pair);
}

#[test]
fn a_stranger_is_not_listened_to_for_long() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("a.txt"), "text").unwrap();
    let server = Server::start_with_tokens(dir.path(), 0);
    let floods: [fn(&mut Socket) -> bool; 3] = [
        // One message, as long as any may be.
        |socket| {
            (0..64).all(|part| {
                socket.frame(BINARY * u8::from(part == 0), 1 << 20, &vec![0; 1 << 20]).is_ok()
            })
        },
        // Many, under a key that nothing has opened.
        |socket| {
            let frame = SyncMessage::Update(&[7; 60_000]).encode_after(&collab::prefix("key"));
            (0..1000).all(|_| socket.frame(0x80 | BINARY, frame.len() as u64, &frame).is_ok())
        },
        // Many tokens.
        |socket| {
            let token =
                [&collab::prefix("key")[..], &[2, 0, 0x80, 0x7D], &[b'x'; 16_000], &[0]].concat();
            (0..1000).all(|_| socket.frame(0x80 | BINARY, token.len() as u64, &token).is_ok())
        },
    ];
    for flood in floods {
        let mut socket = Socket::open(server.port(), "/collab", &[]);
        assert!(!flood(&mut socket), "all of it was read");
        assert!([Some(4401), None].contains(&socket.end()));
    }
    assert!(server.peak_memory() < 200 << 20, "{}", server.peak_memory());
    assert_eq!(ok(dir.path(), &["cat", "/a.txt"]), "text");
}

#[test]
fn who_reads_nothing_is_dropped_and_the_others_go_on() {
    let served = Served::start();
    let pair = served.pair();
    let (mut slow, mut fast) = (served.sync(&served.victim), served.sync(&served.victim));
    let mut writer = served.sync(&served.victim);
    let doc = Doc::with_client_id(5);
    let text = doc.get_or_insert_text("text");
    let n_updates = 48;
    let read = thread::spawn(move || {
        for _ in 0..n_updates {
            fast.wait_for(|message| message.starts_with(&[0, 2]));
        }
    });
    for number in 0..n_updates {
        let update = {
            let mut txn = doc.transact_mut();
            // Written over each time, so that the document stays small for who reads its text.
            text.remove_range(&mut txn, 0, if number > 0 { 1 << 20 } else { 0 });
            text.push(&mut txn, &"x".repeat(1 << 20));
            txn.encode_update_v1()
        };
        let frame = SyncMessage::Update(&update).encode();
        writer.send(&frame);
        // The echo shows that the server has sent the update to all clients.
        writer.wait_for(|message| message == frame);
    }
    read.join().unwrap();
    // When it reads at last, it gets the code "try again later", unless its socket was closed
    // before.
    assert!([Some(1013), None].contains(&slow.end()));
    served.assert_unharmed(pair);
}

/// How often the server sends presence is tested where the clock is an argument
/// (`rooms/awareness_batcher.rs`).
#[test]
fn presence_is_never_told_for_others() {
    let served = Served::start();
    let pair = served.pair();
    let (mut ana, mut watcher) = (served.sync(&served.victim), served.sync(&served.victim));
    let say = |id: u64, clock: u64, state: &str| {
        SyncMessage::Awareness(&encode(&[PresenceEntry { id, clock, state }])).encode()
    };
    let states = |message: &[u8]| -> Vec<(u64, String)> {
        match SyncMessage::decode(message) {
            Ok(SyncMessage::Awareness(update)) => decode(update)
                .unwrap()
                .iter()
                .map(|entry| (entry.id, entry.state.to_owned()))
                .collect(),
            _ => Vec::new(),
        }
    };
    let ana_is = "{\"name\":\"ana\"}";
    ana.send(&say(1, 1, ana_is));
    watcher.wait_for(|message| states(message).contains(&(1, ana_is.to_owned())));
    // A slow reader does not get every state, but gets an answer to its query.
    let is_there = |watcher: &mut Socket, id: u64, is: &str| {
        watcher.send(&SyncMessage::QueryAwareness.encode());
        let answer = watcher.wait_for(|message| {
            let states = states(message);
            assert!(states.iter().all(|(id, is)| *id != 1 || is == ana_is), "{states:?}");
            states.iter().any(|(id, _)| *id == 1)
        });
        states(&answer).contains(&(id, is.to_owned()))
    };
    // An enemy says that Ana has gone, is called otherwise, and shouts.
    let mut enemy = served.sync(&served.victim);
    enemy.send(&say(1, 9, "null"));
    enemy.send(&say(1, 10, "{\"name\":\"eve\"}"));
    let shout = "x".repeat(60_000);
    let n_shouts = 2000;
    for clock in 1..=n_shouts {
        enemy.send(&say(2, clock, &format!("{{\"say\":\"{clock} {shout}\"}}")));
        // Who reads nothing for a minute is dropped.
        if clock % 100 == 0 {
            for reader in [&mut watcher, &mut ana, &mut enemy] {
                assert!(is_there(reader, 1, ana_is));
            }
        }
    }
    let done = "{\"say\":\"done\"}";
    enemy.send(&say(2, n_shouts + 1, done));
    // What was said before is known when this is answered.
    enemy.send(&SyncMessage::Step1(&[0]).encode());
    enemy.wait_for(|message| message.starts_with(&[0, 1]));
    while !is_there(&mut watcher, 2, done) {}
    // Ana, whom the enemy claimed to be, is asked whether she is there, and answers.
    drop(enemy);
    while is_there(&mut watcher, 2, done) {}
    assert!(is_there(&mut watcher, 1, ana_is));
    served.assert_unharmed(pair);
}

#[test]
fn one_socket_holds_so_many_documents_and_no_more() {
    let served = Served::start();
    let pair = served.pair();
    let mut socket = served.collab();
    let key = |number: usize| format!("{}\0{number}", served.victim);
    for number in 0..collab::MAX_DOCUMENTS {
        open(&mut socket, &key(number));
    }
    let prefix = collab::prefix("one more");
    socket.send(&[&prefix[..], &[2, 0, 0, 0]].concat());
    let denied = socket.wait_for(|message| message.starts_with(&prefix));
    assert!(String::from_utf8_lossy(&denied).contains("too many documents"));
    // Who closes one may open another.
    socket.send(&[&collab::prefix(&key(0))[..], &[7]].concat());
    open(&mut socket, &key(5000));
    served.assert_unharmed(pair);
}

#[test]
fn sockets_that_say_nothing_are_in_nobodys_way() {
    let served = Served::start();
    let pair = served.pair();
    // As many as a process may open by default in most places, some left for others.
    let n_sockets = 800;
    let idle: Vec<Socket> = (0..n_sockets)
        .map(|number| match number % 2 {
            0 => Socket::open(served.server.port(), &format!("/sync/{}", served.victim), &[]),
            _ => served.collab(),
        })
        .collect();
    // Heads and bodies that never end are given up; a test that waits for it takes half a minute.
    let slow: Vec<_> = [
        "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: ",
        "GET /collab HTTP/1.1\r\nHost: 127.0.0.1\r\n",
        "PUT /api/files/new.txt HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1000\r\n\r\nbegun",
        "POST /api/blobs HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n\
         5\r\nbegun\r\n",
        "",
    ]
    .into_iter()
    .map(|head| {
        let mut stream = connect(served.server.port());
        stream.write_all(head.as_bytes()).unwrap();
        stream
    })
    .collect();
    for mut stream in slow {
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).expect("it ends before the test does");
        let answer = String::from_utf8_lossy(&answer);
        assert!(!answer.starts_with("HTTP/1.1 2"), "{answer}");
    }
    drop(idle);
    served.assert_unharmed(pair);
}

fn map(entries: Vec<(&str, Any)>) -> Any {
    let entries = entries.into_iter().map(|(key, entry)| (key.to_owned(), entry));
    Any::from(entries.collect::<HashMap<_, _>>())
}

/// A row of the files table, with fields beside those that every row has.
fn row(id: &str, name: &str, kind: &str, others: Vec<(&str, Any)>) -> Any {
    let mut value = vec![
        ("id", Any::from(id)),
        ("name", Any::from(name)),
        ("parentId", Any::Null),
        ("type", Any::from(kind)),
        ("size", Any::from(0.0)),
        ("createdAt", Any::from(1.0)),
        ("updatedAt", Any::from(1.0)),
        ("trashedAt", Any::Null),
    ];
    value.extend(others);
    map(vec![("key", Any::from(id)), ("val", map(value)), ("ts", Any::from(1.0))])
}

/// Rows as an update of the main document.
fn update_of_rows(rows: impl IntoIterator<Item = Any>) -> Vec<u8> {
    let doc = Doc::with_client_id(9);
    let table = doc.get_or_insert_array("table:files");
    let mut txn = doc.transact_mut();
    table.insert_range(&mut txn, 0, rows);
    txn.encode_update_v1()
}

/// A row of a file whose content is a blob, as an update of the main document.
fn row_of_blob(hash: ContentHash, size: f64) -> Vec<u8> {
    let blob = map(vec![("hash", Any::from(hash.to_string())), ("size", Any::from(size))]);
    let others = vec![("size", Any::from(size)), ("blob", blob)];
    update_of_rows([row("blobfile1234567", "x.bin", "file", others)])
}

/// The whole paths of all entries would take 220 MB, twice.
#[test]
fn directories_nested_by_a_peer_are_listed_in_bounded_memory() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("a.txt"), "").unwrap();
    let server = Server::start_with(dir.path(), &["--open", "--no-mirror"]);
    let client = Client { port: server.port(), token: None };
    let main = client.get("/api/tree").json()["workspace"].as_str().unwrap().to_owned();
    let n_deep: usize = 8_000;
    let id = |number: usize| format!("deep{number:011}");
    let rows = (0..n_deep).map(|number| {
        let parent = number.checked_sub(1).map_or(Any::Null, |above| Any::from(id(above)));
        row(&id(number), "a name", "folder", vec![("parentId", parent)])
    });
    let frame = SyncMessage::Update(&update_of_rows(rows)).encode();
    let mut socket = Socket::open(server.port(), &format!("/sync/{main}"), &[]);
    socket.send(&frame);
    socket.wait_for(|message| message == frame);
    let tree = client.get("/api/tree").json();
    let paths: Vec<&str> =
        tree["entries"].as_array().unwrap().iter().map(|e| e["path"].as_str().unwrap()).collect();
    assert_eq!(paths.len(), n_deep + 1);
    assert!(paths.iter().all(|path| path.len() <= 4096), "all of them can be opened");
    let deepest = paths.iter().find(|path| path.starts_with("/.id/")).unwrap();
    let stat = client.get(&format!("/api/stat{}", deepest.replace(' ', "%20"))).json();
    assert_eq!(stat["kind"], "directory", "{stat}");
    let memory = server.peak_memory();
    assert!(memory < 200 << 20, "the server took {} MB", memory >> 20);
}

#[test]
fn a_hostile_replica_that_says_too_much_is_let_go() {
    use replica::ReplicaMessage;
    let served = Served::start();
    let pair = served.pair();
    let long = "x".repeat(16 << 20);
    let doc = FileId::parse(&served.main).unwrap();
    let hash = |number: usize| ContentHash::of(&number.to_le_bytes());
    let wants =
        |first: usize| ReplicaMessage::Want((first..first + 65_000).map(hash).collect()).encode();
    let floods: Vec<(&str, Vec<Vec<u8>>)> = vec![
        (
            "a long reason",
            vec![ReplicaMessage::Refused { doc: doc.clone(), reason: &long }.encode()],
        ),
        ("a long place", vec![ReplicaMessage::Reached { cursor: &long, is_end: false }.encode()]),
        ("a long confirmation", vec![ReplicaMessage::Taken { cursor: &long }.encode()]),
        ("a second hello", vec![ReplicaMessage::Hello { since: "", summarizes: false }.encode()]),
        (
            "a blob that was not requested",
            vec![ReplicaMessage::Blob { hash: hash(0), is_last: false, data: &[0; 1000] }.encode()],
        ),
        ("many wants", vec![wants(0), wants(65_000)]),
        ("a count that is a lie", vec![vec![5, 0xFF, 0xFF, 0x03]]),
        ("a summary that was not asked for", vec![ReplicaMessage::Summary(&[]).encode()]),
    ];
    for (name, frames) in floods {
        let mut socket = served.replicate();
        frames.iter().for_each(|frame| socket.send(frame));
        assert_eq!(socket.end(), Some(4400), "{name}");
    }
    assert!(served.server.peak_memory() < 300 << 20, "{}", served.server.peak_memory());
    served.assert_unharmed(pair);
}

/// The server computes no summary of its own for one that cannot be compared.
#[test]
fn a_replica_with_a_summary_that_is_none_is_let_go() {
    use replica::ReplicaMessage;
    let served = Served::start();
    for (name, summary) in [
        ("a part of a hash", vec![1; 17]),
        ("a number of groups that is no power of two", vec![1; 16 * 4]),
        ("more than there may be", vec![1; 16 * ((1 << 17) + 1)]),
    ] {
        let mut socket = Socket::open(served.server.port(), "/replicate", &[]);
        socket.send(&ReplicaMessage::Hello { since: "", summarizes: true }.encode());
        socket.send(&ReplicaMessage::Summary(&summary).encode());
        assert_eq!(socket.end(), Some(4400), "{name}");
    }
    let mut socket = Socket::open(served.server.port(), "/replicate", &[]);
    socket.send(&ReplicaMessage::Hello { since: "", summarizes: true }.encode());
    (0..2).for_each(|_| socket.send(&ReplicaMessage::Summary(&[1; 32]).encode()));
    assert_eq!(socket.end(), Some(4400), "a second summary");
}

#[test]
fn a_replica_that_wants_the_same_blob_often_is_sent_it_once() {
    use replica::ReplicaMessage;
    let served = Served::start();
    let data = vec![0xFF; 100_000];
    let client = Client { port: served.server.port(), token: None };
    assert_eq!(client.send("PUT", "/api/files/a.bin", &[], &data).status, 201);
    let hash = ContentHash::of(&data);
    let mut socket = served.replicate();
    socket.send(&ReplicaMessage::Want(vec![hash; 60_000]).encode());
    socket.send(&ReplicaMessage::Want(vec![ContentHash::of(b"none")]).encode());
    let mut n_parts = 0;
    socket.wait_for(|frame| match ReplicaMessage::decode(frame).unwrap() {
        ReplicaMessage::Blob { .. } => {
            n_parts += 1;
            false
        }
        message => matches!(message, ReplicaMessage::Lacking(_)),
    });
    assert_eq!(n_parts, 1);
}

#[test]
fn a_blob_is_no_longer_than_its_row_says() {
    use replica::ReplicaMessage;
    let served = Served::start();
    let (hash, doc) = (ContentHash::of(b"x"), FileId::parse(&served.main).unwrap());
    let row = row_of_blob(hash, 10.0);
    let mut socket = served.replicate();
    let update = replica::DocumentUpdate { doc, is_whole: false, data: &row };
    socket.send(&ReplicaMessage::Updates(vec![update]).encode());
    socket.wait_for(|frame| ReplicaMessage::decode(frame) == Ok(ReplicaMessage::Want(vec![hash])));
    let part = ReplicaMessage::Blob { hash, is_last: false, data: &[7; 4 << 20] }.encode();
    // It is read on while it is little; then the line is cut.
    for _ in 0..16 {
        if socket.frame(0x80 | BINARY, part.len() as u64, &part).is_err() {
            break;
        }
    }
    assert!([Some(4400), None].contains(&socket.end()));
    let refused = served.server.get("/metrics").1;
    assert!(refused.contains("code=\"4400\"} 1"), "{refused}");
}

#[test]
fn a_replica_that_sends_and_never_reads_is_in_nobodys_way() {
    use replica::ReplicaMessage;
    let served = Served::start();
    let pair = served.pair();
    // Documents that no row names: the hello lists each of them.
    let docs: Vec<FileId> =
        (0..60_000).map(|number| FileId::parse(&format!("unknown{number}")).unwrap()).collect();
    let updates = docs.iter().map(|doc| replica::DocumentUpdate {
        doc: doc.clone(),
        is_whole: false,
        data: &[0, 0],
    });
    let updates = ReplicaMessage::Updates(updates.collect()).encode();
    let reached =
        ReplicaMessage::Reached { cursor: &"x".repeat(replica::MAX_CURSOR_LEN), is_end: true };
    let reached = reached.encode();
    let mut sockets = [(); 2].map(|()| served.replicate());
    for socket in &mut sockets {
        socket.send(&updates);
        // Each is answered. It ends when too many answers wait.
        for _ in 0..200_000 {
            if socket.frame(0x80 | BINARY, reached.len() as u64, &reached).is_err() {
                break;
            }
        }
    }
    let memory = served.server.peak_memory();
    assert!(memory < 300 << 20, "the server took {} MB", memory >> 20);
    served.assert_unharmed(pair);
}

#[test]
fn markdown_of_many_short_lines_takes_bounded_memory_however_many_write_it() {
    let served = Served::start();
    let mut pair = served.pair();
    let put = |number: usize, body: &[u8]| {
        let client = Client { port: served.server.port(), token: None };
        let path = format!("/api/files/{number}.md");
        assert_eq!(client.send("PUT", &path, &[], body).status, 201);
    };
    // Each takes about 150 MB while it is written.
    let lines = "a\n".repeat(64_000);
    thread::scope(|scope| {
        for number in 0..16 {
            let (put, lines) = (&put, &lines);
            scope.spawn(move || put(number, lines.as_bytes()));
        }
    });
    let memory = served.server.peak_memory();
    assert!(memory < 1000 << 20, "the server took {} MB", memory >> 20);
    pair.go_on();
}

#[test]
fn bodies_that_never_end_take_bounded_memory() {
    let served = Served::start();
    let pair = served.pair();
    let part = vec![b'x'; 1 << 20];
    let put = |name: &str, n_parts: usize| {
        let mut stream = connect(served.server.port());
        let len = 128 << 20;
        let head = format!(
            "PUT /api/files/{name} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {len}\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).unwrap();
        // One that is refused is cut.
        let is_read = (0..n_parts).all(|_| stream.write_all(&part).is_ok());
        (stream, is_read)
    };
    let waiting: Vec<_> = (0..8).map(|number| put(&format!("{number}.txt"), 100).0).collect();
    // A small one finds room nevertheless.
    let client = Client { port: served.server.port(), token: None };
    assert_eq!(client.send("PUT", "/api/files/small.txt", &[], b"small").status, 201);
    assert_eq!(client.send("DELETE", "/api/files/small.txt", &[], b"").status, 204);
    // One that says too much of itself is not read at all.
    let long = [("Content-Type", "application/json")];
    let edit = format!("{{\"path\": \"/{}\"}}", "x".repeat(2 << 20));
    assert_eq!(client.send("POST", "/api/mkdir", &long, edit.as_bytes()).status, 413);
    drop(waiting);
    let memory = served.server.peak_memory();
    assert!(memory < 600 << 20, "the server took {} MB", memory >> 20);
    served.assert_unharmed(pair);
}
