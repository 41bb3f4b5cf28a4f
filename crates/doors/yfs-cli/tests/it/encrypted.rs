//! An encrypted workspace: no byte of `.yfs` shows what is in it, whatever command ran, and one
//! error answers a key that does not fit.

#![expect(clippy::unwrap_used, reason = "a panic fails the test, which is what it is for")]

use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    time::{Duration, Instant},
};

use serde_json::{Value, json};

/// Words that are in names, contents, metadata, labels, actors, searches and blobs.
const MARKERS: [&str; 8] = [
    "marzipan",    // names of files and directories
    "nougat",      // text
    "praline",     // rich text
    "caramel",     // bytes of a blob
    "meringue",    // actor
    "sorbet",      // label
    "gelato",      // searches
    "profiterole", // a file of the mirrored directory
];

struct Workspace {
    directory: tempfile::TempDir,
}

impl Workspace {
    /// Creates an encrypted workspace that a key file opens.
    fn create() -> Self {
        let workspace = Self { directory: tempfile::tempdir().unwrap() };
        workspace.run(&["init", "--quiet", "--encrypt"]);
        workspace
    }

    fn path(&self) -> &Path {
        self.directory.path()
    }

    fn work(&self) -> PathBuf {
        self.path().join("work")
    }

    fn command(&self, args: &[&str]) -> Command {
        fs::create_dir_all(self.work()).unwrap();
        let mut command = yfs(&self.work(), args);
        // Low, so that each command makes the checkpoints that are due.
        command.env("YFS_CHECKPOINT_AFTER", "1");
        command.arg("--key-file").arg(self.path().join("key"));
        command
    }

    fn run(&self, args: &[&str]) -> String {
        succeed(args, self.command(args).output().unwrap())
    }

    /// Fails if a file below a directory contains a marker.
    fn assert_nothing_is_plain(&self, directory: &Path, when: &str) {
        let mut n_files = 0;
        for path in files_below(directory) {
            // A process that runs may have removed it.
            let Ok(content) = fs::read(&path) else { continue };
            n_files += 1;
            for marker in MARKERS {
                assert!(
                    !contains(&content, marker.as_bytes()),
                    "{when}: {} shows {marker}",
                    path.display()
                );
            }
        }
        assert!(n_files > 0, "{when}: no files in {}", directory.display());
    }
}

fn yfs(directory: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_yfs"));
    command.current_dir(directory).args(args).stdin(Stdio::null());
    for name in ["YFS_WORKSPACE", "YFS_PASSPHRASE", "YFS_KEY_FILE"] {
        command.env_remove(name);
    }
    command.env("YFS_ACTOR", "human:meringue");
    command
}

fn succeed(args: &[&str], output: Output) -> String {
    assert!(output.status.success(), "{args:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

fn contains(content: &[u8], word: &[u8]) -> bool {
    content.windows(word.len()).any(|window| window == word)
}

fn files_below(directory: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(files_below(&path));
        } else if path.is_file() {
            files.push(path);
        }
    }
    files
}

/// Bytes that are no text and do not compress, with a marker in each KiB.
fn blob() -> Vec<u8> {
    let mut state = 1_u64;
    let mut bytes = Vec::new();
    for _ in 0..400 {
        bytes.extend(b"\0caramel");
        bytes.extend((0..1000).map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 40) as u8
        }));
    }
    bytes
}

/// Runs what writes to a workspace, but for the server and the mirror.
fn use_every_part(workspace: &Workspace) {
    let outside = workspace.path().join("outside");
    fs::create_dir_all(outside.join("marzipan")).unwrap();
    fs::write(outside.join("marzipan/blob.bin"), blob()).unwrap();
    fs::write(outside.join("marzipan/dot.bmp"), bitmap()).unwrap();
    for number in 0..40 {
        let text = format!("nougat {number}\n").repeat(200);
        fs::write(outside.join(format!("marzipan/{number}.txt")), text).unwrap();
    }
    workspace.run(&["import", "--quiet", outside.to_str().unwrap()]);
    workspace.run(&["write", "/marzipan.md", "--content", "# praline\n\n- praline\n"]);
    workspace.run(&["edit", "/marzipan.md", "--old", "# praline", "--new", "# praline two"]);
    workspace.run(&["mkdir", "/marzipan-dir"]);
    workspace.run(&["mv", "/marzipan.md", "/marzipan-dir/marzipan.md"]);
    workspace.run(&["ln", "-s", "marzipan-dir", "/marzipan-link"]);
    workspace.run(&["label", "/marzipan-dir/marzipan.md", "sorbet"]);
    workspace.run(&["write", "/gone.txt", "--content", "nougat"]);
    workspace.run(&["rm", "/gone.txt"]);
    workspace.run(&["describe", "/marzipan/1.txt"]);
    let result = outside.join("marzipan/1.txt");
    workspace.run(&["artifact", "put", result.to_str().unwrap(), "--quiet"]);
    workspace.run(&["thread", "new", "marzipan"]);
    workspace.run(&["thread", "write", "marzipan", "/nougat.md", "--content", "nougat"]);
    workspace.run(&["token", "new", "--for", "agent:meringue"]);
    read_and_describe(workspace, &outside);
    // At the end, because erasing removes the index for searches.
    workspace.run(&["grep", "-rn", "nougat 7", "/"]);
    workspace.command(&["grep", "-rn", "gelato", "/"]).output().unwrap();
    workspace.run(&["admin", "compact", "--quiet"]);
}

/// Runs what reads, and may keep what it made of the content.
fn read_and_describe(workspace: &Workspace, outside: &Path) {
    let json = r#"[{"nougat": 1}, {"nougat": 2}]"#;
    workspace.run(&["write", "/marzipan.json", "--content", json]);
    workspace.run(&["query", ".[].nougat", "/marzipan.json"]);
    workspace.run(&["query", "-d", "sql", "SELECT nougat FROM data", "/marzipan.json"]);
    workspace.run(&["artifact", "run", "--threshold", "0", "--", "echo", "nougat"]);
    workspace.run(&["artifact", "context", "/marzipan", "--tokens", "500"]);
    workspace.run(&["tool", "read_file", r#"{"file_path": "/marzipan.json"}"#]);
    workspace.run(&[
        "tool",
        "write_file",
        r#"{"file_path": "/marzipan-tool", "content": "nougat"}"#,
    ]);
    let small = outside.join("small.jpg");
    workspace.run(&["thumbnail", "/marzipan/dot.bmp", "--output", small.to_str().unwrap()]);
    workspace.run(&["thread", "fork", "marzipan", "marzipan-two"]);
    workspace.run(&["write", "/marzipan-secret", "--content", "nougat secret\n"]);
    workspace.run(&["write", "/marzipan-secret", "--content", "nougat\n"]);
    workspace.run(&[
        "admin",
        "redact",
        "--yes",
        "--quiet",
        "/marzipan-secret",
        "--reason",
        "sorbet",
    ]);
    workspace.run(&["rm", "/marzipan-secret"]);
    workspace.run(&["trash", "empty", "--keep", "0s", "--quiet"]);
    workspace.run(&["undo", "--yes", "--quiet"]);
    for args in
        [&["log"][..], &["admin", "info"], &["status"], &["du"], &["blame", "/marzipan/1.txt"]]
    {
        workspace.run(args);
    }
}

/// An image of one pixel.
fn bitmap() -> Vec<u8> {
    let mut bytes =
        b"BM\x3a\0\0\0\0\0\0\0\x36\0\0\0\x28\0\0\0\x01\0\0\0\x01\0\0\0\x01\0\x18\0".to_vec();
    bytes.resize(54, 0);
    bytes.extend([10, 20, 30, 0]);
    bytes
}

#[test]
fn no_byte_of_the_workspace_is_plain() {
    let workspace = Workspace::create();
    use_every_part(&workspace);
    let store = workspace.work().join(".yfs");
    workspace.assert_nothing_is_plain(&store, "after the commands");
    for part in ["log", "main", "search"] {
        let derived = store.join("workspace-db.derived").join(part).join("manifest");
        assert!(derived.is_file(), "there is no {part}");
    }
    assert!(!store.join("workspace-db.derived/thumbnails").exists());

    let backup = workspace.path().join("backups");
    fs::create_dir(&backup).unwrap();
    let file = backup.join("backup.db");
    workspace.run(&["admin", "backup", "--quiet", file.to_str().unwrap()]);
    let named = file.to_str().unwrap();
    assert_eq!(
        workspace.run(&["--workspace", named, "cat", "/marzipan/3.txt"]).lines().count(),
        200
    );
    workspace.assert_nothing_is_plain(&backup, "the backup");

    // What was written is there.
    let exported = workspace.path().join("exported");
    workspace.run(&["export", "--quiet", "/", exported.to_str().unwrap()]);
    assert_eq!(fs::read(exported.join("marzipan/blob.bin")).unwrap(), blob());
    let text = fs::read_to_string(exported.join("marzipan-dir/marzipan.md")).unwrap();
    assert_eq!(text, "# praline two\n\n- praline\n");
    // The search for markers finds them where they are.
    for marker in ["nougat", "praline", "caramel"] {
        let has = |path: &PathBuf| contains(&fs::read(path).unwrap(), marker.as_bytes());
        assert!(files_below(&exported).iter().any(has), "{marker}");
    }
    workspace.run(&["admin", "fsck", "--quiet"]);
    workspace.assert_nothing_is_plain(&store, "at the end");
}

#[test]
fn neither_the_server_nor_an_agent_leaves_anything_plain() {
    let workspace = Workspace::create();
    use_every_part(&workspace);
    let store = workspace.work().join(".yfs");
    let mut server = Running::start(&workspace, &["serve", "--port", "0", "--json"]);
    let mut ready = String::new();
    server.lines.read_line(&mut ready).unwrap();
    workspace.run(&["write", "/marzipan-live.txt", "--content", "nougat"]);
    let mut agent = Running::start(&workspace, &["mcp", "--actor", "agent:meringue"]);
    let client = json!({ "name": "meringue", "version": "1" });
    let version = "2025-06-18";
    agent.send(json!({
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": { "protocolVersion": version, "capabilities": {}, "clientInfo": client },
    }));
    agent.read_answer(1);
    agent.send(json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
    let arguments = json!({ "file_path": "/marzipan-agent.txt", "content": "nougat" });
    agent.send(json!({
        "jsonrpc": "2.0",
        "id": 2,
        "method": "tools/call",
        "params": { "name": "write_file", "arguments": arguments },
    }));
    agent.read_answer(2);
    workspace.assert_nothing_is_plain(&store, "while they run");
    drop((server, agent));
    let records = workspace.run(&["audit", "--json"]);
    assert!(records.contains("/marzipan-agent.txt"), "{records}");
    let audit = files_below(&store.join("workspace-db.audit"));
    assert!(!audit.is_empty(), "there are records");
    workspace.assert_nothing_is_plain(&store, "after they ended");
}

#[cfg(target_os = "linux")]
#[test]
fn the_memory_of_a_mirror_is_sealed() {
    let workspace = Workspace::create();
    let work = workspace.work();
    fs::write(work.join("profiterole.txt"), "nougat\n".repeat(50)).unwrap();
    fs::write(work.join("marzipan.md"), "# praline\n").unwrap();
    workspace.run(&["mirror", ".", "--once", "--quiet"]);
    workspace.run(&["append", "/profiterole.txt", "--content", "nougat there\n"]);
    fs::write(work.join("marzipan.md"), "# praline\n\npraline here\n").unwrap();
    workspace.run(&["mirror", ".", "--once", "--quiet"]);
    assert!(fs::read_to_string(work.join("profiterole.txt")).unwrap().ends_with("nougat there\n"));
    let text = workspace.run(&["cat", "/marzipan.md"]);
    assert_eq!(text, "# praline\n\npraline here\n");
    // It remembers: a file that was removed on disk is removed, not written again.
    fs::remove_file(work.join("marzipan.md")).unwrap();
    workspace.run(&["mirror", ".", "--once", "--quiet"]);
    assert!(!work.join("marzipan.md").exists());
    assert!(work.join(".yfs/mirror.db").exists());
    workspace.assert_nothing_is_plain(&work.join(".yfs"), "after the mirror");
}

#[test]
fn a_key_that_does_not_fit_is_one_error() {
    let workspace = Workspace::create();
    workspace.run(&["write", "/a", "--content", "nougat"]);
    let other = workspace.path().join("other");
    fs::write(&other, [7; 32]).unwrap();
    let fail = |command: &mut Command| {
        let output = command.output().unwrap();
        assert!(!output.status.success());
        assert_eq!(output.stdout, b"");
        let text = String::from_utf8(output.stderr).unwrap();
        assert_eq!(text.lines().count(), 1, "{text}");
        text
    };
    for args in
        [&["cat", "/a"][..], &["write", "/a", "--content", "b"], &["ls"], &["admin", "key", "info"]]
    {
        let text = fail(&mut yfs(&workspace.work(), args));
        assert!(text.contains("no key file was given; pass --key-file"), "{text}");
        let text = fail(yfs(&workspace.work(), args).arg("--key-file").arg(&other));
        assert!(text.contains("the passphrase or key file is wrong"), "{text}");
        // The variable may be set for another workspace.
        let text = fail(yfs(&workspace.work(), args).env("YFS_PASSPHRASE", "croquant"));
        assert!(text.contains("no key file was given"), "{text}");
        let text = fail(yfs(&workspace.work(), args).arg("--passphrase-file").arg(&other));
        assert!(text.contains("opens with a key file, not with a passphrase"), "{text}");
    }
    let plain = tempfile::tempdir().unwrap();
    succeed(&["init"], yfs(plain.path(), &["init", "--quiet"]).output().unwrap());
    let text = fail(yfs(plain.path(), &["ls"]).arg("--key-file").arg(&other));
    assert!(text.contains("not encrypted"), "{text}");
    // A variable may be set for other workspaces.
    let output = yfs(plain.path(), &["ls"]).env("YFS_PASSPHRASE", "x").output().unwrap();
    succeed(&["ls"], output);
    // A key without --encrypt is hardly meant.
    let new = tempfile::tempdir().unwrap();
    let text = fail(yfs(new.path(), &["init", "--quiet"]).arg("--key-file").arg(&other));
    assert!(text.contains("--encrypt"), "{text}");
}

#[test]
fn a_passphrase_is_changed_and_the_content_stays() {
    let directory = tempfile::tempdir().unwrap();
    let [old, new] = ["old", "new"].map(|name| {
        let file = directory.path().join(name);
        fs::write(&file, format!("{name} words\n")).unwrap();
        file.to_str().unwrap().to_owned()
    });
    let work = directory.path().join("work");
    fs::create_dir(&work).unwrap();
    let run = |args: &[&str]| succeed(args, yfs(&work, args).output().unwrap());
    run(&["init", "--quiet", "--encrypt", "--passphrase-file", &old]);
    run(&["write", "/a", "--content", "nougat", "--passphrase-file", &old]);
    let info = run(&["admin", "key", "info", "--json", "--passphrase-file", &old]);
    let info: Value = serde_json::from_str(&info).unwrap();
    assert_eq!((&info["opens_with"], &info["memory_kib"]), (&"passphrase".into(), &65536.into()));
    run(&[
        "admin",
        "key",
        "change",
        "--quiet",
        "--passphrase-file",
        &old,
        "--new-passphrase-file",
        &new,
    ]);
    let output = yfs(&work, &["cat", "/a", "--passphrase-file", &old]).output().unwrap();
    assert!(!output.status.success());
    assert_eq!(run(&["cat", "/a", "--passphrase-file", &new]), "nougat");
    let output = yfs(&work, &["cat", "/a"]).env("YFS_PASSPHRASE", "new words").output().unwrap();
    assert_eq!(succeed(&["cat"], output), "nougat");
    // A key file that does not exist is made.
    let key = directory.path().join("key");
    let key = key.to_str().unwrap();
    run(&["admin", "key", "change", "--quiet", "--passphrase-file", &new, "--new-key-file", key]);
    assert_eq!(run(&["cat", "/a", "--key-file", key]), "nougat");
    let output = yfs(&work, &["cat", "/a"]).env("YFS_KEY_FILE", key).output().unwrap();
    assert_eq!(succeed(&["cat"], output), "nougat");
}

#[test]
fn damage_is_found_and_repaired_and_nothing_gets_plain() {
    let workspace = Workspace::create();
    use_every_part(&workspace);
    let store = workspace.work().join(".yfs");
    let id = workspace.run(&["admin", "info", "--json"]);
    let id = serde_json::from_str::<Value>(&id).unwrap()["id"].as_str().unwrap().to_owned();
    let file = store.join("workspace.db");
    workspace.run(&["write", "/marzipan-large", "--content", &"nougat ".repeat(500)]);
    let change = |sql: &str| {
        let connection = rusqlite::Connection::open(&file).unwrap();
        assert_eq!(connection.execute(sql, []).unwrap(), 1, "{sql}");
    };
    change("UPDATE body SET data = zeroblob(length(data)) WHERE seq = (SELECT max(seq) FROM body)");
    let largest = "SELECT n FROM chunk ORDER BY len DESC LIMIT 1";
    change(&format!("UPDATE chunk SET data = zeroblob(length(data)) WHERE n = ({largest})"));
    let check = |options: &[&str]| {
        let args = [&["admin", "fsck"], options].concat();
        let output = workspace.command(&args).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        (output.status.code(), text + &String::from_utf8(output.stderr).unwrap())
    };
    let (code, text) = check(&[]);
    assert_eq!(code, Some(1), "{text}");
    for found in ["marzipan-large", "blob.bin"] {
        assert!(text.contains(found), "{text}");
    }
    let output = workspace.command(&["cat", "/marzipan-large"]).output().unwrap();
    assert!(!output.status.success());
    check(&["--accept"]);
    workspace.assert_nothing_is_plain(&store, "after damage was accepted");
    check(&["--repair"]);
    workspace.assert_nothing_is_plain(&store, "after a repair");
    assert!(workspace.run(&["admin", "quarantine", "ls"]).contains("marzipan-large"));
    assert_eq!(workspace.run(&["cat", "/marzipan/3.txt"]).lines().count(), 200);

    // The last record of the table of files.
    workspace.run(&["write", "/marzipan-lost", "--content", "nougat lost"]);
    change(&format!(
        "UPDATE log SET crc = crc + 1 WHERE seq = (SELECT max(seq) FROM log JOIN doc ON log.doc = n
         WHERE guid = '{id}' AND kind = 0)"
    ));
    fs::remove_dir_all(store.join("workspace-db.derived")).unwrap();
    check(&["--repair"]);
    check(&["--recover"]);
    workspace.assert_nothing_is_plain(&store, "after contents were recovered");
    let found = workspace.run(&["grep", "-rl", "nougat lost", "/lost+found"]);
    assert_eq!(found.lines().count(), 1, "{found}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_clone_is_sealed_under_its_own_key() {
    let workspace = Workspace::create();
    use_every_part(&workspace);
    let mut server = Running::start(&workspace, &["serve", "--port", "0", "--json"]);
    let mut ready = String::new();
    server.lines.read_line(&mut ready).unwrap();
    let ready: Value = serde_json::from_str(&ready).unwrap();
    let [url, token] = ["url", "token"].map(|field| ready[field].as_str().unwrap().to_owned());
    let clone = workspace.path().join("clone");
    let words = workspace.path().join("words");
    fs::write(&words, "meringue words\n").unwrap();
    let words = words.to_str().unwrap();
    let run = |directory: &Path, args: &[&str]| {
        succeed(args, yfs(directory, args).args(["--passphrase-file", words]).output().unwrap())
    };
    let to = clone.to_str().unwrap();
    run(workspace.path(), &["clone", &url, to, "--token", &token, "--encrypt", "--quiet"]);
    fs::write(clone.join("profiterole.txt"), "nougat of the clone").unwrap();
    fs::remove_file(clone.join("marzipan/2.txt")).unwrap();
    let preview = run(&clone, &["sync", "--dry-run"]);
    assert!(preview.contains("profiterole.txt"), "{preview}");
    run(&clone, &["sync", "--quiet"]);
    let there = workspace.run(&["cat", "/profiterole.txt"]);
    assert_eq!(there, "nougat of the clone");
    assert!(!workspace.command(&["cat", "/marzipan/2.txt"]).status().unwrap().success());
    workspace.assert_nothing_is_plain(&clone.join(".yfs"), "the clone");
    workspace.assert_nothing_is_plain(&workspace.work().join(".yfs"), "the server");

    // An older backup in the place of the workspace: the mirror merges, and deletes nothing.
    let backup = workspace.path().join("backup.db");
    run(&clone, &["admin", "backup", "--quiet", backup.to_str().unwrap()]);
    fs::write(clone.join("profiterole.txt"), "nougat that is newer").unwrap();
    run(&clone, &["mirror", ".", "--once", "--quiet"]);
    for suffix in ["", "-wal", "-shm"] {
        fs::remove_file(clone.join(format!(".yfs/workspace.db{suffix}"))).ok();
    }
    fs::rename(&backup, clone.join(".yfs/workspace.db")).unwrap();
    run(&clone, &["mirror", ".", "--once", "--quiet"]);
    assert_eq!(run(&clone, &["cat", "/profiterole.txt"]), "nougat that is newer");
    workspace.assert_nothing_is_plain(&clone.join(".yfs"), "the clone after a restore");
}

/// A process that is killed while the key is changed leaves a workspace that one of both opens.
#[test]
fn a_killed_change_of_the_key_leaves_one_of_both() {
    let workspace = Workspace::create();
    workspace.run(&["write", "/a", "--content", "nougat"]);
    let mut current = workspace.path().join("key");
    let begun = Instant::now();
    let same = current.to_str().unwrap();
    workspace.run(&["admin", "key", "change", "--quiet", "--new-key-file", same]);
    let usual = begun.elapsed();
    let (mut round, mut n_changed) = (0_u8, 0);
    // More if the machine is so slow to kill that none was killed in time.
    while round < 40 || n_changed == round {
        let next = workspace.path().join(format!("key-{round}"));
        fs::write(&next, [round + 1; 32]).unwrap();
        let mut change =
            yfs(&workspace.work(), &["admin", "key", "change", "--quiet", "--key-file"]);
        change.arg(&current).arg("--new-key-file").arg(&next).stderr(Stdio::null());
        let mut change = change.spawn().unwrap();
        // From at once to when it ends, or later.
        std::thread::sleep(usual * u32::from(round % 40) / 30);
        change.kill().unwrap();
        change.wait().unwrap();
        let opens = |key: &Path| {
            let output = yfs(&workspace.work(), &["cat", "/a", "--key-file"]).arg(key).output();
            let output = output.unwrap();
            let text = String::from_utf8(output.stderr).unwrap();
            let is_refused = text.contains("the passphrase or key file is wrong");
            assert_ne!(output.status.success(), is_refused, "{text}");
            assert!(is_refused || output.stdout == b"nougat");
            !is_refused
        };
        let is_changed = opens(&next);
        assert_ne!(opens(&current), is_changed, "round {round}");
        if is_changed {
            (current, n_changed) = (next, n_changed + 1);
        }
        round += 1;
    }
}

#[test]
fn a_key_file_in_the_directory_is_remarked() {
    let directory = tempfile::tempdir().unwrap();
    let init = |key: &str, work: &str| {
        let args = ["init", work, "--encrypt", "--key-file", key];
        let output = yfs(directory.path(), &args).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stderr).unwrap().contains("keep it elsewhere")
    };
    fs::create_dir(directory.path().join("one")).unwrap();
    assert!(init("one/key", "one"));
    assert!(!init("key", "two"));
    let args = ["admin", "key", "change", "--key-file", "../key", "--new-key-file", "mine"];
    let output = yfs(&directory.path().join("two"), &args).output().unwrap();
    assert!(String::from_utf8(output.stderr).unwrap().contains("keep it elsewhere"));
}

/// A crash would have written the key into a file of the working directory.
#[cfg(target_os = "linux")]
#[test]
fn a_process_with_a_key_leaves_no_core_dump() {
    let workspace = Workspace::create();
    let mut server = Running::start(&workspace, &["serve", "--port", "0", "--json"]);
    server.lines.read_line(&mut String::new()).unwrap();
    let limits = fs::read_to_string(format!("/proc/{}/limits", server.child.id())).unwrap();
    let core = limits.lines().find(|line| line.starts_with("Max core file size")).unwrap();
    let words: Vec<_> = core.split_whitespace().collect();
    assert_eq!(words[4..6], ["0", "0"], "{core}");
}

/// A command that runs until it is dropped.
struct Running {
    child: Child,
    lines: BufReader<std::process::ChildStdout>,
}

impl Running {
    fn start(workspace: &Workspace, args: &[&str]) -> Self {
        let mut command = workspace.command(args);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        Self { child, lines }
    }

    fn send(&mut self, message: Value) {
        writeln!(self.child.stdin.as_mut().unwrap(), "{message}").unwrap();
    }

    /// Reads lines up to the answer with an id, which must be a result.
    fn read_answer(&mut self, id: u64) {
        loop {
            let mut line = String::new();
            assert!(self.lines.read_line(&mut line).unwrap() > 0, "it ended");
            let answer: Value = serde_json::from_str(&line).unwrap();
            if answer["id"] == id {
                assert!(answer["error"].is_null(), "{line}");
                assert_ne!(answer["result"]["isError"], true, "{line}");
                return;
            }
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        rustix::process::kill_process(
            rustix::process::Pid::from_child(&self.child),
            rustix::process::Signal::TERM,
        )
        .unwrap();
        let until = Instant::now() + Duration::from_secs(120);
        while self.child.try_wait().unwrap().is_none() {
            assert!(Instant::now() < until, "it does not end");
            std::thread::sleep(Duration::from_millis(20));
        }
        let mut rest = String::new();
        self.lines.read_to_string(&mut rest).ok();
    }
}
