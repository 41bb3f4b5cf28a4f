//! A store that is set back while it runs uses client ids twice. The document that hears of it gives
//! the ids up: in the end all replicas are equal, and have the words of both sides.

use std::collections::BTreeSet;

use rand::{RngExt, SeedableRng, rngs::ChaCha8Rng};

use super::{author, client, doc, replica};
use crate::{
    content::ContentDoc,
    gate::{IdRange, UpdateSource},
    id::ItemId,
    kind::{ContentRoot, SchemaProfile},
};

const N_SEEDS: u64 = 400;

/// The client of the store that is set back.
const FORKED: u64 = 1;

/// A replica, and what it knows of forks of its own ids.
struct Replica {
    doc: ContentDoc,
    is_own: bool,
    forks: Vec<IdRange>,
    /// All forks that it has found.
    seen: Vec<IdRange>,
}

impl Replica {
    fn new(doc: ContentDoc, is_own: bool) -> Self {
        Self { doc, is_own, forks: Vec::new(), seen: Vec::new() }
    }

    /// Receives the whole state of another replica, as a store does, under a client id that is
    /// fresh if ids are given up.
    fn receive(&mut self, state: &[u8], fresh: u64) {
        let Self { doc, is_own, forks, seen } = self;
        doc.expect_updates(&[state]);
        let fork = doc.find_fork(state);
        seen.extend(fork.iter().flat_map(|fork| &fork.ranges));
        let own = fork.iter().flat_map(|fork| &fork.ranges);
        let own: Vec<IdRange> =
            own.filter(|range| range.client == client(FORKED)).copied().collect();
        let mut cure = None;
        if *is_own
            && let Some(start) = own.iter().map(|range| range.start).min()
            && doc.gate().has_living(&own)
        {
            let first = ItemId::new(client(FORKED), start);
            cure = doc.plan_fork_cure(&[first], &[state], &author("store")).unwrap();
            assert!(cure.is_some(), "a fork can be cured");
            doc.change_client(client(fresh)).unwrap();
            doc.expect_updates(&[state]);
            forks.extend(own);
        }
        let fork = doc.find_fork(state);
        let parts = fork.map_or_else(|| vec![state.to_vec()], |fork| fork.rest);
        for part in parts {
            if doc.receive(&part, UpdateSource::Wire).is_err() {
                // Items that depend on a note, whose id is one of text here.
                let rest = doc.gate().without_forked(&part, seen).unwrap().unwrap();
                doc.receive(&rest, UpdateSource::Wire).unwrap();
            }
        }
        doc.forget_contents();
        if cure.is_none() && !forks.is_empty() {
            cure = doc.plan_late_cure(forks, &author("store")).unwrap();
        }
        if let Some(cure) = cure {
            doc.apply_fork_cure(&cure).unwrap();
        }
    }
}

/// Exchanges states until nothing changes.
fn exchange_all(replicas: &mut [Replica]) {
    for round in 0..6 {
        for from in 0..replicas.len() {
            let state = replicas[from].doc.gate().encode_state();
            for to in (0..replicas.len()).filter(|to| *to != from) {
                replicas[to].receive(&state, 100 + round);
            }
        }
    }
}

fn assert_equal(replicas: &[Replica], seed: u64) -> String {
    let texts: BTreeSet<String> = replicas.iter().map(|replica| replica.doc.text()).collect();
    assert_eq!(texts.len(), 1, "seed {seed}: {texts:?}");
    let vectors: BTreeSet<Vec<u8>> =
        replicas.iter().map(|replica| replica.doc.gate().state_vector()).collect();
    assert_eq!(vectors.len(), 1, "seed {seed}: the same items");
    texts.into_iter().next().unwrap()
}

fn append(doc: &mut ContentDoc, text: &str) {
    drop(doc.append(text, &author("ana")).unwrap().update);
}

/// What acceptance found: the hub kept one word and the clone the other, for good.
#[test]
fn both_words_of_a_fork_stand() {
    for kind in [ContentRoot::Text, ContentRoot::Rich(SchemaProfile::Gfm)] {
        let mut clone = doc(FORKED);
        clone.set_kind(kind);
        append(&mut clone, "base\n\nfirst\n");
        let before = clone.gate().encode_state();
        append(&mut clone, "\nTAKEN-BACK\n");
        let mut hub = replica(2, &clone);
        hub.set_kind(kind);
        append(&mut hub, "\nof the hub\n");
        let mut again = doc(FORKED);
        again.set_kind(kind);
        again.receive(&before, UpdateSource::Store).unwrap();
        append(&mut again, "\nAFTERWARDS and more\n");
        let mut all = [Replica::new(hub, false), Replica::new(again, true)];
        exchange_all(&mut all);
        let text = assert_equal(&all, 0);
        for word in ["base", "first", "TAKEN-BACK", "of the hub", "AFTERWARDS and more"] {
            assert_eq!(text.matches(word).count(), 1, "{word} in {text:?}");
        }
        // Later edits at the places of the fork.
        for (nth, word) in ["TAKEN-BACK", "AFTERWARDS", "of the hub"].iter().enumerate() {
            let at = all[nth % 2].doc.text().find(word).unwrap();
            let doc = &mut all[nth % 2].doc;
            drop(doc.replace_range(at..at, "new ", &author("ana")).unwrap().update);
        }
        exchange_all(&mut all);
        let text = assert_equal(&all, 0);
        assert_eq!(text.matches("new ").count(), 3, "{text}");
    }
}

/// One replica with random edits of unique characters.
struct Script {
    random: ChaCha8Rng,
    next: u32,
    deleted: BTreeSet<char>,
    typed: BTreeSet<char>,
}

impl Script {
    fn edit(&mut self, doc: &mut ContentDoc) {
        let text = doc.text();
        let starts: Vec<usize> =
            text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
        let at = starts[self.random.random_range(0..starts.len())];
        if self.random.random_range(0..4) == 0 {
            let end = text[at..].char_indices().nth(self.random.random_range(0..5));
            let end = end.map_or(text.len(), |(len, _)| at + len);
            self.deleted.extend(text[at..end].chars());
            drop(doc.replace_range(at..end, "", &author("ana")).unwrap().update);
            return;
        }
        let n_chars = self.random.random_range(1..6);
        let new: String = (0..n_chars).map(|_| self.char()).collect();
        self.typed.extend(new.chars());
        drop(doc.replace_range(at..at, &new, &author("ana")).unwrap().update);
    }

    fn char(&mut self) -> char {
        self.next += 1;
        // Hiragana and on: unique, and of one UTF-16 unit; some emoji of two.
        let base = if self.next % 7 == 0 { 0x1f300 } else { 0x4e00 };
        char::from_u32(base + self.next).unwrap()
    }
}

fn play(seed: u64, is_mixed: bool) {
    let random = ChaCha8Rng::seed_from_u64(seed);
    let (deleted, typed) = (BTreeSet::new(), BTreeSet::new());
    let mut script = Script { random, next: 0, deleted, typed };
    let mut clone = Replica::new(doc(FORKED), true);
    for _ in 0..script.random.random_range(1..4) {
        script.edit(&mut clone.doc);
    }
    let mut others = [2, 3].map(|n| Replica::new(replica(n, &clone.doc), false));
    let before = clone.doc.gate().encode_state();
    let deal = |script: &mut Script, clone: &Replica, others: &mut [Replica; 2]| {
        for _ in 0..script.random.random_range(0..5) {
            let [one, two] = others;
            let states = [&clone.doc, &one.doc, &two.doc].map(|doc| doc.gate().encode_state());
            let (from, to) = (script.random.random_range(0..3), script.random.random_range(0..2));
            others[to].receive(&states[from], 50);
            let to = script.random.random_range(0..2);
            script.edit(&mut others[to].doc);
        }
    };
    for _ in 0..script.random.random_range(1..4) {
        script.edit(&mut clone.doc);
        deal(&mut script, &clone, &mut others);
    }
    // What only the snapshot of the clone lost was nowhere else.
    let lost = clone.doc.text();
    clone = Replica::new(doc(FORKED), true);
    clone.doc.receive(&before, UpdateSource::Store).unwrap();
    for _ in 0..script.random.random_range(1..4) {
        script.edit(&mut clone.doc);
        if is_mixed {
            deal(&mut script, &clone, &mut others);
        }
    }
    let there: BTreeSet<char> = [&clone.doc, &others[0].doc, &others[1].doc]
        .iter()
        .flat_map(|doc| doc.text().chars().collect::<Vec<_>>())
        .collect();
    let [one, two] = others;
    let mut all = [one, clone, two];
    let swaps = script.random.random_range(0..3);
    all.rotate_left(swaps);
    exchange_all(&mut all);
    let text = assert_equal(&all, seed);
    for typed in there.iter().filter(|typed| !script.deleted.contains(typed)) {
        let n = text.matches(*typed).count();
        assert_eq!(n, 1, "seed {seed}: {typed} of {there:?} in {text}; set back: {lost}");
    }
    // All write on.
    for _ in 0..6 {
        let nth = script.random.random_range(0..3);
        script.edit(&mut all[nth].doc);
    }
    exchange_all(&mut all);
    assert_equal(&all, seed);
}

#[test]
fn forked_replicas_become_equal() {
    let failed = |is_mixed: bool| -> Vec<u64> {
        let fails = |seed: &u64| std::panic::catch_unwind(|| play(*seed, is_mixed)).is_err();
        (0..N_SEEDS).filter(fails).collect()
    };
    let (pure, mixed) = (failed(false), failed(true));
    assert!(pure.is_empty() && mixed.is_empty(), "PURE {pure:?} MIXED {mixed:?}");
}
