//! What the connections to one document share: their list, the frames to send, and presence.
//!
//! A room opens with the first connection to its document and closes with the last. One task
//! follows the document for all of them: it encodes each update as a frame once, and puts that
//! frame into every outbox.

mod awareness_batcher;
mod outbox;
mod remote_editors;
mod shared_presence;
mod state_cache;
mod watched;

pub(crate) use self::outbox::{ConnectionOutbox, OutgoingFrame};

use std::{
    convert::Infallible,
    sync::{
        Arc, OnceLock, Weak,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use axum::body::Bytes;
use dashmap::DashMap;
use parking_lot::Mutex;
use tokio::{
    sync::Semaphore,
    task::{AbortHandle, block_in_place},
    time::{Instant, sleep, sleep_until},
};
use yfs::{DocPort, WorkspaceError, subscription::Subscription};
use yfs_engine::id::FileId;
use yfs_sync::{
    StateDiff, SyncDocument, SyncError, collab,
    hub::DocumentWithPresence,
    message::SyncMessage,
    presence::{PresenceConnection, PresenceRoom as Presence, decode},
};

use self::{
    awareness_batcher::AwarenessBatcher, remote_editors::LeftClients,
    shared_presence::SharedPresence, state_cache::StateCache, watched::WatchedSign,
};
use crate::{close_reason::CloseReason, metrics::ServerMetrics};

/// How many states are computed and sent at once; further clients wait to join.
pub(crate) const MAX_JOINS: usize = 8;

/// How often expired clients and unused states are removed.
const SWEEP: Duration = Duration::from_secs(3);

/// The greatest number of updates in one broadcast.
const MAX_TOGETHER: usize = 256;

/// The pause after a broadcast, per receiver: several times the time that sending takes.
const REST_PER_MEMBER: Duration = Duration::from_micros(50);

/// The shortest pause, below which there is none, and the longest.
const MIN_REST: Duration = Duration::from_millis(2);
const MAX_REST: Duration = Duration::from_millis(50);

/// The rooms of all documents that have connections.
#[derive(Debug)]
pub(crate) struct DocumentRooms {
    rooms: DashMap<FileId, Arc<DocumentRoom>>,
    began: Instant,
    metrics: Arc<ServerMetrics>,
    shared: Arc<SharedPresence>,
    watched: WatchedSign,
}

/// The connections to one document.
#[derive(Debug)]
struct DocumentRoom {
    guid: FileId,
    members: Mutex<Vec<RoomConnection>>,
    presence: Mutex<Presence>,
    gathering: Mutex<AwarenessBatcher>,
    /// The clients that have left.
    left: Mutex<LeftClients>,
    /// What other peers know of these editors, and these of theirs.
    shared: Arc<SharedPresence>,
    /// The start of the clock that presence uses.
    began: Instant,
    states: StateCache,
    /// Permits for computing and sending states.
    joins: Arc<Semaphore>,
    /// Whether the room no longer follows the document: all members must join another room.
    has_ended: AtomicBool,
    /// The task that follows the document. It ends with the room.
    follower: OnceLock<AbortHandle>,
}

/// A connection in a room.
#[derive(Debug)]
struct RoomConnection {
    connection: PresenceConnection,
    outbox: Arc<ConnectionOutbox>,
    /// The prefix of its frames.
    prefix: Arc<[u8]>,
}

/// The subscription of a connection to a document. Dropping it notifies the other members that its
/// clients left.
#[derive(Debug)]
pub(crate) struct DocSubscription {
    port: DocPort,
    rooms: Arc<DocumentRooms>,
    room: Arc<DocumentRoom>,
    connection: PresenceConnection,
}

impl DocumentRooms {
    /// Makes an empty set of rooms.
    pub(crate) fn new(metrics: Arc<ServerMetrics>) -> Self {
        Self {
            rooms: DashMap::new(),
            began: Instant::now(),
            metrics,
            shared: Arc::default(),
            watched: WatchedSign::default(),
        }
    }

    /// Joins the room of a document. Changes by others are put into the outbox from now on, behind
    /// the prefix.
    pub(crate) fn join(
        self: &Arc<Self>,
        port: DocPort,
        outbox: &Arc<ConnectionOutbox>,
        prefix: &[u8],
    ) -> DocSubscription {
        // The member is added while the map's shard is locked, so that the room cannot close.
        let entry = self.rooms.entry(port.guid().clone());
        let open = || DocumentRoom::open(&port, self.began, self.shared.clone());
        let mut entry = entry.or_insert_with(open);
        if entry.has_ended.load(Ordering::Acquire) {
            // Its remaining members are leaving.
            *entry = open();
        }
        let room = entry.clone();
        let connection = room.presence.lock().enter();
        let (outbox, prefix) = (outbox.clone(), prefix.into());
        room.members.lock().push(RoomConnection { connection, outbox: outbox.clone(), prefix });
        if room.has_ended.load(Ordering::Acquire) {
            outbox.end(CloseReason::closed());
        }
        drop(entry);
        self.watched.note();
        self.metrics.open_documents.inc();
        DocSubscription { port, rooms: self.clone(), room, connection }
    }

    /// Returns the time on the clock of presence.
    pub(crate) fn now(&self) -> Duration {
        self.began.elapsed()
    }

    /// Expires clients that do not renew their presence and drops unused states, forever.
    pub(crate) async fn sweep_forever(&self) -> Infallible {
        loop {
            sleep(SWEEP).await;
            let now = self.now();
            let rooms: Vec<Arc<DocumentRoom>> =
                self.rooms.iter().map(|room| room.clone()).collect();
            for room in rooms {
                let gone = room.presence.lock().expire(now);
                if let Some(update) = gone {
                    room.relay(&update);
                }
                room.states.sweep();
            }
            self.expire_remote(now);
        }
    }
}

impl DocumentRoom {
    fn open(port: &DocPort, began: Instant, shared: Arc<SharedPresence>) -> Arc<Self> {
        let updates = port.subscribe();
        let room = Arc::new(Self {
            guid: port.guid().clone(),
            shared,
            left: Mutex::default(),
            members: Mutex::default(),
            presence: Mutex::default(),
            gathering: Mutex::default(),
            began,
            states: StateCache::default(),
            joins: Arc::new(Semaphore::new(MAX_JOINS / 2)),
            has_ended: AtomicBool::new(false),
            follower: OnceLock::new(),
        });
        // The task starts after the room is in the map: a task that finds no room ends, and an
        // update may arrive at once.
        let follower = tokio::spawn(follow(Arc::downgrade(&room), updates));
        room.follower.get_or_init(|| follower.abort_handle());
        room
    }

    /// Sends updates to all members, and returns their number.
    fn publish(&self, updates: &[Arc<[u8]>]) -> usize {
        updates.iter().for_each(|update| self.states.publish(update));
        let frames = updates.iter().map(|update| SyncMessage::Update(update).encode().into());
        let frames: Vec<Bytes> = frames.collect();
        let members = self.members.lock();
        for member in &*members {
            member
                .outbox
                .push(frames.iter().map(|frame| OutgoingFrame::new(&member.prefix, frame)));
        }
        members.len()
    }

    /// Sends an awareness update of a member to all members and to other peers.
    fn relay(self: &Arc<Self>, update: &[u8]) {
        // The room encoded the update, so decoding cannot fail.
        let entries = decode(update).unwrap_or_default();
        self.left.lock().note(&entries, self.began.elapsed());
        self.shared.note_change(&self.guid);
        self.gather(update);
    }

    /// Sends an awareness update to all members, batched with others.
    fn gather(self: &Arc<Self>, update: &[u8]) {
        let due = self.gathering.lock().add(update, self.began.elapsed());
        if let Some(due) = due {
            let (room, due) = (Arc::downgrade(self), self.began + due);
            tokio::spawn(async move {
                sleep_until(due).await;
                if let Some(room) = room.upgrade() {
                    room.broadcast_awareness();
                }
            });
        }
    }

    /// Sends the batched awareness to all members.
    fn broadcast_awareness(&self) {
        let n_members = self.members.lock().len();
        let taken = self.gathering.lock().take(self.began.elapsed(), n_members);
        let Some(update) = taken else { return };
        let frame = Bytes::from(SyncMessage::Awareness(&update).encode());
        for member in &*self.members.lock() {
            member.outbox.push_lossy(OutgoingFrame::new(&member.prefix, &frame));
        }
    }

    fn end(&self, ending: fn() -> CloseReason) {
        self.has_ended.store(true, Ordering::Release);
        for member in &*self.members.lock() {
            member.outbox.end(ending());
        }
    }
}

/// Sends the changes of a document to its members until it has none.
///
/// With many members it pauses after each broadcast, so that updates of several writers are sent in
/// one: a broadcast costs a wake-up and a system call per member.
async fn follow(room: Weak<DocumentRoom>, mut updates: Subscription) {
    loop {
        let first = updates.recv().await;
        let n_members = {
            let Some(room) = room.upgrade() else { return };
            // An update is never dropped: if one was missed, all members must join again.
            let Some(first) = first else { return room.end(CloseReason::closed) };
            let more = std::iter::from_fn(|| updates.try_recv());
            let together: Vec<_> = std::iter::once(first).chain(more.take(MAX_TOGETHER)).collect();
            room.publish(&together)
        };
        let rest = REST_PER_MEMBER * u32::try_from(n_members).unwrap_or(u32::MAX);
        if rest >= MIN_REST {
            sleep(rest.min(MAX_REST)).await;
        }
    }
}

impl Drop for DocumentRoom {
    fn drop(&mut self) {
        if let Some(follower) = self.follower.get() {
            follower.abort();
        }
    }
}

impl DocSubscription {
    /// Returns the permits for computing and sending states of the document.
    pub(crate) fn joins(&self) -> Arc<Semaphore> {
        self.room.joins.clone()
    }
}

impl SyncDocument for DocSubscription {
    fn state_vector(&self) -> Result<Vec<u8>, SyncError> {
        block_in_place(|| self.port.state_vector()).map_err(fault)
    }

    fn diff(&self, state_vector: &[u8]) -> Result<StateDiff, SyncError> {
        // The parked updates are read first: an update that is completed in between is in the diff,
        // and one that is parked in between is sent to this connection, which has joined.
        let compute = || {
            let later = self.port.parked()?;
            Ok(StateDiff { update: self.port.diff(state_vector)?.into(), later })
        };
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

    fn contains_update(&self, update: &[u8]) -> Result<bool, SyncError> {
        block_in_place(|| self.port.has_update(update)).map_err(fault)
    }
}

impl DocumentWithPresence for DocSubscription {
    fn receive_presence(
        &mut self,
        connection: PresenceConnection,
        update: &[u8],
        now: Duration,
    ) -> Result<Option<Vec<u8>>, SyncError> {
        let update = self.room.without_echoes(update);
        let mut presence = self.room.presence.lock();
        let relayed = presence.receive(connection, &update, now)?;
        let (contested, returned) = (presence.take_contested(), presence.take_returned());
        drop(presence);
        if let Some(left) = returned {
            self.room.resend_remote(left);
        }
        if !contested.is_empty() {
            let members = self.room.members.lock();
            let owners = members.iter().filter(|member| contested.contains(&member.connection));
            owners.for_each(|owner| owner.outbox.probe());
        }
        Ok(relayed)
    }

    fn all_states(&self) -> Option<Vec<u8>> {
        self.room.all_states()
    }
}

impl collab::CollabDocument for DocSubscription {
    fn connection(&self) -> PresenceConnection {
        self.connection
    }

    fn broadcast_presence(&self, update: &[u8]) {
        self.room.relay(update);
    }

    fn take_over_presence(&self, previous: &Self) {
        if Arc::ptr_eq(&self.room, &previous.room) {
            self.room.presence.lock().transfer_clients(previous.connection, self.connection);
        }
    }
}

impl Drop for DocSubscription {
    fn drop(&mut self) {
        self.rooms.metrics.open_documents.dec();
        self.room.members.lock().retain(|member| member.connection != self.connection);
        let now = self.rooms.now();
        let gone = self.room.presence.lock().leave(self.connection, now);
        if let Some(update) = gone {
            self.room.relay(&update);
        }
        let is_over = |_: &FileId, room: &Arc<DocumentRoom>| {
            Arc::ptr_eq(room, &self.room) && room.members.lock().is_empty()
        };
        self.rooms.rooms.remove_if(self.port.guid(), is_over);
    }
}

fn fault(error: WorkspaceError) -> SyncError {
    match error {
        WorkspaceError::Refused(refusal) => SyncError::Refused(refusal),
        error => SyncError::Failed(error.into()),
    }
}

#[cfg(test)]
mod tests;
