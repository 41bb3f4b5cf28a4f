//! Replicas that worked apart: what stood in each of them is a version of its own, in all of them.

use super::{at, doc, doc_with, replica, texts};
use crate::{
    content::{ContentBase, ContentDoc, LAST_OF_SIDE},
    gate::UpdateSource,
};

/// Receives all that another replica has, as a replica receives a batch of updates.
pub(super) fn merge(into: &mut ContentDoc, from: &ContentDoc) -> Vec<Vec<u8>> {
    let update = from.gate().encode_diff(&into.gate().state_vector()).unwrap();
    let before = into.state_before_merge();
    into.receive(&update, UpdateSource::Wire).unwrap();
    let mark = before.and_then(|before| into.note_state_before_merge(&before).unwrap());
    mark.into_iter().chain(into.separate_words().unwrap()).collect()
}

/// Exchanges everything among replicas, by way of the first, until nothing is new.
pub(super) fn exchange(replicas: &mut [&mut ContentDoc]) {
    for _ in 0..3 {
        let (hub, others) = replicas.split_first_mut().unwrap();
        for other in others {
            merge(hub, other);
            merge(other, hub);
        }
    }
    let (hub, others) = replicas.split_first_mut().unwrap();
    let state = hub.gate().state_vector();
    assert!(others.iter().all(|other| other.gate().state_vector() == state));
}

#[test]
fn both_values_of_a_number_are_versions_on_every_replica() {
    let mut hub = doc_with(1, "timeout = 30\n");
    let (mut one, mut two) = (replica(2, &hub), replica(3, &hub));
    one.write("timeout = 45\n", None, &at("one", 1000)).unwrap().update.unwrap();
    two.write("timeout = 60\n", None, &at("two", 2000)).unwrap().update.unwrap();
    exchange(&mut [&mut hub, &mut one, &mut two]);
    let merged = hub.text();
    assert!(merged == "timeout = 45 60\n" || merged == "timeout = 60 45\n", "{merged:?}");
    let expected = ["timeout = 30\n", "timeout = 45\n", "timeout = 60\n", &merged];
    for replica in [&hub, &one, &two] {
        assert_eq!(texts(replica), expected);
        let versions = replica.timeline().versions();
        let authors: Vec<_> = versions.iter().map(|past| past.author.clone().unwrap()).collect();
        assert_eq!(authors[1..3], [at("one", 1000), at("two", 2000)]);
        assert_eq!(authors[3].label.as_deref(), Some(LAST_OF_SIDE));
    }
}

#[test]
fn changes_that_do_not_touch_mix_in_no_version_but_the_merged_one() {
    let mut hub = doc_with(1, "one two three four\n");
    let (mut one, mut two) = (replica(2, &hub), replica(3, &hub));
    one.edit("one", "ONE", false, &at("one", 1000)).unwrap().update.unwrap();
    two.edit("three", "THREE", false, &at("two", 1500)).unwrap().update.unwrap();
    one.edit("ONE", "Un", false, &at("one", 2000)).unwrap().update.unwrap();
    two.edit("four", "", false, &at("two", 2500)).unwrap().update.unwrap();
    exchange(&mut [&mut hub, &mut one, &mut two]);
    let expected = [
        "one two three four\n",
        "ONE two three four\n",
        "one two THREE four\n",
        "Un two three four\n",
        "one two THREE \n",
        "Un two THREE \n",
    ];
    for replica in [&hub, &one, &two] {
        assert_eq!(texts(replica), expected);
    }
}

#[test]
fn three_sides_and_a_line_that_one_deletes_are_versions() {
    let mut hub = doc_with(1, "a\nb\nc\n");
    let sides: Vec<ContentDoc> = (2..5).map(|n| replica(n, &hub)).collect();
    let [mut one, mut two, mut three] = <[ContentDoc; 3]>::try_from(sides).unwrap();
    one.write("a\nc\n", None, &at("one", 1000)).unwrap().update.unwrap();
    two.write("a\nBB\nc\n", None, &at("two", 2000)).unwrap().update.unwrap();
    three.write("a\nb\nC\n", None, &at("three", 3000)).unwrap().update.unwrap();
    exchange(&mut [&mut hub, &mut one, &mut two, &mut three]);
    for replica in [&hub, &one, &two, &three] {
        let texts = texts(replica);
        assert_eq!(texts[..4], ["a\nb\nc\n", "a\nc\n", "a\nBB\nc\n", "a\nb\nC\n"]);
        assert_eq!(texts.last(), Some(&hub.text()));
        assert_eq!(texts.last().unwrap(), "a\nBB\nC\n");
        // States that stood on the hub between two merges may be versions as well.
        assert!(texts.len() <= 6, "{texts:?}");
    }
}

#[test]
fn a_merge_that_knows_both_sides_leaves_no_mark() {
    let mut hub = doc_with(1, "one\n");
    let mut other = replica(2, &hub);
    for n in 0..5 {
        other.append(&format!("other {n}\n"), &at("other", 1000 * n)).unwrap().update.unwrap();
        assert_eq!(merge(&mut hub, &other), Vec::<Vec<u8>>::new());
        hub.append(&format!("hub {n}\n"), &at("hub", 1000 * n + 500)).unwrap().update.unwrap();
        assert_eq!(merge(&mut other, &hub), Vec::<Vec<u8>>::new());
    }
    assert_eq!(texts(&hub).len(), 11);
}

#[test]
fn marks_end() {
    let mut hub = doc_with(1, "a b c d e f\n");
    let (mut one, mut two) = (replica(2, &hub), replica(3, &hub));
    for round in 0..4 {
        let ms = 10_000 * round;
        one.append(&format!("one {round}\n"), &at("one", ms + 1)).unwrap().update.unwrap();
        two.append(&format!("two {round}\n"), &at("two", ms + 2)).unwrap().update.unwrap();
        exchange(&mut [&mut hub, &mut one, &mut two]);
        let n_entries = hub.log().entries().len();
        exchange(&mut [&mut hub, &mut one, &mut two]);
        assert_eq!(hub.log().entries().len(), n_entries);
        // Each side notes its own state, and the hub notes the first.
        assert!(n_entries <= 1 + 4 * (round as usize + 1), "{n_entries} in round {round}");
    }
}

/// Writes what two writers saved who had read the same text: in one process, or in two that share a
/// store, with one log.
fn saves(is_one_process: bool, read: &str, first: &str, second: &str) -> ContentDoc {
    let mut doc = if read.is_empty() { doc(1) } else { doc_with(1, read) };
    let version = doc.version();
    if is_one_process {
        doc.write(first, None, &at("one", 1000)).unwrap().update.unwrap();
    } else {
        let mut other = replica(2, &doc);
        let update = other.write(first, None, &at("one", 1000)).unwrap().update.unwrap();
        doc.receive(&update, UpdateSource::Store).unwrap();
    }
    let base = Some(ContentBase::Version(&version));
    doc.write(second, base, &at("two", 2000)).unwrap().update.unwrap();
    doc
}

#[test]
fn what_a_merged_save_said_is_a_version() {
    for (read, first, second) in [
        ("disk 1 old text\n", "put 1\n", "disk 9\n"),
        ("timeout = 30\n", "timeout = 45\n", "timeout = 60\n"),
        ("one two three four\n", "ONE two three four\n", "one two THREE four\n"),
        ("a\nb\nc\n", "a\nc\n", "a\nBB\nc\n"),
        ("a\nb\n", "", "a\nb\nc\n"),
        ("a\n", "x\na\ny\n", "b\n"),
        ("", "one\n", "two\n"),
    ] {
        for is_one_process in [true, false] {
            let mut doc = saves(is_one_process, read, first, second);
            let merged = doc.text();
            let mut expected = vec![read, first, second, &*merged];
            expected.dedup();
            if read.is_empty() {
                expected.remove(0);
            }
            assert_eq!(texts(&doc), expected);
            assert!(!merged.contains("BBc"), "{merged:?}");
            // Later notes are of states that the document had.
            for n in 0..3 {
                let text = format!("{n}\n");
                doc.append(&text, &at("three", 3000 + n)).unwrap().update.unwrap();
            }
            let texts = texts(&doc);
            assert_eq!(
                texts[texts.len() - 4..],
                [0, 1, 2, 3].map(|n| {
                    let all: String = (0..n).map(|n| format!("{n}\n")).collect();
                    merged.clone() + &all
                })
            );
            let other = replica(3, &doc);
            assert_eq!(super::texts(&other), texts);
        }
    }
}

/// Returns the places of a document where writers met who did not know of each other.
fn mixed(doc: &mut ContentDoc) -> Vec<String> {
    doc.mixed_places().unwrap().into_iter().map(|place| place.words).collect()
}

#[test]
fn words_that_meet_are_a_conflict_until_a_writer_changes_them() {
    for (read, first, second, expected) in [
        ("disk 1 old text\n", "put 1\n", "disk 9\n", Some("put 9")),
        (
            "user@example.com\n",
            "admin@example.com\n",
            "user@example.org\n",
            Some("admin@example.org"),
        ),
        ("名前は太郎\n", "名前は次郎\n", "名前は三郎\n", Some("")),
        ("foo\n", "foobar\n", "foobaz\n", Some("")),
        ("color\n", "colour\n", "colors\n", Some("colours")),
        ("one two three four\n", "ONE two three four\n", "one two THREE four\n", None),
        ("a\nb\n", "A\nb\n", "a\nB\n", None),
        ("a\n", "a\nb\n", "c\na\n", None),
    ] {
        for is_one_process in [true, false] {
            let mut doc = saves(is_one_process, read, first, second);
            let text = doc.text();
            let case = format!("{read:?} {first:?} {second:?} {text:?}");
            let found = mixed(&mut doc);
            let Some(words) = expected else {
                assert_eq!(found, Vec::<String>::new(), "{case}");
                continue;
            };
            assert_eq!(found.len(), 1, "{case} {found:?}");
            assert!(words.is_empty() || found[0] == words, "{case} {found:?}");
            assert_eq!(mixed(&mut replica(3, &doc)), found, "{case}");
            // A change elsewhere ends no conflict; one of these words does, and so does a decision.
            doc.append("more\n", &at("three", 3000)).unwrap().update.unwrap();
            assert_eq!(mixed(&mut doc), found, "{case}");
            let mut settled = replica(3, &doc);
            settled.settle_places(&at("three", 4000)).unwrap().unwrap();
            assert_eq!(mixed(&mut settled), Vec::<String>::new(), "{case}");
            assert_eq!(settled.text(), doc.text());
            doc.edit(&found[0], "decided", false, &at("three", 4000)).unwrap().update.unwrap();
            assert_eq!(mixed(&mut doc), Vec::<String>::new(), "{case}");
        }
    }
}

#[test]
fn words_of_two_replicas_that_meet_are_a_conflict_on_all() {
    let mut hub = doc_with(1, "mail: user@example.com and more\n");
    let (mut one, mut two) = (replica(2, &hub), replica(3, &hub));
    one.edit("user", "admin", false, &at("one", 1000)).unwrap().update.unwrap();
    two.edit("com", "org", false, &at("two", 2000)).unwrap().update.unwrap();
    exchange(&mut [&mut hub, &mut one, &mut two]);
    for doc in [&mut hub, &mut one, &mut two] {
        let places = doc.mixed_places().unwrap();
        assert_eq!(places.len(), 1);
        assert_eq!((places[0].at, &*places[0].words), (6, "admin@example.org"));
        assert_eq!(places[0].by.clone().map(|actor| actor.name), ["one", "two"]);
    }
    // The writers saw each other's work: what comes later is no conflict.
    one.edit("more", "MORE", false, &at("one", 3000)).unwrap().update.unwrap();
    one.edit("admin@example.org", "a@b.c", false, &at("one", 4000)).unwrap().update.unwrap();
    exchange(&mut [&mut hub, &mut one, &mut two]);
    assert_eq!(mixed(&mut hub), Vec::<String>::new());
}
