//! The positions of each document's records: those up to a position in a derived map beside the
//! store ([`base`]), those after it in memory.
//!
//! What the map says of a document is read when someone asks for that document. A map that turns
//! out to be damaged is forgotten, and the whole log is read.
//!
//! # Invariants
//!
//! - The index has every record up to `upto` that is in the log, and possibly some that were
//!   deleted. A reader that does not find a record, in a view that reaches that far, may drop it:
//!   records never come back.
//! - It is updated inside transactions, whose views differ. Records become visible in order of
//!   their position, so a view that is older than the index adds nothing.
//! - A document that has records after the base is in memory. One that is not in memory is in the
//!   index as the base says.

mod base;
mod make;
mod rows;

use std::collections::BTreeMap;

use hashbrown::HashMap;
use rusqlite::{Connection, OptionalExtension, types::ValueRef};

use self::{base::IndexBase, rows::read_rows};
pub(super) use self::{base::IndexTotals, rows::IndexRow};
use super::store_error::store_error;
use crate::{
    DocHead, DocName, HandleOrigin, Seq, StoreError, checkpoint::CheckpointError,
    encryption::SealedDirectory,
};

/// An update.
pub(super) const KIND_UPDATE: i64 = 0;
/// A marker of a snapshot that replaced records; its data is the position up to which.
pub(super) const KIND_SNAPSHOT: i64 = 1;
/// A marker of a document that was forgotten; its data is the position up to which.
pub(super) const KIND_FORGOTTEN: i64 = 2;

const ACTION: &str = "read the log";

/// The number of documents that a handle keeps in memory beyond a new base.
const MAX_DOCS: usize = 1 << 14;

/// The positions of each document's records.
#[derive(Debug, Default)]
pub(super) struct LogIndex {
    /// `None` before the first look, and if there is none that can be used.
    base: Option<IndexBase>,
    /// Whether a base was looked for.
    is_opened: bool,
    /// Whether the base was found damaged, so that the next one has nothing of it.
    is_base_damaged: bool,
    /// The last record when a newer base was made, which this index does not use.
    tried_at: u64,
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
    /// The number of documents in memory above which those that are as the base says are dropped.
    max_docs: usize,
    /// Documents that were compacted or forgotten after the base, by the position of their marker.
    markers: BTreeMap<u64, u32>,
}

/// The reason why the index did not answer.
#[derive(Debug)]
pub(super) enum IndexError {
    /// The base is damaged or cannot be read.
    Base(CheckpointError),
    Sqlite(rusqlite::Error),
    Store(StoreError),
}

pub(super) type IndexResult<T> = Result<T, IndexError>;

/// The index entry of one document.
#[derive(Debug, Default, Clone)]
pub(super) struct DocEntry {
    /// The position and size of each record that the base does not have in a list of its own.
    pub(super) records: Vec<(u64, u32)>,
    /// The records before these, which the base has.
    listed: ListedRecords,
    /// The sum of the sizes of all records.
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
    /// Whether this is not what the base says.
    is_changed: bool,
}

/// Records of a document whose positions are in lists in the base.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct ListedRecords {
    n_records: u64,
    /// The last of them.
    upto: u64,
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

    /// Returns the position of the only record that the document ever had, if it is so.
    pub(super) fn single_record(&self) -> Option<u64> {
        let is_whole = self.marker == 0 && self.compacted == 0 && self.listed.n_records == 0;
        match &*self.records {
            [(seq, _)] if is_whole => Some(*seq),
            _ => None,
        }
    }

    /// Returns the number of records.
    pub(super) fn n_records(&self) -> u64 {
        self.listed.n_records + self.records.len() as u64
    }
}

impl From<CheckpointError> for IndexError {
    fn from(error: CheckpointError) -> Self {
        Self::Base(error)
    }
}

impl From<rusqlite::Error> for IndexError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

impl From<IndexError> for StoreError {
    fn from(error: IndexError) -> Self {
        match error {
            IndexError::Base(error) => Self::Corrupt { action: ACTION, detail: error.to_string() },
            IndexError::Sqlite(error) => store_error(ACTION)(error),
            IndexError::Store(error) => error,
        }
    }
}

impl LogIndex {
    /// Answers from the index, after it has read all rows in the view of the current transaction.
    /// The base of a new index is in `directory`. If it is damaged, the log is read instead.
    pub(super) fn answer<T>(
        &mut self,
        directory: &SealedDirectory,
        connection: &Connection,
        own: HandleOrigin,
        look_up: impl Fn(&mut Self) -> IndexResult<T>,
    ) -> Result<T, StoreError> {
        if !self.is_opened {
            self.open_base(directory, connection)?;
        }
        let answer = self.catch_up(connection, own).and_then(|()| look_up(self));
        if !matches!(answer, Err(IndexError::Base(_))) {
            return Ok(answer?);
        }
        *self = Self { is_base_damaged: true, ..Self::without_base() };
        self.catch_up(connection, own)?;
        Ok(look_up(self)?)
    }

    /// Returns an empty index that uses no base.
    fn without_base() -> Self {
        Self { is_opened: true, ..Self::default() }
    }

    fn open_base(
        &mut self,
        directory: &SealedDirectory,
        connection: &Connection,
    ) -> IndexResult<()> {
        self.is_opened = true;
        self.base = IndexBase::open(directory, connection)?;
        if let Some(base) = &self.base {
            (self.upto, self.names_read_to) = (base.position(), base.names_read_to());
        }
        Ok(())
    }

    /// Drops the documents from memory that are as the base says, if there are many. For handles
    /// that write nothing: others look a document up and use its number later.
    pub(super) fn drop_unchanged(&mut self) {
        let Some(base) = &self.base else { return };
        if self.docs.len() <= self.max_docs.max(MAX_DOCS) {
            return;
        }
        let in_base = base.names_read_to();
        self.docs.retain(|number, doc| doc.is_changed || *number > in_base);
        self.names.retain(|number, _| *number > in_base || self.docs.contains_key(number));
        self.numbers.retain(|_, number| self.names.contains_key(number));
        self.max_docs = 2 * self.docs.len();
    }

    /// Returns the sums of all documents.
    ///
    /// # Cost
    ///
    /// A walk of the documents in memory, and a look-up of each that changed after the base.
    pub(super) fn totals(&self) -> IndexResult<IndexTotals> {
        let mut totals = self.base.as_ref().map(IndexBase::totals).unwrap_or_default();
        for (number, doc) in self.docs.iter().filter(|(_, doc)| doc.is_changed) {
            let Some(name) = self.names.get(number) else { continue };
            let before = self.base.as_ref().map(|base| base.entry(name)).transpose()?.flatten();
            totals.replace(before.as_ref().map(|(_, before)| before), doc);
        }
        Ok(totals)
    }

    /// Reads the rows that were appended since.
    fn catch_up(&mut self, connection: &Connection, own: HandleOrigin) -> IndexResult<()> {
        let rows = read_rows(connection, self.upto, own)?;
        // The index is empty, so nothing in it can be stale.
        let fresh = self.upto == 0;
        if rows.iter().any(|row| row.doc > self.names_read_to) {
            self.read_names(connection)?;
        }
        for row in rows {
            // A row without a document is damaged: `check` reports it.
            if !row.sound || self.find_number(connection, row.doc)?.is_none() {
                self.upto = self.upto.max(row.seq);
                continue;
            }
            self.add(row);
            if row.kind != KIND_UPDATE && !fresh {
                self.drop_stale(connection, row)?;
            }
        }
        Ok(())
    }

    /// Adds one row, unless it is in the index. The document was looked up before, or is new.
    pub(super) fn add(&mut self, row: IndexRow) {
        if row.seq <= self.upto {
            return;
        }
        self.upto = row.seq;
        let doc = self.docs.entry(row.doc).or_default();
        doc.is_changed = true;
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

    /// Returns a bound of the number of records after the base, and after the last try to make one;
    /// the greatest number if the base is damaged.
    pub(super) fn n_after_base(&self) -> u64 {
        if self.is_base_damaged && self.tried_at == 0 {
            return u64::MAX;
        }
        let base = self.base.as_ref().map_or(0, IndexBase::position);
        self.upto.saturating_sub(base.max(self.tried_at))
    }

    /// Reports whether the base was found damaged.
    pub(super) fn is_base_damaged(&self) -> bool {
        self.is_base_damaged
    }

    /// Records that a new base was made, which is not damaged.
    pub(super) fn note_made(&mut self) {
        self.is_base_damaged = false;
    }

    /// Forgets a large index, so that it begins with the new base.
    ///
    /// A handle's own records then count as those of another: a precondition on a document fails
    /// once more than it must, and holds when the caller has seen its own records.
    pub(super) fn shed(&mut self) {
        if self.docs.len() > MAX_DOCS {
            *self = Self::default();
        }
    }

    /// Records that a new base was made as of now, or could not be made.
    pub(super) fn note_try(&mut self) {
        self.tried_at = self.upto;
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

    /// Looks a document up by its name, and returns its number.
    pub(super) fn find(&mut self, name: &DocName) -> IndexResult<Option<u32>> {
        if let Some(number) = self.numbers.get(name) {
            return Ok(Some(*number));
        }
        let Some(base) = &self.base else { return Ok(None) };
        let Some((number, entry)) = base.entry(name)? else { return Ok(None) };
        self.add_name(number, name.clone());
        self.docs.insert(number, entry);
        Ok(Some(number))
    }

    /// Returns what `take` does of the number and entry of a document, without keeping the document
    /// in memory.
    pub(super) fn peek<T>(
        &self,
        name: &DocName,
        take: impl Fn(u32, &DocEntry) -> T,
    ) -> IndexResult<Option<T>> {
        if let Some(number) = self.numbers.get(name) {
            return Ok(self.docs.get(number).map(|doc| take(*number, doc)));
        }
        let Some(base) = &self.base else { return Ok(None) };
        Ok(base.entry(name)?.map(|(number, doc)| take(number, &doc)))
    }

    /// Returns the number and head of each document of `names`, which ascend, without keeping them
    /// in memory.
    pub(super) fn peek_heads(&self, names: &[&DocName]) -> IndexResult<Vec<Option<(u32, u64)>>> {
        let mut heads = vec![None; names.len()];
        let (mut places, mut in_base) = (Vec::new(), Vec::new());
        for (at, name) in names.iter().enumerate() {
            match self.numbers.get(*name) {
                Some(number) => {
                    heads[at] = self.docs.get(number).map(|doc| (*number, doc.head));
                }
                None => {
                    places.push(at);
                    in_base.push(*name);
                }
            }
        }
        if let Some(base) = &self.base {
            base.for_each_head(&in_base, |nth, number, head| {
                heads[places[nth]] = Some((number, head));
            })?;
        }
        Ok(heads)
    }

    /// Returns the number of a document, also if it has no records, without keeping the document in
    /// memory.
    pub(super) fn number_of(&self, name: &DocName) -> IndexResult<Option<u32>> {
        match self.numbers.get(name) {
            Some(number) => Ok(Some(*number)),
            None => self.peek(name, |number, _| number),
        }
    }

    /// Looks a document up by its number, and returns its name.
    pub(super) fn find_number(
        &mut self,
        connection: &Connection,
        number: u32,
    ) -> IndexResult<Option<&DocName>> {
        let is_in_base = self.base.as_ref().is_some_and(|base| number <= base.names_read_to());
        if is_in_base && !self.names.contains_key(&number) {
            let mut find = connection.prepare_cached("SELECT guid FROM doc WHERE n = ?1")?;
            let name = find.query_row([number], |row| row.get_ref(0).map(name_in)).optional()?;
            if let Some(name) = name.flatten()
                && self.find(&name)?.is_none()
            {
                // The document had no records yet.
                self.add_name(number, name);
            }
        }
        Ok(self.names.get(&number))
    }

    /// Returns the entry of a document that was looked up.
    pub(super) fn doc(&self, number: u32) -> Option<&DocEntry> {
        self.docs.get(&number)
    }

    /// Returns the number of a document that was looked up.
    pub(super) fn number(&self, name: &DocName) -> Option<u32> {
        self.numbers.get(name).copied()
    }

    /// Looks up the entry of a document by its name.
    pub(super) fn find_doc(&mut self, name: &DocName) -> IndexResult<Option<&DocEntry>> {
        let number = self.find(name)?;
        Ok(number.and_then(|number| self.docs.get(&number)))
    }

    /// Returns the positions and sizes of the records of a document after a position, in order.
    pub(super) fn records_after(&self, number: u32, after: u64) -> IndexResult<Vec<(u64, u32)>> {
        let Some(doc) = self.docs.get(&number) else { return Ok(Vec::new()) };
        let mut records = Vec::new();
        if let Some(base) = self.base.as_ref().filter(|_| doc.listed.upto > after) {
            records = base.listed_records(number, after)?;
        }
        let first = doc.records.partition_point(|(seq, _)| *seq <= after);
        records.extend(&doc.records[first..]);
        Ok(records)
    }

    /// Calls a function with each document.
    pub(super) fn for_each(&self, mut take: impl FnMut(&DocName, &DocEntry)) -> IndexResult<()> {
        if let Some(base) = &self.base {
            base.for_each(|name, number, entry| {
                if !self.docs.contains_key(&number) {
                    take(&name, &entry);
                }
            })?;
        }
        for (number, doc) in &self.docs {
            if let Some(name) = self.names.get(number) {
                take(name, doc);
            }
        }
        Ok(())
    }

    /// Returns the documents whose markers are after a position.
    pub(super) fn marked_after(
        &mut self,
        connection: &Connection,
        after: u64,
    ) -> IndexResult<Vec<(DocName, DocEntry)>> {
        let mut numbers: Vec<u32> = Vec::new();
        if let Some(base) = self.base.as_ref().filter(|base| base.position() > after) {
            numbers = base.marked_after(after)?;
        }
        numbers.extend(self.markers.range(after + 1..).map(|(_, number)| *number));
        let mut marked = Vec::new();
        for number in numbers {
            let Some(name) = self.find_number(connection, number)?.cloned() else { continue };
            let doc = self.docs.get(&number).filter(|doc| doc.marker > after);
            marked.extend(doc.map(|doc| (name, doc.clone())));
        }
        marked.sort_by_key(|(_, doc)| doc.marker);
        marked.dedup_by_key(|(_, doc)| doc.marker);
        Ok(marked)
    }

    /// Drops records of a document that are no longer in the log.
    pub(super) fn drop_records(
        &mut self,
        number: u32,
        gone: impl Fn(u64) -> bool,
    ) -> IndexResult<()> {
        let mut records = self.records_after(number, 0)?;
        let Some(doc) = self.docs.get_mut(&number) else { return Ok(()) };
        records.retain(|(seq, _)| !gone(*seq));
        doc.bytes = records.iter().map(|(_, len)| u64::from(*len)).sum();
        (doc.records, doc.listed) = (records, ListedRecords::default());
        doc.is_changed = true;
        Ok(())
    }

    fn drop_stale(&mut self, connection: &Connection, marker: IndexRow) -> IndexResult<()> {
        let mut find = connection.prepare_cached("SELECT 1 FROM log WHERE seq = ?1")?;
        let mut gone = Vec::new();
        for (seq, _) in self.records_after(marker.doc, 0)? {
            let found = find.query_row([seq.cast_signed()], |_| Ok(())).optional()?;
            if seq <= marker.reaches && found.is_none() {
                gone.push(seq);
            }
        }
        self.drop_records(marker.doc, |seq| gone.binary_search(&seq).is_ok())
    }

    fn read_names(&mut self, connection: &Connection) -> IndexResult<()> {
        let mut statement =
            connection.prepare_cached("SELECT n, guid FROM doc WHERE n > ?1 ORDER BY n")?;
        let mut rows = statement.query([self.names_read_to])?;
        while let Some(row) = rows.next()? {
            let Ok(number) = u32::try_from(row.get::<_, i64>(0)?) else { continue };
            self.names_read_to = number;
            if let Some(name) = name_in(row.get_ref(1)?)
                && self.find(&name)?.is_none()
            {
                self.add_name(number, name);
            }
        }
        Ok(())
    }
}

fn name_in(value: ValueRef<'_>) -> Option<DocName> {
    DocName::parse(value.as_str().ok()?).ok()
}
