//! Join codes through a relay on loopback, which may lie.

use std::{
    net::{IpAddr, Ipv4Addr, SocketAddr},
    sync::Arc,
    time::Duration,
};

use tokio::{net::UdpSocket, time::timeout};

use super::{
    group::{TestPeer, request},
    relayed::{HONEST, LoopbackRelay, PATIENCE, RelayConduct, loopback, lose},
};
use crate::{
    JoinCode, JoinCodeError, JoinCodeHost, JoinCodeOptions, JoinCodeOutcome, JoinCodeSearch,
    PeerRights, PeerTicket, ReservedJoinCode,
    join_code::RELAY_NUMBERS,
    pake::{CONFIRMATION_LEN, PakeExchange, PakeSide},
    relay_code_message::{JoinerMessage, SharerMessage, TicketPart},
    relay_core::RelayOutput,
    relay_message::{CHALLENGE_LEN, RelayRefusal, RelayReply, RelayRequest},
    relay_name::RelayName,
};

const LOOPBACK: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
const HOUR: Duration = Duration::from_secs(3600);

/// A code that an owner offers at a relay.
struct OfferedCode {
    _owner: TestPeer,
    host: JoinCodeHost,
    ticket: PeerTicket,
    code: JoinCode,
}

async fn reserve(owner: &TestPeer, relay: &RelayName) -> ReservedJoinCode {
    ReservedJoinCode::reserve(&owner.member, std::slice::from_ref(relay)).await.unwrap()
}

async fn offer(relay: &RelayName) -> OfferedCode {
    let owner = TestPeer::owner();
    let ticket = owner.member.issue(request(PeerRights::Write), Vec::new()).unwrap();
    let reserved = reserve(&owner, relay).await;
    assert_eq!(reserved.failures(), []);
    let code = reserved.code().clone();
    let options = JoinCodeOptions {
        listen: SocketAddr::new(LOOPBACK, 0),
        lifetime: HOUR,
        is_lan_only: false,
        is_announced: false,
    };
    let host = JoinCodeHost::start(reserved, &ticket, options).await.unwrap();
    OfferedCode { _owner: owner, host, ticket, code }
}

fn search(relay: &RelayName) -> JoinCodeSearch {
    JoinCodeSearch {
        at: None,
        relays: vec![relay.clone()],
        is_lan_searched: false,
        interface: LOOPBACK,
        is_lan_only: false,
    }
}

async fn redeem(code: &JoinCode, relay: &RelayName) -> Result<PeerTicket, JoinCodeError> {
    timeout(PATIENCE, code.redeem(&search(relay))).await.expect("in time")
}

/// Returns another code with the same number.
fn wrong(code: &JoinCode) -> JoinCode {
    let words = if code.to_string().contains("amber") { "zebra-zenith" } else { "amber-zebra" };
    format!("{}-{words}", code.number()).parse().unwrap()
}

async fn outcome(host: &JoinCodeHost) -> JoinCodeOutcome {
    let mut outcomes = host.outcome();
    let outcome = timeout(PATIENCE, outcomes.wait_for(Option::is_some)).await;
    outcome.unwrap().unwrap().unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_code_gives_its_ticket_through_a_relay_once() {
    let relay = LoopbackRelay::start(loopback(), HONEST).await;
    let offered = offer(&relay.name).await;
    assert!(RELAY_NUMBERS.contains(&offered.code.number()));
    let received = redeem(&offered.code, &relay.name).await.unwrap();
    assert_eq!(received, offered.ticket);
    assert_eq!(outcome(&offered.host).await, JoinCodeOutcome::Used);
    let again = redeem(&offered.code, &relay.name).await.unwrap_err();
    assert!(matches!(again, JoinCodeError::Used), "{again}");
    // Without its host the relay has no such code.
    drop(offered.host);
    let gone = loop {
        match redeem(&offered.code, &relay.name).await {
            Err(JoinCodeError::Used) => tokio::task::yield_now().await,
            other => break other.unwrap_err(),
        }
    };
    assert!(matches!(gone, JoinCodeError::NotAtRelay { .. }), "{gone}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wrong_code_ends_the_code_at_a_relay() {
    let relay = LoopbackRelay::start(loopback(), HONEST).await;
    let offered = offer(&relay.name).await;
    let refused = redeem(&wrong(&offered.code), &relay.name).await.unwrap_err();
    assert!(matches!(refused, JoinCodeError::Wrong), "{refused}");
    assert_eq!(outcome(&offered.host).await, JoinCodeOutcome::WrongWords);
    let spent = redeem(&offered.code, &relay.name).await.unwrap_err();
    assert!(matches!(spent, JoinCodeError::Spent), "{spent}");
}

/// Lost, repeated and reordered datagrams are neither a guess nor an end.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_code_survives_a_bad_network() {
    for _ in 0..5 {
        let relay = LoopbackRelay::start(loopback(), RelayConduct { lie: lose, ..HONEST }).await;
        let offered = offer(&relay.name).await;
        let received = redeem(&offered.code, &relay.name).await.unwrap();
        assert_eq!(received, offered.ticket);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_code_is_offered_again_at_a_relay_that_was_started_again() {
    let relay = LoopbackRelay::start(loopback(), HONEST).await;
    let offered = offer(&relay.name).await;
    let (address, name) = (relay.address, relay.name.clone());
    drop(relay);
    let again = loop {
        if let Ok(socket) = UdpSocket::bind(address).await {
            break LoopbackRelay::of(socket, HONEST);
        }
        tokio::task::yield_now().await;
    };
    // The sharer notices it by its next sign of life, at the latest.
    let received = timeout(PATIENCE, async {
        loop {
            match redeem(&offered.code, &name).await {
                Err(JoinCodeError::NotAtRelay { .. } | JoinCodeError::Unreachable { .. }) => {
                    tokio::time::sleep(Duration::from_millis(1100)).await;
                }
                redeemed => break redeemed,
            }
        }
    });
    assert_eq!(received.await.unwrap().unwrap(), offered.ticket);
    drop(again);
}

/// Changes the message of a joiner to the sharer, or back.
fn change_messages(out: &mut RelayOutput, _: usize) {
    for (_, datagram) in out.iter_mut() {
        let message = match RelayReply::decode(datagram) {
            Some((_, RelayReply::Visit { payload, .. } | RelayReply::Answered { payload })) => {
                payload.len()
            }
            _ => continue,
        };
        if message > 40 {
            *datagram.last_mut().unwrap() ^= 1;
        }
    }
}

/// A relay that changes messages spends its guess, and gets nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_relay_that_changes_messages_can_only_end_the_code() {
    let conduct = RelayConduct { lie: change_messages, ..HONEST };
    let relay = LoopbackRelay::start(loopback(), conduct).await;
    let offered = offer(&relay.name).await;
    redeem(&offered.code, &relay.name).await.unwrap_err();
    let ended = *offered.host.outcome().borrow();
    assert_ne!(ended, Some(JoinCodeOutcome::Used));
}

/// A socket that plays a relay.
struct FalseRelay {
    socket: UdpSocket,
    name: RelayName,
}

impl FalseRelay {
    async fn bind() -> Self {
        let socket = UdpSocket::bind(loopback()).await.unwrap();
        let name = socket.local_addr().unwrap().to_string().parse().unwrap();
        Self { socket, name }
    }

    /// Replies to requests until the caller is given up.
    async fn serve(self, mut reply: impl FnMut(RelayRequest<'_>) -> Option<Vec<RelayReplyBytes>>) {
        let mut buffer = [0; 2048];
        loop {
            let (len, from) = self.socket.recv_from(&mut buffer).await.unwrap();
            let (session, request) = RelayRequest::decode(&buffer[..len]).unwrap();
            let replies = match request {
                RelayRequest::Hello => {
                    Some(vec![RelayReply::Challenge([1; CHALLENGE_LEN]).encode(&session)])
                }
                request => reply(request).map(|replies| {
                    replies.into_iter().map(|reply| reply_bytes(reply, &session)).collect()
                }),
            };
            for datagram in replies.into_iter().flatten() {
                self.socket.send_to(&datagram, from).await.unwrap();
            }
        }
    }
}

/// What a false relay replies.
enum RelayReplyBytes {
    Refused(RelayRefusal),
    Registered,
    Answered(SharerMessage),
}

fn reply_bytes(reply: RelayReplyBytes, session: &[u8; 8]) -> Vec<u8> {
    match reply {
        RelayReplyBytes::Refused(refusal) => RelayReply::Refused(refusal).encode(session),
        RelayReplyBytes::Registered => {
            let observed = SocketAddr::from(([127, 0, 0, 1], 9));
            RelayReply::Registered { observed }.encode(session)
        }
        RelayReplyBytes::Answered(message) => {
            RelayReply::Answered { payload: &message.encode() }.encode(session)
        }
    }
}

/// A relay in the place of the sharer has one guess with each joiner: it receives one confirmation,
/// and a wrong guess gives no ticket that the joiner would use.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_relay_in_the_place_of_the_sharer_has_one_guess() {
    let relay = FalseRelay::bind().await;
    let name = relay.name.clone();
    let owner = TestPeer::owner();
    let ticket = owner.member.issue(request(PeerRights::Write), Vec::new()).unwrap().to_string();
    let confirmations = Arc::new(parking_lot::Mutex::new(Vec::new()));
    let received = confirmations.clone();
    let mut guess =
        Some(PakeExchange::start(PakeSide::Sharer, &"4711-amber-zebra".parse().unwrap()));
    let mut keys = None;
    let serving = relay.serve(move |request| {
        let RelayRequest::Knock { payload, .. } = request else { return None };
        Some(match JoinerMessage::decode(payload)? {
            JoinerMessage::Begin(hello) => {
                let exchange = guess.take()?;
                let answer = exchange.message();
                keys = exchange.finish(hello[10..].try_into().unwrap());
                // Different answers to the same message do not make the joiner confirm twice.
                let other = PakeExchange::start(
                    PakeSide::Sharer,
                    &wrong(&"4711-amber-zebra".parse().unwrap()),
                );
                [answer, other.message()]
                    .map(|answer| RelayReplyBytes::Answered(SharerMessage::Begun(Ok(answer))))
                    .into()
            }
            JoinerMessage::Confirm { confirmation, part } => {
                received.lock().push(confirmation);
                let bytes = keys.take()?.seal(ticket.clone().into_bytes());
                let answer = Ok(TicketPart { n_parts: 1, bytes });
                vec![RelayReplyBytes::Answered(SharerMessage::Confirmed { part, answer })]
            }
        })
    });
    let serving = tokio::spawn(serving);
    let code: JoinCode = "4711-amber-falcon".parse().unwrap();
    let refused = redeem(&code, &name).await.unwrap_err();
    assert!(matches!(refused, JoinCodeError::Wrong), "{refused}");
    let mut confirmations = confirmations.lock().clone();
    confirmations.dedup();
    assert_eq!(confirmations.len(), 1);
    serving.abort();
}

/// A relay that takes a confirmation and is silent does not make the joiner confirm to another one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_code_that_was_confirmed_at_a_relay_is_tried_at_no_other() {
    let (first, second) = (FalseRelay::bind().await, FalseRelay::bind().await);
    let relays = vec![first.name.clone(), second.name.clone()];
    let serving = tokio::spawn(first.serve(|request| {
        let RelayRequest::Knock { payload, .. } = request else { return None };
        Some(match JoinerMessage::decode(payload)? {
            JoinerMessage::Begin(_) => {
                let guess = "4711-amber-zebra".parse().unwrap();
                let answer = PakeExchange::start(PakeSide::Sharer, &guess).message();
                vec![RelayReplyBytes::Answered(SharerMessage::Begun(Ok(answer)))]
            }
            JoinerMessage::Confirm { .. } => {
                vec![RelayReplyBytes::Refused(RelayRefusal::NoCode)]
            }
        })
    }));
    let search = JoinCodeSearch { relays, ..search(&second.name) };
    let code: JoinCode = "4711-amber-falcon".parse().unwrap();
    let redeemed = timeout(PATIENCE, code.redeem(&search)).await.expect("in time");
    let refused = redeemed.unwrap_err().to_string();
    assert!(refused.contains("does not answer any more"), "{refused}");
    assert!(second.socket.try_recv(&mut [0; 64]).is_err());
    serving.abort();
}

/// A relay in the place of a joiner has one guess at the code.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_relay_in_the_place_of_a_joiner_has_one_guess() {
    let relay = LoopbackRelay::start(loopback(), HONEST).await;
    let offered = offer(&relay.name).await;
    // It knows all that a joiner knows, except the words.
    let second = format!("{}-otter-oval", offered.code.number()).parse().unwrap();
    let first = redeem(&wrong(&offered.code), &relay.name).await.unwrap_err();
    let second = redeem(&second, &relay.name).await.unwrap_err();
    assert!(matches!(first, JoinCodeError::Wrong), "{first}");
    assert!(matches!(second, JoinCodeError::Spent), "{second}");
}

/// All that a relay may send in the name of a sharer is bounded.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_relay_that_sends_parts_without_end_is_refused() {
    let relay = FalseRelay::bind().await;
    let name = relay.name.clone();
    let code: JoinCode = "4711-amber-falcon".parse().unwrap();
    let sharers = code.clone();
    let serving = tokio::spawn(relay.serve(move |request| {
        let RelayRequest::Knock { payload, .. } = request else { return None };
        Some(match JoinerMessage::decode(payload)? {
            JoinerMessage::Begin(_) => {
                let answer = PakeExchange::start(PakeSide::Sharer, &sharers).message();
                vec![RelayReplyBytes::Answered(SharerMessage::Begun(Ok(answer)))]
            }
            // Each part announces one more.
            JoinerMessage::Confirm { part, .. } => {
                let answer = Ok(TicketPart { n_parts: part + 2, bytes: vec![0; 1024] });
                vec![RelayReplyBytes::Answered(SharerMessage::Confirmed { part, answer })]
            }
        })
    }));
    let refused = redeem(&code, &name).await.unwrap_err().to_string();
    assert!(refused.contains("the parts of its ticket do not fit"), "{refused}");
    serving.abort();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_number_that_is_taken_is_replaced() {
    let relay = FalseRelay::bind().await;
    let name = relay.name.clone();
    let numbers = Arc::new(parking_lot::Mutex::new(Vec::new()));
    let asked = numbers.clone();
    let serving = tokio::spawn(relay.serve(move |request| {
        let RelayRequest::Offer { number, .. } = request else { return None };
        let mut asked = asked.lock();
        asked.push(number);
        let is_taken = asked.iter().all(|known| *known == asked[0]);
        Some(vec![match is_taken {
            true => RelayReplyBytes::Refused(RelayRefusal::Taken),
            false => RelayReplyBytes::Registered,
        }])
    }));
    let owner = TestPeer::owner();
    let reserved = timeout(PATIENCE, reserve(&owner, &name)).await.unwrap();
    let numbers = numbers.lock().clone();
    assert_eq!(reserved.failures(), []);
    assert_eq!(numbers.last(), Some(&reserved.code().number()));
    assert_ne!(numbers.first(), numbers.last());
    serving.abort();
}

/// No relay is asked for a code that none offers, or if only local addresses may be used.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn relays_are_asked_only_for_their_codes() {
    let relay = UdpSocket::bind(loopback()).await.unwrap();
    let name: RelayName = relay.local_addr().unwrap().to_string().parse().unwrap();
    let local: JoinCode = "99-amber-falcon".parse().unwrap();
    let refused = local.redeem(&search(&name)).await.unwrap_err();
    assert!(matches!(refused, JoinCodeError::NotFound { .. }), "{refused}");
    let relayed: JoinCode = "4711-amber-falcon".parse().unwrap();
    let only_local = JoinCodeSearch { is_lan_only: true, ..search(&name) };
    let refused = relayed.redeem(&only_local).await.unwrap_err();
    assert!(matches!(refused, JoinCodeError::NotFound { .. }), "{refused}");
    let mut buffer = [0; 64];
    assert!(relay.try_recv(&mut buffer).is_err());
    // The control.
    let asked = tokio::spawn(async move { redeem(&relayed, &name).await });
    timeout(PATIENCE, relay.recv(&mut buffer)).await.unwrap().unwrap();
    asked.abort();
}

/// The messages that pass through a relay have neither the words nor the ticket.
#[test]
fn the_relay_sees_neither_words_nor_ticket() {
    let code: JoinCode = "4711-amber-falcon".parse().unwrap();
    let ticket = "yfspeer_ticket";
    let [joiner, sharer] =
        [PakeSide::Joiner, PakeSide::Sharer].map(|side| PakeExchange::start(side, &code));
    let [of_joiner, of_sharer] = [joiner.message(), sharer.message()];
    let keys = joiner.finish(&of_sharer).unwrap();
    let confirmation: [u8; CONFIRMATION_LEN] = keys.confirmation();
    let sealed = sharer.finish(&of_joiner).unwrap().seal(ticket.as_bytes().to_vec());
    let hello = crate::join_code_offer::code_hello(4711, of_joiner);
    let answer = Ok(TicketPart { n_parts: 1, bytes: sealed });
    let sent = [
        JoinerMessage::Begin(hello).encode(),
        SharerMessage::Begun(Ok(of_sharer)).encode(),
        JoinerMessage::Confirm { confirmation, part: 0 }.encode(),
        SharerMessage::Confirmed { part: 0, answer }.encode(),
    ]
    .concat();
    for secret in ["amber", "falcon", "ticket"] {
        assert!(!sent.windows(secret.len()).any(|part| part == secret.as_bytes()), "{secret}");
    }
}
