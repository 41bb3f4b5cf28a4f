//! Presence that is told together: of many who move at once, one message.

use std::time::Duration;

use parking_lot::Mutex;
use yfs_sync::presence;

/// How long presence is gathered before it is told.
pub(super) const WINDOW: Duration = Duration::from_millis(25);

/// Awareness updates that nobody was told of yet.
#[derive(Debug, Default)]
pub(super) struct Gathering(Mutex<Vec<Vec<u8>>>);

impl Gathering {
    /// Adds an update; answers whether it is the first, so that somebody must [`take`](Self::take) it soon.
    pub(super) fn add(&self, update: Vec<u8>) -> bool {
        let mut updates = self.0.lock();
        updates.push(update);
        updates.len() == 1
    }

    /// Returns all as one update.
    pub(super) fn take(&self) -> Option<Vec<u8>> {
        let updates = std::mem::take(&mut *self.0.lock());
        if updates.is_empty() {
            return None;
        }
        // They were written by the room, so they can be read.
        presence::concat(updates.iter().map(Vec::as_slice)).ok()
    }
}
