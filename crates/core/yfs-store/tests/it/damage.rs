//! Files that are not stores, damaged stores, and full disks.

use std::{
    fs,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use rand::{Rng, RngExt, SeedableRng, rngs::ChaCha8Rng};
use rusqlite::Connection;
use tempfile::TempDir;
use yfs_store::{
    AppendBatch, BlobStore, DocFact, DocName, LocalState, LogRecord, MergeError, MergedSnapshot,
    OpenOptions, Seq, SqliteStore, Store, StoreError, StoreExt, UpdateLog,
};
use yfs_types::time::Millis;

const N_DOCS: usize = 20;

fn doc(number: usize) -> DocName {
    DocName::parse(&format!("doc{number:03}")).expect("a name")
}

fn join(snapshot: Option<&[u8]>, records: &[LogRecord]) -> Result<MergedSnapshot, MergeError> {
    let mut state = snapshot.unwrap_or_default().to_vec();
    records.iter().for_each(|record| state.extend(&record.data));
    Ok(MergedSnapshot {
        state,
        absorbed: vec![true; records.len()],
        rewritten: Vec::new(),
        changes: Vec::new(),
    })
}

fn content(number: usize, part: usize) -> Vec<u8> {
    format!("<{number}.{part}>").repeat(if part == 1 { 300 } else { 20 }).into_bytes()
}

fn whole(number: usize) -> Vec<u8> {
    (0..4).flat_map(|part| content(number, part)).collect()
}

/// Makes a store of [`N_DOCS`] documents, half of them compacted, and one blob, all in one file.
fn sample() -> (TempDir, PathBuf) {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("store.db");
    let store = SqliteStore::open_or_create(&path).expect("open");
    for part in 0..4 {
        for number in 0..N_DOCS {
            let batch = AppendBatch::one(doc(number), content(number, part), Millis(1));
            store.append(batch).expect("append");
            if part == 2 && number % 2 == 0 {
                store.compact(&doc(number), &join).expect("compact");
            }
        }
    }
    store.put_bytes(&whole(7).repeat(9), Millis(1)).expect("put");
    store.close().expect("close");
    drop(store);
    assert!(!directory.path().join("store.db-wal").exists(), "it is all in one file");
    (directory, path)
}

fn open_error(path: &Path) -> StoreError {
    SqliteStore::open(path).expect_err("this must not open")
}

#[test]
fn what_is_not_a_store() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("x");
    assert!(matches!(open_error(&path), StoreError::NotFound { .. }));
    assert!(matches!(open_error(directory.path()), StoreError::NotAStore { .. }));
    let missing = directory.path().join("no").join("such");
    assert!(SqliteStore::open_or_create(&missing).is_err());
    assert!(!directory.path().join("no").exists());
    for garbage in [b"".to_vec(), b"hello".to_vec(), vec![b'x'; 10_000], vec![0; 4096]] {
        fs::write(&path, &garbage).expect("write");
        let error = open_error(&path);
        assert!(matches!(error, StoreError::NotAStore { .. }), "{error:?}");
        assert!(fs::read(&path).expect("read") == garbage, "it was touched");
    }
    fs::write(&path, [b'x'; 10_000]).expect("write");
    let error = SqliteStore::open_or_create(&path).expect_err("this is no store");
    assert!(matches!(error, StoreError::NotAStore { .. }));
}

#[test]
fn a_foreign_database_is_left_alone() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("x");
    let foreign = Connection::open(&path).expect("open");
    foreign.execute_batch("CREATE TABLE t (x); INSERT INTO t VALUES (1)").expect("write");
    drop(foreign);
    let before = fs::read(&path).expect("read");
    for result in [SqliteStore::open(&path), SqliteStore::open_or_create(&path)] {
        assert!(matches!(result, Err(StoreError::NotAStore { .. })));
    }
    assert!(fs::read(&path).expect("read") == before, "it was touched");
}

#[test]
fn a_newer_format_is_refused() {
    let (_directory, path) = sample();
    let file = Connection::open(&path).expect("open");
    file.pragma_update(None, "user_version", 99).expect("update");
    drop(file);
    let error = open_error(&path);
    assert!(matches!(error, StoreError::TooNew { found: 99, supported: 4, .. }), "{error:?}");
}

#[test]
fn a_store_that_is_there_is_not_made_again() {
    let (_directory, path) = sample();
    assert!(matches!(SqliteStore::create_new(&path), Err(StoreError::Exists { .. })));
    assert_all_well(&SqliteStore::open(&path).expect("open"));
}

#[test]
fn facts_that_cannot_be_read_are_unknown_until_they_are_made_anew() {
    let (_directory, path) = sample();
    let facts = set_facts(&path);
    // Its first byte is the kind of a page.
    damage_page_of_facts(&path, |page| page[0] = 0xff);

    let store = SqliteStore::open(&path).expect("open");
    assert_eq!(store.doc_facts(&[doc(1), doc(2)]).expect("facts"), [None, None]);
    assert!(matches!(store.set_doc_facts(&facts), Err(StoreError::Corrupt { .. })));
    assert_facts_are_made_anew(store, &path, &facts);
}

/// A query does not notice that a page lists its first row in place of each other one.
#[test]
fn facts_that_are_damaged_but_readable_are_made_anew() {
    let (_directory, path) = sample();
    let facts = set_facts(&path);
    damage_page_of_facts(&path, |page| {
        for number in 1..N_DOCS {
            page.copy_within(8..10, 8 + 2 * number);
        }
    });
    let store = SqliteStore::open(&path).expect("open");
    assert_facts_are_made_anew(store, &path, &facts);
}

/// What SQLite reads where no cell is depends on the memory behind the page, so that this was
/// repaired on most runs only.
#[test]
fn facts_whose_cells_are_nowhere_are_made_anew() {
    let (_directory, path) = sample();
    let facts = set_facts(&path);
    damage_page_of_facts(&path, |page| page[8..72].fill(0xff));
    let store = SqliteStore::open(&path).expect("open");
    assert_facts_are_made_anew(store, &path, &facts);
}

/// Writes a fact of each document.
fn set_facts(path: &Path) -> Vec<(DocName, DocFact)> {
    let store = SqliteStore::open(path).expect("open");
    let fact = |number| {
        let head = store.doc_head(&doc(number)).expect("head").seq;
        (doc(number), DocFact { upto: head, size: 7, hash: None })
    };
    let facts: Vec<_> = (0..N_DOCS).map(fact).collect();
    store.set_doc_facts(&facts).expect("set");
    assert!(!store.repair_facts().expect("read"));
    store.close().expect("close");
    facts
}

/// Changes the page in which the facts are.
fn damage_page_of_facts(path: &Path, damage: impl FnOnce(&mut [u8])) {
    let file = Connection::open(path).expect("open");
    let find = "SELECT rootpage FROM sqlite_schema WHERE name = 'fact'";
    let page: u32 = file.query_row(find, [], |row| row.get(0)).expect("a page");
    let len: u32 = file.query_row("PRAGMA page_size", [], |row| row.get(0)).expect("a length");
    drop(file);
    let mut bytes = fs::read(path).expect("read");
    damage(&mut bytes[((page - 1) * len) as usize..(page * len) as usize]);
    fs::write(path, bytes).expect("write");
}

fn assert_facts_are_made_anew(store: SqliteStore, path: &Path, facts: &[(DocName, DocFact)]) {
    assert_ne!(store.check().expect("check").problems, []);
    assert!(store.repair_facts().expect("repaired"));
    assert_all_well(&store);
    store.set_doc_facts(facts).expect("set");
    assert_eq!(store.doc_facts(&[doc(1)]).expect("facts"), [Some(facts[1].1)]);
    drop(store);
    assert_all_well(&SqliteStore::open(path).expect("open"));
}

fn assert_all_well(store: &dyn Store) {
    for number in 0..N_DOCS {
        assert!(read(store, number).expect("load") == whole(number), "document {number}");
    }
    assert_eq!(store.check().expect("check").problems, []);
}

/// Returns the content of a document, or a description of its damage.
fn read(store: &dyn Store, number: usize) -> Result<Vec<u8>, String> {
    let loaded = store.load(&doc(number)).map_err(|error| error.to_string())?;
    if let Some(damage) = loaded.damaged.first() {
        return Err(damage.reason.clone());
    }
    let mut bytes = loaded.snapshot.unwrap_or_default();
    loaded.updates.iter().for_each(|record| bytes.extend(&record.data));
    Ok(bytes)
}

#[test]
fn a_truncated_store_is_reported() {
    let (_directory, path) = sample();
    let bytes = fs::read(&path).expect("read");
    for n_left in [50, 100, 4096, 5000, bytes.len() / 2, bytes.len() - 4096, bytes.len() - 1] {
        fs::write(&path, &bytes[..n_left]).expect("write");
        match SqliteStore::open(&path) {
            Err(StoreError::Corrupt { .. } | StoreError::NotAStore { .. }) => (),
            Err(error) => panic!("{n_left}: {error:?}"),
            Ok(store) => {
                let problems = store.check().expect("check").problems;
                assert!(!problems.is_empty(), "{n_left} bytes look well");
            }
        }
        for suffix in ["-wal", "-shm"] {
            fs::remove_file(format!("{}{suffix}", path.display())).ok();
        }
    }
}

/// A flipped bit in the data of a document damages only that document.
#[test]
fn damage_stays_where_it_is() {
    let (_directory, path) = sample();
    let bytes = fs::read(&path).expect("read");
    for (number, part) in [(3, 0), (3, 1), (4, 0), (4, 3), (5, 3)] {
        let needle = content(number, part);
        let needle = &needle[..40];
        let at = bytes.windows(40).rposition(|window| window == needle).expect("it is there");
        let mut flipped = bytes.clone();
        flipped[at + 10] ^= 0x10;
        fs::write(&path, &flipped).expect("write");
        let store = SqliteStore::open(&path).expect("open");
        assert!(read(&store, number).is_err(), "{number}.{part} is damaged");
        for other in (0..N_DOCS).filter(|other| *other != number) {
            assert!(read(&store, other).expect("load") == whole(other), "document {other}");
        }
        let problems = store.check().expect("check").problems;
        assert!(!problems.is_empty());
        assert!(problems.iter().all(|problem| problem.doc == Some(doc(number))), "{problems:?}");
        let tail = store.tail(Seq::ZERO, &|_, _| true).expect("the tail goes on");
        let n_lost = if number % 2 == 1 || part == 3 { 1 } else { 0 };
        assert_eq!(tail.damaged.len(), n_lost);
        store.append(AppendBatch::one(doc(0), vec![1], Millis(1))).expect("writing goes on");
    }
}

/// A damaged name loses only the document of that name.
#[test]
fn a_damaged_name_costs_one_document() {
    let (_directory, path) = sample();
    let damage = |sql: &str| {
        let file = Connection::open(&path).expect("open");
        file.execute(sql, []).expect("update");
    };
    for sql in [
        "UPDATE doc SET guid = 'no / name' WHERE n = 4",
        "UPDATE doc SET guid = CAST(x'ff00fe' AS TEXT) WHERE n = 4",
        "UPDATE doc SET guid = 'doc007' WHERE n = 4",
        "UPDATE doc SET n = 4000000000 WHERE n = 4",
        "DELETE FROM doc WHERE n > 1000",
    ] {
        damage(sql);
        let store = SqliteStore::open(&path).expect("open");
        for other in (0..N_DOCS).filter(|other| *other != 3 && *other != 7) {
            assert!(read(&store, other).expect("load") == whole(other), "document {other}: {sql}");
        }
        assert!(read(&store, 3).expect("load").is_empty(), "{sql}");
        assert!(!store.check().expect("check").problems.is_empty(), "{sql}");
        store.tail(Seq::ZERO, &|_, _| true).expect("the tail goes on");
        store.documents().expect("the rest is listed");
        let new = DocName::parse("new").expect("a name");
        let written = store.append(AppendBatch::one(new.clone(), vec![1], Millis(1)));
        assert_eq!(store.doc_head(&new).expect("head").seq, written.expect("append").last, "{sql}");
        store.forget(&new, store.doc_head(&new).expect("head").seq).expect("forget");
    }
}

/// A flipped bit anywhere is either harmless or reported.
#[test]
fn flipped_bits_are_noticed() {
    let (directory, path) = sample();
    let bytes = fs::read(&path).expect("read");
    let hash = SqliteStore::open(&path).expect("open").blobs().expect("blobs")[0].hash;
    let mut random = ChaCha8Rng::seed_from_u64(7);
    let (mut n_harmless, mut n_noticed) = (0, 0);
    for round in 0..200 {
        let mut flipped = bytes.clone();
        // The first page contains the layout of the whole file, so it gets its share of flips.
        let n_candidates = if round % 8 == 0 { 4096 } else { bytes.len() };
        let at = random.random_range(0..n_candidates);
        flipped[at] ^= 1 << random.random_range(0..8);
        let copy = directory.path().join(format!("flipped-{round}"));
        fs::write(&copy, &flipped).expect("write");
        let Ok(store) = SqliteStore::open(&copy) else {
            n_noticed += 1;
            continue;
        };
        let docs: Vec<_> = (0..N_DOCS).map(|number| read(&store, number)).collect();
        let right = docs.iter().enumerate().all(|(number, found)| *found == Ok(whole(number)));
        let blob = store.get_blob(&hash).is_ok_and(|blob| blob == whole(7).repeat(9));
        let noticed = store.check().map_or(true, |report| !report.problems.is_empty());
        assert!(right && blob || noticed, "bit at {at} changed the content unnoticed");
        if noticed { n_noticed += 1 } else { n_harmless += 1 }
    }
    println!("{n_noticed} noticed, {n_harmless} harmless");
}

#[test]
fn a_full_disk_changes_nothing() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("store.db");
    let options = OpenOptions { create: true, max_bytes: Some(1 << 20), ..OpenOptions::default() };
    let store = SqliteStore::open_with(&path, options).expect("open");
    let mut expected = Vec::new();
    let error = loop {
        let data = vec![expected.len() as u8; 10_000];
        match store.append(AppendBatch::one(doc(0), data.clone(), Millis(1))) {
            Ok(_) => expected.extend(data),
            Err(error) => break error,
        }
        assert!(expected.len() < 2 << 20, "it never gets full");
    };
    assert!(matches!(error, StoreError::Full { .. }), "{error:?}");
    let head = store.head().expect("head");
    let updates = (0..300).map(|at| (doc(at % 3), vec![9; 1000])).collect();
    let error = store.append(AppendBatch::new(updates, Millis(1))).expect_err("it is full");
    assert!(matches!(error, StoreError::Full { .. }), "{error:?}");
    let error = store.put_bytes(&noise(500_000), Millis(1)).expect_err("it is full");
    assert!(matches!(error, StoreError::Full { .. }), "{error:?}");
    assert_eq!(store.head().expect("head"), head, "half a batch was written");
    assert!(read(&store, 0).expect("load") == expected);
    assert!(read(&store, 1).expect("load").is_empty());
    drop(store);
    let store = SqliteStore::open(&path).expect("open");
    assert!(read(&store, 0).expect("load") == expected);
    store
        .append(AppendBatch::one(doc(1), vec![1; 10_000], Millis(1)))
        .expect("there is room again");
    assert_eq!(store.check().expect("check").problems, []);
}

/// Returns bytes that do not compress.
fn noise(n_bytes: usize) -> Vec<u8> {
    let mut bytes = vec![0; n_bytes];
    ChaCha8Rng::seed_from_u64(7).fill_bytes(&mut bytes);
    bytes
}

/// Flips a bit at one place of a file.
fn flip_at(path: &Path, at: usize) {
    let mut bytes = fs::read(path).expect("read");
    bytes[at] ^= 0x10;
    fs::write(path, bytes).expect("write");
}

/// Returns the places of some bytes in a file.
fn places_of(path: &Path, what: &[u8]) -> Vec<usize> {
    let bytes = fs::read(path).expect("read");
    (0..bytes.len()).filter(|at| bytes[*at..].starts_with(what)).collect()
}

/// A blob with a damaged piece was stored again with success, and still could not be read.
#[test]
fn a_damaged_piece_is_replaced_when_its_content_is_put_again() {
    let directory = tempfile::tempdir().expect("a directory");
    let sample = directory.path().join("sample.db");
    // Small blobs are one piece, so that the hash of the blob is that of the piece.
    let (raw, text) = (noise(5000), format!("{:?}", noise(3000)).into_bytes());
    let large = noise(900_000);
    let store = SqliteStore::create_new(&sample).expect("create");
    let hashes = [&raw[..], &text, &large]
        .map(|content| store.put_bytes(content, Millis(1)).expect("put").hash);
    store.close().expect("close");
    drop(store);
    let piece_places = places_of(&sample, hashes[0].as_bytes());
    // In the table and the index of pieces, and in those of blobs.
    assert_eq!(piece_places.len(), 4, "{piece_places:?}");
    let data = [places_of(&sample, &raw[100..150]), places_of(&sample, &large[700_000..700_050])];
    let packed = zstd::bulk::compress(&text, 3).expect("compress");
    let packed = places_of(&sample, &packed[..40])[0] + 30;
    let mut n_unreadable = 0;
    for at in data.into_iter().flatten().chain([packed]).chain(piece_places) {
        let path = directory.path().join(format!("{at}.db"));
        fs::copy(&sample, &path).expect("copy");
        flip_at(&path, at);
        let store = SqliteStore::open(&path).expect("open");
        let contents = [&raw[..], &text, &large];
        let n_read = hashes.iter().filter(|hash| store.get_blob(hash).is_ok()).count();
        n_unreadable += 3 - n_read;
        for content in contents {
            store.put_bytes(content, Millis(2)).expect("put");
        }
        for (hash, content) in hashes.iter().zip(contents) {
            assert!(store.get_blob(hash).expect("read") == content, "damage at {at}");
        }
    }
    assert!(n_unreadable >= 4, "{n_unreadable}");
}

/// Writes to a store whose file had been removed were acknowledged, and lost.
#[test]
fn a_handle_fails_once_its_file_was_replaced_or_removed() {
    for replace in [false, true] {
        let directory = tempfile::tempdir().expect("a directory");
        let [path, copy, away] =
            ["store.db", "copy.db", "away.db"].map(|name| directory.path().join(name));
        let store = SqliteStore::create_new(&path).expect("create");
        let append = || store.append(AppendBatch::one(doc(0), vec![1], Millis(1)));
        append().expect("append");
        store.backup(&copy, &mut |_, _| ()).expect("backup");
        append().expect("append");
        fs::rename(&path, &away).expect("rename");
        if replace {
            fs::rename(&copy, &path).expect("rename");
        }
        let replaced = |error| matches!(error, StoreError::Replaced { .. });
        assert!(append().is_err_and(replaced));
        assert!(store.put_bytes(b"blob", Millis(1)).is_err_and(replaced));
        assert!(store.set_meta("key", b"value").is_err_and(replaced));
        // Readers check it every few milliseconds.
        let start = Instant::now();
        while store.load(&doc(0)).is_ok() {
            assert!(start.elapsed() < Duration::from_secs(600), "readers do not notice");
        }
        assert!(store.load(&doc(0)).is_err_and(replaced));
        if replace {
            fs::remove_file(&path).expect("remove");
        }
        fs::rename(&away, &path).expect("rename");
        append().expect("it is the same file again");
    }
}
