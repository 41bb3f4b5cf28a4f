//! What the connections to one document share besides the document: presence.

use std::{convert::Infallible, sync::Arc, time::Duration};

use axum::body::Bytes;
use dashmap::DashMap;
use parking_lot::Mutex;
use tokio::{
    sync::broadcast,
    task::{AbortHandle, block_in_place},
    time::{Instant, sleep},
};
use yfs::{DocPort, WorkspaceError};
use yfs_engine::id::FileId;
use yfs_sync::{
    Document, SyncError, collab,
    hub::Place,
    message::Message,
    presence::{Connection, Room as Presence},
};

/// How many presence messages a connection may fall behind. Older ones may be lost: each holds the
/// whole state of its client, and clients renew it every 15 seconds.
const BACKLOG: usize = 256;

/// How often it is looked for clients that were not renewed.
const SWEEP: Duration = Duration::from_secs(3);

/// The rooms of all documents that have connections.
#[derive(Debug)]
pub(crate) struct Rooms {
    rooms: DashMap<FileId, Arc<Room>>,
    began: Instant,
}

/// The connections to one document.
#[derive(Debug)]
struct Room {
    presence: Mutex<Presence>,
    /// Awareness messages, without prefix.
    messages: broadcast::Sender<Bytes>,
}

/// A connection's place at a document. Dropping it tells the others that its clients have gone.
#[derive(Debug)]
pub(crate) struct Seat {
    pub(crate) port: DocPort,
    rooms: Arc<Rooms>,
    room: Arc<Room>,
    connection: Connection,
    /// The task that follows the document for the connection, if it has one. It ends with the seat.
    follower: Option<AbortHandle>,
}

impl Default for Rooms {
    fn default() -> Self {
        Self { rooms: DashMap::new(), began: Instant::now() }
    }
}

impl Rooms {
    /// Enters the room of a document, and follows its presence from now on.
    pub(crate) fn enter(self: &Arc<Self>, port: DocPort) -> (Seat, broadcast::Receiver<Bytes>) {
        // The receiver is made while the map's shard is locked, so that the room cannot close.
        let entry = self.rooms.entry(port.guid().clone()).or_default();
        let (room, messages) = (entry.clone(), entry.messages.subscribe());
        drop(entry);
        let connection = room.presence.lock().enter();
        (Seat { port, rooms: self.clone(), room, connection, follower: None }, messages)
    }

    /// Returns the time as the sessions count it.
    pub(crate) fn now(&self) -> Duration {
        self.began.elapsed()
    }

    /// Lets clients that are not renewed expire, and closes empty rooms, for ever.
    pub(crate) async fn keep(&self) -> Infallible {
        loop {
            sleep(SWEEP).await;
            let now = self.now();
            self.rooms.retain(|_, room| {
                let gone = room.presence.lock().expire(now);
                if let Some(update) = gone {
                    room.send(&update);
                }
                room.messages.receiver_count() > 0
            });
        }
    }
}

impl Seat {
    /// Lets a task that follows the document end with the seat.
    pub(crate) fn followed_by(mut self, follower: AbortHandle) -> Self {
        self.follower = Some(follower);
        self
    }

    /// Returns the time as the sessions count it.
    pub(crate) fn now(&self) -> Duration {
        self.rooms.now()
    }
}

impl Document for Seat {
    fn state_vector(&self) -> Result<Vec<u8>, SyncError> {
        block_in_place(|| self.port.state_vector()).map_err(fault)
    }

    fn diff(&self, state_vector: &[u8]) -> Result<Vec<u8>, SyncError> {
        block_in_place(|| self.port.diff(state_vector)).map_err(fault)
    }

    fn receive(&mut self, update: &[u8]) -> Result<(), SyncError> {
        block_in_place(|| self.port.receive(update)).map_err(fault)
    }

    fn holds(&self, update: &[u8]) -> Result<bool, SyncError> {
        block_in_place(|| self.port.holds(update)).map_err(fault)
    }
}

impl Place for Seat {
    fn meet(
        &mut self,
        connection: Connection,
        update: &[u8],
        now: Duration,
    ) -> Result<Option<Vec<u8>>, SyncError> {
        Ok(self.room.presence.lock().receive(connection, update, now)?)
    }

    fn everybody(&self) -> Option<Vec<u8>> {
        self.room.presence.lock().all()
    }
}

impl collab::Seat for Seat {
    fn connection(&self) -> Connection {
        self.connection
    }

    fn relay(&self, update: &[u8]) {
        self.room.send(update);
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        if let Some(follower) = &self.follower {
            follower.abort();
        }
        let gone = self.room.presence.lock().leave(self.connection);
        if let Some(update) = gone {
            self.room.send(&update);
        }
        // Our own receiver is gone or about to go; whoever else is here keeps the room.
        let is_empty = |_: &FileId, room: &Arc<Room>| room.messages.receiver_count() == 0;
        self.rooms.rooms.remove_if(self.port.guid(), is_empty);
    }
}

impl Default for Room {
    fn default() -> Self {
        Self { presence: Mutex::default(), messages: broadcast::channel(BACKLOG).0 }
    }
}

impl Room {
    fn send(&self, update: &[u8]) {
        // An error means that nobody is left to hear it.
        self.messages.send(Message::Awareness(update).encode().into()).ok();
    }
}

fn fault(error: WorkspaceError) -> SyncError {
    match error {
        WorkspaceError::Refused(refusal) => SyncError::Refused(refusal),
        error => SyncError::Failed(error.into()),
    }
}
