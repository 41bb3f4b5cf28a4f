//! The states of both sides of a conflict of words.
//!
//! If two writers change the same word without knowing of each other, the merged file has both
//! words, and the timeline shows what was before and what came of it. What one of the sides had by
//! itself is in no note: it was the last edit there. The replica that merges still knows that
//! state, and notes it in `fs:log` (decision 67). Every replica that notes the same state makes the
//! same item, under a client id that is a hash of the state.

use std::collections::{BTreeMap, HashMap as Members};

use yrs::{Any, ClientID, IdSet, Snapshot};

use super::{
    Version,
    diff::{TextSplice, utf16_len},
    item_spans::ItemSpan,
    rule_client::{is_rule_client, rule_client},
};
use crate::{
    gate::{RootIx, UpdateBuilder},
    id::{ClientId, ItemId},
    lib0::write_string,
};

/// What the hash for the client id of a note begins with; it must change with the format.
const RULE: &str = "yfs side 1";

/// The member of an element of `fs:log` that holds the state.
const MEMBER: &str = "side";

/// The length of an encoded state above which none is noted, in bytes.
const MAX_LEN: usize = 64 << 10;

/// The most states of a document that are listed.
const MAX_STATES: usize = 1_000;

/// The noted states of a document, by the item that holds each.
#[derive(Debug, Default)]
pub(super) struct SideStates {
    states: BTreeMap<ItemId, Version>,
}

impl SideStates {
    /// Adds an element of `fs:log`, and reports whether it notes a state. An element whose client
    /// id is not that of its state is none: nobody can note one twice.
    pub(super) fn insert(&mut self, item: ItemId, value: &Any) -> bool {
        let Any::Map(members) = value else { return false };
        let Some(Any::Buffer(bytes)) = members.get(MEMBER) else { return false };
        if bytes.len() <= MAX_LEN && item == note_item(bytes)
            && let Ok(state) = Version::decode(bytes)
        {
            self.states.insert(item, state);
        }
        true
    }

    /// Removes deleted elements.
    pub(super) fn remove(&mut self, client: ClientId, start: u32, end: u32) {
        if is_rule_client(client) {
            let gone = |item: &ItemId| item.client == client && (start..end).contains(&item.clock);
            self.states.retain(|item, _| !gone(item));
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.states.is_empty()
    }

    /// Returns the items that hold the states.
    pub(super) fn items(&self) -> impl Iterator<Item = ItemId> {
        self.states.keys().copied()
    }

    /// Returns the states that are listed.
    pub(super) fn listed(&self) -> impl Iterator<Item = &Version> {
        self.states.values().take(MAX_STATES)
    }
}

fn note_item(state: &[u8]) -> ItemId {
    let mut input = Vec::new();
    write_string(&mut input, RULE);
    input.extend(state);
    ItemId::new(rule_client(&input), 0)
}

/// Returns the update that notes a state, and its item; `None` if the state takes too many bytes.
pub(super) fn encode_note(state: &Version) -> Option<(ItemId, Vec<u8>)> {
    let bytes = state.encode_in_order();
    if bytes.len() > MAX_LEN {
        return None;
    }
    let item = note_item(&bytes);
    let members = Members::from([(MEMBER.to_owned(), Any::Buffer(bytes.into()))]);
    let mut update = UpdateBuilder::new();
    update.array_run(item, None, None, RootIx::Log.name(), &[Any::from(members)]);
    Some((item, update.finish()))
}

/// The state that the writer of a stale save had: what it had read, with its own changes alone.
pub(super) struct SavedSide<'a> {
    /// What the writer had read.
    pub(super) read: &'a Version,
    /// The document before the save.
    pub(super) before: &'a Version,
    /// The document after the save.
    pub(super) after: &'a Version,
    /// The first item of the save.
    pub(super) first: ItemId,
}

impl SavedSide<'_> {
    /// Returns the state, if the writer deleted `more` than the save still found.
    pub(super) fn state(&self, more: &IdSet) -> Version {
        let mut clocks = self.read.snapshot().state_map.clone();
        let client = ClientID::new(self.first.client.get());
        let (known, end) = (clocks.get(&client), self.after.snapshot().state_map.get(&client));
        clocks.set_max(client, end);
        let mut own = self.after.snapshot().delete_set.clone();
        own.diff_with(&self.before.snapshot().delete_set);
        let mut deleted = self.read.snapshot().delete_set.clone();
        deleted.merge_with(own);
        deleted.merge_with(more.clone());
        // What this client wrote for others since is not in that state.
        if known < self.first.clock {
            deleted.range_mut(client).insert(known..self.first.clock);
        }
        let mut within = IdSet::new();
        for (client, clock) in clocks.iter() {
            within.range_mut(*client).insert(0..*clock);
        }
        deleted.diff_with(&outside(&deleted, &within));
        Version::noted(Snapshot::new(clocks, deleted))
    }

    /// Returns what others had deleted since of what the writer had read.
    pub(super) fn deleted_by_others(&self) -> IdSet {
        let mut deleted = self.before.snapshot().delete_set.clone();
        deleted.diff_with(&self.read.snapshot().delete_set);
        deleted
    }
}

fn outside(items: &IdSet, within: &IdSet) -> IdSet {
    let mut outside = items.clone();
    outside.diff_with(within);
    outside
}

/// Returns the items of a text that splices delete.
pub(super) fn items_deleted(text: &str, spans: &[ItemSpan], splices: &[TextSplice]) -> IdSet {
    let mut deleted = IdSet::new();
    for splice in splices {
        for span in spans {
            let from = splice.old.start.max(span.at);
            let to = splice.old.end.min(span.at + span.len);
            if from < to {
                let start = span.item.clock + utf16_len(&text[span.at..from]);
                let end = start + utf16_len(&text[from..to]);
                deleted.range_mut(ClientID::new(span.item.client.get())).insert(start..end);
            }
        }
    }
    deleted
}
