//! A filesystem that fails when it is told to, for tests of those who use one.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use parking_lot::Mutex;
use tokio::time;

use crate::{
    error::{FsCode, FsError, Op},
    file_system::FileSystem,
    guarded_fs::{FsGuard, GuardedCall, GuardedFs},
};

/// A filesystem that fails when it is told to. See [`FaultFs::inject`].
pub type FaultFs = GuardedFs<FaultSchedule>;

/// One thing that is to go wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FsFault {
    /// Which calls are meant; without it, all.
    pub op: Option<Op>,
    /// How many of those pass unharmed first.
    pub skip: u64,
    /// How many are harmed then.
    pub times: u64,
    /// What the call answers; without it, what it would have answered.
    pub code: Option<FsCode>,
    /// Whether it answers so although it was done: as when the answer is lost on the way.
    pub done: bool,
    /// How long the call is held up.
    pub delay: Option<Duration>,
}

/// The faults that are to come, and the calls that were made.
#[derive(Debug, Default)]
pub struct FaultSchedule {
    state: Mutex<FaultState>,
}

#[derive(Debug, Default)]
struct FaultState {
    faults: Vec<FsFault>,
    calls: Vec<Op>,
}

impl FsFault {
    /// Makes every call of `op` fail.
    pub fn every(op: Op, code: FsCode) -> Self {
        let (op, code) = (Some(op), Some(code));
        Self { op, skip: 0, times: u64::MAX, code, done: false, delay: None }
    }

    /// Makes the `n`-th call from now on fail, whatever it is; the next is the first.
    pub fn nth(n: u64, code: FsCode) -> Self {
        Self { op: None, skip: n.saturating_sub(1), times: 1, ..Self::every(Op::Open, code) }
    }

    /// Holds every call of `op` up.
    pub fn slow(op: Op, delay: Duration) -> Self {
        Self { code: None, delay: Some(delay), ..Self::every(op, FsCode::EIO) }
    }

    fn means(&self, op: Op) -> bool {
        self.op.is_none_or(|meant| meant == op)
    }
}

impl FaultFs {
    /// Wraps a filesystem, which works until told otherwise.
    pub fn wrap(inner: Arc<dyn FileSystem>) -> Self {
        Self::new(inner, FaultSchedule::default())
    }

    /// Adds something that is to go wrong. Of several that meet one call, the first counts.
    pub fn inject(&self, fault: FsFault) {
        self.guard().state.lock().faults.push(fault);
    }

    /// Takes all faults away.
    pub fn heal(&self) {
        self.guard().state.lock().faults.clear();
    }

    /// Returns the calls that were made until now, also those that failed.
    pub fn calls(&self) -> Vec<Op> {
        self.guard().state.lock().calls.clone()
    }
}

impl FaultSchedule {
    /// Counts a call, and returns the fault that meets it.
    fn meet(&self, op: Op) -> Option<FsFault> {
        let mut state = self.state.lock();
        state.calls.push(op);
        let mut met = None;
        for fault in state.faults.iter_mut().filter(|fault| fault.means(op)) {
            if fault.skip > 0 {
                fault.skip -= 1;
            } else if fault.times > 0 && met.is_none() {
                // `u64::MAX` is for ever.
                fault.times -= u64::from(fault.times < u64::MAX);
                met = Some(*fault);
            }
        }
        met
    }
}

#[async_trait]
impl FsGuard for FaultSchedule {
    async fn pass(&self, call: &GuardedCall<'_>) -> Result<Option<FsError>, FsError> {
        let Some(fault) = self.meet(call.op) else { return Ok(None) };
        if let Some(delay) = fault.delay {
            time::sleep(delay).await;
        }
        match fault.code.map(|code| call.refused(code)) {
            Some(error) if fault.done => Ok(Some(error)),
            Some(error) => Err(error),
            None => Ok(None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{conformance::script, memory::MemoryFs};

    fn faulty() -> (Arc<FaultFs>, Arc<dyn FileSystem>) {
        let fs = Arc::new(FaultFs::wrap(Arc::new(MemoryFs::new())));
        (fs.clone(), fs)
    }

    #[tokio::test]
    async fn every_call_of_a_kind_fails_until_healed() {
        let (faults, fs) = faulty();
        faults.inject(FsFault::every(Op::Write, FsCode::ENOSPC));
        script::check(&fs, "write /a x !! ENOSPC\nwrite /b x !! ENOSPC\nappend /c x")
            .await
            .unwrap();
        faults.heal();
        script::check(&fs, "write /a x\ncat /a => x").await.unwrap();
    }

    #[tokio::test]
    async fn nth_call_fails_and_no_other() {
        let (faults, fs) = faulty();
        faults.inject(FsFault::nth(3, FsCode::EIO));
        let mut session = script::ScriptRunner::new(fs);
        let mut failed = Vec::new();
        for at in 1..=5 {
            let outcome = session.run("write /a x").await.unwrap();
            failed.extend(outcome.err().map(|error| (at, error.to_string())));
        }
        assert_eq!(failed, [(3, "EIO: input/output error, write '/a'".to_owned())]);
        assert_eq!(faults.calls(), [Op::Write; 5]);
    }

    #[tokio::test]
    async fn answer_can_be_lost_after_the_work_is_done() {
        let (faults, fs) = faulty();
        let fault = FsFault { done: true, times: 1, ..FsFault::every(Op::Mkdir, FsCode::EIO) };
        faults.inject(fault);
        let mut session = script::ScriptRunner::new(fs);
        assert!(session.run("mkdir /d").await.unwrap().is_err());
        let again = session.run("mkdir /d").await.unwrap().unwrap_err();
        assert_eq!(again.code, FsCode::EEXIST);
    }

    #[tokio::test]
    async fn calls_can_be_held_up() {
        let (faults, fs) = faulty();
        let delay = Duration::from_millis(20);
        faults.inject(FsFault::slow(Op::Stat, delay));
        let start = time::Instant::now();
        script::check(&fs, "stat /").await.unwrap();
        assert!(start.elapsed() >= delay);
    }
}
