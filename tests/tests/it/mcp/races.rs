//! Twenty clients at once, each with a server of its own: what was reported as done stays.

use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
    thread,
};

use serde_json::{Value, json};
use yfs_tests::command::program as yfs;

use super::{RawServer, run, workspace};

const N_CLIENTS: usize = 20;

fn lines(word: &str) -> String {
    (0..N_CLIENTS).map(|n| format!("line {n}: {word}\n")).collect()
}

/// Starts servers, and begins their sessions.
fn start(command: impl Fn() -> Command) -> Vec<RawServer> {
    let start = |_| {
        let mut server = RawServer::spawn(command().stderr(Stdio::null()));
        server.initialize(json!({}));
        server
    };
    (0..N_CLIENTS).map(start).collect()
}

fn over_workspace(dir: &Path, profile: &str) -> Command {
    let mut command = Command::new(yfs());
    command.args(["mcp", "--quiet", "--profile", profile, "--workspace"]).arg(dir);
    command
}

/// Sends a call of each client, then waits for all replies. Returns their texts.
fn call_at_once(
    servers: &mut [RawServer],
    id: u64,
    tool: &str,
    arguments: impl Fn(usize) -> Value,
) -> Vec<String> {
    for (n, server) in servers.iter_mut().enumerate() {
        let params = json!({ "name": tool, "arguments": arguments(n) });
        server
            .send(&json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params }));
    }
    thread::scope(|scope| {
        let replies: Vec<_> = servers
            .iter_mut()
            .map(|server| {
                scope.spawn(move || {
                    let reply = server.receive();
                    assert_ne!(reply["result"]["isError"], true, "{reply}");
                    reply["result"]["content"][0]["text"].as_str().unwrap_or_default().to_owned()
                })
            })
            .collect();
        replies.into_iter().map(|reply| reply.join().expect("each call is done")).collect()
    })
}

#[test]
fn twenty_clients_edit_one_file_and_every_edit_stays() {
    let dir = workspace();
    let mut servers = start(|| over_workspace(dir.path(), "full"));
    let content = lines("open");
    servers[0].call(1, "fs_write", json!({ "path": "/race.txt", "content": content }));
    call_at_once(&mut servers, 2, "fs_edit", |n| {
        let (old, new) = (format!("line {n}: open\n"), format!("line {n}: done\n"));
        json!({ "path": "/race.txt", "old_text": old, "new_text": new })
    });
    let text = run(Command::new(yfs()).args(["cat", "/race.txt"]).current_dir(dir.path()));
    assert_eq!(text, lines("done"));
}

/// Clients of the reference server change only the command, so each has a process of its own.
#[test]
fn twenty_clients_of_one_directory_lose_no_edit_and_no_stale_write() {
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("race.txt");
    let path = file.to_str().expect("UTF-8");
    let mut servers = start(|| {
        let mut command = Command::new(yfs());
        command.args(["mcp", "--quiet"]).arg(dir.path());
        command
    });
    for round in 0..5 {
        fs::write(&file, lines("open")).expect("a file");
        call_at_once(&mut servers, 10 * round + 1, "edit_file", |n| {
            let (old, new) = (format!("line {n}: open\n"), format!("line {n}: done\n"));
            json!({ "path": path, "edits": [{ "oldText": old, "newText": new }] })
        });
        let text = fs::read_to_string(&file).expect("a file");
        assert_eq!(text, lines("done"), "edits, round {round}");

        // Between two lines of clients is one that stays, because neighboring changes conflict.
        let apart = |word: &str| lines(word).replace('\n', "\n-\n");
        fs::write(&file, apart("open")).expect("a file");
        call_at_once(&mut servers, 10 * round + 2, "read_text_file", |_| json!({ "path": path }));
        let texts = call_at_once(&mut servers, 10 * round + 3, "write_file", |n| {
            let (old, new) = (format!("line {n}: open\n"), format!("line {n}: done\n"));
            json!({ "path": path, "content": apart("open").replace(&old, &new) })
        });
        let text = fs::read_to_string(&file).expect("a file");
        assert_eq!(text, apart("done"), "writes, round {round}");
        let n_merged = texts.iter().filter(|text| text.contains("Others changed")).count();
        assert_eq!(n_merged, N_CLIENTS - 1, "{texts:?}");
    }
    let n_files = fs::read_dir(dir.path()).expect("a directory").count();
    assert_eq!(n_files, 1, "files were left behind");
}

/// Half of the clients patch two files in one order, half in the other.
#[test]
fn patches_of_two_files_by_twenty_clients_all_stay() {
    let dir = workspace();
    let mut servers = start(|| over_workspace(dir.path(), "full"));
    for round in 0..3 {
        let files = [format!("/p{round}"), format!("/q{round}")];
        for file in &files {
            servers[0].call(1, "fs_write", json!({ "path": file, "content": lines("open") }));
        }
        call_at_once(&mut servers, round + 2, "apply_patch", |n| {
            let update = |file: &String| {
                format!("*** Update File: {file}\n@@\n-line {n}: open\n+line {n}: done\n")
            };
            let updates: Vec<String> = files.iter().map(update).collect();
            let body = match n % 2 {
                0 => updates.concat(),
                _ => updates.into_iter().rev().collect(),
            };
            json!({ "patch": format!("*** Begin Patch\n{body}*** End Patch") })
        });
        for file in &files {
            let text = run(Command::new(yfs()).args(["cat", file]).current_dir(dir.path()));
            assert_eq!(text, lines("done"), "{file}");
        }
    }
}
