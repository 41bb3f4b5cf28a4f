//! The blobs that a replica lacks.

use std::collections::{BTreeMap, BTreeSet};

use yfs_engine::{hash::ContentHash, id::FileId};
use yfs_store::StoreExt;

use super::receive::ReceivedUpdates;
use crate::{Replication, error::Result};

/// The setting of the store that reports that blobs may be missing: rows were received, and at the
/// last check their blobs were not in the store.
const UNSETTLED_SETTING: &str = "replica.unsettled";

impl Replication<'_> {
    /// Records that rows are about to be received whose blobs have not arrived, or that all have.
    /// The note is stored, so that a lost connection or a crash leaves no file without its bytes.
    pub fn set_unsettled(&self, is_unsettled: bool) -> Result<()> {
        let value: &[u8] = if is_unsettled { b"1" } else { b"" };
        Ok(self.state.store.set_meta(UNSETTLED_SETTING, value)?)
    }

    /// Returns the missing blobs of all files, with the sizes that rows and versions name, if blobs
    /// may be missing ([noted](Self::set_unsettled)).
    pub fn unsettled_blobs(&self) -> Result<BTreeMap<ContentHash, u64>> {
        let noted = self.state.store.get_meta(UNSETTLED_SETTING)?;
        if noted.is_none_or(|noted| noted.is_empty()) {
            return Ok(BTreeMap::new());
        }
        let ids = {
            let main = self.state.main.read();
            let with_blob = main.files().iter().filter(|entry| entry.row.blob.is_some());
            with_blob.map(|entry| entry.row.id).collect::<Vec<FileId>>()
        };
        self.missing_blobs(ids.iter())
    }

    /// Returns the blobs that are not here, of all versions of the files that
    /// [`receive`](Self::receive) changed, with the sizes that rows and versions name.
    pub fn missing_blobs_of(
        &self,
        received: &ReceivedUpdates,
    ) -> Result<BTreeMap<ContentHash, u64>> {
        let ids: BTreeSet<&FileId> = received.rows.iter().chain(&received.changed).collect();
        self.missing_blobs(ids.into_iter())
    }

    fn missing_blobs<'a>(
        &self,
        ids: impl Iterator<Item = &'a FileId>,
    ) -> Result<BTreeMap<ContentHash, u64>> {
        let mut needed = BTreeMap::new();
        let mut add = |hash, size: u64| {
            let known = needed.entry(hash).or_insert(size);
            *known = size.max(*known);
        };
        for id in ids {
            let entry = self.state.main.read().files().get(id);
            let Some(blob) = entry.and_then(|entry| entry.row.blob) else { continue };
            // Redacted blobs are not fetched again.
            let versions = self.state.documents.acquire(id).with(|loaded| {
                let mut versions = loaded.doc.blobs().versions();
                versions.retain(|version| !loaded.doc.redactions().names_blob(version.id));
                versions
            })?;
            versions.into_iter().for_each(|version| add(version.hash, version.size));
            add(blob.hash, blob.size);
        }
        let mut missing = BTreeMap::new();
        let damaged = self.state.damaged_blobs()?;
        for (hash, size) in needed {
            if damaged.contains(&hash) || !self.state.store.has_blob(&hash)? {
                missing.insert(hash, size);
            }
        }
        Ok(missing)
    }
}
