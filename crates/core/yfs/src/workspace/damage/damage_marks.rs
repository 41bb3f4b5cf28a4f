//! What the store notes of documents that were damaged.

use yfs_engine::id::FileId;
use yfs_store::Store;

use crate::error::{Result, WorkspaceError};

/// Reports whether records of a document were ever set aside. Their clocks are unknown, so the
/// document is written under new client ids.
pub(crate) fn was_set_aside(store: &dyn Store, id: &FileId) -> Result<bool> {
    Ok(store.first_seen(&aside_key(id)).map_err(WorkspaceError::from)?.is_some())
}

/// Reports whether the content of a file was lost, unless it came back.
pub(crate) fn is_content_lost(store: &dyn Store, id: &FileId) -> Result<bool> {
    Ok(store.first_seen(&lost_key(id)).map_err(WorkspaceError::from)?.is_some())
}

/// Returns the key of the note that the content of a file was lost.
pub(super) fn lost_key(id: &FileId) -> String {
    format!("content-lost:{id}")
}

/// Returns the key of the note that records of a document were set aside.
pub(super) fn aside_key(id: &FileId) -> String {
    format!("set-aside:{id}")
}
