//! Random tests: peers convert, type, delete and erase, and receive each other's updates in any
//! order.

use proptest::prelude::*;

use yrs::{GetString as _, Text as _, WriteTxn as _};

use super::{RICH, author, everybody_hears, late::texts, rename, repair, replica, write};
use crate::{
    content::{ContentDoc, TEXT, diff::utf16_len},
    kind::ContentRoot,
};

#[derive(Debug, Clone)]
enum Step {
    Type(usize),
    Delete(usize),
    Convert(usize),
    Back(usize),
    Merge(usize, usize),
    Redact(usize),
}
use Step::*;

fn step() -> impl Strategy<Value = Step> {
    let who = 0..5_usize;
    prop_oneof![
        3 => who.clone().prop_map(Type),
        1 => who.clone().prop_map(Delete),
        2 => who.clone().prop_map(Convert),
        3 => (who.clone(), who.clone()).prop_map(|(who, whom)| Merge(who, whom)),
        2 => who.prop_map(Redact),
    ]
}

fn word(number: u32) -> String {
    format!("letter{number:02}word")
}

/// Returns the letter that a peer types, which occurs nowhere else.
fn mark(number: u32) -> char {
    char::from_u32(0x1200 + number).expect("a letter")
}

fn is_mark(c: char) -> bool {
    ('\u{1200}'..'\u{1400}').contains(&c)
}

struct World {
    docs: Vec<ContentDoc>,
    words: Vec<String>,
    n_marks: u32,
    deleted: Vec<char>,
}

impl World {
    fn new(n_docs: usize, from: ContentRoot) -> Self {
        let mut first = replica(1, from, &[]);
        let words: Vec<String> = (0..24).map(word).collect();
        let blocks: Vec<String> = words.chunks(6).map(|words| words.join(" ")).collect();
        write(&mut first, &(blocks.join("\n\n") + "\n"));
        let docs = (0..n_docs as u64).map(|client| replica(10 + client, from, &[&first])).collect();
        Self { docs, words, n_marks: 0, deleted: Vec::new() }
    }

    fn step(&mut self, step: &Step, from: ContentRoot, to: ContentRoot) {
        let n_docs = self.docs.len();
        match *step {
            Type(who) => {
                let text = self.docs[who % n_docs].text();
                // Each in a word of its own: two changes of one word keep both versions.
                let word = word(self.n_marks);
                if !text.contains(&word) {
                    return;
                }
                let typed = mark(self.n_marks).to_string();
                self.n_marks += 1;
                self.type_into(who % n_docs, (&word, 4), 0, &typed);
            }
            Delete(who) => {
                let text = self.docs[who % n_docs].text();
                let Some(c) = text.chars().find(|c| is_mark(*c)) else { return };
                self.deleted.push(c);
                self.type_into(who % n_docs, (&c.to_string(), 0), 1, "");
            }
            Convert(who) => rename(&mut self.docs[who % n_docs], to),
            Back(who) => rename(&mut self.docs[who % n_docs], from),
            Merge(who, whom) if who % n_docs != whom % n_docs => {
                let state = self.docs[whom % n_docs].gate().encode_state();
                let source = crate::gate::UpdateSource::Store;
                self.docs[who % n_docs].receive(&state, source).expect("it is an update");
            }
            Merge(..) => {}
            Redact(who) => redact(&mut self.docs[who % n_docs]),
        }
    }

    /// Replaces characters at a distance, in bytes, from the beginning of a word, where the content
    /// is, as an editor does.
    fn type_into(
        &mut self,
        who: usize,
        (word, distance): (&str, usize),
        n_deleted: u32,
        typed: &str,
    ) {
        let doc = &mut self.docs[who];
        let edits_rich = doc.conversion().current_root() == RICH;
        let texts = if edits_rich { texts(doc) } else { Vec::new() };
        doc.replica.gate.edit(|txn| {
            let place = |text: &str| Some(utf16_len(&text[..text.find(word)? + distance]));
            if !edits_rich {
                let root = txn.get_or_insert_text(TEXT);
                let Some(at) = place(&root.get_string(txn)) else { return };
                root.remove_range(txn, at, n_deleted);
                root.insert(txn, at, typed);
                return;
            }
            let found = texts.iter().find_map(|(_, handle, text)| Some((handle, place(text)?)));
            let Some((handle, at)) = found else { return };
            handle.remove_range(txn, at, n_deleted);
            handle.insert(txn, at, typed);
        });
        doc.forget();
    }
}

fn redact(doc: &mut ContentDoc) {
    let text = doc.text();
    let erasable = doc.erasable(None).expect("the erasable content is known");
    doc.redact(&erasable, &author()).expect("it can be erased");
    assert_eq!(doc.text(), text, "a redaction changed the text");
}

fn check(docs: &mut [ContentDoc], to: ContentRoot) -> Result<String, TestCaseError> {
    let text = docs[0].text();
    for doc in docs {
        doc.set_kind(to);
        prop_assert!(!doc.conversion().needs_conversion() && !doc.conversion().needs_repair());
        prop_assert_eq!(&doc.text(), &text);
    }
    Ok(text)
}

fn run(n_docs: usize, to: ContentRoot, steps: &[Step]) -> Result<(), TestCaseError> {
    let from = if to == RICH { ContentRoot::Text } else { RICH };
    let mut world = World::new(n_docs, from);
    for step in steps {
        world.step(step, from, to);
    }
    let World { mut docs, words, n_marks, deleted } = world;
    everybody_hears(&mut docs);
    // One peer repairs the document, as the peer that keeps the log would.
    docs[0].set_kind(to);
    repair(&mut docs[0]);
    everybody_hears(&mut docs);
    let text = check(&mut docs, to)?;
    let plain: String = text.chars().filter(|c| !is_mark(*c)).collect();
    for word in words {
        prop_assert_eq!(plain.matches(&word).count(), 1, "{:?} in {:?}", word, text);
    }
    for mark in (0..n_marks).map(mark) {
        let n_there = text.matches(mark).count();
        prop_assert!(n_there <= 1, "{mark:?} in {text:?}");
        prop_assert!(n_there > 0 || deleted.contains(&mark), "{mark:?} is lost in {text:?}");
    }
    // Content that was erased and is not in the text is nowhere in the document.
    redact(&mut docs[0]);
    everybody_hears(&mut docs);
    prop_assert_eq!(&check(&mut docs, to)?, &text);
    for mark in (0..n_marks).map(mark).filter(|mark| !text.contains(*mark)) {
        let bytes = mark.to_string();
        for doc in &docs {
            let state = doc.gate().encode_state();
            prop_assert!(
                !state.windows(bytes.len()).any(|window| window == bytes.as_bytes()),
                "{:?}",
                mark
            );
        }
    }
    Ok(())
}

/// Found by random scripts in which some convert to and fro.
#[test]
fn content_is_there_once_where_somebody_goes_to_and_fro() {
    let scripts: [(usize, &[Step]); 6] = [
        (4, &[Convert(0), Type(2), Back(4), Convert(2)]),
        (3, &[Type(4), Convert(3), Convert(2), Merge(4, 2), Convert(4), Back(0)]),
        (
            4,
            &[
                Type(0),
                Convert(2),
                Back(2),
                Delete(4),
                Convert(4),
                Type(4),
                Merge(0, 2),
                Redact(0),
                Convert(2),
            ],
        ),
        (
            4,
            &[
                Type(0),
                Convert(2),
                Merge(2, 0),
                Convert(4),
                Type(2),
                Convert(1),
                Back(1),
                Back(4),
                Redact(2),
            ],
        ),
        (
            3,
            &[
                Convert(1),
                Back(4),
                Type(0),
                Convert(1),
                Convert(2),
                Merge(2, 3),
                Back(2),
                Type(4),
                Convert(2),
            ],
        ),
        (
            3,
            &[
                Type(3),
                Convert(1),
                Convert(0),
                Back(1),
                Type(3),
                Convert(2),
                Merge(3, 2),
                Back(3),
                Type(1),
            ],
        ),
    ];
    for (n_docs, steps) in scripts {
        for to in [RICH, ContentRoot::Text] {
            run(n_docs, to, steps).unwrap_or_else(|error| panic!("{error} in {steps:?}"));
        }
    }
}

/// A peer typed while it had two bodies: it had read the merged file, not both.
#[test]
fn a_peer_that_has_two_bodies_writes_in_one() {
    let steps = [
        Convert(1),
        Type(0),
        Convert(0),
        Type(1),
        Type(0),
        Type(1),
        Type(1),
        Merge(1, 0),
        Type(0),
        Type(0),
        Type(1),
    ];
    for to in [RICH, ContentRoot::Text] {
        run(2, to, &steps).unwrap_or_else(|error| panic!("{error}"));
    }
}

/// One settlement keeps the block that another deletes, with the text typed into it.
#[test]
fn a_letter_in_a_block_that_only_a_concurrent_settlement_deleted_is_there_once() {
    let steps = [
        Convert(2),
        Type(0),
        Convert(3),
        Type(3),
        Type(1),
        Type(2),
        Type(2),
        Convert(1),
        Merge(0, 1),
        Merge(4, 3),
        Type(4),
        Merge(1, 2),
        Convert(1),
    ];
    for to in [RICH, ContentRoot::Text] {
        run(4, to, &steps).unwrap_or_else(|error| panic!("{error}"));
    }
}

/// Two peers settle duplicated content that both know, and each keeps the copy that the other
/// deletes.
#[test]
fn content_is_there_once_where_two_settle_apart() {
    let steps = [
        Type(1),
        Convert(2),
        Convert(1),
        Type(2),
        Merge(2, 4),
        Convert(3),
        Merge(1, 0),
        Type(2),
        Type(1),
    ];
    for to in [RICH, ContentRoot::Text] {
        run(3, to, &steps).unwrap_or_else(|error| panic!("{error}"));
    }
}

/// One redacts between conversions that others make of other states.
#[test]
fn a_letter_is_there_once_where_one_redacts_between_conversions() {
    let steps = [
        Convert(1),
        Type(1),
        Type(0),
        Convert(3),
        Merge(1, 0),
        Convert(2),
        Merge(3, 4),
        Type(2),
        Merge(3, 2),
        Type(3),
        Redact(0),
        Type(1),
    ];
    for to in [RICH, ContentRoot::Text] {
        run(3, to, &steps).unwrap_or_else(|error| panic!("{error}"));
    }
}

proptest! {
    #[test]
    fn content_is_there_once_whoever_converts(
        n_docs in 2..6_usize,
        steps in proptest::collection::vec(step(), 1..24),
    ) {
        run(n_docs, RICH, &steps)?;
        run(n_docs, ContentRoot::Text, &steps)?;
    }
}
