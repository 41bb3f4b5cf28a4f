//! The blobs that a replica lacks.

use std::collections::{BTreeMap, BTreeSet};

use yfs_engine::{hash::ContentHash, id::FileId};
use yfs_store::StoreExt;

use super::receive::ReceivedUpdates;
use crate::{Replication, error::Result, workspace::damaged_blobs::damaged_blobs};

/// The setting of the store that reports that blobs may be missing: rows were received, and at the
/// last check their blobs were not in the store.
const UNSETTLED_SETTING: &str = "replica.unsettled";

/// The setting of the store with its [`BlobPolicy`].
const POLICY_SETTING: &str = "replica.blobs";

/// Which blobs a replica fetches from its peers.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub enum BlobPolicy {
    /// Those of all files and their past versions.
    #[default]
    All,
    /// Those of the files as they are now. Past versions of a file without its blob cannot be read.
    Current,
    /// None. Files whose contents are blobs cannot be read here until another policy is set.
    None,
}

impl BlobPolicy {
    /// Returns the name of the policy in the store.
    fn name(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::Current => "current",
            Self::None => "none",
        }
    }
}

impl Replication<'_> {
    /// Stores that rows may be here whose blobs have not arrived, or that all have. So a lost
    /// connection or a crash leaves no file without its bytes.
    pub(super) fn note_unsettled(&self, is_unsettled: bool) -> Result<()> {
        let value: &[u8] = if is_unsettled { b"1" } else { b"" };
        Ok(self.state.store.set_meta(UNSETTLED_SETTING, value)?)
    }

    /// Makes all exchanges of this process, and the next of others, search for missing blobs.
    pub(crate) fn search_again(&self) -> Result<()> {
        let mut open = self.state.settlements.lock();
        open.n_abandoned += 1;
        self.note_unsettled(true)
    }

    /// Returns which blobs this store fetches. A value that this version does not know counts as
    /// [`BlobPolicy::All`].
    pub fn blob_policy(&self) -> Result<BlobPolicy> {
        let stored = self.state.store.get_meta(POLICY_SETTING)?.unwrap_or_default();
        let all = [BlobPolicy::All, BlobPolicy::Current, BlobPolicy::None];
        let known = all.into_iter().find(|policy| policy.name().as_bytes() == stored);
        Ok(known.unwrap_or_default())
    }

    /// Sets which blobs this store fetches from now on. Blobs that are here stay.
    pub fn set_blob_policy(&self, policy: BlobPolicy) -> Result<()> {
        if policy == self.blob_policy()? {
            return Ok(());
        }
        self.state.store.set_meta(POLICY_SETTING, policy.name().as_bytes())?;
        self.search_again()
    }

    /// Returns the missing blobs of all files, with the sizes that rows and versions name, if blobs
    /// may be missing.
    pub(super) fn unsettled_blobs(&self) -> Result<BTreeMap<ContentHash, u64>> {
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

    /// Returns the blobs that are not here, of the versions of the files that
    /// [`receive`](Self::receive) changed, with the sizes that rows and versions name. Which
    /// versions count is the store's [`BlobPolicy`].
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
        let policy = self.blob_policy()?;
        if policy == BlobPolicy::None {
            return Ok(BTreeMap::new());
        }
        let mut needed = BTreeMap::new();
        let mut add = |hash, size: u64| {
            let known = needed.entry(hash).or_insert(size);
            *known = size.max(*known);
        };
        for id in ids {
            let entry = self.state.main.read().files().get(id);
            let Some(blob) = entry.and_then(|entry| entry.row.blob) else { continue };
            add(blob.hash, blob.size);
            if policy == BlobPolicy::Current {
                continue;
            }
            // Redacted blobs are not fetched again.
            let versions = self.state.documents.read_once(id, |loaded| {
                let mut versions = loaded.doc.blobs().versions();
                versions.retain(|version| !loaded.doc.redactions().names_blob(version.id));
                versions
            })?;
            versions.into_iter().for_each(|version| add(version.hash, version.size));
        }
        let mut missing = BTreeMap::new();
        let damaged = damaged_blobs(self.state)?;
        for (hash, size) in needed {
            if damaged.contains(&hash) || !self.state.store.has_blob(&hash)? {
                missing.insert(hash, size);
            }
        }
        Ok(missing)
    }
}
