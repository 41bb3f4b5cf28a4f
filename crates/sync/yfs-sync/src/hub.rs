//! The hub's side of one peer at one document.

use std::{mem, time::Duration};

use crate::{
    frame::SharedFrame,
    message::SyncMessage,
    presence::PresenceConnection,
    sync_document::{SyncDocument, SyncError},
};

/// The access of a peer to a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PeerAccess {
    /// The peer may read and write.
    ReadWrite,
    /// The peer may read, and publish its presence.
    ReadOnly,
}

/// One peer at one document, on the hub's side.
#[derive(Debug)]
pub struct HubSession {
    connection: PresenceConnection,
    access: PeerAccess,
    /// The beginning of every frame.
    prefix: Vec<u8>,
    /// Whether the peer was asked for its updates, and has not asked for the hub's since.
    has_asked: bool,
}

/// The result of processing a message.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct HubAnswer {
    /// The frames to send to the peer, in this order.
    pub frames: Vec<SharedFrame>,
    /// The awareness update to send to all connections of the document, including the peer's.
    pub broadcast: Option<Vec<u8>>,
    /// If the message carried an update: whether the document has it now.
    pub applied: Option<bool>,
}

impl HubSession {
    /// Makes a session of a connection that has entered the document's room.
    pub fn new(connection: PresenceConnection, access: PeerAccess) -> Self {
        Self::with_prefix(connection, access, Vec::new())
    }

    /// Makes a session like [`HubSession::new`], whose frames all begin with `prefix`.
    pub fn with_prefix(
        connection: PresenceConnection,
        access: PeerAccess,
        prefix: Vec<u8>,
    ) -> Self {
        Self { connection, access, prefix, has_asked: false }
    }

    /// Returns the connection. It leaves the room when the session ends.
    pub fn connection(&self) -> PresenceConnection {
        self.connection
    }

    /// Returns the beginning of every frame.
    pub fn prefix(&self) -> &[u8] {
        &self.prefix
    }

    /// Returns the frame that asks the peer for its updates. It must be the first that the peer
    /// gets of the document.
    ///
    /// The peer answers with its own work as it is before it gets that of others. If an update came
    /// first, the peer would have deleted what it wrote in blocks that the update deletes, and its
    /// answer would say that it did so on purpose.
    ///
    /// # Errors
    ///
    /// If the document cannot be read.
    pub fn ask(&mut self, document: &impl SyncDocument) -> Result<SharedFrame, SyncError> {
        let ours = document.state_vector()?;
        self.has_asked = true;
        Ok(self.frame(&SyncMessage::Step1(&ours)).into())
    }

    /// Makes the answer to the next SyncStep1 one without the hub's own: the peer's updates are
    /// known, or were asked for.
    pub(crate) fn note_asked(&mut self) {
        self.has_asked = true;
    }

    /// Processes a message without prefix.
    ///
    /// # Errors
    ///
    /// If the session must end.
    pub fn receive(
        &mut self,
        document: &mut impl DocumentWithPresence,
        message: &[u8],
        now: Duration,
    ) -> Result<HubAnswer, SyncError> {
        let mut answer = HubAnswer::default();
        match SyncMessage::decode(message)? {
            // The response: the own state vector, the missing updates, the presence of all clients.
            // The vector comes first, for the same reason as in `ask`; a peer that was asked has
            // answered already.
            SyncMessage::Step1(state_vector) => {
                let diff = document.diff(state_vector)?;
                if !mem::take(&mut self.has_asked) {
                    let ours = document.state_vector()?;
                    answer.frames.push(self.frame(&SyncMessage::Step1(&ours)).into());
                }
                let head = SyncMessage::Step2(&diff.update).head_after(&self.prefix);
                answer.frames.push(SharedFrame::shared(head, diff.update));
                let later = diff.later.iter().map(|update| self.update(update).into());
                answer.frames.extend(later);
                answer.frames.extend(self.presence(document).map(Into::into));
            }
            SyncMessage::Step2(update) | SyncMessage::Update(update) => {
                answer.applied = Some(self.apply(document, update)?);
            }
            SyncMessage::Awareness(update) => {
                answer.broadcast = document.receive_presence(self.connection, update, now)?;
            }
            SyncMessage::QueryAwareness => {
                answer.frames.extend(self.presence(document).map(Into::into));
            }
            // Only hubs send it.
            SyncMessage::Denied(_) => (),
        }
        Ok(answer)
    }

    /// Encodes the frame that sends an update to the peer.
    pub fn update(&self, update: &[u8]) -> Vec<u8> {
        self.frame(&SyncMessage::Update(update))
    }

    /// Encodes the frame with the presence of all clients; `None` if there are none.
    pub fn presence(&self, document: &impl DocumentWithPresence) -> Option<Vec<u8>> {
        Some(self.frame(&SyncMessage::Awareness(&document.all_states()?)))
    }

    fn apply(&self, document: &mut impl SyncDocument, update: &[u8]) -> Result<bool, SyncError> {
        match self.access {
            PeerAccess::ReadWrite => document.receive(update).map(|()| true),
            PeerAccess::ReadOnly => document.contains_update(update),
        }
    }

    fn frame(&self, message: &SyncMessage<'_>) -> Vec<u8> {
        message.encode_after(&self.prefix)
    }
}

/// A document and its presence room.
pub trait DocumentWithPresence: SyncDocument {
    /// Processes an awareness update of a connection, and returns the update to broadcast
    /// ([`PresenceRoom::receive`](crate::presence::PresenceRoom::receive)).
    fn receive_presence(
        &mut self,
        connection: PresenceConnection,
        update: &[u8],
        now: Duration,
    ) -> Result<Option<Vec<u8>>, SyncError>;

    /// Returns the presence of all clients, if there are any, as
    /// [`PresenceRoom::all`](crate::presence::PresenceRoom::all) does.
    fn all_states(&self) -> Option<Vec<u8>>;
}
