//! Notes of the states of a document, each as a difference to an earlier note.
//!
//! A whole snapshot lists every range that was ever deleted, so a snapshot in each entry of the log
//! would make the log grow with the square of the work. A note records only the changes since the
//! note of another entry that its writer had, so all notes together are about as large as all
//! deletions. `docs/decisions/0011-notes-build-on-notes.md` has the details.
//!
//! # Cost
//!
//! Reading a state costs the notes that it builds on, once each. Writing a note costs what changed
//! since the last one was written. The first note after a document was loaded, and after a note
//! that builds on an earlier one arrived, costs all notes and the deleted ranges of the document.

use std::{
    collections::{BTreeMap, HashMap as Members},
    ops::Range,
    sync::Arc,
};

use hashbrown::{HashMap, HashSet};
use yrs::{Any, ClientID, ID, IdSet, Snapshot, StateVector};

use super::{
    Version,
    item_sets::{to_ranges, to_set},
    replica::ContentReplica,
    version::{read_partial, read_snapshot},
};
use crate::{
    gate::{IdRange, RecentChanges, uncovered},
    id::{ClientId, ItemId},
    lib0::{Lib0Reader, write_var_uint},
};

/// The member of an entry that holds a whole snapshot.
const WHOLE: &str = "was";

/// The member of an entry that holds the changes since another entry.
const SINCE: &str = "more";

/// The state of the document when an entry was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum StateNote {
    /// The document was empty.
    Nothing,
    /// A snapshot.
    Whole(Arc<[u8]>),
    /// The state beyond the note of another entry: that entry, and a partial snapshot.
    Since(Arc<[u8]>),
    /// The entry has no note.
    Unknown,
}

/// The number of entries that are tried as the one that the note of a past state builds on.
const MAX_SEARCHED: usize = 16;

/// The notes of a document, by the entry that holds them.
#[derive(Debug, Default)]
pub(super) struct StateNotes {
    notes: HashMap<ItemId, StateNote>,
    /// The entries whose states the document never had: others do not build on them.
    aside: HashSet<ItemId>,
    /// The last that arrived; the next note builds on it.
    latest: Option<ItemId>,
    /// The state at `latest`, once it was needed: without it, each note would cost all notes.
    state: Option<NotedState>,
    /// Of the changes up to those that were last taken from the document: what that state may lack.
    unnoted: Option<RecentChanges>,
}

/// A state of a document that grows by notes.
#[derive(Debug, Default, Clone)]
pub(super) struct NotedState {
    clocks: HashMap<ClientId, u32>,
    /// The deleted ranges of each client, as start and end; none touch.
    deleted: HashMap<ClientId, BTreeMap<u32, u32>>,
    seen: HashSet<ItemId>,
    /// The number of deleted items.
    n_deleted: u64,
}

impl StateNote {
    /// Parses the members of an entry.
    pub(super) fn parse(item: ItemId, members: &Members<String, Any>) -> Self {
        match (members.get(WHOLE), members.get(SINCE)) {
            (Some(Any::Buffer(bytes)), _) => Self::Whole(bytes.clone()),
            (_, Some(Any::Buffer(bytes))) => Self::Since(bytes.clone()),
            // A writer with an earlier item had not found the document empty.
            (None, None) if item.clock == 0 => Self::Nothing,
            _ => Self::Unknown,
        }
    }

    /// Returns the member of an entry that holds the note.
    pub(super) fn member(&self) -> Option<(&'static str, Any)> {
        match self {
            Self::Whole(bytes) => Some((WHOLE, Any::Buffer(bytes.clone()))),
            Self::Since(bytes) => Some((SINCE, Any::Buffer(bytes.clone()))),
            Self::Nothing | Self::Unknown => None,
        }
    }

    /// Returns the bytes of the note.
    pub(super) fn bytes(&self) -> &[u8] {
        match self {
            Self::Whole(bytes) | Self::Since(bytes) => bytes,
            Self::Nothing | Self::Unknown => &[],
        }
    }

    /// Returns the snapshot that it holds: a partial one if it builds on another note.
    pub(super) fn snapshot(&self) -> Option<Snapshot> {
        match self {
            Self::Nothing | Self::Unknown => None,
            Self::Whole(bytes) => read_snapshot(&mut Lib0Reader::new(bytes)).ok(),
            Self::Since(bytes) => {
                let mut reader = Lib0Reader::new(bytes);
                read_id(&mut reader).and_then(|_| read_partial(&mut reader).ok())
            }
        }
    }

    /// Returns the entry that it builds on.
    pub(super) fn base(&self) -> Option<ItemId> {
        let Self::Since(bytes) = self else { return None };
        read_id(&mut Lib0Reader::new(bytes))
    }
}

impl StateNotes {
    /// Adds the note of an entry.
    pub(super) fn insert(&mut self, item: ItemId, note: StateNote) {
        if note != StateNote::Unknown {
            let builds_on_latest = note.base().is_some() && note.base() == self.latest;
            let state = self.state.take().filter(|_| builds_on_latest);
            self.state = state.and_then(|mut state| state.add_note(&note).then_some(state));
            self.latest = Some(item);
        }
        self.notes.insert(item, note);
    }

    /// Adds the note of an entry for a state that the document never had.
    pub(super) fn insert_aside(&mut self, item: ItemId, note: StateNote) {
        self.aside.insert(item);
        self.notes.insert(item, note);
    }

    /// Reports whether the note of an entry is of a state that the document never had.
    pub(super) fn is_aside(&self, item: ItemId) -> bool {
        self.aside.contains(&item)
    }

    /// Reports whether the state that an entry notes has an item that is in the document now. A
    /// state that cannot be read counts as one that has it.
    pub(super) fn knows(&self, entry: ItemId, item: ItemId) -> bool {
        let client = ClientID::new(item.client.get());
        let mut next = Some(entry);
        // Notes that build on each other are malicious.
        for _ in 0..=self.notes.len() {
            let Some(entry) = next else { return false };
            let note = self.get(entry);
            if *note == StateNote::Nothing {
                return false;
            }
            let Some(snapshot) = note.snapshot() else { return true };
            let clock = snapshot.state_map.get(&client);
            if clock > 0 {
                let deleted = snapshot.delete_set.contains(&ID::new(client, item.clock));
                return clock > item.clock && !deleted;
            }
            next = note.base();
        }
        true
    }

    /// Returns the entry with a note that arrived last.
    pub(super) fn latest(&self) -> Option<ItemId> {
        self.latest
    }

    /// Reports whether any note has more than so many items of a client. Each state names them
    /// itself or builds on one that does.
    pub(super) fn reach_beyond(&self, client: ClientId, clock: u32) -> bool {
        let client = ClientID::new(client.get());
        let notes = self.notes.iter().filter(|(item, _)| !self.aside.contains(*item));
        let mut notes = notes.filter_map(|(_, note)| note.snapshot());
        notes.any(|snapshot| snapshot.state_map.get(&client) > clock)
    }

    /// Encodes a version as a note that builds on the one of an entry, so that equal states are
    /// equal bytes. Returns `None` if that entry's state is unknown.
    pub(super) fn since_in_order(&self, base: ItemId, version: &Version) -> Option<StateNote> {
        let mut state = NotedState::default();
        if !state.add(self, base) {
            return None;
        }
        let mut bytes = Vec::new();
        write_id(&mut bytes, base);
        bytes.extend(state.newer_in(version).encode_in_order());
        Some(StateNote::Since(bytes.into()))
    }

    /// Encodes a version that is not later than all entries as a note.
    pub(super) fn encode_past(&self, version: &Version) -> StateNote {
        let mut state = NotedState::default();
        state.add_snapshot(version.snapshot());
        let entries = std::iter::successors(self.latest, |entry| self.get(*entry).base());
        // Nearly always a state that has an entry has all that its writer knew.
        let known = entries.filter(|entry| version.knows(entry.client, entry.clock + 1));
        let base = known.take(MAX_SEARCHED).find(|entry| {
            let mut noted = NotedState::default();
            noted.add(self, *entry) && state.covers(&noted)
        });
        let since = base.and_then(|base| self.since_in_order(base, version));
        since.unwrap_or_else(|| StateNote::Whole(version.encode().into()))
    }

    /// Returns a note that builds on the one of an entry.
    pub(super) fn built_on(&self, entry: ItemId) -> Option<&StateNote> {
        let mut notes = self.notes.iter().filter(|(item, _)| !self.aside.contains(*item));
        notes.find(|(_, note)| note.base() == Some(entry)).map(|(_, note)| note)
    }

    /// Returns the note of an entry.
    pub(super) fn get(&self, item: ItemId) -> &StateNote {
        self.notes.get(&item).unwrap_or(&StateNote::Unknown)
    }

    /// Encodes the current state of a document as a note in as few bytes as possible.
    pub(super) fn encode_current(&mut self, replica: &mut ContentReplica) -> StateNote {
        if !replica.has_items() {
            return StateNote::Nothing;
        }
        let since = self.latest.and_then(|latest| self.since(latest, replica));
        if let Some(since) = &since
            && since.len() < replica.gate.items().least_snapshot_len()
        {
            return StateNote::Since(since.as_slice().into());
        }
        let whole = replica.version().encode();
        match since {
            Some(since) if since.len() < whole.len() => StateNote::Since(since.into()),
            _ => StateNote::Whole(whole.into()),
        }
    }

    /// Encodes the current state of a document as a note that builds on the one of an entry, the
    /// latest.
    fn since(&mut self, base: ItemId, replica: &mut ContentReplica) -> Option<Vec<u8>> {
        let recent = replica.gate.take_recent();
        let mut unnoted = self.unnoted.take();
        if self.state.is_none() {
            let mut state = NotedState::default();
            if !state.add(self, base) {
                return None;
            }
            state.seen = HashSet::new();
            self.state = Some(state);
            unnoted = None;
        }
        let state = self.state.as_ref()?;
        let newer = match (unnoted, recent) {
            (Some(mut unnoted), Some(recent)) => {
                unnoted.clients.extend(recent.clients);
                unnoted.deleted.extend(recent.deleted);
                state.newer_among(&unnoted, replica)
            }
            _ => state.newer_in(&replica.version()),
        };
        debug_assert_eq!(newer, state.newer_in(&replica.version()), "all changes are recorded");
        self.unnoted = Some(RecentChanges {
            clients: newer.clocks().map(|(client, _)| client).collect(),
            deleted: to_ranges(&newer.snapshot().delete_set),
        });
        let mut bytes = Vec::new();
        write_id(&mut bytes, base);
        bytes.extend(newer.encode());
        Some(bytes)
    }
}

impl NotedState {
    /// Adds the note of an entry; reports whether all notes that it builds on are known.
    pub(super) fn add(&mut self, notes: &StateNotes, entry: ItemId) -> bool {
        let mut next = Some(entry);
        while let Some(item) = next.filter(|item| self.seen.insert(*item)) {
            let note = notes.get(item);
            if !self.add_note(note) {
                self.seen.remove(&item);
                return false;
            }
            next = note.base();
        }
        true
    }

    /// Adds a note that is not one of the log's own.
    pub(super) fn add_noted(&mut self, notes: &StateNotes, note: &StateNote) -> bool {
        note.base().is_none_or(|base| self.add(notes, base)) && self.add_note(note)
    }

    fn add_note(&mut self, note: &StateNote) -> bool {
        if *note == StateNote::Nothing {
            return true;
        }
        let Some(snapshot) = note.snapshot() else { return false };
        self.add_snapshot(&snapshot);
        true
    }

    /// Adds a snapshot.
    pub(super) fn add_snapshot(&mut self, snapshot: &Snapshot) {
        for (client, clock) in snapshot.state_map.iter() {
            self.reach(client_of(*client), *clock);
        }
        for (client, ranges) in snapshot.delete_set.iter() {
            let deleted = self.deleted.entry(client_of(*client)).or_default();
            for range in ranges.iter() {
                self.n_deleted += u64::from(insert(deleted, range.clone()));
            }
        }
    }

    /// Adds the items of a client up to a clock.
    pub(super) fn reach(&mut self, client: ClientId, clock: u32) {
        let known = self.clocks.entry(client).or_default();
        *known = clock.max(*known);
    }

    /// Returns the number of items of a client.
    pub(super) fn clock(&self, client: ClientId) -> u32 {
        self.clocks.get(&client).copied().unwrap_or(0)
    }

    /// Returns the number of items of each client.
    pub(super) fn clocks(&self) -> impl Iterator<Item = (ClientId, u32)> {
        self.clocks.iter().map(|(client, clock)| (*client, *clock))
    }

    /// Reports whether all items of another state are in this one, and all that it deletes are
    /// deleted.
    pub(super) fn covers(&self, other: &Self) -> bool {
        let has_items = other.clocks().all(|(client, clock)| clock <= self.clock(client));
        has_items && self.n_deleted >= other.n_deleted && other.deletions_covered_by(self)
    }

    fn deletions_covered_by(&self, other: &Self) -> bool {
        self.deleted.iter().all(|(client, ranges)| {
            let Some(known) = other.deleted.get(client) else { return ranges.is_empty() };
            ranges.iter().all(|(start, end)| {
                let before = known.range(..=start).next_back();
                before.is_some_and(|(_, known_end)| known_end >= end)
            })
        })
    }

    /// Returns the number of deleted items.
    pub(super) fn n_deleted(&self) -> u64 {
        self.n_deleted
    }

    /// Reports whether an item is deleted.
    pub(super) fn deletes(&self, item: ItemId) -> bool {
        let ranges = self.deleted.get(&item.client);
        let before = ranges.and_then(|ranges| ranges.range(..=item.clock).next_back());
        before.is_some_and(|(_, end)| *end > item.clock)
    }

    /// Reports whether any of the items is present and not deleted.
    pub(super) fn shows_any(&self, items: &IdSet) -> bool {
        let shown = items.diff(&self.deleted());
        shown.iter().any(|(client, ranges)| {
            let end = self.clock(client_of(*client));
            ranges.iter().any(|range| range.start < end)
        })
    }

    /// Returns the state as a version.
    pub(super) fn version(&self) -> Version {
        let clocks = self.clocks.iter().filter(|(_, clock)| **clock > 0);
        let clocks: StateVector =
            clocks.map(|(client, clock)| (ClientID::new(client.get()), *clock)).collect();
        let mut deleted = IdSet::new();
        for (client, ranges) in self.deleted().iter() {
            let end = clocks.get(client);
            for range in ranges.iter().filter(|range| range.start < end) {
                deleted.range_mut(*client).insert(range.start..range.end.min(end));
            }
        }
        Version::noted(Snapshot::new(clocks, deleted))
    }

    /// Returns what this state lacks of some changes of a document.
    fn newer_among(&self, changes: &RecentChanges, replica: &ContentReplica) -> Version {
        let ends = changes.clients.iter().map(|client| (*client, replica.gate.clock_of(*client)));
        let newer = ends.filter(|(client, end)| *end > self.clock(*client));
        let clocks: StateVector =
            newer.map(|(client, end)| (ClientID::new(client.get()), end)).collect();
        let (none, mut deleted) = (BTreeMap::new(), Vec::new());
        for range in &changes.deleted {
            uncovered(self.deleted.get(&range.client).unwrap_or(&none), *range, &mut deleted);
        }
        Version::noted(Snapshot::new(clocks, to_set(&deleted)))
    }

    /// Returns the items and deletions of a version that this state lacks.
    pub(super) fn newer_in(&self, version: &Version) -> Version {
        let newer = version.clocks().filter(|(client, clock)| *clock > self.clock(*client));
        let clocks: StateVector =
            newer.map(|(client, clock)| (ClientID::new(client.get()), clock)).collect();
        Version::noted(Snapshot::new(clocks, self.deleted_since(version.snapshot())))
    }

    /// Returns what is deleted in a snapshot, but not in this state.
    fn deleted_since(&self, snapshot: &Snapshot) -> IdSet {
        let none = BTreeMap::new();
        let mut newer = Vec::new();
        for (client, ranges) in snapshot.delete_set.iter() {
            let client = client_of(*client);
            let known = self.deleted.get(&client).unwrap_or(&none);
            let mut equal = known.iter().peekable();
            for Range { start, end } in ranges.iter().cloned() {
                // Nearly all ranges are known as they are.
                while equal.next_if(|(known, _)| **known < start).is_some() {}
                if equal.next_if(|known| *known == (&start, &end)).is_none() {
                    uncovered(known, IdRange { client, start, len: end - start }, &mut newer);
                }
            }
        }
        to_set(&newer)
    }

    fn deleted(&self) -> IdSet {
        let mut deleted = IdSet::new();
        for (client, ranges) in &self.deleted {
            let set = deleted.range_mut(ClientID::new(client.get()));
            ranges.iter().for_each(|(start, end)| set.insert(*start..*end));
        }
        deleted
    }
}

/// Adds a range, joined with the ranges that it touches, and returns how much of it was new.
fn insert(ranges: &mut BTreeMap<u32, u32>, mut range: Range<u32>) -> u32 {
    let mut n_known = 0;
    if let Some((start, end)) = ranges.range(..range.start).next_back()
        && *end >= range.start
    {
        n_known += end - start;
        (range.start, range.end) = (*start, range.end.max(*end));
        ranges.remove(&range.start);
    }
    while let Some((start, end)) = ranges.range(range.start..=range.end).next() {
        n_known += end - start;
        range.end = range.end.max(*end);
        let start = *start;
        ranges.remove(&start);
    }
    ranges.insert(range.start, range.end);
    range.end - range.start - n_known
}

fn write_id(bytes: &mut Vec<u8>, id: ItemId) {
    write_var_uint(bytes, id.client.get());
    write_var_uint(bytes, u64::from(id.clock));
}

fn read_id(reader: &mut Lib0Reader<'_>) -> Option<ItemId> {
    let client = ClientId::new(reader.var_uint().ok()?).ok()?;
    Some(ItemId::new(client, reader.var_u32().ok()?))
}

fn client_of(client: ClientID) -> ClientId {
    ClientId::new(client.get()).expect("yrs masks client ids to 53 bits")
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use proptest::prelude::*;
    use yrs::{ClientID, ID, IdSet, Snapshot, StateVector, Text as _, WriteTxn as _};

    use super::{NotedState, StateNote, StateNotes, Version, insert, write_id};
    use crate::{
        actor::{Actor, ActorKind},
        content::{ContentDoc, RunAuthor, TEXT},
        gate::{GateLimits, UpdateSource},
        id::{ClientId, FileId},
        time::Millis,
    };

    fn doc(client: u64) -> ContentDoc {
        let client = ClientId::new((1 << 51) + client).expect("small");
        ContentDoc::new(&FileId::parse("notes").expect("an id"), client, GateLimits::default())
    }

    fn receive_all(to: &mut ContentDoc, from: &ContentDoc) {
        let missing = from.gate().encode_diff(&to.gate().state_vector()).expect("encoded");
        to.receive(&missing, UpdateSource::Wire).expect("accepted");
    }

    /// The note of a version as it was written before changes were recorded: from all deleted
    /// ranges, and the states that all notes build on.
    fn note_from_all(notes: &StateNotes, version: &Version) -> StateNote {
        if version.clocks().next().is_none() {
            return StateNote::Nothing;
        }
        let whole = version.encode();
        let since = notes.latest().and_then(|latest| {
            let mut state = NotedState::default();
            let mut bytes = Vec::new();
            write_id(&mut bytes, latest);
            state.add(notes, latest).then(|| {
                bytes.extend(state.newer_in(version).encode());
                bytes
            })
        });
        match since {
            Some(since) if since.len() < whole.len() => StateNote::Since(since.into()),
            _ => StateNote::Whole(whole.into()),
        }
    }

    /// What one writer does: inserts, deletes, reads all of another, or starts again.
    #[derive(Debug, Clone)]
    enum WriterAction {
        Insert(usize, usize, String),
        Delete(usize, usize, usize),
        Type(usize, usize),
        Read(usize, usize),
        Restart(usize),
    }

    fn writer_actions() -> impl Strategy<Value = Vec<WriterAction>> {
        let (writer, place) = (0..3_usize, 0..1000_usize);
        let step = prop_oneof![
            4 => (writer.clone(), place.clone(), "[a-z ]{1,8}")
                .prop_map(|(writer, at, text)| WriterAction::Insert(writer, at, text)),
            4 => (writer.clone(), place.clone(), 1..6_usize)
                .prop_map(|(writer, at, len)| WriterAction::Delete(writer, at, len)),
            1 => (writer.clone(), place).prop_map(|(writer, at)| WriterAction::Type(writer, at)),
            3 => (writer.clone(), writer.clone()).prop_map(|(a, b)| WriterAction::Read(a, b)),
            1 => writer.prop_map(WriterAction::Restart),
        ];
        prop::collection::vec(step, 1..80)
    }

    /// Replaces a range, in bytes, and compares the note of the edit with the one from all.
    fn edit_and_compare(doc: &mut ContentDoc, at: usize, len: usize, new: &str) {
        let text_len = doc.text().len();
        let start = at % (text_len + 1);
        let range = start..(start + len).min(text_len);
        let by = RunAuthor::new(Actor::new(ActorKind::Human, "ana"), Millis(1));
        let before = doc.version();
        let expected = note_from_all(doc.log().notes(), &before);
        let written = doc.replace_range(range, new, &by).expect("an edit");
        if written.update.is_none() {
            return;
        }
        let notes = doc.log().notes();
        let entry = doc.log().last_entry().expect("each edit has an entry");
        let note = notes.get(entry);
        // The clients of a snapshot are in no order.
        assert_eq!(note.bytes().len(), expected.bytes().len(), "{note:?} {expected:?}");
        assert_eq!((note.base(), note.snapshot()), (expected.base(), expected.snapshot()));
        let mut state = NotedState::default();
        assert!(state.add(notes, entry), "all notes are known");
        assert_eq!(state.version(), before, "the note is the state before the edit");
    }

    proptest! {
        /// Each note was written from all deleted ranges of the document: the more edits a file
        /// had, the more each cost.
        #[test]
        fn notes_of_recorded_changes_are_those_of_all_changes(steps in writer_actions()) {
            let mut docs: Vec<ContentDoc> = (1..=3).map(doc).collect();
            let mut n_clients = 3;
            for step in steps {
                match step {
                    WriterAction::Insert(writer, at, text) => {
                        edit_and_compare(&mut docs[writer], at, 0, &text);
                    }
                    WriterAction::Delete(writer, at, len) => {
                        edit_and_compare(&mut docs[writer], at, len, "");
                    }
                    WriterAction::Type(writer, at) => {
                        // An editor, which writes no entries.
                        n_clients += 1;
                        let mut editor = doc(n_clients);
                        receive_all(&mut editor, &docs[writer]);
                        let at = at as u32 % (editor.text().len() as u32 + 1);
                        let ((), typed) = editor.replica.gate.edit(|txn| {
                            txn.get_or_insert_text(TEXT).insert(txn, at, "x");
                        });
                        let typed = typed.expect("a change");
                        docs[writer].receive(&typed, UpdateSource::Wire).expect("accepted");
                    }
                    WriterAction::Read(to, from) if to != from => {
                        let from = docs[from].gate().encode_state();
                        docs[to].receive(&from, UpdateSource::Wire).expect("accepted");
                    }
                    WriterAction::Read(..) => (),
                    WriterAction::Restart(writer) => {
                        n_clients += 1;
                        let mut again = doc(n_clients);
                        receive_all(&mut again, &docs[writer]);
                        docs[writer] = again;
                    }
                }
            }
        }

        #[test]
        fn what_is_deleted_since_is_the_difference(
            known in prop::collection::vec((1..4u64, 0..60u32, 1..9u32), 0..30),
            later in prop::collection::vec((1..4u64, 0..60u32, 1..9u32), 0..30),
            kept in prop::collection::vec(any::<bool>(), 30),
        ) {
            let set = |ranges: &mut dyn Iterator<Item = &(u64, u32, u32)>| {
                let mut set = IdSet::new();
                ranges.for_each(|(client, start, len)| {
                    set.insert(ID::new(ClientID::new(*client), *start), *len);
                });
                set
            };
            let mut state = NotedState::default();
            state.add_snapshot(&Snapshot::new(StateVector::default(), set(&mut known.iter())));
            let kept = known.iter().zip(&kept).filter(|(_, kept)| **kept).map(|(range, _)| range);
            let now = Snapshot::new(StateVector::default(), set(&mut kept.chain(&later)));
            prop_assert_eq!(state.deleted_since(&now), now.delete_set.diff(&state.deleted()));
        }

        #[test]
        fn ranges_are_sets(added in prop::collection::vec((0..60u32, 1..9u32), 0..40)) {
            let (mut ranges, mut model) = (BTreeMap::new(), BTreeSet::new());
            for (start, len) in added {
                let n_before = model.len();
                model.extend(start..start + len);
                let n_new = insert(&mut ranges, start..start + len);
                prop_assert_eq!(n_new as usize, model.len() - n_before);
                let numbers = ranges.iter().flat_map(|(start, end)| *start..*end);
                let all: BTreeSet<u32> = numbers.collect();
                prop_assert_eq!(&all, &model);
                let mut pairs = ranges.iter().zip(ranges.keys().skip(1));
                let apart = pairs.all(|((_, end), next)| end < next);
                prop_assert!(apart);
            }
        }
    }
}
