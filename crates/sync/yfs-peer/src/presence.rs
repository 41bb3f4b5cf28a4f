//! Presence across peers: which editors are at which documents on the servers of each peer.
//!
//! A server on this machine sends the states of its editors through a socket beside the store
//! ([`local_channel`]). This peer signs them, and its connections send them to the other peers,
//! which send them on ([`presence_table`]). Nothing of it is stored. See decision 75 for the
//! reasons.
//!
//! Sessions, the servers' connections and the timer of the node call a [`PeerPresence`] from
//! different tasks. Each connection has a [`Notify`] that wakes its task; it ends with its
//! [`PresenceLink`].

mod local_channel;
mod local_host;
mod presence_budget;
mod presence_link;
mod presence_table;
mod signed_presence;

pub use self::local_channel::{LocalPresence, PresenceSender, RemotePresence, SocketAddress};
pub(crate) use self::{
    local_host::LocalPresenceHost, presence_link::PresenceLink, signed_presence::SignedPresence,
};

use std::{
    collections::BTreeMap,
    sync::Arc,
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use tokio::sync::Notify;
use yfs_engine::{id::FileId, time::Millis};
use yfs_sync::presence::{PresenceEntry, decode};

use self::{
    presence_table::{ArrivedPresence, PresenceLinkNumber, PresenceTable},
    signed_presence::{PresenceFrame, encode_states},
};
use crate::{
    peer_error::PeerError,
    peer_grant::PeerCertificate,
    peer_key::{PeerId, PeerSecretKey},
};

/// The most documents with editors of all servers on this machine.
const MAX_OWN_DOCUMENTS: usize = 256;

/// The presence that a process knows which connects a workspace with its peers.
#[derive(Debug)]
pub(crate) struct PeerPresence {
    own: PeerId,
    began: Instant,
    state: Mutex<PresenceState>,
    /// The time at which a test has stopped the clock.
    #[cfg(test)]
    stopped: Mutex<Option<Duration>>,
}

#[derive(Debug, Default)]
struct PresenceState {
    table: PresenceTable,
    /// The awareness updates of the servers on this machine, by document and server.
    servers: BTreeMap<FileId, BTreeMap<PresenceLinkNumber, Vec<u8>>>,
    /// The number of the last message of this peer.
    last_sequence: u64,
}

impl PeerPresence {
    /// Makes the presence of a peer that knows of no editors.
    pub(crate) fn new(own: PeerId) -> Self {
        Self {
            own,
            began: Instant::now(),
            state: Mutex::default(),
            #[cfg(test)]
            stopped: Mutex::default(),
        }
    }

    /// Returns the time on the clock of presence.
    fn now(&self) -> Duration {
        #[cfg(test)]
        if let Some(stopped) = *self.stopped.lock() {
            return stopped;
        }
        self.began.elapsed()
    }

    /// Adds a connection with a peer.
    pub(crate) fn join(self: &Arc<Self>, peer: PeerId) -> PresenceLink {
        let wake = Arc::new(Notify::new());
        let number = self.state.lock().table.join(peer, false, wake.clone());
        PresenceLink::new(self.clone(), number, wake)
    }

    /// Ends what was not renewed in time, and what is of peers whose certificate is not current any
    /// more: their own connection has ended, but others may have delivered the same.
    pub(crate) fn expire(&self, is_current: impl Fn(&PeerCertificate) -> bool) {
        let certificates = self.state.lock().table.certificates();
        let over = certificates.into_iter().filter(|(_, certificate)| !is_current(certificate));
        let over: Vec<PeerId> = over.map(|(peer, _)| peer).collect();
        let mut state = self.state.lock();
        over.into_iter().for_each(|peer| state.table.forget(peer));
        state.table.expire(self.now());
    }

    /// Ends all that is known of a peer that has stopped.
    pub(crate) fn forget(&self, peer: PeerId) {
        self.state.lock().table.forget(peer);
    }

    /// Records the editors of a server at a document, and signs those of all servers.
    fn set_editors(
        &self,
        server: PresenceLinkNumber,
        doc: &FileId,
        states: &[u8],
        signer: PresenceSigner<'_>,
    ) {
        let mut state = self.state.lock();
        let is_empty = decode(states).is_ok_and(|entries| entries.is_empty());
        if is_empty {
            let Some(servers) = state.servers.get_mut(doc) else { return };
            servers.remove(&server);
        } else {
            if state.servers.len() >= MAX_OWN_DOCUMENTS && !state.servers.contains_key(doc) {
                return;
            }
            state.servers.entry(doc.clone()).or_default().insert(server, states.to_vec());
        }
        state.publish(doc, signer, self.now());
    }

    /// Removes a server, and signs that its editors have left.
    fn remove_server(&self, server: PresenceLinkNumber, signer: PresenceSigner<'_>) {
        let mut state = self.state.lock();
        state.table.leave(server);
        let left = state
            .servers
            .iter_mut()
            .filter_map(|(doc, servers)| servers.remove(&server).map(|_| doc.clone()));
        for doc in left.collect::<Vec<_>>() {
            state.publish(&doc, signer, self.now());
        }
    }
}

/// What a peer signs with, and the time by its clock.
#[derive(Debug, Clone, Copy)]
struct PresenceSigner<'a> {
    key: &'a PeerSecretKey,
    certificate: &'a PeerCertificate,
    now: Millis,
}

impl PresenceState {
    /// Signs the editors of all servers at a document. Without a certificate that is current the
    /// others ignore them.
    fn publish(&mut self, doc: &FileId, signer: PresenceSigner<'_>, now: Duration) {
        let servers = self.servers.get(doc);
        let updates = servers.iter().flat_map(|servers| servers.values());
        let entries: Vec<PresenceEntry<'_>> =
            updates.filter_map(|update| decode(update).ok()).flatten().collect();
        let states = encode_states(entries);
        // A process that starts later has greater numbers, unless the clock was set back.
        let at = u64::try_from(signer.now.0).unwrap_or_default();
        self.last_sequence = at.max(self.last_sequence + 1);
        let frame =
            PresenceFrame { sequence: self.last_sequence, doc: doc.clone(), states: &states };
        let arrived = ArrivedPresence {
            doc: doc.clone(),
            sequence: self.last_sequence,
            is_empty: frame.is_empty(),
            message: SignedPresence::sign(signer.key, signer.certificate.clone(), &frame),
        };
        self.table.accept(None, arrived, now);
        if self.servers.get(doc).is_some_and(BTreeMap::is_empty) {
            self.servers.remove(doc);
        }
    }
}

#[cfg(test)]
impl PeerPresence {
    /// Stops the clock.
    pub(crate) fn stop_clock(&self, at: Duration) {
        *self.stopped.lock() = Some(at);
    }

    /// Returns all messages that are valid now.
    pub(crate) fn known(&self) -> Vec<Arc<SignedPresence>> {
        self.state.lock().table.messages()
    }

    /// Sets the editors of the only server.
    pub(crate) fn set_test_editors(
        &self,
        member: &crate::membership::PeerMembership,
        doc: &FileId,
        states: &[u8],
    ) {
        let certificate = member.certificate().expect("it is a member");
        let signer =
            PresenceSigner { key: member.key(), certificate: &certificate, now: member.now() };
        self.set_editors(0, doc, states, signer);
    }
}

/// The reasons why a message with presence ends a connection.
fn fault(reason: &'static str) -> PeerError {
    PeerError::Fault(reason)
}
