//! Rows are placed so that every document of Yjs has them in one order, which decides ties.

#![expect(clippy::unwrap_used, reason = "all of it is a test")]

use std::collections::HashMap;

use rand::{RngExt, SeedableRng, rngs::ChaCha8Rng, seq::SliceRandom};
use yfs_engine::{
    gate::{GateLimits, UpdateSource},
    id::{ClientId, FileId},
    main_doc::MainDoc,
    table::{FileRow, NodeKind, RowChanges, RowWrite, WriterIds},
    time::Millis,
};
use yrs::{
    Any, Array, ClientID, Doc, OffsetKind, Options, Out, ReadTxn, StateVector, Transact, Update,
    updates::{decoder::Decode, encoder::Encode},
};

fn id(text: &str) -> FileId {
    FileId::parse(text).unwrap()
}

fn main_doc(number: u64) -> MainDoc {
    let [rows, cells, meta] =
        [0, 1, 2].map(|ix| ClientId::new(1000 + (number * 7919) % 613 * 3 + ix).unwrap());
    MainDoc::new(&id("workspace"), WriterIds { rows, cells, meta }, GateLimits::default())
}

fn stock(client: u64, skip_gc: bool) -> Doc {
    Doc::with_options(Options {
        client_id: ClientID::new(client),
        skip_gc,
        offset_kind: OffsetKind::Utf16,
        ..Options::default()
    })
}

/// Returns the elements of the two arrays, in their order.
fn order(txn: &impl ReadTxn) -> Vec<String> {
    let elements = ["table:files", "fs:cells"].into_iter().filter_map(|root| txn.get_array(root));
    let elements = elements.flat_map(|array| array.iter(txn).collect::<Vec<_>>());
    elements
        .map(|element| match element {
            Out::Any(Any::Map(row)) => format!("{:?} {:?}", row.get("key"), row.get("ts")),
            other => panic!("not a row: {other:?}"),
        })
        .collect()
}

/// Peers that write rows: some of ours, whose processes end and begin, and stock clients.
struct History {
    ours: Vec<MainDoc>,
    stock: Vec<Doc>,
    updates: Vec<Vec<u8>>,
    n_writers: u64,
}

impl History {
    fn new(rng: &mut ChaCha8Rng) -> Self {
        let ours = (0..3).map(main_doc).collect();
        let stock = (0..2).map(|nth| stock(5 + 900 * nth, false)).collect();
        let mut history = Self { ours, stock, updates: Vec::new(), n_writers: 3 };
        for step in 0..40 {
            match rng.random_range(0..10) {
                0..5 => history.ours_write(rng, step),
                5 | 6 => history.stock_writes(rng, step),
                7 => history.reopen(rng),
                _ => history.sync(rng),
            }
        }
        history
    }

    fn ours_write(&mut self, rng: &mut ChaCha8Rng, step: i64) {
        let nth = rng.random_range(0..self.ours.len());
        let main = &mut self.ours[nth];
        let key = id(&format!("f{}", rng.random_range(0..6)));
        let write = if main.files().get(&key).is_none() {
            let row = FileRow::new(key, "new", None, NodeKind::File, Millis(1));
            RowWrite::Create { row, derived: false }
        } else if rng.random_ratio(1, 4) {
            RowWrite::Delete { id: key }
        } else {
            let name = Some(format!("name {step}").into());
            RowWrite::Update { id: key, changes: RowChanges { name, ..RowChanges::default() } }
        };
        // Clocks that stand still, so that there are ties.
        let update = main.plan(&[write], Millis(1)).unwrap();
        main.commit(&update);
        self.updates.push(update);
    }

    fn stock_writes(&mut self, rng: &mut ChaCha8Rng, step: i64) {
        let doc = &self.stock[rng.random_range(0..self.stock.len())];
        let array = doc.get_or_insert_array("table:files");
        let mut txn = doc.transact_mut();
        let len = array.len(&txn);
        if len > 1 && rng.random_ratio(1, 2) {
            array.remove(&mut txn, rng.random_range(0..len));
        }
        let row = HashMap::from([
            ("key".to_owned(), Any::from(format!("f{}", rng.random_range(0..6)))),
            ("ts".to_owned(), Any::from(rng.random_range(0..4) as f64)),
            ("val".to_owned(), Any::from(format!("stock {step}"))),
        ]);
        let at =
            [0, array.len(&txn), rng.random_range(0..=array.len(&txn))][rng.random_range(0..3)];
        array.insert(&mut txn, at, Any::from(row));
        self.updates.push(txn.encode_update_v1());
    }

    /// A process ends, and another begins under new ids.
    fn reopen(&mut self, rng: &mut ChaCha8Rng) {
        let nth = rng.random_range(0..self.ours.len());
        let mut again = main_doc(self.n_writers);
        again.receive(&self.ours[nth].encode_state(), UpdateSource::Store).unwrap();
        self.ours[nth] = again;
        self.n_writers += 1;
    }

    fn sync(&mut self, rng: &mut ChaCha8Rng) {
        let (ours, stock) =
            (rng.random_range(0..self.ours.len()), rng.random_range(0..self.stock.len()));
        let other = rng.random_range(0..self.ours.len());
        let diff = self.ours[other].encode_diff(&self.ours[ours].state_vector()).unwrap();
        self.ours[ours].receive(&diff, UpdateSource::Store).unwrap();
        let stock = &self.stock[stock];
        let sv = StateVector::decode_v1(&self.ours[ours].state_vector()).unwrap();
        let diff = stock.transact().encode_diff_v1(&sv);
        self.ours[ours].receive(&diff, UpdateSource::Wire).unwrap();
        let sv = stock.transact().state_vector().encode_v1();
        let diff = self.ours[ours].encode_diff(&sv).unwrap();
        stock.transact_mut().apply_update(Update::decode_v1(&diff).unwrap()).unwrap();
    }
}

/// Returns the order in a stock document that gets updates one after another.
fn stock_order(updates: &[Vec<u8>], skip_gc: bool) -> Vec<String> {
    let doc = stock(1, skip_gc);
    for update in updates {
        doc.transact_mut().apply_update(Update::decode_v1(update).unwrap()).unwrap();
    }
    order(&doc.transact())
}

/// Returns the order in a gated document that gets updates in any order.
fn gated_order(updates: &[Vec<u8>], source: UpdateSource) -> (Vec<String>, Vec<u8>) {
    let mut main = main_doc(600);
    for update in updates {
        main.receive(update, source).unwrap();
    }
    assert!(main.doc().parked().is_empty());
    (main.doc().read(|txn| order(txn)), main.encode_state())
}

#[test]
fn rows_have_one_order_whatever_arrives_when() {
    for seed in 0..300 {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut updates = History::new(&mut rng).updates;
        let expected = stock_order(&updates, true);
        assert_eq!(stock_order(&updates, false), expected, "seed {seed}: collected");
        for _ in 0..3 {
            let (order, state) = gated_order(&updates, UpdateSource::Wire);
            assert_eq!(order, expected, "seed {seed}: in another order");
            assert_eq!(stock_order(&[state], true), expected, "seed {seed}: as one state");
            updates.reverse();
            let (order, _) = gated_order(&updates, UpdateSource::Store);
            assert_eq!(order, expected, "seed {seed}: in reverse");
            updates.shuffle(&mut rng);
        }
    }
}
