//! The news that tokens were revoked, here or by another process.
//!
//! Connections check their tokens rarely. One task reads the revision of the store's tokens once a
//! second, and connections check at once when it has changed.

use std::{convert::Infallible, time::Duration};

use tokio::{sync::watch, task::block_in_place, time::sleep};

use super::AccessControl;

/// How often the revision is read.
const INTERVAL: Duration = Duration::from_secs(1);

/// The revision of the tokens that are revoked, which connections wait for.
#[derive(Debug)]
pub(crate) struct RevocationWatch {
    revision: watch::Sender<Option<Vec<u8>>>,
}

impl Default for RevocationWatch {
    fn default() -> Self {
        Self { revision: watch::Sender::new(None) }
    }
}

impl RevocationWatch {
    /// Returns a receiver that is notified when tokens were revoked.
    pub(crate) fn subscribe(&self) -> watch::Receiver<Option<Vec<u8>>> {
        self.revision.subscribe()
    }

    /// Reads the revision, and notifies the connections if it has changed.
    pub(crate) fn refresh(&self, access: &AccessControl) {
        let AccessControl::Tokens(keys) = access else { return };
        // A store that cannot be read refuses tokens when they are checked.
        let Ok(read) = keys.revision() else { return };
        self.revision.send_if_modified(|known| {
            let is_new = *known != read;
            *known = read;
            is_new
        });
    }

    /// Reads the revision once a second, forever.
    pub(crate) async fn refresh_forever(&self, access: &AccessControl) -> Infallible {
        loop {
            block_in_place(|| self.refresh(access));
            sleep(INTERVAL).await;
        }
    }
}
