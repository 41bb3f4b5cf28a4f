//! Random changes on both sides, with steps and interruptions in between: in the end, the share
//! shows what the directory shows.

use rand::{RngExt, SeedableRng, rngs::ChaCha8Rng};

use super::stage::{ShareStage, at, mkdir, mv, put, rm, shown};
use crate::Workspace;

const NAMES: [&str; 6] = ["a", "b", "c.txt", "d.md", "e.txt", "f"];

/// The history of one seed.
struct ShareHistory {
    rng: ChaCha8Rng,
    stage: ShareStage,
    counter: u32,
}

impl ShareHistory {
    fn new(seed: u64) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let skew = [0, 0, 3_600_000, -3_600_000][rng.random_range(0..4)];
        Self { rng, stage: ShareStage::with_skew(skew), counter: 0 }
    }

    fn any_path(&mut self, top: &str) -> String {
        let depth = self.rng.random_range(1..4);
        let names = (0..depth).map(|_| NAMES[self.rng.random_range(0..NAMES.len())]);
        names.fold(top.to_owned(), |path, name| format!("{path}/{name}"))
    }

    /// Makes a change at random; many are refused.
    fn change(&mut self) {
        let is_origin = self.rng.random_bool(0.5);
        let top = if is_origin { "/docs" } else { "" };
        let from = self.any_path(top);
        let is_leaving = is_origin && self.rng.random_bool(0.3);
        let to = self.any_path(if is_leaving { "/private" } else { top });
        let (from, to) = if self.rng.random_bool(0.3) { (to, from) } else { (from, to) };
        self.counter += 1;
        let text = format!("line {}\n", self.counter);
        let kind = self.rng.random_range(0..12);
        let (workspace, session) = match is_origin {
            true => (&self.stage.origin, &self.stage.ana),
            false => (&self.stage.share, &self.stage.ben),
        };
        match kind {
            0..3 => drop(session.append(&at(&from), text.as_bytes(), &Default::default())),
            3 => {
                let bytes = [b"\0", text.as_bytes()].concat();
                drop(session.write(&at(&from), &bytes, &Default::default()));
            }
            4 => drop(mkdir(session, &from)),
            5..8 => drop(mv(session, &from, &to)),
            8 => drop(rm(session, &from)),
            9 => drop(session.chmod(&at(&from), 0o755)),
            10 => drop(session.symlink("a/b", &at(&from))),
            _ => restore_any(workspace),
        }
    }

    /// Takes a step that may end in the middle.
    fn step(&mut self) {
        if self.rng.random_bool(0.4) {
            let after = self.rng.random_range(0..6);
            self.stage.bridge().crash_after.set(Some(after));
        }
        let with_rows = self.rng.random_bool(0.6);
        let bridge = self.stage.bridge();
        let ended = if with_rows { bridge.step() } else { bridge.step_contents() }.is_err();
        if ended || self.rng.random_bool(0.1) {
            self.stage.restart();
        }
        self.stage.bridge().crash_after.set(None);
    }
}

fn restore_any(workspace: &Workspace) {
    let trash = workspace.trash();
    if let Some(entry) = trash.list().expect("the trash").first() {
        drop(trash.restore(&entry.id, None));
    }
}

fn run(seed: u64, n_changes: usize) {
    let mut history = ShareHistory::new(seed);
    put(&history.stage.ana, "/private/secret", "outside\n");
    mkdir(&history.stage.ana, "/docs/a/b").expect("made");
    for _ in 0..n_changes {
        history.change();
        if history.rng.random_bool(0.25) {
            history.step();
        }
    }
    history.stage.restart();
    history.stage.settle();
    let ShareStage { ana, ben, .. } = &history.stage;
    assert_eq!(shown(ana, "/docs"), shown(ben, "/"), "seed {seed}: directory, then share");
    assert_eq!(super::stage::text_of(ana, "/private/secret"), "outside\n", "seed {seed}");
    assert!(!history.stage.reveals("outside\n"), "seed {seed}");
}

#[test]
fn both_sides_agree_in_the_end() {
    let n_seeds = std::env::var("YFS_SHARE_SEEDS").ok().and_then(|n| n.parse().ok()).unwrap_or(40);
    let first = std::env::var("YFS_SHARE_SEED").ok().and_then(|n| n.parse().ok()).unwrap_or(0);
    for seed in first..first + n_seeds {
        run(seed, 60);
    }
}
