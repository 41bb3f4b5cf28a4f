//! Elements of the files table, both ways.

use std::cell::RefCell;

use proptest::prelude::*;
use serde_json::{Value, json};
use yfs_engine::gate::{DocRole, GatedDoc, UpdateBuilder};
use yfs_tests::node::Yjs;
use yrs::{Any, Array, ReadTxn, Transact, types::ToJson, updates::decoder::Decode};

use super::{gated, item, receive, runner, sync};

fn row(id: &str, name: &str, ts: u64) -> Value {
    json!({
        "key": id, "ts": ts,
        "val": {
            "id": id, "name": name, "parentId": null, "type": "file", "size": 5,
            "createdAt": 1795296141123u64, "updatedAt": ts, "trashedAt": null
        }
    })
}

fn any(value: Value) -> Any {
    serde_json::from_value(value).unwrap()
}

/// Reads an array as it stands, in order. Numbers become floats, as JavaScript has them.
fn elements(doc: &GatedDoc, root: &str) -> Vec<Value> {
    doc.read(|txn| {
        let Some(array) = txn.get_array(root) else { return Vec::new() };
        array.iter(txn).map(|value| serde_json::to_value(value.to_json(txn)).unwrap()).collect()
    })
    .into_iter()
    .map(floats)
    .collect()
}

fn floats(value: Value) -> Value {
    match value {
        Value::Number(number) => json!(number.as_f64()),
        Value::Array(values) => values.into_iter().map(floats).collect(),
        Value::Object(fields) => {
            fields.into_iter().map(|(key, field)| (key, floats(field))).collect()
        }
        other => other,
    }
}

fn theirs(yjs: &mut Yjs, name: &str, root: &str) -> Vec<Value> {
    let found = yjs.call("elements", json!({ "doc": name, "table": root }));
    found.as_array().unwrap().iter().cloned().map(floats).collect()
}

#[test]
fn yjs_reads_rows_that_we_encode_by_hand() {
    let mut yjs = Yjs::start();
    let mut ours = gated(DocRole::Main, 10);
    yjs.make("main", 20, true);
    // Two of their rows are there first, so that our chain has a right neighbour.
    for update in yjs.change(
        "push",
        json!({ "doc": "main", "values": [row("theirs1", "a.md", 1), row("theirs2", "😀.md", 2)] }),
    ) {
        receive(&mut ours, &update);
    }
    let mut chain = UpdateBuilder::new();
    let values = [any(row("ours1", "x.txt", 3)), any(row("ours2", "y 😀.txt", 4))];
    chain.array_run(item(10, 0), None, Some(item(20, 0)), "table:files", &values);
    let chain = chain.finish();
    ours.apply_own(&chain);
    assert!(!yjs.apply("main", &chain));

    // A rename of ours1: behind our last item, and the old element goes by its id.
    let mut rename = UpdateBuilder::new();
    let value = [any(row("ours1", "renamed.txt", 5))];
    rename.array_run(item(10, 2), Some(item(10, 1)), Some(item(20, 0)), "table:files", &value);
    rename.delete(item(10, 0));
    rename.delete(item(20, 1));
    let rename = rename.finish();
    ours.apply_own(&rename);
    assert!(!yjs.apply("main", &rename));

    let names: Vec<_> = theirs(&mut yjs, "main", "table:files")
        .iter()
        .map(|element| element["val"]["name"].clone())
        .collect();
    assert_eq!(names, ["y 😀.txt", "renamed.txt", "a.md"]);
    assert_eq!(theirs(&mut yjs, "main", "table:files"), elements(&ours, "table:files"));
    sync(&mut yjs, "main", &mut ours);
}

/// Ten thousand writes to a hundred rows: what died must be as small in real Yjs as it is here.
#[test]
fn chains_of_rows_squash_in_yjs_as_well() {
    const N_ROWS: u32 = 100;
    const N_WRITES: u32 = 10_000;
    let mut yjs = Yjs::start();
    let mut ours = gated(DocRole::Main, 10);
    let mut update = UpdateBuilder::new();
    for clock in 0..N_WRITES {
        let value = [any(row(&format!("r{}", clock % N_ROWS), "a", u64::from(clock)))];
        let origin = clock.checked_sub(1).map(|before| item(10, before));
        update.array_run(item(10, clock), origin, None, "table:files", &value);
        if clock >= N_ROWS {
            update.delete(item(10, clock - N_ROWS));
        }
        if clock % 500 == 499 {
            ours.apply_own(&std::mem::take(&mut update).finish());
        }
    }
    yjs.make("main", 20, true);
    let state = ours.encode_state();
    assert!(!yjs.apply("main", &state));
    assert_eq!(theirs(&mut yjs, "main", "table:files"), elements(&ours, "table:files"));
    let n_structs = yjs.call("n_structs", json!({ "doc": "main" })).as_u64().unwrap();
    assert!(n_structs <= u64::from(N_ROWS) + 2, "{n_structs} structs are left in Yjs");
    let fresh = serde_json::to_string(&row("r10", "a", 1)).unwrap().len() * N_ROWS as usize;
    assert!(state.len() < 2 * fresh, "{} bytes are left, of {fresh}", state.len());
    assert!(yjs.encode("main").len() < 2 * fresh);
}

/// One step of two plain peers that write to one table and sync now and then.
#[derive(Debug, Clone)]
enum Step {
    Set { peer: usize, key: u8, now: u32 },
    Delete { peer: usize, key: u8 },
    Sync { from: usize, to: usize },
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let set =
        (0..2usize, 0..6u8, 0..50u32).prop_map(|(peer, key, now)| Step::Set { peer, key, now });
    let delete = (0..2usize, 0..6u8).prop_map(|(peer, key)| Step::Delete { peer, key });
    let sync = (0..2usize).prop_map(|from| Step::Sync { from, to: 1 - from });
    prop::collection::vec(prop_oneof![5 => set, 2 => delete, 2 => sync], 1..40)
}

/// Every update of theirs passes the gate as it is emitted, and the array is in the same order.
#[test]
fn we_hold_the_table_that_plain_peers_write() {
    let yjs = RefCell::new(Yjs::start());
    let peers = ["p0", "p1"];
    let result = runner(40).run(&steps(), |steps| {
        let yjs = &mut *yjs.borrow_mut();
        let mut ours = gated(DocRole::Main, 10);
        for (peer, client) in peers.iter().zip([3, 17]) {
            yjs.call("drop", json!({ "doc": peer }));
            yjs.make(peer, client, true);
            yjs.change("table_open", json!({ "doc": peer }));
        }
        for step in &steps {
            let updates = match *step {
                Step::Set { peer, key, now } => {
                    let (key, now) = (format!("k{key}"), 1_795_296_141_000 + u64::from(now));
                    let val = row(&key, &format!("{peer} 😀 {now}"), now)["val"].clone();
                    yjs.change(
                        "table_set",
                        json!({ "doc": peers[peer], "key": key, "val": val, "now": now }),
                    )
                }
                Step::Delete { peer, key } => yjs.change(
                    "table_delete",
                    json!({ "doc": peers[peer], "key": format!("k{key}") }),
                ),
                Step::Sync { from, to } => {
                    let state_vector = yjs.state_vector(peers[to]);
                    let update = yjs.encode_diff(peers[from], &state_vector);
                    // What applying it emits again holds the deletions of losers that it caused.
                    let update = yfs_tests::node::to_hex(&update);
                    yjs.change("apply", json!({ "doc": peers[to], "update": update }))
                }
            };
            for update in updates {
                receive(&mut ours, &update);
            }
        }
        for peer in peers {
            sync(yjs, peer, &mut ours);
        }
        sync(yjs, peers[0], &mut ours);
        let here = elements(&ours, "table:files");
        prop_assert_eq!(&theirs(yjs, peers[0], "table:files"), &here);
        // What a fresh peer loads from us is the same again.
        yjs.make("fresh", 99, true);
        yjs.apply("fresh", &ours.encode_state());
        prop_assert_eq!(&theirs(yjs, "fresh", "table:files"), &here);
        Ok(())
    });
    if let Err(error) = result {
        panic!("{error}");
    }
}

/// Updates that stock yrs makes of a document that Yjs filled are those that the gate makes.
#[test]
fn a_stock_yrs_peer_agrees() {
    let mut yjs = Yjs::start();
    yjs.make("main", 20, true);
    let mut ours = gated(DocRole::Main, 10);
    for n in 0..20 {
        let (key, val) = (format!("k{}", n % 7), json!({ "n": n, "s": "é😀" }));
        for update in
            yjs.change("table_set", json!({ "doc": "main", "key": key, "val": val, "now": n }))
        {
            receive(&mut ours, &update);
        }
    }
    let stock = yrs::Doc::with_client_id(30);
    stock
        .transact_mut()
        .apply_update(yrs::Update::decode_v1(&ours.encode_state()).unwrap())
        .unwrap();
    let txn = stock.transact();
    let array = txn.get_array("table:files").unwrap();
    let stock: Vec<_> = array
        .iter(&txn)
        .map(|value| floats(serde_json::to_value(value.to_json(&txn)).unwrap()))
        .collect();
    assert_eq!(stock, elements(&ours, "table:files"));
    assert_eq!(stock.len(), 7);
}
