//! Presence between peers: what bad peers send, and chains.
//!
//! Each entry of the table is an attack on a peer that knows of no editor: how the connection ends,
//! and which editors the peer knows afterwards.

use std::{fmt::Write as _, fs, os::unix::fs::PermissionsExt, pin::pin, time::Duration};

use expect_test::expect;
use futures::StreamExt;
use tokio::{task::yield_now, time::timeout};
use yfs_engine::id::{FileId, WorkspaceId};
use yfs_replica::FrameSession;
use yfs_sync::presence::{PresenceEntry, decode, encode};

use super::{
    group::{KeyOrder, TestPeer, pump},
    stage::{Attack, HOUR, Stage, altered, expiring},
};
use crate::{
    peer_grant::{BlockTarget, PeerCertificate, PeerRights},
    peer_message::PeerMessage,
    peer_session::PeerSession,
    presence::{LocalPresence, LocalPresenceHost, RemotePresence, SignedPresence},
};

/// How long a connection may take to end.
const PATIENCE: Duration = Duration::from_secs(120);

/// The editors of a peer at a document.
struct Editors {
    doc: &'static str,
    sequence: u64,
    states: Vec<u8>,
}

impl Editors {
    /// One editor with a state.
    fn one(state: &str) -> Self {
        let states = encode(&[PresenceEntry { id: 7, clock: 1, state }]);
        Self { doc: "plan", sequence: 5, states }
    }

    fn signed(&self, peer: &TestPeer) -> SignedPresence {
        self.signed_with(peer, peer.member.certificate().unwrap())
    }

    fn signed_with(&self, peer: &TestPeer, certificate: PeerCertificate) -> SignedPresence {
        let doc = FileId::parse(self.doc).unwrap();
        SignedPresence::of_editors(
            peer.member.key(),
            certificate,
            (doc, self.sequence),
            &self.states,
        )
    }

    fn of(&self, peer: &TestPeer) -> Vec<u8> {
        self.signed(peer).to_message().encode()
    }
}

fn ana() -> Editors {
    Editors::one(r#"{"user":{"name":"ana"}}"#)
}

const ATTACKS: &[(&str, Attack)] = &[
    ("control: an editor of a writer", |stage| {
        stage.admit(&stage.writer.clone())?;
        stage.send(&ana().of(&stage.writer))
    }),
    ("control: an editor of a reader", |stage| {
        stage.admit(&stage.reader.clone())?;
        stage.send(&ana().of(&stage.reader))
    }),
    ("control: a reader passes on an editor of a writer", |stage| {
        stage.admit(&stage.reader.clone())?;
        stage.send(&ana().of(&stage.writer))
    }),
    ("an editor in the name of another peer", |stage| {
        stage.admit(&stage.reader.clone())?;
        let certificate = stage.writer.member.certificate()?;
        stage.send(&ana().signed_with(&stage.reader, certificate).to_message().encode())
    }),
    ("an editor of another peer, changed", |stage| {
        stage.admit(&stage.reader.clone())?;
        let mut message = ana().signed(&stage.writer);
        let at = message.frame.len() - 4;
        message.frame[at] ^= 1;
        stage.send(&message.to_message().encode())
    }),
    ("a certificate of another owner", |stage| {
        stage.admit(&stage.writer.clone())?;
        let certificate = altered(&stage.writer, |_| {});
        stage.send(&ana().signed_with(&stage.writer, certificate).to_message().encode())
    }),
    ("a signature for another workspace", |stage| {
        stage.admit(&stage.writer.clone())?;
        let mut certificate = stage.writer.member.certificate()?;
        let own = certificate.clone();
        certificate.signed.grant.workspace = WorkspaceId::parse("another").unwrap();
        let message = ana().signed_with(&stage.writer, certificate);
        stage.send(&SignedPresence { certificate: own, ..message }.to_message().encode())
    }),
    ("a state that is not JSON", |stage| {
        stage.admit(&stage.writer.clone())?;
        stage.send(&Editors::one("{").of(&stage.writer))
    }),
    ("257 editors at a document", |stage| {
        stage.admit(&stage.writer.clone())?;
        let entry = |id| PresenceEntry { id, clock: 1, state: "{}" };
        let states = encode(&(0..257).map(entry).collect::<Vec<_>>());
        stage.send(&Editors { states, ..ana() }.of(&stage.writer))
    }),
    ("a state of 64 KiB", |stage| {
        stage.admit(&stage.writer.clone())?;
        let state = format!("{{\"a\":\"{}\"}}", "x".repeat(64 << 10));
        stage.send(&Editors::one(&state).of(&stage.writer))
    }),
    ("fewer states than are counted", |stage| {
        stage.admit(&stage.writer.clone())?;
        let mut states = ana().states;
        states[0] = 9;
        stage.send(&Editors { states, ..ana() }.of(&stage.writer))
    }),
    ("an editor of a blocked peer, passed on", |stage| {
        stage.admit(&stage.reader.clone())?;
        stage.owner.member.block(BlockTarget::Peer(stage.writer.member.id()))?;
        stage.send(&ana().of(&stage.writer))
    }),
    ("an editor of an expired peer, passed on", |stage| {
        let guest = expiring(stage, PeerRights::Write);
        stage.admit(&stage.reader.clone())?;
        stage.owner.clock.advance(2 * HOUR);
        stage.send(&ana().of(&guest))
    }),
    ("an editor of the peer itself", |stage| {
        stage.admit(&stage.reader.clone())?;
        stage.send(&ana().of(&stage.owner))
    }),
    ("an older message of another peer", |stage| {
        stage.admit(&stage.reader.clone())?;
        stage.send(&ana().of(&stage.writer))?;
        stage.send(&Editors { sequence: 4, ..Editors::one("{\"old\":1}") }.of(&stage.writer))
    }),
    ("a message of another peer after it has left", |stage| {
        stage.admit(&stage.reader.clone())?;
        let left = Editors { sequence: 6, states: encode(&[]), ..ana() };
        stage.send(&ana().of(&stage.writer))?;
        stage.send(&left.of(&stage.writer))?;
        stage.send(&ana().of(&stage.writer))
    }),
    ("presence before admission", |stage| {
        stage.connect(&stage.writer.clone())?;
        stage.send(&ana().of(&stage.writer))
    }),
    ("a flood of messages", |stage| {
        stage.admit(&stage.writer.clone())?;
        stage.owner.member.presence().stop_clock(Duration::ZERO);
        (0..5000)
            .try_for_each(|sequence| stage.send(&Editors { sequence, ..ana() }.of(&stage.writer)))
    }),
    ("a flood of withdrawals", |stage| {
        stage.admit(&stage.writer.clone())?;
        stage.owner.member.presence().stop_clock(Duration::ZERO);
        let peer = stage.reader.member.id();
        let withdrawn = PeerMessage::PresenceWithdrawn { peer }.encode();
        (0..5000).try_for_each(|_| stage.send(&withdrawn))
    }),
    ("a connection that ends", |stage| {
        stage.admit(&stage.writer.clone())?;
        stage.send(&ana().of(&stage.writer))?;
        stage.session = None;
        Ok(())
    }),
];

/// Lists the editors that a peer knows.
fn known(peer: &TestPeer, names: &[(&str, &TestPeer)]) -> String {
    let mut out = String::new();
    for message in peer.member.presence().known() {
        let of = message.certificate.peer;
        let name = names.iter().find(|(_, peer)| peer.member.id() == of);
        let (doc, states) = message.read();
        let entries = decode(&states).unwrap();
        let entries: Vec<_> = entries.iter().map(|entry| (entry.id, entry.state)).collect();
        write!(out, "{} at {doc} {entries:?}", name.map_or("a guest", |(name, _)| name)).unwrap();
    }
    if out.is_empty() { "no editor".to_owned() } else { out }
}

/// How each attack ends.
fn outcomes(order: KeyOrder) -> String {
    let mut out = String::new();
    for (name, attack) in ATTACKS {
        let mut stage = Stage::new(order);
        let ended = match attack(&mut stage) {
            Ok(()) => "goes on".to_owned(),
            Err(error) => error.to_string(),
        };
        let names = [("owner", &stage.owner), ("writer", &stage.writer), ("reader", &stage.reader)];
        writeln!(out, "{name}\n    {ended}; {}", known(&stage.owner, &names)).unwrap();
    }
    out
}

#[test]
fn a_peer_speaks_only_for_its_own_editors() {
    let [lesser, greater] = KeyOrder::ALL.map(outcomes);
    assert_eq!(lesser, greater, "the role of the attacker makes a difference");
    expect![[r#"
        control: an editor of a writer
            goes on; writer at plan [(7, "{\"user\":{\"name\":\"ana\"}}")]
        control: an editor of a reader
            goes on; reader at plan [(7, "{\"user\":{\"name\":\"ana\"}}")]
        control: a reader passes on an editor of a writer
            goes on; writer at plan [(7, "{\"user\":{\"name\":\"ana\"}}")]
        an editor in the name of another peer
            the peer violated the protocol: presence with an invalid signature; no editor
        an editor of another peer, changed
            the peer violated the protocol: presence with an invalid signature; no editor
        a certificate of another owner
            the peer violated the protocol: a certificate that the owner did not sign; no editor
        a signature for another workspace
            the peer violated the protocol: presence with an invalid signature; no editor
        a state that is not JSON
            the peer violated the protocol: presence that cannot be decoded; no editor
        257 editors at a document
            the peer violated the protocol: presence that cannot be decoded; no editor
        a state of 64 KiB
            the peer violated the protocol: presence that cannot be decoded; no editor
        fewer states than are counted
            the peer violated the protocol: presence that cannot be decoded; no editor
        an editor of a blocked peer, passed on
            goes on; no editor
        an editor of an expired peer, passed on
            goes on; no editor
        an editor of the peer itself
            goes on; no editor
        an older message of another peer
            goes on; writer at plan [(7, "{\"user\":{\"name\":\"ana\"}}")]
        a message of another peer after it has left
            goes on; no editor
        presence before admission
            the peer violated the protocol: its first message is not a hello; no editor
        a flood of messages
            the peer violated the protocol: too much presence; writer at plan [(7, "{\"user\":{\"name\":\"ana\"}}")]
        a flood of withdrawals
            the peer violated the protocol: too much presence; no editor
        a connection that ends
            goes on; no editor
    "#]].assert_eq(&lesser);
}

/// Connects two peers.
fn connect(dialer: &TestPeer, acceptor: &TestPeer) -> [PeerSession; 2] {
    let mut from = PeerSession::dialer(dialer.member.clone(), acceptor.member.id()).unwrap();
    let mut to = PeerSession::acceptor(acceptor.member.clone(), dialer.member.id()).unwrap();
    pump(&mut from, &mut to).unwrap();
    [from, to]
}

/// The owner, a reader and a writer in a chain: editors of one end are seen at the other, until
/// they leave or the connection ends.
#[test]
fn editors_are_seen_through_a_reader() {
    let owner = TestPeer::owner();
    let reader = owner.invite(PeerRights::Read);
    let writer = owner.invite(PeerRights::Write);
    let names = [("owner", &owner), ("writer", &writer), ("reader", &reader)];
    let mut left = connect(&reader, &owner);
    let mut right = connect(&writer, &reader);
    let settle = |left: &mut [PeerSession; 2], right: &mut [PeerSession; 2]| {
        for _ in 0..2 {
            let ([a, b], [c, d]) = (&mut *left, &mut *right);
            pump(a, b).unwrap();
            pump(c, d).unwrap();
        }
    };
    let doc = FileId::parse("plan").unwrap();
    writer.member.presence().set_test_editors(&writer.member, &doc, &ana().states);
    settle(&mut left, &mut right);
    let ana_there = r#"writer at plan [(7, "{\"user\":{\"name\":\"ana\"}}")]"#;
    assert_eq!(known(&reader, &names), ana_there);
    assert_eq!(known(&owner, &names), ana_there);
    assert_eq!(known(&writer, &names), ana_there);

    // The writer is cut off, and comes back.
    drop(right);
    // The reader asks the owner whether it has them by another way.
    let [a, b] = &mut left;
    pump(a, b).unwrap();
    assert_eq!(known(&reader, &names), "no editor");
    assert_eq!(known(&owner, &names), "no editor");
    let mut right = connect(&writer, &reader);
    settle(&mut left, &mut right);
    assert_eq!(known(&owner, &names), ana_there);

    // The editor leaves.
    writer.member.presence().set_test_editors(&writer.member, &doc, &encode(&[]));
    settle(&mut left, &mut right);
    assert_eq!(known(&owner, &names), "no editor");
    assert!(left[0].next_frame().unwrap().is_none());
}

/// Of three peers, two lose their connection: each sees the editors of the other without a pause,
/// through the third. Once the writer has lost the other connection as well, both forget it.
#[test]
fn editors_are_seen_while_there_is_any_way() {
    let owner = TestPeer::owner();
    let reader = owner.invite(PeerRights::Read);
    let writer = owner.invite(PeerRights::Write);
    let names = [("owner", &owner), ("writer", &writer), ("reader", &reader)];
    let mut to_owner = connect(&writer, &owner);
    let mut between = connect(&reader, &owner);
    let mut to_reader = connect(&writer, &reader);
    let doc = FileId::parse("plan").unwrap();
    writer.member.presence().set_test_editors(&writer.member, &doc, &ana().states);
    for _ in 0..2 {
        for [from, to] in [&mut to_owner, &mut between, &mut to_reader] {
            pump(from, to).unwrap();
        }
    }
    let ana_there = r#"writer at plan [(7, "{\"user\":{\"name\":\"ana\"}}")]"#;
    assert_eq!(known(&owner, &names), ana_there);
    drop(to_owner);
    assert_eq!(known(&owner, &names), ana_there);
    for _ in 0..2 {
        for [from, to] in [&mut between, &mut to_reader] {
            pump(from, to).unwrap();
        }
        assert_eq!(known(&owner, &names), ana_there);
        assert_eq!(known(&reader, &names), ana_there);
    }
    drop(to_reader);
    let [from, to] = &mut between;
    pump(from, to).unwrap();
    assert_eq!(known(&owner, &names), "no editor");
    assert_eq!(known(&reader, &names), "no editor");
}

/// A peer that is blocked vanishes, whichever connections delivered its editors.
#[test]
fn editors_of_a_peer_that_lost_its_right_vanish() {
    let owner = TestPeer::owner();
    let writer = owner.invite(PeerRights::Write);
    let names = [("owner", &owner), ("writer", &writer)];
    let [mut from, mut to] = connect(&writer, &owner);
    let doc = FileId::parse("plan").unwrap();
    writer.member.presence().set_test_editors(&writer.member, &doc, &ana().states);
    pump(&mut from, &mut to).unwrap();
    owner.member.expire_presence();
    assert_ne!(known(&owner, &names), "no editor");
    owner.member.block(BlockTarget::Peer(writer.member.id())).unwrap();
    owner.member.expire_presence();
    assert_eq!(known(&owner, &names), "no editor");
}

/// A server gets the editors of other peers through the socket, and no other workspace does. The
/// path is longer than that of a socket may be.
#[tokio::test]
async fn a_server_exchanges_presence_through_the_socket_of_its_workspace() {
    let home = tempfile::tempdir().unwrap();
    let dir = home.path().join("d".repeat(120));
    fs::create_dir(&dir).unwrap();
    let owner = TestPeer::owner();
    let writer = owner.invite(PeerRights::Write);
    // A process that was killed has left its socket.
    fs::write(dir.join("peers.sock"), "").unwrap();
    let host = LocalPresenceHost::start(&dir, &owner.member).unwrap();
    let mode = fs::metadata(dir.join("peers.sock")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);

    let another = WorkspaceId::parse("another").unwrap();
    let (_sender, received) = LocalPresence::connect(&dir, &another).await.unwrap().split();
    let ended = timeout(PATIENCE, pin!(received).next()).await.expect("the connection ends");
    assert!(ended.unwrap().is_err());

    let own = owner.workspace().id();
    let (mut sender, received) = LocalPresence::connect(&dir, own).await.unwrap().split();
    let mut received = Box::pin(received);
    let doc = FileId::parse("plan").unwrap();
    sender.send(&doc, [PresenceEntry { id: 9, clock: 1, state: "{}" }]).await.unwrap();
    let names = [("owner", &owner), ("writer", &writer)];
    while known(&owner, &names) != "owner at plan [(9, \"{}\")]" {
        yield_now().await;
    }
    let sessions = connect(&writer, &owner);
    assert!(known(&writer, &names).starts_with("owner at plan"));
    let [mut from, mut to] = sessions;
    writer.member.presence().set_test_editors(&writer.member, &doc, &ana().states);
    pump(&mut from, &mut to).unwrap();
    let seen = |states: Vec<u8>| RemotePresence {
        peer: writer.member.id(),
        doc: FileId::parse("plan").unwrap(),
        states,
    };
    assert_eq!(received.next().await.unwrap().unwrap(), seen(ana().states));
    // A process that wants the present state once.
    let list = async || {
        let listing = LocalPresence::connect(&dir, own).await.unwrap();
        timeout(PATIENCE, listing.read_all()).await.expect("an end").unwrap()
    };
    let listed = list().await;
    assert_eq!(listed, [seen(ana().states)]);
    assert_eq!(listed[0].editor_states(), [r#"{"user":{"name":"ana"}}"#]);
    drop(to);
    assert_eq!(received.next().await.unwrap().unwrap(), seen(encode(&[])));
    assert_eq!(list().await, []);

    // The server ends, and then the process that has the socket.
    drop((sender, received));
    while known(&owner, &names) != "no editor" {
        yield_now().await;
    }
    drop(host);
    assert!(!dir.join("peers.sock").exists());
    assert!(LocalPresence::connect(&dir, own).await.is_err());
}
