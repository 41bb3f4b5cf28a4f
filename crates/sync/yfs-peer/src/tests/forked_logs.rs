//! A writer that gives two peers different changes under the same ids.

use futures::FutureExt;
use yfs::workspace::conflicts::ConflictKind;
use yfs_engine::path::VPath;
use yfs_replica::FrameSession;
use yfs_sync::replica::ReplicaMessage;
use yfs_vfs::{FileSystem, MoveOptions};

use super::group::{KeyOrder, TestPeer, beginning, exchange, pump, request};
use crate::{
    peer_error::PeerError, peer_grant::PeerRights, peer_session::PeerSession,
    peer_status::read_status,
};

/// Sends signed messages to a peer over a connection of a writer.
fn give(from: &TestPeer, frames: &[Vec<u8>], to: &TestPeer) -> Result<PeerSession, PeerError> {
    let mut session = PeerSession::acceptor(to.member.clone(), from.member.id())?;
    session.receive(&from.hello())?;
    session.receive(&beginning(from, to))?;
    frames.iter().try_for_each(|frame| session.receive(&from.signed(frame)))?;
    Ok(session)
}

/// Replaces bytes by others of the same length.
fn replace(frame: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    let mut frame = frame.to_vec();
    if let Some(at) = frame.windows(from.len()).position(|part| part == from) {
        frame[at..at + to.len()].copy_from_slice(to);
    }
    frame
}

/// Returns the messages of a writer with a file, and the same with other text in it.
fn fork_of(forker: &TestPeer) -> [Vec<Vec<u8>>; 2] {
    forker.write("fork", "left!");
    let left = forker.updates();
    let right: Vec<_> = left.iter().map(|frame| replace(frame, b"left!", b"right")).collect();
    assert_ne!(left, right);
    [left, right]
}

/// Lists the files that differ from those of other peers.
fn forked_files(peer: &TestPeer) -> Vec<String> {
    let conflicts = peer.workspace().conflicts().unwrap().into_iter();
    let forked = conflicts.filter(|conflict| conflict.kind == ConflictKind::Forked);
    forked.map(|conflict| conflict.path).collect()
}

/// Lists the peers that `yfs peer ls` names for a fork, as the numbers of their files.
fn named(at: &TestPeer, peers: &[&TestPeer]) -> Vec<u64> {
    let list = read_status(at.workspace(), true).unwrap();
    let number = |peer: &&TestPeer| {
        let id = peer.member.id().to_string();
        list.iter().find(|status| status.id == id).map_or(0, |status| status.forked)
    };
    peers.iter().map(number).collect()
}

fn n_faults(at: &TestPeer) -> u64 {
    read_status(at.workspace(), true).unwrap().iter().map(|status| status.faults).sum()
}

fn for_each_order(test: impl Fn(KeyOrder)) {
    KeyOrder::ALL.into_iter().for_each(test);
}

/// Each peer keeps what it got first, and all else stays equal. When the two meet, both find out,
/// and neither is punished. Nothing is sent for ever because the two differ.
#[test]
fn a_forked_log_harms_only_what_its_writer_may_change() {
    for_each_order(|order| {
        let owner = TestPeer::owner_among(order);
        owner.write("plan", "1");
        let honest = owner.invite(PeerRights::Write);
        let forker = owner.invite(PeerRights::Write);
        let [left, right] = fork_of(&forker);
        give(&forker, &left, &owner).unwrap();
        give(&forker, &right, &honest).unwrap();
        assert!(forked_files(&owner).is_empty() && forked_files(&honest).is_empty());
        exchange(&honest, &owner).unwrap();
        honest.write("answer", "2");
        owner.write("more", "3");
        exchange(&honest, &owner).unwrap();
        assert_eq!(owner.tree(), "/answer=2 /fork=left! /more=3 /plan=1");
        assert_eq!(honest.tree(), "/answer=2 /fork=right /more=3 /plan=1");
        for (peer, other) in [(&owner, &honest), (&honest, &owner)] {
            assert_eq!(forked_files(peer), ["/fork"], "{order:?}");
            assert_eq!(named(peer, &[other, &forker]), [1, 0]);
            assert_eq!((peer.n_quarantined(), n_faults(peer)), (1, 0));
        }
        let mut again = PeerSession::dialer(honest.member.clone(), owner.member.id()).unwrap();
        let mut host = PeerSession::acceptor(owner.member.clone(), honest.member.id()).unwrap();
        pump(&mut again, &mut host).unwrap();
        assert!(again.is_done() && host.is_done());
        assert_eq!((again.progress().n_sent, host.progress().n_sent), (0, 0));
    });
}

/// Two peers that both got a fork and never met exchange whole logs: the summaries of their logs
/// differ, though all ids are the same.
#[test]
fn logs_with_equal_ids_and_other_content_are_not_taken_for_equal() {
    for_each_order(|order| {
        let owner = TestPeer::owner_among(order);
        let forker = owner.invite(PeerRights::Write);
        let [left, right] = fork_of(&forker);
        let [one, two] = [owner.stranger(), owner.stranger()];
        let ticket = owner.ticket(request(PeerRights::Write));
        for peer in [&one, &two] {
            peer.member.join(&ticket).unwrap();
            peer.member.set_complete().unwrap();
        }
        give(&forker, &left, &one).unwrap();
        give(&forker, &right, &two).unwrap();
        let summarize =
            |peer: &TestPeer| peer.workspace().replication().summarize(None).unwrap().to_bytes();
        assert_ne!(summarize(&one), summarize(&two));
        exchange(&one, &two).unwrap();
        assert_eq!(
            (forked_files(&one), forked_files(&two)),
            (vec!["/fork".into()], vec!["/fork".into()])
        );
        assert_eq!((named(&one, &[&two]), named(&two, &[&one])), (vec![1], vec![1]));
    });
}

/// A writer that sends a fork to one peer, time and again and in other words each time: one report,
/// and a bounded quarantine. Its later work arrives.
#[test]
fn a_peer_that_forks_its_log_is_named_once_and_goes_on() {
    for_each_order(|order| {
        let owner = TestPeer::owner_among(order);
        let forker = owner.invite(PeerRights::Write);
        let [left, _] = fork_of(&forker);
        give(&forker, &left, &owner).unwrap();
        for n in 0..60 {
            let text = format!("f{n:04}");
            let frames: Vec<Vec<u8>> =
                left.iter().map(|frame| replace(frame, b"left!", text.as_bytes())).collect();
            let mut session = give(&forker, &frames, &owner).unwrap();
            let forked = session.take_forked();
            assert!(forked.iter().all(|(signer, _)| *signer == forker.member.id()));
            assert!(!forked.is_empty() && session.progress().n_quarantined == 0);
        }
        assert_eq!(named(&owner, &[&forker]), [1]);
        assert_eq!((owner.n_quarantined(), n_faults(&owner)), (1, 0));
        assert_eq!(owner.workspace().replication().forks().unwrap().len(), 1);
        forker.write("later", "1");
        exchange(&forker, &owner).unwrap();
        assert_eq!(owner.tree(), "/fork=left! /later=1");
    });
}

/// A reader carries the messages that two writers signed: the writers are named, and not the
/// reader.
#[test]
fn the_peer_that_vouches_is_named_and_not_the_one_that_carries() {
    for_each_order(|order| {
        let owner = TestPeer::owner_among(order);
        let reader = owner.invite(PeerRights::Read);
        let forker = owner.invite(PeerRights::Write);
        let [left, right] = fork_of(&forker);
        give(&forker, &left, &owner).unwrap();
        let mut session = PeerSession::acceptor(owner.member.clone(), reader.member.id()).unwrap();
        session.receive(&reader.hello()).unwrap();
        session.receive(&beginning(&reader, &owner)).unwrap();
        right.iter().for_each(|frame| session.receive(&forker.carried(frame)).unwrap());
        assert_eq!(named(&owner, &[&forker, &reader]), [1, 0]);
    });
}

/// A row of the files table is forked: a file has another name at each of two peers.
#[test]
fn forked_rows_are_found_out() {
    for_each_order(|order| {
        let owner = TestPeer::owner_among(order);
        let honest = owner.invite(PeerRights::Write);
        let forker = owner.invite(PeerRights::Write);
        forker.write("left!", "1");
        let left = forker.updates();
        let right: Vec<_> = left.iter().map(|frame| replace(frame, b"left!", b"right")).collect();
        give(&forker, &left, &owner).unwrap();
        give(&forker, &right, &honest).unwrap();
        exchange(&honest, &owner).unwrap();
        for (peer, other) in [(&owner, &honest), (&honest, &owner)] {
            assert_eq!(forked_files(peer), ["/"], "{order:?}");
            assert_eq!(named(peer, &[other]), [1]);
        }
        // A person gives the file a name: that is another row.
        let [from, to] = ["/left!", "/name"].map(|path| VPath::parse(path).unwrap());
        let fs = owner.workspace().fs();
        fs.mv(&from, &to, &MoveOptions::default()).now_or_never().unwrap().unwrap();
        exchange(&honest, &owner).unwrap();
        assert_eq!((owner.tree(), honest.tree()), ("/name=1".into(), "/name=1".into()));
        assert!(forked_files(&owner).is_empty() && forked_files(&honest).is_empty());
    });
}

/// A person decides for the text of one peer.
#[test]
fn a_forked_file_is_repaired_at_one_peer() {
    for_each_order(|order| {
        for name in ["fork", "fork.md"] {
            let owner = TestPeer::owner_among(order);
            let honest = owner.invite(PeerRights::Write);
            let forker = owner.invite(PeerRights::Write);
            forker.write(name, "left!\n");
            let left = forker.updates();
            let right: Vec<_> =
                left.iter().map(|frame| replace(frame, b"left!", b"right")).collect();
            give(&forker, &left, &owner).unwrap();
            give(&forker, &right, &honest).unwrap();
            exchange(&honest, &owner).unwrap();
            let path = VPath::parse(&format!("/{name}")).unwrap();
            let before = [owner.tree(), honest.tree()];
            assert_ne!(before[0], before[1], "{name}");
            assert!(honest.workspace().maintenance().repair(&path).unwrap());
            assert_eq!(honest.tree(), before[1]);
            exchange(&honest, &owner).unwrap();
            assert_eq!([owner.tree(), honest.tree()], [before[1].clone(), before[1].clone()]);
            assert!(forked_files(&owner).is_empty() && forked_files(&honest).is_empty());
            assert!(!owner.workspace().maintenance().repair(&path).unwrap());
        }
    });
}

/// Both versions arrive at once, for a document that the peer does not have yet.
#[test]
fn two_versions_in_one_message_are_found_out() {
    for_each_order(|order| {
        let owner = TestPeer::owner_among(order);
        let forker = owner.invite(PeerRights::Write);
        let [left, right] = fork_of(&forker);
        let decoded = left.iter().chain(&right).map(|frame| ReplicaMessage::decode(frame).unwrap());
        let updates = decoded.flat_map(|message| match message {
            ReplicaMessage::Updates(updates) => updates,
            _ => Vec::new(),
        });
        let frame = ReplicaMessage::Updates(updates.collect()).encode();
        give(&forker, &[frame], &owner).unwrap();
        assert_eq!((named(&owner, &[&forker]), owner.tree()), (vec![1], "/fork=left!".into()));
    });
}
