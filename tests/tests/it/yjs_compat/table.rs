//! The files table with its cells, beside plain peers that know only rows.

use std::{cell::RefCell, collections::BTreeMap};

use proptest::prelude::*;
use serde_json::{Value, json};
use yfs_engine::{
    gate::{DocRole, GatedDoc, UpdateSource},
    id::{ClientId, FileId},
    table::{FileRow, FilesTable, NodeKind, RowChanges, RowWrite, WriterIds},
    time::Millis,
};
use yfs_tests::node::{Yjs, to_hex};

use super::{gated, runner};

/// One of our peers.
struct Peer {
    doc: GatedDoc,
    table: FilesTable,
}

impl Peer {
    fn new(number: u64) -> Self {
        let id = |offset| ClientId::new(100 * number + offset).unwrap();
        let mut doc = gated(DocRole::Main, 100 * number);
        doc.protect(&[id(1), id(2), id(3)]);
        let table = FilesTable::new(WriterIds { rows: id(1), cells: id(2), meta: id(3) });
        Self { doc, table }
    }

    fn write(&mut self, write: RowWrite, now: i64) -> Vec<u8> {
        let update = self.table.plan(&self.doc, &[write], Millis(now)).unwrap();
        let scan = self.doc.apply_own(&update);
        self.table.absorb(&self.doc, &scan);
        update
    }

    fn receive(&mut self, update: &[u8]) {
        let received = self.doc.receive(update, UpdateSource::Wire);
        let received = received.unwrap_or_else(|refusal| panic!("{refusal}: {}", to_hex(update)));
        for scan in &received.scans {
            self.table.absorb(&self.doc, scan);
        }
    }

    /// Returns what it shows, by id, in the order of the id.
    fn shown(&self) -> BTreeMap<String, FileRow> {
        self.table.iter().map(|entry| (entry.row.id.to_string(), entry.row)).collect()
    }
}

fn id(key: u8) -> FileId {
    FileId::parse(&format!("file{key}")).unwrap()
}

fn fresh(key: u8, now: i64) -> FileRow {
    FileRow {
        id: id(key),
        name: format!("new {key} 😀.md").into(),
        parent: None,
        kind: NodeKind::File,
        size: 0,
        created_at: Millis(now),
        updated_at: Millis(now),
        trashed_at: None,
        mode: None,
        link: None,
        blob: None,
        meta: None,
    }
}

/// A change of a file by one peer.
#[derive(Debug, Clone)]
enum Change {
    Rename(u8),
    Move(Option<u8>),
    Trash(bool),
    Delete,
}

#[derive(Debug, Clone)]
enum Step {
    Ours { peer: usize, key: u8, change: Change },
    Theirs { peer: usize, key: u8, change: Change },
    Sync { from: usize, to: usize },
}

fn steps(n_steps: usize) -> impl Strategy<Value = Vec<Step>> {
    let change = || {
        prop_oneof![
            4 => (0..9u8).prop_map(Change::Rename),
            3 => prop::option::of(0..4u8).prop_map(Change::Move),
            3 => any::<bool>().prop_map(Change::Trash),
            1 => Just(Change::Delete),
        ]
    };
    let ours = (0..2usize, 0..4u8, change()).prop_map(|(peer, key, change)| Step::Ours {
        peer,
        key,
        change,
    });
    let theirs = (0..2usize, 0..4u8, change()).prop_map(|(peer, key, change)| Step::Theirs {
        peer,
        key,
        change,
    });
    let sync = (0..4usize, 0..4usize).prop_map(|(from, to)| Step::Sync { from, to });
    prop::collection::vec(prop_oneof![3 => ours, 2 => theirs, 3 => sync], 1..n_steps)
}

/// Two of our peers and two plain ones. The first two are ours.
struct World<'a> {
    ours: [Peer; 2],
    yjs: &'a mut Yjs,
    now: i64,
}

const PLAIN: [&str; 2] = ["plain2", "plain3"];

impl<'a> World<'a> {
    fn new(yjs: &'a mut Yjs) -> Self {
        for (name, client) in PLAIN.iter().zip([50, 250]) {
            yjs.call("drop", json!({ "doc": name }));
            yjs.make(name, client, true);
            yjs.change("table_open", json!({ "doc": name }));
        }
        Self { ours: [Peer::new(1), Peer::new(2)], yjs, now: 1_795_296_141_000 }
    }

    fn step(&mut self, step: &Step) {
        match step {
            Step::Ours { peer, key, change } => self.change_ours(*peer, *key, change),
            Step::Theirs { peer, key, change } => self.change_theirs(PLAIN[*peer], *key, change),
            Step::Sync { from, to } => {
                self.sync(*from, *to);
                // Time stands still otherwise, so that timestamps tie.
                self.now += 7;
            }
        }
    }

    fn change_ours(&mut self, peer: usize, key: u8, change: &Change) {
        let (peer, now) = (&mut self.ours[peer], self.now);
        let changes = match change {
            _ if !peer.table.contains(&id(key)) => {
                peer.write(RowWrite::Create { row: fresh(key, now), derived: false }, now);
                return;
            }
            Change::Delete => {
                peer.write(RowWrite::Delete { id: id(key) }, now);
                return;
            }
            Change::Rename(to) => {
                RowChanges { name: Some(name(*to).into()), ..RowChanges::default() }
            }
            Change::Move(to) => RowChanges { parent: Some(to.map(id)), ..RowChanges::default() },
            Change::Trash(is_trashed) => {
                let trashed_at = Some(is_trashed.then_some(Millis(now)));
                RowChanges { trashed_at, ..RowChanges::default() }
            }
        };
        peer.write(RowWrite::Update { id: id(key), changes }, now);
    }

    fn change_theirs(&mut self, doc: &str, key: u8, change: &Change) {
        let (now, key) = (self.now, id(key).to_string());
        let known = self.yjs.call("table_get", json!({ "doc": doc, "key": key }));
        let changes = match change {
            _ if known.is_null() => {
                let val = json!({
                    "id": key, "name": format!("plain {key}"), "parentId": null, "type": "file",
                    "size": 1, "createdAt": now, "updatedAt": now, "trashedAt": null
                });
                let set = json!({ "doc": doc, "key": key, "val": val, "now": now });
                self.yjs.call("table_set", set);
                return;
            }
            Change::Delete => {
                self.yjs.call("table_delete", json!({ "doc": doc, "key": key }));
                return;
            }
            Change::Rename(to) => json!({ "name": name(*to), "updatedAt": now }),
            Change::Move(to) => json!({ "parentId": to.map(|to| id(to).to_string()) }),
            Change::Trash(is_trashed) => json!({ "trashedAt": is_trashed.then_some(now) }),
        };
        let update = json!({ "doc": doc, "key": key, "changes": changes, "now": now });
        self.yjs.call("table_update", update);
    }

    fn sync(&mut self, from: usize, to: usize) {
        if from == to {
            return;
        }
        let state_vector = match to {
            0 | 1 => self.ours[to].doc.state_vector(),
            _ => self.yjs.state_vector(PLAIN[to - 2]),
        };
        let update = match from {
            0 | 1 => self.ours[from].doc.encode_diff(&state_vector).unwrap(),
            _ => self.yjs.encode_diff(PLAIN[from - 2], &state_vector),
        };
        match to {
            0 | 1 => self.ours[to].receive(&update),
            _ => assert!(!self.yjs.apply(PLAIN[to - 2], &update), "Yjs waits for other updates"),
        }
    }

    /// Syncs all peers with each other until no peer sends an update. Plain peers delete losers
    /// when they see them, so this takes more than one round.
    fn settle(&mut self) {
        for _ in 0..2 {
            for from in 0..4 {
                for to in 0..4 {
                    self.sync(from, to);
                }
            }
        }
    }

    fn rows(&mut self, doc: &str) -> BTreeMap<String, Value> {
        let rows = self.yjs.rows(doc, "table:files");
        rows.as_object()
            .unwrap()
            .iter()
            .map(|(key, row)| (key.clone(), row["val"].clone()))
            .collect()
    }
}

fn name(number: u8) -> String {
    format!("name {number} 東京")
}

fn is_same(row: &FileRow, plain: &Value) -> bool {
    let parent = row.parent.as_ref().map(ToString::to_string);
    plain["name"] == *row.name
        && plain["parentId"] == json!(parent)
        && plain["trashedAt"].as_f64() == row.trashed_at.map(Millis::as_f64)
        && plain["createdAt"].as_f64() == Some(row.created_at.as_f64())
        && plain["type"] == "file"
}

fn run(
    cases: u32,
    n_steps: usize,
    test: impl Fn(&mut Yjs, Vec<Step>) -> Result<(), TestCaseError>,
) {
    let yjs = RefCell::new(Yjs::start());
    let result = runner(cases).run(&steps(n_steps), |steps| test(&mut yjs.borrow_mut(), steps));
    if let Err(error) = result {
        panic!("{error}");
    }
}

/// Without concurrent changes, a plain peer sees exactly what we show.
#[test]
fn one_after_another_a_plain_peer_sees_what_we_show() {
    run(12, 20, |yjs, steps| {
        let mut world = World::new(yjs);
        for step in steps {
            world.step(&step);
            world.settle();
            let shown = world.ours[0].shown();
            prop_assert_eq!(&world.ours[1].shown(), &shown);
            for plain in PLAIN {
                let rows = world.rows(plain);
                prop_assert!(rows.keys().eq(shown.keys()), "{rows:?} is not {shown:?}");
                for (key, row) in &shown {
                    prop_assert!(is_same(row, &rows[key]), "{:?} is not {row:?}", rows[key]);
                }
            }
        }
        Ok(())
    });
}

/// After concurrent changes, all peers have the same files at the end, ours agree on every field,
/// and no peer deletes the winner that another one chose.
#[test]
fn concurrent_changes_leave_the_same_files_on_all_peers() {
    run(40, 60, |yjs, steps| {
        let mut world = World::new(yjs);
        for step in &steps {
            world.step(step);
        }
        world.settle();
        let shown = world.ours[0].shown();
        prop_assert_eq!(&world.ours[1].shown(), &shown);
        for plain in PLAIN {
            let rows = world.rows(plain);
            prop_assert!(rows.keys().eq(shown.keys()), "{rows:?} is not {shown:?}");
        }
        let state_vectors: Vec<_> = PLAIN.map(|plain| world.yjs.state_vector(plain)).into();
        prop_assert_eq!(&state_vectors[0], &state_vectors[1]);
        prop_assert_eq!(&state_vectors[0], &world.ours[0].doc.state_vector());
        // A restart changes nothing: the same document, read anew.
        let mut restarted = Peer::new(3);
        restarted.receive(&world.yjs.encode(PLAIN[0]));
        prop_assert_eq!(&restarted.shown(), &shown);
        Ok(())
    });
}

/// The reference's own workspace, read as files.
#[test]
fn the_reference_workspace_has_its_files() {
    let mut peer = Peer::new(1);
    peer.receive(&yfs_tests::read_fixture("reference-wire/spec-era-main.v1.bin"));
    let described: Value =
        serde_json::from_slice(&yfs_tests::read_fixture("reference-wire/spec-era.json")).unwrap();
    let shown = peer.shown();
    assert_eq!(shown.len(), 5);
    for element in described["table_files"].as_array().unwrap() {
        let (row, val) = (&shown[element["key"].as_str().unwrap()], &element["val"]);
        assert_eq!(val["name"], *row.name);
        assert_eq!(val["parentId"].as_str(), row.parent.as_ref().map(FileId::as_str));
        assert_eq!(val["size"], row.size);
        assert_eq!(val["createdAt"], row.created_at.0);
        assert_eq!(val["updatedAt"], row.updated_at.0);
        assert_eq!(val["trashedAt"].as_i64(), row.trashed_at.map(|time| time.0));
        assert_eq!(val["type"] == "folder", row.kind == NodeKind::Directory);
    }
}

/// Timestamps that no schema allows. JavaScript compares them all the same, in its own way, and two
/// peers that elect different winners delete each other's.
fn odd_timestamp() -> impl Strategy<Value = Value> {
    let text = prop_oneof![
        Just(String::new()),
        prop::sample::select(vec![
            " 5 ",
            "5",
            "10",
            "9",
            "0x10",
            "0b11",
            "1e3",
            "-7",
            "+7",
            ".5",
            "5.",
            "1_000",
            "NaN",
            "Infinity",
            "-Infinity",
            "infinity",
            "abc",
            "\u{feff}3\n",
            "５",
            "\u{ffff}",
            "😀",
            "null",
        ])
        .prop_map(ToOwned::to_owned),
    ];
    let leaf = prop_oneof![
        4 => (-3..20i32).prop_map(|number| json!(number)),
        2 => prop::sample::select(vec![1e308, -0.5, 9.5, 5e-324, 1_795_296_141_126.0])
            .prop_map(|number| json!(number)),
        3 => text.prop_map(|text| json!(text)),
        1 => Just(Value::Null),
        1 => any::<bool>().prop_map(|flag| json!(flag)),
    ];
    leaf.prop_recursive(2, 6, 2, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::Array),
            inner.prop_map(|value| json!({ "a": value })),
        ]
    })
}

#[test]
fn odd_timestamps_elect_whom_javascript_elects() {
    let yjs = RefCell::new(Yjs::start());
    let timestamps = prop::collection::vec(prop::option::weighted(0.9, odd_timestamp()), 2..6);
    let result = runner(400).run(&timestamps, |timestamps| {
        let mut yjs = yjs.borrow_mut();
        let element = |(n, ts): (usize, &Option<Value>)| {
            let mut element = json!({ "key": "k", "val": {
                "id": "k", "name": format!("name {n}"), "parentId": null, "type": "file",
                "size": 0, "createdAt": 1, "updatedAt": 1, "trashedAt": null
            }});
            if let Some(ts) = ts {
                element["ts"] = ts.clone();
            }
            element
        };
        let values: Vec<Value> = timestamps.iter().enumerate().map(element).collect();
        yjs.make("odd", 50, true);
        let mut ours = Peer::new(1);
        // One update for each, so that an update does not come sorted.
        for value in values {
            for update in yjs.change("push", json!({ "doc": "odd", "values": [value] })) {
                ours.receive(&update);
            }
        }
        let theirs = yjs.rows("odd", "table:files")["k"]["val"]["name"].clone();
        let entry = ours.table.get(&FileId::parse("k").unwrap());
        let name = entry.map(|entry| entry.row.name.to_string());
        prop_assert_eq!(json!(name), theirs, "of {:?}", timestamps);
        // And the same when all of it comes at once.
        let mut loaded = Peer::new(2);
        loaded.receive(&yjs.encode("odd"));
        prop_assert_eq!(loaded.shown(), ours.shown());
        Ok(())
    });
    if let Err(error) = result {
        panic!("{error}");
    }
}
