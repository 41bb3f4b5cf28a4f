//! Compaction: replaces the log with snapshots.

use std::{
    cell::{Cell, RefCell},
    sync::{Arc, atomic::Ordering},
};

use yfs_engine::{
    content,
    gate::{DocRole, ParkedTotals, merge},
    id::FileId,
};
use yfs_store::{CompactionOutcome, DocName, DocStats, LogRecord, MergeError, MergedSnapshot};

use crate::{
    checkpoint::CheckpointHome, error::Result, options::WorkspaceOptions, state::WorkspaceState,
};

/// A document is due when it has more records than this…
const MANY_RECORDS: u64 = 64;

/// …and they are larger than this share of its snapshot, so that a large document is not rewritten
/// for a small change…
const MIN_SHARE: u64 = 1;

/// …or when it has more records than this: each of them is applied when the document is loaded.
const TOO_MANY_RECORDS: u64 = 8192;

/// The main document is due when its records are so many times larger than its checkpoint.
const OUTDATED_SHARE: u64 = 4;

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
        self.state.expire_parked()?;
        let documents = self.state.store.documents()?;
        let n_documents = documents.len() as u64;
        let mut report = CompactReport { n_documents, ..CompactReport::default() };
        for (done, stats) in documents.iter().enumerate() {
            progress(done as u64, n_documents);
            if stats.n_records > 0 {
                let (compacted, erases) = self.state.compact_and_erase(&stats.doc)?;
                report.n_erased += u64::from(erases);
                report.add(compacted);
            }
        }
        if report.n_erased > 0 {
            self.state.wipe()?;
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

impl WorkspaceState {
    /// Compacts one document; other processes may write to it meanwhile.
    pub(crate) fn compact_doc(&self, doc: &DocName) -> Result<CompactionOutcome> {
        Ok(self.compact_and_erase(doc)?.0)
    }

    /// Compacts one document, and reports whether it has records of redacted content.
    fn compact_and_erase(&self, doc: &DocName) -> Result<(CompactionOutcome, bool)> {
        let role = self.role_of(doc);
        let (erases, parked) = (Cell::new(false), Cell::new(ParkedTotals::default()));
        let (misplaced, set_aside) = (RefCell::new(Vec::new()), Cell::new(false));
        let compact = || {
            self.store.compact(doc, &|snapshot, records| {
                let (merged, found) = merge_records(role, snapshot, records)?;
                erases.set(found.has_redactions);
                parked.set(found.parked);
                if !found.misplaced.is_empty() && !set_aside.get() {
                    *misplaced.borrow_mut() = found.misplaced;
                    return Err("it has content that is to be set aside first".into());
                }
                Ok(merged)
            })
        };
        let mut compacted = compact();
        if !misplaced.borrow().is_empty() {
            // The snapshot will not have what does not belong there.
            self.set_misplaced_aside(doc, &misplaced.borrow())?;
            set_aside.set(true);
            compacted = compact();
        }
        let compacted = compacted?;
        if parked.get().n_updates > 0 && role == DocRole::Content {
            // A process that noted nothing of this kind may have logged them.
            let id = FileId::from(doc);
            self.note_parked(&id, ParkedTotals::default(), parked.get(), None);
        }
        Ok((compacted, erases.get()))
    }

    /// Compacts the documents that this process has written to and that have grown enough, and at
    /// once those from which peers redacted content.
    pub(crate) fn compact_due(&self) -> Result<()> {
        self.compact_redacted()?;
        let is_due_to_wipe = self.wipe_pacer.lock().take_due(self.now());
        if is_due_to_wipe && let Err(error) = self.wipe() {
            self.wipe_pacer.lock().request();
            return Err(error.into());
        }
        let written = std::mem::take(&mut *self.written.lock());
        for doc in written {
            let Some(stats) = self.store.doc_stats(&doc)? else { continue };
            let checkpoint = self.checkpoint.as_ref().filter(|_| doc == self.main_name);
            let is_due = match checkpoint.map(CheckpointHome::n_bytes).transpose()? {
                Some(n_bytes) if n_bytes > 0 => is_main_due(&stats, n_bytes),
                _ => is_due(&stats),
            };
            if is_due {
                self.compact_doc(&doc)?;
                if let Some(checkpoint) = checkpoint {
                    // It cannot be brought up to date by records that are not there any more.
                    checkpoint.request();
                }
            }
        }
        Ok(())
    }

    /// Compacts all documents that are due, and wipes content that peers redacted at once.
    pub(crate) fn compact_all_due(&self) -> Result<()> {
        self.compact_redacted()?;
        if self.wipe_pacer.lock().is_requested() {
            self.wipe()?;
        }
        self.compact_due()
    }

    /// Compacts the documents from which peers redacted content. One that fails stays due.
    fn compact_redacted(&self) -> Result<()> {
        loop {
            let Some(doc) = self.redacted.lock().pop_first() else { return Ok(()) };
            if let Err(error) = self.compact_doc(&doc) {
                self.redacted.lock().insert(doc);
                return Err(error);
            }
            self.wipe_pacer.lock().request();
        }
    }
}

fn is_due(stats: &DocStats) -> bool {
    let is_worth_it = stats.bytes > stats.snapshot_bytes * MIN_SHARE;
    stats.n_records > MANY_RECORDS && (is_worth_it || stats.n_records > TOO_MANY_RECORDS)
}

/// Reports whether the main document is due, which is opened from a checkpoint: most of what its
/// records say must be outdated.
fn is_main_due(stats: &DocStats, checkpoint_bytes: u64) -> bool {
    let worth = stats.snapshot_bytes.max(checkpoint_bytes).saturating_mul(OUTDATED_SHARE);
    stats.n_records > MANY_RECORDS && stats.bytes > worth
}

/// What a merge found besides the merged state.
pub(super) struct MergeFindings {
    /// Whether the document has records of redacted content.
    has_redactions: bool,
    /// What waits in the records that stay.
    pub(super) parked: ParkedTotals,
    /// The updates with content that does not belong into its list.
    misplaced: Vec<Vec<u8>>,
}

/// Merges records.
pub(super) fn merge_records(
    role: DocRole,
    snapshot: Option<&[u8]>,
    records: &[LogRecord],
) -> std::result::Result<(MergedSnapshot, MergeFindings), MergeError> {
    let updates: Vec<Vec<u8>> = records.iter().map(|record| record.data.clone()).collect();
    if role == DocRole::Main {
        let merged = merge(role, snapshot, &updates)?;
        let (state, absorbed) = (merged.state, merged.absorbed);
        return Ok((
            MergedSnapshot { state, absorbed, rewritten: Vec::new(), changes: Vec::new() },
            MergeFindings {
                has_redactions: false,
                parked: merged.parked,
                misplaced: merged.misplaced,
            },
        ));
    }
    let compacted = content::compact(snapshot, &updates)?;
    let content::RedactedMerge { state, absorbed, rewritten, changes, .. } = compacted;
    let content::RedactedMerge { has_redactions, parked, misplaced, .. } = compacted;
    Ok((
        MergedSnapshot { state, absorbed, rewritten, changes },
        MergeFindings { has_redactions, parked, misplaced },
    ))
}

#[cfg(test)]
mod tests {
    use yfs_store::Seq;

    use super::*;

    #[test]
    fn a_large_document_does_not_keep_any_number_of_keystrokes() {
        let stats = |n_records, snapshot_bytes| DocStats {
            doc: DocName::parse("4f7c2a9e1b3d5f0").expect("a name"),
            n_records,
            bytes: n_records * 24,
            snapshot_bytes,
            head: Seq(n_records),
        };
        let large = 8 << 20;
        assert!(!is_due(&stats(64, 0)) && is_due(&stats(65, 0)));
        assert!(!is_due(&stats(1000, large)), "it would be rewritten for little");
        assert!(is_due(&stats(10_000, large)), "a load would apply them one by one");
        let main = |bytes, checkpoint| is_main_due(&DocStats { bytes, ..stats(65, 0) }, checkpoint);
        assert!(!main(1000, 1000), "an import is not outdated");
        assert!(main(4001, 1000), "most of it is");
    }
}
