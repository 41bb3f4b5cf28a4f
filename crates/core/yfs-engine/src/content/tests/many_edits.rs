//! Writers that edit a text so often that they take several client ids for it.

use std::collections::BTreeSet;

use proptest::prelude::*;
use rand::{RngExt, SeedableRng, rngs::ChaCha8Rng};

use super::{
    author, client, doc_with, replica,
    sides::{exchange, merge},
    texts,
};
use crate::{
    content::ContentDoc,
    gate::{GateRejection, UpdateBuilder, UpdateSource},
    id::{ClientId, ItemId},
};

/// The clients that wrote to the log.
fn clients(doc: &ContentDoc) -> BTreeSet<ClientId> {
    doc.log().entries().iter().map(|entry| entry.client).collect()
}

/// A document whose writer takes another id after so many edits.
fn with_max_edits(mut doc: ContentDoc, max_edits: usize) -> ContentDoc {
    doc.replica.ids.set_max_edits(max_edits);
    doc
}

/// Replaces a letter of the text, and returns its place and the update.
fn edit(doc: &mut ContentDoc, random: &mut ChaCha8Rng, by: &str) -> (usize, Option<Vec<u8>>) {
    let at = random.random_range(0..doc.text().len() - 1);
    let new = char::from(random.random_range(b'a'..=b'z')).to_string();
    (at, doc.replace_range(at..at + 1, &new, &author(by)).unwrap().update)
}

/// All edits have one time, so that the versions are ordered by what they build on alone. The first
/// notes of a short text are whole snapshots, which name no other entry.
#[test]
fn each_edit_is_a_version_whatever_its_client_id() {
    for text in ["one two three four\n", &"a line of text\n".repeat(40)] {
        for max_edits in 1..8 {
            let mut doc = with_max_edits(doc_with(1, text), max_edits);
            let mut random = ChaCha8Rng::seed_from_u64(3);
            let mut expected = vec![doc.text()];
            for _ in 0..60 {
                edit(&mut doc, &mut random, "ana");
                expected.push(doc.text());
            }
            expected.dedup();
            assert!(clients(&doc).len() > 50 / max_edits, "{:?}", clients(&doc));
            assert_eq!(texts(&doc), expected);
            assert_eq!(texts(&replica(2, &doc)), expected);
        }
    }
}

#[test]
fn a_process_that_loads_a_text_goes_on_under_the_last_id() {
    let mut doc = doc_with(1, "one two three four\n");
    let mut random = ChaCha8Rng::seed_from_u64(4);
    let mut ids = vec![clients(&doc)];
    for _ in 0..6 {
        for _ in 0..6 {
            edit(&mut doc, &mut random, "ana");
        }
        ids.push(clients(&doc));
        doc = replica(1, &doc);
    }
    let n_edits = doc.log().entries().len();
    // An edit that yrs makes, the first of a process, is under the first id.
    assert!(n_edits > 30 && (4..=8).contains(&ids[6].len()), "{n_edits} edits by {ids:?}");
    assert!(ids.windows(2).all(|ids| ids[0].is_subset(&ids[1])));
}

#[test]
fn a_peer_cannot_write_under_a_later_id_of_this_process() {
    let mut doc = with_max_edits(doc_with(1, "one two three four\n"), 3);
    let mut random = ChaCha8Rng::seed_from_u64(4);
    for _ in 0..10 {
        edit(&mut doc, &mut random, "ana");
    }
    for client in clients(&doc) {
        let mut update = UpdateBuilder::new();
        let next = ItemId::new(client, doc.gate().clock_of(client));
        update.array_run(next, None, None, "fs:log", &["forged".into()]);
        let refused = doc.receive(&update.finish(), UpdateSource::Wire).unwrap_err();
        assert_eq!(refused, GateRejection::OurClient { client });
    }
}

/// The first part knows the word that was deleted, but neither part names the other one, as if two
/// writers had put them into the place of that word.
#[test]
fn words_of_one_writer_are_not_separated() {
    for (max_edits, is_one_writer) in [(1, true), (1000, true), (1000, false)] {
        let mut doc = with_max_edits(doc_with(1, "begin\n"), max_edits);
        let mut other = replica(2, &doc);
        other.append("end M\n", &author("other")).unwrap().update.unwrap();
        merge(&mut doc, &other);
        let (by, at) = (author("ana"), doc.text().find('M').unwrap());
        let edits = [
            (at..at, "x"),
            (at..at + 1, ""),
            (at..at, "foo"),
            (at + 4..at + 4, "bar"),
            (at + 3..at + 4, ""),
        ];
        for (nth, (range, new)) in edits.into_iter().enumerate() {
            if !is_one_writer {
                doc.write_text_as(client(10 + nth as u64));
            }
            doc.replace_range(range, new, &by).unwrap().update.unwrap();
        }
        assert_eq!(doc.text(), "begin\nend foobar\n");
        let n_ids = clients(&doc).len() - 1;
        assert_eq!(n_ids > 1, max_edits == 1 || !is_one_writer, "{n_ids} ids");
        merge(&mut other, &doc);
        // Ids are of several writers if none follows from another.
        assert_eq!(other.separated_words().unwrap().is_empty(), is_one_writer);
        assert_eq!(other.text() == doc.text(), is_one_writer);
    }
}

#[test]
fn what_was_written_under_several_ids_is_erased() {
    let mut doc = with_max_edits(doc_with(1, "a\nb\n"), 1);
    let mut peer = replica(2, &doc);
    for part in ["top", "secret", "words"] {
        let at = doc.text().len() - 1;
        doc.replace_range(at..at, part, &author("ana")).unwrap().update.unwrap();
    }
    merge(&mut peer, &doc);
    assert_eq!(doc.text(), "a\nbtopsecretwords\n");
    doc.replace_range(3..17, "", &author("ana")).unwrap().update.unwrap();
    let erasable = doc.erasable(None).unwrap();
    doc.redact(&erasable, &author("ana")).unwrap().unwrap();
    merge(&mut peer, &doc);
    for doc in [&doc, &peer] {
        let state = doc.gate().encode_state();
        for part in ["top", "secret", "words"] {
            assert!(!state.windows(part.len()).any(|bytes| bytes == part.as_bytes()), "{part}");
        }
        let is_redacted: Vec<bool> =
            doc.timeline().versions().iter().map(|past| past.redacted).collect();
        assert_eq!(is_redacted, [false, true, true, true, false]);
    }
}

/// Lines with a value each, by their number.
fn line_of(nth: usize) -> String {
    format!("key {nth} = ")
}

fn set_value(doc: &mut ContentDoc, nth: usize, value: &str, by: &str) {
    let text = doc.text();
    let line = line_of(nth);
    let start = text.find(&line).expect("a line") + line.len();
    let end = start + text[start..].find('\n').expect("the end of the line");
    doc.replace_range(start..end, value, &author(by)).unwrap().update.unwrap();
}

fn sorted(words: &str) -> Vec<String> {
    let mut words: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
    words.sort_unstable();
    words
}

/// The words of each line, the words that were separated, and those that met: in no order, because
/// the ids order what was inserted at one place.
type Conflicts = [Vec<Vec<String>>; 3];

fn conflicts_of(doc: &mut ContentDoc) -> Conflicts {
    let lines = doc.text().lines().map(sorted).collect();
    let separated = doc.separated_words().unwrap();
    let separated = separated.iter().map(|group| sorted(&group.words.join(" "))).collect();
    let mixed = doc.mixed_places().unwrap();
    [lines, separated, mixed.iter().map(|place| sorted(&place.words)).collect()]
}

/// Two writers set values, now and then the same one without knowing of each other; returns the
/// conflicts after each exchange, and the number of ids.
fn conflicts(seed: u64, max_edits: usize) -> (Vec<Conflicts>, usize) {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let text: String = (0..4).map(|nth| line_of(nth) + "begin\n").collect();
    let mut hub = doc_with(1, &text);
    let [mut one, mut two] = [2, 3].map(|n| with_max_edits(replica(n, &hub), max_edits));
    let mut found = Vec::new();
    for round in 0..24 {
        for (doc, by) in [(&mut one, "one"), (&mut two, "two")] {
            if random.random_bool(0.7) {
                let nth = random.random_range(0..4);
                set_value(doc, nth, &format!("{by}{round}"), by);
            }
        }
        if random.random_bool(0.5) {
            exchange(&mut [&mut hub, &mut one, &mut two]);
            let conflicts = conflicts_of(&mut hub);
            for doc in [&mut one, &mut two] {
                assert_eq!(conflicts_of(doc), conflicts);
            }
            found.push(conflicts);
        }
    }
    (found, clients(&hub).len())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn conflicts_do_not_depend_on_the_ids_of_a_writer(seed: u64) {
        let (expected, n_ids) = conflicts(seed, usize::MAX);
        for max_edits in [1, 3] {
            let (found, n_more_ids) = conflicts(seed, max_edits);
            prop_assert!(n_more_ids >= n_ids);
            prop_assert_eq!(&found, &expected);
        }
    }

    /// Each letter has the author who typed it, on each of several replicas that the updates reach
    /// in any order.
    #[test]
    fn blame_does_not_depend_on_the_ids_of_a_writer(seed: u64, max_edits in 1..5_usize) {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let mut doc = with_max_edits(doc_with(1, "one two three four\n"), max_edits);
        let mut updates = vec![doc.gate().encode_state()];
        let mut expected = vec!["first"; doc.text().len()];
        for _ in 0..40 {
            let by = ["ana", "bob"][random.random_range(0..2)];
            let (at, update) = edit(&mut doc, &mut random, by);
            if let Some(update) = update {
                expected[at] = by;
                updates.push(update);
            }
        }
        let mut late = super::doc(2);
        while !updates.is_empty() {
            let update = updates.swap_remove(random.random_range(0..updates.len()));
            let _received = late.receive(&update, UpdateSource::Wire).unwrap();
        }
        let authors = |doc: &mut ContentDoc| -> Vec<String> {
            let blamed = doc.blame();
            let names = blamed.pieces.iter().flat_map(|piece| {
                let name = piece.author.as_ref().expect("an author").actor.to_string();
                piece.range.clone().map(move |_| name.clone())
            });
            names.collect()
        };
        let expected: Vec<String> =
            expected.iter().map(|name| author(name).actor.to_string()).collect();
        prop_assert_eq!(authors(&mut doc), expected.clone());
        prop_assert_eq!(authors(&mut late), expected);
        prop_assert_eq!(texts(&late), texts(&doc));
        prop_assert!(!clients(&late).contains(&client(2)));
    }
}
