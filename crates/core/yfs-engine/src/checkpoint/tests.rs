//! Two documents get the same updates: one eagerly, one that is based on checkpoints and reads what
//! it is asked for. Whatever was asked before, they must answer alike.

mod operations;

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use proptest::prelude::*;
use yrs::{
    Any, Array, ClientID, Doc, OffsetKind, Options, ReadTxn, Transact, Update,
    updates::decoder::Decode,
};

use self::operations::{Operation, Question, any_operation, any_question, in_order};
use super::*;
use crate::{
    gate::{DocRole, LoggedUpdates, UpdateSource, canonical},
    id::{ClientId, FileId},
    main_doc::VisibleTotals,
    path::VPath,
    table::{FileRow, ListedChild, ListedKind, NodeKind, RowChanges, RowClocks, RowWrite},
    time::Millis,
};

const IDS: [&str; 8] = ["a", "b", "c", "d", "e", "f", "g", "h"];

const NAMES: [&str; 7] = ["x", "x (1)", "y.md", "y (1).md", "", "é", "e\u{301}"];

/// The updates that a process has, as its log has them.
type SharedLog = Arc<Mutex<Vec<Vec<u8>>>>;

/// A checkpoint in memory.
#[derive(Debug)]
struct MemoryCheckpoint {
    entries: BTreeMap<Vec<u8>, Vec<u8>>,
    log: SharedLog,
    n_reads: Mutex<usize>,
    /// A key from which on everything fails.
    damaged_from: Option<Vec<u8>>,
}

impl MemoryCheckpoint {
    fn of(main: &MainDoc, log: &SharedLog) -> Self {
        let mut entries = BTreeMap::new();
        let put = |key: &[u8], value: &[u8]| -> Result<(), CheckpointError> {
            let before = entries.insert(key.to_vec(), value.to_vec());
            assert_eq!(before, None, "each key is written once: {key:?}");
            Ok(())
        };
        main.write_checkpoint(put).unwrap();
        let log = log.clone();
        Self { entries, log, n_reads: Mutex::default(), damaged_from: None }
    }

    fn check(&self, key: &[u8]) -> Result<(), String> {
        *self.n_reads.lock().unwrap() += 1;
        let is_damaged = self.damaged_from.as_ref().is_some_and(|from| key >= from);
        if is_damaged { Err("a checksum is wrong".to_owned()) } else { Ok(()) }
    }
}

impl LoggedUpdates for MemoryCheckpoint {
    fn updates(&self) -> Result<Vec<Vec<u8>>, String> {
        Ok(self.log.lock().unwrap().clone())
    }
}

impl CheckpointReader for MemoryCheckpoint {
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, String> {
        self.check(key)?;
        Ok(self.entries.get(key).cloned())
    }

    fn scan(&self, from: &[u8], to: &[u8], n: usize) -> Result<CheckpointEntries, String> {
        self.check(from)?;
        let found = self.entries.range(from.to_vec()..to.to_vec()).take(n);
        Ok(found.map(|(key, value)| (key.clone(), value.clone())).collect())
    }
}

/// One process, twice.
#[derive(Debug)]
struct Twins {
    number: u64,
    eager: MainDoc,
    lazy: MainDoc,
    log: SharedLog,
    /// The checkpoint that the lazy document is based on.
    entries: BTreeMap<Vec<u8>, Vec<u8>>,
}

fn id(text: &str) -> FileId {
    FileId::parse(text).unwrap()
}

fn writer(number: u64) -> WriterIds {
    let [rows, cells, meta] = [1, 2, 3].map(|ix| ClientId::from_random(number * 10 + ix));
    WriterIds { rows, cells, meta }
}

impl Twins {
    fn new(number: u64) -> Self {
        let new = || MainDoc::new(&id("workspace"), writer(number), GateLimits::default());
        let (log, entries) = (SharedLog::default(), BTreeMap::new());
        Self { number, eager: new(), lazy: new(), log, entries }
    }

    /// Bases the lazy document on a checkpoint of itself, made as a whole or from the one before.
    fn rebase(&mut self, is_whole: bool) {
        let mut entries = self.entries.clone();
        if !self.lazy.doc().parked().is_empty() {
            let refused = self.lazy.write_checkpoint(|_, _| Ok(()));
            return assert_eq!(refused, Err(CheckpointError::Parked));
        }
        if is_whole || entries.is_empty() {
            entries = MemoryCheckpoint::of(&self.lazy, &self.log).entries;
        } else {
            let set = |key: &[u8], value: Option<&[u8]>| -> Result<(), CheckpointError> {
                match value {
                    Some(value) => drop(entries.insert(key.to_vec(), value.to_vec())),
                    None => assert!(entries.remove(key).is_some(), "{key:?}"),
                }
                Ok(())
            };
            self.lazy.write_checkpoint_changes(set).unwrap();
            let whole = MemoryCheckpoint::of(&self.eager, &self.log).entries;
            assert!(whole.keys().eq(entries.keys()));
        }
        self.entries.clone_from(&entries);
        let log = self.log.clone();
        let n_reads = Mutex::default();
        let checkpoint = MemoryCheckpoint { entries, log, n_reads, damaged_from: None };
        self.lazy = self.open(Arc::new(checkpoint));
    }

    fn open(&self, checkpoint: Arc<MemoryCheckpoint>) -> MainDoc {
        let limits = GateLimits::default();
        MainDoc::on_checkpoint(&id("workspace"), writer(self.number), limits, checkpoint).unwrap()
    }

    fn write(&mut self, write: RowWrite, now: i64) {
        let [eager, lazy] = [&self.eager, &self.lazy]
            .map(|main| main.plan(std::slice::from_ref(&write), Millis(now)));
        assert_eq!(eager, lazy, "{write:?}");
        self.commit(eager.ok());
    }

    fn set(&mut self, key: &str, value: Option<Any>, now: i64) {
        let [eager, lazy] = [&self.eager, &self.lazy]
            .map(|main| main.plan_setting(key, value.as_ref(), Millis(now)));
        assert_eq!(eager, lazy, "{key}");
        self.commit(eager.ok());
    }

    fn commit(&mut self, update: Option<Vec<u8>>) {
        let Some(update) = update else { return };
        self.log.lock().unwrap().push(update.clone());
        assert_eq!(self.eager.commit(&update), self.lazy.commit(&update));
    }

    fn receive(&mut self, update: &[u8], source: UpdateSource) {
        self.log.lock().unwrap().push(update.to_vec());
        let [eager, lazy] =
            [&mut self.eager, &mut self.lazy].map(|main| main.receive(update, source));
        assert_eq!(eager, lazy);
    }

    /// Compares all answers. The lazy document then has read everything.
    fn compare(&self) {
        assert_eq!(self.lazy.checkpoint_failure(), None);
        self.compare_states();
        let [eager, lazy] = [&self.eager, &self.lazy].map(|main| in_order(&answers(main)));
        assert_eq!(eager, lazy);
        assert_eq!(self.eager.doc().snapshot(), self.lazy.doc().snapshot());
        assert_eq!(self.eager.state_vector(), self.lazy.state_vector());
    }
}

impl Twins {
    /// A first peer gets the same state from either, made by yrs or not.
    fn compare_states(&self) {
        let by_yrs = canonical(DocRole::Main, &self.eager.encode_state()).unwrap();
        for state in [self.eager.encode_diff(&[0]), self.lazy.encode_diff(&[0])] {
            let state = state.unwrap();
            assert_eq!(canonical(DocRole::Main, &state).unwrap(), by_yrs);
            let mut peer = MainDoc::new(&id("workspace"), writer(99), GateLimits::default());
            assert!(!peer.receive(&state, UpdateSource::Wire).unwrap().parked);
            assert_eq!(peer.state_vector(), self.eager.state_vector());
            let [found, expected] = [&peer, &self.eager].map(|main| in_order(&listing(main)));
            assert_eq!(found, expected);
        }
    }
}

/// Lists a document, directory by directory.
fn listing(main: &MainDoc) -> String {
    let mut listed = String::new();
    let mut open = vec![None];
    while let Some(directory) = open.pop() {
        let mut kinds = Vec::new();
        main.for_each_listed(directory.as_ref(), |ListedChild { id, name, kind }| {
            kinds.push((FileId::parse(id).unwrap(), name.to_owned(), kind));
        });
        let (mut kinds, mut documents) = (kinds.into_iter(), Vec::new());
        main.for_each_child(directory.as_ref(), |id, name, attributes| {
            let kind = ListedKind::of(&attributes);
            assert_eq!(kinds.next(), Some((id.clone(), name.to_owned(), kind)));
            let document = matches!(kind, ListedKind::File { .. }).then(|| id.clone());
            documents.push((name.to_owned(), document));
            listed += &format!("{directory:?} {id} {name:?} {attributes:?}\n");
            if attributes.kind == NodeKind::Directory {
                open.push(Some(id.clone()));
            }
        });
        assert_eq!(kinds.next(), None);
        for step in [1, 2, 3, 5] {
            let some = documents.iter().rev().step_by(step);
            let missing = ["!", "not there", "\u{10ffff}"].map(|name| (name.to_owned(), None));
            let (names, expected): (Vec<String>, Vec<_>) = some.cloned().chain(missing).unzip();
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            assert_eq!(main.documents_in(directory.as_ref(), &names), expected);
        }
    }
    listed
}

/// Counts all visible rows.
fn walked_totals(main: &MainDoc) -> VisibleTotals {
    let mut totals = VisibleTotals::default();
    for node in main.tree().visible() {
        let row = main.files().get(node.id().unwrap()).unwrap().row;
        match (row.kind, row.is_link()) {
            (NodeKind::Directory, _) => totals.n_directories += 1,
            (_, true) => totals.n_links += 1,
            (_, false) => totals.n_files += 1,
        }
        totals.n_bytes = totals.n_bytes.wrapping_add(row.content_size());
    }
    totals
}

/// Shows everything that a document can be asked.
fn answers(main: &MainDoc) -> String {
    // First, because it keeps nothing of what it reads, and the rest reads everything.
    let listed = listing(main);
    let (totals, conflicts) = (main.visible_totals(), main.tree().conflicts(Millis(1000)));
    assert_eq!(totals, walked_totals(main));
    assert_eq!(in_order(&listing(main)), in_order(&listed));
    let mut rows: Vec<_> = main.files().iter().collect();
    rows.sort_by(|a, b| a.row.id.cmp(&b.row.id));
    assert_eq!(rows.len(), main.files().len());
    let nodes = main.tree().visible().map(|node| format!("{node:?} {}", node.alias()));
    let mut hidden: Vec<_> = main.tree().hidden().map(|node| format!("{node:?}")).collect();
    hidden.sort();
    let ids = IDS.map(|text| {
        let mut clocks = RowClocks::default();
        main.files().add_clocks(&id(text), &mut clocks);
        let beyond = main.files().changes_beyond(&id(text), &RowClocks::default());
        let node = main.tree().node(&id(text));
        let late = node.and_then(|node| main.late_changes(node));
        let row = format!("{:?}", main.files().attributes(&id(text)));
        (row, clocks, beyond, main.tree().path_of(&id(text)), late)
    });
    let counts = (main.tree().n_files(), main.tree().n_directories(), main.tree().n_trashed());
    format!(
        "{listed}{rows:#?}\n{counts:?}\n{:#?}\n{hidden:#?}\n{ids:#?}\n{:#?}\n{:#?}\n\
         {:#?}\n{:?}\n{:?}",
        nodes.collect::<Vec<_>>(),
        main.tree().trash_and_purged(),
        conflicts,
        main.settings().iter().collect::<Vec<_>>(),
        main.doc().parked().list(),
        IDS.map(|text| main.files().contains(&id(text))),
    )
}

#[derive(Debug, Clone)]
enum Step {
    Write(usize, RowWrite, i64),
    Set(usize, &'static str, Option<Any>, i64),
    /// Sends what another lacks; the last updates only, so that they wait for others.
    Send(usize, usize, bool),
    /// A peer with another implementation appends an element, or removes one.
    Foreign(usize, Foreign),
    Rebase(usize, bool),
    FindId(usize, &'static str),
    FindPath(usize, Vec<&'static str>),
    List(usize, &'static str),
    Trash(usize),
    /// A filesystem operation on the tree as it is.
    Operate(usize, Operation),
    Ask(usize, Question),
}

#[derive(Debug, Clone)]
enum Foreign {
    Row(&'static str, &'static str, Option<&'static str>, Any),
    Cell(&'static str, &'static str, Any, Any),
    Odd(&'static str, Any),
    Remove(bool, prop::sample::Index),
}

fn any_id() -> impl Strategy<Value = &'static str> {
    prop::sample::select(&IDS[..])
}

fn any_parent() -> impl Strategy<Value = Option<&'static str>> {
    prop::option::weighted(0.7, any_id())
}

fn any_name() -> impl Strategy<Value = &'static str> {
    prop::sample::select(&NAMES[..])
}

fn any_write() -> impl Strategy<Value = RowWrite> {
    let create = (any_id(), any_name(), any_parent(), any::<bool>(), any::<bool>());
    let create = create.prop_map(|(key, name, parent, is_directory, derived)| {
        let kind = if is_directory { NodeKind::Directory } else { NodeKind::File };
        let row = FileRow::new(id(key), name, parent.map(id), kind, Millis(3));
        RowWrite::Create { row, derived }
    });
    let changes = prop_oneof![
        any_name().prop_map(|name| RowChanges { name: Some(name.into()), ..Default::default() }),
        any_parent()
            .prop_map(|parent| RowChanges { parent: Some(parent.map(id)), ..Default::default() }),
        prop::option::of(0..9_i64)
            .prop_map(|at| RowChanges { trashed_at: Some(at.map(Millis)), ..Default::default() }),
        (0..99_u64).prop_map(|size| RowChanges { size: Some(size), ..Default::default() }),
        (0..9_u32).prop_map(|mode| RowChanges { mode: Some(Some(mode)), ..Default::default() }),
        Just(RowChanges {
            meta: Some(Any::from_json(r#"{"purge":"p"}"#).unwrap()),
            ..Default::default()
        }),
    ];
    let update =
        (any_id(), changes).prop_map(|(key, changes)| RowWrite::Update { id: id(key), changes });
    let delete = any_id().prop_map(|key| RowWrite::Delete { id: id(key) });
    prop_oneof![5 => create, 6 => update, 1 => delete]
}

fn any_stamp() -> impl Strategy<Value = Any> {
    prop_oneof![
        6 => (0..30_i64).prop_map(|ts| Any::from(ts as f64)),
        1 => Just(Any::from("7")),
        1 => Just(Any::Null),
        1 => Just(Any::Undefined),
        1 => Just(Any::from(f64::NAN)),
    ]
}

fn any_foreign() -> impl Strategy<Value = Foreign> {
    let field = prop::sample::select(&["name", "parentId", "trashedAt", "mode", "stat"][..]);
    let value = prop_oneof![
        any_name().prop_map(Any::from),
        any_id().prop_map(Any::from),
        any_id().prop_map(|id| Any::from_json(&format!(r#"{{"id":"{id}","prev":[]}}"#)).unwrap()),
        Just(Any::Null),
        Just(Any::from(5.0)),
    ];
    prop_oneof![
        3 => (any_id(), any_name(), any_parent(), any_stamp())
            .prop_map(|(id, name, parent, ts)| Foreign::Row(id, name, parent, ts)),
        2 => (any_id(), field, value, any_stamp())
            .prop_map(|(id, field, value, ts)| Foreign::Cell(id, field, value, ts)),
        1 => (any_id(), any_stamp()).prop_map(|(id, ts)| Foreign::Odd(id, ts)),
        2 => any::<(bool, prop::sample::Index)>()
            .prop_map(|(cells, at)| Foreign::Remove(cells, at)),
    ]
}

fn any_step() -> impl Strategy<Value = Step> {
    let at = 0..2_usize;
    let key = prop::sample::select(&["profile", "other"][..]);
    let value = prop::option::of((0..5_i64).prop_map(|number| Any::from(number as f64)));
    prop_oneof![
        12 => (at.clone(), any_write(), 0..30_i64).prop_map(|(at, write, now)| {
            Step::Write(at, write, now)
        }),
        1 => (at.clone(), key, value, 0..30_i64).prop_map(|(at, key, value, now)| {
            Step::Set(at, key, value, now)
        }),
        4 => (at.clone(), at.clone(), any::<bool>()).prop_map(|(from, to, last)| {
            Step::Send(from, to, last)
        }),
        3 => (at.clone(), any_foreign()).prop_map(|(at, foreign)| Step::Foreign(at, foreign)),
        4 => (at.clone(), any::<bool>()).prop_map(|(at, whole)| Step::Rebase(at, whole)),
        1 => (at.clone(), any_id()).prop_map(|(at, id)| Step::FindId(at, id)),
        1 => (at.clone(), prop::collection::vec(any_name(), 1..4))
            .prop_map(|(at, names)| Step::FindPath(at, names)),
        1 => (at.clone(), any_id()).prop_map(|(at, id)| Step::List(at, id)),
        1 => at.clone().prop_map(Step::Trash),
        10 => (at.clone(), any_operation()).prop_map(|(at, step)| Step::Operate(at, step)),
        3 => (at, any_question()).prop_map(|(at, question)| Step::Ask(at, question)),
    ]
}

/// Makes the update of a peer with another implementation.
fn foreign_update(main: &MainDoc, foreign: &Foreign, client: u64) -> Option<Vec<u8>> {
    let client_id = ClientID::new(client);
    let doc = Doc::with_options(Options {
        client_id,
        offset_kind: OffsetKind::Utf16,
        ..Options::default()
    });
    let [files, cells] = ["table:files", "fs:cells"].map(|root| doc.get_or_insert_array(root));
    let mut txn = doc.transact_mut();
    txn.apply_update(Update::decode_v1(&main.encode_state()).unwrap()).unwrap();
    let before = txn.state_vector();
    let element = |members: &[(&str, Any)]| {
        let members = members.iter().map(|(name, value)| ((*name).to_owned(), value.clone()));
        Any::from(members.collect::<std::collections::HashMap<String, Any>>())
    };
    match foreign {
        Foreign::Row(key, name, parent, ts) => {
            let val = element(&[
                ("id", Any::from(*key)),
                ("name", Any::from(*name)),
                ("parentId", parent.map_or(Any::Null, Any::from)),
                ("type", Any::from("folder")),
                ("kept", Any::from(1.0)),
            ]);
            let row = [("key", Any::from(*key)), ("val", val), ("ts", ts.clone())];
            files.push_back(&mut txn, element(&row));
        }
        Foreign::Cell(key, field, val, ts) => {
            let key = Any::from(format!("{key}:{field}"));
            let cell = [("key", key), ("val", val.clone()), ("ts", ts.clone())];
            cells.push_back(&mut txn, element(&cell));
        }
        Foreign::Odd(key, ts) => {
            let odd = [("key", Any::from(*key)), ("val", Any::from(1.0)), ("ts", ts.clone())];
            files.push_back(&mut txn, element(&odd));
        }
        Foreign::Remove(of_cells, at) => {
            let array = if *of_cells { &cells } else { &files };
            let len = array.len(&txn);
            if len == 0 {
                return None;
            }
            array.remove(&mut txn, at.index(len as usize) as u32);
        }
    }
    Some(txn.encode_diff_v1(&before))
}

fn run_step(twins: &mut [Twins; 2], step: &Step, number: u64) {
    match step {
        Step::Write(at, write, now) => twins[*at].write(write.clone(), *now),
        Step::Set(at, key, value, now) => twins[*at].set(key, value.clone(), *now),
        Step::Send(from, to, is_last) => {
            let known = twins[*to].eager.state_vector();
            let diff = twins[*from].eager.encode_diff(&known).unwrap();
            let last = twins[*from].log.lock().unwrap().last().cloned();
            match last.filter(|_| *is_last) {
                Some(last) => twins[*to].receive(&last, UpdateSource::Store),
                None => twins[*to].receive(&diff, UpdateSource::Store),
            }
        }
        Step::Foreign(at, foreign) => {
            let update = foreign_update(&twins[*at].eager, foreign, 1000 + number);
            if let Some(update) = update {
                twins[*at].receive(&update, UpdateSource::Wire);
            }
        }
        Step::Rebase(at, is_whole) => twins[*at].rebase(*is_whole),
        Step::FindId(at, key) => {
            let Twins { eager, lazy, .. } = &twins[*at];
            assert_eq!(eager.tree().path_of(&id(key)), lazy.tree().path_of(&id(key)));
            assert_eq!(eager.files().get(&id(key)), lazy.files().get(&id(key)));
        }
        Step::FindPath(at, names) => {
            let Ok(path) = VPath::parse(&format!("/{}", names.join("/"))) else { return };
            let [eager, lazy] = [&twins[*at].eager, &twins[*at].lazy]
                .map(|main| main.tree().lookup(&path).map(|node| node.id().cloned()));
            assert_eq!(eager, lazy, "{path}");
        }
        Step::List(at, key) => {
            let [eager, lazy] = [&twins[*at].eager, &twins[*at].lazy].map(|main| {
                let node = main.tree().node(&id(key))?;
                Some(node.children().map(|(name, _)| name.to_owned()).collect::<Vec<_>>())
            });
            assert_eq!(eager, lazy, "{key}");
        }
        Step::Trash(at) => {
            let Twins { eager, lazy, .. } = &twins[*at];
            assert_eq!(eager.tree().trash(), lazy.tree().trash());
        }
        Step::Operate(at, operation) => twins[*at].operate(operation),
        Step::Ask(at, question) => twins[*at].ask(*question),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1024))]

    /// A document on a checkpoint answers and writes as one that was loaded from the log.
    #[test]
    fn a_document_on_a_checkpoint_is_the_document(
        steps in prop::collection::vec(any_step(), 0..40),
    ) {
        let mut twins = [Twins::new(1), Twins::new(2)];
        for (number, step) in (0..).zip(&steps) {
            run_step(&mut twins, step, number);
        }
        twins.iter().for_each(Twins::compare);
    }
}

#[test]
fn opening_reads_the_head_and_a_look_up_its_path() {
    let mut twins = Twins::new(1);
    let create = |id_text: &str, parent: Option<&str>, kind| {
        let row = FileRow::new(id(id_text), id_text, parent.map(id), kind, Millis(1));
        RowWrite::Create { row, derived: false }
    };
    twins.write(create("a", None, NodeKind::Directory), 1);
    for ix in 0..1000 {
        twins.write(create(&format!("f{ix}"), Some("a"), NodeKind::File), 2);
    }
    let checkpoint = Arc::new(MemoryCheckpoint::of(&twins.eager, &twins.log));
    let main = twins.open(checkpoint.clone());
    let n_reads = || std::mem::take(&mut *checkpoint.n_reads.lock().unwrap());
    assert_eq!(n_reads(), 1);
    assert_eq!(main.files().len(), 1001);
    let node = main.tree().lookup(&VPath::parse("/a/f500").unwrap()).unwrap();
    assert_eq!(node.id(), Some(&id("f500")));
    assert_eq!(n_reads(), 2);
    assert!(main.tree().lookup(&VPath::parse("/a/none").unwrap()).is_err());
    assert_eq!(n_reads(), 1);
    let rename = RowChanges { name: Some("new".into()), ..RowChanges::default() };
    main.plan(&[RowWrite::Update { id: id("f500"), changes: rename }], Millis(3)).unwrap();
    assert!(n_reads() < 10);
}

#[test]
fn a_listing_has_what_changed_after_the_checkpoint() {
    let mut twins = Twins::new(1);
    for (key, kind) in [("a", NodeKind::Directory), ("b", NodeKind::File), ("c", NodeKind::File)] {
        let parent = (key != "a").then(|| id("a"));
        let row = FileRow::new(id(key), key, parent, kind, Millis(1));
        twins.write(RowWrite::Create { row, derived: false }, 1);
    }
    twins.rebase(true);
    let longer = RowChanges { size: Some(9), ..RowChanges::default() };
    twins.write(RowWrite::Update { id: id("b"), changes: longer }, 2);
    let listed = [&twins.eager, &twins.lazy].map(|main| {
        let mut kinds = Vec::new();
        main.for_each_listed(Some(&id("a")), |child| {
            kinds.push((child.name.to_owned(), child.kind));
        });
        kinds
    });
    let file = |name: &str, size| (name.to_owned(), ListedKind::File { size });
    assert_eq!(listed, [(); 2].map(|()| vec![file("b", 9), file("c", 0)]));
    assert!(twins.lazy.tree().nodes.base_of_unread(Some(&id("a"))).is_some());
}

/// Counts the reads of a checkpoint of a number of files, for the totals and for the conflicts.
fn reads_of_overviews(n_files: usize) -> [usize; 2] {
    let mut twins = Twins::new(1);
    let create = |id_text: &str, name: &str, parent: Option<&str>, kind| {
        let mut row = FileRow::new(id(id_text), name, parent.map(id), kind, Millis(1));
        row.size = 3;
        RowWrite::Create { row, derived: false }
    };
    twins.write(create("a", "a", None, NodeKind::Directory), 1);
    for name in ["same", "old"] {
        twins.write(create(name, name, None, NodeKind::Directory), 1);
        for ix in 0..2 {
            twins.write(create(&format!("{name}{ix}"), "x", Some(name), NodeKind::File), 1);
        }
    }
    let trashed = RowChanges { trashed_at: Some(Some(Millis(2))), ..RowChanges::default() };
    twins.write(RowWrite::Update { id: id("old"), changes: trashed }, 2);
    for ix in 0..n_files {
        twins.write(create(&format!("f{ix}"), &format!("f{ix}"), Some("a"), NodeKind::File), 2);
    }
    let checkpoint = Arc::new(MemoryCheckpoint::of(&twins.eager, &twins.log));
    let main = twins.open(checkpoint.clone());
    let totals = main.visible_totals();
    assert_eq!((totals.n_files, totals.n_bytes), (n_files as u64 + 2, 3 * n_files as u64 + 6));
    assert_eq!(main.tree().conflicts(Millis(1000)), twins.eager.tree().conflicts(Millis(1000)));
    let n_reads = || *checkpoint.n_reads.lock().unwrap();
    let of_overviews = n_reads();
    assert!(main.files().iter().count() > n_files);
    [of_overviews, n_reads()]
}

#[test]
fn totals_and_conflicts_read_the_same_of_any_number_of_files() {
    let [few, many] = [100, 3000].map(reads_of_overviews);
    assert_eq!(few[0], many[0]);
    assert!(few[1] < many[1], "a walk of all rows reads more: {few:?} {many:?}");
}

#[test]
fn a_damaged_checkpoint_is_noticed() {
    let mut twins = Twins::new(1);
    let row = FileRow::new(id("a"), "a", None, NodeKind::File, Millis(1));
    twins.write(RowWrite::Create { row, derived: false }, 1);
    let mut checkpoint = MemoryCheckpoint::of(&twins.eager, &twins.log);
    checkpoint.damaged_from = Some(b"I".to_vec());
    let main = twins.open(Arc::new(checkpoint));
    assert_eq!(main.checkpoint_failure(), None);
    assert!(main.tree().node(&id("a")).is_none());
    assert!(matches!(main.checkpoint_failure(), Some(CheckpointError::Unreadable(_))));
    assert!(main.write_checkpoint(|_, _| Ok::<(), CheckpointError>(())).is_err());
}

#[test]
fn a_checkpoint_of_another_workspace_or_version_is_not_read() {
    let twins = Twins::new(1);
    let open = |checkpoint: MemoryCheckpoint, workspace: &str| {
        let checkpoint = Arc::new(checkpoint);
        let limits = GateLimits::default();
        MainDoc::on_checkpoint(&id(workspace), writer(1), limits, checkpoint).map(drop)
    };
    let checkpoint = || MemoryCheckpoint::of(&twins.eager, &twins.log);
    assert!(open(checkpoint(), "workspace").is_ok());
    assert!(open(checkpoint(), "other").is_err());
    let mut newer = checkpoint();
    newer.entries.get_mut(keys::HEAD).unwrap()[0] = 99;
    assert!(open(newer, "workspace").is_err());
    let mut cut = checkpoint();
    let head = cut.entries.get_mut(keys::HEAD).unwrap();
    for len in (0..head.len()).rev() {
        head.truncate(len);
        let copy = cut_copy(head, &twins.log);
        assert!(open(copy, "workspace").is_err(), "{len} bytes");
    }
}

fn cut_copy(head: &[u8], log: &SharedLog) -> MemoryCheckpoint {
    let entries = BTreeMap::from([(keys::HEAD.to_vec(), head.to_vec())]);
    MemoryCheckpoint { entries, log: log.clone(), n_reads: Mutex::default(), damaged_from: None }
}
