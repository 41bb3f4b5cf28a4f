//! Redaction: erases content for good that a document once held and holds no more.
//!
//! A record in the array `fs:redactions` names items. A peer that has the record erases the content
//! of those that are deleted (`gate/erase.rs`), now and whenever a deletion arrives later, and lets
//! none of it in or out again. Only the record replicates; each peer erases by itself. Live content
//! is never changed, even if a record names it.

mod inactive_root;

use std::{borrow::Cow, collections::BTreeMap};

use yrs::{
    Any, ClientID, ID, IdSet, Update,
    updates::{decoder::Decode as _, encoder::Encode},
};

use self::inactive_root::NeededContent;
pub(super) use self::inactive_root::Origin;

use super::{
    ContentDoc, ContentError, RunAuthor, Version,
    blobs::{read_id, write_id},
    log,
    note::NotedState,
    push_front, rich,
    version::read_deletes,
};
use crate::{
    gate::{ErasableItems, GateRejection, IdRange, RootIx, deleted_by, erase},
    id::{ClientId, ItemId},
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
    /// The pieces that live in the inactive root.
    idle: Vec<IdRange>,
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

    /// Returns the number of units of content.
    pub fn n_units(&self) -> u64 {
        self.pieces.iter().map(|piece| u64::from(piece.range.len)).sum()
    }
}

impl ContentDoc {
    /// Returns the records of erased content, in order of time.
    pub fn redactions(&self) -> Vec<Redaction> {
        let mut redactions: Vec<Redaction> = self.redactions.iter().cloned().collect();
        redactions.sort_by_key(|redaction| (redaction.author.at, redaction.id));
        redactions
    }

    /// Returns the content that could be erased: all deleted content, or the part of it that a
    /// version held; and live content of the inactive root that the current text does not contain.
    ///
    /// # Errors
    ///
    /// [`ContentError::UnknownVersion`]; [`ContentError::Refused`] if the document is unusable.
    pub fn erasable(&mut self, version: Option<&Version>) -> Result<ErasableContent, ContentError> {
        self.gate.health()?;
        let mut ranges = self.version().snapshot().delete_set.clone();
        let mut idle = Vec::new();
        if self.was_converted() {
            let profile = self.gate.read(|txn| rich::profile_of(txn));
            let needed = NeededContent::new(self.text(), profile);
            ranges.diff_with(&self.unsettled());
            ranges.diff_with(&self.restated(&needed)?);
            idle = self.idle(&needed)?;
        }
        let mut held_by = Vec::new();
        if let Some(version) = version {
            self.check_known_clocks(version)?;
            ranges = self.shown_at(&ranges, version);
            let (held, by) = self.find_remembered_elsewhere(&ranges, version);
            ranges.diff_with(&held);
            held_by = by;
            let shown = idle.iter().map(|content| content.range).collect::<Vec<_>>();
            let shown = to_ranges(&self.shown_at(&to_set(&shown), version));
            idle = idle.into_iter().flat_map(|content| content.parts(&shown)).collect();
        }
        let mut pieces = self.gate.remains(&to_ranges(&ranges))?;
        let ranges = idle.iter().map(|content| content.range).collect();
        pieces.extend(idle);
        pieces.sort_by_key(|piece| piece.range);
        Ok(ErasableContent { pieces, blobs: Vec::new(), held_by, idle: ranges })
    }

    /// Erases content for good, and records the author. Live content of the current root is not
    /// changed.
    ///
    /// The update carries the record; the document has erased the content when this returns. The
    /// caller must replace the older log records by [`compact`].
    ///
    /// # Errors
    ///
    /// [`ContentError::Refused`] if the document cannot be edited at all.
    pub fn redact(
        &mut self,
        erasable: &ErasableContent,
        author: &RunAuthor,
    ) -> Result<Option<Vec<u8>>, ContentError> {
        self.gate.health()?;
        if erasable.is_empty() {
            return Ok(None);
        }
        let mut ranges = IdSet::new();
        for piece in &erasable.pieces {
            let client = ClientID::new(piece.range.client.get());
            ranges.range_mut(client).insert(piece.range.start..piece.range.end());
        }
        let ranges = (RANGES, Any::Buffer(ranges.encode_v1().into()));
        let blobs: Vec<Any> = erasable.blobs.iter().map(|id| Any::from(write_id(*id))).collect();
        let blobs = (!blobs.is_empty()).then(|| (BLOBS, Any::Array(blobs.into())));
        let value = log::value(author, [ranges].into_iter().chain(blobs));
        let id = ItemId::new(self.client, self.gate.clock_of(self.client));
        let element = value.clone();
        // In one update: a peer that has the deletion also has the record.
        let deletion = (!erasable.idle.is_empty()).then(|| {
            let update = NodeInserter::new(self.client, 0).finish(erasable.idle.clone());
            Update::decode_v1(&update).expect("we built a valid update")
        });
        let (_, update) = self.gate.edit(|txn| {
            if let Some(deletion) = deletion {
                txn.apply_update(deletion).expect("we built a valid update");
            }
            push_front(txn, RootIx::Redactions, element);
        });
        let update = self.finish(update, [(RootIx::Redactions, id, value)])?;
        self.erase_redacted();
        Ok(update)
    }

    /// Returns an update without the content that was erased here.
    pub fn without_redacted<'a>(&self, update: &'a [u8]) -> Cow<'a, [u8]> {
        if self.redactions.all.is_empty() {
            return Cow::Borrowed(update);
        }
        let all = to_ranges(&self.redactions.all);
        let mut ranges = self.gate.deleted_among(&all);
        // Items that it both inserts and deletes count as well.
        let mut deleted = IdSet::new();
        for range in deleted_by(update).into_iter().flatten() {
            let client = ClientID::new(range.client.get());
            deleted.range_mut(client).insert(range.start..range.end());
        }
        deleted.intersect_with(&self.redactions.all);
        ranges.extend(to_ranges(&deleted));
        let ranges = to_ranges(&to_set(&ranges));
        match erase(update, &ranges) {
            Ok(Some(erased)) => Cow::Owned(erased),
            Ok(None) | Err(_) => Cow::Borrowed(update),
        }
    }

    /// Returns the number of redaction records.
    pub fn n_redactions(&self) -> usize {
        self.redactions.known.len()
    }

    /// Reports whether a version of content by reference was erased.
    pub fn is_blob_redacted(&self, blob: ItemId) -> bool {
        self.redactions.iter().any(|redaction| redaction.blobs.contains(&blob))
    }

    /// Erases all items that are named, deleted, and not erased yet.
    pub(super) fn erase_redacted(&mut self) {
        if self.redactions.rest.is_empty() {
            return;
        }
        let due = self.gate.deleted_among(&to_ranges(&self.redactions.rest));
        // Items that cannot be erased without other changes stay, and are tried again.
        if !due.is_empty() && self.gate.erase(&due).is_ok() {
            self.redactions.rest.diff_with(&to_set(&due));
            self.forget();
        }
    }

    /// Reports whether any visible item of a state was redacted.
    pub(super) fn is_redacted(&self, state: &NotedState) -> bool {
        let all = &self.redactions.all;
        !all.is_empty() && state.shows_any(all) && self.check_whole(&state.version()).is_err()
    }

    /// Rejects a version if a part of it was erased.
    pub(super) fn check_whole(&self, version: &Version) -> Result<(), ContentError> {
        let all = &self.redactions.all;
        let is_whole = all.is_empty() || self.shown_at(all, version).is_empty();
        if is_whole { Ok(()) } else { Err(ContentError::Redacted) }
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

/// Returns the items that a version has.
pub(super) fn up_to(ranges: &IdSet, version: &Version) -> IdSet {
    let mut known = IdSet::new();
    for (client, ranges) in ranges.iter() {
        let end = version.snapshot().state_map.get(client);
        for range in ranges.iter().filter(|range| range.start < end) {
            known.range_mut(*client).insert(range.start..range.end.min(end));
        }
    }
    known
}

pub(super) fn to_ranges(set: &IdSet) -> Vec<IdRange> {
    let mut all = Vec::new();
    for (client, ranges) in set.iter() {
        let client = ClientId::new(client.get()).expect("yrs masks client ids to 53 bits");
        let ranges = ranges.iter();
        all.extend(ranges.map(|range| IdRange {
            client,
            start: range.start,
            len: range.end - range.start,
        }));
    }
    all.sort_unstable();
    all
}

pub(super) fn to_set(ranges: &[IdRange]) -> IdSet {
    let mut set = IdSet::new();
    for range in ranges {
        set.insert(ID::new(ClientID::new(range.client.get()), range.start), range.len);
    }
    set
}

/// The merge of updates, without erased content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RedactedMerge {
    /// The state: one update with everything that was absorbed.
    pub state: Vec<u8>,
    /// Whether each of the updates is in the state.
    pub absorbed: Vec<bool>,
    /// Updates that must stay, by their index, without erased content.
    pub rewritten: Vec<(usize, Vec<u8>)>,
    /// The changes of each of the updates, encoded: see [`Version::before`].
    pub changes: Vec<Vec<u8>>,
    /// Whether there are redaction records.
    pub has_redactions: bool,
}

/// Merges a snapshot and updates of a content document into one state, as
/// [`gate::merge`](crate::gate::merge) does, and erases what redactions name.
///
/// # Errors
///
/// As [`gate::merge`](crate::gate::merge). Then nothing may be replaced.
pub fn compact(
    snapshot: Option<&[u8]>,
    updates: &[Vec<u8>],
) -> Result<RedactedMerge, GateRejection> {
    use crate::gate::{DocRole, GateLimits, MergedUpdate, StateChange, UpdateSource, merge};
    let merged = merge(DocRole::Content, snapshot, updates)?;
    let changes = merged.changes.iter().map(StateChange::encode).collect();
    let name = RootIx::Redactions.name().as_bytes();
    if !merged.state.windows(name.len()).any(|bytes| bytes == name) {
        let MergedUpdate { state, absorbed, .. } = merged;
        let rewritten = Vec::new();
        return Ok(RedactedMerge { state, absorbed, rewritten, changes, has_redactions: false });
    }
    let id = crate::id::FileId::from_bytes([0; 16]);
    let mut doc = ContentDoc::new(&id, ClientId::from_random(0), GateLimits::default());
    doc.receive(&merged.state, UpdateSource::Store)?;
    let kept = (0..).zip(updates).zip(&merged.absorbed).filter(|(_, absorbed)| !**absorbed);
    let rewritten = kept.filter_map(|((place, update), _)| match doc.without_redacted(update) {
        Cow::Owned(update) => Some((place, update)),
        Cow::Borrowed(_) => None,
    });
    Ok(RedactedMerge {
        rewritten: rewritten.collect(),
        state: doc.gate.encode_state(),
        absorbed: merged.absorbed,
        changes,
        has_redactions: doc.n_redactions() > 0,
    })
}
