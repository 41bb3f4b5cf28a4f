//! The list that each item of a document belongs to.
//!
//! An item with an origin does not name its list: it is in the list of its origin. yrs knows the
//! list, but has no API for it. So the gate keeps, for every client, the ranges of clocks whose
//! items are in the same place. Neighboring ranges of one place are one range: a text of a million
//! characters by one client takes eight bytes.

use std::collections::BTreeMap;

use hashbrown::{HashMap, HashSet};
use yrs::{ClientID, IdSet, Snapshot};

use super::{
    ClientTail,
    list_shape::ListShape,
    role::DocRole,
    update_scan::{IdRange, RootIx},
};
use crate::id::{ClientId, ItemId};

/// The place of an item, packed: the index of an [`ItemList`] and two flags.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ListTag(u32);

impl ListTag {
    /// No list: a struct that is, or that yrs will make, a `GC` struct.
    pub(crate) const GONE: Self = Self(Self::HOLLOW);
    const ENTRY: u32 = 1;
    const HOLLOW: u32 = 2;

    pub(crate) fn new(place: u32, is_entry: bool, is_hollow: bool) -> Self {
        let entry = if is_entry { Self::ENTRY } else { 0 };
        let hollow = if is_hollow { Self::HOLLOW } else { 0 };
        Self(place << 2 | entry | hollow)
    }

    /// Returns the tag as a number.
    pub(crate) fn bits(self) -> u32 {
        self.0
    }

    /// Returns the tag of a number that [`bits`](Self::bits) returned.
    pub(crate) fn from_bits(bits: u32) -> Self {
        Self(bits)
    }

    pub(crate) fn place(self) -> u32 {
        self.0 >> 2
    }

    /// Reports whether it is an entry of a map, not an element of a sequence.
    pub(crate) fn is_entry(self) -> bool {
        self.0 & Self::ENTRY != 0
    }

    /// Reports whether its content was deleted, so that it may have been a type.
    pub(crate) fn is_hollow(self) -> bool {
        self.0 & Self::HOLLOW != 0
    }

    pub(crate) fn is_gone(self) -> bool {
        self.place() == 0
    }
}

/// A list: a root, or a type that an item holds.
#[derive(Debug, Clone)]
pub(crate) struct ItemList {
    pub(crate) depth: u16,
    pub(crate) root: Option<Box<str>>,
    /// For a type: the place of the root that it is in.
    pub(crate) top: u32,
    /// The array of [`RootIx`] that it is, if any.
    pub(crate) read: Option<RootIx>,
    /// The kind of the list.
    pub(crate) shape: ListShape,
    /// Whether it is a root that the engine reads, or in one.
    pub(crate) is_ours: bool,
}

/// The roots of a content document that the engine reads beside the arrays of [`RootIx`].
const CONTENT_ROOTS: [&str; 8] = [
    "text",
    "richtext",
    "frontmatter",
    "markdown-source",
    "fs:conv",
    "fs:aside",
    "content",
    "timeline",
];

impl ItemList {
    pub(crate) fn of_root(role: DocRole, name: &str) -> Self {
        Self {
            depth: 0,
            root: Some(name.into()),
            top: 0,
            read: RootIx::of(role, name),
            shape: ListShape::of_root(role, name),
            is_ours: RootIx::of(role, name).is_some()
                || (role == DocRole::Content && CONTENT_ROOTS.contains(&name)),
        }
    }

    /// Reports whether it is the root `text` of a content document.
    pub(crate) fn is_text_root(&self) -> bool {
        self.root.is_some() && self.shape == ListShape::Text
    }

    pub(crate) fn of_type(depth: u16, is_ours: bool, top: u32, shape: ListShape) -> Self {
        Self { depth, root: None, top, read: None, shape, is_ours }
    }
}

/// The items of one client.
#[derive(Debug, Default)]
pub(crate) struct ClientItems {
    /// The start of each range, and the place of its items.
    pub(crate) spans: Vec<(u32, ListTag)>,
    /// The clock after its last item.
    pub(crate) end: u32,
    /// The right origin of its last struct.
    pub(crate) last_right: Option<ItemId>,
    /// The deleted ranges, by their start. Those that yrs deletes by itself may be missing.
    pub(crate) deleted: BTreeMap<u32, u32>,
}

/// The changes of a document since its reader last took them. The one reader is the log of a
/// content document.
#[derive(Debug, Default)]
pub(crate) struct RecentChanges {
    /// The clients with new items.
    pub(crate) clients: HashSet<ClientId>,
    /// The ranges that were deleted. Some of each may have been deleted before.
    pub(crate) deleted: Vec<IdRange>,
}

/// The number of changes above which they are no longer recorded: a reader that asks that seldom
/// reads the whole state.
const MAX_RECENT: usize = 4096;

/// The list of every item of a document.
#[derive(Debug)]
pub struct ItemLists {
    pub(crate) clients: HashMap<ClientId, ClientItems>,
    /// Invariant: the first entry means no list.
    pub(crate) table: Vec<ItemList>,
    pub(crate) roots: HashMap<Box<str>, u32>,
    /// The place of each type.
    pub(crate) types: HashMap<ItemId, u32>,
    /// How many structs were integrated.
    pub(crate) n_structs: u64,
    /// How many deleted ranges there are.
    pub(crate) n_deleted_ranges: usize,
    /// The changes since the reader last took them; `None` if it never did, or if there were too
    /// many.
    pub(super) recent: Option<RecentChanges>,
}

impl Default for ItemLists {
    fn default() -> Self {
        Self {
            clients: HashMap::new(),
            table: vec![ItemList::of_type(0, false, 0, ListShape::Unknown)],
            roots: HashMap::new(),
            types: HashMap::new(),
            n_structs: 0,
            n_deleted_ranges: 0,
            recent: None,
        }
    }
}

impl ItemLists {
    /// Returns a length in bytes that the encoding of the state has at least: a deleted range takes
    /// two bytes, and so does a client.
    pub(crate) fn least_snapshot_len(&self) -> usize {
        2 * (self.n_deleted_ranges + self.clients.len())
    }

    /// Reports whether any client has written an item.
    pub(crate) fn has_items(&self) -> bool {
        self.clients.values().any(|client| client.end > 0)
    }

    /// Returns the names of the roots that ever held an item, in order.
    pub fn root_names(&self) -> Vec<String> {
        let mut names: Vec<String> = self.roots.keys().map(ToString::to_string).collect();
        names.sort_unstable();
        names
    }

    /// Returns the last struct that a client wrote.
    pub fn last_item(&self, client: ClientId) -> Option<ClientTail> {
        let known = self.clients.get(&client).filter(|known| known.end > 0)?;
        let id = ItemId::new(client, known.end - 1);
        let tag = self.tag(id)?;
        let root = self.table[tag.place() as usize].read.filter(|_| !tag.is_entry());
        Some(ClientTail { id, right: known.last_right, root })
    }

    pub(crate) fn end(&self, client: ClientId) -> u32 {
        self.clients.get(&client).map_or(0, |client| client.end)
    }

    /// Returns the root that a place is or is in; the entry for no list if it is in none.
    pub(crate) fn top_of(&self, place: u32) -> u32 {
        let around = &self.table[place as usize];
        if around.root.is_some() { place } else { around.top }
    }

    /// Returns the tag of an item of the document.
    pub(crate) fn tag(&self, id: ItemId) -> Option<ListTag> {
        let client = self.clients.get(&id.client)?;
        if id.clock < client.end { find(&client.spans, id.clock) } else { None }
    }

    /// Returns the last of a client's items that is an element in a root: of a text in it, or else
    /// of another sequence.
    pub(crate) fn last_in_root(&self, items: IdRange, root: &str) -> Option<ItemId> {
        let known = self.clients.get(&items.client)?;
        let root = *self.roots.get(root)?;
        let behind = known.spans.partition_point(|(start, _)| *start < items.end());
        let mut other = None;
        let mut end = items.end().min(known.end);
        for (start, tag) in known.spans[..behind].iter().rev() {
            if end <= items.start {
                break;
            }
            let last = ItemId::new(items.client, end - 1);
            end = *start;
            if tag.is_gone() || tag.is_entry() || self.top_of(tag.place()) != root {
                continue;
            }
            if self.table[tag.place() as usize].shape == ListShape::Text {
                return Some(last);
            }
            other = other.or(Some(last));
        }
        other
    }

    /// Returns the state of the document, without a walk over its items.
    pub(crate) fn snapshot(&self) -> Snapshot {
        let clients = self.clients.iter().filter(|(_, client)| client.end > 0);
        let clients = clients.map(|(id, client)| (ClientID::new(id.get()), client));
        let mut deleted = IdSet::new();
        for (id, client) in clients.clone() {
            if !client.deleted.is_empty() {
                let ranges = deleted.range_mut(id);
                client.deleted.iter().for_each(|(start, end)| ranges.insert(*start..*end));
            }
        }
        Snapshot::new(clients.map(|(id, client)| (id, client.end)).collect(), deleted)
    }

    /// Returns the changes since the last call, and records the following ones. Returns `None` if
    /// there was no call before, or too much changed.
    pub(crate) fn take_recent(&mut self) -> Option<RecentChanges> {
        self.recent.replace(RecentChanges::default())
    }

    /// Records that a client has new items.
    pub(super) fn note_grown(&mut self, client: ClientId) {
        if let Some(recent) = &mut self.recent {
            recent.clients.insert(client);
            self.limit_recent();
        }
    }

    /// Adds a deleted range.
    pub(super) fn insert_deleted(&mut self, range: IdRange) {
        let deleted = &mut self.clients.entry(range.client).or_default().deleted;
        self.n_deleted_ranges -= deleted.len();
        insert(deleted, range.start, range.end());
        self.n_deleted_ranges += deleted.len();
        if let Some(recent) = &mut self.recent {
            recent.deleted.push(range);
            self.limit_recent();
        }
    }

    fn limit_recent(&mut self) {
        let n_recent = |recent: &RecentChanges| recent.deleted.len() + recent.clients.len();
        if self.recent.as_ref().is_some_and(|recent| n_recent(recent) > MAX_RECENT) {
            self.recent = None;
        }
    }

    /// Returns all deleted ranges.
    pub(crate) fn deleted_ranges(&self) -> Vec<IdRange> {
        let mut ranges = Vec::new();
        for (client, items) in &self.clients {
            let (client, deleted) = (*client, items.deleted.iter());
            let range = |(start, end): (&u32, &u32)| (*start, end - start);
            let deleted = deleted.map(range);
            ranges.extend(deleted.map(|(start, len)| IdRange { client, start, len }));
        }
        ranges
    }

    /// Returns the parts of a range that are not deleted.
    pub(crate) fn living(&self, range: IdRange) -> Vec<IdRange> {
        let mut living = Vec::new();
        if let Some(client) = self.clients.get(&range.client) {
            uncovered(&client.deleted, range, &mut living);
        }
        living
    }

    /// Adds deleted ranges and returns the parts that were not deleted before.
    pub(crate) fn delete(&mut self, ranges: &[IdRange]) -> Vec<IdRange> {
        let mut new = Vec::new();
        for range in ranges {
            let client = self.clients.entry(range.client).or_default();
            uncovered(&client.deleted, *range, &mut new);
            self.insert_deleted(*range);
        }
        new
    }

    /// Reports whether all of the ranges are deleted already.
    pub(crate) fn covers(&self, ranges: &[IdRange]) -> bool {
        ranges.iter().all(|range| {
            self.clients
                .get(&range.client)
                .and_then(|client| client.deleted.range(..=range.start).next_back())
                .is_some_and(|(_, end)| *end >= range.end())
        })
    }
}

/// Appends a range, joining it with the last one if they are in the same place.
pub(crate) fn push(spans: &mut Vec<(u32, ListTag)>, start: u32, tag: ListTag) {
    if spans.last().is_none_or(|(_, last)| *last != tag) {
        spans.push((start, tag));
    }
}

/// Finds the range that contains a clock.
pub(crate) fn find(spans: &[(u32, ListTag)], clock: u32) -> Option<ListTag> {
    if let Some((start, tag)) = spans.last()
        && *start <= clock
    {
        return Some(*tag);
    }
    let after = spans.partition_point(|(start, _)| *start <= clock);
    spans.get(after.checked_sub(1)?).map(|(_, tag)| *tag)
}

/// Adds the parts of a range that are not in `deleted`, a map of starts to ends.
pub(crate) fn uncovered(deleted: &BTreeMap<u32, u32>, range: IdRange, new: &mut Vec<IdRange>) {
    let mut from = range.start;
    if let Some((_, end)) = deleted.range(..=range.start).next_back() {
        from = from.max(*end);
    }
    for (start, end) in deleted.range(range.start..range.end()) {
        if *start > from {
            new.push(IdRange { client: range.client, start: from, len: start - from });
        }
        from = from.max(*end);
    }
    if from < range.end() {
        new.push(IdRange { client: range.client, start: from, len: range.end() - from });
    }
}

fn insert(deleted: &mut BTreeMap<u32, u32>, mut start: u32, mut end: u32) {
    if let Some((before, before_end)) = deleted.range(..=start).next_back()
        && *before_end >= start
    {
        start = *before;
        end = end.max(*before_end);
    }
    while let Some((after, after_end)) = deleted.range(start..=end).next_back() {
        end = end.max(*after_end);
        let after = *after;
        deleted.remove(&after);
    }
    deleted.insert(start, end);
}
