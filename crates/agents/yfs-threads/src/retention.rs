//! Retention: which threads are deleted because of their age, or for room.

use std::time::Duration;

use yfs_types::time::Millis;
use yfs_vfs::{FsCode, FsError, Op};

use crate::threads::{ThreadError, ThreadInfo, Threads};

/// Which threads are kept.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct RetentionPolicy {
    /// Threads that did not change for longer are deleted.
    pub max_age: Option<Duration>,
    /// While all threads together have more bytes, the one that changed the longest time ago is
    /// deleted.
    pub max_bytes: Option<u64>,
    /// Whether archived threads are deleted too. If not, they do not count.
    pub archived: bool,
    /// Whether threads are only listed, and none is deleted.
    pub dry_run: bool,
}

/// The reason why a thread is deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum RemovalReason {
    /// It did not change for too long.
    Age,
    /// All threads together have too many bytes.
    Size,
}

/// A thread that was deleted, or would be.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct RemovedThread {
    /// The thread as it was.
    pub info: ThreadInfo,
    /// Why it is deleted.
    pub reason: RemovalReason,
}

/// What a retention did, or would do.
#[derive(Debug, Default, Clone, PartialEq)]
#[non_exhaustive]
pub struct RetentionReport {
    /// The threads that are deleted, the one that changed the longest time ago first.
    pub removed: Vec<RemovedThread>,
    /// The number of threads that stay.
    pub n_kept: usize,
    /// The bytes of those.
    pub kept_bytes: u64,
}

impl RemovalReason {
    /// Returns the word for it: `age` or `size`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Age => "age",
            Self::Size => "size",
        }
    }
}

impl RetentionPolicy {
    /// Decides which threads go, without I/O. Equal times are ordered by id.
    pub(crate) fn plan(&self, mut infos: Vec<ThreadInfo>, now: Millis) -> RetentionReport {
        infos.sort_by(|a, b| (a.changed, &a.id).cmp(&(b.changed, &b.id)));
        let mut report = RetentionReport {
            kept_bytes: infos.iter().map(|info| info.totals.n_bytes).sum(),
            ..RetentionReport::default()
        };
        for info in infos {
            let age = u128::try_from(now.0.saturating_sub(info.changed.0)).unwrap_or(0);
            let is_old = self.max_age.is_some_and(|max| age > max.as_millis());
            let is_over = self.max_bytes.is_some_and(|max| report.kept_bytes > max);
            let reason = match (is_old, is_over) {
                (true, _) => RemovalReason::Age,
                // An empty thread makes no room.
                (_, true) if info.totals.n_bytes > 0 => RemovalReason::Size,
                _ => {
                    report.n_kept += 1;
                    continue;
                }
            };
            report.kept_bytes -= info.totals.n_bytes;
            report.removed.push(RemovedThread { info, reason });
        }
        report
    }
}

impl Threads {
    /// Moves to the trash the threads that a policy does not keep; with
    /// [`dry_run`](RetentionPolicy::dry_run), only reports them. A thread that changes while the
    /// call runs is kept.
    ///
    /// # Errors
    ///
    /// If the workspace fails. Threads that are gone by then stay in the trash. Fails with `EACCES`
    /// if the calls are confined to one thread or a part of it; then nothing is deleted.
    pub async fn prune(
        &self,
        policy: &RetentionPolicy,
        now: Millis,
    ) -> Result<RetentionReport, ThreadError> {
        if !self.is_above_threads() {
            return Err(FsError::new(FsCode::EACCES, Op::Rm, self.directory()).into());
        }
        let mut report = policy.plan(self.list(policy.archived).await?, now);
        if policy.dry_run {
            return Ok(report);
        }
        let mut removed = Vec::new();
        for thread in std::mem::take(&mut report.removed) {
            let is_same = match self.info(&thread.info.id).await {
                Ok(info) => info == thread.info,
                Err(ThreadError::Missing(_)) => continue,
                Err(error) => return Err(error),
            };
            if is_same {
                self.delete(&thread.info.id).await?;
                removed.push(thread);
            } else {
                report.n_kept += 1;
                report.kept_bytes += thread.info.totals.n_bytes;
            }
        }
        report.removed = removed;
        Ok(report)
    }
}
