//! Versions: snapshots of a content document.

use std::sync::Arc;

use hashbrown::HashMap;
use thiserror::Error;
use yrs::{ClientID, IdSet, Snapshot, StateVector, updates::encoder::Encode};

use crate::{
    gate::StateChange,
    id::{ClientId, FileId},
    lib0::{Lib0Error, Lib0Reader, write_var_uint},
};

/// A snapshot of a content document: the items that it had, and those of them that were deleted.
///
/// It takes a few bytes per client and per range of deleted text, and costs nothing to keep. The
/// encoding is that of `Y.encodeSnapshot`.
#[derive(Debug, Clone)]
pub struct Version {
    snapshot: Arc<Snapshot>,
    /// The document that this process took the snapshot from. A snapshot from elsewhere may cut
    /// through a character.
    taken_from: Option<FileId>,
}

/// The reason why bytes are not a version.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("the version is malformed at byte {at}")]
pub struct VersionError {
    /// The number of bytes read before the fault.
    pub at: usize,
    /// The fault.
    pub source: Lib0Error,
}

impl Version {
    pub(super) fn of_document(id: &FileId, snapshot: Snapshot) -> Self {
        Self { snapshot: Arc::new(snapshot), taken_from: Some(id.clone()) }
    }

    /// Returns the version of a document that has no items yet.
    pub fn empty() -> Self {
        Self::noted(Snapshot::default())
    }

    /// Makes a version of the snapshot that untrusted log entries describe.
    pub(super) fn noted(snapshot: Snapshot) -> Self {
        Self { snapshot: Arc::new(snapshot), taken_from: None }
    }

    /// Returns the version as `Y.encodeSnapshot` encodes it.
    pub fn encode(&self) -> Vec<u8> {
        self.snapshot.encode_v1()
    }

    /// Returns the version encoded like [`encode`](Self::encode), with clients in ascending order,
    /// so that equal versions are equal bytes.
    pub(super) fn encode_in_order(&self) -> Vec<u8> {
        let deleted: Vec<_> = self.snapshot.delete_set.iter().collect();
        let mut bytes = Vec::new();
        write_var_uint(&mut bytes, deleted.len() as u64);
        for (client, ranges) in deleted {
            write_var_uint(&mut bytes, client.get());
            let ranges: Vec<_> = ranges.iter().collect();
            write_var_uint(&mut bytes, ranges.len() as u64);
            for range in ranges {
                write_var_uint(&mut bytes, range.start.into());
                write_var_uint(&mut bytes, (range.end - range.start).into());
            }
        }
        let mut clocks: Vec<_> = self.clocks().filter(|(_, clock)| *clock > 0).collect();
        clocks.sort_unstable();
        write_var_uint(&mut bytes, clocks.len() as u64);
        for (client, clock) in clocks {
            write_var_uint(&mut bytes, client.get());
            write_var_uint(&mut bytes, clock.into());
        }
        bytes
    }

    /// Returns the version with the items of one more client, and more deletions.
    pub(super) fn and_all_of(&self, client: ClientId, clock: u32, gone: &IdSet) -> Self {
        let mut clocks = self.snapshot.state_map.clone();
        if clock > 0 {
            clocks.set_max(ClientID::new(client.get()), clock);
        }
        let mut delete_set = self.snapshot.delete_set.clone();
        delete_set.merge_with(gone.clone());
        Self::noted(Snapshot::new(clocks, delete_set))
    }

    /// Returns the version before the given changes, which in any order led from there to this one.
    ///
    /// # Errors
    ///
    /// If the bytes are not changes, or added more than the version has.
    pub fn before<'a>(
        &self,
        changes: impl IntoIterator<Item = &'a [u8]>,
    ) -> Result<Self, VersionError> {
        let mut clocks: HashMap<ClientID, u32> =
            self.snapshot.state_map.iter().map(|(client, clock)| (*client, *clock)).collect();
        let mut revived = IdSet::new();
        for bytes in changes {
            let invalid = |source| VersionError { at: 0, source };
            let change = StateChange::decode(bytes).map_err(invalid)?;
            for range in &change.grown {
                let clock = clocks.entry(ClientID::new(range.client.get())).or_default();
                let before = clock.checked_sub(range.len);
                *clock = before.ok_or_else(|| invalid(Lib0Error::Number))?;
            }
            for range in &change.deleted {
                let client = ClientID::new(range.client.get());
                revived.range_mut(client).insert(range.start..range.end());
            }
        }
        let mut deleted = self.snapshot.delete_set.clone();
        deleted.diff_with(&revived);
        let clocks = clocks.into_iter().filter(|(_, clock)| *clock > 0).collect();
        let delete_set = known_deletions(&deleted, &clocks);
        Ok(Self::noted(Snapshot::new(clocks, delete_set)))
    }

    /// Reports whether the version has so many items of a client.
    pub(super) fn knows(&self, client: ClientId, n_items: u32) -> bool {
        self.snapshot.state_map.get(&ClientID::new(client.get())) >= n_items
    }

    /// Decodes a version from untrusted bytes.
    ///
    /// Clocks of zero are dropped, and deletions of items that the version lacks.
    ///
    /// # Errors
    ///
    /// If the bytes are not a snapshot.
    pub fn decode(bytes: &[u8]) -> Result<Self, VersionError> {
        let mut reader = Lib0Reader::new(bytes);
        let snapshot = read_snapshot(&mut reader)
            .map_err(|source| VersionError { at: reader.position(), source })?;
        Ok(Self { snapshot: Arc::new(snapshot), taken_from: None })
    }

    pub(super) fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }

    /// Reports whether this process took it from the document of that id.
    pub(super) fn was_taken_from(&self, id: &FileId) -> bool {
        self.taken_from.as_ref() == Some(id)
    }

    /// Returns the number of items of each client in the version.
    pub(super) fn clocks(&self) -> impl Iterator<Item = (ClientId, u32)> {
        let clocks = self.snapshot.state_map.iter();
        clocks.map(|(client, clock)| {
            let client = ClientId::new(client.get()).expect("yrs masks client ids to 53 bits");
            (client, *clock)
        })
    }
}

impl PartialEq for Version {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.snapshot, &other.snapshot) || self.snapshot == other.snapshot
    }
}

impl Eq for Version {}

/// Reads a snapshot, and drops impossible parts.
pub(super) fn read_snapshot(reader: &mut Lib0Reader<'_>) -> Result<Snapshot, Lib0Error> {
    let read = read_partial(reader)?;
    let delete_set = known_deletions(&read.delete_set, &read.state_map);
    Ok(Snapshot::new(read.state_map, delete_set))
}

/// Returns the deletions of items that exist.
pub(super) fn known_deletions(deleted: &IdSet, clocks: &StateVector) -> IdSet {
    let mut known = IdSet::new();
    for (client, ranges) in deleted.iter() {
        let end = clocks.get(client);
        for range in ranges.iter().filter(|range| range.start < end) {
            known.range_mut(*client).insert(range.start..range.end.min(end));
        }
    }
    known
}

/// Reads a partial snapshot: it may delete items that it lacks.
pub(super) fn read_partial(reader: &mut Lib0Reader<'_>) -> Result<Snapshot, Lib0Error> {
    let delete_set = read_deletes(reader)?;
    let n_clients = read_count(reader, 2)?;
    let mut clocks = Vec::with_capacity(n_clients);
    for _ in 0..n_clients {
        clocks.push((read_client(reader)?, reader.var_u32()?));
    }
    if !reader.is_empty() {
        return Err(Lib0Error::Number);
    }
    let state_map: StateVector = clocks.into_iter().filter(|(_, clock)| *clock > 0).collect();
    Ok(Snapshot::new(state_map, delete_set))
}

/// Reads ranges of items, in the encoding of a delete set.
pub(super) fn read_deletes(reader: &mut Lib0Reader<'_>) -> Result<IdSet, Lib0Error> {
    let mut deleted = IdSet::new();
    for _ in 0..read_count(reader, 3)? {
        let client = read_client(reader)?;
        for _ in 0..read_count(reader, 2)? {
            let (start, len) = (reader.var_u32()?, reader.var_u32()?);
            let end = start.checked_add(len).ok_or(Lib0Error::Number)?;
            if len > 0 {
                deleted.range_mut(client).insert(start..end);
            }
        }
    }
    Ok(deleted)
}

/// Reads the count of the following entries, each of at least `min_len` bytes.
fn read_count(reader: &mut Lib0Reader<'_>, min_len: usize) -> Result<usize, Lib0Error> {
    let count = reader.var_uint()?;
    if count > (reader.remaining() / min_len) as u64 {
        Err(Lib0Error::End)
    } else {
        Ok(count as usize)
    }
}

fn read_client(reader: &mut Lib0Reader<'_>) -> Result<ClientID, Lib0Error> {
    let client = ClientId::new(reader.var_uint()?).map_err(|_| Lib0Error::Number)?;
    Ok(ClientID::new(client.get()))
}
