//! What the gate accepts of any updates can be logged, loaded again, compacted and synced: a stock
//! document that gets the state has the same items.

use yfs_engine::{
    gate::{DocRole, GateLimits, GateRejection, GatedDoc, UpdateSource, merge},
    id::{ClientId, FileId},
};
use yrs::{
    Doc, ReadTxn, Transact, Update,
    updates::{decoder::Decode, encoder::Encode},
};

use super::FuzzInput;

/// The most updates of an input.
const MAX_UPDATES: usize = 64;

/// Updates, each after its length.
pub const SEEDS: &[&[u8]] = &[
    // A client inserts `ab` in the root `text`; then deletes the first character.
    b"\x0f\x00\x01\x01\x07\x00\x04\x01\x04text\x02ab\x00\x07\x00\x00\x01\x07\x01\x00\x01\x00",
    // An item that needs one that never comes.
    b"\x0b\x00\x01\x01\x07\x05\x84\x07\x04\x01x\x00\x00",
    b"\x02\x00\x00\x00",
];

/// Runs the case.
pub fn run(bytes: &[u8]) {
    let mut input = FuzzInput(bytes);
    let mut updates = Vec::new();
    while !input.0.is_empty() && updates.len() < MAX_UPDATES {
        updates.push(input.take_piece());
    }
    for role in [DocRole::Main, DocRole::Content] {
        check(role, &updates);
    }
}

fn check(role: DocRole, updates: &[&[u8]]) {
    let new = |client| {
        let client = ClientId::from_random(client);
        GatedDoc::new(&FileId::from_bytes([0; 16]), role, client, GateLimits::default())
    };
    let (mut doc, mut log) = (new(7), Vec::new());
    for update in updates {
        let checked = doc.check(update, UpdateSource::Wire);
        match doc.receive(update, UpdateSource::Wire) {
            Err(refusal @ GateRejection::Poisoned { .. }) => panic!("{refusal}"),
            Err(refusal) => assert_eq!(checked, Err(refusal)),
            Ok(received) => {
                assert_eq!(checked, Ok(received.brought_new));
                if received.brought_new {
                    log.push(update.to_vec());
                }
            }
        }
    }
    let state = doc.encode_state();
    let received = new(8).receive(&state, UpdateSource::Store);
    assert!(!received.expect("the state is well-formed").parked);

    let mut again = new(9);
    for update in &log {
        again.receive(update, UpdateSource::Store).expect("what was logged loads again");
    }
    assert_eq!(again.state_vector(), doc.state_vector());
    merge(role, None, &log).expect("what was logged can be compacted");

    let stock = Doc::new();
    let state = Update::decode_v1(&state).expect("a stock document reads the state");
    stock.transact_mut().apply_update(state).expect("it applies it");
    let txn = stock.transact();
    assert!(!txn.has_missing_updates());
    let diff = doc.encode_diff(&txn.state_vector().encode_v1()).expect("it is one");
    assert_eq!(diff[0], 0, "the stock document lacks items");
}
