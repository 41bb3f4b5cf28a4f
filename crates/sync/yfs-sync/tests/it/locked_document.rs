//! A document of a hub.

use std::time::Duration;

use yfs_sync::{
    StateDiff, SyncDocument, SyncError,
    hub::DocumentWithPresence,
    presence::{PresenceConnection, PresenceRoom},
};

/// A document and its room, which the caller has locked.
#[derive(Debug)]
pub(crate) struct LockedHubDocument<'a, D> {
    /// The document.
    pub(crate) document: &'a mut D,
    /// Its room.
    pub(crate) room: &'a mut PresenceRoom,
}

impl<D: SyncDocument> SyncDocument for LockedHubDocument<'_, D> {
    fn state_vector(&self) -> Result<Vec<u8>, SyncError> {
        self.document.state_vector()
    }

    fn diff(&self, state_vector: &[u8]) -> Result<StateDiff, SyncError> {
        self.document.diff(state_vector)
    }

    fn receive(&mut self, update: &[u8]) -> Result<(), SyncError> {
        self.document.receive(update)
    }

    fn contains_update(&self, update: &[u8]) -> Result<bool, SyncError> {
        self.document.contains_update(update)
    }
}

impl<D: SyncDocument> DocumentWithPresence for LockedHubDocument<'_, D> {
    fn receive_presence(
        &mut self,
        connection: PresenceConnection,
        update: &[u8],
        now: Duration,
    ) -> Result<Option<Vec<u8>>, SyncError> {
        Ok(self.room.receive(connection, update, now)?)
    }

    fn all_states(&self) -> Option<Vec<u8>> {
        self.room.all()
    }
}
