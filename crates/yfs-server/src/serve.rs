//! Binding the routes to a port, and ending in order.

use std::{
    io,
    net::{IpAddr, Ipv4Addr, SocketAddr},
    sync::Arc,
};

use axum::{
    Router,
    extract::{Path, State, WebSocketUpgrade},
    http::{HeaderMap, StatusCode},
    response::{IntoResponse, Response},
    routing::get,
};
use thiserror::Error;
use tokio::net::TcpListener;
use yfs::{Workspace, WorkspaceError};

use crate::{collab, origin::is_local, rooms::Rooms, session, tree::tree};

/// The greatest size of one message, in bytes. A first sync of a large table is an honest 18 MB.
const MAX_MESSAGE_LEN: usize = 64 << 20;

/// The port unless the caller says otherwise.
pub const DEFAULT_PORT: u16 = 4680;

/// How a workspace is served.
#[derive(Debug, Clone)]
pub struct ServeOptions {
    /// Where to listen. Addresses that are not loopback are refused: there are no tokens yet.
    pub host: IpAddr,
    /// The port; 0 takes any that is free.
    pub port: u16,
}

/// Why serving failed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The address can be reached from other machines, and nothing would ask who they are.
    #[error("refusing to listen on {0}: only loopback addresses until there are tokens")]
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
}

/// What the handlers share.
#[derive(Debug, Clone)]
pub(crate) struct App {
    pub(crate) workspace: Workspace,
    pub(crate) rooms: Arc<Rooms>,
}

impl Server {
    /// Binds to the port.
    pub async fn bind(options: &ServeOptions) -> Result<Self, ServeError> {
        if !options.host.is_loopback() {
            return Err(ServeError::NotLoopback(options.host));
        }
        let address = SocketAddr::new(options.host, options.port);
        let listener = TcpListener::bind(address)
            .await
            .map_err(|source| ServeError::Listen { address, source })?;
        let address = listener.local_addr()?;
        Ok(Self { listener, address })
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
        let rooms = Arc::<Rooms>::default();
        let router = router(App { workspace, rooms: rooms.clone() });
        tokio::select! {
            never = rooms.keep() => match never {},
            served = axum::serve(self.listener, router).into_future() => Ok(served?),
            () = stop => Ok(()),
        }
    }
}

impl Default for ServeOptions {
    fn default() -> Self {
        Self { host: Ipv4Addr::LOCALHOST.into(), port: DEFAULT_PORT }
    }
}

fn router(app: App) -> Router {
    Router::new()
        .route("/", get(home))
        .route("/healthz", get(async || "ok"))
        .route("/api/tree", get(tree))
        .route("/sync/{guid}", get(sync))
        .route("/collab", get(collab))
        .layer(axum::middleware::from_fn(local_only))
        .with_state(app)
}

async fn home() -> &'static str {
    "yfs\n\nGET /api/tree        the files, with the guid of each\n    /sync/{guid}     one document, by the y-websocket protocol\n    /collab          many documents, by the Hocuspocus protocol\nGET /healthz\n"
}

async fn local_only(
    headers: HeaderMap,
    request: axum::extract::Request,
    next: axum::middleware::Next,
) -> Response {
    if is_local(&headers) {
        next.run(request).await
    } else {
        (StatusCode::FORBIDDEN, "pages of other origins have no access\n").into_response()
    }
}

async fn sync(
    State(app): State<App>,
    Path(guid): Path<String>,
    upgrade: WebSocketUpgrade,
) -> Response {
    match app.workspace.port(&guid) {
        Ok(port) => {
            limited(upgrade).on_upgrade(move |socket| session::run(socket, port, app.rooms))
        }
        Err(error @ (WorkspaceError::NoDocument(_) | WorkspaceError::NoFile(_))) => {
            (StatusCode::NOT_FOUND, format!("{error}\n")).into_response()
        }
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, format!("{error}\n")).into_response(),
    }
}

async fn collab(State(app): State<App>, upgrade: WebSocketUpgrade) -> Response {
    limited(upgrade).on_upgrade(move |socket| collab::run(socket, app))
}

fn limited(upgrade: WebSocketUpgrade) -> WebSocketUpgrade {
    upgrade.max_message_size(MAX_MESSAGE_LEN).max_frame_size(MAX_MESSAGE_LEN)
}
