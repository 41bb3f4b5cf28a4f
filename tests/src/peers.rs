//! Running `yfs peer share` and `yfs peer join`, and what tests of peers wait for.

use std::{
    fs,
    io::{BufRead, BufReader},
    net::{Ipv4Addr, SocketAddr, UdpSocket},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::atomic::{AtomicU16, Ordering},
    thread,
    time::{Duration, Instant},
};

use serde_json::Value;

use crate::command::{command, ok};

/// How long a change may take. Generous: the machine may be busy.
const PATIENCE: Duration = Duration::from_secs(120);

/// The first port of [`fresh_address`], below those that systems give away.
const FIRST_PORT: u16 = 20_000;

/// The network of a test that names all addresses.
pub const LOOPBACK: [&str; 2] = ["--listen=127.0.0.1:0", "--no-lan"];

/// A running `yfs peer share` or `yfs peer join`. Killed when dropped, as by `kill -9`.
#[derive(Debug)]
pub struct Connected {
    child: Child,
    /// The first line of its output, for `share` and `relay`.
    first: String,
}

impl Connected {
    /// Runs a command on addresses of loopback.
    ///
    /// # Panics
    ///
    /// Panics if it cannot be started.
    pub fn start(dir: &Path, args: &[&str]) -> Self {
        Self::start_with(dir, &[args, &LOOPBACK].concat())
    }

    /// Runs `yfs peer share` on addresses of loopback.
    ///
    /// # Panics
    ///
    /// Panics if it cannot be started.
    pub fn share(dir: &Path, args: &[&str]) -> Self {
        Self::start(dir, &[&["peer", "share"], args].concat())
    }

    /// Runs a command with these options only.
    ///
    /// # Panics
    ///
    /// Panics if it cannot be started.
    pub fn start_with(dir: &Path, args: &[&str]) -> Self {
        Self::start_after(command(), dir, args)
    }

    /// Appends arguments to a command that runs `yfs`, and runs it.
    ///
    /// # Panics
    ///
    /// Panics if it cannot be started.
    pub fn start_after(mut command: Command, dir: &Path, args: &[&str]) -> Self {
        let mut child = command
            .args(args)
            .arg("--json")
            .current_dir(dir)
            .env_remove("YFS_WORKSPACE")
            .stdout(Stdio::piped())
            .spawn()
            .expect("yfs was just built");
        let mut first = String::new();
        let mut lines = BufReader::new(child.stdout.take().expect("stdout was piped"));
        if matches!(args, ["peer", "share" | "relay", ..]) {
            lines.read_line(&mut first).expect("yfs writes UTF-8");
        }
        // The other lines are read, so that the process never waits for this one.
        thread::spawn(move || for _ in lines.lines() {});
        Self { child, first }
    }

    /// Returns what `yfs peer share` or `yfs peer relay` printed first.
    ///
    /// # Panics
    ///
    /// Panics if it is not JSON.
    pub fn printed(&self) -> Value {
        serde_json::from_str(&self.first).expect(&self.first)
    }

    /// Returns the ticket that `yfs peer share` printed.
    ///
    /// # Panics
    ///
    /// Panics if it printed none.
    pub fn ticket(&self) -> String {
        self.printed()["ticket"].as_str().expect(&self.first).to_owned()
    }

    /// Returns the id of the process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Connected {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// Returns an address of loopback with a free port, which is given once. No other program gets the
/// port by chance before it is used: it is below those that systems choose themselves.
///
/// # Panics
///
/// Panics if no port is free.
pub fn fresh_address() -> SocketAddr {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    // Test processes that run at the same time begin at different ports.
    let own = u16::try_from(std::process::id() % 10_000).expect("it is less than 10,000");
    loop {
        let port = FIRST_PORT + own + NEXT.fetch_add(1, Ordering::Relaxed);
        assert!(port < 32_000, "no port is free");
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        if UdpSocket::bind(address).is_ok() {
            return address;
        }
    }
}

/// Waits until a condition holds. Polls, because the condition is in another process.
///
/// # Panics
///
/// Panics if it does not hold in time.
pub fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < PATIENCE, "{what}: not within {PATIENCE:?}");
        thread::sleep(Duration::from_millis(20));
    }
}

/// Waits until a file has a text.
///
/// # Panics
///
/// Panics if it has not in time.
pub fn wait_for_file(dir: &Path, name: &str, text: &str) {
    let path = dir.join(name);
    let read = || fs::read_to_string(&path).unwrap_or_default();
    wait_until(&format!("{}: {text:?}", path.display()), || read() == text);
}

/// Makes a directory with one file and a mirrored workspace.
///
/// # Panics
///
/// Panics if it cannot be made.
pub fn shared_directory(home: &Path) -> PathBuf {
    let here = home.join("here");
    fs::create_dir(&here).expect("a new directory");
    fs::write(here.join("plan.txt"), "one\n").expect("a new file");
    ok(&here, &["mirror", ".", "--once", "--quiet"]);
    here
}

/// Returns what `yfs peer ls` lists.
///
/// # Panics
///
/// Panics if it fails.
pub fn peers(dir: &Path) -> Vec<Value> {
    let printed = ok(dir, &["peer", "ls", "--json"]);
    printed.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}
