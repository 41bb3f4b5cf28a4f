//! Updates that need missing items: they are integrated struct by struct, as Yjs does.

#![expect(clippy::unwrap_used, reason = "all of it is a test")]

use std::collections::HashMap;

use rand::{RngExt, SeedableRng, rngs::ChaCha8Rng, seq::SliceRandom};
use yfs_engine::{
    gate::{DocRole, GateLimits, GateRejection, GatedDoc, UpdateBuilder, UpdateSource, merge},
    id::{ClientId, FileId, ItemId},
    main_doc::MainDoc,
    table::{FileRow, NodeKind, RowChanges, RowWrite, WriterIds},
    time::Millis,
};
use yrs::{
    Any, Array, ClientID, Doc, GetString, Map, MapPrelim, OffsetKind, Options, ReadTxn,
    StateVector, Text, Transact, Update, XmlElementPrelim, XmlFragment, merge_updates_v1,
    updates::{decoder::Decode, encoder::Encode},
};

fn gated(role: DocRole) -> GatedDoc {
    let guid = FileId::parse("guid").unwrap();
    GatedDoc::new(&guid, role, ClientId::new(7).unwrap(), GateLimits::default())
}

fn stock(client: u64, skip_gc: bool) -> Doc {
    Doc::with_options(Options {
        client_id: ClientID::new(client),
        skip_gc,
        offset_kind: OffsetKind::Utf16,
        ..Options::default()
    })
}

fn apply(doc: &Doc, update: &[u8]) {
    doc.transact_mut().apply_update(Update::decode_v1(update).unwrap()).unwrap();
}

/// Runs a transaction and returns its update.
fn edit(doc: &Doc, change: impl FnOnce(&mut yrs::TransactionMut<'_>)) -> Vec<u8> {
    let mut txn = doc.transact_mut();
    change(&mut txn);
    txn.encode_update_v1()
}

fn type_text(doc: &Doc, at: u32, words: &str) -> Vec<u8> {
    let text = doc.get_or_insert_text("text");
    edit(doc, |txn| text.insert(txn, at, words))
}

fn text_of(gate: &GatedDoc) -> String {
    gate.read(|txn| txn.get_text("text").map(|text| text.get_string(txn))).unwrap_or_default()
}

#[test]
fn updates_that_wait_for_each_other_are_read() {
    let (a, b) = (stock(1, true), stock(2, true));
    // Both typed while they were offline.
    let a1 = type_text(&a, 0, "A1 ");
    let b1 = type_text(&b, 0, "B1 ");
    // Each receives the other's next words before the words that those follow.
    let (a2, b2) = (type_text(&a, 3, "A2 "), type_text(&b, 3, "B2 "));
    apply(&a, &b2);
    apply(&b, &a2);
    let [of_a, of_b] =
        [&a, &b].map(|doc| doc.transact().encode_state_as_update_v1(&StateVector::default()));

    let mut gate = gated(DocRole::Content);
    let received = gate.receive(&of_a, UpdateSource::Wire).unwrap();
    assert!(received.changed && received.parked);
    assert_eq!(text_of(&gate), "A1 A2 ", "what can be read is read");
    assert_eq!(gate.parked().list().len(), 1);
    let received = gate.receive(&of_b, UpdateSource::Wire).unwrap();
    assert!(received.changed);
    assert_eq!(gate.parked().list(), []);
    let whole = stock(9, true);
    for update in [a1, b1, a2, b2] {
        apply(&whole, &update);
    }
    let text = whole.get_or_insert_text("text");
    assert_eq!(text_of(&gate), text.get_string(&whole.transact()));
}

#[test]
fn a_recorded_history_of_stock_clients_is_read() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../fixtures/updates/");
    let recorded = std::fs::read_to_string(format!("{root}waiting-for-each-other.hex")).unwrap();
    let updates: Vec<Vec<u8>> = recorded
        .lines()
        .map(|line| {
            let digits = line.as_bytes().chunks(2);
            digits
                .map(|two| u8::from_str_radix(str::from_utf8(two).unwrap(), 16).unwrap())
                .collect()
        })
        .collect();
    let (mut gate, whole) = (gated(DocRole::Content), stock(9, true));
    for update in &updates {
        gate.receive(update, UpdateSource::Wire).unwrap();
        apply(&whole, update);
    }
    assert!(!whole.transact().has_missing_updates());
    assert_eq!(gate.parked().list(), []);
    let text = whole.get_or_insert_text("text");
    assert_eq!(text_of(&gate), text.get_string(&whole.transact()));
}

/// Documents of stock clients, and their updates.
struct History {
    docs: Vec<Doc>,
    /// The update of each transaction.
    written: Vec<Vec<u8>>,
    /// The updates that may be delivered: those, merged ones, and answers to stale state vectors.
    said: Vec<Vec<u8>>,
}

impl History {
    fn new(rng: &mut ChaCha8Rng, skip_gc: bool) -> Self {
        let docs: Vec<Doc> = (1..=3).map(|client| stock(client, skip_gc)).collect();
        let mut history = Self { docs, written: Vec::new(), said: Vec::new() };
        let mut stale = vec![StateVector::default()];
        for _ in 0..12 + rng.random_range(0..24) {
            let nth = rng.random_range(0..3);
            match rng.random_range(0..8) {
                0..4 => {
                    let update = change(&history.docs[nth], rng);
                    history.said.push(update.clone());
                    history.written.push(update);
                }
                4 | 5 if !history.said.is_empty() => {
                    apply(
                        &history.docs[nth],
                        &history.said[rng.random_range(0..history.said.len())],
                    );
                }
                6 if history.said.len() > 2 => {
                    let n = 2 + rng.random_range(0..2);
                    let some: Vec<_> = (0..n)
                        .map(|_| history.said[rng.random_range(0..history.said.len())].clone())
                        .collect();
                    history.said.push(merge_updates_v1(some).unwrap());
                }
                _ => {
                    let txn = history.docs[nth].transact();
                    let since = &stale[rng.random_range(0..stale.len())];
                    history.said.push(txn.encode_state_as_update_v1(since));
                    stale.push(txn.state_vector());
                }
            }
        }
        history
    }

    /// Returns the clients' updates, in any order, some of them dropped or repeated. Each
    /// transaction is among them: by itself, or in its client's answer at the end, which includes
    /// items that the client cannot read yet.
    fn deliveries(&self, rng: &mut ChaCha8Rng) -> Vec<Vec<u8>> {
        let dropped = |rng: &mut ChaCha8Rng| rng.random_ratio(1, 3);
        let mut some: Vec<_> = self.said.iter().filter(|_| !dropped(rng)).cloned().collect();
        for _ in 0..rng.random_range(0..6) {
            some.push(self.said[rng.random_range(0..self.said.len())].clone());
        }
        if rng.random_ratio(1, 3) {
            some.extend(self.written.iter().cloned());
        } else {
            some = some.split_off(some.len() / 2);
            let state =
                |doc: &Doc| doc.transact().encode_state_as_update_v1(&StateVector::default());
            some.extend(self.docs.iter().map(state));
        }
        some.shuffle(rng);
        some
    }

    fn whole(&self) -> Doc {
        let whole = stock(99, true);
        for update in &self.written {
            apply(&whole, update);
        }
        whole
    }
}

fn change(doc: &Doc, rng: &mut ChaCha8Rng) -> Vec<u8> {
    let text = doc.get_or_insert_text("text");
    let table = doc.get_or_insert_array("table:files");
    let map = doc.get_or_insert_map("map");
    let xml = doc.get_or_insert_xml_fragment("richtext");
    edit(doc, |txn| match rng.random_range(0..8) {
        0..4 => {
            let at = rng.random_range(0..=text.len(txn));
            text.insert(txn, at, ["one ", "zwö", "3"][rng.random_range(0..3)]);
        }
        4 if text.len(txn) > 2 => {
            let at = rng.random_range(0..text.len(txn) as usize - 1) as u32;
            text.remove_range(txn, at, rng.random_range(1..=(text.len(txn) - at) as usize) as u32);
        }
        5 => {
            let row = HashMap::from([("key".to_owned(), Any::from(rng.random_range(0..3) as f64))]);
            let at = rng.random_range(0..=table.len(txn));
            table.insert(txn, at, Any::from(row));
            if table.len(txn) > 2 {
                table.remove(txn, rng.random_range(0..2));
            }
        }
        6 => {
            map.insert(txn, format!("key{}", rng.random_range(0..2)), MapPrelim::from([("n", 1)]));
        }
        _ => {
            let at = rng.random_range(0..=xml.len(txn));
            xml.insert(txn, at, XmlElementPrelim::empty("paragraph"));
            if xml.len(txn) > 3 {
                xml.remove_range(txn, 0, 1);
            }
        }
    })
}

/// Asserts that a document has the content of a stock one that has everything.
fn assert_same(gate: &GatedDoc, whole: &Doc, seed: u64) {
    let txn = whole.transact();
    assert_eq!(gate.parked().list(), [], "seed {seed}");
    let sv = StateVector::decode_v1(&gate.state_vector()).unwrap();
    assert_eq!(sv, txn.state_vector(), "seed {seed}");
    assert_eq!(shown(gate), shown_by(&txn), "seed {seed}");
}

fn shown(gate: &GatedDoc) -> String {
    gate.read(|txn| shown_by(txn))
}

fn shown_by(txn: &impl ReadTxn) -> String {
    let text = txn.get_text("text").map(|text| text.get_string(txn));
    let xml = txn.get_xml_fragment("richtext").map(|fragment| fragment.get_string(txn));
    let map = txn.get_map("map").map(|map| {
        let mut entries: Vec<_> =
            map.iter(txn).map(|(key, value)| format!("{key}={}", value.to_string(txn))).collect();
        entries.sort();
        entries
    });
    let table = txn.get_array("table:files");
    let table: Option<Vec<_>> =
        table.map(|array| array.iter(txn).map(|row| row.to_string(txn)).collect());
    format!("{text:?} {xml:?} {map:?} {table:?}").replace("None", "").replace("Some([])", "")
}

#[test]
fn histories_delivered_in_any_order_end_as_yrs_has_them() {
    for seed in 0..400 {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let skip_gc = seed % 4 != 0;
        let history = History::new(&mut rng, skip_gc);
        let whole = history.whole();
        let role = if seed % 2 == 0 { DocRole::Main } else { DocRole::Content };
        let mut gate = gated(role);
        let mut logged = Vec::new();
        for update in history.deliveries(&mut rng) {
            let is_new = gate.check(&update, UpdateSource::Wire).unwrap();
            let received = gate.receive(&update, UpdateSource::Wire).unwrap();
            assert_eq!(received.brought_new, is_new, "seed {seed}");
            assert_eq!(received.refused, [], "seed {seed}");
            if is_new {
                assert!(received.changed || received.parked, "seed {seed}");
                logged.push(update);
            }
            if let Some(known) = logged.last() {
                assert!(!gate.check(known, UpdateSource::Wire).unwrap(), "seed {seed}");
            }
        }
        assert_same(&gate, &whole, seed);
        assert_eq!(gate.encode_diff(&gate.state_vector()).unwrap()[0], 0, "seed {seed}");

        // The log gives the same in any order, and compacted anywhere.
        logged.shuffle(&mut rng);
        let mut again = gated(role);
        for update in &logged {
            again.receive(update, UpdateSource::Store).unwrap();
        }
        assert_same(&again, &whole, seed);
        let (early, late) = logged.split_at(rng.random_range(0..=logged.len()));
        let merged = merge(role, None, early).unwrap();
        let kept = early.iter().zip(&merged.absorbed).filter(|(_, absorbed)| !**absorbed);
        let mut rest: Vec<_> = kept.map(|(update, _)| update.clone()).collect();
        rest.extend(late.iter().cloned());
        let mut compacted = gated(role);
        compacted.receive(&merged.state, UpdateSource::Store).unwrap();
        for update in &rest {
            compacted.receive(update, UpdateSource::Store).unwrap();
        }
        assert_same(&compacted, &whole, seed);
        let merged = merge(role, Some(&merged.state), &rest).unwrap();
        assert!(merged.absorbed.iter().all(|absorbed| *absorbed), "seed {seed}");
    }
}

/// Rows of one client, each behind the one before.
fn rows(client: u64, from: u32, n: usize) -> Vec<u8> {
    let id = |clock| ItemId::new(ClientId::new(client).unwrap(), clock);
    let mut update = UpdateBuilder::new();
    let values = vec![Any::from("a row that takes some bytes"); n];
    let origin = from.checked_sub(1).map(id);
    update.array_run(id(from), origin, None, "table:files", &values);
    update.finish()
}

#[test]
fn too_much_that_waits_gives_way_to_what_comes_later() {
    let mut gate = gated(DocRole::Main);
    let limit = GateLimits::default().parked_bytes;
    let (mut n_dropped, mut clock) = (0, 1);
    while n_dropped < 100 {
        let received = gate.receive(&rows(5, clock, 1), UpdateSource::Wire).unwrap();
        clock += 2;
        for (_, refusal) in &received.refused {
            assert_eq!(*refusal, GateRejection::TooMuchParked);
        }
        n_dropped += received.refused.len();
    }
    assert!(gate.has_dropped_parked());
    let parked: usize = gate.parked().list().iter().map(|parked| parked.update.len()).sum();
    assert!(parked <= limit);
    // Independent of parked updates, an update out of order is parked too and integrated later.
    assert!(gate.receive(&rows(6, 1, 1), UpdateSource::Wire).unwrap().parked);
    gate.receive(&rows(6, 0, 1), UpdateSource::Wire).unwrap();
    assert_eq!(gate.clock_of(ClientId::new(6).unwrap()), 2);
    // One update that alone would take more is rejected, and changes nothing.
    let huge = rows(8, 1, limit / 20);
    assert_eq!(gate.check(&huge, UpdateSource::Wire), Err(GateRejection::TooMuchParked));
    assert_eq!(gate.receive(&huge, UpdateSource::Wire), Err(GateRejection::TooMuchParked));
    gate.receive(&rows(8, 0, 1), UpdateSource::Wire).unwrap();
    assert!(gate.receive(&huge, UpdateSource::Wire).unwrap().changed);
}

#[test]
fn a_log_may_hold_any_amount_in_any_order() {
    let mut gate = gated(DocRole::Main);
    let n = 2 * GateLimits::default().parked_bytes as u32 / 128;
    for clock in (0..n).rev() {
        let received = gate.receive(&rows(5, clock, 1), UpdateSource::Store).unwrap();
        assert_eq!(received.refused, []);
    }
    assert_eq!(gate.clock_of(ClientId::new(5).unwrap()), n);
    assert_eq!(gate.parked().list(), []);
}

#[test]
fn what_was_refused_when_it_could_be_read_is_kept_by_compaction() {
    let id = |client, clock| ItemId::new(ClientId::new(client).unwrap(), clock);
    // The second struct is between two lists, which shows when its neighbors are there.
    let (mut first, mut wrong) = (UpdateBuilder::new(), UpdateBuilder::new());
    first.array_run(id(5, 0), None, None, "table:files", &["a".into()]);
    first.array_run(id(6, 0), None, None, "fs:cells", &["b".into()]);
    wrong.array_run(id(8, 0), None, None, "table:files", &["good".into()]);
    wrong.array_run(id(8, 1), Some(id(5, 0)), Some(id(6, 0)), "table:files", &["c".into()]);
    let (first, wrong) = (first.finish(), wrong.finish());

    let mut gate = gated(DocRole::Main);
    assert!(gate.receive(&wrong, UpdateSource::Wire).unwrap().parked);
    let received = gate.receive(&first, UpdateSource::Wire).unwrap();
    assert_eq!(received.refused.len(), 1);
    assert_eq!(gate.clock_of(ClientId::new(8).unwrap()), 1);
    let in_order = [wrong.clone(), first.clone()];
    let merged = merge(DocRole::Main, None, &in_order).unwrap();
    assert_eq!(merged.absorbed, [false, true]);
    // A log in another order gives the same document.
    for log in [in_order, [first.clone(), wrong.clone()]] {
        let mut again = gated(DocRole::Main);
        for update in &log {
            again.receive(update, UpdateSource::Store).unwrap();
        }
        assert_eq!(again.state_vector(), gate.state_vector());
    }
    // A peer whose update is complete is rejected at once.
    let mut other = gated(DocRole::Main);
    other.receive(&first, UpdateSource::Wire).unwrap();
    assert!(other.receive(&wrong, UpdateSource::Wire).is_err());
    assert_eq!(other.clock_of(ClientId::new(8).unwrap()), 0);
}

#[test]
fn a_row_whose_next_version_waits_stays_in_the_tree() {
    let main_doc = |number: u64| {
        let [rows, cells, meta] = [0, 1, 2].map(|ix| ClientId::from_random(number * 3 + ix));
        let id = FileId::parse("workspace").unwrap();
        MainDoc::new(&id, WriterIds { rows, cells, meta }, GateLimits::default())
    };
    let (mut one, mut two, mut reader) = (main_doc(1), main_doc(2), main_doc(3));
    let id = |text: &str| FileId::parse(text).unwrap();
    let create = |name: &str| RowWrite::Create {
        row: FileRow::new(id(name), name, None, NodeKind::File, Millis(5)),
        derived: false,
    };
    let created = one.plan(&[create("a")], Millis(1)).unwrap();
    one.commit(&created);
    two.receive(&created, UpdateSource::Wire).unwrap();
    reader.receive(&created, UpdateSource::Wire).unwrap();
    // A stock client writes rows only, under one id.
    let lost = two.plan(&[create("b")], Millis(2)).unwrap();
    two.commit(&lost);
    let changes = RowChanges { size: Some(9), name: Some("c".into()), ..RowChanges::default() };
    let renamed = two.plan(&[RowWrite::Update { id: id("a"), changes }], Millis(3)).unwrap();
    let rows_only = Update::decode_v1(&renamed).unwrap();
    let rows_only = rows_only.encode_v1();

    let changes = reader.receive(&rows_only, UpdateSource::Wire).unwrap();
    assert!(changes.parked);
    assert!(reader.tree().path_of(&id("a")).is_some(), "the file must not be gone meanwhile");
    reader.receive(&lost, UpdateSource::Wire).unwrap();
    assert_eq!(reader.tree().path_of(&id("a")).unwrap().to_string(), "/c");
    assert_eq!(reader.state_vector().len(), {
        two.commit(&renamed);
        two.state_vector().len()
    });
}
