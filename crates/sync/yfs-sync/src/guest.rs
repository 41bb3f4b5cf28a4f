//! The joining side: the messages of a peer to a hub, and the processing of the hub's responses.

use std::time::Duration;

use crate::{
    message::SyncMessage,
    presence::{self, GONE, MAX_STATE_LEN, PresenceConnection, PresenceEntry, PresenceRoom},
    sync_document::{SyncDocument, SyncError},
};

/// The interval at which a guest renews its presence.
const RENEWAL: Duration = Duration::from_secs(15);

/// The silence after which a connection counts as dead: a hub sends a guest's renewals back to it.
const SILENCE: Duration = Duration::from_secs(45);

/// One document at a hub, on the side of the peer that joined. It outlives the connection: after a
/// disconnect, call [`join`](Self::join) again.
#[derive(Debug, Default)]
pub struct GuestSession {
    is_synced: bool,
    last_received: Duration,
    own: Option<OwnPresence>,
    others: PresenceRoom,
    hub: Option<PresenceConnection>,
}

/// The presence of this client.
#[derive(Debug)]
struct OwnPresence {
    id: u64,
    clock: u64,
    /// `null` if this client has left.
    state: String,
    renewed: Duration,
}

impl GuestSession {
    /// Returns the first messages of a new connection: the document's state vector and the own
    /// presence.
    pub fn join(
        &mut self,
        document: &impl SyncDocument,
        now: Duration,
    ) -> Result<Vec<Vec<u8>>, SyncError> {
        self.is_synced = false;
        self.last_received = now;
        self.others = PresenceRoom::for_guest();
        self.hub = Some(self.others.enter());
        let first = SyncMessage::Step1(&document.state_vector()?).encode();
        Ok([Some(first), self.renewal(now)].into_iter().flatten().collect())
    }

    /// Processes a frame of the hub, and returns the frames to send in response.
    ///
    /// # Errors
    ///
    /// If the connection must end.
    pub fn receive(
        &mut self,
        document: &mut impl SyncDocument,
        frame: &[u8],
        now: Duration,
    ) -> Result<Vec<Vec<u8>>, SyncError> {
        self.last_received = now;
        match SyncMessage::decode(frame)? {
            SyncMessage::Step1(state_vector) => {
                let diff = document.diff(state_vector)?;
                let mut frames = vec![SyncMessage::Step2(&diff.update).encode()];
                frames.extend(diff.later.iter().map(|update| self.update(update)));
                return Ok(frames);
            }
            SyncMessage::Step2(update) => {
                document.receive(update)?;
                self.is_synced = true;
            }
            SyncMessage::Update(update) => document.receive(update)?,
            SyncMessage::Awareness(update) => return self.receive_presence(update, now),
            SyncMessage::QueryAwareness => return Ok(self.renewal(now).into_iter().collect()),
            SyncMessage::Denied(reason) => return Err(SyncError::Denied(reason.to_owned())),
        }
        Ok(Vec::new())
    }

    /// Encodes the frame that sends a local update to the hub.
    pub fn update(&self, update: &[u8]) -> Vec<u8> {
        SyncMessage::Update(update).encode()
    }

    /// Sets the own presence: a state as JSON, or `None` to leave. Returns the frame to send, or
    /// `None` if the state is larger than the limit.
    pub fn set_presence(
        &mut self,
        client: u64,
        state: Option<&str>,
        now: Duration,
    ) -> Option<Vec<u8>> {
        let state = state.unwrap_or(GONE);
        if state.len() > MAX_STATE_LEN {
            return None;
        }
        let clock = self.own.as_ref().map_or(0, |own| own.clock) + 1;
        self.own = Some(OwnPresence { id: client, clock, state: state.to_owned(), renewed: now });
        self.renewal(now)
    }

    /// Updates the session to the current time, and returns the frame to send, if any.
    pub fn advance_time(&mut self, now: Duration) -> Option<Vec<u8>> {
        self.others.expire(now);
        let own = self.own.as_mut()?;
        if own.state == GONE || now.saturating_sub(own.renewed) < RENEWAL {
            return None;
        }
        own.clock += 1;
        self.renewal(now)
    }

    /// Reports whether the hub has sent its whole state since the last join.
    pub fn is_synced(&self) -> bool {
        self.is_synced
    }

    /// Reports whether the hub has been silent for so long that the connection counts as dead.
    pub fn is_timed_out(&self, now: Duration) -> bool {
        now.saturating_sub(self.last_received) >= SILENCE
    }

    /// Returns the state of each other client.
    pub fn other_states(&self) -> impl Iterator<Item = (u64, &str)> {
        self.others.states()
    }

    fn receive_presence(
        &mut self,
        update: &[u8],
        now: Duration,
    ) -> Result<Vec<Vec<u8>>, SyncError> {
        let mut entries = presence::decode(update)?;
        let mut is_contradicted = false;
        if let Some(own) = &mut self.own {
            for entry in entries.iter().filter(|entry| entry.id == own.id) {
                // The hub publishes a first state at the next clock.
                if entry.state == own.state {
                    own.clock = own.clock.max(entry.clock);
                }
                // The hub reports that this client has left, or still has its earlier state.
                if entry.clock >= own.clock && entry.state != own.state && own.state != GONE {
                    own.clock = entry.clock + 1;
                    is_contradicted = true;
                }
            }
            entries.retain(|entry| entry.id != own.id);
        }
        if let Some(hub) = self.hub {
            self.others.receive(hub, &presence::encode(&entries), now)?;
        }
        Ok(is_contradicted.then(|| self.renewal(now)).flatten().into_iter().collect())
    }

    fn renewal(&mut self, now: Duration) -> Option<Vec<u8>> {
        let own = self.own.as_mut()?;
        own.renewed = now;
        let entry = PresenceEntry { id: own.id, clock: own.clock, state: &own.state };
        Some(SyncMessage::Awareness(&presence::encode(&[entry])).encode())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{presence::EXPIRY, sync_document::StateDiff};

    const NOW: Duration = Duration::from_secs(100);

    /// An empty document without writers.
    #[derive(Debug)]
    struct Empty;

    impl SyncDocument for Empty {
        fn state_vector(&self) -> Result<Vec<u8>, SyncError> {
            Ok(vec![0])
        }

        fn diff(&self, _state_vector: &[u8]) -> Result<StateDiff, SyncError> {
            Ok(vec![0, 0].into())
        }

        fn receive(&mut self, _update: &[u8]) -> Result<(), SyncError> {
            Ok(())
        }

        fn contains_update(&self, _update: &[u8]) -> Result<bool, SyncError> {
            Ok(true)
        }
    }

    fn says(id: u64, clock: u64, state: &str) -> Vec<u8> {
        SyncMessage::Awareness(&presence::encode(&[PresenceEntry { id, clock, state }])).encode()
    }

    #[test]
    fn it_joins_as_stock_clients_do() {
        let mut guest = GuestSession::default();
        assert_eq!(guest.join(&Empty, NOW).unwrap(), [[0, 0, 1, 0]]);
        let step1 = SyncMessage::Step1(&[0]).encode();
        assert_eq!(guest.receive(&mut Empty, &step1, NOW).unwrap(), [[0, 1, 2, 0, 0]]);
        assert!(!guest.is_synced());
        assert!(guest.receive(&mut Empty, &[0, 1, 2, 0, 0], NOW).unwrap().is_empty());
        assert!(guest.is_synced());
        let denied = guest.receive(&mut Empty, &SyncMessage::Denied("no").encode(), NOW);
        assert!(matches!(denied, Err(SyncError::Denied(reason)) if reason == "no"));
    }

    #[test]
    fn it_renews_itself_and_contradicts_who_says_that_it_has_gone() {
        let mut guest = GuestSession::default();
        guest.join(&Empty, NOW).unwrap();
        assert_eq!(guest.set_presence(7, Some("{}"), NOW), Some(says(7, 1, "{}")));
        assert_eq!(guest.advance_time(NOW + RENEWAL / 2), None);
        let later = NOW + RENEWAL;
        assert_eq!(guest.advance_time(later), Some(says(7, 2, "{}")));
        // The echo of this update changes nothing.
        assert!(guest.receive(&mut Empty, &says(7, 2, "{}"), later).unwrap().is_empty());
        let answer = guest.receive(&mut Empty, &says(7, 3, GONE), later).unwrap();
        assert_eq!(answer, [says(7, 4, "{}")]);
        assert_eq!(guest.set_presence(7, None, later), Some(says(7, 5, GONE)));
        assert!(guest.receive(&mut Empty, &says(7, 5, GONE), later).unwrap().is_empty());
    }

    #[test]
    fn others_are_seen_until_they_fall_silent() {
        let mut guest = GuestSession::default();
        guest.join(&Empty, NOW).unwrap();
        for id in 1..=100 {
            guest.receive(&mut Empty, &says(id, 1, "{}"), NOW).unwrap();
        }
        assert_eq!(guest.other_states().count(), 100);
        assert!(!guest.is_timed_out(NOW + EXPIRY));
        guest.advance_time(NOW + EXPIRY);
        assert_eq!(guest.other_states().count(), 0);
        assert!(guest.is_timed_out(NOW + SILENCE));
    }
}
