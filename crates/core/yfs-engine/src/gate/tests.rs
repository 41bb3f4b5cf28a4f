//! Tests of the gate that need no process of their own.

#[path = "../../tests/it/hostile/corpus.rs"]
mod corpus;
mod ordering;
mod split;

use std::sync::Arc;

use yrs::{
    Any, ClientID, GetString, ID, IdSet, ReadTxn, Text, Update, WriteTxn, updates::decoder::Decode,
};

use super::{
    DocRole, GateLimits, GateRejection, GatedDoc, IdRange, LoggedUpdates, ReceiveOutcome, RootIx,
    UpdateBuilder, UpdateScan, UpdateSource,
    canonical::canonical,
    lazy::LazyDoc,
    merge,
    parse::{StructKind, parse},
};
use crate::id::{ClientId, FileId, ItemId};

fn client(number: u64) -> ClientId {
    ClientId::new(number).unwrap()
}

fn id(number: u64, clock: u32) -> ItemId {
    ItemId::new(client(number), clock)
}

fn doc(role: DocRole, number: u64) -> GatedDoc {
    GatedDoc::new(&FileId::parse("guid").unwrap(), role, client(number), GateLimits::default())
}

fn fixture(name: &str) -> Vec<u8> {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../fixtures/");
    std::fs::read(format!("{root}{name}")).unwrap()
}

fn decode(update: &[u8]) -> Update {
    Update::decode_v1(update).expect("an update")
}

/// Writes rows one after another, each behind the one before.
fn rows(number: u64, from: u32, values: &[&str]) -> Vec<u8> {
    let mut update = UpdateBuilder::new();
    let values: Vec<Any> = values.iter().map(|value| Any::from(*value)).collect();
    let origin = from.checked_sub(1).map(|clock| id(number, clock));
    update.array_run(id(number, from), origin, None, "table:files", &values);
    update.finish()
}

fn values(received: &ReceiveOutcome) -> Vec<String> {
    let elements = received.scans.iter().flat_map(UpdateScan::values);
    elements.map(|(element, value)| format!("{:?}={}", element.id, value.to_any())).collect()
}

#[test]
fn rows_arrive_with_their_ids() {
    let mut doc = doc(DocRole::Main, 1);
    let received = doc.receive(&rows(7, 0, &["a", "b"]), UpdateSource::Wire).unwrap();
    assert_eq!(values(&received), ["7:0=a", "7:1=b"]);
    assert!(received.changed && !received.parked);
    let received = doc.receive(&rows(7, 0, &["a", "b"]), UpdateSource::Wire).unwrap();
    assert_eq!(received, ReceiveOutcome::default());
    // The rest of a run that is partly known, which does not state its parent.
    let received = doc.receive(&rows(7, 1, &["b", "c"]), UpdateSource::Wire).unwrap();
    assert_eq!(values(&received), ["7:2=c"]);
    let tail = doc.items().last_item(client(7)).unwrap();
    assert_eq!((tail.id, tail.right, tail.root), (id(7, 2), None, Some(RootIx::Files)));
}

#[test]
fn what_is_incomplete_waits_outside() {
    let mut doc = doc(DocRole::Main, 1);
    for from in [4, 2, 3] {
        let update = rows(7, from, &["x"]);
        assert!(doc.receive(&update, UpdateSource::Wire).unwrap().parked);
        assert!(doc.receive(&update, UpdateSource::Wire).unwrap().parked);
    }
    assert_eq!(doc.parked().list().len(), 3);
    assert_eq!(doc.state_vector(), [0]);
    let received = doc.receive(&rows(7, 0, &["a", "b"]), UpdateSource::Wire).unwrap();
    assert_eq!(values(&received), ["7:0=a", "7:1=b", "7:2=x", "7:3=x", "7:4=x"]);
    assert_eq!(doc.parked().list(), []);
    assert_eq!(doc.clock_of(client(7)), 5);
}

#[test]
fn peers_cannot_write_under_our_client_ids() {
    let mut doc = doc(DocRole::Main, 7);
    doc.protect(&[client(8)]);
    for number in [7, 8] {
        let refusal = doc.receive(&rows(number, 0, &["forged"]), UpdateSource::Wire).unwrap_err();
        assert_eq!(refusal, GateRejection::OurClient { client: client(number) });
        doc.apply_own(&rows(number, 0, &["a"]));
        let echo = doc.receive(&rows(number, 0, &["other"]), UpdateSource::Wire).unwrap();
        assert!(!echo.changed && echo.scans.is_empty());
        assert!(doc.receive(&rows(number, 0, &["a", "b"]), UpdateSource::Wire).is_err());
        assert!(doc.receive(&rows(number, 5, &["a", "b"]), UpdateSource::Wire).is_err());
        let mut delete = UpdateBuilder::new();
        delete.delete(id(number, 1));
        assert!(doc.receive(&delete.finish(), UpdateSource::Wire).is_err());
        assert!(doc.receive(&rows(number, 1, &["b"]), UpdateSource::Store).unwrap().changed);
    }
}

#[test]
fn edits_are_noted() {
    let mut doc = doc(DocRole::Content, 7);
    let (_, nothing) = doc.edit(|_| ());
    assert_eq!(nothing, None);
    let (_, update) = doc.edit(|txn| {
        let text = txn.get_or_insert_text("text");
        text.insert(txn, 0, "hello wörld");
        text.remove_range(txn, 1, 3);
    });
    assert_eq!(doc.clock_of(client(7)), 11);
    let mut other = super::tests::doc(DocRole::Content, 8);
    let received = other.receive(&update.unwrap(), UpdateSource::Wire).unwrap();
    assert_eq!(received.scans[0].deleted.len(), 1);
    let text = other.read(|txn| txn.get_text("text").unwrap().get_string(txn));
    assert_eq!(text, "ho wörld");
}

#[test]
fn the_reference_implementation_is_understood() {
    let expected: serde_json::Value =
        serde_json::from_slice(&fixture("reference-wire/spec-era.json")).unwrap();
    let mut doc = doc(DocRole::Main, 1);
    let update = fixture("reference-wire/spec-era-main.v1.bin");
    let received = doc.receive(&update, UpdateSource::Wire).unwrap();
    let scan = &received.scans[0];
    let live: Vec<_> = scan
        .values()
        .filter(|(element, _)| {
            let id = element.id;
            !scan.deleted.iter().any(|range| {
                range.client == id.client && (range.start..range.end()).contains(&id.clock)
            })
        })
        .map(|(_, value)| serde_json::to_value(value.to_any()).unwrap())
        .collect();
    let wanted = expected["table_files"].as_array().unwrap();
    assert_eq!(live.len(), wanted.len());
    for row in wanted {
        let same = live.iter().find(|value| value["key"] == row["key"]).unwrap();
        assert_eq!(same["val"]["name"], row["val"]["name"]);
        assert_eq!(same["ts"].as_f64(), row["ts"].as_f64());
    }
    for name in ["a.txt", "b.md", "c.md"] {
        let mut doc = super::tests::doc(DocRole::Content, 1);
        let update = fixture(&format!("reference-wire/spec-era-{name}.v1.bin"));
        assert!(doc.receive(&update, UpdateSource::Wire).unwrap().changed);
        let text = doc.read(|txn| txn.get_text("text").map(|text| text.get_string(txn)));
        assert_eq!(text.unwrap_or_default(), expected["docs"][name]["text"].as_str().unwrap());
    }
}

#[test]
fn merging_reports_what_waits() {
    let updates = [rows(7, 0, &["a"]), rows(7, 2, &["c"]), rows(8, 0, &["d"])];
    let merged = merge(DocRole::Main, None, &updates).unwrap();
    assert_eq!(merged.absorbed, [true, false, true]);
    let again = merge(DocRole::Main, Some(&merged.state), &[rows(7, 1, &["b"])]).unwrap();
    assert_eq!(again.absorbed, [true]);
}

fn id_set(ranges: impl Iterator<Item = (u64, u32, u32)>) -> IdSet {
    let mut set = IdSet::new();
    for (client, start, len) in ranges {
        set.insert(ID::new(ClientID::new(client), start), len);
    }
    set
}

#[test]
fn updates_are_read_as_yrs_reads_them() {
    for update in corpus::corpus() {
        let parsed = parse(&update, &GateLimits::default(), true).unwrap();
        assert!(!parsed.rewrite);
        let ours = parsed.runs.iter().flat_map(|run| {
            let structs = &parsed.structs[run.first..run.end];
            let real = structs.iter().filter(|item| item.kind != StructKind::Skip);
            real.map(|item| (run.client.get(), item.clock, item.len))
        });
        let theirs = Update::decode_v1(&update).unwrap();
        assert_eq!(id_set(ours), theirs.insertions(true));
        let deletes = parsed.deletes.iter();
        let deletes = deletes.map(|range| (range.client.get(), range.start, range.len));
        assert_eq!(&id_set(deletes), theirs.delete_set());
    }
}

#[test]
fn rows_are_read_as_yrs_reads_them() {
    let mut doc = doc(DocRole::Main, 7);
    let mut rows = std::collections::BTreeMap::new();
    for update in corpus::corpus() {
        for scan in doc.receive(&update, UpdateSource::Wire).unwrap().scans {
            for (element, value) in scan.values() {
                assert_eq!(element.root, RootIx::Files);
                assert!(rows.insert(element.id, value.to_any()).is_none(), "reported twice");
            }
            for range in scan.deleted {
                rows.retain(|id, _| {
                    id.client != range.client || !(range.start..range.end()).contains(&id.clock)
                });
            }
        }
    }
    let table = doc.read(|txn| {
        let table = txn.get_array("table:files").unwrap();
        yrs::Array::iter(&table, txn).map(|value| value.to_string(txn)).collect::<Vec<_>>()
    });
    assert_eq!(rows.len(), table.len());
    let key = |value: &Any| match value {
        Any::Map(row) => row["k"].to_string(),
        _ => panic!("not a row"),
    };
    for row in rows.values() {
        assert!(table.iter().any(|text| text.contains(&format!("k: {}", key(row)))));
    }
}

#[test]
fn lists_of_one_client_take_one_range_each() {
    let mut doc = doc(DocRole::Main, 7);
    for clock in 0..1000 {
        doc.apply_own(&rows(7, clock, &["x"]));
    }
    assert_eq!(doc.places.clients[&client(7)].spans.len(), 1);
    let state = doc.encode_state();
    let mut copy = super::tests::doc(DocRole::Main, 8);
    copy.receive(&state, UpdateSource::Store).unwrap();
    assert_eq!(copy.places.clients[&client(7)].spans.len(), 1);
    assert_eq!(copy.items().last_item(client(7)), doc.items().last_item(client(7)));
}

#[test]
fn what_was_collected_still_has_its_place() {
    let mut doc = doc(DocRole::Main, 7);
    doc.apply_own(&rows(7, 0, &["a", "b", "c"]));
    let mut delete = UpdateBuilder::new();
    for clock in 0..3 {
        delete.delete(id(7, clock));
    }
    assert_eq!(doc.apply_own(&delete.finish()).deleted.len(), 1);
    let mut copy = super::tests::doc(DocRole::Main, 8);
    let scan = copy.receive(&doc.encode_state(), UpdateSource::Store).unwrap().scans.remove(0);
    assert_eq!(scan.elements, []);
    let tail = copy.items().last_item(client(7)).unwrap();
    assert_eq!(tail.root, Some(RootIx::Files));
    let mut next = UpdateBuilder::new();
    next.array_run(id(8, 0), Some(tail.id), tail.right, "table:files", &["d".into()]);
    assert_eq!(copy.apply_own(&next.finish()).elements[0].root, RootIx::Files);
}

#[test]
fn what_yrs_fails_on_is_not_touched_again() {
    let mut doc = doc(DocRole::Content, 7);
    let panics = std::panic::AssertUnwindSafe(|| {
        doc.edit(|txn| {
            txn.get_or_insert_text("text").insert(txn, 0, "half of an edit");
            panic!("as requested")
        })
    });
    assert!(std::panic::catch_unwind(panics).is_err());
    assert!(doc.health().is_err());
    // Dropping the transaction would have committed it, while unwinding.
    assert!(doc.read(|txn| txn.get_text("text").is_none()));
    assert!(doc.receive(&rows(8, 0, &["a"]), UpdateSource::Store).is_err());
    assert!(doc.encode_diff(&[0]).is_err());
    assert_eq!(doc.edit(|txn| txn.get_or_insert_text("text").insert(txn, 0, "a")).1, None);
    assert_eq!(doc.health().unwrap_err().code(), 4500);
}

#[test]
fn a_document_made_late_is_the_one_made_at_once() {
    let (mut late, mut early) = (doc(DocRole::Main, 7), doc(DocRole::Main, 7));
    let mut delete = UpdateBuilder::new();
    delete.delete_range(IdRange { client: client(8), start: 1, len: 2 });
    let (first, rest) = (rows(8, 0, &["a", "b"]), rows(8, 2, &["c", "d"]));
    for update in [first, rows(9, 0, &["x"]), rest, delete.finish(), rows(9, 1, &["y"])] {
        let received = late.receive(&update, UpdateSource::Store).unwrap();
        let changed = early.receive(&update, UpdateSource::Wire).unwrap();
        assert_eq!(received, changed);
        assert_eq!(late.state_vector(), early.state_vector());
    }
    let mut next = UpdateBuilder::new();
    next.array_run(id(7, 0), None, None, "table:files", &["a".into()]);
    let update = next.finish();
    assert_eq!(late.apply_own(&update), early.apply_own(&update));
    assert!(late.is_waiting() && !early.is_waiting());
    // All of it is put together from the updates; a part is not.
    let [whole, by_yrs] = [&late, &early].map(|doc| doc.encode_diff(&[0]).unwrap());
    assert_eq!(canonical(DocRole::Main, &whole), canonical(DocRole::Main, &by_yrs));
    assert!(late.is_waiting());
    let part = [1, 8, 2];
    assert_eq!(late.encode_diff(&part).unwrap(), early.encode_diff(&part).unwrap());
    assert!(!late.is_waiting());
    assert_eq!(late.encode_state(), early.encode_state());
}

/// The updates of a document, as its log has them.
#[derive(Debug)]
struct MemoryLog(Vec<Vec<u8>>);

impl LoggedUpdates for MemoryLog {
    fn updates(&self) -> Result<Vec<Vec<u8>>, String> {
        Ok(self.0.clone())
    }
}

/// Returns a document whose updates are in a log, and its whole state.
fn stored_state(updates: &[Vec<u8>]) -> (GatedDoc, Option<Vec<u8>>) {
    let [mut loaded, mut based] = [doc(DocRole::Main, 7), doc(DocRole::Main, 7)];
    for update in updates {
        loaded.receive(update, UpdateSource::Store).ok();
    }
    let (guid, log) = (FileId::parse("guid").unwrap(), MemoryLog(updates.to_vec()));
    based.doc = LazyDoc::on_base(&guid, client(7), GateLimits::default(), Arc::new(log));
    based.places = loaded.places;
    let state = based.stored_state();
    (based, state)
}

#[test]
fn a_whole_state_has_neither_deleted_values_nor_what_is_logged_twice() {
    let mut delete = UpdateBuilder::new();
    delete.delete_range(IdRange { client: client(8), start: 1, len: 2 });
    let first = vec![rows(8, 0, &["a"]), rows(8, 1, &["gone", "gone"]), rows(8, 3, &["d", "e"])];
    let snapshot = merge(DocRole::Main, None, &first).unwrap().state;
    let again = first.clone();
    let more = (10..400).map(|number| rows(number, 0, &["x"]));
    let updates: Vec<Vec<u8>> =
        std::iter::once(snapshot).chain(again).chain([delete.finish()]).chain(more).collect();
    let (doc, state) = stored_state(&updates);
    let state = state.expect("yrs is not needed");
    assert!(doc.is_waiting());
    assert!(!state.windows(4).any(|window| window == b"gone"));
    assert_eq!(canonical(DocRole::Main, &state), canonical(DocRole::Main, &doc.encode_state()));
    assert!(state.len() <= doc.encode_state().len(), "structs are joined");
    assert_eq!(doc.stored_state(), None, "yrs has the document");
}

#[test]
fn what_is_uncertain_is_not_in_a_whole_state_without_yrs() {
    let row = rows(8, 0, &["a", "b"]);
    let mut early = UpdateBuilder::new();
    early.delete(id(9, 0));
    let map = yrs::Doc::with_client_id(9);
    let entry = map.get_or_insert_map("other");
    yrs::Map::insert(&entry, &mut yrs::Transact::transact_mut(&map), "key", 1);
    let other = yrs::Transact::transact(&map).encode_state_as_update_v1(&Default::default());
    let forged = [&b"\x01\x01\x09\x00\x84\x09\x05\x01x"[..], &[0]].concat();
    for (about, update) in [
        ("an update that waits", rows(8, 5, &["x"])),
        ("a deletion that waits", early.finish()),
        ("an entry of a map", other),
        ("an update that is refused", forged),
        ("a struct that is known in part", rows(8, 1, &["b", "c"])),
        ("bytes that are no update", b"none".to_vec()),
    ] {
        assert!(stored_state(std::slice::from_ref(&row)).1.is_some());
        assert_eq!(stored_state(&[row.clone(), update]).1, None, "{about}");
        // The log lost what the document has.
        let (mut doc, _) = stored_state(std::slice::from_ref(&row));
        doc.places.delete(&[IdRange { client: client(8), start: 0, len: 1 }]);
        assert_eq!(doc.stored_state(), None, "a deletion that is not in the log");
    }
}

#[test]
fn what_may_delete_more_than_it_says_makes_the_document() {
    let mut doc = doc(DocRole::Main, 7);
    doc.receive(&rows(8, 0, &["a"]), UpdateSource::Store).unwrap();
    assert!(doc.is_waiting());
    let map = yrs::Doc::with_client_id(9);
    let entry = map.get_or_insert_map("other");
    yrs::Map::insert(&entry, &mut yrs::Transact::transact_mut(&map), "key", 1);
    let txn = yrs::Transact::transact(&map);
    doc.receive(&txn.encode_state_as_update_v1(&yrs::StateVector::default()), UpdateSource::Store)
        .unwrap();
    assert!(!doc.is_waiting());
    assert_eq!(doc.clock_of(client(8)), 1);
    let n_rows = doc.read(|txn| yrs::Array::len(&txn.get_array("table:files").unwrap(), txn));
    assert_eq!(n_rows, 1);
}
