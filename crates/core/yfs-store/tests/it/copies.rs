//! Backups and copies, and their effect on client ids.

use std::{
    fs,
    path::Path,
    sync::atomic::{AtomicBool, Ordering},
    thread,
};

use yfs_store::{
    AppendBatch, DocName, LocalState, Seq, SqliteStore, Store, StoreError, StoreExt, UpdateLog,
    WriterClaim,
};
use yfs_types::{id::ClientId, time::Millis};

fn doc(name: &str) -> DocName {
    DocName::parse(name).expect("a name")
}

fn ids(claim: &WriterClaim) -> [ClientId; 4] {
    [claim.rows, claim.cells, claim.meta, claim.content]
}

/// Claims client ids, releases them, and returns them.
fn use_once(store: &dyn Store) -> [ClientId; 4] {
    let claim = store.claim_writer().expect("claim");
    let used = ids(&claim);
    store.append(AppendBatch::one(doc("a"), vec![1], Millis(1))).expect("append");
    store.release_writer(claim).expect("release");
    used
}

fn copy(from: &Path, to: &Path) {
    for suffix in ["", "-seal"] {
        let name = |path: &Path| format!("{}{suffix}", path.display());
        if Path::new(&name(from)).exists() {
            fs::copy(name(from), name(to)).expect("copy");
        }
    }
}

#[test]
fn ids_are_reused_by_one_process_after_another() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("store.db");
    let first = use_once(&SqliteStore::open_or_create(&path).expect("open"));
    for _ in 0..20 {
        assert_eq!(use_once(&SqliteStore::open(&path).expect("open")), first);
    }
    // A process that dies without releasing its ids takes them along.
    let dead = SqliteStore::open(&path).expect("open").claim_writer().expect("claim");
    assert_eq!(ids(&dead), first);
    let store = SqliteStore::open(&path).expect("open");
    assert_ne!(use_once(&store), first);
}

#[test]
fn a_copy_reuses_nothing() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("store.db");
    let other = directory.path().join("copy.db");
    let first = use_once(&SqliteStore::open_or_create(&path).expect("open"));
    copy(&path, &other);
    assert_ne!(use_once(&SqliteStore::open(&other).expect("open")), first);
    assert_eq!(use_once(&SqliteStore::open(&path).expect("open")), first, "the original may");

    // Moved over the original.
    fs::rename(&other, &path).expect("rename");
    assert_ne!(use_once(&SqliteStore::open(&path).expect("open")), first);
}

#[test]
fn a_restored_store_reuses_nothing() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("store.db");
    let saved = directory.path().join("saved.db");
    let first = use_once(&SqliteStore::open_or_create(&path).expect("open"));
    copy(&path, &saved);
    assert_eq!(use_once(&SqliteStore::open(&path).expect("open")), first);
    // Written back over the same files, with or without the seal.
    fs::write(&path, fs::read(&saved).expect("read")).expect("restore");
    assert_ne!(use_once(&SqliteStore::open(&path).expect("open")), first);

    let second = use_once(&SqliteStore::open(&path).expect("open"));
    copy(&path, &saved);
    let seal = |path: &Path| format!("{}-seal", path.display());
    fs::write(&path, fs::read(&saved).expect("read")).expect("restore");
    fs::write(seal(&path), fs::read(seal(&saved)).expect("read")).expect("restore");
    assert_ne!(use_once(&SqliteStore::open(&path).expect("open")), second);
}

/// Returns the record of the last claim that the machine has in its memory.
#[cfg(target_os = "linux")]
fn witness(store: &Path) -> std::path::PathBuf {
    use std::os::unix::fs::MetadataExt;
    let seal = fs::metadata(format!("{}-seal", store.display())).expect("a seal");
    let (user, device, inode) = (seal.uid(), seal.dev(), seal.ino());
    format!("/dev/shm/yfs-{user}/{device:x}-{inode:x}").into()
}

/// A volume that is set back has the files as they were, and the machine knows of the claims since.
#[test]
#[cfg(target_os = "linux")]
fn a_volume_that_was_set_back_while_the_machine_ran_reuses_nothing() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("store.db");
    let first = use_once(&SqliteStore::open_or_create(&path).expect("open"));
    let before = fs::read(witness(&path)).expect("the record");
    assert_eq!(use_once(&SqliteStore::open(&path).expect("open")), first);
    let later = fs::read(witness(&path)).expect("the record");
    assert_ne!(before, later, "each claim has a number");

    fs::write(witness(&path), before).expect("another claim");
    let second = use_once(&SqliteStore::open(&path).expect("open"));
    assert_ne!(second, first);
    assert_eq!(use_once(&SqliteStore::open(&path).expect("open")), second);
    fs::remove_file(witness(&path)).expect("the machine started again");
    assert_ne!(use_once(&SqliteStore::open(&path).expect("open")), second);
    fs::remove_file(witness(&path)).expect("removed");
}

#[test]
fn a_backup_is_consistent_while_others_write() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("store.db");
    let store = SqliteStore::open_or_create(&path).expect("open");
    let used = use_once(&store);
    let blob = store.put_bytes(&[5; 100_000], Millis(1)).expect("put").hash;
    let (mut n_pairs, stop) = (Vec::new(), AtomicBool::new(false));
    thread::scope(|scope| {
        scope.spawn(|| {
            let writer = SqliteStore::open(&path).expect("open");
            while !stop.load(Ordering::Relaxed) {
                // The two updates must always appear together.
                let updates = vec![(doc("left"), vec![1; 700]), (doc("right"), vec![2; 20])];
                writer.append(AppendBatch::new(updates, Millis(1))).expect("append");
            }
        });
        for number in 0..5 {
            let to = directory.path().join(format!("backup-{number}.db"));
            let mut steps = Vec::new();
            store.backup(&to, &mut |done, total| steps.push((done, total))).expect("backup");
            assert!(steps.last().is_some_and(|(done, total)| done == total), "{steps:?}");
            let again = store.backup(&to, &mut |_, _| ()).expect_err("it is there");
            assert!(matches!(again, StoreError::Exists { .. }));

            let copy = SqliteStore::open(&to).expect("open");
            let n_updates = |name| copy.load(&doc(name)).expect("load").updates.len();
            assert_eq!(n_updates("left"), n_updates("right"));
            n_pairs.push(n_updates("left"));
            assert_eq!(copy.check().expect("check").problems, []);
            assert_eq!(copy.get_blob(&blob).expect("get"), [5; 100_000]);
            assert_ne!(ids(&copy.claim_writer().expect("claim")), used);
            let head = copy.head().expect("head");
            let written =
                copy.append(AppendBatch::one(doc("a"), vec![3], Millis(1))).expect("append");
            assert!(written.first > head && head > Seq::ZERO);
        }
        stop.store(true, Ordering::Relaxed);
    });
    assert!(n_pairs.is_sorted(), "{n_pairs:?}");
    assert_eq!(
        fs::read_dir(directory.path())
            .expect("list")
            .filter(|entry| {
                entry
                    .as_ref()
                    .is_ok_and(|entry| entry.file_name().to_string_lossy().contains("partial"))
            })
            .count(),
        0
    );
}

fn journal_mode(path: &Path) -> String {
    let file = rusqlite::Connection::open(path).expect("open");
    file.query_row("PRAGMA journal_mode", [], |row| row.get(0)).expect("read")
}

#[test]
fn a_backup_is_used_like_any_store() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("store.db");
    let restored = directory.path().join("restored.db");
    let store = SqliteStore::open_or_create(&path).expect("open");
    store.append(AppendBatch::one(doc("a"), vec![1], Millis(1))).expect("append");
    store.backup(&restored, &mut |_, _| ()).expect("backup");
    assert_eq!(journal_mode(&restored), "wal");
    assert!(!directory.path().join("restored.db-wal").exists(), "it is one file");

    // A copy that another program made.
    let copied = directory.path().join("copied.db");
    let file = rusqlite::Connection::open(&path).expect("open");
    file.execute("VACUUM INTO ?1", [copied.to_str().expect("a name")]).expect("copy");
    assert_eq!(journal_mode(&copied), "delete");
    for path in [&restored, &copied] {
        let store = SqliteStore::open(path).expect("open");
        assert_eq!(journal_mode(path), "wal");
        // A reader inside a transaction blocks no writer.
        let reader = rusqlite::Connection::open(path).expect("open");
        reader.execute_batch("BEGIN; SELECT count(*) FROM log;").expect("read");
        store.append(AppendBatch::one(doc("a"), vec![2], Millis(1))).expect("append");
        store.flush().expect("flush");
    }
}
