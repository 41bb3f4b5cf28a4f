//! States of a document that several joiners get: what costs much is computed once.
//!
//! A kept state is as of some moment; what came since is kept beside it and sent behind it. So it
//! stays of use while the document is written to.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use yfs_sync::StateDiff;

/// From which size on a state is kept, in bytes. A smaller one is computed as fast as it is looked
/// up.
const MIN_LEN: usize = 16 << 10;

/// How many bytes of later updates are kept before a state is given up.
const MAX_LATER: usize = 1 << 20;

/// How long an unused state is kept.
const EXPIRY: Duration = Duration::from_secs(10);

/// The state that was computed last.
#[derive(Debug, Default)]
pub(super) struct StateCache {
    /// Locked while a state is computed: who asks meanwhile waits for it.
    kept: Mutex<Option<CachedState>>,
    /// Updates since the moment of the state that is kept or being computed.
    later: Mutex<Option<UpdatesSinceState>>,
}

#[derive(Debug)]
struct CachedState {
    /// Of whom it is all that they lack.
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
    /// Returns what a peer with this state vector lacks, and whether that was there already.
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
        // From now on: what arrives while the state is computed may or may not be in it.
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

    /// Notes an update, before anybody is sent it.
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
    fn a_large_state_is_computed_once_and_what_came_later_follows() {
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
    fn what_is_small_or_old_is_computed_again() {
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
