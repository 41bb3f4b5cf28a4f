//! Elements that a hostile peer may write: many of one key. Steps are counted: they must grow
//! linearly with the number of elements.

use std::collections::HashMap;

use rand::{RngExt, SeedableRng, rngs::ChaCha8Rng};
use yrs::{Any, Array, Doc, ReadTxn, StateVector, Transact, Update, updates::decoder::Decode};

use super::peers::{Ours, file_id};
use crate::steps;

const N_ELEMENTS: usize = 20_000;

/// A peer that writes elements anywhere, and deletes none that lost.
struct Hostile(Doc);

impl Hostile {
    fn new(number: u64) -> Self {
        Self(Doc::with_client_id(number))
    }

    /// Inserts elements of one key at a place, and returns that as an update.
    fn insert(&self, at: u32, stamps: impl IntoIterator<Item = Any>) -> Vec<u8> {
        let array = self.0.get_or_insert_array("table:files");
        let mut txn = self.0.transact_mut();
        array.insert_range(&mut txn, at, stamps.into_iter().map(element));
        txn.encode_update_v1()
    }

    /// Deletes elements, and returns that as an update.
    fn delete(&self, at: u32, n_elements: u32) -> Vec<u8> {
        let array = self.0.get_or_insert_array("table:files");
        let mut txn = self.0.transact_mut();
        array.remove_range(&mut txn, at, n_elements);
        txn.encode_update_v1()
    }

    fn receive(&self, update: &[u8]) {
        self.0.transact_mut().apply_update(Update::decode_v1(update).unwrap()).unwrap();
    }

    fn state(&self) -> Vec<u8> {
        self.0.transact().encode_state_as_update_v1(&StateVector::default())
    }
}

fn element(ts: Any) -> Any {
    let name = Any::from(format!("named at {ts}"));
    let members = [("id", Any::from("k")), ("name", name), ("type", Any::from("file"))];
    let val = HashMap::from(members.map(|(name, value)| (name.to_owned(), value)));
    let members = [("key", Any::from("k")), ("val", Any::from(val)), ("ts", ts)];
    Any::from(HashMap::from(members.map(|(name, value)| (name.to_owned(), value))))
}

fn stamps(n_stamps: usize) -> impl Iterator<Item = Any> {
    (0..n_stamps).map(|ts| Any::from(ts as f64))
}

fn name_of(ours: &Ours) -> String {
    ours.table.get(&file_id("k")).expect("there is a row").row.name.to_string()
}

#[track_caller]
fn check_steps(most: usize, run: impl FnOnce()) {
    let n_steps = steps::of(run);
    assert!(n_steps <= most, "{n_steps} steps, not {most}");
}

#[test]
fn an_element_of_a_key_that_has_many_costs_a_few_steps() {
    let (mut ours, hostile) = (Ours::new(1), Hostile::new(9));
    let update = hostile.insert(0, stamps(N_ELEMENTS));
    check_steps(2 * N_ELEMENTS, || drop(ours.receive(&update)));
    assert_eq!(name_of(&ours), format!("named at {}", N_ELEMENTS - 1));
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    for number in 1..=100 {
        let at = rng.random_range(0..N_ELEMENTS) as u32;
        let update = hostile.insert(at, [Any::from((N_ELEMENTS + number) as f64)]);
        check_steps(8, || drop(ours.receive(&update)));
        assert_eq!(name_of(&ours), format!("named at {}", N_ELEMENTS + number));
    }
    ours.check_invariants();
}

#[test]
fn ties_below_the_greatest_timestamp_cost_no_walk() {
    let (mut ours, hostile) = (Ours::new(1), Hostile::new(9));
    let ties = (0..N_ELEMENTS).map(|_| Any::from(7.0)).chain([Any::from(8.0)]);
    let update = hostile.insert(0, ties);
    check_steps(2 * N_ELEMENTS, || drop(ours.receive(&update)));
    for _ in 0..100 {
        let update = hostile.insert(0, [Any::from(7.0)]);
        check_steps(8, || drop(ours.receive(&update)));
    }
    // When the greatest is deleted, one walk determines which of the others is last.
    let update = hostile.delete(N_ELEMENTS as u32 + 100, 1);
    check_steps(4 * N_ELEMENTS, || drop(ours.receive(&update)));
    ours.check_invariants();
}

#[test]
fn elements_that_go_and_come_again_cost_no_square() {
    let (mut ours, hostile) = (Ours::new(1), Hostile::new(9));
    let mut update = hostile.insert(0, stamps(N_ELEMENTS));
    for _ in 0..3 {
        check_steps(2 * N_ELEMENTS, || drop(ours.receive(&update)));
        let gone = hostile.delete(1, N_ELEMENTS as u32 - 1);
        check_steps(2 * N_ELEMENTS, || drop(ours.receive(&gone)));
        assert_eq!(name_of(&ours), "named at 0");
        update = hostile.insert(1, stamps(N_ELEMENTS).skip(1));
    }
}

#[test]
fn many_clients_may_write_one_key() {
    // Each knows only the first elements, so that all claim to stand behind the same one.
    let first = Hostile::new(109);
    let base = first.insert(0, stamps(10));
    let mut ours = Ours::new(1);
    ours.receive(&base);
    let all = Hostile::new(110);
    all.receive(&base);
    for number in 0..40 {
        let hostile = Hostile::new(1000 + number);
        hostile.receive(&base);
        let n_stamps = N_ELEMENTS / 40;
        let update = hostile.insert(number as u32 % 10, stamps(n_stamps));
        check_steps(4 * N_ELEMENTS, || drop(ours.receive(&update)));
        all.receive(&update);
    }
    let mut at_once = Ours::new(2);
    check_steps(4 * N_ELEMENTS, || drop(at_once.receive(&all.state())));
    assert_eq!(at_once.entries(), ours.entries());
}

#[test]
fn random_elements_of_one_key_win_as_in_a_fresh_table() {
    for seed in 1..=200 {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let (mut ours, hostile) = (Ours::new(1), Hostile::new(9));
        let mut n_live = 0_u32;
        for _ in 0..20 {
            let at = rng.random_range(0..=n_live);
            let update = if n_live > 0 && rng.random_ratio(1, 3) {
                let n_gone = rng.random_range(1..=(n_live - at.min(n_live - 1)) as usize) as u32;
                n_live -= n_gone;
                hostile.delete(at.min(n_live), n_gone)
            } else {
                let kinds = [Any::from(1.0), Any::from(2.0), Any::from(-0.0), Any::from(0.0)];
                let odd = [Any::from("1"), Any::from(f64::NAN), Any::Null, Any::from(3.0)];
                let kinds = kinds.into_iter().chain(odd.into_iter().take(rng.random_range(0..5)));
                let kinds: Vec<Any> = kinds.collect();
                let n_new = rng.random_range(1..=3);
                n_live += n_new as u32;
                hostile
                    .insert(at, (0..n_new).map(|_| kinds[rng.random_range(0..kinds.len())].clone()))
            };
            ours.receive(&update);
            ours.check_invariants();
        }
    }
}
