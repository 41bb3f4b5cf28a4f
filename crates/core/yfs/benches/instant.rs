//! The cost of calls in one open process, by the number of files: CPU time of the calling thread,
//! on an SQLite store with a checkpoint, as a Markdown table.
//!
//! `YFS_BENCH_SIZES=1000,10000,100000,1000000` sets the numbers of files. *First* is the first call
//! for a path after the workspace was opened, *warm* a later one. `tests/benches/cold.sh` measures
//! whole processes. Run with `cargo bench -p yfs --bench instant`.
#![expect(clippy::print_stdout, reason = "a bench prints what it measured")]

#[path = "support/measure.rs"]
mod measure;
#[path = "support/tree.rs"]
#[expect(dead_code, reason = "not every bench needs all of it")]
mod tree;

use std::{env, path::Path};

use measure::{Row, now, peak_memory_mb, per_call, process_cpu};
use tree::path_of;
use yfs::{Workspace, WorkspaceOptions};
use yfs_engine::path::VPath;
use yfs_vfs::{FileSystem, MoveOptions, TextReplacement, WriteOptions};

/// The number of files that are read and changed.
const N_CALLS: usize = 500;

fn main() {
    let sizes = env::var("YFS_BENCH_SIZES").unwrap_or_else(|_| "1000,10000,100000".to_owned());
    let sizes = sizes.split(',').map(|size| size.parse().expect("a number"));
    let columns: Vec<_> = sizes.map(|size: usize| (format!("{size}"), measured(size))).collect();
    measure::print(&columns);
}

fn measured(n_files: usize) -> Vec<Row> {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let file = dir.path().join("workspace.db");
    let mut rows = vec![create_files(&file, n_files)];
    let before = process_cpu();
    let workspace = Workspace::open_at(&file, options()).expect("opened");
    rows.push(Row::new("open, ms", (process_cpu() - before).as_secs_f64() * 1e3));
    let fs = workspace.fs();
    let paths: Vec<VPath> = (0..N_CALLS).map(|at| path_of(at * 7919 % n_files)).collect();
    looked_up(&fs, &paths, &mut rows);
    changed(&fs, &paths, &mut rows);
    let before = process_cpu();
    workspace.close().expect("closed");
    rows.push(Row::new("close, ms", (process_cpu() - before).as_secs_f64() * 1e3));
    rows.push(Row::new("peak memory so far, MB", peak_memory_mb()));
    rows
}

/// A workspace without a thread that follows the log.
fn options() -> WorkspaceOptions {
    WorkspaceOptions { follow: false, ..WorkspaceOptions::default() }
}

/// The content of each file.
fn text() -> String {
    "a lighthouse\n".to_owned() + &tree::text(987)
}

/// Creates the files, and closes the workspace, which makes its checkpoint.
fn create_files(file: &Path, n_files: usize) -> Row {
    let workspace = Workspace::create_at(file, options()).expect("a workspace");
    let (fs, text) = (workspace.fs(), text());
    let row = per_call("create a file of 1 KB, the first of all, µs", n_files, |at| {
        now(fs.write(&path_of(at), text.clone().into(), &WriteOptions::default()))
            .expect("created");
    });
    workspace.close().expect("closed");
    row
}

fn looked_up(fs: &yfs::WorkspaceFs, paths: &[VPath], rows: &mut Vec<Row>) {
    let mut stat = |name: &str, n_times: usize| {
        rows.push(per_call(name, n_times * paths.len(), |at| {
            now(fs.stat(&paths[at % paths.len()])).expect("there");
        }));
    };
    stat("stat by path, first, µs", 1);
    stat("stat by path, warm, µs", 40);
    let mut read = |name: &str| {
        rows.push(per_call(name, paths.len(), |at| {
            now(fs.read(&paths[at])).expect("read");
        }));
    };
    read("read 1 KB, first, µs");
    read("read 1 KB, second, µs");
    read("read 1 KB, warm, µs");
}

fn changed(fs: &yfs::WorkspaceFs, paths: &[VPath], rows: &mut Vec<Row>) {
    let n_calls = paths.len();
    let options = WriteOptions::default();
    let text = text();
    let beside = |at: usize, suffix: &str| {
        let name = format!("{}{suffix}", paths[at].file_name().expect("a name"));
        paths[at].parent().expect("a directory").join(&name)
    };
    rows.push(per_call("create a file of 1 KB, µs", n_calls, |at| {
        now(fs.write(&beside(at, ".new"), text.clone().into(), &options)).expect("created");
    }));
    rows.push(per_call("rename a file, µs", n_calls, |at| {
        let (from, to) = (beside(at, ".new"), beside(at, ".moved"));
        now(fs.mv(&from, &to, &MoveOptions::default())).expect("renamed");
    }));
    let mut edit = |name: &str, from: &str, to: &str| {
        rows.push(per_call(name, n_calls, |at| {
            now(fs.edit(&paths[at], &TextReplacement::once(from, to))).expect("edited");
        }));
    };
    edit("edit, first, µs", "lighthouse", "boathouse");
    edit("edit, warm, µs", "boathouse", "lighthouse");
    rows.push(per_call("append, warm, µs", n_calls, |at| {
        now(fs.append(&paths[at], "one more line\n".into(), &options)).expect("appended");
    }));
}
