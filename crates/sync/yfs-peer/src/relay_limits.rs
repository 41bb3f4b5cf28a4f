//! The limits of a relay.

use std::time::Duration;

use crate::{peer_key::PeerId, relay_message::RelayGroup, relay_name::RelayGroupTag};

/// What a relay spends on its peers.
#[derive(Debug, Clone)]
pub struct RelayLimits {
    /// The most registrations at once.
    pub max_peers: usize,
    /// The most registrations of one address (IPv6: of one network of 64 bits).
    pub max_peers_of_address: usize,
    /// The bytes per second that are passed on for each peer.
    pub bytes_of_peer: u64,
    /// The bytes per second that are passed on for all peers.
    pub bytes_of_all: u64,
    /// The attempts to register per second of each address.
    pub attempts_of_address: u64,
    /// The attempts to register per second of all addresses.
    pub attempts_of_all: u64,
    /// The most join codes that are offered at once.
    pub max_codes: usize,
    /// The most join codes that are offered from one address.
    pub max_codes_of_address: usize,
    /// The messages per second of joiners at each address.
    pub knocks_of_address: u64,
    /// The messages per second of joiners at all addresses.
    pub knocks_of_all: u64,
}

/// Which peers a relay serves: all, if both lists are empty.
#[derive(Debug, Default, Clone)]
pub struct RelayAllowList {
    /// Keys of peers.
    pub peers: Vec<PeerId>,
    /// Groups, which are the members of one workspace.
    pub groups: Vec<RelayGroupTag>,
}

impl Default for RelayLimits {
    fn default() -> Self {
        Self {
            max_peers: 1024,
            max_peers_of_address: 64,
            bytes_of_peer: 2 << 20,
            bytes_of_all: 16 << 20,
            attempts_of_address: 8,
            attempts_of_all: 200,
            max_codes: 256,
            max_codes_of_address: 8,
            knocks_of_address: 16,
            knocks_of_all: 400,
        }
    }
}

impl RelayAllowList {
    /// Reports whether the relay serves a peer.
    pub(crate) fn allows(&self, peer: PeerId, group: &RelayGroup) -> bool {
        let is_open = self.peers.is_empty() && self.groups.is_empty();
        is_open || self.peers.contains(&peer) || self.groups.iter().any(|known| known.0 == *group)
    }
}

/// Allows an amount per second, and as much at once as in one second.
#[derive(Debug, Clone)]
pub(crate) struct TokenBucket {
    rate: u64,
    /// The amount that is left, in millionths.
    left: u64,
    filled_at: Duration,
}

impl TokenBucket {
    /// Makes a full bucket.
    pub(crate) fn new(rate: u64, now: Duration) -> Self {
        Self { rate, left: rate.saturating_mul(MILLION), filled_at: now }
    }

    /// Takes an amount, if that much is left.
    pub(crate) fn take(&mut self, amount: u64, now: Duration) -> bool {
        let elapsed = now.saturating_sub(self.filled_at).as_micros();
        let elapsed = u64::try_from(elapsed).unwrap_or(u64::MAX);
        self.filled_at = self.filled_at.max(now);
        let full = self.rate.saturating_mul(MILLION);
        self.left = self.left.saturating_add(self.rate.saturating_mul(elapsed)).min(full);
        let rest = self.left.checked_sub(amount.saturating_mul(MILLION));
        self.left = rest.unwrap_or(self.left);
        rest.is_some()
    }

    /// Returns an amount that was taken in vain.
    pub(crate) fn put_back(&mut self, amount: u64) {
        let full = self.rate.saturating_mul(MILLION);
        self.left = self.left.saturating_add(amount.saturating_mul(MILLION)).min(full);
    }
}

const MILLION: u64 = 1_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_allows_its_rate_and_no_more() {
        let at = Duration::from_millis;
        let mut bucket = TokenBucket::new(100, at(0));
        assert!(bucket.take(60, at(0)));
        assert!(!bucket.take(60, at(0)));
        assert!(bucket.take(40, at(0)));
        assert!(!bucket.take(11, at(100)));
        assert!(bucket.take(10, at(100)));
        // It holds one second at most, and a clock that goes back adds nothing.
        assert!(!bucket.take(101, at(60_000)));
        assert!(bucket.take(100, at(60_000)));
        assert!(!bucket.take(1, at(1_000)));
        assert!(!bucket.take(1, at(60_000)));
        bucket.put_back(5);
        assert!(bucket.take(5, at(60_000)));
    }
}
