//! Editors that are connected to the servers of different peers see each other: real processes over
//! loopback, and stock y-websocket clients.

use std::{fs, os::unix::fs::PermissionsExt, path::Path};

use serde_json::{Value, json};
use yfs_tests::{
    command::{Server, ok},
    editor::Editor,
    http::Client,
    peers::{Connected, peers, shared_directory, wait_for_file, wait_until},
};

/// Serves a directory that `yfs peer share` or `yfs peer join` keeps in step.
fn serve(dir: &Path) -> (Server, Client) {
    let server = Server::start_with(dir, &["--open", "--no-mirror"]);
    let client = Client { port: server.port(), token: None };
    (server, client)
}

fn guid_of(client: &Client, path: &str) -> String {
    let tree = client.get("/api/tree").json();
    let entries = tree["entries"].as_array().expect("a list");
    let entry = entries.iter().find(|entry| entry["path"] == path).expect("it is there");
    entry["guid"].as_str().expect("a text").to_owned()
}

fn wait_for_others(editor: &mut Editor, names: &[&str]) {
    editor.call(&json!({ "do": "wait", "others": names }));
}

fn wait_for_cursors(editor: &mut Editor, cursors: &Value) {
    editor.call(&json!({ "do": "wait", "cursors": cursors }));
}

#[test]
fn editors_at_the_servers_of_two_peers_see_each_other() {
    let home = tempfile::tempdir().unwrap();
    let here = shared_directory(home.path());
    let there = home.path().join("there");
    let (server_here, client_here) = serve(&here);
    let share = Connected::share(&here, &["--read-only", "--for", "ben"]);
    let join = Connected::start(home.path(), &["peer", "join", &share.ticket(), "there"]);
    wait_for_file(&there, "plan.txt", "one\n");
    let (server_there, client_there) = serve(&there);
    let guid = guid_of(&client_here, "/plan.txt");

    // A peer that may only read shows its editors as well.
    let mut ana = Editor::open(server_here.port(), &guid, "ana");
    let mut ben = Editor::open(server_there.port(), &guid, "ben");
    wait_for_others(&mut ana, &["ben"]);
    wait_for_others(&mut ben, &["ana"]);
    ben.call(&json!({ "do": "point", "at": 2 }));
    wait_for_cursors(&mut ana, &json!([2]));
    ana.call(&json!({ "do": "point", "at": 3 }));
    wait_for_cursors(&mut ben, &json!([3]));
    let other = ok(&there, &["peer", "id"]);
    let expected = json!([{
        "peer": other.trim(), "id": guid, "path": "/plan.txt", "editors": ["ben"],
    }]);
    assert_eq!(client_here.get("/api/peers").json()["presence"], expected);
    // The command asks the process that connects the peers, by its socket.
    let listed = peers(&here);
    assert_eq!(listed.len(), 1);
    assert_eq!((&listed[0]["id"], &listed[0]["presence"]), (&json!(other.trim()), &expected));
    let text = ok(&here, &["peer", "ls"]);
    assert_eq!(text.lines().nth(1), Some("  /plan.txt: ben"), "{text}");

    // An editor that comes later sees all, and all see it come and go.
    let mut ada = Editor::open(server_here.port(), &guid, "ada");
    wait_for_others(&mut ada, &["ana", "ben"]);
    wait_for_others(&mut ana, &["ada", "ben"]);
    wait_for_others(&mut ben, &["ada", "ana"]);
    drop(ada);
    wait_for_others(&mut ben, &["ana"]);
    wait_for_others(&mut ana, &["ben"]);
    drop(ben);
    wait_for_others(&mut ana, &[]);
    assert_eq!(client_here.get("/api/peers").json()["presence"], json!([]));
    assert_eq!(peers(&here)[0]["presence"], json!([]));

    // The process that connects the peers is killed, and starts again.
    let mut ben = Editor::open(server_there.port(), &guid, "ben");
    wait_for_others(&mut ana, &["ben"]);
    drop(join);
    wait_for_others(&mut ben, &[]);
    wait_for_others(&mut ana, &[]);
    let join = Connected::start(&there, &["peer", "join"]);
    wait_for_others(&mut ana, &["ben"]);
    wait_for_others(&mut ben, &["ana"]);

    // A server is stopped: its editors leave.
    drop(server_here);
    wait_for_others(&mut ben, &[]);
    let (server_here, _) = serve(&here);
    let mut ana = Editor::open(server_here.port(), &guid, "ana");
    wait_for_others(&mut ben, &["ana"]);
    wait_for_others(&mut ana, &["ben"]);

    // A blocked peer neither sees nor is seen.
    ok(&here, &["peer", "block", "ben"]);
    wait_for_others(&mut ana, &[]);
    wait_for_others(&mut ben, &[]);
    assert_eq!(client_there.get("/api/peers").json()["presence"], json!([]));

    // Other users of the machine cannot connect to the socket. It ends with its process.
    let socket = here.join(".yfs/peers.sock");
    assert_eq!(fs::metadata(&socket).unwrap().permissions().mode() & 0o777, 0o600);
    let pid = share.pid().to_string();
    assert!(std::process::Command::new("kill").arg(&pid).status().unwrap().success());
    wait_until("the socket is removed", || !socket.exists());
    drop(join);
}
