//! Sorted entries in a few KiB of bytes, with the shared prefixes of the keys left out.
//!
//! An entry is the length of the prefix that its key shares with the key before, the length of the
//! rest of the key, that rest, 0 for a removal or 1 + the length of the value, and the value. Every
//! sixteenth key is whole. The offsets of these entries and their number, 4 bytes each, are at the
//! end, for binary search.

use std::{cmp::Ordering, mem};

use crate::checkpoint::{
    CheckpointError, Result,
    bytes::{ByteReader, write_bytes, write_varint},
};

const RESTART_INTERVAL: usize = 16;

/// Writes entries in ascending order of their keys.
#[derive(Debug, Default)]
pub(crate) struct ChunkWriter {
    bytes: Vec<u8>,
    first_key: Vec<u8>,
    last_key: Vec<u8>,
    restarts: Vec<u32>,
    n_entries: usize,
}

impl ChunkWriter {
    /// Appends an entry; no value is a removal.
    pub(crate) fn push(&mut self, key: &[u8], value: Option<&[u8]>) {
        if self.n_entries == 0 {
            self.first_key.extend_from_slice(key);
        }
        if self.n_entries.is_multiple_of(RESTART_INTERVAL) {
            self.restarts.push(u32::try_from(self.bytes.len()).expect("a chunk is short"));
            self.last_key.clear();
        }
        let n_shared = key.iter().zip(&self.last_key).take_while(|(a, b)| a == b).count();
        write_varint(&mut self.bytes, n_shared as u64);
        write_bytes(&mut self.bytes, &key[n_shared..]);
        write_varint(&mut self.bytes, value.map_or(0, |value| value.len() as u64 + 1));
        self.bytes.extend_from_slice(value.unwrap_or_default());
        self.last_key.truncate(n_shared);
        self.last_key.extend_from_slice(&key[n_shared..]);
        self.n_entries += 1;
    }

    /// Returns the length of the entries in bytes.
    pub(crate) fn len(&self) -> usize {
        self.bytes.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.n_entries == 0
    }

    pub(crate) fn has_one_entry(&self) -> bool {
        self.n_entries == 1
    }

    pub(crate) fn last_key(&self) -> &[u8] {
        &self.last_key
    }

    /// Returns the first key and the bytes, and begins a new chunk.
    pub(crate) fn finish(&mut self) -> (Vec<u8>, Vec<u8>) {
        self.n_entries = 0;
        self.last_key.clear();
        let n_restarts = u32::try_from(self.restarts.len()).expect("a chunk is short");
        self.restarts.push(n_restarts);
        let restarts = mem::take(&mut self.restarts);
        self.bytes.extend(restarts.into_iter().flat_map(u32::to_le_bytes));
        (mem::take(&mut self.first_key), mem::take(&mut self.bytes))
    }
}

/// Reads the entries of a chunk one after the other, without copying values.
#[derive(Debug)]
pub(crate) struct ChunkReader<'a> {
    reader: ByteReader<'a>,
    /// The key of the last entry that was read.
    pub(crate) key: Vec<u8>,
}

impl<'a> ChunkReader<'a> {
    /// Begins at a whole key, at most 16 entries before the first key after `key`.
    pub(crate) fn near(bytes: &'a [u8], key: &[u8]) -> Result<Self> {
        let (entries, restarts) = split_restarts(bytes)?;
        let (mut low, mut high) = (0, restarts.len());
        while high - low > 1 {
            let middle = low.midpoint(high);
            let mut reader = ByteReader::new(entries_from(entries, restarts[middle])?);
            // The length of the shared prefix: none.
            reader.read_varint()?;
            if reader.read_bytes()? <= key { low = middle } else { high = middle }
        }
        let near = restarts.get(low).map_or(Ok(entries), |at| entries_from(entries, *at))?;
        Ok(Self { reader: ByteReader::new(near), key: Vec::with_capacity(64) })
    }

    /// Goes on after the entry with the key `last_key`, which is taken.
    pub(crate) fn resume(rest: &'a [u8], last_key: &mut Vec<u8>) -> Self {
        Self { reader: ByteReader::new(rest), key: mem::take(last_key) }
    }

    /// Reads an entry into `key` and returns its value; the outer `None` is the end.
    #[inline]
    pub(crate) fn next_entry(&mut self) -> Result<Option<Option<&'a [u8]>>> {
        if self.reader.is_empty() {
            return Ok(None);
        }
        let n_shared = usize::try_from(self.reader.read_varint()?).unwrap_or(usize::MAX);
        if n_shared > self.key.len() {
            return Err(CheckpointError::Damaged("the prefix of a key"));
        }
        self.key.truncate(n_shared);
        self.key.extend_from_slice(self.reader.read_bytes()?);
        Ok(Some(match self.reader.read_varint()? {
            0 => None,
            n => Some(self.reader.read_exact(usize::try_from(n - 1).unwrap_or(usize::MAX))?),
        }))
    }

    /// Returns the number of bytes that were not read.
    pub(crate) fn n_left(&self) -> usize {
        self.reader.n_left()
    }
}

/// The answer of a chunk for a key that its bounds cover.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Found<'a> {
    Value(&'a [u8]),
    Removed,
    Absent,
}

/// Searches a key.
pub(crate) fn find_in_chunk<'a>(bytes: &'a [u8], key: &[u8]) -> Result<Found<'a>> {
    let mut reader = ChunkReader::near(bytes, key)?;
    while let Some(value) = reader.next_entry()? {
        match reader.key.as_slice().cmp(key) {
            Ordering::Less => {}
            Ordering::Equal => return Ok(value.map_or(Found::Removed, Found::Value)),
            Ordering::Greater => break,
        }
    }
    Ok(Found::Absent)
}

/// Splits a chunk into its entries and the offsets of its whole keys.
pub(crate) fn split_restarts(bytes: &[u8]) -> Result<(&[u8], &[[u8; 4]])> {
    let damaged = CheckpointError::Damaged("the offsets of a chunk");
    let (rest, words) = bytes.as_rchunks::<4>();
    let Some((count, words)) = words.split_last() else { return Err(damaged) };
    let n_restarts = u32::from_le_bytes(*count) as usize;
    let Some(n_other) = words.len().checked_sub(n_restarts) else { return Err(damaged) };
    Ok((&bytes[..rest.len() + n_other * 4], &words[n_other..]))
}

fn entries_from(entries: &[u8], offset: [u8; 4]) -> Result<&[u8]> {
    let offset = u32::from_le_bytes(offset) as usize;
    entries.get(offset..).ok_or(CheckpointError::Damaged("the offsets of a chunk"))
}
