//! The connecting side: WebSocket connections to a server, with reconnects for a permanent one.

use std::{collections::BTreeSet, time::Duration};

use bytes::Bytes;
use futures::{SinkExt, StreamExt, future::ready};
use serde::{Deserialize, Serialize};
use tokio::{net::TcpStream, time::timeout};
use tokio_tungstenite::{
    MaybeTlsStream, WebSocketStream, connect_async_with_config,
    tungstenite::{
        Error as WireError, Message,
        client::IntoClientRequest,
        http::{HeaderValue, header},
        protocol::{CloseFrame, WebSocketConfig},
    },
};
use yfs::{Workspace, replica::LogCursor};
use yfs_engine::{hash::ContentHash, id::WorkspaceId};
use yfs_sync::replica::ReplicaMessage;

use crate::{
    exchange_marks::{HubMarks, MarkStore},
    memory_guard::DEFAULT_MEMORY_LIMIT,
    replica_error::ReplicaError,
    replica_session::{ExchangeProgress, ReplicaSession},
    run_session::{WELCOME_WITHIN, carry},
};

/// The timeout for connecting, and for the first answer.
const PATIENCE: Duration = WELCOME_WITHIN;

/// The greatest size of a message, in bytes. The server has the same limit.
const MAX_MESSAGE_LEN: usize = 64 << 20;

/// The delay before the first reconnect, and the greatest delay before later ones.
const RESTS: [Duration; 2] = [Duration::from_millis(250), Duration::from_secs(30)];

/// The setting of the store with the server that it is a replica of.
const REMOTE_SETTING: &str = "replica.remote";

/// The prefix of the settings with the state of the exchange with a server.
const REMEMBERED_SETTING: &str = "replica.remembered.";

/// A server that has the same workspace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RemoteServer {
    /// The address, for example `http://127.0.0.1:4680`.
    url: String,
    /// The token that authenticates the client.
    token: Option<String>,
    /// The greatest size of the main document that is taken from it, in bytes, unless it is the
    /// default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    main_limit: Option<u64>,
    /// How much memory what it sends may take, in bytes, unless it is the default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    memory_limit: Option<u64>,
}

/// An event of a permanent connection.
#[derive(Debug)]
pub enum ConnectionEvent<'a> {
    /// Both sides have everything.
    InStep(&'a ExchangeProgress),
    /// The connection broke; the next attempt follows after this delay.
    Broken(&'a ReplicaError, Duration),
}

impl RemoteServer {
    /// Parses the address of a server: `http`, `https`, `ws` or `wss`, with no path, or with the
    /// path of the server behind a proxy. A `?token=` in it is used as the token.
    ///
    /// # Errors
    ///
    /// If the text is not such an address.
    pub fn parse(url: &str, token: Option<&str>) -> Result<Self, ReplicaError> {
        let bad = |reason: &str| ReplicaError::Connect {
            url: url.split('?').next().unwrap_or_default().to_owned(),
            reason: reason.to_owned(),
            is_final: true,
        };
        let (url, query) = url.split_once('?').unwrap_or((url, ""));
        let in_query = query.split('&').find_map(|pair| pair.strip_prefix("token="));
        let no_scheme = || bad(&format!("it has no scheme; `http://{url}` has one"));
        let (scheme, rest) = url.split_once("://").ok_or_else(no_scheme)?;
        let scheme = match scheme {
            "http" | "ws" => "ws",
            "https" | "wss" => "wss",
            _ => return Err(bad("only http, https, ws and wss are known")),
        };
        let rest = rest.trim_end_matches('/');
        if rest.is_empty() {
            return Err(bad("it has no host"));
        }
        let token = token.or(in_query).filter(|token| !token.is_empty()).map(str::to_owned);
        Ok(Self { url: format!("{scheme}://{rest}"), token, main_limit: None, memory_limit: None })
    }

    /// Sets the greatest size of the main document that is taken from the server, in bytes; it is
    /// [stored](Self::keep) with the server. The default is
    /// [`DEFAULT_MAIN_LIMIT`](crate::DEFAULT_MAIN_LIMIT).
    #[must_use]
    pub fn with_main_limit(mut self, bytes: u64) -> Self {
        self.main_limit = Some(bytes);
        self
    }

    /// Sets how much memory the updates of the server may add to this process in one exchange, in
    /// bytes; it is [stored](Self::keep) with the server. The default is 1.5 GiB.
    #[must_use]
    pub fn with_memory_limit(mut self, bytes: u64) -> Self {
        self.memory_limit = Some(bytes);
        self
    }

    /// Returns the address, without the token.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Returns the server that a workspace was cloned from or synced with last.
    pub fn of(workspace: &Workspace) -> Result<Option<Self>, ReplicaError> {
        let stored = workspace.store().get_meta(REMOTE_SETTING)?;
        Ok(stored.and_then(|stored| serde_json::from_slice(&stored).ok()))
    }

    /// Stores this server, with its token, as the one of a workspace.
    pub fn keep(&self, workspace: &Workspace) -> Result<(), ReplicaError> {
        let text = serde_json::to_vec(self).expect("strings are JSON");
        Ok(workspace.store().set_meta(REMOTE_SETTING, &text)?)
    }

    /// Requests the id of the server's workspace.
    pub async fn workspace_id(&self) -> Result<WorkspaceId, ReplicaError> {
        let mut socket = self.connect().await?;
        let hello = ReplicaMessage::Hello { since: "", summarizes: false }.encode();
        let asked = async {
            socket.send(Message::Binary(hello.into())).await.map_err(broken)?;
            loop {
                let frame = socket.next().await;
                match frame.ok_or_else(|| ReplicaError::gone("it has gone"))?.map_err(broken)? {
                    Message::Binary(frame) => match ReplicaMessage::decode(&frame)? {
                        ReplicaMessage::Welcome { workspace, .. } => return Ok(workspace),
                        _ => return Err(ReplicaError::OutOfTurn("no welcome")),
                    },
                    Message::Close(close) => return Err(closed(close)),
                    _ => {}
                }
            }
        };
        let id = timeout(PATIENCE, asked).await.map_err(|_| self.silent(PATIENCE))?;
        timeout(PATIENCE, socket.close(None)).await.ok();
        id
    }

    /// Exchanges everything with the server once.
    ///
    /// Calls `on_step` with the progress after every message.
    ///
    /// # Errors
    ///
    /// If the server cannot be reached, or the connection breaks. Everything exchanged until then
    /// is kept, and is not exchanged again next time.
    pub async fn sync(
        &self,
        workspace: &Workspace,
        on_step: impl FnMut(&ExchangeProgress),
    ) -> Result<ExchangeProgress, ReplicaError> {
        self.exchange_once(workspace, true, on_step).await
    }

    /// Receives everything from the server into a copy of the workspace, and sends nothing. The
    /// counters and [`ExchangeProgress::unsent`] say what [`sync`](Self::sync) of the workspace
    /// itself would exchange.
    ///
    /// # Errors
    ///
    /// The same as [`sync`](Self::sync).
    pub async fn preview(
        &self,
        copy: &Workspace,
        on_step: impl FnMut(&ExchangeProgress),
    ) -> Result<ExchangeProgress, ReplicaError> {
        self.exchange_once(copy, false, on_step).await
    }

    async fn exchange_once(
        &self,
        workspace: &Workspace,
        may_send: bool,
        mut on_step: impl FnMut(&ExchangeProgress),
    ) -> Result<ExchangeProgress, ReplicaError> {
        self.exchange(workspace, may_send, |session| {
            on_step(&session.progress());
            session.is_done()
        })
        .await
    }

    /// Returns the guids of the documents that changed here since the last exchange with the server
    /// ended; while one is going on, also those that it received. Returns `None` if that is not
    /// known, because there was no exchange, or this store is an older copy.
    pub fn unsent(&self, workspace: &Workspace) -> Result<Option<BTreeSet<String>>, ReplicaError> {
        let kept = self.marks(workspace)?;
        let HubMarks { pushed, checked, unsent, .. } = kept.marks();
        let mark = pushed.as_ref().or(checked.as_ref());
        let mark: Option<LogCursor> = mark.and_then(|mark| mark.parse().ok());
        let Some(mark) = mark else { return Ok(None) };
        let changed = workspace.replication().changed_since(&mark)?;
        Ok(changed.map(|changed| {
            let changed = changed.iter().map(ToString::to_string);
            unsent.iter().cloned().chain(changed).collect()
        }))
    }

    /// Reads the marks of the last exchange.
    fn marks(&self, workspace: &Workspace) -> Result<MarkStore, ReplicaError> {
        let hash = ContentHash::of(self.url.as_bytes()).to_string();
        MarkStore::open(workspace, format!("{REMEMBERED_SETTING}{}", &hash[..16]), None)
    }

    /// Exchanges changes with the server until an error is final, and reconnects after a broken
    /// connection.
    ///
    /// # Errors
    ///
    /// If a retry cannot succeed: the server rejects the token, or has another workspace.
    pub async fn follow(
        &self,
        workspace: &Workspace,
        mut tell: impl FnMut(ConnectionEvent<'_>),
    ) -> Result<std::convert::Infallible, ReplicaError> {
        let mut rest = RESTS[0];
        loop {
            let mut reported = None;
            let on_step = |session: &mut ReplicaSession| {
                if session.is_done() {
                    rest = RESTS[0];
                    let mut progress = session.progress();
                    let news = (progress.n_sent, progress.n_new, progress.n_blobs);
                    if reported != Some(news) {
                        reported = Some(news);
                        progress.changed = session.take_changed();
                        tell(ConnectionEvent::InStep(&progress));
                    }
                }
                false
            };
            let error = match self.exchange(workspace, true, on_step).await {
                Ok(_) => ReplicaError::gone("it has gone"),
                Err(error) if error.is_final() => return Err(error),
                Err(error) => error,
            };
            let wait = jittered(rest);
            tell(ConnectionEvent::Broken(&error, wait));
            tokio::time::sleep(wait).await;
            rest = (rest * 2).min(RESTS[1]);
        }
    }

    /// Exchanges over one connection until `is_over`, called after every step, returns true.
    /// Returns the counters.
    async fn exchange(
        &self,
        workspace: &Workspace,
        may_send: bool,
        mut is_over: impl FnMut(&mut ReplicaSession) -> bool,
    ) -> Result<ExchangeProgress, ReplicaError> {
        let mut marks = self.marks(workspace)?;
        let socket = self.connect().await?;
        let mut session = ReplicaSession::guest(workspace.clone(), marks.marks())
            .with_options(|options| {
                options.keeps_changes = !may_send;
                options.main_limit = self.main_limit.or(options.main_limit);
            })
            .with_memory_limit(self.memory_limit.unwrap_or(DEFAULT_MEMORY_LIMIT));
        let (sink, stream) = socket.split();
        let sink = sink.sink_map_err(broken);
        let sink = sink.with(|frame: Bytes| ready(Ok::<_, ReplicaError>(Message::Binary(frame))));
        let stream = stream.filter_map(|frame| ready(frame_payload(frame)));
        carry(&mut session, sink, stream, |session| {
            marks.save(session)?;
            Ok(is_over(session))
        })
        .await
        .map_err(|error| match error {
            ReplicaError::Silent { within, .. } => self.silent(within),
            error => error,
        })?;
        session.remember_all()?;
        marks.save(&session)?;
        let changed = session.take_changed();
        Ok(ExchangeProgress { changed, ..session.progress() })
    }

    async fn connect(&self) -> Result<WebSocketStream<MaybeTlsStream<TcpStream>>, ReplicaError> {
        let url = format!("{}/replicate", self.url);
        let mut request =
            url.into_client_request().map_err(|error| self.final_error(error.to_string()))?;
        if let Some(token) = &self.token {
            let value = HeaderValue::try_from(format!("Bearer {token}"));
            let value = value.map_err(|_| self.final_error("the token has strange characters"))?;
            request.headers_mut().insert(header::AUTHORIZATION, value);
        }
        // This fails if the application has installed another cryptography provider, which is kept.
        rustls::crypto::ring::default_provider().install_default().ok();
        let config = WebSocketConfig::default()
            .max_message_size(Some(MAX_MESSAGE_LEN))
            .max_frame_size(Some(MAX_MESSAGE_LEN));
        let connecting = connect_async_with_config(request, Some(config), true);
        match timeout(PATIENCE, connecting).await {
            Ok(Ok((socket, _))) => Ok(socket),
            Ok(Err(WireError::Http(response))) => {
                let status = response.status();
                let reason = format!("it answers {status}");
                Err(if status.is_client_error() {
                    self.final_error(reason)
                } else {
                    self.failed(reason)
                })
            }
            Ok(Err(WireError::Url(error))) => Err(self.final_error(error.to_string())),
            Ok(Err(error)) => Err(self.failed(error.to_string())),
            Err(_) => Err(self.silent(PATIENCE)),
        }
    }

    fn silent(&self, within: Duration) -> ReplicaError {
        ReplicaError::Silent { peer: format!("the server at {}", self.url), within }
    }

    fn failed(&self, reason: impl Into<String>) -> ReplicaError {
        ReplicaError::Connect { url: self.url.clone(), reason: reason.into(), is_final: false }
    }

    fn final_error(&self, reason: impl Into<String>) -> ReplicaError {
        ReplicaError::Connect { url: self.url.clone(), reason: reason.into(), is_final: true }
    }
}

/// Returns the bytes of a frame, the error that it means, or `None` for frames without effect.
fn frame_payload(frame: Result<Message, WireError>) -> Option<Result<Bytes, ReplicaError>> {
    match frame {
        Ok(Message::Binary(bytes)) => Some(Ok(bytes)),
        Ok(Message::Close(close)) => Some(Err(closed(close))),
        Ok(_) => None,
        Err(error) => Some(Err(broken(error))),
    }
}

#[expect(clippy::needless_pass_by_value, reason = "it is what `map_err` has")]
fn broken(error: WireError) -> ReplicaError {
    // A message that is too long would be too long again.
    let is_final = matches!(error, WireError::Capacity(_));
    ReplicaError::Closed { reason: error.to_string(), is_final }
}

/// Converts a close frame to an error. The codes from 4400 to 4499 are final, and so is 1009: a
/// message that is too long would be too long again.
fn closed(frame: Option<CloseFrame>) -> ReplicaError {
    let Some(frame) = frame else { return ReplicaError::gone("it has gone") };
    let is_final = matches!(u16::from(frame.code), 1009 | 4400..4500);
    ReplicaError::Closed { reason: frame.reason.to_string(), is_final }
}

/// Changes a delay at random by up to a quarter, so that many clients do not reconnect at once.
pub fn jittered(rest: Duration) -> Duration {
    let random = getrandom::u32().unwrap_or_default();
    rest.mul_f64(0.75 + 0.5 * f64::from(random) / f64::from(u32::MAX))
}
