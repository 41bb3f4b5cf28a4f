//! `yfs watch` prints what other processes change, when they change it.

#![expect(clippy::unwrap_used, reason = "a panic fails the test, which is what it is for")]

use std::{
    io::{BufRead, BufReader},
    path::Path,
    process::{Child, ChildStdout, Command, Stdio},
};

/// A running `yfs watch`, which is stopped in the end.
struct RunningWatch {
    child: Child,
    lines: std::io::Lines<BufReader<ChildStdout>>,
    /// The last line that was returned.
    last: String,
}

impl RunningWatch {
    /// Starts the command, and waits until it watches.
    fn start(dir: &Path, arguments: &[&str]) -> Self {
        let mut command = yfs(dir, &["watch"]);
        command.args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut first = String::new();
        if arguments.contains(&"--json") {
            first = lines.next().unwrap().unwrap();
        } else {
            BufReader::new(child.stderr.take().unwrap()).read_line(&mut first).unwrap();
        }
        assert!(first.contains("watching"), "{first}");
        Self { child, lines, last: String::new() }
    }

    /// Returns the next line that differs from the last one, without the time. A change of a
    /// content may be printed twice: its size is written to its row after it, when the process that
    /// made it ends.
    fn next(&mut self) -> String {
        loop {
            let line = self.lines.next().unwrap().unwrap();
            let line = line.split_once("  ").unwrap().1;
            if line != self.last {
                line.clone_into(&mut self.last);
                return line.to_owned();
            }
        }
    }

    fn next_json(&mut self) -> serde_json::Value {
        serde_json::from_str(&self.lines.next().unwrap().unwrap()).unwrap()
    }
}

impl Drop for RunningWatch {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

fn yfs(dir: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_yfs"));
    command.args(arguments).current_dir(dir).env_remove("YFS_WORKSPACE");
    command.env("YFS_ACTOR", "human:ada");
    command
}

fn run(dir: &Path, arguments: &[&str]) {
    assert!(yfs(dir, arguments).status().unwrap().success(), "{arguments:?}");
}

#[test]
fn changes_of_other_processes_are_printed_as_they_are_made() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    run(dir, &["init", "--quiet"]);
    let mut all = RunningWatch::start(dir, &[]);
    let mut below = RunningWatch::start(dir, &["-n", "3", "/docs"]);
    run(dir, &["write", "a.txt", "--content", "one"]);
    assert_eq!(all.next(), "created  /a.txt");
    run(dir, &["append", "a.txt", "--content", "two"]);
    assert_eq!(all.next(), "changed  /a.txt");
    // Each process has printed a change before the next is made, which could be printed with it.
    let mut expect = |ending: &str| {
        for watch in [&mut all, &mut below] {
            let line = watch.next();
            assert!(line.ends_with(ending), "{line}");
        }
    };
    run(dir, &["mkdir", "docs"]);
    expect("created  /docs");
    run(dir, &["mv", "a.txt", "docs/b.txt"]);
    expect("moved    /docs/b.txt  (from /a.txt)");
    run(dir, &["rm", "-r", "docs"]);
    expect("removed  /docs");
    assert!(below.child.wait().unwrap().success());
}

#[test]
fn a_cursor_continues_in_another_process() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    run(dir, &["init", "--quiet"]);
    let mut first = RunningWatch::start(dir, &["--json", "-n", "1"]);
    run(dir, &["write", "a.txt", "--content", "one"]);
    let change = first.next_json();
    assert_eq!((&change["type"], &change["path"]), (&"created".into(), &"/a.txt".into()));
    assert!(change["at"].as_str().unwrap().ends_with('Z'));
    let cursor = change["cursor"].as_str().unwrap();
    assert!(first.child.wait().unwrap().success());
    run(dir, &["write", "b.txt", "--content", "two"]);
    let mut next = RunningWatch::start(dir, &["--json", "--since", cursor]);
    // No change is left out, but one beside the cursor may come again.
    let changes = std::iter::repeat_with(|| next.next_json());
    let mut changes = changes.skip_while(|change| change["path"] == "/a.txt");
    assert_eq!(changes.next().unwrap()["path"], "/b.txt");
    let output = yfs(dir, &["watch", "--since", "nonsense"]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
}
