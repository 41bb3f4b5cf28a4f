//! What a shell that completes a line gets from `yfs`.

#![expect(clippy::unwrap_used, reason = "a panic fails the test, which is what it is for")]

use std::{path::Path, process::Command};

#[test]
fn paths_of_the_workspace_are_completed() {
    let dir = tempfile::tempdir().unwrap();
    run(dir.path(), &["init", "--quiet"]);
    for path in ["/docs/plan.md", "/docs/a b.txt", "/docs/.hidden", "/data.csv", "/src/main.rs"] {
        run(dir.path(), &["write", path, "--content", "x"]);
    }
    run(dir.path(), &["ln", "-s", "/docs", "/draft"]);
    let candidates = |line: &[&str]| candidates(dir.path(), line);
    assert_eq!(candidates(&["yfs", "cat", "/d"]), ["/data.csv", "/docs/", "/draft/"]);
    assert_eq!(candidates(&["yfs", "cat", "d"]), ["data.csv", "docs/", "draft/"]);
    assert_eq!(
        candidates(&["yfs", "mv", "/src/main.rs", "/docs/"])[..],
        ["/docs/a b.txt", "/docs/plan.md"]
    );
    assert_eq!(candidates(&["yfs", "versions", "ls", "/draft/p"]), ["/draft/plan.md"]);
    assert_eq!(candidates(&["yfs", "rm", "-r", "/docs/.h"]), ["/docs/.hidden"]);
    assert_eq!(candidates(&["yfs", "vers"]), ["versions"]);
    assert_eq!(candidates(&["yfs", "admin", "qua"]), ["quarantine"]);
    assert_eq!(candidates(&["yfs", "admin", "quarantine", "dr"]), ["drop"]);
    assert_eq!(candidates(&["yfs", "admin", "redact", "/docs/p"]), ["/docs/plan.md"]);
    assert_eq!(candidates(&["yfs", "peer", "un"]), ["unblock"]);
    assert!(candidates(&["yfs", "quaran"]).is_empty());
    // Directories of the disk are not paths of the workspace, and a wrong line has no candidates.
    assert!(candidates(&["yfs", "cat", "/nothing/x"]).is_empty());
    let elsewhere = tempfile::tempdir().unwrap();
    assert!(self::candidates(elsewhere.path(), &["yfs", "cat", "/d"]).is_empty());
    let named = format!("--workspace={}", dir.path().display());
    assert_eq!(self::candidates(elsewhere.path(), &["yfs", &named, "cat", "/s"]), ["/src/"]);
}

#[test]
fn threads_are_completed_by_their_ids() {
    let dir = tempfile::tempdir().unwrap();
    run(dir.path(), &["init", "--quiet"]);
    run(dir.path(), &["thread", "new", "job-1", "job%2", "other"]);
    run(dir.path(), &["thread", "archive", "job-1"]);
    run(dir.path(), &["write", "/threads/job-3.txt", "--content", "no thread"]);
    let candidates = |line: &[&str]| candidates(dir.path(), line);
    assert_eq!(candidates(&["yfs", "thread", "ls", "job"]), ["job%2", "job-1"]);
    assert_eq!(candidates(&["yfs", "thread", "delete", "other", "job-"]), ["job-1"]);
    assert_eq!(candidates(&["yfs", "thread", "fork", "o"]), ["other"]);
    assert_eq!(candidates(&["yfs", "thread", "unarch"]), ["unarchive"]);
    assert!(candidates(&["yfs", "thread", "fork", "other", "j"]).is_empty());
}

fn candidates(dir: &Path, line: &[&str]) -> Vec<String> {
    let mut command = yfs(dir);
    command.env("COMPLETE", "bash").env("_CLAP_COMPLETE_INDEX", (line.len() - 1).to_string());
    let output = command.env("_CLAP_IFS", "\n").arg("--").args(line).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let listed = String::from_utf8(output.stdout).unwrap();
    listed.lines().map(str::to_owned).collect()
}

fn run(dir: &Path, args: &[&str]) {
    let output = yfs(dir).args(args).output().unwrap();
    assert!(output.status.success(), "{args:?}: {output:?}");
}

fn yfs(dir: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_yfs"));
    command.current_dir(dir).env_remove("YFS_WORKSPACE").env("YFS_ACTOR", "human:test");
    command
}
