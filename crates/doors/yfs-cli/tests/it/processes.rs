//! Several processes on one workspace at once, and processes that the system kills or limits.

#![expect(clippy::unwrap_used, reason = "a panic fails the test, which is what it is for")]

use std::{
    env, fs,
    io::{BufRead, BufReader, Lines},
    path::Path,
    process::{Child, ChildStdout, Command, Output, Stdio},
    time::{Duration, Instant},
};

const N_PROCESSES: usize = 8;

#[test]
fn appends_and_edits_of_many_processes_all_land() {
    let dir = workspace();
    let body: String = (0..N_PROCESSES).map(|n| format!("line {n} old\n")).collect();
    ok(dir.path(), &["write", "shared.txt", "--content", &body]);
    let edits = (0..N_PROCESSES).map(|n| {
        let (old, new) = (format!("line {n} old"), format!("line {n} new"));
        spawn(dir.path(), &["edit", "shared.txt", &old, &new])
    });
    let appends = (0..N_PROCESSES).map(|n| {
        let line = format!("appended {n}\n");
        spawn(dir.path(), &["append", "shared.txt", "--content", &line])
    });
    let children: Vec<Child> = edits.chain(appends).collect();
    for child in children {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    let text = ok(dir.path(), &["cat", "shared.txt"]);
    for n in 0..N_PROCESSES {
        assert_eq!(text.matches(&format!("line {n} new\n")).count(), 1, "{text}");
        assert_eq!(text.matches(&format!("appended {n}\n")).count(), 1, "{text}");
    }
    assert!(!text.contains("old"), "{text}");
}

#[test]
fn of_many_that_create_exactly_one_succeeds() {
    let dir = workspace();
    for round in 0..4 {
        let name = format!("lock-{round}");
        let children: Vec<Child> = (0..N_PROCESSES)
            .map(|n| {
                let content = n.to_string();
                spawn(dir.path(), &["write", &name, "--create-new", "--content", &content])
            })
            .collect();
        let outputs: Vec<Output> =
            children.into_iter().map(|child| child.wait_with_output().unwrap()).collect();
        let winners: Vec<usize> =
            (0..N_PROCESSES).filter(|n| outputs[*n].status.success()).collect();
        assert_eq!(winners.len(), 1, "round {round}: {outputs:?}");
        assert_eq!(ok(dir.path(), &["cat", &name]), winners[0].to_string());
        for output in outputs.iter().filter(|output| !output.status.success()) {
            let stderr = String::from_utf8_lossy(&output.stderr);
            assert_eq!(stderr, format!("yfs write: /{name}: File exists\n"));
        }
    }
}

#[test]
fn directories_made_by_many_processes_are_one() {
    let dir = workspace();
    let children: Vec<Child> = (0..N_PROCESSES)
        .map(|n| spawn(dir.path(), &["write", &format!("a/b/c/{n}"), "--content", "x"]))
        .collect();
    for child in children {
        assert!(child.wait_with_output().unwrap().status.success());
    }
    assert_eq!(ok(dir.path(), &["find", "/", "-type", "d"]), "/\n/a\n/a/b\n/a/b/c\n");
    assert_eq!(ok(dir.path(), &["ls", "a/b/c"]).lines().count(), N_PROCESSES);
}

#[test]
fn what_was_acknowledged_survives_a_kill() {
    let dir = workspace();
    for n in 0..5 {
        let name = format!("f{n}");
        ok(dir.path(), &["write", &name, "--content", "kept"]);
        // A writer that waits for its input is killed.
        let mut child = spawn(dir.path(), &["write", "never"]);
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(ok(dir.path(), &["cat", &name]), "kept");
    }
    assert_eq!(ok(dir.path(), &["ls"]).lines().count(), 5);
    ok(dir.path(), &["admin", "fsck", "--quiet"]);
}

#[test]
fn a_full_disk_is_one_clear_error_and_changes_nothing() {
    let dir = workspace();
    ok(dir.path(), &["write", "before", "--content", "before"]);
    let file = dir.path().join(".yfs/workspace.db");
    let n_blocks = fs::metadata(&file).unwrap().len() / 512 + 64;
    // No file may grow beyond the limit. Child processes ignore the signals that their shell
    // ignores.
    let script = format!("trap '' XFSZ; ulimit -f {n_blocks}; seq 1 400000 | yfs write big");
    let output = sh(dir.path(), &script);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success(), "{stderr}");
    assert_eq!(stderr.lines().count(), 1, "{stderr}");
    assert_eq!(ok(dir.path(), &["ls"]), "before\n");
    assert_eq!(ok(dir.path(), &["cat", "before"]), "before");
    ok(dir.path(), &["admin", "fsck", "--quiet"]);
    ok(dir.path(), &["write", "after", "--content", "after"]);
}

#[test]
fn where_nothing_may_be_written_one_reads_and_a_write_is_one_clear_error() {
    let dir = workspace();
    ok(dir.path(), &["write", "f", "--content", "text"]);
    // The commands run as a user with read permission only; root has all permissions, so it changes
    // its user, who trusts the directory.
    let script = "chmod 755 . && chmod 555 .yfs && chmod 444 .yfs/* && \
        if [ $(id -u) = 0 ]; then as='setpriv --reuid 65534 --regid 65534 --clear-groups'; fi; \
        export YFS_SAFE_DIRECTORY=$PWD/.yfs; \
        $as yfs cat f; $as yfs write f --content other";
    let output = sh(dir.path(), script);
    sh(dir.path(), "chmod 755 .yfs; chmod 644 .yfs/*");
    let (stdout, stderr) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    if stderr.contains("setpriv") {
        // Without `setpriv` the test cannot run as another user.
        return;
    }
    assert_eq!(stdout, "text", "{stderr}");
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert_eq!(stderr.lines().count(), 1, "{stderr}");
    assert_eq!(ok(dir.path(), &["cat", "f"]), "text");
}

#[test]
fn a_reader_that_goes_ends_the_command_quietly() {
    let dir = workspace();
    let body = "x\n".repeat(50_000);
    fs::write(dir.path().join("long"), &body).unwrap();
    assert!(sh(dir.path(), "yfs write long < long").status.success());
    for command in ["cat long", "cat -n long", "grep x long", "find / -print -print -print"] {
        let script = format!("(yfs {command}; echo $? >&2) | true");
        let output = sh(dir.path(), &script);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(stderr == "141\n" || stderr == "0\n", "{command}: {stderr}");
    }
}

/// The server serves on, and a second command confirms the deletion that it asks about.
#[test]
fn a_server_asks_before_a_mass_deletion_and_serves_on() {
    let dir = workspace();
    for n in 0..12 {
        fs::write(dir.path().join(format!("{n}.txt")), format!("{n}\n")).unwrap();
    }
    ok(dir.path(), &["mirror", ".", "--once"]);
    ok(dir.path(), &["find", "/", "-name", "*.txt", "-delete"]);
    let mut server = spawn(dir.path(), &["serve", "--port", "0"]);
    let mut stderr = BufReader::new(server.stderr.take().unwrap()).lines();
    let notice = stderr.find(|line| line.as_ref().unwrap().contains("12 of the 12 files"));
    assert!(notice.unwrap().unwrap().contains("yfs mirror --once --confirm"));
    until(|| {
        let status = ok(dir.path(), &["status"]);
        status.contains("Mirroring waits: ") && status.contains("12 of the 12")
    });
    assert!(dir.path().join("7.txt").exists());
    // What is saved meanwhile reaches the workspace.
    fs::write(dir.path().join("meanwhile"), "meanwhile\n").unwrap();
    until(|| command(dir.path(), &["cat", "meanwhile"]).output().unwrap().status.success());
    // The mirror counts again at the end of the pass that brought it.
    until(|| ok(dir.path(), &["status"]).contains("12 of the 13"));

    let confirmed = command(dir.path(), &["mirror", ".", "--once", "--confirm"]).output().unwrap();
    let said = String::from_utf8_lossy(&confirmed.stderr);
    assert!(confirmed.status.success() && said.contains("deletes 12 of the 13 files"), "{said}");
    until(|| !dir.path().join("7.txt").exists() && !dir.path().join("11.txt").exists());
    assert!(server.try_wait().unwrap().is_none(), "it serves on");
    server.kill().unwrap();
    server.wait().unwrap();
    assert_eq!(ok(dir.path(), &["ls"]), "meanwhile\n");
}

/// The words of two writers meet on the server: it prints that, as the replica does.
#[test]
fn a_server_prints_the_conflicts_that_a_replica_brings() {
    let dir = workspace();
    ok(dir.path(), &["write", "plan.txt", "--content", "timeout 30 s\n"]);
    let (mut server, mut stdout, url, token) = serve_to_clones(dir.path());
    let copy = tempfile::tempdir().unwrap();
    let clone = copy.path().join("copy");
    ok(copy.path(), &["clone", &url, "copy", "--token", &token]);
    ok(&clone, &["edit", "plan.txt", "30", "45"]);
    ok(dir.path(), &["edit", "plan.txt", "30", "60"]);
    ok(&clone, &["sync"]);
    let notice = stdout.next().unwrap().unwrap();
    assert!(notice.contains("/plan.txt") && notice.contains("\"conflict\":\"words\""), "{notice}");
    server.kill().unwrap();
    server.wait().unwrap();
}

/// The text of a directory that became a clone replaced that of the server.
#[test]
fn a_clone_into_a_directory_with_another_text_keeps_both() {
    let dir = workspace();
    ok(dir.path(), &["write", "plan.txt", "--content", "theirs\n"]);
    ok(dir.path(), &["write", "same.txt", "--content", "same\n"]);
    let (mut server, _lines, url, token) = serve_to_clones(dir.path());
    let away = tempfile::tempdir().unwrap();
    let copy = away.path().join("copy");
    fs::create_dir(&copy).unwrap();
    for (name, text) in [("plan.txt", "mine\n"), ("same.txt", "same\n"), ("only.txt", "only\n")] {
        fs::write(copy.join(name), text).unwrap();
    }
    let clone = ["clone", &url, "copy", "--token", &token];
    let cloned = command(away.path(), &clone).output().unwrap();
    let said = String::from_utf8_lossy(&cloned.stderr);
    assert!(cloned.status.success() && said.contains("plan.txt: "), "{said}");
    assert!(said.contains("plan (1).txt") && !said.contains("same.txt"), "{said}");
    for place in [dir.path(), &copy] {
        let texts = ["plan.txt", "plan (1).txt", "same.txt", "only.txt"];
        let texts = texts.map(|name| ok(place, &["cat", &format!("/{name}")]));
        assert_eq!(texts, ["theirs\n", "mine\n", "same\n", "only\n"]);
    }
    let on_disk = ["plan.txt", "plan (1).txt"].map(|name| fs::read(copy.join(name)).unwrap());
    assert_eq!(on_disk, [b"theirs\n".as_slice(), b"mine\n"]);
    ok(&copy, &["sync"]);
    assert_eq!(ok(dir.path(), &["ls"]).lines().count(), 4);
    server.kill().unwrap();
    server.wait().unwrap();
}

/// Starts a server without a mirror; returns it, its further lines, its address and its token.
fn serve_to_clones(dir: &Path) -> (Child, Lines<BufReader<ChildStdout>>, String, String) {
    let mut server = spawn(dir, &["serve", "--port", "0", "--no-mirror", "--json"]);
    let mut lines = BufReader::new(server.stdout.take().unwrap()).lines();
    let first = lines.next().unwrap().unwrap();
    let field = |name: &str| {
        let from = first.find(&format!("\"{name}\":\"")).unwrap() + name.len() + 4;
        first[from..].split('"').next().unwrap().to_owned()
    };
    let (url, token) = (field("url"), field("token"));
    (server, lines, url, token)
}

fn until(is_so: impl Fn() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < Duration::from_secs(600), "waited in vain");
        std::thread::yield_now();
    }
}

fn workspace() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    ok(dir.path(), &["init", "--quiet"]);
    dir
}

fn command(dir: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_yfs"));
    command.args(args).current_dir(dir).env_remove("YFS_WORKSPACE").stdin(Stdio::null());
    command
}

fn spawn(dir: &Path, args: &[&str]) -> Child {
    command(dir, args)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .stdin(Stdio::piped())
        .spawn()
        .unwrap()
}

fn ok(dir: &Path, args: &[&str]) -> String {
    let output = command(dir, args).output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "yfs {args:?}: {stderr}");
    String::from_utf8(output.stdout).unwrap()
}

fn sh(dir: &Path, script: &str) -> Output {
    let program = Path::new(env!("CARGO_BIN_EXE_yfs")).parent().unwrap().to_owned();
    let path = env::var_os("PATH").unwrap();
    let path = env::join_paths(std::iter::once(program).chain(env::split_paths(&path))).unwrap();
    Command::new("sh")
        .args(["-c", script])
        .current_dir(dir)
        .env("PATH", path)
        .env_remove("YFS_WORKSPACE")
        .stdin(Stdio::null())
        .output()
        .unwrap()
}
