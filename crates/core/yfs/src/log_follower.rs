//! The follower: a thread that applies records of other processes, and reports the sizes of idle
//! files.
//!
//! The thread has only a weak reference to the workspace, so it ends when the last handle is
//! dropped. Closing the workspace wakes it.

use std::{
    sync::{Arc, Weak},
    thread,
    time::{Duration, Instant},
};

use crate::{error::Result, freed_memory::return_freed_memory, state::WorkspaceState};

/// The longest wait for news, so that the thread notices the end of the workspace.
const WAIT: Duration = Duration::from_millis(250);

/// The least time between two applications of news: a burst of appends, also of this process,
/// causes few of them.
const BURST: Duration = Duration::from_millis(4);

/// The number of waits without news, 5 s, after which memory is given back. So long a document must
/// be unused to be unloaded then.
const REST_AFTER: u64 = 20;

/// The number of rows that stay in memory then: so many are read back in 5 ms.
const RESTING_ROWS: u64 = 1024;

/// The bytes of documents that stay in memory then, used or not.
const RESTING_DOCUMENT_BYTES: u64 = 4 << 20;

/// The pause after an error of the store.
const REST_AFTER_ERROR: Duration = Duration::from_millis(500);

impl WorkspaceState {
    /// Does the upkeep that is due while the log is idle. Each part runs even if another fails.
    fn upkeep(&self) -> Result<()> {
        let reported = self.report_rested();
        let made = self.checkpoint_due();
        let compacted = self.compact_due();
        let expired = if self.options.read_only { Ok(()) } else { self.expire_parked_due() };
        reported.and(made).and(compacted).and(expired)
    }

    /// Gives back memory that was needed for what has just happened: an exchange of a whole
    /// workspace, or a directory that was written.
    pub(crate) fn rest(&self) {
        if self.check_writable().is_ok() && self.holds_more_rows_than(RESTING_ROWS) {
            self.checkpoint_live().ok();
        }
        self.unload_idle_documents();
        self.store.release_memory();
        return_freed_memory();
    }

    fn unload_idle_documents(&self) -> bool {
        self.documents.unload_idle(RESTING_DOCUMENT_BYTES)
    }
}

/// Starts the thread.
pub(crate) fn spawn(state: &Arc<WorkspaceState>) {
    let weak = Arc::downgrade(state);
    thread::Builder::new()
        .name("yfs-follow".to_owned())
        .spawn(move || follow(&weak))
        .expect("the system has room for a thread");
}

fn follow(weak: &Weak<WorkspaceState>) {
    let mut n_waits: u64 = 0;
    let mut applied_at = None;
    while let Some(state) = weak.upgrade() {
        if state.check_open().is_err() {
            return;
        }
        let store = state.store.clone();
        let after = state.tailed();
        drop(state);
        let waited = store.wait(after, WAIT);
        let Some(state) = weak.upgrade() else { return };
        if state.check_open().is_err() {
            return;
        }
        let done = match waited {
            Ok(true) => {
                let since = applied_at.map_or(BURST, |at: Instant| at.elapsed());
                thread::sleep(BURST.saturating_sub(since));
                n_waits = 0;
                let caught_up = state.catch_up().map(drop);
                applied_at = Some(Instant::now());
                caught_up
            }
            Ok(false) => {
                n_waits += 1;
                let done = state.upkeep();
                if n_waits == REST_AFTER {
                    state.rest();
                } else if n_waits.is_multiple_of(REST_AFTER) && state.unload_idle_documents() {
                    // Reading is no news, but takes memory.
                    return_freed_memory();
                }
                done
            }
            Err(error) => Err(error.into()),
        };
        // This thread has no caller; a call that meets the same failure reports it.
        if done.is_err() {
            thread::sleep(REST_AFTER_ERROR);
        }
    }
}
