//! Changes of a filesystem, and cursors into the log of changes.

use smol_str::SmolStr;
use thiserror::Error;
use yfs_types::{actor::Actor, id::FileId, path::VPath, time::Millis};

use crate::stat::FileKind;

/// A position in a filesystem's log of changes, opaque to the caller.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ChangeCursor(SmolStr);

/// One change. A filesystem may report only the last of several changes to one object.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct FileChange {
    /// The kind of the change.
    pub kind: ChangeKind,
    /// The object's current path; for a removed object, its last path.
    pub path: VPath,
    /// The object.
    pub id: FileId,
    /// The kind of the object.
    pub file_kind: FileKind,
    /// The author of the change, if known.
    pub actor: Option<Actor>,
    /// The time when the filesystem noticed the change.
    pub at: Millis,
}

/// The kind of a change. A moved or removed directory is one change; its content is not listed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ChangeKind {
    /// The object was created.
    Created,
    /// Its content, mode, time or metadata changed.
    Changed,
    /// The object is the same at another path.
    Moved {
        /// The previous path.
        from: VPath,
    },
    /// The object was removed.
    Removed,
}

/// One page of changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangePage {
    /// The changes, oldest first.
    pub events: Vec<FileChange>,
    /// The cursor after the last of them; pass it to the next call.
    pub next: ChangeCursor,
    /// Whether more changes are available already.
    pub more: bool,
}

/// The cursor is older than the log, or belongs to another log. The caller must list the whole tree
/// again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("the cursor is no longer in the log of changes; list the tree again")]
pub(crate) struct CursorLost;

impl ChangeCursor {
    /// Makes a cursor from the text that a filesystem uses for a position.
    pub fn new(text: impl Into<SmolStr>) -> Self {
        Self(text.into())
    }

    /// Returns the cursor as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FileChange {
    /// Makes a change without an author.
    pub fn new(kind: ChangeKind, path: VPath, id: FileId, file_kind: FileKind, at: Millis) -> Self {
        Self { kind, path, id, file_kind, actor: None, at }
    }
}
