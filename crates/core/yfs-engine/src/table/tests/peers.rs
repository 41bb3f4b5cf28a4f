//! Two sorts of peers: those of this engine, and one that only implements
//! `docs/spec/filesystem.md`.

use std::collections::{BTreeMap, HashMap};

use yrs::{
    Any, Array, ArrayRef, Doc, OffsetKind, Options, Out, ReadTxn, StateVector, Transact, Update,
    updates::decoder::Decode, updates::encoder::Encode,
};

use super::super::{
    FilesTable, PURGE_KEY, REMOVAL_KEYS, RowAttributes, RowHistory, RowWrite, TableError,
    WorkspaceSettings, WriterIds,
};
use crate::{
    gate::{DocRole, GateLimits, GatedDoc, UpdateSource},
    id::{ClientId, FileId},
    lib0::as_number,
    time::Millis,
};

/// One of our own processes.
#[derive(Debug)]
pub(super) struct Ours {
    pub(super) doc: GatedDoc,
    pub(super) table: FilesTable,
    pub(super) settings: WorkspaceSettings,
}

/// A JavaScript application: Epicenter's class, by its rules and not by its code.
#[derive(Debug)]
pub(super) struct Plain {
    pub(super) doc: Doc,
    /// The greatest timestamp ever seen, for all keys together.
    clock: f64,
}

/// A row as a plain peer holds it.
pub(super) type PlainRow = HashMap<String, Any>;

pub(super) fn file_id(text: &str) -> FileId {
    FileId::parse(text).unwrap()
}

pub(super) fn client(number: u64) -> ClientId {
    ClientId::new(number).unwrap()
}

impl Ours {
    /// Opens an empty document; `number` makes the client ids.
    pub(super) fn new(number: u64) -> Self {
        let [edits, rows, cells, meta] = [0, 1, 2, 3].map(|ix| client(number * 4 + ix));
        let mut doc = GatedDoc::new(&file_id("main"), DocRole::Main, edits, GateLimits::default());
        doc.protect(&[rows, cells, meta]);
        let writer = WriterIds { rows, cells, meta };
        Self { doc, table: FilesTable::new(writer), settings: WorkspaceSettings::new(meta) }
    }

    pub(super) fn write(
        &mut self,
        writes: &[RowWrite],
        now: i64,
    ) -> Result<Vec<FileId>, TableError> {
        Ok(self.commit(&self.table.plan(&self.doc, writes, Millis(now))?))
    }

    pub(super) fn commit(&mut self, update: &[u8]) -> Vec<FileId> {
        let scan = self.doc.apply_own(update);
        self.settings.absorb(&self.doc, &scan);
        self.table.absorb(&self.doc, &scan)
    }

    pub(super) fn receive(&mut self, update: &[u8]) -> Vec<FileId> {
        let received = self.doc.receive(update, UpdateSource::Wire).expect("an honest update");
        let mut changed = Vec::new();
        for scan in &received.scans {
            self.settings.absorb(&self.doc, scan);
            changed.extend(self.table.absorb(&self.doc, scan));
        }
        changed
    }

    pub(super) fn entries(&self) -> BTreeMap<String, RowHistory> {
        self.table.iter().map(|entry| (entry.row.id.to_string(), entry)).collect()
    }

    /// Compares the incrementally built table with one that is built from the document at once.
    pub(super) fn check_invariants(&self) {
        let mut fresh = Self::new(1 << 40);
        fresh.receive(&self.doc.encode_state());
        assert_eq!(fresh.entries(), self.entries(), "incremental and rebuilt tables differ");
        assert_eq!(self.table.len(), self.entries().len());
        let settings = |ours: &Self| format!("{:?}", ours.settings.iter().collect::<Vec<_>>());
        assert_eq!(settings(&fresh), settings(self), "incremental and rebuilt settings differ");
        for (id, entry) in self.entries() {
            let row = &entry.row;
            let attributes = self.table.attributes(&file_id(&id)).unwrap();
            // The listing has what applications keep, and what earlier versions put beside it.
            let application = |meta: Option<&Any>| {
                let Some(Any::Map(members)) = meta else { return BTreeMap::new() };
                let of_application = members.iter().filter(|(name, _)| {
                    !REMOVAL_KEYS.contains(&name.as_str()) && *name != PURGE_KEY
                });
                of_application.map(|(name, value)| (name.clone(), value.clone())).collect()
            };
            assert_eq!(application(attributes.meta), application(row.meta.as_ref()));
            let shown = RowAttributes {
                name: &row.name,
                kind: row.kind,
                size: row.size,
                created_at: row.created_at,
                updated_at: row.updated_at,
                mode: row.mode,
                link: row.link.as_deref(),
                blob: row.blob.as_ref(),
                meta: attributes.meta,
            };
            assert_eq!(attributes, shown);
            assert_eq!(self.table.get(&file_id(&id)), Some(entry));
        }
    }

    /// Copies all items of `other` that this one lacks.
    pub(super) fn pull(&mut self, other: &Self) -> Vec<FileId> {
        let diff = other.doc.encode_diff(&self.doc.state_vector()).unwrap();
        self.receive(&diff)
    }
}

impl Plain {
    pub(super) fn new(number: u64) -> Self {
        let options = Options {
            client_id: yrs::ClientID::new(number),
            offset_kind: OffsetKind::Utf16,
            skip_gc: false,
            cleanup_formatting: false,
            ..Options::default()
        };
        Self { doc: Doc::with_options(options), clock: 0.0 }
    }

    /// Returns the winning elements: their places and values.
    fn winners(&self) -> BTreeMap<String, (u32, f64, Any)> {
        let array = self.doc.get_or_insert_array("table:files");
        winners(&self.doc.transact(), &array)
    }

    pub(super) fn rows(&self) -> BTreeMap<String, PlainRow> {
        let rows = self.winners().into_iter().filter_map(|(key, (_, _, val))| match val {
            Any::Map(val) => Some((key, (*val).clone())),
            _ => None,
        });
        rows.collect()
    }

    /// Writes a whole row: deletes the entry that it sees, and appends the new one.
    pub(super) fn set(&mut self, key: &str, val: PlainRow, now: i64) {
        self.clock = (now as f64).max(self.clock + 1.0);
        self.push(key, Any::from(val), Any::from(self.clock));
    }

    /// Appends an element with any timestamp, and deletes the visible entry.
    pub(super) fn push(&mut self, key: &str, val: Any, ts: Any) {
        let seen = self.winners().get(key).map(|(index, _, _)| *index);
        let array = self.doc.get_or_insert_array("table:files");
        let mut txn = self.doc.transact_mut();
        if let Some(index) = seen {
            array.remove(&mut txn, index);
        }
        let members = [("key", Any::from(key)), ("val", val), ("ts", ts)];
        let members = HashMap::from(members.map(|(name, value)| (name.to_owned(), value)));
        array.push_back(&mut txn, Any::from(members));
    }

    /// Deletes the entry that it sees.
    pub(super) fn delete(&mut self, key: &str) {
        let seen = self.winners().get(key).map(|(index, _, _)| *index);
        let array = self.doc.get_or_insert_array("table:files");
        if let Some(index) = seen {
            array.remove(&mut self.doc.transact_mut(), index);
        }
    }

    /// Applies an update, deletes the elements that lost, and follows the greatest clock.
    pub(super) fn receive(&mut self, update: &[u8]) {
        let update = Update::decode_v1(update).unwrap();
        self.doc.transact_mut().apply_update(update).unwrap();
        let array = self.doc.get_or_insert_array("table:files");
        let mut txn = self.doc.transact_mut();
        let winners = winners(&txn, &array);
        self.clock = winners.values().map(|(_, ts, _)| *ts).fold(self.clock, f64::max);
        let kept: Vec<u32> = winners.values().map(|(index, _, _)| *index).collect();
        for index in (0..array.len(&txn)).rev().filter(|index| !kept.contains(index)) {
            array.remove(&mut txn, index);
        }
    }

    pub(super) fn state_vector(&self) -> Vec<u8> {
        self.doc.transact().state_vector().encode_v1()
    }

    pub(super) fn diff(&self, state_vector: &[u8]) -> Vec<u8> {
        let state_vector = StateVector::decode_v1(state_vector).unwrap();
        self.doc.transact().encode_diff_v1(&state_vector)
    }
}

fn winners(txn: &impl ReadTxn, array: &ArrayRef) -> BTreeMap<String, (u32, f64, Any)> {
    let mut winners: BTreeMap<String, (u32, f64, Any)> = BTreeMap::new();
    for (index, out) in (0..).zip(array.iter(txn)) {
        let Out::Any(Any::Map(element)) = out else { panic!("a plain peer needs plain rows") };
        let Some(Any::String(key)) = element.get("key") else { panic!("no key") };
        let ts = element.get("ts").and_then(as_number).expect("a plain peer needs numbers");
        let best = winners.get(key.as_ref()).map(|(_, ts, _)| *ts);
        if best.is_none_or(|best| ts >= best) {
            winners.insert(key.to_string(), (index, ts, element["val"].clone()));
        }
    }
    winners
}
