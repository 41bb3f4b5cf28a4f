//! Child processes of a test: its own binary, run again in a role, which exchanges lines with its
//! parent.
//!
//! The binary holds a test named `child`, which calls [`role`] and does nothing without one.

use std::{
    env,
    io::{BufRead, BufReader, Write},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, Command, Stdio},
    sync::{
        atomic::{AtomicUsize, Ordering},
        mpsc::{Receiver, channel},
    },
    thread,
    time::Duration,
};

use yfs::WorkspaceOptions;

/// The environment variable that sets after how many changes the command makes checkpoints.
pub const CHECKPOINT_AFTER: &str = "YFS_CHECKPOINT_AFTER";

/// After how many changes the processes of tests make checkpoints, in turn: one, a few,
/// and the default.
const INTERVALS: [u64; 3] = [1, 5, 1024];

const ROLE: &str = "YFS_TEST_ROLE";
const PLACE: &str = "YFS_TEST_PLACE";
const NAME: &str = "YFS_TEST_NAME";

/// A running child. Killed when dropped.
#[derive(Debug)]
pub struct Process {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
}

/// The role that a parent gives to a child when it spawns it.
#[derive(Debug, Clone)]
pub struct Role {
    /// The task of the child.
    pub what: String,
    /// The file or directory that it works in.
    pub place: PathBuf,
    /// Its name, unique among the children.
    pub name: String,
}

/// Returns after how many changes the next process makes checkpoints: what the environment sets, or
/// one of several intervals in turn.
///
/// # Panics
///
/// Panics if the environment sets no number.
pub fn checkpoint_after() -> u64 {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    if let Ok(text) = env::var(CHECKPOINT_AFTER) {
        return text.parse().expect("a number");
    }
    INTERVALS[NEXT.fetch_add(1, Ordering::Relaxed) % INTERVALS.len()]
}

/// Returns options with the interval of [`checkpoint_after`].
pub fn options() -> WorkspaceOptions {
    WorkspaceOptions { checkpoint_after: checkpoint_after(), ..WorkspaceOptions::default() }
}

/// Returns the role of this process, if it is a child.
pub fn role() -> Option<Role> {
    let what = env::var(ROLE).ok()?;
    let place = env::var(PLACE).expect("the parent sets the place").into();
    Some(Role { what, place, name: env::var(NAME).expect("the parent sets the name") })
}

/// Writes a line to the parent and flushes it.
///
/// # Panics
///
/// Panics if the parent is gone.
pub fn write_line(line: &str) {
    let mut stdout = std::io::stdout().lock();
    // The test harness prints lines of its own, one of them without an end.
    writeln!(stdout, "\n> {line}").and_then(|()| stdout.flush()).expect("the parent reads");
}

/// Reads a line from the parent.
///
/// # Panics
///
/// Panics if the parent has ended.
pub fn read_line() -> String {
    let mut line = String::new();
    std::io::stdin().lock().read_line(&mut line).expect("stdin can be read");
    assert!(!line.is_empty(), "the parent is gone");
    line.trim_end().to_owned()
}

impl Process {
    /// Runs this binary again, in a role: the test `child` of a module of it.
    ///
    /// # Panics
    ///
    /// Panics if it cannot be run.
    pub fn spawn(module: &str, role: &str, name: &str, place: &Path) -> Self {
        // The name of a test is without that of its program.
        let module = module.split_once("::").map_or(module, |(_, inner)| inner);
        let mut child = Command::new(env::current_exe().expect("this binary"))
            .args(["--exact", &format!("{module}::child"), "--nocapture", "--test-threads=1"])
            .env(ROLE, role)
            .env(NAME, name)
            .env(PLACE, place)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("this binary runs");
        let stdin = child.stdin.take();
        let stdout = BufReader::new(child.stdout.take().expect("stdout was piped"));
        let (sender, lines) = channel();
        // Ends with the child's output; lines without a receiver are dropped.
        thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                if let Some(line) = line.strip_prefix("> ") {
                    sender.send(line.to_owned()).ok();
                }
            }
        });
        Self { child, stdin, lines }
    }

    /// Writes a line to the child.
    ///
    /// # Panics
    ///
    /// Panics if the child is gone.
    pub fn write_line(&mut self, line: &str) {
        let stdin = self.stdin.as_mut().expect("taken at the end only");
        writeln!(stdin, "{line}").expect("the child reads");
    }

    /// Reads a line from the child.
    ///
    /// # Panics
    ///
    /// Panics if the child writes no line for ten minutes.
    pub fn read_line(&self) -> String {
        self.lines.recv_timeout(Duration::from_secs(600)).expect("the child writes a line")
    }

    /// Kills the child as `kill -9` does, and returns the lines that were not read yet.
    ///
    /// # Panics
    ///
    /// Panics if it cannot be killed.
    pub fn kill(mut self) -> Vec<String> {
        self.child.kill().expect("a child can be killed");
        self.child.wait().expect("a child can be waited for");
        self.lines.iter().collect()
    }

    /// Waits for the child's end, and returns the lines that were not read yet.
    ///
    /// # Panics
    ///
    /// Panics if it failed.
    pub fn finish(mut self) -> Vec<String> {
        drop(self.stdin.take());
        let status = self.child.wait().expect("a child can be waited for");
        assert!(status.success(), "a child failed");
        self.lines.iter().collect()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}
