//! Who vouches for the updates of a message.

use yfs::replica::ReceivedUpdates;
use yfs_engine::id::FileId;

use super::ReplicaSession;
use crate::replica_error::ReplicaError;

/// The most documents that are listed as forked.
const MAX_FORKED: usize = 256;

impl ReplicaSession {
    /// Processes a frame with updates that a peer vouches for, which is named by its id. Returns
    /// the documents for which it has other content under ids that items have here.
    ///
    /// # Errors
    ///
    /// As [`receive`](Self::receive).
    pub fn receive_from(
        &mut self,
        sender: &str,
        frame: &[u8],
    ) -> Result<Vec<FileId>, ReplicaError> {
        let known = std::mem::take(&mut self.progress.forked);
        self.sender = Some(sender.to_owned());
        let received = self.receive(frame);
        self.sender = None;
        let forked = self.progress.forked.iter().cloned().collect();
        for doc in known {
            if self.progress.forked.len() < MAX_FORKED {
                self.progress.forked.insert(doc);
            }
        }
        received.map(|()| forked)
    }

    pub(super) fn note_forked(&mut self, received: &ReceivedUpdates) {
        for doc in &received.forked {
            if self.progress.forked.len() < MAX_FORKED {
                self.progress.forked.insert(doc.clone());
            }
        }
    }
}
