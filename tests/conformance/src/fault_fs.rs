//! A filesystem with injected faults, for tests of code that uses a filesystem.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use parking_lot::Mutex;
use tokio::time;
use yfs_vfs::{
    FileSystem, FsCode, FsError, Op,
    guarded_fs::{FsGuard, GuardedCall, GuardedFs},
};

/// A filesystem that fails on demand. Its [`guard`](GuardedFs::guard) takes the faults.
pub type FaultFs = GuardedFs<FaultSchedule>;

/// One injected fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FsFault {
    /// The operation that fails; every operation if absent.
    pub op: Option<Op>,
    /// The number of matching calls that succeed first.
    pub skip: u64,
    /// The number of calls that fail after that.
    pub times: u64,
    /// The error that the call returns; if absent, the call returns its own result.
    pub code: Option<FsCode>,
    /// Whether the operation is still performed, as when its response is lost.
    pub done: bool,
    /// The time by which the call is delayed.
    pub delay: Option<Duration>,
}

/// The pending faults, and the calls so far.
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
    /// Makes a fault that fails every call of `op`.
    pub fn every(op: Op, code: FsCode) -> Self {
        let (op, code) = (Some(op), Some(code));
        Self { op, skip: 0, times: u64::MAX, code, done: false, delay: None }
    }

    /// Makes a fault that fails the `n`-th call from now on, of any operation; 1 is the next call.
    pub fn nth(n: u64, code: FsCode) -> Self {
        Self { op: None, skip: n.saturating_sub(1), times: 1, ..Self::every(Op::Open, code) }
    }

    /// Makes a fault that delays every call of `op`.
    pub fn slow(op: Op, delay: Duration) -> Self {
        Self { code: None, delay: Some(delay), ..Self::every(op, FsCode::EIO) }
    }

    fn applies_to(&self, op: Op) -> bool {
        self.op.is_none_or(|own| own == op)
    }
}

/// Wraps a filesystem, without faults.
pub fn fault_fs(inner: Arc<dyn FileSystem>) -> FaultFs {
    GuardedFs::new(inner, FaultSchedule::default())
}

impl FaultSchedule {
    /// Adds a fault. If several match one call, the first applies.
    pub fn inject(&self, fault: FsFault) {
        self.state.lock().faults.push(fault);
    }

    /// Removes all faults.
    pub fn clear_faults(&self) {
        self.state.lock().faults.clear();
    }

    /// Returns the calls so far, including those that failed.
    pub fn calls(&self) -> Vec<Op> {
        self.state.lock().calls.clone()
    }

    /// Records a call, and returns the fault that applies to it.
    fn next_fault(&self, op: Op) -> Option<FsFault> {
        let mut state = self.state.lock();
        state.calls.push(op);
        let mut found = None;
        for fault in state.faults.iter_mut().filter(|fault| fault.applies_to(op)) {
            if fault.skip > 0 {
                fault.skip -= 1;
            } else if fault.times > 0 && found.is_none() {
                // `u64::MAX` means without end.
                fault.times -= u64::from(fault.times < u64::MAX);
                found = Some(*fault);
            }
        }
        found
    }
}

#[async_trait]
impl FsGuard for FaultSchedule {
    async fn check_call(&self, call: &GuardedCall<'_>) -> Result<Option<FsError>, FsError> {
        let Some(fault) = self.next_fault(call.op) else { return Ok(None) };
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
