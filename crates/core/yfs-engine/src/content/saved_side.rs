//! The version of a save that was merged with text which its writer had not read.
//!
//! Such a save is merged in one step, so its own text stands in the document at no time. An entry
//! behind it in the log notes the state that the writer would have left: what it had read, with its
//! own changes (`docs/decisions/0067-the-state-of-each-side-is-a-version.md`). The entry is written
//! only if the text of that state is what was saved: an insertion that both sides made alike, for
//! example, is made once, and is not the writer's.
//!
//! # Cost
//!
//! One reading of a past state for each save that was merged, and its note: about 100 bytes, or all
//! deleted ranges of the document if none of the last entries is in that state.

use yrs::{ClientID, IdSet, Snapshot, StateVector};

use super::{
    ContentDoc, ContentError, RunAuthor, Version,
    log::{self, LAST_OF_SIDE},
    version::known_deletions,
};
use crate::id::ItemId;

/// A save that was merged.
pub(super) struct MergedSave<'a> {
    /// What its writer had read.
    pub(super) read: &'a Version,
    /// The document before the save.
    pub(super) before: &'a Version,
    /// The first item of the save.
    pub(super) first: ItemId,
    /// The text that was to be saved.
    pub(super) saved: &'a str,
}

impl MergedSave<'_> {
    /// Returns the state that the writer would have left, with what it deleted of the text that it
    /// had read.
    fn own_state(&self, now: &Version, gone: IdSet) -> Version {
        let own = ClientID::new(self.first.client.get());
        let (read, now) = (self.read.snapshot(), now.snapshot());
        let mut clocks: StateVector = read.state_map.clone();
        let read_own = clocks.get(&own);
        clocks.set_max(own, now.state_map.get(&own));
        let mut deleted = gone;
        deleted.merge_with(read.delete_set.clone());
        // Work of others in this process is under the same client id.
        if read_own < self.first.clock {
            deleted.range_mut(own).insert(read_own..self.first.clock);
        }
        let deleted = known_deletions(&deleted, &clocks);
        Version::noted(Snapshot::new(clocks, deleted))
    }
}

impl ContentDoc {
    /// Notes the text of a save that was merged, so that it is a version. Returns the update, or
    /// `None` if the document has the text or no version of its items has it.
    pub(super) fn note_saved_side(
        &mut self,
        save: &MergedSave<'_>,
        author: &RunAuthor,
    ) -> Result<Option<Vec<u8>>, ContentError> {
        let now = self.version();
        if self.text() == save.saved {
            return Ok(None);
        }
        let Some(own) = find_own_state(self, save, &now, author)? else { return Ok(None) };
        let note = self.log().notes().encode_past(&own);
        let author = author.clone().with_label(LAST_OF_SIDE);
        self.edit_registers().commit(|replica, registers| {
            registers.log.add_entry(replica, &log::run(&author, &note))
        })
    }
}

/// Finds the state of items that has the saved text.
fn find_own_state(
    doc: &ContentDoc,
    save: &MergedSave<'_>,
    now: &Version,
    author: &RunAuthor,
) -> Result<Option<Version>, ContentError> {
    let newly_gone = now.snapshot().delete_set.diff(&save.before.snapshot().delete_set);
    let own = save.own_state(now, newly_gone);
    if doc.text_at(&own)? == save.saved {
        return Ok(Some(own));
    }
    // Others deleted some of it first, or it stayed because others had gone on with it.
    let state = doc.replica.fork(save.read)?.encode_state();
    let mut past = doc.clone_of_state(&state)?;
    let read = past.version();
    drop(past.write(save.saved, None, author)?);
    let gone = past.version().snapshot().delete_set.diff(&read.snapshot().delete_set);
    let own = save.own_state(now, gone);
    Ok((doc.text_at(&own)? == save.saved).then_some(own))
}
