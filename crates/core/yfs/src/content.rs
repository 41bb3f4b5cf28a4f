//! Contents of files: editing them by path or by id, and their versions.

use std::cell::RefCell;

use yfs_engine::{
    actor::Actor,
    content::{ContentDoc, Version},
    gate::UpdateSource,
    id::FileId,
    kind::{PROFILE_SETTING, SchemaProfile, profile_name},
    main_doc::MainDoc,
    table::{RowChanges, RowWrite},
};
use yfs_store::{DocHead, DocHistory, DocName};

use crate::{
    commit::{
        ChangeEffect, CommittedDocument, ContentPrecondition, DocumentChange, MainChange,
        StructureAccess, Transaction,
    },
    core::WorkspaceCore,
    error::{Result, WorkspaceError},
};

/// A change of a document, as updates to log; empty if nothing changes.
pub(crate) type Updates = Vec<Vec<u8>>;

impl WorkspaceCore {
    /// Sets the schema of the workspace's rich text.
    pub(crate) fn set_profile(&self, profile: SchemaProfile) -> Result<()> {
        let value = yfs_engine::Any::from(profile_name(profile));
        self.commit(StructureAccess::Change, None, |main| {
            let update = main.plan_setting(PROFILE_SETTING, Some(&value), self.now())?;
            Ok(Transaction { main: MainChange::Local(update), ..Transaction::of(()) })
        })?;
        Ok(())
    }

    /// Edits the content of a file that was found by its path.
    ///
    /// `check` reports from the main document whether the path still leads to the file; it stays so
    /// until the edit is logged. With `expected`, the content must have that record as its last.
    /// `row` is written in the same transaction.
    ///
    /// # Errors
    ///
    /// Fails as `check` and `edit` do; with [`WorkspaceError::ContentMoved`] if the content is not
    /// the expected one.
    pub(crate) fn edit_found(
        &self,
        id: &FileId,
        by: &Actor,
        expected: Option<DocHead>,
        row: &RowChanges,
        check: impl Fn(&MainDoc) -> Result<()>,
        edit: impl FnMut(&mut ContentDoc) -> Result<Updates>,
    ) -> Result<CommittedDocument> {
        let edit = RefCell::new(edit);
        let edit = &edit;
        let has_row = *row != RowChanges::default();
        let access = if has_row { StructureAccess::Change } else { StructureAccess::Hold };
        let mut committed = self.commit(access, Some(by), |main| {
            check(main)?;
            let preconditions = self.expect_content(id, expected)?;
            let make = move |doc: &mut ContentDoc| (edit.borrow_mut())(doc);
            let change = DocumentChange::new(id, ChangeEffect::Edit, make);
            let write = || RowWrite::Update { id: id.clone(), changes: row.clone() };
            let rows = Transaction::rows(has_row.then(write).into_iter().collect(), ());
            Ok(Transaction { changes: vec![change], preconditions, ..rows })
        })?;
        Ok(committed.documents.remove(id).expect("the transaction changes the document"))
    }

    /// Returns the precondition that a content has `expected` as its last record. It is checked now
    /// and when the transaction is logged.
    ///
    /// # Errors
    ///
    /// Fails with [`WorkspaceError::ContentMoved`] if it has another.
    pub(crate) fn expect_content(
        &self,
        id: &FileId,
        expected: Option<DocHead>,
    ) -> Result<Vec<ContentPrecondition>> {
        let Some(expected) = expected else { return Ok(Vec::new()) };
        let head = self.documents.acquire(id).with(|loaded| loaded.head)?;
        if head != expected {
            return Err(WorkspaceError::ContentMoved(id.clone()));
        }
        Ok(vec![ContentPrecondition { id: id.clone(), head }])
    }

    /// Changes a document by its id, whatever the path of its file is.
    pub(crate) fn change_document(
        &self,
        id: &FileId,
        by: Option<&Actor>,
        effect: ChangeEffect,
        make: impl FnMut(&mut ContentDoc) -> Result<Updates>,
    ) -> Result<CommittedDocument> {
        let make = RefCell::new(make);
        let make = &make;
        let mut committed = self.commit(StructureAccess::Ignore, by, |_| {
            let make = move |doc: &mut ContentDoc| (make.borrow_mut())(doc);
            let change = DocumentChange::new(id, effect, make);
            Ok(Transaction { changes: vec![change], ..Transaction::of(()) })
        })?;
        Ok(committed.documents.remove(id).expect("the transaction changes the document"))
    }

    /// Changes the annotations of a document, which are not part of its content; reports whether
    /// anything changed.
    pub(crate) fn annotate(
        &self,
        id: &FileId,
        mut change: impl FnMut(&mut ContentDoc) -> Result<Option<Vec<u8>>>,
    ) -> Result<bool> {
        let make = |doc: &mut ContentDoc| Ok(change(doc)?.into_iter().collect());
        Ok(self.change_document(id, None, ChangeEffect::Annotation, make)?.is_changed)
    }

    /// Evicts a document, and logs an update without content, so that its head is a new one and
    /// every process notices the change.
    pub(crate) fn load_again(&self, id: &FileId) -> Result<()> {
        let handle = self.documents.acquire(id);
        let mut guard = handle.lock_slot();
        if guard.is_loaded() {
            // The guard evicts what it may have changed.
            guard.change();
        }
        drop(guard);
        self.features.iter().for_each(|feature| feature.content_moved(id));
        let nothing = yfs_engine::gate::UpdateBuilder::new().finish();
        self.change_document(id, None, ChangeEffect::Replica, |_| Ok(vec![nothing.clone()]))?;
        Ok(())
    }

    /// Converts a content to the form that its file's name requires, and merges later edits of the
    /// previous form.
    ///
    /// Only the process that keeps the log may call it: if two processes merge the same edits, the
    /// file has them twice.
    pub(crate) fn settle_content(&self, id: &FileId) -> Result<()> {
        let is_blob =
            || self.main.read().files().get(id).is_none_or(|entry| entry.row.blob.is_some());
        if self.options.read_only || is_blob() {
            return Ok(());
        }
        let is_settled = |doc: &ContentDoc| {
            !doc.conversion().needs_conversion() && !doc.conversion().needs_repair()
        };
        if self.documents.acquire(id).with(|loaded| is_settled(&loaded.doc))? {
            return Ok(());
        }
        let repair = |doc: &mut ContentDoc| Ok(doc.repair()?.into_iter().collect());
        let by = Some(&self.options.actor);
        self.change_document(id, by, ChangeEffect::Edit, repair)?;
        Ok(())
    }
}

/// Returns the version of a text file whose last record was `head`.
///
/// If compaction replaced that record, the version is computed from the snapshot and the
/// changes of the records after it. Returns `None` if the log no longer reaches back that far,
/// or if `head` is a record of another log.
pub(crate) fn version_at(
    core: &WorkspaceCore,
    id: &FileId,
    head: DocHead,
) -> Result<Option<Version>> {
    let mut doc = ContentDoc::new(id, core.options.ids.client_id(), core.options.limits);
    if head == DocHead::ZERO {
        return Ok(Some(doc.version()));
    }
    let DocHistory { loaded, past_heads } = core.store.load_history(&DocName::from(id))?;
    // An unreadable record may have been part of the version.
    if !loaded.damaged.is_empty() {
        return Ok(None);
    }
    let is_covered = head.seq <= loaded.snapshot_upto;
    let is_known = match is_covered {
        true => head == loaded.head || past_heads.iter().any(|past| past.head == head),
        false => loaded.updates.iter().any(|record| record.head() == head),
    };
    if !is_known {
        return Ok(None);
    }
    let upto = head.seq.max(loaded.snapshot_upto);
    let updates = loaded.updates.iter().filter(|record| record.seq <= upto);
    for update in loaded.snapshot.iter().chain(updates.map(|record| &record.data)) {
        // Records that the gate rejects were missing from the version that the writer read as
        // well.
        doc.receive(update, UpdateSource::Store).ok();
    }
    doc.gate().health()?;
    let later = past_heads.iter().filter(|past| is_covered && past.head.seq > head.seq);
    Ok(doc.version().before(later.map(|past| &past.change[..])).ok())
}
