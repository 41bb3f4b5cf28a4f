//! Properties of front matter that a shared map cannot hold stay when others are set.

use proptest::prelude::*;
use yfs_markdown::schema::SchemaProfile;
use yrs::{
    Any, Map as _, ReadTxn as _, Transact as _, WriteTxn as _, updates::decoder::Decode as _,
};

use super::{document, receive, replica, write};
use crate::content::ContentDoc;

/// Lines that a shared map cannot hold, or that are easily lost.
const LINES: &[&str] = &[
    "post: 125276004817190914",
    "author: Bo",
    "x: &a 1\ny: *a",
    "base: &b\n  k: v\nuse:\n  <<: *b\n  m: 2",
    "date: {{ .Date }}",
    "{{ range }}",
    "when: !date 2020",
    "sub: a: b",
    "2024: x",
    "true: yes",
    "? [a, b]\n: c",
    "k:\n\t- a",
    "# a comment\n",
    "text: |\n  one\n\n  # two\nfold: >-\n  three\n  four",
    "day: 2024-02-29",
    "quote: \"never closed",
    "list: [a, b",
    "nested: {a: 1, a: 2}",
    "twice:\n- a\n- b: 125276004817190914",
    "'q k': !!str 1",
    "n: 0xffffffffffffffffff",
];

const HEAD: &str = "title: Tides\ntags: [sea,  moon]  # two\nauthor: Ann\n";

/// Sets a property as an editor does, on what it had read, and returns its update.
fn set_by_editor(doc: &ContentDoc, key: &str, value: impl Into<Any>) -> Vec<u8> {
    let editor = yrs::Doc::with_client_id(77);
    let mut txn = editor.transact_mut();
    let state = yrs::Update::decode_v1(&doc.gate().encode_state()).expect("a state");
    txn.apply_update(state).expect("applied");
    let before = txn.state_vector();
    txn.get_or_insert_map("frontmatter").insert(&mut txn, key, value.into());
    txn.encode_diff_v1(&before)
}

#[test]
fn a_property_is_set_and_lines_that_no_map_can_hold_stay_to_the_byte() {
    for end in ["\n", "\r\n"] {
        for line in LINES {
            let file = format!("---\n{HEAD}{line}\n---\nBody\n").replace('\n', end);
            let mut doc = document(1, SchemaProfile::Gfm);
            write(&mut doc, &file, None);
            assert_eq!(replica(&doc, 9).text(), file);
            let update = set_by_editor(&doc, "title", "Ebb");
            receive(&mut doc, &update);
            assert_eq!(doc.text(), file.replace("Tides", "Ebb"), "{line}");
            let update = set_by_editor(&doc, "new", true);
            receive(&mut doc, &update);
            let longer = [&file.replace("Tides", "Ebb"), "new: true", end].concat();
            assert_eq!(sorted(&doc.text()), sorted(&longer), "{line}");
        }
    }
}

/// The lines of a text without their order.
fn sorted(text: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    lines
}

#[test]
fn a_property_set_offline_and_a_line_added_meanwhile_are_both_there() {
    for line in LINES {
        let mut doc = document(1, SchemaProfile::Gfm);
        write(&mut doc, &format!("---\n{HEAD}---\nBody\n"), None);
        let offline = set_by_editor(&doc, "title", "Ebb");
        let file = format!("---\n{HEAD}{line}\n---\nBody\n");
        write(&mut doc, &file, None);
        receive(&mut doc, &offline);
        assert_eq!(doc.text(), file.replace("Tides", "Ebb"));
        // The next file that is written has all of it, too.
        let next = doc.text().replace("Body", "More");
        write(&mut doc, &next, None);
        assert_eq!(replica(&doc, 9).text(), next);
    }
}

#[test]
fn lines_that_two_writers_add_apart_both_stay() {
    let mut doc = document(1, SchemaProfile::Gfm);
    write(&mut doc, &format!("---\n{HEAD}---\nBody\n"), None);
    let mut other = replica(&doc, 2);
    let added = |line: &str| format!("---\n{HEAD}{line}\n---\nBody\n");
    let first = write(&mut doc, &added("post: 125276004817190914"), None).expect("it changed");
    let second = write(&mut other, &added("date: {{ .Date }}"), None).expect("it changed");
    receive(&mut doc, &second);
    receive(&mut other, &first);
    assert_eq!(doc.text(), other.text());
    for line in HEAD.lines().chain(["post: 125276004817190914", "date: {{ .Date }}"]) {
        assert!(doc.text().lines().any(|kept| kept == line), "{line} in {}", doc.text());
    }
}

/// A property that no map can hold can be set and removed all the same.
#[test]
fn the_lines_of_a_property_are_changed_by_who_sets_it() {
    let mut doc = document(1, SchemaProfile::Gfm);
    let file = format!("---\n{HEAD}# the post\npost: 125276004817190914\nz: !t 1\n---\nBody\n");
    write(&mut doc, &file, None);
    let update = set_by_editor(&doc, "post", "short");
    receive(&mut doc, &update);
    assert_eq!(doc.text(), file.replace("125276004817190914", "short"));
    write(&mut doc, &file.replace("# the post\npost: 125276004817190914\n", ""), None);
    assert_eq!(doc.text(), file.replace("# the post\npost: 125276004817190914\n", ""));
    write(&mut doc, &file.replace("author: Ann\n", ""), None);
    assert_eq!(replica(&doc, 9).text(), file.replace("author: Ann\n", ""));
}

/// Earlier versions emptied the map of such front matter, and then lost it to the first property.
#[test]
fn front_matter_that_an_earlier_version_wiped_is_there_again() {
    let mut doc = document(1, SchemaProfile::Gfm);
    write(&mut doc, "Body\n", None);
    let update = set_by_editor(&doc, "title", "Ebb");
    receive(&mut doc, &update);
    let template = format!("4 4\n---\n{HEAD}post: 125276004817190914\n---\n");
    let editor = yrs::Doc::with_client_id(78);
    let mut txn = editor.transact_mut();
    txn.get_or_insert_map("markdown-source").insert(&mut txn, "front", template);
    let update = txn.encode_diff_v1(&yrs::StateVector::default());
    receive(&mut doc, &update);
    let head = HEAD.replace("Tides", "Ebb");
    assert_eq!(doc.text(), format!("---\n{head}post: 125276004817190914\n---\nBody\n"));
}

#[test]
fn toml_is_front_matter_and_no_text_of_the_document() {
    let file =
        "+++\ntitle = \"Tides\"  # short\ntags = [\n  \"a\", # one\n]\n\n[extra]\nn = 1\n+++\n";
    for profile in super::PROFILES {
        let mut doc = document(1, profile);
        write(&mut doc, &format!("{file}Body\n"), None);
        assert_eq!(super::tree(&doc, profile).to_string(), r#"doc(paragraph("Body"))"#);
        write(&mut doc, &format!("{file}More\n"), None);
        assert_eq!(replica(&doc, 9).text(), format!("{file}More\n"));
        for (key, value) in [("title", Any::from("Ebb")), ("draft", Any::from(true))] {
            let update = set_by_editor(&doc, key, value);
            receive(&mut doc, &update);
        }
        let set = file.replace("Tides", "Ebb").replace("[extra]", "draft = true\n[extra]");
        assert_eq!(doc.text(), format!("{set}More\n"));
    }
}

proptest! {
    #[test]
    fn setting_one_property_changes_the_lines_of_no_other(
        picked in proptest::collection::vec(0..LINES.len() + 3, 1..8),
        set in 0_usize..3,
    ) {
        let head: Vec<&str> = HEAD.lines().collect();
        let lines = picked.iter().map(|at| head.get(*at).unwrap_or_else(|| &LINES[at - 3]));
        let yaml: String = lines.map(|line| format!("{line}\n")).collect();
        let file = format!("---\nfirst: 1\n{yaml}---\nBody\n");
        let mut doc = document(1, SchemaProfile::Gfm);
        write(&mut doc, &file, None);
        prop_assert_eq!(doc.text(), file.clone());
        let key = ["first", "title", "fresh"][set];
        let update = set_by_editor(&doc, key, "Ebb");
        receive(&mut doc, &update);
        let now = doc.text();
        for line in file.lines().filter(|line| !line.starts_with(key)) {
            prop_assert!(now.lines().any(|kept| kept == line), "{} in {}", line, now);
        }
        prop_assert!(now.contains(&format!("{key}: Ebb")), "{}", now);
    }
}
