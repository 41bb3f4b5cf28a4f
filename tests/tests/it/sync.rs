//! Workspaces on several machines: clone, work offline, sync, follow.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{
    fs,
    io::{BufRead, BufReader},
    os::unix::fs::PermissionsExt,
    path::Path,
    process::{Child, Command, Stdio},
};

use serde_json::{Value, json};
use yfs_tests::{
    command::{Server, ok, program, run},
    editor::Editor,
};

/// A `yfs sync --watch` that runs. Killed when dropped, as by `kill -9`.
struct Watch {
    child: Child,
    lines: std::io::Lines<BufReader<std::process::ChildStdout>>,
}

impl Watch {
    fn start(dir: &Path) -> Self {
        let mut command = Command::new(program());
        command.args(["sync", "--watch", "--json", "--quiet"]).current_dir(dir);
        command.env_remove("YFS_WORKSPACE").stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, lines }
    }

    /// Waits until both sides have everything once more.
    fn in_step(&mut self) -> Value {
        serde_json::from_str(&self.lines.next().unwrap().unwrap()).unwrap()
    }

    /// Waits until a file here holds a text.
    fn wait_for(&mut self, dir: &Path, path: &str, text: &str) {
        while !run(dir, &["cat", path], b"")
            .stdout
            .windows(text.len())
            .any(|bytes| bytes == text.as_bytes())
        {
            self.in_step();
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

#[test]
fn a_clone_works_offline_and_merges() {
    let (home, away) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    fs::create_dir(home.path().join("docs")).unwrap();
    fs::write(home.path().join("docs/plan.md"), "# Plan\n\nOne.\n\nTwo.\n").unwrap();
    let bytes: Vec<u8> = (0..=255).cycle().take(300_000).collect();
    fs::write(home.path().join("image.png"), &bytes).unwrap();
    let server = Server::start_with_tokens(home.path(), 0);
    let url = format!("http://127.0.0.1:{}", server.port());
    let token = ok(home.path(), &["--quiet", "token", "owner"]).trim().to_owned();
    let dir = away.path().join("copy");
    let dir_name = dir.to_str().unwrap();

    // No clone is created if no server answers, or if the token does not cover the whole workspace.
    let part = ok(home.path(), &["--quiet", "token", "new", "--path", "/docs"]);
    for (url, token) in
        [("http://127.0.0.1:1", token.as_str()), (&url, "yfs_x.y"), (&url, part.trim())]
    {
        let refused = run(away.path(), &["clone", url, dir_name, "--token", token], b"");
        assert_eq!(refused.code, Some(1), "{}", refused.stderr);
        assert!(!dir.exists());
    }
    ok(away.path(), &["clone", &url, dir_name, "--token", &token]);
    assert_eq!(ok(&dir, &["cat", "/docs/plan.md"]), "# Plan\n\nOne.\n\nTwo.\n");
    assert!(run(&dir, &["cat", "/image.png"], b"").stdout == bytes);

    // The files are on the disk as well. What is changed there goes with the next sync.
    let plan = dir.join("docs/plan.md");
    assert_eq!(fs::read_to_string(&plan).unwrap(), "# Plan\n\nOne.\n\nTwo.\n");
    assert_eq!(fs::read(dir.join("image.png")).unwrap(), bytes);
    fs::write(dir.join("from-disk.txt"), "made on the disk\n").unwrap();

    // Both sides work; one renames what the other edits, and adds bytes.
    ok(&dir, &["edit", "/docs/plan.md", "--old", "One", "--new", "One, from away"]);
    assert_eq!(run(&dir, &["write", "/new.bin"], b"\0away\xff").code, Some(0));
    ok(home.path(), &["edit", "/docs/plan.md", "--old", "Two", "--new", "Two, from home"]);
    ok(home.path(), &["mv", "/docs/plan.md", "/docs/idea.md"]);
    let first: Value = serde_json::from_str(&ok(&dir, &["sync", "--json"])).unwrap();
    assert!(first["sent"].as_u64() >= Some(2) && first["new"].as_u64() >= Some(2), "{first}");
    let merged = "# Plan\n\nOne, from away.\n\nTwo, from home.\n";
    for place in [home.path(), &dir] {
        assert_eq!(ok(place, &["cat", "/docs/idea.md"]), merged);
        assert_eq!(run(place, &["cat", "/new.bin"], b"").stdout, b"\0away\xff");
    }
    assert_eq!(ok(home.path(), &["cat", "/from-disk.txt"]), "made on the disk\n");
    assert_eq!(fs::read_to_string(dir.join("docs/idea.md")).unwrap(), merged);
    assert!(!plan.exists(), "a renamed file is not there twice");
    // Who wrote what came along.
    let blame = ok(&dir, &["versions", "ls", "/docs/idea.md", "--json"]);
    assert!(blame.lines().count() >= 2, "{blame}");
    // Without news, at most the records since the last mark of the log are sent again; how many
    // these are depends on when the server made it. Here it is all that was done since the clone.
    // News are the lengths of texts, which the server writes to their rows once they have rested.
    let syncs = (0..10)
        .map(|_| serde_json::from_str::<Value>(&ok(&dir, &["sync", "--json"])).expect("a summary"));
    let idle = syncs.into_iter().find(|done| done["new"] == 0).expect("there are always news");
    assert_eq!(idle["sent"], 0, "{idle}");
    assert!(idle["received"].as_u64() < Some(30), "{idle}");
    assert!(idle["bytes_received"].as_u64() < Some(6_000), "{idle}");
    assert_eq!(server.interrupt(), Some(0));
    let gone = run(&dir, &["sync"], b"");
    assert_eq!(gone.code, Some(1), "{}", gone.stderr);
    for place in [home.path(), &dir] {
        ok(place, &["admin", "fsck"]);
    }
}

#[test]
fn sync_completes_a_clone_that_was_interrupted() {
    let (home, away) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    fs::write(home.path().join("a.txt"), "from home\n").unwrap();
    let server = Server::start_with_tokens(home.path(), 0);
    let url = format!("http://127.0.0.1:{}", server.port());
    let token = ok(home.path(), &["--quiet", "token", "owner"]).trim().to_owned();
    // The clone has received everything when it fails: its database is in the way.
    let dir = away.path().join("copy");
    let in_the_way = dir.join(".yfs/mirror.db");
    fs::create_dir_all(&in_the_way).unwrap();
    let failed = run(away.path(), &["clone", &url, dir.to_str().unwrap(), "--token", &token], b"");
    assert_eq!(failed.code, Some(1), "{}", failed.stderr);
    assert!(!dir.join("a.txt").exists());
    fs::remove_dir(&in_the_way).unwrap();
    ok(&dir, &["sync"]);
    assert_eq!(fs::read_to_string(dir.join("a.txt")).unwrap(), "from home\n");
    // From now on the directory is synchronized.
    fs::write(dir.join("b.txt"), "from away\n").unwrap();
    ok(&dir, &["sync"]);
    assert_eq!(ok(home.path(), &["cat", "/b.txt"]), "from away\n");
}

#[test]
fn a_dry_run_lists_the_changes_of_both_sides_and_makes_none() {
    let (home, away) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    for name in ["a.txt", "b.txt", "c.txt", "d.txt"] {
        fs::write(home.path().join(name), "from home\n").unwrap();
    }
    let server = Server::start_with_tokens(home.path(), 0);
    let url = format!("http://127.0.0.1:{}", server.port());
    let token = ok(home.path(), &["--quiet", "token", "owner"]).trim().to_owned();
    let dir = away.path().join("copy");
    ok(away.path(), &["clone", &url, dir.to_str().unwrap(), "--token", &token]);
    let preview =
        || -> Value { serde_json::from_str(&ok(&dir, &["sync", "--dry-run", "--json"])).unwrap() };
    let unsent = || -> Value {
        let status = ok(&dir, &["status", "--json"]);
        serde_json::from_str::<Value>(&status).unwrap()["unsent"].take()
    };
    assert_eq!(preview(), json!({ "receive": [], "send": [] }));
    assert_eq!(unsent(), json!([]));
    ok(&dir, &["append", "/a.txt", "--content", "from away\n"]);
    ok(home.path(), &["append", "/b.txt", "--content", "more\n"]);
    ok(home.path(), &["mv", "/c.txt", "/moved.txt"]);
    ok(home.path(), &["rm", "/d.txt"]);
    let receive = ["/b.txt", "/c.txt -> /moved.txt", "/d.txt (removed)"];
    for _ in 0..2 {
        assert_eq!(preview(), json!({ "receive": receive, "send": ["/a.txt"] }));
        assert_eq!(unsent(), json!(["/a.txt"]));
    }
    assert_eq!(ok(&dir, &["cat", "/b.txt", "/c.txt"]), "from home\nfrom home\n");
    assert_eq!(ok(home.path(), &["cat", "/a.txt"]), "from home\n");
    ok(&dir, &["sync"]);
    assert_eq!(ok(home.path(), &["cat", "/a.txt"]), "from home\nfrom away\n");
    assert_eq!(preview(), json!({ "receive": [], "send": [] }));
    assert_eq!(unsent(), json!([]));

    // What the next exchange imports from the disk.
    fs::write(dir.join("a.txt"), "on disk\n").unwrap();
    fs::set_permissions(dir.join("a.txt"), fs::Permissions::from_mode(0o755)).unwrap();
    fs::remove_file(dir.join("b.txt")).unwrap();
    fs::rename(dir.join("moved.txt"), dir.join("g.txt")).unwrap();
    fs::write(dir.join("n.txt"), "new\n").unwrap();
    let send =
        ["/a.txt", "/a.txt (mode 755)", "/b.txt (removed)", "/moved.txt -> /g.txt", "/n.txt"];
    assert_eq!(preview(), json!({ "receive": [], "send": send }));
    ok(&dir, &["sync"]);
    assert_eq!(
        ok(home.path(), &["cat", "/a.txt", "/g.txt", "/n.txt"]),
        "on disk\nfrom home\nnew\n"
    );
    assert_eq!(preview(), json!({ "receive": [], "send": [] }));
}

#[test]
fn a_sync_that_only_reads_says_what_stays_here() {
    let (home, away) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    fs::write(home.path().join("a.txt"), "from home\n").unwrap();
    fs::write(home.path().join("b.txt"), "from home\n").unwrap();
    let server = Server::start_with_tokens(home.path(), 0);
    let url = format!("http://127.0.0.1:{}", server.port());
    let token = ok(home.path(), &["--quiet", "token", "new", "--read"]).trim().to_owned();
    let owner = ok(home.path(), &["--quiet", "token", "owner"]).trim().to_owned();
    let dir = away.path().join("copy");
    ok(away.path(), &["clone", &url, dir.to_str().unwrap(), "--token", &token]);
    ok(home.path(), &["append", "/a.txt", "--content", "more\n"]);
    ok(&dir, &["sync"]);
    ok(&dir, &["append", "/b.txt", "--content", "from away\n"]);
    ok(home.path(), &["append", "/a.txt", "--content", "and more\n"]);
    for _ in 0..2 {
        let read_only = run(&dir, &["sync"], b"");
        assert_eq!(read_only.code, Some(1), "{}", read_only.stderr);
        assert!(read_only.stderr.contains("/b.txt: changed here only"), "{}", read_only.stderr);
        assert!(!read_only.stderr.contains("/a.txt"), "{}", read_only.stderr);
    }
    assert_eq!(ok(&dir, &["cat", "/a.txt"]), "from home\nmore\nand more\n");
    // With a token that may write everything is sent, and no longer listed.
    ok(&dir, &["sync", &url, "--token", &owner]);
    assert_eq!(ok(home.path(), &["cat", "/b.txt"]), "from home\nfrom away\n");
    ok(&dir, &["sync", &url, "--token", &token]);
}

#[test]
fn two_clones_and_an_editor_stay_in_step_through_a_restart() {
    let home = tempfile::tempdir().unwrap();
    fs::write(home.path().join("a.txt"), "begin\n").unwrap();
    let server = Server::start_with_tokens(home.path(), 0);
    let port = server.port();
    let url = format!("http://127.0.0.1:{port}");
    let token = ok(home.path(), &["--quiet", "token", "owner"]).trim().to_owned();
    let away = tempfile::tempdir().unwrap();
    let dirs = [away.path().join("one"), away.path().join("two")];
    for dir in &dirs {
        ok(away.path(), &["clone", &url, dir.to_str().unwrap(), "--token", &token]);
    }
    let [mut one, mut two] = [Watch::start(&dirs[0]), Watch::start(&dirs[1])];
    // Two for one store and server would log each other's news for ever.
    one.in_step();
    let second = run(&dirs[0], &["sync", "--watch"], b"");
    assert_eq!(second.code, Some(1), "{}", second.stderr);
    let refusal = "another process synchronizes this workspace";
    assert!(second.stderr.contains(refusal), "{}", second.stderr);
    let stat: Value =
        serde_json::from_str(&ok(home.path(), &["stat", "--json", "/a.txt"])).unwrap();
    let guid = stat["id"].as_str().unwrap();
    let mut ana = Editor::open_with_token(port, guid, "ana", &token);
    ana.insert(-1, "typed by Ana\n");
    one.wait_for(&dirs[0], "/a.txt", "typed by Ana\n");
    // From one clone, through the hub, into the other and into the editor.
    ok(&dirs[0], &["append", "/a.txt", "--content", "from one\n"]);
    two.wait_for(&dirs[1], "/a.txt", "from one\n");
    ana.wait_for_text(&["from one\n"]);

    // The hub is killed. All clients go on, and their work is on the hub after it has restarted.
    server.kill();
    ok(&dirs[0], &["append", "/a.txt", "--content", "offline one\n"]);
    ok(&dirs[1], &["append", "/a.txt", "--content", "offline two\n"]);
    ok(home.path(), &["append", "/a.txt", "--content", "offline home\n"]);
    ana.insert(-1, "offline Ana\n");
    let _server = Server::start_with_tokens(home.path(), port);
    let all = ["offline one\n", "offline two\n", "offline home\n", "offline Ana\n"];
    ana.wait_for_text(&all);
    for text in all {
        one.wait_for(&dirs[0], "/a.txt", text);
        two.wait_for(&dirs[1], "/a.txt", text);
    }
    let text = ok(home.path(), &["cat", "/a.txt"]);
    assert_eq!(text.lines().count(), 7, "{text}");
    assert_eq!(ok(&dirs[0], &["cat", "/a.txt"]), text);
    assert_eq!(ok(&dirs[1], &["cat", "/a.txt"]), text);
}

/// What a damaged record held comes back from the other side, and the file on disk keeps it too.
#[test]
fn a_repaired_clone_gets_its_text_back() {
    let (home, away) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    fs::create_dir(home.path().join("docs")).unwrap();
    fs::write(home.path().join("docs/f.txt"), "base\n").unwrap();
    fs::write(home.path().join("docs/g.md"), "# G\n").unwrap();
    let server = Server::start_with_tokens(home.path(), 0);
    let url = format!("http://127.0.0.1:{}", server.port());
    let token = ok(home.path(), &["--quiet", "token", "owner"]).trim().to_owned();
    let dir = away.path().join("copy");
    ok(away.path(), &["clone", &url, dir.to_str().unwrap(), "--token", &token]);
    ok(home.path(), &["append", "/docs/f.txt", "--content", "DAMAGED\n"]);
    ok(home.path(), &["append", "/docs/g.md", "--content", "\nDAMAGED *too*\n"]);
    ok(&dir, &["sync"]);
    assert_eq!(fs::read_to_string(dir.join("docs/f.txt")).unwrap(), "base\nDAMAGED\n");

    let store = dir.join(".yfs/workspace.db");
    let mut bytes = fs::read(&store).unwrap();
    let is_here = |at: &usize| bytes[*at..].starts_with(b"DAMAGED");
    let places: Vec<usize> = (0..bytes.len()).filter(is_here).collect();
    assert!(places.len() >= 2);
    places.into_iter().for_each(|place| bytes[place] ^= 1);
    fs::write(&store, bytes).unwrap();

    // Nothing is exchanged or overwritten before a person decides.
    let refused = run(&dir, &["sync"], b"");
    assert_eq!(refused.code, Some(1), "{}", refused.stderr);
    assert!(refused.stderr.contains("fsck"), "{}", refused.stderr);
    assert_eq!(fs::read_to_string(dir.join("docs/f.txt")).unwrap(), "base\nDAMAGED\n");
    assert_eq!(run(&dir, &["admin", "fsck", "--repair"], b"").code, Some(1));
    assert_eq!(ok(&dir, &["cat", "/docs/f.txt"]), "base\n");
    // Both sides work on before they meet again.
    fs::write(dir.join("docs/g.md"), "# G\n\nDAMAGED *too*\n\nfrom away\n").unwrap();
    ok(home.path(), &["edit", "/docs/g.md", "--old", "# G", "--new", "# G from home"]);
    ok(&dir, &["sync"]);
    let merged = "# G from home\n\nDAMAGED *too*\n\nfrom away\n";
    for place in [home.path(), &dir] {
        assert_eq!(ok(place, &["cat", "/docs/f.txt"]), "base\nDAMAGED\n");
        assert_eq!(ok(place, &["cat", "/docs/g.md"]), merged);
    }
    assert_eq!(fs::read_to_string(dir.join("docs/f.txt")).unwrap(), "base\nDAMAGED\n");
    assert_eq!(fs::read_to_string(dir.join("docs/g.md")).unwrap(), merged);
    ok(&dir, &["admin", "fsck"]);
}

/// Two clones change one value: no replica shows a value that neither wrote, all say so, and one
/// command ends it everywhere.
#[test]
fn a_value_that_two_clones_change_is_a_conflict() {
    let (home, away) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    fs::create_dir(home.path().join("etc")).unwrap();
    fs::write(home.path().join("etc/app.toml"), "timeout = 30\nname = \"a\"\n").unwrap();
    fs::write(home.path().join("etc/pkg.json"), "{ \"version\": \"1.2.3\" }\n").unwrap();
    fs::write(home.path().join("notes.md"), "Meet at 12:30 today.\n").unwrap();
    let server = Server::start_with_tokens(home.path(), 0);
    let url = format!("http://127.0.0.1:{}", server.port());
    let token = ok(home.path(), &["--quiet", "token", "owner"]).trim().to_owned();
    let clones = ["b", "c"].map(|name| away.path().join(name));
    for dir in &clones {
        ok(away.path(), &["clone", &url, dir.to_str().unwrap(), "--token", &token]);
    }
    for (dir, [value, version, time]) in
        clones.iter().zip([["45", "1.3.0", "13:45"], ["60", "2.0.0", "9:00"]])
    {
        let text = format!("timeout = {value}\nname = \"a\"\n");
        fs::write(dir.join("etc/app.toml"), text).unwrap();
        let text = format!("{{ \"version\": \"{version}\" }}\n");
        fs::write(dir.join("etc/pkg.json"), text).unwrap();
        fs::write(dir.join("notes.md"), format!("Meet at {time} today.\n")).unwrap();
    }
    ok(&clones[0], &["sync"]);
    let second = run(&clones[1], &["sync"], b"");
    assert!(second.stderr.contains("app.toml"), "{}", second.stderr);
    ok(&clones[0], &["sync"]);
    let places = [home.path(), &clones[0], &clones[1]];
    for (path, words) in [
        ("/etc/app.toml", ["45", "60"]),
        ("/etc/pkg.json", ["1.3.0", "2.0.0"]),
        ("/notes.md", ["13:45", "9:00"]),
    ] {
        let text = ok(places[0], &["cat", path]);
        assert!(places.iter().all(|place| ok(place, &["cat", path]) == text), "{text}");
        let both = [format!("{} {}", words[0], words[1]), format!("{} {}", words[1], words[0])];
        assert!(both.iter().any(|both| text.contains(both)), "{text}");
        for place in places {
            assert!(ok(place, &["conflicts"]).contains(&format!("words: {path}")), "{path}");
        }
        ok(&clones[1], &["conflicts", "resolve", path]);
    }
    ok(&clones[1], &["sync"]);
    ok(&clones[0], &["sync"]);
    for place in places {
        assert_eq!(ok(place, &["conflicts"]), "");
        let text = ok(place, &["cat", "/etc/app.toml"]);
        assert!(text.starts_with("timeout = 45\n") || text.starts_with("timeout = 60\n"), "{text}");
    }
    assert_eq!(run(&clones[1], &["conflicts", "resolve", "/notes.md"], b"").code, Some(1));
}

/// A removal that meets a change: every replica lists it with both writers, `sync` names it on the
/// side of either writer, and one command ends it everywhere.
#[test]
fn a_removal_beside_a_change_is_a_conflict() {
    let (home, away) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    fs::create_dir(home.path().join("dir")).unwrap();
    for path in ["edited.txt", "dir/old.txt", "kept.txt", "gone.txt"] {
        fs::write(home.path().join(path), "base\n").unwrap();
    }
    let server = Server::start_with_tokens(home.path(), 0);
    let url = format!("http://127.0.0.1:{}", server.port());
    let token = ok(home.path(), &["--quiet", "token", "owner"]).trim().to_owned();
    let clones = ["ana", "bob"].map(|name| away.path().join(name));
    for dir in &clones {
        ok(away.path(), &["clone", &url, dir.to_str().unwrap(), "--token", &token]);
    }
    let [ana, bob] = &clones;
    // Bob changes first, so no clock says that Ana did not know.
    fs::write(bob.join("edited.txt"), "base\nof bob\n").unwrap();
    fs::write(bob.join("kept.txt"), "base\nof bob\n").unwrap();
    fs::write(bob.join("dir/new.txt"), "new\n").unwrap();
    ok(bob, &["conflicts"]);
    ok(bob, &["mirror", ".", "--once"]);
    for path in ["edited.txt", "kept.txt", "gone.txt"] {
        fs::remove_file(ana.join(path)).unwrap();
    }
    fs::remove_dir_all(ana.join("dir")).unwrap();
    ok(ana, &["sync"]);
    let said = run(bob, &["sync"], b"").stderr;
    let named = ["/edited.txt", "/kept.txt", "/dir/new.txt"];
    assert!(named.iter().all(|path| said.contains(path)) && !said.contains("gone"), "{said}");
    assert!(!bob.join("edited.txt").exists());
    let said = run(ana, &["sync"], b"").stderr;
    assert!(named.iter().all(|path| said.contains(path)), "{said}");
    for place in [home.path(), ana, bob] {
        let listed = ok(place, &["conflicts"]);
        for (kind, path) in
            [("removed", "/edited.txt"), ("removed", "/kept.txt"), ("stranded", "/dir/new.txt")]
        {
            assert!(listed.contains(&format!("{kind}: {path}: ")), "{listed}");
        }
        assert_eq!(listed.lines().count(), 3, "{listed}");
    }
    let refused = run(ana, &["conflicts", "resolve", "/edited.txt"], b"");
    assert!(refused.stderr.contains("--restore or --delete"), "{}", refused.stderr);
    ok(ana, &["conflicts", "resolve", "/edited.txt", "--restore"]);
    ok(ana, &["conflicts", "resolve", "/kept.txt", "--delete"]);
    ok(ana, &["conflicts", "resolve", "/dir", "--restore"]);
    ok(ana, &["sync"]);
    ok(bob, &["sync"]);
    for place in [home.path(), ana, bob] {
        assert_eq!(ok(place, &["conflicts"]), "");
        assert_eq!(ok(place, &["cat", "/edited.txt"]), "base\nof bob\n");
        assert_eq!(ok(place, &["cat", "/dir/new.txt"]), "new\n");
        assert_eq!(run(place, &["cat", "/kept.txt"], b"").code, Some(1));
    }
    assert_eq!(run(ana, &["conflicts", "resolve", "/kept.txt", "--delete"], b"").code, Some(1));
}
