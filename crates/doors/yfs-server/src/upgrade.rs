//! From a request to a WebSocket (RFC 6455).
//!
//! The session runs in the task of its connection, after the request that was upgraded, on the
//! connection's own stream, and ends with the server.

use std::{pin::Pin, sync::Arc};

use axum::{
    body::Body,
    extract::FromRequestParts,
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header, request::Parts},
    response::{IntoResponse, Response},
};
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use tokio_tungstenite::{
    WebSocketStream,
    tungstenite::{
        handshake::derive_accept_key,
        protocol::{Role, WebSocketConfig},
    },
};

use crate::{
    access::token_protocol, connection_stream::ConnectionStream,
    document_access::ConnectionCredential, problem::HttpProblem,
};

/// The greatest size of one WebSocket message, in bytes. A first sync of a large table takes 18 MB.
const MAX_MESSAGE_LEN: usize = 64 << 20;

/// The size of a WebSocket's read buffer, in bytes; every connection has one.
const READ_BUFFER_LEN: usize = 4 << 10;

/// How many bytes of frames are collected before they are written.
const WRITE_BUFFER_LEN: usize = 8 << 10;

/// A WebSocket over a connection.
pub(crate) type Socket = WebSocketStream<ConnectionStream>;

/// The session of a connection, which runs after its last request.
pub(crate) type SessionFuture = Pin<Box<dyn Future<Output = ()> + Send>>;

/// The slot in which a handler leaves the session for the connection's task; every request has one.
#[derive(Clone, Default)]
pub(crate) struct UpgradeHandler(Arc<Mutex<Option<SessionFuture>>>);

/// A request for an upgrade to a WebSocket.
pub(crate) struct WebsocketUpgrade {
    on_upgrade: OnUpgrade,
    handover: UpgradeHandler,
    accept: String,
    /// The sub-protocol that carried a token, which the answer must name.
    protocol: Option<HeaderValue>,
    /// The credential of the request.
    pass: ConnectionCredential,
}

impl UpgradeHandler {
    /// Returns the session, if a request was upgraded.
    pub(crate) fn take(&self) -> Option<SessionFuture> {
        self.0.lock().take()
    }
}

impl<S: Sync> FromRequestParts<S> for WebsocketUpgrade {
    type Rejection = HttpProblem;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, HttpProblem> {
        let refused =
            || HttpProblem::new(StatusCode::UPGRADE_REQUIRED, "this is for WebSockets only");
        let headers = &parts.headers;
        let is_asked = names(headers, &header::CONNECTION, "upgrade")
            && names(headers, &header::UPGRADE, "websocket")
            && names(headers, &header::SEC_WEBSOCKET_VERSION, "13");
        let key = headers.get(header::SEC_WEBSOCKET_KEY).filter(|_| is_asked);
        let accept = derive_accept_key(key.ok_or_else(refused)?.as_bytes());
        let on_upgrade = parts.extensions.remove::<OnUpgrade>().ok_or_else(refused)?;
        let handover = parts.extensions.get::<UpgradeHandler>().cloned().ok_or_else(refused)?;
        let protocol = token_protocol(&parts.headers);
        let protocol = protocol.and_then(|protocol| HeaderValue::from_str(protocol).ok());
        let pass = ConnectionCredential::of_request(&parts.headers, &parts.uri);
        Ok(Self { on_upgrade, handover, accept, protocol, pass })
    }
}

impl WebsocketUpgrade {
    /// Answers the request, and runs the session on the WebSocket afterwards.
    pub(crate) fn serve<F: Future<Output = ()> + Send>(
        self,
        serve: impl FnOnce(Socket, ConnectionCredential) -> F + Send + 'static,
    ) -> Response {
        let Self { on_upgrade, handover, accept, protocol, pass } = self;
        *handover.0.lock() = Some(Box::pin(async move {
            // A client that disconnects before the answer has no session.
            if let Some(socket) = socket(on_upgrade).await {
                serve(socket, pass).await;
            }
        }));
        let headers = [
            (header::CONNECTION, "upgrade"),
            (header::UPGRADE, "websocket"),
            // The answer must not carry the token into the logs of proxies.
            (header::CACHE_CONTROL, "no-store"),
        ];
        let accept = [(header::SEC_WEBSOCKET_ACCEPT, accept)];
        let mut response =
            (StatusCode::SWITCHING_PROTOCOLS, headers, accept, Body::empty()).into_response();
        if let Some(protocol) = protocol {
            response.headers_mut().insert(header::SEC_WEBSOCKET_PROTOCOL, protocol);
        }
        response
    }
}

async fn socket(on_upgrade: OnUpgrade) -> Option<Socket> {
    let parts = on_upgrade.await.ok()?.downcast::<TokioIo<ConnectionStream>>().ok()?;
    let config = WebSocketConfig::default()
        .read_buffer_size(READ_BUFFER_LEN)
        .write_buffer_size(WRITE_BUFFER_LEN)
        .max_message_size(Some(MAX_MESSAGE_LEN))
        .max_frame_size(Some(MAX_MESSAGE_LEN));
    let (line, read) = (parts.io.into_inner(), parts.read_buf.to_vec());
    Some(WebSocketStream::from_partially_read(line, read, Role::Server, Some(config)).await)
}

/// Reports whether a header names a value, alone or in a list.
fn names(headers: &HeaderMap, header: &HeaderName, wanted: &str) -> bool {
    let values = headers.get_all(header).iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).any(|name| name.trim().eq_ignore_ascii_case(wanted))
}
