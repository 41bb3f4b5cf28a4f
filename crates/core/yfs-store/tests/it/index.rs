//! The index of the log on a base answers as one that was read from the log.

use std::{
    fs,
    path::{Path, PathBuf},
};

use rand::{Rng, RngExt, SeedableRng, rngs::ChaCha8Rng};
use yfs_store::{
    AppendBatch, DocName, DocStats, LogRecord, MergedSnapshot, ReloadNotice, Seq, SqliteStore,
    Store, StoredDocument, UpdateLog,
};
use yfs_types::time::Millis;

const N_DOCS: u32 = 12;

fn name(number: u32) -> DocName {
    DocName::parse(&format!("doc{number}")).expect("a name")
}

/// A store on disk, with the directory of its derived files.
struct Disk {
    directory: tempfile::TempDir,
}

impl Disk {
    fn new() -> Self {
        Self { directory: tempfile::tempdir().expect("a directory") }
    }

    fn file(&self) -> PathBuf {
        self.directory.path().join("workspace.db")
    }

    fn derived(&self) -> PathBuf {
        self.directory.path().join("workspace-db.derived")
    }

    fn open(&self) -> SqliteStore {
        SqliteStore::open_or_create(&self.file()).expect("open")
    }

    /// Returns what a handle says that finds no base.
    fn eager(&self) -> Answers {
        let hidden = self.directory.path().join("hidden");
        let is_hidden = fs::rename(self.derived(), &hidden).is_ok();
        let answers = Answers::of(&self.open());
        if is_hidden {
            fs::rename(hidden, self.derived()).expect("put back");
        }
        answers
    }
}

/// Everything that a handle says of the log.
#[derive(Debug, PartialEq)]
struct Answers {
    documents: Vec<DocStats>,
    loaded: Vec<StoredDocument>,
    after: Vec<Option<StoredDocument>>,
    tails: Vec<(Vec<LogRecord>, Vec<ReloadNotice>)>,
    /// The documents with records or a compaction, from the last one.
    backwards: Vec<(Seq, DocName)>,
    n_records: u64,
}

impl Answers {
    fn of(store: &SqliteStore) -> Self {
        let mut documents = store.documents().expect("documents");
        documents.sort_by(|a, b| a.doc.cmp(&b.doc));
        let head = store.head().expect("head").0;
        let positions = [0, head / 3, head / 2, head];
        let names = || (0..N_DOCS).map(name);
        let after = |name: DocName| {
            positions.map(|seq| store.load_after(&name, Seq(seq)).expect("load after"))
        };
        let tails = positions.map(|seq| {
            let page = store.tail(Seq(seq), &|_, _| true).expect("tail");
            (page.records, page.reload)
        });
        let stats = store.stats().expect("stats");
        let sum = |of: fn(&DocStats) -> u64| documents.iter().map(of).sum::<u64>();
        assert_eq!(stats.n_docs, documents.len() as u64);
        assert_eq!(stats.n_records, sum(|doc| doc.n_records));
        assert_eq!(stats.record_bytes, sum(|doc| doc.bytes));
        assert_eq!(stats.snapshot_bytes, sum(|doc| doc.snapshot_bytes));
        Self {
            documents,
            backwards: backwards(store),
            loaded: names().map(|name| store.load(&name).expect("load")).collect(),
            after: names().flat_map(after).collect(),
            tails: tails.into(),
            n_records: stats.n_records,
        }
    }
}

/// Reads the log backwards, in pages.
fn backwards(store: &SqliteStore) -> Vec<(Seq, DocName)> {
    let mut found: Vec<(Seq, DocName)> = Vec::new();
    loop {
        let before = found.last().map_or(Seq(u64::MAX), |(seq, _)| *seq);
        let page = store.documents_before(before, 60).expect("read").expect("it can be read");
        if page.is_empty() {
            assert!(found.is_sorted_by(|a, b| a.0 > b.0));
            return found;
        }
        found.extend(page);
    }
}

/// Runs a script of random appends, compactions, removals and new bases on two handles.
fn run_script(disk: &Disk, rng: &mut ChaCha8Rng, n_steps: u32) {
    let mut handles = [disk.open(), disk.open()];
    for at in 0..n_steps {
        let store = &mut handles[rng.random_range(0..2)];
        let doc = name(rng.random_range(0..N_DOCS).min(rng.random_range(0..N_DOCS)));
        match rng.random_range(0..20) {
            0..10 => {
                let updates = (0..rng.random_range(1..40)).map(|_| (doc.clone(), bytes(rng)));
                let batch = AppendBatch::new(updates.collect(), Millis(at.into()));
                store.append(batch).expect("append");
            }
            10 => compact(store, &doc),
            11 => {
                let head = store.doc_head(&doc).expect("head").seq;
                store.forget(&doc, head).expect("forget");
            }
            12..15 => {
                store.checkpoint(rng.random_range(0..30)).expect("checkpoint");
            }
            15 => *store = disk.open(),
            _ => drop(store.load(&doc).expect("load")),
        }
    }
}

fn bytes(rng: &mut ChaCha8Rng) -> Vec<u8> {
    let len = if rng.random_range(0..20) == 0 { 700 } else { rng.random_range(1..60) };
    let mut data = vec![0; len];
    rng.fill_bytes(&mut data);
    data
}

fn compact(store: &SqliteStore, doc: &DocName) {
    let merge = |_: Option<&[u8]>, updates: &[LogRecord]| {
        let n_absorbed = updates.len() * 2 / 3;
        let absorbed = (0..updates.len()).map(|at| at < n_absorbed).collect();
        Ok(MergedSnapshot {
            state: vec![7; updates.len()],
            absorbed,
            rewritten: Vec::new(),
            changes: Vec::new(),
        })
    };
    store.compact(doc, &merge).expect("compact");
}

/// `YFS_INDEX_SEEDS` says how many histories to play.
#[test]
fn an_index_on_a_base_is_the_index_of_the_log() {
    let n_seeds =
        std::env::var("YFS_INDEX_SEEDS").map_or(15, |text| text.parse().expect("a number"));
    for seed in 0..n_seeds {
        let disk = Disk::new();
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        for _ in 0..4 {
            run_script(&disk, &mut rng, 40);
            disk.open().checkpoint(1).expect("checkpoint");
            assert_eq!(Answers::of(&disk.open()), disk.eager(), "seed {seed}");
            run_script(&disk, &mut rng, 10);
            assert_eq!(Answers::of(&disk.open()), disk.eager(), "seed {seed}");
        }
    }
}

/// Returns the files of a directory and of those in it.
fn files(directory: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(directory) else { return Vec::new() };
    let paths = entries.map(|entry| entry.expect("an entry").path());
    paths.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

#[test]
fn a_damaged_base_changes_no_answer() {
    let disk = Disk::new();
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    run_script(&disk, &mut rng, 200);
    // Several blocks: what is damaged may be found only when a document is looked up.
    let updates = (0..10_000).map(|_| (name(0), vec![1]));
    disk.open().append(AppendBatch::new(updates.collect(), Millis(1))).expect("append");
    assert!(disk.open().checkpoint(1).expect("checkpoint"));
    let expected = disk.eager();
    let mut n_tried = 0;
    for path in files(&disk.derived()) {
        let sound = fs::read(&path).expect("read");
        for _ in 0..40.min(sound.len()) {
            let mut damaged = sound.clone();
            let at = rng.random_range(0..damaged.len());
            damaged[at] ^= 1 << rng.random_range(0..8);
            fs::write(&path, &damaged).expect("write");
            assert_eq!(Answers::of(&disk.open()), expected, "{path:?} at {at}");
            n_tried += 1;
        }
        fs::write(&path, &sound[..sound.len() / 2]).expect("write");
        assert_eq!(Answers::of(&disk.open()), expected, "{path:?} cut");
        fs::write(&path, &sound).expect("write");
    }
    assert!(n_tried >= 80, "{n_tried}");
}

#[test]
fn a_base_of_another_history_is_not_used() {
    let disk = Disk::new();
    let store = disk.open();
    let add = |store: &SqliteStore, doc: u32, data: &[u8]| {
        let batch = AppendBatch::one(name(doc), data.to_vec(), Millis(1));
        store.append(batch).expect("append");
    };
    add(&store, 0, b"before");
    let backup = disk.directory.path().join("backup.db");
    store.backup(&backup, &mut |_, _| ()).expect("backup");
    add(&store, 1, b"after");
    assert!(store.checkpoint(1).expect("checkpoint"));
    store.close().expect("close");
    for end in ["", "-wal", "-shm"] {
        let path = format!("{}{end}", disk.file().display());
        fs::remove_file(path).ok();
    }
    fs::rename(backup, disk.file()).expect("put the backup back");
    let store = disk.open();
    add(&store, 0, b"another");
    let loaded = disk.open().load(&name(0)).expect("load");
    let data: Vec<_> = loaded.updates.iter().map(|record| record.data.as_slice()).collect();
    assert_eq!(data, [&b"before"[..], b"another"]);
}

/// A handle that opens reads the records after the base only.
#[test]
fn a_base_is_made_when_enough_records_came() {
    let disk = Disk::new();
    let store = disk.open();
    for at in 0..100 {
        let batch = AppendBatch::one(name(at % N_DOCS), vec![1], Millis(1));
        store.append(batch).expect("append");
    }
    assert!(!store.checkpoint(101).expect("checkpoint"));
    assert!(store.checkpoint(100).expect("checkpoint"));
    assert!(!store.checkpoint(1).expect("checkpoint"), "nothing came after it");
    let other = disk.open();
    assert!(!other.checkpoint(1).expect("checkpoint"), "another handle starts from it");
}
