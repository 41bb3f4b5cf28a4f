//! Copies of a workspace in other stores: sending the changes since the last exchange, and
//! receiving theirs ([decision 16]).
//!
//! A replica is another store with the same main document. It is updated from the log, not by
//! requesting the state of each document: a [`ReplicaFeed`] reads the records since a
//! [`LogCursor`], and [`Replication::receive`] logs them on the other side. So it is never
//! necessary to find out which of ten thousand documents changed, and unused documents are not
//! loaded on either side.
//!
//! [decision 16]: ../../../../docs/decisions/0016-replicas-exchange-their-logs.md

mod blob_settlement;
pub(crate) mod conversion_notes;
mod feed;
pub(crate) mod forks;
mod log_mark;
mod log_summary;
mod missing_blobs;
mod open_settlements;
mod receive;

pub use self::{
    blob_settlement::BlobSettlement,
    feed::{FeedPiece, ReplicaFeed},
    forks::ForkReport,
    log_mark::LogCursor,
    log_summary::LogSummary,
    missing_blobs::BlobPolicy,
    receive::{ReceivedUpdates, ReplicaUpdate},
};
pub(crate) use self::{
    log_mark::{ReplicaMarks, find_mark},
    open_settlements::OpenSettlements,
};

use std::{sync::Arc, time::Duration};

use tokio::sync::watch;
use yfs_engine::id::WorkspaceId;
use yfs_store::Store;

use self::log_mark::MarkSlots;
use crate::{
    Workspace, WorkspaceOptions,
    error::{Result, WorkspaceError},
    state::WorkspaceState,
    store_keys::{CREATED_KEY, ID_KEY},
};

impl Workspace {
    /// Creates a replica of a workspace in a store that contains none. It is empty until it
    /// receives updates.
    ///
    /// # Errors
    ///
    /// Fails with [`WorkspaceError::Exists`] if the store contains a workspace.
    pub fn create_replica(
        store: Arc<dyn Store>,
        id: &WorkspaceId,
        options: WorkspaceOptions,
    ) -> Result<Self> {
        if store.get_meta(ID_KEY)?.is_some() {
            return Err(WorkspaceError::Exists);
        }
        let stored = store.init_meta(ID_KEY, id.as_str().as_bytes())?;
        if stored != id.as_str().as_bytes() {
            return Err(WorkspaceError::Exists);
        }
        let now = options.clock.now().0.to_string();
        store.init_meta(CREATED_KEY, now.as_bytes())?;
        Self::open(store, options)
    }

    /// Creates a replica as [`create_replica`](Self::create_replica) does, in an SQLite file that
    /// does not exist yet.
    pub fn create_replica_at(
        file: &std::path::Path,
        id: &WorkspaceId,
        options: WorkspaceOptions,
    ) -> Result<Self> {
        Self::create_replica(crate::workspace::create_store(file, &options)?, id, options)
    }
}

/// The exchange of a workspace's log with other stores that hold the same workspace
/// ([`Workspace::replication`](crate::Workspace::replication)).
#[derive(Debug, Clone, Copy)]
pub struct Replication<'w> {
    pub(crate) state: &'w Arc<WorkspaceState>,
}

/// A watch for records of a log, by any process ([`Replication::watch_records`]). Also for those
/// that change no file that a caller can list, such as edits of files in the trash.
#[derive(Debug)]
pub struct RecordWatch {
    applied: watch::Receiver<u64>,
}

impl Replication<'_> {
    /// Returns a number that changes when this store lost records: marks of other logs that were
    /// stored before are not valid any more.
    pub fn epoch(&self) -> Result<u64> {
        Ok(log_mark::forgotten_upto(self.state)?.0)
    }

    /// Marks the present end of the log for a mirror, which a name identifies; returns `last`, its
    /// last mark, if there are no records since. A log that has the mark has every record before
    /// it; an earlier copy of the store does not have it.
    pub fn mark_for_mirror(self, mirror: &str, last: Option<&LogCursor>) -> Result<LogCursor> {
        self.state.check_open()?;
        let (slots, head) = (MarkSlots::of_mirror(mirror), self.state.store.head()?);
        match last {
            Some(last) if slots.find(self.state, last)? == Some(head) => Ok(last.clone()),
            last => slots.make(self.state, last, head),
        }
    }

    /// Reports whether this log has a mark that was made for a mirror.
    pub fn has_mirror_mark(self, mirror: &str, mark: &LogCursor) -> Result<bool> {
        self.state.check_open()?;
        Ok(MarkSlots::of_mirror(mirror).find(self.state, mark)?.is_some())
    }

    /// Reports whether this log has a mark that was made for a mirror, or had it before damaged
    /// records were set aside, which proves nothing any more. If not, the store is an earlier copy,
    /// or lost its last records.
    pub fn knows_mirror_mark(self, mirror: &str, mark: &LogCursor) -> Result<bool> {
        self.state.check_open()?;
        Ok(MarkSlots::of_mirror(mirror).stored(self.state, mark)?.is_some())
    }

    /// Returns the size of the main document in the store, in bytes: of its state and the updates
    /// since.
    pub fn main_bytes(self) -> Result<u64> {
        self.state.check_open()?;
        let stats = self.state.store.doc_stats(&self.state.main_name)?;
        Ok(stats.map_or(0, |stats| stats.bytes + stats.snapshot_bytes))
    }

    /// Returns a watch for the records that any process logs from now on.
    pub fn watch_records(self) -> RecordWatch {
        RecordWatch { applied: self.state.events.records() }
    }
}

impl RecordWatch {
    /// Waits until any process may have logged a record since the watch was made, or since the last
    /// call that returned for a record; at most for `at_most`. A record that is logged between two
    /// calls, or while a future is dropped, ends the next one at once.
    pub async fn wait(&mut self, at_most: Duration) {
        let record = async {
            if self.applied.changed().await.is_err() {
                // The workspace is closed, so that no record arrives.
                std::future::pending::<()>().await;
            }
        };
        // A timeout is a valid result, too.
        tokio::time::timeout(at_most, record).await.ok();
    }
}
