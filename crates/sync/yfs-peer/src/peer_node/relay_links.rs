//! The relays of a node: who is registered where, and how a relayed connection is replaced by a
//! direct one.

use std::{
    net::SocketAddr,
    sync::Arc,
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use quinn::{AsyncUdpSocket, Runtime, TokioRuntime};
use tokio::{
    sync::{mpsc, watch},
    task::JoinHandle,
    time::{sleep, timeout},
};

use super::{HANDSHAKE_WITHIN, NodeShared, PeerEvent, PeerOptions, run_dialed};
use crate::{
    membership::PeerMembership,
    peer_error::PeerError,
    peer_key::PeerId,
    quic,
    relay_client::{RelayClient, RelayEvent, random_session},
    relay_meetings::{MEETING_LASTS, PROBE_PAUSES, RelayMeetings},
    relay_message::{MeetingNumber, PathProbe, RelayRequest},
    relay_name::{MAX_RELAYS, RelayGroupTag, RelayName, forget_relays, remember_relays},
    relay_paths::is_relayed,
    relay_socket::{MAX_NOTICES, RelayInputs, RelaySocket},
};

/// The pause between attempts to replace a relayed connection: first, and at most.
const MEET_AGAIN: [Duration; 2] = [Duration::from_secs(3), Duration::from_secs(600)];

/// The relays of a node.
#[derive(Debug)]
pub(crate) struct NodeRelays {
    socket: Arc<RelaySocket>,
    names: Vec<RelayName>,
    meetings: Mutex<RelayMeetings>,
    changes: watch::Sender<()>,
}

/// The socket of a node, and its relays, if there are any.
pub(crate) struct NodeSocket {
    pub(crate) socket: Arc<dyn AsyncUdpSocket>,
    pub(crate) relays: Option<(Arc<NodeRelays>, RelayInputs)>,
}

impl NodeSocket {
    /// Makes the socket of a node that uses these relays.
    pub(crate) fn wrap(
        socket: std::net::UdpSocket,
        names: Vec<RelayName>,
    ) -> std::io::Result<Self> {
        let socket = TokioRuntime.wrap_udp_socket(socket)?;
        if names.is_empty() {
            return Ok(Self { socket, relays: None });
        }
        let (socket, inputs) = RelaySocket::wrap(socket, names.len())?;
        let relays = NodeRelays {
            socket: socket.clone(),
            names,
            meetings: Mutex::default(),
            changes: watch::Sender::new(()),
        };
        Ok(Self { socket, relays: Some((Arc::new(relays), inputs)) })
    }
}

impl NodeRelays {
    /// Returns the relays that a node is to use. Remembers those that were named.
    pub(crate) fn names_of(
        member: &PeerMembership,
        options: &PeerOptions,
    ) -> Result<Vec<RelayName>, PeerError> {
        if options.is_relay_off {
            forget_relays(member.workspace())?;
            return Ok(Vec::new());
        }
        let mut names = remember_relays(member.workspace(), &options.relays)?;
        for name in &options.default_relays {
            if names.len() < MAX_RELAYS && !names.contains(name) {
                names.push(name.clone());
            }
        }
        Ok(if options.is_lan_only { Vec::new() } else { names })
    }

    /// Returns the names of the relays.
    pub(crate) fn names(&self) -> &[RelayName] {
        &self.names
    }

    /// Returns the addresses that stand for a peer behind the relays.
    pub(crate) fn addresses_of(&self, peer: PeerId) -> Vec<SocketAddr> {
        self.socket.addresses_of(peer)
    }

    /// Returns a receiver that is notified of registrations from now on.
    pub(crate) fn changes(&self) -> watch::Receiver<()> {
        self.changes.subscribe()
    }

    /// Returns the address of the relay through which an address is reached.
    pub(crate) fn relay_address(&self, address: SocketAddr) -> Option<SocketAddr> {
        let (relay, _) = self.socket.target_of(address)?;
        Some(self.socket.registered_route(relay)?.0)
    }

    /// Starts the tasks.
    pub(super) fn start(
        relays: &Arc<Self>,
        inputs: RelayInputs,
        shared: &Arc<NodeShared>,
    ) -> Result<Vec<JoinHandle<()>>, PeerError> {
        let group = RelayGroupTag::of_member(&shared.member)?.ok_or(PeerError::NotShared)?;
        let (events, events_of_all) = mpsc::channel(MAX_NOTICES);
        let mut tasks = Vec::new();
        for (relay, replies) in inputs.replies.into_iter().enumerate() {
            let client = RelayClient {
                socket: relays.socket.clone(),
                relay,
                name: relays.names[relay].clone(),
                member: shared.member.clone(),
                group: group.0,
                replies,
                events: events.clone(),
            };
            tasks.push(tokio::spawn(client.run()));
        }
        tasks.push(tokio::spawn(follow_relays(shared.clone(), relays.clone(), events_of_all)));
        tasks.push(tokio::spawn(follow_probes(shared.clone(), relays.clone(), inputs.probes)));
        Ok(tasks)
    }

    /// Ends the registrations.
    pub(super) async fn leave(&self) {
        for relay in 0..self.names.len() {
            if let Some((to, session)) = self.socket.registered_route(relay) {
                self.socket.send(to, &RelayRequest::Leave.encode(&session)).await.ok();
            }
        }
    }
}

/// Follows what happens at the relays.
async fn follow_relays(
    shared: Arc<NodeShared>,
    relays: Arc<NodeRelays>,
    mut events: mpsc::Receiver<RelayEvent>,
) {
    while let Some(event) = events.recv().await {
        match event {
            RelayEvent::Registered { relay, observed } => {
                let name = relays.names[relay].to_string();
                shared.events.send(PeerEvent::RelayRegistered(name, observed)).ok();
                shared.call_soon();
                relays.changes.send_replace(());
            }
            RelayEvent::Lost { relay, reason } => {
                let name = relays.names[relay].to_string();
                shared.events.send(PeerEvent::RelayLost(name, reason)).ok();
            }
            RelayEvent::Meet { peer, meeting, address } => {
                let is_begun = shared.relayed_link(peer).is_some()
                    && relays.meetings.lock().begin(meeting, peer, address);
                if is_begun {
                    tokio::spawn(send_probes(relays.clone(), meeting, address));
                }
            }
        }
    }
}

/// Sends probes to an address until one has come from there, or the time is over.
async fn send_probes(relays: Arc<NodeRelays>, meeting: MeetingNumber, address: SocketAddr) {
    let probe = PathProbe { meeting, is_answer: false }.encode();
    let send = async {
        for pause in PROBE_PAUSES {
            sleep(Duration::from_millis(pause)).await;
            if !relays.meetings.lock().is_searching(&meeting) {
                break;
            }
            relays.socket.send(address, &probe).await.ok();
        }
        // Probes of the other side are answered until the end.
        std::future::pending::<()>().await;
    };
    timeout(MEETING_LASTS, send).await.ok();
    relays.meetings.lock().end(&meeting);
}

/// Answers probes, and connects to the peers that they reach.
async fn follow_probes(
    shared: Arc<NodeShared>,
    relays: Arc<NodeRelays>,
    mut probes: mpsc::Receiver<(SocketAddr, PathProbe)>,
) {
    while let Some((from, probe)) = probes.recv().await {
        let outcome = relays.meetings.lock().receive(probe);
        if let Some(answer) = outcome.answer {
            relays.socket.send(from, &answer).await.ok();
        }
        // Only one side connects.
        let reached = outcome.reached.filter(|peer| shared.member.id() < *peer);
        if let Some(peer) = reached.filter(|peer| shared.relayed_link(*peer).is_some()) {
            tokio::spawn(replace_link(shared.clone(), peer, from));
        }
    }
}

/// Connects directly to a peer at an address. The connection takes the place of the relayed one,
/// which stays if this one fails.
async fn replace_link(shared: Arc<NodeShared>, peer: PeerId, address: SocketAddr) {
    let connect = async {
        let config = quic::client_config(shared.member.key(), peer).ok()?;
        let connected = quic::connect(&shared.endpoint, config, address);
        timeout(HANDSHAKE_WITHIN, connected).await.ok()?.ok()
    };
    let Some(connection) = connect.await else { return };
    let ended = run_dialed(&shared, peer, &connection).await;
    shared.record_end(peer, ended);
}

impl NodeShared {
    /// Begins to look for a direct path to a peer with which there is a relayed connection.
    pub(super) fn look_for_path(self: &Arc<Self>, peer: PeerId, number: u64) {
        if let Some(relays) = self.relays.clone()
            && self.relayed_link(peer).is_some()
        {
            tokio::spawn(ask_to_meet(self.clone(), relays, peer, number));
        }
    }

    /// Returns the number and the address of the relayed connection with a peer.
    fn relayed_link(&self, peer: PeerId) -> Option<(u64, SocketAddr)> {
        let links = self.links.lock();
        let entry = links.get(&peer)?;
        let address = entry.connection.remote_address();
        is_relayed(address).then_some((entry.number, address))
    }

    /// Calls all contacts now.
    pub(super) fn call_soon(&self) {
        let now = Instant::now();
        self.calls.lock().values_mut().for_each(|plan| plan.due = plan.due.min(now));
        self.wake.notify_one();
    }
}

/// Asks the relay to let both sides send to each other, as long as the connection is relayed.
async fn ask_to_meet(shared: Arc<NodeShared>, relays: Arc<NodeRelays>, peer: PeerId, number: u64) {
    let mut pause = MEET_AGAIN[0];
    while let Some((_, address)) = shared.relayed_link(peer).filter(|link| link.0 == number) {
        let target = relays.socket.target_of(address);
        let route = target.and_then(|(relay, _)| relays.socket.registered_route(relay));
        if let Some((to, session)) = route {
            let call = RelayRequest::Call { to: peer, meeting: random_session() };
            relays.socket.send(to, &call.encode(&session)).await.ok();
        }
        sleep(pause).await;
        pause = (pause * 2).min(MEET_AGAIN[1]);
    }
}
