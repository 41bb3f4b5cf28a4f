//! Anchors are relative positions: real Yjs resolves ours, and we resolve those of real Yjs.

use serde_json::json;
use yfs_engine::{
    actor::{Actor, ActorKind},
    content::{Anchor, AnchorSide, ContentDoc, RunAuthor},
    gate::{GateLimits, UpdateSource},
    id::{ClientId, FileId},
    time::Millis,
};
use yfs_tests::node::{Yjs, from_hex, to_hex};

const TEXT: &str = "# Plan 😀\n\none two\nthree 東京\n";

fn ours(client: u64) -> ContentDoc {
    let id = FileId::parse("0pvpappn8hn4dcp").unwrap();
    ContentDoc::new(&id, ClientId::new(client).unwrap(), GateLimits::default())
}

fn author() -> RunAuthor {
    RunAuthor::new(Actor::new(ActorKind::Human, "ada"), Millis(1_795_296_141_108))
}

/// Returns where real Yjs resolves an anchor, in code units.
fn theirs(yjs: &mut Yjs, anchor: &Anchor) -> u64 {
    let place = yjs.call("resolve", json!({ "doc": "a", "position": to_hex(&anchor.encode()) }));
    place.as_u64().unwrap()
}

fn units(text: &str, offset: usize) -> u64 {
    text[..offset].encode_utf16().count() as u64
}

#[test]
fn yjs_and_we_resolve_the_same_anchors_alike() {
    let mut yjs = Yjs::start();
    yjs.make("a", 7, false);
    let mut doc = ours(1 << 51);
    yjs.apply("a", &doc.write(TEXT, None, &author()).unwrap().update.unwrap());
    let mut anchors = Vec::new();
    for (offset, _) in TEXT.char_indices().chain([(TEXT.len(), ' ')]) {
        for stick in [AnchorSide::Right, AnchorSide::Left] {
            let anchor = doc.anchor(offset, stick).unwrap();
            let side = if stick == AnchorSide::Left { -1 } else { 0 };
            let fields = json!({ "doc": "a", "index": units(TEXT, offset), "assoc": side });
            let bytes = from_hex(yjs.call("position", fields).as_str().unwrap());
            assert_eq!(anchor.encode(), bytes, "{offset} {stick:?}");
            anchors.push(Anchor::decode(&bytes).unwrap());
        }
    }
    let edits = [(7, 4, "😀!"), (0, 0, "above\n"), (20, 3, ""), (2, 9, "東"), (0, 5, "")];
    for (at, n_deleted, insert) in edits {
        let text = doc.text();
        let place = |n: usize| text.char_indices().nth(n).map_or(text.len(), |(at, _)| at);
        let range = place(at)..place(at + n_deleted);
        let update = doc.replace_range(range, insert, &author()).unwrap().update.unwrap();
        yjs.apply("a", &update);
        let text = doc.text();
        assert_eq!(yjs.text("a"), text);
        for anchor in &anchors {
            let place = doc.resolve(anchor).unwrap();
            assert_eq!(units(&text, place.offset), theirs(&mut yjs, anchor), "{anchor:?}");
        }
    }
}

#[test]
fn yjs_goes_on_with_what_was_redacted() {
    let mut yjs = Yjs::start();
    yjs.make("a", 7, false);
    yjs.make("fresh", 8, false);
    let mut doc = ours(1 << 51);
    let old = doc.write("key: SECRET 😀\nend\n", None, &author()).unwrap().update.unwrap();
    yjs.apply("a", &old);
    let edited = doc.edit("SECRET 😀", "-", false, &author()).unwrap().update.unwrap();
    yjs.apply("a", &edited);
    let anchor = doc.anchor(3, AnchorSide::Right).unwrap();
    let erasable = doc.erasable(None).unwrap();
    yjs.apply("a", &doc.redact(&erasable, &author()).unwrap().unwrap());
    // One that has the content, and one that gets only what is left.
    assert!(!yjs.apply("fresh", &doc.gate().encode_state()));
    for name in ["a", "fresh"] {
        assert_eq!(yjs.text(name), "key: -\nend\n");
        let fields = json!({ "doc": name, "at": 5, "text": "typed " });
        for update in yjs.change("insert", fields) {
            doc.receive(&update, UpdateSource::Wire).unwrap();
        }
    }
    let text = doc.text();
    assert_eq!(text.matches("typed ").count(), 2);
    for name in ["a", "fresh"] {
        yjs.apply(name, &doc.gate().encode_state());
        assert_eq!(yjs.text(name), text);
    }
    // The whole state of the one that kept it brings nothing back.
    doc.receive(&yjs.encode("a"), UpdateSource::Wire).unwrap();
    assert_eq!(doc.text(), text);
    assert!(!doc.gate().encode_state().windows(6).any(|bytes| bytes == b"SECRET"));
    assert_eq!(doc.resolve(&anchor).unwrap().offset, 3);
    let mut late = ours((1 << 51) + 1);
    late.receive(&yjs.encode("a"), UpdateSource::Wire).unwrap();
    assert!(!late.gate().encode_state().windows(6).any(|bytes| bytes == b"SECRET"));
    assert_eq!(late.text(), text);
}
