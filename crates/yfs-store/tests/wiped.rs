//! What was removed from a store is in none of its files once the store was wiped.

use std::{fs, path::Path};

use yfs_engine::time::Millis;
use yfs_store::{Batch, DocName, Merged, SqliteStore, Store, StoreExt};

const SECRET: &[u8] = b"the secret of the house";

/// Content that no compression makes smaller, with the secret in it.
fn noise(seed: u64, len: usize) -> Vec<u8> {
    let mut state = seed | 1;
    let random = std::iter::repeat_with(|| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as u8
    });
    let mut bytes: Vec<u8> = random.take(len).collect();
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
        store.append(Batch::one(doc.clone(), noise(seed, len), Millis(1))).unwrap();
        store.append(Batch::one(kept.clone(), vec![seed as u8; len], Millis(1))).unwrap();
    }
    let blob = store.put_bytes(&noise(4, 200_000), Millis(1)).unwrap();
    let merge = |state: &[u8]| Merged {
        state: state.to_vec(),
        absorbed: vec![true; 3],
        rewritten: Vec::new(),
    };
    store.compact(&doc, &|_, _| Ok(merge(&noise(5, 5000)))).unwrap();
    store.append(Batch::one(doc.clone(), vec![7], Millis(2))).unwrap();
    let clean = |_: Option<&[u8]>, records: &[yfs_store::Record]| {
        let absorbed = vec![true; records.len()];
        Ok(Merged { state: vec![8; 10], absorbed, rewritten: Vec::new() })
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
    other.append(Batch::one(kept.clone(), vec![1], Millis(3))).unwrap();
    assert_eq!(store.load(&kept).unwrap().updates.len(), 4);
    assert!(store.check().unwrap().problems.is_empty());
}

#[test]
fn records_that_stay_say_what_they_are_told() {
    let directory = tempfile::tempdir().unwrap();
    let sqlite = SqliteStore::create_new(&directory.path().join("store.db")).unwrap();
    let memory = yfs_store::MemoryStore::new();
    let stores: [&dyn Store; 2] = [&sqlite, &memory];
    for store in stores {
        let doc = DocName::parse("doc").unwrap();
        for len in [10, 5000, 20] {
            store.append(Batch::one(doc.clone(), noise(len, len as usize), Millis(1))).unwrap();
        }
        let merge = |_: Option<&[u8]>, _: &[yfs_store::Record]| {
            let rewritten = vec![(0, vec![9; 700]), (1, vec![8; 3])];
            Ok(Merged { state: vec![1], absorbed: vec![false, false, true], rewritten })
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
