//! Binding to a port, serving, and ending in order.

use std::{
    io,
    net::{IpAddr, Ipv4Addr, SocketAddr},
    sync::Arc,
};

use thiserror::Error;
use tokio::{net::TcpListener, sync::Semaphore};
use yfs::Workspace;

use crate::{
    access::{AccessControl, TokenKeys},
    body::BodyBudget,
    listen,
    metrics::ServerMetrics,
    rooms::DocumentRooms,
    routes::router,
};

/// The port unless the caller says otherwise.
pub const DEFAULT_PORT: u16 = 4680;

/// How many states are computed and sent at once; who joins beyond that waits.
pub(crate) const MAX_JOINS: usize = 8;

/// How a workspace is served.
#[derive(Debug, Clone)]
pub struct ServeOptions {
    /// Where to listen.
    pub host: IpAddr,
    /// The port; 0 takes any that is free.
    pub port: u16,
    /// Whether no token is asked for. For loopback addresses only.
    pub open: bool,
    /// Other origins whose pages may call the server, such as `https://example.com`. Pages of this
    /// machine may.
    pub origins: Vec<String>,
    /// How many connections there may be at once; more wait to be accepted.
    pub max_connections: usize,
}

/// Why serving failed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The address can be reached from other machines, and clients would not be authenticated.
    #[error("refusing to listen on {0} without tokens: other machines can reach it")]
    NotLoopback(IpAddr),
    /// The port is taken, or may not be used.
    #[error("cannot listen on {address}")]
    Listen {
        /// Where.
        address: SocketAddr,
        /// Why not.
        source: io::Error,
    },
    /// The network failed.
    #[error("the server failed")]
    Io(#[from] io::Error),
}

/// A server that is bound to its port, and not yet serving: who connects meanwhile waits.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    options: ServeOptions,
}

/// What the handlers share.
#[derive(Debug, Clone)]
pub(crate) struct ServerState {
    pub(crate) workspace: Workspace,
    pub(crate) access: AccessControl,
    pub(crate) rooms: Arc<DocumentRooms>,
    pub(crate) metrics: Arc<ServerMetrics>,
    /// Permits for what costs much.
    pub(crate) joins: Arc<Semaphore>,
    /// What the bodies of requests may hold in memory.
    pub(crate) bodies: BodyBudget,
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
        Ok(Self { listener, address, options: options.clone() })
    }

    /// Returns where the server listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves a workspace until `stop` completes. Open connections are then cut: their clients
    /// reconnect, and what they sent is in the log.
    pub async fn run(
        self,
        workspace: Workspace,
        stop: impl Future<Output = ()> + Send,
    ) -> Result<(), ServeError> {
        let access = match self.options.open {
            true => AccessControl::Open,
            false => AccessControl::Tokens(TokenKeys::of(workspace.store().clone())),
        };
        let metrics = Arc::<ServerMetrics>::default();
        let rooms = Arc::new(DocumentRooms::new(metrics.clone()));
        let joins = Arc::new(Semaphore::new(MAX_JOINS));
        let (rooms_of_app, bodies) = (rooms.clone(), BodyBudget::default());
        let app = ServerState { workspace, access, rooms: rooms_of_app, metrics, joins, bodies };
        let router = router(app, &self.options);
        tokio::select! {
            never = rooms.sweep_for_ever() => match never {},
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
        }
    }
}
