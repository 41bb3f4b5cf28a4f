//! What can go wrong with a workspace as a whole. Calls on paths answer with
//! [`FsError`] instead.

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

use crate::import::YjsImportError;

/// The result of a call on a workspace.
pub type Result<T, E = WorkspaceError> = std::result::Result<T, E>;

/// Why a call on a workspace failed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum WorkspaceError {
    /// There is no workspace.
    #[error("the store holds no workspace")]
    NotFound,
    /// There is a workspace already.
    #[error("the store holds a workspace already")]
    Exists,
    /// The workspace was closed.
    #[error("the workspace is closed")]
    Closed,
    /// The workspace was opened for reading only.
    #[error("the workspace is open for reading only")]
    ReadOnly,
    /// The text is not the guid of any document.
    #[error("no document {0:?}")]
    NoDocument(String),
    /// There is no file or folder with this id.
    #[error("no file {0}")]
    NoFile(FileId),
    /// The content of a file is not what the caller expected; nothing changed.
    #[error("the content of {0} has changed")]
    ContentMoved(FileId),
    /// Some of a file's records cannot be read, so its content is not known as a whole.
    #[error("part of the content of {0} cannot be read")]
    Damaged(FileId),
    /// A peer's update was refused; nothing changed.
    #[error("update refused")]
    Refused(#[from] GateRejection),
    /// The files table takes no such write.
    #[error("the files table refused")]
    Table(#[from] TableError),
    /// The store failed.
    #[error("the store failed")]
    Store(#[from] StoreError),
    /// A content takes no such edit; nothing changed.
    #[error("the content refused")]
    Content(#[from] ContentError),
    /// Some of a version was erased for good, so it cannot be read.
    #[error("version {number} of {path} was redacted: some of it was erased for good")]
    Redacted {
        /// Of which file.
        path: String,
        /// Which version.
        number: u64,
    },
    /// A file is no Yjs document that can be imported; nothing changed.
    #[error("cannot import {path}")]
    YjsImport {
        /// Which file or directory.
        path: PathBuf,
        /// Why.
        source: YjsImportError,
    },
    /// An anchor is none, or of another text.
    #[error(transparent)]
    Anchor(#[from] AnchorError),
    /// A call on a path failed.
    #[error(transparent)]
    Fs(#[from] FsError),
    /// The host's filesystem failed.
    #[error("cannot {action} {path}")]
    Host {
        /// What was attempted.
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// Why it failed.
        source: std::io::Error,
    },
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

    /// Reports whether the bytes of a file are known by their hash, and have not arrived in this
    /// store.
    pub fn is_absent_blob(&self) -> bool {
        matches!(self, Self::Store(StoreError::NoBlob { .. }))
    }
}
