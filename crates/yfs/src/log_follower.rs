//! The follower: a thread that takes in what other processes log, and reports what rests.
//!
//! It holds the workspace weakly, so that it ends when the last handle goes; closing wakes it.

use std::{
    sync::{Arc, Weak},
    thread,
    time::Duration,
};

use crate::{error::Result, state::WorkspaceState};

/// How long one wait for news lasts at most, so that the end of the workspace is noticed.
const WAIT: Duration = Duration::from_millis(250);

/// How long news are collected before they are taken in.
const BURST: Duration = Duration::from_millis(4);

/// How long to rest after the store failed.
const REST_AFTER_ERROR: Duration = Duration::from_millis(500);

impl WorkspaceState {
    /// Does what is due while the log rests. No part of it waits for another to succeed.
    fn upkeep(&self) -> Result<()> {
        let reported = self.report_rested();
        self.compact_due()?;
        reported
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
                // Our own appends wake us, too: a burst of them is one look.
                thread::sleep(BURST);
                state.catch_up().map(drop)
            }
            Ok(false) => state.upkeep(),
            Err(error) => Err(error.into()),
        };
        // Nobody waits for this thread; a call that meets the same failure reports it.
        if done.is_err() {
            thread::sleep(REST_AFTER_ERROR);
        }
    }
}
