//! What holds across the parts of a composite store.

use yfs_store::{
    AppendBatch, BlobStore as _, CompositeStore, DocFact, DocName, LocalState as _, MemoryStore,
    Seq, Store as _, StoreError, StoreExt as _, UpdateLog as _,
};
use yfs_types::time::Millis;

/// The parts of a store, to cut the power of each.
struct StoreParts {
    log: MemoryStore,
    blobs: MemoryStore,
    local: MemoryStore,
}

impl StoreParts {
    fn new() -> Self {
        let [log, blobs, local] = [(); 3].map(|()| MemoryStore::with_power_cuts());
        Self { log, blobs, local }
    }

    fn open(&self) -> CompositeStore<MemoryStore, MemoryStore, MemoryStore> {
        let [log, blobs, local] =
            [&self.log, &self.blobs, &self.local].map(MemoryStore::another_handle);
        CompositeStore::new(log, blobs, local)
    }
}

fn doc() -> DocName {
    DocName::parse("a").expect("a good name")
}

fn batch(data: &str) -> AppendBatch {
    AppendBatch::one(doc(), data.as_bytes().to_vec(), Millis(1))
}

fn with_fact(data: &str, upto: Seq, size: u64) -> AppendBatch {
    let fact = DocFact { upto, size, hash: None };
    AppendBatch { facts: vec![(doc(), fact)], ..batch(data) }
}

#[test]
fn a_power_cut_takes_no_blob_that_the_log_names() {
    let parts = StoreParts::new();
    let store = parts.open();
    let blob = store.put_bytes(b"content", Millis(1)).unwrap();
    let naming = AppendBatch { blobs: vec![blob.hash], ..batch("names the blob") };
    store.append(naming.synced()).unwrap();
    for part in [&parts.log, &parts.blobs, &parts.local] {
        part.cut_power();
    }
    let store = parts.open();
    assert_eq!(store.load(&doc()).unwrap().updates.len(), 1);
    assert_eq!(store.get_blob(&blob.hash).unwrap(), b"content");
}

#[test]
fn a_fact_does_not_hold_for_another_record_at_its_position() {
    let parts = StoreParts::new();
    let store = parts.open();
    let first = store.append(batch("kept").synced()).unwrap().last;
    let lost = store.append(with_fact("lost", first, 8)).unwrap().last;
    assert_eq!(store.doc_facts(&[doc()]).unwrap()[0].map(|fact| fact.size), Some(8));
    // The log is on another disk, and only its last record is lost.
    parts.log.cut_power();
    let store = parts.open();
    assert_eq!(store.doc_facts(&[doc()]).unwrap(), [None]);
    let another = store.append(batch("a longer one")).unwrap().last;
    assert_eq!(another, lost, "the position is given again");
    assert_eq!(store.doc_facts(&[doc()]).unwrap(), [None]);
}

#[test]
fn a_fact_that_another_handle_overtook_is_dropped() {
    let parts = StoreParts::new();
    let (here, there) = (parts.open(), parts.open());
    let first = here.append(with_fact("one", Seq::ZERO, 3)).unwrap().last;
    there.append(batch("two")).unwrap();
    let refused = here.append(with_fact("three", first, 8).expecting(doc(), first));
    assert!(matches!(refused, Err(StoreError::HeadMoved { .. })), "{refused:?}");
    here.append(with_fact("three", first, 8)).unwrap();
    assert_eq!(there.doc_facts(&[doc()]).unwrap(), [None]);
}

#[test]
fn released_client_ids_are_not_reused() {
    let parts = StoreParts::new();
    let store = parts.open();
    let claim = store.claim_writer().unwrap();
    let rows = claim.rows;
    store.release_writer(claim).unwrap();
    assert_ne!(store.claim_writer().unwrap().rows, rows);
}

#[test]
fn a_closed_store_has_closed_its_parts() {
    let store = StoreParts::new().open();
    store.close().unwrap();
    assert!(matches!(store.head(), Err(StoreError::Closed)));
    assert!(matches!(store.blobs(), Err(StoreError::Closed)));
    assert!(matches!(store.get_meta("key"), Err(StoreError::Closed)));
}
