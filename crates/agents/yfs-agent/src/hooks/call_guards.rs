//! Guards that see each call before it is made.

use std::{fmt, sync::Arc, time::Duration};

use async_trait::async_trait;
use parking_lot::Mutex;
use thiserror::Error;
use yfs_vfs::{
    FsCode, FsError, Op,
    guarded_fs::{FsGuard, GuardedCall},
};

/// One call that is about to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct AuditedCall {
    /// The operation.
    pub op: Op,
    /// The path, if the operation has one.
    pub path: Option<String>,
    /// The second path, if the operation has two.
    pub dest: Option<String>,
    /// Whether the call may write.
    pub writes: bool,
}

/// A guard that reports each call to a function before it is made.
pub struct CallAuditor {
    record: Box<dyn Fn(AuditedCall) + Send + Sync>,
}

/// The time since some moment, which never decreases.
pub(crate) type MonotonicClock = Arc<dyn Fn() -> Duration + Send + Sync>;

/// A guard that lets calls through at a rate: a bucket of tokens, each call takes one, and the
/// bucket is refilled evenly up to its size.
pub struct CallRateLimit {
    clock: MonotonicClock,
    interval: Duration,
    burst: u32,
    writes_only: bool,
    /// The time at which the bucket is full, which says how many tokens it has.
    full_at: Mutex<Duration>,
}

/// The cause of an `EBUSY` of a [`CallRateLimit`]. The call was not made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("too many calls; the next is possible in {retry_after:?}")]
pub struct RateExceeded {
    /// The time until the next call would be let through.
    pub retry_after: Duration,
}

impl CallAuditor {
    /// Makes a guard that calls `record`.
    pub fn new(record: impl Fn(AuditedCall) + Send + Sync + 'static) -> Self {
        Self { record: Box::new(record) }
    }
}

impl fmt::Debug for CallAuditor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallAuditor").finish_non_exhaustive()
    }
}

#[async_trait]
impl FsGuard for CallAuditor {
    async fn check_call(&self, call: &GuardedCall<'_>) -> Result<Option<FsError>, FsError> {
        let (path, dest) = (call.path.map(str::to_owned), call.dest.map(str::to_owned));
        (self.record)(AuditedCall { op: call.op, path, dest, writes: call.writes });
        Ok(None)
    }
}

impl CallRateLimit {
    /// Makes a limit of `per_second` calls; up to `burst` may come at once. Both count as 1 if they
    /// are 0.
    pub fn new(per_second: u32, burst: u32, clock: MonotonicClock) -> Self {
        let interval = Duration::from_secs(1) / per_second.max(1);
        let full_at = Mutex::new(clock());
        Self { clock, interval, burst: burst.max(1), writes_only: false, full_at }
    }

    /// Lets all calls through that only read.
    #[must_use]
    pub fn for_writes(self) -> Self {
        Self { writes_only: true, ..self }
    }

    /// Takes a token, or returns the time until there is one.
    fn take_token(&self) -> Result<(), RateExceeded> {
        let now = (self.clock)();
        let mut full_at = self.full_at.lock();
        let after = (*full_at).max(now) + self.interval;
        let latest = now + self.interval * self.burst;
        if after > latest {
            return Err(RateExceeded { retry_after: after - latest });
        }
        *full_at = after;
        Ok(())
    }
}

impl fmt::Debug for CallRateLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("CallRateLimit");
        shown.field("interval", &self.interval).field("burst", &self.burst).finish_non_exhaustive()
    }
}

#[async_trait]
impl FsGuard for CallRateLimit {
    async fn check_call(&self, call: &GuardedCall<'_>) -> Result<Option<FsError>, FsError> {
        if self.writes_only && !call.writes {
            return Ok(None);
        }
        let taken = self.take_token();
        taken.map_err(|exceeded| call.refused(FsCode::EBUSY).caused_by(exceeded))?;
        Ok(None)
    }
}
