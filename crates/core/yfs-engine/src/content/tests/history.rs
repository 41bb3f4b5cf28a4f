//! History under random scripts: several replicas with several actors each, and a network that
//! drops, repeats and reorders.
//!
//! Every character that is typed is unique, so a naive model knows its author. In the end all
//! replicas blame the same actor for each character, list the same versions with the same texts,
//! and find the same places for anchors; nothing that was redacted is left in any of them, also not
//! after one comes back that kept all of it; and no redaction ever changed a text.

use std::collections::{BTreeMap, BTreeSet};

use rand::{RngExt, SeedableRng, rngs::ChaCha8Rng};
use yrs::{ClientID, Doc, ReadTxn, StateVector, Transact, Update, updates::decoder::Decode};

use super::{author, doc, pick, raw};
use crate::{
    content::{
        Anchor, AnchorSide, ContentDoc, ContentError, MAX_RUN_MS, RunAuthor, Version, compact,
    },
    gate::UpdateSource,
    time::Millis,
};

const N_SEEDS: u64 = 120;
const N_REPLICAS: usize = 4;
const ACTORS: [&str; 3] = ["x", "y", "z"];

struct World {
    random: ChaCha8Rng,
    replicas: Vec<ContentDoc>,
    /// A plain peer, which keeps content that others erase.
    keeper: Doc,
    network: Vec<Vec<Vec<u8>>>,
    /// All updates that were ever made.
    updates: Vec<Vec<u8>>,
    now: i64,
    n_typed: u32,
    /// The author of each character.
    typed: BTreeMap<char, &'static str>,
    /// The characters that were erased.
    erased: BTreeSet<char>,
    anchors: Vec<(char, Anchor)>,
    reads: Vec<(usize, Version, String)>,
}

fn typed_char(n: u32) -> char {
    char::from_u32(0xf0000 + n).unwrap()
}

/// Reports whether a character that was typed occurs in `bytes`.
fn contains_char(bytes: &[u8], c: char) -> bool {
    let mut utf8 = [0; 4];
    let wanted = c.encode_utf8(&mut utf8).as_bytes();
    bytes.windows(wanted.len()).any(|window| window == wanted)
}

impl World {
    fn new(seed: u64) -> Self {
        let random = ChaCha8Rng::seed_from_u64(seed);
        let replicas: Vec<ContentDoc> = (0..N_REPLICAS as u64).map(doc).collect();
        Self {
            random,
            network: replicas.iter().map(|_| Vec::new()).collect(),
            replicas,
            keeper: raw(99),
            updates: Vec::new(),
            now: 1_795_296_141_108,
            n_typed: 0,
            typed: BTreeMap::new(),
            erased: BTreeSet::new(),
            anchors: Vec::new(),
            reads: Vec::new(),
        }
    }

    fn author(&mut self) -> (&'static str, RunAuthor) {
        self.now += pick(&mut self.random, &[1, 1000, MAX_RUN_MS / 3, MAX_RUN_MS]);
        let name = pick(&mut self.random, &ACTORS);
        (name, RunAuthor { at: Millis(self.now), ..author(name) })
    }

    fn step(&mut self) {
        let n = self.random.random_range(0..N_REPLICAS);
        match self.random.random_range(0..20) {
            0..6 => self.deliver(n),
            6 => self.resync(n),
            7..12 => self.type_some(n),
            12..15 => self.delete_some(n),
            15 => self.write_stale(n),
            16 => self.anchor(n),
            17 => self.label(n),
            18 => self.read(n),
            _ => self.redact(n),
        }
    }

    fn send(&mut self, from: usize, update: Option<Vec<u8>>) {
        let Some(update) = update else { return };
        for to in (0..N_REPLICAS).filter(|to| *to != from) {
            let copies = pick(&mut self.random, &[0, 1, 1, 1, 2]);
            self.network[to].extend((0..copies).map(|_| update.clone()));
        }
        self.keeper.transact_mut().apply_update(Update::decode_v1(&update).unwrap()).unwrap();
        self.updates.push(update);
    }

    fn deliver(&mut self, to: usize) {
        if !self.network[to].is_empty() {
            let at = self.random.random_range(0..self.network[to].len());
            let update = self.network[to].swap_remove(at);
            self.replicas[to].receive(&update, UpdateSource::Wire).unwrap();
        }
    }

    fn resync(&mut self, n: usize) {
        let from = self.random.random_range(0..N_REPLICAS);
        let update =
            self.replicas[from].gate().encode_diff(&self.replicas[n].gate().state_vector());
        self.replicas[n].receive(&update.unwrap(), UpdateSource::Wire).unwrap();
    }

    fn word(&mut self, name: &'static str) -> String {
        let len = self.random.random_range(1..=4);
        let word: String = (self.n_typed..self.n_typed + len).map(typed_char).collect();
        self.n_typed += len;
        self.typed.extend(word.chars().map(|c| (c, name)));
        word
    }

    fn place(&mut self, text: &str) -> usize {
        let places: Vec<usize> =
            text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
        pick(&mut self.random, &places)
    }

    fn type_some(&mut self, n: usize) {
        let (name, author) = self.author();
        let mut word = self.word(name);
        if self.random.random_ratio(1, 4) {
            word.push('\n');
        }
        let text = self.replicas[n].text();
        let at = self.place(&text);
        let update = self.replicas[n].replace_range(at..at, &word, &author).unwrap().update;
        self.send(n, update);
    }

    fn delete_some(&mut self, n: usize) {
        let (_, author) = self.author();
        let text = self.replicas[n].text();
        let (a, b) = (self.place(&text), self.place(&text));
        let range = a.min(b)..a.max(b);
        let update = self.replicas[n].replace_range(range, "", &author).unwrap().update;
        self.send(n, update);
    }

    fn read(&mut self, n: usize) {
        self.reads.push((n, self.replicas[n].version(), self.replicas[n].text()));
    }

    fn write_stale(&mut self, n: usize) {
        let Some(at) = self.reads.iter().position(|(of, ..)| *of == n) else { return };
        let (_, version, text) = self.reads.swap_remove(at);
        let (name, author) = self.author();
        let place = self.place(&text);
        let new = format!("{}{}{}", &text[..place], self.word(name), &text[place..]);
        let base = Some(crate::content::ContentBase::Version(&version));
        match self.replicas[n].write(&new, base, &author) {
            Ok(written) => self.send(n, written.update),
            // The text that the writer had read was erased; nothing of it may come back.
            Err(error) => assert_eq!(error, ContentError::Redacted),
        }
    }

    fn anchor(&mut self, n: usize) {
        let text = self.replicas[n].text();
        let places: Vec<(usize, char)> =
            text.char_indices().filter(|(_, c)| self.typed.contains_key(c)).collect();
        if places.is_empty() {
            return;
        }
        let (at, c) = pick(&mut self.random, &places);
        let anchor = self.replicas[n].anchor(at, AnchorSide::Right).unwrap();
        let left = self.replicas[n].anchor(at + c.len_utf8(), AnchorSide::Left).unwrap();
        for anchor in [anchor, left] {
            assert_eq!(Anchor::decode(&anchor.encode()).unwrap(), anchor);
            self.anchors.push((c, anchor));
        }
    }

    fn label(&mut self, n: usize) {
        let (_, author) = self.author();
        let name = format!("name {}", self.n_typed);
        let update = self.replicas[n].edit_registers().add_label(&name, None, &author).unwrap();
        self.send(n, update);
    }

    fn redact(&mut self, n: usize) {
        if self.random.random_range(0..3) > 0 {
            return;
        }
        let (_, author) = self.author();
        let doc = &mut self.replicas[n];
        let timeline = doc.timeline().versions();
        let version = match self.random.random_range(0..2) {
            0 if !timeline.is_empty() => {
                doc.timeline().version(self.random.random_range(0..timeline.len()))
            }
            _ => None,
        };
        let erasable = match doc.erasable(version.as_ref()) {
            // A note can arrive before updates of other writers that its version includes.
            Err(ContentError::UnknownVersion { client, wanted, known }) if version.is_some() => {
                let all = self.keeper.transact().state_vector();
                let n_made = all.get(&ClientID::new(client.get()));
                assert!(known < wanted && wanted <= n_made, "{known} of {wanted}, {n_made} made");
                return;
            }
            erasable => erasable.unwrap(),
        };
        let text = doc.text();
        let update = doc.redact(&erasable, &author).unwrap();
        assert_eq!(doc.text(), text, "a redaction changed the text");
        assert!(doc.erasable(version.as_ref()).unwrap().is_empty());
        for piece in &erasable.pieces {
            for c in piece.text.chars() {
                assert!(!text.contains(c) || c == '\n');
                self.erased.extend(self.typed.contains_key(&c).then_some(c));
            }
        }
        self.send(n, update);
    }

    fn sync_and_check(mut self) {
        // One replica comes back that kept everything, and one that received nothing before.
        let kept = self.keeper.transact().encode_diff_v1(&StateVector::default());
        self.replicas.push(doc(50));
        self.replicas[N_REPLICAS].receive(&kept, UpdateSource::Wire).unwrap();
        for _ in 0..2 {
            for n in 0..self.replicas.len() {
                self.replicas[n].receive(&kept, UpdateSource::Wire).unwrap();
                for from in 0..self.replicas.len() {
                    let lacks = self.replicas[n].gate().state_vector();
                    let update = self.replicas[from].gate().encode_diff(&lacks).unwrap();
                    self.replicas[n].receive(&update, UpdateSource::Wire).unwrap();
                }
            }
        }
        // And one that loads the compacted log.
        let compacted = compact(None, &self.updates).unwrap();
        assert!(compacted.absorbed.iter().all(|absorbed| *absorbed));
        let mut loaded = doc(51);
        loaded.receive(&compacted.state, UpdateSource::Store).unwrap();
        self.replicas.push(loaded);
        self.check_equal(&compacted.state);
    }

    fn check_equal(mut self, compacted: &[u8]) {
        let blame = self.replicas[0].blame();
        let (text, blamed) = (blame.text.clone(), &blame.pieces);
        let timeline = self.replicas[0].timeline().versions();
        let texts: Vec<_> =
            (0..timeline.len()).map(|nth| past_text(&self.replicas[0], nth)).collect();
        let places: Vec<_> =
            self.anchors.iter().map(|(_, anchor)| self.replicas[0].resolve(anchor)).collect();
        for piece in blamed {
            let actor = piece.author.as_ref().unwrap().actor.name.as_str();
            for c in text[piece.range.clone()].chars().filter(|c| *c != '\n') {
                assert_eq!(self.typed[&c], actor, "{c:?}");
            }
        }
        assert_eq!(blamed.iter().map(|piece| piece.range.len()).sum::<usize>(), text.len());
        for ((c, _), place) in self.anchors.iter().zip(&places) {
            let place = place.as_ref().unwrap();
            assert_eq!(place.exact, text.contains(*c));
            let beside = [&text[place.offset..], &text[..place.offset]];
            assert!(!place.exact || beside[0].starts_with(*c) || beside[1].ends_with(*c));
        }
        if let Some(now) = timeline.last() {
            assert!(now.current && !now.redacted);
            assert_eq!(texts.last().unwrap().as_ref().unwrap(), &text);
        }
        for (past, text) in timeline.iter().zip(&texts) {
            assert_eq!(past.redacted, text.is_none(), "{past:?}");
        }
        for replica in &mut self.replicas {
            assert_eq!(replica.blame(), blame);
            assert_eq!(replica.redactions().in_order().len(), replica.redactions().n_records());
            assert_eq!(replica.timeline().versions(), timeline);
            for (nth, text) in texts.iter().enumerate() {
                assert_eq!(&past_text(replica, nth), text);
            }
            for ((_, anchor), place) in self.anchors.iter().zip(&places) {
                assert_eq!(&replica.resolve(anchor), place);
            }
            let state = replica.gate().encode_state();
            for c in &self.erased {
                assert!(!contains_char(&state, *c), "{c:?} is still there");
                assert!(!contains_char(compacted, *c), "{c:?} is still in the log");
            }
        }
    }
}

/// Returns the text of a version, or `None` if some of it was erased.
fn past_text(doc: &ContentDoc, nth: usize) -> Option<String> {
    match doc.text_at(&doc.timeline().version(nth).unwrap()) {
        Ok(text) => Some(text),
        Err(ContentError::Redacted) => None,
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn replicas_agree_on_history_and_forget_what_was_redacted() {
    for seed in 1..=N_SEEDS {
        let mut world = World::new(seed);
        let settled = std::panic::catch_unwind(std::panic::AssertUnwindSafe(move || {
            for _ in 0..60 {
                world.step();
            }
            world.sync_and_check();
        }));
        assert!(settled.is_ok(), "seed {seed}");
    }
}

#[test]
fn an_update_of_a_peer_that_kept_it_is_cleaned() {
    let (mut ada, mut bob) = (doc(1), doc(2));
    let first = ada.append("the secret\n", &author("ada")).unwrap().update.unwrap();
    bob.receive(&first, UpdateSource::Wire).unwrap();
    let edited = ada.edit("secret", "12", false, &author("ada")).unwrap().update.unwrap();
    let erasable = ada.erasable(None).unwrap();
    let pieces: Vec<&str> = erasable.pieces.iter().map(|piece| piece.text.as_str()).collect();
    assert_eq!(pieces.concat(), "secret");
    let record = ada.redact(&erasable, &author("ada")).unwrap().unwrap();
    for update in [&first, &edited, &record] {
        let cleaned = ada.redactions().strip_update(update);
        assert!(!cleaned.windows(6).any(|bytes| bytes == b"secret"));
    }
    // A peer that never had the content ends with the same state, from the cleaned updates.
    let mut eve = doc(3);
    for update in [&first, &edited, &record] {
        eve.receive(&ada.redactions().strip_update(update), UpdateSource::Wire).unwrap();
    }
    bob.receive(&edited, UpdateSource::Wire).unwrap();
    bob.receive(&record, UpdateSource::Wire).unwrap();
    // The members of a value are in no order.
    let state = |doc: &ContentDoc| {
        let mut state = doc.gate().encode_state();
        state.sort_unstable();
        state
    };
    for doc in [&bob, &eve] {
        assert_eq!(doc.text(), "the 12\n");
        assert_eq!(state(doc), state(&ada));
    }
    let rest = bob.erasable(None).unwrap();
    assert_eq!(bob.redact(&rest, &author("bob")).unwrap(), None);
}

#[test]
fn a_record_does_not_touch_what_lives() {
    let mut ada = doc(1);
    ada.append("alive\n", &author("ada")).unwrap().update.unwrap();
    let mut liar = doc(1);
    liar.receive(&ada.gate().encode_state(), UpdateSource::Store).unwrap();
    liar.replace_range(0..6, "", &author("liar")).unwrap().update.unwrap();
    let erasable = liar.erasable(None).unwrap();
    // The record without the deletion.
    let mut other = doc(2);
    other.receive(&ada.gate().encode_state(), UpdateSource::Store).unwrap();
    let record = other.redact(&erasable, &author("liar")).unwrap().unwrap();
    assert_eq!(other.text(), "alive\n");
    ada.receive(&record, UpdateSource::Wire).unwrap();
    assert_eq!(ada.text(), "alive\n");
    // Once it is deleted, the record holds.
    let gone = ada.replace_range(0..6, "", &author("ada")).unwrap().update.unwrap();
    other.receive(&gone, UpdateSource::Wire).unwrap();
    assert!(!other.gate().encode_state().windows(5).any(|bytes| bytes == b"alive"));
}
