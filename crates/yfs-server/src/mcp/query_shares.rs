//! The shares of credentials in the queries that run.

use std::collections::HashMap;

use parking_lot::Mutex;
use yfs_agent::json_query::QueryShare;

/// How many queries of one token run at once.
const MAX_QUERIES: usize = 2;

/// The most tokens whose shares are kept. Beyond it, all begin with fresh ones.
const MAX_SHARES: usize = 4096;

/// The shares of all tokens that have opened a session.
#[derive(Debug, Default)]
pub(crate) struct QueryShares(Mutex<HashMap<String, QueryShare>>);

impl QueryShares {
    /// Returns the share of a grant, by its id.
    pub(crate) fn of(&self, grant: &str) -> QueryShare {
        let mut shares = self.0.lock();
        if shares.len() >= MAX_SHARES && !shares.contains_key(grant) {
            shares.clear();
        }
        let share = shares.entry(grant.to_owned());
        share.or_insert_with(|| QueryShare::new(MAX_QUERIES)).clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_sessions_of_a_token_have_one_share() {
        let shares = QueryShares::default();
        assert_eq!(shares.of("a"), shares.of("a"));
        assert_ne!(shares.of("a"), shares.of("b"));
    }
}
