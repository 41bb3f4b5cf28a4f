//! Random histories of at least five replicas: operations over the whole API, updates that are
//! lost, doubled and late, clocks an hour apart, restarts and compactions in between, and a peer
//! that follows only the seed's plain rules.
//!
//! `YFS_STEPS` says how many steps are taken altogether, `YFS_SEED` begins with another seed (and
//! plays only that one if `YFS_STEPS` is not given).

use std::{
    env,
    panic::{catch_unwind, resume_unwind},
};

use yfs_tests::replicas::History;

/// How many steps a history takes.
const N_STEPS: usize = 120;

#[test]
fn nothing_is_lost_doubled_or_seen_differently() {
    let number = |name: &str| env::var(name).ok().map(|text| text.parse().expect("a number"));
    let (first, n_steps) = (number("YFS_SEED"), number("YFS_STEPS"));
    let default = if first.is_some() { N_STEPS } else { 2_400 };
    let n_steps: usize = n_steps.map_or(default, |n_steps: u64| n_steps as usize);
    let first = first.unwrap_or(1);
    for seed in first..first + n_steps.div_ceil(N_STEPS) as u64 {
        let played = catch_unwind(|| history(seed).play());
        if let Err(panic) = played {
            println!("again: YFS_SEED={seed} cargo test -p yfs-tests --test it replicas::");
            resume_unwind(panic);
        }
    }
    println!("{n_steps} steps from seed {first} on");
}

/// Every third history has a plain peer, every tenth lies on a disk.
fn history(seed: u64) -> History {
    History {
        seed,
        n_steps: N_STEPS,
        n_replicas: 5 + (seed % 3) as usize,
        plain: seed.is_multiple_of(3),
        on_disk: seed.is_multiple_of(10),
    }
}
