//! Batches of presence: one message for many clients that move at once.
//!
//! One move costs a message per member. So changes wait a little, the longer the more their
//! broadcast costs, and renewals wait for seconds: clients count a member as gone only after half a
//! minute. Of each client the last state is sent, however many it sends.

use std::{
    collections::{BTreeMap, btree_map},
    hash::{BuildHasher, BuildHasherDefault, DefaultHasher},
    time::Duration,
};

use yfs_sync::presence::{PresenceEntry, decode, encode};

/// How long news are gathered at least.
const WINDOW: Duration = Duration::from_millis(25);

/// How long it is gathered who is still there.
const RENEWAL_WINDOW: Duration = Duration::from_secs(3);

/// How long it is rested at most, whatever telling costs.
const MAX_REST: Duration = Duration::from_secs(3);

/// The pause per receiver and per byte that it was sent: ten times what sending takes.
const REST_PER_MEMBER: Duration = Duration::from_micros(100);
const REST_PER_BYTE: Duration = Duration::from_nanos(5);

/// Awareness that was not sent yet. Times are counted from any fixed moment.
#[derive(Debug, Default)]
pub(super) struct AwarenessBatcher {
    /// By client: clock and state.
    pending: BTreeMap<u64, (u64, String)>,
    /// By client: the hash of the state that was sent last.
    sent_states: BTreeMap<u64, u64>,
    /// The time to send the pending updates.
    due: Option<Duration>,
    /// Until when it is rested.
    rests: Duration,
}

impl AwarenessBatcher {
    /// Adds an update of the room. Returns the time by which a task must [`take`](Self::take) it,
    /// unless that is set already.
    pub(super) fn add(&mut self, update: &[u8], now: Duration) -> Option<Duration> {
        // It was written by the room, so it can be read.
        let entries = decode(update).ok()?;
        let mut is_news = false;
        for PresenceEntry { id, clock, state } in entries {
            is_news |= self.sent_states.get(&id) != Some(&hash(state));
            match self.pending.entry(id) {
                btree_map::Entry::Vacant(place) => {
                    place.insert((clock, state.to_owned()));
                }
                btree_map::Entry::Occupied(mut place) if place.get().0 <= clock => {
                    place.insert((clock, state.to_owned()));
                }
                btree_map::Entry::Occupied(_) => (),
            }
        }
        let window = if is_news { WINDOW } else { RENEWAL_WINDOW };
        let due = self.rests.max(now + window);
        let is_sooner = self.due.is_none_or(|known| due < known);
        is_sooner.then(|| *self.due.insert(due))
    }

    /// Returns everything as one update for that many members, unless it is too early.
    pub(super) fn take(&mut self, now: Duration, n_members: usize) -> Option<Vec<u8>> {
        if self.due.is_none_or(|due| now < due) {
            return None;
        }
        self.due = None;
        let pending = std::mem::take(&mut self.pending);
        for (id, (_, state)) in &pending {
            match state.as_str() {
                "null" => drop(self.sent_states.remove(id)),
                state => drop(self.sent_states.insert(*id, hash(state))),
            }
        }
        let entries = pending.iter().map(|(id, (clock, state))| PresenceEntry {
            id: *id,
            clock: *clock,
            state,
        });
        let update = encode(&entries.collect::<Vec<_>>());
        let each =
            REST_PER_MEMBER + REST_PER_BYTE * u32::try_from(update.len()).unwrap_or(u32::MAX);
        let rest = each.saturating_mul(u32::try_from(n_members).unwrap_or(u32::MAX));
        self.rests = now + rest.min(MAX_REST);
        Some(update)
    }
}

fn hash(state: &str) -> u64 {
    BuildHasherDefault::<DefaultHasher>::new().hash_one(state)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn said(id: u64, clock: u64, state: &str) -> Vec<u8> {
        encode(&[PresenceEntry { id, clock, state }])
    }

    #[test]
    fn news_are_told_soon_and_together() {
        let mut gathering = AwarenessBatcher::default();
        assert_eq!(gathering.add(&said(1, 1, "{}"), 10 * MS), Some(35 * MS));
        assert_eq!(gathering.add(&said(2, 1, "{}"), 20 * MS), None);
        // Of two states of one client the later is sent, in whatever order they come.
        assert_eq!(gathering.add(&said(1, 3, "[3]"), 30 * MS), None);
        assert_eq!(gathering.add(&said(1, 2, "[2]"), 30 * MS), None);
        assert_eq!(gathering.take(34 * MS, 2), None);
        let told = gathering.take(35 * MS, 2).unwrap();
        let entries: Vec<_> =
            decode(&told).unwrap().iter().map(|entry| (entry.id, entry.clock)).collect();
        assert_eq!(entries, [(1, 3), (2, 1)]);
        assert_eq!(gathering.take(99 * MS, 2), None);
    }

    #[test]
    fn who_is_still_there_is_told_later_or_with_what_is_news() {
        let mut gathering = AwarenessBatcher::default();
        gathering.add(&said(1, 1, "{}"), Duration::ZERO).unwrap();
        gathering.take(WINDOW, 1).unwrap();
        let later = 1000 * MS;
        assert_eq!(gathering.add(&said(1, 2, "{}"), later), Some(later + RENEWAL_WINDOW));
        // A client that leaves is a change, and so is its return with the same state.
        assert_eq!(gathering.add(&said(2, 1, "{}"), later + MS), Some(later + MS + WINDOW));
        let told = gathering.take(later + MS + WINDOW, 1).unwrap();
        assert_eq!(decode(&told).unwrap().len(), 2);
        assert_eq!(gathering.take(later + RENEWAL_WINDOW, 1), None);
        let gone = 5000 * MS;
        assert_eq!(gathering.add(&said(1, 3, "null"), gone), Some(gone + WINDOW));
        gathering.take(gone + WINDOW, 1).unwrap();
        assert_eq!(gathering.add(&said(1, 4, "{}"), 2 * gone), Some(2 * gone + WINDOW));
    }

    #[test]
    fn telling_many_is_followed_by_a_rest() {
        let mut gathering = AwarenessBatcher::default();
        gathering.add(&said(1, 1, "{}"), Duration::ZERO);
        gathering.take(WINDOW, 1500).unwrap();
        let due = gathering.add(&said(1, 2, "[]"), WINDOW).unwrap();
        assert!((150..200).contains(&(due - WINDOW).as_millis()), "{due:?}");
        let long = "x".repeat(1 << 20);
        gathering.add(&said(1, 3, &long), due);
        gathering.take(due, 100_000).unwrap();
        assert_eq!(gathering.add(&said(1, 4, "[]"), due), Some(due + MAX_REST));
    }
}
