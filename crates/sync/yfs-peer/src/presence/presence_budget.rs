//! How much presence one connection sends, and how much it accepts.
//!
//! The bounds differ so far that a peer that keeps the first never exceeds the second, also if a
//! network delivers at once what a peer sent within the 70 s after which a silent connection ends.

use std::time::Duration;

/// The bytes of a message for each point that it costs, besides one.
const BYTES_PER_POINT: usize = 2 << 10;

/// Points that are spent by messages and come back with time.
#[derive(Debug)]
pub(crate) struct PresenceBudget {
    /// In thousandths.
    points: u64,
    capacity: u64,
    per_second: u64,
    counted: Duration,
}

impl PresenceBudget {
    /// The budget of a sender: 128 messages at once, 32 a second.
    pub(crate) fn of_sender() -> Self {
        Self::new(128, 32)
    }

    /// The budget that a receiver grants.
    pub(crate) fn of_receiver() -> Self {
        Self::new(4096, 128)
    }

    fn new(capacity: u64, per_second: u64) -> Self {
        let capacity = capacity * 1000;
        Self { points: capacity, capacity, per_second, counted: Duration::ZERO }
    }

    /// Spends the points of a message of `len` bytes, if there are enough.
    pub(crate) fn spend(&mut self, len: usize, now: Duration) -> bool {
        let elapsed = now.saturating_sub(self.counted).as_millis();
        let elapsed = u64::try_from(elapsed).unwrap_or(u64::MAX);
        self.counted = self.counted.max(now);
        let earned = elapsed.saturating_mul(self.per_second);
        self.points = self.points.saturating_add(earned).min(self.capacity);
        let cost = 1000 * (1 + len / BYTES_PER_POINT) as u64;
        let is_enough = self.points >= cost;
        self.points -= if is_enough { cost } else { 0 };
        is_enough
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::presence::signed_presence::MAX_PRESENCE_FRAME_LEN;

    #[test]
    fn a_sender_that_spends_everything_stays_within_what_receivers_accept() {
        let (mut sender, mut receiver) =
            (PresenceBudget::of_sender(), PresenceBudget::of_receiver());
        let lens = [100, MAX_PRESENCE_FRAME_LEN + 700, 3000];
        let mut stalled = Vec::new();
        for ms in 0..70_000 {
            let (now, len) = (Duration::from_millis(ms), lens[ms as usize % 3]);
            stalled.extend(sender.spend(len, now).then_some(len));
        }
        assert!(stalled.len() > 300);
        let now = Duration::from_secs(70);
        assert!(stalled.iter().all(|len| receiver.spend(*len, now)));
    }

    #[test]
    fn a_budget_ends_and_comes_back() {
        let mut budget = PresenceBudget::of_sender();
        let at_once = (0..1000).filter(|_| budget.spend(100, Duration::ZERO)).count();
        assert_eq!(at_once, 128);
        let later = Duration::from_secs(1);
        assert_eq!((0..1000).filter(|_| budget.spend(100, later)).count(), 32);
        // A clock that goes back earns nothing.
        assert!(!budget.spend(100, Duration::ZERO) && !budget.spend(100, later));
        assert_eq!((0..100).filter(|_| budget.spend(64 << 10, 9 * later)).count(), 3);
    }
}
