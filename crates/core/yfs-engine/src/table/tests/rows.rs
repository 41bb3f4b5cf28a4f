//! Single rows: their format, their reading, and the fields that survive.

use std::collections::HashMap;

use expect_test::{Expect, expect};
use yrs::{Any, Array, ReadTxn, Transact, types::ToJson};

use super::{
    super::{BlobRef, FileRow, NodeKind, RowChanges, RowWrite, format::MAX_SAFE_INTEGER},
    peers::{Ours, Plain, file_id},
};
use crate::{hash::ContentHash, id::FileId, lib0::as_number, time::Millis};

fn row(id: &str, name: &str) -> FileRow {
    FileRow {
        id: file_id(id),
        name: name.into(),
        parent: None,
        kind: NodeKind::File,
        size: 3,
        created_at: Millis(100),
        updated_at: Millis(100),
        trashed_at: None,
        mode: None,
        link: None,
        blob: None,
        meta: None,
    }
}

fn create(id: &str, name: &str) -> RowWrite {
    RowWrite::Create { row: row(id, name), derived: false }
}

fn update(id: &str, changes: RowChanges) -> RowWrite {
    RowWrite::Update { id: file_id(id), changes }
}

fn rename(id: &str, name: &str) -> RowWrite {
    update(id, RowChanges { name: Some(name.into()), ..RowChanges::default() })
}

fn resize(id: &str, size: u64) -> RowWrite {
    update(id, RowChanges { size: Some(size), ..RowChanges::default() })
}

fn delete(id: &str) -> RowWrite {
    RowWrite::Delete { id: file_id(id) }
}

/// Writes a value like JSON, with the members of objects in order of name.
fn show(value: &Any) -> String {
    match value {
        Any::Map(members) => {
            let mut members: Vec<_> =
                members.iter().map(|(name, value)| format!("{name}: {}", show(value))).collect();
            members.sort();
            format!("{{{}}}", members.join(", "))
        }
        Any::Array(values) => {
            format!("[{}]", values.iter().map(show).collect::<Vec<_>>().join(", "))
        }
        Any::String(text) => format!("{text:?}"),
        value => as_number(value).map_or_else(|| value.to_string(), |number| number.to_string()),
    }
}

fn elements(ours: &Ours, root: &str) -> String {
    ours.doc.read(|txn| {
        let Some(array) = txn.get_array(root) else { return String::new() };
        array.iter(txn).map(|out| show(&out.to_json(txn)) + "\n").collect()
    })
}

#[track_caller]
fn check(batches: &[&[RowWrite]], expected: Expect) {
    let mut ours = Ours::new(1);
    for (batch, now) in batches.iter().zip(1000..) {
        ours.write(batch, now).unwrap();
        ours.check_invariants();
    }
    expected.assert_eq(&(elements(&ours, "table:files") + &elements(&ours, "fs:cells")));
}

#[test]
fn creation_writes_one_row_and_no_cells() {
    check(
        &[&[create("a", "x.txt")]],
        expect![[r#"
            {c: 1, key: "a", ts: 1000, val: {createdAt: 100, id: "a", name: "x.txt", parentId: null, size: 3, trashedAt: null, type: "file", updatedAt: 100}}
        "#]],
    );
}

#[test]
fn rename_rewrites_the_row_and_writes_one_cell() {
    check(
        &[&[create("a", "x.txt")], &[rename("a", "y.txt")]],
        expect![[r#"
            {c: 1, key: "a", ts: 1001, val: {base: {name: 1001}, createdAt: 100, id: "a", name: "y.txt", parentId: null, size: 3, trashedAt: null, type: "file", updatedAt: 100}}
            {key: "a:name", o: ["x.txt"], ts: 1001, val: "y.txt"}
        "#]],
    );
}

#[test]
fn size_alone_writes_only_the_cell() {
    check(
        &[&[create("a", "x.txt")], &[resize("a", 9)]],
        expect![[r#"
            {c: 1, key: "a", ts: 1000, val: {createdAt: 100, id: "a", name: "x.txt", parentId: null, size: 3, trashedAt: null, type: "file", updatedAt: 100}}
            {key: "a:stat", o: [{size: 3, updatedAt: 100}], ts: 1001, val: {size: 9, updatedAt: 100}}
        "#]],
    );
}

#[test]
fn move_remembers_three_parents() {
    let to = |id: &str| {
        let changes = RowChanges { parent: Some(Some(file_id(id))), ..RowChanges::default() };
        update("a", changes)
    };
    let writes = [create("a", "x"), to("p"), to("q"), to("r"), to("s"), to("q")];
    check(
        &writes.each_ref().map(std::slice::from_ref),
        expect![[r#"
            {c: 1, key: "a", ts: 1005, val: {base: {parentId: 1005}, createdAt: 100, id: "a", name: "x", parentId: "q", size: 3, trashedAt: null, type: "file", updatedAt: 100}}
            {key: "a:parentId", o: ["s", "r", "p", null], ts: 1005, val: {id: "q", prev: ["s", "r", "p"]}}
        "#]],
    );
}

#[test]
fn batch_does_what_its_writes_do_one_after_another() {
    let writes = [create("a", "x"), rename("a", "y"), resize("a", 5), rename("a", "z")];
    let (mut batch, mut single) = (Ours::new(1), Ours::new(2));
    batch.write(&writes, 1000).unwrap();
    for write in &writes {
        single.write(std::slice::from_ref(write), 1000).unwrap();
    }
    assert_eq!(batch.entries(), single.entries());
    check(&[&[create("a", "x"), rename("a", "y"), delete("a")]], expect![""]);
}

#[test]
fn wanted_values_that_are_there_write_nothing() {
    let mut ours = Ours::new(1);
    ours.write(&[create("a", "x")], 1).unwrap();
    let update = ours.table.plan(&ours.doc, &[rename("a", "x"), resize("a", 3)], Millis(2));
    assert_eq!(update.unwrap(), [0, 0]);
}

#[test]
fn optional_fields_come_back_as_they_were_written() {
    let blob = BlobRef { hash: ContentHash::of(b"bytes"), size: 5 };
    let meta = Any::from_json(r#"{"purge": "p1", "tags": ["a", null, 1.5]}"#).unwrap();
    let full = FileRow {
        mode: Some(0o755),
        link: Some("../target".into()),
        blob: Some(blob),
        meta: Some(meta),
        trashed_at: Some(Millis(7)),
        ..row("a", "x")
    };
    let mut ours = Ours::new(1);
    ours.write(&[RowWrite::Create { row: full.clone(), derived: false }], 1).unwrap();
    ours.check_invariants();
    assert_eq!(ours.table.get(&file_id("a")).unwrap().row, full);

    let patch = Any::from_json(r#"{"purge": null, "tags": null}"#).unwrap();
    let changes = RowChanges {
        mode: Some(None),
        link: Some(None),
        blob: Some(None),
        meta: Some(patch),
        trashed_at: Some(None),
        ..RowChanges::default()
    };
    ours.write(&[update("a", changes)], 2).unwrap();
    ours.check_invariants();
    assert_eq!(ours.table.get(&file_id("a")).unwrap().row, row("a", "x"));
}

#[test]
fn derived_creations_give_way_to_everything() {
    let (mut left, mut right) = (Ours::new(1), Ours::new(2));
    let directory = FileRow { kind: NodeKind::Directory, ..row("d", "src") };
    let make = RowWrite::Create { row: directory, derived: true };
    left.write(&[make.clone(), rename("d", "lib")], 50).unwrap();
    right.write(&[make], 9000).unwrap();
    assert!(right.table.get(&file_id("d")).unwrap().derived);
    right.pull(&left);
    left.pull(&right);
    for peer in [&left, &right] {
        let entry = peer.table.get(&file_id("d")).unwrap();
        assert_eq!((entry.row.name.as_str(), entry.derived), ("lib", false));
        peer.check_invariants();
    }
}

#[test]
fn plain_peer_can_undo_what_we_did() {
    let (mut ours, mut plain) = (Ours::new(1), Plain::new(99));
    let trash = RowChanges { trashed_at: Some(Some(Millis(5))), ..RowChanges::default() };
    ours.write(&[create("a", "x")], 1000).unwrap();
    ours.write(&[update("a", trash)], 2000).unwrap();
    plain.receive(&ours.doc.encode_state());
    let mut row = plain.rows()["a"].clone();
    row.insert("trashedAt".to_owned(), Any::Null);
    plain.set("a", row, 3000);
    ours.receive(&plain.diff(&ours.doc.state_vector()));
    assert_eq!(ours.table.get(&file_id("a")).unwrap().row.trashed_at, None);
}

#[test]
fn removals_and_purges_that_earlier_versions_recorded_in_meta_are_read_and_cleared() {
    let mut plain = Plain::new(99);
    let val = r#"{"id": "a", "name": "x", "parentId": null, "type": "file", "size": 2,
        "createdAt": 1, "updatedAt": 1, "trashedAt": 9,
        "meta": {"custom": {"k": 1}, "purge": "p1", "trashed_by": "human:ada", "held": "h"}}"#;
    plain.push("a", Any::from_json(val).unwrap(), Any::from(10.0));
    let mut ours = Ours::new(1);
    ours.receive(&plain.diff(&[0]));
    let meta_of = |ours: &Ours| {
        let meta = ours.table.get(&file_id("a")).unwrap().row.meta;
        meta.map_or_else(String::new, |meta| show(&meta))
    };
    expect![[r#"{custom: {k: 1}, held: "h", purge: "p1", trashed_by: "human:ada"}"#]]
        .assert_eq(&meta_of(&ours));
    let mut patch = |patch: &str, now| {
        let meta = Some(Any::from_json(patch).unwrap());
        ours.write(&[update("a", RowChanges { meta, ..RowChanges::default() })], now).unwrap();
        ours.check_invariants();
        meta_of(&ours)
    };
    // The record moves to its own cell as a whole.
    expect![[
        r#"{custom: {k: 1}, held: "h", purge: "p1", trash_known: "1:2", trashed_by: "human:ada"}"#
    ]]
    .assert_eq(&patch(r#"{"trash_known": "1:2"}"#, 20));
    let restored = r#"{"trash_known": null, "trashed_by": null, "held": null, "purge": null}"#;
    expect!["{custom: {k: 1}}"].assert_eq(&patch(restored, 30));
    expect![[r#"{custom: {k: 1}, purge: "p2", trashed_by: "human:bob"}"#]]
        .assert_eq(&patch(r#"{"trashed_by": "human:bob", "purge": "p2"}"#, 40));
    expect![[r#"
        {k: [["held", null, 30], ["purge", null, 30], ["trashed_by", null, 30]], key: "a:meta", o: [{custom: {k: 1}, held: "h", purge: "p1", trashed_by: "human:ada"}], ts: 30, val: {custom: {k: 1}}}
        {key: "a:removal", o: [null, {held: "h", trash_known: "1:2", trashed_by: "human:ada"}], ts: 40, val: {trashed_by: "human:bob"}}
        {key: "a:purgeId", o: [null], ts: 40, val: "p2"}
    "#]]
    .assert_eq(&elements(&ours, "fs:cells"));
}

#[test]
fn unknown_fields_and_odd_spellings_survive_our_writes() {
    let mut plain = Plain::new(99);
    let val = r#"{"id": "a", "name": "x", "parentId": null, "type": "file", "size": 2.5,
        "createdAt": "2026-11-21T21:19:10.581Z", "updatedAt": "2026-11-21T21:19:10.585Z",
        "trashedAt": null, "_v": 1, "colour": {"r": 1}}"#;
    plain.push("a", Any::from_json(val).unwrap(), Any::from(10.0));
    let mut ours = Ours::new(1);
    ours.receive(&plain.diff(&[0]));
    let entry = ours.table.get(&file_id("a")).unwrap();
    assert_eq!(entry.row.created_at, Millis(1_795_295_950_581));
    ours.write(&[rename("a", "y")], 20).unwrap();
    ours.check_invariants();
    expect![[r#"
        {c: 1, key: "a", ts: 20, val: {_v: 1, base: {name: 20}, colour: {r: 1}, createdAt: "2026-11-21T21:19:10.581Z", id: "a", name: "y", parentId: null, size: 2.5, trashedAt: null, type: "file", updatedAt: "2026-11-21T21:19:10.585Z"}}
    "#]]
    .assert_eq(&elements(&ours, "table:files"));
    let touch = RowChanges { updated_at: Some(Millis(0)), mode: Some(Some(1)), ..<_>::default() };
    ours.write(&[update("a", touch)], 30).unwrap();
    assert!(elements(&ours, "table:files").contains(r#"updatedAt: "1970-01-01T00:00:00.000Z""#));
}

#[test]
fn elements_that_we_do_not_understand_are_left_alone() {
    let plain = Plain::new(99);
    for (key, val) in [("a", "[1]"), ("a", r#"{"name": 5}"#), ("no/id", "{}"), ("b", "null")] {
        plain.doc.get_or_insert_array("table:files");
        let members = [("key", Any::from(key)), ("val", Any::from_json(val).unwrap())];
        let members: HashMap<_, _> =
            members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        let array = plain.doc.get_or_insert_array("table:files");
        array.push_back(&mut plain.doc.transact_mut(), Any::from(members));
    }
    let mut ours = Ours::new(1);
    ours.receive(&plain.diff(&[0]));
    assert!(ours.table.is_empty());
    assert_eq!(elements(&ours, "table:files").lines().count(), 4);
    // They have no timestamp, which nothing beats: only a write to their row removes them.
    ours.write(&[create("a", "x")], 5).unwrap();
    assert_eq!(ours.table.get(&file_id("a")).unwrap().row.name, "x");
    assert_eq!(elements(&ours, "table:files").lines().count(), 3);
}

#[test]
fn clock_of_a_row_goes_no_further_than_javascript_counts() {
    let mut ours = Ours::new(1);
    ours.write(&[create("a", "x"), create("b", "x")], MAX_SAFE_INTEGER as i64).unwrap();
    ours.write(&[rename("a", "y"), rename("b", "z")], 5).unwrap();
    ours.write(&[rename("a", "w")], 5).unwrap();
    ours.check_invariants();
    assert_eq!(ours.table.get(&file_id("a")).unwrap().row.name, "w");
    ours.write(&[create("c", "x"), delete("b")], 5).unwrap();
    assert_eq!(ours.table.len(), 2);
}

#[test]
fn rows_that_no_timestamp_beats_can_be_written_renamed_trashed_and_deleted() {
    for ts in [
        Any::from(MAX_SAFE_INTEGER),
        Any::from(MAX_SAFE_INTEGER - 1.0),
        Any::from(1e300),
        Any::from(f64::INFINITY),
        Any::from(f64::NAN),
        Any::from("9".repeat(30)),
        Any::from("no number"),
        Any::Undefined,
    ] {
        let (mut ours, mut other) = (Ours::new(1), Ours::new(2));
        ours.write(&[create("a", "x"), create("b", "x")], 5).unwrap();
        let mut plain = Plain::new(99);
        plain.receive(&ours.doc.encode_diff(&[0]).unwrap());
        let row = plain.rows()["a"].clone();
        plain.push("a", Any::from(row), ts.clone());
        ours.receive(&plain.diff(&ours.doc.state_vector()));
        for (nth, name) in ["y", "z"].into_iter().enumerate() {
            // In a batch with others, which must not fail for it.
            ours.write(&[rename("a", name), rename("b", name)], 6 + nth as i64).unwrap();
            assert_eq!(ours.table.get(&file_id("a")).unwrap().row.name, name, "{ts}");
        }
        let trash = RowChanges { trashed_at: Some(Some(Millis(9))), ..<_>::default() };
        ours.write(&[update("a", trash)], 9).unwrap();
        let row = ours.table.get(&file_id("a")).unwrap().row;
        assert_eq!((row.trashed_at, row.name.as_str()), (Some(Millis(9)), "z"), "{ts}");
        ours.check_invariants();
        other.pull(&ours);
        assert_eq!(other.entries(), ours.entries(), "{ts}");
        plain.receive(&ours.doc.encode_diff(&[0]).unwrap());
        assert_eq!(plain.rows()["a"]["name"], Any::from("z"), "{ts}");
        ours.write(&[delete("a")], 10).unwrap();
        assert!(ours.table.get(&file_id("a")).is_none());
    }
}

#[test]
fn settings_that_no_timestamp_beats_can_be_set() {
    let mut ours = Ours::new(1);
    for (now, value) in [(i64::MAX, "one"), (i64::MAX, "two"), (5, "three")] {
        let value = Any::from(value);
        let update = ours.settings.plan(&ours.doc, "profile", Some(&value), Millis(now)).unwrap();
        ours.commit(&update);
        assert_eq!(ours.settings.get("profile"), Some(&value));
    }
}

#[test]
fn refused_batches_change_nothing() {
    let mut ours = Ours::new(1);
    ours.write(&[create("a", "x")], 5).unwrap();
    let before = (ours.doc.encode_state(), ours.entries());
    for batch in [
        [rename("a", "y"), create("a", "z")],
        [rename("a", "y"), delete("b")],
        [rename("a", "y"), rename("b", "y")],
        [delete("a"), delete("a")],
    ] {
        ours.write(&batch, 6).unwrap_err();
        assert_eq!((ours.doc.encode_state(), ours.entries()), before);
    }
}

#[test]
fn reference_table_reads_as_the_reference_wrote_it() {
    let fixtures = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../fixtures/reference-wire/");
    let update = std::fs::read(format!("{fixtures}spec-era-main.v1.bin")).unwrap();
    let dump = std::fs::read_to_string(format!("{fixtures}spec-era.json")).unwrap();
    let dump: serde_json::Value = serde_json::from_str(&dump).unwrap();
    let mut ours = Ours::new(1);
    ours.receive(&update);
    let expected = dump["table_files"].as_array().unwrap();
    assert_eq!(ours.table.len(), expected.len());
    for element in expected {
        let val = &element["val"];
        let row = ours.table.get(&file_id(element["key"].as_str().unwrap())).unwrap().row;
        let number = |name: &str| val[name].as_i64();
        assert_eq!(Some(row.name.as_str()), val["name"].as_str());
        assert_eq!(row.parent.as_ref().map(FileId::as_str), val["parentId"].as_str());
        assert_eq!(row.kind == NodeKind::Directory, val["type"] == "folder");
        assert_eq!(Some(row.size as i64), number("size"));
        assert_eq!(Some(row.created_at.0), number("createdAt"));
        assert_eq!(Some(row.updated_at.0), number("updatedAt"));
        assert_eq!(row.trashed_at.map(|time| time.0), number("trashedAt"));
    }
    ours.check_invariants();
}

#[test]
fn settings_keep_the_last_value() {
    let (mut left, mut right) = (Ours::new(1), Ours::new(2));
    for (peer, value, now) in [(&mut left, "gfm", 10), (&mut right, "commonmark", 20)] {
        let value = Any::from(value);
        let update = peer.settings.plan(&peer.doc, "profile", Some(&value), Millis(now)).unwrap();
        peer.commit(&update);
    }
    left.pull(&right);
    right.pull(&left);
    for peer in [&left, &right] {
        assert_eq!(peer.settings.get("profile"), Some(&Any::from("commonmark")));
    }
    let update = left.settings.plan(&left.doc, "profile", None, Millis(30)).unwrap();
    left.commit(&update);
    right.pull(&left);
    assert_eq!(right.settings.get("profile"), None);
    left.check_invariants();
}

/// A program that passes changes on writes each with the time of the change, and learns which of
/// two was later.
#[test]
fn writes_of_one_update_have_times_of_their_own() {
    let mut ours = Ours::new(1);
    ours.write(&[create("a", "a"), create("b", "b")], 100).unwrap();
    let writes = [(rename("a", "x"), Millis(500)), (resize("b", 7), Millis(300))];
    let writes = writes.iter().map(|(write, at)| (write, *at));
    let update = ours.table.plan_each(&ours.doc, writes).unwrap();
    ours.commit(&update);
    let times = |id| ours.table.field_times(&file_id(id)).unwrap();
    let (a, b) = (times("a"), times("b"));
    assert_eq!((a.name, a.stat), (Millis(500), Millis(500)), "the row has all other fields");
    assert_eq!((b.name, b.stat), (Millis(100), Millis(300)), "a cell has its own");
    assert_eq!(ours.table.field_times(&file_id("c")), None);
    // An earlier time does not lose against what is there.
    let update = ours.table.plan_each(&ours.doc, [(&rename("a", "y"), Millis(50))].into_iter());
    ours.commit(&update.unwrap());
    assert_eq!(ours.table.get(&file_id("a")).unwrap().row.name, "y");
    ours.check_invariants();
}
