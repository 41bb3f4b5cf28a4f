//! The documents of a transaction: locked in order, changed, and published once the change is in
//! the log.
//!
//! # Invariants
//!
//! - Locks are taken in order of the file ids, and by one thread at a time if there are several
//!   (the caller holds the structure lock for writing), so that no two transactions deadlock.
//! - A changed document is unlocked only after its updates are logged or it is evicted.
//!
//! # Cost
//!
//! All documents of a transaction are in memory at once, whatever the budget of the pool.

use std::{collections::BTreeMap, sync::Arc};

use yfs_engine::{actor::Actor, gate::ParkedTotals, id::FileId, kind::ContentRoot, time::Millis};
use yfs_store::{AppendBatch, AppendReceipt, DocFact, DocHead, DocName, Seq};

use super::{ChangeEffect, CommittedDocument, ContentPrecondition, DocumentChange};
use crate::{
    change_events::add_content_events,
    core::WorkspaceCore,
    documents::{DocHandle, DocumentGuard},
    error::{Result, WorkspaceError},
    feature::ContentCommit,
    settled_form::SettledForm,
};

/// The documents of a transaction, locked.
pub(super) struct LockedDocuments<'a> {
    core: &'a WorkspaceCore,
    /// In order of their ids.
    documents: Vec<LockedDocument<'a>>,
}

struct LockedDocument<'a> {
    guard: DocumentGuard<'a>,
    /// The head before the transaction, if the document is loaded.
    head: DocHead,
    /// Whether the transaction was planned from the content.
    is_expected: bool,
    /// The effect of the change, or `None` if the document does not change.
    effect: Option<ChangeEffect>,
    /// The updates to log, and the index of the first of them in the batch.
    updates: Vec<Vec<u8>>,
    first_index: u64,
    /// The text after a local edit.
    text: Option<Arc<str>>,
    /// What waited in the document before the change.
    parked: ParkedTotals,
}

impl<'a> LockedDocuments<'a> {
    /// Locks the documents of `handles`, which are in order of their ids.
    pub(super) fn lock(
        core: &'a WorkspaceCore,
        handles: &'a [DocHandle],
        changes: &BTreeMap<FileId, DocumentChange<'_>>,
    ) -> Result<Self> {
        let lock = |handle: &'a DocHandle| {
            let may_skip =
                changes.get(handle.id()).is_some_and(|change| !change.first_updates.is_empty());
            LockedDocument::lock(core, handle, may_skip)
        };
        let documents = handles.iter().map(lock).collect::<Result<Vec<_>>>()?;
        Ok(Self { core, documents })
    }

    /// Reports whether every content is still the one that the transaction was planned from.
    pub(super) fn check_preconditions(&mut self, preconditions: &[ContentPrecondition]) -> bool {
        preconditions.iter().all(|precondition| {
            let document = self.document(&precondition.id);
            document.is_expected = true;
            let is_same = document.head == precondition.head;
            if !is_same {
                let features = self.core.features.iter();
                features.for_each(|feature| feature.content_moved(&precondition.id));
            }
            is_same
        })
    }

    /// Reports whether another process has changed a content that the transaction was planned from,
    /// so that the append would fail.
    pub(super) fn are_overtaken(&mut self) -> Result<bool> {
        let store = &self.core.store;
        for document in self.documents.iter_mut().filter(|document| document.is_expected) {
            let head = store.doc_head(&DocName::from(document.guard.handle().id()))?;
            let loaded = document.guard.loaded();
            if head.origin != store.origin() && loaded.is_some_and(|loaded| head.seq > loaded.seen)
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Makes the changes in memory.
    pub(super) fn change(&mut self, changes: BTreeMap<FileId, DocumentChange<'_>>) -> Result<()> {
        for (id, change) in changes {
            let core = self.core;
            self.document(&id).change(core, change)?;
        }
        Ok(())
    }

    /// Adds the updates to the batch, and the precondition that no other process changes a content
    /// that the transaction was planned from.
    pub(super) fn add_to_batch(&mut self, mut batch: AppendBatch) -> AppendBatch {
        for document in &mut self.documents {
            let name = DocName::from(document.guard.handle().id());
            let seen = document.guard.loaded().map(|loaded| loaded.seen);
            batch = match seen {
                Some(seen) if document.is_expected => batch.expecting(name.clone(), seen),
                Some(seen) => batch.watching(name.clone(), seen),
                // Logged unread, so the log must have no record of the document.
                None => batch.expecting(name.clone(), Seq::ZERO),
            };
            document.first_index = batch.updates.len() as u64;
            if let Some(text) = document.text.as_ref().filter(|_| !document.updates.is_empty()) {
                let is_text = document
                    .guard
                    .loaded()
                    .is_some_and(|loaded| loaded.doc.conversion().is_only_text());
                let hash = is_text.then(|| SettledForm::PlainText.mark());
                let fact = DocFact { upto: document.head.seq, size: text.len() as u64, hash };
                batch.facts.push((name.clone(), fact));
            }
            let updates = document.updates.iter();
            batch.updates.extend(updates.map(|update| (name.clone(), update.clone())));
        }
        batch
    }

    /// Publishes the logged updates, and updates caches and reports. Without `appended` there was
    /// nothing to log.
    pub(super) fn publish(
        self,
        appended: Option<&AppendReceipt>,
        now: Millis,
        by: Option<&Actor>,
    ) -> BTreeMap<FileId, CommittedDocument> {
        let Self { core, documents } = self;
        let published = documents.into_iter().filter_map(|document| {
            let id = document.guard.handle().id().clone();
            document.publish(core, appended, now, by).map(|committed| (id, committed))
        });
        published.collect()
    }

    fn document(&mut self, id: &FileId) -> &mut LockedDocument<'a> {
        let found =
            self.documents.binary_search_by(|document| document.guard.handle().id().cmp(id));
        &mut self.documents[found.expect("a transaction locks all of its documents")]
    }
}

impl<'a> LockedDocument<'a> {
    fn lock(core: &WorkspaceCore, handle: &'a DocHandle, may_skip_load: bool) -> Result<Self> {
        let unloaded = handle.lock_slot();
        let is_first = may_skip_load
            && !unloaded.is_loaded()
            && core.store.doc_head(&DocName::from(handle.id()))? == DocHead::ZERO;
        let mut guard = if is_first {
            unloaded
        } else {
            drop(unloaded);
            handle.lock()?
        };
        let head = guard.loaded().map_or(DocHead::ZERO, |loaded| loaded.head);
        Ok(Self {
            guard,
            head,
            is_expected: false,
            effect: None,
            updates: Vec::new(),
            first_index: 0,
            text: None,
            parked: ParkedTotals::default(),
        })
    }

    fn change(&mut self, core: &WorkspaceCore, change: DocumentChange<'_>) -> Result<()> {
        self.effect = Some(change.effect);
        if !self.guard.is_loaded() {
            self.updates = change.first_updates;
            return Ok(());
        }
        if change.effect.is_local_edit() {
            self.check_whole()?;
        }
        let doc = self.guard.change();
        self.parked = doc.gate().parked().totals();
        let was_converted = doc.conversion().was_converted();
        self.updates = match (change.make)(doc) {
            Ok(updates) => updates,
            Err(error) => {
                // A conversion that was made before the error is not in the log.
                let is_intact = !doc.conversion().was_converted() && doc.gate().health().is_ok();
                if is_intact && is_refusal(&error) {
                    self.guard.keep();
                }
                return Err(error);
            }
        };
        if doc.conversion().was_converted() && !was_converted {
            // Recorded before anything is logged: an unnecessary note does no harm.
            let id = self.guard.handle().id();
            core.features.iter().try_for_each(|feature| feature.converting(core, id))?;
        }
        if change.effect.is_local_edit() {
            let doc = self.guard.change();
            let text: Arc<str> = doc.text().into();
            doc.gate().health()?;
            self.text = Some(text);
        }
        if self.updates.is_empty() {
            self.guard.keep();
        }
        Ok(())
    }

    /// Fails if some of the document's records cannot be read: an edit of what is left would make
    /// the loss true. A peer's update may bring back what is missing, so it is accepted.
    fn check_whole(&mut self) -> Result<()> {
        let id = self.guard.handle().id();
        let checked = self.guard.loaded().map_or(Ok(()), |loaded| loaded.check_whole(id));
        if checked.is_err() {
            self.guard.keep();
        }
        checked
    }

    fn publish(
        mut self,
        core: &WorkspaceCore,
        appended: Option<&AppendReceipt>,
        now: Millis,
        by: Option<&Actor>,
    ) -> Option<CommittedDocument> {
        let effect = self.effect?;
        let (handle, id) = (self.guard.handle(), self.guard.handle().id());
        let mut committed = CommittedDocument {
            head: self.head,
            is_changed: !self.updates.is_empty(),
            is_overtaken: false,
            text: self.text.take(),
            records: Vec::new(),
        };
        if let Some(appended) = appended.filter(|_| committed.is_changed) {
            let first = appended.first.0 + self.first_index;
            committed.records = (first..first + self.updates.len() as u64).map(Seq).collect();
            let last = committed.records.last().map(|seq| core.own_head(*seq));
            committed.head = last.unwrap_or(self.head);
            let kind = self.guard.loaded().map_or(ContentRoot::Text, |loaded| loaded.doc.kind());
            for update in &self.updates {
                handle.charge(update, kind);
            }
            committed.is_overtaken = self.guard.confirm(committed.head, appended, core.tailed());
        }
        if committed.is_overtaken && effect.is_local_edit() {
            // The text that was rendered is not the document's current one.
            committed.text = self.guard.loaded().map(|loaded| loaded.doc.text().into());
            committed.head = self.guard.loaded().map_or(committed.head, |loaded| loaded.head);
        }
        let loaded = self.guard.loaded().filter(|_| committed.is_changed);
        let parked = loaded.map(|loaded| (self.parked, loaded.doc.gate().parked().totals()));
        let document = &committed;
        let commit = ContentCommit { id, effect, document, parked, by, now };
        core.features.iter().for_each(|feature| feature.content_committed(core, &commit));
        // Published last, so that a subscriber that reads after this update gets the new text.
        if !committed.records.is_empty() {
            self.updates.iter().for_each(|update| handle.publish(update));
        }
        Some(committed)
    }
}

impl WorkspaceCore {
    /// Adds the changes of contents to the events of a transaction.
    pub(super) fn add_content_events(
        &self,
        changed: &BTreeMap<FileId, ChangeEffect>,
        committed: &BTreeMap<FileId, CommittedDocument>,
        by: Option<&Actor>,
        events: &mut Vec<yfs_vfs::FileChange>,
    ) {
        let is_reported = |(id, effect): &(&FileId, &ChangeEffect)| {
            effect.is_content_change()
                && committed.get(*id).is_some_and(|document| document.is_changed)
        };
        let ids: Vec<FileId> =
            changed.iter().filter(is_reported).map(|(id, _)| id.clone()).collect();
        add_content_events(&self.main, self.now(), &ids, by, events);
    }
}

/// Reports whether an error was returned before the document was changed.
fn is_refusal(error: &WorkspaceError) -> bool {
    matches!(error, WorkspaceError::Refused(_) | WorkspaceError::Content(_) | WorkspaceError::Fs(_))
}
