//! Random scripts: every peer's table is right after every step, for any order of updates.
//!
//! Updates are delivered late, out of order, twice or never; a full sync makes up for the lost
//! ones. After every step the table of the peer concerned equals one that is built from its
//! document at once (I6), and absorbing and reading have changed nothing (I5).

use proptest::prelude::*;
use yrs::Any;

use super::{
    super::{FileRow, NodeKind, RowChanges, RowWrite},
    peers::{Ours, file_id},
};
use crate::{
    id::FileId,
    tests::{property_config, random_script},
    time::Millis,
};

const N_STEPS: usize = 80;

/// One step of a script. Peers, updates and rows are numbers, modulo how many there are.
#[derive(Debug, Clone)]
enum Step {
    /// A peer writes, some milliseconds after the previous step. Its update is sent to all others.
    Write { peer: usize, later_ms: i64, writes: Vec<Write> },
    /// A sent update arrives, unless it is lost; it may arrive once more later.
    Deliver { update: usize, is_lost: bool, is_repeated: bool },
    /// A peer receives all items of another that it lacks.
    Sync { from: usize, to: usize },
}

/// One row write of a step.
#[derive(Debug, Clone)]
enum Write {
    Create { name: usize, parent: Option<usize>, is_file: bool, numbers: [i64; 3], derived: bool },
    Update { row: usize, fields: Vec<Field> },
    Delete { row: usize },
}

/// One changed field of a row.
#[derive(Debug, Clone)]
enum Field {
    Name(usize),
    Parent(Option<usize>),
    TrashedAt(Option<i64>),
    Mode(u32),
    Link(bool),
    Meta { key: usize, is_set: bool },
    Size(u64),
}

struct World {
    peers: Vec<Ours>,
    /// Updates on their way, and to whom.
    mail: Vec<(usize, Vec<u8>)>,
    n_ids: usize,
    now: i64,
}

fn id_of(number: usize) -> FileId {
    file_id(&format!("id{number:013}"))
}

fn field() -> impl Strategy<Value = Field> {
    let parent = prop_oneof![1 => Just(None), 2 => (0..6_usize).prop_map(Some)];
    prop_oneof![
        (0..99_usize).prop_map(Field::Name),
        parent.prop_map(Field::Parent),
        prop::option::of(0..99_i64).prop_map(Field::TrashedAt),
        (0..0o1000_u32).prop_map(Field::Mode),
        any::<bool>().prop_map(Field::Link),
        (0..2_usize, any::<bool>()).prop_map(|(key, is_set)| Field::Meta { key, is_set }),
        (0..1000_u64).prop_map(Field::Size),
    ]
}

fn write() -> impl Strategy<Value = Write> {
    let row = 0..1000_usize;
    let numbers = prop::array::uniform3(0..1000_i64);
    let parent = prop::option::of(0..6_usize);
    let create = (0..9_usize, parent, any::<bool>(), numbers, prop::bool::weighted(0.25)).prop_map(
        |(name, parent, is_file, numbers, derived)| Write::Create {
            name,
            parent,
            is_file,
            numbers,
            derived,
        },
    );
    let fields = prop::collection::vec(field(), 1..=2);
    prop_oneof![
        2 => create,
        7 => (row.clone(), fields).prop_map(|(row, fields)| Write::Update { row, fields }),
        1 => row.prop_map(|row| Write::Delete { row }),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    // Divisible by every number of peers.
    let peer = 0..60_usize;
    let writes = prop::collection::vec(write(), 1..=3);
    prop_oneof![
        5 => (peer.clone(), 0..3_i64, writes)
            .prop_map(|(peer, later_ms, writes)| Step::Write { peer, later_ms, writes }),
        4 => (0..1000_usize, prop::bool::weighted(0.125), prop::bool::weighted(0.125))
            .prop_map(|(update, is_lost, is_repeated)| {
                Step::Deliver { update, is_lost, is_repeated }
            }),
        1 => (peer.clone(), peer).prop_map(|(from, to)| Step::Sync { from, to }),
    ]
}

impl Write {
    fn resolve(&self, peer: &Ours, n_ids: &mut usize) -> RowWrite {
        let entries = peer.entries();
        let pick =
            |row: usize| entries.keys().nth(row % entries.len().max(1)).map(|id| file_id(id));
        let mut new_row = |name: usize| {
            *n_ids += 1;
            let kind = NodeKind::File;
            FileRow::new(id_of(*n_ids), &format!("name {name}"), None, kind, Millis(0))
        };
        match self {
            Self::Create { name, parent, is_file, numbers: [size, created, updated], derived } => {
                let row = FileRow {
                    parent: parent.map(id_of),
                    kind: if *is_file { NodeKind::File } else { NodeKind::Directory },
                    size: *size as u64,
                    created_at: Millis(*created),
                    updated_at: Millis(*updated),
                    ..new_row(*name)
                };
                RowWrite::Create { row, derived: *derived }
            }
            Self::Update { row, fields } => match pick(*row) {
                Some(id) => RowWrite::Update { id, changes: changes(fields) },
                None => RowWrite::Create { row: new_row(*row), derived: false },
            },
            Self::Delete { row } => match pick(*row) {
                Some(id) => RowWrite::Delete { id },
                None => RowWrite::Create { row: new_row(*row), derived: false },
            },
        }
    }
}

fn changes(fields: &[Field]) -> RowChanges {
    let mut changes = RowChanges::default();
    for field in fields {
        match *field {
            Field::Name(name) => changes.name = Some(format!("name {name}").into()),
            Field::Parent(parent) => changes.parent = Some(parent.map(id_of)),
            Field::TrashedAt(time) => changes.trashed_at = Some(time.map(Millis)),
            Field::Mode(mode) => changes.mode = Some(Some(mode)),
            Field::Link(is_set) => changes.link = Some(is_set.then(|| "target".into())),
            Field::Meta { key, is_set } => {
                let patch = format!("{{\"k{key}\": {}}}", if is_set { "1" } else { "null" });
                changes.meta = Some(Any::from_json(&patch).unwrap());
            }
            Field::Size(size) => changes.size = Some(size),
        }
    }
    changes
}

impl World {
    fn new(n_peers: usize) -> Self {
        let peers = (0..n_peers).map(|ix| Ours::new(100 + ix as u64)).collect();
        Self { peers, mail: Vec::new(), n_ids: 0, now: 1_700_000_000_000 }
    }

    /// Plays a step, and returns the peer concerned.
    fn step(&mut self, step: &Step) -> usize {
        let n_peers = self.peers.len();
        match step {
            Step::Write { peer, later_ms, writes } => {
                let peer = peer % n_peers;
                self.now += later_ms;
                self.write(peer, writes);
                peer
            }
            Step::Deliver { .. } if self.mail.is_empty() => 0,
            Step::Deliver { update, is_lost, is_repeated } => {
                let ix = update % self.mail.len();
                let (to, update) =
                    if *is_repeated { self.mail[ix].clone() } else { self.mail.swap_remove(ix) };
                if !is_lost {
                    self.peers[to].receive(&update);
                }
                to
            }
            Step::Sync { from, to } => {
                self.sync(from % n_peers, to % n_peers);
                to % n_peers
            }
        }
    }

    fn write(&mut self, peer: usize, writes: &[Write]) {
        let ours = &mut self.peers[peer];
        let n_ids = &mut self.n_ids;
        let writes: Vec<_> = writes.iter().map(|write| write.resolve(ours, n_ids)).collect();
        // A batch may touch what it has itself deleted; then nothing happens.
        let Ok(update) = ours.table.plan(&ours.doc, &writes, Millis(self.now)) else { return };
        ours.commit(&update);
        for other in (0..self.peers.len()).filter(|other| *other != peer) {
            self.mail.push((other, update.clone()));
        }
    }

    fn sync(&mut self, from: usize, to: usize) {
        if from != to {
            let diff = self.peers[from].doc.encode_diff(&self.peers[to].doc.state_vector());
            self.peers[to].receive(&diff.unwrap());
        }
    }
}

#[track_caller]
fn check(n_peers: usize, steps: &[Step]) {
    let mut world = World::new(n_peers);
    for step in steps {
        let peer = world.step(step);
        let before = world.peers[peer].doc.state_vector();
        world.peers[peer].check_invariants();
        assert_eq!(world.peers[peer].doc.state_vector(), before);
    }
    for _ in 0..2 {
        for (from, to) in (0..n_peers).flat_map(|from| (0..n_peers).map(move |to| (from, to))) {
            world.sync(from, to);
        }
    }
    for peer in &world.peers {
        assert!(peer.doc.parked().is_empty(), "everything has arrived");
        assert_eq!(peer.entries(), world.peers[0].entries(), "peers differ");
        peer.check_invariants();
    }
}

proptest! {
    #![proptest_config(property_config(24))]

    #[test]
    fn tables_are_functions_of_their_documents(
        n_peers in 2..=5_usize,
        steps in random_script(step(), N_STEPS),
    ) {
        check(n_peers, &steps.0);
    }
}
