//! What the handlers share.

use std::{path::PathBuf, sync::Arc, time::Duration};

use parking_lot::Mutex;
use tokio::sync::{Semaphore, broadcast};
use yfs::{Workspace, workspace::conflicts::ConflictReport};
use yfs_agent::{audit::AuditSink, json_query::JsonQueryRunner};
use yfs_dav::DavService;
use yfs_mcp::McpHttpService;

use crate::{
    access::{AccessControl, RevocationWatch},
    body::BodyBudget,
    listing_tags::ListingTags,
    live_presence::LivePresence,
    mcp::StatelessSessions,
    metrics::ServerMetrics,
    rooms::DocumentRooms,
    token_uses::TokenUses,
    transfers::{DownloadTickets, UploadStore},
    work_shares::WorkShares,
};

/// What the handlers share.
#[derive(Debug, Clone)]
pub(crate) struct ServerState {
    pub(crate) workspace: Workspace,
    pub(crate) access: AccessControl,
    pub(crate) rooms: Arc<DocumentRooms>,
    pub(crate) metrics: Arc<ServerMetrics>,
    /// Permits for expensive operations.
    pub(crate) joins: Arc<Semaphore>,
    /// The memory budget of request bodies.
    pub(crate) bodies: BodyBudget,
    /// The subscribers to the conflicts that arrive from replicas.
    pub(crate) conflicts: broadcast::Sender<ConflictReport>,
    /// The locks of `/dav`, and what its clients have read.
    pub(crate) dav: Arc<DavService>,
    /// The server of `/mcp`.
    pub(crate) mcp: McpHttpService,
    /// The sessions at `/mcp` of clients whose protocol version has none.
    pub(crate) mcp_sessions: Arc<StatelessSessions>,
    /// The shares of tokens in heavy work.
    pub(crate) work: Arc<WorkShares>,
    /// The uploads that have begun.
    pub(crate) uploads: Arc<UploadStore>,
    /// The tickets of downloads.
    pub(crate) downloads: Arc<DownloadTickets>,
    /// The entity tags of the last listings of the tree.
    pub(crate) listings: Arc<ListingTags>,
    /// The receiver of the records of what agents do; `None` for a store without a file.
    pub(crate) audit: Option<Arc<dyn AuditSink>>,
    /// The program that runs the queries of agents.
    pub(crate) json_query: Option<JsonQueryRunner>,
    /// The directory of the store.
    pub(crate) store_dir: Option<PathBuf>,
    /// How often connections and answers that last check that their token is still valid.
    pub(crate) recheck: Duration,
    /// The news that tokens were revoked.
    pub(crate) revocations: Arc<RevocationWatch>,
    /// Who is at work without a connection to the main document.
    pub(crate) live: Arc<LivePresence>,
    /// Held while a token is made: one name is taken after the other.
    pub(crate) issuing: Arc<Mutex<()>>,
    /// When tokens were used last.
    pub(crate) uses: Arc<TokenUses>,
}
