//! Tokens as stock editors send them: in the query or a sub-protocol of y-websocket, in a message
//! of Hocuspocus.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{collections::HashMap, fs};

use serde_json::{Value, json};
use yfs_engine::hash::ContentHash;
use yfs_sync::message::SyncMessage;
use yfs_tests::{
    command::{Server, ok},
    editor::Editor,
    http::Client,
    socket::Socket,
};
use yrs::{Any, Array, Doc, Transact};

/// A served directory; each client needs a token.
struct Served {
    dir: tempfile::TempDir,
    server: Server,
    owner: Client,
    /// The ids of `/docs/in.txt`, `/docs/stays.txt` and `/out.txt`, and of the workspace.
    inside: String,
    stays: String,
    outside: String,
    main: String,
}

impl Served {
    fn start() -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("docs")).unwrap();
        fs::write(dir.path().join("docs/in.txt"), "in\n").unwrap();
        fs::write(dir.path().join("docs/stays.txt"), "stays\n").unwrap();
        fs::write(dir.path().join("out.txt"), "out\n").unwrap();
        let server = Server::start_with_tokens(dir.path(), 0);
        let token = ok(dir.path(), &["--quiet", "token", "owner"]).trim().to_owned();
        let owner = Client { port: server.port(), token: Some(token) };
        let tree = owner.get("/api/tree").json();
        let guid = |path: &str| {
            let mut entries = tree["entries"].as_array().unwrap().iter();
            let entry = entries.find(|entry| entry["path"] == path).unwrap();
            entry["guid"].as_str().unwrap().to_owned()
        };
        let main = tree["workspace"].as_str().unwrap().to_owned();
        Self {
            inside: guid("/docs/in.txt"),
            stays: guid("/docs/stays.txt"),
            outside: guid("/out.txt"),
            main,
            dir,
            server,
            owner,
        }
    }

    fn token(&self, args: &[&str]) -> String {
        let args = [&["--quiet", "token", "new"], args].concat();
        ok(self.dir.path(), &args).trim().to_owned()
    }

    fn revoke(&self, token: &str) {
        let shown = ok(self.dir.path(), &["token", "show", token, "--json"]);
        let shown: Value = serde_json::from_str(&shown).unwrap();
        ok(self.dir.path(), &["token", "revoke", shown["id"].as_str().unwrap()]);
    }

    fn open(&self, guid: &str, name: &str, token: &str, how: &str) -> Editor {
        Editor::open_with(self.server.port(), guid, name, token, how)
    }

    fn cat(&self, path: &str) -> String {
        ok(self.dir.path(), &["cat", path])
    }
}

fn wait(editor: &mut Editor, at: &str, what: &str) {
    editor.call(&json!({ "do": "wait", "as": at, "for": what }));
}

#[test]
fn editors_are_let_in_by_a_token_and_are_who_it_says() {
    let served = Served::start();
    let ana = served.token(&["--for", "human:ana"]);
    let ben = served.token(&["--for", "human:ben"]);
    let eve = served.token(&["--for", "human:eve"]);
    let mut changes = served.owner.follow("/events", &[]);
    let mut in_query = served.open(&served.outside, "ana", &ana, "query");
    let mut in_protocol = served.open(&served.outside, "ben", &ben, "protocol");
    in_query.wait_for("synced");
    in_protocol.wait_for("synced");
    in_query.insert(-1, "from ana\n");
    in_protocol.wait_for_text(&["from ana\n"]);
    in_protocol.insert(-1, "from ben\n");
    in_query.wait_for_text(&["from ben\n"]);
    let mut collab = Editor::connect(served.server.port(), "eve");
    collab.call(&json!({ "do": "open", "as": "a", "room": served.outside, "token": eve }));
    wait(&mut collab, "a", "saved");
    collab.call(&json!({ "do": "insert", "as": "a", "at": -1, "text": "from eve\n" }));
    wait(&mut collab, "a", "saved");

    assert_eq!(served.cat("/out.txt"), "out\nfrom ana\nfrom ben\nfrom eve\n");
    let actors = ["human:ana", "human:ben", "human:eve"];
    let mut seen = Vec::new();
    for change in &mut changes {
        seen.extend(actors.into_iter().filter(|actor| change.contains(&format!("\"{actor}\""))));
        seen.dedup();
        if seen.last() == actors.last() {
            break;
        }
    }
    assert_eq!(seen, actors);
    let blame = ok(served.dir.path(), &["blame", "--json", "/out.txt"]);
    let lines = blame.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let written: Vec<Value> = lines.map(|line| line["actor"].clone()).collect();
    assert_eq!(written[1..], actors.map(|actor| json!(actor)), "{blame}");
}

#[test]
fn who_has_no_right_is_told_so_and_writes_nothing() {
    let served = Served::start();
    let (expired, revoked) = (served.token(&["--expires", "0s"]), served.token(&[]));
    let docs = served.token(&["--path", "/docs"]);
    served.revoke(&revoked);
    let other = Served::start().token(&[]);
    let refused = [
        (served.outside.as_str(), "", 4401, "a token is needed"),
        (&served.outside, "yfs_e30.AAAA", 4401, "the token is not valid"),
        (&served.outside, other.as_str(), 4401, "the token is not valid"),
        (&served.outside, &expired, 4401, "the token has expired"),
        (&served.outside, &revoked, 4401, "the token was revoked"),
        (&served.outside, &docs, 4403, "the token does not reach this document"),
        (&served.main, &docs, 4403, "the token does not reach this document"),
        // A caller without access to the whole workspace cannot learn whether the file exists.
        ("no-such-file", &docs, 4403, "the token does not reach this document"),
    ];
    let mut collab = Editor::connect(served.server.port(), "collab");
    for (number, (guid, token, code, reason)) in refused.into_iter().enumerate() {
        let how = if number % 2 == 0 { "query" } else { "protocol" };
        let mut editor = served.open(guid, "stranger", token, how);
        editor.insert(0, "forged");
        editor.wait_for("closed");
        let state = editor.call(&json!({ "do": "state" }));
        assert_eq!(
            (&state["closes"][0], &state["synced"]),
            (&json!(code), &json!(false)),
            "{reason}"
        );

        let at = number.to_string();
        collab.call(&json!({ "do": "open", "as": at, "room": guid, "token": token }));
        collab.call(&json!({ "do": "insert", "as": at, "at": 0, "text": "forged" }));
        wait(&mut collab, &at, "denied");
        let state = collab.call(&json!({ "do": "state" }));
        assert_eq!(state["documents"][&at]["denied"], reason);
        collab.call(&json!({ "do": "detach", "as": at }));
    }
    assert_eq!(
        (served.cat("/out.txt"), served.cat("/docs/in.txt")),
        ("out\n".into(), "in\n".into())
    );
    // The answer names the sub-protocol that carries the token, as browsers require.
    let owner = format!(
        "Sec-WebSocket-Protocol: other, yfs-token.{}",
        served.owner.token.as_deref().unwrap()
    );
    let socket =
        Socket::open(served.server.port(), &format!("/sync/{}", served.outside), &[&owner]);
    assert_eq!(socket.protocol(), owner.split(", ").nth(1));
}

#[test]
fn who_may_only_read_sees_everything_and_changes_nothing() {
    let served = Served::start();
    let (reader, writer) = (served.token(&["--read"]), served.token(&[]));
    let mut reads = served.open(&served.outside, "reader", &reader, "query");
    let mut writes = served.open(&served.outside, "writer", &writer, "query");
    let mut collab = Editor::connect(served.server.port(), "reader");
    collab.call(&json!({ "do": "open", "as": "a", "room": served.outside, "token": reader }));
    wait(&mut collab, "a", "saved");
    reads.wait_for("synced");
    writes.wait_for("synced");
    reads.insert(0, "not mine to write\n");
    collab.call(&json!({ "do": "insert", "as": "a", "at": 0, "text": "nor mine\n" }));
    writes.insert(-1, "written\n");
    reads.wait_for_text(&["written\n"]);
    collab.call(&json!({ "do": "wait", "as": "a", "text": ["written\n"] }));
    let state = collab.call(&json!({ "do": "state" }));
    let document = &state["documents"]["a"];
    // What it typed is known to be unsaved.
    assert_eq!(
        (&document["scope"], &document["unsaved"]),
        (&json!("readonly"), &json!(1)),
        "{state}"
    );
    assert_eq!(
        (served.cat("/out.txt"), writes.text()),
        ("out\nwritten\n".into(), "out\nwritten\n".into())
    );
    // Nor the table of all files.
    let mut table = served.open(&served.main, "reader", &reader, "query");
    table.wait_for("synced");
}

#[test]
fn a_token_for_a_folder_opens_what_is_below_it_as_long_as_it_is() {
    let served = Served::start();
    let docs = served.token(&["--path", "/docs", "--for", "human:ana"]);
    let brief = served.token(&["--path", "/docs"]);
    let stays = &served.stays;
    let mut editor = served.open(&served.inside, "ana", &docs, "query");
    let mut revoked = served.open(stays, "eve", &brief, "protocol");
    let mut collab = Editor::connect(served.server.port(), "ana");
    collab.call(&json!({ "do": "open", "as": "goes", "room": served.inside, "token": docs }));
    collab.call(&json!({ "do": "open", "as": "stays", "room": stays, "token": docs }));
    editor.wait_for("synced");
    revoked.wait_for("synced");
    wait(&mut collab, "goes", "saved");
    wait(&mut collab, "stays", "saved");
    editor.insert(-1, "typed\n");
    collab.call(&json!({ "do": "wait", "as": "goes", "text": ["in\ntyped\n"] }));

    // The file goes where the token does not reach, and the other token is taken back.
    ok(served.dir.path(), &["mv", "/docs/in.txt", "/moved.txt"]);
    served.revoke(&brief);
    editor.wait_for("closed");
    revoked.wait_for("closed");
    wait(&mut collab, "goes", "closed");
    assert_eq!(editor.call(&json!({ "do": "state" }))["closes"][0], 4403);
    assert_eq!(revoked.call(&json!({ "do": "state" }))["closes"][0], 4401);
    editor.insert(0, "too late\n");
    // What is open beside it on the same socket is still open.
    collab.call(&json!({ "do": "insert", "as": "stays", "at": -1, "text": "and is written\n" }));
    wait(&mut collab, "stays", "saved");
    let state = collab.call(&json!({ "do": "state" }));
    assert_eq!(state["n_connects"], 1, "{state}");
    assert_eq!(state["documents"]["goes"]["closed"], "the token does not reach this document");
    assert_eq!(served.cat("/moved.txt"), "in\ntyped\n");
    assert_eq!(served.cat("/docs/stays.txt"), "stays\nand is written\n");
}

/// Returns an update that lists a blob among the versions of a file, as a hostile client writes it.
fn listing(hash: ContentHash, size: usize) -> Vec<u8> {
    let doc = Doc::with_client_id(9);
    let versions = doc.get_or_insert_array("fs:blobs");
    let members = [("hash", Any::from(hash.to_string())), ("size", Any::from(size as f64))];
    let members: HashMap<_, _> =
        members.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
    let mut txn = doc.transact_mut();
    versions.push_back(&mut txn, Any::from(members));
    txn.encode_update_v1()
}

#[test]
fn a_token_for_a_folder_opens_no_blob_by_its_hash() {
    let served = Served::start();
    let secret = [&[0xff, 0][..], b"secret"].concat();
    assert_eq!(served.owner.send("PUT", "/api/files/secret.bin", &[], &secret).status, 201);
    let docs = served.token(&["--path", "/docs"]);
    let mut socket =
        Socket::open(served.server.port(), &format!("/sync/{}?token={docs}", served.inside), &[]);
    socket.send(&SyncMessage::Update(&listing(ContentHash::of(&secret), secret.len())).encode());
    socket.send(&SyncMessage::Step1(&[0]).encode());
    socket.wait_for(|message| message.starts_with(&[0, 1]));
    let stranger = Client { token: Some(docs), ..served.owner.clone() };
    let versions = stranger.get("/api/versions/docs/in.txt").json();
    for version in versions["versions"].as_array().unwrap() {
        let path = format!("/api/files/docs/in.txt?version={}", version["number"]);
        assert_eq!(stranger.get(&path).body, b"in\n", "{versions}");
    }
}

#[test]
fn a_token_is_valid_only_as_it_was_written() {
    let served = Served::start();
    let status = |token: String| {
        let client = Client { token: Some(token), ..served.owner.clone() };
        client.get("/api/tree").status
    };
    // In the alphabet of base64 for URLs `_` and `-` stand for what is `/` and `+` elsewhere.
    let token = (0..100).map(|_| served.token(&[])).find(|token| token[4..].contains(['-', '_']));
    let token = token.unwrap();
    assert_eq!(status(token.clone()), 200);
    let standard = format!("yfs_{}", token[4..].replace('-', "+").replace('_', "/"));
    let written_otherwise =
        [standard, format!("{token}="), token.replace("yfs_", "YFS_"), format!("{token}A")];
    for token in written_otherwise {
        assert_eq!(status(token.clone()), 401, "{token}");
    }
}
