//! The report of a mirror as it grows, and the notices to the owner of the directory.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
};

use crate::report::{ChangeCounts, MirrorNotice, MirrorReport, NoticeReason};

/// The maximum number of notices about completed events in a report.
const MAX_NOTICES: usize = 1_000;

/// A callback for notices to the owner of the directory.
pub(crate) type Notify = Box<dyn Fn(&MirrorNotice) + Send>;

/// The recorder of changes, skipped paths and failures.
pub(super) struct MirrorReporter {
    pub(super) report: MirrorReport,
    notify: Notify,
    /// The number of failures by path. A failed operation is retried in a later pass.
    failed: HashMap<PathBuf, u32>,
    /// The number of changes made on either side.
    n_done: u64,
}

impl MirrorReporter {
    pub(super) fn new(notify: Notify) -> Self {
        Self { report: MirrorReport::default(), notify, failed: HashMap::new(), n_done: 0 }
    }

    /// Returns the number of changes made on either side.
    pub(super) fn n_done(&self) -> u64 {
        self.n_done
    }

    /// Counts a change made in the workspace.
    pub(super) fn count_workspace(&mut self, count: impl FnOnce(&mut ChangeCounts)) {
        self.n_done += 1;
        count(&mut self.report.to_workspace);
    }

    /// Counts a change made in the directory.
    pub(super) fn count_directory(&mut self, count: impl FnOnce(&mut ChangeCounts)) {
        self.n_done += 1;
        count(&mut self.report.to_directory);
    }

    /// Records why an object is skipped, and notifies the subscribers once per reason.
    pub(super) fn skip(&mut self, path: &Path, why: NoticeReason) {
        if self.report.skipped.get(path) != Some(&why) {
            (self.notify)(&MirrorNotice { path: path.to_owned(), why: why.clone() });
            self.report.skipped.insert(path.to_owned(), why);
        }
    }

    /// Notifies the subscribers of a completed event.
    pub(super) fn notify_event(&mut self, path: &Path, why: NoticeReason) {
        let notice = MirrorNotice { path: path.to_owned(), why };
        (self.notify)(&notice);
        if self.report.notices.len() < MAX_NOTICES {
            self.report.notices.push(notice);
        }
    }

    /// Notes that an object is no longer skipped, and that operations on it succeed.
    pub(super) fn clear_skipped(&mut self, path: &Path) {
        self.report.skipped.remove(path);
        self.failed.remove(path);
    }

    /// Clears a path, unless its executable bit is what was skipped.
    pub(super) fn clear_skipped_unless_executable(&mut self, path: &Path) {
        if self.report.skipped.get(path) != Some(&NoticeReason::Executable) {
            self.clear_skipped(path);
        }
    }

    /// Forgets the failures that were reported: the next pass reports those that persist.
    pub(super) fn clear_failures(&mut self) {
        self.report.skipped.retain(|_, why| !matches!(why, NoticeReason::Failed(_)));
    }

    /// Notes that no path waits any more because of the rules of other writers.
    pub(super) fn clear_held(&mut self) {
        self.report.skipped.retain(|_, why| *why != NoticeReason::HeldByRules);
    }

    /// Counts a failure at a path, and returns the number of them.
    pub(super) fn count_failure(&mut self, path: &Path) -> u32 {
        let n_times = self.failed.entry(path.to_owned()).or_default();
        *n_times += 1;
        *n_times
    }
}
