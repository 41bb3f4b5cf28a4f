//! Join codes: a number and two words, which two persons say to each other instead of a ticket.

use std::{
    net::{IpAddr, Ipv6Addr, SocketAddr},
    sync::Arc,
    time::Duration,
};

use serde_json::{Value, json};
use tokio::task::spawn_blocking;
use yfs::{Workspace, clock::Clock};
use yfs_peer::{
    JOIN_CODE_LIFETIME, JoinCode, JoinCodeHost, JoinCodeOptions, JoinCodeSearch, PeerError,
    PeerMembership, PeerOptions, PeerTicket, ReservedJoinCode, TicketRequest, issue_ticket,
    note_ticket_of_share,
};

use crate::prelude::*;

/// The longest life of a code.
const MAX_LIFETIME: Duration = Duration::from_secs(3600);

/// The network in which a code is offered.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CodeNetwork {
    listen: IpAddr,
    is_lan_only: bool,
    is_announced: bool,
}

/// What a ticket is for: the workspace, or the share of one of its directories.
pub(crate) struct SharedWorkspace {
    pub(crate) workspace: Workspace,
    pub(crate) is_directory: bool,
}

/// Where a code is searched.
#[derive(Debug, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
struct SearchOptions {
    at: Option<String>,
    relay: Option<String>,
    lan: bool,
}

/// What a person joins with.
pub(crate) enum JoinText {
    Ticket(Box<PeerTicket>),
    Code(JoinCode, JoinCodeSearch),
}

impl Default for CodeNetwork {
    /// The network of a code that is offered while another process connects the workspace.
    fn default() -> Self {
        let listen = IpAddr::V6(Ipv6Addr::UNSPECIFIED);
        Self { listen, is_lan_only: false, is_announced: true }
    }
}

impl Default for SearchOptions {
    fn default() -> Self {
        Self { at: None, relay: None, lan: true }
    }
}

impl CodeNetwork {
    /// Returns the network of a process that connects.
    pub(crate) fn of(options: &PeerOptions) -> Self {
        Self {
            listen: options.listen.ip(),
            is_lan_only: options.is_lan_only,
            is_announced: options.is_lan_searched,
        }
    }
}

/// Returns how long a code may be used.
pub(crate) fn lifetime(ms: Option<f64>) -> napi::Result<Duration> {
    let Some(ms) = ms else { return Ok(JOIN_CODE_LIFETIME) };
    let lifetime = Duration::try_from_secs_f64(ms / 1000.0).unwrap_or_default();
    if lifetime.is_zero() || lifetime > MAX_LIFETIME {
        return Err(error::invalid_options(&"a code lives for an hour at most"));
    }
    Ok(lifetime)
}

/// Makes a ticket for one peer of a workspace, and offers it to the first one that has a new code.
/// Returns the description of the code, which is offered until the workspace in the slot is closed.
pub(crate) async fn share_code(
    slot: WorkspaceSlot,
    shared: SharedWorkspace,
    request: TicketRequest,
    network: CodeNetwork,
    lifetime: Duration,
) -> napi::Result<Value> {
    let of_peers = error::of;
    let (ticket, member) = blocking(move || shared.issue(request)).await?;
    let id = ticket.signed.grant.id.to_string();
    let reserved = ReservedJoinCode::reserve(&member, &ticket.relays).await.map_err(of_peers)?;
    let code = reserved.code().to_string();
    let failures = reserved.failures().iter();
    let relay_failures: Vec<Value> = failures
        .map(|(relay, reason)| json!({ "relay": relay.to_string(), "reason": reason }))
        .collect();
    let options = JoinCodeOptions {
        listen: SocketAddr::new(network.listen, 0),
        lifetime,
        is_lan_only: network.is_lan_only,
        is_announced: network.is_announced,
    };
    let host = JoinCodeHost::start(reserved, &ticket, options).await.map_err(of_peers)?;
    let addresses: Vec<String> = host.addresses().iter().map(ToString::to_string).collect();
    let lan_failure = host.lan_failure().map(str::to_owned);
    let now = yfs::clock::SystemClock.now().0;
    let expires = now.saturating_add(i64::try_from(lifetime.as_millis()).unwrap_or(i64::MAX));
    slot.keep(host)?;
    Ok(json!({
        "code": code,
        "id": id,
        "addresses": addresses,
        "relays": ticket.relays.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "expiresMs": expires,
        "lanFailure": lan_failure,
        "relayFailures": relay_failures,
    }))
}

impl SharedWorkspace {
    /// Signs a ticket.
    pub(crate) fn issue_ticket(&self, request: TicketRequest) -> Result<PeerTicket, PeerError> {
        let ticket = issue_ticket(&self.workspace, request)?;
        if self.is_directory {
            note_ticket_of_share(&self.workspace, ticket.signed.grant.id)?;
        }
        Ok(ticket)
    }

    fn issue(
        &self,
        request: TicketRequest,
    ) -> Result<(PeerTicket, Arc<PeerMembership>), PeerError> {
        let ticket = self.issue_ticket(TicketRequest { is_once: true, ..request })?;
        Ok((ticket, Arc::new(PeerMembership::of(&self.workspace)?)))
    }
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, PeerError> + Send + 'static,
) -> napi::Result<T> {
    let done = spawn_blocking(work).await.map_err(|panic| error::died(&panic))?;
    done.map_err(error::of)
}

impl JoinText {
    /// Reads a ticket or a code, and where a code is searched.
    pub(crate) fn parse(text: &str, search: &str) -> napi::Result<Self> {
        let given: SearchOptions =
            serde_json::from_str(search).map_err(|reason| error::invalid_options(&reason))?;
        if !JoinCode::is_like(text) {
            if given.at.is_some() || given.relay.is_some() {
                return Err(error::invalid_options(&"`at` and `relay` are for a join code"));
            }
            let ticket = text.parse().map_err(error::of)?;
            return Ok(Self::Ticket(Box::new(ticket)));
        }
        let code: JoinCode = text.parse().map_err(error::of)?;
        let relay =
            given.relay.map(|relay| relay.parse().map_err(|_| error::invalid("a relay", &relay)));
        let relays: Vec<_> = relay.transpose()?.into_iter().collect();
        if given.at.is_none() && relays.is_empty() && !given.lan {
            return Err(error::invalid_options(&"a join code needs `at`, `relay` or `lan`"));
        }
        let search = JoinCodeSearch {
            at: given.at,
            relays,
            is_lan_searched: given.lan,
            interface: IpAddr::V6(Ipv6Addr::UNSPECIFIED),
            is_lan_only: false,
        };
        Ok(Self::Code(code, search))
    }

    /// Returns the ticket. A code is of no use afterwards.
    pub(crate) async fn into_ticket(self) -> napi::Result<PeerTicket> {
        match self {
            Self::Ticket(ticket) => Ok(*ticket),
            Self::Code(code, search) => code.redeem(&search).await.map_err(error::of),
        }
    }
}
