//! The base of the index: what a derived map beside the store says of the log up to a position.
//!
//! `docs/format/checkpoint.md` describes its keys and values.

use rusqlite::{Connection, OptionalExtension};
use yfs_types::lib0::{Lib0Error, Lib0Reader, write_var_uint};

use super::{DocEntry, IndexResult, ListedRecords};
use crate::{
    DocName, HandleOrigin,
    checkpoint::{CheckpointError, CheckpointMap},
    derived::DerivedLabel,
    encryption::SealedDirectory,
};

/// The setting with the marks of the maps.
pub(super) const MARKS_KEY: &str = "store:index-marks";

/// The blocks of the map that a handle keeps in memory, in bytes.
const CACHE_BYTES: u64 = 8 << 20;

/// The number of entries that a scan reads at a time.
const PAGE_LEN: usize = 1024;

/// The version of keys and values.
const VERSION: u64 = 2;

const HEAD_KEY: &[u8] = b"H";

const DAMAGED: CheckpointError = CheckpointError::Damaged("an entry of the index of the log");

/// The index up to a position.
#[derive(Debug)]
pub(super) struct IndexBase {
    pub(super) map: CheckpointMap,
    label: DerivedLabel,
    head: IndexHead,
}

/// What the map says without a document.
#[derive(Debug, Clone, Copy)]
struct IndexHead {
    names_read_to: u32,
    totals: IndexTotals,
}

/// The sums of all documents.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(in super::super) struct IndexTotals {
    pub(in super::super) n_docs: u64,
    pub(in super::super) n_records: u64,
    pub(in super::super) record_bytes: u64,
    pub(in super::super) snapshot_bytes: u64,
}

impl IndexTotals {
    /// Counts a document that was changed, or added.
    pub(super) fn replace(&mut self, before: Option<&DocEntry>, now: &DocEntry) {
        if let Some(before) = before {
            self.n_docs = self.n_docs.wrapping_sub(1);
            self.n_records = self.n_records.wrapping_sub(before.n_records());
            self.record_bytes = self.record_bytes.wrapping_sub(before.bytes);
            self.snapshot_bytes = self.snapshot_bytes.wrapping_sub(before.snapshot_bytes);
        }
        self.n_docs = self.n_docs.wrapping_add(1);
        self.n_records = self.n_records.wrapping_add(now.n_records());
        self.record_bytes = self.record_bytes.wrapping_add(now.bytes);
        self.snapshot_bytes = self.snapshot_bytes.wrapping_add(now.snapshot_bytes);
    }
}

impl IndexBase {
    /// Opens the newest map, if it is of the log that a connection reads. What cannot be read is
    /// made again, so it counts as none.
    pub(super) fn open(
        directory: &SealedDirectory,
        connection: &Connection,
    ) -> IndexResult<Option<Self>> {
        let Ok(Some(map)) = CheckpointMap::open(directory, CACHE_BYTES) else { return Ok(None) };
        let Some(label) = DerivedLabel::parse(map.label()) else { return Ok(None) };
        if !label.is_in(&read_marks(connection)?) {
            return Ok(None);
        }
        let head = map.get(HEAD_KEY).ok().flatten();
        let head = head.and_then(|head| parse_head(&head).ok().flatten());
        Ok(head.map(|head| Self { map, label, head }))
    }

    /// Returns the position up to which the map has the log.
    pub(super) fn position(&self) -> u64 {
        self.label.position.0
    }

    /// Returns the greatest number of a document that the map considers.
    pub(super) fn names_read_to(&self) -> u32 {
        self.head.names_read_to
    }

    /// Returns the sums of all documents in the map.
    pub(super) fn totals(&self) -> IndexTotals {
        self.head.totals
    }

    /// Returns the number and entry of a document.
    pub(super) fn entry(&self, name: &DocName) -> IndexResult<Option<(u32, DocEntry)>> {
        let Some(value) = self.map.get(&doc_key(name))? else { return Ok(None) };
        Ok(Some(parse_entry(&value).map_err(|_| DAMAGED)?))
    }

    /// Calls a function with the place of each document in `names`, which ascend, and its number
    /// and head.
    pub(super) fn for_each_head(
        &self,
        names: &[&DocName],
        mut take: impl FnMut(usize, u32, u64),
    ) -> IndexResult<()> {
        let keys: Vec<Vec<u8>> = names.iter().map(|name| doc_key(name)).collect();
        self.map.get_ascending(&keys, |at, value| {
            if let Some(value) = value {
                let (number, head) = parse_head_of(value).map_err(|_| DAMAGED)?;
                take(at, number, head);
            }
            Ok(())
        })
    }

    /// Returns the positions and sizes of the records of a document that are in lists, after a
    /// position.
    pub(super) fn listed_records(&self, number: u32, after: u64) -> IndexResult<Vec<(u64, u32)>> {
        let mut records = Vec::new();
        // A list has the key of its last record.
        let mut from = list_key(number, after + 1);
        let end = list_key(number, u64::MAX);
        loop {
            let page = self.map.scan(&from, &end, PAGE_LEN)?;
            for (_, value) in &page {
                let list = parse_list(value).map_err(|_| DAMAGED)?;
                records.extend(list.into_iter().filter(|(seq, _)| *seq > after));
            }
            match page.last() {
                Some((last, _)) if page.len() == PAGE_LEN => from = after_key(last),
                _ => return Ok(records),
            }
        }
    }

    /// Returns the keys of the lists of a document.
    pub(super) fn list_keys(&self, number: u32) -> IndexResult<Vec<Vec<u8>>> {
        let mut keys = Vec::new();
        let mut from = list_key(number, 0);
        let end = list_key(number, u64::MAX);
        loop {
            let page = self.map.scan(&from, &end, PAGE_LEN)?;
            let is_last = page.len() < PAGE_LEN;
            keys.extend(page.into_iter().map(|(key, _)| key));
            match keys.last() {
                Some(last) if !is_last => from = after_key(last),
                _ => return Ok(keys),
            }
        }
    }

    /// Calls a function with each document.
    pub(super) fn for_each(&self, mut take: impl FnMut(DocName, u32, DocEntry)) -> IndexResult<()> {
        let mut from = b"D".to_vec();
        loop {
            let page = self.map.scan(&from, b"E", PAGE_LEN)?;
            for (key, value) in &page {
                let name = std::str::from_utf8(&key[1..]).ok();
                let name = name.and_then(|name| DocName::parse(name).ok()).ok_or(DAMAGED)?;
                let (number, entry) = parse_entry(value).map_err(|_| DAMAGED)?;
                take(name, number, entry);
            }
            match page.last() {
                Some((last, _)) if page.len() == PAGE_LEN => from = after_key(last),
                _ => return Ok(()),
            }
        }
    }

    /// Returns the documents whose markers are after a position.
    pub(super) fn marked_after(&self, after: u64) -> IndexResult<Vec<u32>> {
        let mut numbers = Vec::new();
        let mut from = marker_key(after + 1);
        loop {
            let page = self.map.scan(&from, &marker_key(u64::MAX), PAGE_LEN)?;
            for (_, value) in &page {
                numbers.push(Lib0Reader::new(value).var_u32().map_err(|_| DAMAGED)?);
            }
            match page.last() {
                Some((last, _)) if page.len() == PAGE_LEN => from = after_key(last),
                _ => return Ok(numbers),
            }
        }
    }
}

/// Returns the marks of the maps that the store has.
pub(super) fn read_marks(connection: &Connection) -> IndexResult<Vec<u8>> {
    let find = "SELECT value FROM meta WHERE key = ?1";
    let found = connection.query_row(find, [MARKS_KEY], |row| row.get(0)).optional()?;
    Ok(found.unwrap_or_default())
}

/// Returns the key and value of the head.
pub(super) fn head_entry(names_read_to: u32, totals: &IndexTotals) -> (&'static [u8], Vec<u8>) {
    let mut value = Vec::new();
    write_var_uint(&mut value, VERSION);
    write_var_uint(&mut value, names_read_to.into());
    let IndexTotals { n_docs, n_records, record_bytes, snapshot_bytes } = *totals;
    for sum in [n_docs, n_records, record_bytes, snapshot_bytes] {
        write_var_uint(&mut value, sum);
    }
    (HEAD_KEY, value)
}

fn parse_head(value: &[u8]) -> Result<Option<IndexHead>, Lib0Error> {
    let mut reader = Lib0Reader::new(value);
    if reader.var_uint()? != VERSION {
        return Ok(None);
    }
    let names_read_to = reader.var_u32()?;
    let totals = IndexTotals {
        n_docs: reader.var_uint()?,
        n_records: reader.var_uint()?,
        record_bytes: reader.var_uint()?,
        snapshot_bytes: reader.var_uint()?,
    };
    Ok(Some(IndexHead { names_read_to, totals }))
}

pub(super) fn doc_key(name: &DocName) -> Vec<u8> {
    [b"D", name.as_str().as_bytes()].concat()
}

pub(super) fn marker_key(marker: u64) -> Vec<u8> {
    [&b"M"[..], &marker.to_be_bytes()].concat()
}

/// Returns the key of the list of records of a document that ends with a record.
pub(super) fn list_key(number: u32, last: u64) -> Vec<u8> {
    [&b"R"[..], &number.to_be_bytes(), &last.to_be_bytes()].concat()
}

fn after_key(key: &[u8]) -> Vec<u8> {
    [key, &[0]].concat()
}

/// Encodes positions and sizes of records.
pub(super) fn encode_list(records: &[(u64, u32)]) -> Vec<u8> {
    let mut value = Vec::new();
    let mut before = 0;
    for (seq, len) in records {
        write_var_uint(&mut value, seq - before);
        write_var_uint(&mut value, u64::from(*len));
        before = *seq;
    }
    value
}

fn parse_list(value: &[u8]) -> Result<Vec<(u64, u32)>, Lib0Error> {
    let mut reader = Lib0Reader::new(value);
    read_list(&mut reader)
}

fn read_list(reader: &mut Lib0Reader<'_>) -> Result<Vec<(u64, u32)>, Lib0Error> {
    let mut records = Vec::new();
    let mut seq: u64 = 0;
    while !reader.is_empty() {
        seq = seq.saturating_add(reader.var_uint()?);
        records.push((seq, reader.var_u32()?));
    }
    Ok(records)
}

/// Encodes the entry of a document.
pub(super) fn encode_entry(number: u32, doc: &DocEntry) -> Vec<u8> {
    let mut value = Vec::new();
    write_var_uint(&mut value, number.into());
    for number in [doc.head, doc.bytes, doc.listed.n_records, doc.listed.upto] {
        write_var_uint(&mut value, number);
    }
    value.extend(doc.head_origin.0.to_le_bytes());
    write_var_uint(&mut value, doc.marker);
    if doc.marker > 0 {
        write_var_uint(&mut value, doc.compacted);
        value.extend(doc.compacted_origin.0.to_le_bytes());
        write_var_uint(&mut value, doc.snapshot_bytes);
        value.push(u8::from(doc.forgotten));
    }
    value.extend(encode_list(&doc.records));
    value
}

/// Returns the number and head of a document of its entry.
fn parse_head_of(value: &[u8]) -> Result<(u32, u64), Lib0Error> {
    let mut reader = Lib0Reader::new(value);
    Ok((reader.var_u32()?, reader.var_uint()?))
}

fn parse_entry(value: &[u8]) -> Result<(u32, DocEntry), Lib0Error> {
    let mut reader = Lib0Reader::new(value);
    let number = reader.var_u32()?;
    let (head, bytes) = (reader.var_uint()?, reader.var_uint()?);
    let listed = ListedRecords { n_records: reader.var_uint()?, upto: reader.var_uint()? };
    let head_origin = read_origin(&mut reader)?;
    // The map is older than this handle, so others have appended all of it.
    let mut doc =
        DocEntry { head, bytes, listed, head_origin, foreign_head: head, ..DocEntry::default() };
    doc.marker = reader.var_uint()?;
    if doc.marker > 0 {
        doc.compacted = reader.var_uint()?;
        doc.compacted_origin = read_origin(&mut reader)?;
        doc.snapshot_bytes = reader.var_uint()?;
        doc.forgotten = reader.u8()? != 0;
    }
    doc.records = read_list(&mut reader)?;
    Ok((number, doc))
}

fn read_origin(reader: &mut Lib0Reader<'_>) -> Result<HandleOrigin, Lib0Error> {
    let bytes = reader.take(8)?;
    Ok(HandleOrigin(u64::from_le_bytes(bytes.try_into().unwrap_or_default())))
}
