//! Replicas that worked apart: what stood in each of them is a version of its own, in all of them.

use super::{at, doc_with, replica, texts};
use crate::{
    content::{ContentDoc, LAST_OF_SIDE},
    gate::UpdateSource,
};

/// Receives all that another replica has, as a replica receives a batch of updates.
fn merge(into: &mut ContentDoc, from: &ContentDoc) -> Vec<Vec<u8>> {
    let update = from.gate().encode_diff(&into.gate().state_vector()).unwrap();
    let before = into.state_before_merge();
    into.receive(&update, UpdateSource::Wire).unwrap();
    let mark = before.and_then(|before| into.note_state_before_merge(&before).unwrap());
    mark.into_iter().chain(into.separate_words().unwrap()).collect()
}

/// Exchanges everything among replicas, by way of the first, until nothing is new.
fn exchange(replicas: &mut [&mut ContentDoc]) {
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
