//! Texts of files whose documents take long to build, kept in the index.
//!
//! A text is kept with a digest of all that it depends on: the form of the file, and the snapshot
//! and the records of its document. A reader loads these from the log, which verifies them, and
//! uses the text if their digest is the same. So it does not matter how old the index is, or of
//! which history, and a document with a damaged record is not read.

use std::{
    str,
    sync::{Arc, atomic::Ordering},
};

use yfs_engine::{content::single_text, hash::ContentHash, id::FileId};
use yfs_store::{DocName, StoredDocument};

use super::{
    SearchIndexHome,
    index_map::{RENDERER, SearchMap, id_key},
};
use crate::{cache::CachedText, core::WorkspaceCore, error::Result};

/// The number of documents that a process builds before it opens the index for its texts.
const FIRST_BUILDS: u64 = if cfg!(test) { 0 } else { 8 };

/// The length of a digest in bytes.
const DIGEST_LEN: usize = 32;

/// Returns the key of the text of a file.
pub(super) fn text_key(id: &FileId) -> Vec<u8> {
    id_key(b'T', id)
}

impl SearchIndexHome {
    /// Returns the index for reading its texts: the one that was there at the first call, or since
    /// this process made another.
    fn open_texts(&self) -> Option<Arc<SearchMap>> {
        if (..FIRST_BUILDS).contains(&self.n_builds.fetch_add(1, Ordering::Relaxed)) {
            return None;
        }
        let mut texts = self.texts.lock();
        texts.get_or_insert_with(|| SearchMap::open(&self.directory).ok()?.map(Arc::new)).clone()
    }

    /// Forgets the index that is open for its texts.
    pub(super) fn close_texts(&self) {
        *self.texts.lock() = None;
    }

    /// Returns the text of a file that the index has, if it is that of its document as the log has
    /// it now.
    pub(crate) fn stored_text(
        &self,
        core: &WorkspaceCore,
        id: &FileId,
    ) -> Result<Option<CachedText>> {
        if core.documents.has_slot(id) {
            return Ok(None);
        }
        let Some(index) = self.open_texts() else { return Ok(None) };
        let stored = match index.map.get(&text_key(id)) {
            Ok(stored) => stored,
            Err(error) => {
                self.note_failure(&error);
                self.close_texts();
                None
            }
        };
        let Some(stored) = stored else { return Ok(None) };
        let loaded = core.store.load(&DocName::from(id))?;
        let Some((digest, text)) = stored.split_at_checked(DIGEST_LEN) else { return Ok(None) };
        if digest_of(core, id, &loaded).is_none_or(|now| now.as_bytes() != digest) {
            return Ok(None);
        }
        let Ok(content) = str::from_utf8(text) else { return Ok(None) };
        Ok(Some(CachedText { content: content.into(), head: loaded.head }))
    }

    /// Returns the value to keep for the text of a file; `None` if its document need not be built
    /// for it, or was changed meanwhile.
    pub(super) fn text_to_store(
        &self,
        core: &WorkspaceCore,
        id: &FileId,
        text: &CachedText,
    ) -> Result<Option<Vec<u8>>> {
        let loaded = core.store.load(&DocName::from(id))?;
        let is_single = match (&*loaded.updates, &loaded.snapshot) {
            ([record], None) => single_text(&record.data).is_some(),
            _ => false,
        };
        if is_single || loaded.head != text.head {
            return Ok(None);
        }
        let digest = digest_of(core, id, &loaded);
        Ok(digest.map(|digest| [digest.as_bytes(), text.content.as_bytes()].concat()))
    }
}

/// Returns the digest of what the text of a file depends on; `None` if some of it is missing.
fn digest_of(core: &WorkspaceCore, id: &FileId, loaded: &StoredDocument) -> Option<ContentHash> {
    if !loaded.damaged.is_empty() {
        return None;
    }
    let kind = core.main.read().content_kind(id)?;
    let mut bytes = format!("{RENDERER} {kind:?} {:?}", core.options.limits).into_bytes();
    let updates = loaded.updates.iter().map(|record| &record.data);
    for update in loaded.snapshot.iter().chain(updates) {
        bytes.extend_from_slice(&update.len().to_le_bytes());
        bytes.extend_from_slice(update);
    }
    Some(ContentHash::of(&bytes))
}
