//! Detection of appends by other handles.
//!
//! SQLite does not notify other processes of a commit. A waiting thread polls often while appends
//! arrive; while none do, the host reports when the write-ahead log is written ([`LogFileEvents`]).
//! On hosts without such reports the thread polls every 20 ms.
//!
//! `PRAGMA data_version` reports whether another connection has committed, but takes and releases a
//! lock of the shared memory file: 50 to 100 microseconds, which after each keystroke summed up to
//! 70 ms. Every commit writes to the write-ahead log, so its length and the time of its last change
//! are looked up first, which takes two microseconds. Two commits may have the same time if they
//! follow each other closely. So a time counts as final only if it was past when it was read.

mod wait;

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant, SystemTime},
};

use parking_lot::{Condvar, Mutex};
use rusqlite::Connection;

use super::{
    location::{StoreLocation, beside},
    log_file_events::LogFileEvents,
    log_head,
    store_error::store_error,
};
use crate::StoreError;

const ACTION: &str = "wait for the log to grow";

/// How long before now a file was last changed if its time will not be that of a later change. The
/// clock of filesystems goes in steps of 1 to 10 ms.
const FINAL_AFTER: Duration = Duration::from_millis(100);

/// The longest time without a query of the database: a writer that is stopped between its write to
/// the log file and the end of its commit leaves the time as it is.
const MAX_UNCHECKED: Duration = Duration::from_millis(500);

/// How long the host must have been silent if a commit that it did not report shows that its
/// reports do not arrive, and how late a report may be.
const SILENT_FOR: Duration = Duration::from_secs(5);
const REPORTED_WITHIN: Duration = Duration::from_secs(1);

/// The pause while the host reports writes: what it does not report is then seen so late.
const REPORTED_PAUSE: Duration = Duration::from_millis(250);

/// The state by which one handle detects appends.
#[derive(Debug)]
pub(super) struct AppendWatch {
    poll: Mutex<WatchPoll>,
    growth: Arc<Growth>,
}

/// What wakes the threads that wait.
#[derive(Debug, Default)]
pub(super) struct Growth {
    known: Mutex<KnownGrowth>,
    /// Appends of this handle, the polling thread and reports of the host wake the waiting threads.
    grown: Condvar,
}

#[derive(Debug, Default)]
struct KnownGrowth {
    /// The greatest head that any thread of this handle has seen.
    head: u64,
    /// How many writes of the log file the host has reported.
    n_writes: u64,
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
    /// The log file before the last query that saw a commit: if it is unchanged, no commit is under
    /// way.
    committed: Option<LogFileStamp>,
    checked_at: Instant,
    /// The number of queries of the database.
    n_checks: u64,
    reports: WriteReports,
}

/// Whether the host reports writes of the log file.
#[derive(Debug)]
struct WriteReports {
    events: Option<LogFileEvents>,
    /// How many there had been at the last check, and when one was new.
    n_writes: u64,
    last_at: Instant,
    /// When a commit was seen that the host had not reported.
    missed_at: Option<Instant>,
    /// Set once it is known that reports do not arrive.
    is_given_up: bool,
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
            committed: None,
            checked_at: now,
            n_checks: 0,
            reports: WriteReports::new(now),
        };
        Self { poll: Mutex::new(poll), growth: Arc::default() }
    }

    /// Reports that the log has grown, and wakes waiting threads.
    pub(super) fn record_head(&self, head: u64) {
        self.growth.record_head(head);
    }

    /// Wakes all waiting threads for another reason.
    pub(super) fn wake(&self) {
        self.growth.grown.notify_all();
    }
}

impl Growth {
    fn record_head(&self, head: u64) {
        let mut known = self.known.lock();
        known.head = head.max(known.head);
        self.grown.notify_all();
    }

    /// Reports that the log file was written.
    #[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "no host reports it"))]
    pub(super) fn record_write(&self) {
        self.known.lock().n_writes += 1;
        self.grown.notify_all();
    }

    pub(super) fn n_writes(&self) -> u64 {
        self.known.lock().n_writes
    }
}

impl WatchPoll {
    /// Checks whether the log has grown, and returns the delay until the next check.
    fn check_growth(&mut self, growth: &Arc<Growth>) -> Result<Duration, StoreError> {
        if self.reports.take_new(growth) {
            // A commit becomes visible after its writes: by the duration of a flush.
            self.changed_at = Instant::now();
        }
        // Read before the database: a commit in between changes it again.
        let stamp = LogFileStamp::read(&self.log_file);
        let is_same = stamp.is_some() && stamp == self.seen;
        if !is_same || self.checked_at.elapsed() >= MAX_UNCHECKED {
            if self.check_database(growth)? {
                self.committed = stamp;
            }
            self.seen = stamp.filter(LogFileStamp::is_final);
        }
        let is_under_way = stamp.is_none() || stamp != self.committed;
        let pause_ms = match self.changed_at.elapsed().as_millis() {
            0..100 => 2,
            100..1000 if is_under_way => 5,
            _ if self.reports.arrive(&self.log_file, growth) => return Ok(REPORTED_PAUSE),
            100..1000 => 5,
            1000..10_000 => 10,
            _ => 20,
        };
        Ok(Duration::from_millis(pause_ms))
    }

    /// Checks by the database whether the log has grown, and reports whether there was a commit.
    fn check_database(&mut self, growth: &Growth) -> Result<bool, StoreError> {
        self.n_checks += 1;
        let connection = match &mut self.connection {
            Some(connection) => connection,
            none => none.insert(self.location.connect()?),
        };
        let version = log_head::data_version(connection).map_err(store_error(ACTION))?;
        let is_changed = self.version != Some(version);
        if is_changed {
            let head = log_head::head(connection).map_err(store_error(ACTION))?;
            self.version = Some(version);
            self.changed_at = Instant::now();
            self.reports.note_commit();
            growth.record_head(head);
        }
        self.checked_at = Instant::now();
        Ok(is_changed)
    }
}

impl WriteReports {
    fn new(now: Instant) -> Self {
        Self { events: None, n_writes: 0, last_at: now, missed_at: None, is_given_up: false }
    }

    /// Reports whether the log file was written since the last call.
    fn take_new(&mut self, growth: &Growth) -> bool {
        let n_writes = growth.n_writes();
        let is_new = n_writes != self.n_writes;
        if is_new {
            (self.n_writes, self.last_at, self.missed_at) = (n_writes, Instant::now(), None);
        } else if self.missed_at.is_some_and(|at| at.elapsed() > REPORTED_WITHIN) {
            (self.events, self.is_given_up) = (None, true);
        }
        is_new
    }

    /// Notes that a commit was seen. One report may be of several that follow each other closely.
    fn note_commit(&mut self) {
        if self.events.is_some() && self.last_at.elapsed() > SILENT_FOR {
            self.missed_at.get_or_insert_with(Instant::now);
        }
    }

    /// Reports whether the next write is reported, and registers for that.
    fn arrive(&mut self, log_file: &Path, growth: &Arc<Growth>) -> bool {
        if self.is_given_up || self.missed_at.is_some() {
            return false;
        }
        match &mut self.events {
            Some(events) => {
                if !events.renew(log_file) {
                    self.events = None;
                }
            }
            none => {
                *none = LogFileEvents::start(log_file, growth);
                self.last_at = Instant::now();
                // What was written before the registration is not reported.
                return false;
            }
        }
        self.events.is_some()
    }
}

impl LogFileStamp {
    fn read(path: &Path) -> Option<Self> {
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
            let watch = &here.log.watch;
            let mut poll = watch.poll.lock();
            poll.check_growth(&watch.growth).expect("checked");
            (poll.n_checks, watch.growth.known.lock().head)
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

    /// Waits until a handle checks only four times per second.
    #[cfg(target_os = "linux")]
    fn wait_for_rest(store: &SqliteStore) {
        let begun = Instant::now();
        let watch = &store.log.watch;
        while watch.poll.lock().check_growth(&watch.growth).expect("checked") < REPORTED_PAUSE {
            assert!(begun.elapsed() < Duration::from_secs(120), "it polls");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_handle_at_rest_gets_a_report_of_each_commit() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("workspace.db");
        let here = SqliteStore::create_new(&path).expect("a store");
        let there = SqliteStore::open(&path).expect("a second handle");
        for round in 0..2_u8 {
            wait_for_rest(&here);
            let n_writes = here.log.watch.growth.n_writes();
            there.set_meta("setting", &[round]).expect("written");
            let begun = Instant::now();
            while here.log.watch.growth.n_writes() == n_writes {
                assert!(begun.elapsed() < Duration::from_secs(120), "no report");
                std::thread::sleep(Duration::from_millis(1));
            }
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_handle_whose_reports_do_not_arrive_polls() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("workspace.db");
        let here = SqliteStore::create_new(&path).expect("a store");
        let there = SqliteStore::open(&path).expect("a second handle");
        wait_for_rest(&here);
        let watch = &here.log.watch;
        let mut poll = watch.poll.lock();
        // A registration of another file: the log's writes are not reported.
        let other = dir.path().join("other");
        fs::write(&other, b"").expect("written");
        poll.reports.events = LogFileEvents::start(&other, &watch.growth);
        poll.reports.last_at -= 2 * SILENT_FOR;
        there.set_meta("setting", b"1").expect("written");
        poll.check_growth(&watch.growth).expect("checked");
        let missed_at = poll.reports.missed_at.as_mut().expect("the commit was not reported");
        *missed_at -= 2 * REPORTED_WITHIN;
        poll.check_growth(&watch.growth).expect("checked");
        assert!(poll.reports.is_given_up);
        assert!(poll.reports.events.is_none());
        poll.changed_at -= Duration::from_secs(60);
        assert_eq!(poll.check_growth(&watch.growth).expect("checked"), Duration::from_millis(20));
    }
}
