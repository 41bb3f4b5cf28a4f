//! The conformance suite, run against every store of this crate.

use std::sync::Arc;

use yfs_conformance::FaultStore;
use yfs_conformance::store as conformance;
use yfs_store::{CompositeStore, MemoryStore, SqliteStore, Store};

#[test]
fn memory() {
    conformance::check_all(&|| {
        let store = MemoryStore::new();
        Box::new(move || Arc::new(store.another_handle()))
    });
}

#[test]
fn memory_behind_faults() {
    conformance::check_all(&|| {
        let store = MemoryStore::with_power_cuts();
        Box::new(move || Arc::new(FaultStore::new(Arc::new(store.another_handle()))))
    });
}

#[test]
fn sqlite() {
    conformance::check_all(&|| {
        let directory = tempfile::tempdir().expect("a directory");
        Box::new(move || -> Arc<dyn Store> {
            let path = directory.path().join("store.db");
            Arc::new(SqliteStore::open_or_create(&path).expect("open"))
        })
    });
}

#[test]
fn parts_in_memory() {
    conformance::check_all(&|| {
        let [log, blobs, local] = [(); 3].map(|()| MemoryStore::new());
        Box::new(move || {
            let [log, blobs, local] = [&log, &blobs, &local].map(MemoryStore::another_handle);
            Arc::new(CompositeStore::new(log, blobs, local))
        })
    });
}

#[test]
fn parts_in_files() {
    conformance::check_all(&|| {
        let directory = tempfile::tempdir().expect("a directory");
        Box::new(move || {
            let open = |name: &str| {
                SqliteStore::open_or_create(&directory.path().join(name)).expect("open")
            };
            Arc::new(CompositeStore::new(open("log.db"), open("blobs.db"), open("local.db")))
        })
    });
}
