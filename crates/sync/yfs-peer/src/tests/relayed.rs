//! Peers whose only way to each other is a relay on loopback, which may lie.

use std::{net::SocketAddr, time::Duration};

use tokio::{net::UdpSocket, task::JoinHandle, time::timeout};

use super::group::{TestPeer, request};
use crate::{
    peer_grant::PeerRights,
    peer_key::{KEY_LEN, PeerId, PeerSecretKey, random_seed},
    peer_node::{PeerEvent, PeerNode, PeerOptions},
    relay_core::{RelayCore, RelayOutput},
    relay_limits::{RelayAllowList, RelayLimits},
    relay_message::{RelayReply, RelayRequest, RelaySession},
    relay_name::RelayName,
    ticket::PeerTicket,
};

/// How long anything may take. Generous: the machine may be busy.
pub(super) const PATIENCE: Duration = Duration::from_secs(120);

/// Changes what a relay is about to send. The second parameter numbers the calls.
pub(super) type Lie = fn(&mut RelayOutput, usize);

/// How a relay behaves.
#[derive(Clone, Copy)]
pub(super) struct RelayConduct {
    /// Whether it helps peers to connect directly.
    pub(super) may_call: bool,
    pub(super) lie: Lie,
    /// Where it says that peers are, instead of helping them: a stranger, and the other peer.
    pub(super) meet_at: Option<[SocketAddr; 2]>,
    /// A peer, and another to which what is for it is delivered, in its name.
    pub(super) impostor: Option<[PeerId; 2]>,
}

/// A relay that passes on what it receives, and no more.
pub(super) const HONEST: RelayConduct =
    RelayConduct { may_call: false, lie: |_, _| {}, meet_at: None, impostor: None };

/// A relay in this process.
pub(super) struct LoopbackRelay {
    pub(super) name: RelayName,
    pub(super) address: SocketAddr,
    task: JoinHandle<()>,
}

impl LoopbackRelay {
    pub(super) async fn start(address: SocketAddr, conduct: RelayConduct) -> Self {
        Self::of(UdpSocket::bind(address).await.unwrap(), conduct)
    }

    pub(super) fn of(socket: UdpSocket, conduct: RelayConduct) -> Self {
        let address = socket.local_addr().unwrap();
        let task = tokio::spawn(serve(socket, conduct));
        Self { name: address.to_string().parse().unwrap(), address, task }
    }
}

async fn serve(socket: UdpSocket, conduct: RelayConduct) {
    let limits = RelayLimits::default();
    let mut core = RelayCore::new(limits, RelayAllowList::default(), random_seed(), Duration::ZERO);
    let started = std::time::Instant::now();
    let mut buffer = [0; 2048];
    for n in 0.. {
        let (len, from) = socket.recv_from(&mut buffer).await.unwrap();
        let mut datagram = buffer[..len].to_vec();
        match (RelayRequest::decode(&buffer[..len]), conduct.impostor) {
            (Some((session, RelayRequest::Call { to, meeting })), _) if !conduct.may_call => {
                let stranger = PeerSecretKey::from_seed([77; KEY_LEN]).id();
                let places =
                    conduct.meet_at.into_iter().flat_map(|at| [stranger, to].into_iter().zip(at));
                for (peer, address) in places {
                    let meet = RelayReply::Meet { peer, meeting, address };
                    socket.send_to(&meet.encode(&session), from).await.ok();
                }
                continue;
            }
            (Some((session, RelayRequest::Send { to, payload })), Some([peer, other]))
                if to == peer =>
            {
                datagram = RelayRequest::Send { to: other, payload }.encode(&session);
            }
            _ => {}
        }
        let mut out = Vec::new();
        core.handle(started.elapsed(), from, &datagram, &mut out);
        (conduct.lie)(&mut out, n);
        for (to, mut datagram) in out {
            if let Some([peer, other]) = conduct.impostor
                && let Some((session, RelayReply::Received { from, payload })) =
                    RelayReply::decode(&datagram)
                && from == other
            {
                datagram = RelayReply::Received { from: peer, payload }.encode(&session);
            }
            socket.send_to(&datagram, to).await.ok();
        }
    }
}

impl Drop for LoopbackRelay {
    fn drop(&mut self) {
        self.task.abort();
    }
}

pub(super) fn loopback() -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], 0))
}

fn options(relay: Option<&LoopbackRelay>) -> PeerOptions {
    let relays = relay.map(|relay| relay.name.clone()).into_iter().collect();
    PeerOptions { listen: loopback(), relays, ..PeerOptions::default() }
}

/// An owner, a peer with a ticket that names only a relay, and their nodes.
struct RelayedPair {
    owner: TestPeer,
    guest: TestPeer,
    nodes: [PeerNode; 2],
}

impl RelayedPair {
    fn start(relay: &LoopbackRelay) -> Self {
        let owner = TestPeer::owner();
        owner.write("plan", "1");
        let host = PeerNode::start(owner.workspace(), options(Some(relay))).unwrap();
        let ticket = owner.ticket(request(PeerRights::Write));
        let ticket = PeerTicket { relays: vec![relay.name.clone()], ..ticket };
        let ticket: PeerTicket = ticket.to_string().parse().unwrap();
        let guest = owner.join(&ticket);
        // The ticket alone names the relay.
        let node = PeerNode::start(guest.workspace(), options(None)).unwrap();
        Self { owner, guest, nodes: [host, node] }
    }

    /// Waits until both have the same, and it is this.
    async fn wait_for(&self, tree: &str) {
        let mut events = self.nodes[1].events();
        let wait = async {
            while self.owner.tree() != tree || self.guest.tree() != tree {
                timeout(Duration::from_millis(50), events.recv()).await.ok();
            }
        };
        let waited = timeout(PATIENCE, wait).await;
        assert!(waited.is_ok(), "{} and {}", self.owner.tree(), self.guest.tree());
    }

    /// Waits until the connection of both is relayed, or direct.
    async fn wait_until_relayed(&self, is_relayed: bool) {
        let ids = [self.guest.member.id(), self.owner.member.id()];
        let wait = async {
            for (node, peer) in self.nodes.iter().zip(ids) {
                while node.is_relayed(peer) != Some(is_relayed) {
                    tokio::time::sleep(Duration::from_millis(10)).await;
                }
            }
        };
        assert!(timeout(PATIENCE, wait).await.is_ok(), "relayed: {is_relayed}");
    }

    async fn exchange_live(&self) {
        self.owner.write("from-owner", "2");
        self.wait_for("/from-owner=2 /plan=1").await;
        self.guest.write("from-guest", "3");
        self.wait_for("/from-guest=3 /from-owner=2 /plan=1").await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn peers_without_an_address_meet_through_a_relay() {
    let relay = LoopbackRelay::start(loopback(), HONEST).await;
    let pair = RelayedPair::start(&relay);
    pair.wait_for("/plan=1").await;
    pair.wait_until_relayed(true).await;
    pair.exchange_live().await;
    pair.wait_until_relayed(true).await;
    // What people see.
    let seen = async {
        loop {
            let list = crate::read_status(pair.owner.workspace(), true).unwrap();
            if list.iter().any(|peer| peer.relayed && peer.address == Some(relay.address)) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(PATIENCE, seen).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_direct_connection_takes_the_place_of_the_relayed_one() {
    let relay = LoopbackRelay::start(loopback(), RelayConduct { may_call: true, ..HONEST }).await;
    let pair = RelayedPair::start(&relay);
    pair.wait_for("/plan=1").await;
    pair.wait_until_relayed(false).await;
    // It does not need the relay any more.
    drop(relay);
    pair.exchange_live().await;
    pair.wait_until_relayed(false).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_relay_that_was_started_again_is_used_again() {
    let relay = LoopbackRelay::start(loopback(), HONEST).await;
    let pair = RelayedPair::start(&relay);
    pair.wait_for("/plan=1").await;
    let address = relay.address;
    drop(relay);
    pair.owner.write("from-owner", "2");
    // The task of the first has ended once its socket is free.
    let again = loop {
        if let Ok(socket) = UdpSocket::bind(address).await {
            break LoopbackRelay::of(socket, HONEST);
        }
        tokio::task::yield_now().await;
    };
    pair.wait_for("/from-owner=2 /plan=1").await;
    pair.guest.write("from-guest", "3");
    pair.wait_for("/from-guest=3 /from-owner=2 /plan=1").await;
    drop(again);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_relay_is_contacted_unless_it_was_named() {
    let [silent, control] = [UdpSocket::bind(loopback()), UdpSocket::bind(loopback())];
    let (silent, control) = (silent.await.unwrap(), control.await.unwrap());
    let name_of = |socket: &UdpSocket| -> RelayName {
        socket.local_addr().unwrap().to_string().parse().unwrap()
    };
    let owner = TestPeer::owner();
    let start = |options| PeerNode::start(owner.workspace(), options).unwrap();
    let mut buffer = [0; 2048];
    // Named: the relay receives a request, also at the next start, and is in tickets.
    let named = PeerOptions { relays: vec![name_of(&silent)], ..options(None) };
    for options in [named.clone(), options(None)] {
        let node = start(options);
        let (len, _) = timeout(PATIENCE, silent.recv_from(&mut buffer)).await.unwrap().unwrap();
        assert_eq!(RelayRequest::decode(&buffer[..len]).unwrap().1, RelayRequest::Hello);
        let ticket = crate::issue_ticket(owner.workspace(), request(PeerRights::Read)).unwrap();
        assert_eq!(ticket.relays, [name_of(&silent)]);
        node.stop().await;
    }
    // The last datagrams of both have arrived before this one.
    silent.send_to(b"mark", silent.local_addr().unwrap()).await.unwrap();
    while silent.recv(&mut buffer).await.unwrap() != 4 {}
    // Only local addresses, switched off, and forgotten since then.
    let local = PeerOptions { is_lan_only: true, ..named.clone() };
    let off = PeerOptions { is_relay_off: true, ..named };
    for options in [local, off, options(None)] {
        let node = start(options);
        let ticket = crate::issue_ticket(owner.workspace(), request(PeerRights::Read)).unwrap();
        assert_eq!(ticket.relays, []);
        // Another node, which has a relay, has sent its first request meanwhile.
        let other = TestPeer::owner();
        let named = PeerOptions { relays: vec![name_of(&control)], ..self::options(None) };
        let other_node = PeerNode::start(other.workspace(), named).unwrap();
        timeout(PATIENCE, control.recv(&mut buffer)).await.unwrap().unwrap();
        other_node.stop().await;
        node.stop().await;
    }
    silent.send_to(b"mark", silent.local_addr().unwrap()).await.unwrap();
    assert_eq!(silent.recv(&mut buffer).await.unwrap(), 4);
}

/// A relay can make a peer send probes only for the sake of a peer that it is connected with, and
/// few of them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_relay_cannot_make_peers_flood_others() {
    let [of_stranger, of_peer] = [UdpSocket::bind(loopback()), UdpSocket::bind(loopback())];
    let (of_stranger, of_peer) = (of_stranger.await.unwrap(), of_peer.await.unwrap());
    let places = [&of_stranger, &of_peer].map(|socket| socket.local_addr().unwrap());
    let relay =
        LoopbackRelay::start(loopback(), RelayConduct { meet_at: Some(places), ..HONEST }).await;
    let pair = RelayedPair::start(&relay);
    pair.wait_for("/plan=1").await;
    // The one for the stranger was the first, and both would be sent at once.
    let mut buffer = [0; 2048];
    for _ in 0..3 {
        let (len, from) = timeout(PATIENCE, of_peer.recv_from(&mut buffer)).await.unwrap().unwrap();
        assert_eq!(len, 9);
        of_stranger.send_to(b"mark", places[0]).await.unwrap();
        let (len, sender) = of_stranger.recv_from(&mut buffer).await.unwrap();
        assert_eq!((len, sender), (4, places[0]), "{from} sends to a stranger");
    }
    pair.exchange_live().await;
}

/// A relay that loses a tenth of all datagrams, repeats, and reorders.
pub(super) fn lose(out: &mut RelayOutput, n: usize) {
    if n % 10 == 9 {
        out.clear();
    }
    if n % 7 == 3 {
        out.extend(out.clone());
    }
}

/// A relay that changes each third datagram of a peer.
fn corrupt(out: &mut RelayOutput, n: usize) {
    for (_, datagram) in out.iter_mut().filter(|_| n.is_multiple_of(3)) {
        if datagram.len() > 60 && datagram[0] == 0x85 {
            let at = 41 + n % (datagram.len() - 41);
            datagram[at] ^= 1;
        }
    }
}

/// A relay that delivers datagrams as if from other peers, sends them back to where they came from,
/// and adds noise, false refusals and meetings with other machines.
fn misdeliver(out: &mut RelayOutput, n: usize) {
    let Some((to, datagram)) = out.first().cloned() else { return };
    let Some((session, reply)) = RelayReply::decode(&datagram) else { return };
    let RelayReply::Received { payload, .. } = reply else { return };
    let mut say = |reply: RelayReply<'_>, session: &RelaySession| {
        out.push((to, reply.encode(session)));
    };
    let mut seed = [0; KEY_LEN];
    seed[..8].copy_from_slice(&(n as u64).to_be_bytes());
    let other = PeerSecretKey::from_seed(seed).id();
    say(RelayReply::Received { from: other, payload }, &session);
    say(RelayReply::Received { from: other, payload: &[0x40; 100] }, &session);
    let address = SocketAddr::from(([127, 0, 0, 1], 9));
    say(RelayReply::Meet { peer: other, meeting: [1; 8], address }, &session);
    say(RelayReply::NoPeer(other), &session);
    say(RelayReply::Unknown, &[0; 8]);
    say(RelayReply::Registered { observed: address }, &[0; 8]);
    out.push((to, vec![0xff; 1472]));
    out.push((to, vec![0x85]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn peers_are_safe_from_a_relay_that_lies() {
    for lie in [lose as Lie, corrupt, misdeliver] {
        let relay = LoopbackRelay::start(loopback(), RelayConduct { lie, ..HONEST }).await;
        let pair = RelayedPair::start(&relay);
        pair.wait_for("/plan=1").await;
        pair.exchange_live().await;
        assert_eq!(pair.owner.n_quarantined() + pair.guest.n_quarantined(), 0);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_first_subscriber_receives_the_events_since_the_start() {
    let relay = LoopbackRelay::start(loopback(), HONEST).await;
    let pair = RelayedPair::start(&relay);
    pair.wait_until_relayed(true).await;
    // Both are connected, so the events of that are in the past.
    for node in &pair.nodes {
        let mut events = node.events();
        let was_registered = async {
            while !matches!(events.recv().await.unwrap(), PeerEvent::RelayRegistered(..)) {}
        };
        timeout(PATIENCE, was_registered).await.unwrap();
    }
}

/// A relay that delivers to another peer what is for the owner, in the owner's name.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_peer_in_the_place_of_another_gets_no_connection() {
    let owner = TestPeer::owner();
    let ticket = owner.ticket(request(PeerRights::Write));
    let [impostor, guest] = [owner.join(&ticket), owner.join(&ticket)];
    let impostor_of = Some([owner.member.id(), impostor.member.id()]);
    let conduct = RelayConduct { impostor: impostor_of, ..HONEST };
    let relay = LoopbackRelay::start(loopback(), conduct).await;
    let host = PeerNode::start(impostor.workspace(), options(Some(&relay))).unwrap();
    let mut registered = host.events();
    let is_registered = async {
        while !matches!(registered.recv().await.unwrap(), PeerEvent::RelayRegistered(..)) {}
    };
    timeout(PATIENCE, is_registered).await.unwrap();
    let node = PeerNode::start(guest.workspace(), options(Some(&relay))).unwrap();
    let mut events = node.events();
    let ended = async {
        loop {
            match events.recv().await.unwrap() {
                PeerEvent::Ended(peer, reason, _) if peer == owner.member.id() => return reason,
                PeerEvent::Connected(peer) => panic!("connected with {peer}"),
                _ => {}
            }
        }
    };
    let reason = timeout(PATIENCE, ended).await.unwrap();
    assert!(reason.contains("cannot reach peer"), "{reason}");
}
