//! Injected faults, power cuts in memory, and a disk that is really full.

use std::{
    fs, io,
    process::{Command, Stdio},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use rand::{Rng, SeedableRng, rngs::ChaCha8Rng};
use yfs_conformance::{FaultStore, StoreFault};
use yfs_store::{
    AppendBatch, BlobStore, DocName, LocalState, MemoryStore, MergedSnapshot, Seq, SqliteStore,
    Store, StoreError, StoreExt, UpdateLog,
};
use yfs_types::time::Millis;

fn doc(name: &str) -> DocName {
    DocName::parse(name).expect("a name")
}

fn batch(name: &str) -> AppendBatch {
    AppendBatch::one(doc(name), name.into(), Millis(1))
}

fn n_updates(store: &dyn Store, name: &str) -> usize {
    store.load(&doc(name)).expect("load").updates.len()
}

const FULL: StoreError = StoreError::Full { action: "test" };

/// Makes the call that a fault affects.
fn provoke(store: &dyn Store, fault: StoreFault) -> Result<(), StoreError> {
    match fault {
        StoreFault::Append | StoreFault::AppendApplied => store.append(batch("a")).map(drop),
        StoreFault::Load => store.load(&doc("a")).map(drop),
        StoreFault::Tail => store.tail(Seq::ZERO, &|_, _| true).map(drop),
        StoreFault::Flush => store.flush(),
        StoreFault::Compact => {
            let merge = |_: Option<&[u8]>, records: &[yfs_store::LogRecord]| {
                Ok(MergedSnapshot {
                    state: vec![1],
                    absorbed: vec![true; records.len()],
                    rewritten: Vec::new(),
                    changes: Vec::new(),
                })
            };
            store.compact(&doc("a"), &merge).map(drop)
        }
        StoreFault::Blob => store.put_bytes(b"content", Millis(1)).map(drop),
        other => panic!("{other:?} is new"),
    }
}

#[test]
fn each_fault_fails_one_call_of_its_kind() {
    let faults = [
        StoreFault::Append,
        StoreFault::AppendApplied,
        StoreFault::Load,
        StoreFault::Tail,
        StoreFault::Flush,
        StoreFault::Compact,
        StoreFault::Blob,
    ];
    for fault in faults {
        let store = FaultStore::new(Arc::new(MemoryStore::new()));
        store.append(batch("a")).expect("append");
        store.fail(fault, 2, FULL);
        let overlaps = |other| {
            let appends = [StoreFault::Append, StoreFault::AppendApplied];
            appends.contains(&fault) && appends.contains(&other)
        };
        for other in faults.into_iter().filter(|other| *other != fault && !overlaps(*other)) {
            provoke(&store, other).expect("it is not meant");
        }
        for _ in 0..2 {
            provoke(&store, fault).expect("not yet");
        }
        let error = provoke(&store, fault).expect_err("now");
        assert!(matches!(error, StoreError::Full { action: "test" }), "{fault:?}: {error:?}");
        provoke(&store, fault).expect("not again");
    }
}

#[test]
fn only_one_kind_of_failed_append_is_applied() {
    let store = FaultStore::new(Arc::new(MemoryStore::new()));
    store.fail(StoreFault::Append, 0, FULL);
    store.append(batch("a")).expect_err("it fails");
    assert_eq!(n_updates(&store, "a"), 0);
    store.fail(StoreFault::AppendApplied, 0, FULL);
    store.append(batch("a")).expect_err("it fails");
    assert_eq!(n_updates(&store, "a"), 1);
    store.fail(StoreFault::Flush, 0, FULL);
    store.append(batch("a")).expect("it is not synced");
    store.append(batch("a").synced()).expect_err("it fails");
    assert_eq!(n_updates(&store, "a"), 2);
}

#[test]
fn a_delay_is_felt() {
    let store = FaultStore::new(Arc::new(MemoryStore::new()));
    store.delay(Duration::from_millis(20));
    let start = Instant::now();
    store.append(batch("a")).expect("append");
    assert!(start.elapsed() >= Duration::from_millis(20));
}

#[test]
fn a_power_cut_takes_what_was_not_flushed() {
    let store = MemoryStore::with_power_cuts();
    let other = store.another_handle();
    store.append(batch("a")).expect("append");
    other.append(batch("b").synced()).expect("append");
    store.append(batch("c")).expect("append");
    let blob = store.put_bytes(b"content", Millis(1)).expect("put").hash;
    store.cut_power();
    let n = |name| n_updates(&other, name);
    assert_eq!((n("a"), n("b"), n("c")), (1, 1, 0), "a sync covers what came before it");
    assert!(!store.has_blob(&blob).expect("look"));
    store.append(batch("c")).expect("append");
    store.flush().expect("flush");
    store.cut_power();
    assert_eq!(n_updates(&store, "c"), 1);
    let kept = MemoryStore::new();
    kept.append(batch("a")).expect("append");
    kept.cut_power();
    assert_eq!(n_updates(&kept, "a"), 1, "it was not made for it");
}

/// Positions are never given twice, even after all records and markers were deleted.
#[test]
fn positions_never_repeat() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("store.db");
    let stores: [(&dyn Store, bool); 2] =
        [(&MemoryStore::new(), false), (&SqliteStore::open_or_create(&path).expect("open"), true)];
    for (store, is_file) in stores {
        let names: Vec<String> = (0..20).map(|number| format!("d{number}")).collect();
        for name in &names {
            store.append(batch(name)).expect("append");
        }
        for name in names.iter().rev() {
            let head = store.doc_head(&doc(name)).expect("head").seq;
            store.forget(&doc(name), head).expect("forget");
        }
        let head = store.head().expect("head");
        if is_file {
            // The markers are deleted as well.
            let connection = rusqlite::Connection::open(&path).expect("open");
            connection.execute("DELETE FROM log", []).expect("delete");
        }
        let next = store.append(batch("d0")).expect("append");
        assert_eq!(next.first, Seq(head.0 + 1));
        if is_file {
            let reopened = SqliteStore::open(&path).expect("open");
            let next = reopened.append(batch("d1")).expect("append");
            assert_eq!(next.first, Seq(head.0 + 2));
        }
    }
}

/// One test at a time has a disk. A process that another test starts has this test's files open
/// until it runs its program, and a deleted file takes up space until then: a disk that was full
/// would have room again.
static DISK_TURN: Mutex<()> = Mutex::new(());

/// A small filesystem, unmounted on drop.
struct SmallDisk(
    tempfile::TempDir,
    #[expect(dead_code, reason = "it is held")] MutexGuard<'static, ()>,
);

impl SmallDisk {
    /// Mounts it, or returns `None` if this process may not mount.
    fn mount(n_megabytes: u32) -> Option<Self> {
        let turn = DISK_TURN.lock().unwrap_or_else(PoisonError::into_inner);
        let directory = tempfile::tempdir().expect("a directory");
        let mut mount = Command::new("mount");
        let size = format!("size={n_megabytes}m");
        mount.args(["-t", "tmpfs", "-o", &size, "tmpfs"]).arg(directory.path());
        let mounted = mount.stderr(Stdio::null()).status().is_ok_and(|status| status.success());
        mounted.then_some(Self(directory, turn))
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        Command::new("umount").arg("-l").arg(self.0.path()).status().ok();
    }
}

#[test]
fn a_disk_that_is_really_full_changes_nothing() {
    let Some(disk) = SmallDisk::mount(4) else { return };
    let path = disk.0.path().join("store.db");
    let ballast = disk.0.path().join("ballast");
    fs::write(&ballast, vec![0; 2 << 20]).expect("write");
    let store = SqliteStore::open_or_create(&path).expect("open");
    let mut n_appended = 0;
    let error = loop {
        assert!(n_appended < 4000, "it never gets full");
        match store.append(AppendBatch::one(doc("a"), vec![7; 5000], Millis(1))) {
            Ok(_) => n_appended += 1,
            Err(error) => break error,
        }
    };
    assert!(matches!(error, StoreError::Full { .. }), "{error:?}");
    let mut noise = vec![0; 3 << 20];
    ChaCha8Rng::seed_from_u64(7).fill_bytes(&mut noise);
    store.put_bytes(&noise, Millis(1)).expect_err("it is full");
    assert_eq!(n_updates(&store, "a"), n_appended, "reading goes on");
    assert_eq!(store.check().expect("check").problems, []);
    // The same handle continues once there is room.
    fs::remove_file(&ballast).expect("remove");
    store.append(batch("a")).expect("there is room");
    drop(store);
    let store = SqliteStore::open(&path).expect("open");
    assert_eq!(n_updates(&store, "a"), n_appended + 1);
    assert_eq!(store.check().expect("check").problems, []);
}

fn large(name: &str) -> AppendBatch {
    AppendBatch::one(doc(name), vec![7; 100_000], Millis(1))
}

/// Checks that removals work when other writes fail, and that they make room.
fn small_writes_and_removals_work(store: &SqliteStore, n_large: usize) {
    let error = store.append(large("more")).expect_err("it is full");
    assert!(matches!(error, StoreError::Full { .. }), "{error:?}");
    // The writes that move files to the trash, and the ones that record it.
    for round in 0..20 {
        store.append(batch("table")).unwrap_or_else(|error| panic!("round {round}: {error:?}"));
        store.note_first_seen(&[&format!("purged:{round}")], Millis(1)).expect("note");
    }
    // The writes of a purge.
    for number in 0..n_large {
        let name = doc(&format!("d{number}"));
        let head = store.doc_head(&name).expect("head").seq;
        assert_eq!(store.forget(&name, head).expect("forget"), 100_000);
    }
    store.append(large("more")).expect("there is room again");
    assert_eq!(n_updates(store, "table"), 20);
    assert_eq!(store.check().expect("check").problems, []);
}

#[test]
fn removing_works_where_a_quota_is_used_up() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("store.db");
    let options = yfs_store::OpenOptions {
        create: true,
        max_bytes: Some(4 << 20),
        ..yfs_store::OpenOptions::default()
    };
    let store = SqliteStore::open_with(&path, options).expect("open");
    let n_large = (0..).take_while(|at| store.append(large(&format!("d{at}"))).is_ok()).count();
    small_writes_and_removals_work(&store, n_large);
}

#[test]
fn removing_works_on_a_disk_that_is_really_full() {
    let Some(disk) = SmallDisk::mount(16) else { return };
    let path = disk.0.path().join("store.db");
    let store = SqliteStore::open_or_create(&path).expect("open");
    for number in 0..40 {
        store.append(large(&format!("d{number}"))).expect("append");
    }
    drop(store);
    let store = SqliteStore::open(&path).expect("open");
    let mut ballast = fs::File::create(disk.0.path().join("ballast")).expect("create");
    while io::Write::write_all(&mut ballast, &[0; 4096]).is_ok() {}
    small_writes_and_removals_work(&store, 40);
}

#[derive(Debug)]
struct Broken;

impl io::Read for Broken {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        Err(io::ErrorKind::ConnectionReset.into())
    }
}

#[test]
fn a_blob_that_cannot_be_read_is_not_put() {
    let directory = tempfile::tempdir().expect("a directory");
    let store = SqliteStore::open_or_create(&directory.path().join("store.db")).expect("open");
    let error = store.put_blob(&mut Broken, Millis(1)).expect_err("it cannot be read");
    assert!(matches!(error, StoreError::Stream { .. }), "{error:?}");
    assert_eq!(store.blobs().expect("list"), []);
}
