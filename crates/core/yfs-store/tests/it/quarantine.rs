//! The quarantine in a file: its size, and the upgrade from the first format.

use rusqlite::Connection;
use yfs_store::{DocName, LocalState, SqliteStore, Store};
use yfs_types::time::Millis;

fn doc(name: &str) -> DocName {
    DocName::parse(name).expect("a name")
}

/// A client whose updates are rejected sends the same update, or a slightly longer one, again and
/// again.
#[test]
fn a_stuck_client_does_not_fill_the_disk() {
    let directory = tempfile::tempdir().expect("a directory");
    let store = SqliteStore::create_new(&directory.path().join("store.db")).expect("create");
    let mut update = vec![7; 1 << 20];
    for at in 0..100 {
        store.quarantine(&doc("a"), &update, "too deep", Millis(at)).expect("quarantine");
    }
    assert!(store.stats().expect("stats").file_bytes < 8 << 20);
    for at in 100..150 {
        update.push(8);
        store.quarantine(&doc("a"), &update, "too deep", Millis(at)).expect("quarantine");
    }
    store.flush().expect("flush");
    let file = directory.path().join("store.db");
    let n_bytes = std::fs::metadata(file).expect("it is there").len();
    assert!(n_bytes < 24 << 20, "{n_bytes} bytes of one document");
}

/// Converts a store to the first format, with rejected updates in it.
fn as_format_1(path: &std::path::Path, refused: &[(&str, &str)]) {
    let file = Connection::open(path).expect("open");
    file.execute_batch(
        "DROP TABLE upload; DROP TABLE past_head;
         DROP TABLE quarantine;
         CREATE TABLE quarantine (
             n INTEGER PRIMARY KEY, doc TEXT NOT NULL, at INTEGER NOT NULL, reason TEXT NOT NULL,
             data BLOB NOT NULL) STRICT;
         PRAGMA user_version = 1;",
    )
    .expect("downgrade");
    for (at, (doc, update)) in refused.iter().enumerate() {
        let insert = "INSERT INTO quarantine (doc, at, reason, data) VALUES (?1, ?2, 'no', ?3)";
        file.execute(insert, (doc, at as i64, update.as_bytes())).expect("insert");
    }
}

#[test]
fn the_first_format_is_read_and_upgraded() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("store.db");
    drop(SqliteStore::create_new(&path).expect("create"));
    as_format_1(&path, &[("a", "bad"), ("b", "bad"), ("a", "bad"), ("a", "worse")]);

    let reader = SqliteStore::open_read_only(&path).expect("it can be read");
    assert_eq!(reader.quarantined().expect("list"), [], "until it is upgraded");
    assert_eq!(reader.stats().expect("stats").n_quarantined, 0);
    drop(reader);

    for _ in 0..2 {
        let store = SqliteStore::open(&path).expect("open");
        let listed = store.quarantined().expect("list");
        let listed: Vec<_> = listed
            .iter()
            .map(|entry| (entry.doc.as_str(), entry.n_times, entry.len, entry.last_at.0))
            .collect();
        assert_eq!(listed, [("a", 2, 3, 2), ("b", 1, 3, 1), ("a", 1, 5, 3)]);
        assert_eq!(store.check().expect("check").problems, []);
    }
}
