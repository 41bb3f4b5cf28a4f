//! Bounded mutation fuzzing of the gate, deterministic from a seed.
//!
//! Accepted updates are logged. Each history must then load again from the log, unchanged and
//! compacted, and a stock document that gets the state must have the same content.

use std::collections::HashMap;

use rand::{RngExt, SeedableRng, rngs::ChaCha8Rng};
use yfs_engine::{
    gate::{DocRole, GateLimits, GateRejection, GatedDoc, UpdateSource, merge},
    id::{ClientId, FileId},
};
use yrs::{
    Doc, GetString, OffsetKind, Options, ReadTxn, StateVector, Text, Transact, Update,
    updates::decoder::Decode,
};

use super::{attacks::use_it, corpus::corpus};

/// Runs the cases that `seed` names, as `seed:count`.
pub(crate) fn run(seed: &str) {
    let (seed, n_cases) = seed.split_once(':').unwrap();
    let (seed, n_cases): (u64, u64) = (seed.parse().unwrap(), n_cases.parse().unwrap());
    let only: Option<u64> = std::env::var("YFS_FUZZ_ONLY").ok().and_then(|text| text.parse().ok());
    let corpus = corpus();
    let mut counts: HashMap<String, u64> = HashMap::new();
    for case in 0..n_cases {
        if only.is_some_and(|only| only != case) {
            continue;
        }
        let number = seed * 1_000_003 + case;
        let said =
            std::panic::catch_unwind(|| fuzz_one(&corpus, &mut ChaCha8Rng::seed_from_u64(number)));
        let said = said.unwrap_or_else(|_| panic!("seed {seed} case {case}"));
        *counts.entry(said).or_default() += 1;
    }
    println!("{counts:?}");
}

fn gated(role: DocRole, client: u64) -> GatedDoc {
    let guid = FileId::parse("guid").unwrap();
    GatedDoc::new(&guid, role, ClientId::new(client).unwrap(), GateLimits::default())
}

fn fuzz_one(corpus: &[Vec<u8>], rng: &mut ChaCha8Rng) -> String {
    let role = if rng.random_ratio(1, 2) { DocRole::Main } else { DocRole::Content };
    let mut doc = gated(role, 7);
    let mut log = Vec::new();
    let mut said = String::new();
    if rng.random_ratio(1, 2) {
        feed(&mut doc, &mut log, &corpus[rng.random_range(0..corpus.len())]);
    }
    for _ in 0..rng.random_range(1..=3) {
        // Most mutations are rejected; a few tries find one that is not.
        let mut update = Vec::new();
        for _ in 0..8 {
            let honest = &corpus[rng.random_range(0..corpus.len())];
            update = mutate(rng, honest, corpus);
            if doc.check(&update, UpdateSource::Wire) == Ok(true) {
                break;
            }
        }
        said = feed(&mut doc, &mut log, &update);
    }
    // An honest update may complete parked structs.
    for _ in 0..rng.random_range(0..3) {
        feed(&mut doc, &mut log, &corpus[rng.random_range(0..corpus.len())]);
    }
    reopen(&doc, role, &log);
    sync(&mut doc, role, &mut log);
    use_it(&mut doc, role);
    said
}

/// Lets the gate check and receive an update, and logs it as a server does.
fn feed(doc: &mut GatedDoc, log: &mut Vec<Vec<u8>>, update: &[u8]) -> String {
    let checked = doc.check(update, UpdateSource::Wire);
    match doc.receive(update, UpdateSource::Wire) {
        Err(GateRejection::Poisoned { reason }) => panic!("poisoned by {update:02x?}: {reason}"),
        Err(refusal) => {
            let said = format!("refused {}", refusal.code());
            assert_eq!(checked, Err(refusal), "refused only when it was logged");
            said
        }
        Ok(received) => {
            assert_eq!(checked, Ok(received.brought_new));
            if received.brought_new {
                log.push(update.to_vec());
            }
            let said = if received.parked { "parked" } else { "received" };
            format!("{said}, changed {}", received.changed)
        }
    }
}

/// Loads the log again, unchanged and compacted.
fn reopen(doc: &GatedDoc, role: DocRole, log: &[Vec<u8>]) {
    let mut again = gated(role, 8);
    for update in log {
        again.receive(update, UpdateSource::Store).unwrap();
    }
    assert_eq!(shown(doc), shown(&again));
    let parked = |doc: &GatedDoc| {
        let parked = doc.parked().list().into_iter().map(|parked| parked.update);
        parked.collect::<Vec<_>>()
    };
    assert_eq!(parked(doc), parked(&again));

    let merged = merge(role, None, log).unwrap();
    let mut compacted = gated(role, 9);
    assert!(!compacted.receive(&merged.state, UpdateSource::Store).unwrap().parked);
    for (update, absorbed) in log.iter().zip(&merged.absorbed) {
        if !absorbed {
            compacted.receive(update, UpdateSource::Store).ok();
        }
    }
    // Of two updates that claim the same items the first one counts; if its structs were rejected
    // later, the other provides them when it is read again. So there may be more items, but never
    // different ones.
    let clocks = |doc: &GatedDoc| StateVector::decode_v1(&doc.state_vector()).unwrap();
    let (live, again) = (clocks(doc), clocks(&compacted));
    assert!(live.iter().all(|(client, clock)| again.get(client) >= *clock));
    if live == again {
        assert_eq!(doc.read(|txn| unordered(txn)), compacted.read(|txn| unordered(txn)));
    }
}

/// Syncs with a stock client, which then edits.
fn sync(doc: &mut GatedDoc, role: DocRole, log: &mut Vec<Vec<u8>>) {
    let options = Options {
        client_id: yrs::ClientID::new(77),
        offset_kind: OffsetKind::Utf16,
        skip_gc: role == DocRole::Content,
        ..Options::default()
    };
    let stock = Doc::with_options(options);
    let state = Update::decode_v1(&doc.encode_state()).unwrap();
    stock.transact_mut().apply_update(state).unwrap();
    assert!(!stock.transact().has_missing_updates());
    assert_eq!(doc.read(|txn| unordered(txn)), unordered(&stock.transact()));
    let text = stock.get_or_insert_text("text");
    let update = {
        let mut txn = stock.transact_mut();
        let len = text.len(&txn);
        text.insert(&mut txn, len, "typed by a stock client");
        txn.encode_update_v1()
    };
    let said = feed(doc, log, &update);
    assert_eq!(said, "received, changed true");
    assert_eq!(doc.read(|txn| unordered(txn)), unordered(&stock.transact()));
}

fn shown(doc: &GatedDoc) -> String {
    let sv = StateVector::decode_v1(&doc.state_vector()).unwrap();
    doc.read(|txn| {
        assert_eq!(txn.state_vector(), sv);
        shown_by(txn)
    })
}

/// Returns the content of a document, with the authors of items.
fn shown_by(txn: &impl ReadTxn) -> String {
    let text = txn.get_text("text").map(|text| text.get_string(txn)).unwrap_or_default();
    format!("{text:?} {}", unordered(txn))
}

/// Returns the content of a document as far as order does not matter: a mutated item may name
/// neighbors that no client ever saw side by side, and its place then depends on the order in which
/// items are integrated, in every implementation of Yjs.
fn unordered(txn: &impl ReadTxn) -> String {
    let mut clocks: Vec<_> = txn.state_vector().iter().map(|(id, clock)| (*id, *clock)).collect();
    clocks.sort();
    let text = txn.get_text("text").map(|text| text.get_string(txn)).unwrap_or_default();
    let mut text: Vec<char> = text.chars().collect();
    text.sort_unstable();
    let xml =
        txn.get_xml_fragment("xml").map(|fragment| fragment.get_string(txn)).unwrap_or_default();
    // Attributes come in any order.
    let mut xml: Vec<char> = xml.chars().collect();
    xml.sort_unstable();
    format!("{clocks:?} {text:?} {xml:?} {:?}", txn.snapshot().delete_set)
}

fn mutate(rng: &mut ChaCha8Rng, update: &[u8], corpus: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = update.to_vec();
    for _ in 0..rng.random_range(1..=3) {
        if bytes.is_empty() {
            break;
        }
        let at = rng.random_range(0..bytes.len());
        match rng.random_range(0..9) {
            0 => bytes[at] ^= 1 << rng.random_range(0..8),
            1 => bytes[at] = rng.random(),
            2 => drop(bytes.remove(at)),
            3 => bytes.insert(at, rng.random()),
            4 => bytes.truncate(at),
            5 => drop(bytes.splice(at..at, vec![0xff; rng.random_range(1..=8)])),
            6 => {
                let other = rng.random_range(0..bytes.len());
                bytes.swap(at, other);
            }
            7 => {
                let end = (at + rng.random_range(1..=16)).min(bytes.len());
                let again = bytes[at..end].to_vec();
                bytes.splice(at..at, again);
            }
            _ => {
                let other = &corpus[rng.random_range(0..corpus.len())];
                let from = rng.random_range(0..other.len());
                let piece = &other[from..(from + rng.random_range(1..=24)).min(other.len())];
                let end = (at + piece.len()).min(bytes.len());
                bytes.splice(at..end, piece.iter().copied());
            }
        }
    }
    bytes
}
