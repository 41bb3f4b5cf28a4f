//! What strangers and bad peers do with the join codes of a relay, which has no socket and no clock
//! here.

use std::{net::SocketAddr, time::Duration};

use super::relay_attacks::{GROUP, TestRelay, answer, at, id, key, session, visit};
use crate::{
    peer_key::PeerId,
    relay_core::{REGISTRATION_TTL, RelayOutput},
    relay_limits::{RelayAllowList, RelayLimits},
    relay_message::{RelayRefusal, RelayReply, RelayRequest, RelayVisit},
    relay_name::RelayGroupTag,
};

const NUMBER: u16 = 4711;

/// A relay at which the peer 1 offers a code.
fn relay_with_code() -> TestRelay {
    let mut relay = TestRelay::new(RelayLimits::default());
    assert_eq!(relay.offer(1, NUMBER), Ok(()));
    relay
}

/// Returns a joiner's address: many may be behind one IP address.
fn joiner(n: u8, port: u16) -> SocketAddr {
    SocketAddr::from(([198, 51, 100, n], port))
}

impl TestRelay {
    /// Returns the datagram by which the peer with a key offers a code from an address.
    fn offer_of(&mut self, n: u8, from: SocketAddr, number: u16) -> Vec<u8> {
        let challenge = self.challenge(from, &session(n));
        RelayRequest::offer(&key(n), &session(n), challenge, (number, GROUP)).encode(&session(n))
    }

    fn offer(&mut self, n: u8, number: u16) -> Result<(), RelayRefusal> {
        let offer = self.offer_of(n, at(n), number);
        answer(&self.send_bytes(at(n), &offer))
    }

    /// Sends a message of a joiner, and returns what the relay sends.
    fn knock(&mut self, from: SocketAddr, number: u16, payload: &[u8]) -> RelayOutput {
        let challenge = self.challenge(from, &session(200));
        let knock = RelayRequest::Knock { challenge, number, payload };
        self.send_bytes(from, &knock.encode(&session(200)))
    }

    /// Returns how a joiner's message is refused, or to whom it is passed on, and how.
    fn knocked(&mut self, from: SocketAddr, number: u16) -> Result<(SocketAddr, RelayVisit), Why> {
        let out = self.knock(from, number, b"hello");
        let [(to, datagram)] = &out[..] else { return Err(Why::Silence) };
        match RelayReply::decode(datagram).unwrap().1 {
            RelayReply::Visit { visit, payload: b"hello" } => Ok((*to, visit)),
            RelayReply::Refused(refusal) if *to == from => Err(Why::Refused(refusal)),
            other => panic!("{other:?} to {to}"),
        }
    }

    /// Returns where an answer of a peer arrives.
    fn answered(&mut self, n: u8, visit: RelayVisit) -> Vec<SocketAddr> {
        let out = self.send(n, &RelayRequest::Answer { visit, payload: b"answer" });
        let expected = RelayReply::Answered { payload: b"answer" }.encode(&visit.session);
        assert!(out.iter().all(|(_, datagram)| *datagram == expected), "{out:?}");
        out.into_iter().map(|(to, _)| to).collect()
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Why {
    Refused(RelayRefusal),
    Silence,
}

const NO_CODE: Why = Why::Refused(RelayRefusal::NoCode);
const BUSY: Why = Why::Refused(RelayRefusal::Busy);

#[test]
fn a_joiner_and_the_peer_that_offers_a_code_exchange_messages() {
    let mut relay = relay_with_code();
    let from = joiner(1, 7);
    let (to, visit) = relay.knocked(from, NUMBER).unwrap();
    assert_eq!((to, visit.address, visit.session), (at(1), from, session(200)));
    assert_eq!(relay.answered(1, visit), [from]);
    let statistics = relay.core.statistics();
    assert_eq!((statistics.codes, statistics.knocks), (1, 1));
    relay.send(1, &RelayRequest::Leave);
    assert_eq!(relay.knocked(from, NUMBER), Err(NO_CODE));
    assert_eq!(relay.core.statistics().codes, 0);
}

#[test]
fn a_number_belongs_to_the_key_that_offered_it_first() {
    let mut relay = relay_with_code();
    assert_eq!(relay.offer(2, NUMBER), Err(RelayRefusal::Taken));
    assert_eq!(relay.knocked(joiner(1, 7), NUMBER).unwrap().0, at(1));
    // The peer itself, from another address, and not with what it sent before.
    let before = relay.offer_of(1, at(1), NUMBER);
    relay.advance(Duration::from_secs(1));
    let moved = relay.offer_of(1, at(3), NUMBER);
    assert_eq!(answer(&relay.send_bytes(at(3), &moved)), Ok(()));
    let again = relay.send_bytes(at(1), &before);
    assert_eq!(answer(&again), Err(RelayRefusal::StaleChallenge));
    assert_eq!(relay.knocked(joiner(1, 7), NUMBER).unwrap().0, at(3));
    // A session counts only from its address.
    for request in [RelayRequest::Ping, RelayRequest::Leave] {
        let out = relay.send(1, &request);
        let unknown = RelayReply::Unknown.encode(&session(1));
        let expected = (request == RelayRequest::Ping).then_some((at(1), unknown));
        assert_eq!(out, Vec::from_iter(expected));
    }
    assert_eq!(relay.knocked(joiner(1, 7), NUMBER).unwrap().0, at(3));
    // A session offers one number, and is no registration.
    relay.advance(Duration::from_secs(1));
    let second = relay.offer_of(1, at(3), NUMBER + 1);
    assert_eq!(answer(&relay.send_bytes(at(3), &second)), Err(RelayRefusal::Busy));
    let challenge = relay.challenge(at(3), &session(1));
    let registration = RelayRequest::register(&key(1), &session(1), challenge, GROUP);
    let out = relay.send_bytes(at(3), &registration.encode(&session(1)));
    assert_eq!(answer(&out), Err(RelayRefusal::Busy));
    relay.register(4);
    assert_eq!(relay.offer(4, NUMBER + 1), Err(RelayRefusal::Busy));
    // Silence frees it.
    relay.advance(REGISTRATION_TTL + Duration::from_secs(1));
    assert_eq!(relay.offer(2, NUMBER), Ok(()));
}

#[test]
fn the_offer_of_another_key_is_refused() {
    let mut relay = TestRelay::new(RelayLimits::default());
    let challenge = relay.challenge(at(2), &session(2));
    let honest = RelayRequest::offer(&key(2), &session(2), challenge, (NUMBER, GROUP));
    let RelayRequest::Offer { signature, .. } = honest else { panic!("an offer") };
    let peer: PeerId = id(1);
    let stolen = RelayRequest::Offer { challenge, number: NUMBER, group: GROUP, peer, signature };
    assert_eq!(answer(&relay.send(2, &stolen)), Err(RelayRefusal::Forged));
    // With the challenge of another address.
    let sent = honest.encode(&session(2));
    assert_eq!(answer(&relay.send_bytes(at(3), &sent)), Err(RelayRefusal::StaleChallenge));
    assert_eq!(relay.core.statistics().codes, 0);
}

#[test]
fn only_allowed_keys_and_groups_offer_codes_and_any_joiner_reaches_them() {
    let allowed = RelayAllowList { peers: vec![id(1)], groups: vec![RelayGroupTag([2; 16])] };
    let mut relay = TestRelay::with(RelayLimits::default(), allowed);
    assert_eq!(relay.offer(1, NUMBER), Ok(()));
    assert_eq!(relay.offer(2, NUMBER + 1), Err(RelayRefusal::NotAllowed));
    let (_, visit) = relay.knocked(joiner(1, 7), NUMBER).unwrap();
    assert_eq!(relay.answered(1, visit), [joiner(1, 7)]);
}

#[test]
fn offers_are_bounded_and_end() {
    let limits = RelayLimits { max_codes: 3, max_codes_of_address: 2, ..RelayLimits::default() };
    let mut relay = TestRelay::new(limits);
    let mut offer_from = |n: u8, ip: u8| {
        let from = SocketAddr::from(([192, 0, 2, ip], u16::from(n)));
        let offer = relay.offer_of(n, from, NUMBER + u16::from(n));
        answer(&relay.send_bytes(from, &offer))
    };
    let full = Err(RelayRefusal::Full);
    assert_eq!([(1, 9), (2, 9), (3, 9)].map(|(n, ip)| offer_from(n, ip)), [Ok(()), Ok(()), full]);
    assert_eq!([(3, 8), (4, 7)].map(|(n, ip)| offer_from(n, ip)), [Ok(()), full]);
    // One that is made again needs no room.
    assert_eq!([(1, 9), (3, 8)].map(|(n, ip)| offer_from(n, ip)), [Ok(()), Ok(())]);
    // However often it shows that it is there, an offer ends.
    let from = SocketAddr::from(([192, 0, 2, 9], 1));
    for _ in 0..(75 * 60 / 30 + 1) {
        relay.send_bytes(from, &RelayRequest::Ping.encode(&session(1)));
        relay.advance(Duration::from_secs(30));
    }
    let out = relay.send_bytes(from, &RelayRequest::Ping.encode(&session(1)));
    assert_eq!(out, [(from, RelayReply::Unknown.encode(&session(1)))]);
    assert_eq!(relay.core.statistics().codes, 0);
}

/// A stranger that searches for codes tries one number a second, and learns nothing in between.
#[test]
fn numbers_cannot_be_searched_quickly() {
    let mut relay = relay_with_code();
    let n_tried = |relay: &mut TestRelay| {
        let numbers = 5000..5100;
        let tried =
            numbers.filter(|number| relay.knocked(joiner(1, *number), *number) != Err(BUSY));
        tried.count()
    };
    assert_eq!(n_tried(&mut relay), 1);
    assert_eq!(relay.knocked(joiner(1, 7), NUMBER), Err(BUSY));
    relay.advance(Duration::from_secs(1));
    assert_eq!(n_tried(&mut relay), 1);
    // Others are not held up.
    assert!(relay.knocked(joiner(2, 7), NUMBER).is_ok());
    relay.advance(Duration::from_secs(1));
    assert!(relay.knocked(joiner(1, 7), NUMBER).is_ok());
}

#[test]
fn a_flood_of_knocks_is_cut() {
    let limits = RelayLimits { knocks_of_address: 5, knocks_of_all: 8, ..RelayLimits::default() };
    let mut relay = TestRelay::new(limits);
    assert_eq!(relay.offer(1, NUMBER), Ok(()));
    let mut n_passed = |of: std::ops::Range<u8>| {
        let outcomes = of.map(|n| relay.knocked(joiner(n.max(10), 7), NUMBER));
        outcomes.filter(Result::is_ok).count()
    };
    assert_eq!(n_passed(0..9), 5);
    assert_eq!(n_passed(20..90), 3);
    // Long ones are cut by their bytes.
    let mut relay = relay_with_code();
    let payload = [0; 1400];
    let of = (1..=100).filter(|n| !relay.knock(joiner(*n, 7), NUMBER, &payload).is_empty());
    assert_eq!(of.count(), (32 << 10) / (1400 + 60));
    assert!(relay.core.statistics().over_limit > 70);
}

/// The peer that offers a code can answer each joiner for a while, and send to no other address.
#[test]
fn only_a_joiner_is_answered_and_not_for_long() {
    let mut relay = relay_with_code();
    assert_eq!(relay.offer(2, NUMBER + 1), Ok(()));
    let from = joiner(1, 7);
    let (_, real) = relay.knocked(from, NUMBER).unwrap();
    for forged in [
        visit(at(9)),
        RelayVisit { address: at(9), ..real },
        RelayVisit { time: real.time + 1, ..real },
        RelayVisit { session: session(9), ..real },
    ] {
        assert!(relay.answered(1, forged).is_empty(), "{forged:?}");
    }
    // A joiner, or a peer that is registered and offers nothing, answers nothing.
    relay.register(3);
    let answer = RelayRequest::Answer { visit: real, payload: b"answer" };
    assert_eq!(relay.send(3, &answer), []);
    let unknown = RelayReply::Unknown.encode(&session(200));
    assert_eq!(relay.send_bytes(from, &answer.encode(&session(200))), [(from, unknown)]);
    assert_eq!(relay.answered(1, real), [from]);
    relay.advance(Duration::from_secs(31));
    assert!(relay.answered(1, real).is_empty());
}

#[test]
fn a_knock_needs_the_challenge_of_its_address() {
    let mut relay = relay_with_code();
    let challenge = relay.challenge(joiner(1, 7), &session(200));
    let knock = RelayRequest::Knock { challenge, number: NUMBER, payload: b"hello" };
    let send = |relay: &mut TestRelay, from| {
        let out = relay.send_bytes(from, &knock.encode(&session(200)));
        RelayReply::decode(&out[0].1).unwrap().1
            == RelayReply::Refused(RelayRefusal::StaleChallenge)
    };
    assert!(send(&mut relay, joiner(2, 7)) && send(&mut relay, joiner(1, 8)));
    assert!(!send(&mut relay, joiner(1, 7)));
    relay.advance(Duration::from_secs(11));
    assert!(send(&mut relay, joiner(1, 7)));
}

/// What the relay sends to the peer that offers a code is no longer than what a joiner sent.
#[test]
fn what_is_passed_on_is_no_longer_than_its_cause() {
    let mut relay = relay_with_code();
    for len in [1, 100, 1412] {
        let payload = vec![0; len];
        let from = joiner(1, 7);
        let challenge = relay.challenge(from, &session(200));
        let knock = RelayRequest::Knock { challenge, number: NUMBER, payload: &payload };
        let sent = knock.encode(&session(200));
        let out = relay.send_bytes(from, &sent);
        assert_eq!(out.len(), 1);
        assert!(out[0].1.len() <= sent.len(), "{len}");
        let (_, RelayReply::Visit { visit, .. }) = RelayReply::decode(&out[0].1).unwrap() else {
            panic!("a visit")
        };
        let sent = RelayRequest::Answer { visit, payload: &payload }.encode(&session(1));
        let out = relay.send_bytes(at(1), &sent);
        assert!(out.len() == 1 && out[0].1.len() <= sent.len(), "{len}");
    }
    // A longer one would not be received whole.
    assert_eq!(relay.knock(joiner(1, 7), NUMBER, &[0; 1413]), []);
}
