//! The server on streamable HTTP.

use std::{convert::Infallible, fmt, sync::Arc};

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode, request::Parts};
use http_body::Body;
use http_body_util::{BodyExt, Full, combinators::BoxBody};
use rmcp::{
    ServerHandler,
    model::Extensions,
    transport::streamable_http_server::{
        StreamableHttpServerConfig, StreamableHttpService, session::local::LocalSessionManager,
    },
};

use crate::{open_session::SessionOpener, server::McpServer};

/// The most bytes of a request.
const MAX_REQUEST_LEN: usize = 16 << 20;

/// The most sessions of clients of older protocol versions. Each is closed after five minutes
/// without a request.
const MAX_SESSIONS: usize = 1024;

/// The server on streamable HTTP: without sessions for protocol version 2026-07-28, with sessions
/// for older clients.
///
/// Each request must carry a [`RequestOpener`] among its extensions. The service does not check the
/// headers `Host` and `Origin`; its caller must.
#[derive(Clone)]
pub struct McpHttpService<S = McpServer> {
    service: StreamableHttpService<S, LocalSessionManager>,
    sessions: Arc<LocalSessionManager>,
}

/// The opener of the client that sent a request, whose credential was checked.
#[derive(Debug, Clone)]
pub struct RequestOpener(pub Arc<dyn SessionOpener>);

impl McpHttpService {
    /// Makes the service.
    pub fn new() -> Self {
        Self::of_servers(McpServer::with_request_openers)
    }
}

impl<S: ServerHandler> McpHttpService<S> {
    /// Makes the service of servers that wrap an [`McpServer`], for example with further tools.
    pub fn of_servers(make: impl Fn() -> S + Send + Sync + 'static) -> Self {
        let sessions = Arc::<LocalSessionManager>::default();
        let mut config = StreamableHttpServerConfig::default().disable_allowed_hosts();
        config.max_request_body_bytes = MAX_REQUEST_LEN;
        let make = move || Ok(make());
        Self { service: StreamableHttpService::new(make, sessions.clone(), config), sessions }
    }

    /// Answers a request.
    pub async fn handle<B>(&self, request: Request<B>) -> Response<BoxBody<Bytes, Infallible>>
    where
        B: Body + Send + 'static,
        B::Error: fmt::Display,
    {
        let begins = request.method() == Method::POST
            && !request.headers().contains_key("mcp-session-id")
            && !request.headers().contains_key("mcp-protocol-version");
        if begins && self.sessions.sessions.read().await.len() >= MAX_SESSIONS {
            let mut response = Response::new(Full::from("too many sessions").boxed());
            *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
            return response;
        }
        let ends = request.method() == Method::DELETE;
        let mut response = self.service.handle(request).await;
        if ends && response.status() == StatusCode::ACCEPTED {
            // The session is closed now; clients warn about a status that promises it for later.
            *response.status_mut() = StatusCode::NO_CONTENT;
        }
        response
    }
}

impl Default for McpHttpService {
    fn default() -> Self {
        Self::new()
    }
}

impl<S> fmt::Debug for McpHttpService<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("McpHttpService").finish_non_exhaustive()
    }
}

impl RequestOpener {
    /// Returns the opener of a request.
    pub(crate) fn of(extensions: &Extensions) -> Option<Arc<dyn SessionOpener>> {
        let opener = extensions.get::<Parts>()?.extensions.get::<Self>()?;
        Some(opener.0.clone())
    }
}
