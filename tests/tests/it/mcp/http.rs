//! `/mcp` of a server: sessions over connections, and the official clients.

use std::{
    io::{BufRead, BufReader},
    path::Path,
    process::{Child, Command, Stdio},
};

use serde_json::{Value, json};
use yfs_tests::{command::program as yfs, http::Client, node, served::Served};

use super::{PROFILES, drive_python, python, run, workspace};

/// A server of `/mcp`. Killed when dropped.
struct HttpServer {
    child: Child,
    url: String,
}

impl HttpServer {
    fn start(dir: &Path) -> Self {
        let mut command = Command::new(yfs());
        command.args(["serve", "--json", "--no-mirror", "--port", "0"]).arg(dir);
        let mut child = command.stdout(Stdio::piped()).spawn().expect("the command runs");
        let mut line = String::new();
        let mut output = BufReader::new(child.stdout.take().expect("stdout was piped"));
        output.read_line(&mut line).expect("the server announces itself");
        let said: Value = serde_json::from_str(&line).expect("JSON");
        let text = |key: &str| said[key].as_str().expect("a string").to_owned();
        let url = format!("{}mcp?token={}", text("url"), text("token"));
        Self { child, url }
    }

    fn target(&self, profile: &str) -> String {
        format!("{}&profile={profile}", self.url)
    }
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

#[test]
fn the_official_clients_call_every_tool_over_http() {
    let python = python();
    for profile in PROFILES {
        let dir = workspace();
        let server = HttpServer::start(dir.path());
        node::run_script("mcp-client.mjs", &[&server.target(profile), profile], b"");
        for (mode, version) in [("legacy", "2025-11-25"), ("auto", "2026-07-28")] {
            let Some(python) = &python else { continue };
            let dir = workspace();
            let server = HttpServer::start(dir.path());
            let out = drive_python(python, &server.target(profile), profile, mode);
            assert!(out.starts_with(version), "{out}");
        }
    }
}

/// Calls a tool by protocol version 2026-07-28, on a connection of its own, as the official Python
/// client does.
fn call_alone(url: &str, client: &str, tool: &str, arguments: &Value) -> Value {
    let url = url.strip_prefix("http://127.0.0.1:").expect("an address");
    let (port, path) = url.split_once('/').expect("a path");
    let body = json!({
        "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": { "name": tool, "arguments": arguments, "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": { "name": client, "version": "1" },
            "io.modelcontextprotocol/clientCapabilities": {},
        } },
    });
    let headers = [
        ("content-type", "application/json"),
        ("accept", "application/json, text/event-stream"),
        ("mcp-protocol-version", "2026-07-28"),
        ("mcp-method", "tools/call"),
        ("mcp-name", tool),
    ];
    let client = Client { port: port.parse().expect("a port"), token: None };
    let answer = client.send("POST", &format!("/{path}"), &headers, body.to_string().as_bytes());
    let reply = String::from_utf8(answer.body).expect("UTF-8");
    let start = reply.find("{\"jsonrpc\"").unwrap_or_else(|| panic!("no message: {reply}"));
    let end = reply.rfind('}').expect("a message ends");
    serde_json::from_str(&reply[start..=end]).unwrap_or_else(|_| panic!("{reply}"))
}

/// A client that opens a connection for each request has one session: its stale writes are merged,
/// its calls are undone together, and they have one label.
#[test]
fn a_session_lasts_over_connections() {
    let dir = workspace();
    let server = HttpServer::start(dir.path());
    let yfs_in = |args: &[&str]| run(Command::new(yfs()).args(args).current_dir(dir.path()));
    let url = server.target("full");
    let call = |tool: &str, arguments: Value| {
        let reply = call_alone(&url, "scout", tool, &arguments);
        assert_ne!(reply["result"]["isError"], true, "{reply}");
        reply["result"]["content"][0]["text"].as_str().expect("a text").to_owned()
    };
    let text = |first: &str, third: &str| format!("{first}\n\nsecond\n\n{third}\n");
    call("fs_write", json!({ "path": "/a.md", "content": text("first", "third") }));
    for (read, write, path) in
        [("fs_read", "fs_write", "path"), ("read_file", "write_file", "file_path")]
    {
        call(read, json!({ path: "/a.md" }));
        yfs_in(&["edit", "/a.md", "--old", "third", "--new", "third by ana"]);
        let content = text("first by the agent", "third");
        let reply = call(write, json!({ path: "/a.md", "content": content }));
        assert!(reply.contains("Others changed the file"), "{reply}");
        assert_eq!(yfs_in(&["cat", "/a.md"]), text("first by the agent", "third by ana"));
        call("fs_write", json!({ "path": "/a.md", "content": text("first", "third by ana") }));
        yfs_in(&["edit", "/a.md", "--old", "third by ana", "--new", "third"]);
        call("read_file", json!({ "file_path": "/a.md" }));
    }
    call("fs_write", json!({ "path": "/b.md", "content": "b" }));
    call("fs_copy", json!({ "source": "/b.md", "destination": "/c.md" }));
    let records: Vec<Value> = yfs_in(&["audit", "--json"])
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    let session = &records[0]["session"];
    assert!(records.len() > 10 && records.iter().all(|record| record["session"] == *session));
    call("undo_session", json!({}));
    assert_eq!(yfs_in(&["ls"]), "");
    // Another program has another session, which has not read what others wrote.
    for (client, is_noted) in [("writer", false), ("other", true)] {
        let write = json!({ "path": "/p.md", "content": client });
        let reply = call_alone(&url, client, "fs_write", &write).to_string();
        assert_eq!(reply.contains("this session has not read it"), is_noted, "{reply}");
    }
}

/// A token for a directory: the model learns of the directory before its first call, finds it from
/// the root, and learns nothing of other files.
#[test]
fn a_token_for_a_directory_shows_the_way_to_it() {
    let files =
        [("many/f1.txt", "needle\n"), ("other/f1.txt", "needle\n"), ("top.txt", "needle\n")];
    let served = Served::start(&files);
    let reader = served.with_token(&["--read", "--path", "/many"]);
    let token = reader.token.clone().expect("a token");
    let url = format!("http://127.0.0.1:{}/mcp?token={token}", reader.port);
    let begin = json!({
        "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": { "name": "raw", "version": "1" },
        },
    });
    let headers =
        [("content-type", "application/json"), ("accept", "application/json, text/event-stream")];
    let begun = reader.send("POST", "/mcp", &headers, begin.to_string().as_bytes());
    let begun = String::from_utf8(begun.body).expect("UTF-8");
    assert!(begun.contains("This client may use /many and what is below"), "{begun}");
    let call = |tool: &str, arguments: Value| {
        let reply = call_alone(&url, "scout", tool, &arguments);
        reply["result"]["content"][0]["text"].as_str().expect("a text").to_owned()
    };
    for (tool, arguments) in [
        ("ls", json!({ "path": "/" })),
        ("glob", json!({ "pattern": "**/f1.txt" })),
        ("grep", json!({ "pattern": "needle" })),
        ("context", json!({})),
    ] {
        let found = call(tool, arguments);
        let is_hidden = !found.contains("other") && !found.contains("top");
        assert!(found.contains("/many/") && is_hidden, "{tool}: {found}");
    }
    call("changes_since", json!({}));
    for path in ["/top.txt", "/many/f2.txt"] {
        served.client.send("PUT", &format!("/api/files{path}"), &[], b"x");
    }
    let changes = call("changes_since", json!({ "own": true }));
    assert!(changes.contains("/many/f2.txt") && !changes.contains("top"), "{changes}");
    for (tool, argument) in [("fs_read", "path"), ("read_file", "file_path")] {
        let refused = call(tool, json!({ argument: "/top.txt" }));
        assert!(refused.contains("allowed is only /many"), "{tool}: {refused}");
    }
    assert_eq!(served.server.interrupt(), Some(0));
}

/// Two programs with one identity share a session. Neither takes back what the other wrote.
#[test]
fn programs_with_one_identity_lose_no_edits() {
    let dir = workspace();
    let server = HttpServer::start(dir.path());
    let url = server.target("fs");
    let call = |tool: &str, arguments: Value| {
        let reply = call_alone(&url, "twin", tool, &arguments);
        assert_ne!(reply["result"]["isError"], true, "{reply}");
    };
    let text = |lines: [&str; 3]| json!({ "path": "/t", "content": lines.join("\n") + "\n" });
    call("fs_write", text(["one", "two", "three"]));
    call("fs_read", json!({ "path": "/t" }));
    call("fs_read", json!({ "path": "/t" }));
    call("fs_write", text(["one by the first", "two", "three"]));
    call("fs_write", text(["one", "two", "three by the second"]));
    let now = run(Command::new(yfs()).args(["cat", "/t"]).current_dir(dir.path()));
    assert_eq!(now, "one by the first\ntwo\nthree by the second\n");
}
