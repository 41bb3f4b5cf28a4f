//! The order of rows, which decides ties: one order in our documents and in Yjs, whatever arrives
//! when.

use rand::{RngExt, SeedableRng, rngs::ChaCha8Rng, seq::SliceRandom};
use serde_json::{Value, json};
use yfs_engine::{
    gate::{GateLimits, UpdateSource},
    id::{ClientId, FileId},
    main_doc::MainDoc,
    table::{FileRow, NodeKind, RowChanges, RowWrite, WriterIds},
    time::Millis,
};
use yfs_tests::node::Yjs;
use yrs::{Any, Array, Out, ReadTxn};

fn main_doc(number: u64) -> MainDoc {
    let [rows, cells, meta] =
        [0, 1, 2].map(|ix| ClientId::new(1000 + (number * 7919) % 613 * 3 + ix).unwrap());
    let id = FileId::parse("workspace").unwrap();
    MainDoc::new(&id, WriterIds { rows, cells, meta }, GateLimits::default())
}

/// One of ours writes a row; clocks stand still, so that there are ties.
fn ours_write(main: &mut MainDoc, rng: &mut ChaCha8Rng, step: usize) -> Vec<u8> {
    let key = FileId::parse(&format!("f{}", rng.random_range(0..5))).unwrap();
    let write = if main.files().get(&key).is_none() {
        let row = FileRow::new(key, "new", None, NodeKind::File, Millis(1));
        RowWrite::Create { row, derived: false }
    } else if rng.random_ratio(1, 4) {
        RowWrite::Delete { id: key }
    } else {
        let name = Some(format!("name {step}").into());
        RowWrite::Update { id: key, changes: RowChanges { name, ..RowChanges::default() } }
    };
    let update = main.plan(&[write], Millis(1)).unwrap();
    main.commit(&update);
    update
}

/// Makes a history of two of ours and two stock clients, and returns its updates.
fn history(yjs: &mut Yjs, rng: &mut ChaCha8Rng) -> Vec<Vec<u8>> {
    let mut ours: Vec<MainDoc> = (0..2).map(main_doc).collect();
    let stock = ["s0", "s1"];
    for (doc, client) in stock.iter().zip([5, 900]) {
        yjs.make(doc, client, true);
    }
    let (mut updates, mut n_writers) = (Vec::new(), 2);
    for step in 0..30 {
        let (nth, doc) = (rng.random_range(0..2), stock[rng.random_range(0..2)]);
        let key = format!("f{}", rng.random_range(0..5));
        match rng.random_range(0..9) {
            0..4 => updates.push(ours_write(&mut ours[nth], rng, step)),
            4 | 5 => {
                let row = json!({ "name": format!("stock {step}"), "type": "file" });
                let set =
                    json!({ "doc": doc, "key": key, "val": row, "now": rng.random_range(0..3) });
                updates.extend(yjs.change("table_set", set));
            }
            6 => {
                let mut again = main_doc(n_writers);
                again.receive(&ours[nth].encode_state(), UpdateSource::Store).unwrap();
                ours[nth] = again;
                n_writers += 1;
            }
            _ => {
                let diff = yjs.encode_diff(doc, &ours[nth].state_vector());
                ours[nth].receive(&diff, UpdateSource::Wire).unwrap();
                let diff = ours[nth].encode_diff(&yjs.state_vector(doc)).unwrap();
                // A reference client deletes what loses when it sees it.
                let applied = json!({ "doc": doc, "update": yfs_tests::node::to_hex(&diff) });
                let emitted = yjs.change("apply", applied);
                updates.extend(emitted);
            }
        }
    }
    for doc in stock {
        yjs.call("drop", json!({ "doc": doc }));
    }
    updates
}

fn yjs_order(yjs: &mut Yjs, updates: &[Vec<u8>], gc: bool) -> Vec<String> {
    yjs.make("order", 1, gc);
    let waits = updates.iter().fold(false, |_, update| yjs.apply("order", update));
    assert!(!waits, "all has arrived");
    let order = ["table:files", "fs:cells"]
        .map(|table| yjs.call("elements", json!({ "doc": "order", "table": table })));
    yjs.call("drop", json!({ "doc": "order" }));
    let elements = order.iter().flat_map(|elements| elements.as_array().unwrap());
    let said = |element: &Value| {
        format!("{} {}", element["key"].as_str().unwrap(), element["ts"].as_f64().unwrap())
    };
    elements.map(said).collect()
}

fn our_order(updates: &[Vec<u8>]) -> Vec<String> {
    let mut main = main_doc(600);
    for update in updates {
        main.receive(update, UpdateSource::Wire).unwrap();
    }
    let said = |element| match element {
        Out::Any(Any::Map(element)) => {
            let ts = yfs_engine::lib0::as_number(&element["ts"]).unwrap();
            format!("{} {ts}", element["key"])
        }
        other => panic!("not an element: {other:?}"),
    };
    main.doc().read(|txn| {
        let arrays = ["table:files", "fs:cells"].into_iter().filter_map(|name| txn.get_array(name));
        arrays.flat_map(|array| array.iter(txn).map(said).collect::<Vec<_>>()).collect()
    })
}

#[test]
fn rows_have_the_order_that_yjs_gives_them() {
    let mut yjs = Yjs::start();
    for seed in 0..60 {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut updates = history(&mut yjs, &mut rng);
        let expected = yjs_order(&mut yjs, &updates, true);
        for gc in [false, true] {
            updates.reverse();
            assert_eq!(yjs_order(&mut yjs, &updates, gc), expected, "seed {seed}: in reverse");
            assert_eq!(our_order(&updates), expected, "seed {seed}: ours");
            updates.shuffle(&mut rng);
            assert_eq!(yjs_order(&mut yjs, &updates, gc), expected, "seed {seed}: in any order");
        }
    }
}
