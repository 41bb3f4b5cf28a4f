//! The shares of credentials in the heavy work that a server does at once.

use std::{collections::HashMap, sync::Arc};

use parking_lot::Mutex;
use yfs_agent::work_budget::{WorkBudget, WorkShare};

/// The most tokens whose shares are kept. Beyond it, all begin with fresh ones.
const MAX_SHARES: usize = 4096;

/// The budget of a server, and the shares of all tokens that have drawn on it.
#[derive(Debug)]
pub(crate) struct WorkShares {
    budget: Arc<WorkBudget>,
    shares: Mutex<HashMap<String, WorkShare>>,
}

impl WorkShares {
    pub(crate) fn new(budget: Arc<WorkBudget>) -> Self {
        Self { budget, shares: Mutex::default() }
    }

    /// Returns the share of a grant, by its id.
    pub(crate) fn of(&self, grant: &str) -> WorkShare {
        let mut shares = self.shares.lock();
        if shares.len() >= MAX_SHARES && !shares.contains_key(grant) {
            shares.clear();
        }
        let share = shares.entry(grant.to_owned());
        share.or_insert_with(|| WorkShare::in_budget(self.budget.clone())).clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_requests_of_a_token_have_one_share() {
        let shares = WorkShares::new(WorkBudget::of_process());
        assert_eq!(shares.of("a"), shares.of("a"));
        assert_ne!(shares.of("a"), shares.of("b"));
    }
}
