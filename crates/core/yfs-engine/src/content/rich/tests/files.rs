//! One writer after the other.

use serde_json::Value as Json;

use super::{PROFILES, author, document, receive, replica, tree, write};
use crate::content::ContentDoc;
use yfs_markdown::{
    front_matter::split,
    parse::parse,
    schema::{SchemaProfile, check},
    tree_equality::same,
};

fn examples() -> Vec<String> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../fixtures/markdown/gfm.jsonl");
    let lines = std::fs::read_to_string(path).expect("the fixture is there");
    let examples = lines.lines().map(|line| {
        let json: Json = serde_json::from_str(line).expect("JSON");
        json["md"].as_str().expect("text").to_owned()
    });
    examples.collect()
}

/// Returns the text that a fresh reader of the log sees.
fn as_stored(doc: &ContentDoc) -> String {
    replica(doc, 99).text()
}

fn replica_of(state: &[u8], profile: SchemaProfile) -> ContentDoc {
    let mut replica = document(99, profile);
    receive(&mut replica, state);
    replica
}

#[test]
fn what_is_written_is_read_back_to_the_byte() {
    for profile in PROFILES {
        for text in examples() {
            let mut doc = document(1, profile);
            write(&mut doc, &text, None);
            assert_eq!(as_stored(&doc), text, "{profile:?}");
            let update = write(&mut doc, &text, None);
            assert_eq!(update, None, "written again, in {profile:?}: {text:?}");
        }
    }
}

/// A first write is encoded by hand, and yrs applies it when it is first asked.
#[test]
fn a_first_write_is_the_same_whenever_yrs_sees_it() {
    for profile in PROFILES {
        for text in examples() {
            let file = format!("---\ntitle: A\nn: [1, {{a: true}}]\n---\n{text}");
            let (mut late, mut early) = (document(1, profile), document(1, profile));
            early.gate().read(|_| ());
            let [first, second] = [&mut late, &mut early]
                .map(|doc| doc.write(&file, None, &author()).expect("it can be written"));
            assert_eq!(first, second);
            assert_eq!(late.version().encode(), early.version().encode());
            assert_eq!(late.log().entries(), early.log().entries());
            let update = first.update.expect("it was written");
            let (now, stored) = (late.version().encode(), replica_of(&update, profile));
            assert_eq!(tree(&late, profile), tree(&stored, profile));
            assert_eq!(now, stored.version().encode());
            assert_eq!(stored.text(), file);
        }
    }
}

#[test]
fn a_file_written_over_another_is_read_back_to_the_byte() {
    for profile in PROFILES {
        let mut doc = document(1, profile);
        for text in examples() {
            write(&mut doc, &text, None);
            assert_eq!(as_stored(&doc), text, "{profile:?}");
            let meant = parse(split(&text).body, profile);
            assert!(same(&tree(&doc, profile), &meant), "{profile:?}: {text:?}");
        }
    }
}

#[test]
fn front_matter_is_kept_and_patched() {
    let mut doc = document(1, SchemaProfile::Gfm);
    let file = "---\r\ntitle: 'Tides'  # for now\r\nlist: [a,  b]\r\n---\r\n\r\nHigh *water*\r\n";
    write(&mut doc, file, None);
    assert_eq!(as_stored(&doc), file);
    let changed = file.replace("'Tides'", "Ebb");
    let update = write(&mut doc, &changed, None).expect("it changed");
    assert_eq!(as_stored(&doc), changed);
    assert!(update.len() < 300, "{} bytes", update.len());
    for raw in ["---\n{{ page.title }}\n---\nx\n", "---\na: [\n---\nx\n", "---\n---\nx\n", "x\n"] {
        write(&mut doc, raw, None);
        assert_eq!(as_stored(&doc), raw);
    }
}

#[test]
fn one_word_is_one_small_update() {
    let paragraph = "Some words that *say* a thing or two, and `more` of them.\n\n";
    let text = paragraph.repeat(100);
    let mut doc = document(1, SchemaProfile::Gfm);
    write(&mut doc, &text, None);
    let at = text.len() / 2;
    let changed = format!("{}{}", &text[..at], text[at..].replacen("words", "nouns", 1));
    let mut other = replica(&doc, 2);
    let update = write(&mut doc, &changed, None).expect("it changed");
    assert!(update.len() <= 100, "{} bytes", update.len());
    receive(&mut other, &update);
    assert_eq!(other.text(), changed);
}

#[test]
fn edits_and_appends_are_of_the_file() {
    let mut doc = document(1, SchemaProfile::Gfm);
    write(&mut doc, "# One\n\nTwo *three* four\n", None);
    let author = author();
    let edited = doc.edit("*three*", "**3**", false, &author).expect("it is there");
    assert_eq!(edited.n_replaced, 1);
    let appended = doc.append("- five\n", &author).expect("it can be edited");
    assert!(appended.update.is_some());
    assert_eq!(as_stored(&doc), "# One\n\nTwo **3** four\n- five\n");
}

#[test]
fn a_file_that_holds_nothing_has_one_empty_paragraph() {
    let mut doc = document(1, SchemaProfile::Gfm);
    write(&mut doc, "", None);
    assert_eq!(tree(&doc, SchemaProfile::Gfm).to_string(), "doc(paragraph)");
    write(&mut doc, "x\n", None);
    write(&mut doc, "", None);
    assert_eq!(doc.text(), "");
    assert_eq!(tree(&doc, SchemaProfile::Gfm).to_string(), "doc(paragraph)");
}

#[test]
fn a_document_of_the_other_schema_is_read_and_keeps_it() {
    use crate::kind::ContentRoot;
    for (profile, other) in [(PROFILES[0], PROFILES[1]), (PROFILES[1], PROFILES[0])] {
        let mut doc = document(1, profile);
        let file = "# One\n\n* Two *three* `four`\n\n***\n\nFive **six**\n";
        write(&mut doc, file, None);
        doc.set_kind(ContentRoot::Rich(other));
        assert_eq!(doc.text(), file);
        let new = file.replace("four", "4").replace("six", "6");
        let written = doc.write(&new, None, &author()).expect("a write");
        assert!(written.update.is_some_and(|update| update.len() < 250));
        assert_eq!(doc.text(), new);
        assert_eq!(check(&tree(&doc, profile), profile), Ok(()), "{profile:?}");
    }
}

/// Returns the update of another client that inserts into the root beside the existing content.
fn strange(doc: &ContentDoc, put: impl FnOnce(&mut yrs::TransactionMut<'_>)) -> Vec<u8> {
    use yrs::{ReadTxn as _, Transact as _, updates::decoder::Decode as _};
    let peer = yrs::Doc::with_client_id(77);
    let mut txn = peer.transact_mut();
    let state = yrs::Update::decode_v1(&doc.gate().encode_state()).expect("a state");
    txn.apply_update(state).expect("applied");
    let before = txn.state_vector();
    put(&mut txn);
    txn.encode_diff_v1(&before)
}

/// Writes a file without asking whether an editor can open it, which another peer may prevent.
fn write_beside(doc: &mut ContentDoc, text: &str) {
    assert!(doc.write(text, None, &author()).is_ok_and(|written| written.update.is_some()));
}

#[test]
fn what_is_no_element_hides_nothing_that_is_behind_it() {
    use yrs::{Array as _, Text as _, WriteTxn as _};
    for profile in PROFILES {
        let mut doc = document(1, profile);
        write(&mut doc, "# One\n\nTwo\n", None);
        let text = strange(&doc, |txn| txn.get_or_insert_text("richtext").insert(txn, 0, "x"));
        receive(&mut doc, &text);
        assert_eq!(doc.text(), "# One\n\nTwo\n");
        let values = strange(&doc, |txn| {
            let root = txn.get_or_insert_array("richtext");
            root.insert(txn, 1, yrs::MapPrelim::default());
            root.insert(txn, 0, 7);
        });
        receive(&mut doc, &values);
        assert_eq!(doc.text(), "# One\n\nTwo\n");
        for new in ["# One\n\nTwo\n\nThree\n", "Three\n"] {
            write_beside(&mut doc, new);
            assert_eq!((doc.text().as_str(), as_stored(&doc).as_str()), (new, new));
        }
    }
}

/// With a search per attribute this would take hours.
#[test]
fn an_element_with_many_attributes_is_written_beside() {
    use yrs::{WriteTxn as _, Xml as _, XmlElementPrelim, XmlFragment as _};
    let mut doc = document(1, SchemaProfile::Gfm);
    write(&mut doc, "One\n", None);
    let many = strange(&doc, |txn| {
        let root = txn.get_or_insert_xml_fragment("richtext");
        let element = root.push_back(txn, XmlElementPrelim::empty("paragraph"));
        for n in 0..300_000 {
            element.insert_attribute(txn, format!("a{n}"), "x");
        }
    });
    receive(&mut doc, &many);
    write_beside(&mut doc, "Two\n\nThree\n");
    assert!(as_stored(&doc).starts_with("Two\n"), "{}", as_stored(&doc));
}
