//! Where actors wrote last.

use super::{at, client, doc, doc_with, raw, replica};
use crate::{
    content::{ContentDoc, LastRun, RunAuthor},
    gate::UpdateSource,
    kind::{ContentRoot, SchemaProfile},
};

/// Returns the text with a mark at the end of the last run of an actor.
fn marked(doc: &mut ContentDoc, name: &str) -> Option<String> {
    let runs = LastRun::of_each(doc, |author| *author.actor.name == *name);
    let place = runs.first()?.place.clone()?;
    let offset = doc.resolve(&place).unwrap().offset;
    let mut text = doc.text();
    text.insert(offset, '|');
    Some(text)
}

fn edit(doc: &mut ContentDoc, old: &str, new: &str, by: &RunAuthor) {
    drop(doc.edit(old, new, false, by).unwrap());
}

#[test]
fn the_end_of_a_run_is_behind_what_it_inserted() {
    let mut doc = doc_with(1, "Monday\nTuesday\n");
    assert_eq!(marked(&mut doc, "first").as_deref(), Some("Monday\nTuesday\n|"));
    edit(&mut doc, "Tuesday", "Wednesday", &at("scout", 1));
    assert_eq!(marked(&mut doc, "scout").as_deref(), Some("Monday\nWednesday|\n"));
    // The next run of another one changes nothing of that, whose client it shares.
    edit(&mut doc, "Monday", "Sunday", &at("planner", 2));
    assert_eq!(marked(&mut doc, "scout").as_deref(), Some("Sunday\nWednesday|\n"));
    assert_eq!(marked(&mut doc, "planner").as_deref(), Some("Sunday|\nWednesday\n"));
    assert_eq!(marked(&mut doc, "absent"), None);
}

#[test]
fn the_end_of_a_run_that_only_deletes_is_where_it_deleted() {
    let mut doc = doc_with(1, "one two three\n");
    edit(&mut doc, " two", "", &at("scout", 1));
    assert_eq!(marked(&mut doc, "scout").as_deref(), Some("one| three\n"));
    edit(&mut doc, "three", "3", &at("planner", 2));
    assert_eq!(marked(&mut doc, "scout").as_deref(), Some("one| 3\n"));
}

/// Names of versions and marks of merges are in other roots, and newer than what was written.
#[test]
fn records_in_other_roots_are_no_place() {
    let mut doc = doc_with(1, "one\n");
    drop(doc.append("two\n", &at("scout", 1)).unwrap());
    doc.edit_registers().add_label("draft", None, &at("scout", 2)).unwrap();
    assert_eq!(marked(&mut doc, "scout").as_deref(), Some("one\ntwo\n|"));
}

#[test]
fn the_place_in_rich_text_is_in_its_words() {
    let mut doc = doc(1);
    doc.set_kind(ContentRoot::Rich(SchemaProfile::Gfm));
    let text = "# Plan\n\nListen to users.\n\n- one\n- two\n";
    drop(doc.write(text, None, &at("first", 0)).unwrap());
    let changed = text.replace("users", "customers");
    drop(doc.write(&changed, None, &at("scout", 1)).unwrap());
    let expected = changed.replace("customers", "customers|");
    assert_eq!(marked(&mut doc, "scout").as_deref(), Some(&*expected));
    // A new block.
    let longer = format!("{changed}- three\n");
    drop(doc.write(&longer, None, &at("planner", 2)).unwrap());
    assert_eq!(marked(&mut doc, "planner").as_deref(), Some(&*longer.replace("three", "three|")));
    // Front matter is in a root of its own, and no place in the text.
    drop(doc.write(&format!("---\na: 1\n---\n{longer}"), None, &at("tagger", 3)).unwrap());
    assert_eq!(marked(&mut doc, "tagger"), None);
}

/// An editor writes no entries: the server names the author of what it types.
#[test]
fn what_an_editor_types_is_of_its_author() {
    use yrs::{ReadTxn, StateVector, Text, Transact, Update, updates::decoder::Decode};
    let mut doc = doc_with(1, "one\n");
    let editor = raw(2);
    let known = Update::decode_v1(&doc.gate().encode_state()).unwrap();
    editor.transact_mut().apply_update(known).unwrap();
    let by = at("typist", 1);
    let before = doc.gate().clock_of(client(2));
    doc.edit_registers().attribute(client(2), before, &by).unwrap();
    let text = editor.get_or_insert_text("text");
    text.insert(&mut editor.transact_mut(), 3, " more");
    let typed = editor.transact().encode_diff_v1(&StateVector::default());
    doc.receive(&typed, UpdateSource::Wire).unwrap();
    assert_eq!(marked(&mut doc, "typist").as_deref(), Some("one more|\n"));
    let mut other = replica(3, &doc);
    assert_eq!(marked(&mut other, "typist").as_deref(), Some("one more|\n"));
}
