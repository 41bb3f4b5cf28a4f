//! A client as a hub has them: its messages, and its answers to those of the hub.

use std::{collections::BTreeMap, time::Duration};

use yfs_sync::{
    SyncDocument, SyncError,
    message::SyncMessage,
    presence::{self, PresenceEntry},
};

/// The state of a client that has left.
const GONE: &str = "null";

/// The interval at which a guest renews its presence.
const RENEWAL: Duration = Duration::from_secs(15);

/// One document at a hub, on the side of the peer that joined. It outlives the connection: after a
/// disconnect, call [`join`](Self::join) again.
#[derive(Debug, Default)]
pub(crate) struct GuestSession {
    is_synced: bool,
    own: Option<OwnPresence>,
    /// The clocks and states of other clients.
    others: BTreeMap<u64, (u64, String)>,
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
    pub(crate) fn join(
        &mut self,
        document: &impl SyncDocument,
        now: Duration,
    ) -> Result<Vec<Vec<u8>>, SyncError> {
        self.is_synced = false;
        self.others.clear();
        let first = SyncMessage::Step1(&document.state_vector()?).encode();
        Ok([Some(first), self.renewal(now)].into_iter().flatten().collect())
    }

    /// Processes a frame of the hub, and returns the frames to send in response.
    ///
    /// # Errors
    ///
    /// If the connection must end.
    pub(crate) fn receive(
        &mut self,
        document: &mut impl SyncDocument,
        frame: &[u8],
        now: Duration,
    ) -> Result<Vec<Vec<u8>>, SyncError> {
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
    pub(crate) fn update(&self, update: &[u8]) -> Vec<u8> {
        SyncMessage::Update(update).encode()
    }

    /// Sets the own presence: a state as JSON, or `None` to leave. Returns the frame to send.
    pub(crate) fn set_presence(
        &mut self,
        client: u64,
        state: Option<&str>,
        now: Duration,
    ) -> Option<Vec<u8>> {
        let state = state.unwrap_or(GONE);
        let clock = self.own.as_ref().map_or(0, |own| own.clock) + 1;
        self.own = Some(OwnPresence { id: client, clock, state: state.to_owned(), renewed: now });
        self.renewal(now)
    }

    /// Updates the session to the current time, and returns the frame to send, if any.
    pub(crate) fn advance_time(&mut self, now: Duration) -> Option<Vec<u8>> {
        let own = self.own.as_mut()?;
        if own.state == GONE || now.saturating_sub(own.renewed) < RENEWAL {
            return None;
        }
        own.clock += 1;
        self.renewal(now)
    }

    /// Reports whether the hub has sent its whole state since the last join.
    pub(crate) fn is_synced(&self) -> bool {
        self.is_synced
    }

    /// Returns the state of each other client.
    pub(crate) fn other_states(&self) -> impl Iterator<Item = &str> {
        self.others.values().map(|(_, state)| state.as_str()).filter(|state| *state != GONE)
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
        for PresenceEntry { id, clock, state } in entries {
            let is_old = |(known, _): &(u64, String)| *known > clock;
            if !self.others.get(&id).is_some_and(is_old) {
                self.others.insert(id, (clock, state.to_owned()));
            }
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

mod tests {
    use yfs_sync::StateDiff;

    use super::*;

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
}
