//! Limits how often peers can make a store be wiped.

use yfs_types::time::Millis;

/// A rate limit for wipes that peers request. Each wipe reads all trees of the store.
///
/// A request is never lost while this value lives; it only waits until the last wipe is long enough
/// ago.
#[derive(Debug, Clone)]
pub struct WipePacer {
    min_gap_ms: i64,
    last: Option<Millis>,
    is_requested: bool,
}

impl WipePacer {
    /// Makes a pacer that allows one wipe per `min_gap_ms` milliseconds.
    pub fn new(min_gap_ms: i64) -> Self {
        Self { min_gap_ms, last: None, is_requested: false }
    }

    /// Requests a wipe.
    pub fn request(&mut self) {
        self.is_requested = true;
    }

    /// Reports whether a request is pending.
    pub fn is_requested(&self) -> bool {
        self.is_requested
    }

    /// Reports whether the caller must wipe now. If so, all requests so far count as served.
    ///
    /// A clock that was set back causes no delay.
    pub fn take_due(&mut self, now: Millis) -> bool {
        let is_early = self
            .last
            .is_some_and(|last| now >= last && now.0.saturating_sub(last.0) < self.min_gap_ms);
        let is_due = self.is_requested && !is_early;
        if is_due {
            self.last = Some(now);
            self.is_requested = false;
        }
        is_due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_answered_together_and_not_too_often() {
        let mut pacer = WipePacer::new(100);
        assert!(!pacer.take_due(Millis(0)), "no request was made");
        pacer.request();
        assert!(pacer.take_due(Millis(5)), "the first one waits for nothing");
        for _ in 0..10 {
            pacer.request();
            assert!(!pacer.take_due(Millis(104)));
        }
        assert!(pacer.take_due(Millis(105)));
        assert!(!pacer.take_due(Millis(1000)), "all were answered");
        pacer.request();
        assert!(pacer.take_due(Millis(3)), "the clock was set back");
    }
}
