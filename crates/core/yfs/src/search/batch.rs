//! Units and batches of them, while they are made.
//!
//! A unit is a group of files: frequent trigrams then cost a part of what a posting for each file
//! would cost. It is complete when it has enough text, and few trigrams for that text: a text of
//! random characters gets large units, so that it takes no more room than another.

use yfs_engine::id::FileId;
use yfs_store::checkpoint::{CheckpointError, CheckpointWriter};

use super::{
    index_map::{self, BatchRange, SearchMap},
    postings::write_list,
    trigrams::{BucketSet, N_BUCKETS},
};

/// The bytes of text in a unit, at least and at most; a larger file is a unit of its own.
const MIN_UNIT_BYTES: usize = 16 << 10;
const MAX_UNIT_BYTES: usize = 128 << 10;

/// A unit is complete if it has so many bytes for each trigram.
const BYTES_PER_TRIGRAM: usize = 4;

/// The greatest number of files in a unit.
const MAX_UNIT_FILES: usize = 256;

/// The postings that are kept in memory, and that a batch has at most.
pub(super) const MAX_POSTINGS: u64 = 6 << 20;

/// A batch is merged with the one before unless that has so many times its postings.
const GROWTH: u64 = 4;

/// A writer of units.
#[derive(Debug)]
pub(super) struct UnitWriter<'a> {
    writer: &'a mut CheckpointWriter,
    /// What is there already, with the batches that stay.
    base: Option<&'a SearchMap>,
    pub(super) batches: Vec<BatchRange>,
    pub(super) next_unit: u32,
    buckets: BucketSet,
    files: Vec<FileId>,
    n_bytes: usize,
    batch: PostingsBatch,
}

/// The postings of a batch that is not written yet.
#[derive(Debug)]
struct PostingsBatch {
    first_unit: u32,
    n_units: u32,
    n_postings: u64,
    /// For each bucket the units, counted from the first.
    lists: Vec<Vec<u32>>,
}

impl PostingsBatch {
    fn new(first_unit: u32) -> Self {
        let lists = vec![Vec::new(); N_BUCKETS];
        Self { first_unit, n_units: 0, n_postings: 0, lists }
    }
}

impl<'a> UnitWriter<'a> {
    pub(super) fn new(writer: &'a mut CheckpointWriter, base: Option<&'a SearchMap>) -> Self {
        let (batches, next_unit) = match base {
            Some(base) => (base.head.batches.clone(), base.head.next_unit),
            None => (Vec::new(), 0),
        };
        let batch = PostingsBatch::new(next_unit);
        let (buckets, files) = (BucketSet::new(), Vec::new());
        Self { writer, base, batches, next_unit, buckets, files, n_bytes: 0, batch }
    }

    /// Gives a key that is no posting a value, or none.
    pub(super) fn set(&mut self, key: &[u8], value: Option<&[u8]>) -> Result<(), CheckpointError> {
        self.writer.set(key, value)
    }

    /// Adds the text of a file.
    pub(super) fn add(&mut self, id: &FileId, text: &[u8]) -> Result<(), CheckpointError> {
        if self.n_bytes + text.len() > MAX_UNIT_BYTES {
            self.finish_unit()?;
        }
        self.buckets.add_text(text);
        self.files.push(id.clone());
        self.n_bytes += text.len();
        let is_dense = self.n_bytes >= BYTES_PER_TRIGRAM * self.buckets.buckets().len();
        let is_complete = self.n_bytes >= MIN_UNIT_BYTES && is_dense;
        if is_complete || self.n_bytes >= MAX_UNIT_BYTES || self.files.len() >= MAX_UNIT_FILES {
            self.finish_unit()?;
        }
        Ok(())
    }

    fn finish_unit(&mut self) -> Result<(), CheckpointError> {
        if self.files.is_empty() {
            return Ok(());
        }
        let unit = self.next_unit;
        self.next_unit += 1;
        self.writer.set(&index_map::unit_key(unit), Some(&index_map::write_ids(&self.files)))?;
        self.files.clear();
        self.n_bytes = 0;
        for bucket in self.buckets.buckets() {
            self.batch.lists[*bucket as usize].push(unit - self.batch.first_unit);
        }
        self.batch.n_postings += self.buckets.buckets().len() as u64;
        self.batch.n_units += 1;
        self.buckets.clear();
        if self.batch.n_postings >= MAX_POSTINGS {
            self.write_batch()?;
        }
        Ok(())
    }

    /// Writes what is not written yet.
    pub(super) fn finish(&mut self) -> Result<(), CheckpointError> {
        self.finish_unit()?;
        self.merge_small()?;
        self.write_batch()
    }

    /// Adds the last batches of the base to the one in memory, while they are not much larger.
    fn merge_small(&mut self) -> Result<(), CheckpointError> {
        let Some(base) = self.base else { return Ok(()) };
        let mut merged = Vec::new();
        let mut n_postings = self.batch.n_postings;
        while let Some(last) = self.batches.last()
            && last.first_unit + last.n_units
                == merged.last().map_or(self.batch.first_unit, |next: &BatchRange| next.first_unit)
            && last.n_postings < GROWTH * n_postings
            && last.n_postings + n_postings <= MAX_POSTINGS
        {
            n_postings += last.n_postings;
            merged.extend(self.batches.pop());
        }
        let Some(first) = merged.last().map(|batch| batch.first_unit) else { return Ok(()) };
        let mut all = PostingsBatch::new(first);
        for batch in merged.iter().rev() {
            let shift = batch.first_unit - first;
            base.for_each_list(batch, |bucket, units| {
                let list = &mut all.lists[bucket as usize];
                list.extend(units.iter().map(|unit| unit + shift));
                all.n_postings += u64::from(units.iter().count() as u32);
                self.writer.set(&index_map::list_key(batch.first_unit, bucket), None)
            })?;
            all.n_units += batch.n_units;
        }
        let shift = self.batch.first_unit - first;
        for (list, new) in all.lists.iter_mut().zip(&self.batch.lists) {
            list.extend(new.iter().map(|unit| unit + shift));
        }
        all.n_units += self.batch.n_units;
        all.n_postings += self.batch.n_postings;
        self.batch = all;
        Ok(())
    }

    fn write_batch(&mut self) -> Result<(), CheckpointError> {
        let next = PostingsBatch::new(self.next_unit);
        let PostingsBatch { first_unit, n_units, n_postings, lists } =
            std::mem::replace(&mut self.batch, next);
        if n_units == 0 {
            return Ok(());
        }
        for (units, bucket) in lists.into_iter().zip(0..) {
            if !units.is_empty() {
                let list = write_list(&units, n_units);
                self.writer.set(&index_map::list_key(first_unit, bucket), Some(&list))?;
            }
        }
        self.batches.push(BatchRange { first_unit, n_units, n_postings });
        Ok(())
    }
}
