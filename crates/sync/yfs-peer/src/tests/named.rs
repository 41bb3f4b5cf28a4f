//! What `yfs peer ls` shows of peers in bad company: real connections over QUIC on loopback, to a
//! node that runs as `yfs peer share` does.

use std::{
    net::{Ipv4Addr, SocketAddr},
    time::Duration,
};

use quinn::Runtime as _;
use tokio::{runtime::Runtime, time::sleep};
use yfs_engine::hash::ContentHash;
use yfs_sync::replica::ReplicaMessage;

use super::group::{KeyOrder, TestPeer, beginning, exchange, updates_frame};
use crate::{
    PeerNode, PeerOptions, PeerStatus, peer_grant::PeerRights, peer_link::open_stream,
    peer_message::PeerMessage, quic, read_status,
};

const LOOPBACK: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

/// Sends messages to a node, and waits until it closes the connection.
async fn attack(attacker: &TestPeer, node: &PeerNode, owner: &TestPeer, frames: &[Vec<u8>]) {
    let socket = std::net::UdpSocket::bind(LOOPBACK).unwrap();
    let socket = quinn::TokioRuntime.wrap_udp_socket(socket).unwrap();
    let endpoint = quic::endpoint(attacker.member.key(), socket).unwrap();
    let config = quic::client_config(attacker.member.key(), owner.member.id()).unwrap();
    let connection = quic::connect(&endpoint, config, node.addresses()[0]).await.unwrap();
    let (mut send, mut recv) = open_stream(&connection).await.unwrap();
    tokio::spawn(async move {
        while recv.read_chunk(1 << 16, true).await.is_ok_and(|c| c.is_some()) {}
    });
    for frame in frames {
        let len = u32::try_from(frame.len()).unwrap().to_be_bytes();
        if send.write_all(&[&len[..], frame].concat()).await.is_err() {
            break;
        }
    }
    connection.closed().await;
}

async fn status_of(owner: &TestPeer, peer: &TestPeer) -> PeerStatus {
    let id = peer.member.id().to_string();
    loop {
        let list = read_status(owner.workspace(), true).unwrap();
        let is_over = |status: &PeerStatus| status.faults > 0 && !status.connected;
        let found = list.into_iter().find(|status| status.id == id && is_over(status));
        match found {
            Some(status) => return status,
            // The node writes the list from time to time.
            None => sleep(Duration::from_millis(20)).await,
        }
    }
}

#[test]
fn peers_that_violate_the_protocol_are_listed_with_the_reason() {
    for order in KeyOrder::ALL {
        Runtime::new().unwrap().block_on(list_violations(order));
    }
}

async fn list_violations(order: KeyOrder) {
    let owner = TestPeer::owner_among(order);
    owner.write("plan", "1");
    let options = PeerOptions { listen: LOOPBACK, ..PeerOptions::default() };
    let node = PeerNode::start(owner.workspace(), options).unwrap();
    let hash = ContentHash::of(b"blob");
    let reader = |peer: &TestPeer| {
        peer.write("evil", "x");
        peer.updates().iter().map(|frame| peer.signed(frame)).collect::<Vec<_>>()
    };
    type Company<'c> = (&'c str, PeerRights, Box<dyn Fn(&TestPeer) -> Vec<Vec<u8>>>);
    let company: [Company<'_>; 6] = [
        ("updates without a signature", PeerRights::Write, Box::new(TestPeer::updates)),
        ("its key may only read", PeerRights::Read, Box::new(reader)),
        (
            "too many blobs at once",
            PeerRights::Read,
            Box::new(move |_| {
                (0..20)
                    .map(|round: u32| {
                        let hash = |n: u32| ContentHash::of(&(round << 16 | n).to_le_bytes());
                        ReplicaMessage::Want((0..1 << 16).map(hash).collect()).encode()
                    })
                    .collect()
            }),
        ),
        (
            "a blob that was not requested",
            PeerRights::Read,
            Box::new(move |_| {
                vec![ReplicaMessage::Part { hash, index: 0, data: b"blob" }.encode()]
            }),
        ),
        ("a message that cannot be decoded", PeerRights::Write, Box::new(|_| vec![vec![99]])),
        (
            "a signed message without updates",
            PeerRights::Write,
            Box::new(|peer| vec![peer.signed(&ReplicaMessage::Want(vec![]).encode())]),
        ),
    ];
    for (reason, rights, frames) in company {
        let attacker = owner.invite(rights);
        let begun = vec![attacker.hello(), beginning(&attacker, &owner)];
        let frames = [begun, frames(&attacker)].concat();
        attack(&attacker, &node, &owner, &frames).await;
        let status = status_of(&owner, &attacker).await;
        let error = status.error.unwrap_or_default();
        assert!(error.contains(reason), "{reason}: {error}");
        assert_eq!(status.faults, 1, "{reason}");
    }
    // Harmful updates do not end the connection; they are counted.
    let attacker = owner.invite(PeerRights::Write);
    let harmful = updates_frame(owner.workspace().id(), &[0xff; 40], false);
    let begun = [attacker.hello(), beginning(&attacker, &owner)];
    let frames = [&begun[..], &[attacker.signed(&harmful), vec![99]]].concat();
    attack(&attacker, &node, &owner, &frames).await;
    assert_eq!(status_of(&owner, &attacker).await.refused, 1);
    assert_eq!(owner.tree(), "/plan=1");
    // A stranger leaves no trace, so that strangers can't fill the list.
    let n_listed = read_status(owner.workspace(), true).unwrap().len();
    let stranger = TestPeer::owner_of_another_group();
    attack(&stranger, &node, &owner, &[stranger.hello()]).await;
    let update = updates_frame(owner.workspace().id(), &[0, 0], false);
    let frames = [PeerMessage::Signed { signature: [0; 64], frame: &update }.encode()];
    attack(&stranger, &node, &owner, &frames).await;
    // A member that keeps the rules is served meanwhile.
    let honest = owner.invite(PeerRights::Write);
    honest.write("answer", "2");
    exchange(&honest, &owner).unwrap();
    assert_eq!(owner.tree(), "/answer=2 /plan=1");
    assert_eq!(read_status(owner.workspace(), true).unwrap().len(), n_listed);
    node.stop().await;
}
