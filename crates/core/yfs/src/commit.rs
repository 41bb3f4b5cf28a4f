//! Transactions: the only way to change a workspace.
//!
//! A caller plans a [`Transaction`] from the current main document. [`WorkspaceCore::commit`]
//! makes its changes in memory, appends all of them to the log as one batch, and only then
//! publishes them: to the tree, to subscribers of documents, to caches, to watchers. It is the only
//! caller of [`UpdateLog::append`](yfs_store::UpdateLog::append), the only retry loop and the only
//! publisher of local changes.
//!
//! Rows are *conditional*: the append fails if another process has written rows since the plan was
//! made, and the transaction is planned again. Contents *merge*: an update is logged regardless of
//! other updates, unless the plan was made from a content ([`ContentPrecondition`]) or from a path
//! ([`StructureAccess::Hold`]).
//!
//! # Invariants
//!
//! - The main document changes only under the structure lock, by updates that are in the log.
//! - Locks are taken in the order that the [core](crate::core) states.
//! - Nothing is appended after [`WorkspaceCore::close_log`] returned.

mod documents;
#[cfg(test)]
mod tests;
mod transaction;

use std::{collections::BTreeMap, sync::Arc};

use parking_lot::{RwLock, RwLockReadGuard, RwLockWriteGuard};
use yfs_engine::{
    actor::Actor,
    gate::UpdateSource,
    id::FileId,
    main_doc::{EMPTY_UPDATE, MainDoc},
    time::Millis,
};
use yfs_store::{AppendBatch, AppendReceipt, DocHead, DocName, Seq, StoreError};
use yfs_vfs::{FsCode, FsError, Op};

use self::documents::LockedDocuments;
pub(crate) use self::transaction::{
    ChangeEffect, ContentPrecondition, DocumentChange, MainChange, NewBody, NewDocument,
    StructureAccess, Transaction,
};
use crate::{
    change_events::row_events,
    core::WorkspaceCore,
    documents::DocHandle,
    error::{Result, WorkspaceError},
};

/// How often a transaction is planned again because other processes were faster.
const MAX_ATTEMPTS: usize = 1_000;

/// The result of a transaction.
#[derive(Debug)]
pub(crate) struct Committed<T> {
    /// The value that the plan returned.
    pub(crate) value: T,
    /// Every document that the transaction was to change.
    pub(crate) documents: BTreeMap<FileId, CommittedDocument>,
    /// The record of each new document.
    pub(crate) new_documents: BTreeMap<FileId, Seq>,
    /// The record of the main document, if it has one.
    pub(crate) main: Option<Seq>,
    /// The rows that changed.
    pub(crate) rows: Vec<FileId>,
}

/// The result for a document that a transaction was to change.
#[derive(Debug)]
pub(crate) struct CommittedDocument {
    /// The last record of the document.
    pub(crate) head: DocHead,
    /// Whether the document was changed.
    pub(crate) is_changed: bool,
    /// Whether other processes had changed the document in between. If so, it has content that the
    /// transaction's author has not read.
    pub(crate) is_overtaken: bool,
    /// The text, after a local edit.
    pub(crate) text: Option<Arc<str>>,
    /// The records that the change was logged as.
    pub(crate) records: Vec<Seq>,
}

/// The structure lock, held as the transaction requires.
enum StructureGuard<'a> {
    Change { _guard: RwLockWriteGuard<'a, ()> },
    Hold { _guard: RwLockReadGuard<'a, ()> },
    Ignore,
}

/// An update of the main document that is not logged yet.
struct PlannedMain {
    update: Vec<u8>,
    is_peers: bool,
}

impl StructureAccess {
    /// Reports whether the transaction depends on the rows that it was planned from.
    fn is_conditional(self) -> bool {
        matches!(self, Self::Change | Self::Hold)
    }
}

impl<T> Committed<T> {
    fn unchanged(value: T) -> Self {
        Self {
            value,
            documents: BTreeMap::new(),
            new_documents: BTreeMap::new(),
            main: None,
            rows: Vec::new(),
        }
    }
}

impl WorkspaceCore {
    /// Commits the changes that `plan` makes to the main document, on behalf of `by`.
    ///
    /// `plan` runs again whenever another process was faster. Its error is final only if it was
    /// made from the head of the log.
    ///
    /// # Errors
    ///
    /// Fails as `plan` and the changes do; with [`WorkspaceError::Closed`]; with `EBUSY` after
    /// 1,000 attempts. A failed commit has changed nothing.
    pub(crate) fn commit<'t, T>(
        &self,
        access: StructureAccess,
        by: Option<&Actor>,
        mut plan: impl FnMut(&MainDoc) -> Result<Transaction<'t, T>>,
    ) -> Result<Committed<T>> {
        self.check_writable()?;
        let _structure = StructureGuard::lock(&self.structure, access);
        for _ in 0..MAX_ATTEMPTS {
            // Read before the plan is made: any record that is logged from here on makes the append
            // fail.
            let seen = self.tailed();
            let planned = plan(&self.main.read());
            let transaction = match planned {
                Ok(transaction) => transaction,
                Err(refusal) => {
                    let has_changed = self.catch_up()?;
                    if self.tailed() == seen && !has_changed {
                        return Err(refusal);
                    }
                    continue;
                }
            };
            if self.must_replace_main() {
                self.catch_up()?;
                continue;
            }
            if transaction.is_empty() {
                return Ok(Committed::unchanged(transaction.value));
            }
            if let Some(committed) = self.try_commit(access, by, seen, transaction)? {
                return Ok(committed);
            }
            self.catch_up()?;
        }
        Err(FsError::bare(FsCode::EBUSY, Op::Open).into())
    }

    /// Commits a transaction, or returns `None` if another process was faster.
    fn try_commit<T>(
        &self,
        access: StructureAccess,
        by: Option<&Actor>,
        seen: Seq,
        transaction: Transaction<'_, T>,
    ) -> Result<Option<Committed<T>>> {
        let now = self.now();
        let Transaction { main, new_documents, changes, preconditions, blobs, value } = transaction;
        // No row has the id of the main document; a caller that was given one by a peer ends here.
        let mut contents = changes.iter().map(|change| &change.id);
        if contents.any(|id| *id == self.id) || new_documents.iter().any(|new| new.id == self.id) {
            return Err(WorkspaceError::NoFile(self.id.clone()));
        }
        // Records that other processes log after this transaction's rows must not be applied before
        // those rows are.
        let _tailing = main.changes_rows().then(|| self.tailing.lock());
        let main = self.plan_main(main, now)?;
        let (new_documents, changes) = self.split_new_documents(new_documents, changes);
        let handles = self.document_handles(&changes, &preconditions);
        let effects = changes.iter().map(|(id, change)| (id.clone(), change.effect)).collect();
        let mut documents = LockedDocuments::lock(self, &handles, &changes)?;
        if !documents.check_preconditions(&preconditions) {
            return Ok(None);
        }
        let depends_on_rows =
            access.is_conditional() && !main.as_ref().is_some_and(|main| main.is_peers);
        if !changes.is_empty()
            && (depends_on_rows && self.is_main_overtaken(seen)? || documents.are_overtaken()?)
        {
            return Ok(None);
        }
        documents.change(changes)?;

        let mut updates = Vec::with_capacity(1 + new_documents.len());
        updates.extend(main.iter().map(|main| (self.main_name.clone(), main.update.clone())));
        let first_new = updates.len() as u64;
        updates.extend(
            new_documents
                .iter()
                .map(|document| (DocName::from(&document.id), document.update.clone())),
        );
        let mut batch = AppendBatch::new(updates, now);
        if depends_on_rows {
            batch = batch.expecting(self.main_name.clone(), seen);
        }
        batch.blobs = blobs;
        batch.facts = new_documents.iter().filter_map(NewDocument::fact).collect();
        let batch = documents.add_to_batch(batch);
        if batch.updates.is_empty() {
            let documents = documents.publish(None, now, by);
            return Ok(Some(Committed { documents, ..Committed::unchanged(value) }));
        }
        if self.must_replace_main() {
            // It may have been planned from rows that could not be read.
            return Ok(None);
        }
        let Some(appended) = self.append(batch)? else { return Ok(None) };

        let documents = documents.publish(Some(&appended), now, by);
        let numbered = new_documents.iter().zip(appended.first.0 + first_new..);
        let new_documents = numbered.map(|(new, seq)| (new.id.clone(), Seq(seq))).collect();
        let mut committed = Committed { new_documents, documents, ..Committed::unchanged(value) };
        let mut events = Vec::new();
        if let Some(main) = main {
            committed.main = Some(appended.first);
            (committed.rows, events) = self.apply_main(&main, now)?;
        }
        self.add_content_events(&effects, &committed.documents, by, &mut events);
        for event in &mut events {
            event.actor = by.cloned();
        }
        self.publish_changes(events);
        // Called last, so that a reader of a cursor with this position finds the events.
        self.skip_own_records(&appended);
        self.note_position();
        Ok(Some(committed))
    }

    /// Reports whether another process has written rows after a position.
    ///
    /// The append would fail. It is checked before documents are changed, because a document with a
    /// change that was not logged has to be loaded again
    /// ([decision 47](../../../../docs/decisions/0047-a-lost-race-costs-what-the-others-wrote.md)).
    fn is_main_overtaken(&self, seen: Seq) -> Result<bool> {
        let head = self.store.doc_head(&self.main_name)?;
        Ok(head.origin != self.store.origin() && head.seq > seen)
    }

    /// Encodes the update of the main document, or returns `None` if nothing changes.
    fn plan_main(&self, change: MainChange, now: Millis) -> Result<Option<PlannedMain>> {
        let (update, is_peers) = match change {
            MainChange::Rows(rows) if rows.is_empty() => return Ok(None),
            MainChange::Rows(rows) => (self.main.read().plan(&rows, now)?, false),
            MainChange::Local(update) => (update, false),
            MainChange::Peer(update) => (update, true),
        };
        Ok((update != EMPTY_UPDATE).then_some(PlannedMain { update, is_peers }))
    }

    /// Applies and publishes an update of the main document that was logged. Returns the rows that
    /// it changed, and the events.
    fn apply_main(
        &self,
        main: &PlannedMain,
        now: Millis,
    ) -> Result<(Vec<FileId>, Vec<yfs_vfs::FileChange>)> {
        let changes = if main.is_peers {
            self.main.write().receive(&main.update, UpdateSource::Wire)?
        } else {
            self.main.write().commit(&main.update)
        };
        self.features.iter().for_each(|feature| feature.main_logged(self, &main.update, true));
        let events = row_events(&self.main.read(), &changes, now);
        self.main_followers.publish(&main.update);
        Ok((changes.ids, events))
    }

    /// Turns new documents that are in memory already into changes: files that return to a
    /// workspace in which they were before.
    fn split_new_documents<'t>(
        &self,
        new_documents: Vec<NewDocument>,
        changes: Vec<DocumentChange<'t>>,
    ) -> (Vec<NewDocument>, BTreeMap<FileId, DocumentChange<'t>>) {
        let mut changes: BTreeMap<FileId, DocumentChange<'t>> =
            changes.into_iter().map(|change| (change.id.clone(), change)).collect();
        let (known, new): (Vec<_>, Vec<_>) =
            new_documents.into_iter().partition(|new| self.documents.has_slot(&new.id));
        for NewDocument { id, update, .. } in known {
            let change = DocumentChange::new(&id, ChangeEffect::Replica, move |doc| {
                let received = doc.receive(&update, UpdateSource::Store)?;
                Ok(received.brought_new.then_some(update).into_iter().collect())
            });
            changes.insert(id, change);
        }
        (new, changes)
    }

    /// Returns handles of the documents that a transaction reads or changes, in order of their ids.
    fn document_handles(
        &self,
        changes: &BTreeMap<FileId, DocumentChange<'_>>,
        preconditions: &[ContentPrecondition],
    ) -> Vec<DocHandle> {
        let mut ids: Vec<&FileId> = changes.keys().collect();
        ids.extend(preconditions.iter().map(|precondition| &precondition.id));
        ids.sort();
        ids.dedup();
        ids.into_iter().map(|id| self.documents.acquire(id)).collect()
    }

    /// Appends to the log, or returns `None` if a precondition of the batch does not hold.
    fn append(&self, batch: AppendBatch) -> Result<Option<AppendReceipt>> {
        // Locked until the store has answered, so that client ids are released only after the last
        // update that was written under them.
        let is_log_open = self.is_log_open.read();
        if !*is_log_open {
            return Err(WorkspaceError::Closed);
        }
        match self.store.append(batch) {
            Ok(appended) => Ok(Some(appended)),
            Err(StoreError::HeadMoved { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Waits for appends that are under way, and makes every later one fail.
    pub(crate) fn close_log(&self) {
        *self.is_log_open.write() = false;
    }
}

impl<'a> StructureGuard<'a> {
    fn lock(structure: &'a RwLock<()>, access: StructureAccess) -> Self {
        match access {
            StructureAccess::Change | StructureAccess::Several => {
                Self::Change { _guard: structure.write() }
            }
            StructureAccess::Hold => Self::Hold { _guard: structure.read() },
            StructureAccess::Ignore => Self::Ignore,
        }
    }
}
