//! Statistics that a command made are there for the next one, and are of the present content.

#![expect(clippy::unwrap_used, reason = "a panic fails the test, which is what it is for")]

use std::{
    path::Path,
    process::{Command, Stdio},
};

use serde_json::Value;
use yfs_store::{LocalState, SqliteStore};

#[test]
fn statistics_are_kept_until_the_file_changes() {
    let dir = tempfile::tempdir().unwrap();
    yfs(dir.path(), &["init", "--quiet"]);
    yfs(dir.path(), &["write", "/a.csv", "--content", "name,n\nx,1\ny,2\n"]);
    assert_eq!(n_rows(dir.path()), 2);

    let stat: Value =
        serde_json::from_str(&yfs(dir.path(), &["stat", "--json", "/a.csv"])).unwrap();
    let key = format!("analysis:{}", stat["id"].as_str().unwrap());
    let store = SqliteStore::open(&dir.path().join(".yfs/workspace.db")).unwrap();
    let kept = store.get_meta(&key).unwrap().expect("the command kept the statistics");
    // A mark shows that the next command reads them and does not make them again.
    let mut marked: Value = serde_json::from_slice(&kept).unwrap();
    marked["stats"]["Csv"]["rows"] = 77.into();
    store.set_meta(&key, marked.to_string().as_bytes()).unwrap();
    assert_eq!(n_rows(dir.path()), 77);
    yfs(dir.path(), &["mv", "/a.csv", "/b.csv"]);
    yfs(dir.path(), &["mv", "/b.csv", "/a.csv"]);
    assert_eq!(n_rows(dir.path()), 77, "a file is its id");

    yfs(dir.path(), &["append", "/a.csv", "--content", "z,3\n"]);
    assert_eq!(n_rows(dir.path()), 3);
}

#[test]
fn a_store_that_cannot_be_written_is_no_error() {
    let dir = tempfile::tempdir().unwrap();
    yfs(dir.path(), &["init", "--quiet"]);
    yfs(dir.path(), &["write", "/a.csv", "--content", "name,n\nx,1\n"]);
    // For root the file can be written all the same.
    let backup = dir.path().join("read-only.db");
    yfs(dir.path(), &["admin", "backup", "--quiet", backup.to_str().unwrap()]);
    let mut permissions = backup.metadata().unwrap().permissions();
    permissions.set_readonly(true);
    std::fs::set_permissions(&backup, permissions).unwrap();
    let workspace = format!("--workspace={}", backup.display());
    let stats: Value =
        serde_json::from_str(&yfs(dir.path(), &[&workspace, "describe", "--json", "/a.csv"]))
            .unwrap();
    assert_eq!(stats["stats"]["Csv"]["rows"], 1);
}

fn n_rows(dir: &Path) -> u64 {
    let stats: Value = serde_json::from_str(&yfs(dir, &["describe", "--json", "/a.csv"])).unwrap();
    stats["stats"]["Csv"]["rows"].as_u64().unwrap()
}

fn yfs(dir: &Path, args: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_yfs"));
    command.current_dir(dir).env_remove("YFS_WORKSPACE").env("YFS_ACTOR", "human:test");
    let output = command.args(args).stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success(), "{args:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}
