//! When a workspace makes checkpoints, and when it must not trust or keep them.

use std::sync::atomic::Ordering;

use yfs_store::StoreError;

use super::{CheckpointHome, n_changes};
use crate::{error::Result, search, state::WorkspaceState};

impl WorkspaceState {
    /// Makes a checkpoint of the rows and of the index of the log, of each if enough was written
    /// since the last one.
    pub(crate) fn checkpoint_due(&self) -> Result<()> {
        if self.check_writable().is_err() {
            return Ok(());
        }
        let after = self.options.checkpoint_after;
        // Each is tried even if another fails.
        let log_made = self.store.checkpoint(after).map(drop);
        let rows_made = self.checkpoint_rows_due(after);
        let search_made = self.index_due();
        log_made?;
        rows_made?;
        search_made
    }

    fn checkpoint_rows_due(&self, after: u64) -> Result<()> {
        let Some(home) = &self.checkpoint else { return Ok(()) };
        if home.is_due(after) {
            home.has_failed.store(false, Ordering::Relaxed);
        }
        // A process that follows the log serves others, which would wait.
        if self.holds_too_many_rows() || !self.options.follow && home.is_due(after) {
            self.checkpoint_live()?;
        }
        home.make_due(after)
    }

    /// Notes that a record of the main document was read or written after the checkpoint.
    pub(crate) fn note_uncovered(&self, update: &[u8]) {
        if let Some(home) = &self.checkpoint {
            home.note_uncovered(n_changes(1, update.len() as u64));
        }
    }

    /// Removes the checkpoint and all else that is derived from contents, because the log lost
    /// records on purpose.
    pub(crate) fn discard_checkpoint(&self) -> Result<(), StoreError> {
        search::discard(&self.store)?;
        self.discard_thumbnails()?;
        self.checkpoint.as_ref().map_or(Ok(()), CheckpointHome::discard)
    }

    fn discard_thumbnails(&self) -> Result<(), StoreError> {
        let Some(directory) = self.store.derived_directory() else { return Ok(()) };
        match std::fs::remove_dir_all(directory.path().join(crate::fs::rooted::THUMBNAIL_DIRECTORY))
        {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(StoreError::io("remove the thumbnails", error))
            }
            _ => Ok(()),
        }
    }

    /// Erases removed content from all files of the store, and with it the checkpoint, which may
    /// have it.
    pub(crate) fn wipe(&self) -> Result<(), StoreError> {
        self.discard_checkpoint()?;
        self.store.wipe()
    }

    /// Reports whether the main document read from a damaged checkpoint what is not certain, so
    /// that it must be [replaced](Self::replace_main) before its next use.
    pub(crate) fn must_replace_main(&self) -> bool {
        self.checkpoint.as_ref().is_some_and(|home| home.must_replace.load(Ordering::Acquire))
    }
}
