//! The session of one connection: opened before its first call, and again after its roots changed.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use http::{header::USER_AGENT, request::Parts};
use parking_lot::Mutex;
use rmcp::{
    ErrorData, RoleServer,
    model::{ClientResult, ErrorCode, ListRootsRequestMethod, RequestNoParam, ServerRequest},
    service::{Peer, RequestContext},
};

use crate::{
    approvals::is_stateless,
    http_service::RequestOpener,
    open_session::{ClientIdentity, OpenedSession, SessionOpener, SessionRefusal},
    profile::McpProfile,
    watching::TreeWatcher,
};

/// How long the client may take to name its roots.
const ROOTS_TIMEOUT: Duration = Duration::from_secs(10);

/// The session of one connection.
#[derive(Debug, Default)]
pub(crate) struct ClientSession {
    /// The opener; without one, each request brings its own.
    opener: Option<Arc<dyn SessionOpener>>,
    /// The session once it is open. The lock is held while it is opened.
    held: tokio::sync::Mutex<Option<HeldSession>>,
    /// The resources that a client of an older protocol version has subscribed to.
    pub(crate) subscribed: Arc<Mutex<BTreeSet<String>>>,
    /// The task that reports changes to such a client; it ends with the connection.
    pub(crate) watcher: tokio::sync::Mutex<Option<TreeWatcher>>,
}

#[derive(Debug)]
struct HeldSession {
    credential: String,
    session: OpenedSession,
}

impl HeldSession {
    async fn open(
        opener: &dyn SessionOpener,
        client: &ClientIdentity,
    ) -> Result<Self, SessionRefusal> {
        let session = opener.open_session(client).await?;
        Ok(Self { credential: opener.credential().to_owned(), session })
    }
}

impl ClientSession {
    pub(crate) fn new(opener: Option<Arc<dyn SessionOpener>>) -> Self {
        Self { opener, ..Self::default() }
    }

    /// Returns the profile by which the server presents itself, if it is known before the first
    /// request.
    pub(crate) fn profile(&self) -> McpProfile {
        self.opener.as_ref().map_or_else(McpProfile::default, |opener| opener.profile())
    }

    /// Returns who decides on the client that sent a request.
    pub(crate) fn opener_of(
        &self,
        context: &RequestContext<RoleServer>,
    ) -> Option<Arc<dyn SessionOpener>> {
        self.opener.clone().or_else(|| RequestOpener::of(&context.extensions))
    }

    /// Returns the session, and opens it at the first call.
    pub(crate) async fn of_request(
        &self,
        context: &RequestContext<RoleServer>,
    ) -> Result<OpenedSession, ErrorData> {
        let opener = self.opener_of(context);
        let opener = opener
            .ok_or_else(|| ErrorData::internal_error("the request has no credential", None))?;
        let mut held = self.held.lock().await;
        if let Some(held) = held.as_ref() {
            if held.credential != opener.credential() {
                let message = "the session belongs to another token";
                return Err(ErrorData::new(ErrorCode::INVALID_REQUEST, message, None));
            }
            return Ok(held.session.clone());
        }
        let client = identity_of(context, opener.wants_roots()).await;
        let opened = HeldSession::open(&*opener, &client).await;
        let opened =
            opened.map_err(|refusal| ErrorData::invalid_request(refusal.to_string(), None))?;
        Ok(held.insert(opened).session.clone())
    }

    /// Opens the session of a client that has just connected, if its roots decide what it sees. A
    /// failure is reported at the first call.
    pub(crate) async fn open_with_roots(&self, peer: &Peer<RoleServer>) {
        let Some(opener) = self.opener.as_ref().filter(|opener| opener.wants_roots()) else {
            return;
        };
        let Some(info) = peer.peer_info().filter(|info| info.capabilities.roots.is_some()) else {
            return;
        };
        let mut held = self.held.lock().await;
        if held.is_some() {
            return;
        }
        let client = info.client_info.clone();
        let (name, version) = (Some(client.name), Some(client.version));
        let roots = roots_of(peer).await;
        let client = ClientIdentity { name, version, roots, ..ClientIdentity::default() };
        *held = HeldSession::open(&**opener, &client).await.ok();
    }

    /// Closes the session after the client's roots changed: the next call opens another.
    pub(crate) async fn reopen(&self) {
        *self.held.lock().await = None;
        *self.watcher.lock().await = None;
    }
}

async fn identity_of(context: &RequestContext<RoleServer>, wants_roots: bool) -> ClientIdentity {
    let is_stateless = is_stateless(context);
    let client = context.client_info();
    let has_roots = context.client_capabilities().is_some_and(|client| client.roots.is_some());
    let roots = match wants_roots && has_roots && !is_stateless {
        true => roots_of(&context.peer).await,
        false => Vec::new(),
    };
    let (name, version) = client.map(|client| (client.name, client.version)).unzip();
    ClientIdentity { name, version, user_agent: user_agent_of(context), is_stateless, roots }
}

fn user_agent_of(context: &RequestContext<RoleServer>) -> Option<String> {
    let agent = context.extensions.get::<Parts>()?.headers.get(USER_AGENT)?;
    Some(String::from_utf8_lossy(agent.as_bytes()).into_owned())
}

#[expect(deprecated, reason = "clients of older protocol versions have roots")]
async fn roots_of(peer: &Peer<RoleServer>) -> Vec<String> {
    let method = ListRootsRequestMethod;
    let ask = RequestNoParam { method, extensions: Default::default() };
    let ask = peer.send_request(ServerRequest::ListRootsRequest(ask));
    match tokio::time::timeout(ROOTS_TIMEOUT, ask).await {
        Ok(Ok(ClientResult::ListRootsResult(list))) => {
            list.roots.into_iter().map(|root| root.uri).collect()
        }
        _ => Vec::new(),
    }
}
