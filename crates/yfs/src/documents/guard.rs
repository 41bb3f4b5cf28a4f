//! Exclusive access to one document of the pool.
//!
//! A change is made in memory, appended to the log, and only then shown to readers. The guard that
//! made the change holds the document's lock in between. If the change does not reach the log, the
//! guard evicts the document when it is dropped, so that the next reader loads what the log holds.

use parking_lot::MutexGuard;
use yfs_engine::content::ContentDoc;
use yfs_store::{AppendReceipt, DocHead};

use super::{DocHandle, LoadedDocument};

/// Exclusive access to a document, which is evicted on drop if it holds a change that was not
/// logged.
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

    /// Returns the document to change it. Until [`keep`](Self::keep) or
    /// [`confirm`](Self::confirm) is called, dropping the guard evicts the document.
    ///
    /// # Panics
    ///
    /// If the document is not loaded.
    pub(crate) fn change(&mut self) -> &mut ContentDoc {
        self.is_ahead_of_log = true;
        &mut self.slot.as_mut().expect("the caller locked a loaded document").doc
    }

    /// States that the document holds nothing that is not in the log.
    pub(crate) fn keep(&mut self) {
        self.is_ahead_of_log = false;
    }

    /// States that the change was logged as the record `head`. Returns whether other processes had
    /// appended to the document in between; their records are then applied as well, so that the
    /// document is what the log holds up to its head.
    pub(crate) fn confirm(&mut self, head: DocHead, appended: &AppendReceipt) -> bool {
        self.is_ahead_of_log = false;
        let Some(loaded) = self.slot.as_mut() else { return appended.overtaken };
        loaded.head = loaded.head.max(head);
        if !appended.overtaken {
            return false;
        }
        // The change is in the log. A document that cannot be brought up to date is loaded again.
        if self.handle.apply_log(loaded).is_err() {
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
