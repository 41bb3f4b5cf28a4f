//! Versions from before a compaction, found again from the state after it.

use rand::{RngExt, SeedableRng, rngs::ChaCha8Rng};
use yrs::{
    ClientID, Doc, Options, ReadTxn, StateVector, Text, Transact, Update, WriteTxn, Xml,
    XmlElementPrelim, XmlFragment, updates::decoder::Decode,
};

use super::{author, client, doc};
use crate::{
    content::{ContentBase, ContentDoc, Version, compact},
    gate::{StateChange, UpdateSource},
    kind::ContentRoot,
};

/// Writers whose updates are logged in any order, and more than once.
struct Writers {
    random: ChaCha8Rng,
    typists: Vec<Doc>,
    agents: Vec<ContentDoc>,
    sent: Vec<Vec<u8>>,
}

impl Writers {
    fn new(seed: u64) -> Self {
        let typist = |n: u64| {
            let client_id = ClientID::new(client(n).get());
            // Every second one drops deleted content, as browsers do.
            Doc::with_options(Options {
                client_id,
                skip_gc: n.is_multiple_of(2),
                ..Options::default()
            })
        };
        let typists = (1..4).map(typist).collect();
        let agents = (4..6).map(doc).collect();
        Self { random: ChaCha8Rng::seed_from_u64(seed), typists, agents, sent: Vec::new() }
    }

    fn step(&mut self) {
        match self.random.random_range(0..8) {
            0..3 => self.type_randomly(),
            3 => self.set_attribute(),
            4..6 => self.write(),
            _ => self.catch_up(),
        }
    }

    fn send(&mut self, typist: usize, before: &StateVector) {
        let update = self.typists[typist].transact().encode_diff_v1(before);
        self.sent.push(update);
    }

    fn type_randomly(&mut self) {
        let n = self.random.random_range(0..self.typists.len());
        let before = self.typists[n].transact().state_vector();
        {
            let mut txn = self.typists[n].transact_mut();
            let text = txn.get_or_insert_text("text");
            let len = text.len(&txn);
            let at = self.random.random_range(0..=len);
            if len > at + 2 && self.random.random_ratio(1, 3) {
                text.remove_range(&mut txn, at, 2);
            } else {
                text.insert(&mut txn, at, "xyz");
            }
        }
        self.send(n, &before);
    }

    /// Two typists that set one attribute delete each other's value, and neither lists the
    /// deletion.
    fn set_attribute(&mut self) {
        let n = self.random.random_range(0..self.typists.len());
        let before = self.typists[n].transact().state_vector();
        {
            let mut txn = self.typists[n].transact_mut();
            let root = txn.get_or_insert_xml_fragment("other");
            let element = match root.get(&txn, 0) {
                Some(node) => node.into_xml_element().expect("only elements are inserted"),
                None => root.push_back(&mut txn, XmlElementPrelim::empty("p")),
            };
            if self.random.random_ratio(1, 6) {
                root.remove_range(&mut txn, 0, 1);
            } else {
                element.insert_attribute(
                    &mut txn,
                    "level",
                    format!("{}", self.random.random_range(0..9)),
                );
            }
        }
        self.send(n, &before);
    }

    fn write(&mut self) {
        let n = self.random.random_range(0..self.agents.len());
        let agent = &mut self.agents[n];
        let mut text = agent.text();
        let at = text.floor_char_boundary(self.random.random_range(0..=text.len()));
        text.insert_str(at, "word ");
        let update = agent.write(&text, None, &author("agent")).expect("written").update;
        self.sent.extend(update);
    }

    fn catch_up(&mut self) {
        let Some(last) = self.sent.len().checked_sub(1) else { return };
        for _ in 0..3 {
            let update = self.sent[self.random.random_range(0..=last)].clone();
            let to = self.random.random_range(0..self.typists.len() + self.agents.len());
            match to.checked_sub(self.typists.len()) {
                Some(agent) => drop(self.agents[agent].receive(&update, UpdateSource::Wire)),
                None => {
                    let update = Update::decode_v1(&update).expect("an update");
                    self.typists[to].transact_mut().apply_update(update).expect("applied");
                }
            }
        }
    }

    /// Returns the updates in another order, some of them twice.
    fn log(mut self) -> Vec<Vec<u8>> {
        let mut log = Vec::new();
        while !self.sent.is_empty() {
            let at = self.random.random_range(0..self.sent.len().min(6));
            let update = self.sent.remove(at);
            if self.random.random_ratio(1, 10) {
                log.push(update.clone());
            }
            log.push(update);
        }
        log
    }
}

/// Returns the versions that a reader of the log sees after each record.
fn read(log: &[Vec<u8>], kind: ContentRoot) -> Vec<(Version, String)> {
    let mut reader = doc(9);
    reader.set_kind(kind);
    let mut read = Vec::new();
    for update in log {
        drop(reader.receive(update, UpdateSource::Store));
        read.push((reader.version(), reader.text()));
    }
    read
}

#[test]
fn every_version_before_a_compaction_is_found_again() {
    for seed in 1..200 {
        let mut writers = Writers::new(seed);
        (0..40).for_each(|_| writers.step());
        let log = writers.log();
        let read = read(&log, ContentRoot::Text);
        // Compacted twice, as a store does: updates that are not absorbed stay before the later
        // ones.
        let half = log.len() / 2;
        let first = compact(None, &log[..half]).expect("compacted");
        let kept = (0..half).filter(|at| !first.absorbed[*at]);
        let rest: Vec<Vec<u8>> = kept.chain(half..log.len()).map(|at| log[at].clone()).collect();
        let second = compact(Some(&first.state), &rest).expect("compacted");
        let n_kept = rest.len() - (log.len() - half);
        assert!(second.changes[..n_kept].iter().all(Vec::is_empty), "seed {seed}");
        let changes = [&first.changes[..], &second.changes[n_kept..]].concat();

        let mut end = doc(10);
        end.receive(&second.state, UpdateSource::Store).expect("loaded");
        for (at, (version, text)) in read.iter().enumerate() {
            let later = changes[at + 1..].iter().map(Vec::as_slice);
            let found = end.version().before(later).expect("found");
            assert_eq!(end.text_at(&found).expect("read"), *text, "seed {seed}, record {at}");
            assert_eq!(found.encode_in_order(), version.encode_in_order(), "seed {seed}, {at}");
        }
    }
}

#[test]
fn a_write_merges_with_a_version_from_before_a_compaction() {
    let mut writer = doc(1);
    let mut log =
        Vec::from_iter(writer.write("one two three\n", None, &author("a")).unwrap().update);
    let read = (writer.version(), log.len());
    log.extend(writer.write("one TWO three\nfour\n", None, &author("a")).unwrap().update);
    let compacted = compact(None, &log).unwrap();
    let mut here = doc(2);
    here.receive(&compacted.state, UpdateSource::Store).unwrap();
    let later = compacted.changes[read.1..].iter().map(Vec::as_slice);
    let base = here.version().before(later).unwrap();
    let written =
        here.write("one two three!\n", Some(ContentBase::Version(&base)), &author("b")).unwrap();
    assert_eq!(written.overlaps, []);
    assert_eq!(here.text(), "one TWO three!\nfour\n");
}

#[test]
fn no_bytes_are_a_change_that_panics() {
    let mut random = ChaCha8Rng::seed_from_u64(7);
    let version = super::doc_with(1, "text").version();
    for _ in 0..2000 {
        let bytes: Vec<u8> = (0..random.random_range(0..12)).map(|_| random.random()).collect();
        drop(StateChange::decode(&bytes));
        drop(version.before([&bytes[..]]));
    }
}
