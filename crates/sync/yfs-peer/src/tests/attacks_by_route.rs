//! Updates of keys that may not write, by every route on which they can arrive; and lies, replays,
//! and floods of members (see the table in `docs/spec/peer-attacks.md`).

use yfs_engine::{hash::ContentHash, id::FileId, time::Millis};
use yfs_replica::FrameSession;
use yfs_sync::replica::ReplicaMessage;

use super::{
    group::{KeyOrder, TestPeer, admitted, beginning, exchange, request, updates_frame},
    stage::{Attack, HOUR, Stage, expiring, play},
};
use crate::{
    contact::PeerContact,
    peer_error::PeerError,
    peer_grant::{BlockTarget, PeerRights},
    peer_message::PeerMessage,
    peer_session::PeerSession,
};

/// A key that may not write, and has made a change.
fn unfit(stage: &Stage, kind: &str) -> TestPeer {
    let peer = match kind {
        "reader" => stage.reader.clone(),
        "expired" => expiring(stage, PeerRights::Write),
        _ => stage.owner.invite(PeerRights::Write),
    };
    peer.write("evil", "x");
    peer
}

/// Takes the right from the key.
fn withdraw(stage: &Stage, peer: &TestPeer, kind: &str) -> Result<(), PeerError> {
    match kind {
        "expired" => stage.owner.clock.advance(2 * HOUR),
        "blocked" => stage.owner.member.block(BlockTarget::Peer(peer.member.id()))?,
        "blocked ticket" => {
            let ticket = peer.member.certificate()?.signed.grant.id;
            stage.owner.member.block(BlockTarget::Ticket(ticket))?;
        }
        _ => {}
    }
    Ok(())
}

/// Carries the updates of a key that may not write over a connection of another member.
fn carry(stage: &mut Stage, kind: &str, carrier: &TestPeer) -> Result<(), PeerError> {
    let peer = unfit(stage, kind);
    stage.admit(carrier)?;
    withdraw(stage, &peer, kind)?;
    stage.send_all(peer.updates().iter().map(|frame| peer.carried(frame)))
}

/// Sends the updates of a key that loses its right during its own connection.
fn send(stage: &mut Stage, kind: &str) -> Result<(), PeerError> {
    let peer = unfit(stage, kind);
    stage.admit(&peer)?;
    withdraw(stage, &peer, kind)?;
    stage.send_all(peer.updates().iter().map(|frame| peer.signed(frame)))
}

/// The owner calls a key that may not write, and gets its updates.
fn host(stage: &mut Stage, kind: &str) -> Result<(), PeerError> {
    let peer = unfit(stage, kind);
    let mut dialer = PeerSession::dialer(stage.owner.member.clone(), peer.member.id())?;
    let certificate = peer.member.certificate()?;
    dialer.receive(&admitted(certificate))?;
    dialer.receive(&beginning(&peer, &stage.owner))?;
    withdraw(stage, &peer, kind)?;
    peer.updates().iter().try_for_each(|frame| dialer.receive(&peer.signed(frame)))
}

/// The owner calls a key that has lost its right before.
fn host_later(stage: &mut Stage, kind: &str) -> Result<(), PeerError> {
    let peer = unfit(stage, kind);
    withdraw(stage, &peer, kind)?;
    exchange(&stage.owner, &peer)
}

/// Keys that may not write, by the route of their updates.
const ROUTES: &[(&str, Attack)] = &[
    ("signed: a reader", |stage| send(stage, "reader")),
    ("signed: expired since", |stage| send(stage, "expired")),
    ("signed: blocked since", |stage| send(stage, "blocked")),
    ("signed: its ticket blocked since", |stage| send(stage, "blocked ticket")),
    ("carried by a writer: a reader", |stage| carry(stage, "reader", &stage.writer.clone())),
    ("carried by a writer: expired", |stage| carry(stage, "expired", &stage.writer.clone())),
    ("carried by a writer: blocked", |stage| carry(stage, "blocked", &stage.writer.clone())),
    ("carried by a writer: its ticket blocked", |stage| {
        carry(stage, "blocked ticket", &stage.writer.clone())
    }),
    ("carried by a reader: another reader", |stage| {
        let carrier = stage.owner.invite(PeerRights::Read);
        carry(stage, "reader", &carrier)
    }),
    ("carried by a reader: expired", |stage| carry(stage, "expired", &stage.reader.clone())),
    ("carried by a reader: blocked", |stage| carry(stage, "blocked", &stage.reader.clone())),
    ("carried by a reader: its ticket blocked", |stage| {
        carry(stage, "blocked ticket", &stage.reader.clone())
    }),
    ("a host: a reader", |stage| host(stage, "reader")),
    ("a host: expired since", |stage| host(stage, "expired")),
    ("a host: blocked since", |stage| host(stage, "blocked")),
    ("a host: its ticket blocked since", |stage| host(stage, "blocked ticket")),
    ("a host: expired before", |stage| host_later(stage, "expired")),
    ("a host: blocked before", |stage| host_later(stage, "blocked")),
    ("a host: its ticket blocked before", |stage| host_later(stage, "blocked ticket")),
    ("a contact: blocked", |stage| {
        let peer = stage.owner.invite(PeerRights::Write);
        stage.owner.member.block(BlockTarget::Peer(peer.member.id()))?;
        stage.writer()?;
        let certificate = peer.member.certificate()?;
        let contact = PeerContact::sign(peer.member.key(), certificate, vec![], Millis(1));
        stage.send(&PeerMessage::Contacts(vec![contact]).encode())?;
        let known = stage.owner.member.contacts()?;
        assert!(!known.iter().any(|contact| contact.peer == peer.member.id()));
        Ok(())
    }),
];

/// Lies, replays and forks of members.
const LIES: &[(&str, Attack)] = &[
    ("a recorded message of another connection", |stage| {
        // The message was right when it was signed; now its signer is blocked.
        let writer = stage.writer()?;
        let recorded: Vec<_> = writer.updates().iter().map(|frame| writer.signed(frame)).collect();
        stage.owner.member.block(BlockTarget::Peer(writer.member.id()))?;
        stage.admit(&stage.reader.clone())?;
        stage.send_all(recorded)
    }),
    ("the messages of a writer as one's own", |stage| {
        let writer = stage.writer.clone();
        writer.write("evil", "x");
        let thief = stage.owner.invite(PeerRights::Write);
        stage.admit(&thief)?;
        stage.send_all(writer.updates().iter().map(|frame| writer.signed(frame)))
    }),
    ("an update that cannot be decoded", |stage| {
        let writer = stage.writer()?;
        let main = stage.owner.workspace().id().clone();
        stage.send(&writer.signed(&updates_frame(&main, &[0xff; 40], false)))
    }),
    ("an update that counts more structs than it has", |stage| {
        let writer = stage.writer()?;
        let mut update = Vec::new();
        for number in [1, 1 << 40, 1, 0] {
            yfs_engine::lib0::write_var_uint(&mut update, number);
        }
        let main = stage.owner.workspace().id().clone();
        stage.send(&writer.signed(&updates_frame(&main, &update, false)))
    }),
    ("more updates than a message may have", |stage| {
        let writer = stage.writer()?;
        let mut frame = vec![2];
        yfs_engine::lib0::write_var_uint(&mut frame, 1 << 40);
        stage.send(&writer.signed(&frame))
    }),
    ("a hub of another workspace", |stage| {
        *stage = Stage::new(KeyOrder::MembersGreater);
        let workspace = FileId::parse("4f7c2a9e1b3d5f0").expect("it is an id");
        let attacker = stage.writer.clone();
        stage.connect(&attacker)?;
        stage.send(&attacker.hello())?;
        stage.send(&welcome(workspace))
    }),
    ("two welcomes", |stage| {
        *stage = Stage::new(KeyOrder::MembersGreater);
        stage.writer()?;
        stage.send(&welcome(stage.owner.workspace().id().clone()))
    }),
    ("a welcome by the guest", |stage| {
        *stage = Stage::new(KeyOrder::MembersLesser);
        stage.writer()?;
        stage.send(&welcome(stage.owner.workspace().id().clone()))
    }),
    ("a beginning by the hub", |stage| {
        *stage = Stage::new(KeyOrder::MembersGreater);
        stage.writer()?;
        stage.send(&ReplicaMessage::Hello { since: "", summarizes: false }.encode())
    }),
    ("a hub that knows no marks, takes no changes and sends none", |stage| {
        *stage = Stage::new(KeyOrder::MembersGreater);
        let attacker = stage.writer.clone();
        stage.connect(&attacker)?;
        stage.send(&attacker.hello())?;
        let workspace = stage.owner.workspace().id().clone();
        let welcome = ReplicaMessage::Welcome {
            workspace,
            resumed: false,
            writable: false,
            summarizes: true,
        };
        stage.send(&welcome.encode())
    }),
    ("a summary that is not due", |stage| {
        stage.writer()?;
        stage.send(&ReplicaMessage::Summary(&[]).encode())
    }),
    ("a second beginning of the exchange", |stage| {
        stage.writer()?;
        stage.send(&ReplicaMessage::Hello { since: "", summarizes: false }.encode())
    }),
    ("hashes of parts that were not requested", |stage| {
        stage.writer()?;
        let hash = ContentHash::of(b"blob");
        stage.send(&ReplicaMessage::Tree { hash, parts: hash.as_bytes() }.encode())
    }),
    ("a part that was not requested", |stage| {
        stage.writer()?;
        let hash = ContentHash::of(b"blob");
        stage.send(&ReplicaMessage::Part { hash, index: 0, data: b"blob" }.encode())
    }),
    ("a blob that is said to be lacking and was not requested", |stage| {
        stage.writer()?;
        stage.send(&ReplicaMessage::Lacking(ContentHash::of(b"blob")).encode())
    }),
    ("a million requests for parts", |stage| {
        stage.admit(&stage.reader.clone())?;
        let hash = ContentHash::of(b"blob");
        let session = stage.session.as_mut().expect("it is connected");
        (0..1_000_000).try_for_each(|index| {
            session.receive(&ReplicaMessage::WantPart { hash, index }.encode())
        })
    }),
    ("a million requests for hashes of parts", |stage| {
        stage.admit(&stage.reader.clone())?;
        let want = ReplicaMessage::WantTree(ContentHash::of(b"blob")).encode();
        let session = stage.session.as_mut().expect("it is connected");
        (0..1_000_000).try_for_each(|_| session.receive(&want))
    }),
    ("a contact from the far future", |stage| {
        let writer = stage.writer()?;
        let certificate = writer.member.certificate()?;
        let far = Millis(i64::MAX >> 11);
        let contact = PeerContact::sign(writer.member.key(), certificate, vec![], far);
        stage.send(&PeerMessage::Contacts(vec![contact]).encode())
    }),
    ("a thousand refused messages at once", |stage| {
        let reader = stage.reader()?;
        let other = stage.owner.invite(PeerRights::Read);
        other.write("evil", "y");
        let frames = other.updates();
        for _ in 0..1000 / frames.len() {
            stage.send_all(frames.iter().map(|frame| other.carried(frame)))?;
        }
        drop(reader);
        // Equal updates are kept once.
        assert!(stage.owner.n_quarantined() <= frames.len());
        Ok(())
    }),
];

fn welcome(workspace: FileId) -> Vec<u8> {
    ReplicaMessage::Welcome { workspace, resumed: true, writable: true, summarizes: false }.encode()
}

#[test]
fn keys_that_may_not_write_are_refused_by_every_route() {
    expect_test::expect![[r#"
        signed: a reader
            the peer sent changes that it may not make (its key may only read); they are in the quarantine, quarantined; /plan=1
        signed: expired since
            the peer sent changes that it may not make (its certificate has expired); they are in the quarantine, quarantined; /plan=1
        signed: blocked since
            the peer sent changes that it may not make (its key is blocked); they are in the quarantine, quarantined; /plan=1
        signed: its ticket blocked since
            the peer sent changes that it may not make (its key is blocked); they are in the quarantine, quarantined; /plan=1
        carried by a writer: a reader
            goes on, quarantined; /plan=1
        carried by a writer: expired
            goes on, quarantined; /plan=1
        carried by a writer: blocked
            goes on, quarantined; /plan=1
        carried by a writer: its ticket blocked
            goes on, quarantined; /plan=1
        carried by a reader: another reader
            goes on, quarantined; /plan=1
        carried by a reader: expired
            goes on, quarantined; /plan=1
        carried by a reader: blocked
            goes on, quarantined; /plan=1
        carried by a reader: its ticket blocked
            goes on, quarantined; /plan=1
        a host: a reader
            the peer sent changes that it may not make (its key may only read); they are in the quarantine, quarantined; /plan=1
        a host: expired since
            the peer sent changes that it may not make (its certificate has expired); they are in the quarantine, quarantined; /plan=1
        a host: blocked since
            the peer sent changes that it may not make (its key is blocked); they are in the quarantine, quarantined; /plan=1
        a host: its ticket blocked since
            the peer sent changes that it may not make (its key is blocked); they are in the quarantine, quarantined; /plan=1
        a host: expired before
            refused the peer: the certificate has expired; /plan=1
        a host: blocked before
            refused the peer: the key or its ticket is blocked; /plan=1
        a host: its ticket blocked before
            refused the peer: the key or its ticket is blocked; /plan=1
        a contact: blocked
            goes on; /plan=1
    "#]].assert_eq(&play(ROUTES));
}

#[test]
fn lies_and_replays_change_nothing() {
    expect_test::expect![[r#"
        a recorded message of another connection
            the peer sent changes that it may not make (its signature is invalid); they are in the quarantine, quarantined; /plan=1
        the messages of a writer as one's own
            the peer sent changes that it may not make (its signature is invalid); they are in the quarantine, quarantined; /plan=1
        an update that cannot be decoded
            goes on, quarantined; /plan=1
        an update that counts more structs than it has
            goes on, quarantined; /plan=1
        more updates than a message may have
            the peer violated the protocol: a signed message without updates; /plan=1
        a hub of another workspace
            the server has another workspace, 4f7c2a9e1b3d5f0; to copy it, run `yfs clone` in another directory; /plan=1
        two welcomes
            the peer sent the message welcome when the protocol does not allow it; /plan=1
        a welcome by the guest
            the peer sent the message welcome when the protocol does not allow it; /plan=1
        a beginning by the hub
            the peer sent the message hello when the protocol does not allow it; /plan=1
        a hub that knows no marks, takes no changes and sends none
            goes on; /plan=1
        a summary that is not due
            the peer sent the message summary when the protocol does not allow it; /plan=1
        a second beginning of the exchange
            the peer sent the message hello when the protocol does not allow it; /plan=1
        hashes of parts that were not requested
            the peer sent a blob that was not requested; /plan=1
        a part that was not requested
            the peer sent a blob that was not requested; /plan=1
        a blob that is said to be lacking and was not requested
            goes on; /plan=1
        a million requests for parts
            the peer requested too many blobs at once; /plan=1
        a million requests for hashes of parts
            the peer requested too many blobs at once; /plan=1
        a contact from the far future
            goes on; /plan=1
        a thousand refused messages at once
            goes on, quarantined; /plan=1
    "#]].assert_eq(&play(LIES));
}

/// A ticket for many lets its holder make any number of keys. Their contacts fill a bounded list,
/// and a block of the ticket makes room again.
#[test]
fn contacts_of_a_thousand_keys_take_a_bounded_list() {
    let mut stage = Stage::new(KeyOrder::MembersLesser);
    let ticket = stage.owner.ticket(request(PeerRights::Write));
    let writer = stage.writer().unwrap();
    for _ in 0..300 {
        let key = stage.owner.join(&ticket).member;
        let certificate = key.certificate().unwrap();
        let contact = PeerContact::sign(key.key(), certificate, vec![], Millis(1));
        stage.send(&PeerMessage::Contacts(vec![contact]).encode()).unwrap();
    }
    assert_eq!(stage.owner.member.contacts().unwrap().len(), 256);
    stage.owner.member.block(BlockTarget::Ticket(ticket.signed.grant.id)).unwrap();
    let certificate = writer.member.certificate().unwrap();
    let contact = PeerContact::sign(writer.member.key(), certificate, vec![], Millis(1));
    stage.send(&PeerMessage::Contacts(vec![contact]).encode()).unwrap();
    let known = stage.owner.member.contacts().unwrap();
    assert!(known.len() < 256 && known.iter().any(|known| known.peer == writer.member.id()));
}

/// Each side gives the other a bounded time for its first message and for what it owes.
#[test]
fn a_peer_that_stalls_is_given_up() {
    for order in KeyOrder::ALL {
        let stage = Stage::new(order);
        let (owner, writer) = (&stage.owner.member, &stage.writer.member);
        let mut acceptor = PeerSession::acceptor(owner.clone(), writer.id()).unwrap();
        let mut dialer = PeerSession::dialer(owner.clone(), writer.id()).unwrap();
        for session in [&acceptor, &dialer] {
            let patience = session.patience().expect("an answer is due");
            assert!(patience.as_secs() <= 60, "{patience:?}");
        }
        // A peer that is admitted, or admits, and then never begins the exchange.
        acceptor.receive(&stage.writer.hello()).unwrap();
        let certificate = writer.certificate().unwrap();
        dialer.receive(&admitted(certificate)).unwrap();
        for session in [acceptor, dialer] {
            assert!(session.is_open() && session.patience().is_some(), "{order:?}");
        }
    }
}
