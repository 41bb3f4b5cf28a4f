//! Why a mirror cannot begin, or cannot go on.

use std::{io, path::PathBuf};

use thiserror::Error;
use yfs::WorkspaceError;
use yfs_vfs::FsError;

/// The result of a call on a mirror.
pub type Result<T, E = MirrorError> = std::result::Result<T, E>;

/// Why a mirror cannot begin, or cannot go on.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum MirrorError {
    /// Another mirror keeps the folder in step already.
    #[error("another mirror keeps {0} in step already")]
    Busy(PathBuf),
    /// The folder was a mirror of another workspace.
    #[error("{folder} is a mirror of another workspace, {other}")]
    OtherWorkspace {
        /// The folder.
        folder: PathBuf,
        /// What it is a mirror of.
        other: String,
    },
    /// The folder went away while it was mirrored. Nothing was deleted because of that.
    #[error("the folder {0} went away")]
    Gone(PathBuf),
    /// The mirror was stopped.
    #[error("the mirror was stopped")]
    Stopped,
    /// The workspace failed.
    #[error("the workspace failed")]
    Workspace(#[from] WorkspaceError),
    /// What the mirror remembers cannot be read or written.
    #[error("the memory of the mirror failed")]
    Memory(#[from] rusqlite::Error),
    /// The host's filesystem failed.
    #[error("cannot {action} {path}")]
    Host {
        /// What was attempted.
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// Why it failed.
        source: io::Error,
    },
}

impl From<FsError> for MirrorError {
    fn from(error: FsError) -> Self {
        Self::Workspace(error.into())
    }
}
