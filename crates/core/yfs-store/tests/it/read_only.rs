//! Stores in places that the process cannot write.
//!
//! Root may write any file, so the tests run this binary again as another user: [`child`] does
//! nothing unless environment variables name a store to check.
#![cfg(unix)]

use std::{
    env, fs,
    os::unix::{fs::MetadataExt, fs::PermissionsExt, process::CommandExt},
    path::{Path, PathBuf},
    process::Command,
};

use tempfile::TempDir;
use yfs_store::{
    AppendBatch, DocName, LocalState, LogRecord, MergedSnapshot, Seq, SqliteStore, Store,
    StoreError, StoreExt, UpdateLog,
};
use yfs_types::time::Millis;

const PATH: &str = "YFS_STORE_TEST_READ_ONLY";
const EXPECTED: &str = "YFS_STORE_TEST_EXPECTED";

fn doc() -> DocName {
    DocName::parse("doc").expect("a name")
}

fn append(store: &SqliteStore, text: &str) {
    store.append(AppendBatch::one(doc(), text.into(), Millis(1))).expect("append");
}

/// Makes a store that contains `one`, with a name that has a meaning in a URI.
fn sample() -> (TempDir, PathBuf) {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("50%2f #1?.db");
    let store = SqliteStore::open_or_create(&path).expect("open");
    append(&store, "one");
    store.close().expect("close");
    (directory, path)
}

fn text(store: &dyn Store) -> String {
    let loaded = store.load(&doc()).expect("load");
    let bytes: Vec<u8> = loaded.updates.into_iter().flat_map(|record| record.data).collect();
    String::from_utf8(bytes).expect("text")
}

fn mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("chmod");
}

fn files_in(directory: &Path) -> Vec<(String, Vec<u8>)> {
    let entries = fs::read_dir(directory).expect("list").map(|entry| entry.expect("an entry"));
    let mut files: Vec<_> = entries
        .map(|entry| {
            let name = entry.file_name().into_string().expect("a name");
            (name, fs::read(entry.path()).expect("read"))
        })
        .collect();
    files.sort();
    files
}

/// Reads a store as a user that can write neither it nor its directory, and checks that nothing
/// there changes.
fn look(path: &Path, expected: &str, modes: (u32, u32)) {
    let directory = path.parent().expect("it is in a directory");
    let (directory_mode, file_mode) = modes;
    for (name, _) in files_in(directory) {
        mode(&directory.join(name), file_mode);
    }
    let before = files_in(directory);
    mode(directory, directory_mode);
    let mut command = Command::new(env::current_exe().expect("this binary"));
    command
        .args(["--exact", "read_only::child", "--nocapture"])
        .env(PATH, path)
        .env(EXPECTED, expected);
    if fs::metadata("/proc/self").is_ok_and(|metadata| metadata.uid() == 0) {
        // A user who trusts the owner of the store.
        command.uid(65534).gid(65534).env("YFS_SAFE_DIRECTORY", directory);
    }
    let output = command.output().expect("run");
    mode(directory, 0o755);
    assert!(output.status.success(), "{modes:?}: {}", String::from_utf8_lossy(&output.stdout));
    assert!(files_in(directory) == before, "a file was changed");
}

#[test]
fn reads_where_nothing_may_be_written() {
    let (_directory, path) = sample();
    for modes in [(0o555, 0o444), (0o555, 0o666)] {
        look(&path, "one", modes);
    }
}

#[test]
fn reads_beside_a_writer() {
    let (_directory, path) = sample();
    let writer = SqliteStore::open(&path).expect("open");
    append(&writer, "two");
    look(&path, "onetwo", (0o555, 0o444));
    append(&writer, "three");
    look(&path, "onetwothree", (0o555, 0o444));
}

#[test]
fn what_a_dead_writer_left_is_not_passed_over() {
    let (directory, path) = sample();
    let writer = SqliteStore::open(&path).expect("open");
    append(&writer, "two");
    let copy = directory.path().join("copy");
    mode(directory.path(), 0o755);
    fs::create_dir(&copy).expect("make a directory");
    let log = |path: &Path| PathBuf::from(format!("{}-wal", path.display()));
    let path_of_copy = copy.join("store.db");
    fs::copy(&path, &path_of_copy).expect("copy");
    fs::copy(log(&path), log(&path_of_copy)).expect("copy");
    look(&path_of_copy, "error", (0o555, 0o444));
    // A reader that may write cleans up the log.
    assert_eq!(text(&SqliteStore::open_read_only(&path_of_copy).expect("open")), "onetwo");
}

#[test]
fn a_reader_sees_what_others_append_and_writes_nothing() {
    let (_directory, path) = sample();
    let reader = SqliteStore::open_read_only(&path).expect("open");
    assert_eq!(text(&reader), "one");
    let writer = SqliteStore::open(&path).expect("open");
    append(&writer, "two");
    assert_eq!(text(&reader), "onetwo");
    assert_eq!(reader.tail(Seq::ZERO, &|_, _| true).expect("tail").records.len(), 2);
    refuses_to_write(&reader);
    reader.flush().expect("there is nothing to do");
}

#[test]
fn a_reader_makes_no_store() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("store.db");
    let error = SqliteStore::open_read_only(&path).expect_err("there is none");
    assert!(matches!(error, StoreError::NotFound { .. }), "{error:?}");
    fs::write(&path, "").expect("write");
    let error = SqliteStore::open_read_only(&path).expect_err("it is empty");
    assert!(matches!(error, StoreError::NotAStore { .. }), "{error:?}");
}

fn refuses_to_write(store: &SqliteStore) {
    let batch = AppendBatch::one(doc(), b"more".to_vec(), Millis(1));
    let errors = [
        store.append(batch.clone()).expect_err("append"),
        store.append(batch.synced()).expect_err("append"),
        store.forget(&doc(), Seq::ZERO).expect_err("forget"),
        store.put_bytes(b"content", Millis(1)).expect_err("put"),
        store.set_meta("key", b"value").expect_err("set"),
        store.claim_writer().expect_err("claim"),
    ];
    for error in errors {
        assert!(matches!(error, StoreError::ReadOnly { .. }), "{error:?}");
    }
}

/// Reads a store, if environment variables name one.
#[test]
fn child() {
    let (Ok(path), Ok(expected)) = (env::var(PATH), env::var(EXPECTED)) else { return };
    let path = Path::new(&path);
    let error = SqliteStore::open(path).expect_err("it cannot be written");
    assert!(matches!(error, StoreError::ReadOnly { .. }), "{error:?}");
    let directory = path.parent().expect("it is in a directory");
    let error = SqliteStore::open_or_create(&directory.join("new.db")).expect_err("nor this");
    assert!(matches!(error, StoreError::ReadOnly { .. }), "{error:?}");
    let opened = SqliteStore::open_read_only(path);
    if expected == "error" {
        let error = opened.expect_err("part of it cannot be read");
        assert!(matches!(error, StoreError::ReadOnly { .. }), "{error:?}");
        return;
    }
    let store = opened.expect("open");
    assert_eq!(text(&store), expected);
    let tail = store.tail(Seq::ZERO, &|_, _| true).expect("tail");
    assert_eq!(store.doc_head(&doc()).expect("head").seq, tail.head);
    assert_eq!(store.check().expect("check").problems, []);
    assert!(!store.wait(tail.head, std::time::Duration::from_millis(5)).expect("wait"));
    refuses_to_write(&store);
    store.close().expect("close");
}

/// Stores of the second format have no past heads, and do not record the handle of the record that
/// a snapshot reaches.
#[test]
fn a_store_of_the_second_format_is_read_and_upgraded() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("store.db");
    let store = SqliteStore::open_or_create(&path).expect("open");
    let append = |store: &SqliteStore, data: &[u8]| {
        store.append(AppendBatch::one(doc(), data.to_vec(), Millis(1))).expect("append").last
    };
    let compact = |store: &SqliteStore| {
        let join = |snapshot: Option<&[u8]>, records: &[LogRecord]| {
            let parts = records.iter().map(|record| record.data.as_slice());
            let state = [snapshot.unwrap_or_default()].into_iter().chain(parts).collect::<Vec<_>>();
            let absorbed = vec![true; records.len()];
            let changes = vec![b"change".to_vec(); records.len()];
            Ok(MergedSnapshot { state: state.concat(), absorbed, rewritten: Vec::new(), changes })
        };
        store.compact(&doc(), &join).expect("compact");
    };
    append(&store, b"one ");
    store.close().expect("close");
    drop(store);
    let file = rusqlite::Connection::open(&path).expect("open");
    file.execute_batch("DROP TABLE past_head; DROP INDEX quarantine_age; PRAGMA user_version = 2;")
        .expect("made older");
    drop(file);

    let reader = SqliteStore::open_read_only(&path).expect("open");
    let history = reader.load_history(&doc()).expect("history");
    assert_eq!((history.loaded.updates.len(), history.past_heads.len()), (1, 0));
    drop(reader);
    let store = SqliteStore::open(&path).expect("open");
    compact(&store);
    append(&store, b"two ");
    compact(&store);
    let history = store.load_history(&doc()).expect("history");
    assert_eq!(history.loaded.snapshot.as_deref(), Some(&b"one two "[..]));
    assert_eq!(history.past_heads.len(), 2);
    assert_eq!(store.check().expect("check").problems, []);
}
