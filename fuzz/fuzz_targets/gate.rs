//! Whatever comes, what the gate accepts can be logged, loaded again, compacted and synced: a stock
//! document that gets the state has the same items.
#![no_main]

use libfuzzer_sys::fuzz_target;
use yfs_engine::{
    gate::{DocRole, GatedDoc, GateLimits, GateRejection, UpdateSource, merge},
    id::{ClientId, FileId},
};
use yrs::{
    Doc, ReadTxn, Transact, Update,
    updates::{decoder::Decode, encoder::Encode},
};

fuzz_target!(|updates: Vec<Vec<u8>>| {
    for role in [DocRole::Main, DocRole::Content] {
        let new = |client| {
            let client = ClientId::from_random(client);
            GatedDoc::new(&FileId::from_bytes([0; 16]), role, client, GateLimits::default())
        };
        let (mut doc, mut log) = (new(7), Vec::new());
        for update in &updates {
            let checked = doc.check(update, UpdateSource::Wire);
            match doc.receive(update, UpdateSource::Wire) {
                Err(refusal @ GateRejection::Poisoned { .. }) => panic!("{refusal}"),
                Err(refusal) => assert_eq!(checked, Err(refusal)),
                Ok(received) => {
                    assert_eq!(checked, Ok(received.brought_new));
                    if received.brought_new {
                        log.push(update.clone());
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
});
