//! Encrypted stores: nothing plain in their files, damage where a sealed value was changed, and one
//! clear error for a key that does not fit.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use rusqlite::Connection;
use tempfile::TempDir;
use yfs_conformance::store as conformance;
use yfs_store::{
    AppendBatch, BlobStore, DocFact, DocName, KeyError, KeyKind, LocalState, LogRecord, MergeError,
    MergedSnapshot, OpenOptions, Seq, SqliteStore, Store, StoreError, StoreExt, UnlockKey,
    UpdateLog,
};
use yfs_types::{hash::ContentHash, time::Millis};

/// A word that every value of [`fill`] contains.
const MARKER: &str = "marzipan";

fn doc(name: &str) -> DocName {
    DocName::parse(name).expect("a name")
}

fn key(byte: u8) -> UnlockKey {
    UnlockKey::from_key_file(vec![byte; 32]).expect("a key")
}

fn create(path: &Path) -> SqliteStore {
    let options = OpenOptions { create: true, ..OpenOptions::default() };
    SqliteStore::open_with_key(path, options, Some(&key(1))).expect("open")
}

fn open(path: &Path, key: &UnlockKey) -> Result<SqliteStore, StoreError> {
    SqliteStore::open_with_key(path, OpenOptions::default(), Some(key))
}

fn join(snapshot: Option<&[u8]>, records: &[LogRecord]) -> Result<MergedSnapshot, MergeError> {
    let mut state = snapshot.unwrap_or_default().to_vec();
    records.iter().for_each(|record| state.extend(&record.data));
    let changes = records.iter().map(|record| record.data.clone()).collect();
    let absorbed = vec![true; records.len()];
    Ok(MergedSnapshot { state, absorbed, rewritten: Vec::new(), changes })
}

fn text(what: &str) -> Vec<u8> {
    format!("{MARKER} {what}").into_bytes()
}

/// Writes into every table.
fn fill(store: &SqliteStore) -> ContentHash {
    let at = Millis(1);
    for number in 0..4 {
        let large = [text(&format!("large {number}")), vec![b'.'; 3000]].concat();
        let updates = vec![(doc("a"), text(&format!("small {number}"))), (doc("a"), large)];
        store.append(AppendBatch::new(updates, at)).expect("append");
        store.append(AppendBatch::one(doc("b"), text(&number.to_string()), at)).expect("append");
    }
    store.compact(&doc("a"), &join).expect("compact");
    store.append(AppendBatch::one(doc("a"), text("after"), at)).expect("append");
    let blob = text("blob ").repeat(20_000);
    let hash = store.put_bytes(&blob, at).expect("put").hash;
    store.quarantine(&doc("a"), &text("refused"), &format!("{MARKER} reason"), at).expect("ok");
    store.set_meta(&format!("{MARKER}.setting"), &text("setting")).expect("set");
    store.note_first_seen(&[&format!("{MARKER} key")], at).expect("note");
    store.init_secret("server.key", &text("secret")).expect("init");
    let upto = store.doc_head(&doc("b")).expect("head").seq;
    let fact = DocFact { upto, size: 3, hash: Some(hash) };
    store.set_doc_facts(&[(doc("b"), fact)]).expect("set");
    store.checkpoint(1).expect("checkpoint");
    hash
}

fn files_in(directory: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(directory).expect("list") {
        let path = entry.expect("list").path();
        if path.is_dir() { files.extend(files_in(&path)) } else { files.push(path) }
    }
    files
}

fn files_with(directory: &Path, bytes: &[u8]) -> Vec<PathBuf> {
    let has = |path: &PathBuf| {
        let content = fs::read(path).expect("read");
        content.windows(bytes.len()).any(|window| window == bytes)
    };
    files_in(directory).into_iter().filter(has).collect()
}

fn sample() -> (TempDir, PathBuf, ContentHash) {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("store.db");
    let store = create(&path);
    let hash = fill(&store);
    store.close().expect("close");
    (directory, path, hash)
}

fn key_error(opened: Result<SqliteStore, StoreError>) -> KeyError {
    match opened.expect_err("the key does not fit") {
        StoreError::Key { source, .. } => source,
        other => panic!("another error: {other}"),
    }
}

#[test]
fn an_encrypted_store_keeps_the_contract() {
    conformance::check_all(&|| {
        let directory = tempfile::tempdir().expect("a directory");
        Box::new(move || -> Arc<dyn Store> { Arc::new(create(&directory.path().join("store.db"))) })
    });
}

#[test]
fn no_file_has_a_plain_value_or_the_hash_of_one() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("store.db");
    let store = create(&path);
    let hash = fill(&store);
    // While the write-ahead log is there, and afterwards.
    assert!(files_in(directory.path()).len() > 3);
    store.backup(&directory.path().join("backup.db"), &mut |_, _| ()).expect("back up");
    for look in [MARKER.as_bytes(), hash.as_bytes(), hash.to_string().as_bytes()] {
        assert_eq!(files_with(directory.path(), look), [] as [PathBuf; 0]);
    }
    store.wipe().expect("wipe");
    store.close().expect("close");
    drop(store);
    for look in [MARKER.as_bytes(), hash.as_bytes()] {
        assert_eq!(files_with(directory.path(), look), [] as [PathBuf; 0]);
    }
    // The test can fail.
    let plain = directory.path().join("plain.db");
    fill(&SqliteStore::open_or_create(&plain).expect("open"));
    assert!(!files_with(directory.path(), MARKER.as_bytes()).is_empty());
}

#[test]
fn what_was_written_is_read_by_another_handle() {
    let (_directory, path, hash) = sample();
    let store = open(&path, &key(1)).expect("open");
    let loaded = store.load_history(&doc("a")).expect("load");
    let snapshot = String::from_utf8(loaded.loaded.snapshot.expect("a snapshot")).expect("text");
    assert!(snapshot.starts_with("marzipan small 0marzipan large 0..."), "{snapshot}");
    assert_eq!(loaded.loaded.updates.len(), 1);
    assert!(!loaded.past_heads.is_empty());
    assert_eq!(store.get_blob(&hash).expect("get"), text("blob ").repeat(20_000));
    assert_eq!(store.blobs().expect("blobs")[0].hash, hash);
    assert_eq!(store.get_meta("marzipan.setting").expect("get"), Some(text("setting")));
    assert_eq!(store.init_secret("server.key", b"other").expect("init"), text("secret"));
    assert_eq!(store.first_seen("marzipan key").expect("get"), Some(Millis(1)));
    let refused = &store.quarantined().expect("list")[0];
    assert_eq!(refused.reason, "marzipan reason");
    let update = store.quarantined_update(refused.number).expect("get");
    assert_eq!(update, Some(text("refused")));
    assert_eq!(store.doc_facts(&[doc("b")]).expect("facts")[0].expect("a fact").hash, Some(hash));
    assert_eq!(store.check().expect("check").problems, []);
    let reader = OpenOptions { read_only: true, ..OpenOptions::default() };
    let reader = SqliteStore::open_with_key(&path, reader, Some(&key(1))).expect("open");
    assert_eq!(reader.load(&doc("b")).expect("load").updates.len(), 4);
}

#[test]
fn a_key_that_does_not_fit_is_one_error_and_leaves_no_trace() {
    let (directory, path, _) = sample();
    let before: Vec<_> =
        files_in(directory.path()).iter().map(|path| fs::read(path).expect("read")).collect();
    assert!(SqliteStore::is_encrypted(&path).expect("a store"));
    assert_eq!(key_error(SqliteStore::open(&path)), KeyError::MissingKeyFile);
    assert_eq!(key_error(SqliteStore::open_read_only(&path)), KeyError::MissingKeyFile);
    assert_eq!(key_error(SqliteStore::open_or_create(&path)), KeyError::MissingKeyFile);
    assert_eq!(key_error(open(&path, &key(2))), KeyError::Wrong);
    let words = UnlockKey::from_passphrase(b"words".to_vec()).expect("a key");
    assert_eq!(key_error(open(&path, &words)), KeyError::NeedsKeyFile);
    let after: Vec<_> =
        files_in(directory.path()).iter().map(|path| fs::read(path).expect("read")).collect();
    assert!(before == after, "a file was changed");

    let plain = directory.path().join("plain.db");
    drop(SqliteStore::create_new(&plain).expect("create"));
    assert!(!SqliteStore::is_encrypted(&plain).expect("a store"));
    assert_eq!(key_error(open(&plain, &key(1))), KeyError::NotEncrypted);
}

/// Programs that know formats up to 3 report that the store is too new.
#[test]
fn the_format_is_one_that_older_programs_refuse() {
    let (directory, path, _) = sample();
    let version = |path: &Path| {
        let connection = Connection::open(path).expect("open");
        connection.query_row("PRAGMA user_version", [], |row| row.get::<_, u32>(0)).expect("read")
    };
    assert_eq!(version(&path), 4);
    let plain = directory.path().join("plain.db");
    drop(SqliteStore::create_new(&plain).expect("create"));
    assert_eq!(version(&plain), 3, "a plain store is read by older programs");
}

#[test]
fn another_key_takes_over_while_others_have_the_store_open() {
    let (directory, path, hash) = sample();
    let [store, other] = [(); 2].map(|()| open(&path, &key(1)).expect("open"));
    assert_eq!(store.key_kind().expect("kind"), Some(KeyKind::KeyFile));
    let record = |path: &Path| -> Vec<u8> {
        let connection = Connection::open(path).expect("open");
        let find = "SELECT value FROM meta WHERE key = 'store:key'";
        connection.query_row(find, [], |row| row.get(0)).expect("a record")
    };
    let before = record(&path);
    store.backup(&directory.path().join("old.db"), &mut |_, _| ()).expect("back up");
    store.change_key(&key(2)).expect("change");
    // The other handle goes on, and what it writes is read with the new key.
    other.append(AppendBatch::one(doc("c"), text("new"), Millis(2))).expect("append");
    assert_eq!(other.load(&doc("b")).expect("load").updates.len(), 4);
    assert_eq!(key_error(open(&path, &key(1))), KeyError::Wrong);
    let again = open(&path, &key(2)).expect("open");
    assert_eq!(again.load(&doc("c")).expect("load").updates[0].data, text("new"));
    assert_eq!(again.get_blob(&hash).expect("get").len(), text("blob ").len() * 20_000);
    for path in files_in(directory.path()).iter().filter(|path| !path.ends_with("old.db")) {
        let content = fs::read(path).expect("read");
        let is_there = content.windows(72).any(|window| window == &before[53..125]);
        assert!(!is_there, "{path:?} has the data key under the old key");
    }
    open(&directory.path().join("old.db"), &key(1)).expect("the backup has its own record");

    let plain = SqliteStore::create_new(&directory.path().join("plain.db")).expect("create");
    assert_eq!(plain.key_kind().expect("kind"), None);
    let error = plain.change_key(&key(2)).expect_err("there is no key");
    assert!(matches!(error, StoreError::Unsupported { .. }), "{error}");
}

#[test]
fn a_backup_opens_with_the_same_key() {
    let (directory, path, hash) = sample();
    let to = directory.path().join("backup.db");
    open(&path, &key(1)).expect("open").backup(&to, &mut |_, _| ()).expect("back up");
    assert_eq!(key_error(SqliteStore::open(&to)), KeyError::MissingKeyFile);
    let backup = open(&to, &key(1)).expect("open");
    assert_eq!(backup.check().expect("check").problems, []);
    assert_eq!(backup.get_blob(&hash).expect("get").len(), text("blob ").len() * 20_000);
    assert_eq!(backup.get_meta("marzipan.setting").expect("get"), Some(text("setting")));
}

/// Runs SQL on a copy of a sample, with checksums made right again where rows have one, and returns
/// the store.
fn tampered(sql: &str) -> (TempDir, SqliteStore, ContentHash) {
    let (directory, path, hash) = sample();
    let connection = Connection::open(&path).expect("open");
    connection.execute_batch(sql).expect(sql);
    repair_checksums(&connection);
    drop(connection);
    let store = open(&path, &key(1)).expect("open");
    (directory, store, hash)
}

/// Computes the checksums of sealed records and snapshots anew, as an attacker would.
fn repair_checksums(connection: &Connection) {
    type Record = (i64, u32, i64, i64, i64, Vec<u8>);
    let mut rows = connection
        .prepare(
            "SELECT seq, doc, kind, origin, at, coalesce(log.data, body.data)
             FROM log LEFT JOIN body USING (seq)",
        )
        .expect("prepare");
    let records: Vec<Record> = rows
        .query_map([], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?, row.get(5)?))
        })
        .expect("query")
        .collect::<Result<_, _>>()
        .expect("rows");
    for (seq, number, kind, origin, at, data) in records {
        let mut bytes = number.to_le_bytes().to_vec();
        bytes.push(kind as u8);
        bytes.extend(origin.to_le_bytes());
        bytes.extend(at.to_le_bytes());
        bytes.extend(data);
        let crc = crc32fast::hash(&bytes);
        connection.execute("UPDATE log SET crc = ?2 WHERE seq = ?1", (seq, crc)).expect("update");
    }
    let mut rows = connection.prepare("SELECT doc, data FROM snapshot_body").expect("prepare");
    let bodies: Vec<(i64, Vec<u8>)> = rows
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))
        .expect("query")
        .collect::<Result<_, _>>()
        .expect("rows");
    for (number, data) in bodies {
        let hash = ContentHash::of(&data);
        let update = "UPDATE snapshot SET hash = ?2 WHERE doc = ?1";
        connection.execute(update, (number, hash.as_bytes())).expect("update");
    }
}

#[test]
fn untouched_samples_have_no_damage() {
    let (_directory, store, _) = tampered("SELECT 1");
    assert_eq!(store.check().expect("check").problems, []);
}

#[test]
fn swapped_and_changed_records_are_damage_that_can_be_set_aside() {
    let swap = "CREATE TEMP TABLE t AS SELECT seq, data FROM log WHERE doc = 2 AND kind = 0;
                UPDATE log SET data =
                    (SELECT data FROM t WHERE t.seq > log.seq ORDER BY seq LIMIT 1)
                WHERE doc = 2 AND seq IN (SELECT seq FROM t ORDER BY seq LIMIT 3);";
    let flip = "UPDATE log SET data = cast(substr(data, 1, 30)
                    || CASE WHEN substr(data, 31, 1) = x'00' THEN x'01' ELSE x'00' END
                    || substr(data, 32) AS BLOB)
                WHERE doc = 2 AND kind = 0 AND seq < (SELECT max(seq) FROM log WHERE doc = 2);";
    let cut = "UPDATE log SET data = substr(data, 1, length(data) - 1), len = len - 1
               WHERE doc = 2 AND kind = 0 AND seq < (SELECT max(seq) FROM log WHERE doc = 2);";
    let later = "UPDATE log SET at = at + 1
                 WHERE doc = 2 AND kind = 0 AND seq < (SELECT max(seq) FROM log WHERE doc = 2);";
    for sql in [swap, flip, cut, later] {
        let (_directory, store, _) = tampered(sql);
        let loaded = store.load(&doc("b")).expect("load");
        assert_eq!(loaded.damaged.len(), 3, "{sql}: {:?}", loaded.damaged);
        assert_eq!(loaded.updates.len(), 1, "{sql}");
        assert_eq!(store.load(&doc("a")).expect("load").damaged, []);
        assert_eq!(store.check().expect("check").problems.len(), 3, "{sql}");
        assert_eq!(store.set_aside_damaged(&doc("b"), Millis(3)).expect("set aside"), 3);
        assert_eq!(store.load(&doc("b")).expect("load").damaged, []);
        assert_eq!(store.quarantined().expect("list").len(), 4);
        assert_eq!(store.check().expect("check").problems, []);
    }
}

#[test]
fn a_changed_snapshot_is_damage_that_can_be_set_aside() {
    let cut = "UPDATE snapshot_body SET data = substr(data, 1, length(data) - 1);";
    let moved = "UPDATE snapshot SET upto = upto + 1;";
    for sql in [cut, moved] {
        let (_directory, store, _) = tampered(sql);
        let loaded = store.load(&doc("a")).expect("load");
        assert_eq!(loaded.snapshot, None);
        assert_eq!(loaded.damaged.len(), 1, "{sql}: {:?}", loaded.damaged);
        assert_eq!(store.set_aside_damaged(&doc("a"), Millis(3)).expect("set aside"), 1);
        assert_eq!(store.load(&doc("a")).expect("load").damaged, []);
    }
}

/// Sealed values are bound to the name of their document, not to its number.
#[test]
fn documents_cannot_take_each_others_names() {
    let swap = "UPDATE doc SET guid = 'c' WHERE n = 1; UPDATE doc SET guid = 'a' WHERE n = 2;
                UPDATE doc SET guid = 'b' WHERE n = 1;";
    let (directory, path, _) = sample();
    // The index of the log knows the names as well.
    fs::remove_dir_all(directory.path().join("store-db.derived")).expect("remove");
    Connection::open(&path).expect("open").execute_batch(swap).expect("swap");
    let store = open(&path, &key(1)).expect("open");
    for name in ["a", "b"] {
        let loaded = store.load(&doc(name)).expect("load");
        assert_eq!(loaded.updates, []);
        assert!(!loaded.damaged.is_empty());
    }
}

#[test]
fn changed_blobs_settings_facts_and_rejections_are_noticed() {
    let (_directory, store, hash) = tampered("UPDATE chunk SET data = substr(data, 2);");
    assert!(matches!(store.get_blob(&hash), Err(StoreError::CorruptBlob { .. })));
    assert!(!store.check().expect("check").problems.is_empty());

    let (_directory, store, hash) = tampered("UPDATE blob SET chunks = substr(chunks, 2);");
    assert!(matches!(store.get_blob(&hash), Err(StoreError::CorruptBlob { .. })));
    assert!(!store.check().expect("check").problems.is_empty());

    let (_directory, store, _) =
        tampered("UPDATE meta SET value = substr(value, 2) WHERE key NOT LIKE 'store:%';");
    assert!(matches!(store.get_meta("marzipan.setting"), Err(StoreError::Corrupt { .. })));

    // A fact is unknown, and computed again.
    let (_directory, store, _) = tampered("UPDATE fact SET size = size + 1;");
    assert_eq!(store.doc_facts(&[doc("b")]).expect("facts"), [None]);

    let (_directory, store, _) =
        tampered("UPDATE quarantine SET data = substr(data, 2), reason = substr(reason, 3);");
    let refused = &store.quarantined().expect("list")[0];
    assert_eq!(refused.reason, "the reason cannot be decrypted");
    assert!(matches!(store.quarantined_update(refused.number), Err(StoreError::Corrupt { .. })));
    assert_eq!(store.head().expect("head"), Seq(14));
}

#[test]
fn a_damaged_key_record_is_reported() {
    for change in [
        "UPDATE meta SET value = substr(value, 2) WHERE key IN",
        "UPDATE meta SET value = cast(substr(value, 1, 99) || x'0000' || substr(value, 102) AS BLOB)
         WHERE key IN",
        "DELETE FROM meta WHERE key IN",
    ] {
        for (settings, is_lost) in [
            ("('store:key')", false),
            ("('store:key-copy')", false),
            ("('store:key', 'store:key-copy')", true),
        ] {
            let (_directory, path, _) = sample();
            let sql = format!("{change} {settings}");
            Connection::open(&path).expect("open").execute(&sql, []).expect(&sql);
            if is_lost {
                assert_eq!(key_error(open(&path, &key(1))), KeyError::DamagedRecord, "{sql}");
                continue;
            }
            let store = open(&path, &key(1)).expect("open");
            assert_eq!(store.load(&doc("b")).expect("load").updates.len(), 4);
            // A change of the key writes both.
            store.change_key(&key(2)).expect("change");
            open(&path, &key(2)).expect("open");
            assert_eq!(key_error(open(&path, &key(1))), KeyError::Wrong);
        }
    }
}
