//! Whatever comes, the gate keeps the document usable: it can be edited, and its state loads.
#![no_main]

use libfuzzer_sys::fuzz_target;
use yfs_engine::{
    gate::{DocRole, GatedDoc, Limits, Refusal, Source},
    id::{ClientId, FileId},
};

fuzz_target!(|updates: Vec<Vec<u8>>| {
    for role in [DocRole::Main, DocRole::Content] {
        let new = |client| {
            let client = ClientId::from_random(client);
            GatedDoc::new(&FileId::from_bytes([0; 16]), role, client, Limits::default())
        };
        let mut doc = new(7);
        for update in &updates {
            if let Err(refusal @ Refusal::Poisoned { .. }) = doc.receive(update, Source::Wire) {
                panic!("{refusal}");
            }
        }
        let received = new(8).receive(&doc.encode_state(), Source::Store);
        assert!(!received.expect("the state is well-formed").parked);
    }
});
