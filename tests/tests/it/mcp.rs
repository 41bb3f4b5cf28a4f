//! The server of the Model Context Protocol, driven by the official clients and by raw messages.

mod approvals;
mod http;
mod progress;
#[cfg(unix)]
mod protected_files;
mod races;
mod reference;

use std::{
    fs,
    io::{BufRead, BufReader, Write},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

use serde_json::{Value, json};
use tempfile::TempDir;
use yfs_tests::{command::program as yfs, node, root};

/// The pinned version of the official Python client.
const PYTHON_CLIENT: &str = "mcp==2.3.0";

const PROFILES: [&str; 3] = ["full", "reference", "memory"];

/// A running server, to which a test writes lines. Killed when dropped.
struct RawServer {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl RawServer {
    fn start(dir: &Path, args: &[&str]) -> Self {
        let mut command = Command::new(yfs());
        command.args(["mcp", "--quiet", "--workspace"]).arg(dir).args(args);
        Self::spawn(&mut command)
    }

    fn spawn(command: &mut Command) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("the command runs");
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().expect("stdout was piped"));
        Self { child, input, output }
    }

    fn initialized(dir: &Path, args: &[&str], capabilities: Value) -> Self {
        let mut server = Self::start(dir, args);
        server.initialize(capabilities);
        server
    }

    /// Begins the session, and returns how the server presents itself.
    fn initialize(&mut self, capabilities: Value) -> Value {
        let client = json!({ "name": "raw", "version": "1" });
        let params = json!({
            "protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": client,
        });
        let info = self.request(0, "initialize", params);
        self.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        info["result"].clone()
    }

    fn send_line(&mut self, line: &str) {
        let input = self.input.as_mut().expect("open until the end");
        writeln!(input, "{line}").expect("the server reads");
    }

    fn send(&mut self, message: &Value) {
        self.send_line(&message.to_string());
    }

    fn receive(&mut self) -> Value {
        let mut line = String::new();
        self.output.read_line(&mut line).expect("the server writes UTF-8");
        serde_json::from_str(&line).unwrap_or_else(|_| panic!("not a message: {line:?}"))
    }

    fn request(&mut self, id: u64, method: &str, params: Value) -> Value {
        let request = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        self.send(&request);
        loop {
            let message = self.receive();
            if message["id"] == id {
                return message;
            }
        }
    }

    fn call(&mut self, id: u64, tool: &str, arguments: Value) -> Value {
        self.request(id, "tools/call", json!({ "name": tool, "arguments": arguments }))
    }

    /// Closes the input, and returns whether the server ended with success.
    fn end(mut self) -> bool {
        drop(self.input.take());
        self.child.wait().expect("a child can be waited for").success()
    }
}

impl Drop for RawServer {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

fn workspace() -> TempDir {
    let dir = TempDir::new().expect("a temporary directory");
    run(Command::new(yfs()).args(["init", "--quiet"]).current_dir(dir.path()));
    dir
}

fn run(command: &mut Command) -> String {
    let output = command.output().expect("the command runs");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {errors}");
    String::from_utf8(output.stdout).expect("UTF-8")
}

fn stdio_target(dir: &Path, profile: &str) -> String {
    let program = yfs();
    let args = ["mcp", "--quiet", "--profile", profile, "--workspace"];
    let mut command = vec![program.to_str().expect("UTF-8")];
    command.extend(args);
    command.push(dir.to_str().expect("UTF-8"));
    json!(command).to_string()
}

/// Returns a Python with the official client, or `None` where there is no python3.
fn python() -> Option<PathBuf> {
    let venv = root().join("target/python-mcp");
    let python = venv.join("bin/python");
    let stamp = venv.join("installed");
    fs::create_dir_all(&venv).expect("target can be written");
    let lock = fs::File::create(venv.join("lock")).expect("target can be written");
    lock.lock().expect("a local file can be locked");
    if fs::read_to_string(&stamp).is_ok_and(|installed| installed == PYTHON_CLIENT) {
        return Some(python);
    }
    let made = Command::new("python3").args(["-m", "venv"]).arg(&venv).output().ok()?;
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    run(Command::new(&python).args(["-m", "pip", "install", "--quiet", PYTHON_CLIENT]));
    fs::write(&stamp, PYTHON_CLIENT).expect("target can be written");
    Some(python)
}

fn drive_python(python: &Path, target: &str, profile: &str, mode: &str) -> String {
    let tests = root().join("tests");
    let script = tests.join("python/mcp_client.py");
    let calls = tests.join("node/mcp-calls.json");
    run(Command::new(python).arg(script).arg(calls).args([target, profile, mode]))
}

#[test]
fn the_typescript_client_calls_every_tool_over_stdio() {
    for profile in PROFILES {
        let dir = workspace();
        node::run_script("mcp-client.mjs", &[&stdio_target(dir.path(), profile), profile], b"");
    }
}

#[test]
fn the_python_client_calls_every_tool_over_stdio_by_both_protocol_versions() {
    let Some(python) = python() else { return };
    for profile in PROFILES {
        for (mode, version) in [("legacy", "2025-11-25"), ("auto", "2026-07-28")] {
            let dir = workspace();
            let target = stdio_target(dir.path(), profile);
            let out = drive_python(&python, &target, profile, mode);
            assert!(out.starts_with(version), "{out}");
        }
    }
}

#[test]
fn bad_messages_leave_the_connection_usable() {
    let dir = workspace();
    let mut server = RawServer::initialized(dir.path(), &[], json!({}));
    server.send_line("{not json");
    server.send_line("[]");
    server.send_line(&format!("{{\"huge\": \"{}\"}}", "x".repeat(17 << 20)));
    let unknown = server.call(1, "fly", json!({}));
    // A result, which the model sees.
    assert_eq!(unknown["result"]["isError"], true, "{unknown}");
    let wrong = server.call(2, "fs_read", json!({ "path": 7 }));
    assert_eq!(wrong["result"]["isError"], true, "{wrong}");
    let method = server.request(3, "fly", json!({}));
    assert_eq!(method["error"]["code"], -32601, "{method}");
    // A cancelled call need not be answered; the next one is.
    let call = json!({ "name": "grep", "arguments": { "pattern": "x" } });
    server.send(&json!({ "jsonrpc": "2.0", "id": 4, "method": "tools/call", "params": call }));
    let cancel = json!({ "requestId": 4 });
    server.send(&json!({
        "jsonrpc": "2.0", "method": "notifications/cancelled", "params": cancel,
    }));
    assert!(server.request(5, "ping", json!({}))["result"].is_object());
    assert!(server.end());
}

#[test]
fn a_client_that_leaves_early_ends_the_server() {
    let dir = workspace();
    assert!(RawServer::start(dir.path(), &[]).end());
    let mut server = RawServer::initialized(dir.path(), &[], json!({}));
    server.send_line("{\"jsonrpc\": \"2.0\", \"id\": 1, \"method\": \"tools/c");
    assert!(server.end());
}

#[test]
fn a_rule_that_interrupts_asks_the_person() {
    let dir = workspace();
    let rules = dir.path().join("rules.json");
    let rule = json!([{ "operations": ["write"], "paths": ["/**"], "mode": "interrupt" }]);
    fs::write(&rules, rule.to_string()).expect("a temporary file");
    let args = ["--rules", rules.to_str().expect("UTF-8"), "--profile", "fs"];
    let write = json!({ "path": "/a.txt", "content": "a" });

    let mut unable = RawServer::initialized(dir.path(), &args, json!({}));
    let refused = unable.call(1, "fs_write", write.clone());
    assert_eq!(refused["result"]["isError"], true, "{refused}");
    assert!(refused.to_string().contains("elicitation"), "{refused}");

    for (action, is_refused) in [("decline", true), ("accept", false)] {
        let mut asked = RawServer::initialized(dir.path(), &args, json!({ "elicitation": {} }));
        let params = json!({ "name": "fs_write", "arguments": write });
        asked.send(&json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params }));
        let reply = loop {
            let message = asked.receive();
            if message["method"] == "elicitation/create" {
                assert_eq!(message["params"]["message"], "May the agent change /a.txt?");
                let result = json!({ "action": action, "content": {} });
                let id = &message["id"];
                asked.send(&json!({ "jsonrpc": "2.0", "id": id, "result": result }));
            } else {
                break message;
            }
        };
        assert_eq!(reply["result"]["isError"] == json!(true), is_refused, "{reply}");
    }
}

#[test]
fn a_read_only_server_offers_and_accepts_no_change() {
    let dir = workspace();
    let mut server = RawServer::initialized(dir.path(), &["--read-only"], json!({}));
    let tools = server.request(1, "tools/list", json!({}));
    let tools = tools["result"]["tools"].as_array().expect("a list").clone();
    assert!(tools.iter().all(|tool| tool["annotations"]["readOnlyHint"] == true));
    let refused = server.call(2, "fs_write", json!({ "path": "/a", "content": "" }));
    assert_eq!(refused["result"]["isError"], true, "{refused}");
}

#[test]
fn only_what_is_allowed_is_seen() {
    let dir = workspace();
    for path in ["/in/a.txt", "/out/b.txt"] {
        let mut command = Command::new(yfs());
        command.args(["write", path]).current_dir(dir.path());
        let mut child = command.stdin(Stdio::piped()).spawn().expect("the command runs");
        drop(child.stdin.take());
        assert!(child.wait().expect("it ends").success());
    }
    let mut server = RawServer::initialized(dir.path(), &["--allow", "/in"], json!({}));
    let read =
        |server: &mut RawServer, id, path| server.call(id, "fs_read", json!({ "path": path }));
    assert_ne!(read(&mut server, 1, "/in/a.txt")["result"]["isError"], true);
    assert_eq!(read(&mut server, 2, "/out/b.txt")["result"]["isError"], true);
    let listed = server.request(3, "resources/list", json!({}));
    let uris = listed["result"]["resources"].as_array().expect("a list").iter();
    let uris: Vec<_> = uris.map(|resource| resource["uri"].clone()).collect();
    assert_eq!(uris, ["file:///in/a.txt"]);
    // The request is valid, so the error is one of its parameters.
    for (id, name, code) in [(4, "out/b.txt", -32602), (5, "in/none", -32002), (6, "in", -32602)] {
        let uri = format!("file:///{name}");
        let reply = server.request(id, "resources/read", json!({ "uri": uri }));
        assert_eq!(reply["error"]["code"], code, "{reply}");
        assert_eq!(reply["error"]["data"]["uri"], uri, "{reply}");
    }
}

#[test]
fn directories_of_the_host_are_confined() {
    let place = TempDir::new().expect("a temporary directory");
    let (inside, outside) = (place.path().join("in"), place.path().join("out.txt"));
    fs::create_dir(&inside).expect("a temporary directory");
    fs::write(&outside, "secret").expect("a temporary file");
    fs::write(inside.join("a.txt"), "a").expect("a temporary file");
    std::os::unix::fs::symlink(&outside, inside.join("link")).expect("a link");
    let dir = workspace();
    let inside_text = inside.to_str().expect("UTF-8");
    let mut server = RawServer::initialized(dir.path(), &[inside_text], json!({}));
    let mut read = |id, path: PathBuf| server.call(id, "read_text_file", json!({ "path": path }));
    assert_eq!(read(1, inside.join("a.txt"))["result"]["structuredContent"]["content"], "a");
    for (id, path) in [(2, outside), (3, inside.join("link")), (4, inside.join("../out.txt"))] {
        let reply = read(id, path);
        assert_eq!(reply["result"]["isError"], true, "{reply}");
        assert!(!reply.to_string().contains("secret"), "{reply}");
    }
}

/// The calls of a session are recorded below its tools, with the changes of its shell among them,
/// and the whole session can be taken back without the work of others.
#[test]
fn a_session_is_recorded_and_taken_back() {
    let dir = workspace();
    let yfs_in = |args: &[&str]| run(Command::new(yfs()).args(args).current_dir(dir.path()));
    let script = "printf 'one\\ntwo\\n' > /plan.md; echo 3 > /n; echo 4 >> /n";
    let mut server = RawServer::initialized(dir.path(), &["--shell"], json!({}));
    let done = server.call(1, "execute", json!({ "command": script }));
    assert!(done["result"]["isError"].is_null(), "{done}");
    let sum = json!({ "path": "/n", "query": ". + 1" });
    assert_eq!(server.call(2, "query", sum)["result"]["structuredContent"]["content"], "4\n5\n");
    assert!(server.end());
    yfs_in(&["edit", "/plan.md", "--old", "two", "--new", "two by a person"]);

    let recorded = yfs_in(&["audit", "--json"]);
    let records: Vec<Value> =
        recorded.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let changed = |path: &str| {
        let names = |record: &&Value| record["files"][0]["path"] == path;
        let operations = records.iter().filter(names).map(|record| &record["operation"]);
        operations.filter_map(Value::as_str).map(str::to_owned).collect::<Vec<String>>()
    };
    assert_eq!(changed("/plan.md"), ["write"]);
    assert_eq!(changed("/n"), ["write", "append"]);
    let calls = yfs_in(&["audit", "--calls"]);
    assert!(calls.contains("execute") && calls.contains("query"), "{calls}");

    let session = records[0]["session"].as_str().expect("a session").to_owned();
    let undo = Command::new(yfs())
        .args(["undo", "--session", &session, "--yes"])
        .current_dir(dir.path())
        .output()
        .expect("the command runs");
    let errors = String::from_utf8_lossy(&undo.stderr);
    // A person has edited the plan, so it stays, and the command says so.
    assert!(errors.contains("/plan.md"), "{errors}");
    assert_eq!(yfs_in(&["ls"]), "plan.md\n");
    assert_eq!(yfs_in(&["cat", "/plan.md"]), "one\ntwo by a person\n");
}

/// The moves and directories of a session are taken back, and the command names what it leaves.
#[test]
fn moves_of_a_session_are_taken_back() {
    let dir = workspace();
    let yfs_in = |args: &[&str]| run(Command::new(yfs()).args(args).current_dir(dir.path()));
    yfs_in(&["write", "/plan.md", "--content", "one"]);
    let before = yfs_in(&["find"]);
    let mut server = RawServer::initialized(dir.path(), &["--shell"], json!({}));
    let moved = json!({ "source": "/plan.md", "destination": "/old.md" });
    assert!(server.call(1, "fs_move", moved)["result"]["isError"].is_null());
    let script = "mkdir -p dd/ee ff; mv old.md dd; ln -s dd/old.md link";
    let done = server.call(2, "execute", json!({ "command": script }));
    assert!(done["result"]["isError"].is_null(), "{done}");
    let listed = server.call(3, "undo_session", json!({ "dry_run": true }));
    assert!(listed["result"]["isError"].is_null(), "{listed}");
    assert!(server.end());
    yfs_in(&["write", "/ff/by-a-person", "--content", "x"]);
    let records = yfs_in(&["audit", "--json"]);
    let record: Value = serde_json::from_str(records.lines().next().expect("one")).expect("JSON");
    let session = record["session"].as_str().expect("a session").to_owned();
    let undo = |option: &str| {
        let mut command = Command::new(yfs());
        command.args(["undo", "--session", &session, option]).current_dir(dir.path());
        let output = command.output().expect("the command runs");
        let [out, errors] =
            [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
        (out, errors, output.status.code())
    };
    let (plan, _, code) = undo("--dry-run");
    assert!(plan.contains("/dd/old.md  back to /old.md") && code == Some(0), "{plan}");
    let (out, errors, code) = undo("--yes");
    assert!(out.contains("moved     /plan.md  from /old.md"), "{out}");
    assert!(
        errors.contains("cannot undo the change of /ff: the directory is not empty"),
        "{errors}"
    );
    assert_eq!(code, Some(1));
    let after = yfs_in(&["find"]);
    let left: Vec<&str> = after.lines().filter(|line| !line.starts_with("/ff")).collect();
    assert_eq!(left, before.lines().collect::<Vec<_>>());
}
