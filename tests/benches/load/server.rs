//! The servers under load: each in a process of its own, whose CPU time and memory are read from
//! `/proc`.

use std::{
    env, fs,
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use tempfile::TempDir;
use yfs_tests::{command::program, http::Client, root};

/// A kind of server, and the protocol that it is spoken to in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Sync,
    Collab,
    YWebsocket,
    Hocuspocus,
}

/// Where a server is reached.
#[derive(Debug, Clone)]
pub(crate) struct Target {
    pub(crate) port: u16,
    /// Whether it is spoken to as Hocuspocus is.
    pub(crate) is_collab: bool,
    prefix: &'static str,
}

/// A running server. Killed when dropped.
pub(crate) struct Server {
    pub(crate) target: Target,
    /// The names of the documents that it has.
    pub(crate) documents: Vec<String>,
    child: Child,
    _dir: TempDir,
}

/// What a process has used.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Used {
    /// CPU time, in seconds: of the program, of the kernel.
    pub(crate) user: f64,
    pub(crate) system: f64,
    /// Memory now and at most, in MB.
    pub(crate) rss: f64,
    pub(crate) peak: f64,
}

impl Kind {
    pub(crate) const ALL: [Self; 4] =
        [Self::Sync, Self::Collab, Self::YWebsocket, Self::Hocuspocus];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Sync => "yfs /sync",
            Self::Collab => "yfs /collab",
            Self::YWebsocket => "y-websocket-server",
            Self::Hocuspocus => "hocuspocus",
        }
    }
}

impl Target {
    pub(crate) fn path(&self, document: &str) -> String {
        match self.is_collab {
            true => self.prefix.to_owned(),
            false => format!("{}/{document}", self.prefix),
        }
    }
}

impl Server {
    /// Starts a server that has so many documents.
    pub(crate) fn start(kind: Kind, n_documents: usize) -> Self {
        let dir = tempfile::tempdir().expect("a place for files");
        let is_collab = matches!(kind, Kind::Collab | Kind::Hocuspocus);
        let (child, prefix) = match kind {
            Kind::Sync | Kind::Collab => {
                for number in 0..n_documents {
                    let path = dir.path().join(format!("{number}.txt"));
                    fs::write(path, "").expect("an empty folder takes files");
                }
                let prefix = if is_collab { "/collab" } else { "/sync" };
                let mut command = Command::new(yfs());
                command.args(["serve", "--open", "--port", "0"]).arg(dir.path());
                (command, prefix)
            }
            Kind::YWebsocket => (peer("y-websocket.mjs"), ""),
            Kind::Hocuspocus => (peer("hocuspocus.mjs"), "/"),
        };
        let (child, port) = spawn(child);
        let target = Target { port, is_collab, prefix };
        let documents = match kind {
            Kind::Sync | Kind::Collab => guids(port),
            _ => (0..n_documents).map(|number| format!("document-{number}")).collect(),
        };
        Self { target, documents, child, _dir: dir }
    }

    /// Returns what the process has used so far.
    pub(crate) fn used(&self) -> Used {
        let read = |name: &str| {
            let path = format!("/proc/{}/{name}", self.child.id());
            fs::read_to_string(path).expect("the server runs, on Linux")
        };
        let stat = read("stat");
        // Behind the name, which may hold anything; in ticks of 10 ms.
        let fields: Vec<&str> = stat[stat.rfind(')').expect("a name") + 2..].split(' ').collect();
        let ticks = |field: usize| fields[field].parse::<f64>().expect("a number") / 100.0;
        let status = read("status");
        let kilobytes = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name)).expect("a field");
            let number = line.trim().trim_end_matches(" kB");
            number.parse::<f64>().expect("a number") / 1024.0
        };
        let (rss, peak) = (kilobytes("VmRSS:"), kilobytes("VmHWM:"));
        Used { user: ticks(11), system: ticks(12), rss, peak }
    }
}

impl Used {
    /// Returns the CPU time since, in seconds.
    pub(crate) fn cpu_since(&self, before: &Self) -> f64 {
        self.user + self.system - before.user - before.system
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// Returns an update with a long history, which is made once.
pub(crate) fn history(bytes: usize) -> Vec<u8> {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("history-{bytes}.bin"));
    if !path.exists() {
        let mut command = peer("history.mjs");
        let made = command.arg(bytes.to_string()).arg(&path).status().expect("node runs");
        assert!(made.success(), "the history was not made");
    }
    fs::read(path).expect("it was just written")
}

/// Returns the program under load: that of this workspace, unless `YFS_BENCH_PROGRAM` names another
/// build.
fn yfs() -> PathBuf {
    env::var_os("YFS_BENCH_PROGRAM").map_or_else(|| program().to_owned(), PathBuf::from)
}

fn peers() -> PathBuf {
    root().join("tests/benches/load/peers")
}

fn peer(script: &str) -> Command {
    if !peers().join("node_modules").exists() {
        let flags = ["install", "--no-package-lock", "--ignore-scripts", "--no-audit", "--no-fund"];
        let mut npm = Command::new("npm");
        let done = npm.args(flags).current_dir(peers()).status().expect("npm is installed");
        assert!(done.success(), "the peers could not be installed");
    }
    let mut command = Command::new("node");
    command.arg("--max-old-space-size=8192").arg(script).current_dir(peers());
    command
}

fn spawn(mut command: Command) -> (Child, u16) {
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().expect("it runs");
    let mut lines = BufReader::new(child.stdout.take().expect("stdout was piped")).lines();
    let port = loop {
        let line = lines.next().expect("it says where it listens").expect("as text");
        let port = line.split_once("http://127.0.0.1:").map_or(&*line, |(_, rest)| rest);
        let port = port.split(|char: char| !char.is_ascii_digit()).next().unwrap_or_default();
        if let Ok(port) = port.parse() {
            break port;
        }
    };
    // Read to the end, so that it never waits for us.
    std::thread::spawn(move || lines.map_while(Result::ok).for_each(drop));
    (child, port)
}

fn guids(port: u16) -> Vec<String> {
    let tree = Client { port, token: None }.get("/api/tree").json();
    let entries = tree["entries"].as_array().expect("a list").iter();
    entries.filter_map(|entry| entry["guid"].as_str()).map(str::to_owned).collect::<Vec<_>>()
}
