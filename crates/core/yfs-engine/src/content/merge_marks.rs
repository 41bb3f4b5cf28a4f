//! Marks in the log for the states that a merge ends.
//!
//! A run's state is noted by the run that follows. If two replicas worked apart, no run follows on
//! the last of either side: the merged state would be noted, and what stood on each disk would be
//! in no version. So a replica that receives work which does not know its own last run notes the
//! state that it had before. The entry is one of a rule: all replicas that had this state make the
//! same item (`docs/decisions/0067-the-state-of-each-side-is-a-version.md`).
//!
//! # Cost
//!
//! The deleted ranges of the document for each batch of updates of another replica; all notes, if
//! that replica had not seen the last run.

use super::{
    ContentDoc, ContentError, RunAuthor, Version,
    log::{self, LAST_OF_SIDE},
    rule_client::{is_rule_client, rule_client},
};
use crate::{
    gate::{RootIx, UpdateBuilder, UpdateSource},
    id::{ClientId, ItemId},
    lib0::{write_string, write_var_uint},
};

/// What the hash for the client id of a mark begins with; it must change with the rule.
const RULE: &str = "yfs merge 1";

/// The state of a document before it receives updates of another replica.
#[derive(Debug)]
pub struct StateBeforeMerge {
    /// The last entry of the log.
    last: ItemId,
    /// The number of entries that writers made.
    n_written: usize,
    version: Version,
}

impl ContentDoc {
    /// Returns the state before updates of another replica are received; `None` if no writer has
    /// recorded its work yet.
    pub fn state_before_merge(&self) -> Option<StateBeforeMerge> {
        let log = self.log();
        let last = log.last_entry().filter(|last| !is_rule_client(last.client))?;
        Some(StateBeforeMerge { last, n_written: log.n_written(), version: self.version() })
    }

    /// Notes the state that the document had before a merge, so that it is a version, unless the
    /// updates that arrived know it. Returns the update, which must be logged and sent.
    ///
    /// # Errors
    ///
    /// [`ContentError::Refused`] if the document cannot be edited at all.
    pub fn note_state_before_merge(
        &mut self,
        before: &StateBeforeMerge,
    ) -> Result<Option<Vec<u8>>, ContentError> {
        let log = self.log();
        if log.n_written() == before.n_written || log.is_noted(before.last) {
            return Ok(None);
        }
        let Some(author) = log.author_of_entry(before.last) else { return Ok(None) };
        let Some(note) = log.notes().since_in_order(before.last, &before.version) else {
            return Ok(None);
        };
        let author = RunAuthor { label: Some(LAST_OF_SIDE.into()), ..author.clone() };
        let id = ItemId::new(mark_client(before.last, &author, note.bytes()), 0);
        if self.gate().clock_of(id.client) > 0 {
            return Ok(None);
        }
        let mut update = UpdateBuilder::new();
        update.array_run(id, None, None, RootIx::Log.name(), &[log::run(&author, &note)]);
        let update = update.finish();
        self.receive(&update, UpdateSource::Store)?;
        Ok(Some(update))
    }
}

/// Returns the client id that the last run of a side and the state that it left determine.
fn mark_client(last: ItemId, author: &RunAuthor, note: &[u8]) -> ClientId {
    let mut bytes = Vec::new();
    write_string(&mut bytes, RULE);
    write_var_uint(&mut bytes, last.client.get());
    write_var_uint(&mut bytes, last.clock.into());
    write_string(&mut bytes, &author.actor.to_string());
    bytes.extend(author.at.0.to_le_bytes());
    bytes.extend(note);
    rule_client(&bytes)
}
