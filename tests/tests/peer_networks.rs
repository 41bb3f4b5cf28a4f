//! Peers in network namespaces of their own, joined by a link with delay and loss. It is made of
//! TUN interfaces (`tests/python/slow_link.py`), because not every kernel has `netem`. The test
//! needs the rights of root, `ip` and `python3`; otherwise it prints that it is skipped, and why.

#![cfg(target_os = "linux")]
#![expect(clippy::print_stdout, reason = "the test reports what it measured")]
#![expect(clippy::unwrap_used, reason = "a panic fails the test, which is what it is for")]

use std::{
    fs,
    io::{BufRead, BufReader, Write},
    path::Path,
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use serde_json::Value;
use yfs::{Workspace, WorkspaceOptions};
use yfs_engine::path::VPath;
use yfs_tests::{
    command::{ok, program},
    peers::{Connected, peers, wait_until},
    root,
};
use yfs_vfs::WriteOptions;

/// The delay in each direction, in milliseconds, and the share of packets that are lost.
const DELAY_MS: u32 = 300;
const LOSS_PERCENT: u32 = 5;

/// How long an edit may take. Generous: the machine may be busy.
const PATIENCE: Duration = Duration::from_secs(120);

/// The number of edits that are measured in each direction.
const N_EDITS: usize = 25;

/// Two namespaces with a link between them. Removed when dropped.
struct LinkedNetworks {
    names: [String; 2],
    link: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl LinkedNetworks {
    /// Makes the namespaces, with the addresses 10.77.0.1 and 10.77.0.2.
    fn start() -> Result<Self, String> {
        let names = ["a", "b"].map(|end| format!("yfs-{}-{end}", std::process::id()));
        for name in &names {
            ip(&["netns", "add", name])?;
        }
        let linked = Self::link(names.clone());
        if linked.is_err() {
            remove(&names);
        }
        linked
    }

    fn link(names: [String; 2]) -> Result<Self, String> {
        let script = root().join("tests/python/slow_link.py");
        let mut link = Command::new("ip")
            .args(["netns", "exec", &names[0], "python3", "-I"])
            .arg(script)
            .args(["yfs0", "yfs1", &DELAY_MS.to_string(), &LOSS_PERCENT.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| error.to_string())?;
        let input = link.stdin.take();
        let output = BufReader::new(link.stdout.take().unwrap());
        let mut linked = Self { names: names.clone(), link, input, output };
        if linked.read_line() != "ready" {
            return Err("python3 cannot make TUN interfaces".to_owned());
        }
        ip(&["-n", &names[0], "link", "set", "yfs1", "netns", &names[1]])?;
        for (number, name) in names.iter().enumerate() {
            let device = format!("yfs{number}");
            let address = format!("10.77.0.{}/24", number + 1);
            ip(&["-n", name, "address", "add", &address, "dev", &device])?;
            ip(&["-n", name, "link", "set", &device, "up"])?;
            ip(&["-n", name, "link", "set", "lo", "up"])?;
        }
        Ok(linked)
    }

    fn read_line(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    /// Returns the numbers of packets that were passed on and lost.
    fn counts(&mut self) -> (u64, u64) {
        self.input.as_mut().unwrap().write_all(b"\n").unwrap();
        let counts: Value = serde_json::from_str(&self.read_line()).unwrap();
        (counts["passed"].as_u64().unwrap(), counts["lost"].as_u64().unwrap())
    }

    /// Runs `yfs` in one of the namespaces.
    fn run(&self, end: usize, dir: &Path, args: &[&str]) -> Connected {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.names[end]]).arg(program());
        Connected::start_after(command, dir, args)
    }
}

impl Drop for LinkedNetworks {
    fn drop(&mut self) {
        drop(self.input.take());
        self.link.wait().ok();
        remove(&self.names);
    }
}

fn remove(names: &[String]) {
    for name in names {
        ip(&["netns", "delete", name]).ok();
    }
}

fn ip(args: &[&str]) -> Result<(), String> {
    let output = Command::new("ip").args(args).output().map_err(|error| format!("ip: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    Err(format!("ip {}: {}", args.join(" "), String::from_utf8_lossy(&output.stderr).trim()))
}

/// Opens a workspace that a process in a namespace has open as well.
fn open(dir: &Path) -> Workspace {
    Workspace::open_at(&dir.join(".yfs/workspace.db"), WorkspaceOptions::default()).unwrap()
}

/// Appends lines one after the other, and returns how long each took to be readable at the other
/// peer.
fn measure(writer: &Workspace, reader: &Workspace, n_edits: usize) -> Vec<Duration> {
    let path = VPath::parse("/plan.txt").unwrap();
    let actor = || WorkspaceOptions::default().actor;
    let (writer, reader) = (writer.session(actor()), reader.session(actor()));
    let length = || reader.read(&path).unwrap().data.len();
    let mut delays = Vec::new();
    for number in 0..n_edits {
        let expected = length() + 5;
        let begun = Instant::now();
        writer.append(&path, b"line\n", &WriteOptions::default()).unwrap();
        while length() < expected {
            assert!(begun.elapsed() < PATIENCE, "edit {number}: not within {PATIENCE:?}");
            thread::sleep(Duration::from_millis(1));
        }
        delays.push(begun.elapsed());
    }
    delays
}

fn report(what: &str, mut delays: Vec<Duration>) {
    delays.sort_unstable();
    let at = |percent: usize| delays[(delays.len() - 1) * percent / 100].as_millis();
    println!("{what}: p50 {} ms, p99 {} ms, {} edits", at(50), at(99), delays.len());
}

#[test]
fn live_edits_arrive_over_a_bad_link_and_after_a_change_of_address() {
    let mut networks = match LinkedNetworks::start() {
        Ok(networks) => networks,
        Err(reason) => {
            println!("skipped: no network namespaces with a link here: {reason}");
            return;
        }
    };
    let home = tempfile::tempdir().unwrap();
    let here = home.path().join("here");
    let there = home.path().join("there");
    fs::create_dir(&here).unwrap();
    ok(&here, &["init", "--quiet"]);
    ok(&here, &["write", "/plan.txt", "--content", "one\n"]);
    let share = networks.run(0, &here, &["share", "--listen", "10.77.0.1:0", "--no-lan"]);
    let join =
        networks.run(1, home.path(), &["join", &share.ticket(), "there", "--no-files", "--no-lan"]);
    let id = || ok(&there, &["id"]).trim().to_owned();
    wait_until("the peers have met", || {
        there.join(".yfs/workspace.db").exists()
            && peers(&here).iter().any(|peer| peer["id"] == id() && peer["in_step"] == true)
    });
    let (writer, reader) = (open(&here), open(&there));
    let network = format!("{DELAY_MS} ms of delay, {LOSS_PERCENT} % loss");
    report(&format!("{network}, owner to peer"), measure(&writer, &reader, N_EDITS));
    report(&format!("{network}, peer to owner"), measure(&reader, &writer, N_EDITS));

    // The dialer loses its address and gets another.
    let n_connections = || peers(&there)[0]["last_seen"].clone();
    let connected_at = n_connections();
    ip(&["-n", &networks.names[1], "address", "delete", "10.77.0.2/24", "dev", "yfs1"]).unwrap();
    ip(&["-n", &networks.names[1], "address", "add", "10.77.0.3/24", "dev", "yfs1"]).unwrap();
    let first = measure(&writer, &reader, 1);
    println!("the first edit after the change of address: {} ms", first[0].as_millis());
    report("after the change, owner to peer", measure(&writer, &reader, N_EDITS));
    report("after the change, peer to owner", measure(&reader, &writer, N_EDITS));
    let is_same = connected_at == n_connections();
    println!("the connection {}", if is_same { "continued" } else { "was made again" });

    let (passed, lost) = networks.counts();
    println!("{passed} packets passed, {lost} lost");
    assert!(lost > 0 && passed > lost);
    let plan = ok(&here, &["cat", "/plan.txt"]);
    assert_eq!(plan, ok(&there, &["cat", "/plan.txt"]));
    assert_eq!(plan.lines().count(), 2 + 4 * N_EDITS);
    drop((join, share));
}
