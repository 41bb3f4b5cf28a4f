//! Members of metadata that several replicas set at the same time: each stays.

use std::collections::{BTreeMap, HashMap};

use proptest::prelude::*;
use yrs::Any;

use super::{
    super::{FileRow, NodeKind, RowChanges, RowWrite},
    peers::{Ours, file_id},
};
use crate::{
    tests::{property_config, random_script},
    time::Millis,
};

const N_REPLICAS: usize = 3;

/// One step of a script.
#[derive(Debug, Clone)]
enum Step {
    /// A replica sets or removes a member, some milliseconds after the previous step. A member is
    /// shared by all replicas, or only the replica itself writes it.
    Set { replica: usize, key: usize, is_shared: bool, value: Option<i64>, later_ms: i64 },
    /// A replica receives what it lacks of another.
    Sync { from: usize, to: usize },
}

fn steps() -> impl Strategy<Value = Step> {
    let replica = || 0..N_REPLICAS;
    let set = (replica(), 0..3_usize, any::<bool>(), proptest::option::of(0..9_i64), 0..3_i64);
    let set = set.prop_map(|(replica, key, is_shared, value, later_ms)| Step::Set {
        replica,
        key,
        is_shared,
        value,
        later_ms,
    });
    let sync = (replica(), replica()).prop_map(|(from, to)| Step::Sync { from, to });
    prop_oneof![2 => set, 1 => sync]
}

fn patch(outer: Option<&str>, name: &str, value: Option<i64>) -> Any {
    let value = value.map_or(Any::Null, |value| Any::from(value as f64));
    let members = Any::from(HashMap::from([(name.to_owned(), value)]));
    match outer {
        Some(outer) => Any::from(HashMap::from([(outer.to_owned(), members)])),
        None => members,
    }
}

fn set(ours: &mut Ours, patch: Any, now: i64) {
    let changes = RowChanges { meta: Some(patch), ..RowChanges::default() };
    ours.write(&[RowWrite::Update { id: file_id("f"), changes }], now).unwrap();
}

fn meta(ours: &Ours) -> BTreeMap<String, Any> {
    let meta = ours.table.get(&file_id("f")).unwrap().row.meta;
    let Some(Any::Map(meta)) = meta else { return BTreeMap::new() };
    let mut members = BTreeMap::new();
    for (name, value) in meta.iter() {
        match value {
            Any::Map(inner) => inner.iter().for_each(|(inner, value)| {
                members.insert(format!("{name}/{inner}"), value.clone());
            }),
            value => drop(members.insert(name.clone(), value.clone())),
        }
    }
    members
}

fn replicas() -> Vec<Ours> {
    let mut replicas: Vec<Ours> = (1..=N_REPLICAS as u64).map(Ours::new).collect();
    let mut row = FileRow::new(file_id("f"), "f", None, NodeKind::File, Millis(1));
    row.meta = Some(patch(Some("custom"), "first", Some(0)));
    replicas[0].write(&[RowWrite::Create { row, derived: false }], 1).unwrap();
    sync_all(&mut replicas);
    replicas
}

fn sync(replicas: &mut [Ours], from: usize, to: usize) {
    if from != to {
        let state = replicas[from].doc.encode_state();
        replicas[to].receive(&state);
    }
}

fn sync_all(replicas: &mut [Ours]) {
    for _ in 0..2 {
        for from in 0..replicas.len() {
            (0..replicas.len()).for_each(|to| sync(replicas, from, to));
        }
    }
}

proptest! {
    #![proptest_config(property_config(64))]

    #[test]
    fn no_member_is_lost(script in random_script(steps(), 40)) {
        let mut replicas = replicas();
        let mut own = BTreeMap::from([("custom/first".to_owned(), Some(Any::from(0.0)))]);
        let mut now = 10;
        for step in script.0 {
            match step {
                Step::Set { replica, key, is_shared, value, later_ms } => {
                    now += later_ms;
                    // Some members are not in `custom`.
                    let outer = (key > 0).then_some("custom");
                    let own_name = format!("{replica}-{key}");
                    let name = if is_shared { format!("s{key}") } else { own_name };
                    set(&mut replicas[replica], patch(outer, &name, value), now);
                    if !is_shared {
                        let path = outer.map_or(name.clone(), |outer| format!("{outer}/{name}"));
                        own.insert(path, value.map(|value| Any::from(value as f64)));
                    }
                }
                Step::Sync { from, to } => sync(&mut replicas, from, to),
            }
            replicas.iter().for_each(Ours::check_invariants);
        }
        sync_all(&mut replicas);
        let merged = meta(&replicas[0]);
        for replica in &replicas[1..] {
            prop_assert_eq!(&meta(replica), &merged);
        }
        for (name, value) in own {
            prop_assert_eq!(merged.get(&name), value.as_ref(), "{}", name);
        }
    }
}

#[test]
fn a_replica_that_saw_less_does_not_take_back_what_it_did_not_see() {
    let mut replicas = replicas();
    let custom = |name: &str| patch(Some("custom"), name, Some(1));
    set(&mut replicas[0], custom("a"), 10);
    set(&mut replicas[1], custom("b"), 11);
    sync(&mut replicas, 0, 1);
    // One has seen both, the other only the first, and writes last.
    set(&mut replicas[1], custom("d"), 12);
    sync(&mut replicas, 0, 2);
    set(&mut replicas[2], custom("c"), 13);
    sync_all(&mut replicas);
    for replica in &replicas {
        let names: Vec<String> = meta(replica).into_keys().collect();
        assert_eq!(names.join(" "), "custom/a custom/b custom/c custom/d custom/first");
    }
    // What is removed stays removed, also beside a concurrent change of another member.
    set(&mut replicas[0], patch(Some("custom"), "a", None), 20);
    set(&mut replicas[1], custom("e"), 21);
    sync_all(&mut replicas);
    for replica in &replicas {
        assert!(!meta(replica).contains_key("custom/a"));
        assert!(meta(replica).contains_key("custom/e"));
    }
}
