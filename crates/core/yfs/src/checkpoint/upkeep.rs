//! When a workspace makes checkpoints of its main document.

use std::sync::atomic::Ordering;

use super::{MainCheckpoints, n_changes};
use crate::{core::WorkspaceCore, error::Result, feature::WorkspaceFeature};

/// The number of rows that stay in memory while a workspace rests: so many are read back in 5 ms.
const RESTING_ROWS: u64 = 1024;

impl MainCheckpoints {
    /// Makes a checkpoint of the log and of the rows, of each if enough was written since the last
    /// one.
    pub(crate) fn make_due(&self, core: &WorkspaceCore) -> Result<()> {
        if core.check_writable().is_err() {
            return Ok(());
        }
        let after = core.options.checkpoint_after;
        // The second is tried even if the first fails.
        let log_made = core.store.checkpoint(after).map(drop);
        let rows_made = self.make_rows_due(core, after);
        log_made?;
        rows_made
    }

    fn make_rows_due(&self, core: &WorkspaceCore, after: u64) -> Result<()> {
        let Some(home) = &self.home else { return Ok(()) };
        if home.is_due(after) {
            home.has_failed.store(false, Ordering::Relaxed);
        }
        // A process that follows the log serves others, which would wait.
        if self.holds_too_many_rows(core) || !core.options.follow && home.is_due(after) {
            self.checkpoint_live(core)?;
        }
        home.make_due(after)
    }
}

impl WorkspaceFeature for MainCheckpoints {
    fn main_logged(&self, _core: &WorkspaceCore, update: &[u8], _is_own: bool) {
        if let Some(home) = &self.home {
            home.note_uncovered(n_changes(1, update.len() as u64));
        }
    }

    fn main_replaced(&self) {
        if let Some(home) = &self.home {
            *home.in_use.lock() = None;
            home.request();
        }
    }

    fn upkeep(&self, core: &WorkspaceCore) -> Result<()> {
        self.make_due(core)
    }

    fn rest(&self, core: &WorkspaceCore) {
        if core.check_writable().is_ok() && self.holds_more_rows_than(core, RESTING_ROWS) {
            self.checkpoint_live(core).ok();
        }
    }

    fn last_upkeep(&self, core: &WorkspaceCore) {
        self.make_due(core).ok();
    }
}
