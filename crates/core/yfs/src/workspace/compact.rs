//! Compaction: replaces the log with snapshots.

use std::sync::{Arc, atomic::Ordering};

use yfs_store::CompactionOutcome;

use crate::{error::Result, options::WorkspaceOptions, state::WorkspaceState};

/// The result of a compaction.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct CompactReport {
    /// The number of documents that were checked.
    pub n_documents: u64,
    /// The number of documents that were compacted.
    pub n_compacted: u64,
    /// The number of records that stay, because they wait for items that have not arrived.
    pub n_kept: u64,
    /// The number of documents with records of redacted content.
    pub n_erased: u64,
    /// The size of the compacted documents before, in bytes.
    pub bytes_before: u64,
    /// Their size after, in bytes.
    pub bytes_after: u64,
}

/// The upkeep of a workspace: sizes, compaction, quarantine, repairs
/// ([`Workspace::maintenance`](crate::Workspace::maintenance)).
#[derive(Debug, Clone, Copy)]
pub struct Maintenance<'w> {
    pub(crate) state: &'w Arc<WorkspaceState>,
}

impl<'w> Maintenance<'w> {
    /// Returns the options with which the workspace was opened.
    pub fn options(&self) -> &'w WorkspaceOptions {
        &self.state.options
    }
}

impl Maintenance<'_> {
    /// Makes the end of the workspace cheap, because memory is short: what takes several copies of
    /// a document is left to the next process.
    pub fn note_short_of_memory(&self) {
        self.state.is_short_of_memory.store(true, Ordering::Relaxed);
    }

    /// Compacts every document that has records beside its snapshot, while other processes write.
    ///
    /// `progress` gets the number of documents that are done, and their total.
    pub fn compact(&self, progress: &mut dyn FnMut(u64, u64)) -> Result<CompactReport> {
        self.state.check_writable()?;
        self.state.table_damage.check()?;
        self.state.parked.expire(self.state)?;
        let documents = self.state.store.documents()?;
        let n_documents = documents.len() as u64;
        let mut report = CompactReport { n_documents, ..CompactReport::default() };
        for (done, stats) in documents.iter().enumerate() {
            progress(done as u64, n_documents);
            if stats.n_records > 0 {
                let (compacted, erases) =
                    self.state.compaction.compact_and_erase(self.state, &stats.doc)?;
                report.n_erased += u64::from(erases);
                report.add(compacted);
            }
        }
        if report.n_erased > 0 {
            self.state.compaction.wipe(self.state)?;
        }
        progress(n_documents, n_documents);
        Ok(report)
    }
}

impl CompactReport {
    fn add(&mut self, compacted: CompactionOutcome) {
        if let CompactionOutcome::Done { n_kept, bytes_before, bytes_after, .. } = compacted {
            self.n_compacted += 1;
            self.n_kept += n_kept;
            self.bytes_before += bytes_before;
            self.bytes_after += bytes_after;
        }
    }
}
