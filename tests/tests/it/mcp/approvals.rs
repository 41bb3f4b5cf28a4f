//! Approvals of directories, and the tools from the command line.

use std::{fs, path::Path, process::Command};

use serde_json::{Value, json};
use yfs_tests::command::program as yfs;

use super::{RawServer, run, workspace};

/// Sends calls at once, answers every question with `approval`, and returns the questions and the
/// number of calls that were done.
fn ask(server: &mut RawServer, calls: &[(&str, Value)], approval: &str) -> (Vec<String>, usize) {
    for (id, (tool, arguments)) in calls.iter().enumerate() {
        let params = json!({ "name": tool, "arguments": arguments });
        let call =
            json!({ "jsonrpc": "2.0", "id": 100 + id, "method": "tools/call", "params": params });
        server.send(&call);
    }
    let (mut questions, mut n_replies, mut n_done) = (Vec::new(), 0, 0);
    while n_replies < calls.len() {
        let message = server.receive();
        if message["method"] == "elicitation/create" {
            let text = message["params"]["message"].as_str().expect("a text").to_owned();
            questions.push(text);
            let result = json!({ "action": "accept", "content": { "approval": approval } });
            let id = &message["id"];
            server.send(&json!({ "jsonrpc": "2.0", "id": id, "result": result }));
        } else if message["id"].is_u64() {
            n_replies += 1;
            n_done += usize::from(message["result"]["isError"] != true);
        }
    }
    (questions, n_done)
}

fn writes(paths: &[&str]) -> Vec<(&'static str, Value)> {
    paths.iter().map(|path| ("fs_write", json!({ "path": path, "content": "x" }))).collect()
}

#[test]
fn a_directory_is_asked_about_once_and_the_approval_is_kept_and_revoked() {
    let dir = workspace();
    let file = dir.path().join("approvals.json");
    let file = file.to_str().expect("UTF-8");
    let rules = dir.path().join("rules.json");
    let rule = json!([{ "operations": ["write"], "paths": ["/ro/**"], "mode": "interrupt" }]);
    fs::write(&rules, rule.to_string()).expect("a temporary file");
    let rules = rules.to_str().expect("UTF-8");
    let args = ["--rules", rules, "--approvals", file, "--profile", "fs"];
    let start = || RawServer::initialized(dir.path(), &args, json!({ "elicitation": {} }));
    let question = "May the agent use /ro and everything below it?";
    let three = writes(&["/ro/a", "/ro/b", "/ro/c"]);

    let mut server = start();
    assert_eq!(ask(&mut server, &three, "no").1, 0);
    let (questions, n_done) = ask(&mut server, &three, "yes");
    assert_eq!((questions, n_done), (vec![question.to_owned()], 3));
    // Below an approved directory nothing is asked, also by another server.
    let deeper = writes(&["/ro/d/e"]);
    assert_eq!(ask(&mut start(), &deeper, "no"), (Vec::new(), 1));
    let command = |args: &[&str]| {
        let mut command = Command::new(yfs());
        run(command.args(["mcp", "--approvals", file]).args(args).current_dir(dir.path()))
    };
    assert_eq!(command(&["--list-approvals"]), "/ro\n");
    command(&["--revoke", "/ro"]);
    assert_eq!(command(&["--list-approvals"]), "");
    // The server that runs asks again.
    let (questions, n_done) = ask(&mut server, &writes(&["/ro/a"]), "no");
    assert_eq!((questions, n_done), (vec![question.to_owned()], 0));
}

/// A command runs on a thread of its own, where no question could be asked: it was refused.
#[test]
fn a_command_asks_about_what_it_touches_and_once_for_all_of_it() {
    let dir = workspace();
    for (path, content) in [("/ro/a", "needle\n"), ("/ro/b", "b\n"), ("/free", "x\n")] {
        run(Command::new(yfs())
            .args(["write", path, "--content", content])
            .current_dir(dir.path()));
    }
    let rules = dir.path().join("rules.json");
    let rule = json!([
        { "operations": ["read", "write"], "paths": ["/ro/**"], "mode": "interrupt" },
    ]);
    fs::write(&rules, rule.to_string()).expect("a temporary file");
    let args = ["--rules", rules.to_str().expect("UTF-8"), "--shell"];
    let mut server = RawServer::initialized(dir.path(), &args, json!({ "elicitation": {} }));
    let command = "cat /ro/a; cat /ro/a > /ro/b; cat /ro/b /free";
    let call = [("execute", json!({ "command": command }))];
    let (questions, n_done) = ask(&mut server, &call, "once");
    // The shell describes a file before it writes it.
    let expected =
        ["May the agent read /ro/a?", "May the agent read /ro/b?", "May the agent change /ro/b?"];
    assert_eq!((questions, n_done), (expected.map(str::to_owned).to_vec(), 1));
    let cat = |path: &str| run(Command::new(yfs()).args(["cat", path]).current_dir(dir.path()));
    assert_eq!(cat("/ro/b"), "needle\n");
    // Each answer is for one call.
    let again = [("execute", json!({ "command": "rm /ro/a" }))];
    let (questions, _) = ask(&mut server, &again, "refuse");
    assert_eq!(questions, ["May the agent read /ro/a?"]);
    assert_eq!(cat("/ro/a"), "needle\n");
    // With a file of approvals, the question is about the directory.
    let file = dir.path().join("approvals.json");
    let args = [&args[..], &["--approvals", file.to_str().expect("UTF-8")]].concat();
    let mut server = RawServer::initialized(dir.path(), &args, json!({ "elicitation": {} }));
    let (questions, n_done) = ask(&mut server, &call, "session");
    assert_eq!(questions, ["May the agent use /ro and everything below it?"]);
    assert_eq!(n_done, 1);
}

fn tool(dir: &Path, args: &[&str]) -> (Option<i32>, String, String) {
    let output = Command::new(yfs()).args(["tool", "--quiet"]).args(args).current_dir(dir).output();
    let output = output.expect("the command runs");
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    (output.status.code(), text(output.stdout), text(output.stderr))
}

#[test]
fn a_tool_is_called_from_the_command_line_with_profiles_and_rules() {
    let dir = workspace();
    let write = json!({ "path": "/a.md", "content": "one\n" }).to_string();
    assert_eq!(tool(dir.path(), &["fs_write", &write]).0, Some(0));
    let read = json!({ "path": "/a.md" }).to_string();
    let (code, out, _) = tool(dir.path(), &["fs_read", &read]);
    assert!(code == Some(0) && out.contains("one"), "{out}");
    let (_, out, _) = tool(dir.path(), &["list", "--profile", "reference", "--json"]);
    let first: Value = serde_json::from_str(out.lines().next().expect("a line")).expect("JSON");
    assert_eq!((first["name"].as_str(), out.lines().count()), (Some("read_file"), 14));

    let rules = dir.path().join("rules.json");
    let rule = json!([{ "operations": ["read"], "paths": ["/a.md"], "mode": "deny" }]);
    fs::write(&rules, rule.to_string()).expect("a temporary file");
    let rules = rules.to_str().expect("UTF-8");
    let moved = json!({ "source": "/a.md", "destination": "/b.md" }).to_string();
    for (name, arguments) in [("fs_read", &read), ("fs_move", &moved)] {
        let (code, _, errors) = tool(dir.path(), &[name, arguments, "--rules", rules]);
        assert_eq!(code, Some(1), "{name}");
        assert!(errors.contains("permission denied"), "{errors}");
    }
    let (code, _, errors) = tool(dir.path(), &["fs_write", &write, "--read-only"]);
    assert!(code == Some(1) && errors.contains("there is no tool fs_write"), "{errors}");
    assert_eq!(tool(dir.path(), &["fs_read", "[]"]).0, Some(2));

    let longer = json!({ "path": "/a.md", "content": "more than one\n" }).to_string();
    let (code, _, errors) = tool(dir.path(), &["fs_write", &longer, "--max-bytes", "10"]);
    assert!(code == Some(1) && errors.contains("the quota of 10 bytes would be"), "{errors}");
    let second = json!({ "path": "/b.md", "content": "" }).to_string();
    let (code, _, errors) = tool(dir.path(), &["fs_write", &second, "--max-files", "1"]);
    assert!(code == Some(1) && errors.contains("the quota of 1 files would be"), "{errors}");
    assert_eq!(tool(dir.path(), &["fs_write", &write, "--max-bytes", "1k"]).0, Some(0));

    let host = tempfile::Builder::new().prefix("served").tempdir();
    let host = host.expect("a temporary directory");
    fs::write(host.path().join("n.txt"), "needle\n").expect("a temporary file");
    let at = host.path().to_str().expect("UTF-8");
    let args = ["grep", r#"{"pattern": "needle"}"#, "--profile", "deepagents", "--dir", at];
    let (_, out, errors) = tool(dir.path(), &args);
    assert!(out.contains("n.txt"), "{out}{errors}");
}
