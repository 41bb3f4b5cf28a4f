//! The follower: a thread that takes in what other processes log, and reports what rests.
//!
//! It holds the workspace weakly, so that it ends when the last handle goes; closing wakes it.

use std::{
    sync::{Arc, Weak},
    thread,
    time::Duration,
};

use crate::shared::Shared;

/// How long one wait for news lasts at most, so that the end of the workspace is noticed.
const WAIT: Duration = Duration::from_millis(250);

/// How long news are collected before they are taken in.
const BURST: Duration = Duration::from_millis(4);

/// How long to rest after the store failed.
const REST_AFTER_ERROR: Duration = Duration::from_millis(500);

/// Starts the thread.
pub(crate) fn spawn(shared: &Arc<Shared>) {
    let weak = Arc::downgrade(shared);
    thread::Builder::new()
        .name("yfs-follow".to_owned())
        .spawn(move || follow(&weak))
        .expect("the system has room for a thread");
}

fn follow(weak: &Weak<Shared>) {
    while let Some(shared) = weak.upgrade() {
        if shared.check_open().is_err() {
            return;
        }
        let store = shared.store.clone();
        let after = shared.tailed();
        drop(shared);
        let waited = store.wait(after, WAIT);
        let Some(shared) = weak.upgrade() else { return };
        if shared.check_open().is_err() {
            return;
        }
        let done = match waited {
            Ok(true) => {
                // Our own appends wake us, too: a burst of them is one look.
                thread::sleep(BURST);
                shared.catch_up().map(drop)
            }
            Ok(false) => shared.report_rested().and_then(|()| shared.compact_due()),
            Err(error) => Err(error.into()),
        };
        // Nobody waits for this thread; a call that meets the same failure reports it.
        if done.is_err() {
            thread::sleep(REST_AFTER_ERROR);
        }
    }
}
