//! Tests of renames that change the kind of content which the file's name implies.

mod late;
mod random;

use yfs_markdown::schema::SchemaProfile;
use yrs::{ReadTxn as _, Text as _, Transact as _, WriteTxn as _};

use crate::{
    actor::{Actor, ActorKind},
    content::{ContentBase, ContentDoc, RunAuthor, is_rich_of_one},
    gate::{GateLimits, UpdateSource},
    id::{ClientId, FileId},
    kind::ContentRoot,
    time::Millis,
};

const RICH: ContentRoot = ContentRoot::Rich(SchemaProfile::Gfm);

fn author() -> RunAuthor {
    RunAuthor::new(Actor::new(ActorKind::Agent, "test"), Millis(1_000))
}

fn replica(client: u64, kind: ContentRoot, others: &[&ContentDoc]) -> ContentDoc {
    let id = FileId::parse("0pvpappn8hn4dcp").expect("an id");
    let mut doc =
        ContentDoc::new(&id, ClientId::new(client).expect("53 bits"), GateLimits::default());
    doc.set_kind(kind);
    others.iter().for_each(|other| merge_state(&mut doc, other));
    doc
}

fn merge_state(doc: &mut ContentDoc, other: &ContentDoc) {
    doc.receive(&other.gate().encode_state(), UpdateSource::Store).expect("it is an update");
}

fn everybody_hears(docs: &mut [ContentDoc]) {
    let states: Vec<_> = docs.iter().map(|doc| doc.gate().encode_state()).collect();
    for doc in docs {
        for state in &states {
            doc.receive(state, UpdateSource::Store).expect("it is an update");
        }
    }
}

fn rename(doc: &mut ContentDoc, kind: ContentRoot) {
    doc.set_kind(kind);
    doc.convert().expect("it can be converted");
    assert!(!doc.conversion().needs_conversion());
}

/// Repairs a document, as the peer that keeps the log does.
fn repair(doc: &mut ContentDoc) {
    assert!(
        doc.conversion().needs_repair()
            || doc.conversion().needs_conversion()
            || doc.repair() == Ok(None)
    );
    doc.repair().expect("it can be repaired");
    assert!(!doc.conversion().needs_repair());
}

fn write(doc: &mut ContentDoc, text: &str) {
    assert!(doc.write(text, None, &author()).is_ok());
}

fn type_plainly(doc: &mut ContentDoc, at: u32, text: &str) {
    doc.replica.gate.edit(|txn| txn.get_or_insert_text("text").insert(txn, at, text));
    doc.forget();
}

const FILE: &str = "---\ntitle: 'x' # y\n---\nTitle\n=====\n\n* one\n* two\n";

/// One process renames the file while another one saves it, as a mirror does.
#[test]
fn what_is_saved_beside_a_conversion_is_in_the_file() {
    for (from, to) in [(ContentRoot::Text, RICH), (RICH, ContentRoot::Text)] {
        let mut renamer = replica(1, from, &[]);
        write(&mut renamer, "one\n\ntwo\n");
        let mut saver = replica(2, from, &[&renamer]);
        rename(&mut renamer, to);
        write(&mut saver, "one\n\nsaved\n\ntwo\n");
        saver.set_kind(to);
        merge_state(&mut saver, &renamer);
        let mut reader = replica(3, to, &[&saver]);
        assert_eq!(reader.text(), "one\n\nsaved\n\ntwo\n", "before any settlement");
        let read = reader.version();
        assert_eq!(reader.text_at(&read).as_deref(), Ok("one\n\nsaved\n\ntwo\n"));
        // A save settles the file first, whether its base is older, newer or of the same time.
        let mut stale = replica(4, to, &[&reader]);
        write(&mut saver, "one\n\nsaved\n\nmore\n\ntwo\n");
        merge_state(&mut reader, &saver);
        merge_state(&mut stale, &saver);
        let text = "zero\n\none\n\nsaved\n\ntwo\n";
        let base = Some(ContentBase::Version(&read));
        assert!(stale.write(text, base, &author()).is_ok());
        assert_eq!(stale.text(), "zero\n\none\n\nsaved\n\nmore\n\ntwo\n");
        assert!(!stale.conversion().needs_repair());
    }
}

#[test]
fn content_goes_to_and_fro_to_the_byte() {
    let mut doc = replica(1, ContentRoot::Text, &[]);
    write(&mut doc, FILE);
    for (kind, add) in [(RICH, "3\n"), (ContentRoot::Text, "4\n"), (RICH, "5\n")] {
        let before = doc.text();
        doc.set_kind(kind);
        assert!(doc.conversion().needs_conversion());
        assert_eq!(doc.text(), before, "before anybody converts it");
        rename(&mut doc, kind);
        assert_eq!(doc.text(), before);
        write(&mut doc, &(before.clone() + add));
        let stored = replica(9, kind, &[&doc]);
        assert_eq!(stored.text(), before + add);
        assert_eq!(stored.conversion().current_root(), kind);
    }
}

#[test]
fn a_write_converts_first_and_is_one_update() {
    let mut doc = replica(1, ContentRoot::Text, &[]);
    write(&mut doc, FILE);
    let mut other = replica(2, RICH, &[&doc]);
    doc.set_kind(RICH);
    let new = FILE.replace("two", "2");
    let update = doc.write(&new, None, &author()).expect("a write").update.expect("a change");
    other.receive(&update, UpdateSource::Store).expect("it is an update");
    assert_eq!(other.text(), new);
    assert_eq!(other.conversion().current_root(), RICH);
}

#[test]
fn several_who_convert_make_it_once() {
    for kind in [RICH, ContentRoot::Text] {
        let from = if kind == RICH { ContentRoot::Text } else { RICH };
        let mut first = replica(1, from, &[]);
        write(&mut first, FILE);
        let mut docs: Vec<_> = (2..7).map(|client| replica(client, from, &[&first])).collect();
        docs.iter_mut().for_each(|doc| rename(doc, kind));
        everybody_hears(&mut docs);
        for doc in &docs {
            assert_eq!(doc.text(), FILE);
            assert!(!doc.conversion().needs_conversion());
        }
    }
}

#[test]
fn conversions_of_different_states_are_made_again() {
    let mut first = replica(1, ContentRoot::Text, &[]);
    write(&mut first, "one\n\ntwo\n");
    let mut docs: Vec<_> =
        (2..5).map(|client| replica(client, ContentRoot::Text, &[&first])).collect();
    type_plainly(&mut docs[1], 3, "!");
    docs.iter_mut().for_each(|doc| rename(doc, RICH));
    everybody_hears(&mut docs);
    docs.iter_mut().for_each(|doc| rename(doc, RICH));
    everybody_hears(&mut docs);
    for doc in &docs {
        assert_eq!(doc.text(), "one!\n\ntwo\n");
        assert!(!doc.conversion().needs_conversion());
    }
}

#[test]
fn a_copy_that_somebody_typed_in_stays() {
    let mut first = replica(1, ContentRoot::Text, &[]);
    write(&mut first, "one\n\ntwo\n");
    let mut docs: Vec<_> =
        (2..4).map(|client| replica(client, ContentRoot::Text, &[&first])).collect();
    type_plainly(&mut docs[1], 3, "!");
    docs.iter_mut().for_each(|doc| rename(doc, RICH));
    write(&mut docs[0], "one\n\ntwo and more\n");
    everybody_hears(&mut docs);
    repair(&mut docs[0]);
    everybody_hears(&mut docs);
    for doc in &docs {
        assert_eq!(doc.text(), "one!\n\ntwo and more\n");
        assert!(!doc.conversion().needs_conversion());
    }
}

#[test]
fn what_was_typed_where_the_content_no_longer_is_comes_over() {
    let mut doc = replica(1, ContentRoot::Text, &[]);
    write(&mut doc, "one\n\ntwo\n");
    let mut late = replica(2, ContentRoot::Text, &[&doc]);
    rename(&mut doc, RICH);
    write(&mut doc, "one\n\n**two**\n");
    type_plainly(&mut late, 3, " late");
    merge_state(&mut doc, &late);
    assert!(!doc.conversion().needs_conversion() && doc.conversion().needs_repair());
    assert_eq!(doc.text(), "one late\n\n**two**\n", "readers get it before it is settled");
    repair(&mut doc);
    assert_eq!(doc.text(), "one late\n\n**two**\n");
    let merged = replica(3, RICH, &[&doc]);
    assert_eq!(merged.text(), doc.text());
    assert!(!merged.conversion().needs_conversion());
}

#[test]
fn a_document_of_the_other_schema_is_converted() {
    let mut doc = replica(1, ContentRoot::Rich(SchemaProfile::CommonMark), &[]);
    let file = FILE.to_owned() + "\nA *word*\n\n***\n\n| a | b |\n|---|---|\n| c | d |\n";
    write(&mut doc, &file);
    assert_eq!(doc.conversion().evident_profile(), Some(SchemaProfile::CommonMark));
    assert_eq!(doc.keep_profile(SchemaProfile::CommonMark), Ok(None));
    assert!(doc.keep_profile(SchemaProfile::Gfm).expect("it can be converted").is_some());
    let merged = replica(2, RICH, &[&doc]);
    assert_eq!(merged.text(), file);
    assert_eq!(merged.conversion().evident_profile(), Some(SchemaProfile::Gfm));
    let tree = merged.gate().read(|txn| crate::rich::read(txn, SchemaProfile::Gfm));
    assert_eq!(yfs_markdown::schema::check(&tree, SchemaProfile::Gfm), Ok(()));
}

#[test]
fn what_two_plain_peers_converted_is_repaired() {
    let body = "# One\n\nTwo *three*.\n";
    let mut docs: Vec<_> = (1..3).map(|client| replica(client, RICH, &[])).collect();
    docs.iter_mut().for_each(|doc| write(doc, body));
    everybody_hears(&mut docs);
    assert!(docs[0].conversion().is_doubled());
    assert!(docs[0].undouble(&author()).expect("it can be repaired").is_some());
    everybody_hears(&mut docs);
    for doc in &docs {
        assert!(!doc.conversion().is_doubled());
        assert_eq!(doc.text(), body);
    }
}

#[test]
fn roots_that_were_begun_apart_are_one_file() {
    for kind in [RICH, ContentRoot::Text] {
        // The rows of the file and of its rename arrived before its content did.
        let mut docs = [replica(1, RICH, &[]), replica(2, RICH, &[])];
        docs[1].set_kind(ContentRoot::Text);
        write(&mut docs[0], "First *words*.\n");
        write(&mut docs[1], "second words");
        everybody_hears(&mut docs);
        let expected = match kind {
            ContentRoot::Text => "second words\nFirst *words*.\n",
            ContentRoot::Rich(_) => "First *words*.\n\nsecond words",
        };
        for doc in &mut docs {
            doc.set_kind(kind);
            assert!(doc.conversion().needs_repair() && !doc.conversion().needs_conversion());
            repair(doc);
            assert_eq!(doc.text(), expected);
        }
        everybody_hears(&mut docs);
        assert!(docs.iter().all(|doc| !doc.conversion().needs_repair() && doc.text() == expected));
        // From then on both roots are in step.
        write(&mut docs[0], "other words\n");
        rename(&mut docs[0], ContentRoot::Text);
        rename(&mut docs[0], RICH);
        assert_eq!(docs[0].text(), "other words\n");
    }
}

#[test]
fn an_old_copy_that_a_plain_peer_left_in_the_other_root_is_not_merged() {
    let mut doc = replica(1, RICH, &[]);
    write(&mut doc, "Old words.\n");
    let plain = yrs::Doc::with_client_id(7);
    let text = plain.get_or_insert_text("text");
    text.insert(&mut plain.transact_mut(), 0, "new words");
    let update = plain.transact().encode_diff_v1(&yrs::StateVector::default());
    doc.receive(&update, UpdateSource::Wire).expect("it is an update");
    doc.set_kind(ContentRoot::Text);
    assert!(!doc.conversion().needs_repair() && !doc.conversion().needs_conversion());
    assert_eq!(doc.text(), "new words");
}

#[test]
fn rich_text_of_one_client_has_nothing_to_settle() {
    let is_of_one = |docs: &[&ContentDoc]| {
        let updates: Vec<_> = docs.iter().map(|doc| doc.gate().encode_state()).collect();
        is_rich_of_one(updates.iter().map(Vec::as_slice), &GateLimits::default())
    };
    let mut one = replica(1, RICH, &[]);
    write(&mut one, "# One\n");
    assert!(is_of_one(&[&one]));
    write(&mut one, "# One\n\nTwo\n");
    assert!(is_of_one(&[&one]));
    let (mut other, mut text) = (replica(2, RICH, &[]), replica(1, ContentRoot::Text, &[]));
    write(&mut other, "# One\n\nTwo\n");
    write(&mut text, "# One\n");
    assert!(!is_of_one(&[&one, &other]), "it may be there twice");
    assert!(!is_of_one(&[&text]), "it is not where the name says");
    assert!(!is_of_one(&[&one, &text]));
    rename(&mut one, ContentRoot::Text);
    assert!(!is_of_one(&[&one]));
    assert!(!is_rich_of_one([&b"\x01"[..]], &GateLimits::default()));
}
