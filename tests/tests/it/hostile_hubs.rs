//! Hubs that lie: whatever a server sends to `yfs clone` and `yfs sync`, the command ends with an
//! error or with a workspace that can be used, in bounded memory, and writes nothing outside of the
//! directory that it was given.
//!
//! The hub is a WebSocket of the test, the command a real process.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{
    collections::{BTreeSet, HashMap},
    fs,
    net::{TcpListener, TcpStream},
    path::Path,
    process::{Command, Output},
    sync::{Arc, Mutex},
    thread,
};

use tokio_tungstenite::tungstenite::{self, Message, WebSocket, protocol::WebSocketConfig};
use yfs_engine::{hash::ContentHash, id::FileId, lib0::write_var_uint};
use yfs_sync::replica::{DocumentUpdate, MAX_CURSOR_LEN, ReplicaMessage};
use yfs_tests::{
    command::{N_THREADS, Server, ok, program, run},
    fixture,
};
use yrs::{Any, Array, Doc, Text, Transact};

/// Address space that the command may use, in KiB: it aborts if it needs more.
const MAX_ADDRESS_SPACE: u64 = 3 << 20;

const WORKSPACE: &str = "hostileworkspac";

/// What a hub does with a connection after the guest's hello.
type Script = dyn Fn(&mut WebSocket<TcpStream>) -> tungstenite::Result<()> + Send + Sync;

/// A hub that follows a script on each connection.
struct Hub {
    url: String,
}

impl Hub {
    fn start(script: Arc<Script>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        thread::spawn(move || {
            for stream in listener.incoming() {
                let script = Arc::clone(&script);
                // Ends with the connection, or with the test.
                thread::spawn(move || serve(stream.unwrap(), &*script).ok());
            }
        });
        Self { url }
    }
}

fn serve(stream: TcpStream, script: &Script) -> tungstenite::Result<()> {
    let config = WebSocketConfig::default().max_message_size(None).max_frame_size(None);
    let Ok(mut socket) = tungstenite::accept_with_config(stream, Some(config)) else {
        return Ok(());
    };
    socket.read()?;
    script(&mut socket)?;
    // Until the guest has gone.
    while socket.read().is_ok() {}
    Ok(())
}

fn welcome() -> Vec<u8> {
    let workspace = FileId::parse(WORKSPACE).unwrap();
    ReplicaMessage::Welcome { workspace, resumed: false, writable: true, summarizes: false }
        .encode()
}

fn reached(is_end: bool) -> Vec<u8> {
    ReplicaMessage::Reached { cursor: "1", is_end }.encode()
}

fn updates(updates: &[(&str, &[u8])]) -> Vec<u8> {
    let updates = updates.iter().map(|(doc, data)| DocumentUpdate {
        doc: FileId::parse(doc).unwrap(),
        is_whole: false,
        data,
    });
    ReplicaMessage::Updates(updates.collect()).encode()
}

/// Sends the welcome and these frames.
fn frames(frames: Vec<Vec<u8>>) -> Arc<Script> {
    Arc::new(move |socket| {
        for frame in std::iter::once(welcome()).chain(frames.iter().cloned()) {
            socket.send(Message::binary(frame))?;
        }
        Ok(())
    })
}

/// Runs the command with a limit of memory.
fn run_limited(dir: &Path, args: &[&str]) -> Output {
    let mut command = Command::new("sh");
    command.arg("-c").arg(format!("ulimit -v {MAX_ADDRESS_SPACE}; exec \"$@\"")).arg("sh");
    command.arg(program()).args(args).current_dir(dir).env_remove("YFS_WORKSPACE");
    command.env(N_THREADS.0, N_THREADS.1);
    command.output().unwrap()
}

/// Clones from the hub. The command ends by itself, not by a signal or a panic.
fn clone(hub: &Hub, dir: &Path, more: &[&str]) -> (i32, String) {
    let output = run_limited(dir, &[&["clone", &hub.url, "copy"], more].concat());
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!stderr.contains("panicked"), "{stderr}");
    (output.status.code().unwrap_or_else(|| panic!("{:?}: {stderr}", output.status)), stderr)
}

/// Whatever was sent: the workspace, if one was made, is sound and takes a file.
fn assert_usable(dir: &Path, name: &str) {
    let copy = dir.join("copy");
    if !copy.join(".yfs/workspace.db").exists() {
        return;
    }
    let fsck = run(&copy, &["admin", "fsck"], b"");
    assert_eq!(fsck.code, Some(0), "{name}: {}", fsck.stderr);
    ok(&copy, &["write", "/mine.txt", "--content", "mine\n"]);
    assert_eq!(ok(&copy, &["cat", "/mine.txt"]), "mine\n", "{name}");
}

fn map(entries: Vec<(&str, Any)>) -> Any {
    let entries = entries.into_iter().map(|(key, entry)| (key.to_owned(), entry));
    Any::from(entries.collect::<HashMap<_, _>>())
}

fn row(id: &str, name: &str, kind: &str, more: Vec<(&str, Any)>) -> Any {
    let mut value = vec![
        ("id", Any::from(id)),
        ("name", Any::from(name)),
        ("parentId", Any::Null),
        ("type", Any::from(kind)),
        ("size", Any::from(0.0)),
        ("createdAt", Any::from(1.0)),
        ("updatedAt", Any::from(1.0)),
        ("trashedAt", Any::Null),
    ];
    value.extend(more);
    map(vec![("key", Any::from(id)), ("val", map(value)), ("ts", Any::from(1.0))])
}

fn rows(client: u64, rows: impl IntoIterator<Item = Any>) -> Vec<u8> {
    let doc = Doc::with_client_id(client);
    let table = doc.get_or_insert_array("table:files");
    let mut txn = doc.transact_mut();
    table.insert_range(&mut txn, 0, rows);
    txn.encode_update_v1()
}

fn text(client: u64, content: &str) -> Vec<u8> {
    let doc = Doc::with_client_id(client);
    let root = doc.get_or_insert_text("text");
    let mut txn = doc.transact_mut();
    root.push(&mut txn, content);
    txn.encode_update_v1()
}

/// All that is below a directory but the workspace.
fn files_below(dir: &Path) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut open = vec![dir.to_owned()];
    while let Some(below) = open.pop() {
        for entry in fs::read_dir(below).unwrap() {
            let path = entry.unwrap().path();
            if path.ends_with(".yfs") {
                continue;
            }
            found.insert(path.strip_prefix(dir).unwrap().to_string_lossy().into_owned());
            if path.is_dir() && !path.is_symlink() {
                open.push(path);
            }
        }
    }
    found
}

#[test]
fn messages_that_are_lies_end_the_clone_with_an_error() {
    let long = "x".repeat(16 << 20);
    let doc = FileId::parse(WORKSPACE).unwrap();
    let hash = ContentHash::of(b"a blob");
    let place = "x".repeat(MAX_CURSOR_LEN + 1);
    let lies: Vec<(&str, Arc<Script>)> = vec![
        ("nothing at all", frames(vec![vec![]])),
        ("an unknown message", frames(vec![vec![99]])),
        ("a count that is a lie", frames(vec![vec![2, 0xFF, 0xFF, 0xFF, 0xFF, 0x0F]])),
        ("an update that is cut", frames(vec![updates(&[(WORKSPACE, &[1, 1, 1])])[..8].to_vec()])),
        ("a long reason", frames(vec![ReplicaMessage::Refused { doc, reason: &long }.encode()])),
        (
            "a long place",
            frames(vec![ReplicaMessage::Reached { cursor: &place, is_end: true }.encode()]),
        ),
        (
            "a blob that was not requested",
            frames(vec![ReplicaMessage::Blob { hash, is_last: true, data: b"a blob" }.encode()]),
        ),
        ("a hello", frames(vec![ReplicaMessage::Hello { since: "", summarizes: false }.encode()])),
        ("no welcome", Arc::new(|socket| socket.send(Message::binary(reached(true))))),
        ("a text", Arc::new(|socket| socket.send(Message::text("not a frame of ours")))),
        ("the end", Arc::new(|socket| socket.close(None))),
    ];
    for (name, script) in lies {
        let dir = tempfile::tempdir().unwrap();
        // What is text is passed over, so the hub ends then.
        let hub = Hub::start(Arc::new(move |socket: &mut WebSocket<TcpStream>| {
            script(socket)?;
            socket.close(None)
        }));
        let (code, stderr) = clone(&hub, dir.path(), &[]);
        assert_eq!(code, 1, "{name}: {stderr}");
        assert!(stderr.starts_with("yfs clone: "), "{name}: {stderr}");
        assert_usable(dir.path(), name);
    }
}

#[test]
fn updates_that_harm_yrs_are_refused_and_the_rest_is_taken() {
    let mut names: Vec<_> = fs::read_dir(fixture("hostile-updates"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    names.sort();
    assert!(names.len() > 10);
    let hostile: Vec<Vec<u8>> = names.iter().map(|path| fs::read(path).unwrap()).collect();
    let table = rows(9, [row("goodfile1234567", "good.txt", "file", vec![])]);
    let good = text(10, "good\n");
    let mut sent: Vec<(&str, &[u8])> = vec![(WORKSPACE, &table), ("goodfile1234567", &good)];
    for update in &hostile {
        sent.push((WORKSPACE, update));
        sent.push(("goodfile1234567", update));
        sent.push(("otherfile123456", update));
    }
    let hub = Hub::start(frames(vec![updates(&sent), reached(true)]));
    let dir = tempfile::tempdir().unwrap();
    // The hub never confirms what it is sent, so the clone ends without being in step.
    let (code, stderr) = clone(&hub, dir.path(), &["--no-files"]);
    assert!(code == 0 || code == 1, "{stderr}");
    let copy = dir.path().join("copy");
    // Some of them are text that yrs reads; none takes the honest line away.
    assert!(ok(&copy, &["cat", "/good.txt"]).contains("good\n"));
    assert_eq!(ok(&copy, &["find", "/"]), "/\n/good.txt\n");
    let info: serde_json::Value =
        serde_json::from_str(&ok(&copy, &["admin", "info", "--json"])).unwrap();
    assert!(info["refused"].as_u64().unwrap() >= 10, "the quarantine keeps them: {info}");
    assert_usable(dir.path(), "hostile updates");
}

/// Names that lead elsewhere, and names that programs obey.
const NAMES: [&str; 14] = [
    "..",
    ".",
    "",
    "../outside.txt",
    "/outside.txt",
    "a/b.txt",
    "a\\..\\b.txt",
    "nul\0.txt",
    ".yfs",
    ".git",
    ".bashrc",
    ".envrc",
    "tab\tand\nline.txt",
    "\u{202e}txt.exe",
];

#[test]
fn names_and_links_of_a_hub_lead_nowhere_outside() {
    let mut table = Vec::new();
    for (number, name) in NAMES.iter().enumerate() {
        let (dir, file) = (format!("hostiledir{number:05}"), format!("hostilefil{number:05}"));
        let inner = format!("hostileinn{number:05}");
        table.push(row(&dir, name, "folder", vec![]));
        table.push(row(&file, name, "file", vec![]));
        let parent = vec![("parentId", Any::from(dir.as_str()))];
        table.push(row(&inner, "hooks", "folder", parent.clone()));
        table.push(row(&format!("hostilexxx{number:05}"), "workspace.db", "file", parent));
    }
    let targets = ["..", "/etc", "../outside", "/proc/self/root"];
    for (number, target) in targets.iter().enumerate() {
        let id = format!("hostilelnk{number:05}");
        let link = vec![("link", Any::from(*target))];
        table.push(row(&id, &format!("link{number}"), "file", link));
        let parent = vec![("parentId", Any::from(id.as_str()))];
        table.push(row(&format!("hostileund{number:05}"), "under.txt", "file", parent));
    }
    let long_name = "n".repeat(300);
    table.push(row("hostilelong1234", &long_name, "file", vec![]));
    let update = rows(9, table);
    let hub = Hub::start(frames(vec![updates(&[(WORKSPACE, &update)]), reached(true)]));
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("outside")).unwrap();
    let before = files_below(dir.path());
    clone(&hub, dir.path(), &["--no-files"]);
    // The files are written by a mirror of their own, since the hub confirms nothing.
    let output = run_limited(&dir.path().join("copy"), &["mirror", "--once"]);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code().is_some() && !stderr.contains("panicked"), "{stderr}");
    let outside: BTreeSet<_> =
        files_below(dir.path()).into_iter().filter(|path| !path.starts_with("copy")).collect();
    assert_eq!(outside, before, "nothing is written beside the clone");
    let copy = dir.path().join("copy");
    for obeyed in [".git/hooks", ".bashrc", ".envrc"] {
        assert!(!copy.join(obeyed).exists(), "{obeyed} is obeyed by programs");
    }
    for name in files_below(&copy) {
        let path = copy.join(&name);
        if path.is_symlink() {
            let leads = fs::canonicalize(&path).map(|to| to.starts_with(&copy));
            assert!(leads.unwrap_or(true), "{name} leads out");
        }
    }
    assert_usable(dir.path(), "names");
}

#[test]
fn rows_without_end_are_stopped_at_the_limit() {
    let hub = Hub::start(Arc::new(|socket| {
        socket.send(Message::binary(welcome()))?;
        let name = "n".repeat(200);
        for client in 100_u64.. {
            let row = |number| row(&format!("r{client:06}{number:08}"), &name, "folder", vec![]);
            let update = rows(client, (0..2_000).map(row));
            socket.send(Message::binary(updates(&[(WORKSPACE, &update)])))?;
        }
        Ok(())
    }));
    let dir = tempfile::tempdir().unwrap();
    let (code, stderr) = clone(&hub, dir.path(), &["--no-files", "--main-limit", "4M"]);
    assert_eq!(code, 1, "{stderr}");
    assert!(stderr.contains("limit"), "{stderr}");
    assert_usable(dir.path(), "rows without end");
}

/// A hub that sends updates of a megabyte took 5 GB of the guest's memory, which was then aborted.
#[test]
fn what_takes_too_much_memory_is_stopped_before_memory_is_exhausted() {
    let large_values: Arc<Script> = Arc::new(|socket| {
        socket.send(Message::binary(welcome()))?;
        for clock in 0.. {
            let mut update = vec![1, 1, 9];
            write_var_uint(&mut update, clock);
            update.extend([8, 1, 1, b'x', 1, 119]);
            write_var_uint(&mut update, 1 << 20);
            update.resize(update.len() + (1 << 20), b'y');
            update.push(0);
            socket.send(Message::binary(updates(&[(WORKSPACE, &update)])))?;
        }
        Ok(())
    });
    let limits = ["--no-files", "--main-limit", "1G", "--memory-limit", "300M"];
    for options in [&limits[..1], &limits] {
        let hub = Hub::start(Arc::clone(&large_values));
        let dir = tempfile::tempdir().unwrap();
        let (code, stderr) = clone(&hub, dir.path(), options);
        assert_eq!(code, 1, "{options:?}: {stderr}");
        assert!(stderr.contains("limit"), "{options:?}: {stderr}");
    }
}

/// Returns an update that types the next character of a text.
fn typed(root: &str, clock: u64) -> Vec<u8> {
    let mut update = vec![1, 1, 9];
    write_var_uint(&mut update, clock);
    if let Some(before) = clock.checked_sub(1) {
        update.extend([0x80 | 4, 9]);
        write_var_uint(&mut update, before);
    } else {
        update.extend([4, 1, root.len() as u8]);
        update.extend(root.as_bytes());
    }
    update.extend([1, b'x', 0]);
    update
}

/// Sends the first frames, waits for a request of blobs if there is to be one, and sends frames by
/// their numbers, more than the guest may take. What the guest sends is read.
fn without_end(
    first: Vec<Vec<u8>>,
    wants_blobs: bool,
    frame: impl Fn(u64) -> Vec<u8> + Send + Sync + 'static,
) -> Arc<Script> {
    Arc::new(move |socket| {
        for frame in std::iter::once(welcome()).chain(first.iter().cloned()) {
            socket.send(Message::binary(frame))?;
        }
        let mut is_waiting = wants_blobs;
        while is_waiting {
            let frame = socket.read()?.into_data();
            is_waiting = !matches!(ReplicaMessage::decode(&frame), Ok(ReplicaMessage::Want(_)));
        }
        let mut from_guest = socket.get_ref().try_clone()?;
        // Ends with the connection.
        thread::spawn(move || std::io::copy(&mut from_guest, &mut std::io::sink()));
        for number in 0..2 * MAX_ITEMS {
            socket.send(Message::binary(frame(number)))?;
        }
        socket.close(None)
    })
}

/// The messages and updates that the guest takes with [`ITEMS_LIMIT`].
const MAX_ITEMS: u64 = (4 << 20) / 256;
const ITEMS_LIMIT: &str = "4M";

/// Messages that take no memory were received for as long as the hub sent them.
#[test]
fn small_messages_without_end_are_stopped_at_the_limit() {
    let file = "smallfile123456";
    let hash = ContentHash::of(&[0xFF; 1000]);
    let blob = map(vec![("hash", Any::from(hash.to_string())), ("size", Any::from(1000.0))]);
    let blob = vec![("size", Any::from(1000.0)), ("blob", blob)];
    let first = || vec![updates(&[(WORKSPACE, &rows(8, [row(file, "x.txt", "file", vec![])]))])];
    let table = rows(8, [row("blobfile1234567", "x.bin", "file", blob)]);
    let with_blob = vec![updates(&[(WORKSPACE, &table)]), reached(true)];
    let doc = FileId::parse(WORKSPACE).unwrap();
    let scripts: Vec<(&str, Arc<Script>)> = vec![
        ("nothing", without_end(vec![], false, |_| updates(&[]))),
        ("positions", without_end(vec![], false, |_| reached(false))),
        (
            "refusals",
            without_end(vec![], false, move |_| {
                ReplicaMessage::Refused { doc: doc.clone(), reason: "" }.encode()
            }),
        ),
        (
            "one update again and again",
            without_end(first(), false, move |_| updates(&[(file, &typed("text", 0))])),
        ),
        (
            "updates of no file",
            without_end(vec![], false, move |_| updates(&[(file, &typed("text", 0))])),
        ),
        (
            "characters of a text",
            without_end(first(), false, move |clock| updates(&[(file, &typed("text", clock))])),
        ),
        (
            "characters of the main document",
            without_end(vec![], false, |clock| updates(&[(WORKSPACE, &typed("x", clock))])),
        ),
        (
            "updates that wait for each other",
            without_end(first(), false, move |clock| {
                updates(&[(file, &typed("text", 2 * clock + 1))])
            }),
        ),
        (
            "parts of a blob",
            without_end(with_blob, true, move |_| {
                ReplicaMessage::Blob { hash, is_last: false, data: b"" }.encode()
            }),
        ),
    ];
    for (name, script) in scripts {
        let hub = Hub::start(script);
        let dir = tempfile::tempdir().unwrap();
        let (code, stderr) =
            clone(&hub, dir.path(), &["--no-files", "--memory-limit", ITEMS_LIMIT]);
        assert_eq!(code, 1, "{name}: {stderr}");
        assert!(stderr.contains("--memory-limit"), "{name}: {stderr}");
        assert_usable(dir.path(), name);
    }
}

#[test]
fn a_blob_that_is_not_what_its_hash_says_is_not_kept() {
    let hash = ContentHash::of(&[0xFF; 1000]);
    let blob = map(vec![("hash", Any::from(hash.to_string())), ("size", Any::from(1000.0))]);
    let fields = vec![("size", Any::from(1000.0)), ("blob", blob)];
    let table = rows(9, [row("blobfile1234567", "x.bin", "file", fields)]);
    let wanted = Arc::new(Mutex::new(0));
    let seen = Arc::clone(&wanted);
    let hub = Hub::start(Arc::new(move |socket: &mut WebSocket<TcpStream>| {
        for frame in [welcome(), updates(&[(WORKSPACE, &table)]), reached(true)] {
            socket.send(Message::binary(frame))?;
        }
        loop {
            let frame = socket.read()?.into_data();
            if let Ok(ReplicaMessage::Want(hashes)) = ReplicaMessage::decode(&frame) {
                assert_eq!(hashes, [hash]);
                *seen.lock().unwrap() += 1;
                break;
            }
        }
        let lie = ReplicaMessage::Blob { hash, is_last: true, data: &[0xFE; 1000] };
        socket.send(Message::binary(lie.encode()))
    }));
    let dir = tempfile::tempdir().unwrap();
    let (code, stderr) = clone(&hub, dir.path(), &["--no-files"]);
    assert_eq!(code, 1, "{stderr}");
    assert!(*wanted.lock().unwrap() > 0, "the blob was requested");
    let read = run(&dir.path().join("copy"), &["cat", "/x.bin"], b"");
    assert_ne!(read.code, Some(0), "bytes that no writer wrote are not shown");
    assert!(read.stdout.is_empty());
}

#[test]
fn a_hub_that_turns_hostile_takes_nothing_from_a_clone() {
    let home = tempfile::tempdir().unwrap();
    fs::write(home.path().join("plan.txt"), "plan\n").unwrap();
    let server = Server::start(home.path(), 0);
    let dir = tempfile::tempdir().unwrap();
    let url = format!("http://127.0.0.1:{}", server.port());
    ok(dir.path(), &["clone", &url, "copy"]);
    let copy = dir.path().join("copy");
    let main = server.get("/api/tree").1;
    let main: serde_json::Value = serde_json::from_str(&main).unwrap();
    let main = main["workspace"].as_str().unwrap().to_owned();
    ok(&copy, &["write", "/mine.txt", "--content", "not sent yet\n"]);
    server.kill();
    let id = FileId::parse(&main).unwrap();
    let other = FileId::parse(WORKSPACE).unwrap();
    let resumed = |workspace: &FileId| {
        ReplicaMessage::Welcome {
            workspace: workspace.clone(),
            resumed: true,
            writable: true,
            summarizes: false,
        }
        .encode()
    };
    let taken = ReplicaMessage::Taken { cursor: "999999999" }.encode();
    let refused =
        ReplicaMessage::Refused { doc: id.clone(), reason: "I take nothing of yours" }.encode();
    let turns: Vec<(&str, Vec<Vec<u8>>)> = vec![
        ("another workspace", vec![resumed(&other)]),
        ("confirms what it was not sent", vec![resumed(&id), taken]),
        ("refuses all", vec![resumed(&id), refused, reached(true)]),
        ("noise", vec![resumed(&id), vec![0xFF; 1000]]),
    ];
    for (name, frames) in turns {
        let hub = Hub::start(Arc::new(move |socket: &mut WebSocket<TcpStream>| {
            for frame in &frames {
                socket.send(Message::binary(frame.clone()))?;
            }
            socket.close(None)
        }));
        let output = run_limited(&copy, &["sync", &hub.url]);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{name}: {stderr}");
        assert!(!stderr.contains("panicked"), "{name}: {stderr}");
        assert_eq!(ok(&copy, &["cat", "/plan.txt"]), "plan\n", "{name}");
        assert_eq!(ok(&copy, &["cat", "/mine.txt"]), "not sent yet\n", "{name}");
    }
    // The honest hub gets what the others did not keep.
    let server = Server::start(home.path(), 0);
    let url = format!("http://127.0.0.1:{}", server.port());
    ok(&copy, &["sync", &url]);
    assert_eq!(ok(home.path(), &["cat", "/mine.txt"]), "not sent yet\n");
}
