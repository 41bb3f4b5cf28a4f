//! A first peer of a server: what it gets is put together from the log, without the document of the
//! CRDT library. It must be the document, for real Yjs as well.

use std::path::Path;

use serde_json::Value;
use yfs_sync::message::SyncMessage;
use yfs_tests::{
    command::{Server, ok, run},
    node::Yjs,
    socket::Socket,
};

/// An empty state vector.
const NOTHING: &[u8] = &[0];

/// A state vector with clock 0 of a client: the library's document answers it, with all it has.
const ONLY_UNKNOWN: &[u8] = &[1, 5, 0];

/// Makes a workspace that many processes wrote: files, directories, links, renames, removals.
fn workspace(dir: &Path, compacts: bool) {
    ok(dir, &["init"]);
    let source = dir.join("source");
    for at in 0..60 {
        let above = source.join(format!("d{}", at % 6));
        std::fs::create_dir_all(&above).expect("created");
        let end = ["txt", "md", "bin"][at % 3];
        std::fs::write(above.join(format!("f{at} é.{end}")), format!("text {at}"))
            .expect("written");
    }
    ok(dir, &["import", source.to_str().expect("a path"), "/in"]);
    std::fs::remove_dir_all(&source).expect("removed");
    for at in 0..6 {
        let (d, n) = (at % 6, at + 6);
        let end = ["txt", "md", "bin"][n % 3];
        ok(dir, &["mv", &format!("/in/d{}/f{n} é.{end}", n % 6), &format!("/in/d{d}/new{at}")]);
    }
    ok(dir, &["rm", "-r", "/in/d5"]);
    ok(dir, &["ln", "-s", "/in/d0", "/link"]);
    ok(dir, &["chmod", "700", "/in/d1"]);
    ok(dir, &["mv", "/in/d2", "/in/d3/deep"]);
    if compacts {
        ok(dir, &["admin", "compact"]);
        ok(dir, &["mv", "/in/d4", "/four"]);
    }
}

/// Connects, and asks for what a peer with a state vector lacks.
fn join(server: &Server, room: &str, state_vector: &[u8]) -> (Socket, Vec<u8>) {
    let mut socket = Socket::open(server.port(), &format!("/sync/{room}"), &[]);
    socket.send(&SyncMessage::Step1(state_vector).encode());
    let state = wait_for_update(&mut socket);
    (socket, state)
}

/// Waits for the next update.
fn wait_for_update(socket: &mut Socket) -> Vec<u8> {
    let message = socket.wait_for(|message| {
        let message = SyncMessage::decode(message);
        matches!(message, Ok(SyncMessage::Step2(_) | SyncMessage::Update(_)))
    });
    match SyncMessage::decode(&message) {
        Ok(SyncMessage::Step2(update) | SyncMessage::Update(update)) => update.to_vec(),
        other => panic!("no update: {other:?}"),
    }
}

/// Returns everything that real Yjs finds in a document.
fn shown(yjs: &mut Yjs, doc: &str) -> Vec<Value> {
    let tables = ["table:files", "fs:cells", "fs:meta"];
    let elements =
        tables.map(|root| yjs.call("array", serde_json::json!({ "doc": doc, "root": root })));
    let same = ["roots", "sv"].map(|op| yjs.call(op, serde_json::json!({ "doc": doc })));
    elements.into_iter().chain(same).collect()
}

#[test]
fn a_first_peer_gets_the_document_from_the_log_and_stays_equal() {
    let mut yjs = Yjs::start();
    for compacts in [false, true] {
        let directory = tempfile::tempdir().expect("a directory");
        let dir = directory.path();
        workspace(dir, compacts);
        let server = Server::start_with(dir, &["--open", "--no-mirror"]);
        let (_, tree) = server.get("/api/tree");
        let tree: Value = serde_json::from_str(&tree).expect("JSON");
        let room = tree["workspace"].as_str().expect("an id").to_owned();

        let (mut first, state) = join(&server, &room, NOTHING);
        assert!(state.len() > 1000, "all of it: {} bytes", state.len());
        let name = |what: &str| format!("{what} {compacts}");
        yjs.make(&name("first"), 1, true);
        assert!(!yjs.apply(&name("first"), &state), "nothing is missing");

        // Another process writes, then a peer.
        assert_eq!(run(dir, &["mkdir", "/later"], b"").code, Some(0));
        let update = wait_for_update(&mut first);
        assert!(!yjs.apply(&name("first"), &update));

        let (_, by_yrs) = join(&server, &room, ONLY_UNKNOWN);
        yjs.make(&name("second"), 2, true);
        assert!(!yjs.apply(&name("second"), &by_yrs));
        let [found, expected] = ["first", "second"].map(|doc| shown(&mut yjs, &name(doc)));
        assert_eq!(found, expected, "compacted: {compacts}");

        let (_, again) = join(&server, &room, NOTHING);
        yjs.make(&name("third"), 3, true);
        assert!(!yjs.apply(&name("third"), &again));
        assert_eq!(shown(&mut yjs, &name("third")), expected, "compacted: {compacts}");
    }
}
