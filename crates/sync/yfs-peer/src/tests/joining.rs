//! Stores that join a group: what they receive, and whom they wait for.

use std::{
    net::SocketAddr,
    time::{Duration, Instant},
};

use tokio::{runtime::Runtime, time::timeout};

use super::group::{KeyOrder, TestPeer, exchange, pump, request};
use crate::{
    PeerEvent, PeerNode, PeerOptions,
    contact::PeerContact,
    first_exchange::FirstExchange,
    peer_error::{DenialCode, PeerError},
    peer_grant::PeerRights,
    peer_session::PeerSession,
};

/// How long anything may take. Generous: the machine may be busy.
const PATIENCE: Duration = Duration::from_secs(120);

const N_FILES: usize = 200;
const FILE_LEN: usize = 4 << 10;

fn start(peer: &TestPeer) -> PeerNode {
    let listen = SocketAddr::from(([127, 0, 0, 1], 0));
    let options = PeerOptions { listen, ..PeerOptions::default() };
    PeerNode::start(peer.workspace(), options).unwrap()
}

/// Lets a peer know where the nodes of others are.
fn introduce(peer: &TestPeer, others: &[(&TestPeer, &PeerNode)]) {
    let contacts = others.iter().map(|(other, node)| {
        let addresses = node.addresses().to_vec();
        let certificate = other.member.certificate().unwrap();
        PeerContact::sign(other.member.key(), certificate, addresses, other.member.now())
    });
    peer.member.add_contacts(contacts).unwrap();
}

/// Makes an owner with files, and members that have them.
fn group(order: KeyOrder, n_members: usize) -> (TestPeer, Vec<TestPeer>) {
    let owner = TestPeer::owner_among(order);
    for at in 0..N_FILES {
        owner.write(&format!("f{at}"), &format!("{at} ").repeat(FILE_LEN / 4));
    }
    let members: Vec<_> = (0..n_members).map(|_| owner.invite(PeerRights::Write)).collect();
    (owner, members)
}

/// The first time, everything comes once, not once from each member.
#[test]
fn a_store_that_joins_gets_everything_once() {
    for order in KeyOrder::ALL {
        Runtime::new().unwrap().block_on(join_once(order));
    }
}

async fn join_once(order: KeyOrder) {
    let (owner, members) = group(order, 4);
    // What one exchange costs.
    let sample = owner.join(&owner.ticket(request(PeerRights::Write)));
    let mut sample_side = PeerSession::dialer(sample.member.clone(), owner.member.id()).unwrap();
    let mut side = PeerSession::acceptor(owner.member.clone(), sample.member.id()).unwrap();
    pump(&mut sample_side, &mut side).unwrap();
    let once = sample_side.progress();
    drop((sample_side, side, sample));

    let joiner = owner.join(&owner.ticket(request(PeerRights::Write)));
    let all: Vec<&TestPeer> = members.iter().chain([&owner]).collect();
    let nodes: Vec<PeerNode> = all.iter().map(|peer| start(peer)).collect();
    // Both sides know each other, so both call.
    let met: Vec<_> = all.iter().copied().zip(&nodes).collect();
    introduce(&joiner, &met);
    let node = start(&joiner);
    for peer in &all {
        introduce(peer, &[(&joiner, &node)]);
    }
    let mut events = node.events();
    let mut in_step = std::collections::BTreeMap::new();
    let all_in_step = async {
        while in_step.len() < all.len() {
            if let PeerEvent::InStep(peer, progress) = events.recv().await.unwrap() {
                in_step.entry(peer).or_insert(progress.bytes_received);
            }
        }
    };
    timeout(PATIENCE, all_in_step).await.unwrap();
    assert_eq!(joiner.tree(), owner.tree());
    let bytes: u64 = in_step.values().sum();
    // The first exchange, and summaries with the others. The number of updates says less: the owner
    // may meanwhile write the length of each file to its row.
    let most = once.bytes_received + once.bytes_received / 2;
    assert!(bytes <= most, "{order:?}: {bytes} bytes instead of {}", once.bytes_received);
    for node in nodes.into_iter().chain([node]) {
        node.stop().await;
    }
}

/// A side of a connection of a store that has just joined.
fn dialer(peer: &TestPeer, to: &TestPeer, first: &std::sync::Arc<FirstExchange>) -> PeerSession {
    let turn = first.begin(to.member.id(), Instant::now()).expect("it is its turn");
    PeerSession::dialer_in_turn(peer.member.clone(), to.member.id(), first.clone(), turn).unwrap()
}

fn acceptor(peer: &TestPeer, of: &TestPeer, first: &std::sync::Arc<FirstExchange>) -> PeerSession {
    PeerSession::acceptor_in_turn(peer.member.clone(), of.member.id(), first.clone()).unwrap()
}

/// A member that calls while another one has the turn is denied, and may try again.
#[test]
fn a_member_that_calls_out_of_turn_is_denied_for_a_while() {
    for order in KeyOrder::ALL {
        let (owner, members) = group(order, 1);
        let joiner = owner.join(&owner.ticket(request(PeerRights::Write)));
        let first = FirstExchange::new(false);
        let mut turn = dialer(&joiner, &owner, &first);
        let call = || {
            let of = &members[0];
            let mut from = PeerSession::dialer(of.member.clone(), joiner.member.id()).unwrap();
            let mut to = acceptor(&joiner, of, &first);
            pump(&mut from, &mut to)
        };
        let denied = call().unwrap_err();
        assert!(matches!(denied, PeerError::Denied(DenialCode::Joining)), "{denied}");
        assert!(DenialCode::Joining.may_pass_later());
        assert!(!denied.is_fault());
        let mut host = PeerSession::acceptor(owner.member.clone(), joiner.member.id()).unwrap();
        pump(&mut turn, &mut host).unwrap();
        assert!(turn.is_done() && turn.follow_turn(true) && first.is_complete());
        call().unwrap();
    }
}

/// Two stores that have just joined do not exchange, so neither waits for the other; without any
/// other peer they do, but are not up to date by that.
#[test]
fn two_stores_that_join_do_not_wait_for_each_other() {
    for order in KeyOrder::ALL {
        let (owner, _) = group(order, 0);
        let [one, other] = [0; 2].map(|_| owner.join(&owner.ticket(request(PeerRights::Write))));
        one.write("one", "1");
        let now = Instant::now();
        let firsts = [0; 2].map(|_| FirstExchange::since(false, now));
        let mut from = dialer(&one, &other, &firsts[0]);
        let denied = pump(&mut from, &mut acceptor(&other, &one, &firsts[1])).unwrap_err();
        assert!(matches!(denied, PeerError::Denied(DenialCode::Joining)), "{denied}");
        drop(from);
        assert!(firsts.iter().all(|first| first.is_free(now)));
        // The owner is away for long.
        let since = now.checked_sub(Duration::from_secs(31)).expect("the machine runs for longer");
        let firsts = [0; 2].map(|_| FirstExchange::since(false, since));
        let mut from = dialer(&one, &other, &firsts[0]);
        let mut to = acceptor(&other, &one, &firsts[1]);
        pump(&mut from, &mut to).unwrap();
        for (session, first) in [&mut from, &mut to].into_iter().zip(&firsts) {
            assert!(session.is_done() && !session.follow_turn(true));
            assert!(first.is_free(now) && !first.is_complete());
        }
        assert_eq!(other.tree(), "/one=1");
        exchange(&other, &owner).unwrap();
        assert!(owner.tree().contains("/one=1"));
    }
}

/// A member that admits the joining store and then does nothing does not keep the others away.
#[test]
fn a_member_that_stalls_does_not_keep_others_away() {
    for order in KeyOrder::ALL {
        let (owner, members) = group(order, 1);
        let joiner = owner.join(&owner.ticket(request(PeerRights::Write)));
        let first = FirstExchange::new(false);
        let mut stalled = dialer(&joiner, &members[0], &first);
        let certificate = members[0].member.certificate().unwrap();
        yfs_replica::FrameSession::receive(&mut stalled, &super::group::admitted(certificate))
            .unwrap();
        let now = Instant::now();
        let owner_id = owner.member.id();
        assert!(first.begin(owner_id, now).is_none());
        let later = now + Duration::from_secs(31);
        assert!(first.is_free(later) && first.begin(owner_id, later).is_some());
        assert!(!stalled.follow_turn(false) && stalled.is_open(), "the connection goes on");
    }
}
