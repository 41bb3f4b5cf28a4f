//! What encryption at rest costs: the same work in a plain and in an encrypted store. CPU time of
//! this process.
//!
//! `YFS_BENCH_SIZES=10000` sets the number of files. Run with `cargo bench -p yfs --bench
//! encryption`.
#![expect(clippy::print_stdout, reason = "a bench prints what it measured")]
#![expect(dead_code, reason = "it needs not all of what benches share")]

#[path = "support/measure.rs"]
mod measure;

use std::{env, fs, path::Path, sync::Arc};

use measure::{Row, now, process_cpu};
use yfs::{ImportOptions, UnlockKey, Workspace, WorkspaceOptions};
use yfs_engine::{path::VPath, time::Millis};
use yfs_store::{
    AppendBatch, BlobStore, DocName, OpenOptions, SqliteStore, Store, StoreExt, UpdateLog,
};
use yfs_vfs::FileSystem;

const UPDATE_LEN: usize = 100;
const N_DOCS: usize = 1000;

fn main() {
    let n_files = env::var("YFS_BENCH_SIZES").ok().and_then(|size| size.parse().ok());
    let n_files = n_files.unwrap_or(10_000);
    let outside = tempfile::tempdir().expect("a temporary directory");
    write_files(outside.path(), n_files);
    let key = Arc::new(UnlockKey::from_key_file(vec![1; 32]).expect("a key"));
    let columns = [("plain", None), ("encrypted", Some(key))]
        .map(|(title, key)| (title.to_owned(), measured(outside.path(), n_files, key.as_ref())));
    measure::print(&columns);
}

fn write_files(directory: &Path, n_files: usize) {
    for at in 0..n_files {
        let directory = directory.join((at / 100).to_string());
        fs::create_dir_all(&directory).expect("made");
        let text = format!("# Note {at}\n\n{}", "Some *words* in a line.\n\n".repeat(40));
        let name = if at % 5 == 0 { "md" } else { "txt" };
        fs::write(directory.join(format!("{at}.{name}")), text).expect("written");
    }
}

fn measured(outside: &Path, n_files: usize, key: Option<&Arc<UnlockKey>>) -> Vec<Row> {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let mut rows = store_rows(&directory.path().join("store.db"), key);
    let file = directory.path().join("workspace.db");
    let options = || WorkspaceOptions { key: key.cloned(), ..WorkspaceOptions::default() };
    let workspace = Workspace::create_at(&file, options()).expect("a workspace");
    rows.push(each("import a file of 1 KB, µs", n_files, || {
        let import = workspace.import(outside, &VPath::root(), &ImportOptions::default(), &|_| ());
        import.expect("imported");
    }));
    workspace.close().expect("closed");
    let len = |suffix| fs::metadata(directory.path().join(suffix)).map_or(0, |meta| meta.len());
    let n_bytes = len("workspace.db") + len("workspace.db-wal");
    rows.push(Row::new("store, bytes per file", n_bytes as f64 / n_files as f64));
    rows.push(each("open a workspace and read one file, µs", 1, || {
        let workspace = Workspace::open_at(&file, options()).expect("opened");
        let path = VPath::parse("/0/1.txt").expect("a path");
        now(workspace.fs().read(&path)).expect("read");
    }));
    let workspace = Workspace::open_at(&file, options()).expect("opened");
    let fs = workspace.fs();
    rows.push(each("read a file for the first time, µs", n_files, || {
        for at in (0..n_files).filter(|at| at % 5 != 0) {
            let path = VPath::parse(&format!("/{}/{at}.txt", at / 100)).expect("a path");
            now(fs.read(&path)).expect("read");
        }
    }));
    workspace.close().expect("closed");
    rows
}

fn store_rows(path: &Path, key: Option<&Arc<UnlockKey>>) -> Vec<Row> {
    let options = OpenOptions { create: true, ..OpenOptions::default() };
    let open = || SqliteStore::open_with_key(path, options, key.map(AsRef::as_ref)).expect("open");
    let doc = |at: usize| DocName::parse(&format!("d{:014}", at % N_DOCS)).expect("a name");
    let update = |at: usize| vec![at as u8; UPDATE_LEN];
    let store = open();
    let mut rows = vec![
        each("append 100 bytes, µs", 20_000, || {
            for at in 0..20_000 {
                let batch = AppendBatch::one(doc(at), update(at), Millis(1));
                store.append(batch).expect("append");
            }
        }),
        each("append 100 bytes, 100 in a batch, µs", 100_000, || {
            for first in (0..100_000).step_by(100) {
                let updates = (first..first + 100).map(|at| (doc(at), update(at))).collect();
                store.append(AppendBatch::new(updates, Millis(1))).expect("append");
            }
        }),
        each("load a document of 120 updates, µs", N_DOCS, || {
            for at in 0..N_DOCS {
                assert_eq!(store.load(&doc(at)).expect("load").updates.len(), 120);
            }
        }),
    ];
    rows.push(each("check a record of the log, µs", 120_000, || {
        assert_eq!(store.check_log().expect("check").n_records, 120_000);
    }));
    let blob: Vec<u8> = (0..16_000_000_u32).map(|at| (at.wrapping_mul(at) >> 13) as u8).collect();
    let mut hash = None;
    rows.push(each("put a blob, µs per MB", 16, || {
        hash = Some(store.put_bytes(&blob, Millis(1)).expect("put").hash);
    }));
    rows.push(each("read a blob, µs per MB", 16, || {
        let hash = hash.expect("it was put");
        assert_eq!(store.read_blob(&hash, 0..u64::MAX).expect("read").len(), blob.len());
    }));
    store.close().expect("close");
    rows
}

/// Returns the CPU time of a call, for each of `n` things that it does.
fn each(name: &str, n: usize, call: impl FnOnce()) -> Row {
    let before = process_cpu();
    call();
    let spent = process_cpu() - before;
    Row::new(name, spent.as_secs_f64() * 1e6 / n as f64)
}
