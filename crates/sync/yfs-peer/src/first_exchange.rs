//! Whose turn it is to bring a store up to date that has just joined its group.
//!
//! Such a store would get everything from each member that it connects with, at the same time. So
//! until it has been in step with a member that is up to date, it exchanges with one at a time. A
//! turn ends when both sides have everything, with the connection, or after a while without news;
//! the connection may go on then, but others begin.
//!
//! Two stores that both have just joined do not exchange: what each gets from a third would come
//! from the other again. Only if no member that is up to date is there for a while do they meet.
//!
//! # Invariants
//!
//! - No member holds the turn for more than ten minutes, however it behaves, and one whose turn
//!   ended early waits longer each time before its next.

use std::{
    collections::BTreeMap,
    sync::Arc,
    time::{Duration, Instant},
};

use parking_lot::Mutex;

use crate::peer_key::PeerId;

/// How long a turn lasts without news.
const TURN_WITHOUT_NEWS: Duration = Duration::from_secs(30);

/// How long a turn lasts.
const TURN_AT_MOST: Duration = Duration::from_secs(600);

/// How long a member whose turn ended early waits for its next: first, and at most.
const TURN_AGAIN: [Duration; 2] = [Duration::from_millis(500), Duration::from_secs(16)];

/// How long a store that is not up to date waits for a member that is, before it meets others.
const ALONE_AFTER: Duration = Duration::from_secs(30);

/// The most members whose waits are remembered.
const MAX_WAITING: usize = 256;

/// The turns of one store.
#[derive(Debug)]
pub(crate) struct FirstExchange(Mutex<FirstState>);

#[derive(Debug)]
struct FirstState {
    /// Whether this store has been in step with a member that is up to date.
    is_complete: bool,
    holder: Option<TurnHolder>,
    n_turns: u64,
    /// Since when no member that is up to date had a turn.
    alone_since: Instant,
    waits: BTreeMap<PeerId, TurnWait>,
}

#[derive(Debug)]
struct TurnHolder {
    number: u64,
    peer: PeerId,
    began: Instant,
    last_news: Instant,
    /// The connections of the member.
    n_connections: usize,
}

/// The wait of a member whose turns ended early.
#[derive(Debug)]
struct TurnWait {
    until: Instant,
    rest: Duration,
}

/// The part of one connection in the turn of a member, which ends with its last connection.
#[derive(Debug)]
pub(crate) struct ExchangeTurn {
    first: Arc<FirstExchange>,
    /// The number of the turn; 0 if this store is up to date and needs none.
    number: u64,
    is_with_complete: bool,
    n_news: u64,
}

impl FirstExchange {
    pub(crate) fn new(is_complete: bool) -> Arc<Self> {
        Self::since(is_complete, Instant::now())
    }

    /// Makes the turns of a store that was started at a time.
    pub(crate) fn since(is_complete: bool, start: Instant) -> Arc<Self> {
        let waits = BTreeMap::new();
        let alone_since = start;
        let state = FirstState { is_complete, holder: None, n_turns: 0, alone_since, waits };
        Arc::new(Self(Mutex::new(state)))
    }

    /// Reports whether this store has been in step with a member that is up to date.
    pub(crate) fn is_complete(&self) -> bool {
        self.0.lock().is_complete
    }

    /// Reports whether a member may have a turn now.
    pub(crate) fn is_free(&self, now: Instant) -> bool {
        let mut state = self.0.lock();
        state.end_overdue(now);
        state.is_complete || state.holder.is_none()
    }

    /// Begins the turn of a member, unless another one has it. The member that has the turn may
    /// connect again.
    pub(crate) fn begin(self: &Arc<Self>, peer: PeerId, now: Instant) -> Option<ExchangeTurn> {
        let mut state = self.0.lock();
        state.end_overdue(now);
        let turn = |number| ExchangeTurn {
            first: self.clone(),
            number,
            is_with_complete: false,
            n_news: 0,
        };
        if state.is_complete {
            return Some(turn(0));
        }
        if let Some(holder) = &mut state.holder {
            if holder.peer != peer {
                return None;
            }
            holder.n_connections += 1;
            return Some(turn(holder.number));
        }
        if state.waits.get(&peer).is_some_and(|wait| now < wait.until) {
            return None;
        }
        state.n_turns += 1;
        let number = state.n_turns;
        state.holder =
            Some(TurnHolder { number, peer, began: now, last_news: now, n_connections: 1 });
        Some(turn(number))
    }
}

impl FirstState {
    fn held_by(&mut self, number: u64) -> Option<&mut TurnHolder> {
        self.holder.as_mut().filter(|holder| holder.number == number)
    }

    /// Ends a turn that lasts too long.
    fn end_overdue(&mut self, now: Instant) {
        let is_overdue = |holder: &TurnHolder| {
            now.saturating_duration_since(holder.last_news) >= TURN_WITHOUT_NEWS
                || now.saturating_duration_since(holder.began) >= TURN_AT_MOST
        };
        if self.holder.as_ref().is_some_and(is_overdue) {
            self.end_early(now);
        }
    }

    /// Ends a turn; the member waits before its next.
    fn end_early(&mut self, now: Instant) {
        let Some(holder) = self.holder.take() else { return };
        if self.waits.len() >= MAX_WAITING {
            self.waits.retain(|_, wait| now < wait.until);
        }
        if self.waits.len() >= MAX_WAITING {
            self.waits.clear();
        }
        let fresh = TurnWait { until: now, rest: TURN_AGAIN[0] };
        let wait = self.waits.entry(holder.peer).or_insert(fresh);
        wait.until = now + wait.rest;
        wait.rest = (wait.rest * 2).min(TURN_AGAIN[1]);
    }
}

impl ExchangeTurn {
    /// Reports whether this store may exchange with the member, which says if it is up to date.
    pub(crate) fn may_exchange(&mut self, is_with_complete: bool, now: Instant) -> bool {
        let mut state = self.first.0.lock();
        let is_alone = now.saturating_duration_since(state.alone_since) >= ALONE_AFTER;
        if is_with_complete {
            state.alone_since = now;
        }
        self.is_with_complete = is_with_complete;
        state.is_complete || is_with_complete || is_alone
    }

    /// Notes how much has arrived over this connection.
    pub(crate) fn note_news(&mut self, n_news: u64, now: Instant) {
        if n_news <= self.n_news {
            return;
        }
        self.n_news = n_news;
        let mut state = self.first.0.lock();
        if let Some(holder) = state.held_by(self.number) {
            holder.last_news = now;
        }
    }

    /// Ends the turn because the member refuses: it may try again at once.
    pub(crate) fn give_back(self) {
        let mut state = self.first.0.lock();
        if state.held_by(self.number).is_some_and(|holder| holder.n_connections == 1) {
            state.holder = None;
        }
    }

    /// Ends the turn because both sides have everything. Reports whether this store is up to date
    /// from now on, and was not before.
    pub(crate) fn complete(self) -> bool {
        let mut state = self.first.0.lock();
        if state.held_by(self.number).is_some() {
            state.holder = None;
        }
        let is_first = self.is_with_complete && !state.is_complete;
        state.is_complete |= is_first;
        is_first
    }
}

impl Drop for ExchangeTurn {
    fn drop(&mut self) {
        let mut state = self.first.0.lock();
        let now = Instant::now();
        if self.is_with_complete {
            state.alone_since = state.alone_since.max(now);
        }
        let Some(holder) = state.held_by(self.number) else { return };
        holder.n_connections -= 1;
        if holder.n_connections == 0 {
            state.end_early(now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peer_key::KEY_LEN;

    const SECOND: Duration = Duration::from_secs(1);

    fn peer(number: u8) -> PeerId {
        PeerId::from_bytes([number; KEY_LEN])
    }

    fn joined() -> (Arc<FirstExchange>, Instant) {
        let now = Instant::now();
        (FirstExchange::since(false, now), now)
    }

    #[test]
    fn one_member_at_a_time_until_this_store_is_up_to_date() {
        let (first, now) = joined();
        let mut turn = first.begin(peer(1), now).unwrap();
        assert!(turn.may_exchange(true, now));
        assert!(!first.is_free(now) && first.begin(peer(2), now).is_none());
        assert!(turn.complete(), "it is the first time");
        let turns = [2, 3, 4].map(|number| first.begin(peer(number), now).unwrap());
        assert!(first.is_complete() && first.is_free(now));
        assert!(!turns.into_iter().any(ExchangeTurn::complete));
    }

    #[test]
    fn a_turn_ends_with_the_last_connection_of_its_peer() {
        let (first, now) = joined();
        let [one, other] = [0; 2].map(|_| first.begin(peer(1), now).unwrap());
        drop(one);
        assert!(first.begin(peer(2), now).is_none());
        drop(other);
        assert!(first.begin(peer(2), now).is_some());
    }

    #[test]
    fn a_member_that_stalls_loses_its_turn_and_its_connection_does_not_get_it_back() {
        let (first, now) = joined();
        let mut stalled = first.begin(peer(1), now).unwrap();
        stalled.note_news(1, now + 20 * SECOND);
        let now = now + 49 * SECOND;
        assert!(first.begin(peer(2), now).is_none(), "there were news");
        // The same number is no news, nor is a second connection.
        stalled.note_news(1, now);
        let again = first.begin(peer(1), now).unwrap();
        let now = now + SECOND;
        let second = first.begin(peer(2), now).unwrap();
        stalled.note_news(2, now);
        drop((stalled, again));
        assert!(first.begin(peer(1), now).is_none());
        assert!(first.begin(peer(3), now).is_none());
        drop(second);
        assert!(first.begin(peer(3), now).is_some());
    }

    #[test]
    fn a_member_with_news_every_second_has_one_turn_of_ten_minutes() {
        let (first, start) = joined();
        let mut slow = first.begin(peer(1), start).unwrap();
        let at = |seconds: u32| start + seconds * SECOND;
        for seconds in 1..600 {
            slow.note_news(u64::from(seconds), at(seconds));
            assert!(!first.is_free(at(seconds)), "{seconds}");
        }
        assert!(first.begin(peer(2), at(600)).is_some());
    }

    /// A member that connects again each time its turn has ended leaves ever more time to others.
    #[test]
    fn a_member_whose_turns_end_early_waits_longer_each_time() {
        let (first, mut now) = joined();
        let mut waits = Vec::new();
        for _ in 0..8 {
            let _turn = first.begin(peer(1), now).unwrap();
            now += TURN_WITHOUT_NEWS;
            assert!(first.is_free(now), "it is the turn of any other");
            let began = now;
            while first.begin(peer(1), now).map(ExchangeTurn::give_back).is_none() {
                now += Duration::from_millis(500);
            }
            waits.push((now - began).as_millis());
        }
        assert_eq!(waits, [500, 1000, 2000, 4000, 8000, 16_000, 16_000, 16_000]);
    }

    #[test]
    fn stores_that_are_not_up_to_date_meet_only_if_no_other_is_there() {
        let (first, now) = joined();
        let mut turn = first.begin(peer(1), now).unwrap();
        assert!(!turn.may_exchange(false, now + 29 * SECOND));
        turn.give_back();
        // One that is up to date comes and goes.
        let mut turn = first.begin(peer(2), now).unwrap();
        assert!(turn.may_exchange(true, now + 29 * SECOND));
        turn.give_back();
        let mut turn = first.begin(peer(1), now).unwrap();
        assert!(!turn.may_exchange(false, now + 31 * SECOND));
        assert!(turn.may_exchange(false, now + 60 * SECOND));
        assert!(!turn.complete(), "it has nothing that this store lacks");
        assert!(!first.is_complete() && first.is_free(now));
    }

    #[test]
    fn the_waits_of_many_members_take_bounded_memory() {
        let (first, now) = joined();
        for number in 0..2000_u32 {
            let mut bytes = [0; KEY_LEN];
            bytes[..4].copy_from_slice(&number.to_le_bytes());
            drop(first.begin(PeerId::from_bytes(bytes), now).unwrap());
        }
        assert!(first.0.lock().waits.len() <= MAX_WAITING);
    }
}
