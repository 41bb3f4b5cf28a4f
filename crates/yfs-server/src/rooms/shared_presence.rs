//! The presence that the rooms share with other peers.
//!
//! The [bridge](crate::presence_bridge) sends the editors of the documents that have changed, and
//! receives the editors of other peers, also at documents without a room.
//!
//! Locks are taken in this order: remote editors, rooms, presence of a room.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use parking_lot::Mutex;
use tokio::sync::Notify;
use yfs_engine::id::FileId;
use yfs_peer::{PeerId, RemotePresence};
use yfs_sync::presence::{PresenceEntry, decode, encode};

use super::{
    DocumentRoom, DocumentRooms,
    remote_editors::{EditorChanges, RemoteEditors},
};

/// The most documents with editors of other peers. The process that connects them has its own
/// bounds.
const MAX_REMOTE_DOCUMENTS: usize = 16_384;

/// What the rooms share with other peers.
#[derive(Debug, Default)]
pub(super) struct SharedPresence {
    /// The editors of other peers, by document.
    remote: Mutex<BTreeMap<FileId, RemoteEditors>>,
    /// Whether there is a process that connects this workspace with its peers.
    is_shared: AtomicBool,
    /// The documents whose editors are to be sent.
    changed: Mutex<BTreeSet<FileId>>,
    /// Wakes the bridge.
    wake: Notify,
}

impl SharedPresence {
    /// Records that the editors of this server at a document have changed or were renewed.
    pub(super) fn note_change(&self, doc: &FileId) {
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
        for (doc, mut editors) in std::mem::take(&mut *remote) {
            self.send_changes(&doc, editors.expire(Duration::MAX));
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
        let mut remote = self.shared.remote.lock();
        if remote.len() >= MAX_REMOTE_DOCUMENTS && !remote.contains_key(&arrived.doc) {
            return;
        }
        let editors = remote.entry(arrived.doc.clone()).or_default();
        let changes = editors.replace(arrived.peer, &entries, self.now());
        if editors.is_empty() {
            remote.remove(&arrived.doc);
        }
        self.send_changes(&arrived.doc, changes);
    }

    /// Removes the editors of other peers that were not renewed in time.
    pub(super) fn expire_remote(&self, now: Duration) {
        let mut remote = self.shared.remote.lock();
        for (doc, editors) in &mut *remote {
            self.send_changes(doc, editors.expire(now));
        }
        remote.retain(|_, editors| !editors.is_empty());
    }

    /// Returns the editors of other peers, by peer and document, as their states.
    pub(crate) fn remote_editors(&self) -> BTreeMap<(PeerId, FileId), Vec<String>> {
        let mut by_peer = BTreeMap::<_, Vec<String>>::new();
        for (doc, editors) in &*self.shared.remote.lock() {
            for (peer, entry) in editors.entries() {
                by_peer.entry((peer, doc.clone())).or_default().push(entry.state.to_owned());
            }
        }
        by_peer
    }

    fn send_changes(&self, doc: &FileId, changes: EditorChanges) {
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
        let editors = remote.get(&self.guid).into_iter().flat_map(RemoteEditors::entries);
        let others = editors.map(|(_, entry)| entry);
        entries.extend(others.filter(|entry| !self.is_own(&presence, entry.id)));
        (!entries.is_empty()).then(|| encode(&entries))
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
