//! The contract of [`Store`] as a test suite, for every implementation.
//!
//! ```
//! use std::sync::Arc;
//! use yfs_conformance::store;
//! use yfs_store::MemoryStore;
//!
//! store::check_all(&|| {
//!     let store = MemoryStore::new();
//!     Box::new(move || Arc::new(store.another_handle()))
//! });
//! ```

mod blobs;
mod log;
mod tables;

use std::sync::Arc;

use yfs_types::time::Millis;

use yfs_store::{
    AppendBatch, DocName, LogRecord, MergeError, MergedSnapshot, Seq, Store, StoredDocument,
    TailPage,
};

/// Opens the same store each time with a new handle, as a new process would.
pub type Open = Box<dyn Fn() -> Arc<dyn Store>>;

/// One case of the suite.
pub type Case = (&'static str, fn(&Open));

/// Runs every case on a store of its own, and panics at the first failure.
pub fn check_all(fresh: &dyn Fn() -> Open) {
    for (_, case) in cases() {
        case(&fresh());
    }
}

/// Returns all cases, to run them one by one.
pub fn cases() -> Vec<Case> {
    [log::CASES, blobs::CASES, tables::CASES].concat()
}

fn doc(name: &str) -> DocName {
    DocName::parse(name).expect("names in tests are good")
}

fn batch(name: &str, data: &str) -> AppendBatch {
    AppendBatch::one(doc(name), data.as_bytes().to_vec(), Millis(1000))
}

fn tail_of(store: &dyn Store, after: Seq) -> TailPage {
    store.tail(after, &|_, _| true).expect("tail")
}

/// Returns the content of a document whose updates are pieces of text and whose merge joins them.
fn text(loaded: &StoredDocument) -> String {
    let snapshot = loaded.snapshot.as_deref().unwrap_or_default();
    let parts = loaded.updates.iter().map(|record| record.data.as_slice());
    let bytes: Vec<&[u8]> = [snapshot].into_iter().chain(parts).collect();
    String::from_utf8(bytes.concat()).expect("it is text")
}

/// Merges all records by joining them.
fn join(snapshot: Option<&[u8]>, records: &[LogRecord]) -> Result<MergedSnapshot, MergeError> {
    join_unless(snapshot, records, |_| false)
}

/// Merges all records except those that `parked` selects.
fn join_unless(
    snapshot: Option<&[u8]>,
    records: &[LogRecord],
    parked: impl Fn(&[u8]) -> bool,
) -> Result<MergedSnapshot, MergeError> {
    let absorbed: Vec<bool> = records.iter().map(|record| !parked(&record.data)).collect();
    let mut state = snapshot.unwrap_or_default().to_vec();
    for (record, _) in records.iter().zip(&absorbed).filter(|(_, absorbed)| **absorbed) {
        state.extend(&record.data);
    }
    let change = |(record, absorbed): (&LogRecord, &bool)| match absorbed {
        true => record.data.clone(),
        false => Vec::new(),
    };
    let changes = records.iter().zip(&absorbed).map(change).collect();
    Ok(MergedSnapshot { state, absorbed, rewritten: Vec::new(), changes })
}
