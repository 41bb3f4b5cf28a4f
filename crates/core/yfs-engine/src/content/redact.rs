//! Redaction: erases content for good that a document once held and holds no more.
//!
//! A record in the array `fs:redactions` names items. A peer that has the record erases the content
//! of those that are deleted (`gate/erase.rs`), now and whenever a deletion arrives later, and lets
//! none of it in or out again. Only the record replicates; each peer erases by itself. Live content
//! is never changed, even if a record names it.

mod inactive_root;

use std::{borrow::Cow, collections::BTreeMap};

use yrs::{
    Any, IdSet, Update,
    updates::{decoder::Decode as _, encoder::Encode},
};

pub(super) use self::inactive_root::ErasureScan;

use super::{
    ContentError, RunAuthor, TEXT, Version,
    blobs::{read_id, write_id},
    item_sets::{to_ranges, to_set, up_to},
    log,
    note::NotedState,
    replica::{ContentReplica, LocalChange, push_front},
    rich::RICH_ROOTS,
    version::read_deletes,
};
use crate::{
    gate::{ErasableItems, IdRange, RootIx, deleted_by, erase},
    id::ItemId,
    lib0::Lib0Reader,
    rich::NodeInserter,
};

/// The member that names the items.
const RANGES: &str = "ranges";

/// The member that names versions of content by reference.
const BLOBS: &str = "blobs";

/// A record of erased content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redaction {
    /// The item of the record.
    pub id: ItemId,
    /// The author, time and reason of the redaction.
    pub author: RunAuthor,
    /// The number of units of content that it names.
    pub n_units: u64,
    /// The versions of content by reference that it names.
    pub blobs: Vec<ItemId>,
    ranges: IdSet,
}

/// The content that a redaction would erase.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ErasableContent {
    /// Pieces of content, in order of their ids; content that is not text is shown as JSON.
    pub pieces: Vec<ErasableItems>,
    /// The versions of content by reference.
    pub blobs: Vec<ItemId>,
    /// The versions, by their place in the timeline, that stay unchanged and hold some of the
    /// requested content: values that are stored once for several versions of rich text. Those
    /// values are not erased.
    pub held_by: Vec<usize>,
    /// The pieces that are not deleted, such as those that live in the inactive root.
    to_delete: Vec<IdRange>,
}

/// What a replica of a document erased.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ErasedItems {
    items: Vec<IdRange>,
    blobs: Vec<ItemId>,
}

/// The redactions of one document.
#[derive(Debug, Default)]
pub(super) struct RedactionRecords {
    known: BTreeMap<ItemId, Redaction>,
    /// All items that they name.
    all: IdSet,
    /// The named items that are not erased here yet: they have not arrived, or are not deleted.
    rest: IdSet,
}

/// A view of a document that reads its redactions.
#[derive(Debug, Clone, Copy)]
pub struct RedactionView<'a> {
    pub(super) replica: &'a ContentReplica,
    pub(super) records: &'a RedactionRecords,
}

impl RedactionView<'_> {
    /// Returns the records of erased content, in order of time.
    pub fn in_order(self) -> Vec<Redaction> {
        let mut redactions: Vec<Redaction> = self.records.iter().cloned().collect();
        redactions.sort_by_key(|redaction| (redaction.author.at, redaction.id));
        redactions
    }

    /// Returns the number of records.
    pub fn n_records(self) -> usize {
        self.records.known.len()
    }

    /// Reports whether a version of content by reference was erased.
    pub fn names_blob(self, blob: ItemId) -> bool {
        self.records.iter().any(|redaction| redaction.blobs.contains(&blob))
    }

    /// Returns the items and the versions by reference that were erased here.
    pub fn erased(self) -> ErasedItems {
        let items = self.replica.gate.items().deleted_among(&to_ranges(&self.records.all));
        let blobs = self.records.iter().flat_map(|redaction| redaction.blobs.clone());
        ErasedItems { items, blobs: blobs.collect() }
    }

    /// Returns what this document has of the items that another replica of it erased, and that was
    /// not erased here. A redaction also deletes those that are not deleted here.
    pub fn not_erased(self, elsewhere: &ErasedItems) -> ErasableContent {
        let gate = &self.replica.gate;
        let mut known = IdSet::new();
        for range in &elsewhere.items {
            let end = range.end().min(gate.clock_of(range.client));
            if range.start < end {
                known.merge_with(to_set(&[IdRange { len: end - range.start, ..*range }]));
            }
        }
        known.diff_with(&self.records.all);
        let ranges = to_ranges(&known);
        let mut living = known;
        living.diff_with(&to_set(&gate.items().deleted_among(&ranges)));
        let piece = |range| ErasableItems { range, text: String::new() };
        ErasableContent {
            pieces: ranges.into_iter().map(piece).collect(),
            blobs: elsewhere.blobs.iter().copied().filter(|blob| !self.names_blob(*blob)).collect(),
            held_by: Vec::new(),
            to_delete: to_ranges(&living),
        }
    }

    /// Returns an update without the content that was erased here.
    pub fn strip_update<'u>(self, update: &'u [u8]) -> Cow<'u, [u8]> {
        self.records.strip_update(self.replica, update)
    }
}

impl RedactionRecords {
    /// Adds an element of `fs:redactions`. A record holds even if a peer deletes it.
    pub(super) fn insert(&mut self, id: ItemId, value: &Any) {
        let Some(redaction) = parse(id, value) else { return };
        self.all.merge_with(redaction.ranges.clone());
        self.rest.merge_with(redaction.ranges.clone());
        self.known.insert(id, redaction);
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Redaction> {
        self.known.values()
    }

    /// Returns all items that the records name.
    pub(super) fn items(&self) -> &IdSet {
        &self.all
    }

    /// Adds a record of content to erase, and deletes the part of it that is not deleted. It erases
    /// nothing yet.
    pub(super) fn add(
        &mut self,
        replica: &mut ContentReplica,
        erasable: &ErasableContent,
        author: &RunAuthor,
    ) -> Result<LocalChange, ContentError> {
        let value = erasable.to_record(author);
        let (id, element) = (replica.next_item(), value.clone());
        // In one update: a peer that has the deletion also has the record.
        let deletion = (!erasable.to_delete.is_empty()).then(|| {
            let update = NodeInserter::new(id.client, 0).finish(erasable.to_delete.clone());
            Update::decode_v1(&update).expect("we built a valid update")
        });
        let ((), change) = replica.edit(|txn| {
            if let Some(deletion) = deletion {
                txn.apply_update(deletion).expect("we built a valid update");
            }
            push_front(txn, RootIx::Redactions, element);
        });
        replica.gate.health()?;
        self.insert(id, &value);
        Ok(change)
    }

    /// Erases all items that are named, deleted, and not erased yet. Reports whether there were
    /// any.
    pub(super) fn erase_due(&mut self, replica: &mut ContentReplica) -> bool {
        if self.rest.is_empty() {
            return false;
        }
        let due = replica.gate.items().deleted_among(&to_ranges(&self.rest));
        // Items that cannot be erased without other changes stay, and are tried again.
        if due.is_empty() || replica.gate.erase(&due).is_err() {
            return false;
        }
        self.rest.diff_with(&to_set(&due));
        true
    }

    /// Returns an update without the content that was erased here.
    pub(super) fn strip_update<'a>(
        &self,
        replica: &ContentReplica,
        update: &'a [u8],
    ) -> Cow<'a, [u8]> {
        if self.all.is_empty() {
            return Cow::Borrowed(update);
        }
        let mut ranges = replica.gate.items().deleted_among(&to_ranges(&self.all));
        // Items that it both inserts and deletes count as well.
        let mut deleted = to_set(&deleted_by(update).unwrap_or_default());
        deleted.intersect_with(&self.all);
        ranges.extend(to_ranges(&deleted));
        let ranges = to_ranges(&to_set(&ranges));
        match erase(update, &ranges) {
            Ok(Some(erased)) => Cow::Owned(erased),
            Ok(None) | Err(_) => Cow::Borrowed(update),
        }
    }

    /// Reports whether any visible item of a state was redacted. `was_rich` reports whether the
    /// content was rich text at a version.
    pub(super) fn hides_part_of(
        &self,
        replica: &ContentReplica,
        state: &NotedState,
        was_rich: impl FnOnce(&Version) -> Option<bool>,
    ) -> bool {
        !self.all.is_empty()
            && state.shows_any(&self.all)
            && self.check_version(replica, &state.version(), was_rich).is_err()
    }

    /// Rejects a version if a part of it was erased.
    pub(super) fn check_version(
        &self,
        replica: &ContentReplica,
        version: &Version,
        was_rich: impl FnOnce(&Version) -> Option<bool>,
    ) -> Result<(), ContentError> {
        let is_whole =
            self.all.is_empty() || shown_at(replica, &self.all, version, was_rich).is_empty();
        if is_whole { Ok(()) } else { Err(ContentError::Redacted) }
    }
}

impl ErasableContent {
    /// Returns erasable content that consists of versions of content by reference only.
    pub fn of_blobs(blobs: Vec<ItemId>) -> Self {
        Self { blobs, ..Self::default() }
    }

    /// Reports whether there is nothing to erase.
    pub fn is_empty(&self) -> bool {
        self.pieces.is_empty() && self.blobs.is_empty()
    }

    /// Returns the record of its redaction.
    fn to_record(&self, author: &RunAuthor) -> Any {
        let items: Vec<IdRange> = self.pieces.iter().map(|piece| piece.range).collect();
        let ranges = (RANGES, Any::Buffer(to_set(&items).encode_v1().into()));
        let blobs: Vec<Any> = self.blobs.iter().map(|id| Any::from(write_id(*id))).collect();
        let blobs = (!blobs.is_empty()).then(|| (BLOBS, Any::Array(blobs.into())));
        log::value(author, [ranges].into_iter().chain(blobs))
    }

    /// Returns the number of units of content.
    pub fn n_units(&self) -> u64 {
        self.pieces.iter().map(|piece| u64::from(piece.range.len)).sum()
    }
}

fn parse(id: ItemId, value: &Any) -> Option<Redaction> {
    let Any::Map(members) = value else { return None };
    let author = log::parse_author(members)?;
    let Some(Any::Buffer(bytes)) = members.get(RANGES) else { return None };
    let mut reader = Lib0Reader::new(bytes);
    let ranges = read_deletes(&mut reader).ok().filter(|_| reader.is_empty())?;
    let blobs = match members.get(BLOBS) {
        Some(Any::Array(ids)) => ids.iter().filter_map(|id| match id {
            Any::String(id) => read_id(id),
            _ => None,
        }),
        _ => return Some(redaction(id, author, ranges, Vec::new())),
    };
    let blobs = blobs.collect();
    Some(redaction(id, author, ranges, blobs))
}

fn redaction(id: ItemId, author: RunAuthor, ranges: IdSet, blobs: Vec<ItemId>) -> Redaction {
    let n_units = to_ranges(&ranges).iter().map(|range| u64::from(range.len)).sum();
    Redaction { id, author, n_units, blobs, ranges }
}

/// Returns the roots of a form.
fn roots_of_form(is_rich: bool) -> &'static [&'static str] {
    if is_rich { RICH_ROOTS } else { &[TEXT] }
}

/// Returns those items that are part of the visible state of a version.
fn shown_at(
    replica: &ContentReplica,
    items: &IdSet,
    version: &Version,
    was_rich: impl FnOnce(&Version) -> Option<bool>,
) -> IdSet {
    let mut shown = up_to(&items.diff(&version.snapshot().delete_set), version);
    if shown.is_empty() {
        return shown;
    }
    if let Some(is_rich) = was_rich(version) {
        let hidden = replica.gate.items().parts_in(&to_ranges(&shown), roots_of_form(!is_rich));
        shown.diff_with(&to_set(&hidden));
    }
    shown
}
