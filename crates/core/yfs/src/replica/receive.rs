//! Logs updates that were logged in another store.
//!
//! An update may arrive several times, by several ways: it is logged once. Whether it is known is
//! found by applying it to the document. If this log has no record of a document, the document is
//! not loaded for that. Items that are known are compared with those that arrive (`forks.rs`).

use std::{
    borrow::Cow,
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
};

use yfs_engine::{
    content::ContentDoc,
    gate::{GateRejection, inspect, share_items},
    id::FileId,
};
use yfs_store::{DocName, Seq};

use super::{
    conversion_notes::{REDACTIONS_SETTING, is_converted, note_converted},
    forks::ForkArrival,
};
use crate::{
    Replication,
    commit::{ChangeEffect, DocumentChange, StructureAccess, Transaction},
    error::{Result, WorkspaceError},
    state::WorkspaceState,
};

/// The number of documents that are changed in one transaction, and so may be in memory at once.
const MAX_DOCUMENTS: usize = 128;

/// The result of receiving updates from another store.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct ReceivedUpdates {
    /// The records that were logged, so that a [`ReplicaFeed`](super::ReplicaFeed) need not send
    /// them back.
    pub logged: Vec<Seq>,
    /// The number of updates with new changes.
    pub n_new: u64,
    /// The documents that changed, without the main document.
    pub changed: BTreeSet<FileId>,
    /// The rows that changed.
    pub rows: BTreeSet<FileId>,
    /// Rejected updates, and the reasons; they are in quarantine.
    pub refused: Vec<(FileId, GateRejection)>,
    /// Documents without a file. Their updates were not logged.
    pub unknown: BTreeSet<FileId>,
    /// Documents in which items that arrived are other items here
    /// ([`Replication::forks`]).
    pub forked: BTreeSet<FileId>,
}

/// An update that was logged in another store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplicaUpdate {
    /// Its document.
    pub doc: FileId,
    /// The update.
    pub update: Vec<u8>,
    /// Whether the sender has not sent it before, as far as it knows. A hint; correctness does not
    /// depend on it.
    pub is_new: bool,
}

impl Replication<'_> {
    /// Logs updates that were logged in another store of this workspace. When it returns, they are
    /// in this log.
    ///
    /// # Errors
    ///
    /// Fails if the log cannot be written; updates that were logged before may be passed again.
    pub fn receive(&self, updates: &[ReplicaUpdate]) -> Result<ReceivedUpdates> {
        self.receive_from(None, updates)
    }

    /// Logs updates that a peer vouches for, which is named by its id.
    ///
    /// # Errors
    ///
    /// As [`receive`](Self::receive).
    pub fn receive_from(
        &self,
        sender: Option<&str>,
        updates: &[ReplicaUpdate],
    ) -> Result<ReceivedUpdates> {
        self.state.check_writable()?;
        let mut received = ReceivedUpdates::default();
        let mut forks = Vec::new();
        let (mains, contents): (Vec<&ReplicaUpdate>, Vec<&ReplicaUpdate>) =
            updates.iter().partition(|arrival| arrival.doc == self.state.id);
        for arrival in mains {
            self.receive_main_update(&arrival.update, &mut received, &mut forks)?;
        }
        let mut of_documents: BTreeMap<&FileId, Vec<&[u8]>> = BTreeMap::new();
        for ReplicaUpdate { doc, update, .. } in contents {
            if self.state.is_file(doc) {
                of_documents.entry(doc).or_default().push(update);
            } else {
                received.unknown.insert(doc.clone());
            }
        }
        let documents: Vec<(&FileId, Vec<&[u8]>)> = of_documents.into_iter().collect();
        for documents in documents.chunks(MAX_DOCUMENTS) {
            self.receive_content_updates(documents, &mut received, &mut forks)?;
        }
        self.report_forks(forks, sender, &mut received)?;
        Ok(received)
    }

    /// Converts the contents that [`receive`](Self::receive) changed to the form that their files'
    /// names require, if they had another form before: merges edits that another writer made in the
    /// previous form.
    ///
    /// Only the replica that the others sync with may call it. If several replicas merge the same
    /// edits by themselves, the file may have them twice (decision 23).
    pub fn settle_contents(&self, received: &ReceivedUpdates) -> Result<()> {
        let ids: BTreeSet<&FileId> = received.rows.iter().chain(&received.changed).collect();
        for id in ids {
            if self.state.is_file(id) && is_converted(self.state, id)? {
                match self.state.settle_content(id) {
                    // A content that cannot be converted stays unchanged, and is listed among the
                    // conflicts.
                    Ok(()) | Err(WorkspaceError::Content(_)) => {}
                    Err(error) => return Err(error),
                }
            }
        }
        Ok(())
    }

    fn receive_main_update(
        &self,
        update: &[u8],
        received: &mut ReceivedUpdates,
        forks: &mut Vec<ForkArrival>,
    ) -> Result<()> {
        let fork = self.state.main.read().doc().find_fork(update);
        let Some(fork) = fork else { return self.receive_main_part(update, received) };
        let mut parts = fork.rest.iter();
        let result = parts.try_for_each(|part| self.receive_main_part(part, received));
        forks.push(ForkArrival { doc: self.state.id.clone(), fork });
        result
    }

    fn receive_main_part(&self, update: &[u8], received: &mut ReceivedUpdates) -> Result<()> {
        match self.state.receive_main(update, None) {
            Ok(Some((seq, rows))) => {
                received.logged.push(seq);
                received.rows.extend(rows);
                received.n_new += 1;
                Ok(())
            }
            Ok(None) => Ok(()),
            Err(WorkspaceError::Refused(refusal)) => {
                let id = self.state.id.clone();
                self.quarantine_update(&id, update, refusal, received)
            }
            Err(error) => Err(error),
        }
    }

    /// Logs updates of several documents in one transaction.
    fn receive_content_updates(
        &self,
        documents: &[(&FileId, Vec<&[u8]>)],
        received: &mut ReceivedUpdates,
        forks: &mut Vec<ForkArrival>,
    ) -> Result<()> {
        // After a redaction, no update is logged unread.
        let is_clean = self.state.store.get_meta(REDACTIONS_SETTING)?.is_none();
        let mut arrivals = Vec::with_capacity(documents.len());
        for (id, updates) in documents {
            arrivals.extend(self.check_updates(id, updates, is_clean, received)?);
        }
        let outcome = RefCell::new(Outcome::default());
        let (state, arrivals, seen) = (&self.state, &arrivals, &outcome);
        let committed = state.commit(StructureAccess::Several, None, |_| {
            *seen.borrow_mut() = Outcome::default();
            let changes = arrivals.iter().map(|arrival| arrival.plan_change(state, seen));
            Ok(Transaction { changes: changes.collect(), ..Transaction::of(()) })
        })?;
        for (id, document) in committed.documents {
            if document.is_changed {
                received.n_new += document.records.len() as u64;
                // The sender has no such mark: it is fed the records, which it knows otherwise.
                if !outcome.borrow().marked.contains(&id) {
                    received.logged.extend(document.records);
                }
                received.changed.insert(id.clone());
            }
            // The slot was only made for the lock, and nothing else uses the document.
            if self.state.documents.peek(&id).is_none() {
                self.state.documents.close(&id);
            }
        }
        let Outcome { refused, erased, forks: found, .. } = outcome.into_inner();
        self.state.compaction.note_redacted(erased);
        forks.extend(found);
        refused.into_iter().try_for_each(|(id, update, refusal)| {
            self.quarantine_update(&id, &update, refusal, received)
        })
    }

    /// Checks the updates of a document without loading it.
    fn check_updates<'a>(
        &self,
        id: &'a FileId,
        updates: &[&'a [u8]],
        is_clean: bool,
        received: &mut ReceivedUpdates,
    ) -> Result<Option<ContentArrival<'a>>> {
        let mut may_be_first = is_clean && !is_converted(self.state, id)?;
        let mut accepted = Vec::with_capacity(updates.len());
        for update in updates {
            match inspect(update, &self.state.options.limits) {
                Err(refusal) => self.quarantine_update(id, update, refusal, received)?,
                Ok(inspected) => {
                    if inspected.has_conversions {
                        note_converted(self.state, [id])?;
                    }
                    may_be_first &= !inspected.has_conversions && !inspected.has_redactions;
                    // What waits is counted when the document is changed in memory.
                    may_be_first &= !inspected.may_wait && !inspected.is_misplaced;
                    accepted.push(*update);
                }
            }
        }
        may_be_first &= accepted.len() < 2 || !share_items(&accepted);
        let arrival = ContentArrival { id, updates: accepted, may_be_first };
        Ok((!arrival.updates.is_empty()).then_some(arrival))
    }

    fn quarantine_update(
        &self,
        doc: &FileId,
        update: &[u8],
        refusal: GateRejection,
        received: &mut ReceivedUpdates,
    ) -> Result<()> {
        let (name, now) = (DocName::from(doc), self.state.now());
        self.state.store.quarantine(&name, update, &refusal.to_string(), now)?;
        received.refused.push((doc.clone(), refusal));
        Ok(())
    }
}

/// The updates that arrived for one document.
struct ContentArrival<'a> {
    id: &'a FileId,
    updates: Vec<&'a [u8]>,
    /// Whether they may be logged unread if the log has no record of the document.
    may_be_first: bool,
}

/// The result of applying the updates that arrived.
#[derive(Default)]
struct Outcome {
    refused: Vec<(FileId, Vec<u8>, GateRejection)>,
    erased: BTreeSet<DocName>,
    /// The documents in which the state before the merge was noted.
    marked: BTreeSet<FileId>,
    forks: Vec<ForkArrival>,
}

impl ContentArrival<'_> {
    fn plan_change<'t>(
        &'t self,
        state: &'t WorkspaceState,
        outcome: &'t RefCell<Outcome>,
    ) -> DocumentChange<'t> {
        let make = move |doc: &mut ContentDoc| {
            let mut logged = Vec::new();
            let before = doc.state_before_merge();
            doc.expect_updates(&self.updates);
            for update in &self.updates {
                let fork = doc.gate().find_fork(update);
                let whole = || vec![Cow::Borrowed(*update)];
                let parts = fork.as_ref().map_or_else(whole, |fork| {
                    fork.rest.iter().map(|part| Cow::Owned(part.clone())).collect()
                });
                for part in parts {
                    logged.extend(self.receive_part(state, doc, &part, outcome)?);
                }
                let doc = self.id.clone();
                let fork = fork.map(|fork| ForkArrival { doc, fork });
                outcome.borrow_mut().forks.extend(fork);
            }
            doc.expect_updates(&[]);
            // Other replicas make the same items (decisions 67 and 44).
            if let Some(before) = before {
                let mark = doc.note_state_before_merge(&before).ok().flatten();
                if mark.is_some() {
                    outcome.borrow_mut().marked.insert(self.id.clone());
                }
                logged.extend(mark);
            }
            logged.extend(doc.separate_words().ok().flatten());
            Ok(logged)
        };
        let mut change = DocumentChange::new(self.id, ChangeEffect::Replica, make);
        if self.may_be_first {
            change.first_updates = self.updates.iter().map(|update| update.to_vec()).collect();
        }
        change
    }

    /// Applies an update, and returns the updates to log.
    fn receive_part(
        &self,
        state: &WorkspaceState,
        doc: &mut ContentDoc,
        update: &[u8],
        outcome: &RefCell<Outcome>,
    ) -> Result<Vec<Vec<u8>>> {
        match state.receive_into(self.id, doc, update, None) {
            Ok(applied) => {
                if applied.erases {
                    outcome.borrow_mut().erased.insert(DocName::from(self.id));
                }
                Ok(applied.updates)
            }
            Err(WorkspaceError::Refused(refusal)) => {
                // The log of the sender may be older than the rule: without what does not belong
                // there, the rest of the update is sound, and later work of its author needs it.
                let rest = match &refusal {
                    GateRejection::WrongContent { .. } => doc.gate().without_misplaced(update)?,
                    _ => None,
                };
                let refused = (self.id.clone(), update.to_vec(), refusal);
                outcome.borrow_mut().refused.push(refused);
                match rest {
                    Some(rest) => self.receive_part(state, doc, &rest, outcome),
                    None => Ok(Vec::new()),
                }
            }
            Err(error) => Err(error),
        }
    }
}
