//! What was last passed on of each row, so that the side that changed a field is known.
//!
//! A record has a state and a hash of each field on which both sides agreed. The records are in
//! settings of the share's store, 256 of them by the hash of the id, so that a change writes a few
//! kilobytes however many files there are.
//!
//! # Invariants
//!
//! - A record that a row is about to be created or trashed is stored before the row is written.
//! - A record that both sides agree is stored after both were written.

use std::{collections::BTreeMap, sync::Arc};

use yfs_engine::{hash::ContentHash, id::FileId};
use yfs_store::Store;

use super::bridged_row::{BridgedField, FieldHashes};
use crate::error::Result;

/// The prefix of the settings with records; then comes the bucket, two hexadecimal digits.
const RECORDS_SETTING: &str = "share.rows.";

/// The setting with the generation of the records.
const GENERATION_SETTING: &str = "share.generation";

const N_BUCKETS: usize = 256;

/// Where a row is known to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RecordState {
    /// It is about to be created in the share.
    ToShare,
    /// It is about to be created in the origin.
    ToOrigin,
    /// It is on both sides.
    Both,
    /// It left the directory, so it is in the trash of the share.
    Left,
}

/// What is known of one row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct BridgeRecord {
    pub(super) state: RecordState,
    generation: u32,
    /// The fields on which both sides agreed, one bit each.
    known: u8,
    fields: FieldHashes,
}

/// The records of all rows of a share.
#[derive(Debug)]
pub(super) struct BridgeRecords {
    store: Arc<dyn Store>,
    generation: u32,
    buckets: Vec<RecordBucket>,
    /// Whether records changed since both logs were marked.
    was_changed: bool,
}

#[derive(Debug, Default)]
struct RecordBucket {
    records: BTreeMap<FileId, BridgeRecord>,
    is_changed: bool,
}

impl RecordState {
    const ALL: [Self; 4] = [Self::ToShare, Self::ToOrigin, Self::Both, Self::Left];
}

impl BridgeRecord {
    /// Notes that both sides agree on a field.
    pub(super) fn agree(&mut self, field: BridgedField, hash: u64) {
        self.known |= field.bit();
        self.fields[field as usize] = hash;
    }

    /// Notes that both sides agree on all fields.
    pub(super) fn agree_on_all(mut self, hashes: &FieldHashes) -> Self {
        BridgedField::ALL.into_iter().for_each(|field| self.agree(field, hashes[field as usize]));
        self
    }

    /// Returns the record in another state.
    pub(super) fn in_state(self, state: RecordState) -> Self {
        Self { state, ..self }
    }

    /// Returns the value on which both sides agreed last.
    pub(super) fn agreed(&self, field: BridgedField) -> Option<u64> {
        (self.known & field.bit() != 0).then(|| self.fields[field as usize])
    }

    fn write(&self, out: &mut Vec<u8>, id: &FileId) {
        // Ids have at most 64 bytes.
        out.push(id.as_str().len() as u8);
        out.extend(id.as_str().as_bytes());
        out.push(self.state as u8);
        out.extend(self.generation.to_le_bytes());
        out.push(self.known);
        self.fields.iter().for_each(|hash| out.extend(hash.to_le_bytes()));
    }

    fn read(bytes: &mut &[u8]) -> Option<(FileId, Self)> {
        let (len, rest) = bytes.split_first()?;
        let (id, rest) = rest.split_at_checked(usize::from(*len))?;
        let id = FileId::parse(std::str::from_utf8(id).ok()?).ok()?;
        let (state, rest) = rest.split_first()?;
        let state = *RecordState::ALL.get(usize::from(*state))?;
        let (generation, rest) = rest.split_first_chunk::<4>()?;
        let (known, mut rest) = rest.split_first()?;
        let mut fields = FieldHashes::default();
        for field in &mut fields {
            let (hash, after) = rest.split_first_chunk::<8>()?;
            (*field, rest) = (u64::from_le_bytes(*hash), after);
        }
        *bytes = rest;
        let generation = u32::from_le_bytes(*generation);
        Some((id, Self { state, generation, known: *known, fields }))
    }
}

impl BridgeRecords {
    /// Reads the records from the share's store. What cannot be read counts as not recorded.
    pub(super) fn load(store: &Arc<dyn Store>) -> Result<Self> {
        let generation = store.get_meta(GENERATION_SETTING)?.unwrap_or_default();
        let generation = generation.as_slice().try_into().map_or(0, u32::from_le_bytes);
        let mut buckets = Vec::with_capacity(N_BUCKETS);
        for number in 0..N_BUCKETS {
            let stored = store.get_meta(&setting(number))?.unwrap_or_default();
            let mut bucket = RecordBucket::default();
            let mut rest = stored.as_slice();
            while let Some((id, record)) = BridgeRecord::read(&mut rest) {
                bucket.records.insert(id, record);
            }
            buckets.push(bucket);
        }
        Ok(Self { store: store.clone(), generation, buckets, was_changed: false })
    }

    /// Returns the record of a row. After a side lost records of its log, it names no fields.
    pub(super) fn get(&self, id: &FileId) -> Option<BridgeRecord> {
        let record = *self.buckets[bucket_of(id)].records.get(id)?;
        let is_valid = record.generation == self.generation;
        let known = if is_valid { record.known } else { 0 };
        Some(BridgeRecord { known, generation: self.generation, ..record })
    }

    /// Makes a record that names no fields.
    pub(super) fn new_record(&self, state: RecordState) -> BridgeRecord {
        let fields = FieldHashes::default();
        BridgeRecord { state, generation: self.generation, known: 0, fields }
    }

    /// Sets the record of a row, in memory.
    pub(super) fn set(&mut self, id: &FileId, record: BridgeRecord) {
        let bucket = &mut self.buckets[bucket_of(id)];
        if bucket.records.get(id) != Some(&record) {
            bucket.records.insert(id.clone(), record);
            bucket.is_changed = true;
            self.was_changed = true;
        }
    }

    /// Reports whether records changed since [`set_unchanged`](Self::set_unchanged).
    pub(super) fn was_changed(&self) -> bool {
        self.was_changed
    }

    /// Notes that both logs were marked after the last change.
    pub(super) fn set_unchanged(&mut self) {
        self.was_changed = false;
    }

    /// Returns the ids of all records.
    pub(super) fn ids(&self) -> impl Iterator<Item = &FileId> {
        self.buckets.iter().flat_map(|bucket| bucket.records.keys())
    }

    /// Writes changed records to the store.
    pub(super) fn save(&mut self) -> Result<()> {
        for (number, bucket) in self.buckets.iter_mut().enumerate() {
            if bucket.is_changed {
                let mut bytes = Vec::new();
                bucket.records.iter().for_each(|(id, record)| record.write(&mut bytes, id));
                self.store.set_meta(&setting(number), &bytes)?;
                bucket.is_changed = false;
            }
        }
        Ok(())
    }

    /// Makes the agreed fields of all records unknown: a side lost records of its log, so that an
    /// older value there is no change.
    pub(super) fn forget_fields(&mut self) -> Result<()> {
        self.generation = self.generation.wrapping_add(1);
        Ok(self.store.set_meta(GENERATION_SETTING, &self.generation.to_le_bytes())?)
    }
}

fn bucket_of(id: &FileId) -> usize {
    usize::from(ContentHash::of(id.as_str().as_bytes()).as_bytes()[0])
}

fn setting(bucket: usize) -> String {
    format!("{RECORDS_SETTING}{bucket:02x}")
}
