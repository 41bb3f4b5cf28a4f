//! When the files are read whose changes raise no event: superseded files, and files that programs
//! have open for writing.

use std::{
    collections::HashMap,
    ffi::OsStr,
    time::{Duration, Instant},
};

/// The minimum time that a superseded file is kept: while the mirror runs, and when it synchronizes
/// once.
const LINGER: Duration = Duration::from_secs(1);
const LINGER_ONCE: Duration = Duration::from_millis(50);

/// The first and the longest interval between two reads of a file that a program has open.
const POLL_FIRST: Duration = Duration::from_millis(250);
const POLL_LAST: Duration = Duration::from_secs(5);

/// The maximum rate, in bytes per second, at which files are read to find changes that raise no
/// event.
const POLL_RATE: u64 = 16 << 20;

/// The schedule of reading a file whose changes raise no event.
#[derive(Debug, Clone, Copy)]
pub(super) struct InodePoll {
    pub(super) next: Instant,
    interval: Duration,
}

/// The schedule of checking all superseded files.
#[derive(Debug, Default)]
pub(super) struct SupersededSchedule {
    pub(super) checks: HashMap<String, SupersededCheck>,
    /// Whether the mirror synchronizes both sides once and then ends.
    pub(super) is_once: bool,
}

/// The schedule of checking a superseded file.
#[derive(Debug, Clone)]
pub(super) struct SupersededCheck {
    /// When it lost its name, or last changed.
    pub(super) since: Instant,
    pub(super) poll: InodePoll,
    /// Its length and modification time when its bytes were known; none if later bytes could have
    /// the same.
    pub(super) seen: Option<(u64, i64)>,
}

impl Default for InodePoll {
    fn default() -> Self {
        Self { next: Instant::now(), interval: POLL_FIRST }
    }
}

impl InodePoll {
    /// Schedules the next read: soon after a change, and less often the longer the file is
    /// unchanged.
    pub(super) fn set_next(&mut self, is_changed: bool, size: u64) {
        let by_size = Duration::from_millis(size.saturating_mul(1_000) / POLL_RATE);
        let doubled = if is_changed { POLL_FIRST } else { self.interval * 2 };
        self.interval = doubled.min(POLL_LAST).max(by_size);
        self.next = Instant::now() + self.interval;
    }
}

impl Default for SupersededCheck {
    fn default() -> Self {
        let poll = InodePoll { next: Instant::now(), interval: POLL_FIRST };
        Self { since: Instant::now(), poll, seen: None }
    }
}

impl SupersededSchedule {
    /// Notes that a superseded file may have changed.
    pub(super) fn touch(&mut self, name: &OsStr) {
        if let Some(check) = name.to_str().and_then(|name| self.checks.get_mut(name)) {
            check.poll.next = Instant::now();
        }
    }

    /// Notes that all superseded files may have changed.
    pub(super) fn touch_all(&mut self) {
        self.checks.values_mut().for_each(|check| check.poll.next = Instant::now());
    }

    /// Returns when the next superseded file is due.
    pub(super) fn next_due(&self) -> Option<Instant> {
        self.checks.values().map(|check| check.poll.next).min()
    }

    /// Reports whether a superseded file must still be checked before the mirror may end.
    pub(super) fn must_wait(&self) -> bool {
        let is_recent = |check: &SupersededCheck| check.since.elapsed() < LINGER_ONCE;
        self.is_once && self.checks.values().any(is_recent)
    }

    /// Returns the minimum time that a superseded file is kept.
    pub(super) fn linger(&self) -> Duration {
        if self.is_once { LINGER_ONCE } else { LINGER }
    }

    /// Returns the files that are due to be checked.
    pub(super) fn due(&self) -> Vec<String> {
        let now = Instant::now();
        let due = self.checks.iter().filter(|(_, check)| check.poll.next <= now);
        due.map(|(name, _)| name.clone()).collect()
    }

    /// Schedules the first check of a file. `seen` is as in [`SupersededCheck`].
    pub(super) fn add(&mut self, name: String, seen: Option<(u64, i64)>) {
        let poll = InodePoll { next: Instant::now() + self.linger(), interval: POLL_FIRST };
        self.checks.insert(name, SupersededCheck { since: Instant::now(), poll, seen });
    }

    /// Returns the check of a file, which is scheduled if it was not.
    pub(super) fn check_of(&mut self, name: &str) -> &mut SupersededCheck {
        self.checks.entry(name.to_owned()).or_default()
    }
}
