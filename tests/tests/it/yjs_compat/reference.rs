//! The fixtures themselves, as stock Yjs sees them, and the rules of a plain peer.

use serde_json::{Value, json};
use yfs_tests::{node::Yjs, read_fixture};

/// The data are what a stock reader makes of them: so a later disagreement is ours.
#[test]
fn stock_yjs_reads_the_reference_workspace_as_described() {
    let mut yjs = Yjs::start();
    let expected: Value = described();
    yjs.make("main", 1, true);
    assert!(!yjs.apply("main", &read_fixture("reference-wire/spec-era-main.v1.bin")));
    let rows = yjs.rows("main", "table:files");
    for row in expected["table_files"].as_array().expect("an array of rows") {
        let key = row["key"].as_str().expect("a key");
        assert_eq!(rows[key], *row);
    }
    assert_eq!(rows.as_object().expect("rows").len(), 5);

    for (name, doc) in expected["docs"].as_object().expect("documents by name") {
        yjs.make(name, 1, false);
        let update = read_fixture(&format!("reference-wire/spec-era-{name}.v1.bin"));
        assert!(!yjs.apply(name, &update), "{name} is complete");
        assert_eq!(yjs.text(name), doc["text"].as_str().expect("a text"), "{name}");
        let rich_text = doc["richtextXml"].as_str().unwrap_or_default();
        assert_eq!(yjs.call("xml", json!({ "doc": name })), rich_text, "{name}");
    }
}

/// The rules of the plain peer, on inputs that no schema allows.
#[test]
fn a_plain_peer_compares_timestamps_as_javascript_does() {
    let mut yjs = Yjs::start();
    let winner = |yjs: &mut Yjs, timestamps: Value| {
        yjs.make("d", 1, true);
        let element = |(val, ts)| json!({ "key": "k", "val": val, "ts": ts });
        let values: Vec<Value> =
            timestamps.as_array().expect("timestamps").iter().enumerate().map(element).collect();
        yjs.call("push", json!({ "doc": "d", "values": values }));
        yjs.rows("d", "table:files")["k"]["val"].clone()
    };
    assert_eq!(winner(&mut yjs, json!([2, 1])), 0, "the greater wins");
    assert_eq!(winner(&mut yjs, json!([1, 1])), 1, "of equals, the one further right");
    assert_eq!(winner(&mut yjs, json!([2, "x"])), 1, "what does not compare is a tie");
    assert_eq!(winner(&mut yjs, json!([10, "9"])), 0, "numeric strings compare as numbers");
    assert_eq!(winner(&mut yjs, json!([1, null])), 0, "null compares as zero");
    assert_eq!(winner(&mut yjs, json!([-1, null])), 1, "null compares as zero");
}

fn described() -> Value {
    serde_json::from_slice(&read_fixture("reference-wire/spec-era.json")).expect("JSON")
}
