//! The commit of an edit of the body: one transaction, with the entry of its run in the log.
//!
//! It knows neither form of the body; rich text drops its own cache after a commit.

use yrs::{Any, TransactionMut};

use super::{
    ContentError, RunAuthor,
    log::{self, AuthorLog},
    replica::{ContentReplica, LocalChange, push_front},
};
use crate::{gate::RootIx, id::ItemId};

/// The parts of a document that an edit of its body changes.
pub(super) struct BodyWriter<'a> {
    pub(super) replica: &'a mut ContentReplica,
    pub(super) origin: EditOrigin<'a>,
}

/// The origin of an edit.
pub(super) enum EditOrigin<'a> {
    /// An author, whom the log names.
    Author {
        /// The log of the document.
        log: &'a mut AuthorLog,
        /// The author.
        author: &'a RunAuthor,
    },
    /// A fixed rule: the edit has no author, and every peer makes the same items.
    Rule,
}

impl BodyWriter<'_> {
    /// Reports whether edits follow a fixed rule.
    pub(super) fn is_by_rule(&self) -> bool {
        matches!(self.origin, EditOrigin::Rule)
    }

    /// Returns the entry of the run that an edit of an author is. Every edit is a run of its own,
    /// so each state between two edits is a version.
    pub(super) fn begin_run(&mut self) -> Option<Any> {
        let EditOrigin::Author { log, author } = &mut self.origin else { return None };
        Some(log::run(author, &log.note_of(self.replica)))
    }

    /// Returns the first item of an edit that is written relative to items, under the
    /// [current id](super::writer_ids::WriterIds::current) of the writer. `None` if the edit
    /// follows a fixed rule.
    pub(super) fn next_item_by_items(&mut self) -> Option<ItemId> {
        let EditOrigin::Author { log, .. } = &self.origin else { return None };
        let (ids, gate) = (&mut self.replica.ids, &mut self.replica.gate);
        let client = ids.current(|client| log.n_written_by(client));
        gate.protect(&[client]);
        Some(ItemId::new(client, gate.clock_of(client)))
    }

    /// Edits the document in one transaction, which begins with an entry in the log.
    pub(super) fn commit(
        &mut self,
        entry: Option<Any>,
        edit: impl FnOnce(&mut TransactionMut<'_>),
    ) -> Result<LocalChange, ContentError> {
        let id = self.replica.next_item();
        let element = entry.clone();
        let ((), change) = self.replica.edit(|txn| {
            if let Some(element) = element {
                push_front(txn, RootIx::Log, element);
            }
            edit(txn);
        });
        self.finish(id, entry)?;
        Ok(change)
    }

    /// Adds the entry that a transaction began with, the item `id`, to the log.
    pub(super) fn finish(&mut self, id: ItemId, entry: Option<Any>) -> Result<(), ContentError> {
        self.replica.gate.health()?;
        if let (EditOrigin::Author { log, .. }, Some(entry)) = (&mut self.origin, entry) {
            log.insert(id, &entry);
        }
        Ok(())
    }
}
