//! The client of the vertical slice, run against a plain server: if it passes here and fails
//! against our server, the fault is ours.

use std::{
    io::{BufRead, BufReader, Write},
    process::Child,
};

use serde_json::json;
use yfs_tests::{editor::Editor, node};

#[test]
fn two_editors_type_at_once_and_survive_a_cut_line() {
    let (mut server, port) = plain_server();
    let mut ana = Editor::open(port, "room", "ana");
    let mut ben = Editor::open(port, "room", "ben");
    ana.insert(0, "The tide is 😀 high.\n");
    ben.wait_for_text(&["high"]);
    ana.type_slowly(0, "« From Ana »", 5);
    ben.type_slowly(-1, "« From Ben »", 5);
    server.stdin.as_mut().expect("stdin was piped").write_all(b"cut\n").expect("it reads");
    ana.wait_for("typed");
    ben.wait_for("typed");
    let both = ["« From Ana »", "« From Ben »"];
    ana.wait_for_text(&both);
    ben.wait_for_text(&both);
    assert_eq!(ana.text(), "« From Ana »The tide is 😀 high.\n« From Ben »");
    assert_eq!(ben.text(), ana.text());
    let state = ana.call(&json!({ "do": "state" }));
    assert_eq!(state["n_connects"], 2, "the line was cut once: {state}");
    server.kill().expect("it runs");
    server.wait().expect("it was started here");
    ana.wait_for("disconnected");
}

#[test]
fn a_caret_stays_where_it_was_while_others_edit() {
    let (mut server, port) = plain_server();
    let mut ana = Editor::open(port, "room", "ana");
    let mut ben = Editor::open(port, "room", "ben");
    ana.insert(0, "[]");
    ben.wait_for_text(&["[]"]);
    ana.type_slowly(1, "one two three four", 4);
    for n in 0..10 {
        ben.insert(0, &format!("{n}."));
    }
    ana.wait_for("typed");
    ana.wait_for_text(&["9.8.7.6.5.4.3.2.1.0.[one two three four]"]);
    server.kill().expect("it runs");
    server.wait().expect("it was started here");
}

fn plain_server() -> (Child, u16) {
    let mut server = node::spawn("plain-server.mjs", &[]);
    let mut port = String::new();
    let stdout = server.stdout.take().expect("stdout was piped");
    BufReader::new(stdout).read_line(&mut port).expect("it prints its port");
    (server, port.trim().parse().expect("a port"))
}
