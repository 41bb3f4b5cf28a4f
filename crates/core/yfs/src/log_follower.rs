//! The follower: a thread that applies records of other processes, and reports the sizes of idle
//! files.
//!
//! The thread has only a weak reference to the core, so it ends when the workspace is closed or its
//! last handle is dropped.

use std::{
    sync::{Arc, Weak},
    thread,
    time::{Duration, Instant},
};

use crate::{core::WorkspaceCore, freed_memory::return_freed_memory};

/// The longest wait for news, so that the thread notices the end of the workspace.
const WAIT: Duration = Duration::from_millis(250);

/// The least time between two applications of news: a burst of appends, also of this process,
/// causes few of them.
const BURST: Duration = Duration::from_millis(4);

/// The number of waits without news, 5 s, after which memory is given back. So long a document must
/// be unused to be unloaded then.
const REST_AFTER: u64 = 20;

/// The pause after an error of the store.
const REST_AFTER_ERROR: Duration = Duration::from_millis(500);

/// Starts the thread.
pub(crate) fn spawn(core: &Arc<WorkspaceCore>) {
    let weak = Arc::downgrade(core);
    thread::Builder::new()
        .name("yfs-follow".to_owned())
        .spawn(move || follow(&weak))
        .expect("the system has room for a thread");
}

fn follow(weak: &Weak<WorkspaceCore>) {
    let mut n_waits: u64 = 0;
    let mut applied_at = None;
    while let Some(core) = weak.upgrade() {
        if core.check_open().is_err() {
            return;
        }
        let store = core.store.clone();
        let after = core.tailed();
        drop(core);
        let waited = store.wait(after, WAIT);
        let Some(core) = weak.upgrade() else { return };
        if core.check_open().is_err() {
            return;
        }
        let done = match waited {
            Ok(true) => {
                let since = applied_at.map_or(BURST, |at: Instant| at.elapsed());
                thread::sleep(BURST.saturating_sub(since));
                n_waits = 0;
                let caught_up = core.catch_up().map(drop);
                applied_at = Some(Instant::now());
                caught_up
            }
            Ok(false) => {
                n_waits += 1;
                let done = core.upkeep();
                if n_waits == REST_AFTER {
                    core.rest();
                } else if n_waits.is_multiple_of(REST_AFTER) && core.unload_idle_documents() {
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
