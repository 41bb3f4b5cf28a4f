//! Timestamps compared with JavaScript itself: `fixtures/timestamp-order.json` holds the results of
//! Node (written by `tests/node/timestamp-order.mjs`).

use std::{cmp::Ordering, collections::HashMap};

use yrs::Any;

use super::{
    super::timestamp::ElementTimestamp,
    peers::{Ours, client, file_id},
};
use crate::{
    gate::UpdateBuilder,
    id::ItemId,
    lib0::{AnyLimits, Lib0Reader, ValueView, read_any},
};

struct Fixture {
    values: Vec<Any>,
    orders: Vec<String>,
    groups: Vec<(Vec<usize>, usize)>,
}

fn fixture() -> Fixture {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../fixtures/timestamp-order.json");
    let json: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let value = |hex: &serde_json::Value| {
        let digits = hex.as_str().unwrap().as_bytes().chunks(2);
        let bytes: Vec<u8> = digits
            .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap())
            .collect();
        read_any(&mut Lib0Reader::new(&bytes), AnyLimits::default()).unwrap()
    };
    let number = |value: &serde_json::Value| value.as_u64().unwrap() as usize;
    let group = |group: &serde_json::Value| {
        (group[0].as_array().unwrap().iter().map(number).collect(), number(&group[1]))
    };
    Fixture {
        values: json["values"].as_array().unwrap().iter().map(value).collect(),
        orders: json["orders"]
            .as_array()
            .unwrap()
            .iter()
            .map(|order| order.as_str().unwrap().to_owned())
            .collect(),
        groups: json["groups"].as_array().unwrap().iter().map(group).collect(),
    }
}

fn sign(order: Ordering) -> char {
    match order {
        Ordering::Less => '<',
        Ordering::Greater => '>',
        Ordering::Equal => '=',
    }
}

#[test]
fn every_pair_of_timestamps_compares_as_in_javascript() {
    let Fixture { values, orders, .. } = fixture();
    let stamps: Vec<ElementTimestamp> = values.iter().map(stamp).collect();
    for (left, order) in stamps.iter().zip(&orders) {
        for (right, expected) in stamps.iter().zip(order.chars()) {
            let order = sign(left.compare(right));
            assert_eq!(order, expected, "{left:?} {right:?}: JavaScript says {expected}");
        }
    }
}

/// Returns the stamp as decoded by yrs.
fn stamp(value: &Any) -> ElementTimestamp {
    let mut bytes = Vec::new();
    value.encode(&mut bytes);
    ElementTimestamp::of(Some(ValueView::of(&bytes).unwrap()))
}

fn element(name: usize, ts: &Any) -> Any {
    let val = format!("{{\"id\": \"k\", \"name\": \"{name}\", \"type\": \"file\"}}");
    let members =
        [("key", Any::from("k")), ("val", Any::from_json(&val).unwrap()), ("ts", ts.clone())];
    Any::from(HashMap::from(members.map(|(name, value)| (name.to_owned(), value))))
}

/// Elements arrive one by one, or each before the one to its left; their places decide the winner.
#[test]
fn winner_of_any_group_is_that_of_javascript() {
    let Fixture { values, groups, .. } = fixture();
    for (group, winner) in groups {
        let mut ours = Ours::new(1);
        let mut origin = None;
        let mut updates = Vec::new();
        for (place, ix) in group.iter().enumerate() {
            let id = ItemId::new(client(1000 - place as u64), 0);
            let mut update = UpdateBuilder::new();
            update.array_run(id, origin, None, "table:files", &[element(place, &values[*ix])]);
            updates.push(update.finish());
            origin = Some(id);
        }
        if winner % 2 == 0 {
            updates.reverse();
        }
        for update in &updates {
            ours.receive(update);
            ours.check_invariants();
        }
        let name = ours.table.get(&file_id("k")).unwrap().row.name;
        assert_eq!(name, winner.to_string(), "of {group:?}");
    }
}
