//! What the socket of a peer makes of datagrams, over a network in memory.

use std::{
    collections::VecDeque,
    io::{self, IoSliceMut},
    net::SocketAddr,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, Waker},
};

use parking_lot::Mutex;
use quinn::{
    AsyncUdpSocket, UdpPoller,
    udp::{RecvMeta, Transmit},
};

use crate::{
    peer_key::{KEY_LEN, PeerId, PeerSecretKey},
    relay_message::{
        ENVELOPE_LEN, MAX_DATAGRAM_LEN, PathProbe, RelayReply, RelayRequest, RelaySession,
    },
    relay_paths::is_relayed,
    relay_socket::{MAX_INBOX, RelayInputs, RelaySocket},
};

const SESSION: RelaySession = [7; 8];

/// A received buffer: from where, the bytes, and the length of each datagram in it.
type ReceivedBuffer = (SocketAddr, Vec<u8>, usize);

/// A sent buffer: to where, the bytes, and the length of each datagram if there are several.
type SentBuffer = (SocketAddr, Vec<u8>, Option<usize>);

/// A socket whose network is two lists.
#[derive(Debug, Default)]
struct MemorySocket {
    received: Mutex<VecDeque<ReceivedBuffer>>,
    sent: Mutex<Vec<SentBuffer>>,
}

#[derive(Debug)]
struct AlwaysWritable;

impl UdpPoller for AlwaysWritable {
    fn poll_writable(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

impl AsyncUdpSocket for MemorySocket {
    fn create_io_poller(self: Arc<Self>) -> Pin<Box<dyn UdpPoller>> {
        Box::pin(AlwaysWritable)
    }

    fn try_send(&self, transmit: &Transmit<'_>) -> io::Result<()> {
        let sent = (transmit.destination, transmit.contents.to_vec(), transmit.segment_size);
        self.sent.lock().push(sent);
        Ok(())
    }

    fn poll_recv(
        &self,
        _cx: &mut Context<'_>,
        bufs: &mut [IoSliceMut<'_>],
        meta: &mut [RecvMeta],
    ) -> Poll<io::Result<usize>> {
        let mut received = self.received.lock();
        let mut n_read = 0;
        for (buffer, meta) in bufs.iter_mut().zip(meta) {
            let Some((addr, bytes, stride)) = received.pop_front() else { break };
            buffer[..bytes.len()].copy_from_slice(&bytes);
            *meta = RecvMeta { addr, len: bytes.len(), stride, ecn: None, dst_ip: None };
            n_read += 1;
        }
        if n_read == 0 { Poll::Pending } else { Poll::Ready(Ok(n_read)) }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        Ok(SocketAddr::from(([192, 0, 2, 1], 1)))
    }
}

/// A peer's socket that is registered with a relay.
struct SocketStage {
    network: Arc<MemorySocket>,
    socket: Arc<RelaySocket>,
    inputs: RelayInputs,
}

fn relay() -> SocketAddr {
    SocketAddr::from(([192, 0, 2, 9], 4690))
}

fn id(n: u8) -> PeerId {
    PeerSecretKey::from_seed([n; KEY_LEN]).id()
}

impl SocketStage {
    fn new() -> Self {
        let network = Arc::new(MemorySocket::default());
        let (socket, inputs) = RelaySocket::wrap(network.clone(), 1).unwrap();
        socket.set_route(0, relay(), SESSION);
        socket.set_registered(0, true);
        Self { network, socket, inputs }
    }

    fn arrives(&self, from: SocketAddr, bytes: Vec<u8>) {
        let len = bytes.len();
        self.network.received.lock().push_back((from, bytes, len));
    }

    /// Returns what QUIC receives, until there is no more.
    fn read_all(&self) -> Vec<(SocketAddr, Vec<u8>)> {
        let mut buffers = vec![vec![0; 64 << 10]; 8];
        let mut all = Vec::new();
        loop {
            let mut bufs: Vec<_> = buffers.iter_mut().map(|buf| IoSliceMut::new(buf)).collect();
            let mut meta = [RecvMeta::default(); 8];
            let mut cx = Context::from_waker(Waker::noop());
            let Poll::Ready(read) = self.socket.poll_recv(&mut cx, &mut bufs, &mut meta) else {
                return all;
            };
            for (buffer, meta) in bufs.iter().zip(meta).take(read.unwrap()) {
                // As QUIC does it: what has no bytes is skipped.
                for datagram in buffer[..meta.len].chunks(meta.stride.max(1)) {
                    all.push((meta.addr, datagram.to_vec()));
                }
            }
        }
    }

    /// Sends as QUIC does. Returns what reaches the network.
    fn send(
        &self,
        destination: SocketAddr,
        contents: &[u8],
        segment_size: Option<usize>,
    ) -> Vec<SentBuffer> {
        let transmit = Transmit { destination, ecn: None, contents, segment_size, src_ip: None };
        self.socket.try_send(&transmit).unwrap();
        std::mem::take(&mut *self.network.sent.lock())
    }
}

fn received(from: u8, payload: &[u8]) -> RelayReply<'_> {
    RelayReply::Received { from: id(from), payload }
}

#[test]
fn relayed_datagrams_have_the_address_of_their_sender_and_others_stay_as_they_are() {
    let stage = SocketStage::new();
    let other = SocketAddr::from(([192, 0, 2, 5], 5));
    let batch =
        [received(1, b"one").encode(&SESSION), received(2, b"two").encode(&SESSION)].concat();
    stage.arrives(other, b"direct".to_vec());
    stage.network.received.lock().push_back((relay(), batch, ENVELOPE_LEN + 3));
    stage.arrives(other, b"more".to_vec());
    let address_of = |n| stage.socket.addresses_of(id(n))[0];
    let expected = [
        (other, b"direct".to_vec()),
        (other, b"more".to_vec()),
        (address_of(1), b"one".to_vec()),
        (address_of(2), b"two".to_vec()),
    ];
    assert_eq!(stage.read_all(), expected);
    assert!(is_relayed(address_of(1)));
    // And back, several at once: each has its envelope.
    let sent = stage.send(address_of(2), b"aaabbbc", Some(3));
    let envelope = |payload| RelayRequest::Send { to: id(2), payload }.encode(&SESSION);
    let bytes = [envelope(&b"aaa"[..]), envelope(b"bbb"), envelope(b"c")].concat();
    assert_eq!(sent, [(relay(), bytes, Some(ENVELOPE_LEN + 3))]);
    assert_eq!(stage.send(other, b"direct", None), [(other, b"direct".to_vec(), None)]);
}

#[test]
fn what_does_not_come_from_the_relay_is_not_delivered_as_if() {
    let mut stage = SocketStage::new();
    // Another session, from the address of the relay; and the session, from another address.
    stage.arrives(relay(), received(1, b"forged").encode(&[8; 8]));
    stage.arrives(relay(), RelayReply::Unknown.encode(&[8; 8]));
    stage.arrives(relay(), vec![0x40; 1200]);
    let other = SocketAddr::from(([192, 0, 2, 5], 5));
    let replayed = received(1, b"forged").encode(&SESSION);
    stage.arrives(other, replayed.clone());
    // The address that stands for a peer, as if it were one of the network.
    stage.arrives(stage.socket.addresses_of(id(1))[0], b"forged".to_vec());
    assert_eq!(stage.read_all(), [(other, replayed)]);
    assert!(stage.inputs.replies[0].try_recv().is_err());
    stage.arrives(relay(), RelayReply::Unknown.encode(&SESSION));
    assert_eq!(stage.read_all(), []);
    assert_eq!(stage.inputs.replies[0].try_recv(), Ok(RelayReply::Unknown));
}

#[test]
fn what_waits_is_bounded() {
    let mut stage = SocketStage::new();
    // As many as a relay can send before QUIC reads, and messages besides.
    let datagram = received(1, b"x").encode(&SESSION);
    let batch = datagram.repeat(1500);
    for _ in 0..8 {
        stage.network.received.lock().push_back((relay(), batch.clone(), datagram.len()));
    }
    let n_waiting = stage.read_all().len();
    assert_eq!(n_waiting, MAX_INBOX);
    for n in 0..1000u64 {
        stage.arrives(relay(), RelayReply::Unknown.encode(&SESSION));
        let probe = PathProbe { meeting: n.to_be_bytes(), is_answer: false };
        stage.arrives(SocketAddr::from(([192, 0, 2, 5], 5)), probe.encode());
    }
    // A poll ends after some reads, so that QUIC gets its turn; the waker asks for the next.
    for _ in 0..1000 {
        assert_eq!(stage.read_all(), []);
    }
    assert!(stage.network.received.lock().is_empty());
    let mut n_notices = 0;
    while stage.inputs.replies[0].try_recv().is_ok() || stage.inputs.probes.try_recv().is_ok() {
        n_notices += 1;
    }
    assert!((64..=128).contains(&n_notices), "{n_notices}");
}

#[test]
fn only_what_arrives_whole_is_sent_to_a_registered_relay() {
    let stage = SocketStage::new();
    let address = stage.socket.addresses_of(id(1))[0];
    let longest = MAX_DATAGRAM_LEN - ENVELOPE_LEN;
    assert_eq!(stage.send(address, &vec![0; longest], None).len(), 1);
    assert_eq!(stage.send(address, &vec![0; longest + 1], None), []);
    assert_eq!(stage.send(address, &[], None), []);
    stage.socket.set_registered(0, false);
    assert_eq!(stage.send(address, b"packet", None), []);
    assert_eq!(stage.socket.addresses_of(id(1)), []);
}
