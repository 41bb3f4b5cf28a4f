//! Metadata that several writers changed at the same time: each member is a register of its own.
//!
//! A `meta` cell records when each member was set or removed. Of the live cells of one row, every
//! member has the value of the cell that set it last; among equal times, the value with the greater
//! bytes. The members of `custom` count one by one, all others as a whole. The result depends only
//! on the set of live cells.

use std::collections::BTreeMap;

use smol_str::SmolStr;
use yrs::Any;

use super::{
    format::{FieldValue, StoredCell},
    timestamp::ElementTimestamp,
};
use crate::lib0::write_any;

/// The member whose own members count one by one.
const CUSTOM: &str = "custom";

/// The greatest number of live cells that are merged. Honest writers delete those that they see;
/// more are the work of a hostile one, and then the winner counts alone.
pub(super) const MAX_MERGED: usize = 64;

/// The greatest number of removed members whose times are kept, those removed last.
const MAX_REMOVED: usize = 64;

/// A member of metadata, or of its member `custom`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct MemberPath {
    pub(super) name: SmolStr,
    pub(super) inner: Option<SmolStr>,
}

/// The time at which a member was set or removed.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct MemberTime {
    pub(super) member: MemberPath,
    pub(super) ts: f64,
}

/// The value of a member, if it has one, and when it got it.
#[derive(Debug, Clone, Default)]
struct MemberState {
    value: Option<Any>,
    ts: Option<f64>,
}

type Members = BTreeMap<MemberPath, MemberState>;

impl MemberState {
    /// Reports whether this state replaces another.
    fn beats(&self, other: &Self) -> bool {
        let Some(ts) = self.ts else { return false };
        let Some(other_ts) = other.ts else { return true };
        match ts.total_cmp(&other_ts) {
            std::cmp::Ordering::Equal => encoded(&self.value) > encoded(&other.value),
            order => order.is_gt(),
        }
    }
}

fn encoded(value: &Option<Any>) -> Vec<u8> {
    let mut bytes = Vec::new();
    if let Some(value) = value {
        // The members of an object have no order of their own.
        write_any(&mut bytes, &sorted(value));
    }
    bytes
}

/// Returns a value with its objects as arrays of their members in order.
fn sorted(value: &Any) -> Any {
    match value {
        Any::Map(members) => {
            let members: BTreeMap<&String, &Any> = members.iter().collect();
            let pairs = members
                .into_iter()
                .map(|(name, value)| Any::Array([Any::from(name.as_str()), sorted(value)].into()));
            Any::Array(pairs.collect())
        }
        Any::Array(values) => Any::Array(values.iter().map(sorted).collect()),
        value => value.clone(),
    }
}

/// Returns the times of the members of new metadata: `ts` for those that a write changed.
pub(super) fn changed_times(
    before: Option<&Any>,
    after: Option<&Any>,
    old: &[MemberTime],
    ts: f64,
) -> Box<[MemberTime]> {
    let mut members = read_members(before, old);
    let now = read_members(after, &[]);
    for (member, state) in &mut members {
        let value = now.get(member).and_then(|state| state.value.as_ref());
        if state.value.as_ref() != value {
            *state = MemberState { value: value.cloned(), ts: Some(ts) };
        }
    }
    for (member, state) in now {
        members.entry(member).or_insert(MemberState { ts: Some(ts), ..state });
    }
    times_of(&members)
}

/// Returns what several live cells of one row say together, the winner first.
pub(super) fn merged_cell(cells: &[(&StoredCell, &ElementTimestamp)]) -> Option<StoredCell> {
    let (winner, stamp) = cells.first()?;
    let mut members = read_cell(winner, stamp)?;
    for (cell, stamp) in &cells[1..] {
        for (member, state) in read_cell(cell, stamp)? {
            let known = members.entry(member).or_default();
            if state.beats(known) {
                *known = state;
            }
        }
    }
    let value = FieldValue::Meta(write_members(&members).map(Box::new));
    let member_times = times_of(&members);
    Some(StoredCell { value, member_times, ..(*winner).clone() })
}

/// Returns the members that a cell knows of. One of an earlier version of yfs has no times: it set
/// all its members.
fn read_cell(cell: &StoredCell, stamp: &ElementTimestamp) -> Option<Members> {
    let FieldValue::Meta(meta) = &cell.value else { return None };
    let mut members = read_members(meta.as_deref(), &cell.member_times);
    let bound = stamp.bound();
    for state in members.values_mut() {
        state.ts = match (state.ts, bound) {
            _ if cell.member_times.is_empty() => bound,
            // No member is newer than its cell, whatever a peer states.
            (Some(ts), Some(bound)) => Some(ts.min(bound)),
            (ts, _) => ts,
        };
    }
    Some(members)
}

fn read_members(meta: Option<&Any>, times: &[MemberTime]) -> Members {
    let mut members = Members::new();
    let mut add = |name: &str, inner: Option<&str>, value: &Any| {
        let member = MemberPath { name: name.into(), inner: inner.map(Into::into) };
        members.insert(member, MemberState { value: Some(value.clone()), ts: None });
    };
    if let Some(Any::Map(values)) = meta {
        for (name, value) in values.iter() {
            match value {
                Any::Map(inner) if name == CUSTOM => {
                    inner.iter().for_each(|(inner, value)| add(name, Some(inner), value));
                }
                value => add(name, None, value),
            }
        }
    }
    for time in times {
        members.entry(time.member.clone()).or_default().ts = Some(time.ts);
    }
    members
}

fn write_members(members: &Members) -> Option<Any> {
    let mut values = std::collections::HashMap::new();
    let mut custom = std::collections::HashMap::new();
    for (member, state) in members {
        let Some(value) = state.value.clone() else { continue };
        match &member.inner {
            Some(inner) => drop(custom.insert(inner.to_string(), value)),
            None => drop(values.insert(member.name.to_string(), value)),
        }
    }
    if !custom.is_empty() {
        // If a writer replaced the object with another value, the object counts.
        values.insert(CUSTOM.to_owned(), Any::from(custom));
    }
    (!values.is_empty()).then(|| Any::from(values))
}

fn times_of(members: &Members) -> Box<[MemberTime]> {
    let mut removed: Vec<f64> = members
        .values()
        .filter(|state| state.value.is_none())
        .filter_map(|state| state.ts)
        .collect();
    removed.sort_by(f64::total_cmp);
    let oldest = removed.len().checked_sub(MAX_REMOVED).map_or(f64::NEG_INFINITY, |at| removed[at]);
    let times = members.iter().filter_map(|(member, state)| {
        let ts = state.ts.filter(|ts| state.value.is_some() || *ts >= oldest)?;
        Some(MemberTime { member: member.clone(), ts })
    });
    times.collect()
}
