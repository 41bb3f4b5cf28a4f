//! Compaction of the documents of a log, and what is due for it.

use std::{
    cell::{Cell, RefCell},
    collections::BTreeSet,
    mem,
    sync::Arc,
};

use parking_lot::Mutex;
use yfs_engine::{
    gate::{DocRole, ParkedTotals},
    id::FileId,
};
use yfs_store::{CompactionOutcome, DocName, DocStats, StoreError, WipePacer};

use super::{
    merge_records::merge_records,
    parked::{ParkedUpdates, role_of},
};
use crate::{
    checkpoint::{CheckpointHome, MainCheckpoints},
    core::WorkspaceCore,
    error::Result,
    feature::{ContentCommit, WorkspaceFeature},
    search::{self, SearchIndexes},
    store_keys::THUMBNAIL_DIRECTORY,
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

/// The shortest time between two wipes that peers cause, in milliseconds.
const WIPE_GAP_MS: i64 = 60_000;

/// The reason under which misplaced content is in the quarantine.
const MISPLACED_REASON: &str = "it has content that does not belong into its list";

/// The documents that are due for compaction.
#[derive(Debug)]
pub(crate) struct LogCompaction {
    /// Documents that this process wrote to since it last checked whether they are due.
    written: Mutex<BTreeSet<DocName>>,
    /// Documents from which peers redacted content that the log may still contain.
    redacted: Mutex<BTreeSet<DocName>>,
    /// Limits the rate of the wipes that redactions by peers cause.
    wipe_pacer: Mutex<WipePacer>,
    parked: Arc<ParkedUpdates>,
    checkpoint: Arc<MainCheckpoints>,
    search: Arc<SearchIndexes>,
}

impl LogCompaction {
    pub(crate) fn new(
        parked: Arc<ParkedUpdates>,
        checkpoint: Arc<MainCheckpoints>,
        search: Arc<SearchIndexes>,
    ) -> Self {
        Self {
            written: Mutex::default(),
            redacted: Mutex::default(),
            wipe_pacer: Mutex::new(WipePacer::new(WIPE_GAP_MS)),
            parked,
            checkpoint,
            search,
        }
    }

    /// Makes documents due from which peers redacted content.
    pub(crate) fn note_redacted(&self, docs: impl IntoIterator<Item = DocName>) {
        self.redacted.lock().extend(docs);
    }

    /// Compacts one document; other processes may write to it meanwhile.
    pub(crate) fn compact_doc(
        &self,
        core: &WorkspaceCore,
        doc: &DocName,
    ) -> Result<CompactionOutcome> {
        Ok(self.compact_and_erase(core, doc)?.0)
    }

    /// Compacts one document, and reports whether it has records of redacted content.
    pub(super) fn compact_and_erase(
        &self,
        core: &WorkspaceCore,
        doc: &DocName,
    ) -> Result<(CompactionOutcome, bool)> {
        let role = role_of(core, doc);
        let (erases, parked) = (Cell::new(false), Cell::new(ParkedTotals::default()));
        let (misplaced, set_aside) = (RefCell::new(Vec::new()), Cell::new(false));
        let compact = || {
            core.store.compact(doc, &|snapshot, records| {
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
            set_misplaced_aside(core, doc, &misplaced.borrow())?;
            set_aside.set(true);
            compacted = compact();
        }
        let compacted = compacted?;
        if parked.get().n_updates > 0 && role == DocRole::Content {
            // A process that noted nothing of this kind may have logged them.
            let id = FileId::from(doc);
            self.parked.note(core, &id, ParkedTotals::default(), parked.get(), None);
        }
        Ok((compacted, erases.get()))
    }

    /// Compacts the documents that this process has written to and that have grown enough, and at
    /// once those from which peers redacted content.
    pub(crate) fn compact_due(&self, core: &WorkspaceCore) -> Result<()> {
        self.compact_redacted(core)?;
        let is_due_to_wipe = self.wipe_pacer.lock().take_due(core.now());
        if is_due_to_wipe && let Err(error) = self.wipe(core) {
            self.wipe_pacer.lock().request();
            return Err(error.into());
        }
        let written = mem::take(&mut *self.written.lock());
        for doc in written {
            let Some(stats) = core.store.doc_stats(&doc)? else { continue };
            let checkpoint = self.checkpoint.home.as_ref().filter(|_| doc == core.main_name);
            let is_due = match checkpoint.map(CheckpointHome::n_bytes).transpose()? {
                Some(n_bytes) if n_bytes > 0 => is_main_due(&stats, n_bytes),
                _ => is_due(&stats),
            };
            if is_due {
                self.compact_doc(core, &doc)?;
                if let Some(checkpoint) = checkpoint {
                    // It cannot be brought up to date by records that are not there any more.
                    checkpoint.request();
                }
            }
        }
        Ok(())
    }

    /// Compacts all documents that are due, and wipes content that peers redacted at once.
    pub(crate) fn compact_all_due(&self, core: &WorkspaceCore) -> Result<()> {
        self.compact_redacted(core)?;
        if self.wipe_pacer.lock().is_requested() {
            self.wipe(core)?;
        }
        self.compact_due(core)
    }

    /// Compacts the documents from which peers redacted content. One that fails stays due.
    fn compact_redacted(&self, core: &WorkspaceCore) -> Result<()> {
        loop {
            let Some(doc) = self.redacted.lock().pop_first() else { return Ok(()) };
            if let Err(error) = self.compact_doc(core, &doc) {
                self.redacted.lock().insert(doc);
                return Err(error);
            }
            self.wipe_pacer.lock().request();
        }
    }

    /// Erases removed content from all files of the store, and with it all that is derived from the
    /// log, which may have it.
    pub(crate) fn wipe(&self, core: &WorkspaceCore) -> Result<(), StoreError> {
        self.discard_derived(core)?;
        core.store.wipe()
    }

    /// Removes the checkpoint and all else that is derived from contents, because the log lost
    /// records on purpose.
    pub(crate) fn discard_derived(&self, core: &WorkspaceCore) -> Result<(), StoreError> {
        search::discard(&core.store)?;
        discard_thumbnails(core)?;
        self.checkpoint.home.as_ref().map_or(Ok(()), CheckpointHome::discard)
    }
}

impl WorkspaceFeature for LogCompaction {
    fn content_committed(&self, _core: &WorkspaceCore, commit: &ContentCommit<'_>) {
        if commit.document.is_changed {
            self.written.lock().insert(DocName::from(commit.id));
        }
    }

    fn main_logged(&self, core: &WorkspaceCore, _update: &[u8], is_own: bool) {
        if is_own {
            self.written.lock().insert(core.main_name.clone());
        }
    }

    fn upkeep(&self, core: &WorkspaceCore) -> Result<()> {
        self.compact_due(core)
    }

    fn last_upkeep(&self, core: &WorkspaceCore) {
        self.compact_all_due(core).ok();
        // Compaction may have made others due.
        self.checkpoint.last_upkeep(core);
        self.search.last_upkeep(core);
    }
}

fn discard_thumbnails(core: &WorkspaceCore) -> Result<(), StoreError> {
    let Some(directory) = core.store.derived_directory() else { return Ok(()) };
    match std::fs::remove_dir_all(directory.path().join(THUMBNAIL_DIRECTORY)) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(StoreError::io("remove the thumbnails", error))
        }
        _ => Ok(()),
    }
}

/// Puts updates into the quarantine, before a snapshot without what is wrong with them takes
/// their place.
fn set_misplaced_aside(core: &WorkspaceCore, doc: &DocName, updates: &[Vec<u8>]) -> Result<()> {
    updates.iter().try_for_each(|update| {
        Ok(core.store.quarantine(doc, update, MISPLACED_REASON, core.now())?)
    })
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
