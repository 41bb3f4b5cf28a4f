//! Copies of a workspace in other stores: what changed here since they last asked, and taking in what
//! changed there ([decision 16](../../../docs/decisions/0016-replicas-exchange-their-logs.md)).
//!
//! A replica is another store with the same main document. It is brought up to date by the log, not by asking
//! each document for its state: a [`ReplicaFeed`] reads what was logged since a [`LogCursor`], and
//! [`Replication::receive`] logs it on the other side. So which of ten thousand documents changed is no question,
//! and documents that nobody has open are not loaded, here or there.

mod feed;
mod log_mark;
mod missing_blobs;
mod receive;

pub(crate) use self::log_mark::LogMark;
pub use self::{
    feed::{FeedPiece, ReplicaFeed},
    log_mark::LogCursor,
    receive::{ReceivedUpdates, ReplicaUpdate},
};

use std::sync::Arc;

use yfs_engine::id::WorkspaceId;
use yfs_store::{SqliteStore, Store};

use crate::{
    Workspace, WorkspaceOptions,
    error::{Result, WorkspaceError},
    state::WorkspaceState,
    workspace::{CREATED_KEY, ID_KEY},
};

impl Workspace {
    /// Makes a replica of a workspace in a store that holds none. It is empty until it is fed.
    ///
    /// # Errors
    ///
    /// [`WorkspaceError::Exists`] if the store holds a workspace.
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

    /// As [`create_replica`](Self::create_replica), in an SQLite file that does not exist yet.
    pub fn create_replica_at(
        file: &std::path::Path,
        id: &WorkspaceId,
        options: WorkspaceOptions,
    ) -> Result<Self> {
        Self::create_replica(Arc::new(SqliteStore::create_new(file)?), id, options)
    }
}

/// The exchange of a workspace's log with other stores that hold the same workspace
/// ([`Workspace::replication`](crate::Workspace::replication)).
#[derive(Debug, Clone, Copy)]
pub struct Replication<'w> {
    pub(crate) state: &'w Arc<WorkspaceState>,
}

impl Replication<'_> {
    /// Returns when any process may have logged a record since the last call, or after `at_most`.
    pub async fn wait_for_records(self, at_most: std::time::Duration) {
        // Running out of time is an answer, too.
        tokio::time::timeout(at_most, self.state.events.arrival()).await.ok();
    }
}
