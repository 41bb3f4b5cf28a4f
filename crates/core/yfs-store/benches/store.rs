//! How fast the SQLite store is, and how much it writes: `cargo bench -p yfs-store`.
//!
//! Wall clock, one run each; `YFS_BENCH_SCALE` (1 by default) multiplies the sizes.
#![expect(clippy::print_stdout, reason = "the figures are the point")]

use std::{
    env, fs,
    path::Path,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

use rand::{Rng, SeedableRng, rngs::ChaCha8Rng};
use yfs_store::{
    AppendBatch, BlobStore, DocName, LogRecord, MergeError, MergedSnapshot, Seq, SqliteStore,
    Store, StoreExt, UpdateLog,
};
use yfs_types::time::Millis;

const UPDATE_LEN: usize = 100;
const N_DOCS: usize = 10_000;

fn main() {
    let scale: usize = env::var("YFS_BENCH_SCALE").ok().and_then(|s| s.parse().ok()).unwrap_or(1);
    let n_updates = 100_000 * scale;
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("store.db");

    batches(&path, n_updates);
    one_at_a_time(&directory.path().join("single.db"), 20_000 * scale);
    many_threads(&directory.path().join("threads.db"), 20_000 * scale);
    reopen(&path);
    compact(&path);
    visibility(&directory.path().join("visible.db"));
    blobs(&directory.path().join("blobs.db"));
    wipe(&directory.path().join("wiped.db"), scale);
}

fn doc(number: usize) -> DocName {
    DocName::parse(&format!("d{number:014}")).expect("a name")
}

fn update(number: usize) -> Vec<u8> {
    (0..UPDATE_LEN).map(|at| (number * 31 + at * 7) as u8).collect()
}

fn batches(path: &Path, n_updates: usize) {
    let store = SqliteStore::open_or_create(path).expect("open");
    let written_before = bytes_written();
    let start = Instant::now();
    for first in (0..n_updates).step_by(100) {
        let updates = (first..first + 100).map(|at| (doc(at * 7919 % N_DOCS), update(at)));
        store.append(AppendBatch::new(updates.collect(), Millis(1))).expect("append");
    }
    let elapsed = start.elapsed();
    store.close().expect("close");
    drop(store);
    let rate = n_updates as f64 / elapsed.as_secs_f64();
    let written = bytes_written().zip(written_before).map_or(0, |(after, before)| after - before);
    println!("append, 100 per batch: {rate:.0} updates/s");
    println!(
        "  payload {:.1} MB, file {:.1} MB, written {:.1} MB",
        megabytes(n_updates * UPDATE_LEN),
        megabytes(fs::metadata(path).expect("metadata").len() as usize),
        megabytes(written),
    );
}

fn one_at_a_time(path: &Path, n_updates: usize) {
    let store = SqliteStore::open_or_create(path).expect("open");
    for synced in [false, true] {
        let n_updates = if synced { n_updates / 20 } else { n_updates };
        let before = cpu_time();
        let mut times: Vec<Duration> = (0..n_updates)
            .map(|at| {
                let batch = AppendBatch::one(doc(at % 100), update(at), Millis(1));
                let batch = if synced { batch.synced() } else { batch };
                let start = Instant::now();
                store.append(batch).expect("append");
                start.elapsed()
            })
            .collect();
        let how = if synced { "synced" } else { "buffered" };
        println!("append, one at a time, {how}: {}", spread(&mut times));
        if let (Some(before), Some(after)) = (before, cpu_time()) {
            println!("  processor time each: {:?}", (after - before) / n_updates as u32);
        }
    }
    let each = |name: &str, call: &dyn Fn(usize)| {
        let (start, before) = (Instant::now(), cpu_time());
        (0..n_updates).for_each(call);
        let wall = start.elapsed() / n_updates as u32;
        let cpu = cpu_time().zip(before).map(|(after, before)| (after - before) / n_updates as u32);
        println!("{name}: {wall:?}, processor time {cpu:?}");
    };
    each("head of a document", &|at| {
        store.doc_head(&doc(at % 100)).expect("head");
    });
    each("head of the log", &|_| {
        store.head().expect("head");
    });
    let mut times: Vec<Duration> = (0..n_updates)
        .map(|at| {
            store.append(AppendBatch::one(doc(0), update(at), Millis(1))).expect("append");
            let start = Instant::now();
            store.head().expect("head");
            start.elapsed()
        })
        .collect();
    println!("head of the log after an own append: {}", spread(&mut times));
    let mut seen = store.head().expect("head");
    let mut times: Vec<Duration> = (0..n_updates)
        .map(|at| {
            let batch = AppendBatch::one(doc(0), update(at), Millis(1)).expecting(doc(0), seen);
            let start = Instant::now();
            seen = store.append(batch).expect("append").last;
            start.elapsed()
        })
        .collect();
    println!("append, one at a time, conditional: {}", spread(&mut times));
}

fn many_threads(path: &Path, n_updates: usize) {
    let store = SqliteStore::open_or_create(path).expect("open");
    let start = Instant::now();
    thread::scope(|scope| {
        for thread in 0..8 {
            let store = &store;
            scope.spawn(move || {
                for at in 0..n_updates / 8 {
                    let batch = AppendBatch::one(doc(thread), update(at), Millis(1));
                    store.append(batch).expect("append");
                }
            });
        }
    });
    let rate = n_updates as f64 / start.elapsed().as_secs_f64();
    println!("append, 8 threads, one at a time each: {rate:.0} updates/s");
}

fn reopen(path: &Path) {
    let start = Instant::now();
    let store = SqliteStore::open(path).expect("open");
    let opened = start.elapsed();
    store.load(&doc(1)).expect("load");
    println!("open: {opened:?}, and with the first load: {:?}", start.elapsed());
    let mut times: Vec<Duration> = (0..1000)
        .map(|at| {
            let start = Instant::now();
            store.load(&doc(at * 7 % N_DOCS)).expect("load");
            start.elapsed()
        })
        .collect();
    println!("load a document of ten updates: {}", spread(&mut times));
    let start = Instant::now();
    let (mut after, mut n_records) = (Seq::ZERO, 0);
    loop {
        let tail = store.tail(after, &|_, _| true).expect("tail");
        n_records += tail.records.len();
        after = tail.upto;
        if !tail.more {
            break;
        }
    }
    println!("tail {n_records} records: {:?}", start.elapsed());
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

fn compact(path: &Path) {
    let store = SqliteStore::open(path).expect("open");
    let start = Instant::now();
    for number in 0..N_DOCS {
        store.compact(&doc(number), &join).expect("compact");
    }
    println!("compact {N_DOCS} documents: {:?}", start.elapsed());
    let start = Instant::now();
    store.backup(&path.with_extension("backup"), &mut |_, _| ()).expect("backup");
    println!("backup: {:?}", start.elapsed());
    let start = Instant::now();
    let problems = store.check().expect("check").problems;
    println!("check: {:?}, {} problems", start.elapsed(), problems.len());
}

/// Measures how soon one handle sees another's append; both poll as two processes would.
fn visibility(path: &Path) {
    let here = SqliteStore::open_or_create(path).expect("open");
    let there = SqliteStore::open(path).expect("open");
    let mut times: Vec<Duration> = (0..300)
        .map(|at| {
            let after = here.head().expect("head");
            thread::scope(|scope| {
                let waiting = scope.spawn(|| {
                    assert!(there.wait(after, Duration::from_secs(10)).expect("wait"));
                    Instant::now()
                });
                thread::sleep(Duration::from_millis(3));
                let batch = AppendBatch::one(doc(0), update(at), Millis(1));
                here.append(batch).expect("append");
                let start = Instant::now();
                waiting.join().expect("join").duration_since(start)
            })
        })
        .collect();
    println!("seen by another handle: {}", spread(&mut times));
}

fn blobs(path: &Path) {
    const N_BYTES: usize = 64 << 20;
    let store = SqliteStore::open_or_create(path).expect("open");
    let mut noise = vec![0; N_BYTES];
    ChaCha8Rng::seed_from_u64(7).fill_bytes(&mut noise);
    let start = Instant::now();
    let hash = store.put_bytes(&noise, Millis(1)).expect("put").hash;
    println!("put a blob: {:.0} MB/s", megabytes(noise.len()) / start.elapsed().as_secs_f64());
    let start = Instant::now();
    store.copy_blob(&hash, &mut std::io::sink()).expect("copy");
    println!("read a blob: {:.0} MB/s", megabytes(noise.len()) / start.elapsed().as_secs_f64());
    noise.insert(N_BYTES / 2, 0);
    let before = store.stats().expect("stats").file_bytes;
    store.put_bytes(&noise, Millis(1)).expect("put");
    let grown = store.stats().expect("stats").file_bytes - before;
    println!("put it again with one byte more: {:.2} MB more", megabytes(grown as usize));
}

/// Wipes a store of 400 MB while another handle appends; a hundredth of the store was deleted.
fn wipe(path: &Path, scale: usize) {
    let store = SqliteStore::open_or_create(path).expect("open");
    for round in 0..100 * scale {
        let updates = (0..100).map(|at| (doc(at), vec![round as u8; 40_000]));
        store.append(AppendBatch::new(updates.collect(), Millis(1))).expect("append");
        let updates = (0..100).map(|at| (doc(at), vec![round as u8; 150]));
        store.append(AppendBatch::new(updates.collect(), Millis(1))).expect("append");
    }
    let head = store.doc_head(&doc(7)).expect("head");
    store.forget(&doc(7), head.seq).expect("forget");
    let is_over = AtomicBool::new(false);
    let (elapsed, mut waits) = thread::scope(|scope| {
        let other = scope.spawn(|| {
            let other = SqliteStore::open(path).expect("open");
            let mut waits = Vec::new();
            while !is_over.load(Ordering::Relaxed) {
                let start = Instant::now();
                other.append(AppendBatch::one(doc(1), update(1), Millis(1))).expect("append");
                waits.push(start.elapsed());
            }
            waits
        });
        let start = Instant::now();
        store.wipe().expect("wipe");
        is_over.store(true, Ordering::Relaxed);
        (start.elapsed(), other.join().expect("join"))
    });
    let n_bytes = store.stats().expect("stats").file_bytes as usize;
    println!("wipe {:.0} MB: {elapsed:?}", megabytes(n_bytes));
    println!("  appends meanwhile: {}, {}", waits.len(), spread(&mut waits));
}

fn spread(times: &mut [Duration]) -> String {
    times.sort();
    let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize];
    format!("p50 {:?}, p99 {:?}, max {:?}", at(0.5), at(0.99), at(1.0))
}

fn megabytes(n_bytes: usize) -> f64 {
    n_bytes as f64 / 1e6
}

/// Returns the CPU time of this thread so far, where the system reports it.
fn cpu_time() -> Option<Duration> {
    let text = fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split(' ').next()?.parse().ok().map(Duration::from_nanos)
}

/// Returns the bytes that this process has written so far, where the system reports them.
fn bytes_written() -> Option<usize> {
    let io = fs::read_to_string("/proc/self/io").ok()?;
    io.lines().find_map(|line| line.strip_prefix("wchar: "))?.trim().parse().ok()
}
