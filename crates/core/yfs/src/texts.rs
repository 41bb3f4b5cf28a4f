//! The texts of files: reading them, their lengths, and what this process keeps of both.

use std::sync::Arc;

use yfs_engine::{id::FileId, time::Millis};
use yfs_store::DocName;

use crate::{
    cache::{CachedText, TextCache},
    commit::ChangeEffect,
    core::WorkspaceCore,
    documents::LoadedDocument,
    error::Result,
    feature::{ContentCommit, WorkspaceFeature},
    live_facts::LiveFacts,
    search::SearchIndexHome,
};

/// The texts of files, and what is known of them without reading.
#[derive(Debug)]
pub(crate) struct ContentTexts {
    pub(crate) cache: TextCache,
    pub(crate) live: LiveFacts,
    /// The index that has texts which take long to build, if there is one.
    index: Option<Arc<SearchIndexHome>>,
}

impl ContentTexts {
    pub(crate) fn new(budget: u64, index: Option<Arc<SearchIndexHome>>) -> Self {
        Self { cache: TextCache::new(budget), live: LiveFacts::default(), index }
    }

    /// Returns the text of a file.
    ///
    /// # Errors
    ///
    /// Fails with [`Damaged`](crate::WorkspaceError::Damaged) if some of its records cannot be
    /// read: what is left must not be taken for the file.
    pub(crate) fn read(&self, core: &WorkspaceCore, id: &FileId) -> Result<CachedText> {
        self.read_text(core, id, false)
    }

    /// Returns the text of a file, as [`read`](Self::read) does, and keeps it in the cache.
    pub(crate) fn read_to_keep(&self, core: &WorkspaceCore, id: &FileId) -> Result<CachedText> {
        self.read_text(core, id, true)
    }

    /// Returns the text of a file, as [`read`](Self::read) does, for a caller that does not come
    /// back to it: what was not in memory does not stay there.
    pub(crate) fn read_once(&self, core: &WorkspaceCore, id: &FileId) -> Result<CachedText> {
        if let Some(text) = self.cache.get(id) {
            return Ok(text);
        }
        if let Some(text) = self.single_text(core, id, false)? {
            return Ok(text);
        }
        core.documents.read_once(id, |loaded| text_of(id, loaded))?
    }

    fn read_text(&self, core: &WorkspaceCore, id: &FileId, keep: bool) -> Result<CachedText> {
        if let Some(text) = self.cache.get(id) {
            return Ok(text);
        }
        if let Some(text) = self.single_text(core, id, keep)? {
            return Ok(text);
        }
        let index = self.index.as_ref();
        if let Some(text) = index.map(|home| home.stored_text(core, id)).transpose()?.flatten() {
            self.keep_text(core, id, &text, keep)?;
            return Ok(text);
        }
        let handle = core.documents.acquire(id);
        handle.with(|loaded| self.cache_text(id, loaded))?
    }

    /// Reads the text of a file that was written once, without building its document; `None` if it
    /// takes the document. A text that was asked for lately is cached, one to `keep` at once.
    fn single_text(
        &self,
        core: &WorkspaceCore,
        id: &FileId,
        keep: bool,
    ) -> Result<Option<CachedText>> {
        if core.documents.has_slot(id) {
            return Ok(None);
        }
        let name = DocName::from(id);
        let stats = core.store.doc_stats(&name)?;
        if stats.is_none_or(|stats| stats.n_records != 1 || stats.snapshot_bytes > 0) {
            return Ok(None);
        }
        let loaded = core.store.load(&name)?;
        let ([record], None, []) = (&*loaded.updates, &loaded.snapshot, &*loaded.damaged) else {
            return Ok(None);
        };
        let Some(content) = yfs_engine::content::single_text(&record.data) else { return Ok(None) };
        let text = CachedText { content: content.into(), head: loaded.head };
        self.keep_text(core, id, &text, keep)?;
        Ok(Some(text))
    }

    /// Caches a text that was read without its document, if it was asked for lately, or is to be
    /// kept.
    fn keep_text(
        &self,
        core: &WorkspaceCore,
        id: &FileId,
        text: &CachedText,
        keep: bool,
    ) -> Result<()> {
        if self.cache.is_asked_again(id) || keep {
            self.cache.put(id, text);
            // An edit that this process applied meanwhile dropped the entry before it was there.
            if core.store.tailed_doc_head(&DocName::from(id))? != text.head {
                self.cache.forget(id);
            }
        }
        Ok(())
    }

    /// Returns the length of a text file in bytes.
    pub(crate) fn size(&self, core: &WorkspaceCore, id: &FileId) -> Result<u64> {
        if let Some(size) = self.live.size(id) {
            return Ok(size);
        }
        let facts = core.store.doc_facts(&[DocName::from(id)])?;
        if let Some(Some(fact)) = facts.first() {
            self.live.set_size(id, fact.size);
            return Ok(fact.size);
        }
        Ok(self.read(core, id)?.content.len() as u64)
    }

    /// Reads the text of a document into the cache. The document's lock is held.
    fn cache_text(&self, id: &FileId, loaded: &mut LoadedDocument) -> Result<CachedText> {
        let text = text_of(id, loaded)?;
        self.cache.put(id, &text);
        self.live.set_size(id, text.content.len() as u64);
        Ok(text)
    }
}

impl WorkspaceFeature for ContentTexts {
    fn content_moved(&self, id: &FileId) {
        self.cache.forget(id);
    }

    fn content_committed(&self, _core: &WorkspaceCore, commit: &ContentCommit<'_>) {
        let ContentCommit { id, effect, document, now, .. } = *commit;
        match &document.text {
            Some(content) => {
                let text = CachedText { content: content.clone(), head: document.head };
                self.cache.put(id, &text);
            }
            None if document.is_changed => self.cache.forget(id),
            None => {}
        }
        let size = document.text.as_ref().map(|text| text.len() as u64);
        match (effect, size) {
            (ChangeEffect::EditWithRow, size) => match size.filter(|_| !document.is_overtaken) {
                Some(size) => self.live.set_size(id, size),
                None => self.live.forget(id),
            },
            _ if !document.is_changed => {}
            (ChangeEffect::Edit, Some(size)) => self.live.record_edit(id, size, now),
            (ChangeEffect::Edit | ChangeEffect::Peer, _) => self.live.record_change(id, now),
            (ChangeEffect::Replica, _) => self.live.forget(id),
            (ChangeEffect::Annotation, _) => {}
        }
    }

    fn contents_tailed(&self, ids: &[FileId], now: Millis) {
        for id in ids {
            self.cache.forget(id);
            self.live.record_change(id, now);
        }
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
