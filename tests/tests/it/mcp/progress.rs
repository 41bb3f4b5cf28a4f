//! Progress of long calls, as a client sees it that sends a progress token.

use std::{fs, path::Path, process::Command};

use serde_json::{Value, json};
use yfs_tests::command::program as yfs;

use super::{RawServer, workspace};

const N_FILES: usize = 1_500;

/// Calls a tool with a progress token. Returns the progress so far of each notification.
fn progress_of(server: &mut RawServer, id: u64, tool: &str, arguments: Value) -> Vec<u64> {
    let token = format!("token-{id}");
    let meta = json!({ "progressToken": token });
    let params = json!({ "name": tool, "arguments": arguments, "_meta": meta });
    let method = "tools/call";
    server.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
    let mut seen = Vec::new();
    loop {
        let message = server.receive();
        if message["id"] == id {
            assert_ne!(message["result"]["isError"], true, "{tool}: {message}");
            return seen;
        }
        if message["method"] == "notifications/progress" {
            let params = &message["params"];
            assert_eq!(params["progressToken"], token, "{tool}: {message}");
            assert!(params["message"].as_str().is_some_and(|text| !text.is_empty()), "{message}");
            seen.push(params["progress"].as_f64().expect("a number") as u64);
        }
    }
}

/// Checks that reports grow, and reach `least`.
fn check(tool: &str, seen: &[u64], least: u64) {
    assert!(!seen.is_empty(), "{tool} reports nothing");
    assert!(seen.is_sorted_by(|a, b| a < b), "{tool}: {seen:?}");
    assert!(seen.last().is_some_and(|last| *last >= least), "{tool}: {seen:?}");
}

fn patch(n_files: usize) -> String {
    let add = |n: usize| format!("*** Add File: /patched/{n}\n+line {n}\n");
    let body: String = (0..n_files).map(add).collect();
    format!("*** Begin Patch\n{body}*** End Patch")
}

fn fill(dir: &Path) {
    for n in 0..N_FILES {
        let directory = dir.join(format!("tree/d{}", n % 10));
        fs::create_dir_all(&directory).expect("a directory");
        fs::write(directory.join(format!("f{n}.txt")), format!("hay {n}\n")).expect("a file");
    }
}

#[test]
fn long_calls_over_a_directory_report_progress() {
    // Without a hidden name, below which nothing is searched.
    let dir = tempfile::Builder::new().prefix("served").tempdir().expect("a directory");
    fill(dir.path());
    let tree = dir.path().join("tree").display().to_string();
    let copy = dir.path().join("copy").display().to_string();
    let start = |profile: &str| {
        let mut command = Command::new(yfs());
        command.args(["mcp", "--quiet", "--profile", profile]).arg(dir.path());
        let mut server = RawServer::spawn(&mut command);
        server.initialize(json!({}));
        server
    };
    let mut full = start("full");
    let n_files = N_FILES as u64;
    let calls = [
        ("glob", json!({ "pattern": "*.txt", "path": tree }), n_files - 256),
        ("grep", json!({ "pattern": "needle", "path": tree }), 2 * n_files - 256),
        ("fs_copy", json!({ "source": tree, "destination": copy }), n_files - 256),
    ];
    for (id, (tool, arguments, least)) in (1..).zip(calls) {
        check(tool, &progress_of(&mut full, id, tool, arguments), least);
    }
    let mut reference = start("reference");
    let calls = [
        ("directory_tree", json!({ "path": tree }), n_files - 256),
        ("search_files", json!({ "path": tree, "pattern": "**/f9*" }), n_files - 256),
    ];
    for (id, (tool, arguments, least)) in (1..).zip(calls) {
        check(tool, &progress_of(&mut reference, id, tool, arguments), least);
    }
    // Without a token there is no notification: the next message is the reply.
    let params = json!({ "name": "directory_tree", "arguments": { "path": tree } });
    let method = "tools/call";
    reference.send(&json!({ "jsonrpc": "2.0", "id": 9, "method": method, "params": params }));
    assert_eq!(reference.receive()["id"], 9);
}

#[test]
fn long_calls_over_a_workspace_report_progress() {
    let dir = workspace();
    let mut server = RawServer::initialized(dir.path(), &[], json!({}));
    let added = progress_of(&mut server, 1, "apply_patch", json!({ "patch": patch(N_FILES) }));
    let n_files = N_FILES as u64;
    check("apply_patch", &added, n_files);
    let calls = [
        ("grep", json!({ "pattern": "line", "max_count": 10_000 }), n_files - 256),
        ("glob", json!({ "pattern": "**/1*" }), n_files - 256),
        ("fs_copy", json!({ "source": "/patched", "destination": "/copy" }), n_files - 256),
    ];
    for (id, (tool, arguments, least)) in (2..).zip(calls) {
        check(tool, &progress_of(&mut server, id, tool, arguments), least);
    }
}
