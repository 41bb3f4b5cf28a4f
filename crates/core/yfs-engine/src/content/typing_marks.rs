//! Marks in the log for the work of editors, which write no entries themselves.
//!
//! A person who types in an editor makes an update with each key. They coalesce: a mark says on
//! whose behalf an editor's client types, and notes the state of the document before, once in
//! [`marked_runs::MAX_RUN_MS`]. A save by another writer ends the run at once, so that what the
//! save wrote is in a version before an editor can delete it.
//!
//! # Cost
//!
//! An update that continues a run costs a look-up.

pub(super) mod marked_runs;

pub(super) use self::marked_runs::TypingMarks;
use super::{ContentError, RegisterEditor, RunAuthor, log, note::StateNote};
use crate::id::ItemId;

/// A mark that is to be added to the log with the update of an editor.
#[derive(Debug)]
pub struct TypingMark {
    author: RunAuthor,
    /// The first item of the update; `None` if it only deletes.
    first: Option<ItemId>,
    /// The state of the document before the update.
    before: StateNote,
}

impl RegisterEditor<'_> {
    /// Returns the mark for an update that an editor made on behalf of an author, or `None` if it
    /// needs none. The document must not have the update yet. `first` is the first item of the
    /// update, `None` if the update only deletes.
    pub fn plan_typing_mark(
        &mut self,
        first: Option<ItemId>,
        author: &RunAuthor,
    ) -> Option<TypingMark> {
        // A client that writes entries of its own needs no mark.
        if first.is_some_and(|first| self.registers.log.writes_entries(first.client)) {
            return None;
        }
        // The first connection that a client typed through says whose it is.
        let known =
            first.map(|first| self.registers.log.who(first).map(|known| known.actor.clone()));
        let is_unattributed = known == Some(None);
        let actor = known.flatten().unwrap_or_else(|| author.actor.clone());
        let author = RunAuthor { actor, ..author.clone() };
        if !is_unattributed && self.registers.log.typing.goes_on(&author) {
            return None;
        }
        let before = self.registers.log.note_of(self.replica);
        Some(TypingMark { author, first, before })
    }

    /// Adds a mark to the log, after the document has received the update of the editor.
    ///
    /// # Errors
    ///
    /// [`ContentError::Refused`] if the document cannot be edited at all.
    pub fn add_typing_mark(&mut self, mark: &TypingMark) -> Result<Option<Vec<u8>>, ContentError> {
        let TypingMark { author, first, before } = mark;
        self.commit(|replica, registers| {
            let log = &mut registers.log;
            let change = match first {
                Some(first) => log.add_claim(replica, first.client, first.clock, author, before),
                None => {
                    // Deletions have no ids. The entry is a run of our own that wrote nothing.
                    let change = log.add_entry(replica, &log::run(author, before));
                    log.typing.n_saves -= u64::from(change.is_ok());
                    change
                }
            };
            log.typing.note_mark(author);
            change
        })
    }
}
