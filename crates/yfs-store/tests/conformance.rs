//! The conformance suite, run against every store of this crate.

use std::sync::Arc;

use yfs_store::{FaultStore, MemoryStore, SqliteStore, Store, conformance};

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
