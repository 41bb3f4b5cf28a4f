//! Editors on the wire: stock `y-websocket` and Hocuspocus clients, each in a process of its own.

use std::{
    io::{BufRead, BufReader, Write},
    process::{Child, ChildStdin, ChildStdout},
};

use serde_json::{Value, json};

use crate::node;

/// A running `slice-client.mjs` or `collab-client.mjs`. Its methods panic when the client cannot
/// run a command, which fails the test. Ends when dropped.
#[derive(Debug)]
pub struct Editor {
    child: Child,
    commands: ChildStdin,
    answers: BufReader<ChildStdout>,
    name: String,
}

impl Editor {
    /// Opens `room` at `ws://127.0.0.1:port/sync` and waits until it has what the server has.
    pub fn open(port: u16, room: &str, name: &str) -> Self {
        let mut editor = Self::open_unsynced(port, room, name);
        editor.wait_for("synced");
        editor
    }

    /// As [`Editor::open`], without waiting for the server.
    pub fn open_unsynced(port: u16, room: &str, name: &str) -> Self {
        let url = format!("ws://127.0.0.1:{port}/sync");
        Self::start("slice-client.mjs", &[&url, room, name], name)
    }

    /// As [`Editor::open`], showing a token.
    pub fn open_with_token(port: u16, room: &str, name: &str, token: &str) -> Self {
        let url = format!("ws://127.0.0.1:{port}/sync");
        let mut editor = Self::start("slice-client.mjs", &[&url, room, name, token], name);
        editor.wait_for("synced");
        editor
    }

    /// As [`Editor::open_unsynced`], showing a token: `how` is `query` or `protocol`.
    pub fn open_with(port: u16, room: &str, name: &str, token: &str, how: &str) -> Self {
        let url = format!("ws://127.0.0.1:{port}/sync");
        Self::start("slice-client.mjs", &[&url, room, name, token, how], name)
    }

    /// Connects a Hocuspocus client (`collab-client.mjs`) to `ws://127.0.0.1:port/collab`. It opens
    /// its documents by [`Editor::call`].
    pub fn connect(port: u16, name: &str) -> Self {
        let url = format!("ws://127.0.0.1:{port}/collab");
        Self::start("collab-client.mjs", &[&url, name], name)
    }

    /// Starts a client with live editors (`editors/live.mjs`), which opens documents by
    /// [`Editor::call`].
    pub fn live(port: u16, name: &str, token: &str) -> Self {
        node::ensure_installed(node::EDITORS);
        Self::start("editors/live.mjs", &[&format!("ws://127.0.0.1:{port}"), token], name)
    }

    fn start(script: &str, args: &[&str], name: &str) -> Self {
        let mut child = node::spawn(script, args);
        let commands = child.stdin.take().expect("stdin was piped");
        let answers = BufReader::new(child.stdout.take().expect("stdout was piped"));
        Self { child, commands, answers, name: name.to_owned() }
    }

    /// Gives one command (see the script) and returns the state after it.
    pub fn call(&mut self, command: &Value) -> Value {
        writeln!(self.commands, "{command}").expect("the client reads until its stdin ends");
        let mut line = String::new();
        self.answers.read_line(&mut line).expect("the client writes UTF-8");
        assert!(!line.is_empty(), "{} died at {command}", self.name);
        let mut answer: Value = serde_json::from_str(&line).expect("the client writes JSON");
        let error = &answer["error"];
        assert!(error.is_null(), "{}: {error}, with {}", self.name, answer["state"]);
        answer["ok"].take()
    }

    /// Returns the text that this editor shows.
    pub fn text(&mut self) -> String {
        let state = self.call(&json!({ "do": "state" }));
        state["text"].as_str().expect("text is a string").to_owned()
    }

    /// Inserts at a position in UTF-16 units; a negative one counts from the end.
    pub fn insert(&mut self, at: i64, text: &str) {
        self.call(&json!({ "do": "insert", "at": at, "text": text }));
    }

    /// Begins to type, a character every `every_ms`, and returns at once.
    pub fn type_slowly(&mut self, at: i64, text: &str, every_ms: u64) {
        self.call(&json!({ "do": "type", "at": at, "text": text, "every_ms": every_ms }));
    }

    /// Waits until the client is `synced`, `disconnected` or has `typed` the whole text.
    pub fn wait_for(&mut self, what: &str) {
        self.call(&json!({ "do": "wait", "for": what }));
    }

    /// Waits until the text holds all of these.
    pub fn wait_for_text(&mut self, parts: &[&str]) {
        self.call(&json!({ "do": "wait", "text": parts }));
    }
}

impl Drop for Editor {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}
