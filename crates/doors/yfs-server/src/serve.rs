//! Binding to a port, serving, and shutting down.

use std::{
    io,
    net::{IpAddr, Ipv4Addr, SocketAddr},
    path::PathBuf,
    sync::Arc,
    time::Duration,
};

use thiserror::Error;
use tokio::{
    net::TcpListener,
    sync::{Semaphore, broadcast},
};
use yfs::{Workspace, workspace::conflicts::ConflictReport};
use yfs_agent::{json_query::JsonQueryRunner, work_budget::WorkBudget};
use yfs_agent_workspace::open_workspace_audit;
use yfs_dav::DavService;
use yfs_mcp::McpHttpService;

use crate::{
    access::{AccessControl, TokenKeys},
    body::BodyBudget,
    dav, listen,
    live_presence::receive_forever,
    metrics::ServerMetrics,
    presence_bridge,
    rooms::{DocumentRooms, MAX_JOINS},
    routes::router,
    server_state::ServerState,
    transfers::UploadStore,
    work_shares::WorkShares,
};

/// The default port.
pub const DEFAULT_PORT: u16 = 4680;

/// The number of conflicts that wait for a slow subscriber.
const CONFLICT_BACKLOG: usize = 1_024;

/// The options of a server.
#[derive(Debug, Clone)]
pub struct ServeOptions {
    /// The address to listen on.
    pub host: IpAddr,
    /// The port; 0 for any free port.
    pub port: u16,
    /// Whether clients need no token. For loopback addresses only.
    pub open: bool,
    /// Other origins whose pages may call the server, such as `https://example.com`. Pages of this
    /// machine may.
    pub origins: Vec<String>,
    /// The greatest number of open connections; further ones wait to be accepted.
    pub max_connections: usize,
    /// The program that runs the queries of agents at `/mcp`; without one they have none.
    pub json_query: Option<JsonQueryRunner>,
    /// The heavy work that the server does at once: queries, statistics, contexts, thumbnails and
    /// artifacts.
    pub work: Arc<WorkBudget>,
    /// The directory of the store, in which a lock shows whether a process connects its peers.
    pub store_dir: Option<PathBuf>,
    /// How often connections and answers that last check that their token is still valid.
    pub recheck: Duration,
}

/// The reason why serving failed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The address can be reached from other machines, and clients would not be authenticated.
    #[error("refusing to listen on {0} without tokens: other machines can reach it")]
    NotLoopback(IpAddr),
    /// The port is in use, or the process may not use it.
    #[error("cannot listen on {address}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The cause.
        source: io::Error,
    },
    /// The directory of the records of what agents do cannot be created.
    #[error("cannot record what agents do")]
    Audit(#[source] io::Error),
    /// The network failed.
    #[error("the server failed")]
    Io(#[from] io::Error),
}

/// A server that is bound to its port and does not serve yet: connections wait.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    options: ServeOptions,
    conflicts: broadcast::Sender<ConflictReport>,
}

impl Server {
    /// Binds to the port.
    pub async fn bind(options: &ServeOptions) -> Result<Self, ServeError> {
        if options.open && !options.host.is_loopback() {
            return Err(ServeError::NotLoopback(options.host));
        }
        let address = SocketAddr::new(options.host, options.port);
        let listener = TcpListener::bind(address)
            .await
            .map_err(|source| ServeError::Listen { address, source })?;
        let address = listener.local_addr()?;
        let (conflicts, _) = broadcast::channel(CONFLICT_BACKLOG);
        Ok(Self { listener, address, options: options.clone(), conflicts })
    }

    /// Returns where the server listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Subscribes to the conflicts that changes of replicas cause. A subscriber that falls more
    /// than 1,024 conflicts behind misses some; the workspace lists them all.
    pub fn conflicts(&self) -> broadcast::Receiver<ConflictReport> {
        self.conflicts.subscribe()
    }

    /// Serves a workspace until `stop` completes. Open connections are then cut: their clients
    /// reconnect, and the updates that they sent are in the log.
    pub async fn run(
        self,
        workspace: Workspace,
        stop: impl Future<Output = ()> + Send,
    ) -> Result<(), ServeError> {
        let access = match self.options.open {
            true => AccessControl::Open,
            false => {
                let keys = TokenKeys::of(workspace.store().clone());
                AccessControl::Tokens(
                    keys.with_clock(workspace.maintenance().options().clock.clone()),
                )
            }
        };
        let audit = open_workspace_audit(&workspace).map_err(ServeError::Audit)?;
        let metrics = Arc::<ServerMetrics>::default();
        let rooms = Arc::new(DocumentRooms::new(metrics.clone()));
        let joins = Arc::new(Semaphore::new(MAX_JOINS));
        let (rooms_of_app, bodies) = (rooms.clone(), BodyBudget::default());
        let uploads = Arc::<UploadStore>::default();
        let workspace_id = workspace.id().clone();
        let app = ServerState {
            workspace,
            access,
            rooms: rooms_of_app,
            metrics,
            joins,
            bodies,
            conflicts: self.conflicts.clone(),
            dav: Arc::new(DavService::new(dav::PREFIX)),
            mcp: McpHttpService::new(),
            mcp_sessions: Arc::default(),
            work: Arc::new(WorkShares::new(self.options.work.clone())),
            uploads: uploads.clone(),
            downloads: Arc::default(),
            listings: Arc::default(),
            audit,
            json_query: self.options.json_query.clone(),
            store_dir: self.options.store_dir.clone(),
            // An interval of zero would be none.
            recheck: self.options.recheck.max(Duration::from_millis(1)),
            revocations: Arc::default(),
            live: Arc::default(),
            issuing: Arc::default(),
            uses: Arc::default(),
        };
        let (live, revocations) = (app.live.clone(), app.revocations.clone());
        let (access, workspace) = (app.access.clone(), app.workspace.clone());
        let router = router(app, &self.options);
        let store_dir = self.options.store_dir.as_deref();
        tokio::select! {
            never = rooms.sweep_forever() => match never {},
            never = live.sweep_forever(&rooms, &workspace_id) => match never {},
            never = live.follow_agents(&workspace, &rooms) => match never {},
            never = receive_forever(&live, &rooms, &workspace, store_dir) => match never {},
            never = revocations.refresh_forever(&access) => match never {},
            never = uploads.sweep_forever() => match never {},
            never = presence_bridge::run(&rooms, store_dir, &workspace_id) => match never {},
            served = listen::serve(&self.listener, router, self.options.max_connections) => {
                Ok(served?)
            }
            () = stop => Ok(()),
        }
    }
}

impl Default for ServeOptions {
    fn default() -> Self {
        Self {
            host: Ipv4Addr::LOCALHOST.into(),
            port: DEFAULT_PORT,
            open: false,
            origins: Vec::new(),
            max_connections: 16_384,
            json_query: None,
            work: WorkBudget::of_process(),
            store_dir: None,
            recheck: Duration::from_secs(15),
        }
    }
}
