//! `yfs peer share` and `yfs peer join` as people run them: real processes over loopback, edits of
//! both sides, a kill, rights, and blocks.

use std::{
    fs,
    io::{BufRead, BufReader},
    net::UdpSocket,
    os::unix::fs::PermissionsExt,
    path::Path,
    process::Stdio,
};

use serde_json::{Value, json};
use yfs_tests::{
    command::{Server, command, ok, run},
    http::Client,
    peers::{
        Connected, LOOPBACK, fresh_address, peers, shared_directory, wait_for_file, wait_until,
    },
};

/// Returns the arguments of a `yfs peer join` that ends once both sides have everything.
fn join_once<'a>(args: &[&'a str]) -> Vec<&'a str> {
    [&["peer", "join"], args, &["--no-wait"], &LOOPBACK].concat()
}

#[test]
fn two_directories_stay_in_step_without_a_server() {
    let home = tempfile::tempdir().unwrap();
    let here = shared_directory(home.path());
    let there = home.path().join("there");
    let share = Connected::share(&here, &["--for", "ben"]);
    let ticket = share.ticket();
    let join = Connected::start(home.path(), &["peer", "join", &ticket, "there"]);
    wait_for_file(&there, "plan.txt", "one\n");

    // Both sides edit, in directories and by commands.
    fs::write(there.join("answer.txt"), "two\n").unwrap();
    wait_for_file(&here, "answer.txt", "two\n");
    ok(&here, &["append", "/plan.txt", "--content", "three\n"]);
    wait_for_file(&there, "plan.txt", "one\nthree\n");
    // It is written to here below.
    wait_for_file(&here, "plan.txt", "one\nthree\n");

    // Keys are secret, and others can see who is connected.
    let key = there.join(".yfs/workspace.db-peer.key");
    assert_eq!(fs::metadata(key).unwrap().permissions().mode() & 0o777, 0o600);
    let id = ok(&there, &["peer", "id"]);
    wait_until("the peer is listed", || {
        peers(&here).iter().any(|peer| peer["id"] == id.trim() && peer["connected"] == true)
    });
    assert_eq!(peers(&here)[0]["name"], "ben");

    // Another `share` prints a ticket and ends.
    let second = ok(&here, &["peer", "share", "--json", "--once"]);
    assert!(second.contains("\"once\":true"), "{second}");

    // One is killed; both edit meanwhile; it continues.
    drop(join);
    wait_until("the peer is away", || peers(&here)[0]["connected"] == false);
    fs::write(here.join("plan.txt"), "one\nthree\nfour\n").unwrap();
    fs::write(there.join("offline.txt"), "five\n").unwrap();
    let join = Connected::start(&there, &["peer", "join"]);
    wait_for_file(&there, "plan.txt", "one\nthree\nfour\n");
    wait_for_file(&here, "offline.txt", "five\n");

    // The owner is killed and shares again: the address is the same.
    drop(share);
    let share = Connected::share(&here, &[]);
    fs::write(there.join("late.txt"), "six\n").unwrap();
    wait_for_file(&here, "late.txt", "six\n");
    drop((join, share));
}

#[test]
fn rights_are_those_of_the_ticket() {
    let home = tempfile::tempdir().unwrap();
    let here = shared_directory(home.path());
    let share = Connected::share(&here, &["--read-only", "--for", "rea"]);
    let reader = Connected::start(home.path(), &["peer", "join", &share.ticket(), "reader"]);
    let reader_dir = home.path().join("reader");
    wait_for_file(&reader_dir, "plan.txt", "one\n");

    // What a reader writes stays there, and what others write still arrives.
    fs::write(reader_dir.join("own.txt"), "mine\n").unwrap();
    ok(&here, &["append", "/plan.txt", "--content", "two\n"]);
    wait_for_file(&reader_dir, "plan.txt", "one\ntwo\n");
    assert!(!here.join("own.txt").exists());

    // A ticket for one peer admits one.
    let once = ok(&here, &["peer", "share", "--once"]);
    ok(home.path(), &join_once(&[once.trim(), "first"]));
    assert_eq!(fs::read_to_string(home.path().join("first/plan.txt")).unwrap(), "one\ntwo\n");
    let refused = run(home.path(), &join_once(&[once.trim(), "second"]), b"");
    assert_eq!(refused.code, Some(1));
    assert!(refused.stderr.contains("another has used it"), "{}", refused.stderr);
    assert!(!home.path().join("second/plan.txt").exists());

    // A blocked reader gets nothing more.
    ok(&here, &["peer", "block", "rea"]);
    let id = ok(&reader_dir, &["peer", "id"]);
    wait_until("the reader is cut off", || {
        peers(&here).iter().any(|peer| peer["id"] == id.trim() && peer["connected"] == false)
    });
    ok(&here, &["append", "/plan.txt", "--content", "three\n"]);
    let other = run(&reader_dir, &["peer", "block", "owner"], b"");
    assert!(other.stderr.contains("blocked here only"), "{}", other.stderr);
    drop(reader);
    // At first no peer may be called. Then the owner refuses.
    for reason in ["no peer to connect with", "blocked"] {
        let refused = run(&reader_dir, &join_once(&[]), b"");
        assert_eq!(refused.code, Some(1), "{}", refused.stderr);
        assert!(refused.stderr.contains(reason), "{}", refused.stderr);
        ok(&reader_dir, &["peer", "unblock", "owner"]);
    }
    assert_eq!(fs::read_to_string(reader_dir.join("plan.txt")).unwrap(), "one\ntwo\n");
}

/// Returns the number of parts that the files of partial blobs in a workspace have.
fn n_parts_kept(directory: &Path) -> usize {
    let partial = directory.join(".yfs/workspace-db.derived/partial-blobs");
    let files = fs::read_dir(partial).into_iter().flatten().filter_map(Result::ok);
    let marks = files.filter_map(|entry| fs::read(entry.path()).ok()).map(|file| {
        let marks = file.get(4096..8192).unwrap_or_default();
        marks.iter().filter(|mark| **mark == 1).count()
    });
    marks.sum()
}

/// A process that is killed while it fetches a large file leaves what it has to the next one.
#[test]
fn parts_of_a_large_file_survive_a_kill() {
    let (part, n_parts) = (256 << 10, 128_usize);
    let content: Vec<u8> = (0..n_parts * part)
        .map(|at| ((at as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as u8)
        .collect();
    let home = tempfile::tempdir().unwrap();
    let here = shared_directory(home.path());
    fs::write(here.join("large.bin"), &content).unwrap();
    ok(&here, &["mirror", "--once", "."]);
    let share = Connected::share(&here, &[]);
    // A machine that is slow to kill lets a process have the whole file; then another one starts.
    let fetch_partly = |attempt: usize| {
        let name = format!("there{attempt}");
        let there = home.path().join(&name);
        let join = Connected::start(home.path(), &["peer", "join", &share.ticket(), &name]);
        let is_there = || there.join("large.bin").exists();
        wait_until("a quarter has arrived", || n_parts_kept(&there) >= n_parts / 4 || is_there());
        drop(join);
        (n_parts_kept(&there) >= n_parts / 4 && !is_there()).then_some(there)
    };
    let there = (0..50).find_map(fetch_partly).expect("one is killed in the middle");
    let n_kept = n_parts_kept(&there);
    let received = || -> u64 {
        peers(&there).iter().map(|peer| peer["bytes_received"].as_u64().unwrap()).sum()
    };
    let before = received();
    ok(&there, &join_once(&[]));
    assert!(fs::read(there.join("large.bin")).unwrap() == content);
    let (rest, n_bytes) = (n_parts - n_kept, received() - before);
    assert!(n_bytes < ((rest + 16) * part) as u64, "{n_bytes} bytes for {rest} parts");
    assert_eq!(n_parts_kept(&there), 0);
    // Nothing else takes these files for its own.
    ok(&there, &["admin", "fsck"]);
    drop(share);
}

/// Three peers in a chain: what one writes reaches the last by way of the second, live and after an
/// absence, whether the second may write or not.
#[test]
fn a_peer_between_two_others_passes_changes_on() {
    for rights in [&[] as &[&str], &["--read-only"]] {
        let home = tempfile::tempdir().unwrap();
        let here = shared_directory(home.path());
        let share = Connected::share(&here, rights);
        let middle = Connected::start(home.path(), &["peer", "join", &share.ticket(), "middle"]);
        let middle_dir = home.path().join("middle");
        wait_for_file(&middle_dir, "plan.txt", "one\n");
        let ticket = ok(&here, &["peer", "share"]);
        let far = Connected::start(home.path(), &["peer", "join", ticket.trim(), "far"]);
        let far_dir = home.path().join("far");
        wait_for_file(&far_dir, "plan.txt", "one\n");
        // The far peer learns of the one in the middle from the owner, who then leaves.
        wait_until("they have met", || peers(&far_dir).len() == 2);
        drop(share);
        wait_until("they are connected", || {
            peers(&far_dir).iter().filter(|peer| peer["connected"] == true).count() == 1
        });
        fs::write(far_dir.join("far.txt"), "far\n").unwrap();
        wait_for_file(&middle_dir, "far.txt", "far\n");
        drop(far);
        let share = Connected::share(&here, &[]);
        wait_for_file(&here, "far.txt", "far\n");
        drop((share, middle));
    }
}

/// Both sides call each other at the same time, and one of the connections ends for the other.
#[test]
fn a_call_from_the_other_side_fails_no_command() {
    let home = tempfile::tempdir().unwrap();
    let here = shared_directory(home.path());
    let there = home.path().join("there");
    let [owner, copy] = [(); 2].map(|()| format!("--listen={}", fresh_address()));
    let share = Connected::start_with(&here, &["peer", "share", &owner, "--no-lan"]);
    ok(home.path(), &["peer", "join", &share.ticket(), "there", &copy, "--no-lan", "--no-wait"]);
    for round in 0..4 {
        for n in 0..200 {
            fs::write(there.join(format!("{n}.txt")), format!("{round} of {n}\n")).unwrap();
        }
        ok(&there, &["peer", "join", &copy, "--no-lan", "--no-wait"]);
        for n in [0, 199] {
            wait_for_file(&here, &format!("{n}.txt"), &format!("{round} of {n}\n"));
        }
    }
}

#[test]
fn a_server_reports_the_peers_to_tokens_for_the_whole_workspace() {
    let home = tempfile::tempdir().unwrap();
    let here = shared_directory(home.path());
    let server = Server::start_with_tokens(&here, 0);
    let client = |token: &str| Client { port: server.port(), token: Some(token.to_owned()) };
    let token = |args: &[&str]| ok(&here, &[&["--quiet", "token"], args].concat());
    let owner = client(token(&["owner"]).trim());
    let list = || owner.get("/api/peers").json();
    let none = json!({ "id": null, "running": false, "peers": [], "presence": [] });
    assert_eq!(list(), none);
    assert!(!here.join(".yfs/workspace.db-peer.key").exists());

    let share = Connected::share(&here, &["--for", "ben"]);
    let join = Connected::start(home.path(), &["peer", "join", &share.ticket(), "there"]);
    let there = home.path().join("there");
    wait_until("they are in step", || list()["peers"][0]["in_step"] == true);
    let now = list();
    let peer = &now["peers"][0];
    assert_eq!(now["running"], true);
    assert_eq!(now["id"], ok(&here, &["peer", "id"]).trim());
    assert_eq!(peer["id"], ok(&there, &["peer", "id"]).trim());
    let expected = json!({ "name": "ben", "rights": "write", "via": "direct", "behind": 0 });
    for (name, value) in expected.as_object().unwrap() {
        assert_eq!(&peer[name], value, "{name}");
    }
    assert!(peer["bytes_sent"].as_u64() > Some(100), "{peer}");
    assert!(peer["last_seen"].as_u64() > Some(1_700_000_000_000), "{peer}");
    let metric = |name: &str| {
        let line = format!("yfs_{name}{{peer=\"{}\"}} ", peer["id"].as_str().unwrap());
        let metrics = owner.get("/metrics").text().to_owned();
        let value = metrics.lines().find_map(|text| text.strip_prefix(&line)?.parse::<u64>().ok());
        value.unwrap_or_else(|| panic!("{name}: {metrics}"))
    };
    assert_eq!(metric("peer_connected"), 1);
    assert!(metric("peer_sent_bytes") >= peer["bytes_sent"].as_u64().unwrap());

    // Documents that change while the peer is away; several changes of one document count once.
    drop(join);
    wait_until("the peer is away", || metric("peer_connected") == 0);
    assert_eq!(list()["peers"][0]["behind"], 0);
    for _ in 0..3 {
        ok(&here, &["append", "/plan.txt", "--content", "more\n"]);
    }
    ok(&here, &["write", "/new.txt", "--content", "new\n"]);
    // The two documents of content, and the tree with the new name.
    wait_until("the peer is behind", || list()["peers"][0]["behind"] == 3);
    assert_eq!(metric("peer_behind_documents"), 3);
    let join = Connected::start(&there, &["peer", "join"]);
    wait_until("they are in step", || list()["peers"][0]["in_step"] == true);
    assert_eq!(list()["peers"][0]["behind"], 0);
    drop((share, join));
    wait_until("no process connects them", || list()["running"] == false);
    assert_eq!(list()["peers"][0]["connected"], false);

    // Peers of a shared directory have its path.
    ok(&here, &["mkdir", "/docs"]);
    let share = Connected::share(&here, &["--path", "/docs", "--for", "dora"]);
    let join = Connected::start(home.path(), &["peer", "join", &share.ticket(), "docs"]);
    wait_until("the peer of the directory is in step", || list()["peers"][1]["in_step"] == true);
    let now = list();
    assert_eq!(
        [&now["peers"][0]["path"], &now["peers"][1]["path"]],
        [&json!(null), &json!("/docs")]
    );
    assert_eq!(now["peers"][1]["name"], "dora");
    drop((share, join));

    let part = client(token(&["new", "--path", "/docs"]).trim());
    assert_eq!(part.get("/api/peers").status, 403);
    assert_eq!(client("yfs_AAAA").get("/api/peers").status, 401);
    let reader = client(token(&["new", "--read"]).trim());
    assert_eq!(reader.get("/api/peers").status, 200);
}

#[test]
fn what_cannot_be_shared_is_refused() {
    let home = tempfile::tempdir().unwrap();
    let here = shared_directory(home.path());
    let part = run(&here, &["peer", "share", "--path", "/docs"], b"");
    assert_eq!(part.code, Some(1));
    assert!(part.stderr.contains("No such file or directory"), "{}", part.stderr);
    let bad = run(home.path(), &["peer", "join", "yfspeer_AAAA", "there"], b"");
    assert_eq!(bad.code, Some(1));
    assert!(bad.stderr.contains("not a valid ticket"), "{}", bad.stderr);
    assert!(!home.path().join("there").exists());
    // Nothing was made that listens or identifies: the workspace was never shared.
    let alone = run(&here, &["peer", "join"], b"");
    assert!(alone.stderr.contains("not shared yet"), "{}", alone.stderr);
}

#[test]
fn a_relay_needs_no_workspace_and_prints_what_it_did() {
    let home = tempfile::tempdir().unwrap();
    let args = ["peer", "relay", "--listen", "127.0.0.1:0", "--json", "--stats-every", "1s"];
    let mut relay = command()
        .args(args)
        .current_dir(home.path())
        .env_remove("YFS_WORKSPACE")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(relay.stdout.take().unwrap()).lines();
    let mut lines = lines.map(|line| serde_json::from_str::<Value>(&line.unwrap()).unwrap());
    let address = lines.next().unwrap()["listening"].as_str().unwrap().to_owned();
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    // Noise, and a first message, whose answer is shorter.
    socket.send_to(b"noise", &address).unwrap();
    let hello = [&[1][..], &[7; 8], &[0; 55]].concat();
    socket.send_to(&hello, &address).unwrap();
    let mut buffer = [0; 100];
    let len = socket.recv(&mut buffer).unwrap();
    assert_eq!((buffer[0], &buffer[1..9], len), (0x81, &[7; 8][..], 33));
    let counts = lines.next().unwrap();
    assert_eq!((&counts["malformed"], &counts["peers"]), (&json!(1), &json!(0)), "{counts}");
    assert_eq!(fs::read_dir(home.path()).unwrap().count(), 0);
    relay.kill().unwrap();
    relay.wait().unwrap();

    let wrong = run(home.path(), &["peer", "relay", "--allow", "0123"], b"");
    assert!(wrong.stderr.contains("64 hexadecimal digits"), "{}", wrong.stderr);
}

/// Any user of the machine can list the arguments of a process, and `join` runs for hours.
#[test]
fn a_ticket_is_not_among_the_arguments_of_the_process_that_joined() {
    let home = tempfile::tempdir().unwrap();
    let here = shared_directory(home.path());
    let share = Connected::share(&here, &["--for", "ben"]);
    let ticket = share.ticket();
    let join = Connected::start(home.path(), &["peer", "join", &ticket, "there"]);
    wait_for_file(&home.path().join("there"), "plan.txt", "one\n");
    let arguments = fs::read(format!("/proc/{}/cmdline", join.pid())).unwrap();
    let arguments = String::from_utf8(arguments).unwrap();
    assert!(arguments.contains("there") && !arguments.contains("yfspeer_"), "{arguments}");
    drop(join);

    // Nor need it ever be there.
    let args = join_once(&["-", "piped"]);
    let piped = run(home.path(), &args, format!("{ticket}\n").as_bytes());
    assert_eq!(piped.code, Some(0), "{}", piped.stderr);
    wait_for_file(&home.path().join("piped"), "plan.txt", "one\n");
    let named = command()
        .args(join_once(&["-", "named"]))
        .env("YFS_TICKET", &ticket)
        .current_dir(home.path())
        .output()
        .unwrap();
    assert!(named.status.success(), "{}", String::from_utf8_lossy(&named.stderr));
    let nothing = run(home.path(), &join_once(&["-", "none"]), b"");
    assert_eq!(nothing.code, Some(2), "{}", nothing.stderr);
    assert!(!home.path().join("none").exists());
    drop(share);
}
