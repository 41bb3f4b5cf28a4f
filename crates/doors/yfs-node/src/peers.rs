//! The peers of a workspace: connections with other stores of it, without a server.

use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};

use serde_json::{Value, json};
use tokio::{
    sync::{
        Mutex as AsyncMutex, Notify,
        broadcast::{Receiver, error::RecvError},
    },
    task::spawn_blocking,
};
use yfs::{Workspace, clock::Clock};
use yfs_engine::time::Millis;
use yfs_peer::{
    DirectoryShares, MAX_LABEL_LEN, PeerError, PeerEvent, PeerGroups, PeerMembership, PeerNode,
    PeerOptions, PeerRights, RelayName, TicketRequest, is_running, read_status,
};

use crate::{
    join_codes::{self, CodeNetwork, SharedWorkspace},
    peer_shares::{self, ConnectedShares, directory_to_share},
    prelude::*,
};

/// The peers of a workspace.
#[derive(Debug)]
#[napi]
pub struct NativePeers {
    slot: WorkspaceSlot,
    running: Arc<RunningNode>,
    /// The directory of the store; `None` for one in memory.
    dir: Option<PathBuf>,
}

/// The connections, which the slot of the workspace holds, so that closing it ends them.
#[derive(Debug, Default)]
pub(crate) struct RunningNode(Mutex<Weak<HeldNode>>);

#[derive(Debug)]
struct HeldNode {
    node: Mutex<Option<PeerNode>>,
    network: CodeNetwork,
    shares: ConnectedShares,
}

/// The events of the connections.
#[derive(Debug)]
#[napi]
pub struct NativePeerEvents {
    receiver: Arc<AsyncMutex<Receiver<PeerEvent>>>,
    /// Ends the call that waits; notified when the events are closed.
    closing: Arc<Notify>,
}

/// How to connect.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
struct StartOptions {
    listen: Option<String>,
    lan_only: bool,
    lan: Option<bool>,
    relays: Vec<String>,
    no_relay: bool,
}

/// What a ticket grants.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
struct ShareOptions {
    read_only: bool,
    expires_in_ms: Option<f64>,
    once: bool,
    #[serde(rename = "for")]
    label: String,
    path: Option<String>,
    code: bool,
    code_for_ms: Option<f64>,
}

impl StartOptions {
    fn into_options(self, dir: Option<PathBuf>) -> napi::Result<PeerOptions> {
        let mut options = PeerOptions { lock_dir: dir, ..PeerOptions::default() };
        if let Some(listen) = self.listen {
            let parsed = listen.parse::<SocketAddr>();
            options.listen =
                parsed.map_err(|_| error::invalid("an address with a port", &listen))?;
        }
        for relay in self.relays {
            let parsed = relay.parse::<RelayName>();
            options.relays.push(parsed.map_err(|_| error::invalid("a relay", &relay))?);
        }
        options.is_lan_only = self.lan_only;
        options.is_lan_searched = self.lan.unwrap_or(true);
        options.is_relay_off = self.no_relay;
        if !options.relays.is_empty() && (options.is_relay_off || options.is_lan_only) {
            return Err(error::invalid_options(&"relays, and no use of relays"));
        }
        Ok(options)
    }
}

impl ShareOptions {
    fn into_request(self) -> napi::Result<TicketRequest> {
        if self.label.len() > MAX_LABEL_LEN || self.label.chars().any(char::is_control) {
            return Err(error::invalid("a name of at most 64 bytes", &self.label));
        }
        let now = yfs::clock::SystemClock.now().0;
        let expires = self.expires_in_ms.map(|ms| Millis(now.saturating_add(ms as i64)));
        let rights = if self.read_only { PeerRights::Read } else { PeerRights::Write };
        Ok(TicketRequest { rights, expires, is_once: self.once, label: self.label })
    }
}

impl RunningNode {
    fn lock(&self) -> MutexGuard<'_, Weak<HeldNode>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls with the connections, if there are any.
    fn with<T>(&self, call: impl FnOnce(&PeerNode) -> T) -> Option<T> {
        let held = self.lock().upgrade()?;
        let node = held.node.lock().unwrap_or_else(PoisonError::into_inner);
        node.as_ref().map(call)
    }
}

impl RunningNode {
    fn held(&self) -> Option<Arc<HeldNode>> {
        self.lock().upgrade()
    }
}

impl NativePeers {
    pub(crate) fn new(
        slot: WorkspaceSlot,
        running: Arc<RunningNode>,
        dir: Option<PathBuf>,
    ) -> Self {
        Self { slot, running, dir }
    }

    fn ask<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Workspace) -> Result<T, PeerError> + Send + 'static,
    ) -> napi::Result<OwnedFuture<T>> {
        let workspace = self.slot.get()?;
        Ok(OwnedFuture::blocking(move || work(&workspace).map_err(error::of)))
    }
}

#[napi]
impl NativePeers {
    /// Connects the workspace with its peers. Returns the addresses at which it can be reached.
    #[napi]
    pub fn start(&self, options: String) -> napi::Result<OwnedFuture<String>> {
        let given: StartOptions =
            serde_json::from_str(&options).map_err(|reason| error::invalid_options(&reason))?;
        let options = given.into_options(self.dir.clone())?;
        let network = CodeNetwork::of(&options);
        let (slot, running, workspace) =
            (self.slot.clone(), self.running.clone(), self.slot.get()?);
        let dir = self.dir.clone();
        Ok(OwnedFuture::blocking(move || {
            let mut running = running.lock();
            if running.upgrade().is_some() {
                return Err(error::of(PeerError::AlreadyRunning));
            }
            let started = PeerMembership::of(&workspace)
                .and_then(|member| member.found())
                .and_then(|()| PeerNode::start(&workspace, options.clone()));
            let node = started.map_err(error::of)?;
            let shares =
                ConnectedShares::resume(&workspace, dir.as_deref(), options).map_err(error::of)?;
            let addresses: Vec<String> = node.addresses().iter().map(ToString::to_string).collect();
            let answer = json!({ "addresses": addresses, "lanFailure": node.lan_failure() });
            *running = slot.keep(HeldNode { node: Mutex::new(Some(node)), network, shares })?;
            Ok(answer.to_string())
        }))
    }

    /// Ends the connections; it is fine if there are none.
    #[napi]
    pub fn stop(&self) -> napi::Result<OwnedFuture<()>> {
        let (slot, running) = (self.slot.clone(), self.running.clone());
        Ok(OwnedFuture::future(async move {
            let held = std::mem::take(&mut *running.lock());
            let taken = held.upgrade();
            slot.release(&held);
            let Some(held) = taken else { return Ok(()) };
            let node = held.node.lock().unwrap_or_else(PoisonError::into_inner).take();
            if let Some(node) = node {
                node.stop().await;
            }
            held.shares.stop().await.map_err(error::of)
        }))
    }

    #[napi(getter)]
    pub fn is_running(&self) -> bool {
        self.running.with(|_| ()).is_some()
    }

    /// Returns the id of this store, which is its public key.
    #[napi]
    pub fn id(&self) -> napi::Result<OwnedFuture<String>> {
        self.ask(|workspace| Ok(PeerMembership::of(workspace)?.id().to_string()))
    }

    /// Signs a ticket, or offers a code that gives one.
    #[napi]
    pub fn share(&self, options: String) -> napi::Result<OwnedFuture<String>> {
        let given: ShareOptions =
            serde_json::from_str(&options).map_err(|reason| error::invalid_options(&reason))?;
        if given.code_for_ms.is_some() && !given.code {
            return Err(error::invalid_options(&"`codeForMs` is for a code"));
        }
        let with_code = given.code.then(|| join_codes::lifetime(given.code_for_ms)).transpose()?;
        let path = given.path.clone();
        let request = given.into_request()?;
        let held = self.running.held();
        let is_connected = held.is_some() || self.dir.as_deref().is_some_and(is_running);
        // The share of a directory is connected here.
        if held.is_none() && (path.is_some() || !is_connected) {
            return Err(error::not_connected());
        }
        let network = held.as_ref().map(|held| held.network).unwrap_or_default();
        let opening = self.open_shared(path, held, &request)?;
        let slot = self.slot.clone();
        Ok(OwnedFuture::future(async move {
            let shared = opening.await?;
            if let Some(lifetime) = with_code {
                let offered = join_codes::share_code(slot, shared, request, network, lifetime);
                return Ok(offered.await?.to_string());
            }
            let issued = spawn_blocking(move || shared.issue_ticket(request)).await;
            let issued = issued.map_err(|panic| error::died(&panic))?;
            let ticket = issued.map_err(error::of)?;
            let id = ticket.signed.grant.id.to_string();
            Ok(json!({ "ticket": ticket.to_string(), "id": id }).to_string())
        }))
    }

    /// Lists the shared directories.
    #[napi]
    pub fn shares(&self) -> napi::Result<OwnedFuture<String>> {
        let (held, dir) = (self.running.held(), self.dir.clone());
        self.ask(move |workspace| {
            let Some(dir) = dir else { return Ok("[]".to_owned()) };
            let shares = DirectoryShares::of(workspace, &dir);
            let connected = held.as_deref().map(|held| &held.shares);
            Ok(peer_shares::describe_all(&shares, connected)?.to_string())
        })
    }

    /// Lists the peers.
    #[napi]
    pub fn list(&self) -> napi::Result<OwnedFuture<String>> {
        let is_connected = self.is_running();
        self.ask_groups(PeerGroups::open_to_read, move |groups| {
            let mut list = Vec::new();
            for group in groups.iter() {
                let path = group.path.as_deref();
                let is_running = group.is_running() || (path.is_none() && is_connected);
                let peers = read_status(&group.workspace, is_running)?;
                list.extend(peers.iter().map(|status| {
                    let mut peer = message::js(status);
                    peer["path"] = path.into();
                    peer
                }));
            }
            Ok(Value::from(list).to_string())
        })
    }

    /// Names a peer.
    #[napi]
    pub fn rename(&self, peer: String, name: String) -> napi::Result<OwnedFuture<()>> {
        self.ask_groups(PeerGroups::open, move |groups| groups.rename(&peer, &name))
    }

    /// Blocks a peer, or a ticket and all that joined with it. Returns whether all peers will
    /// follow, because this is the owner's store.
    #[napi]
    pub fn block(&self, target: String) -> napi::Result<OwnedFuture<bool>> {
        self.ask_groups(PeerGroups::open, move |groups| groups.block(&target))
    }

    /// Allows connections with a peer that only this store blocked.
    #[napi]
    pub fn unblock(&self, peer: String) -> napi::Result<OwnedFuture<()>> {
        self.ask_groups(PeerGroups::open, move |groups| {
            groups.change_note(&peer, |note| note.is_blocked = false)
        })
    }

    /// Does not list a peer or connect with it, until it connects itself.
    #[napi]
    pub fn forget(&self, peer: String) -> napi::Result<OwnedFuture<()>> {
        self.ask_groups(PeerGroups::open, move |groups| {
            groups.change_note(&peer, |note| note.is_forgotten = true)
        })
    }

    /// Returns the events of the connections, the first time with those since the start.
    #[napi]
    pub fn events(&self) -> napi::Result<NativePeerEvents> {
        let receiver = self.running.with(PeerNode::events).ok_or_else(error::not_connected)?;
        Ok(NativePeerEvents {
            receiver: Arc::new(AsyncMutex::new(receiver)),
            closing: Arc::default(),
        })
    }
}

impl NativePeers {
    /// Calls with the peers of the workspace and of its shared directories.
    fn ask_groups<T: Send + 'static>(
        &self,
        open: fn(&Workspace, Option<&Path>) -> Result<PeerGroups, PeerError>,
        work: impl FnOnce(&PeerGroups) -> Result<T, PeerError> + Send + 'static,
    ) -> napi::Result<OwnedFuture<T>> {
        let dir = self.dir.clone();
        self.ask(move |workspace| {
            let groups = open(workspace, dir.as_deref())?;
            let answer = work(&groups);
            groups.close()?;
            answer
        })
    }

    /// Opens what is shared: the workspace, or one of its directories.
    fn open_shared(
        &self,
        path: Option<String>,
        held: Option<Arc<HeldNode>>,
        request: &TicketRequest,
    ) -> napi::Result<impl Future<Output = napi::Result<SharedWorkspace>> + Send + 'static> {
        let workspace = self.slot.get()?;
        let (actor, request) = (self.slot.actor().clone(), request.clone());
        let dir = self.dir.clone();
        // The root is the whole.
        let path = path.filter(|path| !path.trim_matches('/').is_empty());
        if path.is_some() && dir.is_none() {
            return Err(error::invalid_options(&"a workspace in memory cannot share a directory"));
        }
        let open = move || {
            let (Some(path), Some(dir), Some(held)) = (path, dir, held) else {
                return Ok(SharedWorkspace { workspace, is_directory: false });
            };
            let directory = directory_to_share(&workspace, actor, &path, &request)?;
            let shares = DirectoryShares::of(&workspace, &dir);
            let opened = held.shares.open(&shares, &directory);
            let workspace = opened.map_err(error::of)?;
            Ok(SharedWorkspace { workspace, is_directory: true })
        };
        Ok(async { spawn_blocking(open).await.map_err(|panic| error::died(&panic))? })
    }
}

#[napi]
impl NativePeerEvents {
    /// Waits for the next event; nothing once the connections have ended or this was closed.
    #[napi]
    pub fn next(&self) -> OwnedFuture<Option<String>> {
        let (receiver, closing) = (self.receiver.clone(), self.closing.clone());
        OwnedFuture::future(async move {
            let mut receiver = receiver.lock().await;
            loop {
                let event = tokio::select! {
                    event = receiver.recv() => event,
                    () = closing.notified() => return Ok(None),
                };
                match event {
                    Ok(event) => {
                        if let Some(event) = event_json(&event) {
                            return Ok(Some(event.to_string()));
                        }
                    }
                    Err(RecvError::Lagged(_)) => {}
                    Err(RecvError::Closed) => return Ok(None),
                }
            }
        })
    }

    /// Ends the waiting.
    #[napi]
    pub fn close(&self) {
        self.closing.notify_one();
    }
}

impl Drop for NativePeerEvents {
    /// Ends the call that waits: the thread that asked has ended, or has forgotten the events.
    fn drop(&mut self) {
        self.close();
    }
}

/// Describes an event; `None` for one that a later version of the peers has.
fn event_json(event: &PeerEvent) -> Option<Value> {
    Some(match event {
        PeerEvent::Connected(peer) => json!({ "kind": "connected", "peer": peer.to_string() }),
        PeerEvent::InStep(peer, progress) => json!({
            "kind": "inStep",
            "peer": peer.to_string(),
            "sent": progress.n_sent,
            "received": progress.n_received,
            "new": progress.n_new,
        }),
        PeerEvent::Forked(peer, document) => json!({
            "kind": "forked", "peer": peer.to_string(), "document": document.as_str(),
        }),
        PeerEvent::Ended(peer, reason, may_pass_later) => json!({
            "kind": "ended",
            "peer": peer.to_string(),
            "reason": reason,
            "mayPassLater": may_pass_later,
        }),
        PeerEvent::RelayRegistered(relay, address) => json!({
            "kind": "relayRegistered", "relay": relay, "address": address.to_string(),
        }),
        PeerEvent::RelayLost(relay, reason) => {
            json!({ "kind": "relayLost", "relay": relay, "reason": reason })
        }
        _ => return None,
    })
}
