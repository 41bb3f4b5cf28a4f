//! Reports on how far a call has come, not more often than a person can read them.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use yfs_vfs::work_meter::WorkMeter;

use crate::tool::ProgressReceiver;

/// A report follows another one after this many objects, or after this time.
const REPORT_OBJECTS: u64 = 256;
const REPORT_INTERVAL: Duration = Duration::from_millis(250);

/// The meter of one call, which reports to the caller.
#[derive(Debug)]
pub(crate) struct CallProgress {
    receiver: Arc<dyn ProgressReceiver>,
    counts: Mutex<ProgressCounts>,
}

#[derive(Debug)]
struct ProgressCounts {
    n_done: u64,
    n_reported: u64,
    reported_at: Instant,
}

impl CallProgress {
    pub(crate) fn new(receiver: Arc<dyn ProgressReceiver>) -> Self {
        let counts = ProgressCounts { n_done: 0, n_reported: 0, reported_at: Instant::now() };
        Self { receiver, counts: Mutex::new(counts) }
    }
}

impl WorkMeter for CallProgress {
    fn count_objects(&self, n_objects: u64) {
        // Reported under the lock, so that the reports are in order.
        let mut counts = self.counts.lock();
        counts.n_done += n_objects;
        let n_new = counts.n_done - counts.n_reported;
        let is_due = n_new >= REPORT_OBJECTS
            || (n_new > 0 && counts.reported_at.elapsed() >= REPORT_INTERVAL);
        if is_due {
            counts.n_reported = counts.n_done;
            counts.reported_at = Instant::now();
            let message = format!("{} files and directories", counts.n_done);
            self.receiver.report_progress(counts.n_done, None, &message);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Default)]
    struct Reports(Mutex<Vec<u64>>);

    impl ProgressReceiver for Reports {
        fn report_progress(&self, done: u64, _: Option<u64>, _: &str) {
            self.0.lock().push(done);
        }
    }

    #[test]
    fn reports_are_rare_and_grow() {
        let reports = Arc::new(Reports::default());
        let progress = CallProgress::new(reports.clone());
        for _ in 0..10_000 {
            progress.count_objects(1);
        }
        let seen = reports.0.lock().clone();
        assert!(seen.is_sorted_by(|a, b| a < b), "{seen:?}");
        // Only a slow machine reports between the steps of 256.
        assert!(seen.len() >= 39 && seen.len() < 500, "{seen:?}");
        assert!(seen.last().is_some_and(|last| *last > 10_000 - REPORT_OBJECTS), "{seen:?}");
    }
}
