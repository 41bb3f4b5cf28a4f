//! Random scripts: every peer's table is right after every step, for any order of updates.
//!
//! Updates are delivered late, out of order, twice or never; a full sync makes up for the lost
//! ones. After every step the table of the peer concerned equals one that is built from its
//! document at once (I6), and absorbing and reading have changed nothing (I5).

use yrs::Any;

use super::{
    super::{FileRow, NodeKind, RowChanges, RowWrite},
    peers::{Ours, Rng, file_id},
};
use crate::{id::FileId, time::Millis};

struct World {
    peers: Vec<Ours>,
    /// Updates on their way, and to whom.
    mail: Vec<(usize, Vec<u8>)>,
    n_ids: usize,
}

fn id_of(number: usize) -> FileId {
    file_id(&format!("id{number:013}"))
}

fn random_row(rng: &mut Rng, id: FileId) -> FileRow {
    FileRow {
        id,
        name: format!("name {}", rng.below(9)).into(),
        parent: (rng.below(2) == 0).then(|| id_of(rng.below(6))),
        kind: if rng.below(2) == 0 { NodeKind::File } else { NodeKind::Directory },
        size: rng.next() % 1000,
        created_at: Millis(rng.below(1000) as i64),
        updated_at: Millis(rng.below(1000) as i64),
        trashed_at: None,
        mode: None,
        link: None,
        blob: None,
        meta: None,
    }
}

fn random_changes(rng: &mut Rng) -> RowChanges {
    let mut changes = RowChanges::default();
    for _ in 0..=rng.below(2) {
        match rng.below(7) {
            0 => changes.name = Some(format!("name {}", rng.below(99)).into()),
            1 => changes.parent = Some((rng.below(3) > 0).then(|| id_of(rng.below(6)))),
            2 => {
                changes.trashed_at =
                    Some((rng.below(2) == 0).then(|| Millis(rng.below(99) as i64)));
            }
            3 => changes.mode = Some(Some(rng.below(0o1000) as u32)),
            4 => changes.link = Some((rng.below(2) == 0).then(|| "target".into())),
            5 => {
                let patch = format!("{{\"k{}\": {}}}", rng.below(2), ["null", "1"][rng.below(2)]);
                changes.meta = Some(Any::from_json(&patch).unwrap());
            }
            _ => changes.size = Some(rng.next() % 1000),
        }
    }
    changes
}

impl World {
    fn random_write(&mut self, rng: &mut Rng, peer: usize) -> RowWrite {
        let entries = self.peers[peer].entries();
        let pick = entries.keys().nth(rng.below(entries.len().max(1)));
        match (pick, rng.below(10)) {
            (Some(id), 0) => RowWrite::Delete { id: file_id(id) },
            (Some(id), 1..8) => RowWrite::Update { id: file_id(id), changes: random_changes(rng) },
            _ => {
                self.n_ids += 1;
                let row = random_row(rng, id_of(self.n_ids));
                RowWrite::Create { row, derived: rng.below(4) == 0 }
            }
        }
    }

    fn step(&mut self, rng: &mut Rng, now: i64) -> usize {
        let peer = rng.below(self.peers.len());
        match rng.below(10) {
            0..5 => {
                let n_writes = 1 + rng.below(3);
                let writes: Vec<_> = (0..n_writes).map(|_| self.random_write(rng, peer)).collect();
                let ours = &mut self.peers[peer];
                // A batch may touch what it has itself deleted; then nothing happens.
                let Ok(update) = ours.table.plan(&ours.doc, &writes, Millis(now)) else {
                    return peer;
                };
                ours.commit(&update);
                for other in (0..self.peers.len()).filter(|other| *other != peer) {
                    self.mail.push((other, update.clone()));
                }
                peer
            }
            5..9 if !self.mail.is_empty() => {
                let ix = rng.below(self.mail.len());
                let (to, update) = match rng.below(8) {
                    0 => self.mail[ix].clone(),
                    _ => self.mail.swap_remove(ix),
                };
                if rng.below(8) > 0 {
                    self.peers[to].receive(&update);
                }
                to
            }
            _ => {
                let other = rng.below(self.peers.len());
                self.sync(other, peer);
                peer
            }
        }
    }

    fn sync(&mut self, from: usize, to: usize) {
        if from != to {
            let diff = self.peers[from].doc.encode_diff(&self.peers[to].doc.state_vector());
            self.peers[to].receive(&diff.unwrap());
        }
    }
}

#[test]
fn tables_are_functions_of_their_documents() {
    for seed in 1..=24 {
        let mut rng = Rng::new(seed);
        let n_peers = 2 + rng.below(4);
        let peers = (0..n_peers).map(|ix| Ours::new(100 + ix as u64)).collect();
        let mut world = World { peers, mail: Vec::new(), n_ids: 0 };
        let mut now = 1_700_000_000_000;
        for _ in 0..80 {
            now += rng.below(3) as i64;
            let peer = world.step(&mut rng, now);
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
            assert!(peer.doc.parked().is_empty(), "seed {seed}: everything has arrived");
            assert_eq!(peer.entries(), world.peers[0].entries(), "seed {seed}: peers differ");
            peer.check_invariants();
        }
    }
}
