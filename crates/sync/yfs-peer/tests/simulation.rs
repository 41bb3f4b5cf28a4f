//! Groups of 3 to 20 peers over a simulated network: random graphs of connections that change and
//! break in the middle of messages, restarts, compactions, readers that pass on what others sign,
//! and blobs in parts. Once the graph is connected and quiet, all that may write have the same
//! files, all have every blob, and no write is lost.
//!
//! `YFS_PEER_HISTORIES` says how many histories to play, `YFS_PEER_SEED` begins with another seed.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{
    collections::{BTreeMap, BTreeSet},
    env,
    sync::Arc,
};

use futures::FutureExt;
use rand::{RngExt, SeedableRng, rngs::ChaCha8Rng};
use yfs::{Workspace, WorkspaceOptions};
use yfs_engine::{hash::ContentHash, path::VPath};
use yfs_peer::{PeerMembership, PeerRights, PeerSession, TicketRequest};
use yfs_replica::FrameSession;
use yfs_store::{LocalState, MemoryStore, Store};
use yfs_vfs::{FileSystem, FileSystemExt, MoveOptions, WalkOptions, WriteOptions};

/// A peer: its store outlives restarts.
struct SimulatedPeer {
    store: Arc<dyn Store>,
    workspace: Workspace,
    member: Arc<PeerMembership>,
    rights: PeerRights,
}

/// A connection, with the messages on their way. A message arrives whole, or the connection breaks.
struct SimulatedLink {
    ends: [usize; 2],
    sessions: [PeerSession; 2],
}

/// A history while it is played.
struct PeerHistory {
    rng: ChaCha8Rng,
    peers: Vec<SimulatedPeer>,
    links: Vec<SimulatedLink>,
    /// The lines that writers wrote.
    lines: BTreeSet<String>,
}

/// The beginning of what stands for the content of a blob.
const BLOB: &str = "blob ";

fn options() -> WorkspaceOptions {
    WorkspaceOptions { follow: false, ..WorkspaceOptions::default() }
}

fn path(name: &str) -> VPath {
    VPath::parse(&format!("/{name}")).unwrap()
}

/// Makes a store whose peer has a key that depends on the seed: the order of the keys decides which
/// side of a connection is the guest.
fn store_with_key(rng: &mut ChaCha8Rng) -> Arc<dyn Store> {
    let store = MemoryStore::new();
    store.init_secret("peer.key", &rng.random::<[u8; 32]>()).unwrap();
    Arc::new(store)
}

impl SimulatedPeer {
    fn of(store: Arc<dyn Store>, workspace: Workspace, rights: PeerRights) -> Self {
        let member = Arc::new(PeerMembership::of(&workspace).unwrap());
        Self { store, workspace, member, rights }
    }

    fn append(&self, name: &str, line: &str) {
        let fs = self.workspace.fs();
        let text = format!("{line}\n").into_bytes().into();
        fs.append(&path(name), text, &WriteOptions::default()).now_or_never().unwrap().unwrap();
    }

    fn write_blob(&self, name: &str, len: usize, salt: usize) {
        let bytes: Vec<u8> = (0..len).map(|at| ((at >> 10) * 31 + salt) as u8 | 0x80).collect();
        let (fs, options) = (self.workspace.fs(), WriteOptions::default());
        fs.write(&path(name), bytes.into(), &options).now_or_never().unwrap().unwrap();
    }

    /// Returns the files with their contents; of blobs, the hashes.
    fn tree(&self) -> BTreeMap<String, String> {
        let fs = self.workspace.fs();
        let found = fs.walk(&VPath::root(), &WalkOptions::default()).now_or_never().unwrap();
        let read = |path: &VPath| {
            let read = match fs.read(path).now_or_never().unwrap() {
                Ok(read) => read,
                Err(error) => return format!("{error:?}"),
            };
            let data = read.data.to_vec();
            String::from_utf8(data)
                .unwrap_or_else(|error| format!("{BLOB}{}\n", ContentHash::of(error.as_bytes())))
        };
        found.unwrap().iter().map(|found| (found.path.to_string(), read(&found.path))).collect()
    }
}

impl PeerHistory {
    fn new(seed: u64) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let store = store_with_key(&mut rng);
        let workspace = Workspace::create(store.clone(), options()).unwrap();
        let owner = SimulatedPeer::of(store, workspace, PeerRights::Write);
        owner.member.found().unwrap();
        let n_peers = rng.random_range(3..=if seed.is_multiple_of(5) { 20 } else { 6 });
        let mut peers = vec![owner];
        for _ in 1..n_peers {
            let is_reader = rng.random_ratio(1, 4);
            let rights = if is_reader { PeerRights::Read } else { PeerRights::Write };
            let request =
                TicketRequest { rights, expires: None, is_once: false, label: String::new() };
            let ticket = peers[0].member.issue(request, Vec::new()).unwrap();
            let store = store_with_key(&mut rng);
            let id = &ticket.signed.grant.workspace;
            let workspace = Workspace::create_replica(store.clone(), id, options()).unwrap();
            let peer = SimulatedPeer::of(store, workspace, rights);
            peer.member.join(&ticket).unwrap();
            peers.push(peer);
        }
        Self { rng, peers, links: Vec::new(), lines: BTreeSet::new() }
    }

    fn pick(&mut self) -> usize {
        self.rng.random_range(0..self.peers.len())
    }

    fn connect(&mut self, from: usize, to: usize) {
        let ends = BTreeSet::from([from, to]);
        let is_known = |link: &SimulatedLink| BTreeSet::from(link.ends) == ends;
        if from == to || self.links.iter().any(is_known) {
            return;
        }
        let [one, other] = [&self.peers[from].member, &self.peers[to].member];
        let sessions = [
            PeerSession::dialer(one.clone(), other.id()).unwrap(),
            PeerSession::acceptor(other.clone(), one.id()).unwrap(),
        ];
        self.links.push(SimulatedLink { ends: [from, to], sessions });
    }

    /// Delivers up to `n_frames` messages of a connection. Reports whether there was none.
    fn deliver(&mut self, at: usize, n_frames: usize) -> bool {
        let link = &mut self.links[at];
        let mut is_quiet = true;
        for _ in 0..n_frames {
            let from = usize::from(self.rng.random_bool(0.5));
            for from in [from, 1 - from] {
                if let Some(frame) = link.sessions[from].next_frame().unwrap() {
                    link.sessions[1 - from].receive(&frame).unwrap();
                    is_quiet = false;
                    break;
                }
            }
        }
        is_quiet
    }

    fn step(&mut self, number: usize) {
        let who = self.pick();
        match self.rng.random_range(0..21) {
            0..=5 => {
                let name = format!("f{}.txt", self.rng.random_range(0..4));
                let line = format!("line {number} of {who}");
                self.peers[who].append(&name, &line);
                if self.peers[who].rights == PeerRights::Write {
                    self.lines.insert(line);
                }
            }
            6 => {
                let [from, to] = [0; 2].map(|_| self.rng.random_range(0..4));
                let [from, to] = [from, to].map(|n| path(&format!("f{n}.txt")));
                let options = MoveOptions::default();
                if self.peers[who].rights == PeerRights::Write && from != to {
                    let fs = self.peers[who].workspace.fs();
                    let has_target = fs.stat(&to).now_or_never().unwrap().is_ok();
                    if !has_target {
                        fs.mv(&from, &to, &options).now_or_never().unwrap().ok();
                    }
                }
            }
            20 if self.peers[who].rights == PeerRights::Write && self.rng.random_ratio(1, 2) => {
                let name = format!("b{}.bin", self.rng.random_range(0..2));
                let len = self.rng.random_range(1..1_500_000);
                self.peers[who].write_blob(&name, len, number);
            }
            7 => {
                self.peers[who].workspace.maintenance().compact(&mut |_, _| {}).unwrap();
            }
            8 => self.restart(who),
            9 | 10 if !self.links.is_empty() => {
                // A partition, or a peer that goes away: nothing says goodbye.
                let at = self.rng.random_range(0..self.links.len());
                self.links.swap_remove(at);
            }
            11..=13 => {
                let other = self.pick();
                self.connect(who, other);
            }
            _ if !self.links.is_empty() => {
                let at = self.rng.random_range(0..self.links.len());
                let n_frames = self.rng.random_range(1..30);
                self.deliver(at, n_frames);
            }
            _ => {}
        }
    }

    /// Closes a store and opens it again; its connections break.
    fn restart(&mut self, who: usize) {
        self.links.retain(|link| !link.ends.contains(&who));
        let SimulatedPeer { store, rights, workspace, .. } = &self.peers[who];
        let (store, rights) = (store.clone(), *rights);
        // It has the same handle on the store: what it wrote later would count as the new one's.
        workspace.clone().close().unwrap();
        let workspace = Workspace::open(store.clone(), options()).unwrap();
        self.peers[who] = SimulatedPeer::of(store, workspace, rights);
    }

    /// Ends the connections as processes do that are in step, and connects the same pairs again,
    /// each from the same side or from the other one.
    fn connect_again(&mut self, is_turned: bool) {
        let links = std::mem::take(&mut self.links);
        for SimulatedLink { ends: [from, to], mut sessions } in links {
            sessions.iter_mut().for_each(|session| session.remember_all().unwrap());
            let (from, to) = if is_turned { (to, from) } else { (from, to) };
            self.connect(from, to);
        }
        self.deliver_all();
    }

    /// Connects all in a random tree, and delivers until nothing is left.
    fn settle(&mut self) {
        self.links.clear();
        for who in 1..self.peers.len() {
            let other = self.rng.random_range(0..who);
            let is_turned = self.rng.random_bool(0.5);
            let (from, to) = if is_turned { (who, other) } else { (other, who) };
            self.connect(from, to);
        }
        self.deliver_all();
    }

    /// Delivers until nothing is left.
    fn deliver_all(&mut self) {
        // A change crosses one connection a round.
        for _ in 0..10 * self.peers.len() {
            let quiet: Vec<bool> =
                (0..self.links.len()).map(|at| self.deliver(at, 10_000)).collect();
            if quiet.iter().all(|is_quiet| *is_quiet) {
                return;
            }
        }
        panic!("the group does not become quiet");
    }

    fn play(mut self) {
        self.peers[0].append("f0.txt", "line of the owner");
        self.lines.insert("line of the owner".to_owned());
        let n_steps = 40 + 10 * self.peers.len();
        for number in 0..n_steps {
            self.step(number);
        }
        self.settle();
        self.check();
        // Another graph brings nothing: all have everything.
        let before: Vec<_> = self.peers.iter().map(SimulatedPeer::tree).collect();
        self.settle();
        self.check();
        let after: Vec<_> = self.peers.iter().map(SimulatedPeer::tree).collect();
        assert_eq!(after, before);
        // Whichever side connects, nothing is sent again.
        self.connect_again(false);
        self.connect_again(true);
        for session in self.links.iter().flat_map(|link| &link.sessions) {
            let progress = session.progress();
            assert_eq!((progress.n_sent, progress.bytes_sent.min(512)), (0, progress.bytes_sent));
        }
    }

    /// Checks that all writers are equal and have every line once, and that readers have all that
    /// the writers have.
    fn check(&self) {
        let expected = self.peers[0].tree();
        let (blobs, texts): (Vec<&str>, Vec<&str>) = expected
            .values()
            .flat_map(|text| text.lines())
            .partition(|line| line.starts_with(BLOB));
        let found: BTreeSet<String> = texts.iter().map(|line| (*line).to_owned()).collect();
        assert_eq!(found, self.lines);
        assert_eq!(texts.len(), self.lines.len(), "a line is doubled: {texts:?}");
        for peer in &self.peers {
            if peer.rights == PeerRights::Write {
                assert_eq!(peer.tree(), expected);
                continue;
            }
            let own: String = peer.tree().into_values().collect();
            for blob in &blobs {
                assert!(own.contains(blob), "{blob}: {own}");
            }
            for line in &self.lines {
                assert_eq!(own.matches(&format!("{line}\n")).count(), 1, "{line}: {own}");
            }
        }
        for peer in &self.peers {
            assert_eq!(peer.workspace.store().quarantined().unwrap().len(), 0);
        }
    }
}

#[test]
fn groups_become_equal_and_keep_every_line() {
    let number = |name: &str, otherwise: u64| {
        env::var(name).map_or(otherwise, |text| text.parse().expect("a number"))
    };
    let (n_histories, first) = (number("YFS_PEER_HISTORIES", 20), number("YFS_PEER_SEED", 1));
    for seed in first..first + n_histories {
        println!("YFS_PEER_SEED={seed} YFS_PEER_HISTORIES=1");
        PeerHistory::new(seed).play();
    }
}
