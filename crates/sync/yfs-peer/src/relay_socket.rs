//! A UDP socket for QUIC that also carries what goes through relays.
//!
//! To QUIC, a peer behind a relay has an address of its own ([`RelayedPaths`]). A datagram to such
//! an address is sent to the relay in an envelope; one that the relay delivers is taken out of its
//! envelope. Messages of relays, and probes of other peers, are sorted out.
//!
//! # Invariants
//!
//! - From the address of a relay, only messages with the session of this peer count.
//! - What a relay delivers is as trustworthy as any datagram of the network: QUIC checks it.
//! - Queues have limits; what does not fit is dropped, as by a network.

use std::{
    collections::VecDeque,
    future::poll_fn,
    io::{self, IoSliceMut},
    net::{IpAddr, SocketAddr},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use parking_lot::Mutex;
use quinn::{
    AsyncUdpSocket, UdpPoller,
    udp::{RecvMeta, Transmit},
};
use tokio::sync::mpsc;

use crate::{
    peer_key::PeerId,
    relay_message::{
        ENVELOPE_LEN, MAX_DATAGRAM_LEN, PathProbe, RelayReply, RelaySession, write_envelope,
    },
    relay_paths::{RelayIndex, RelayedPaths, is_relayed},
};

/// The most datagrams that wait for QUIC.
pub(crate) const MAX_INBOX: usize = 4096;

/// The most messages that wait for a task.
pub(crate) const MAX_NOTICES: usize = 64;

/// How often the socket is read in a row while nothing of it is for QUIC.
const MAX_READS: usize = 16;

/// A socket that carries relayed datagrams as well.
#[derive(Debug)]
pub(crate) struct RelaySocket {
    inner: Arc<dyn AsyncUdpSocket>,
    is_ipv6: bool,
    routes: Mutex<Vec<RelayRoute>>,
    paths: Mutex<RelayedPaths>,
    inbox: Mutex<VecDeque<(SocketAddr, Vec<u8>)>>,
    /// To the task of each relay.
    replies: Vec<mpsc::Sender<RelayReply<'static>>>,
    /// To the task that finds direct paths.
    probes: mpsc::Sender<(SocketAddr, PathProbe)>,
}

/// How a relay is reached.
#[derive(Debug, Default, Clone)]
struct RelayRoute {
    /// The address, in the form of its own family.
    address: Option<SocketAddr>,
    session: RelaySession,
    is_registered: bool,
}

/// What the tasks of relays receive.
pub(crate) struct RelayInputs {
    pub(crate) replies: Vec<mpsc::Receiver<RelayReply<'static>>>,
    pub(crate) probes: mpsc::Receiver<(SocketAddr, PathProbe)>,
}

impl RelaySocket {
    /// Wraps a socket, for a number of relays.
    pub(crate) fn wrap(
        inner: Arc<dyn AsyncUdpSocket>,
        n_relays: usize,
    ) -> io::Result<(Arc<Self>, RelayInputs)> {
        let is_ipv6 = inner.local_addr()?.is_ipv6();
        let channels = (0..n_relays).map(|_| mpsc::channel(MAX_NOTICES));
        let (replies, receivers) = channels.unzip();
        let (probes, probe_receiver) = mpsc::channel(MAX_NOTICES);
        let socket = Self {
            inner,
            is_ipv6,
            routes: Mutex::new(vec![RelayRoute::default(); n_relays]),
            paths: Mutex::default(),
            inbox: Mutex::default(),
            replies,
            probes,
        };
        Ok((Arc::new(socket), RelayInputs { replies: receivers, probes: probe_receiver }))
    }

    /// Reports whether the socket can send to an address.
    pub(crate) fn fits(&self, address: SocketAddr) -> bool {
        self.is_ipv6 || address.ip().to_canonical().is_ipv4()
    }

    /// Begins a registration at an address of a relay.
    pub(crate) fn set_route(&self, relay: RelayIndex, address: SocketAddr, session: RelaySession) {
        let address = Some(canonical(address));
        self.routes.lock()[relay] = RelayRoute { address, session, is_registered: false };
    }

    /// Sets whether peers can be reached through a relay.
    pub(crate) fn set_registered(&self, relay: RelayIndex, is_registered: bool) {
        self.routes.lock()[relay].is_registered = is_registered;
    }

    /// Returns the address and the session of a relay with which this peer is registered.
    pub(crate) fn registered_route(&self, relay: RelayIndex) -> Option<(SocketAddr, RelaySession)> {
        let routes = self.routes.lock();
        let route = routes.get(relay).filter(|route| route.is_registered)?;
        Some((route.address?, route.session))
    }

    /// Returns the addresses that stand for a peer behind the relays with which this peer is
    /// registered.
    pub(crate) fn addresses_of(&self, peer: PeerId) -> Vec<SocketAddr> {
        let n_relays = self.replies.len();
        let registered = (0..n_relays).filter(|relay| self.registered_route(*relay).is_some());
        let mut paths = self.paths.lock();
        registered.map(|relay| paths.address_of(relay, peer)).collect()
    }

    /// Returns the relay and the peer for which an address stands.
    pub(crate) fn target_of(&self, address: SocketAddr) -> Option<(RelayIndex, PeerId)> {
        if is_relayed(address) { self.paths.lock().target_of(address) } else { None }
    }

    /// Sends a datagram that is not one of QUIC.
    pub(crate) async fn send(&self, to: SocketAddr, datagram: &[u8]) -> io::Result<()> {
        let mut poller = None;
        loop {
            match self.inner.try_send(&self.transmit(to, datagram, None)) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    let poller =
                        poller.get_or_insert_with(|| self.inner.clone().create_io_poller());
                    poll_fn(|cx| poller.as_mut().poll_writable(cx)).await?;
                }
                sent => return sent,
            }
        }
    }

    fn transmit<'d>(
        &self,
        to: SocketAddr,
        contents: &'d [u8],
        segment_size: Option<usize>,
    ) -> Transmit<'d> {
        let destination = match to.ip() {
            IpAddr::V4(ip) if self.is_ipv6 => {
                SocketAddr::new(IpAddr::V6(ip.to_ipv6_mapped()), to.port())
            }
            _ => to,
        };
        Transmit { destination, ecn: None, contents, segment_size, src_ip: None }
    }

    /// Sends datagrams to a peer behind a relay. Drops them if there is no way, as a network would.
    fn send_relayed(&self, transmit: &Transmit<'_>) -> io::Result<()> {
        let target = self.target_of(transmit.destination);
        let route = target.and_then(|(relay, peer)| Some((self.registered_route(relay)?, peer)));
        let Some(((address, session), peer)) = route else { return Ok(()) };
        let len = transmit.segment_size.unwrap_or(transmit.contents.len());
        // A longer datagram would not be received whole; QUIC finds the length that is.
        if len == 0 || len + ENVELOPE_LEN > MAX_DATAGRAM_LEN {
            return Ok(());
        }
        let n_datagrams = transmit.contents.len().div_ceil(len);
        let mut sealed = Vec::with_capacity(transmit.contents.len() + n_datagrams * ENVELOPE_LEN);
        for datagram in transmit.contents.chunks(len) {
            write_envelope(&mut sealed, &session, peer);
            sealed.extend_from_slice(datagram);
        }
        let segment_size = transmit.segment_size.map(|len| len + ENVELOPE_LEN);
        self.inner.try_send(&self.transmit(address, &sealed, segment_size))
    }

    /// Takes what is not for QUIC, or not directly. Returns false for other datagrams.
    fn intercept(&self, received: &[u8], meta: &RecvMeta) -> bool {
        let from = canonical(meta.addr);
        let relay = self.routes.lock().iter().position(|route| route.address == Some(from));
        if let Some(relay) = relay {
            for datagram in received.chunks(meta.stride.max(1)) {
                self.receive_of_relay(relay, datagram);
            }
            return true;
        }
        let mut datagrams = received.chunks(meta.stride.max(1));
        if let Some(probe) = datagrams.next().and_then(PathProbe::decode) {
            // Those that follow in one buffer are no longer, so none is one of QUIC.
            for probe in [probe].into_iter().chain(datagrams.filter_map(PathProbe::decode)) {
                self.probes.try_send((from, probe)).ok();
            }
            return true;
        }
        // No network delivers packets of these addresses, but an attacker may write them.
        is_relayed(from)
    }

    fn receive_of_relay(&self, relay: RelayIndex, datagram: &[u8]) {
        let Some((session, reply)) = RelayReply::decode(datagram) else { return };
        if self.routes.lock()[relay].session != session {
            return;
        }
        match reply {
            RelayReply::Received { from, payload } => {
                let mut inbox = self.inbox.lock();
                if inbox.len() < MAX_INBOX {
                    let address = self.paths.lock().address_of(relay, from);
                    inbox.push_back((address, payload.to_vec()));
                }
            }
            reply => {
                if let Some(reply) = reply.without_payload() {
                    self.replies[relay].try_send(reply).ok();
                }
            }
        }
    }

    /// Delivers datagrams that relays have brought.
    fn read_inbox(&self, bufs: &mut [IoSliceMut<'_>], meta: &mut [RecvMeta]) -> usize {
        let mut inbox = self.inbox.lock();
        let mut n_read = 0;
        for (buffer, meta) in bufs.iter_mut().zip(meta.iter_mut()) {
            let Some((from, datagram)) = inbox.pop_front() else { break };
            let len = datagram.len().min(buffer.len());
            buffer[..len].copy_from_slice(&datagram[..len]);
            let addr = self.transmit(from, &[], None).destination;
            *meta = RecvMeta { addr, len, stride: len, ecn: None, dst_ip: None };
            n_read += 1;
        }
        n_read
    }
}

impl AsyncUdpSocket for RelaySocket {
    fn create_io_poller(self: Arc<Self>) -> Pin<Box<dyn UdpPoller>> {
        self.inner.clone().create_io_poller()
    }

    fn try_send(&self, transmit: &Transmit<'_>) -> io::Result<()> {
        if is_relayed(transmit.destination) {
            self.send_relayed(transmit)
        } else {
            self.inner.try_send(transmit)
        }
    }

    fn poll_recv(
        &self,
        cx: &mut Context<'_>,
        bufs: &mut [IoSliceMut<'_>],
        meta: &mut [RecvMeta],
    ) -> Poll<io::Result<usize>> {
        for _ in 0..MAX_READS {
            let n_relayed = self.read_inbox(bufs, meta);
            if n_relayed > 0 {
                return Poll::Ready(Ok(n_relayed));
            }
            let n_received = ready!(self.inner.poll_recv(cx, bufs, meta))?;
            let mut n_kept = 0;
            for (buffer, meta) in bufs.iter().zip(meta.iter_mut()).take(n_received) {
                if self.intercept(&buffer[..meta.len], meta) {
                    // QUIC skips what has no bytes.
                    meta.len = 0;
                } else {
                    n_kept += 1;
                }
            }
            if n_kept > 0 {
                return Poll::Ready(Ok(n_received));
            }
        }
        // A flood of messages must not keep QUIC from its timers.
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.inner.local_addr()
    }

    fn max_transmit_segments(&self) -> usize {
        self.inner.max_transmit_segments()
    }

    fn max_receive_segments(&self) -> usize {
        self.inner.max_receive_segments()
    }

    fn may_fragment(&self) -> bool {
        self.inner.may_fragment()
    }
}

fn canonical(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip().to_canonical(), address.port())
}
