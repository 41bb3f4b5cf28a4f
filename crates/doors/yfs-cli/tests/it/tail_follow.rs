//! `yfs tail -f` prints what other processes append, when they append it.

#![expect(clippy::unwrap_used, reason = "a panic fails the test, which is what it is for")]

use std::{
    io::{BufRead, BufReader},
    path::Path,
    process::{Child, Command, Stdio},
};

/// A running command, which is stopped in the end.
struct RunningCommand(Child);

impl Drop for RunningCommand {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

fn yfs(dir: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_yfs"));
    command.args(arguments).current_dir(dir).env_remove("YFS_WORKSPACE");
    command
}

fn run(dir: &Path, arguments: &[&str]) {
    assert!(yfs(dir, arguments).status().unwrap().success(), "{arguments:?}");
}

#[test]
fn tail_follows_files_that_other_processes_write() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    run(dir, &["init", "--quiet"]);
    run(dir, &["write", "a.log", "--content", "zero\none\n"]);
    run(dir, &["write", "b.log", "--content", "first\n"]);
    let mut tail = yfs(dir, &["tail", "-f", "-n", "1", "a.log", "b.log", "c.log"]);
    let tail = tail.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut tail = RunningCommand(tail);
    let mut output = BufReader::new(tail.0.stdout.take().unwrap()).lines();
    let mut remarks = BufReader::new(tail.0.stderr.take().unwrap()).lines();
    let mut expect = |lines: &[&str]| {
        for line in lines {
            assert_eq!(output.next().unwrap().unwrap(), *line);
        }
    };
    expect(&["==> a.log <==", "one", "", "==> b.log <==", "first"]);
    assert_eq!(remarks.next().unwrap().unwrap(), "yfs tail: /c.log: No such file or directory");
    run(dir, &["append", "b.log", "--content", "second\n"]);
    expect(&["second"]);
    run(dir, &["append", "a.log", "--content", "two\n"]);
    expect(&["", "==> a.log <==", "two"]);
    run(dir, &["write", "c.log", "--content", "new\n"]);
    expect(&["", "==> c.log <==", "new"]);
    run(dir, &["edit", "a.log", "--old", "zero", "--new", "0"]);
    assert_eq!(remarks.next().unwrap().unwrap(), "yfs tail: a.log: edited before its end");
    run(dir, &["append", "a.log", "--content", "three\n"]);
    expect(&["", "==> a.log <==", "three"]);
    run(dir, &["rm", "c.log"]);
    assert_eq!(remarks.next().unwrap().unwrap(), "yfs tail: c.log: removed");
}
