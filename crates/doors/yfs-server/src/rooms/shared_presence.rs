//! The presence that the rooms share with other peers.
//!
//! The [bridge](crate::presence_bridge) sends the editors of the documents that have changed, and
//! receives the editors of other peers, also at documents without a room.
//!
//! Locks are taken in this order: remote editors, rooms, presence of a room.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use parking_lot::Mutex;
use tokio::sync::{Notify, watch};
use yfs_engine::id::FileId;
use yfs_peer::{PeerId, RemotePresence};
use yfs_sync::presence::{EXPIRY, PresenceEntry, decode, encode};

use super::{
    DocumentRoom, DocumentRooms,
    remote_editors::{EditorChanges, GONE, RemoteEditors},
};
use crate::live_presence::SERVER_PEER;

/// The most documents with editors of other peers. The process that connects them has its own
/// bounds.
const MAX_REMOTE_DOCUMENTS: usize = 16_384;

/// The most editors of other peers that have left and are remembered.
const MAX_LEFT: usize = 16_384;

/// What the rooms share with other peers.
#[derive(Debug, Default)]
pub(super) struct SharedPresence {
    /// The editors of other peers.
    remote: Mutex<RemotePresenceTable>,
    /// Whether there is a process that connects this workspace with its peers.
    is_shared: AtomicBool,
    /// The documents whose editors are to be sent.
    changed: Mutex<BTreeSet<FileId>>,
    /// Wakes the bridge.
    wake: Notify,
    /// Counts the changes of the editors at documents that readers wait for.
    counted: Mutex<BTreeMap<FileId, watch::Sender<u64>>>,
}

/// The editors of other peers, at all documents.
#[derive(Debug, Default)]
struct RemotePresenceTable {
    docs: BTreeMap<FileId, RemoteEditors>,
    /// The last clock of editors that have left, and when.
    left: BTreeMap<(FileId, u64), (u64, Duration)>,
}

impl RemotePresenceTable {
    /// Reports whether an entry of an editor of this server repeats what the editor was sent of
    /// another peer. Clients of y-websocket send all changes back, also those of others.
    fn is_echo(&self, doc: &FileId, entry: &PresenceEntry<'_>, now: Duration) -> bool {
        if let Some(clock) = self.docs.get(doc).and_then(|editors| editors.clock_of(entry.id)) {
            return entry.clock <= clock;
        }
        let left = self.left.get(&(doc.clone(), entry.id));
        left.is_some_and(|(clock, at)| entry.clock <= *clock && now.saturating_sub(*at) < EXPIRY)
    }

    /// Remembers the editors that have left.
    fn note_left(&mut self, doc: &FileId, changes: &EditorChanges, now: Duration) {
        for (id, clock, _) in changes.iter().filter(|(.., state)| state == GONE) {
            if self.left.len() >= MAX_LEFT {
                self.forget_left(now);
            }
            if self.left.len() < MAX_LEFT {
                self.left.insert((doc.clone(), *id), (*clock, now));
            }
        }
    }

    fn forget_left(&mut self, now: Duration) {
        self.left.retain(|_, (_, at)| now.saturating_sub(*at) < EXPIRY);
    }
}

impl SharedPresence {
    /// Wakes those who wait for changes of the editors at a document.
    fn count_change(&self, doc: &FileId) {
        if let Some(count) = self.counted.lock().get(doc) {
            count.send_modify(|count| *count = count.wrapping_add(1));
        }
    }

    /// Records that the editors of this server at a document have changed or were renewed.
    pub(super) fn note_change(&self, doc: &FileId) {
        self.count_change(doc);
        if self.is_shared.load(Ordering::Acquire) {
            self.changed.lock().insert(doc.clone());
            self.wake.notify_one();
        }
    }
}

impl DocumentRooms {
    /// Records whether there is a process that connects this workspace with its peers. Its first
    /// task is to send all editors; with its end those of other peers leave.
    pub(crate) fn set_shared(&self, is_shared: bool) {
        self.shared.is_shared.store(is_shared, Ordering::Release);
        if is_shared {
            for room in &self.rooms {
                self.shared.note_change(room.key());
            }
            return;
        }
        self.shared.changed.lock().clear();
        let mut remote = self.shared.remote.lock();
        for (doc, mut editors) in std::mem::take(&mut remote.docs) {
            let changes = editors.expire(Duration::MAX);
            remote.note_left(&doc, &changes, self.now());
            self.send_changes(&doc, changes);
        }
    }

    /// Waits until the editors of documents have changed, and returns the documents.
    pub(crate) async fn changed_documents(&self) -> BTreeSet<FileId> {
        loop {
            let changed = std::mem::take(&mut *self.shared.changed.lock());
            if !changed.is_empty() {
                return changed;
            }
            self.shared.wake.notified().await;
        }
    }

    /// Returns the editors of this server at a document, with their clocks and states.
    pub(crate) fn editors_of(&self, doc: &FileId) -> EditorChanges {
        let Some(room) = self.rooms.get(doc).map(|room| room.clone()) else { return Vec::new() };
        let presence = room.presence.lock();
        presence.entries().map(|entry| (entry.id, entry.clock, entry.state.to_owned())).collect()
    }

    /// Accepts the editors of another peer.
    pub(crate) fn receive_remote(&self, arrived: &RemotePresence) {
        let Ok(entries) = decode(&arrived.states) else { return };
        let remote = &mut *self.shared.remote.lock();
        let docs = &mut remote.docs;
        if docs.len() >= MAX_REMOTE_DOCUMENTS && !docs.contains_key(&arrived.doc) {
            return;
        }
        let editors = docs.entry(arrived.doc.clone()).or_default();
        let left = &remote.left;
        let left_clock = |id| Some(left.get(&(arrived.doc.clone(), id))?.0);
        let changes = editors.replace(arrived.peer, &entries, left_clock, self.now());
        if editors.is_empty() {
            docs.remove(&arrived.doc);
        }
        remote.note_left(&arrived.doc, &changes, self.now());
        self.send_changes(&arrived.doc, changes);
    }

    /// Removes the editors of other peers that were not renewed in time.
    pub(super) fn expire_remote(&self, now: Duration) {
        let remote = &mut *self.shared.remote.lock();
        for (doc, editors) in &mut remote.docs {
            self.send_changes(doc, editors.expire(now));
        }
        remote.docs.retain(|_, editors| !editors.is_empty());
        remote.forget_left(now);
    }

    /// Returns the editors of other peers, by peer and document, as their states.
    pub(crate) fn remote_editors(&self) -> BTreeMap<(PeerId, FileId), Vec<String>> {
        let mut by_peer = BTreeMap::<_, Vec<String>>::new();
        for (doc, editors) in &self.shared.remote.lock().docs {
            let others = editors.entries().filter(|(peer, _)| *peer.as_bytes() != SERVER_PEER);
            for (peer, entry) in others {
                by_peer.entry((peer, doc.clone())).or_default().push(entry.state.to_owned());
            }
        }
        by_peer
    }

    /// Returns the client ids and the states of all editors at a document, on all servers.
    pub(crate) fn states_at(&self, doc: &FileId) -> Vec<(u64, String)> {
        let room = self.rooms.get(doc).map(|room| room.clone());
        let remote = self.shared.remote.lock();
        let others = remote.docs.get(doc).into_iter().flat_map(RemoteEditors::entries);
        let mut states: Vec<_> =
            others.map(|(_, entry)| (entry.id, entry.state.to_owned())).collect();
        if let Some(room) = room {
            let presence = room.presence.lock();
            states.extend(presence.entries().map(|entry| (entry.id, entry.state.to_owned())));
        }
        states
    }

    /// Returns a receiver that is notified when editors at a document have changed, on any server.
    pub(crate) fn presence_changes(&self, doc: &FileId) -> watch::Receiver<u64> {
        self.shared.counted.lock().entry(doc.clone()).or_default().subscribe()
    }

    fn send_changes(&self, doc: &FileId, changes: EditorChanges) {
        if !changes.is_empty() {
            self.shared.count_change(doc);
        }
        let room = self.rooms.get(doc).map(|room| room.clone());
        if let Some(room) = room.filter(|_| !changes.is_empty()) {
            room.send_remote(&changes);
        }
    }
}

impl DocumentRoom {
    /// Returns the presence of the editors of this server and of other peers.
    pub(super) fn all_states(&self) -> Option<Vec<u8>> {
        let remote = self.shared.remote.lock();
        let presence = self.presence.lock();
        let mut entries: Vec<PresenceEntry<'_>> = presence.entries().collect();
        let editors = remote.docs.get(&self.guid).into_iter().flat_map(RemoteEditors::entries);
        let others = editors.map(|(_, entry)| entry);
        entries.extend(others.filter(|entry| !self.is_own(&presence, entry.id)));
        (!entries.is_empty()).then(|| encode(&entries))
    }

    /// Returns an awareness update of a member without what repeats the editors of other peers.
    pub(super) fn without_echoes<'u>(&self, update: &'u [u8]) -> Cow<'u, [u8]> {
        let remote = self.shared.remote.lock();
        if remote.docs.is_empty() && remote.left.is_empty() {
            return update.into();
        }
        let Ok(mut entries) = decode(update) else { return update.into() };
        let now = self.began.elapsed();
        let presence = self.presence.lock();
        // What a peer says of an editor of this server is shown to none, so none repeats it.
        let is_echo = |entry: &PresenceEntry<'_>| {
            !self.is_own(&presence, entry.id) && remote.is_echo(&self.guid, entry, now)
        };
        entries.retain(|entry| !is_echo(entry));
        encode(&entries).into()
    }

    /// Sends the editors of other peers again that have not changed since a member left that is
    /// back.
    pub(super) fn resend_remote(self: &Arc<Self>, left: Duration) {
        let now = self.began.elapsed();
        let mut remote = self.shared.remote.lock();
        let Some(editors) = remote.docs.get_mut(&self.guid) else { return };
        let changes = editors.advance_unchanged(left, now);
        self.send_remote(&changes);
    }

    /// Sends changes of the editors of other peers to all members.
    fn send_remote(self: &Arc<Self>, changes: &EditorChanges) {
        let presence = self.presence.lock();
        let others = changes.iter().filter(|(id, ..)| !self.is_own(&presence, *id));
        let entries: Vec<PresenceEntry<'_>> = others
            .map(|(id, clock, state)| PresenceEntry { id: *id, clock: *clock, state })
            .collect();
        drop(presence);
        if !entries.is_empty() {
            self.gather(&encode(&entries));
        }
    }

    /// Reports whether a client id is that of an editor of this server, which is there or has just
    /// left.
    fn is_own(&self, presence: &super::Presence, id: u64) -> bool {
        presence.has_client(id) || self.left.lock().has(id, self.began.elapsed())
    }
}
