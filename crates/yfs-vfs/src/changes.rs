//! What changed since: a log of changes, and places in it.

use smol_str::SmolStr;
use thiserror::Error;
use yfs_types::{actor::Actor, id::FileId, path::VPath, time::Millis};

use crate::stat::FileKind;

/// A place in a filesystem's log of changes, opaque to whoever holds it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ChangeCursor(SmolStr);

/// One change. Of several changes to one object a filesystem may report the last alone.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct FileChange {
    /// What happened.
    pub kind: ChangeKind,
    /// Where the object is now; of a removed one, where it was.
    pub path: VPath,
    /// The object.
    pub id: FileId,
    /// What sort of object it is.
    pub file_kind: FileKind,
    /// Who did it, where that is known.
    pub actor: Option<Actor>,
    /// When it was noticed.
    pub at: Millis,
}

/// What happened to an object. What lies below a directory that moved or went is not listed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ChangeKind {
    /// It appeared.
    Created,
    /// Its content, mode, time or metadata changed.
    Changed,
    /// It is the same object at another path.
    Moved {
        /// Where it was.
        from: VPath,
    },
    /// It went.
    Removed,
}

/// An answer to the question what changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangePage {
    /// The changes, oldest first.
    pub events: Vec<FileChange>,
    /// The place after the last of them: what to ask with next.
    pub next: ChangeCursor,
    /// Whether there is more already.
    pub more: bool,
}

/// The cursor is older than the log, or of another one. Whoever holds it must list everything again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("the cursor has no place in the log of changes any more")]
pub struct CursorLost;

impl ChangeCursor {
    /// Takes the text that a filesystem uses for a place.
    pub fn new(text: impl Into<SmolStr>) -> Self {
        Self(text.into())
    }

    /// Returns the cursor as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FileChange {
    /// Describes a change by nobody in particular.
    pub fn new(kind: ChangeKind, path: VPath, id: FileId, file_kind: FileKind, at: Millis) -> Self {
        Self { kind, path, id, file_kind, actor: None, at }
    }
}
