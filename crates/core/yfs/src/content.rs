//! Contents of text files: reading them, and editing them by path or by id.

use std::cell::RefCell;

use yfs_engine::{
    actor::Actor,
    content::{ContentDoc, Version},
    gate::UpdateSource,
    id::FileId,
    main_doc::MainDoc,
    table::{RowChanges, RowWrite},
};
use yfs_store::{DocHead, DocHistory, DocName};

use crate::{
    cache::CachedText,
    commit::{
        ChangeEffect, CommittedDocument, ContentPrecondition, DocumentChange, StructureAccess,
        Transaction,
    },
    documents::LoadedDocument,
    error::{Result, WorkspaceError},
    state::WorkspaceState,
};

/// A change of a document, as updates to log; empty if nothing changes.
pub(crate) type Updates = Vec<Vec<u8>>;

impl WorkspaceState {
    /// Returns the text of a file.
    ///
    /// # Errors
    ///
    /// Fails with [`WorkspaceError::Damaged`] if some of its records cannot be read: what is left
    /// must not be taken for the file.
    pub(crate) fn text(&self, id: &FileId) -> Result<CachedText> {
        self.read_text(id, false)
    }

    /// Returns the text of a file, as [`text`](Self::text) does, and keeps it in the cache.
    pub(crate) fn text_to_keep(&self, id: &FileId) -> Result<CachedText> {
        self.read_text(id, true)
    }

    /// Returns the text of a file, as [`text`](Self::text) does, for a caller that does not come
    /// back to it: what was not in memory does not stay there.
    pub(crate) fn text_once(&self, id: &FileId) -> Result<CachedText> {
        if let Some(text) = self.texts.get(id) {
            return Ok(text);
        }
        if let Some(text) = self.single_text(id, false)? {
            return Ok(text);
        }
        self.documents.read_once(id, |loaded| text_of(id, loaded))?
    }

    fn read_text(&self, id: &FileId, keep: bool) -> Result<CachedText> {
        if let Some(text) = self.texts.get(id) {
            return Ok(text);
        }
        if let Some(text) = self.single_text(id, keep)? {
            return Ok(text);
        }
        if let Some(text) = self.stored_text(id)? {
            self.keep_text(id, &text, keep)?;
            return Ok(text);
        }
        let handle = self.documents.acquire(id);
        handle.with(|loaded| self.cache_text(id, loaded))?
    }

    /// Reads the text of a file that was written once, without building its document; `None` if it
    /// takes the document. A text that was asked for lately is cached, one to `keep` at once.
    fn single_text(&self, id: &FileId, keep: bool) -> Result<Option<CachedText>> {
        if self.documents.has_slot(id) {
            return Ok(None);
        }
        let name = DocName::from(id);
        let stats = self.store.doc_stats(&name)?;
        if stats.is_none_or(|stats| stats.n_records != 1 || stats.snapshot_bytes > 0) {
            return Ok(None);
        }
        let loaded = self.store.load(&name)?;
        let ([record], None, []) = (&*loaded.updates, &loaded.snapshot, &*loaded.damaged) else {
            return Ok(None);
        };
        let Some(content) = yfs_engine::content::single_text(&record.data) else { return Ok(None) };
        let text = CachedText { content: content.into(), head: loaded.head };
        self.keep_text(id, &text, keep)?;
        Ok(Some(text))
    }

    /// Caches a text that was read without its document, if it was asked for lately, or is to be
    /// kept.
    fn keep_text(&self, id: &FileId, text: &CachedText, keep: bool) -> Result<()> {
        if self.texts.is_asked_again(id) || keep {
            self.texts.put(id, text);
            // An edit that this process applied meanwhile dropped the entry before it was there.
            if self.store.tailed_doc_head(&DocName::from(id))? != text.head {
                self.texts.forget(id);
            }
        }
        Ok(())
    }

    /// Returns the length of a text file in bytes.
    pub(crate) fn text_size(&self, id: &FileId) -> Result<u64> {
        if let Some(size) = self.live.size(id) {
            return Ok(size);
        }
        let facts = self.store.doc_facts(&[DocName::from(id)])?;
        if let Some(Some(fact)) = facts.first() {
            self.live.set_size(id, fact.size);
            return Ok(fact.size);
        }
        Ok(self.text(id)?.content.len() as u64)
    }

    /// Reads the text of a document into the cache. The document's lock is held.
    fn cache_text(&self, id: &FileId, loaded: &mut LoadedDocument) -> Result<CachedText> {
        let text = text_of(id, loaded)?;
        self.texts.put(id, &text);
        self.live.set_size(id, text.content.len() as u64);
        Ok(text)
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

    /// Returns the version of a text file whose last record was `head`.
    ///
    /// If compaction replaced that record, the version is computed from the snapshot and the
    /// changes of the records after it. Returns `None` if the log no longer reaches back that far,
    /// or if `head` is a record of another log.
    pub(crate) fn version_at(&self, id: &FileId, head: DocHead) -> Result<Option<Version>> {
        let mut doc = ContentDoc::new(id, self.options.ids.client_id(), self.options.limits);
        if head == DocHead::ZERO {
            return Ok(Some(doc.version()));
        }
        let DocHistory { loaded, past_heads } = self.store.load_history(&DocName::from(id))?;
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
}

/// Returns the text of a loaded document.
fn text_of(id: &FileId, loaded: &mut LoadedDocument) -> Result<CachedText> {
    loaded.check_readable(id)?;
    let text = CachedText { content: loaded.doc.text().into(), head: loaded.head };
    // A document in which the CRDT library panicked reads as empty.
    loaded.doc.gate().health()?;
    Ok(text)
}
