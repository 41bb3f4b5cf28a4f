//! Large blobs, fetched in parts: from several peers, over connections that break, and from peers
//! that lie or never answer.

use yfs::replica::BlobPolicy;
use yfs_engine::{hash::ContentHash, path::VPath};
use yfs_replica::FrameSession;
use yfs_store::StoreExt;
use yfs_sync::replica::ReplicaMessage;

use super::group::{TestPeer, exchange, pump};
use crate::{peer_error::PeerError, peer_grant::PeerRights, peer_session::PeerSession};

pub(super) const PART: usize = 256 << 10;
pub(super) const MIB: usize = 1 << 20;

/// What a peer does with a message before it sends it; `None` stands for nothing.
pub(super) type Tampering = fn(ReplicaMessage<'_>) -> Option<Vec<u8>>;

/// A connection of the fetching peer with another, and what crosses it.
pub(super) struct BlobLink {
    pub(super) fetcher: PeerSession,
    source: PeerSession,
    pub(super) n_parts: usize,
    tamper: Tampering,
}

pub(super) fn content(len: usize) -> Vec<u8> {
    (0..len).map(|at| (at / PART + at * 7 + 0x80) as u8).collect()
}

pub(super) fn honest(message: ReplicaMessage<'_>) -> Option<Vec<u8>> {
    Some(message.encode())
}

impl BlobLink {
    pub(super) fn new(fetcher: &TestPeer, source: &TestPeer, tamper: Tampering) -> Self {
        let ids = [fetcher.member.id(), source.member.id()];
        Self {
            fetcher: PeerSession::dialer(fetcher.member.clone(), ids[1]).unwrap(),
            source: PeerSession::acceptor(source.member.clone(), ids[0]).unwrap(),
            n_parts: 0,
            tamper,
        }
    }

    /// Delivers a message of each side. Reports whether there was none.
    pub(super) fn step(&mut self) -> Result<bool, PeerError> {
        let mut is_quiet = true;
        if let Some(frame) = self.fetcher.next_frame()? {
            self.source.receive(&frame)?;
            is_quiet = false;
        }
        if let Some(frame) = self.source.next_frame()? {
            is_quiet = false;
            let sent = match ReplicaMessage::decode(&frame) {
                Ok(message) => {
                    self.n_parts += usize::from(matches!(message, ReplicaMessage::Part { .. }));
                    (self.tamper)(message)
                }
                Err(_) => Some(frame),
            };
            if let Some(frame) = sent {
                self.fetcher.receive(&frame)?;
            }
        }
        Ok(is_quiet)
    }

    pub(super) fn run(&mut self) -> Result<(), PeerError> {
        while !self.step()? {}
        Ok(())
    }
}

/// Makes an owner with a blob, and a peer that has the row of it and nothing else.
fn owner_and_fetcher(len: usize) -> (TestPeer, TestPeer, ContentHash) {
    let owner = TestPeer::owner();
    let fetcher = owner.invite(PeerRights::Write);
    let data = content(len);
    owner.write_bytes("large", &data);
    (owner, fetcher, ContentHash::of(&data))
}

pub(super) fn has(peer: &TestPeer, hash: &ContentHash) -> bool {
    peer.workspace().store().has_blob(hash).unwrap()
}

#[test]
fn a_large_blob_continues_after_a_cut() {
    let (owner, fetcher, hash) = owner_and_fetcher(64 * MIB);
    let n_parts = 64 * MIB / PART;
    let mut n_received = 0;
    for cut_after in [n_parts / 2, n_parts / 4] {
        let mut link = BlobLink::new(&fetcher, &owner, honest);
        while link.n_parts < cut_after {
            assert!(!link.step().unwrap());
        }
        n_received += link.n_parts;
        assert!(!has(&fetcher, &hash));
    }
    let mut link = BlobLink::new(&fetcher, &owner, honest);
    link.run().unwrap();
    assert!(has(&fetcher, &hash) && link.fetcher.is_done());
    // Nothing that had arrived is sent again.
    assert_eq!(n_received + link.n_parts, n_parts);
    let path = VPath::parse("/large").unwrap();
    let read = futures::FutureExt::now_or_never(yfs_vfs::FileSystem::read(
        &fetcher.workspace().fs(),
        &path,
    ));
    assert_eq!(ContentHash::of(&read.unwrap().unwrap().data), hash);
}

#[test]
fn two_peers_each_send_a_part() {
    let (owner, fetcher, hash) = owner_and_fetcher(8 * MIB);
    let second = owner.invite(PeerRights::Write);
    assert!(has(&second, &hash));
    let mut links = [&owner, &second].map(|peer| BlobLink::new(&fetcher, peer, honest));
    loop {
        let quiet = links.each_mut().map(|link| link.step().unwrap());
        if quiet == [true, true] {
            break;
        }
    }
    assert!(has(&fetcher, &hash));
    let [first, other] = links.each_ref().map(|link| link.n_parts);
    assert!(first >= 8 && other >= 8, "{first} and {other} of 32");
    assert!(first + other <= 36, "{first} and {other} of 32");
    assert!(links.iter().all(|link| link.fetcher.is_done()));
}

#[test]
fn a_peer_that_lies_about_a_part_is_named_and_the_other_goes_on() {
    let lies: [Tampering; 3] = [
        |message| match message {
            ReplicaMessage::Part { hash, index, data } if index > 4 => {
                let data = &[data, b"x"].concat()[1..];
                Some(ReplicaMessage::Part { hash, index, data }.encode())
            }
            message => Some(message.encode()),
        },
        |message| match message {
            ReplicaMessage::Part { hash, index, data } if index > 4 => {
                Some(ReplicaMessage::Part { hash, index, data: &data[..9] }.encode())
            }
            message => Some(message.encode()),
        },
        |message| match message {
            ReplicaMessage::Tree { hash, parts } => {
                let mut parts = parts.to_vec();
                parts.swap(0, 32);
                Some(ReplicaMessage::Tree { hash, parts: &parts }.encode())
            }
            message => Some(message.encode()),
        },
    ];
    for (number, lie) in lies.into_iter().enumerate() {
        let (owner, fetcher, hash) = owner_and_fetcher(8 * MIB);
        let liar = owner.invite(PeerRights::Write);
        let mut lying = BlobLink::new(&fetcher, &liar, lie);
        let error = lying.run().unwrap_err();
        assert!(error.is_fault(), "{number}: {error}");
        assert!(error.to_string().contains("does not match its hash"), "{number}: {error}");
        assert!(!has(&fetcher, &hash));
        drop(lying);
        // What it sent before the lie was right, and stays.
        let mut link = BlobLink::new(&fetcher, &owner, honest);
        link.run().unwrap();
        assert!(has(&fetcher, &hash), "{number}");
        assert_eq!(link.n_parts, if number == 2 { 32 } else { 27 }, "{number}");
    }
}

#[test]
fn a_peer_that_never_answers_does_not_hold_parts() {
    let silences: [Tampering; 2] = [
        |message| (!matches!(message, ReplicaMessage::Part { .. })).then(|| message.encode()),
        |message| (!matches!(message, ReplicaMessage::Tree { .. })).then(|| message.encode()),
    ];
    for silence in silences {
        let (owner, fetcher, hash) = owner_and_fetcher(8 * MIB);
        let silent = owner.invite(PeerRights::Write);
        let mut stalled = BlobLink::new(&fetcher, &silent, silence);
        stalled.run().unwrap();
        assert!(!stalled.fetcher.is_done());
        let mut link = BlobLink::new(&fetcher, &owner, honest);
        link.run().unwrap();
        assert!(has(&fetcher, &hash));
        // The silent peer lacks nothing that this one needs, so the exchange with it is complete.
        stalled.run().unwrap();
        assert!(link.fetcher.is_done());
    }
}

#[test]
fn a_peer_that_lacks_a_blob_does_not_end_the_exchange() {
    let (owner, fetcher, hash) = owner_and_fetcher(MIB);
    let poor = owner.join(&owner.ticket(super::group::request(PeerRights::Write)));
    // It receives the rows, and no blob.
    let mut link = BlobLink::new(&poor, &owner, |message| match message {
        ReplicaMessage::Tree { hash, .. } => Some(ReplicaMessage::Lacking(hash).encode()),
        message => Some(message.encode()),
    });
    link.run().unwrap();
    assert!(!has(&poor, &hash));
    let mut from_poor = BlobLink::new(&fetcher, &poor, honest);
    from_poor.run().unwrap();
    assert_eq!(from_poor.fetcher.progress().n_lacking, 1);
    exchange(&fetcher, &owner).unwrap();
    assert!(has(&fetcher, &hash));
    drop(link);
    exchange(&poor, &fetcher).unwrap();
    assert!(has(&poor, &hash), "it is asked for again on the next connection");
}

/// A chain: the middle peer gets the row first, passes it on, and has no blob yet. Once it has, the
/// last peer gets the blob over the same connection, whether it comes in parts or whole.
#[test]
fn a_blob_passes_through_a_peer_that_is_still_fetching_it() {
    for len in [8 * MIB, 1000] {
        let owner = TestPeer::owner();
        let [middle, last] = [0; 2].map(|_| owner.invite(PeerRights::Write));
        let mut far = BlobLink::new(&last, &middle, honest);
        far.run().unwrap();
        let data = content(len);
        owner.write_bytes("large", &data);
        let hash = ContentHash::of(&data);
        let mut near = BlobLink::new(&middle, &owner, honest);
        while !middle.tree().contains("large") {
            assert!(!near.step().unwrap());
        }
        assert!(!has(&middle, &hash), "{len}");
        far.run().unwrap();
        assert!(last.tree().contains("large"));
        near.run().unwrap();
        assert!(has(&middle, &hash) && !has(&last, &hash));
        far.run().unwrap();
        assert!(has(&last, &hash), "{len}");
        assert!(far.fetcher.is_done() && far.fetcher.progress().n_lacking == 0);
    }
}

/// Sends all but blobs.
fn without_blobs(message: ReplicaMessage<'_>) -> Option<Vec<u8>> {
    let is_blob = matches!(message, ReplicaMessage::Blob { .. } | ReplicaMessage::Tree { .. });
    (!is_blob).then(|| message.encode())
}

/// The rows come from a peer that goes away before their blobs have arrived. Another peer, which is
/// connected and sends nothing new, has them.
#[test]
fn blobs_that_one_connection_owed_come_over_another() {
    for len in [8 * MIB, 1000] {
        let owner = TestPeer::owner();
        let [fetcher, second] = [0; 2].map(|_| owner.invite(PeerRights::Write));
        let mut other = BlobLink::new(&fetcher, &second, honest);
        other.run().unwrap();
        let data = content(len);
        owner.write_bytes("large", &data);
        let hash = ContentHash::of(&data);
        exchange(&second, &owner).unwrap();
        let mut lost = BlobLink::new(&fetcher, &owner, without_blobs);
        lost.run().unwrap();
        assert!(fetcher.tree().contains("large") && !has(&fetcher, &hash));
        drop(lost);
        other.run().unwrap();
        assert!(has(&fetcher, &hash), "{len}");
    }
}

/// The rows come from a peer that lacks their blobs, and stays connected. Another peer, which is
/// connected and sends nothing new, has them.
#[test]
fn blobs_that_one_peer_lacks_come_from_another() {
    for len in [8 * MIB, 1000] {
        let owner = TestPeer::owner();
        let [fetcher, second, poor] = [0; 3].map(|_| owner.invite(PeerRights::Write));
        let mut other = BlobLink::new(&fetcher, &second, honest);
        other.run().unwrap();
        let data = content(len);
        owner.write_bytes("large", &data);
        let hash = ContentHash::of(&data);
        exchange(&second, &owner).unwrap();
        let mut to_poor = BlobLink::new(&poor, &owner, |message| match message {
            ReplicaMessage::Tree { hash, .. } | ReplicaMessage::Blob { hash, .. } => {
                Some(ReplicaMessage::Lacking(hash).encode())
            }
            message => Some(message.encode()),
        });
        to_poor.run().unwrap();
        let mut from_poor = BlobLink::new(&fetcher, &poor, honest);
        from_poor.run().unwrap();
        assert!(fetcher.tree().contains("large") && !has(&fetcher, &hash) && !has(&poor, &hash));
        other.run().unwrap();
        assert!(has(&fetcher, &hash), "{len}");
        // The peer that lacked it gets it in turn.
        from_poor.run().unwrap();
        assert!(has(&poor, &hash) && from_poor.fetcher.progress().n_lacking == 0, "{len}");
    }
}

/// An exchange that is complete does not make the store forget what another one owes.
#[test]
fn a_complete_exchange_does_not_hide_what_another_one_owes() {
    let owner = TestPeer::owner();
    let [fetcher, poor] = [0; 2].map(|_| owner.invite(PeerRights::Write));
    let mut other = BlobLink::new(&fetcher, &poor, honest);
    other.run().unwrap();
    owner.write_bytes("large", &[0xff; 1000]);
    let hash = ContentHash::of(&[0xff; 1000]);
    let mut lost = BlobLink::new(&fetcher, &owner, without_blobs);
    lost.run().unwrap();
    poor.write("note", "1");
    other.run().unwrap();
    assert!(fetcher.tree().contains("note") && !has(&fetcher, &hash));
    drop((other, lost));
    exchange(&fetcher, &owner).unwrap();
    assert!(has(&fetcher, &hash));
}

/// Requests of a peer cost bounded memory and time, whatever it asks for.
#[test]
fn requests_for_parts_are_bounded() {
    let (owner, fetcher, hash) = owner_and_fetcher(MIB);
    let admit = || {
        let mut dialer = PeerSession::dialer(fetcher.member.clone(), owner.member.id()).unwrap();
        let mut host = PeerSession::acceptor(owner.member.clone(), fetcher.member.id()).unwrap();
        pump(&mut dialer, &mut host).unwrap();
        host
    };
    let flood = |message: &dyn Fn(u64) -> Vec<u8>, is_read: bool| {
        let mut host = admit();
        (0..1_000_000).find_map(|n| {
            let received = host.receive(&message(n));
            let sent = if is_read { host.next_frame().map(drop) } else { Ok(()) };
            received.and(sent).err().map(|error| (n, error.to_string()))
        })
    };
    let too_much = "the peer requested too many blobs at once";
    let parts = |index| ReplicaMessage::WantPart { hash, index }.encode();
    assert_eq!(flood(&parts, false), Some((4096, too_much.to_owned())));
    let trees = |_| ReplicaMessage::WantTree(hash).encode();
    assert_eq!(flood(&trees, false), Some((64, too_much.to_owned())));
    // One that reads the answers is answered; each list of hashes costs to read the blob.
    assert_eq!(flood(&trees, true), Some((8, too_much.to_owned())));
    let mut host = admit();
    for index in [4, 5, 1 << 40, 1 << 52] {
        host.receive(&parts(index)).unwrap();
        let answer = host.next_frame().unwrap().unwrap();
        assert_eq!(ReplicaMessage::decode(&answer), Ok(ReplicaMessage::Lacking(hash)));
    }
    let absent = ContentHash::of(b"absent");
    for request in [
        ReplicaMessage::WantTree(absent),
        ReplicaMessage::WantPart { hash: absent, index: 0 },
        ReplicaMessage::Want(vec![absent]),
    ] {
        host.receive(&request.encode()).unwrap();
        let answer = host.next_frame().unwrap().unwrap();
        assert_eq!(ReplicaMessage::decode(&answer), Ok(ReplicaMessage::Lacking(absent)));
    }
    for frame in [
        ReplicaMessage::Part { hash, index: 0, data: b"x" },
        ReplicaMessage::Tree { hash, parts: &[0; 32] },
    ] {
        let refused = admit().receive(&frame.encode()).unwrap_err().to_string();
        assert_eq!(refused, "the peer sent a blob that was not requested");
    }
}

/// A store keeps which blobs it fetches, and fetches what it left out once it may.
#[test]
fn a_store_fetches_the_blobs_of_its_policy() {
    let (owner, fetcher, past) = owner_and_fetcher(MIB);
    let set = |policy| fetcher.workspace().replication().set_blob_policy(policy).unwrap();
    set(BlobPolicy::None);
    exchange(&fetcher, &owner).unwrap();
    assert_eq!(fetcher.tree(), "/large=");
    assert!(!has(&fetcher, &past));
    let now = content(MIB + 9);
    owner.write_bytes("large", &now);
    owner.write_bytes("small", &[0xff; 9]);
    let now = ContentHash::of(&now);
    for (policy, expected) in [
        (BlobPolicy::None, [false; 2]),
        (BlobPolicy::Current, [false, true]),
        (BlobPolicy::All, [true; 2]),
    ] {
        set(policy);
        exchange(&fetcher, &owner).unwrap();
        assert_eq!([&past, &now].map(|hash| has(&fetcher, hash)), expected, "{policy:?}");
        assert_eq!(fetcher.workspace().replication().blob_policy().unwrap(), policy);
    }
    // The choice is in the store.
    set(BlobPolicy::Current);
    let again = TestPeer::reopen(&fetcher);
    assert_eq!(again.workspace().replication().blob_policy().unwrap(), BlobPolicy::Current);
}
