//! Measures how much the main document grows when the same rows are written repeatedly.
//!
//! Two peers write in turn to one table, and exchange their updates: names, times and parents of
//! random rows. For comparison it reports a fresh table, and the table after one write to each of
//! those fields in every row, which gives every field its cell. `YFS_BENCH_ROWS=1000` and
//! `YFS_BENCH_WRITES=1000000` set the numbers. Run with `cargo bench -p yfs-engine --bench churn`.
#![expect(clippy::print_stdout, reason = "a bench prints what it measured")]

use std::{env, time::Instant};

use rand::{RngExt, SeedableRng, rngs::ChaCha8Rng};
use yfs_engine::{
    gate::{DocRole, GateLimits, GatedDoc, UpdateSource},
    id::{ClientId, FileId},
    main_doc::MainDoc,
    table::{FileRow, NodeKind, RowChanges, RowWrite, WriterIds},
    time::Millis,
};

const NOW: i64 = 1_795_296_141_108;

fn main() {
    let number = |name: &str, default: usize| {
        env::var(name).map_or(default, |value| value.parse().expect("a number"))
    };
    let n_rows = number("YFS_BENCH_ROWS", 1_000);
    let n_writes = number("YFS_BENCH_WRITES", 100_000);
    let mut peers = [peer(1), peer(2)];
    for at in 0..n_rows {
        write(&mut peers, at % 2, &created(at), 0);
    }
    let fresh = weight(&peers[0]);
    for at in 0..3 * n_rows {
        let change = change(at % n_rows, at / n_rows, at, n_rows);
        write(&mut peers, at % 2, &change, at as i64);
    }
    let mut tenths = vec![(3 * n_rows, weight(&peers[0]))];
    let begun = Instant::now();
    let mut random = ChaCha8Rng::seed_from_u64(7);
    for at in 1..=n_writes {
        let (row, field) = (random.random_range(0..n_rows), random.random_range(0..3));
        let change = change(row, field, random.random_range(0..usize::MAX >> 1), n_rows);
        write(&mut peers, at % 2, &change, (3 * n_rows + at) as i64);
        if at % (n_writes / 10).max(1) == 0 {
            tenths.push((3 * n_rows + at, weight(&peers[0])));
        }
    }
    println!("{n_rows} rows, {:.0} s of wall time", begun.elapsed().as_secs_f64());
    println!("| writes | structs | bytes | times fresh | times written once |");
    println!("|---:|---:|---:|---:|---:|");
    println!("| 0 | {} | {} | 1.00 | |", fresh.0, fresh.1);
    let (_, (_, once)) = tenths[0];
    for (at, (n_structs, n_bytes)) in tenths {
        let [fresh, once] = [fresh.1, once].map(|other| n_bytes as f64 / other as f64);
        println!("| {at} | {n_structs} | {n_bytes} | {fresh:.2} | {once:.2} |");
    }
}

fn peer(number: u64) -> MainDoc {
    let [rows, cells, meta] = [0, 1, 2].map(|nth| ClientId::from_random(1_000 * number + nth));
    let id = FileId::parse("workspace").expect("an id");
    MainDoc::new(&id, WriterIds { rows, cells, meta }, GateLimits::default())
}

fn id_of(at: usize) -> FileId {
    FileId::parse(&format!("row{at:012}")).expect("an id")
}

fn created(at: usize) -> RowWrite {
    let row = FileRow::new(id_of(at), &format!("file-{at}"), None, NodeKind::File, Millis(NOW));
    RowWrite::Create { row, derived: false }
}

/// Writes one of three fields of a row.
fn change(row: usize, field: usize, value: usize, n_rows: usize) -> RowWrite {
    let mut changes = RowChanges::default();
    match field {
        0 => changes.name = Some(format!("name-{:09}", value % 1_000_000_000).into()),
        1 => changes.updated_at = Some(Millis(NOW + (value % (1 << 40)) as i64)),
        _ => changes.parent = Some(Some(id_of(value % n_rows))),
    }
    RowWrite::Update { id: id_of(row), changes }
}

fn write(peers: &mut [MainDoc; 2], writer: usize, change: &RowWrite, at: i64) {
    let update = peers[writer].plan(std::slice::from_ref(change), Millis(NOW + at));
    let update = update.expect("planned");
    peers[writer].commit(&update);
    peers[1 - writer].receive(&update, UpdateSource::Wire).expect("received");
}

/// Returns how many structs and bytes the document takes.
fn weight(peer: &MainDoc) -> (usize, usize) {
    let state = peer.encode_state();
    let id = FileId::parse("copy").expect("an id");
    let mut copy =
        GatedDoc::new(&id, DocRole::Main, ClientId::from_random(9), GateLimits::default());
    let received = copy.receive(&state, UpdateSource::Store).expect("our own state");
    (received.scans.iter().map(|scan| scan.n_structs).sum(), state.len())
}
