//! One letter typed or one word deleted in a real document, in its tree as an editor does it and in
//! the whole file as a save does it: every other byte stays.

use rand::{RngExt as _, SeedableRng as _, rngs::ChaCha8Rng};
use yfs_markdown::schema::SchemaProfile;
use yrs::{Text as _, XmlTextRef};

use super::{
    super::ContentDoc,
    aside::{RICH, replica, write},
};
use crate::rich::{LiveChild, live};

/// A letter that no document has.
const LETTER: &str = "\u{291}";

const DOCUMENTS: [&str; 9] = [
    include_str!("../../../../../../fixtures/handbook/README.md"),
    include_str!("../../../../../../fixtures/handbook/runbooks/on-call.md"),
    include_str!("../../../../../../fixtures/handbook/runbooks/gauge-offline.md"),
    include_str!("../../../../../../fixtures/handbook/engineering/architecture.md"),
    include_str!("../../../../../../fixtures/handbook/engineering/code-review.md"),
    include_str!("../../../../../../fixtures/handbook/engineering/testing.md"),
    include_str!("../../../../../../fixtures/handbook/engineering/style/sql.md"),
    include_str!("../../../../../../fixtures/handbook/onboarding/first-week.md"),
    include_str!("../../../../../../fixtures/handbook/people/time-off.md"),
];

/// Returns the texts of a document.
fn texts(doc: &mut ContentDoc) -> Vec<(XmlTextRef, String)> {
    fn collect(kids: &[LiveChild], found: &mut Vec<(XmlTextRef, String)>) {
        for kid in kids {
            match kid {
                LiveChild::Element(element) => collect(&element.kids, found),
                LiveChild::Text(text) => {
                    let slots = text.slots.iter();
                    found.extend(slots.map(|slot| (slot.handle.clone(), slot.text.clone())));
                }
            }
        }
    }
    let mut found = Vec::new();
    doc.gate().read(|txn| collect(&live(txn, SchemaProfile::Gfm), &mut found));
    found.retain(|(_, text)| !text.is_empty());
    found
}

/// Returns the places of words with the blank before them.
fn words(text: &str) -> Vec<std::ops::Range<usize>> {
    let word = |(at, _): (usize, &str)| {
        let rest = &text[at + 1..];
        let len = rest.find(|sign: char| !sign.is_alphanumeric()).unwrap_or(rest.len());
        (len > 0).then_some(at..at + 1 + len)
    };
    text.match_indices(' ').filter_map(word).collect()
}

fn units(text: &str) -> u32 {
    text.encode_utf16().count() as u32
}

/// Reports whether a text is a longer one without one occurrence of a word.
fn is_without(long: &str, short: &str, word: &str) -> bool {
    let pairs = || long.bytes().zip(short.bytes());
    let n_before = pairs().take_while(|(long, short)| long == short).count();
    let pairs = long.bytes().rev().zip(short.bytes().rev());
    let n_behind = pairs.take_while(|(long, short)| long == short).count();
    short.len() + word.len() == long.len() && n_before + n_behind >= short.len()
}

/// Changes one text of the tree, and returns what was inserted and deleted. A word that stands in
/// the file with notation inside is not deleted, since the notation may have to go.
fn edit_tree(doc: &mut ContentDoc, file: &str, rng: &mut ChaCha8Rng) -> Option<(bool, String)> {
    let texts = texts(doc);
    let is_plain = |word: &str| {
        let n_there: usize = texts.iter().map(|(_, text)| text.matches(word).count()).sum();
        n_there == file.matches(word).count()
    };
    let (handle, text) = &texts[rng.random_range(0..texts.len())];
    let is_typed = rng.random_bool(0.5);
    let places: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
    let mut words = words(text);
    words.retain(|word| is_plain(&text[word.clone()]));
    let (range, letter) = match is_typed {
        true => (places[rng.random_range(0..places.len())], LETTER.to_owned()),
        false if words.is_empty() => return None,
        false => {
            let word = words[rng.random_range(0..words.len())].clone();
            (word.start, text[word].to_owned())
        }
    };
    let at = units(&text[..range]);
    doc.replica.gate.edit(|txn| match is_typed {
        true => handle.insert(txn, at, &letter),
        false => handle.remove_range(txn, at, units(&letter)),
    });
    doc.forget();
    Some((is_typed, letter))
}

#[test]
fn an_edit_of_one_word_in_a_real_document_keeps_every_other_byte() {
    let (mut n_edits, mut wrong) = (0, Vec::new());
    for (number, file) in DOCUMENTS.iter().enumerate() {
        let mut rng = ChaCha8Rng::seed_from_u64(number as u64);
        for _ in 0..45 {
            let mut doc = replica(1, RICH, &[]);
            write(&mut doc, file);
            assert_eq!(doc.text(), *file);
            let Some((is_typed, word)) = edit_tree(&mut doc, file, &mut rng) else { continue };
            n_edits += 1;
            let text = doc.text();
            let is_right = match is_typed {
                true => is_without(&text, file, &word),
                false => is_without(file, &text, &word),
            };
            if !is_right {
                let lines = file.lines().filter(|line| !text.contains(line));
                let new = text.lines().filter(|line| !file.contains(line));
                let lines = lines.map(|line| format!("-{line}"));
                let lines: Vec<_> = lines.chain(new.map(|line| format!("+{line}"))).collect();
                wrong.push(lines.join("\n"));
            }
            // The same by a save.
            let words = words(file);
            let word = words[rng.random_range(0..words.len())].clone();
            let new = match is_typed {
                true => [&file[..word.end], LETTER, &file[word.end..]].concat(),
                false => [&file[..word.start], &file[word.end..]].concat(),
            };
            let mut doc = replica(1, RICH, &[]);
            write(&mut doc, file);
            write(&mut doc, &new);
            n_edits += 1;
            assert_eq!(doc.text(), new);
        }
    }
    assert!(wrong.is_empty(), "{} of {n_edits}:\n{}", wrong.len(), wrong.join("\n\n"));
    assert!(n_edits > 500, "{n_edits}");
}
