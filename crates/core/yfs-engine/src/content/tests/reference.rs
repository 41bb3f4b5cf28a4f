//! Documents of later versions of the reference implementation.

use yfs_markdown::schema::SchemaProfile;
use yrs::{
    Any, Array as _, Doc, In, Map as _, MapPrelim, ReadTxn as _, StateVector, Text as _,
    TextPrelim, Transact as _, WriteTxn as _, XmlElementPrelim, XmlFragment as _,
    XmlFragmentPrelim, XmlTextPrelim,
};

use super::super::{ContentDoc, ReferenceContent, RunAuthor};
use crate::{
    actor::{Actor, ActorKind},
    gate::{GateLimits, UpdateSource},
    id::{ClientId, FileId},
    kind::ContentRoot,
    time::Millis,
};

const RICH: ContentRoot = ContentRoot::Rich(SchemaProfile::Gfm);

fn author() -> RunAuthor {
    RunAuthor::new(Actor::new(ActorKind::Agent, "test"), Millis(1_000))
}

fn id() -> FileId {
    FileId::parse("0pvpappn8hn4dcp").expect("an id")
}

fn state_of(fill: impl FnOnce(&mut yrs::TransactionMut<'_>)) -> Vec<u8> {
    let doc = Doc::with_client_id(7);
    let mut txn = doc.transact_mut();
    fill(&mut txn);
    txn.encode_state_as_update_v1(&StateVector::default())
}

fn entry(kind: &str, content: impl Into<In>) -> MapPrelim {
    MapPrelim::from([("type", In::from(kind)), ("content", content.into())])
}

fn timeline(last: MapPrelim) -> Vec<u8> {
    state_of(|txn| {
        let array = txn.get_or_insert_array("timeline");
        array.push_back(txn, entry("text", TextPrelim::new("older")));
        array.push_back(txn, last);
    })
}

fn open(state: &[u8], kind: ContentRoot) -> ContentDoc {
    let client = ClientId::new(1).expect("53 bits");
    let mut doc = ContentDoc::new(&id(), client, GateLimits::default());
    doc.set_kind(kind);
    doc.receive(state, UpdateSource::Store).expect("an update");
    doc
}

/// Checks that a document reads as `text`, can be written to, and is there for editors.
fn check(state: &[u8], kind: ContentRoot, text: &str) {
    let mut doc = open(state, kind);
    assert_eq!(doc.text(), text);
    assert_eq!(doc.text().len(), text.len());
    assert!(!doc.is_empty());
    assert!(doc.conversion().needs_conversion());
    let mut written = open(state, kind);
    let new = text.to_owned() + "\nMore.\n";
    assert!(written.write(&new, None, &author()).is_ok());
    assert_eq!(written.text(), new);
    assert!(doc.convert().expect("it can be converted").is_some());
    assert_eq!((doc.text(), doc.conversion().current_root()), (text.to_owned(), kind));
    assert!(!doc.conversion().needs_conversion() && !doc.conversion().needs_repair());
    assert_eq!(open(&doc.gate().encode_state(), kind).text(), text);
}

#[test]
fn text_in_the_root_content_is_read() {
    let state = state_of(|txn| txn.get_or_insert_text("content").push(txn, "# One\n\ntwo\n"));
    check(&state, RICH, "# One\n\ntwo\n");
    check(&state, ContentRoot::Text, "# One\n\ntwo\n");
}

#[test]
fn the_last_entry_of_a_timeline_is_read() {
    check(&timeline(entry("text", TextPrelim::new("newer\n"))), ContentRoot::Text, "newer\n");
    let bytes = Any::Buffer(b"as bytes\n".as_slice().into());
    check(&timeline(entry("binary", bytes)), ContentRoot::Text, "as bytes\n");
}

#[test]
fn rich_text_of_a_timeline_is_read() {
    let state = state_of(|txn| {
        let array = txn.get_or_insert_array("timeline");
        let map = array.push_back(txn, entry("richtext", XmlFragmentPrelim::default()));
        map.insert(txn, "frontmatter", MapPrelim::from([("title", "One")]));
        let Some(yrs::Out::YXmlFragment(fragment)) = map.get(txn, "content") else { panic!() };
        let paragraph = fragment.push_back(txn, XmlElementPrelim::empty("paragraph"));
        paragraph.push_back(txn, XmlTextPrelim::new("Two words."));
    });
    check(&state, RICH, "---\ntitle: One\n---\nTwo words.\n");
}

#[test]
fn a_sheet_is_read_as_comma_separated_values() {
    let column = |name: &str, order: f64| {
        MapPrelim::from([("name", In::from(name)), ("order", In::from(order))])
    };
    let row = |order: f64, a: &str, b: &str| {
        MapPrelim::from([("order", In::from(order)), ("c1", In::from(a)), ("c2", In::from(b))])
    };
    let state = timeline(MapPrelim::from([
        ("type", In::from("sheet")),
        ("columns", MapPrelim::from([("c1", column("A", 2.0)), ("c2", column("B", 1.0))]).into()),
        (
            "rows",
            MapPrelim::from([("r1", row(2.0, "x, y", "z")), ("r2", row(1.0, "1", "2"))]).into(),
        ),
    ]));
    check(&state, ContentRoot::Text, "B,A\n2,1\nz,\"x, y\"\n");
}

#[test]
fn bytes_of_a_timeline_are_reported() {
    let state = timeline(entry("binary", Any::Buffer([0xff, 0, 1].as_slice().into())));
    let doc = open(&state, ContentRoot::Text);
    assert_eq!(doc.reference().read(), Some(ReferenceContent::Bytes(vec![0xff, 0, 1])));
    assert!(!doc.conversion().needs_conversion());
}
