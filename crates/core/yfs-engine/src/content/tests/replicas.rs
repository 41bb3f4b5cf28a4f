//! Several replicas, a random script, and a network that drops, repeats and reorders.
//!
//! Two *people* type with plain yrs, as an editor does, and each character that they type is
//! unique. Three *agents* use [`ContentDoc`]: they write whole texts based on an earlier read, edit
//! pieces and append. In the end all have the same text; every character that a person typed and no
//! peer deleted is there once, and the caret before it is still before it.

use std::collections::BTreeSet;

use rand::{RngExt, SeedableRng, rngs::ChaCha8Rng};
use yrs::{
    Assoc, Doc, GetString, IndexedSequence, ReadTxn, StateVector, StickyIndex, Text, Transact,
    Update,
    updates::{decoder::Decode, encoder::Encode},
};

use super::{author, doc, pick, raw};
use crate::{
    content::{ContentBase, ContentDoc, ContentError, Version},
    gate::UpdateSource,
};

const N_SEEDS: u64 = 600;

enum Replica {
    Person { doc: Doc, carets: Vec<(char, StickyIndex)> },
    Agent { doc: Box<ContentDoc>, reads: Vec<(Version, String)> },
}

impl Replica {
    fn text(&self) -> String {
        match self {
            Self::Person { doc, .. } => doc.get_or_insert_text("text").get_string(&doc.transact()),
            Self::Agent { doc, .. } => doc.text(),
        }
    }

    fn receive(&mut self, update: &[u8]) {
        match self {
            Self::Person { doc, .. } => {
                doc.transact_mut().apply_update(Update::decode_v1(update).unwrap()).unwrap();
            }
            Self::Agent { doc, .. } => {
                doc.receive(update, UpdateSource::Wire).unwrap();
            }
        }
    }

    fn state_vector(&self) -> Vec<u8> {
        match self {
            Self::Person { doc, .. } => doc.transact().state_vector().encode_v1(),
            Self::Agent { doc, .. } => doc.gate().state_vector(),
        }
    }

    fn diff(&self, state_vector: &[u8]) -> Vec<u8> {
        match self {
            Self::Person { doc, .. } => {
                doc.transact().encode_diff_v1(&StateVector::decode_v1(state_vector).unwrap())
            }
            Self::Agent { doc, .. } => doc.gate().encode_diff(state_vector).unwrap(),
        }
    }
}

struct World {
    random: ChaCha8Rng,
    replicas: Vec<Replica>,
    /// Updates under way to each replica.
    network: Vec<Vec<Vec<u8>>>,
    n_typed: u32,
    /// The characters that people typed and any peer deleted.
    deleted: BTreeSet<char>,
}

/// The characters that people type: each takes two code units.
fn typed_char(n: u32) -> char {
    char::from_u32(0xf0000 + n).unwrap()
}

fn is_typed(c: char) -> bool {
    c >= '\u{f0000}'
}

impl World {
    fn new(seed: u64) -> Self {
        let mut first = doc(0);
        let text =
            "fn main() {\n    let words = 1;\n\n    print(words);\r\n}\nthe end 😀 e\u{301}\n";
        first.write(text, None, &author("first")).unwrap().update.unwrap();
        let state = first.gate().encode_state();
        let mut replicas: Vec<Replica> = (1..3)
            .map(|n| Replica::Person { doc: raw(n), carets: Vec::new() })
            .chain((3..6).map(|n| Replica::Agent { doc: Box::new(doc(n)), reads: Vec::new() }))
            .collect();
        for replica in &mut replicas {
            replica.receive(&state);
        }
        let network = replicas.iter().map(|_| Vec::new()).collect();
        let random = ChaCha8Rng::seed_from_u64(seed);
        Self { random, replicas, network, n_typed: 0, deleted: BTreeSet::new() }
    }

    fn step(&mut self) {
        let n = self.random.random_range(0..self.replicas.len());
        match self.random.random_range(0..10) {
            0..4 => self.deliver(n),
            4 => self.resync(n),
            _ => {
                let update = match &self.replicas[n] {
                    Replica::Person { .. } => self.type_randomly(n),
                    Replica::Agent { .. } => self.act(n),
                };
                if let Some(update) = update {
                    self.send(n, &update);
                }
            }
        }
    }

    fn send(&mut self, from: usize, update: &[u8]) {
        for to in (0..self.replicas.len()).filter(|to| *to != from) {
            let copies = pick(&mut self.random, &[0, 1, 1, 1, 2]);
            self.network[to].extend((0..copies).map(|_| update.to_vec()));
        }
    }

    fn deliver(&mut self, to: usize) {
        if !self.network[to].is_empty() {
            let at = self.random.random_range(0..self.network[to].len());
            let update = self.network[to].swap_remove(at);
            self.replicas[to].receive(&update);
        }
    }

    /// Asks another replica for all updates that this one lacks.
    fn resync(&mut self, n: usize) {
        let from = self.random.random_range(0..self.replicas.len());
        let update = self.replicas[from].diff(&self.replicas[n].state_vector());
        self.replicas[n].receive(&update);
    }

    /// A person types at a place, or deletes a few characters.
    fn type_randomly(&mut self, n: usize) -> Option<Vec<u8>> {
        let Self { random, replicas, deleted, n_typed, .. } = self;
        let Replica::Person { doc, carets } = &mut replicas[n] else { return None };
        let text = doc.get_or_insert_text("text");
        let mut txn = doc.transact_mut();
        let now = text.get_string(&txn);
        let places: Vec<usize> = now.char_indices().map(|(at, _)| at).chain([now.len()]).collect();
        let units = |at: usize| now[..at].encode_utf16().count() as u32;
        let start = pick(random, &places);
        if random.random_ratio(1, 4) {
            let n_chars = random.random_range(1..=6);
            let end =
                now[start..].char_indices().nth(n_chars).map_or(now.len(), |(at, _)| start + at);
            deleted.extend(now[start..end].chars().filter(|c| is_typed(*c)));
            text.remove_range(&mut txn, units(start), units(end) - units(start));
        } else {
            let c = typed_char(*n_typed);
            *n_typed += 1;
            text.insert(&mut txn, units(start), &c.to_string());
            let caret = text.sticky_index(&txn, units(start), Assoc::After).unwrap();
            carets.push((c, caret));
        }
        txn.has_changes().then(|| txn.encode_update_v1())
    }

    /// An agent reads, or changes one place of the text that it read, or edits a piece, or appends.
    fn act(&mut self, n: usize) -> Option<Vec<u8>> {
        let Self { random, replicas, deleted, .. } = self;
        let Replica::Agent { doc, reads } = &mut replicas[n] else { return None };
        let me = author(pick(random, &["x", "y"]));
        let word = pick(
            random,
            &["alpha", "b", "let words = 2;", "\n", "a\nline\n", "😀", "e\u{301}", " ", "}\n"],
        );
        match random.random_range(0..8) {
            0..3 => {
                reads.push((doc.version(), doc.text()));
                None
            }
            3..6 => {
                let (version, text) = if reads.is_empty() || random.random_ratio(1, 4) {
                    (doc.version(), doc.text())
                } else {
                    reads.swap_remove(random.random_range(0..reads.len()))
                };
                let places: Vec<usize> =
                    text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
                let start = pick(random, &places);
                let n_chars = pick(random, &[0, 1, 3, 12, 30]);
                let mut end = text[start..]
                    .char_indices()
                    .nth(n_chars)
                    .map_or(text.len(), |(at, _)| start + at);
                if random.random_range(0..3) > 0 {
                    // Most agents keep text that people wrote.
                    end = text[start..end].find(is_typed).map_or(end, |at| start + at);
                }
                deleted.extend(text[start..end].chars().filter(|c| is_typed(*c)));
                let new = format!("{}{word}{}", &text[..start], &text[end..]);
                let is_current = doc.text() == text && doc.version() == version;
                let written = doc.write(&new, Some(ContentBase::Version(&version)), &me).unwrap();
                if is_current {
                    assert_eq!(doc.text(), new);
                }
                assert_eq!(doc.text_at(&version).unwrap(), text);
                written.update
            }
            6 => doc.append(word, &me).unwrap().update,
            _ => {
                let old = pick(
                    random,
                    &["words", "alpha", "main", "line", "e\u{301}", "the end", "absent"],
                );
                match doc.edit(old, word, random.random_ratio(1, 2), &me) {
                    Ok(edited) => edited.update,
                    Err(ContentError::NotFound | ContentError::NotUnique { .. }) => None,
                    Err(error) => panic!("{error}"),
                }
            }
        }
    }

    /// Exchanges all updates, and checks the invariants.
    fn sync_and_check(mut self) {
        for _ in 0..2 {
            for n in 0..self.replicas.len() {
                for from in 0..self.replicas.len() {
                    let update = self.replicas[from].diff(&self.replicas[n].state_vector());
                    self.replicas[n].receive(&update);
                }
            }
        }
        let text = self.replicas[0].text();
        for replica in &self.replicas {
            assert_eq!(replica.text(), text);
        }
        for c in (0..self.n_typed).map(typed_char) {
            let n_found = text.chars().filter(|other| *other == c).count();
            let expected = usize::from(!self.deleted.contains(&c));
            assert_eq!(n_found, expected, "{c:?} of {text:?}");
        }
        let units: Vec<u16> = text.encode_utf16().collect();
        for replica in &self.replicas {
            let Replica::Person { doc, carets } = replica else { continue };
            let txn = doc.transact();
            for (c, caret) in carets.iter().filter(|(c, _)| !self.deleted.contains(c)) {
                let at = caret.get_offset(&txn).unwrap().index as usize;
                let there =
                    char::decode_utf16(units[at..].iter().copied()).next().unwrap().unwrap();
                assert_eq!(there, *c, "a caret moved");
            }
        }
        let agents: Vec<_> = self
            .replicas
            .iter()
            .filter_map(|replica| match replica {
                Replica::Agent { doc, .. } => Some(doc),
                Replica::Person { .. } => None,
            })
            .collect();
        for doc in &agents {
            assert_eq!(doc.log().entries(), agents[0].log().entries());
            assert!(doc.gate().parked().is_empty());
        }
    }
}

#[test]
fn nothing_is_lost_between_people_and_agents() {
    for seed in 1..=N_SEEDS {
        let mut world = World::new(seed);
        for _ in 0..60 {
            world.step();
        }
        let settled =
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| world.sync_and_check()));
        assert!(settled.is_ok(), "seed {seed}");
    }
}
