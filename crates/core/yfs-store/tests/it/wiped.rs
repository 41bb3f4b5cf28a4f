//! After a wipe, no file of a store contains removed content.

use std::{
    fs,
    path::Path,
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
    thread,
};

use rand::{Rng, RngExt, SeedableRng, rngs::ChaCha8Rng};
use yfs_store::{
    AppendBatch, BlobStore, DocName, MergedSnapshot, SqliteStore, Store, StoreExt, UpdateLog,
};
use yfs_types::time::Millis;

const SECRET: &[u8] = b"the secret of the house";

/// Returns content that does not compress, with the secret in it.
fn noise(seed: u64, len: usize) -> Vec<u8> {
    let mut bytes = vec![0; len];
    ChaCha8Rng::seed_from_u64(seed).fill_bytes(&mut bytes);
    bytes.splice(len / 2..len / 2, SECRET.iter().copied());
    bytes
}

fn is_in_files(directory: &Path) -> bool {
    fs::read_dir(directory).expect("it is there").any(|entry| {
        let path = entry.expect("it can be listed").path();
        let bytes = fs::read(path).expect("it can be read");
        bytes.windows(SECRET.len()).any(|window| window == SECRET)
    })
}

#[test]
fn nothing_of_what_was_removed_stays_in_a_file() {
    let directory = tempfile::tempdir().unwrap();
    let store = SqliteStore::create_new(&directory.path().join("store.db")).unwrap();
    let other = SqliteStore::open(&directory.path().join("store.db")).unwrap();
    let (doc, kept) = (DocName::parse("doc").unwrap(), DocName::parse("kept").unwrap());
    for (seed, len) in [(1, 40), (2, 3000), (3, 70_000)] {
        store.append(AppendBatch::one(doc.clone(), noise(seed, len), Millis(1))).unwrap();
        store.append(AppendBatch::one(kept.clone(), vec![seed as u8; len], Millis(1))).unwrap();
    }
    let blob = store.put_bytes(&noise(4, 200_000), Millis(1)).unwrap();
    let merge = |state: &[u8]| MergedSnapshot {
        state: state.to_vec(),
        absorbed: vec![true; 3],
        rewritten: Vec::new(),
        changes: Vec::new(),
    };
    store.compact(&doc, &|_, _| Ok(merge(&noise(5, 5000)))).unwrap();
    store.append(AppendBatch::one(doc.clone(), vec![7], Millis(2))).unwrap();
    let clean = |_: Option<&[u8]>, records: &[yfs_store::LogRecord]| {
        let absorbed = vec![true; records.len()];
        Ok(MergedSnapshot {
            state: vec![8; 10],
            absorbed,
            rewritten: Vec::new(),
            changes: Vec::new(),
        })
    };
    store.compact(&doc, &clean).unwrap();
    let mark = store.blob_mark().unwrap();
    store.remove_blobs(mark, Millis(i64::MAX), &|_| false).unwrap();
    assert!(is_in_files(directory.path()), "else this test says nothing");
    let head = store.head().unwrap();
    store.wipe().unwrap();
    assert!(!is_in_files(directory.path()));
    assert!(!store.has_blob(&blob.hash).unwrap());
    assert_eq!(other.load(&doc).unwrap().snapshot, Some(vec![8; 10]));
    assert_eq!(other.load(&kept).unwrap().updates.len(), 3);
    assert_eq!(other.head().unwrap(), head);
    other.append(AppendBatch::one(kept.clone(), vec![1], Millis(3))).unwrap();
    assert_eq!(store.load(&kept).unwrap().updates.len(), 4);
    assert!(store.check().unwrap().problems.is_empty());
}

#[test]
fn records_that_stay_can_be_rewritten() {
    let directory = tempfile::tempdir().unwrap();
    let sqlite = SqliteStore::create_new(&directory.path().join("store.db")).unwrap();
    let memory = yfs_store::MemoryStore::new();
    let stores: [&dyn Store; 2] = [&sqlite, &memory];
    for store in stores {
        let doc = DocName::parse("doc").unwrap();
        for len in [10, 5000, 20] {
            store
                .append(AppendBatch::one(doc.clone(), noise(len, len as usize), Millis(1)))
                .unwrap();
        }
        let merge = |_: Option<&[u8]>, _: &[yfs_store::LogRecord]| {
            let rewritten = vec![(0, vec![9; 700]), (1, vec![8; 3])];
            Ok(MergedSnapshot {
                state: vec![1],
                absorbed: vec![false, false, true],
                rewritten,
                changes: Vec::new(),
            })
        };
        store.compact(&doc, &merge).unwrap();
        let loaded = store.load(&doc).unwrap();
        let data: Vec<_> = loaded.updates.into_iter().map(|record| record.data).collect();
        assert_eq!(data, [vec![9; 700], vec![8; 3]]);
        assert!(loaded.damaged.is_empty());
        store.wipe().unwrap();
        assert!(store.check().unwrap().problems.is_empty());
    }
    assert!(!is_in_files(directory.path()));
}

/// SQLite moves rows between pages when rows around them are deleted.
#[test]
fn rows_that_were_moved_are_wiped() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store.db");
    let store = SqliteStore::create_new(&path).unwrap();
    let doc = |at: usize| DocName::parse(&format!("doc{at}")).unwrap();
    let clean = |_: Option<&[u8]>, records: &[yfs_store::LogRecord]| {
        let absorbed = vec![true; records.len()];
        Ok(MergedSnapshot {
            state: vec![8; 10],
            absorbed,
            rewritten: Vec::new(),
            changes: Vec::new(),
        })
    };
    let mut random = ChaCha8Rng::seed_from_u64(7);
    // The secrets are in every eighth document, and rows around them are added and deleted.
    for round in 0..400 {
        let updates = (0..40).map(|at| (doc(at), noise(round + 1, random.random_range(1..=1500))));
        let updates = updates.map(|(doc, data)| {
            let is_secret =
                doc.as_str().trim_start_matches("doc").parse::<usize>().unwrap() % 8 == 0;
            let len = data.len();
            (doc, if is_secret { data } else { vec![b'x'; len] })
        });
        store.append(AppendBatch::new(updates.collect(), Millis(1))).unwrap();
        let other = random.random_range(0..40);
        if other % 8 != 0 {
            store.compact(&doc(other), &clean).unwrap();
        }
    }
    for at in (0..40).filter(|at| at % 8 == 0) {
        store.compact(&doc(at), &clean).unwrap();
    }
    store.wipe().unwrap();
    assert!(!is_in_files(directory.path()));
    assert!(store.check().unwrap().problems.is_empty());
}

/// Leaves deleted content in every page of a store, as programs do that do not clear deleted rows.
fn careless(path: &Path) {
    let store = SqliteStore::create_new(path).expect("create");
    let updates = (0..20_000).map(|at| {
        let is_kept = at % 2 == 0;
        let name = if is_kept { "kept" } else { "gone" };
        (DocName::parse(name).expect("a name"), if is_kept { vec![7; 200] } else { noise(at, 200) })
    });
    store.append(AppendBatch::new(updates.collect(), Millis(1))).expect("append");
    store.put_bytes(&noise(1, 3_000_000), Millis(1)).expect("put");
    store.close().expect("close");
    let file = rusqlite::Connection::open(path).expect("open");
    file.execute_batch("DELETE FROM log WHERE seq % 2 = 0; DELETE FROM blob; DELETE FROM chunk")
        .expect("delete");
}

/// The appends of another process that a wipe has to let in between.
const N_BETWEEN: usize = 20;

/// Wipes a store while another handle appends to it, and returns how many appends got in.
fn appends_while_it_wipes() -> usize {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("store.db");
    careless(&path);
    assert!(is_in_files(directory.path()), "else this test says nothing");
    let store = SqliteStore::open(&path).expect("open");
    let (is_over, n_appended) = (AtomicBool::new(false), AtomicUsize::new(0));
    let n_between = thread::scope(|scope| {
        scope.spawn(|| {
            let other = SqliteStore::open(&path).expect("open");
            while !is_over.load(Ordering::Relaxed) {
                let doc = DocName::parse("other").expect("a name");
                other.append(AppendBatch::one(doc, vec![1], Millis(1))).expect("append");
                n_appended.fetch_add(1, Ordering::Relaxed);
            }
        });
        while n_appended.load(Ordering::Relaxed) == 0 {
            thread::yield_now();
        }
        let before = n_appended.load(Ordering::Relaxed);
        let wiped = store.wipe();
        let after = n_appended.load(Ordering::Relaxed);
        is_over.store(true, Ordering::Relaxed);
        wiped.expect("wipe");
        after - before
    });
    assert!(!is_in_files(directory.path()));
    let problems = store.check().expect("check").problems;
    assert!(problems.is_empty(), "{problems:?}");
    n_between
}

/// A busy machine may let the other handle run only now and then, so another wipe may show it.
#[test]
fn others_write_while_it_wipes() {
    let mut found = Vec::new();
    while found.last().is_none_or(|n_between| *n_between <= N_BETWEEN) {
        assert!(found.len() < 20, "only {found:?} appends got in");
        found.push(appends_while_it_wipes());
    }
}

/// A store of the first format has deleted content that page clearing does not find; it is
/// rewritten once.
#[test]
fn an_old_store_is_wiped_as_a_whole() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store.db");
    careless(&path);
    let file = rusqlite::Connection::open(&path).unwrap();
    file.execute_batch(
        "DROP TABLE upload; DROP TABLE quarantine; DROP TABLE past_head;
         CREATE TABLE quarantine (
             n INTEGER PRIMARY KEY, doc TEXT NOT NULL, at INTEGER NOT NULL, reason TEXT NOT NULL,
             data BLOB NOT NULL) STRICT;
         PRAGMA user_version = 1;",
    )
    .unwrap();
    drop(file);
    let n_bytes = || fs::metadata(&path).unwrap().len();
    let before = n_bytes();
    let store = SqliteStore::open(&path).unwrap();
    store.wipe().unwrap();
    assert!(!is_in_files(directory.path()));
    assert!(n_bytes() < before / 2, "free pages go where the file is rewritten");
}
