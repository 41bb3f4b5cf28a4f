//! What we do not read, we carry: other roots, unknown fields, whole trees.

use serde_json::{Value, json};
use yfs_engine::gate::{DocRole, UpdateBuilder};
use yfs_tests::{
    node::{Yjs, to_hex},
    read_fixture,
};
use yrs::{Any, Text, WriteTxn};

use super::{gated, item, receive, sync};

#[test]
fn a_rich_text_file_of_the_reference_passes_through_unchanged() {
    let mut yjs = Yjs::start();
    let expected: Value =
        serde_json::from_slice(&read_fixture("reference-wire/spec-era.json")).unwrap();
    for name in ["b.md", "c.md"] {
        let mut ours = gated(DocRole::Content, 7);
        receive(&mut ours, &read_fixture(&format!("reference-wire/spec-era-{name}.v1.bin")));
        // Work of our own beside it: text, and a line of the log.
        ours.edit(|txn| txn.get_or_insert_text("text").push(txn, "ours 😀"));
        let mut log = UpdateBuilder::new();
        log.array_run(item(8, 0), None, None, "fs:log", &[Any::from("who wrote what")]);
        ours.apply_own(&log.finish());

        yjs.make("loaded", 9, false);
        assert!(!yjs.apply("loaded", &ours.encode_state()));
        let described = &expected["docs"][name];
        assert_eq!(yjs.call("xml", json!({ "doc": "loaded" })), described["richtextXml"]);
        let map = yjs.call("map", json!({ "doc": "loaded", "root": "frontmatter" }));
        assert_eq!(map, described["frontmatter"]);
        assert_eq!(yjs.text("loaded"), "ours 😀");
        let log = yjs.call("array", json!({ "doc": "loaded", "root": "fs:log" }));
        assert_eq!(log, json!(["who wrote what"]));
    }
}

#[test]
fn the_v2_form_of_the_reference_is_the_same_document() {
    let mut yjs = Yjs::start();
    let v2 = to_hex(&read_fixture("reference-wire/spec-era-main.v2.bin"));
    let v1 = yjs.call("v2_to_v1", json!({ "update": v2 }));
    let mut ours = gated(DocRole::Main, 7);
    receive(&mut ours, &yfs_tests::node::from_hex(v1.as_str().unwrap()));
    let state_vector = ours.state_vector();
    receive(&mut ours, &read_fixture("reference-wire/spec-era-main.v1.bin"));
    assert_eq!(ours.state_vector(), state_vector);
}

/// Cells, settings, other tables, maps, nested types, bytes, and elements that are no rows at all.
#[test]
fn a_main_document_full_of_strange_things_passes_through_unchanged() {
    let mut yjs = Yjs::start();
    yjs.make("main", 5, true);
    let mut ours = gated(DocRole::Main, 7);
    let strange = [
        ("fs:cells", json!([{ "key": "a:name", "val": "x", "ts": 1.5, "c": 1, "o": ["y"] }])),
        (
            "table:files",
            json!([null, 3, "😀", [1], { "key": 7 }, { "val": 1 }, { "key": "k", "ts": "x" }]),
        ),
        ("table:others", json!([{ "key": "b", "val": { "deep": [[[{}]]] }, "ts": 3 }])),
        ("kv", json!([{ "key": "theme", "val": "dark", "ts": 9 }])),
        ("", json!(["a root without a name"])),
    ];
    for (table, values) in strange {
        let push = json!({ "doc": "main", "table": table, "values": values });
        for update in yjs.change("push", push) {
            receive(&mut ours, &update);
        }
    }
    for (key, val) in [("a", json!(1)), ("a", json!({ "b": 2 })), ("ключ", json!(null))] {
        let set = json!({ "doc": "main", "root": "settings", "key": key, "val": val });
        for update in yjs.change("map_set", set) {
            receive(&mut ours, &update);
        }
    }
    sync(&mut yjs, "main", &mut ours);
    yjs.make("loaded", 9, true);
    assert!(!yjs.apply("loaded", &ours.encode_state()));
    for table in ["fs:cells", "table:files", "table:others", "kv", ""] {
        let of = |doc: &str| json!({ "doc": doc, "table": table });
        assert_eq!(yjs.call("elements", of("loaded")), yjs.call("elements", of("main")), "{table}");
    }
    let of = |doc: &str| json!({ "doc": doc, "root": "settings" });
    assert_eq!(yjs.call("map", of("loaded")), yjs.call("map", of("main")));
}
