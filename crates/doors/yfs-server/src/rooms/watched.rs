//! Whether any page shows who is there. Without one, nothing is found out for it.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use tokio::sync::Notify;

use super::DocumentRooms;

/// How long a page without a connection counts as open after its last request.
const REMEMBERED: Duration = Duration::from_secs(12);

/// Wakes what works for open pages.
#[derive(Debug, Default)]
pub(super) struct WatchedSign {
    /// Until when a page without a connection is open, in milliseconds on the clock of presence.
    until_ms: AtomicU64,
    opened: Notify,
}

impl WatchedSign {
    /// Records that a page was opened.
    pub(super) fn note(&self) {
        self.opened.notify_waiters();
    }
}

impl DocumentRooms {
    /// Reports whether any page is open.
    pub(crate) fn is_watched(&self) -> bool {
        let until = Duration::from_millis(self.watched.until_ms.load(Ordering::Relaxed));
        self.now() < until || !self.rooms.is_empty()
    }

    /// Records that a page without a connection has asked who is there.
    pub(crate) fn note_watcher(&self) {
        let until = u64::try_from((self.now() + REMEMBERED).as_millis()).unwrap_or(u64::MAX);
        self.watched.until_ms.fetch_max(until, Ordering::Relaxed);
        self.watched.note();
    }

    /// Waits until a page is open.
    pub(crate) async fn wait_until_watched(&self) {
        loop {
            let opened = self.watched.opened.notified();
            if self.is_watched() {
                return;
            }
            opened.await;
        }
    }
}
