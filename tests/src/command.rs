//! The `yfs` command, as people run it: built once, run in a process of its own.

use std::{
    fs,
    io::{BufRead, BufReader, Write},
    net::{Ipv4Addr, SocketAddr},
    path::Path,
    process::{Child, Command, Stdio},
    sync::{Mutex, OnceLock, mpsc},
    thread,
    time::{Duration, Instant},
};

use serde_json::Value;
use socket2::{Domain, Socket, Type};

use crate::{
    http::Client,
    process::{CHECKPOINT_AFTER, checkpoint_after},
};

/// How long a server may take to say where it listens. Generous: it may have to import a tree.
const START: Duration = Duration::from_secs(600);

/// The variable of tokio that sets how many threads a server has instead of one per core, and its
/// value in tests.
pub const N_THREADS: (&str, &str) = ("TOKIO_WORKER_THREADS", "2");

/// Returns the path of the program, which is built first if it is out of date.
///
/// # Panics
///
/// Panics if it does not build.
pub fn program() -> &'static Path {
    artifact("yfs", "bin")
}

/// Returns the path of the shared library of a package, which is built first if it is out of date.
///
/// # Panics
///
/// Panics if it does not build.
pub fn shared_library(target: &str) -> &'static Path {
    artifact(target, "cdylib")
}

fn artifact(name: &str, kind: &str) -> &'static Path {
    static BUILT: OnceLock<Vec<Value>> = OnceLock::new();
    let is_it = |message: &&Value| {
        let target = &message["target"];
        let kinds = target["kind"].as_array();
        target["name"] == name && kinds.is_some_and(|kinds| kinds.iter().any(|of| of == kind))
    };
    let message = BUILT.get_or_init(build).iter().find(is_it);
    let message = message.unwrap_or_else(|| panic!("cargo does not say where it put {name}"));
    let file = message["executable"].as_str().or_else(|| message["filenames"][0].as_str());
    Path::new(file.expect("cargo names the file that it made"))
}

/// Builds the program and the shared libraries; returns what cargo says of each artifact.
fn build() -> Vec<Value> {
    let mut cargo = Command::new(env!("CARGO"));
    // The whole workspace and a small test, so that cargo resolves the features of the tests and
    // reuses what it has built.
    cargo.args(["build", "--offline", "--workspace", "--lib", "--bin", "yfs", "--test", "hostile"]);
    cargo.arg("--message-format=json-render-diagnostics");
    if !cfg!(debug_assertions) {
        cargo.arg("--release");
    }
    let output = cargo.current_dir(crate::root()).output().expect("cargo runs this test");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "yfs does not build: {errors}");
    let messages = String::from_utf8(output.stdout).expect("cargo writes UTF-8");
    let messages = messages.lines().filter_map(|line| serde_json::from_str(line).ok());
    messages.filter(|message: &Value| message["reason"] == "compiler-artifact").collect()
}

/// Returns the command to run, which makes checkpoints as [`checkpoint_after`] says, with as many
/// threads on every machine: each takes memory, which tests limit.
///
/// # Panics
///
/// As [`program`].
pub fn command() -> Command {
    let mut command = Command::new(program());
    command.env(N_THREADS.0, N_THREADS.1);
    command.env(CHECKPOINT_AFTER, checkpoint_after().to_string());
    command
}

/// What a run of the command left behind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ran {
    /// The exit status; `None` if it was killed.
    pub code: Option<i32>,
    /// What it wrote to stdout.
    pub stdout: Vec<u8>,
    /// What it wrote to stderr.
    pub stderr: String,
}

/// Runs the command in a directory, to its end.
///
/// # Panics
///
/// Panics if it cannot be started.
pub fn run(dir: &Path, args: &[&str], stdin: &[u8]) -> Ran {
    let mut command = command();
    command.args(args).current_dir(dir).env_remove("YFS_WORKSPACE");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("yfs was just built");
    let mut pipe = child.stdin.take().expect("stdin was piped");
    let stdin = stdin.to_vec();
    // Ends when everything is written or the command has closed its end, which it may.
    let writer = thread::spawn(move || pipe.write_all(&stdin).ok());
    let output = child.wait_with_output().expect("a child can be waited for");
    writer.join().expect("the writer does not panic");
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    Ran { code: output.status.code(), stdout: output.stdout, stderr }
}

/// As [`run`], and returns what it wrote to stdout.
///
/// # Panics
///
/// Panics if it fails or does not write UTF-8.
pub fn ok(dir: &Path, args: &[&str]) -> String {
    let ran = run(dir, args, b"");
    assert_eq!(ran.code, Some(0), "yfs {args:?}: {}", ran.stderr);
    String::from_utf8(ran.stdout).unwrap_or_else(|error| panic!("yfs {args:?}: {error}"))
}

/// A running `yfs serve`. Killed when dropped, as by `kill -9`.
#[derive(Debug)]
pub struct Server {
    child: Child,
    port: u16,
}

impl Server {
    /// Serves a directory without tokens on `port`, or on a free port if that is 0.
    ///
    /// # Panics
    ///
    /// Panics if it does not say in time where it listens.
    pub fn start(dir: &Path, port: u16) -> Self {
        Self::launch(dir, port, &["--open"])
    }

    /// As [`start`](Self::start), but each client needs a token.
    ///
    /// # Panics
    ///
    /// Panics if it does not say in time where it listens.
    pub fn start_with_tokens(dir: &Path, port: u16) -> Self {
        Self::launch(dir, port, &[])
    }

    /// As [`start`](Self::start), with these options.
    ///
    /// # Panics
    ///
    /// Panics if it does not say in time where it listens.
    pub fn start_with(dir: &Path, options: &[&str]) -> Self {
        Self::launch(dir, 0, options)
    }

    /// As [`start_with`](Self::start_with), on this port.
    ///
    /// # Panics
    ///
    /// Panics if it does not say in time where it listens.
    pub fn start_on(dir: &Path, port: u16, options: &[&str]) -> Self {
        Self::launch(dir, port, options)
    }

    fn launch(dir: &Path, port: u16, more: &[&str]) -> Self {
        let port = if port == 0 { kept_port() } else { port };
        let mut command = command();
        command.args(["serve", "--port", &port.to_string()]).args(more).arg(dir);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).env_remove("YFS_WORKSPACE");
        let child = command.spawn().expect("yfs was just built");
        let mut server = Self { child, port };
        let stdout = server.child.stdout.take().expect("stdout was piped");
        // Reads on to the end, so that the server never waits for its reader. Ends with the server.
        let (sender, lines) = mpsc::channel();
        thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                sender.send(line).ok();
            }
        });
        let deadline = Instant::now() + START;
        while let Ok(line) = lines.recv_timeout(deadline.saturating_duration_since(Instant::now()))
        {
            if let Some(port) = port_in(&line) {
                server.port = port;
                return server;
            }
        }
        panic!("yfs serve does not say where it listens");
    }

    /// Returns how much memory it has taken at most, in bytes; 0 where the system does not tell.
    pub fn peak_memory(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id()));
        let status = status.unwrap_or_default();
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let peak = peak.and_then(|peak| peak.trim().strip_suffix(" kB")?.parse::<u64>().ok());
        peak.unwrap_or_default() << 10
    }

    /// Returns the port that it listens on.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Ends it as `kill -9` does.
    pub fn kill(mut self) {
        self.end();
    }

    /// Ends it as Ctrl-C does, and returns its exit status.
    ///
    /// # Panics
    ///
    /// Panics if the signal cannot be sent.
    pub fn interrupt(mut self) -> Option<i32> {
        let id = self.child.id().to_string();
        let sent = Command::new("kill").args(["-INT", &id]).status();
        assert!(sent.is_ok_and(|status| status.success()), "the server runs");
        self.child.wait().expect("a child can be waited for").code()
    }

    /// Fetches a path over HTTP, and returns the status and the body.
    ///
    /// # Panics
    ///
    /// Panics if the server does not answer.
    pub fn get(&self, path: &str) -> (u16, String) {
        let answer = Client { port: self.port, token: None }.get(path);
        (answer.status, answer.text().to_owned())
    }

    fn end(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.end();
    }
}

/// Returns a free port that nothing but servers of this test listens at until the test ends, also
/// while its server is away: a socket is bound to it, and shares it with those that listen.
///
/// Without it, the system may give the port of a killed server to another process, or to a client
/// that tries to connect to it.
fn kept_port() -> u16 {
    static KEPT: Mutex<Vec<Socket>> = Mutex::new(Vec::new());
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).expect("a socket");
    // Servers set it as well.
    socket.set_reuse_address(true).expect("an option of all systems");
    socket.bind(&SocketAddr::from((Ipv4Addr::LOCALHOST, 0)).into()).expect("a free port");
    let address = socket.local_addr().expect("it is bound");
    KEPT.lock().expect("no thread panics with it").push(socket);
    address.as_socket_ipv4().expect("it is of this kind").port()
}

/// Finds the port of an address of this machine.
fn port_in(line: &str) -> Option<u16> {
    let (_, rest) = line.split_once("http://127.0.0.1:")?;
    rest.split(|char: char| !char.is_ascii_digit()).next()?.parse().ok()
}
