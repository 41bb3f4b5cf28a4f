//! Batches of presence: one message for many clients that move at once.
//!
//! Without batches each move would cost a message per member. So changes wait, the longer the more
//! their broadcast costs, and renewals wait for seconds: clients remove a member only after half a
//! minute. Of each client only the last state is sent.

use std::{
    collections::{BTreeMap, btree_map},
    hash::{BuildHasher, BuildHasherDefault, DefaultHasher},
    time::Duration,
};

use yfs_sync::presence::{PresenceEntry, decode, encode};

/// How long changes are collected.
const WINDOW: Duration = Duration::from_millis(25);

/// How long renewals of unchanged states are collected.
const RENEWAL_WINDOW: Duration = Duration::from_secs(3);

/// The longest pause after a broadcast.
const MAX_PAUSE: Duration = Duration::from_secs(3);

/// The pause per receiver and per byte of the update: ten times the time that sending takes.
const PAUSE_PER_MEMBER: Duration = Duration::from_micros(100);
const PAUSE_PER_BYTE: Duration = Duration::from_nanos(5);

/// Awareness that was not sent yet. Times count from any fixed moment.
#[derive(Debug, Default)]
pub(super) struct AwarenessBatcher {
    /// The clock and the state to send, by client.
    pending: BTreeMap<u64, (u64, String)>,
    /// The hash of the state that was sent last, by client.
    sent_states: BTreeMap<u64, u64>,
    /// The time to send the pending updates.
    due: Option<Duration>,
    /// The end of the pause after the last broadcast.
    pause_end: Duration,
}

impl AwarenessBatcher {
    /// Adds an update of the room. Returns the time by which a task must [`take`](Self::take) it,
    /// unless that is set already.
    pub(super) fn add(&mut self, update: &[u8], now: Duration) -> Option<Duration> {
        // The room encoded the update, so decoding cannot fail.
        let entries = decode(update).ok()?;
        let mut is_change = false;
        for PresenceEntry { id, clock, state } in entries {
            is_change |= self.sent_states.get(&id) != Some(&hash(state));
            match self.pending.entry(id) {
                btree_map::Entry::Vacant(entry) => {
                    entry.insert((clock, state.to_owned()));
                }
                btree_map::Entry::Occupied(mut entry) if entry.get().0 <= clock => {
                    entry.insert((clock, state.to_owned()));
                }
                btree_map::Entry::Occupied(_) => (),
            }
        }
        let window = if is_change { WINDOW } else { RENEWAL_WINDOW };
        let due = self.pause_end.max(now + window);
        let is_sooner = self.due.is_none_or(|known| due < known);
        is_sooner.then(|| *self.due.insert(due))
    }

    /// Returns all pending states as one update for a number of members; `None` before the time.
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
            PAUSE_PER_MEMBER + PAUSE_PER_BYTE * u32::try_from(update.len()).unwrap_or(u32::MAX);
        let pause = each.saturating_mul(u32::try_from(n_members).unwrap_or(u32::MAX));
        self.pause_end = now + pause.min(MAX_PAUSE);
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

    fn awareness(id: u64, clock: u64, state: &str) -> Vec<u8> {
        encode(&[PresenceEntry { id, clock, state }])
    }

    #[test]
    fn changes_are_sent_soon_and_in_one_batch() {
        let mut batcher = AwarenessBatcher::default();
        assert_eq!(batcher.add(&awareness(1, 1, "{}"), 10 * MS), Some(35 * MS));
        assert_eq!(batcher.add(&awareness(2, 1, "{}"), 20 * MS), None);
        // Of two states of one client the later is sent, in whatever order they arrive.
        assert_eq!(batcher.add(&awareness(1, 3, "[3]"), 30 * MS), None);
        assert_eq!(batcher.add(&awareness(1, 2, "[2]"), 30 * MS), None);
        assert_eq!(batcher.take(34 * MS, 2), None);
        let batch = batcher.take(35 * MS, 2).unwrap();
        let entries: Vec<_> =
            decode(&batch).unwrap().iter().map(|entry| (entry.id, entry.clock)).collect();
        assert_eq!(entries, [(1, 3), (2, 1)]);
        assert_eq!(batcher.take(99 * MS, 2), None);
    }

    #[test]
    fn renewals_are_sent_later_or_with_a_change() {
        let mut batcher = AwarenessBatcher::default();
        batcher.add(&awareness(1, 1, "{}"), Duration::ZERO).unwrap();
        batcher.take(WINDOW, 1).unwrap();
        let later = 1000 * MS;
        assert_eq!(batcher.add(&awareness(1, 2, "{}"), later), Some(later + RENEWAL_WINDOW));
        // A client that leaves is a change, and so is its return with the same state.
        assert_eq!(batcher.add(&awareness(2, 1, "{}"), later + MS), Some(later + MS + WINDOW));
        let batch = batcher.take(later + MS + WINDOW, 1).unwrap();
        assert_eq!(decode(&batch).unwrap().len(), 2);
        assert_eq!(batcher.take(later + RENEWAL_WINDOW, 1), None);
        let gone = 5000 * MS;
        assert_eq!(batcher.add(&awareness(1, 3, "null"), gone), Some(gone + WINDOW));
        batcher.take(gone + WINDOW, 1).unwrap();
        assert_eq!(batcher.add(&awareness(1, 4, "{}"), 2 * gone), Some(2 * gone + WINDOW));
    }

    #[test]
    fn a_large_broadcast_is_followed_by_a_pause() {
        let mut batcher = AwarenessBatcher::default();
        batcher.add(&awareness(1, 1, "{}"), Duration::ZERO);
        batcher.take(WINDOW, 1500).unwrap();
        let due = batcher.add(&awareness(1, 2, "[]"), WINDOW).unwrap();
        assert!((150..200).contains(&(due - WINDOW).as_millis()), "{due:?}");
        let long = "x".repeat(1 << 20);
        batcher.add(&awareness(1, 3, &long), due);
        batcher.take(due, 100_000).unwrap();
        assert_eq!(batcher.add(&awareness(1, 4, "[]"), due), Some(due + MAX_PAUSE));
    }
}
