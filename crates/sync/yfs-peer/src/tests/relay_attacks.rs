//! What strangers and bad peers do to a relay, and what comes of it. The relay has no socket and no
//! clock here: a datagram goes in, datagrams come out.

use std::{net::SocketAddr, time::Duration};

use proptest::prelude::*;

use crate::{
    peer_key::{KEY_LEN, PeerId, PeerSecretKey},
    relay_core::{REGISTRATION_TTL, RelayCore, RelayOutput},
    relay_limits::{RelayAllowList, RelayLimits},
    relay_message::{
        ENVELOPE_LEN, MAX_DATAGRAM_LEN, RelayChallenge, RelayGroup, RelayRefusal, RelayReply,
        RelayRequest, RelaySession, RelayVisit, VISIT_CODE_LEN,
    },
    relay_name::RelayGroupTag,
};

pub(super) const GROUP: RelayGroup = [1; 16];

/// A peer of the test: its number gives its key, its session and its address.
pub(super) fn key(n: u8) -> PeerSecretKey {
    PeerSecretKey::from_seed([n; KEY_LEN])
}

pub(super) fn id(n: u8) -> PeerId {
    key(n).id()
}

pub(super) fn session(n: u8) -> RelaySession {
    [n; 8]
}

pub(super) fn at(n: u8) -> SocketAddr {
    SocketAddr::from(([192, 0, 2, n], 1000 + u16::from(n)))
}

pub(super) struct TestRelay {
    pub(super) core: RelayCore,
    pub(super) now: Duration,
}

impl TestRelay {
    pub(super) fn new(limits: RelayLimits) -> Self {
        Self::with(limits, RelayAllowList::default())
    }

    pub(super) fn with(limits: RelayLimits, allowed: RelayAllowList) -> Self {
        Self {
            core: RelayCore::new(limits, allowed, [9; KEY_LEN], Duration::ZERO),
            now: Duration::ZERO,
        }
    }

    pub(super) fn send_bytes(&mut self, from: SocketAddr, datagram: &[u8]) -> RelayOutput {
        let mut out = Vec::new();
        self.core.handle(self.now, from, datagram, &mut out);
        out
    }

    /// Sends a request of a peer from its address.
    pub(super) fn send(&mut self, n: u8, request: &RelayRequest<'_>) -> RelayOutput {
        self.send_bytes(at(n), &request.encode(&session(n)))
    }

    pub(super) fn challenge(&mut self, from: SocketAddr, of: &RelaySession) -> RelayChallenge {
        let out = self.send_bytes(from, &RelayRequest::Hello.encode(of));
        match RelayReply::decode(&out[0].1) {
            Some((_, RelayReply::Challenge(challenge))) => challenge,
            other => panic!("no challenge: {other:?}"),
        }
    }

    /// Returns the datagram that registers a peer.
    fn registration(&mut self, n: u8, group: RelayGroup) -> Vec<u8> {
        let challenge = self.challenge(at(n), &session(n));
        RelayRequest::register(&key(n), &session(n), challenge, group).encode(&session(n))
    }

    fn register_in(&mut self, n: u8, group: RelayGroup) -> Result<(), RelayRefusal> {
        let registration = self.registration(n, group);
        let out = self.send_bytes(at(n), &registration);
        answer(&out)
    }

    pub(super) fn register(&mut self, n: u8) {
        assert_eq!(self.register_in(n, GROUP), Ok(()), "peer {n}");
    }

    /// Reports whether a datagram of one peer reaches another, and nothing else happens.
    fn passes(&mut self, from: u8, to: u8) -> bool {
        let out = self.send(from, &RelayRequest::Send { to: id(to), payload: b"packet" });
        let received = RelayReply::Received { from: id(from), payload: b"packet" };
        out == [(at(to), received.encode(&session(to)))]
    }

    pub(super) fn advance(&mut self, by: Duration) {
        self.now += by;
    }
}

/// Returns how a registration was answered.
pub(super) fn answer(out: &RelayOutput) -> Result<(), RelayRefusal> {
    assert_eq!(out.len(), 1);
    match RelayReply::decode(&out[0].1).expect("a reply").1 {
        RelayReply::Registered { observed } => {
            assert_eq!(observed, out[0].0);
            Ok(())
        }
        RelayReply::Refused(refusal) => Err(refusal),
        other => panic!("{other:?}"),
    }
}

/// Returns a visit that the relay did not pass on.
pub(super) fn visit(address: SocketAddr) -> RelayVisit {
    RelayVisit { time: 0, address, session: session(1), code: [0; VISIT_CODE_LEN] }
}

fn pair() -> TestRelay {
    let mut relay = TestRelay::new(RelayLimits::default());
    relay.register(1);
    relay.register(2);
    relay
}

#[test]
fn registered_peers_of_a_group_reach_each_other() {
    let mut relay = pair();
    assert!(relay.passes(1, 2) && relay.passes(2, 1));
    let out = relay.send(1, &RelayRequest::Call { to: id(2), meeting: [5; 8] });
    let meet = |peer, address| RelayReply::Meet { peer, meeting: [5; 8], address };
    let expected = [
        (at(2), meet(id(1), at(1)).encode(&session(2))),
        (at(1), meet(id(2), at(2)).encode(&session(1))),
    ];
    assert_eq!(out, expected);
    relay.send(2, &RelayRequest::Leave);
    let out = relay.send(1, &RelayRequest::Send { to: id(2), payload: b"packet" });
    assert_eq!(out, [(at(1), RelayReply::NoPeer(id(2)).encode(&session(1)))]);
}

#[test]
fn the_key_of_another_cannot_be_registered() {
    let mut relay = pair();
    let challenge = relay.challenge(at(3), &session(3));
    let honest = RelayRequest::register(&key(3), &session(3), challenge, GROUP);
    let RelayRequest::Register { signature, .. } = honest else { panic!("a registration") };
    let stolen = RelayRequest::Register { challenge, group: GROUP, peer: id(2), signature };
    let out = relay.send(3, &stolen);
    assert_eq!(answer(&out), Err(RelayRefusal::Forged));
    assert!(relay.passes(1, 2), "the registration of the peer stays");
}

#[test]
fn a_registration_cannot_be_replayed() {
    let mut relay = pair();
    let first = relay.registration(3, GROUP);
    assert_eq!(answer(&relay.send_bytes(at(3), &first)), Ok(()));
    // From another address: the challenge is one for the first.
    let out = relay.send_bytes(at(4), &first);
    assert_eq!(answer(&out), Err(RelayRefusal::StaleChallenge));
    // After the peer has registered from another address, as if by the first address.
    relay.advance(Duration::from_secs(1));
    let challenge = relay.challenge(at(5), &session(5));
    let moved = RelayRequest::register(&key(3), &session(5), challenge, GROUP);
    assert_eq!(answer(&relay.send_bytes(at(5), &moved.encode(&session(5)))), Ok(()));
    let out = relay.send_bytes(at(3), &first);
    assert_eq!(answer(&out), Err(RelayRefusal::StaleChallenge));
    let out = relay.send(1, &RelayRequest::Send { to: id(3), payload: b"packet" });
    assert_eq!(out[0].0, at(5));
    // Later, also if the peer has left.
    let again = relay.registration(6, GROUP);
    relay.advance(Duration::from_secs(11));
    let out = relay.send_bytes(at(6), &again);
    assert_eq!(answer(&out), Err(RelayRefusal::StaleChallenge));
    // With a challenge that an attacker made up, for a later time.
    let mut forged = relay.challenge(at(6), &session(6));
    forged[7] ^= 1;
    let out = relay.send(6, &RelayRequest::register(&key(6), &session(6), forged, GROUP));
    assert_eq!(answer(&out), Err(RelayRefusal::StaleChallenge));
}

#[test]
fn datagrams_count_only_with_the_session_and_the_address_of_their_sender() {
    let mut relay = pair();
    let send = RelayRequest::Send { to: id(2), payload: b"packet" };
    let unknown = |n: u8, of: u8| vec![(at(n), RelayReply::Unknown.encode(&session(of)))];
    // Another machine with the session, and the address with another session.
    assert_eq!(relay.send_bytes(at(3), &send.encode(&session(1))), unknown(3, 1));
    assert_eq!(relay.send_bytes(at(1), &send.encode(&session(3))), unknown(1, 3));
    assert_eq!(relay.send_bytes(at(3), &RelayRequest::Leave.encode(&session(1))), []);
    assert!(relay.passes(1, 2) && relay.passes(2, 1));
    // A session that another peer has already.
    let challenge = relay.challenge(at(3), &session(1));
    let taken = RelayRequest::register(&key(3), &session(1), challenge, GROUP);
    let out = relay.send_bytes(at(3), &taken.encode(&session(1)));
    assert_eq!(answer(&out), Err(RelayRefusal::Busy));
    assert!(relay.passes(2, 1));
}

#[test]
fn peers_of_other_groups_are_not_addressed() {
    let mut relay = pair();
    assert_eq!(relay.register_in(3, [2; 16]), Ok(()));
    for request in [
        RelayRequest::Send { to: id(2), payload: b"packet" },
        RelayRequest::Call { to: id(2), meeting: [5; 8] },
        RelayRequest::Send { to: id(7), payload: b"packet" },
    ] {
        let out = relay.send(3, &request);
        let to = if let RelayRequest::Send { to, .. } = request { to } else { id(2) };
        assert_eq!(out, [(at(3), RelayReply::NoPeer(to).encode(&session(3)))]);
    }
}

#[test]
fn a_flood_of_one_peer_is_cut_and_others_go_on() {
    let limits = RelayLimits { bytes_of_peer: 20_000, ..RelayLimits::default() };
    let mut relay = TestRelay::new(limits);
    (1..=3).for_each(|n| relay.register(n));
    let payload = [0; 1000];
    let flood = RelayRequest::Send { to: id(2), payload: &payload };
    let n_passed =
        |relay: &mut TestRelay| (0..1000).filter(|_| !relay.send(1, &flood).is_empty()).count();
    assert_eq!(n_passed(&mut relay), 20_000 / (1000 + ENVELOPE_LEN));
    assert!(relay.passes(3, 2));
    // A new registration brings no new allowance; time does.
    relay.register(1);
    assert!(n_passed(&mut relay) <= 1);
    relay.advance(Duration::from_secs(1));
    assert_eq!(n_passed(&mut relay), 20_000 / (1000 + ENVELOPE_LEN));
    assert!(relay.core.statistics().over_limit > 2000);
}

#[test]
fn all_peers_together_have_a_limit() {
    let limits = RelayLimits { bytes_of_all: 50_000, ..RelayLimits::default() };
    let mut relay = TestRelay::new(limits);
    (1..=4).for_each(|n| relay.register(n));
    let payload = [0; 1000];
    let mut n_passed = 0;
    for n in (1..=3).cycle().take(3000) {
        let out = relay.send(n, &RelayRequest::Send { to: id(4), payload: &payload });
        n_passed += out.len();
    }
    assert_eq!(n_passed, 50_000 / (1000 + ENVELOPE_LEN));
}

#[test]
fn a_flood_of_calls_is_cut() {
    let mut relay = pair();
    let call = RelayRequest::Call { to: id(2), meeting: [5; 8] };
    let n_calls = (0..1000).filter(|_| !relay.send(1, &call).is_empty()).count();
    assert_eq!(n_calls, 4);
}

#[test]
fn a_datagram_that_is_too_long_or_empty_is_not_passed_on() {
    let mut relay = pair();
    let longest = vec![0; MAX_DATAGRAM_LEN - ENVELOPE_LEN];
    let out = relay.send(1, &RelayRequest::Send { to: id(2), payload: &longest });
    assert_eq!(out[0].0, at(2));
    for payload in [&[0; MAX_DATAGRAM_LEN - ENVELOPE_LEN + 1][..], &[]] {
        assert_eq!(relay.send(1, &RelayRequest::Send { to: id(2), payload }), []);
    }
    assert_eq!(relay.core.statistics().malformed, 2);
}

#[test]
fn registrations_are_bounded_and_end() {
    let limits = RelayLimits { max_peers: 3, max_peers_of_address: 2, ..RelayLimits::default() };
    let mut relay = TestRelay::new(limits);
    (1..=3).for_each(|n| relay.register(n));
    assert_eq!(relay.register_in(4, GROUP), Err(RelayRefusal::Full));
    // Who is registered may do so again, and also from another address.
    relay.register(3);
    relay.send(3, &RelayRequest::Leave);
    relay.register(4);
    // The others show that they are there.
    relay.advance(REGISTRATION_TTL / 2);
    relay.send(1, &RelayRequest::Ping);
    relay.advance(REGISTRATION_TTL / 2 + Duration::from_secs(1));
    relay.register(5);
    assert_eq!(relay.core.statistics().peers, 2);
    assert!(relay.passes(1, 5));
    assert!(!relay.passes(1, 2));
}

#[test]
fn one_address_cannot_take_all_registrations() {
    let limits = RelayLimits { max_peers_of_address: 2, ..RelayLimits::default() };
    let mut relay = TestRelay::new(limits);
    let mut from_one_machine = |n: u8| {
        let from = SocketAddr::from(([192, 0, 2, 200], u16::from(n)));
        let challenge = relay.challenge(from, &session(n));
        let asked = RelayRequest::register(&key(n), &session(n), challenge, GROUP);
        answer(&relay.send_bytes(from, &asked.encode(&session(n))))
    };
    assert_eq!([1, 2, 3].map(&mut from_one_machine), [Ok(()), Ok(()), Err(RelayRefusal::Full)]);
    // The same peer again, from the same machine.
    assert_eq!(from_one_machine(2), Ok(()));
    relay.register(4);
}

#[test]
fn signatures_are_verified_within_a_rate() {
    let limits = RelayLimits { attempts_of_address: 5, attempts_of_all: 8, ..Default::default() };
    let mut relay = TestRelay::new(limits);
    let attempt = |relay: &mut TestRelay, n: u8| {
        let challenge = relay.challenge(at(n), &session(n));
        let honest = RelayRequest::register(&key(n), &session(n), challenge, GROUP);
        let RelayRequest::Register { signature, .. } = honest else { panic!("a registration") };
        let forged = RelayRequest::Register { challenge, group: GROUP, peer: id(9), signature };
        answer(&relay.send(n, &forged)).unwrap_err()
    };
    let outcomes: Vec<RelayRefusal> = (0..100).map(|_| attempt(&mut relay, 1)).collect();
    let n_verified = |outcomes: &[RelayRefusal]| {
        outcomes.iter().filter(|outcome| **outcome == RelayRefusal::Forged).count()
    };
    assert_eq!(n_verified(&outcomes), 5);
    let outcomes: Vec<RelayRefusal> = (2..100).map(|n| attempt(&mut relay, n)).collect();
    assert_eq!(n_verified(&outcomes), 3);
}

#[test]
fn only_allowed_keys_and_groups_are_served() {
    let allowed = RelayAllowList { peers: vec![id(1)], groups: vec![RelayGroupTag([2; 16])] };
    let mut relay = TestRelay::with(RelayLimits::default(), allowed);
    assert_eq!(relay.register_in(1, GROUP), Ok(()));
    assert_eq!(relay.register_in(2, GROUP), Err(RelayRefusal::NotAllowed));
    assert_eq!(relay.register_in(3, [2; 16]), Ok(()));
}

/// The relay replies only to the sender, and with fewer bytes, until the sender has proven its
/// address; and remembers nothing.
#[test]
fn strangers_get_less_than_they_send_and_leave_no_trace() {
    let mut relay = pair();
    let payload = [0; 100];
    let stranger = key(3);
    let requests = [
        RelayRequest::Hello,
        RelayRequest::register(&stranger, &session(3), [0; 24], GROUP),
        RelayRequest::Ping,
        RelayRequest::Send { to: id(1), payload: &payload },
        RelayRequest::Send { to: id(1), payload: b"x" },
        RelayRequest::Call { to: id(1), meeting: [5; 8] },
        RelayRequest::Leave,
        RelayRequest::offer(&stranger, &session(3), [0; 24], (4711, GROUP)),
        RelayRequest::Knock { challenge: [0; 24], number: 4711, payload: b"x" },
        RelayRequest::Answer { visit: visit(at(1)), payload: b"x" },
    ];
    for n in 0..200 {
        for request in &requests {
            let sent = request.encode(&session(n));
            let from = SocketAddr::from(([198, 51, 100, n], 7));
            for (to, reply) in relay.send_bytes(from, &sent) {
                assert_eq!(to, from, "{request:?}");
                assert!(reply.len() < sent.len(), "{request:?}");
            }
        }
    }
    assert_eq!(relay.core.n_remembered(), 2 + 2);
    assert!(relay.passes(1, 2));
}

proptest! {
    /// Any bytes, also those that look like a request, cause no more than they are.
    #[test]
    fn garbage_causes_no_more_than_it_is(
        datagrams in prop::collection::vec(
            (0u8..11, prop::collection::vec(any::<u8>(), 0..120), 0usize..3, any::<bool>()),
            1..40,
        ),
    ) {
        let mut relay = pair();
        for (kind, mut bytes, n, is_in_session) in datagrams {
            if let Some(first) = bytes.first_mut() {
                *first = kind;
            }
            let n = u8::try_from(n + 1).unwrap();
            if is_in_session && bytes.len() > 9 {
                bytes[1..9].copy_from_slice(&session(n));
            }
            let out = relay.send_bytes(at(n), &bytes);
            prop_assert!(out.len() <= 2);
            for (to, reply) in out {
                prop_assert!(reply.len() <= bytes.len());
                prop_assert!([at(1), at(2), at(n)].contains(&to));
            }
        }
    }
}
