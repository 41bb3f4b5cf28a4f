//! The profile `reference`: clients of the reference server change only the command.

use std::{
    fs,
    io::Read,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use serde_json::{Value, json};
use tempfile::TempDir;
use yfs_tests::command::program as yfs;

use super::RawServer;

fn server(dirs: &[&Path]) -> RawServer {
    let mut server = RawServer::spawn(
        Command::new(yfs()).args(["mcp", "--quiet", "--profile", "reference"]).args(dirs),
    );
    server.initialize(json!({}));
    server
}

fn directory() -> (TempDir, PathBuf) {
    // Without a hidden name, below which nothing is searched.
    let dir = tempfile::Builder::new().prefix("served").tempdir();
    let dir = dir.expect("a temporary directory");
    let path = dir.path().canonicalize().expect("it exists");
    (dir, path)
}

fn text_of(reply: &Value) -> &str {
    reply["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{reply}"))
}

#[test]
fn the_server_presents_itself_and_its_tools_as_the_reference_does() {
    let (_dir, path) = directory();
    let mut command = Command::new(yfs());
    let mut server =
        RawServer::spawn(command.args(["mcp", "--quiet", "--profile", "reference"]).arg(path));
    let info = server.initialize(json!({}));
    assert_eq!(info["serverInfo"]["name"], "secure-filesystem-server");
    assert_eq!(info["capabilities"], json!({ "tools": { "listChanged": true } }));
    let listed = server.request(1, "tools/list", json!({}));
    let tools = listed["result"]["tools"].as_array().expect("a list");
    let names: Vec<&str> = tools.iter().filter_map(|tool| tool["name"].as_str()).collect();
    assert_eq!(
        names.join(" "),
        "read_file read_text_file read_media_file read_multiple_files \
        write_file edit_file create_directory list_directory list_directory_with_sizes \
        directory_tree move_file search_files get_file_info list_allowed_directories"
    );
    let read_text = &tools[1];
    assert_eq!(read_text["annotations"], json!({ "readOnlyHint": true, "openWorldHint": false }));
    let words = |end: &str| format!("If provided, returns only the {end} N lines of the file");
    let number = |end: &str| json!({ "type": "number", "description": words(end) });
    let properties =
        json!({ "path": { "type": "string" }, "tail": number("last"), "head": number("first") });
    assert_eq!(read_text["inputSchema"]["properties"], properties);
    assert!(read_text["inputSchema"]["additionalProperties"].is_null());
    let media = tools[2]["outputSchema"].to_string();
    for word in ["\"image\"", "\"audio\"", "\"resource\""] {
        assert!(media.contains(word), "{media}");
    }
}

#[test]
fn arguments_and_errors_are_those_of_the_reference() {
    let (_dir, path) = directory();
    fs::write(path.join("l.txt"), "one\ntwo\nthree\n").expect("a file");
    fs::create_dir(path.join("d")).expect("a directory");
    symlink("/etc/passwd", path.join("out")).expect("a link");
    let shown = path.display().to_string();
    let mut server = server(&[&path]);
    let outside = format!("Access denied - path outside allowed directories: /etc not in {shown}");
    let leaves = format!(
        "Access denied - symlink target outside allowed directories: /etc/passwd not in {shown}"
    );
    let invalid = "MCP error -32602: Input validation error: Invalid arguments for tool";
    let number = format!(
        "{invalid} read_text_file: Invalid input: expected number, received string at head"
    );
    let none = format!(
        "{invalid} read_multiple_files: Too small: expected array to have >=1 items at paths"
    );
    let no_file = format!("ENOENT: no such file or directory, open '{shown}/no/f'");
    let taken = format!("EEXIST: file already exists, mkdir '{shown}/l.txt'");
    let no_regular = format!("Refusing to write: not a regular file: {shown}/d");
    let no_file_moved =
        format!("ENOENT: no such file or directory, rename '{shown}/l.txt' -> '{shown}/no/f'");
    let calls: [(&str, Value, &str); 15] = [
        ("read_text_file", json!({ "path": "l.txt", "bogus": 1 }), "one\ntwo\nthree\n"),
        ("read_text_file", json!({ "path": "d/../l.txt", "head": 1.5 }), "one\ntwo"),
        ("read_text_file", json!({ "path": "l.txt", "tail": 2 }), "three\n"),
        ("read_text_file", json!({ "path": "l.txt", "tail": -1 }), ""),
        ("read_text_file", json!({ "path": "l.txt", "head": "1" }), &number),
        (
            "read_text_file",
            json!({ "path": "d" }),
            "EISDIR: illegal operation on a directory, read",
        ),
        ("read_text_file", json!({ "path": "out" }), &leaves),
        ("read_multiple_files", json!({ "paths": [] }), &none),
        ("list_directory", json!({ "path": "/etc" }), &outside),
        ("write_file", json!({ "path": "no/f", "content": "" }), &no_file),
        ("write_file", json!({ "path": "d", "content": "" }), &no_regular),
        ("create_directory", json!({ "path": "l.txt" }), &taken),
        ("move_file", json!({ "source": "l.txt", "destination": "no/f" }), &no_file_moved),
        ("search_files", json!({ "path": shown, "pattern": "o*" }), "No matches found"),
        ("no_such_tool", json!({}), "MCP error -32602: Tool no_such_tool not found"),
    ];
    for (id, (tool, arguments, expected)) in (10..).zip(calls) {
        let reply = server.call(id, tool, arguments);
        assert_eq!(text_of(&reply), expected, "{reply}");
        let is_done = reply["result"]["structuredContent"].is_object();
        assert_eq!(reply["result"]["isError"].is_null(), is_done, "{reply}");
    }
}

#[test]
fn links_and_hard_links_are_kept_and_followed_inside() {
    let (_dir, path) = directory();
    let (real, linked) = (path.join("real"), path.join("linked"));
    fs::create_dir(&real).expect("a directory");
    symlink(&real, &linked).expect("a link");
    fs::write(real.join("f.txt"), "before\n").expect("a file");
    fs::hard_link(real.join("f.txt"), real.join("other.txt")).expect("a hard link");
    symlink(real.join("f.txt"), real.join("link.txt")).expect("a link");
    let mut server = server(&[&linked]);
    let texts = ["one\n", "two\n"];
    for (id, (dir, text)) in (1..).step_by(3).zip([&linked, &real].into_iter().zip(texts)) {
        let arguments = json!({ "path": dir.join("link.txt"), "content": text });
        let reply = server.call(id, "write_file", arguments);
        assert!(text_of(&reply).starts_with("Successfully wrote"), "{reply}");
        assert_eq!(fs::read_to_string(real.join("other.txt")).expect("a file"), text);
        let reply = server.call(id + 1, "read_text_file", json!({ "path": dir.join("f.txt") }));
        assert_eq!(text_of(&reply), text);
        let edits = json!([{ "oldText": text.trim_end(), "newText": "edited" }]);
        let arguments = json!({ "path": dir.join("f.txt"), "edits": edits });
        let reply = server.call(id + 2, "edit_file", arguments);
        assert!(text_of(&reply).contains("+edited"), "{reply}");
        assert_eq!(fs::read_to_string(real.join("other.txt")).expect("a file"), "edited\n");
    }
    assert!(real.join("link.txt").is_symlink());
}

/// Starts the server with some directories, ends its input, and returns whether it succeeded and
/// what it printed on standard error.
fn started_with(dirs: &[&Path], input: &str) -> (bool, String) {
    let mut server =
        RawServer::spawn(Command::new(yfs()).arg("mcp").args(dirs).stderr(Stdio::piped()));
    if !input.is_empty() {
        server.send_line(input);
        server.initialize(json!({}));
    }
    let mut errors = server.child.stderr.take().expect("stderr was piped");
    let is_success = server.end();
    let mut text = String::new();
    errors.read_to_string(&mut text).expect("UTF-8");
    (is_success, text)
}

#[test]
fn directories_that_cannot_be_served_are_skipped_with_a_warning() {
    let (_dir, path) = directory();
    let (none, file, real) = (path.join("none"), path.join("f.txt"), path.join("real"));
    fs::write(&file, "").expect("a file");
    fs::create_dir(&real).expect("a directory");
    let (is_success, errors) = started_with(&[&none, &file, &real], "{not json");
    let running = "Secure MCP Filesystem Server running on stdio\n";
    let expected = format!(
        "Warning: Cannot access directory {}, skipping\n\
         Warning: {} is not a directory, skipping\n{running}MCP filesystem transport error: ",
        none.display(),
        file.display()
    );
    assert!(is_success && errors.starts_with(&expected), "{errors}");
    let (is_success, errors) = started_with(&[&none], "");
    assert!(!is_success);
    assert!(errors.contains("Error: None of the specified directories are accessible"), "{errors}");
}

#[test]
fn roots_of_the_client_are_the_directories() {
    let (_dir, path) = directory();
    let (real, linked) = (path.join("real"), path.join("linked"));
    fs::create_dir(&real).expect("a directory");
    symlink(&real, &linked).expect("a link");
    let mut command = Command::new(yfs());
    command.args(["mcp", "--profile", "reference"]).current_dir(&path).stderr(Stdio::piped());
    let mut server = RawServer::spawn(&mut command);
    server.initialize(json!({ "roots": { "listChanged": true } }));
    // The server asks before the first call.
    let asked = server.receive();
    assert_eq!(asked["method"], "roots/list", "{asked}");
    let roots = json!([
        { "uri": format!("file://{}", linked.display()) },
        { "uri": "file:///no/such/directory" },
    ]);
    let (id, result) = (&asked["id"], json!({ "roots": roots }));
    server.send(&json!({ "jsonrpc": "2.0", "id": id, "result": result }));
    let reply = server.call(1, "list_allowed_directories", json!({}));
    assert_eq!(text_of(&reply), format!("Allowed directories:\n{}", real.display()));
    let mut errors = server.child.stderr.take().expect("stderr was piped");
    assert!(server.end());
    let mut text = String::new();
    errors.read_to_string(&mut text).expect("UTF-8");
    let updated = "Updated allowed directories from MCP roots: 1 valid directories";
    assert!(text.contains(updated), "{text}");
}

/// The defaults of tools of other profiles are the root, which shows the way to the directories.
#[test]
fn searches_from_the_root_find_what_is_in_the_directories() {
    let (_dir, path) = directory();
    fs::create_dir_all(path.join("in/sub/deep")).expect("a directory");
    for name in ["in/n.txt", "out.txt"] {
        fs::write(path.join(name), "needle\n").expect("a file");
    }
    let mut command = Command::new(yfs());
    command.args(["mcp", "--quiet", "--profile", "deepagents"]).arg(path.join("in"));
    let mut server = RawServer::spawn(&mut command);
    server.initialize(json!({}));
    let found = server.call(1, "grep", json!({ "pattern": "needle" }));
    let file = path.join("in/n.txt").display().to_string();
    assert!(text_of(&found).contains(&file), "{found}");
    assert!(!found.to_string().contains("out.txt"), "{found}");
    let found = server.call(2, "glob", json!({ "pattern": "**/*.txt" }));
    assert!(text_of(&found).contains(&file) && !found.to_string().contains("out.txt"), "{found}");
    let listed = server.call(3, "ls", json!({ "path": "/" }));
    assert!(listed["result"]["isError"].is_null(), "{listed}");
    let removed = server.call(4, "delete", json!({ "file_path": path.join("in/sub") }));
    assert!(removed["result"]["isError"].is_null(), "{removed}");
}
