//! What a bad peer does, and what comes of it.
//!
//! Each entry is an attack on a peer that has the file `/plan`: how the connection ends, whether
//! updates are in quarantine afterwards, and the files. Where an attacker's change would
//! appear, it is the file `/evil`.

use yfs_engine::{hash::ContentHash, id::FileId, time::Millis};
use yfs_replica::FrameSession;
use yfs_sync::replica::ReplicaMessage;

use super::{
    group::{KeyOrder, TestPeer, admitted, beginning, exchange, pump, request, updates_frame},
    stage::{Attack, HOUR, Stage, altered, expiring, once, play},
};
use crate::{
    contact::PeerContact,
    membership::PeerNote,
    peer_error::PeerError,
    peer_grant::{BlockTarget, PeerCertificate, PeerRights, SignedBlock, TicketGrant},
    peer_key::{PeerSecretKey, SIGNATURE_LEN},
    peer_message::PeerMessage,
    peer_session::PeerSession,
};

/// Attacks on admission.
const ADMISSION: &[(&str, Attack)] = &[
    ("control: an honest peer", |stage| stage.writer().map(drop)),
    ("noise as the first message", |stage| {
        stage.connect(&stage.writer.clone())?;
        stage.send(&[0xff; 100])
    }),
    ("an empty first message", |stage| {
        stage.connect(&stage.writer.clone())?;
        stage.send(&[])
    }),
    ("updates as the first message", |stage| {
        let writer = stage.writer.clone();
        writer.write("evil", "x");
        stage.connect(&writer)?;
        let frames: Vec<_> = writer.updates().iter().map(|frame| writer.signed(frame)).collect();
        stage.send_all(frames)
    }),
    ("a first message of 5 KiB", |stage| {
        stage.connect(&stage.writer.clone())?;
        let mut hello = stage.writer.hello();
        hello.resize(5 << 10, 0);
        stage.send(&hello)
    }),
    ("a hello with bytes after its end", |stage| {
        stage.connect(&stage.writer.clone())?;
        let mut hello = stage.writer.hello();
        hello.push(0);
        stage.send(&hello)
    }),
    ("a hello for another workspace", |stage| {
        let writer = stage.writer.clone();
        stage.connect(&writer)?;
        let workspace = TestPeer::owner().workspace().id().clone();
        let certificate = writer.member.certificate()?;
        stage.send(&PeerMessage::Hello { workspace, certificate, is_complete: true }.encode())
    }),
    ("the certificate of another peer", |stage| {
        let stolen = stage.writer.member.certificate()?;
        stage.show(&stage.owner.stranger(), stolen)
    }),
    ("a certificate of another owner", |stage| {
        let writer = stage.writer.clone();
        stage.show(&writer, altered(&writer, |_| {}))
    }),
    ("a certificate of another workspace of the same owner", |stage| {
        let guest = stage.owner.stranger();
        let key = stage.owner.member.owner_key()?.expect("it is the owner");
        let mut grant = stage.writer.member.certificate()?.signed.grant;
        grant.workspace = TestPeer::owner().workspace().id().clone();
        stage.show(&guest, grant.sign(&key).bind_by_owner(&key, guest.member.id()))
    }),
    ("read changed to write", |stage| {
        let reader = stage.reader.clone();
        let bytes = reader.member.certificate()?.encode();
        // The flags come after version, id, workspace and key.
        let at = 1 + 12 + 1 + reader.workspace().id().as_str().len() + 32;
        let mut changed = bytes.clone();
        changed[at] |= 1;
        stage.show(&reader, PeerCertificate::decode(&changed).expect("it is well formed"))
    }),
    ("the end of a certificate removed", |stage| {
        let guest = expiring(stage, PeerRights::Write);
        stage.owner.clock.advance(2 * HOUR);
        let honest = guest.member.certificate()?;
        stage.show(
            &guest,
            altered(&guest, |grant| {
                *grant = TicketGrant { expires: None, ..honest.signed.grant.clone() }
            }),
        )
    }),
    ("a grant bound with another key than the ticket's", |stage| {
        let guest = stage.owner.stranger();
        let signed = stage.writer.member.certificate()?.signed;
        stage.show(&guest, signed.bind(&PeerSecretKey::from_seed([9; 32]), guest.member.id()))
    }),
    ("a grant bound as if by the owner", |stage| {
        let guest = stage.owner.stranger();
        let signed = stage.writer.member.certificate()?.signed;
        let forged = PeerSecretKey::from_seed([9; 32]);
        stage.show(&guest, signed.bind_by_owner(&forged, guest.member.id()))
    }),
    ("an expired certificate", |stage| {
        let guest = expiring(stage, PeerRights::Write);
        stage.owner.clock.advance(2 * HOUR);
        stage.admit(&guest)
    }),
    ("a blocked peer", |stage| {
        stage.owner.member.block(BlockTarget::Peer(stage.writer.member.id()))?;
        stage.writer().map(drop)
    }),
    ("a new key with a blocked ticket", |stage| {
        let ticket = stage.owner.ticket(request(PeerRights::Write));
        stage.owner.member.block(BlockTarget::Ticket(ticket.signed.grant.id))?;
        stage.admit(&stage.owner.join(&ticket))
    }),
    ("a peer that this store alone blocked", |stage| {
        let note = PeerNote { is_blocked: true, ..PeerNote::default() };
        stage.owner.member.set_note(stage.writer.member.id(), &note)?;
        stage.writer().map(drop)
    }),
    ("control: a ticket for one peer", |stage| {
        let ticket = once(stage);
        exchange(&stage.owner.join(&ticket), &stage.owner)
    }),
    ("a ticket for one peer, used twice", |stage| {
        let ticket = once(stage);
        exchange(&stage.owner.join(&ticket), &stage.owner)?;
        stage.admit(&stage.owner.join(&ticket))
    }),
    ("a ticket for one peer, at another than its issuer", |stage| {
        let ticket = once(stage);
        let (guest, writer) = (stage.owner.join(&ticket), stage.writer.clone());
        let mut session = PeerSession::acceptor(writer.member.clone(), guest.member.id())?;
        session.receive(&guest.hello())?;
        while session.next_frame()?.is_some() {}
        session.denied().map_or(Ok(()), |code| Err(PeerError::Denies(code)))
    }),
    ("a second hello", |stage| {
        let writer = stage.writer()?;
        stage.send(&writer.hello())
    }),
    ("an admission by the side that asks", |stage| {
        let writer = stage.writer()?;
        let certificate = writer.member.certificate()?;
        stage.send(&admitted(certificate))
    }),
    ("a host with the certificate of another", |stage| {
        let writer = stage.writer.clone();
        let mut dialer = PeerSession::dialer(writer.member.clone(), stage.reader.member.id())?;
        let certificate = stage.owner.member.certificate()?;
        dialer.receive(&admitted(certificate))
    }),
    ("a host that renews the certificate of another key", |stage| {
        let writer = stage.writer.clone();
        let mut dialer = PeerSession::dialer(writer.member.clone(), stage.owner.member.id())?;
        let certificate = stage.owner.member.certificate()?;
        let renewed = Some(Box::new(stage.reader.member.certificate()?));
        dialer.receive(&PeerMessage::Admitted { certificate, renewed, is_complete: true }.encode())
    }),
    ("a host that answers with updates", |stage| {
        let writer = stage.writer.clone();
        let mut dialer = PeerSession::dialer(writer.member.clone(), stage.owner.member.id())?;
        let frames = stage.owner.updates();
        dialer.receive(&stage.owner.signed(&frames[0]))
    }),
];

/// Attacks with updates.
const UPDATES: &[(&str, Attack)] = &[
    ("control: an honest change", |stage| {
        let writer = stage.writer()?;
        stage.send_all(writer.updates().iter().map(|frame| writer.signed(frame)))
    }),
    ("updates without a signature", |stage| {
        let writer = stage.writer()?;
        stage.send_all(writer.updates())
    }),
    ("updates of a reader", |stage| {
        let reader = stage.reader()?;
        stage.send_all(reader.updates().iter().map(|frame| reader.signed(frame)))
    }),
    ("updates of a reader, with an empty signature", |stage| {
        let reader = stage.reader()?;
        let frame = reader.updates().remove(0);
        let signature = [0; SIGNATURE_LEN];
        stage.send(&PeerMessage::Signed { signature, frame: &frame }.encode())
    }),
    ("a signature of other updates", |stage| {
        let writer = stage.writer()?;
        let frames = writer.updates();
        let signature = writer.sign(&frames[0]);
        let frame = frames.last().expect("there are updates");
        stage.send(&PeerMessage::Signed { signature, frame }.encode())
    }),
    ("a signature made for another workspace", |stage| {
        let writer = stage.writer()?;
        let frame = writer.updates().remove(0);
        let signature = writer.member.key().sign(&crate::peer_session::batch_bytes("x", &frame));
        stage.send(&PeerMessage::Signed { signature, frame: &frame }.encode())
    }),
    ("a certificate that expires during the connection", |stage| {
        let guest = expiring(stage, PeerRights::Write);
        stage.admit(&guest)?;
        guest.write("evil", "x");
        stage.owner.clock.advance(2 * HOUR);
        stage.send_all(guest.updates().iter().map(|frame| guest.signed(frame)))
    }),
    ("a block during the connection", |stage| {
        let writer = stage.writer()?;
        stage.owner.member.block(BlockTarget::Peer(writer.member.id()))?;
        stage.send_all(writer.updates().iter().map(|frame| writer.signed(frame)))
    }),
    ("a reader whose certificate expires during the connection", |stage| {
        let guest = expiring(stage, PeerRights::Read);
        stage.admit(&guest)?;
        stage.owner.clock.advance(2 * HOUR);
        stage.session.as_mut().expect("it is connected").check_standing()
    }),
    ("control: a reader carries a writer's updates", |stage| {
        stage.writer.write("evil", "x");
        let frames: Vec<_> =
            stage.writer.updates().iter().map(|frame| stage.writer.carried(frame)).collect();
        stage.admit(&stage.reader.clone())?;
        stage.send_all(frames)
    }),
    ("a reader carries a reader's updates", |stage| {
        let reader = stage.reader()?;
        stage.send_all(reader.updates().iter().map(|frame| reader.carried(frame)))
    }),
    ("a reader carries its updates as a writer's", |stage| {
        let reader = stage.reader()?;
        let certificate = stage.writer.member.certificate()?;
        let frame = reader.updates().remove(0);
        let signature = reader.sign(&frame);
        stage.send(&PeerMessage::Carried { certificate, signature, frame: &frame }.encode())
    }),
    ("a reader carries a writer's updates, changed", |stage| {
        stage.writer.write("evil", "x");
        let frame = stage.writer.updates().remove(0);
        let signature = stage.writer.sign(&frame);
        let mut changed = frame.clone();
        *changed.last_mut().expect("it is not empty") ^= 1;
        stage.admit(&stage.reader.clone())?;
        let certificate = stage.writer.member.certificate()?;
        stage.send(&PeerMessage::Carried { certificate, signature, frame: &changed }.encode())
    }),
    ("a writer carries a blocked peer's updates", |stage| {
        let blocked = stage.owner.invite(PeerRights::Write);
        blocked.write("evil", "x");
        stage.admit(&stage.writer.clone())?;
        stage.owner.member.block(BlockTarget::Peer(blocked.member.id()))?;
        stage.send_all(blocked.updates().iter().map(|frame| blocked.carried(frame)))
    }),
    ("a reader carries an expired peer's updates", |stage| {
        let guest = expiring(stage, PeerRights::Write);
        guest.write("evil", "x");
        stage.admit(&stage.reader.clone())?;
        stage.owner.clock.advance(2 * HOUR);
        stage.send_all(guest.updates().iter().map(|frame| guest.carried(frame)))
    }),
    ("a reader carries a stranger's updates", |stage| {
        let stranger = stage.writer.clone();
        stranger.write("evil", "x");
        let frame = stranger.updates().remove(0);
        let (certificate, signature) = (altered(&stranger, |_| {}), stranger.sign(&frame));
        stage.admit(&stage.reader.clone())?;
        stage.send(&PeerMessage::Carried { certificate, signature, frame: &frame }.encode())
    }),
    ("a writer that receives from a reader's changed log", |stage| {
        // The host is the reader: the owner connects to it, and gets nothing of its own.
        stage.reader.write("evil", "x");
        exchange(&stage.owner, &stage.reader.clone())
    }),
    ("updates that are sent twice", |stage| {
        let writer = stage.writer()?;
        let frames: Vec<_> = writer.updates().iter().map(|frame| writer.signed(frame)).collect();
        stage.send_all(frames.clone())?;
        stage.send_all(frames)
    }),
    ("a signed message without updates", |stage| {
        let writer = stage.writer()?;
        stage.send(&writer.signed(&ReplicaMessage::Want(vec![]).encode()))
    }),
    ("an update that makes yrs loop", |stage| {
        let writer = stage.writer()?;
        let update = [1, 1, 1, 0, 4, 1, 1, 0x61, 2, 0xc3, 0xa9, 0];
        let main = stage.owner.workspace().id().clone();
        stage.send(&writer.signed(&updates_frame(&main, &update, false)))
    }),
    ("an update of a document without a file", |stage| {
        let writer = stage.writer()?;
        let doc = FileId::parse("4f7c2a9e1b3d5f0").expect("it is an id");
        stage.send(&writer.signed(&updates_frame(&doc, &[0, 0], false)))
    }),
    ("updates before the exchange has begun", |stage| {
        let writer = stage.writer.clone();
        writer.write("evil", "x");
        stage.connect(&writer)?;
        stage.send(&writer.hello())?;
        stage.send_all(writer.updates().iter().map(|frame| writer.signed(frame)))
    }),
];

/// Floods, lies and forged records.
const COMPANY: &[(&str, Attack)] = &[
    ("a million requests for blobs", |stage| {
        stage.admit(&stage.reader.clone())?;
        for round in 0..16_u32 {
            let hash = |n: u32| ContentHash::of(&(round << 16 | n).to_le_bytes());
            let want = ReplicaMessage::Want((0..1 << 16).map(hash).collect());
            stage.session.as_mut().expect("it is connected").receive(&want.encode())?;
        }
        Ok(())
    }),
    ("a blob that was not requested", |stage| {
        let writer = stage.writer()?;
        drop(writer);
        let hash = ContentHash::of(b"blob");
        stage.send(&ReplicaMessage::Blob { hash, is_last: true, data: b"blob" }.encode())
    }),
    ("confirmations of what was not sent", |stage| {
        stage.writer()?;
        let taken = ReplicaMessage::Taken { cursor: "0.1" }.encode();
        (0..10).try_for_each(|_| stage.send(&taken))
    }),
    ("a peer that sends a million positions and reads nothing", |stage| {
        stage.writer()?;
        let reached = ReplicaMessage::Reached { cursor: "0.1", is_end: true }.encode();
        let session = stage.session.as_mut().expect("it is connected");
        (0..1_000_000).try_for_each(|_| session.receive(&reached))
    }),
    ("a message longer than any", |stage| {
        stage.writer()?;
        stage.send(&vec![70; (64 << 20) + (5 << 10)])
    }),
    ("a message of an unknown type", |stage| {
        stage.writer()?;
        stage.send(&[99])
    }),
    ("a block that a peer signed", |stage| {
        let writer = stage.writer()?;
        let target = BlockTarget::Peer(stage.reader.member.id());
        let workspace = stage.owner.workspace().id();
        let forged = SignedBlock::sign(target, workspace, Millis(1), writer.member.key());
        stage.send(&PeerMessage::Blocks(vec![forged]).encode())
    }),
    ("the owner's block of another workspace", |stage| {
        stage.writer()?;
        let target = BlockTarget::Peer(stage.reader.member.id());
        let other = TestPeer::owner();
        let key = stage.owner.member.owner_key()?.expect("it is the owner");
        let block = SignedBlock::sign(target, other.workspace().id(), Millis(1), &key);
        stage.send(&PeerMessage::Blocks(vec![block]).encode())
    }),
    ("a block of the peer that passes it on", |stage| {
        let writer = stage.writer()?;
        let key = stage.owner.member.owner_key()?.expect("it is the owner");
        let target = BlockTarget::Peer(writer.member.id());
        let block = SignedBlock::sign(target, stage.owner.workspace().id(), Millis(1), &key);
        stage.send(&PeerMessage::Blocks(vec![block]).encode())
    }),
    ("more blocks than a message may have", |stage| {
        stage.writer()?;
        let target = BlockTarget::Peer(stage.reader.member.id());
        let key = stage.owner.member.owner_key()?.expect("it is the owner");
        let block = SignedBlock::sign(target, stage.owner.workspace().id(), Millis(1), &key);
        stage.send(&PeerMessage::Blocks(vec![block; 4097]).encode())
    }),
    ("a count of blocks without blocks", |stage| {
        stage.writer()?;
        let mut frame = vec![67];
        yfs_engine::lib0::write_var_uint(&mut frame, 1 << 40);
        stage.send(&frame)
    }),
    ("more contacts than a message may have", |stage| {
        let writer = stage.writer()?;
        let contact = PeerContact::unsigned(writer.member.id(), vec![]);
        stage.send(&PeerMessage::Contacts(vec![contact; 65]).encode())
    }),
    ("a second position to continue from", |stage| {
        stage.writer()?;
        let since = PeerMessage::CarrySince { epoch: 1, position: 0 }.encode();
        stage.send(&since)?;
        stage.send(&since)
    }),
    ("a position beyond all", |stage| {
        stage.writer()?;
        stage.send(&PeerMessage::CarrySince { epoch: 1, position: u64::MAX >> 12 }.encode())
    }),
];

#[test]
fn strangers_are_not_admitted() {
    expect_test::expect![[r#"
        control: an honest peer
            goes on; /plan=1
        noise as the first message
            the peer violated the protocol: its first message is not a hello; /plan=1
        an empty first message
            the peer violated the protocol: its first message is not a hello; /plan=1
        updates as the first message
            the peer violated the protocol: its first message is not a hello; /plan=1
        a first message of 5 KiB
            the peer violated the protocol: a message that is too long; /plan=1
        a hello with bytes after its end
            the peer violated the protocol: its first message is not a hello; /plan=1
        a hello for another workspace
            refused the peer: the certificate is not one of this workspace's owner; /plan=1
        the certificate of another peer
            refused the peer: the certificate is not one of this workspace's owner; /plan=1
        a certificate of another owner
            refused the peer: the certificate is not one of this workspace's owner; /plan=1
        a certificate of another workspace of the same owner
            refused the peer: the certificate is not one of this workspace's owner; /plan=1
        read changed to write
            refused the peer: the certificate is not one of this workspace's owner; /plan=1
        the end of a certificate removed
            refused the peer: the certificate is not one of this workspace's owner; /plan=1
        a grant bound with another key than the ticket's
            refused the peer: the certificate is not one of this workspace's owner; /plan=1
        a grant bound as if by the owner
            refused the peer: the certificate is not one of this workspace's owner; /plan=1
        an expired certificate
            refused the peer: the certificate has expired; /plan=1
        a blocked peer
            refused the peer: the key or its ticket is blocked; /plan=1
        a new key with a blocked ticket
            refused the peer: the key or its ticket is blocked; /plan=1
        a peer that this store alone blocked
            refused the peer: the key or its ticket is blocked; /plan=1
        control: a ticket for one peer
            goes on; /plan=1
        a ticket for one peer, used twice
            refused the peer: the ticket admits one peer, and another has used it; /plan=1
        a ticket for one peer, at another than its issuer
            refused the peer: the ticket admits one peer, and only its issuer can admit it; /plan=1
        a second hello
            the peer violated the protocol: a message of admission out of turn; /plan=1
        an admission by the side that asks
            the peer violated the protocol: a message of admission out of turn; /plan=1
        a host with the certificate of another
            refused the peer: the certificate is not one of this workspace's owner; /plan=1
        a host that renews the certificate of another key
            the peer violated the protocol: a certificate that is not of this peer; /plan=1
        a host that answers with updates
            the peer violated the protocol: its first message is not an answer; /plan=1
    "#]]
    .assert_eq(&play(ADMISSION));
}

#[test]
fn only_writers_change_the_workspace() {
    expect_test::expect![[r#"
        control: an honest change
            goes on; /evil=x /plan=1
        updates without a signature
            the peer violated the protocol: updates without a signature; /plan=1
        updates of a reader
            the peer sent changes that it may not make (its key may only read); they are in the quarantine, quarantined; /plan=1
        updates of a reader, with an empty signature
            the peer sent changes that it may not make (its signature is invalid); they are in the quarantine, quarantined; /plan=1
        a signature of other updates
            the peer sent changes that it may not make (its signature is invalid); they are in the quarantine, quarantined; /plan=1
        a signature made for another workspace
            the peer sent changes that it may not make (its signature is invalid); they are in the quarantine, quarantined; /plan=1
        a certificate that expires during the connection
            the peer sent changes that it may not make (its certificate has expired); they are in the quarantine, quarantined; /plan=1
        a block during the connection
            the peer sent changes that it may not make (its key is blocked); they are in the quarantine, quarantined; /plan=1
        a reader whose certificate expires during the connection
            refused the peer: the certificate has expired; /plan=1
        control: a reader carries a writer's updates
            goes on; /evil=x /plan=1
        a reader carries a reader's updates
            goes on, quarantined; /plan=1
        a reader carries its updates as a writer's
            the peer sent changes that it may not make (its signature is invalid); they are in the quarantine, quarantined; /plan=1
        a reader carries a writer's updates, changed
            the peer sent changes that it may not make (its signature is invalid); they are in the quarantine, quarantined; /plan=1
        a writer carries a blocked peer's updates
            goes on, quarantined; /plan=1
        a reader carries an expired peer's updates
            goes on, quarantined; /plan=1
        a reader carries a stranger's updates
            the peer violated the protocol: a certificate that the owner did not sign; /plan=1
        a writer that receives from a reader's changed log
            goes on; /plan=1
        updates that are sent twice
            goes on; /evil=x /plan=1
        a signed message without updates
            the peer violated the protocol: a signed message without updates; /plan=1
        an update that makes yrs loop
            goes on; /plan=1
        an update of a document without a file
            goes on; /plan=1
        updates before the exchange has begun
            the peer sent the message updates when the protocol does not allow it; /plan=1
    "#]].assert_eq(&play(UPDATES));
}

#[test]
fn floods_and_lies_end_the_connection() {
    expect_test::expect![[r#"
        a million requests for blobs
            the peer requested too many blobs at once; /plan=1
        a blob that was not requested
            the peer sent a blob that was not requested; /plan=1
        confirmations of what was not sent
            the peer sent the message taken when the protocol does not allow it; /plan=1
        a peer that sends a million positions and reads nothing
            the peer requested too many blobs at once; /plan=1
        a message longer than any
            the peer violated the protocol: a message that is too long; /plan=1
        a message of an unknown type
            the peer violated the protocol: a message that cannot be decoded; /plan=1
        a block that a peer signed
            the peer violated the protocol: a block that the owner did not sign; /plan=1
        the owner's block of another workspace
            the peer violated the protocol: a block that the owner did not sign; /plan=1
        a block of the peer that passes it on
            refused the peer: the key or its ticket is blocked; /plan=1
        more blocks than a message may have
            the peer violated the protocol: a message that cannot be decoded; /plan=1
        a count of blocks without blocks
            the peer violated the protocol: a message that cannot be decoded; /plan=1
        more contacts than a message may have
            the peer violated the protocol: a message that cannot be decoded; /plan=1
        a second position to continue from
            the peer violated the protocol: a second position to continue from; /plan=1
        a position beyond all
            goes on; /plan=1
    "#]]
    .assert_eq(&play(COMPANY));
}

/// Contacts that are not what they claim are ignored: the peer that passes them on may not know.
#[test]
fn only_a_peer_itself_says_where_it_is() {
    let stage = Stage::new(KeyOrder::MembersLesser);
    let (owner, writer) = (&stage.owner, &stage.writer);
    let certificate = writer.member.certificate().unwrap();
    let at = |port: u16| vec![std::net::SocketAddr::from(([192, 0, 2, 1], port))];
    let sign = |key: &PeerSecretKey, port: u16, ms: i64| {
        PeerContact::sign(key, certificate.clone(), at(port), Millis(ms))
    };
    let known = || {
        let contacts = owner.member.contacts().unwrap();
        contacts.iter().map(|contact| contact.addresses.clone()).collect::<Vec<_>>()
    };
    let offer = |contact: PeerContact| {
        if owner.member.check_contact(&contact).unwrap() {
            owner.member.add_contacts([contact]).unwrap();
        }
    };
    offer(sign(writer.member.key(), 1, 5));
    assert_eq!(known(), [at(1)]);
    // Addresses that the peer did not sign, another peer's signature, an older contact, and one
    // without a signature.
    let mut changed = PeerContact::encode_list(&[sign(writer.member.key(), 9, 6)]);
    let at_port = 1 + 32 + 1 + 1 + 4 + 1;
    changed[at_port] = 8;
    offer(PeerContact::decode_list(&changed, 1).unwrap().remove(0));
    offer(sign(stage.reader.member.key(), 2, 6));
    offer(sign(writer.member.key(), 3, 4));
    offer(PeerContact::unsigned(writer.member.id(), at(4)));
    assert_eq!(known(), [at(1)]);
    offer(sign(writer.member.key(), 5, 6));
    assert_eq!(known(), [at(5)]);
    owner.member.block(BlockTarget::Peer(writer.member.id())).unwrap();
    offer(sign(writer.member.key(), 6, 7));
    assert_eq!(known(), [at(5)]);
}

/// What a reader carries reaches peers that never met the writer, and blocks spread with it.
#[test]
fn a_reader_between_two_writers_carries_what_they_sign() {
    KeyOrder::ALL.into_iter().for_each(carry_between_two_writers);
}

fn carry_between_two_writers(order: KeyOrder) {
    let owner = TestPeer::owner_among(order);
    owner.write("plan", "1");
    let middle = owner.invite(PeerRights::Read);
    let far = owner.join(&owner.ticket(request(PeerRights::Write)));
    middle.write("own", "stays here");
    exchange(&far, &middle).unwrap();
    assert_eq!(far.tree(), "/plan=1");
    far.write("answer", "2");
    // Either side may connect.
    exchange(&middle, &far).unwrap();
    exchange(&owner, &middle).unwrap();
    assert_eq!(owner.tree(), "/answer=2 /plan=1");
    assert_eq!(middle.tree(), "/answer=2 /own=stays here /plan=1");
    // A block reaches the far peer by way of the reader, and ends its own connection.
    owner.member.block(BlockTarget::Peer(far.member.id())).unwrap();
    exchange(&middle, &owner).unwrap();
    far.write("late", "3");
    let refused = exchange(&far, &middle).unwrap_err();
    assert!(refused.to_string().contains("blocked"), "{refused}");
    exchange(&owner, &middle).unwrap();
    assert_eq!(owner.tree(), "/answer=2 /plan=1");
}

/// A reader keeps its changes, also if the other side says that it may write.
#[test]
fn a_reader_sends_nothing_of_its_own() {
    for order in KeyOrder::ALL {
        let Stage { owner, reader, .. } = Stage::new(order);
        reader.write("own", "stays here");
        let mut dialer = PeerSession::dialer(reader.member.clone(), owner.member.id()).unwrap();
        let certificate = owner.member.certificate().unwrap();
        dialer.receive(&admitted(certificate)).unwrap();
        dialer.receive(&beginning(&owner, &reader)).unwrap();
        while let Some(frame) = dialer.next_frame().unwrap() {
            let is_sent = matches!(PeerMessage::decode(&frame), Ok(PeerMessage::Signed { .. }));
            assert!(!is_sent, "the reader sends changes of its own");
        }
    }
}

/// A reader that carries a peer's messages does not send them back to that peer.
#[test]
fn a_reader_returns_no_message_to_its_signer() {
    KeyOrder::ALL.into_iter().for_each(return_no_message);
}

fn return_no_message(order: KeyOrder) {
    let Stage { owner, writer, reader, .. } = Stage::new(order);
    writer.write("answer", "2");
    exchange(&writer, &reader).unwrap();
    let n_carried_to = |peer: &TestPeer| {
        let mut dialer = PeerSession::dialer(peer.member.clone(), reader.member.id()).unwrap();
        let mut host = PeerSession::acceptor(reader.member.clone(), peer.member.id()).unwrap();
        let mut n_carried = 0;
        loop {
            let before = n_carried;
            let mut is_quiet = true;
            while let Some(frame) = dialer.next_frame().unwrap() {
                host.receive(&frame).unwrap();
                is_quiet = false;
            }
            while let Some(frame) = host.next_frame().unwrap() {
                n_carried += u64::from(frame[0] == 70);
                dialer.receive(&frame).unwrap();
                is_quiet = false;
            }
            if is_quiet && before == n_carried {
                return n_carried;
            }
        }
    };
    // The writer has the owner's messages and signed the other. The owner gets that once.
    assert_eq!(n_carried_to(&writer), 0);
    assert!(n_carried_to(&owner) > 0);
    assert_eq!(n_carried_to(&owner), 0);
}

/// What a connection sends that `dialer` makes, and what the other side sends.
fn sent_by_both(dialer: &TestPeer, acceptor: &TestPeer) -> [yfs_replica::ExchangeProgress; 2] {
    let mut from = PeerSession::dialer(dialer.member.clone(), acceptor.member.id()).unwrap();
    let mut to = PeerSession::acceptor(acceptor.member.clone(), dialer.member.id()).unwrap();
    pump(&mut from, &mut to).unwrap();
    assert!(from.is_done() && to.is_done());
    from.remember_all().unwrap();
    to.remember_all().unwrap();
    [from.progress(), to.progress()]
}

/// Nothing is sent again once both sides have it, and only the news are sent later, whichever side
/// connects. A summary would take 1 KiB, and would show eight documents for each that changed.
#[test]
fn what_both_have_is_not_sent_again_by_either_side() {
    const N_FILES: usize = 500;
    for order in KeyOrder::ALL {
        let owner = TestPeer::owner_among(order);
        (0..N_FILES).for_each(|at| owner.write(&format!("f{at}"), "1"));
        let writer = owner.invite(PeerRights::Write);
        for [dialer, acceptor] in [[&writer, &owner], [&owner, &writer], [&writer, &owner]] {
            for progress in sent_by_both(dialer, acceptor) {
                assert_eq!((progress.n_sent, progress.n_received), (0, 0), "{order:?}");
                assert!(progress.bytes_sent < 512, "{order:?}: {} bytes", progress.bytes_sent);
            }
        }
        let mut n_changes = 0;
        for [dialer, acceptor] in [[&owner, &writer], [&writer, &owner]] {
            n_changes += 1;
            dialer.write("f7", &format!("{n_changes} of the side that connects"));
            acceptor.write("f9", &format!("{n_changes} of the other side"));
            for progress in sent_by_both(dialer, acceptor) {
                // The row, and the content.
                assert!((1..=2).contains(&progress.n_sent), "{order:?}: {}", progress.n_sent);
                assert!(progress.bytes_sent < 2048, "{order:?}: {} bytes", progress.bytes_sent);
            }
            assert_eq!(owner.tree(), writer.tree());
        }
    }
}

/// Each side of a connection of a reader learns that both have everything, whichever is the guest.
#[test]
fn both_sides_of_a_readers_connection_are_in_step() {
    for order in KeyOrder::ALL {
        let Stage { owner, reader, .. } = Stage::new(order);
        reader.write("own", "stays here");
        owner.write("plan", "2");
        for [dialer, acceptor] in [[&owner, &reader], [&reader, &owner]] {
            sent_by_both(dialer, acceptor);
        }
        assert_eq!(owner.tree(), "/plan=2");
        assert_eq!(reader.tree(), "/own=stays here /plan=2");
    }
}
