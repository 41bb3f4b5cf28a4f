//! Documents of editors, compared with the updates of real y-prosemirror.

#![expect(clippy::unwrap_used, reason = "a test")]

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::Value as Json;
use yfs_engine::{
    gate::{DocRole, GateLimits, GatedDoc, UpdateSource},
    id::{ClientId, FileId},
    rich::{encode, read},
};
use yfs_markdown::{
    parse::{parse, parse_like_editors},
    schema::SchemaProfile,
    tree::TreeElement,
    tree_equality::same,
};
use yrs::{Any, Text, WriteTxn, Xml, XmlElementPrelim, XmlFragment, XmlTextPrelim};

/// Returns text, document and update of each example.
fn examples(profile: SchemaProfile) -> Vec<(String, String, Vec<u8>)> {
    let name = if profile == SchemaProfile::Gfm { "gfm" } else { "commonmark" };
    let path = format!("{}/../../../fixtures/markdown/{name}.jsonl", env!("CARGO_MANIFEST_DIR"));
    let lines = std::fs::read_to_string(path).unwrap();
    let examples = lines.lines().map(|line| {
        let json: Json = serde_json::from_str(line).unwrap();
        let text = |name: &str| json[name].as_str().unwrap().to_owned();
        (text("id"), text("md"), STANDARD.decode(text("update")).unwrap())
    });
    examples.collect()
}

fn through_yjs(update: &[u8], profile: SchemaProfile) -> TreeElement {
    let id = FileId::parse("0pvpappn8hn4dcp").unwrap();
    let client = ClientId::from_random(7);
    let mut doc = GatedDoc::new(&id, DocRole::Content, client, GateLimits::default());
    doc.receive(update, UpdateSource::Wire).unwrap();
    doc.read(|txn| read(txn, profile))
}

/// Counts the updates that are equal to the last byte, and those that read as our tree.
fn count(profile: SchemaProfile) -> (usize, usize, usize) {
    let client = ClientId::new(1).unwrap();
    let (mut n_equal_bytes, mut n_equal_trees) = (0, 0);
    let examples = examples(profile);
    for (_, text, update) in &examples {
        let tree = parse_like_editors(text, profile);
        n_equal_bytes += usize::from(encode(&tree, client) == *update);
        n_equal_trees += usize::from(same(&through_yjs(update, profile), &tree));
    }
    (n_equal_bytes, n_equal_trees, examples.len())
}

/// All whose trees are equal: tests of `yfs-markdown` list those that are not.
#[test]
fn updates_are_those_of_y_prosemirror() {
    assert_eq!(count(SchemaProfile::CommonMark), (703, 703, 704));
    assert_eq!(count(SchemaProfile::Gfm), (671, 671, 704));
}

#[test]
fn what_we_write_reads_back() {
    for profile in [SchemaProfile::CommonMark, SchemaProfile::Gfm] {
        for (id, text, _) in examples(profile) {
            let tree = parse(&text, profile);
            let again = through_yjs(&encode(&tree, ClientId::from_random(3)), profile);
            assert!(same(&again, &tree), "{id}: {again}, not {tree}");
        }
    }
}

#[test]
fn what_plain_editors_leave_is_read() {
    let id = FileId::parse("0pvpappn8hn4dcp").unwrap();
    let mut doc =
        GatedDoc::new(&id, DocRole::Content, ClientId::from_random(7), GateLimits::default());
    assert_eq!(doc.read(|txn| read(txn, SchemaProfile::Gfm)).to_string(), "doc");
    doc.edit(|txn| {
        let fragment = txn.get_or_insert_xml_fragment("richtext");
        let paragraph = fragment.push_back(txn, XmlElementPrelim::empty("paragraph"));
        // Two people typed into one empty paragraph; one of them commented.
        paragraph.push_back(txn, XmlTextPrelim::new("one "));
        let text = paragraph.push_back(txn, XmlTextPrelim::new(""));
        let comment = [("comment--UCrVW6WW".into(), Any::from_json("{\"id\":1}").unwrap())];
        text.insert_with_attributes(txn, 0, "two", comment.into());
        paragraph.push_back(txn, XmlTextPrelim::new(""));
        let item = fragment.push_back(txn, XmlElementPrelim::empty("list_item"));
        item.insert_attribute(txn, "spread", "true");
        item.insert_attribute(txn, "own", 7.5);
    });
    let document = doc.read(|txn| read(txn, SchemaProfile::Gfm));
    let expected =
        "doc(paragraph(\"one \" comment{id=1}:\"two\") list_item{spread=\"true\" own=7.5})";
    assert_eq!(document.to_string(), expected);
}
