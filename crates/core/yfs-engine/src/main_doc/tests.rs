//! Tests of the main document: its three views stay in step.

use super::*;
use crate::{
    id::ClientId,
    path::VPath,
    table::{NodeKind, RowChanges},
    tree::TreeConflict,
};

fn main_doc(number: u64) -> MainDoc {
    let [rows, cells, meta] = [0, 1, 2].map(|ix| ClientId::from_random(number * 3 + ix));
    let id = FileId::parse("workspace").unwrap();
    MainDoc::new(&id, WriterIds { rows, cells, meta }, GateLimits::default())
}

fn id(text: &str) -> FileId {
    FileId::parse(text).unwrap()
}

fn create(id_text: &str, name: &str, parent: Option<&str>, kind: NodeKind) -> RowWrite {
    let row = FileRow::new(id(id_text), name, parent.map(id), kind, Millis(5));
    RowWrite::Create { row, derived: false }
}

fn path_of(main: &MainDoc, text: &str) -> Option<String> {
    main.tree().path_of(&id(text)).map(|path| path.to_string())
}

#[test]
fn rows_show_in_the_tree_at_once() {
    let mut main = main_doc(1);
    let writes = [
        create("d", "docs", None, NodeKind::Directory),
        create("f", "a.txt", Some("d"), NodeKind::File),
    ];
    let update = main.plan(&writes, Millis(10)).unwrap();
    assert!(main.files().is_empty(), "to plan changes nothing");
    assert_eq!(main.commit(&update).ids, [id("d"), id("f")]);
    assert_eq!(path_of(&main, "f").as_deref(), Some("/docs/a.txt"));
    assert!(main.tree().lookup(&VPath::parse("/docs/a.txt").unwrap()).is_ok());

    let update = main.plan(&[RowWrite::Delete { id: id("d") }], Millis(20)).unwrap();
    assert_eq!(main.commit(&update).ids, [id("d")]);
    assert_eq!(path_of(&main, "f").as_deref(), Some("/a.txt"), "orphans show at the root");
}

#[test]
fn parked_update_shows_when_what_it_waits_for_arrives() {
    let (mut left, mut right) = (main_doc(1), main_doc(2));
    let create = left.plan(&[create("f", "a", None, NodeKind::File)], Millis(1)).unwrap();
    left.commit(&create);
    let changes = RowChanges { name: Some("b".into()), ..RowChanges::default() };
    let rename = left.plan(&[RowWrite::Update { id: id("f"), changes }], Millis(2)).unwrap();
    left.commit(&rename);

    let changes = right.receive(&rename, UpdateSource::Wire).unwrap();
    assert!(changes.parked && changes.ids.is_empty());
    let changes = right.receive(&create, UpdateSource::Wire).unwrap();
    assert_eq!(changes.ids, [id("f")]);
    assert_eq!(path_of(&right, "f").as_deref(), Some("/b"));
}

#[test]
fn own_log_brings_everything_back_and_the_chain_goes_on() {
    let mut main = main_doc(1);
    let update = main.plan(&[create("f", "a", None, NodeKind::File)], Millis(1)).unwrap();
    main.commit(&update);
    let update = main.plan_setting("profile", Some(&"gfm".into()), Millis(1)).unwrap();
    assert_eq!(main.commit(&update).settings, ["profile"]);

    let mut again = main_doc(1);
    again.receive(&main.encode_state(), UpdateSource::Store).unwrap();
    assert_eq!(again.settings().get("profile"), Some(&Any::from("gfm")));
    let update = again.plan(&[create("g", "b", None, NodeKind::File)], Millis(1)).unwrap();
    again.commit(&update);
    assert_eq!(path_of(&again, "g").as_deref(), Some("/b"));
    let diff = again.encode_diff(&main.state_vector()).unwrap();
    main.receive(&diff, UpdateSource::Store).unwrap();
    assert_eq!(main.state_vector(), again.state_vector());
    assert_eq!(path_of(&main, "g").as_deref(), Some("/b"));
    assert_eq!(main.commit(EMPTY_UPDATE), MainDocChanges::default());
}

/// A chain that a peer sends in one message is received, listed and queried.
#[test]
fn a_chain_of_100_000_directories_is_received_and_listed() {
    let n_nodes = 100_000;
    let key = |at: usize| format!("c{at}");
    let parent = |at: usize| at.checked_sub(1).map(key);
    let row = |at: usize| create(&key(at), "d", parent(at).as_deref(), NodeKind::Directory);
    let [mut theirs, mut ours, mut third] = [1, 2, 3].map(main_doc);
    let rows: Vec<RowWrite> = (0..n_nodes).rev().map(row).collect();
    let update = theirs.plan(&rows, Millis(1)).unwrap();
    let n_steps = crate::steps::of(|| {
        ours.receive(&update, UpdateSource::Wire).unwrap();
        assert_eq!(ours.tree().conflicts(Millis(1000)).len(), 0);
        assert_eq!(ours.tree().visible().count(), n_nodes);
        for at in (0..n_nodes).step_by(n_nodes / 100) {
            let path = path_of(&ours, &key(at)).unwrap();
            assert!(path.len() <= crate::path::MAX_PATH_LEN);
            assert!(ours.tree().lookup(&VPath::parse(&path).unwrap()).is_ok());
        }
    });
    assert!(n_steps <= 20 * n_nodes, "{n_steps} steps");
    // Each change of a row is an event with its path. A path of more than 4,096 bytes is none.
    let names = crate::path::MAX_PATH_LEN / 2;
    let n_steps = crate::steps::of(|| {
        let mut paths = ours.tree().path_resolver();
        assert!((0..n_nodes).all(|at| paths.path_of(&id(&key(at))).is_some()));
    });
    assert!(n_steps <= (2 + names) * n_nodes, "{n_steps} steps");

    // The last contains the first, which breaks the cycle and stays at the root.
    theirs.commit(&update);
    let changes = RowChanges { parent: Some(Some(id(&key(n_nodes - 1)))), ..RowChanges::default() };
    let close = theirs.plan(&[RowWrite::Update { id: id("c0"), changes }], Millis(2)).unwrap();
    let n_steps = crate::steps::of(|| {
        ours.receive(&close, UpdateSource::Wire).unwrap();
        let [TreeConflict::Cycle { members, shown_in, .. }] = &ours.tree().conflicts(Millis(3))[..]
        else {
            panic!("one cycle");
        };
        assert_eq!((members.len(), shown_in), (n_nodes, &None));
        assert_eq!(ours.tree().visible().count(), n_nodes);
    });
    assert!(n_steps <= 20 * n_nodes, "{n_steps} steps");
    theirs.commit(&close);
    third.receive(&theirs.encode_state(), UpdateSource::Wire).unwrap();
    assert_eq!(third.tree().visible().count(), n_nodes);
}
