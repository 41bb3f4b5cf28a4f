//! Where programs have just written in a document that pages show.

use std::sync::Arc;

use yfs_engine::{
    gate::writers,
    id::{FileId, ItemId},
};

use super::{DocumentRoom, DocumentRooms};

/// How many updates a room remembers, and the greatest size of one: at most 64 KiB for a room.
const MAX_REMEMBERED: usize = 16;
const MAX_REMEMBERED_LEN: usize = 4 << 10;

impl DocumentRooms {
    /// Returns the first item that was written last in a document by another writer than its
    /// members; `None` if there is none, or no page shows the document.
    pub(crate) fn written_without_member(&self, doc: &FileId) -> Option<ItemId> {
        let room = self.rooms.get(doc)?.clone();
        let recent: Vec<Arc<[u8]>> = room.recent.lock().iter().rev().cloned().collect();
        let presence = room.presence.lock();
        recent.iter().find_map(|update| {
            let mut first = writers(update).ok()?.into_iter();
            first.find(|item| !presence.has_client(item.client.get()))
        })
    }
}

impl DocumentRoom {
    /// Remembers updates that were published.
    pub(super) fn remember(&self, updates: &[Arc<[u8]>]) {
        let mut recent = self.recent.lock();
        for update in updates.iter().filter(|update| update.len() <= MAX_REMEMBERED_LEN) {
            if recent.len() >= MAX_REMEMBERED {
                recent.pop_front();
            }
            recent.push_back(update.clone());
        }
    }
}
