//! What the connections to one document share: who they are, what they are sent, presence.
//!
//! A room opens with the first connection to its document and closes with the last. One task follows the
//! document for all of them: each update is written as a frame once, and that frame put into every outbox.

mod gathering;
mod outbox;
mod states;

pub(crate) use self::outbox::{Outbox, Outgoing};

use std::{
    convert::Infallible,
    sync::{Arc, Weak},
    time::Duration,
};

use axum::body::Bytes;
use dashmap::DashMap;
use parking_lot::Mutex;
use tokio::{
    sync::broadcast::{Receiver, error::RecvError},
    task::{AbortHandle, block_in_place},
    time::{Instant, sleep},
};
use yfs::{DocPort, WorkspaceError};
use yfs_engine::id::FileId;
use yfs_sync::{
    Diff, Document, SyncError, collab,
    hub::Place,
    message::Message,
    presence::{Connection, Room as Presence},
};

use self::{gathering::Gathering, states::States};
use crate::{metrics::Metrics, wire::Ending};

/// How often it is looked for clients that were not renewed, and for states that nobody wants.
const SWEEP: Duration = Duration::from_secs(3);

/// The rooms of all documents that have connections.
#[derive(Debug)]
pub(crate) struct Rooms {
    rooms: DashMap<FileId, Arc<Room>>,
    began: Instant,
    metrics: Arc<Metrics>,
}

/// The connections to one document.
#[derive(Debug)]
struct Room {
    members: Mutex<Vec<Member>>,
    presence: Mutex<Presence>,
    gathering: Gathering,
    states: States,
    /// The task that follows the document. It ends with the room.
    follower: AbortHandle,
}

/// A connection in a room.
#[derive(Debug)]
struct Member {
    connection: Connection,
    outbox: Arc<Outbox>,
    /// What its frames begin with.
    prefix: Arc<[u8]>,
}

/// A connection's place at a document. Dropping it tells the others that its clients have gone.
#[derive(Debug)]
pub(crate) struct Seat {
    port: DocPort,
    rooms: Arc<Rooms>,
    room: Arc<Room>,
    connection: Connection,
}

impl Rooms {
    /// Opens no room yet.
    pub(crate) fn new(metrics: Arc<Metrics>) -> Self {
        Self { rooms: DashMap::new(), began: Instant::now(), metrics }
    }

    /// Enters the room of a document. What others do there is put into the outbox from now on, behind the
    /// prefix.
    pub(crate) fn enter(
        self: &Arc<Self>,
        port: DocPort,
        outbox: &Arc<Outbox>,
        prefix: &[u8],
    ) -> Seat {
        // The member is added while the map's shard is locked, so that the room cannot close.
        let entry = self.rooms.entry(port.guid().clone());
        let entry = entry.or_insert_with(|| Room::open(port.subscribe()));
        let room = entry.clone();
        let connection = room.presence.lock().enter();
        let (outbox, prefix) = (outbox.clone(), prefix.into());
        room.members.lock().push(Member { connection, outbox, prefix });
        drop(entry);
        self.metrics.seats.inc();
        Seat { port, rooms: self.clone(), room, connection }
    }

    /// Returns the time as the sessions count it.
    pub(crate) fn now(&self) -> Duration {
        self.began.elapsed()
    }

    /// Lets clients that are not renewed expire, and drops states that nobody wants, for ever.
    pub(crate) async fn keep(&self) -> Infallible {
        loop {
            sleep(SWEEP).await;
            let now = self.now();
            let rooms: Vec<Arc<Room>> = self.rooms.iter().map(|room| room.clone()).collect();
            for room in rooms {
                let gone = room.presence.lock().expire(now);
                if let Some(update) = gone {
                    room.relay(update);
                }
                room.states.sweep();
            }
        }
    }
}

impl Room {
    fn open(updates: Receiver<Arc<[u8]>>) -> Arc<Self> {
        Arc::new_cyclic(|room| Self {
            members: Mutex::default(),
            presence: Mutex::default(),
            gathering: Gathering::default(),
            states: States::default(),
            follower: tokio::spawn(follow(room.clone(), updates)).abort_handle(),
        })
    }

    fn publish(&self, update: &Arc<[u8]>) {
        self.states.publish(update);
        let frame = Bytes::from(Message::Update(update).encode());
        for member in &*self.members.lock() {
            member.outbox.push(Outgoing::new(&member.prefix, &frame));
        }
    }

    /// Tells everybody of an awareness update, soon, and together with others.
    fn relay(self: &Arc<Self>, update: Vec<u8>) {
        if self.gathering.add(update) {
            let room = Arc::downgrade(self);
            tokio::spawn(async move {
                sleep(gathering::WINDOW).await;
                if let Some(room) = room.upgrade() {
                    room.tell();
                }
            });
        }
    }

    fn tell(&self) {
        let Some(update) = self.gathering.take() else { return };
        let frame = Bytes::from(Message::Awareness(&update).encode());
        for member in &*self.members.lock() {
            member.outbox.push_lossy(Outgoing::new(&member.prefix, &frame));
        }
    }

    fn end(&self, ending: fn() -> Ending) {
        for member in &*self.members.lock() {
            member.outbox.end(ending());
        }
    }
}

/// Passes on what becomes of a document, until nobody is there.
async fn follow(room: Weak<Room>, mut updates: Receiver<Arc<[u8]>>) {
    loop {
        let update = updates.recv().await;
        let Some(room) = room.upgrade() else { return };
        match update {
            Ok(update) => room.publish(&update),
            // An update is never dropped: who missed one begins anew.
            Err(RecvError::Lagged(_)) => room.end(Ending::behind),
            Err(RecvError::Closed) => return room.end(Ending::closed),
        }
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        self.follower.abort();
    }
}

impl Document for Seat {
    fn state_vector(&self) -> Result<Vec<u8>, SyncError> {
        block_in_place(|| self.port.state_vector()).map_err(fault)
    }

    fn diff(&self, state_vector: &[u8]) -> Result<Diff, SyncError> {
        let compute = || self.port.diff(state_vector);
        let (diff, is_shared) =
            block_in_place(|| self.room.states.diff(state_vector, compute)).map_err(fault)?;
        let metrics = &self.rooms.metrics;
        let counter = if is_shared { &metrics.shared_states } else { &metrics.states };
        counter.inc();
        Ok(diff)
    }

    fn receive(&mut self, update: &[u8]) -> Result<(), SyncError> {
        block_in_place(|| self.port.receive(update)).map_err(fault)?;
        self.rooms.metrics.updates.inc();
        Ok(())
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
        self.room.relay(update.to_vec());
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.rooms.metrics.seats.dec();
        self.room.members.lock().retain(|member| member.connection != self.connection);
        let gone = self.room.presence.lock().leave(self.connection);
        if let Some(update) = gone {
            self.room.relay(update);
        }
        let is_empty = |_: &FileId, room: &Arc<Room>| room.members.lock().is_empty();
        self.rooms.rooms.remove_if(self.port.guid(), is_empty);
    }
}

fn fault(error: WorkspaceError) -> SyncError {
    match error {
        WorkspaceError::Refused(refusal) => SyncError::Refused(refusal),
        error => SyncError::Failed(error.into()),
    }
}
