//! Power cuts: flushed records survive, and the store opens.
//!
//! A shim below SQLite records every write, truncation and sync of its files. Afterwards the power
//! is cut at random points of that recording: bytes that were written to a file before its last
//! sync survive, and of the later ones, each block of 512 bytes survives or not at random. That is
//! harsher than most disks, and repeatable.
#![cfg(unix)]
#![expect(unsafe_code, reason = "SQLite is interposed through its C interface")]

use std::{
    collections::{BTreeMap, HashMap},
    ffi::{CStr, c_char, c_int, c_void},
    fs,
    path::Path,
    sync::{Mutex, OnceLock},
};

use rand::{RngExt, SeedableRng, rngs::ChaCha8Rng};
use rusqlite::ffi;
use yfs_store::{
    AppendBatch, DocName, LogRecord, MergeError, MergedSnapshot, OpenOptions, SqliteStore, Store,
    StoreExt, UnlockKey, UpdateLog,
};
use yfs_types::time::Millis;

const BLOCK_LEN: usize = 512;

/// An event of a file.
#[derive(Debug, Clone)]
enum Step {
    Write {
        file: String,
        at: usize,
        data: Vec<u8>,
    },
    Truncate {
        file: String,
        len: usize,
    },
    Sync {
        file: String,
    },
    Delete {
        file: String,
    },
    /// The store reported that this many updates are safe.
    Safe {
        n_updates: usize,
    },
    /// The index of the log got a checkpoint: its files, by name.
    Checkpoint {
        files: HashMap<String, Vec<u8>>,
    },
}

static STEPS: Mutex<Vec<Step>> = Mutex::new(Vec::new());

fn record(step: Step) {
    STEPS.lock().expect("no thread panics while it has the lock").push(step);
}

// ---- the shim

/// The methods that SQLite would have used for a file, and the file's name, by address.
static FILES: Mutex<Option<HashMap<usize, (usize, String)>>> = Mutex::new(None);
static REAL: OnceLock<usize> = OnceLock::new();
static SHIM: OnceLock<usize> = OnceLock::new();

fn real() -> *mut ffi::sqlite3_vfs {
    *REAL.get().expect("the shim is installed") as *mut ffi::sqlite3_vfs
}

fn look_up(file: *mut ffi::sqlite3_file) -> (*const ffi::sqlite3_io_methods, String) {
    let files = FILES.lock().expect("no thread panics while it has the lock");
    let (methods, name) = files.as_ref().expect("there are files")[&(file as usize)].clone();
    (methods as *const ffi::sqlite3_io_methods, name)
}

unsafe extern "C" fn open(
    _: *mut ffi::sqlite3_vfs,
    name: *const c_char,
    file: *mut ffi::sqlite3_file,
    flags: c_int,
    out_flags: *mut c_int,
) -> c_int {
    // SAFETY: the arguments are SQLite's own, passed on to the method that it meant to call. The
    // file has room for the real method's data, since the shim's `szOsFile` is the real one.
    unsafe {
        let code = ((*real()).xOpen.expect("it opens"))(real(), name, file, flags, out_flags);
        if code == ffi::SQLITE_OK && !name.is_null() && !(*file).pMethods.is_null() {
            let path = CStr::from_ptr(name).to_string_lossy().into_owned();
            let methods = (*file).pMethods;
            let mut ours = Box::new(*methods);
            ours.xWrite = Some(write);
            ours.xTruncate = Some(truncate);
            ours.xSync = Some(sync);
            // Memory maps would bypass the shim.
            ours.xFetch = None;
            ours.xUnfetch = None;
            ours.iVersion = ours.iVersion.min(2);
            let name = path.rsplit('/').next().unwrap_or_default().to_owned();
            let mut files = FILES.lock().expect("no thread panics while it has the lock");
            files.get_or_insert_default().insert(file as usize, (methods as usize, name));
            // Leaked: the file may outlive this test's data, and there are a handful.
            (*file).pMethods = Box::leak(ours);
        }
        code
    }
}

unsafe extern "C" fn write(
    file: *mut ffi::sqlite3_file,
    data: *const c_void,
    len: c_int,
    at: ffi::sqlite3_int64,
) -> c_int {
    let (methods, name) = look_up(file);
    // SAFETY: as in `open`; `data` points to `len` bytes by SQLite's contract.
    unsafe {
        let bytes = std::slice::from_raw_parts(data.cast::<u8>(), len as usize).to_vec();
        record(Step::Write { file: name, at: at as usize, data: bytes });
        ((*methods).xWrite.expect("it writes"))(file, data, len, at)
    }
}

unsafe extern "C" fn truncate(file: *mut ffi::sqlite3_file, len: ffi::sqlite3_int64) -> c_int {
    let (methods, name) = look_up(file);
    record(Step::Truncate { file: name, len: len as usize });
    // SAFETY: as in `open`.
    unsafe { ((*methods).xTruncate.expect("it truncates"))(file, len) }
}

unsafe extern "C" fn sync(file: *mut ffi::sqlite3_file, flags: c_int) -> c_int {
    let (methods, name) = look_up(file);
    // SAFETY: as in `open`.
    let code = unsafe { ((*methods).xSync.expect("it syncs"))(file, flags) };
    record(Step::Sync { file: name });
    code
}

unsafe extern "C" fn delete(
    _: *mut ffi::sqlite3_vfs,
    name: *const c_char,
    sync_directory: c_int,
) -> c_int {
    // SAFETY: as in `open`.
    unsafe {
        let path = CStr::from_ptr(name).to_string_lossy().into_owned();
        let file = path.rsplit('/').next().unwrap_or_default().to_owned();
        record(Step::Delete { file });
        ((*real()).xDelete.expect("it deletes"))(real(), name, sync_directory)
    }
}

/// Puts the shim below every database that this process opens from now on.
fn install() {
    SHIM.get_or_init(|| {
        // SAFETY: SQLite's default is static. The shim is a copy of it that lives forever, and its
        // other methods work on the copy as on the original.
        unsafe {
            let found = ffi::sqlite3_vfs_find(std::ptr::null());
            REAL.get_or_init(|| found as usize);
            let mut shim = Box::new(*found);
            shim.zName = c"recording".as_ptr();
            shim.pNext = std::ptr::null_mut();
            shim.xOpen = Some(open);
            shim.xDelete = Some(delete);
            let shim = Box::leak(shim);
            assert_eq!(ffi::sqlite3_vfs_register(shim, 1), ffi::SQLITE_OK);
            shim as *mut ffi::sqlite3_vfs as usize
        }
    });
}

// ---- the disk

/// A file on a disk that loses power.
#[derive(Debug, Default, Clone)]
struct Disk {
    /// The synced bytes of each file.
    synced: HashMap<String, Vec<u8>>,
    /// The unsynced events of each file, in order.
    pending: BTreeMap<String, Vec<Step>>,
    /// The checkpoints that were made, in order.
    checkpoints: Vec<HashMap<String, Vec<u8>>>,
}

fn apply(bytes: &mut Vec<u8>, at: usize, data: &[u8]) {
    let end = at + data.len();
    bytes.resize(bytes.len().max(end), 0);
    bytes[at..end].copy_from_slice(data);
}

impl Disk {
    fn step(&mut self, step: &Step) {
        match step {
            Step::Write { file, .. } | Step::Truncate { file, .. } => {
                self.pending.entry(file.clone()).or_default().push(step.clone());
            }
            Step::Sync { file } => {
                let bytes = self.synced.entry(file.clone()).or_default();
                for step in self.pending.remove(file).unwrap_or_default() {
                    match step {
                        Step::Write { at, data, .. } => apply(bytes, at, &data),
                        Step::Truncate { len, .. } => bytes.resize(len, 0),
                        _ => (),
                    }
                }
            }
            Step::Delete { file } => {
                self.synced.remove(file);
                self.pending.remove(file);
            }
            Step::Safe { .. } => (),
            Step::Checkpoint { files } => self.checkpoints.push(files.clone()),
        }
    }

    /// Returns the files of a checkpoint, the last one in most cases. The power cut may have cost
    /// what SQLite wrote before it, and in some cases blocks of its own files.
    fn checkpoint(&self, random: &mut ChaCha8Rng) -> Option<HashMap<String, Vec<u8>>> {
        let older = random.random_range(0..3_usize).saturating_sub(1);
        let mut files = self.checkpoints.iter().rev().nth(older)?.clone();
        if random.random_bool(0.3) {
            for block in files.values_mut().flat_map(|bytes| bytes.chunks_mut(BLOCK_LEN)) {
                if random.random_bool(0.2) {
                    block.fill(0);
                }
            }
        }
        Some(files)
    }

    /// Cuts the power: each pending block is written or lost.
    fn cut(&self, random: &mut ChaCha8Rng) -> HashMap<String, Vec<u8>> {
        let mut files = self.synced.clone();
        for (file, steps) in &self.pending {
            let bytes = files.entry(file.clone()).or_default();
            for step in steps {
                match step {
                    Step::Write { at, data, .. } => {
                        let mut start = 0;
                        while start < data.len() {
                            let in_block = BLOCK_LEN - (at + start) % BLOCK_LEN;
                            let end = data.len().min(start + in_block);
                            if random.random_bool(0.5) {
                                apply(bytes, at + start, &data[start..end]);
                            }
                            start = end;
                        }
                    }
                    Step::Truncate { len, .. } if random.random_bool(0.5) => {
                        bytes.resize(*len, 0);
                    }
                    _ => (),
                }
            }
        }
        files
    }
}

// ---- the test

fn doc(number: usize) -> DocName {
    DocName::parse(&format!("doc{number}")).expect("a name")
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

/// Writes updates "0", "1", … and reports from time to time that they are safe.
fn write_history(path: &Path, key: Option<&UnlockKey>) {
    // Without a syncing thread: the shim does not see its syncs.
    let options = OpenOptions { create: true, sync_every: None, ..OpenOptions::default() };
    let store = SqliteStore::open_with_key(path, options, key).expect("open");
    for number in 0..600_usize {
        let padding = ".".repeat(if number % 5 == 0 { 9000 } else { 10 });
        let data = format!("{number}{padding}\n").into_bytes();
        let mut batch = AppendBatch::one(doc(number % 3), data, Millis(1));
        if number % 31 == 30 {
            batch = batch.synced();
        }
        store.append(batch).expect("append");
        if number % 31 == 30 {
            record(Step::Safe { n_updates: number + 1 });
        }
        if number % 47 == 46 {
            store.flush().expect("flush");
            // The flush bypasses SQLite, and so the shim.
            record(Step::Sync { file: "store.db-wal".to_owned() });
            record(Step::Safe { n_updates: number + 1 });
        }
        if number % 90 == 89 {
            store.compact(&doc(number % 3), &join).expect("compact");
        }
        if number % 7 == 6 && store.checkpoint(1).expect("checkpoint") {
            let derived = path.with_file_name("store-db.derived").join("log");
            record(Step::Checkpoint { files: files_in(&derived) });
        }
        if number == 300 {
            store.put_bytes(&vec![3; 200_000], Millis(1)).expect("put");
        }
    }
    store.close().expect("close");
}

fn files_in(directory: &Path) -> HashMap<String, Vec<u8>> {
    let files = fs::read_dir(directory).expect("list").map(|entry| entry.expect("list").path());
    let named = |path: std::path::PathBuf| {
        let name = path.file_name()?.to_str()?.to_owned();
        Some((name, fs::read(path).expect("read")))
    };
    files.filter_map(named).collect()
}

/// One test, because both histories are recorded in one place.
#[test]
fn what_was_flushed_survives() {
    install();
    let key = UnlockKey::from_key_file(vec![1; 32]).expect("a key");
    for key in [None, Some(&key)] {
        cut_at_random_points(key);
    }
}

fn cut_at_random_points(key: Option<&UnlockKey>) {
    let directory = tempfile::tempdir().expect("a directory");
    // Without what an earlier history and its reopened stores did.
    STEPS.lock().expect("no thread panics while it has the lock").clear();
    write_history(&directory.path().join("store.db"), key);
    let steps = std::mem::take(&mut *STEPS.lock().expect("no thread panics while it has the lock"));
    let mut random = ChaCha8Rng::seed_from_u64(7);
    let n_cuts = std::env::var("YFS_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(30);
    let mut cuts: Vec<usize> = (0..n_cuts).map(|_| random.random_range(0..steps.len())).collect();
    cuts.sort_unstable();
    let (mut disk, mut n_safe, mut next, mut n_lost) = (Disk::default(), 0, 0, 0);
    let mut n_checkpoints = 0;
    for (at, step) in steps.iter().enumerate() {
        while next < cuts.len() && cuts[next] == at {
            let checkpoint = disk.checkpoint(&mut random);
            n_checkpoints += usize::from(checkpoint.is_some());
            let files = disk.cut(&mut random);
            let directory = directory.path().join(format!("cut-{next}"));
            let n_there = reopen(&files, checkpoint.unwrap_or_default(), n_safe, &directory, key);
            n_lost += usize::from(n_there < 600);
            next += 1;
        }
        disk.step(step);
        if let Step::Safe { n_updates } = step {
            n_safe = *n_updates;
        }
    }
    assert!(n_checkpoints > n_cuts / 2, "{n_checkpoints} of {n_cuts} cuts had a checkpoint");
    assert!(n_safe > 500 && n_lost > 0, "{n_safe} were safe, {n_lost} cuts lost updates");
}

/// Opens what a cut left, and returns the number of updates: at least the safe ones, without gaps.
fn reopen(
    files: &HashMap<String, Vec<u8>>,
    checkpoint: HashMap<String, Vec<u8>>,
    n_safe: usize,
    directory: &Path,
    key: Option<&UnlockKey>,
) -> usize {
    let number = directory.display();
    let derived = directory.join("store-db.derived").join("log");
    fs::create_dir_all(&derived).expect("make a directory");
    for (file, bytes) in files {
        fs::write(directory.join(file), bytes).expect("write");
    }
    for (file, bytes) in checkpoint {
        fs::write(derived.join(file), bytes).expect("write");
    }
    let path = directory.join("store.db");
    // A cut during creation may leave a file that was never a store.
    let made = n_safe > 0;
    let options = OpenOptions { create: true, ..OpenOptions::default() };
    let store = match SqliteStore::open_with_key(&path, options, key) {
        Ok(store) => store,
        Err(error) if made => panic!("cut {number}: {error:?}"),
        Err(_) => return 0,
    };
    let mut seen = Vec::new();
    for at in 0..3 {
        let loaded = store.load(&doc(at)).expect("load");
        assert_eq!(loaded.damaged, [], "cut {number}");
        let parts = loaded.updates.iter().map(|record| record.data.as_slice());
        let bytes: Vec<&[u8]> = loaded.snapshot.as_deref().into_iter().chain(parts).collect();
        let text = String::from_utf8(bytes.concat()).expect("text");
        let number_of = |line: &str| line.trim_end_matches('.').parse::<usize>().expect("a number");
        seen.extend(text.lines().map(number_of));
    }
    seen.sort_unstable();
    assert!(seen.iter().enumerate().all(|(at, number)| at == *number), "cut {number}: a gap");
    assert!(seen.len() >= n_safe, "cut {number}: {} of {n_safe} safe updates", seen.len());
    assert_eq!(store.check().expect("check").problems, [], "cut {number}");
    store.append(AppendBatch::one(doc(0), b"on\n".to_vec(), Millis(1))).expect("it goes on");
    seen.len()
}
