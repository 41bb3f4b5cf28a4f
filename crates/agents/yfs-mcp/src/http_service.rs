//! The server on streamable HTTP.

use std::{
    collections::HashSet,
    convert::Infallible,
    fmt,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use async_trait::async_trait;
use bytes::Bytes;
use http::{Method, Request, Response, StatusCode, request::Parts};
use http_body::{Body, Frame, SizeHint};
use http_body_util::{BodyExt, Full, combinators::BoxBody};
use rmcp::{
    ServerHandler,
    model::Extensions,
    transport::streamable_http_server::{
        StreamableHttpServerConfig, StreamableHttpService,
        session::{SessionManager, local::LocalSessionManager},
    },
};
use yfs_vfs::CancellationToken;

use crate::{
    http_requests::{RequestClaim, SessionRequests, json_answer, read_message},
    open_session::SessionOpener,
    server::McpServer,
    session_owners::SessionOwners,
};

/// The header with the id of a session.
const SESSION_HEADER: &str = "mcp-session-id";

/// The most bytes of a request.
pub(crate) const MAX_REQUEST_LEN: usize = 16 << 20;

/// The most sessions of clients of older protocol versions. Each is closed after five minutes
/// without a request. Beyond it, the credential with the most sessions loses its longest unused.
const MAX_SESSIONS: usize = 1024;

/// The server on streamable HTTP: without sessions for protocol version 2026-07-28, with sessions
/// for older clients.
///
/// Each request must carry a [`RequestOpener`] among its extensions. The service does not check the
/// headers `Host` and `Origin`; its caller must.
#[derive(Clone)]
pub struct McpHttpService {
    service: Arc<dyn HttpAnswerer>,
    sessions: Arc<LocalSessionManager>,
    owners: Arc<SessionOwners>,
    requests: Arc<SessionRequests>,
}

type HttpAnswer = Response<BoxBody<Bytes, Infallible>>;

/// The protocol over HTTP, whatever the type of its servers: as a trait object, it is compiled in
/// this crate and not again in each that calls it.
#[async_trait]
trait HttpAnswerer: Send + Sync {
    /// Answers a request.
    async fn answer(&self, request: Request<Full<Bytes>>) -> HttpAnswer;
}

#[async_trait]
impl<S: ServerHandler> HttpAnswerer for StreamableHttpService<S, LocalSessionManager> {
    async fn answer(&self, request: Request<Full<Bytes>>) -> HttpAnswer {
        self.handle(request).await
    }
}

/// Is cancelled when the client of a request no longer waits for its answer.
#[derive(Debug, Clone)]
pub(crate) struct AbandonedRequest(pub(crate) CancellationToken);

/// A body that cancels the work on its request when it is dropped.
struct CancellingBody {
    body: BoxBody<Bytes, Infallible>,
    abandoned: CancellationToken,
    /// Released before the answer reaches the client, which may use the id again then.
    claim: Option<RequestClaim>,
}

/// The opener of the client that sent a request, whose credential was checked.
#[derive(Debug, Clone)]
pub struct RequestOpener(pub Arc<dyn SessionOpener>);

impl McpHttpService {
    /// Makes the service.
    pub fn new() -> Self {
        Self::of_servers(McpServer::with_request_openers)
    }

    /// Makes the service of servers that wrap an [`McpServer`], for example with further tools.
    pub fn of_servers<S: ServerHandler>(make: impl Fn() -> S + Send + Sync + 'static) -> Self {
        let sessions = Arc::<LocalSessionManager>::default();
        let mut config = StreamableHttpServerConfig::default().disable_allowed_hosts();
        config.max_request_body_bytes = MAX_REQUEST_LEN;
        let make = move || Ok(make());
        let service = Arc::new(StreamableHttpService::new(make, sessions.clone(), config));
        Self { service, sessions, owners: Arc::default(), requests: Arc::default() }
    }

    /// Answers a request. Work on it ends when the answer is dropped.
    pub async fn handle<B>(&self, request: Request<B>) -> HttpAnswer
    where
        B: Body + Send + 'static,
        B::Error: fmt::Display,
    {
        let opener = request.extensions().get::<RequestOpener>();
        let credential = opener.map_or("", |opener| opener.0.credential()).to_owned();
        let session = request.headers().get(SESSION_HEADER);
        let session = session.and_then(|id| id.to_str().ok()).map(str::to_owned);
        if session.as_ref().is_some_and(|id| !self.owners.note_use(id, &credential)) {
            // The same answer as for a session that there is not.
            return plain_answer(StatusCode::NOT_FOUND, "Not Found: Session not found");
        }
        let (mut request, message) = match read_message(request).await {
            Ok(read) => read,
            Err(answer) => return answer,
        };
        let claim = match (&session, &message) {
            (Some(session), Some(message)) => self.requests.claim(session, message),
            _ => Ok(None),
        };
        let claim = match claim {
            Ok(claim) => claim,
            Err(refusal) => return json_answer(StatusCode::BAD_REQUEST, &[refusal]),
        };
        let begins = request.method() == Method::POST
            && session.is_none()
            && !request.headers().contains_key("mcp-protocol-version");
        if begins {
            self.make_room().await;
        }
        let ends = request.method() == Method::DELETE;
        let abandoned = CancellationToken::new();
        request.extensions_mut().insert(AbandonedRequest(abandoned.clone()));
        let mut response = self.service.answer(request).await;
        if ends && response.status() == StatusCode::ACCEPTED {
            // The session is closed now; clients warn about a status that promises it for later.
            *response.status_mut() = StatusCode::NO_CONTENT;
        }
        let begun = response.headers().get(SESSION_HEADER).filter(|_| session.is_none());
        if let Some(id) = begun.and_then(|id| id.to_str().ok()) {
            self.owners.note_begin(id, credential);
        }
        response.map(|body| CancellingBody { body, abandoned, claim }.boxed())
    }

    /// Ends sessions until there is room for another.
    async fn make_room(&self) {
        loop {
            let open: HashSet<String> =
                self.sessions.sessions.read().await.keys().map(ToString::to_string).collect();
            self.owners.retain(&open);
            if open.len() < MAX_SESSIONS {
                return;
            }
            let Some(ended) = self.owners.take_oldest_of_most() else { return };
            // It may have ended by itself.
            self.sessions.close_session(&ended.into()).await.ok();
        }
    }
}

impl Body for CancellingBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let this = &mut *self;
        let polled = Pin::new(&mut this.body).poll_frame(context);
        if let (Some(claim), Poll::Ready(Some(Ok(frame)))) = (&this.claim, &polled)
            && frame.data_ref().is_some_and(|data| claim.is_answered_by(data))
        {
            this.claim = None;
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for CancellingBody {
    fn drop(&mut self) {
        self.abandoned.cancel();
    }
}

fn plain_answer(status: StatusCode, text: &'static str) -> HttpAnswer {
    let mut response = Response::new(Full::from(text).boxed());
    *response.status_mut() = status;
    response
}

impl Default for McpHttpService {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for McpHttpService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("McpHttpService").finish_non_exhaustive()
    }
}

impl AbandonedRequest {
    /// Returns the token of a request; one that is never cancelled for requests not over HTTP.
    pub(crate) fn of(extensions: &Extensions) -> CancellationToken {
        let parts = extensions.get::<Parts>();
        let abandoned = parts.and_then(|parts| parts.extensions.get::<Self>());
        abandoned.map(|abandoned| abandoned.0.clone()).unwrap_or_default()
    }
}

impl RequestOpener {
    /// Returns the opener of a request.
    pub(crate) fn of(extensions: &Extensions) -> Option<Arc<dyn SessionOpener>> {
        let opener = extensions.get::<Parts>()?.extensions.get::<Self>()?;
        Some(opener.0.clone())
    }
}

#[cfg(test)]
mod tests;
