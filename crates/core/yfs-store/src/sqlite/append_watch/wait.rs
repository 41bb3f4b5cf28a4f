//! Waiting for an append.

use std::time::{Duration, Instant};

use crate::{Seq, StoreError, sqlite::log::SqliteLog};

impl SqliteLog {
    pub(in crate::sqlite) fn wait(
        &self,
        after: Seq,
        timeout: Duration,
    ) -> Result<bool, StoreError> {
        let until = Instant::now() + timeout;
        loop {
            self.shared.ensure_open()?;
            let growth = &self.watch.growth;
            if growth.known.lock().head > after.0 {
                return Ok(true);
            }
            let n_writes = growth.n_writes();
            let pause = self.watch.poll.lock().check_growth(growth)?;
            let mut known = growth.known.lock();
            if known.head > after.0 {
                return Ok(true);
            }
            let now = Instant::now();
            if now >= until {
                return Ok(false);
            }
            if known.n_writes == n_writes {
                growth.grown.wait_until(&mut known, until.min(now + pause));
            }
        }
    }

    /// Returns the version of the database that the polling connection has seen. That connection
    /// makes no commits, so each one changes the version.
    pub(in crate::sqlite) fn commit_stamp(&self) -> Result<Option<i64>, StoreError> {
        self.shared.ensure_open()?;
        let mut poll = self.watch.poll.lock();
        poll.check_growth(&self.watch.growth)?;
        Ok(poll.version)
    }
}
