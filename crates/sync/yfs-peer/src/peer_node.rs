//! The process that connects a workspace with its peers: listens, calls the known contacts, and
//! keeps one connection with each.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::File,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use quinn::{Connection, Endpoint, Incoming, VarInt};
use serde::{Deserialize, Serialize};
use tokio::{
    sync::{Notify, Semaphore, broadcast},
    task::JoinHandle,
    time::timeout,
};
use yfs::Workspace;
use yfs_engine::id::FileId;
use yfs_replica::{ExchangeProgress, follow_lock::lock_file, run_blocking};

mod call_plan;
mod link_choice;
mod relay_links;

pub(crate) use relay_links::NodeRelays;

use self::{
    call_plan::{CALL_AGAIN, CallPlan, KnownContacts},
    link_choice::{LinkKind, is_not_needed, must_refuse},
    relay_links::NodeSocket,
};
use crate::{
    contact::PeerContact,
    dial::PeerCall,
    first_exchange::FirstExchange,
    lan::{LanDiscovery, LanPeers},
    lan_announcement::LanGroupKey,
    membership::{PeerMembership, TicketRequest},
    peer_error::{DenialCode, PeerError},
    peer_grant::PeerRights,
    peer_key::PeerId,
    peer_link::{
        LARGE_FRAMES_KIB, REPLACED, STOPPED, accept_stream, carry_session, is_stopped, open_stream,
    },
    peer_session::PeerSession,
    peer_status::{PeerStatus, reason_text, stored_status, write_status},
    presence::LocalPresenceHost,
    quic,
    relay_name::RelayName,
    relay_paths::is_relayed,
    ticket::PeerTicket,
};

/// The setting with the addresses of the process that connects.
const NODE_SETTING: &str = "peer.node";

/// The file that the process that connects has locked.
const LOCK_FILE: &str = "peers.lock";

/// The most connections at once.
const MAX_CONNECTIONS: usize = 64;

/// The most handshakes at once. Above half of it, a client must first show that it has its address.
const MAX_HANDSHAKES: usize = 32;

/// The most peers whose status is kept.
const MAX_STATUSES: usize = 256;

/// The time for a handshake.
const HANDSHAKE_WITHIN: Duration = Duration::from_secs(10);

/// How long a peer that violated the protocol is refused, times the number of violations.
const HOLD: Duration = Duration::from_secs(10);
const MAX_HOLD: Duration = Duration::from_secs(3600);

/// How long the end of the connections is awaited, besides three round trips. A peer that did not
/// receive it notices the silence.
const CLOSED_WITHIN: Duration = Duration::from_millis(200);

/// How often contacts are checked and the status is written.
const TICK: Duration = Duration::from_secs(1);

/// The most events that wait for a subscriber.
const MAX_EVENTS: usize = 256;

/// The options of a process that connects.
#[derive(Debug, Clone)]
pub struct PeerOptions {
    /// Where to listen. Port 0 stands for the last one, or any.
    pub listen: SocketAddr,
    /// Whether only addresses of this machine and its local network are used.
    pub is_lan_only: bool,
    /// Whether this peer announces itself in the local network, and searches it for others.
    pub is_lan_searched: bool,
    /// Relays that are used besides those that were named before, by an option or a ticket. At most
    /// four are used.
    pub relays: Vec<RelayName>,
    /// Relays that are used and named in tickets like those, but not remembered.
    pub default_relays: Vec<RelayName>,
    /// Whether no relay is used, and those that were named before are forgotten.
    pub is_relay_off: bool,
    /// The directory of the store, which has the lock.
    pub lock_dir: Option<PathBuf>,
}

/// An event of a connection.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum PeerEvent {
    /// A peer was admitted.
    Connected(PeerId),
    /// Both sides have everything.
    InStep(PeerId, Box<ExchangeProgress>),
    /// A peer vouched for other content of a document, under ids that items have here.
    Forked(PeerId, FileId),
    /// A connection failed or ended, and why. Whether a later attempt may succeed.
    Ended(PeerId, String, bool),
    /// This peer is registered with a relay, which sees it at an address.
    RelayRegistered(String, SocketAddr),
    /// This peer is not registered with a relay, and why.
    RelayLost(String, String),
}

/// The connections of a workspace with its peers. They end when it is dropped.
#[derive(Debug)]
pub struct PeerNode {
    shared: Arc<NodeShared>,
    tasks: Vec<JoinHandle<()>>,
    /// The events since the start, for the first subscriber.
    first_events: Mutex<Option<broadcast::Receiver<PeerEvent>>>,
    _lan: Option<LanDiscovery>,
    /// The socket of the servers on this machine. It is removed before the lock is released.
    _presence: Option<LocalPresenceHost>,
    lan_failure: Option<String>,
    _lock: Option<File>,
}

#[derive(Debug)]
struct NodeShared {
    member: Arc<PeerMembership>,
    endpoint: Endpoint,
    options: PeerOptions,
    /// The address of the last start, in contacts and tickets.
    addresses: Vec<SocketAddr>,
    /// The peers that were found in the local network, if it is searched.
    lan: Option<Arc<LanPeers>>,
    /// The relays, if any was named.
    relays: Option<Arc<NodeRelays>>,
    links: Mutex<BTreeMap<PeerId, LinkEntry>>,
    calls: Mutex<BTreeMap<PeerId, CallPlan>>,
    statuses: Mutex<BTreeMap<PeerId, PeerStatus>>,
    /// The list of statuses as it was written last.
    written: Mutex<Vec<PeerStatus>>,
    /// The contacts as they were read last.
    known: Mutex<Option<KnownContacts>>,
    n_handshakes: AtomicUsize,
    next_link: AtomicU64,
    /// Whether an exchange has read or received a log since memory was returned to the system. Set
    /// by connections; the task that calls peers returns it.
    has_freed: AtomicBool,
    large_frames: Arc<Semaphore>,
    /// Whose turn it is, while this store has just joined.
    first: Arc<FirstExchange>,
    events: broadcast::Sender<PeerEvent>,
    wake: Notify,
}

#[derive(Debug)]
struct LinkEntry {
    number: u64,
    connection: Connection,
    is_dialed: bool,
}

impl LinkEntry {
    fn kind(&self) -> LinkKind {
        let is_relayed = is_relayed(self.connection.remote_address());
        LinkKind { is_dialed: self.is_dialed, is_relayed }
    }
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct NodeRecord {
    addresses: Vec<SocketAddr>,
    /// The relays in tickets.
    #[serde(default)]
    relays: Vec<String>,
}

impl NodeRecord {
    /// Reads the record of the last start.
    fn read(workspace: &Workspace) -> Result<Self, PeerError> {
        let stored = workspace.store().get_meta(NODE_SETTING)?;
        Ok(stored.and_then(|stored| serde_json::from_slice(&stored).ok()).unwrap_or_default())
    }
}

impl Default for PeerOptions {
    fn default() -> Self {
        let listen = SocketAddr::new(IpAddr::V6(Ipv6Addr::UNSPECIFIED), 0);
        Self {
            listen,
            is_lan_only: false,
            is_lan_searched: false,
            relays: Vec::new(),
            default_relays: Vec::new(),
            is_relay_off: false,
            lock_dir: None,
        }
    }
}

impl PeerNode {
    /// Listens, and calls the contacts of a workspace that was shared or joined.
    ///
    /// # Errors
    ///
    /// [`PeerError::AlreadyRunning`] if another process does, [`PeerError::NotShared`] if the
    /// workspace has no certificate.
    pub fn start(workspace: &Workspace, options: PeerOptions) -> Result<Self, PeerError> {
        let lock = options.lock_dir.as_deref().map(acquire_lock).transpose()?;
        let member = Arc::new(PeerMembership::of(workspace)?);
        member.certificate()?;
        let names = NodeRelays::names_of(&member, &options)?;
        let NodeSocket { socket, relays } =
            NodeSocket::wrap(bind(&member, options.listen)?, names)?;
        let endpoint = quic::endpoint(member.key(), socket)?;
        let bound = endpoint.local_addr()?;
        let addresses = local_addresses(bound);
        let (relays, relay_inputs) = relays.unzip();
        let names = relays.iter().flat_map(|relays: &Arc<NodeRelays>| relays.names());
        let relay_names = names.map(RelayName::to_string).collect();
        let record = NodeRecord { addresses: addresses.clone(), relays: relay_names };
        let record = serde_json::to_vec(&record).expect("addresses are JSON");
        workspace.store().set_meta(NODE_SETTING, &record)?;
        let by_id = |status: PeerStatus| {
            let id = status.id.parse().ok()?;
            Some((id, PeerStatus { connected: false, in_step: false, ..status }))
        };
        let written = stored_status(workspace)?;
        let statuses = written.iter().cloned().filter_map(by_id).collect();
        let lan = options.is_lan_searched.then(|| lan_peers(&member)).transpose()?;
        let (events, first_events) = broadcast::channel(MAX_EVENTS);
        let first = FirstExchange::new(member.is_complete()?);
        let shared = Arc::new(NodeShared {
            lan,
            relays,
            member,
            endpoint,
            options,
            addresses,
            links: Mutex::default(),
            calls: Mutex::default(),
            statuses: Mutex::new(statuses),
            written: Mutex::new(written),
            known: Mutex::default(),
            n_handshakes: AtomicUsize::new(0),
            next_link: AtomicU64::new(0),
            has_freed: AtomicBool::new(false),
            large_frames: Arc::new(Semaphore::new(LARGE_FRAMES_KIB)),
            first,
            events,
            wake: Notify::new(),
        });
        let mut tasks =
            vec![tokio::spawn(accept_all(shared.clone())), tokio::spawn(call_all(shared.clone()))];
        if let (Some(relays), Some(inputs)) = (&shared.relays, relay_inputs) {
            tasks.extend(NodeRelays::start(relays, inputs, &shared)?);
        }
        let (mut discovery, mut lan_failure) = (None, None);
        if let Some(lan) = &shared.lan {
            tasks.push(tokio::spawn(call_found(shared.clone(), lan.clone())));
            match LanDiscovery::start(lan.clone(), bound) {
                Ok(started) => discovery = Some(started),
                Err(error) => lan_failure = Some(error.to_string()),
            }
        }
        let first_events = Mutex::new(Some(first_events));
        let dir = shared.options.lock_dir.as_deref();
        // Without it, editors do not see each other, and all else works.
        let presence = dir.and_then(|dir| LocalPresenceHost::start(dir, &shared.member).ok());
        let (_lan, _presence, _lock) = (discovery, presence, lock);
        Ok(Self { shared, tasks, first_events, _lan, _presence, lan_failure, _lock })
    }

    /// Returns why the local network is not searched, if it should be.
    pub fn lan_failure(&self) -> Option<&str> {
        self.lan_failure.as_deref()
    }

    /// Returns the events since the start for the first caller, and those from now on for later
    /// ones. A receiver that is more than 256 events behind is informed that it lost some.
    pub fn events(&self) -> broadcast::Receiver<PeerEvent> {
        self.first_events.lock().take().unwrap_or_else(|| self.shared.events.subscribe())
    }

    /// Returns the addresses at which other peers can reach this one.
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.shared.addresses
    }

    /// Reports whether the connection with a peer goes through a relay, if there is one.
    #[cfg(test)]
    pub(crate) fn is_relayed(&self, peer: PeerId) -> Option<bool> {
        self.shared.links.lock().get(&peer).map(|entry| entry.kind().is_relayed)
    }

    /// Returns the peers that this one connects with by itself.
    pub fn callable(&self) -> Result<BTreeSet<PeerId>, PeerError> {
        let mut callable = BTreeSet::new();
        for (contact, may_connect) in &*self.shared.known_contacts()? {
            if *may_connect && self.shared.has_address(contact) {
                callable.insert(contact.peer);
            }
        }
        Ok(callable)
    }

    /// Ends all connections.
    pub async fn stop(self) {
        for task in &self.tasks {
            task.abort();
        }
        self.shared.endpoint.close(VarInt::from_u32(0), STOPPED);
        // A call that no peer answers would hold the endpoint for three seconds.
        let closed = self.shared.endpoint.wait_idle();
        timeout(3 * self.shared.longest_round_trip() + CLOSED_WITHIN, closed).await.ok();
        if let Some(relays) = &self.shared.relays {
            relays.leave().await;
        }
        run_blocking(|| self.shared.write_statuses()).ok();
    }
}

impl Drop for PeerNode {
    fn drop(&mut self) {
        for task in &self.tasks {
            task.abort();
        }
        self.shared.endpoint.close(VarInt::from_u32(0), STOPPED);
    }
}

/// Signs a ticket with the addresses of the process that connects.
///
/// # Errors
///
/// [`PeerError::NotOwner`] if this is not the owner's store.
pub fn issue_ticket(
    workspace: &Workspace,
    request: TicketRequest,
) -> Result<PeerTicket, PeerError> {
    let member = PeerMembership::of(workspace)?;
    let NodeRecord { addresses, relays } = NodeRecord::read(workspace)?;
    let ticket = member.issue(request, addresses)?;
    Ok(PeerTicket {
        relays: relays.iter().filter_map(|name| name.parse().ok()).collect(),
        ..ticket
    })
}

/// Reports whether a process connects the workspace of a store's directory with its peers.
pub fn is_running(lock_dir: &Path) -> bool {
    lock_dir.join(LOCK_FILE).exists()
        && matches!(acquire_lock(lock_dir), Err(PeerError::AlreadyRunning))
}

fn acquire_lock(dir: &Path) -> Result<File, PeerError> {
    lock_file(&dir.join(LOCK_FILE))?.ok_or(PeerError::AlreadyRunning)
}

/// Binds the port of the last start if it is free, so that contacts and tickets stay valid.
fn bind(member: &PeerMembership, listen: SocketAddr) -> Result<std::net::UdpSocket, PeerError> {
    let last = NodeRecord::read(member.workspace())?.addresses.first().map(SocketAddr::port);
    let ports = last.into_iter().filter(|_| listen.port() == 0).chain([listen.port()]);
    let mut failure = None;
    for port in ports {
        for ip in [Some(listen.ip()), v4_of(listen.ip())].into_iter().flatten() {
            let address = SocketAddr::new(ip, port);
            match std::net::UdpSocket::bind(address) {
                Ok(socket) => return Ok(socket),
                Err(source) => failure = Some(PeerError::Listen { address, source }),
            }
        }
    }
    Err(failure.expect("one address was tried"))
}

/// Returns the address to listen on where there is no IPv6.
fn v4_of(ip: IpAddr) -> Option<IpAddr> {
    (ip == IpAddr::V6(Ipv6Addr::UNSPECIFIED)).then_some(IpAddr::V4(Ipv4Addr::UNSPECIFIED))
}

/// Returns the addresses of a socket: its own, or those from which this machine would reach others,
/// if it is bound to all. Sends nothing.
pub(crate) fn local_addresses(bound: SocketAddr) -> Vec<SocketAddr> {
    if !bound.ip().is_unspecified() {
        return vec![bound];
    }
    // These are reserved for documentation. Connecting a UDP socket only selects a route.
    let routes = [("0.0.0.0:0", "192.0.2.1:9"), ("[::]:0", "[2001:db8::1]:9")];
    let source = |(from, to): (&str, &str)| {
        let socket = std::net::UdpSocket::bind(from).ok()?;
        socket.connect(to).ok()?;
        socket.local_addr().ok().map(|address| address.ip())
    };
    let mut ips: Vec<IpAddr> = routes.into_iter().filter_map(source).collect();
    ips.push(IpAddr::V4(Ipv4Addr::LOCALHOST));
    ips.into_iter().map(|ip| SocketAddr::new(ip, bound.port())).collect()
}

/// Makes the list of the peers in the local network.
fn lan_peers(member: &PeerMembership) -> Result<Arc<LanPeers>, PeerError> {
    let owner = member.owner()?.ok_or(PeerError::NotShared)?;
    let group = LanGroupKey::of(owner, member.workspace().id());
    Ok(Arc::new(LanPeers::new(member.id(), group)))
}

/// Accepts connections.
async fn accept_all(shared: Arc<NodeShared>) {
    while let Some(incoming) = shared.endpoint.accept().await {
        let n_handshakes = shared.n_handshakes.load(Ordering::Relaxed);
        let is_foreign = shared.options.is_lan_only && !quic::is_local(incoming.remote_address());
        if is_foreign || n_handshakes >= MAX_HANDSHAKES {
            incoming.refuse();
        } else if n_handshakes >= MAX_HANDSHAKES / 2 && !incoming.remote_address_validated() {
            incoming.retry().ok();
        } else {
            let slot = HandshakeSlot::take(&shared);
            tokio::spawn(accept_one(shared.clone(), incoming, slot));
        }
    }
}

async fn accept_one(shared: Arc<NodeShared>, incoming: Incoming, slot: HandshakeSlot) {
    let connected = timeout(HANDSHAKE_WITHIN, async { incoming.await.ok() }).await;
    let accepted = match connected {
        Ok(Some(connection)) => match quic::remote_id(&connection) {
            Some(peer) if !shared.is_held(peer) => Some((peer, connection)),
            _ => None,
        },
        _ => None,
    };
    let Some((peer, connection)) = accepted else { return };
    let run = async {
        let streams = accept_stream(&connection).await?;
        let (member, first) = (shared.member.clone(), shared.first.clone());
        let session = PeerSession::acceptor_in_turn(member, peer, first)?;
        run_link(&shared, session, &connection, streams, Some(slot)).await
    };
    let ended = run.await;
    shared.record_end(peer, ended);
}

/// Calls all contacts that are not connected.
async fn call_all(shared: Arc<NodeShared>) {
    loop {
        let due = run_blocking(|| shared.due_calls()).unwrap_or_default();
        for contact in due {
            tokio::spawn(call_one(shared.clone(), contact));
        }
        run_blocking(|| shared.write_statuses()).ok();
        if shared.has_freed.swap(false, Ordering::Relaxed) {
            run_blocking(yfs::return_freed_memory);
        }
        run_blocking(|| shared.member.expire_presence());
        timeout(TICK, shared.wake.notified()).await.ok();
    }
}

/// Calls peers soon after they were found in the local network.
async fn call_found(shared: Arc<NodeShared>, lan: Arc<LanPeers>) {
    let mut changes = lan.changes();
    while changes.changed().await.is_ok() {
        let soon = Instant::now() + CALL_AGAIN[0];
        let mut calls = shared.calls.lock();
        for peer in lan.found() {
            if let Some(plan) = calls.get_mut(&peer) {
                plan.due = plan.due.min(soon);
            }
        }
        drop(calls);
        shared.wake.notify_one();
    }
}

async fn call_one(shared: Arc<NodeShared>, contact: PeerContact) {
    let peer = contact.peer;
    let run = async {
        let config = quic::client_config(shared.member.key(), peer)?;
        let call = PeerCall {
            endpoint: &shared.endpoint,
            config,
            peer,
            known: &contact.addresses,
            lan: shared.lan.as_ref(),
            relays: shared.relays.as_ref(),
            is_lan_only: shared.options.is_lan_only,
        };
        let connection = call.connect(HANDSHAKE_WITHIN).await?;
        // The peer may have connected meanwhile: a call waits for up to 10 s for one that starts.
        let known = shared.links.lock().get(&peer).map(LinkEntry::kind);
        if known.is_some_and(|known| is_not_needed(is_relayed(connection.remote_address()), known))
        {
            connection.close(VarInt::from_u32(REPLACED), b"not needed");
            return Err(PeerError::Denies(DenialCode::Duplicate));
        }
        run_dialed(&shared, peer, &connection).await
    };
    let ended = run.await;
    shared.plan_next_call(peer, &ended);
    shared.record_end(peer, ended);
}

/// Runs a session on a connection that this side made, if it is the turn of the peer.
async fn run_dialed(
    shared: &Arc<NodeShared>,
    peer: PeerId,
    connection: &Connection,
) -> Result<(), PeerError> {
    let Some(turn) = shared.first.begin(peer, Instant::now()) else {
        connection.close(VarInt::from_u32(REPLACED), b"another peer first");
        return Err(PeerError::Denies(DenialCode::Joining));
    };
    let streams = open_stream(connection).await?;
    let (member, first) = (shared.member.clone(), shared.first.clone());
    let session = PeerSession::dialer_in_turn(member, peer, first, turn)?;
    run_link(shared, session, connection, streams, None).await
}

/// Runs a session on a connection until it ends. A connection that the peer made counts as a
/// handshake until the peer is admitted.
async fn run_link(
    shared: &Arc<NodeShared>,
    mut session: PeerSession,
    connection: &Connection,
    streams: (quinn::SendStream, quinn::RecvStream),
    mut slot: Option<HandshakeSlot>,
) -> Result<(), PeerError> {
    let is_dialed = slot.is_none();
    let peer = session.remote();
    let number = shared.next_link.fetch_add(1, Ordering::Relaxed);
    let mut is_known = false;
    let mut reported = None;
    let (mut counted, mut last_refused) = ((0, 0), 0);
    let large_frames = shared.large_frames.clone();
    let carried = carry_session(&mut session, connection, streams, large_frames, |session| {
        if !session.is_open() {
            return Ok(false);
        }
        if !is_known {
            shared
                .add_link(peer, LinkEntry { number, connection: connection.clone(), is_dialed })?;
            is_known = true;
            slot = None;
            quic::open_window(connection);
            shared.greet(session)?;
            if is_dialed {
                shared.look_for_path(peer, number);
            }
        }
        // Read first: what is logged meanwhile counts as not sent.
        let head = shared.member.workspace().store().head()?;
        let (progress, is_done) = (session.progress(), session.is_done());
        shared.update_status(peer, |status| {
            status.bytes_sent += progress.bytes_sent - counted.0;
            status.bytes_received += progress.bytes_received - counted.1;
            status.refused += session.n_refused() - last_refused;
            status.in_step = is_done;
            status.reached = if is_done { Some(head.0) } else { status.reached };
        });
        if session.follow_turn(is_done) {
            // The others are called at the next tick: a command that ends now meets none of them.
            shared.member.set_complete()?;
        }
        counted = (progress.bytes_sent, progress.bytes_received);
        last_refused = session.n_refused();
        for (signer, doc) in session.take_forked() {
            shared.events.send(PeerEvent::Forked(signer, doc)).ok();
        }
        let news = (progress.n_sent, progress.n_new, progress.n_blobs);
        if is_done && reported != Some(news) {
            // The process may end now. Later positions are stored as the peer sends its own.
            if reported.is_none() {
                session.remember_all()?;
                shared.has_freed.store(true, Ordering::Relaxed);
            }
            reported = Some(news);
            shared.events.send(PeerEvent::InStep(peer, Box::new(progress))).ok();
        }
        Ok(false)
    })
    .await;
    if is_known {
        shared.remove_link(peer, number);
    }
    let n_refused = session.n_refused() - last_refused;
    if is_stopped(connection) {
        // No peer has them from there any more, whatever other connections delivered.
        shared.member.presence().forget(peer);
    }
    drop(session);
    if is_known && !shared.first.is_complete() {
        // It is the turn of another peer.
        shared.call_soon();
    }
    if n_refused > 0 {
        shared.update_status(peer, |status| status.refused += n_refused);
    }
    carried
}

/// One of the connections of peers that are not admitted yet.
#[derive(Debug)]
struct HandshakeSlot(Arc<NodeShared>);

impl HandshakeSlot {
    fn take(shared: &Arc<NodeShared>) -> Self {
        shared.n_handshakes.fetch_add(1, Ordering::Relaxed);
        Self(shared.clone())
    }
}

impl Drop for HandshakeSlot {
    fn drop(&mut self) {
        self.0.n_handshakes.fetch_sub(1, Ordering::Relaxed);
    }
}

impl NodeShared {
    /// Adds a connection, which may replace another of the same peer.
    fn add_link(&self, peer: PeerId, entry: LinkEntry) -> Result<(), PeerError> {
        let mut links = self.links.lock();
        let is_lesser_mine = self.member.id() < peer;
        match links.get(&peer) {
            Some(known) if must_refuse(known.kind(), entry.kind(), is_lesser_mine) => {
                return Err(PeerError::Denies(DenialCode::Duplicate));
            }
            Some(known) => known.connection.close(VarInt::from_u32(REPLACED), b"replaced"),
            None if links.len() >= MAX_CONNECTIONS => {
                return Err(PeerError::Denies(DenialCode::Busy));
            }
            None => {}
        }
        links.insert(peer, entry);
        Ok(())
    }

    /// Returns the longest time that a message to a connected peer and its reply take.
    fn longest_round_trip(&self) -> Duration {
        let links = self.links.lock();
        links.values().map(|entry| entry.connection.rtt()).max().unwrap_or_default()
    }

    fn remove_link(&self, peer: PeerId, number: u64) {
        let mut links = self.links.lock();
        if links.get(&peer).is_some_and(|entry| entry.number == number) {
            links.remove(&peer);
            drop(links);
            let now = self.member.now().0;
            self.update_status(peer, |status| {
                (status.connected, status.in_step) = (false, false);
                status.last_seen = Some(now);
            });
            self.wake.notify_one();
        }
    }

    /// Sends a new peer what it needs to know besides the workspace.
    fn greet(&self, session: &mut PeerSession) -> Result<(), PeerError> {
        let peer = session.remote();
        let now = self.member.now();
        let certificate = self.member.certificate()?;
        let own = PeerContact::sign(self.member.key(), certificate, self.addresses.clone(), now);
        run_blocking(|| session.send_contacts(Some(own)))?;
        let note = self.member.note(peer)?;
        if note.is_forgotten {
            self.member
                .set_note(peer, &crate::membership::PeerNote { is_forgotten: false, ..note })?;
        }
        let grant = session.certificate().map(|certificate| certificate.signed.grant.clone());
        let address = self
            .links
            .lock()
            .get(&peer)
            .map(|entry| (entry.connection.remote_address(), entry.is_dialed));
        self.update_status(peer, |status| {
            (status.connected, status.error) = (true, None);
            status.last_seen = Some(now.0);
            if let Some((address, is_dialed)) = address {
                status.relayed = is_relayed(address);
                let relay = self.relays.as_ref().and_then(|relays| relays.relay_address(address));
                let address = relay.unwrap_or(address);
                let ip = address.ip().to_canonical();
                status.address = Some(SocketAddr::new(ip, address.port()));
                status.dialed = is_dialed;
            }
            if let Some(grant) = grant {
                let is_writer = grant.rights == PeerRights::Write;
                status.rights = Some(if is_writer { "write" } else { "read" }.to_owned());
                status.expires = grant.expires.map(|at| at.0);
                status.name = Some(grant.label).filter(|label| !label.is_empty());
            }
        });
        self.events.send(PeerEvent::Connected(peer)).ok();
        self.wake.notify_one();
        Ok(())
    }

    fn update_status(&self, peer: PeerId, change: impl FnOnce(&mut PeerStatus)) {
        let mut statuses = self.statuses.lock();
        if statuses.len() >= MAX_STATUSES && !statuses.contains_key(&peer) {
            let idle = statuses.iter().filter(|(_, status)| !status.connected);
            let oldest = idle.min_by_key(|(_, status)| status.last_seen).map(|(peer, _)| *peer);
            oldest.map(|oldest| statuses.remove(&oldest));
        }
        let fresh = || PeerStatus { id: peer.to_string(), ..PeerStatus::default() };
        change(statuses.entry(peer).or_insert_with(fresh));
    }

    fn write_statuses(&self) -> Result<(), PeerError> {
        let list: Vec<PeerStatus> = self.statuses.lock().values().cloned().collect();
        let mut written = self.written.lock();
        if list != *written {
            write_status(self.member.workspace(), &list)?;
            *written = list;
        }
        Ok(())
    }

    /// Records why a connection ended. A key that was never admitted leaves no trace, so that
    /// strangers can't fill the list; nor does a connection beside another one with the same peer,
    /// or before it is the turn of the peer.
    fn record_end(&self, peer: PeerId, ended: Result<(), PeerError>) {
        let Err(error) = ended else { return };
        if let PeerError::Denied(code) | PeerError::Denies(code) = &error
            && matches!(code, DenialCode::Duplicate | DenialCode::Joining)
        {
            return;
        }
        let is_contact = run_blocking(|| self.member.contacts())
            .is_ok_and(|contacts| contacts.iter().any(|contact| contact.peer == peer));
        let reason = reason_text(&error);
        if is_contact || self.statuses.lock().contains_key(&peer) {
            self.update_status(peer, |status| {
                status.error = Some(reason.clone());
                status.faults += u64::from(error.is_fault());
            });
        }
        let may_pass_later = match &error {
            PeerError::Denied(code) | PeerError::Denies(code) => code.may_pass_later(),
            _ => true,
        };
        self.events.send(PeerEvent::Ended(peer, reason, may_pass_later)).ok();
    }

    /// Reports whether a peer is refused for a while because it violated the protocol.
    fn is_held(&self, peer: PeerId) -> bool {
        let statuses = self.statuses.lock();
        let Some(status) = statuses.get(&peer).filter(|status| status.faults > 0) else {
            return false;
        };
        let hold = HOLD.saturating_mul(u32::try_from(status.faults).unwrap_or(u32::MAX));
        let until = status.last_seen.unwrap_or_default()
            + i64::try_from(hold.min(MAX_HOLD).as_millis()).unwrap_or(i64::MAX);
        self.member.now().0 < until
    }
}
