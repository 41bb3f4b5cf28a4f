//! Gives up the forked ids of a writer: its own store used them twice, so that other peers have
//! other items under them. What either side wrote is written anew under a client id of its own, and
//! all spoiled items are deleted. Then all peers have the same text, with the words of both sides.
//!
//! The text is written in a copy of the document without the spoiled items, whose order is the same
//! everywhere. The client id is derived from that copy and both texts, so two peers that cure the
//! same fork make the same items. It is below all others, so that the new items stay directly
//! behind their neighbors ([`GatedDoc::fence_places`]).
//!
//! [`GatedDoc::fence_places`]: crate::gate::GatedDoc::fence_places
//!
//! # Cost
//!
//! Several copies of the document. A fork is rare.

use std::collections::BTreeSet;

use super::{ContentBase, ContentDoc, ContentError, RunAuthor, Version, convert::join_updates};
use crate::{
    gate::{
        Dependence, FencePlace, IdRange, UpdateBuilder, UpdateSource, without_spoiled, write_fences,
    },
    id::{ClientId, ItemId},
    lib0::{write_string, write_var_uint},
};

/// The least number of ids from which the one of a cure is drawn.
const MIN_IDS: u64 = 1 << 16;

/// How a forked document becomes the same everywhere.
#[derive(Debug)]
pub struct ForkCure {
    /// The texts of both sides, written under a new client id.
    written: Option<Vec<u8>>,
    /// The spoiled items.
    spoiled: Vec<IdRange>,
    /// Those that live at the other side, also if they have no place here.
    there: Vec<IdRange>,
    /// The text afterwards.
    text: String,
}

/// The document without spoiled items, and the texts that are missing from it.
struct SoundPart {
    state: Vec<u8>,
    texts: Vec<String>,
    spoiled: Vec<IdRange>,
    there: Vec<IdRange>,
    fences: BTreeSet<FencePlace>,
}

impl ContentDoc {
    /// Plans the cure of a fork, before updates are applied in which items of clients of this store
    /// have other content than here. `forks` has the first such item of each client.
    ///
    /// Returns `None` if the document would not be the same everywhere; then a person decides.
    ///
    /// # Errors
    ///
    /// As [`write`](Self::write).
    pub fn plan_fork_cure(
        &self,
        forks: &[ItemId],
        arrived: &[&[u8]],
        author: &RunAuthor,
    ) -> Result<Option<ForkCure>, ContentError> {
        let mut forked = Vec::new();
        for fork in forks {
            let start = self.gate().fork_start(*fork)?;
            forked.push(IdRange { client: fork.client, start, len: u32::MAX - start });
        }
        forked.sort_unstable();
        let here = self.gate().encode_state();
        let spoiled_here = self.gate().spoiled_items(&forked, Dependence::Neighbors)?;
        let mut theirs = self.scratch(self.client())?;
        theirs.receive(&without_spoiled(&here, &spoiled_here, &forked)?, UpdateSource::Store)?;
        theirs.receive_all(arrived, &[]);
        let spoiled_there = theirs.gate().spoiled_items(&forked, Dependence::Neighbors)?;
        let state = without_spoiled(&theirs.gate().encode_state(), &spoiled_there, &[])?;
        let mut ours = self.clone_of_state(&here)?;
        ours.receive(&state, UpdateSource::Store)?;
        let mut fences = self.gate().fence_places(&spoiled_here)?;
        fences.extend(theirs.gate().fence_places(&spoiled_there)?);
        // In the same order at all peers.
        let texts: BTreeSet<String> = [ours.text(), theirs.text()].into();
        let there = theirs.gate().living_content(&spoiled_there);
        let spoiled = join_ranges(spoiled_here.into_iter().chain(spoiled_there));
        let author = fork_author([self, &theirs], &forked).unwrap_or_else(|| author.clone());
        let texts = texts.into_iter().collect();
        let sound = SoundPart { state, texts, spoiled, there, fences };
        let Some(cure) = self.write_sides(sound, &author)? else { return Ok(None) };
        // The document as it is here, and as it is there.
        let mut all = self.clone_of_state(&here)?;
        all.receive_all(arrived, &forked);
        theirs.receive_all(&[&here], &forked);
        let is_equal = cure.is_text_of(&mut all)? && cure.is_text_of(&mut theirs)?;
        Ok(is_equal.then_some(cure))
    }

    /// Plans the same for items that arrived later from peers that had not received the cure. They
    /// depend on the forked items of `ranges`, and are at other places elsewhere.
    ///
    /// # Errors
    ///
    /// As [`write`](Self::write).
    pub fn plan_late_cure(
        &self,
        ranges: &[IdRange],
        author: &RunAuthor,
    ) -> Result<Option<ForkCure>, ContentError> {
        let spoiled = self.gate().spoiled_items(ranges, Dependence::Origin)?;
        if self.gate().living_content(&spoiled).is_empty() {
            return Ok(None);
        }
        let here = self.gate().encode_state();
        let state = without_spoiled(&here, &spoiled, &[])?;
        let fences = self.gate().fence_places(&spoiled)?;
        let texts = vec![self.text()];
        let sound = SoundPart { state, texts, spoiled, there: Vec::new(), fences };
        let Some(cure) = self.write_sides(sound, author)? else { return Ok(None) };
        let is_equal = cure.is_text_of(&mut self.clone_of_state(&here)?)?;
        Ok(is_equal.then_some(cure))
    }

    /// Applies a cure, and returns the updates to log. The document must have received the updates
    /// for which it was planned.
    ///
    /// # Errors
    ///
    /// As [`write`](Self::write).
    pub fn apply_fork_cure(&mut self, cure: &ForkCure) -> Result<Vec<Vec<u8>>, ContentError> {
        let mut updates: Vec<Vec<u8>> = cure.written.iter().cloned().collect();
        let mut deleted = UpdateBuilder::new();
        let living = self.gate().living_content(&cure.spoiled);
        let there = cure.there.iter().copied();
        living.into_iter().chain(there).for_each(|range| deleted.delete_range(range));
        if !deleted.is_empty() {
            updates.push(deleted.finish());
        }
        for update in &updates {
            self.receive(update, UpdateSource::Store)?;
        }
        Ok(updates)
    }

    /// Edits the document under another client id from now on. Updates from others may contain
    /// items of the former one.
    ///
    /// # Errors
    ///
    /// [`ContentError::Refused`] if the document is unusable.
    pub fn change_client(&mut self, client: ClientId) -> Result<(), ContentError> {
        self.gate().health()?;
        let mut renewed = self.scratch(client)?;
        renewed.receive(&self.gate().encode_state(), UpdateSource::Store)?;
        for parked in self.gate().parked() {
            renewed.receive(&parked.update, UpdateSource::Store)?;
        }
        *self = renewed;
        Ok(())
    }

    /// Writes the texts that the sound part of the document lacks, each as an edit of that part.
    fn write_sides(
        &self,
        sound: SoundPart,
        author: &RunAuthor,
    ) -> Result<Option<ForkCure>, ContentError> {
        let SoundPart { state, texts, spoiled, there, fences } = sound;
        let mut base = self.clone_of_state(&state)?;
        let Some(client) = cure_client(&base, &texts) else { return Ok(None) };
        base.change_client(client)?;
        let mut updates = Vec::new();
        if let Some(fences) = write_fences(&fences, client) {
            base.receive(&fences, UpdateSource::Store)?;
            updates.push(fences);
        }
        let before = base.version();
        for (nth, text) in texts.iter().enumerate() {
            let read = (nth > 0).then_some(ContentBase::Version(&before));
            if nth > 0 || *text != base.text() {
                updates.extend(base.write(text, read, author)?.update);
            }
        }
        let written = join_updates(updates);
        Ok(Some(ForkCure { written, spoiled, there, text: base.text() }))
    }

    fn scratch(&self, client: ClientId) -> Result<Self, ContentError> {
        let mut scratch = Self::new(self.gate().guid(), client, self.replica.limits());
        scratch.set_kind(self.kind());
        Ok(scratch)
    }

    /// Applies what it can of updates.
    fn receive_all(&mut self, updates: &[&[u8]], forked: &[IdRange]) {
        for update in updates {
            // What is rejected here is rejected, and kept, where it is logged.
            if self.receive(update, UpdateSource::Store).is_err()
                && let Ok(Some(rest)) = self.gate().without_forked(update, forked)
            {
                self.receive(&rest, UpdateSource::Store).ok();
            }
        }
    }
}

impl ForkCure {
    /// Reports whether a document has the expected text once it is cured.
    fn is_text_of(&self, doc: &mut ContentDoc) -> Result<bool, ContentError> {
        doc.apply_fork_cure(self)?;
        Ok(doc.text() == self.text)
    }
}

/// Returns the last author of the forked items in either document.
fn fork_author(docs: [&ContentDoc; 2], forked: &[IdRange]) -> Option<RunAuthor> {
    let entries = docs.into_iter().flat_map(|doc| doc.log().entries());
    let is_forked = |client: ClientId, from: u32| {
        forked.iter().any(|range| range.client == client && range.start <= from)
    };
    let entries = entries.filter(|entry| is_forked(entry.client, entry.from));
    let last = entries.max_by_key(|entry| (entry.at, entry.actor.to_string()))?;
    Some(RunAuthor::new(last.actor, last.at).with_label("fork"))
}

/// Returns a client id below all others of a document, which its state and texts determine.
fn cure_client(base: &ContentDoc, texts: &[String]) -> Option<ClientId> {
    let version: Version = base.version();
    let least = version.clocks().map(|(client, _)| client.get()).min().unwrap_or(MIN_IDS << 8);
    let n_ids = least.checked_sub(1).filter(|n_ids| *n_ids >= MIN_IDS)?;
    let mut bytes = Vec::new();
    write_string(&mut bytes, "yfs fork 1");
    write_string(&mut bytes, base.gate().guid().as_str());
    bytes.extend(version.encode_in_order());
    write_var_uint(&mut bytes, texts.len() as u64);
    texts.iter().for_each(|text| write_string(&mut bytes, text));
    let hash = *blake3::hash(&bytes).as_bytes().first_chunk().expect("32 bytes");
    // The upper half, so that another cure finds room below.
    let (lower, upper) = (n_ids / 2, n_ids - n_ids / 2);
    ClientId::new(1 + lower + u64::from_le_bytes(hash) % upper).ok()
}

/// Returns the union of ranges, sorted and disjoint.
fn join_ranges(ranges: impl Iterator<Item = IdRange>) -> Vec<IdRange> {
    let mut ranges: Vec<IdRange> = ranges.collect();
    ranges.sort_unstable();
    ranges.dedup_by(|next, previous| {
        let touch = next.client == previous.client && next.start <= previous.end();
        if touch {
            previous.len = previous.end().max(next.end()) - previous.start;
        }
        touch
    });
    ranges
}
