//! What it may cost yrs to order items that were made for one place.

use proptest::prelude::*;
use yrs::{Doc, GetString as _, OffsetKind, Options, ReadTxn as _, Text as _, Transact as _};

use super::{decode, doc, id};
use crate::{
    gate::{DocRole, GateLimits, GateRejection, GatedDoc, UpdateBuilder, UpdateSource},
    id::{FileId, ItemId},
    lib0::{write_string, write_var_uint},
    steps,
};

const ROOT: &str = "list";

/// The least client that makes siblings.
const FIRST: u64 = 1_000;

/// A document with one item, and a limit that small updates reach.
fn limited(ordering_steps: u64) -> GatedDoc {
    let guid = FileId::parse("guid").expect("an id");
    let limits = GateLimits { ordering_steps, ..GateLimits::default() };
    let mut doc = GatedDoc::new(&guid, DocRole::Main, super::client(1), limits);
    let mut update = UpdateBuilder::new();
    update.array_run(id(7, 0), None, None, ROOT, &["a".into()]);
    doc.receive(&update.finish(), UpdateSource::Wire).expect("it is an update");
    doc
}

/// Writes items behind the first item of the list, one of each client, in order of the clients.
fn siblings(clients: std::ops::Range<u64>) -> Vec<u8> {
    let mut out = Vec::new();
    write_var_uint(&mut out, clients.end - clients.start);
    for client in clients {
        write_var_uint(&mut out, 1);
        write_var_uint(&mut out, client);
        out.extend([0, 0x88, 7, 0, 1, 119]);
        write_string(&mut out, "x");
    }
    out.push(0);
    out
}

/// Writes the same items so that each can be integrated only after that of the client before.
fn siblings_in_order(clients: std::ops::Range<u64>) -> Vec<u8> {
    let mut update = UpdateBuilder::new();
    for client in clients.clone() {
        let before = (client > clients.start).then(|| id(client - 1, 2));
        update.array_run(id(client, 0), before, None, "other", &["x".into()]);
        update.array_run(id(client, 1), Some(id(7, 0)), None, ROOT, &["x".into()]);
        update.array_run(id(client, 2), Some(id(client, 0)), None, "other", &["x".into()]);
    }
    update.finish()
}

fn is_refused(doc: &mut GatedDoc, update: &[u8]) -> bool {
    match doc.receive(update, UpdateSource::Wire) {
        Ok(_) => false,
        Err(GateRejection::TooLarge { .. }) => true,
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn items_of_many_clients_at_one_place_are_ordered_in_linear_time() {
    let n_clients = 20_000;
    let mut doc = limited(GateLimits::default().ordering_steps);
    let update = siblings(FIRST..FIRST + n_clients);
    let n_steps = steps::of(|| assert!(!is_refused(&mut doc, &update)));
    assert!(n_steps as u64 <= n_clients, "{n_steps} steps");
}

#[test]
fn items_whose_order_is_forced_are_refused_by_a_message_and_read_from_the_log() {
    let update = siblings_in_order(FIRST..FIRST + 100);
    assert!(is_refused(&mut limited(1_000), &update));
    assert!(!is_refused(&mut limited(10_000), &update));
    let stored = limited(1_000).receive(&update, UpdateSource::Store).expect("it is an update");
    assert!(stored.changed && stored.refused.is_empty());
}

/// Writes the same items as one update of each client, without the first of the first client.
fn parked_in_order(clients: std::ops::Range<u64>) -> Vec<Vec<u8>> {
    let updates = clients.clone().map(|client| {
        let mut update = UpdateBuilder::new();
        let before = if client > clients.start { id(client - 1, 2) } else { id(8, 0) };
        update.array_run(id(client, 0), Some(before), None, "other", &["x".into()]);
        update.array_run(id(client, 1), Some(id(7, 0)), None, ROOT, &["x".into()]);
        update.array_run(id(client, 2), Some(id(client, 0)), None, "other", &["x".into()]);
        update.finish()
    });
    updates.collect()
}

/// The update that everything which waits in [`parked_in_order`] needs.
fn key_of_parked() -> Vec<u8> {
    let mut key = UpdateBuilder::new();
    key.array_run(id(8, 0), None, None, "other", &["x".into()]);
    key.finish()
}

/// The items wait for one item, and each for the one before: they are completed one at a time.
#[test]
fn items_whose_order_is_forced_are_refused_after_they_waited() {
    for (limit, is_refused) in [(1_000, true), (100_000, false)] {
        let mut doc = limited(limit);
        for update in parked_in_order(FIRST..FIRST + 100) {
            let received = doc.receive(&update, UpdateSource::Wire).expect("it waits");
            assert!(received.parked && !received.changed);
        }
        let mut other = UpdateBuilder::new();
        other.array_run(id(5, 0), Some(id(6, 0)), None, ROOT, &["x".into()]);
        assert!(doc.receive(&other.finish(), UpdateSource::Wire).expect("it waits").parked);
        let received = doc.receive(&key_of_parked(), UpdateSource::Wire).expect("an update");
        assert_eq!(!received.refused.is_empty(), is_refused, "{limit}");
        assert_eq!(doc.parked().list().len(), 1, "what waits for other items still waits");
        let n_there = (FIRST..FIRST + 100).filter(|id| doc.clock_of(super::client(*id)) == 3);
        let n_there = n_there.count();
        assert!(if is_refused { n_there < 50 } else { n_there == 100 }, "{n_there}");
    }
}

/// Completing what waited costs a number of steps that grows with it, not with its square, up to
/// the limit.
#[test]
fn the_steps_of_what_waited_are_bounded() {
    let n_steps = [500, 1_000, 2_000].map(|n_clients| {
        let mut doc = limited(4_000);
        for update in parked_in_order(FIRST..FIRST + n_clients) {
            assert!(doc.receive(&update, UpdateSource::Wire).expect("it waits").parked);
        }
        steps::of(|| {
            let key = key_of_parked();
            let received = doc.receive(&key, UpdateSource::Wire).expect("an update");
            assert!(!received.refused.is_empty());
        })
    });
    assert!(n_steps.iter().all(|n_steps| *n_steps < 40_000), "{n_steps:?}");
}

#[test]
fn items_that_the_document_holds_at_one_place_count() {
    let mut doc = limited(1_000);
    assert!(!is_refused(&mut doc, &siblings(FIRST..FIRST + 100)));
    assert!(is_refused(&mut doc, &siblings(FIRST + 100..FIRST + 200)));
    assert!(!is_refused(&mut doc, &siblings(FIRST - 200..FIRST - 100)), "each is in front of all");
}

/// What stands behind a sibling is walked over as well.
#[test]
fn a_long_list_behind_a_sibling_counts() {
    let mut update = UpdateBuilder::new();
    let chain = |clock: u32| clock.checked_sub(1).map_or(id(7, 0), |before| id(8, before));
    for clock in 0..100 {
        update.array_run(id(8, clock), Some(chain(clock)), None, ROOT, &["x".into()]);
    }
    // yrs would join what lives to one item.
    (0..100).step_by(2).for_each(|clock| update.delete(id(8, clock)));
    let chain = update.finish();
    for (n_clients, is_too_many) in [(5, false), (20, true)] {
        let mut doc = limited(1_000);
        assert!(!is_refused(&mut doc, &chain));
        let refused = is_refused(&mut doc, &siblings(FIRST..FIRST + n_clients));
        assert_eq!(refused, is_too_many, "{n_clients}");
    }
}

/// Two clients, one after the other, that always insert behind the same item.
#[test]
fn items_that_follow_each_other_cost_nothing() {
    let mut update = UpdateBuilder::new();
    let mut right: Option<ItemId> = None;
    for client in [8, 9] {
        for clock in 0..400 {
            update.array_run(id(client, clock), Some(id(7, 0)), right, ROOT, &["x".into()]);
            right = Some(id(client, clock));
        }
    }
    assert!(!is_refused(&mut limited(1_000), &update.finish()));
}

fn peer(client: u64) -> Doc {
    let mut options = Options::with_client_id(yrs::ClientID::new(client));
    (options.offset_kind, options.skip_gc) = (OffsetKind::Utf16, true);
    Doc::with_options(options)
}

fn state(doc: &Doc) -> Vec<u8> {
    doc.transact().encode_state_as_update_v1(&yrs::StateVector::default())
}

proptest! {
    /// Editors that type offline and meet now and then, then send all at once.
    #[test]
    fn what_editors_type_is_accepted(
        steps in prop::collection::vec((0..5_usize, 0..8_usize, 0..100_u32), 1..300),
    ) {
        let docs: Vec<Doc> = (0..5).map(|nth| peer(10 + nth)).collect();
        for (who, action, number) in steps {
            let text = docs[who].get_or_insert_text("text");
            if action == 0 {
                let other = state(&docs[number as usize % docs.len()]);
                docs[who].transact_mut().apply_update(decode(&other)).expect("an update");
                continue;
            }
            let mut txn = docs[who].transact_mut();
            let len = text.len(&txn);
            // Mostly at the end and at the front, where peers meet.
            let at = [len, 0, len * number / 100][action % 3].min(len);
            match action {
                7 if len > at => text.remove_range(&mut txn, at, 1),
                _ => text.insert(&mut txn, at, "word "),
            }
        }
        let states: Vec<Vec<u8>> = docs.iter().map(state).collect();
        let all = yrs::merge_updates_v1(&states).expect("updates");
        let n_structs = docs.len() as u64 * 300;
        let limits = GateLimits { ordering_steps: 8 * n_structs, ..GateLimits::default() };
        let guid = FileId::parse("guid").expect("an id");
        let mut whole = GatedDoc::new(&guid, DocRole::Content, super::client(1), limits);
        prop_assert!(!is_refused(&mut whole, &all));
        let mut one_by_one = doc(DocRole::Content, 1);
        for state in states {
            prop_assert!(!is_refused(&mut one_by_one, &state));
        }
        let text = |doc: &GatedDoc| {
            doc.read(|txn| txn.get_text("text").map(|text| text.get_string(txn)))
        };
        prop_assert_eq!(text(&whole), text(&one_by_one));
    }
}
