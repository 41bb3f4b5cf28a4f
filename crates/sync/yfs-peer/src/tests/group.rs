//! Peers with stores in memory, and messages between them as a test wants.

use std::{
    path::Path,
    sync::{
        Arc, LazyLock,
        atomic::{AtomicI64, AtomicUsize, Ordering},
    },
};

use futures::FutureExt;
use yfs::{Workspace, WorkspaceOptions, clock::Clock, replica::FeedPiece};
use yfs_engine::{id::FileId, path::VPath, time::Millis};
use yfs_replica::FrameSession;
use yfs_store::{MemoryStore, Store};
use yfs_sync::replica::{DocumentUpdate, ReplicaMessage};
use yfs_vfs::{FileSystem, FileSystemExt, WalkOptions, WriteOptions};

use crate::{
    membership::{KEY_SECRET, PeerMembership, TicketRequest},
    peer_error::PeerError,
    peer_grant::{PeerCertificate, PeerRights},
    peer_key::{PeerSecretKey, SIGNATURE_LEN},
    peer_message::PeerMessage,
    peer_session::{PeerSession, batch_bytes},
    ticket::PeerTicket,
};

/// The time at which a group begins.
const START: i64 = 1_800_000_000_000;

/// A clock that a test moves.
#[derive(Debug, Default)]
pub(super) struct TestClock(AtomicI64);

impl Clock for TestClock {
    fn now(&self) -> Millis {
        Millis(START + self.0.load(Ordering::Relaxed))
    }
}

impl TestClock {
    pub(super) fn advance(&self, ms: i64) {
        self.0.fetch_add(ms, Ordering::Relaxed);
    }
}

/// The number of keys for tests: the owner has the one in the middle.
const N_KEYS: usize = 1024;

/// The secrets of keys, in the order of the keys.
static SECRETS: LazyLock<Vec<[u8; 32]>> = LazyLock::new(|| {
    let secret = |number: usize| {
        let mut secret = [7; 32];
        secret[..8].copy_from_slice(&(number as u64).to_le_bytes());
        secret
    };
    let mut secrets: Vec<[u8; 32]> = (0..N_KEYS).map(secret).collect();
    secrets.sort_by_key(|secret| PeerSecretKey::from_seed(*secret).id());
    secrets
});

/// Where the keys of members lie. The side with the lesser key is the guest of an exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KeyOrder {
    /// Each member has a lesser key than the owner and those that were made before.
    MembersLesser,
    /// Each member has a greater key than the owner and those that were made before.
    MembersGreater,
}

impl KeyOrder {
    pub(super) const ALL: [Self; 2] = [Self::MembersLesser, Self::MembersGreater];
}

/// The keys of a group.
#[derive(Debug)]
pub(super) struct TestKeys {
    order: KeyOrder,
    n_taken: AtomicUsize,
}

impl TestKeys {
    /// Gives the next key to a store.
    fn assign(&self, store: &dyn Store) {
        let n_taken = self.n_taken.fetch_add(1, Ordering::Relaxed);
        assert!(n_taken < N_KEYS / 2, "a group has more peers than there are keys");
        let at = match self.order {
            KeyOrder::MembersLesser => N_KEYS / 2 - n_taken,
            KeyOrder::MembersGreater => N_KEYS / 2 + n_taken,
        };
        store.init_secret(KEY_SECRET, &SECRETS[at]).unwrap();
    }
}

/// One peer.
#[derive(Debug, Clone)]
pub(super) struct TestPeer {
    pub(super) member: Arc<PeerMembership>,
    pub(super) clock: Arc<TestClock>,
    keys: Arc<TestKeys>,
}

impl TestPeer {
    /// Makes the owner of a new workspace.
    pub(super) fn owner() -> Self {
        Self::owner_among(KeyOrder::MembersLesser)
    }

    /// Makes the owner of a new workspace, whose members have keys on one side of the owner's.
    pub(super) fn owner_among(order: KeyOrder) -> Self {
        Self::owner_with(TestKeys { order, n_taken: AtomicUsize::new(0) })
    }

    /// Makes the owner of a new workspace, with a key that no peer of other groups has.
    pub(super) fn owner_of_another_group() -> Self {
        let n_taken = AtomicUsize::new(N_KEYS / 2 - 1);
        Self::owner_with(TestKeys { order: KeyOrder::MembersGreater, n_taken })
    }

    fn owner_with(keys: TestKeys) -> Self {
        let keys = Arc::new(keys);
        let store = Arc::new(MemoryStore::new());
        keys.assign(&*store);
        let workspace = Workspace::create(store, WorkspaceOptions::default()).unwrap();
        let peer = Self::of(&workspace, Arc::default(), keys);
        peer.member.found().unwrap();
        peer
    }

    fn of(workspace: &Workspace, clock: Arc<TestClock>, keys: Arc<TestKeys>) -> Self {
        let member = PeerMembership::with_clock(workspace, clock.clone()).unwrap();
        Self { member: Arc::new(member), clock, keys }
    }

    /// Opens the store of a peer again.
    pub(super) fn reopen(&self) -> Self {
        let store = self.workspace().store().clone();
        let workspace = Workspace::open(store, WorkspaceOptions::default()).unwrap();
        Self::of(&workspace, self.clock.clone(), self.keys.clone())
    }

    /// Makes a replica that was not admitted by an owner.
    pub(super) fn stranger(&self) -> Self {
        let store = Arc::new(MemoryStore::new());
        self.keys.assign(&*store);
        let options = WorkspaceOptions::default();
        let workspace = Workspace::create_replica(store, self.workspace().id(), options).unwrap();
        Self::of(&workspace, self.clock.clone(), self.keys.clone())
    }

    /// Makes a replica in a file that may read and write, and has everything that the owner has.
    pub(super) fn invite_in(&self, file: &Path, options: &WorkspaceOptions) -> Self {
        let id = self.workspace().id();
        let workspace = Workspace::create_replica_at(file, id, options.clone()).unwrap();
        self.keys.assign(&**workspace.store());
        let peer = Self::of(&workspace, self.clock.clone(), self.keys.clone());
        peer.member.join(&self.ticket(request(PeerRights::Write))).unwrap();
        exchange(&peer, self).unwrap();
        peer.member.set_complete().unwrap();
        peer
    }

    /// Opens the file of a replica that the owner invited, as another process would.
    pub(super) fn open_file(&self, file: &Path, options: &WorkspaceOptions) -> Self {
        let workspace = Workspace::open_at(file, options.clone()).unwrap();
        Self::of(&workspace, self.clock.clone(), self.keys.clone())
    }

    /// Makes a replica that has a ticket.
    pub(super) fn join(&self, ticket: &PeerTicket) -> Self {
        let peer = self.stranger();
        peer.member.join(ticket).unwrap();
        peer
    }

    pub(super) fn ticket(&self, request: TicketRequest) -> PeerTicket {
        self.member.issue(request, Vec::new()).unwrap()
    }

    /// Makes a replica that may read or write, and has everything that the owner has.
    pub(super) fn invite(&self, rights: PeerRights) -> Self {
        let peer = self.join(&self.ticket(request(rights)));
        exchange(&peer, self).unwrap();
        peer.member.set_complete().unwrap();
        peer
    }

    pub(super) fn workspace(&self) -> &Workspace {
        self.member.workspace()
    }

    pub(super) fn write(&self, name: &str, text: &str) {
        self.write_bytes(name, text.as_bytes());
    }

    pub(super) fn write_bytes(&self, name: &str, bytes: &[u8]) {
        let path = VPath::parse(&format!("/{name}")).unwrap();
        let bytes = bytes.to_vec().into();
        let fs = self.workspace().fs();
        fs.write(&path, bytes, &WriteOptions::default()).now_or_never().unwrap().unwrap();
    }

    /// Lists the files with their contents.
    pub(super) fn tree(&self) -> String {
        let fs = self.workspace().fs();
        let found = fs.walk(&VPath::root(), &WalkOptions::default()).now_or_never().unwrap();
        let mut lines: Vec<String> = Vec::new();
        for entry in found.unwrap() {
            let read = fs.read(&entry.path).now_or_never().unwrap();
            let text = read.map(|read| String::from_utf8_lossy(&read.data).into_owned());
            lines.push(format!("{}={}", entry.path, text.unwrap_or_default().trim_end()));
        }
        lines.sort();
        lines.join(" ")
    }

    pub(super) fn n_quarantined(&self) -> usize {
        self.workspace().store().quarantined().unwrap().len()
    }

    /// Returns the messages with all updates of this peer's log.
    pub(super) fn updates(&self) -> Vec<Vec<u8>> {
        let mut feed = self.workspace().replication().feed(None).unwrap().unwrap();
        let mut frames = Vec::new();
        while let Some(pieces) = feed.next_piece().unwrap() {
            for piece in pieces {
                if let FeedPiece::Update { doc, update, is_whole } = piece {
                    frames.push(updates_frame(&doc, &update, is_whole));
                }
            }
        }
        frames
    }

    /// Signs a message with updates.
    pub(super) fn sign(&self, frame: &[u8]) -> [u8; SIGNATURE_LEN] {
        let bytes = batch_bytes(self.workspace().id().as_str(), frame);
        self.member.key().sign(&bytes)
    }

    pub(super) fn signed(&self, frame: &[u8]) -> Vec<u8> {
        PeerMessage::Signed { signature: self.sign(frame), frame }.encode()
    }

    pub(super) fn carried(&self, frame: &[u8]) -> Vec<u8> {
        let certificate = self.member.certificate().unwrap();
        PeerMessage::Carried { certificate, signature: self.sign(frame), frame }.encode()
    }

    pub(super) fn hello(&self) -> Vec<u8> {
        let workspace = self.workspace().id().clone();
        let certificate = self.member.certificate().unwrap();
        PeerMessage::Hello { workspace, certificate, is_complete: true }.encode()
    }
}

/// Returns the message that admits the peer that connects.
pub(super) fn admitted(certificate: PeerCertificate) -> Vec<u8> {
    PeerMessage::Admitted { certificate, renewed: None, is_complete: true }.encode()
}

/// Returns the first message of replication of `peer` to `other`, which has no marks of it: as the
/// guest or as the hub, as the order of their keys requires.
pub(super) fn beginning(peer: &TestPeer, other: &TestPeer) -> Vec<u8> {
    if peer.member.id() < other.member.id() {
        return ReplicaMessage::Hello { since: "", summarizes: false }.encode();
    }
    let workspace = other.workspace().id().clone();
    ReplicaMessage::Welcome { workspace, resumed: false, writable: true, summarizes: false }
        .encode()
}

pub(super) fn request(rights: PeerRights) -> TicketRequest {
    TicketRequest { rights, expires: None, is_once: false, label: String::new() }
}

pub(super) fn updates_frame(doc: &FileId, data: &[u8], is_whole: bool) -> Vec<u8> {
    ReplicaMessage::Updates(vec![DocumentUpdate { doc: doc.clone(), is_whole, data }]).encode()
}

/// Connects two peers until both have everything, or a side ends the connection.
pub(super) fn exchange(dialer: &TestPeer, acceptor: &TestPeer) -> Result<(), PeerError> {
    let mut from = PeerSession::dialer(dialer.member.clone(), acceptor.member.id())?;
    let mut to = PeerSession::acceptor(acceptor.member.clone(), dialer.member.id())?;
    let done = pump(&mut from, &mut to);
    from.remember_all()?;
    to.remember_all()?;
    done
}

/// Delivers messages until there are none.
pub(super) fn pump(from: &mut PeerSession, to: &mut PeerSession) -> Result<(), PeerError> {
    loop {
        let mut is_quiet = true;
        while let Some(frame) = from.next_frame()? {
            is_quiet = false;
            to.receive(&frame)?;
        }
        while let Some(frame) = to.next_frame()? {
            is_quiet = false;
            from.receive(&frame)?;
        }
        if is_quiet {
            return Ok(());
        }
    }
}
