//! Bounded mutation fuzzing of the gate, deterministic from a seed.

use std::collections::HashMap;

use yfs_engine::{
    gate::{DocRole, GatedDoc, Limits, Refusal, Source},
    id::{ClientId, FileId},
};

use super::{
    attacks::use_it,
    corpus::{Rng, corpus},
};

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
        let said = std::panic::catch_unwind(|| fuzz_one(&corpus, &mut Rng(number)));
        let said = said.unwrap_or_else(|_| panic!("seed {seed} case {case}"));
        *counts.entry(said).or_default() += 1;
    }
    println!("{counts:?}");
}

fn fuzz_one(corpus: &[Vec<u8>], rng: &mut Rng) -> String {
    let role = if rng.below(2) == 0 { DocRole::Main } else { DocRole::Content };
    let source = if rng.below(2) == 0 { Source::Wire } else { Source::Store };
    let guid = FileId::parse("guid").unwrap();
    let mut doc = GatedDoc::new(&guid, role, ClientId::new(7).unwrap(), Limits::default());
    if rng.below(2) == 0 {
        doc.receive(&corpus[rng.below(corpus.len())], source).unwrap();
    }
    let mut said = String::new();
    for _ in 0..1 + rng.below(3) {
        let honest = &corpus[rng.below(corpus.len())];
        let update = mutate(rng, honest, corpus);
        said = match doc.receive(&update, source) {
            Ok(received) if received.parked => "parked".to_owned(),
            Ok(received) => format!("changed {}", received.changed),
            Err(Refusal::Poisoned { reason }) => panic!("poisoned by {update:02x?}: {reason}"),
            Err(refusal) => format!("refused {}", refusal.code()),
        };
    }
    use_it(&mut doc, role);
    // What was parked may be completed by an honest update.
    doc.receive(&corpus[rng.below(corpus.len())], source).ok();
    doc.health().unwrap();
    use_it(&mut doc, role);
    said
}

fn mutate(rng: &mut Rng, update: &[u8], corpus: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = update.to_vec();
    for _ in 0..1 + rng.below(3) {
        if bytes.is_empty() {
            break;
        }
        let at = rng.below(bytes.len());
        match rng.below(9) {
            0 => bytes[at] ^= 1 << rng.below(8),
            1 => bytes[at] = rng.next() as u8,
            2 => drop(bytes.remove(at)),
            3 => bytes.insert(at, rng.next() as u8),
            4 => bytes.truncate(at),
            5 => drop(bytes.splice(at..at, vec![0xff; 1 + rng.below(8)])),
            6 => {
                let other = rng.below(bytes.len());
                bytes.swap(at, other);
            }
            7 => {
                let end = (at + 1 + rng.below(16)).min(bytes.len());
                let again = bytes[at..end].to_vec();
                bytes.splice(at..at, again);
            }
            _ => {
                let other = &corpus[rng.below(corpus.len())];
                let from = rng.below(other.len());
                let piece = &other[from..(from + 1 + rng.below(24)).min(other.len())];
                let end = (at + piece.len()).min(bytes.len());
                bytes.splice(at..end, piece.iter().copied());
            }
        }
    }
    bytes
}
