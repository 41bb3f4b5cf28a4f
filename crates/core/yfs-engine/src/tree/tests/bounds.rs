//! Trees that a hostile peer may make, in which each node could cost a walk over all others. Steps
//! are counted: they must grow linearly with the number of nodes.

use rand::{SeedableRng, rngs::ChaCha8Rng, seq::SliceRandom};

use super::*;
use crate::steps;

/// The allowed number of steps per node.
const STEPS_PER_NODE: usize = 20;

const N_NODES: usize = 20_000;

fn key(kind: &str, number: usize) -> String {
    format!("{kind}{number}")
}

fn directory(key: &str, name: &str, parent: Option<&str>) -> RowHistory {
    let mut entry = entry(key, name, NodeKind::Directory);
    entry.row.parent = parent.map(id);
    entry
}

/// A directory in another, and so on; each holds one file.
fn chain(n_nodes: usize) -> Vec<RowHistory> {
    let parent = |at: usize| at.checked_sub(1).map(|above| key("c", above));
    (0..n_nodes).map(|at| directory(&key("c", at), "d", parent(at).as_deref())).collect()
}

/// Puts entries in an order that is unrelated to their places.
fn shuffle(entries: &mut [RowHistory]) {
    entries.shuffle(&mut ChaCha8Rng::seed_from_u64(1));
}

/// Applies entries as one batch, lists the whole tree, and removes all entries again.
#[track_caller]
fn check_steps(entries: &[RowHistory]) {
    let most = STEPS_PER_NODE * entries.len();
    let mut tree = TreeIndex::new(id("w"));
    let batch = entries.iter().map(|entry| (&entry.row.id, Some(entry)));
    let n_steps = steps::of(|| tree.apply(batch));
    assert!(n_steps <= most, "{n_steps} to take up {}", entries.len());
    let n_steps = steps::of(|| drop(tree.conflicts(Millis(1000))));
    assert!(n_steps <= most, "{n_steps} to list {}", entries.len());
    // The trash has the former path of each item.
    let most_listed = most + tree.n_trashed() * crate::path::MAX_PATH_LEN / 2;
    let n_steps = steps::of(|| drop(tree.trash()));
    assert!(n_steps <= most_listed, "{n_steps} to list the trash of {}", entries.len());
    let n_visible = tree.visible().count();
    assert_eq!(n_visible + tree.hidden().count(), entries.len());
    let paths = entries.iter().take(100).chain(entries.iter().rev().take(100));
    let n_steps = steps::of(|| paths.for_each(|entry| drop(tree.path_of(&entry.row.id))));
    assert!(n_steps <= 200 * crate::path::MAX_PATH_LEN, "{n_steps} for 200 paths");
    // Each entry goes and comes again.
    let changes = entries.iter().map(|entry| (&entry.row.id, None));
    let n_steps = steps::of(|| tree.apply(changes));
    assert!(n_steps <= most, "{n_steps} to take out {}", entries.len());
    let batch = entries.iter().map(|entry| (&entry.row.id, Some(entry)));
    let n_steps = steps::of(|| tree.apply(batch));
    assert!(n_steps <= most, "{n_steps} to take up {} again", entries.len());
    assert_eq!(tree.visible().count(), n_visible);
}

#[test]
fn a_chain_of_directories_costs_no_square() {
    let mut entries = chain(N_NODES);
    check_steps(&entries);
    entries.reverse();
    check_steps(&entries);
    shuffle(&mut entries);
    check_steps(&entries);
}

#[test]
fn directories_that_come_below_a_chain_cost_no_walk_each() {
    let mut entries = chain(N_NODES / 4);
    let deepest = key("c", N_NODES / 4 - 1);
    for at in 0..N_NODES / 4 {
        let [x, y, z] = ["x", "y", "z"].map(|kind| key(kind, at));
        // Each comes before its parent, so that it moves below the chain with its children.
        entries.push(directory(&z, &z, Some(&y)));
        entries.push(directory(&y, &y, Some(&x)));
        entries.push(directory(&x, &x, Some(&deepest)));
    }
    check_steps(&entries);
}

#[test]
fn a_cycle_of_all_directories_costs_no_square() {
    let parent = |at: usize| key("c", (at + 1) % N_NODES);
    let cycle = (0..N_NODES).map(|at| directory(&key("c", at), "d", Some(&parent(at))));
    let mut entries: Vec<RowHistory> = cycle.collect();
    check_steps(&entries);
    shuffle(&mut entries);
    check_steps(&entries);
}

#[test]
fn breakers_that_fall_back_below_a_chain_cost_no_walk_each() {
    let mut entries = chain(N_NODES / 2);
    let deepest = [N_NODES / 2 - 1, N_NODES / 2 - 2].map(|at| Some(id(&key("c", at))));
    for at in 0..N_NODES / 4 {
        let [left, right] = ["l", "r"].map(|kind| key(kind, at));
        for (this, other) in [(&left, &right), (&right, &left)] {
            let mut entry = directory(this, this, Some(other));
            entry.prev_parents = deepest.to_vec();
            entries.push(entry);
        }
    }
    // The trashed node at the top of the chain sends each of them down all of it in vain.
    check_steps(&entries);
    entries[0].row.trashed_at = Some(Millis(3));
    check_steps(&entries);
}

#[test]
fn trash_and_names_at_every_depth_cost_no_walk_each() {
    let mut entries = Vec::new();
    for (at, directory) in chain(N_NODES / 4).into_iter().enumerate() {
        let home = directory.row.id.clone();
        let mut trashed = entry(&key("t", at), "t", NodeKind::File);
        trashed.row.trashed_at = Some(Millis(2));
        let twins = ["x", "y"].map(|kind| entry(&key(kind, at), "same", NodeKind::File));
        entries.push(directory);
        entries.extend([trashed].into_iter().chain(twins).map(|mut entry| {
            entry.row.parent = Some(home.clone());
            entry
        }));
    }
    check_steps(&entries);
}

#[test]
fn twins_come_and_go_without_a_look_at_each_other() {
    let twin = |at: usize| entry(&key("t", at), "same.txt", NodeKind::File);
    let mut entries: Vec<RowHistory> = (0..N_NODES).map(twin).collect();
    shuffle(&mut entries);
    check_steps(&entries);
    let tree = build_at_once(&entries);
    let conflicts = tree.conflicts(Millis(1000));
    let [TreeConflict::Name { others, .. }] = &conflicts[..] else { panic!("one name") };
    assert_eq!(others.len(), N_NODES - 1);
}

#[test]
fn names_that_were_cut_come_free_at_once() {
    let long = |at: usize| format!("{at:06}{}", "n".repeat(240));
    let mut entries = Vec::new();
    for at in 0..N_NODES / 4 {
        for kind in ["l", "m"] {
            entries.push(entry(&key(kind, at), &long(at), NodeKind::File));
        }
        entries.push(entry(&key("c", at), &format!("x (~{at})"), NodeKind::File));
    }
    check_steps(&entries);
}

fn build_at_once(entries: &[RowHistory]) -> TreeIndex {
    let mut tree = TreeIndex::new(id("w"));
    tree.apply(entries.iter().map(|entry| (&entry.row.id, Some(entry))));
    tree
}
