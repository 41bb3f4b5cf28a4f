//! The statistics of a workspace.

use crate::Maintenance;
use yfs_engine::{id::WorkspaceId, main_doc::VisibleTotals};
use yfs_store::{QuarantinedUpdate, StoreStats};

use crate::error::Result;

/// The statistics of a workspace. Sizes are in bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct WorkspaceStats {
    /// The id of the workspace.
    pub id: WorkspaceId,
    /// Files and links, including those in the trash.
    pub n_files: u64,
    /// Directories, including those in the trash.
    pub n_directories: u64,
    /// The visible files, links and directories. Sizes are those that rows report: an edit counts
    /// a few seconds later.
    pub visible: VisibleTotals,
    /// Trashed objects, without the ones that they hide.
    pub n_trashed: u64,
    /// Updates that wait for items that have not arrived, in the files table and in contents, as
    /// the processes that changed them noted.
    pub n_parked: u64,
    /// Content documents in memory.
    pub n_open: u64,
    /// Their estimated size.
    pub open_bytes: u64,
    /// Texts in the cache.
    pub n_cached: u64,
    /// Their size.
    pub cached_bytes: u64,
    /// The size of the main document in the store.
    pub main_bytes: u64,
    /// The statistics of the store.
    pub store: StoreStats,
}

impl Maintenance<'_> {
    /// Returns the statistics of the workspace. Walks the trash, and no other files.
    pub fn stats(&self) -> Result<WorkspaceStats> {
        let state = &self.state;
        state.refresh()?;
        let (n_open, open_bytes) = state.documents.usage();
        let (n_cached, cached_bytes) = state.texts.cache.usage();
        let store = state.store.stats()?;
        let main_stats = state.store.doc_stats(&state.main_name)?;
        let in_main = state.main.read().doc().parked().totals().n_updates;
        let n_parked = self.count_parked(in_main)?;
        let main = state.main.read();
        Ok(WorkspaceStats {
            id: state.id.clone(),
            n_files: main.tree().n_files() as u64,
            n_directories: main.tree().n_directories() as u64,
            visible: main.visible_totals(),
            n_trashed: main.tree().n_trashed() as u64,
            n_parked,
            n_open: n_open as u64,
            open_bytes,
            n_cached: n_cached as u64,
            cached_bytes,
            main_bytes: main_stats.map_or(0, |stats| stats.bytes + stats.snapshot_bytes),
            store,
        })
    }

    /// Lists the updates of peers that the gate rejected, in the order of their first rejection.
    pub fn quarantined(&self) -> Result<Vec<QuarantinedUpdate>> {
        Ok(self.state.store.quarantined()?)
    }

    /// Returns the bytes of an update in quarantine, if they are kept.
    pub fn quarantined_update(&self, number: u64) -> Result<Option<Vec<u8>>> {
        Ok(self.state.store.quarantined_update(number)?)
    }

    /// Drops one update from quarantine, or all, and returns how many.
    pub fn drop_quarantined(&self, number: Option<u64>) -> Result<u64> {
        self.state.check_writable()?;
        Ok(self.state.store.drop_quarantined(number)?)
    }
}
