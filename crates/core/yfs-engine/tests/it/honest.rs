//! Updates of honest peers pass the gate, and the gate reads them as yrs does.

#![expect(clippy::unwrap_used, reason = "all of it is a test")]

use crate::hostile::corpus::corpus;
use rand::{SeedableRng, rngs::ChaCha8Rng, seq::SliceRandom};
use yfs_engine::{
    gate::{DocRole, GateLimits, GatedDoc, UpdateSource, merge},
    id::{ClientId, FileId},
};
use yrs::{
    Doc, GetString, ReadTxn, StateVector, Transact, Update, updates::decoder::Decode,
    updates::encoder::Encode,
};

fn gated(role: DocRole) -> GatedDoc {
    let guid = FileId::parse("guid").unwrap();
    GatedDoc::new(&guid, role, ClientId::new(7).unwrap(), GateLimits::default())
}

fn stock(updates: &[Vec<u8>]) -> Doc {
    let offset_kind = yrs::OffsetKind::Utf16;
    let doc = Doc::with_options(yrs::Options { offset_kind, skip_gc: true, ..Default::default() });
    for update in updates {
        doc.transact_mut().apply_update(Update::decode_v1(update).unwrap()).unwrap();
    }
    doc
}

#[test]
fn the_gate_agrees_with_yrs_in_any_order() {
    let honest = corpus();
    for seed in 0..30 {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut updates = honest.clone();
        updates.shuffle(&mut rng);
        let mut gate = gated(DocRole::Content);
        let mut n_refused = 0;
        for update in &updates {
            let received = gate.receive(update, UpdateSource::Wire).unwrap();
            n_refused += received.refused.len();
        }
        assert_eq!(n_refused, 0);
        assert_eq!(gate.parked().list(), []);
        let stock = stock(&updates);
        let txn = stock.transact();
        assert!(!txn.has_missing_updates());
        let sv = StateVector::decode_v1(&gate.state_vector()).unwrap();
        assert_eq!(sv, txn.state_vector());
        let text = txn.get_text("text").unwrap().get_string(&txn);
        assert_eq!(gate.read(|txn| txn.get_text("text").unwrap().get_string(txn)), text);
        let xml = txn.get_xml_fragment("xml").unwrap().get_string(&txn);
        assert_eq!(gate.read(|txn| txn.get_xml_fragment("xml").unwrap().get_string(txn)), xml);
        let snapshot = txn.snapshot();
        assert!(gate.read(|txn| txn.snapshot() == snapshot));
    }
}

#[test]
fn states_are_complete_whatever_the_peer_forgets() {
    for role in [DocRole::Main, DocRole::Content] {
        let mut gate = gated(role);
        for update in corpus() {
            gate.receive(&update, UpdateSource::Wire).unwrap();
        }
        let state = gate.encode_state();
        let mut copy = gated(role);
        assert!(!copy.receive(&state, UpdateSource::Wire).unwrap().parked);
        assert_eq!(copy.state_vector(), gate.state_vector());
        // A peer that knows a part gets the rest.
        for update in corpus() {
            let mut peer = gated(role);
            if peer.receive(&update, UpdateSource::Wire).unwrap().parked {
                continue;
            }
            let diff = gate.encode_diff(&peer.state_vector()).unwrap();
            assert!(!peer.receive(&diff, UpdateSource::Wire).unwrap().parked);
            assert_eq!(peer.state_vector(), gate.state_vector());
        }
    }
}

#[test]
fn compaction_keeps_everything() {
    for role in [DocRole::Main, DocRole::Content] {
        let updates = corpus();
        let merged = merge(role, None, &updates).unwrap();
        assert!(merged.absorbed.iter().all(|absorbed| *absorbed));
        let again = merge(role, Some(&merged.state), &updates).unwrap();
        assert!(again.absorbed.iter().all(|absorbed| *absorbed));
        let missing = updates[1..].to_vec();
        let merged = merge(role, None, &missing).unwrap();
        let left: Vec<_> =
            missing.iter().zip(&merged.absorbed).filter(|(_, absorbed)| !**absorbed).collect();
        let mut gate = gated(role);
        gate.receive(&merged.state, UpdateSource::Store).unwrap();
        for update in std::iter::once(&updates[0]).chain(left.into_iter().map(|(update, _)| update))
        {
            gate.receive(update, UpdateSource::Store).unwrap();
        }
        assert_eq!(gate.parked().list(), []);
        let mut whole = gated(role);
        for update in &updates {
            whole.receive(update, UpdateSource::Store).unwrap();
        }
        assert_eq!(gate.state_vector(), whole.state_vector());
    }
}

#[test]
fn reencoding_by_yrs_is_accepted() {
    for update in corpus() {
        let again = Update::decode_v1(&update).unwrap().encode_v1();
        let (mut a, mut b) = (gated(DocRole::Content), gated(DocRole::Content));
        let parked = a.receive(&update, UpdateSource::Wire).unwrap().parked;
        assert_eq!(b.receive(&again, UpdateSource::Wire).unwrap().parked, parked);
        assert_eq!(a.state_vector(), b.state_vector());
    }
}
