//! Exclusive access to one document of the pool.
//!
//! A change is made in memory, appended to the log, and only then visible to readers. The guard
//! that made the change keeps the document locked in between. If the change does not reach the log,
//! the guard evicts the document on drop, so that the next reader loads the logged state.

use parking_lot::MutexGuard;
use yfs_engine::content::ContentDoc;
use yfs_store::{AppendReceipt, DocHead, Seq};

use super::{DocHandle, LoadedDocument};

/// Exclusive access to a document, which is evicted on drop if it has a change that was not logged.
pub(crate) struct DocumentGuard<'a> {
    handle: &'a DocHandle,
    slot: MutexGuard<'a, Option<LoadedDocument>>,
    is_ahead_of_log: bool,
}

impl<'a> DocumentGuard<'a> {
    pub(super) fn new(handle: &'a DocHandle, slot: MutexGuard<'a, Option<LoadedDocument>>) -> Self {
        Self { handle, slot, is_ahead_of_log: false }
    }

    /// Returns the handle that the guard was locked through.
    pub(crate) fn handle(&self) -> &'a DocHandle {
        self.handle
    }

    /// Reports whether the document is in memory.
    pub(crate) fn is_loaded(&self) -> bool {
        self.slot.is_some()
    }

    /// Returns the document, if it is in memory.
    pub(crate) fn loaded(&mut self) -> Option<&mut LoadedDocument> {
        self.slot.as_mut()
    }

    /// Returns the document to change it. Until [`keep`](Self::keep) or [`confirm`](Self::confirm)
    /// is called, dropping the guard evicts the document.
    ///
    /// # Panics
    ///
    /// Panics if the document is not loaded.
    pub(crate) fn change(&mut self) -> &mut ContentDoc {
        self.is_ahead_of_log = true;
        &mut self.slot.as_mut().expect("the caller locked a loaded document").doc
    }

    /// Removes the document from memory, so that the next reader loads it.
    pub(crate) fn evict(&mut self) {
        *self.slot = None;
    }

    /// States that the document has no changes that are not in the log.
    pub(crate) fn keep(&mut self) {
        self.is_ahead_of_log = false;
    }

    /// States that the change was logged as the record `head`. Reports whether other processes had
    /// appended to the document in between. If so, their records are applied as well, so that the
    /// document is the logged state at its head.
    ///
    /// All records up to `tailed` were applied to every document in memory.
    ///
    /// # Cost
    ///
    /// The records after `tailed`, if others appended.
    pub(crate) fn confirm(&mut self, head: DocHead, appended: &AppendReceipt, tailed: Seq) -> bool {
        self.is_ahead_of_log = false;
        let Some(loaded) = self.slot.as_mut() else { return appended.overtaken };
        loaded.head = loaded.head.max(head);
        if !appended.overtaken {
            return false;
        }
        // The change is in the log. If the other records cannot be applied, the document is loaded
        // again.
        if self.handle.apply_tail(loaded, tailed).is_err() {
            *self.slot = None;
        }
        true
    }
}

impl Drop for DocumentGuard<'_> {
    fn drop(&mut self) {
        if self.is_ahead_of_log {
            *self.slot = None;
        }
    }
}
