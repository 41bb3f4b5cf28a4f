//! The presence of one connection with a peer: what it may send, and what is sent to it.

use std::sync::Arc;

use tokio::sync::Notify;
use yfs_engine::id::WorkspaceId;

use crate::{
    peer_error::PeerError,
    peer_grant::PeerCertificate,
    peer_key::{PeerId, SIGNATURE_LEN},
    peer_message::PeerMessage,
    presence::{
        PeerPresence, fault,
        presence_budget::PresenceBudget,
        presence_table::{ArrivedPresence, NextPresence, PresenceLinkNumber},
        signed_presence::{PresenceFrame, SignedPresence},
    },
};

/// The presence of one connection. Dropping it ends what the connection delivered.
#[derive(Debug)]
pub(crate) struct PresenceLink {
    presence: Arc<PeerPresence>,
    number: PresenceLinkNumber,
    sent: PresenceBudget,
    received: PresenceBudget,
    wake: Arc<Notify>,
}

impl PresenceLink {
    pub(super) fn new(
        presence: Arc<PeerPresence>,
        number: PresenceLinkNumber,
        wake: Arc<Notify>,
    ) -> Self {
        let (sent, received) = (PresenceBudget::of_sender(), PresenceBudget::of_receiver());
        Self { presence, number, sent, received, wake }
    }

    /// Returns what is notified when there may be a message to send.
    pub(crate) fn wake(&self) -> &Arc<Notify> {
        &self.wake
    }

    /// Returns the next message to send, if there is one and it may be sent now.
    pub(crate) fn next_message(&mut self) -> Option<Vec<u8>> {
        let now = self.presence.now();
        let mut state = self.presence.state.lock();
        let next = state.table.next(self.number, |len| self.sent.spend(len, now))?;
        drop(state);
        match next {
            NextPresence::Withdrawn(peer) => Some(PeerMessage::PresenceWithdrawn { peer }.encode()),
            NextPresence::Record(_, message) => Some(message?.to_message().encode()),
        }
    }

    /// Processes the message that a peer is out of reach.
    ///
    /// # Errors
    ///
    /// If the connection sends too much.
    pub(crate) fn withdraw(&mut self, peer: PeerId) -> Result<(), PeerError> {
        self.spend(0)?;
        self.presence.state.lock().table.withdraw(self.number, peer);
        Ok(())
    }

    /// Processes a message with the editors of a peer. `check` decides whether its certificate is
    /// current; one that is not is no fault of the peer that sends it on.
    ///
    /// # Errors
    ///
    /// If the connection sends too much, or what no honest peer sends on: states that are not those
    /// of editors, or a certificate or signature that is invalid.
    pub(crate) fn receive(
        &mut self,
        message: SignedPresence,
        (owner, workspace): (PeerId, &WorkspaceId),
        check: impl FnOnce(&PeerCertificate) -> Result<bool, PeerError>,
    ) -> Result<(), PeerError> {
        self.spend(message.len())?;
        let decoded = PresenceFrame::decode(&message.frame);
        let frame = decoded.map_err(|_| fault("presence that cannot be decoded"))?;
        if message.certificate.peer == self.presence.own {
            return Ok(());
        }
        let is_known =
            self.presence.state.lock().table.has_certificate(&frame.doc, &message.certificate);
        if !is_known && message.certificate.check(owner, workspace).is_err() {
            return Err(fault("a certificate that the owner did not sign"));
        }
        if !message.is_authentic() {
            return Err(fault("presence with an invalid signature"));
        }
        if !check(&message.certificate)? {
            return Ok(());
        }
        let PresenceFrame { sequence, ref doc, .. } = frame;
        let (doc, is_empty) = (doc.clone(), frame.is_empty());
        let arrived = ArrivedPresence { doc, sequence, is_empty, message };
        self.presence.state.lock().table.accept(Some(self.number), arrived, self.presence.now());
        Ok(())
    }

    fn spend(&mut self, len: usize) -> Result<(), PeerError> {
        let is_within = self.received.spend(len, self.presence.now());
        if is_within { Ok(()) } else { Err(fault("too much presence")) }
    }
}

impl SignedPresence {
    /// Makes the parts of a message into one.
    pub(crate) fn of_message(
        certificate: PeerCertificate,
        signature: [u8; SIGNATURE_LEN],
        frame: &[u8],
    ) -> Self {
        Self { certificate, signature, frame: frame.to_vec() }
    }
}

impl Drop for PresenceLink {
    fn drop(&mut self) {
        self.presence.state.lock().table.leave(self.number);
    }
}
