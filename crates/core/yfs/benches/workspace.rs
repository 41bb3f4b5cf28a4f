//! The cost of a workspace at several sizes, fresh and aged: CPU time of the calling thread, on an
//! SQLite store, as a Markdown table.
//!
//! `YFS_BENCH_SIZES=1000,10000,100000` sets the numbers of files; `YFS_BENCH_AGED=0` leaves out the
//! aged workspaces, and `YFS_BENCH_COMPACT=0` compaction, which takes a millisecond per file. Run
//! with `cargo bench -p yfs --bench workspace`.
#![expect(clippy::print_stdout, reason = "a bench prints what it measured")]

#[path = "support/measure.rs"]
mod measure;
#[path = "support/tree.rs"]
mod tree;

use std::{env, path::Path, process::Command};

use measure::{Row, now, per_call};
use tree::{FILES_PER_DIRECTORY, path_of};
use yfs::{Workspace, WorkspaceOptions};
use yfs_engine::{path::VPath, time::Millis};
use yfs_vfs::{
    FileSystem, FileSystemExt, MoveOptions, RemoveOptions, TextReplacement, WriteOptions,
};

fn main() {
    let args: Vec<String> = env::args().collect();
    if let [_, flag, file] = args.as_slice()
        && flag == "--open"
    {
        return open_only(Path::new(file));
    }
    let sizes = env::var("YFS_BENCH_SIZES").unwrap_or_else(|_| "1000,10000,100000".to_owned());
    let sizes: Vec<usize> = sizes.split(',').map(|size| size.parse().expect("a number")).collect();
    let aged = env::var("YFS_BENCH_AGED").map_or(true, |value| value != "0");
    let mut columns = Vec::new();
    for size in sizes {
        columns.push((format!("{size} fresh"), measured(size, false)));
        if aged {
            columns.push((format!("{size} aged"), measured(size, true)));
        }
    }
    measure::print(&columns);
}

fn measured(n_files: usize, is_aged: bool) -> Vec<Row> {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let file = dir.path().join("workspace.db");
    let mut rows = Vec::new();
    let workspace = Workspace::create_at(&file, WorkspaceOptions::default()).expect("a workspace");
    let fs = workspace.fs();
    let text = tree::text(200);
    rows.push(per_call("create a file of 200 bytes, µs", n_files, |at| {
        now(fs.write(&path_of(at), text.clone().into(), &WriteOptions::default()))
            .expect("created");
    }));
    if is_aged {
        tree::age(&workspace, &file, n_files);
    }
    // A process that syncs has built the yrs document, which then takes part in every write.
    sync_once(&workspace);
    let large = tree::text(5_000) + "a lighthouse\n" + &tree::text(5_000);
    let path = VPath::parse("/large.txt").expect("a path");
    now(fs.write(&path, large.into(), &WriteOptions::default())).expect("created");
    structure(&fs, n_files, &mut rows);
    contents(&workspace, &mut rows);
    rows.push(Row::new(
        "main document, bytes a file",
        workspace.maintenance().stats().expect("stats").main_bytes as f64 / n_files as f64,
    ));
    if env::var("YFS_BENCH_COMPACT").map_or(true, |value| value != "0") {
        workspace.maintenance().compact(&mut |_, _| ()).expect("compacted");
    }
    rows.push(Row::new(
        "store, bytes a file",
        workspace.maintenance().stats().expect("stats").store.file_bytes as f64 / n_files as f64,
    ));
    workspace.close().expect("closed");
    rows.extend(reopened(&file));
    rows
}

/// Encodes the main document, as the first peer's request does.
fn sync_once(workspace: &Workspace) {
    let main = workspace.documents().port(workspace.id().as_str()).expect("the main document");
    main.diff(&[0]).expect("encoded");
}

fn structure(fs: &yfs::WorkspaceFs, n_files: usize, rows: &mut Vec<Row>) {
    let spread = |at: usize| path_of(at * 7919 % n_files);
    let there: Vec<VPath> = (0..20_000).map(spread).collect();
    rows.push(per_call("stat by path, µs", there.len(), |at| {
        now(fs.stat(&there[at])).expect("there");
    }));
    let absent: Vec<VPath> = there.iter().map(|path| path.join("x")).collect();
    rows.push(per_call("stat of what is not there, µs", absent.len(), |at| {
        now(fs.stat(&absent[at])).expect_err("not there");
    }));
    let directories: Vec<VPath> = there[..500].iter().filter_map(VPath::parent).collect();
    rows.push(per_call(&format!("readdir of {FILES_PER_DIRECTORY} entries, µs"), 500, |at| {
        now(fs.readdir(&directories[at])).expect("a directory");
    }));
    rows.push(per_call("rename a file, µs", 500, |at| {
        let (from, to) = (spread(at), renamed(&spread(at)));
        now(fs.mv(&from, &to, &MoveOptions::default())).expect("renamed");
    }));
    rows.push(per_call("rename it back, µs", 500, |at| {
        let (from, to) = (renamed(&spread(at)), spread(at));
        now(fs.mv(&from, &to, &MoveOptions::default())).expect("renamed");
    }));
    rows.push(per_call("touch, µs", 500, |at| {
        now(fs.utimes(&spread(at), Millis(1_700_000_000_000 + at as i64))).expect("touched");
    }));
    let (data, moved) =
        (VPath::parse("/data").expect("a path"), VPath::parse("/moved").expect("a path"));
    rows.push(per_call("move the directory that holds everything, µs", 50, |at| {
        let (from, to) = if at % 2 == 0 { (&data, &moved) } else { (&moved, &data) };
        now(fs.mv(from, to, &MoveOptions::default())).expect("moved");
    }));
    let options = RemoveOptions { recursive: true, force: false };
    rows.push(per_call("trash the directory that holds everything, µs", 1, |_| {
        now(fs.rm(&data, &options)).expect("trashed");
    }));
    let trash = fs.workspace().trash().list().expect("a trash");
    rows.push(per_call("restore it, µs", 1, |_| {
        fs.workspace().trash().restore(&trash[0].id, None).expect("restored");
    }));
}

fn contents(workspace: &Workspace, rows: &mut Vec<Row>) {
    let fs = workspace.fs();
    let large = VPath::parse("/large.txt").expect("a path");
    let port = workspace
        .documents()
        .port(now(fs.stat(&large)).expect("there").id.as_str())
        .expect("a document");
    let mut updates = port.subscribe();
    let old = String::from_utf8(now(fs.read(&large)).expect("read").data.to_vec()).expect("text");
    let changed = old.replacen("lighthouse", "boathouse", 1);
    rows.push(per_call("write 10 KB with one word changed, µs", 200, |at| {
        let text = if at % 2 == 0 { &changed } else { &old };
        now(fs.write(&large, text.clone().into(), &WriteOptions::default())).expect("written");
    }));
    let sizes: Vec<usize> =
        std::iter::from_fn(|| updates.try_recv()).map(|update| update.len()).collect();
    let later = &sizes[1..];
    rows.push(Row::new(
        "  its update, bytes",
        later.iter().sum::<usize>() as f64 / later.len() as f64,
    ));
    rows.push(per_call("edit one word of 10 KB, µs", 200, |at| {
        let (from, to) =
            if at % 2 == 0 { ("lighthouse", "boathouse") } else { ("boathouse", "lighthouse") };
        now(fs.edit(&large, &TextReplacement::once(from, to))).expect("edited");
    }));
    rows.push(per_call("append a line to 10 KB, µs", 200, |_| {
        now(fs.append(&large, "another line\n".into(), &WriteOptions::default()))
            .expect("appended");
    }));
    rows.push(per_call("read 10 KB from the cache, µs", 2_000, |_| {
        now(fs.read(&large)).expect("read");
    }));
}

/// Measures a process that only opens the workspace.
fn reopened(file: &Path) -> Vec<Row> {
    let program = env::current_exe().expect("this program");
    let output = Command::new(program).arg("--open").arg(file).output().expect("it runs");
    let text = String::from_utf8(output.stdout).expect("text");
    let values = text.lines().filter_map(|line| line.split_once('='));
    values.map(|(name, value)| Row::new(name, value.parse().expect("a number"))).collect()
}

fn open_only(file: &Path) {
    let before = measure::process_cpu();
    let options = WorkspaceOptions { follow: false, ..WorkspaceOptions::default() };
    let workspace = Workspace::open_at(file, options).expect("it opens");
    let spent = measure::process_cpu() - before;
    println!("open with index, ms of CPU={:.1}", spent.as_secs_f64() * 1e3);
    println!("peak memory after open, MB={:.0}", measure::peak_memory_mb());
    let before = measure::process_cpu();
    sync_once(&workspace);
    let spent = measure::process_cpu() - before;
    println!("then sync all of it to a first peer, ms of CPU={:.1}", spent.as_secs_f64() * 1e3);
    println!("peak memory after that, MB={:.0}", measure::peak_memory_mb());
    drop(workspace);
}

fn renamed(path: &VPath) -> VPath {
    path.parent()
        .expect("a directory")
        .join(&format!("{}.renamed", path.file_name().expect("a name")))
}
