//! The index as an ordered map: its keys and values, and reading it.
//!
//! - `A` id: a file that is read for every query; the value is empty
//! - `B` id: a file that is not text: its size and its place
//! - `F` id: the form of the content that the index has of a file
//! - `H`: the head
//! - `P` first unit of a batch (4 bytes) bucket (3 bytes): the units of the batch with a trigram
//! - `T` id: the text of a file whose document takes long to build, after a digest of what the text
//!   was read from
//! - `U` unit (4 bytes): the ids of the unit's files

use std::collections::HashSet;

use yfs_engine::{
    id::FileId,
    lib0::{Lib0Error, Lib0Reader, write_string, write_var_uint},
};
use yfs_store::checkpoint::{CheckpointError, CheckpointMap};
use yfs_store::{DerivedLabel, SealedDirectory};

use super::{
    binary_files::BinaryFile, pattern::TrigramQuery, postings::UnitSet, trigrams::N_BUCKETS,
};

/// The version of keys, values and folding.
const VERSION: u64 = 2;

/// The version of what turns contents into text. Another one makes the index anew.
pub(super) const RENDERER: &str = concat!(env!("CARGO_PKG_VERSION"), " 2");

/// The blocks of the index that are kept in memory, in bytes.
const CACHE_BYTES: u64 = 4 << 20;

const HEAD_KEY: &[u8] = b"H";
const DAMAGED: CheckpointError = CheckpointError::Damaged("a value of the index for search");

/// Consecutive units whose postings have common lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct BatchRange {
    pub(super) first_unit: u32,
    pub(super) n_units: u32,
    pub(super) n_postings: u64,
}

/// The head of the index.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct IndexHead {
    /// The schema of rich text, on which the text of a file depends.
    pub(super) profile: String,
    pub(super) n_files: u64,
    /// The number of times that a file was indexed again.
    pub(super) n_outdated: u64,
    pub(super) next_unit: u32,
    /// In ascending order.
    pub(super) batches: Vec<BatchRange>,
}

/// A version of the index.
#[derive(Debug)]
pub(super) struct SearchMap {
    pub(super) map: CheckpointMap,
    pub(super) label: DerivedLabel,
    pub(super) head: IndexHead,
}

impl IndexHead {
    pub(super) fn encode(&self) -> (&'static [u8], Vec<u8>) {
        let mut value = Vec::new();
        write_var_uint(&mut value, VERSION);
        write_string(&mut value, RENDERER);
        write_string(&mut value, &unicode_version());
        write_string(&mut value, &self.profile);
        write_var_uint(&mut value, self.n_files);
        write_var_uint(&mut value, self.n_outdated);
        write_var_uint(&mut value, self.next_unit.into());
        for batch in &self.batches {
            write_var_uint(&mut value, batch.first_unit.into());
            write_var_uint(&mut value, batch.n_units.into());
            write_var_uint(&mut value, batch.n_postings);
        }
        (HEAD_KEY, value)
    }

    /// Reads a head; `None` if another version wrote it.
    fn parse(value: &[u8]) -> Result<Option<Self>, Lib0Error> {
        let mut reader = Lib0Reader::new(value);
        if reader.var_uint()? != VERSION
            || reader.string()? != RENDERER
            || reader.string()? != unicode_version()
        {
            return Ok(None);
        }
        let profile = reader.string()?.to_owned();
        let (n_files, n_outdated) = (reader.var_uint()?, reader.var_uint()?);
        let next_unit = reader.var_u32()?;
        let mut batches: Vec<BatchRange> = Vec::new();
        let mut end = 0;
        while !reader.is_empty() {
            let (first_unit, n_units) = (reader.var_u32()?, reader.var_u32()?);
            let n_postings = reader.var_uint()?;
            let batch_end = first_unit.checked_add(n_units).filter(|end| *end <= next_unit);
            if first_unit < end {
                return Err(Lib0Error::End);
            }
            end = batch_end.ok_or(Lib0Error::End)?;
            batches.push(BatchRange { first_unit, n_units, n_postings });
        }
        Ok(Some(Self { profile, n_files, n_outdated, next_unit, batches }))
    }
}

/// Returns the version of the tables that case folding uses.
fn unicode_version() -> String {
    let (major, minor, micro) = char::UNICODE_VERSION;
    format!("{major}.{minor}.{micro}")
}

impl SearchMap {
    /// Opens the newest version in a directory; `None` if there is none, or another version of the
    /// program wrote it.
    pub(super) fn open(directory: &SealedDirectory) -> Result<Option<Self>, CheckpointError> {
        let map = match CheckpointMap::open(directory, CACHE_BYTES) {
            Err(CheckpointError::Foreign) => return Ok(None),
            map => map?,
        };
        let Some(map) = map else { return Ok(None) };
        let Some(label) = DerivedLabel::parse(map.label()) else { return Ok(None) };
        let head = map.get(HEAD_KEY)?.ok_or(DAMAGED)?;
        let head = IndexHead::parse(&head).map_err(|_| DAMAGED)?;
        Ok(head.map(|head| Self { map, label, head }))
    }

    /// Returns the form of the content that the index has of a file.
    pub(super) fn form(&self, id: &FileId) -> Result<Option<Vec<u8>>, CheckpointError> {
        self.map.get(&id_key(b'F', id))
    }

    /// Returns the ids of the files that may have what a query requires. `is_full` is called with
    /// the number of files as it grows, and ends the search.
    pub(super) fn candidates(
        &self,
        query: &TrigramQuery,
        with_binary: bool,
        is_full: impl Fn(usize) -> bool,
    ) -> Result<Option<HashSet<FileId>>, CheckpointError> {
        let mut ids = HashSet::new();
        for batch in &self.head.batches {
            for unit in self.units(query, batch)?.iter() {
                let value = self.map.get(&unit_key(batch.first_unit + unit))?.ok_or(DAMAGED)?;
                ids.extend(read_ids(&value).map_err(|_| DAMAGED)?);
                if is_full(ids.len()) {
                    return Ok(None);
                }
            }
        }
        for kind in [Some(b'A'), with_binary.then_some(b'B')].into_iter().flatten() {
            self.map.for_each_entry(&[kind], &[kind + 1], |key, _| {
                ids.insert(parse_id(&key[1..])?);
                Ok::<_, CheckpointError>(())
            })?;
        }
        Ok((!is_full(ids.len())).then_some(ids))
    }

    /// Calls a function with each file that is not text.
    pub(super) fn for_each_binary(
        &self,
        mut each: impl FnMut(FileId, BinaryFile) -> Result<(), CheckpointError>,
    ) -> Result<(), CheckpointError> {
        self.map.for_each_entry(b"B", b"C", |key, value| {
            each(parse_id(&key[1..])?, BinaryFile::parse(value).map_err(|_| DAMAGED)?)
        })
    }

    /// Returns the units of a batch that may have what a query requires.
    fn units(&self, query: &TrigramQuery, batch: &BatchRange) -> Result<UnitSet, CheckpointError> {
        match query {
            TrigramQuery::Any => Ok(UnitSet::full(batch.n_units)),
            TrigramQuery::All(buckets) => {
                let mut units = UnitSet::full(batch.n_units);
                for bucket in buckets {
                    let list = self.map.get(&list_key(batch.first_unit, *bucket))?;
                    let Some(list) = list else { return Ok(UnitSet::empty(batch.n_units)) };
                    units.intersect(&UnitSet::read(&list, batch.n_units).map_err(|_| DAMAGED)?);
                    if units.is_empty() {
                        break;
                    }
                }
                Ok(units)
            }
            TrigramQuery::And(parts) => {
                let mut units = UnitSet::full(batch.n_units);
                for part in parts {
                    units.intersect(&self.units(part, batch)?);
                    if units.is_empty() {
                        break;
                    }
                }
                Ok(units)
            }
            TrigramQuery::Or(parts) => {
                let mut units = UnitSet::empty(batch.n_units);
                for part in parts {
                    units.unite(&self.units(part, batch)?);
                }
                Ok(units)
            }
        }
    }

    /// Calls a function with each list of a batch.
    pub(super) fn for_each_list(
        &self,
        batch: &BatchRange,
        mut each: impl FnMut(u32, &UnitSet) -> Result<(), CheckpointError>,
    ) -> Result<(), CheckpointError> {
        let (from, to) = (list_key(batch.first_unit, 0), list_key(batch.first_unit, u32::MAX >> 8));
        self.map.for_each_entry(&from, &to, |key, value| {
            let bucket = key.get(5..8).map(|bytes| [0, bytes[0], bytes[1], bytes[2]]);
            let bucket = bucket.map(u32::from_be_bytes).ok_or(DAMAGED)?;
            if bucket as usize >= N_BUCKETS {
                return Err(DAMAGED);
            }
            each(bucket, &UnitSet::read(value, batch.n_units).map_err(|_| DAMAGED)?)
        })
    }
}

/// Returns a key that is a letter and an id.
pub(super) fn id_key(kind: u8, id: &FileId) -> Vec<u8> {
    [&[kind], id.as_str().as_bytes()].concat()
}

pub(super) fn unit_key(unit: u32) -> Vec<u8> {
    [&b"U"[..], &unit.to_be_bytes()].concat()
}

pub(super) fn list_key(first_unit: u32, bucket: u32) -> Vec<u8> {
    [&b"P"[..], &first_unit.to_be_bytes(), &bucket.to_be_bytes()[1..]].concat()
}

/// Encodes the ids of a unit.
pub(super) fn write_ids(ids: &[FileId]) -> Vec<u8> {
    let mut value = Vec::new();
    ids.iter().for_each(|id| write_string(&mut value, id.as_str()));
    value
}

fn read_ids(value: &[u8]) -> Result<Vec<FileId>, Lib0Error> {
    let mut reader = Lib0Reader::new(value);
    let mut ids = Vec::new();
    while !reader.is_empty() {
        ids.push(FileId::parse(reader.string()?).map_err(|_| Lib0Error::End)?);
    }
    Ok(ids)
}

fn parse_id(bytes: &[u8]) -> Result<FileId, CheckpointError> {
    let text = std::str::from_utf8(bytes).map_err(|_| DAMAGED)?;
    FileId::parse(text).map_err(|_| DAMAGED)
}
