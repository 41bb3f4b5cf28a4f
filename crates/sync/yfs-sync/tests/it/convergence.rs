//! A hub and guests over an unreliable network: whatever it loses, repeats, reorders and cuts, all
//! replicas end with the same content, and every write is in it once.

use std::{collections::BTreeMap, time::Duration};

use proptest::prelude::*;
use rand::{RngExt, SeedableRng, rngs::ChaCha8Rng};
use yfs_engine::{
    content::{ContentDoc, RunAuthor},
    gate::{GateLimits, UpdateSource},
    id::{ClientId, FileId},
    main_doc::MainDoc,
    table::{FileRow, NodeKind, RowWrite, WriterIds},
    time::Millis,
};
use yfs_sync::{
    StateDiff, SyncDocument, SyncError,
    hub::{HubSession, PeerAccess},
    presence::PresenceRoom,
};

use crate::{
    guest_session::GuestSession,
    locked_document::LockedHubDocument,
    simulated_network::{LinkId, NetworkEnd, NetworkFaults, SimulatedNetwork},
};

/// The number of replicas; the first is the hub's.
const N_REPLICAS: usize = 5;

/// A document of either kind, and its updates that the hub has to relay.
#[derive(Debug)]
struct Replica {
    doc: Doc,
    number: usize,
    news: Vec<Vec<u8>>,
}

#[derive(Debug)]
enum Doc {
    Main(Box<MainDoc>),
    Content(Box<ContentDoc>),
}

impl Replica {
    fn new(is_main: bool, number: usize) -> Self {
        let id = FileId::parse("document").unwrap();
        let ids = |n: u64| ClientId::from_random(1000 * (number as u64 + 1) + n);
        let doc = if is_main {
            let writer = WriterIds { rows: ids(1), cells: ids(2), meta: ids(3) };
            Doc::Main(Box::new(MainDoc::new(&id, writer, GateLimits::default())))
        } else {
            Doc::Content(Box::new(ContentDoc::new(&id, ids(4), GateLimits::default())))
        };
        Self { doc, number, news: Vec::new() }
    }

    /// Makes the `n`-th write of this replica: a line in the text, or a file.
    fn write(&mut self, n: usize, at: usize) -> Vec<u8> {
        let mark = self.mark(n);
        match &mut self.doc {
            Doc::Main(main) => {
                let id = FileId::parse(&mark).unwrap();
                let row = FileRow::new(id, &mark, None, NodeKind::File, Millis(7));
                let update = main.plan(&[RowWrite::Create { row, derived: false }], Millis(7));
                let update = update.unwrap();
                main.commit(&update);
                update
            }
            Doc::Content(doc) => {
                let text = doc.text();
                let starts: Vec<_> = text.match_indices('\n').map(|(at, _)| at + 1).collect();
                let at = starts.get(at % (starts.len() + 1)).copied().unwrap_or(0);
                let author = RunAuthor::new("human:ana".parse().unwrap(), Millis(7));
                let written = doc.replace_range(at..at, &format!("{mark}\n"), &author);
                written.unwrap().update.unwrap()
            }
        }
    }

    fn mark(&self, n: usize) -> String {
        format!("r{}w{n:03}", self.number)
    }

    /// Returns the content that a user sees.
    fn shown(&self) -> String {
        match &self.doc {
            Doc::Main(_) => self.marks().join("\n"),
            Doc::Content(doc) => doc.text(),
        }
    }

    fn marks(&self) -> Vec<String> {
        let mut marks: Vec<String> = match &self.doc {
            Doc::Main(main) => {
                main.files().iter().map(|entry| entry.row.name.to_string()).collect()
            }
            Doc::Content(doc) => doc.text().lines().map(str::to_owned).collect(),
        };
        marks.sort_unstable();
        marks
    }
}

impl SyncDocument for Replica {
    fn state_vector(&self) -> Result<Vec<u8>, SyncError> {
        Ok(match &self.doc {
            Doc::Main(main) => main.state_vector(),
            Doc::Content(doc) => doc.gate().state_vector(),
        })
    }

    fn diff(&self, state_vector: &[u8]) -> Result<StateDiff, SyncError> {
        let update = match &self.doc {
            Doc::Main(main) => main.encode_diff(state_vector)?,
            Doc::Content(doc) => doc.gate().encode_diff(state_vector)?,
        };
        Ok(update.into())
    }

    fn receive(&mut self, update: &[u8]) -> Result<(), SyncError> {
        let (is_new, refused) = match &mut self.doc {
            Doc::Main(main) => {
                let changes = main.receive(update, UpdateSource::Wire)?;
                (changes.changed || changes.parked, changes.refused)
            }
            Doc::Content(doc) => {
                let received = doc.receive(update, UpdateSource::Wire)?;
                (received.changed || received.parked, received.refused)
            }
        };
        assert_eq!(refused, [], "no peer sends an update that must be rejected");
        if is_new {
            self.news.push(update.to_vec());
        }
        Ok(())
    }

    fn contains_update(&self, update: &[u8]) -> Result<bool, SyncError> {
        Ok(!match &self.doc {
            Doc::Main(main) => main.check(update, UpdateSource::Wire)?,
            Doc::Content(doc) => doc.gate().check(update, UpdateSource::Wire)?,
        })
    }
}

struct Guest {
    session: GuestSession,
    replica: Replica,
    link: Option<LinkId>,
}

/// The hub, its guests, and the network between them.
struct World {
    network: SimulatedNetwork,
    rng: ChaCha8Rng,
    room: PresenceRoom,
    hub: Replica,
    sessions: BTreeMap<LinkId, HubSession>,
    guests: Vec<Guest>,
    n_writes: usize,
    written: Vec<String>,
    now: Duration,
}

#[derive(Debug, Clone)]
enum Step {
    Write {
        who: usize,
        at: usize,
    },
    Cut {
        who: usize,
    },
    Join {
        who: usize,
    },
    Deliver {
        n: usize,
    },
    /// Time passes without messages.
    Wait,
}

impl World {
    fn new(seed: u64, faults: NetworkFaults, is_main: bool) -> Self {
        let guest = |number| Guest {
            session: GuestSession::default(),
            replica: Replica::new(is_main, number),
            link: None,
        };
        Self {
            network: SimulatedNetwork::new(faults),
            rng: ChaCha8Rng::seed_from_u64(seed),
            room: PresenceRoom::default(),
            hub: Replica::new(is_main, 0),
            sessions: BTreeMap::new(),
            guests: (1..N_REPLICAS).map(guest).collect(),
            n_writes: 0,
            written: Vec::new(),
            now: Duration::ZERO,
        }
    }

    fn play(&mut self, step: &Step) {
        match *step {
            Step::Write { who, at } => self.write(who % N_REPLICAS, at),
            Step::Cut { who } => self.cut(who % self.guests.len()),
            Step::Join { who } => self.join(who % self.guests.len()),
            Step::Deliver { n } => (0..n).for_each(|_| {
                self.deliver();
            }),
            Step::Wait => self.wait(),
        }
    }

    fn write(&mut self, who: usize, at: usize) {
        let n = self.n_writes;
        self.n_writes += 1;
        let replica = if who == 0 { &mut self.hub } else { &mut self.guests[who - 1].replica };
        self.written.push(replica.mark(n));
        let update = replica.write(n, at);
        if who == 0 {
            self.hub.news.push(update);
            self.publish();
        } else if let Some(link) = self.guests[who - 1].link {
            let frame = self.guests[who - 1].session.update(&update);
            self.network.send(link, NetworkEnd::Hub, frame);
        }
    }

    fn cut(&mut self, who: usize) {
        let Some(link) = self.guests[who].link.take() else { return };
        self.network.cut(link);
        let session = self.sessions.remove(&link).unwrap();
        if let Some(update) = self.room.leave(session.connection(), self.now) {
            self.broadcast(&update);
        }
    }

    fn join(&mut self, who: usize) {
        self.cut(who);
        let link = self.network.connect();
        let mut session = HubSession::new(self.room.enter(), PeerAccess::ReadWrite);
        let question = session.ask(&self.hub).unwrap();
        self.network.send(link, NetworkEnd::Guest, question.into_bytes());
        self.sessions.insert(link, session);
        let guest = &mut self.guests[who];
        guest.link = Some(link);
        guest.replica.news.clear();
        guest.session.set_presence(who as u64, Some("{}"), self.now);
        for frame in guest.session.join(&guest.replica, self.now).unwrap() {
            self.network.send(link, NetworkEnd::Hub, frame);
        }
    }

    /// Advances the time by ten seconds.
    fn wait(&mut self) {
        self.now += Duration::from_secs(10);
        for guest in &mut self.guests {
            if let (Some(link), Some(frame)) = (guest.link, guest.session.advance_time(self.now)) {
                self.network.send(link, NetworkEnd::Hub, frame);
            }
        }
        if let Some(update) = self.room.expire(self.now) {
            self.broadcast(&update);
        }
    }

    fn deliver(&mut self) -> bool {
        let mut random_below = |limit| self.rng.random_range(0..limit);
        let Some(delivery) = self.network.deliver(&mut random_below) else { return false };
        let (link, now) = (delivery.link, self.now);
        match delivery.to {
            NetworkEnd::Hub => {
                let mut place = LockedHubDocument { document: &mut self.hub, room: &mut self.room };
                let session = self.sessions.get_mut(&link).unwrap();
                let answer = session.receive(&mut place, &delivery.frame, now).unwrap();
                for frame in answer.frames {
                    self.network.send(link, NetworkEnd::Guest, frame.into_bytes());
                }
                if let Some(update) = answer.broadcast {
                    self.broadcast(&update);
                }
                self.publish();
            }
            NetworkEnd::Guest => {
                let guest = self.guests.iter_mut().find(|guest| guest.link == Some(link)).unwrap();
                let Guest { session, replica, .. } = guest;
                for frame in session.receive(replica, &delivery.frame, now).unwrap() {
                    self.network.send(link, NetworkEnd::Hub, frame);
                }
            }
        }
        true
    }

    /// Sends the updates that the hub has received to all guests.
    fn publish(&mut self) {
        for update in std::mem::take(&mut self.hub.news) {
            for (link, session) in &self.sessions {
                self.network.send(*link, NetworkEnd::Guest, session.update(&update));
            }
        }
    }

    fn broadcast(&mut self, update: &[u8]) {
        let frame = yfs_sync::message::SyncMessage::Awareness(update).encode();
        for link in self.sessions.keys() {
            self.network.send(*link, NetworkEnd::Guest, frame.clone());
        }
    }

    /// Delivers everything over a network without faults.
    fn settle(&mut self) {
        self.network.set_faults(NetworkFaults::default());
        (0..self.guests.len()).for_each(|who| self.join(who));
        while self.deliver() {}
    }

    fn check(&mut self) {
        self.written.sort_unstable();
        assert_eq!(self.hub.marks(), self.written, "what was written is there, once");
        for guest in &self.guests {
            assert_eq!(guest.replica.shown(), self.hub.shown());
            assert_eq!(guest.replica.state_vector().unwrap(), self.hub.state_vector().unwrap());
            assert!(guest.session.is_synced());
            assert_eq!(guest.session.other_states().count(), N_REPLICAS - 2, "all are seen");
        }
    }
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let who = 0..N_REPLICAS;
    let step = prop_oneof![
        6 => (who.clone(), 0..50_usize).prop_map(|(who, at)| Step::Write { who, at }),
        1 => who.clone().prop_map(|who| Step::Cut { who }),
        2 => who.prop_map(|who| Step::Join { who }),
        6 => (1..20_usize).prop_map(|n| Step::Deliver { n }),
        1 => Just(Step::Wait),
    ];
    prop::collection::vec(step, 1..80)
}

fn faults() -> impl Strategy<Value = NetworkFaults> {
    (0..40_u32, 0..40_u32, 0..60_u32).prop_map(|(lost, repeated, reordered)| NetworkFaults {
        lost,
        repeated,
        reordered,
    })
}

/// Returns a configuration with `n_cases` cases, or with the number in `PROPTEST_CASES` if that
/// variable is set.
fn config(n_cases: u32) -> ProptestConfig {
    let config = ProptestConfig { failure_persistence: None, ..ProptestConfig::default() };
    let is_set = std::env::var_os("PROPTEST_CASES").is_some();
    if is_set { config } else { ProptestConfig { cases: n_cases, ..config } }
}

proptest! {
    #![proptest_config(config(96))]

    #[test]
    fn all_have_everything_once(
        seed in any::<u64>(),
        faults in faults(),
        is_main in any::<bool>(),
        steps in steps(),
    ) {
        let mut world = World::new(seed, faults, is_main);
        for step in &steps {
            world.play(step);
        }
        world.settle();
        world.check();
    }

    #[test]
    fn no_bytes_make_a_session_panic(
        bytes in prop::collection::vec(any::<u8>(), 0..64),
        kind in 0..5_u8,
    ) {
        let mut world = World::new(1, NetworkFaults::default(), false);
        let mut session = HubSession::new(world.room.enter(), PeerAccess::ReadWrite);
        // Most inputs are a message of an existing type.
        let bytes = if kind < 4 { [&[0, kind][..], &bytes].concat() } else { bytes };
        let bytes = if kind == 3 { bytes[1..].to_vec() } else { bytes };
        let mut place = LockedHubDocument { document: &mut world.hub, room: &mut world.room };
        session.receive(&mut place, &bytes, Duration::ZERO).ok();
        let Guest { session, replica, .. } = &mut world.guests[0];
        session.receive(replica, &bytes, Duration::ZERO).ok();
    }
}
