//! States of a document that several clients join: an expensive state is computed once.
//!
//! A cached state is of some moment; the updates since then are cached beside it and sent after it.
//! So the state stays valid while the document changes.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use yfs_sync::StateDiff;

/// The size from which a state is cached, in bytes. A smaller one is computed as fast as it is
/// found.
const MIN_LEN: usize = 16 << 10;

/// How many bytes of later updates are cached before the state is dropped.
const MAX_LATER: usize = 1 << 20;

/// How long an unused state is kept.
const EXPIRY: Duration = Duration::from_secs(10);

/// The state that was computed last.
#[derive(Debug, Default)]
pub(super) struct StateCache {
    /// Locked while a state is computed: other requests for it wait.
    kept: Mutex<Option<CachedState>>,
    /// Updates since the moment of the state that is cached or being computed.
    later: Mutex<Option<UpdatesSinceState>>,
}

#[derive(Debug)]
struct CachedState {
    /// The state vector of the peers that lack exactly this state.
    state_vector: Vec<u8>,
    diff: StateDiff,
    used: Instant,
}

#[derive(Debug, Default)]
struct UpdatesSinceState {
    updates: Vec<Arc<[u8]>>,
    bytes: usize,
}

impl StateCache {
    /// Returns the update that a peer with this state vector lacks, and whether it was cached.
    pub(super) fn diff<E>(
        &self,
        state_vector: &[u8],
        compute: impl FnOnce() -> Result<StateDiff, E>,
    ) -> Result<(StateDiff, bool), E> {
        let mut kept = self.kept.lock();
        if let Some(kept) = kept.as_mut().filter(|kept| kept.state_vector == state_vector)
            && let Some(later) = &*self.later.lock()
        {
            kept.used = Instant::now();
            let later = kept.diff.later.iter().chain(&later.updates).cloned().collect();
            return Ok((StateDiff { update: kept.diff.update.clone(), later }, true));
        }
        *kept = None;
        // From now on: an update that arrives while the state is computed may or may not be in it.
        *self.later.lock() = Some(UpdatesSinceState::default());
        let computed = compute();
        let diff = match computed {
            Ok(diff) => diff,
            Err(error) => {
                *self.later.lock() = None;
                return Err(error);
            }
        };
        if diff.update.len() < MIN_LEN {
            *self.later.lock() = None;
            return Ok((diff, false));
        }
        let (state_vector, used) = (state_vector.to_vec(), Instant::now());
        *kept = Some(CachedState { state_vector, diff: diff.clone(), used });
        Ok((diff, false))
    }

    /// Notes an update, before it is sent to any member.
    pub(super) fn publish(&self, update: &Arc<[u8]>) {
        let mut later = self.later.lock();
        if let Some(noted) = later.as_mut() {
            noted.bytes += update.len();
            noted.updates.push(update.clone());
            if noted.bytes > MAX_LATER {
                *later = None;
            }
        }
    }

    /// Drops states that no client requested for a while.
    pub(super) fn sweep(&self) {
        let Some(mut kept) = self.kept.try_lock() else { return };
        let has_later = self.later.lock().is_some();
        if kept.as_ref().is_some_and(|kept| !has_later || kept.used.elapsed() >= EXPIRY) {
            *kept = None;
            *self.later.lock() = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn get(states: &StateCache, who: u8, len: usize) -> (StateDiff, bool) {
        states.diff::<()>(&[who], || Ok(vec![who; len].into())).unwrap()
    }

    #[test]
    fn a_large_state_is_computed_once_and_later_updates_follow() {
        let states = StateCache::default();
        assert!(!get(&states, 1, MIN_LEN).1);
        let update: Arc<[u8]> = Arc::from(&[7][..]);
        states.publish(&update);
        let (diff, is_shared) = states.diff::<()>(&[1], || unreachable!("it is kept")).unwrap();
        assert!(is_shared);
        assert_eq!((diff.update.len(), diff.later), (MIN_LEN, vec![update]));
        // Another peer lacks other structs.
        assert!(!get(&states, 2, MIN_LEN).1);
        assert!(!get(&states, 1, MIN_LEN).1);
    }

    #[test]
    fn a_small_or_old_state_is_computed_again() {
        let states = StateCache::default();
        get(&states, 1, MIN_LEN - 1);
        assert!(!get(&states, 1, MIN_LEN).1);
        states.publish(&vec![0; MAX_LATER + 1].into());
        assert!(!get(&states, 1, MIN_LEN).1);
        assert!(states.diff(&[2], || Err(())).is_err());
        assert!(!get(&states, 1, MIN_LEN).1);
        states.kept.lock().as_mut().unwrap().used -= EXPIRY;
        states.sweep();
        assert!(states.kept.lock().is_none() && states.later.lock().is_none());
    }
}
