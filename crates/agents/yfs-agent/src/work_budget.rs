//! The budget of heavy work: how much of it a process does at once, and each of its callers, by
//! number and by memory.
//!
//! Queries, statistics, contexts, thumbnails and artifacts draw on it, whichever route or tool they
//! come by. What finds the budget used up waits; a caller that stops waiting leaves nothing behind.

use std::sync::{Arc, LazyLock};

use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

/// What a process does at once.
const OF_PROCESS: WorkLimits = WorkLimits { max_running: 8, max_mib: 4096 };

/// What one caller of a process that serves several does at once.
const OF_CALLER: WorkLimits = WorkLimits { max_running: 4, max_mib: 2048 };

/// The limits of a budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WorkLimits {
    /// The number of pieces of work that run at once.
    pub max_running: u32,
    /// The memory that they may take together, in MiB.
    pub max_mib: u32,
}

/// The memory that a piece of work may take, in MiB.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WorkCost {
    mib: u32,
}

/// A budget. What would exceed it waits for its turn.
#[derive(Debug)]
pub struct WorkBudget {
    limits: WorkLimits,
    running: Arc<Semaphore>,
    memory: Arc<Semaphore>,
    /// How many pieces of work wait.
    waiting: watch::Sender<usize>,
}

/// The share of one caller in the budget of a process.
#[derive(Debug, Clone)]
pub struct WorkShare {
    own: Arc<WorkBudget>,
    process: Arc<WorkBudget>,
}

/// Permission to work, until it is dropped.
#[derive(Debug)]
pub struct WorkPermit {
    held: Vec<OwnedSemaphorePermit>,
}

/// Counts a piece of work that waits, until it is dropped.
struct WaitingWork<'a>(&'a WorkBudget);

impl WorkCost {
    /// Statistics, a context or a thumbnail: hostile files take up to 430 MiB.
    pub const ANALYSIS: Self = Self { mib: 512 };

    /// Storing or reading an artifact.
    pub const ARTIFACT: Self = Self { mib: 256 };

    /// Returns the cost of work that takes so many bytes.
    pub fn of_bytes(n_bytes: u64) -> Self {
        Self { mib: u32::try_from(n_bytes.div_ceil(1 << 20)).unwrap_or(u32::MAX) }
    }
}

impl WorkBudget {
    /// Makes a budget.
    pub fn new(limits: WorkLimits) -> Arc<Self> {
        let semaphore = |n_permits: u32| Arc::new(Semaphore::new(n_permits as usize));
        let (running, memory) = (semaphore(limits.max_running), semaphore(limits.max_mib));
        Arc::new(Self { limits, running, memory, waiting: watch::Sender::new(0) })
    }

    /// Returns the budget of this process.
    pub fn of_process() -> Arc<Self> {
        static PROCESS: LazyLock<Arc<WorkBudget>> = LazyLock::new(|| WorkBudget::new(OF_PROCESS));
        PROCESS.clone()
    }

    /// Waits until work of a cost fits. Work that costs more than all there is runs alone.
    pub async fn admit(&self, cost: WorkCost) -> WorkPermit {
        let waiting = WaitingWork::new(self);
        let n_mib = cost.mib.min(self.limits.max_mib);
        // The semaphores are never closed.
        let running = self.running.clone().acquire_owned().await;
        let memory = self.memory.clone().acquire_many_owned(n_mib).await;
        drop(waiting);
        WorkPermit { held: running.into_iter().chain(memory).collect() }
    }

    /// Returns how many pieces of work wait, and follows that number.
    pub fn n_waiting(&self) -> watch::Receiver<usize> {
        self.waiting.subscribe()
    }

    /// Returns the limits.
    pub fn limits(&self) -> WorkLimits {
        self.limits
    }
}

impl WorkShare {
    /// Makes the share of another caller.
    pub fn in_budget(process: Arc<WorkBudget>) -> Self {
        Self { own: WorkBudget::new(OF_CALLER), process }
    }

    /// Waits until work of a cost fits. The share comes first: what waits for it holds nothing of
    /// others.
    pub async fn admit(&self, cost: WorkCost) -> WorkPermit {
        let own = self.own.admit(cost).await;
        let process = self.process.admit(cost).await;
        WorkPermit { held: own.held.into_iter().chain(process.held).collect() }
    }

    /// Waits until work fits into a caller's share, or without one into the budget of the process.
    pub async fn admit_within(share: Option<&Self>, cost: WorkCost) -> WorkPermit {
        match share {
            Some(share) => share.admit(cost).await,
            None => WorkBudget::of_process().admit(cost).await,
        }
    }
}

impl PartialEq for WorkShare {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.own, &other.own)
    }
}

impl Eq for WorkShare {}

impl<'a> WaitingWork<'a> {
    fn new(budget: &'a WorkBudget) -> Self {
        budget.waiting.send_modify(|n_waiting| *n_waiting += 1);
        Self(budget)
    }
}

impl Drop for WaitingWork<'_> {
    fn drop(&mut self) {
        self.0.waiting.send_modify(|n_waiting| *n_waiting -= 1);
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;

    use futures::{FutureExt, poll};

    use super::*;

    fn budget(max_running: u32, max_mib: u32) -> Arc<WorkBudget> {
        WorkBudget::new(WorkLimits { max_running, max_mib })
    }

    const MIB: u64 = 1 << 20;

    #[tokio::test]
    async fn work_waits_for_its_turn_by_number_and_by_memory() {
        for (budget, cost) in [(budget(2, 1_000), 1), (budget(9, 100), 50)] {
            let cost = WorkCost::of_bytes(cost * MIB);
            let first = budget.admit(cost).await;
            let _second = budget.admit(cost).await;
            let mut third = pin!(budget.admit(cost));
            assert!(poll!(&mut third).is_pending());
            assert_eq!(*budget.n_waiting().borrow(), 1);
            drop(first);
            assert!(poll!(&mut third).is_ready());
            assert_eq!(*budget.n_waiting().borrow(), 0);
        }
    }

    #[tokio::test]
    async fn a_caller_that_stops_waiting_leaves_nothing_behind() {
        let budget = budget(1, 10);
        let held = budget.admit(WorkCost::of_bytes(10 * MIB)).await;
        {
            let mut waits = pin!(budget.admit(WorkCost::of_bytes(MIB)));
            assert!(poll!(&mut waits).is_pending());
        }
        assert_eq!(*budget.n_waiting().borrow(), 0);
        drop(held);
        assert!(budget.admit(WorkCost::of_bytes(10 * MIB)).now_or_never().is_some());
    }

    #[tokio::test]
    async fn work_that_costs_more_than_there_is_runs_alone() {
        let budget = budget(9, 10);
        let alone = budget.admit(WorkCost::of_bytes(u64::MAX)).await;
        assert!(budget.admit(WorkCost::of_bytes(1)).now_or_never().is_none());
        drop(alone);
        assert!(budget.admit(WorkCost::of_bytes(1)).now_or_never().is_some());
    }

    #[tokio::test]
    async fn one_caller_leaves_room_for_others() {
        let process = WorkBudget::new(OF_PROCESS);
        let (greedy, other) =
            (WorkShare::in_budget(process.clone()), WorkShare::in_budget(process));
        let query = WorkCost::of_bytes(1024 * MIB);
        let mut held = Vec::new();
        while let Some(permit) = greedy.admit(query).now_or_never() {
            held.push(permit);
        }
        assert_eq!(held.len(), 2);
        // However much of it waits, it holds nothing of the process.
        let mut waits = pin!(greedy.admit(query));
        assert!(poll!(&mut waits).is_pending());
        let others = [other.admit(query).now_or_never(), other.admit(query).now_or_never()];
        assert!(others.iter().all(Option::is_some));
    }
}
