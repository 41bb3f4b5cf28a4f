//! Processes with limits.

use std::{
    io::Read as _,
    os::unix::process::ExitStatusExt as _,
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

const CASE: &str = "YFS_HOSTILE_CASE";
const MEMORY_KB: u64 = 1 << 20;
const STACK_BYTES: usize = 2 << 20;
const SIGKILL: i32 = 9;
const SIGXCPU: i32 = 24;

/// The way that a process ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Successfully; with its output.
    Finished(String),
    /// With a failure; with its output.
    Failed(String),
    /// By a signal.
    Killed(i32),
    /// Not at all, within its time.
    Hung,
}

/// Returns the case that this process is to run.
pub(crate) fn case() -> Option<String> {
    std::env::var(CASE).ok()
}

/// Runs a case with the stack that threads of servers have.
pub(crate) fn with_small_stack(run: impl FnOnce() + Send + 'static) {
    let thread = thread::Builder::new().stack_size(STACK_BYTES).spawn(run).unwrap();
    assert!(thread.join().is_ok(), "the case panicked");
}

/// Runs a case in a process of its own, which may use `limit` of processor time, and of real time
/// ten times as much: tests run on busy machines.
pub(crate) fn spawn(case: &str, limit: Duration) -> Outcome {
    let exe = std::env::current_exe().unwrap();
    let mut child = Command::new("sh")
        .arg("-c")
        .arg(format!(
            "ulimit -v {MEMORY_KB}; ulimit -t {cpu}; ulimit -c 0; \
             exec '{}' --exact hostile::child_process --nocapture",
            exe.display(),
            cpu = limit.as_secs(),
        ))
        .env(CASE, case)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut out = child.stdout.take().unwrap();
    let mut err = child.stderr.take().unwrap();
    let said = thread::spawn(move || {
        let mut said = String::new();
        drop(out.read_to_string(&mut said));
        said
    });
    let failed = thread::spawn(move || {
        let mut said = String::new();
        drop(err.read_to_string(&mut said));
        said
    });
    let begin = Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            let (said, failed) = (said.join().unwrap(), failed.join().unwrap());
            return match status.signal() {
                Some(SIGXCPU | SIGKILL) => Outcome::Hung,
                Some(signal) => Outcome::Killed(signal),
                None if status.success() => Outcome::Finished(said),
                None => Outcome::Failed(failed.chars().take(2000).collect()),
            };
        }
        if begin.elapsed() > limit * 10 {
            child.kill().unwrap();
            child.wait().unwrap();
            return Outcome::Hung;
        }
        thread::sleep(Duration::from_millis(2));
    }
}
