//! Checkpoints of the document that the workspace itself uses, and its way back to one.
//!
//! A document on a checkpoint holds what was read and what was written since. Over a long time that
//! is the whole workspace, so a document that holds more rows than its budget is replaced by one on
//! the newest checkpoint.

use std::sync::{Arc, atomic::Ordering};

use yfs_engine::{checkpoint::CheckpointReader, main_doc::MainDoc};
use yfs_store::checkpoint::CheckpointMap;
use yfs_store::{DerivedLabel, Seq};

use super::{
    CACHE_BYTES, CheckpointHome,
    healing::{CheckpointUse, HealingReader},
};
use crate::{core::WorkspaceCore, error::Result};

impl CheckpointHome {
    /// Opens a checkpoint again, if it is still the newest.
    fn reopen(&self, label: DerivedLabel) -> Option<CheckpointMap> {
        let map = CheckpointMap::open(&self.directory, CACHE_BYTES).ok().flatten()?;
        (DerivedLabel::parse(map.label()) == Some(label)).then_some(map)
    }
}

/// The checkpoints of the main document, if the store has a place for them.
#[derive(Debug)]
pub(crate) struct MainCheckpoints {
    pub(crate) home: Option<CheckpointHome>,
}

impl MainCheckpoints {
    /// Makes a checkpoint of the workspace's own document, and puts the document on it.
    /// Transactions that change rows wait meanwhile, so this is for a process that has nothing else
    /// to do, and for one that holds too many rows. Reports whether it did: not if another process
    /// writes.
    ///
    /// # Cost
    ///
    /// That of writing the rows that changed since the last checkpoint.
    pub(crate) fn checkpoint_live(&self, core: &WorkspaceCore) -> Result<bool> {
        let Some(home) = &self.home else { return Ok(false) };
        core.refresh()?;
        let _structure = core.structure.write();
        let _tailing = core.tailing.lock();
        let position = core.tailed();
        // Then every record is applied, and what this process appends from here on waits.
        if core.store.head()? > position {
            return Ok(false);
        }
        let in_use = *home.in_use.lock();
        let base = match in_use {
            Some(label) => match home.reopen(label) {
                Some(map) => Some(map),
                // Another process has made a newer one.
                None => return self.move_to_newest(core, home, position),
            },
            None => None,
        };
        let main = core.main.read();
        let written = home.write(&main, base.as_ref(), position);
        home.has_failed.store(written.is_err(), Ordering::Relaxed);
        let Some(label) = written? else { return Ok(false) };
        let writer = main.files().writer();
        drop(main);
        if let Some(map) = home.reopen(label) {
            let reader = HealingReader::new(home.clone(), map, position, CheckpointUse::Live);
            let reader: Arc<dyn CheckpointReader> = Arc::new(reader);
            if let Ok(main) = MainDoc::on_checkpoint(&core.id, writer, home.limits, reader) {
                *core.main.write() = main;
                *home.in_use.lock() = Some(label);
            }
        }
        home.note_covered();
        Ok(true)
    }

    /// Puts the main document on the newest checkpoint, as of a position of the log. The locks of
    /// [`checkpoint_live`](Self::checkpoint_live) are held.
    fn move_to_newest(
        &self,
        core: &WorkspaceCore,
        home: &CheckpointHome,
        position: Seq,
    ) -> Result<bool> {
        let Some((map, label)) = home.open_map()? else { return Ok(false) };
        if label.position > position {
            return Ok(false);
        }
        let writer = core.main.read().files().writer();
        let opened = home.open_on(map, &label, writer, position, CheckpointUse::Live)?;
        let Some(opened) = opened else { return Ok(false) };
        *core.main.write() = opened.main;
        *home.in_use.lock() = Some(label);
        Ok(true)
    }

    /// Takes rows out of memory if there are more than the budget, in the middle of a long call. A
    /// workspace that is only read goes to the newest checkpoint that there is. If a checkpoint
    /// cannot be written or read, for example because the disk is full, the rows stay.
    pub(crate) fn shed_rows(&self, core: &WorkspaceCore) {
        if !self.holds_too_many_rows(core) {
            return;
        }
        if core.options.read_only {
            self.return_to_newest(core).ok();
        } else if core.check_writable().is_ok() {
            core.store.checkpoint(core.options.checkpoint_after).ok();
            self.checkpoint_live(core).ok();
        }
    }

    /// Puts the main document on the newest checkpoint, and reports whether it did.
    fn return_to_newest(&self, core: &WorkspaceCore) -> Result<bool> {
        let Some(home) = &self.home else { return Ok(false) };
        core.refresh()?;
        let _structure = core.structure.write();
        let _tailing = core.tailing.lock();
        self.move_to_newest(core, home, core.tailed())
    }

    /// Reports whether the main document holds more rows than its budget, and can be put back to a
    /// checkpoint.
    pub(crate) fn holds_too_many_rows(&self, core: &WorkspaceCore) -> bool {
        self.holds_more_rows_than(core, core.options.row_budget)
    }

    /// Reports whether the main document holds more rows than these, and can be put back to a
    /// checkpoint.
    pub(crate) fn holds_more_rows_than(&self, core: &WorkspaceCore, n_rows: u64) -> bool {
        let has_failed = |home: &CheckpointHome| home.has_failed.load(Ordering::Relaxed);
        if self.home.as_ref().is_none_or(has_failed) {
            return false;
        }
        core.main.read().n_rows_in_memory() as u64 > n_rows
    }
}
