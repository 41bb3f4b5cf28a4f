//! Detection of appends by other handles.
//!
//! SQLite does not notify other processes of a commit, but `PRAGMA data_version` reports in a few
//! microseconds whether another connection has committed. So a waiting thread polls it: often while
//! appends arrive, and every 20 ms while none do. That is 0.25% of a core.

use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use rusqlite::Connection;

use super::{SqliteInner, location::StoreLocation, log, schema::store_error};
use crate::{Seq, StoreError};

const ACTION: &str = "wait for the log to grow";

/// The state by which one handle detects appends.
#[derive(Debug)]
pub(super) struct AppendWatch {
    poll: Mutex<WatchPoll>,
    /// The greatest head that any thread of this handle has seen.
    head: Mutex<u64>,
    /// Appends of this handle and the polling thread wake the waiting threads.
    grown: Condvar,
}

#[derive(Debug)]
struct WatchPoll {
    location: StoreLocation,
    /// Opened by the first thread that waits: most commands never wait.
    connection: Option<Connection>,
    version: Option<i64>,
    changed_at: Instant,
}

impl AppendWatch {
    pub(super) fn new(location: StoreLocation) -> Self {
        let changed_at = Instant::now();
        let poll = WatchPoll { location, connection: None, version: None, changed_at };
        Self { poll: Mutex::new(poll), head: Mutex::default(), grown: Condvar::new() }
    }

    /// Reports that the log has grown, and wakes waiting threads.
    pub(super) fn record_head(&self, head: u64) {
        let mut known = self.head.lock();
        *known = head.max(*known);
        self.grown.notify_all();
    }

    /// Wakes all waiting threads for another reason.
    pub(super) fn wake(&self) {
        self.grown.notify_all();
    }
}

impl SqliteInner {
    pub(super) fn wait(&self, after: Seq, timeout: Duration) -> Result<bool, StoreError> {
        let until = Instant::now() + timeout;
        loop {
            self.ensure_open()?;
            if *self.watch.head.lock() > after.0 {
                return Ok(true);
            }
            let pause = self.watch.poll.lock().check_growth(&self.watch)?;
            let mut head = self.watch.head.lock();
            if *head > after.0 {
                return Ok(true);
            }
            let now = Instant::now();
            if now >= until {
                return Ok(false);
            }
            self.watch.grown.wait_until(&mut head, until.min(now + pause));
        }
    }
}

impl WatchPoll {
    /// Checks whether the log has grown, and returns the delay until the next check.
    fn check_growth(&mut self, watch: &AppendWatch) -> Result<Duration, StoreError> {
        let connection = match &mut self.connection {
            Some(connection) => connection,
            none => none.insert(self.location.connect()?),
        };
        let version = log::data_version(connection).map_err(store_error(ACTION))?;
        if self.version != Some(version) {
            let head = log::head(connection).map_err(store_error(ACTION))?;
            self.version = Some(version);
            self.changed_at = Instant::now();
            watch.record_head(head);
        }
        let quiet = self.changed_at.elapsed();
        let pause_ms = match quiet.as_millis() {
            0..100 => 2,
            100..1000 => 5,
            1000..10_000 => 10,
            _ => 20,
        };
        Ok(Duration::from_millis(pause_ms))
    }
}
