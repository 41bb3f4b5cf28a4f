//! Whether the exchanges of a process have received all blobs of the rows that they received.
//!
//! The store has one note that blobs may be missing, and several exchanges run at once. The note is
//! removed only if no exchange waits for blobs, and none ended while it did: an exchange with one
//! peer knows nothing of the blobs that another one owed.

use std::{collections::BTreeMap, sync::Arc};

use yfs_engine::hash::ContentHash;

use crate::{Replication, Workspace, error::Result, state::WorkspaceState};

/// What one exchange knows of missing blobs. If it is dropped while it waits for blobs, the other
/// exchanges search for them.
#[derive(Debug)]
pub struct BlobSettlement {
    state: Arc<WorkspaceState>,
    number: u64,
    /// The count of abandoned blobs at the last search.
    searched_at: u64,
}

impl Replication<'_> {
    /// Begins an exchange that may receive rows with blobs.
    pub fn begin_settlement(&self) -> BlobSettlement {
        let mut open = self.state.settlements.lock();
        open.last += 1;
        let (number, searched_at) = (open.last, open.n_abandoned);
        BlobSettlement { state: self.state.clone(), number, searched_at }
    }
}

impl BlobSettlement {
    /// Reports whether the exchange waits for blobs.
    pub fn is_waiting(&self) -> bool {
        self.state.settlements.lock().waiting.contains(&self.number)
    }

    /// Reports whether blobs became missing since the last search, because another exchange ended
    /// or blobs were found damaged.
    pub fn must_search(&self) -> bool {
        self.state.settlements.lock().n_abandoned != self.searched_at
    }

    /// Notes that rows are about to be received, whose blobs may be missing.
    pub fn wait(&mut self) -> Result<()> {
        let mut open = self.state.settlements.lock();
        if open.waiting.insert(self.number) {
            Workspace::of(self.state.clone()).replication().note_unsettled(true)?;
        }
        Ok(())
    }

    /// Returns the missing blobs of all files, with the sizes that rows and versions name, if blobs
    /// may be missing. The exchange then waits for them.
    pub fn search(&mut self) -> Result<BTreeMap<ContentHash, u64>> {
        self.searched_at = self.state.settlements.lock().n_abandoned;
        let missing = Workspace::of(self.state.clone()).replication().unsettled_blobs()?;
        if !missing.is_empty() {
            self.wait()?;
        }
        Ok(missing)
    }

    /// Notes that all blobs that the exchange waits for have arrived.
    pub fn settle(&mut self) -> Result<()> {
        let mut open = self.state.settlements.lock();
        open.waiting.remove(&self.number);
        if open.waiting.is_empty() && open.n_abandoned == self.searched_at {
            Workspace::of(self.state.clone()).replication().note_unsettled(false)?;
        }
        Ok(())
    }
}

impl Drop for BlobSettlement {
    fn drop(&mut self) {
        let mut open = self.state.settlements.lock();
        if open.waiting.remove(&self.number) {
            open.n_abandoned += 1;
        }
    }
}
