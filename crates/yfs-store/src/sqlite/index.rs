//! The positions of each document's records, in memory.
//!
//! # Invariants
//!
//! - The index has every record up to `upto` that is in the log, and possibly some that were
//!   deleted. A reader that does not find a record, in a view that reaches that far, may drop it:
//!   records never come back.
//! - It is updated inside transactions, whose views differ. Records become visible in order of
//!   their position, so a view that is older than the index adds nothing.

use std::collections::BTreeMap;

use hashbrown::HashMap;
use rusqlite::{Connection, OptionalExtension};

use yfs_types::time::Millis;

use super::{log::checksum, schema::store_error};
use crate::{DocHead, DocName, HandleOrigin, Seq, StoreError};

/// An update.
pub(super) const KIND_UPDATE: i64 = 0;
/// A marker of a snapshot that replaced records; its data is the position up to which.
pub(super) const KIND_SNAPSHOT: i64 = 1;
/// A marker of a document that was forgotten; its data is the position up to which.
pub(super) const KIND_FORGOTTEN: i64 = 2;

const ACTION: &str = "read the log";

/// The positions of each document's records.
#[derive(Debug, Default)]
pub(super) struct LogIndex {
    /// The last record in the index.
    upto: u64,
    /// The greatest head of the log for which the index was complete. The last positions may belong
    /// to deleted records, so it may be greater than `upto`.
    complete_to: u64,
    /// Documents by number. Invariant: `numbers` is the inverse. Numbers with a damaged name are
    /// missing; other documents are not affected.
    names: HashMap<u32, DocName>,
    numbers: HashMap<DocName, u32>,
    /// The greatest number for which a name was looked up.
    names_read_to: u32,
    /// Documents that ever had records, by number.
    docs: HashMap<u32, DocEntry>,
    /// Documents that were compacted or forgotten, by the position of their marker.
    markers: BTreeMap<u64, u32>,
}

/// The index entry of one document.
#[derive(Debug, Default, Clone)]
pub(super) struct DocEntry {
    /// The position and size of each record, in order.
    pub(super) records: Vec<(u64, u32)>,
    /// The sum of the sizes.
    pub(super) bytes: u64,
    /// The last position that ever had a record.
    pub(super) head: u64,
    /// The handle that appended that record.
    pub(super) head_origin: HandleOrigin,
    /// The last position that may have held a record of another handle.
    pub(super) foreign_head: u64,
    /// The position up to which compaction or `forget` has removed records.
    pub(super) compacted: u64,
    /// The handle that appended the record at that position.
    pub(super) compacted_origin: HandleOrigin,
    /// The position of the marker in the log.
    pub(super) marker: u64,
    pub(super) forgotten: bool,
    pub(super) snapshot_bytes: u64,
}

/// The fields of one row of the log that the index needs.
#[derive(Debug, Clone, Copy)]
pub(super) struct IndexRow {
    pub(super) seq: u64,
    pub(super) doc: u32,
    pub(super) kind: i64,
    pub(super) own: bool,
    /// The handle that appended the row; for a marker, the handle that appended the record that it
    /// reaches.
    pub(super) origin: HandleOrigin,
    pub(super) len: u32,
    /// For a marker, the position up to which records were removed.
    pub(super) reaches: u64,
    /// Whether the row is readable. The data of updates is checked when it is read.
    pub(super) sound: bool,
}

impl DocEntry {
    /// Returns the last record that the document ever had.
    pub(super) fn doc_head(&self) -> DocHead {
        DocHead { seq: Seq(self.head), origin: self.head_origin }
    }

    /// Returns the last record up to which compaction or `forget` has removed records.
    pub(super) fn compacted_head(&self) -> DocHead {
        DocHead { seq: Seq(self.compacted), origin: self.compacted_origin }
    }
}

impl LogIndex {
    /// Reads the rows that were appended since, in the view of the current transaction.
    pub(super) fn catch_up(
        &mut self,
        connection: &Connection,
        own: HandleOrigin,
    ) -> Result<(), StoreError> {
        let rows = read_rows(connection, self.upto, own).map_err(store_error(ACTION))?;
        // The index is empty, so nothing in it can be stale.
        let fresh = self.upto == 0;
        if rows.iter().any(|row| row.doc > self.names_read_to) {
            self.read_names(connection).map_err(store_error(ACTION))?;
        }
        for row in rows {
            // A row without a document is damaged: `check` reports it.
            if !self.names.contains_key(&row.doc) || !row.sound {
                self.upto = self.upto.max(row.seq);
                continue;
            }
            self.add(row);
            if row.kind != KIND_UPDATE && !fresh {
                self.drop_stale(connection, row).map_err(store_error(ACTION))?;
            }
        }
        Ok(())
    }

    /// Adds one row, unless it is in the index.
    pub(super) fn add(&mut self, row: IndexRow) {
        if row.seq <= self.upto {
            return;
        }
        self.upto = row.seq;
        let doc = self.docs.entry(row.doc).or_default();
        if row.kind == KIND_UPDATE {
            doc.records.push((row.seq, row.len));
            doc.bytes += u64::from(row.len);
            (doc.head, doc.head_origin) = (row.seq, row.origin);
            if !row.own {
                doc.foreign_head = row.seq;
            }
            return;
        }
        if row.reaches > doc.head {
            // This handle never saw the records, so it must assume that another handle appended
            // them.
            doc.foreign_head = row.reaches;
            (doc.head, doc.head_origin) = (row.reaches, row.origin);
        }
        if row.reaches >= doc.compacted {
            (doc.compacted, doc.compacted_origin) = (row.reaches, row.origin);
        }
        doc.snapshot_bytes = u64::from(row.len);
        doc.forgotten = row.kind == KIND_FORGOTTEN;
        if doc.marker > 0 {
            self.markers.remove(&doc.marker);
        }
        doc.marker = row.seq;
        self.markers.insert(row.seq, row.doc);
    }

    /// Returns a head of the log for which the index is complete.
    pub(super) fn complete_to(&self) -> u64 {
        self.complete_to
    }

    /// Records that the caller has added all records up to `head`.
    pub(super) fn set_complete_to(&mut self, head: u64) {
        self.complete_to = self.complete_to.max(head);
    }

    /// Adds documents that this handle has just created.
    pub(super) fn add_names(&mut self, names: impl IntoIterator<Item = (DocName, u32)>) {
        for (name, number) in names {
            self.add_name(number, name);
        }
    }

    fn add_name(&mut self, number: u32, name: DocName) {
        // If two documents have the same name, the later one is damaged.
        if !self.numbers.contains_key(&name) {
            self.numbers.insert(name.clone(), number);
            self.names.insert(number, name);
        }
        self.names_read_to = self.names_read_to.max(number);
    }

    /// Returns the number of a document.
    pub(super) fn number(&self, name: &DocName) -> Option<u32> {
        self.numbers.get(name).copied()
    }

    /// Returns the entry of a document.
    pub(super) fn doc(&self, number: u32) -> Option<&DocEntry> {
        self.docs.get(&number)
    }

    /// Returns the entry of a document, by name.
    pub(super) fn doc_named(&self, name: &DocName) -> Option<&DocEntry> {
        self.doc(self.number(name)?)
    }

    /// Returns the name of a document.
    pub(super) fn name(&self, number: u32) -> Option<&DocName> {
        self.names.get(&number)
    }

    /// Returns all documents.
    pub(super) fn docs(&self) -> impl Iterator<Item = (&DocName, &DocEntry)> {
        self.docs.iter().filter_map(|(number, doc)| Some((self.names.get(number)?, doc)))
    }

    /// Returns the documents whose markers are after a position.
    pub(super) fn marked_after(&self, after: u64) -> impl Iterator<Item = u32> {
        self.markers.range(after + 1..).map(|(_, number)| *number)
    }

    /// Drops records of a document that are no longer in the log.
    pub(super) fn drop_records(&mut self, number: u32, gone: impl Fn(u64) -> bool) {
        let Some(doc) = self.docs.get_mut(&number) else { return };
        doc.records.retain(|(seq, _)| !gone(*seq));
        doc.bytes = doc.records.iter().map(|(_, len)| u64::from(*len)).sum();
    }

    fn drop_stale(&mut self, connection: &Connection, marker: IndexRow) -> rusqlite::Result<()> {
        let mut find = connection.prepare_cached("SELECT 1 FROM log WHERE seq = ?1")?;
        let mut gone = Vec::new();
        for (seq, _) in self.docs.get(&marker.doc).map_or(&[][..], |doc| &doc.records) {
            let found = find.query_row([seq.cast_signed()], |_| Ok(())).optional()?;
            if *seq <= marker.reaches && found.is_none() {
                gone.push(*seq);
            }
        }
        self.drop_records(marker.doc, |seq| gone.binary_search(&seq).is_ok());
        Ok(())
    }

    fn read_names(&mut self, connection: &Connection) -> rusqlite::Result<()> {
        let mut statement =
            connection.prepare_cached("SELECT n, guid FROM doc WHERE n > ?1 ORDER BY n")?;
        let mut rows = statement.query([self.names_read_to])?;
        while let Some(row) = rows.next()? {
            let Ok(number) = u32::try_from(row.get::<_, i64>(0)?) else { continue };
            self.names_read_to = number;
            let name = row.get_ref(1)?.as_str().ok().and_then(|guid| DocName::parse(guid).ok());
            if let Some(name) = name {
                self.add_name(number, name);
            }
        }
        Ok(())
    }
}

fn read_rows(
    connection: &Connection,
    after: u64,
    own: HandleOrigin,
) -> rusqlite::Result<Vec<IndexRow>> {
    let mut statement = connection.prepare_cached(
        "SELECT seq, doc, kind, origin, len, at, crc, CASE kind WHEN 0 THEN NULL ELSE data END
         FROM log WHERE seq > ?1 ORDER BY seq",
    )?;
    let rows = statement.query_map([after.cast_signed()], |row| {
        let number = |column| row.get_ref(column).map(|value| value.as_i64().unwrap_or(-1));
        let (doc, len) = (u32::try_from(number(1)?), u32::try_from(number(4)?));
        let (kind, origin) = (number(2)?, HandleOrigin(number(3)?.cast_unsigned()));
        let mut found = IndexRow {
            seq: number(0)?.cast_unsigned(),
            doc: doc.unwrap_or(0),
            kind,
            own: origin == own,
            origin,
            len: len.unwrap_or(0),
            reaches: 0,
            sound: doc.is_ok() && len.is_ok(),
        };
        if kind != KIND_UPDATE {
            let data = row.get_ref(7)?.as_blob().unwrap_or_default();
            let crc = checksum(found.doc, kind, origin, Millis(number(5)?), data);
            let number_at = |at: usize| {
                let bytes = data.get(at..at + 8)?;
                bytes.try_into().ok().map(u64::from_le_bytes)
            };
            found.reaches = number_at(0).unwrap_or(0);
            // Stores of formats 1 and 2 did not record the handle.
            found.origin = HandleOrigin(number_at(8).unwrap_or(0));
            found.sound &= matches!(data.len(), 8 | 16) && i64::from(crc) == number(6)?;
        }
        Ok(found)
    })?;
    rows.collect()
}
