//! The errors of calls on a workspace as a whole. Calls on paths return [`FsError`] instead.

use std::path::PathBuf;

use thiserror::Error;
use yfs_engine::{
    content::{AnchorError, ContentError},
    gate::GateRejection,
    id::FileId,
    table::TableError,
};
use yfs_store::StoreError;
use yfs_vfs::FsError;

use crate::{import::YjsImportError, workspace::undo::UndoRefusal};

/// The result of a call on a workspace.
pub type Result<T, E = WorkspaceError> = std::result::Result<T, E>;

/// The reason why a call on a workspace failed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum WorkspaceError {
    /// The store contains no workspace.
    #[error("the store contains no workspace")]
    NotFound,
    /// The store contains a workspace already.
    #[error("the store already contains a workspace")]
    Exists,
    /// The workspace was closed.
    #[error("the workspace is closed")]
    Closed,
    /// The workspace was opened for reading only.
    #[error("the workspace is open for reading only")]
    ReadOnly,
    /// The text is not the guid of a document.
    #[error("no document has the guid {0:?}")]
    NoDocument(String),
    /// No file or directory has this id.
    #[error("no file {0}")]
    NoFile(FileId),
    /// The content of a file is not the one that the caller expected; nothing changed.
    #[error("the content of file {0} has changed since it was read")]
    ContentMoved(FileId),
    /// Some of a file's records cannot be read, so its content is not completely known.
    #[error("cannot read all of file {0}: some of its records are damaged")]
    Damaged(FileId),
    /// All that was left of a file's content was damaged and set aside, and has not come back.
    #[error(
        "the content of file {0} was damaged and set aside; it is in none of the records that are \
         left"
    )]
    ContentLost(FileId),
    /// Records of the log are damaged, so files and edits may be missing.
    #[error("the workspace is damaged: {first}{}", and_more(*n_problems))]
    DamagedLog {
        /// The number of problems that no person accepted.
        n_problems: usize,
        /// The first of them.
        first: String,
    },
    /// A peer's update was rejected; nothing changed.
    #[error("the update was rejected")]
    Refused(#[from] GateRejection),
    /// The files table rejected the write.
    #[error("the files table rejected the write")]
    Table(#[from] TableError),
    /// A checkpoint cannot be written.
    #[error("cannot write the checkpoint")]
    CheckpointFiles(#[from] yfs_store::checkpoint::CheckpointError),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The content rejected the edit; nothing changed.
    #[error(transparent)]
    Content(#[from] ContentError),
    /// Some of the version was erased for good, so it cannot be read.
    #[error("version {number} of {path} cannot be read: some of it was redacted")]
    Redacted {
        /// The path of the file.
        path: String,
        /// The number of the version.
        number: u64,
    },
    /// A change cannot be undone; nothing changed.
    #[error("cannot undo the change of {path}: {reason}")]
    NotUndoable {
        /// The path of the file.
        path: String,
        /// The reason.
        reason: UndoRefusal,
    },
    /// A file is not a Yjs document that can be imported; nothing changed.
    #[error("cannot import {path}")]
    YjsImport {
        /// The file or directory.
        path: PathBuf,
        /// The reason.
        source: YjsImportError,
    },
    /// The text is not an anchor, or the anchor is of another text.
    #[error(transparent)]
    Anchor(#[from] AnchorError),
    /// A call on a path failed.
    #[error(transparent)]
    Fs(#[from] FsError),
    /// The host's filesystem failed.
    #[error("cannot {action} {path}")]
    Host {
        /// The action that was attempted.
        action: &'static str,
        /// The host's path.
        path: PathBuf,
        /// The error of the system.
        source: std::io::Error,
    },
}

/// Returns a note about the problems that are not the first.
fn and_more(n_problems: usize) -> String {
    match n_problems.saturating_sub(1) {
        0 => String::new(),
        n_more => format!(" (and {n_more} more)"),
    }
}

impl WorkspaceError {
    /// Returns the error of a workspace that caused an error of its filesystem.
    pub fn cause_of(error: &FsError) -> Option<&Self> {
        let cause = error.source.as_deref()?.downcast_ref::<Self>()?;
        match cause {
            Self::Fs(inner) => Self::cause_of(inner),
            other => Some(other),
        }
    }

    /// Reports whether what is stored of the file is damaged, or was damaged and set aside.
    pub fn is_damage(&self) -> bool {
        match self {
            Self::Fs(error) => Self::cause_of(error).is_some_and(Self::is_damage),
            Self::Damaged(_) | Self::ContentLost(_) => true,
            Self::Store(error) => {
                matches!(error, StoreError::Corrupt { .. } | StoreError::CorruptBlob { .. })
            }
            _ => false,
        }
    }

    /// Reports whether the file's blob has not arrived in this store yet; its hash is known.
    pub fn is_absent_blob(&self) -> bool {
        matches!(self, Self::Store(StoreError::NoBlob { .. }))
    }
}
