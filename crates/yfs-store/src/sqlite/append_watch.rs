//! Detection of appends by other handles.
//!
//! SQLite does not notify other processes of a commit, so a waiting thread polls: often while
//! appends arrive, and every 20 ms while none do.
//!
//! `PRAGMA data_version` reports whether another connection has committed, but takes and releases a
//! lock of the shared memory file: 50 to 100 microseconds, which after each keystroke summed up to
//! 70 ms. Every commit writes to the write-ahead log, so its length and the time of its last change
//! are looked up first, which takes two microseconds. Two commits may have the same time if they
//! follow each other closely. So a time counts as final only if it was past when it was read.

use std::{
    fs,
    path::PathBuf,
    time::{Duration, Instant, SystemTime},
};

use parking_lot::{Condvar, Mutex};
use rusqlite::Connection;

use super::{
    SqliteInner,
    location::{StoreLocation, beside},
    log,
    schema::store_error,
};
use crate::{Seq, StoreError};

const ACTION: &str = "wait for the log to grow";

/// How long before now a file was last changed if its time will not be that of a later change. The
/// clock of filesystems goes in steps of 1 to 10 ms.
const FINAL_AFTER: Duration = Duration::from_millis(100);

/// The longest time without a query of the database: a writer that is stopped between its write to
/// the log file and the end of its commit leaves the time as it is.
const MAX_UNCHECKED: Duration = Duration::from_millis(500);

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
    /// The write-ahead log.
    log_file: PathBuf,
    /// The log file before the last query of the database; `None` if that does not show whether it
    /// changes later.
    seen: Option<LogFileStamp>,
    checked_at: Instant,
    /// The number of queries of the database.
    n_checks: u64,
}

/// The length of the write-ahead log, and the time of its last change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct LogFileStamp {
    n_bytes: u64,
    modified: SystemTime,
}

impl AppendWatch {
    pub(super) fn new(location: StoreLocation) -> Self {
        let now = Instant::now();
        let poll = WatchPoll {
            log_file: beside(&location.path, "-wal"),
            location,
            connection: None,
            version: None,
            changed_at: now,
            seen: None,
            checked_at: now,
            n_checks: 0,
        };
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

impl SqliteInner {
    /// Returns the version of the database that the polling connection has seen. That connection
    /// makes no commits, so each one changes the version.
    pub(super) fn commit_stamp(&self) -> Result<Option<i64>, StoreError> {
        self.ensure_open()?;
        let mut poll = self.watch.poll.lock();
        poll.check_growth(&self.watch)?;
        Ok(poll.version)
    }
}

impl WatchPoll {
    /// Checks whether the log has grown, and returns the delay until the next check.
    fn check_growth(&mut self, watch: &AppendWatch) -> Result<Duration, StoreError> {
        // Read before the database: a commit in between changes it again.
        let stamp = LogFileStamp::read(&self.log_file);
        let is_same = stamp.is_some() && stamp == self.seen;
        if !is_same || self.checked_at.elapsed() >= MAX_UNCHECKED {
            self.check_database(watch)?;
            self.seen = stamp.filter(LogFileStamp::is_final);
        }
        let pause_ms = match self.changed_at.elapsed().as_millis() {
            0..100 => 2,
            100..1000 => 5,
            1000..10_000 => 10,
            _ => 20,
        };
        Ok(Duration::from_millis(pause_ms))
    }

    /// Checks by the database whether the log has grown.
    fn check_database(&mut self, watch: &AppendWatch) -> Result<(), StoreError> {
        self.n_checks += 1;
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
        self.checked_at = Instant::now();
        Ok(())
    }
}

impl LogFileStamp {
    fn read(path: &std::path::Path) -> Option<Self> {
        let metadata = fs::metadata(path).ok()?;
        Some(Self { n_bytes: metadata.len(), modified: metadata.modified().ok()? })
    }

    /// Reports whether a later change of the file has another time.
    fn is_final(&self) -> bool {
        SystemTime::now().duration_since(self.modified).is_ok_and(|age| age >= FINAL_AFTER)
    }
}

#[cfg(test)]
mod tests {
    use yfs_types::time::Millis;

    use super::*;
    use crate::{AppendBatch, DocName, LocalState, SqliteStore, Store, UpdateLog};

    /// Settings and blobs count, too, and so do the commits of this handle.
    #[test]
    fn every_commit_changes_the_stamp() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("workspace.db");
        let here = SqliteStore::create_new(&path).expect("a store");
        let there = SqliteStore::open(&path).expect("a second handle");
        let mut last = here.commit_stamp().expect("a stamp").expect("it is known");
        for round in 0..3 {
            for (number, store) in [&here, &there].into_iter().enumerate() {
                // The same value again would change no page, and SQLite would write nothing.
                store.set_meta("setting", &[round, number as u8]).expect("written");
                let stamp = here.commit_stamp().expect("a stamp").expect("it is known");
                assert_ne!(stamp, last);
                assert_eq!(here.commit_stamp().expect("a stamp"), Some(stamp));
                last = stamp;
            }
        }
    }

    /// Each query took 50 to 100 microseconds, and 700 of them followed each keystroke.
    #[test]
    fn a_log_at_rest_is_not_queried() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("workspace.db");
        let here = SqliteStore::create_new(&path).expect("a store");
        let there = SqliteStore::open(&path).expect("a second handle");
        let name = DocName::parse("4f7c2a9e1b3d5f0").expect("a name");
        let check = || {
            let watch = &here.inner.watch;
            let mut poll = watch.poll.lock();
            poll.check_growth(watch).expect("checked");
            (poll.n_checks, *watch.head.lock())
        };
        let begun = Instant::now();
        for round in 1..4 {
            let batch = AppendBatch::one(name.clone(), vec![7; 10], Millis(round));
            let last = there.append(batch).expect("appended").last;
            assert_eq!(check().1, last.0, "what another handle appended is seen by the next check");
            // Until the time of the file is past: then most checks do not ask the database.
            loop {
                let (n_before, n_after) = (check().0, (0..100).map(|_| check().0).max());
                if n_after <= Some(n_before + 1) {
                    break;
                }
                assert!(begun.elapsed() < Duration::from_secs(120), "it is asked each time");
                std::thread::sleep(Duration::from_millis(5));
            }
        }
    }
}
