//! Contents of text files: reading, and the edits that merge.
//!
//! An edit changes the document in memory, is logged while the document's lock is held, and only then
//! shown to anybody. If the log does not take it, the document is dropped and read again.

use std::sync::Arc;

use parking_lot::MutexGuard;
use yfs_engine::{actor::Actor, content::ContentDoc, gate::Source, id::FileId};
use yfs_store::{Appended, Batch, DocFact, DocName, Seq};

use crate::{
    cache::Text,
    error::{Result, WorkspaceError},
    pool::{DocHandle, Loaded},
    shared::Shared,
};

/// What an edit of a text made.
#[derive(Debug)]
pub(crate) struct Edited<T> {
    /// The text afterwards.
    pub(crate) text: Text,
    /// What the edit had to say.
    pub(crate) value: T,
}

/// An edit as it comes out of the engine.
pub(crate) struct RawEdit<T> {
    pub(crate) update: Option<Vec<u8>>,
    pub(crate) value: T,
}

impl Shared {
    /// Returns what a text file says.
    pub(crate) fn text(&self, id: &FileId) -> Result<Text> {
        if let Some(text) = self.texts.get(id) {
            return Ok(text);
        }
        let handle = self.pool.acquire(id);
        handle.with(|loaded| self.cache_text(id, loaded))
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
    fn cache_text(&self, id: &FileId, loaded: &mut Loaded) -> Text {
        let text = Text { content: loaded.doc.text().into(), head: loaded.head };
        self.texts.put(id, &text);
        self.live.set_size(id, text.content.len() as u64);
        text
    }

    /// Edits a text file on behalf of somebody.
    ///
    /// `edit` runs on the document as it is. With `expected`, the log takes the edit only if that is
    /// still the document's head; nothing (`None`) is answered where it is not, or where the file was
    /// moved over another meanwhile.
    pub(crate) fn edit_text<T, E: From<WorkspaceError>>(
        &self,
        id: &FileId,
        by: &Actor,
        expected: Option<Seq>,
        edit: impl FnOnce(&mut ContentDoc) -> Result<RawEdit<T>, E>,
    ) -> Result<Option<Edited<T>>, E> {
        self.check_writable()?;
        if expected.is_some() {
            self.catch_up()?;
        }
        let handle = self.pool.acquire(id);
        let logged = self.store.doc_head(&DocName::from(id)).map_err(WorkspaceError::from)?;
        let Some(mut slot) = self.lock_to_edit(&handle)? else { return Ok(None) };
        // What another process has logged is in what the writer gets back.
        if slot.as_ref().is_some_and(|loaded| loaded.head < logged) {
            drop(slot);
            self.catch_up()?;
            let Some(again) = self.lock_to_edit(&handle)? else { return Ok(None) };
            slot = again;
        }
        let loaded = slot.as_mut().expect("`locked` loads");
        if expected.is_some_and(|expected| expected != loaded.head) {
            return Ok(None);
        }
        let was_converted = loaded.doc.was_converted();
        let raw = match edit(&mut loaded.doc) {
            Ok(raw) => raw,
            Err(error) => {
                // A conversion that came before what was refused is not in the log.
                if loaded.doc.was_converted() {
                    *slot = None;
                }
                return Err(error);
            }
        };
        let Some(update) = raw.update else {
            let text = self.texts.get(id).unwrap_or_else(|| self.cache_text(id, loaded));
            return Ok(Some(Edited { text, value: raw.value }));
        };
        if loaded.doc.was_converted()
            && !was_converted
            && let Err(error) = self.note_converted([id])
        {
            *slot = None;
            return Err(error.into());
        }
        let content: Arc<str> = loaded.doc.text().into();
        match self.log_edit(&handle, loaded, &update, content.len() as u64, expected) {
            Ok(Some(appended)) => {
                let overtaken = handle.logged(&mut slot, appended.last, &appended);
                let text = match slot.as_mut().filter(|_| overtaken) {
                    Some(loaded) => self.cache_text(id, loaded),
                    None => Text { content, head: appended.last },
                };
                if !overtaken {
                    self.texts.put(id, &text);
                }
                drop(slot);
                self.touch(id, self.now());
                self.events.push_content(self, id, self.now(), Some(by));
                Ok(Some(Edited { text, value: raw.value }))
            }
            // The document is ahead of the log: drop it, the log decides.
            Ok(None) => {
                *slot = None;
                Ok(None)
            }
            Err(error) => {
                *slot = None;
                Err(error.into())
            }
        }
    }

    /// Puts a content where its file's name says, once, and merges what came to where it no longer is.
    ///
    /// It is for who keeps the log: what two processes merge is there twice.
    pub(crate) fn settle_content(&self, id: &FileId) -> Result<()> {
        let is_blob = || self.main.read().files().get(id).is_none_or(|it| it.row.blob.is_some());
        if self.options.read_only || is_blob() {
            return Ok(());
        }
        let is_settled = |doc: &ContentDoc| !doc.needs_conversion() && !doc.needs_repair();
        if self.pool.acquire(id).with(|loaded| is_settled(&loaded.doc))? {
            return Ok(());
        }
        self.edit_text(id, &self.options.actor, None, |doc| -> Result<_> {
            Ok(RawEdit { update: doc.repair()?, value: () })
        })?;
        Ok(())
    }

    /// Locks a document that was found by its path, unless its file was moved over another since.
    fn lock_to_edit<'a>(
        &self,
        handle: &'a DocHandle,
    ) -> Result<Option<MutexGuard<'a, Option<Loaded>>>> {
        loop {
            let mut slot = handle.locked()?;
            let loaded = slot.as_mut().expect("`locked` loads");
            let Some(moved) = loaded.moved_over else { return Ok(Some(slot)) };
            drop(slot);
            if self.is_trashed(handle.id()) {
                return Ok(None);
            }
            // It came back from the trash, and may have been moved again.
            handle.with(|loaded| {
                loaded.moved_over = loaded.moved_over.filter(|later| *later != moved);
            })?;
        }
    }

    fn log_edit(
        &self,
        handle: &DocHandle,
        loaded: &Loaded,
        update: &[u8],
        size: u64,
        expected: Option<Seq>,
    ) -> Result<Option<Appended>> {
        let name = DocName::from(handle.id());
        let now = self.now();
        let mut batch = Batch::one(name.clone(), update.to_vec(), now);
        batch.facts.push((name.clone(), DocFact { upto: loaded.head, size, hash: None }));
        batch = match expected {
            Some(_) => batch.expecting(name, loaded.seen),
            None => batch.watching(name, loaded.seen),
        };
        let Some(appended) = self.try_append(batch)? else { return Ok(None) };
        handle.charge(update);
        handle.publish(update);
        self.live.edited(handle.id(), size, now);
        Ok(Some(appended))
    }

    /// Rebuilds a text file as it was when `head` was its last record.
    ///
    /// Answers nothing if the log no longer reaches back that far.
    pub(crate) fn doc_at(&self, id: &FileId, head: Seq) -> Result<Option<ContentDoc>> {
        let client = self.options.ids.client_id();
        let mut doc = ContentDoc::new(id, client, self.options.limits);
        if let Some(kind) = self.main.read_recursive().content_kind(id) {
            doc.set_kind(kind);
        }
        if head == Seq::ZERO {
            return Ok(Some(doc));
        }
        let state = self.store.load(&DocName::from(id))?;
        let is_here = |seq: Seq| state.updates.iter().any(|record| record.seq == seq);
        let is_snapshot = state.head == head && state.updates.is_empty();
        if !is_here(head) && !is_snapshot {
            return Ok(None);
        }
        let updates = state.updates.iter().filter(|record| record.seq <= head);
        for update in state.snapshot.iter().chain(updates.map(|record| &record.data)) {
            // What is refused was left out of what the writer read as well.
            doc.receive(update, Source::Store).ok();
        }
        Ok(Some(doc))
    }
}
