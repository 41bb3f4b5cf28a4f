//! The cost of checking all rich text files, by their number: `yfs conflicts`, and the document of
//! each file by its path and by its id. CPU time of the calling thread, on an SQLite store.
//!
//! `YFS_BENCH_SIZES=1000,10000` sets the numbers of files. Run with `cargo bench -p yfs --bench
//! look`.
#![expect(clippy::print_stdout, reason = "a bench prints what it measured")]
#![expect(dead_code, reason = "it needs not all of what benches share")]

#[path = "support/measure.rs"]
mod measure;

use std::{env, hint::black_box};

use measure::{Row, now, per_call};
use yfs::{Workspace, WorkspaceOptions};
use yfs_engine::path::VPath;
use yfs_vfs::{FileSystem, FileSystemExt, TextReplacement, WalkOptions, WriteOptions};

const FILES_PER_DIRECTORY: usize = 100;

fn main() {
    let sizes = env::var("YFS_BENCH_SIZES").unwrap_or_else(|_| "1000,10000".to_owned());
    let sizes = sizes.split(',').map(|size| size.parse().expect("a number"));
    let columns: Vec<_> = sizes.map(|size: usize| (size.to_string(), measured(size))).collect();
    measure::print(&columns);
}

fn path_of(at: usize) -> VPath {
    let directory = at / FILES_PER_DIRECTORY;
    VPath::parse(&format!("/notes/{directory}/{at}.md")).expect("a path")
}

/// Returns about a kilobyte of text.
fn text(at: usize) -> String {
    let section =
        "Some *words* with [a link](https://example.org/a), and more.\n\n- one\n- two\n\n";
    format!("# Note {at}\n\n{}", section.repeat(12))
}

fn measured(n_files: usize) -> Vec<Row> {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let file = dir.path().join("workspace.db");
    let workspace = Workspace::create_at(&file, WorkspaceOptions::default()).expect("a workspace");
    let fs = workspace.fs();
    let mut rows = Vec::new();
    rows.push(per_call("create a file of 1 KB, µs", n_files, |at| {
        now(fs.write(&path_of(at), text(at).into(), &WriteOptions::default())).expect("created");
    }));
    workspace.close().expect("closed");
    let workspace = Workspace::open_at(&file, WorkspaceOptions::default()).expect("opened");
    let fs = workspace.fs();
    // For files of two writers, the updates alone do not show that they are settled.
    for at in (0..n_files).step_by(10) {
        now(fs.edit(&path_of(at), &TextReplacement::once("# Note", "# Notes"))).expect("edited");
    }
    workspace.close().expect("closed");
    for title in ["conflicts for the first time, ms", "conflicts in another process, ms"] {
        let workspace = Workspace::open_at(&file, WorkspaceOptions::default()).expect("opened");
        rows.push(milliseconds(title, || {
            assert!(workspace.conflicts().expect("listed").is_empty());
        }));
        workspace.close().expect("closed");
    }
    let workspace = Workspace::open_at(&file, WorkspaceOptions::default()).expect("opened");
    let options = WalkOptions::default();
    let walk = || now(workspace.fs().walk(&VPath::root(), &options)).expect("walked");
    rows.push(milliseconds("walk, ms", || drop(black_box(walk()))));
    let found = walk();
    rows.push(milliseconds("document of each by path, ms", || {
        found.iter().for_each(|file| drop(black_box(workspace.documents().info(&file.path))));
    }));
    rows.push(milliseconds("document of each by id, ms", || {
        found
            .iter()
            .for_each(|file| drop(black_box(workspace.documents().info_of(&file.entry.id))));
    }));
    workspace.close().expect("closed");
    rows
}

fn milliseconds(name: &str, task: impl FnOnce()) -> Row {
    let before = measure::thread_cpu();
    task();
    Row::new(name, (measure::thread_cpu() - before).as_secs_f64() * 1e3)
}
