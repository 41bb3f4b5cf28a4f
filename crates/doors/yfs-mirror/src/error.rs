//! Errors of a mirror.

use std::{io, path::PathBuf};

use thiserror::Error;
use yfs::WorkspaceError;
use yfs_vfs::FsError;

/// The result of a call on a mirror.
pub type Result<T, E = MirrorError> = std::result::Result<T, E>;

/// The reason why a mirror cannot start or cannot continue.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum MirrorError {
    /// Another mirror synchronizes the directory.
    #[error("{0}: another process mirrors this directory; only one mirror may run at a time")]
    Busy(PathBuf),
    /// The directory was a mirror of another workspace.
    #[error("{directory}: the directory is a mirror of another workspace, {other}")]
    OtherWorkspace {
        /// The directory.
        directory: PathBuf,
        /// The id of the other workspace.
        other: String,
    },
    /// The directory disappeared while it was mirrored. The mirror deleted nothing because of that.
    #[error("{0}: the mirrored directory was removed or unmounted; the workspace keeps its files")]
    Gone(PathBuf),
    /// The state of the mirror disappeared while the directory stayed.
    #[error(
        "{0}: its subdirectory .yfs was removed, and with it the workspace, unless that is \
         elsewhere; `git clean -x` removes .yfs, `git clean -x -e .yfs` does not"
    )]
    StateGone(PathBuf),
    /// The workspace no longer has most of the directory's files. None of them was deleted.
    #[error(
        "the workspace no longer has {n_deleted} of the {n_files} files in the directory; none was \
         deleted there (`yfs mirror --once --confirm` deletes them)"
    )]
    MassDeletion {
        /// The number of files that the workspace no longer has.
        n_deleted: usize,
        /// The number of files that both sides had.
        n_files: usize,
    },
    /// The mirror was stopped.
    #[error("the mirror was stopped")]
    Stopped,
    /// The workspace failed. A damaged workspace is not mirrored, because what cannot be read would
    /// count as deleted.
    #[error("cannot read or write the workspace")]
    Workspace(#[from] WorkspaceError),
    /// The mirror's database cannot be read or written.
    #[error("cannot read or write the database of the mirror, .yfs/mirror.db")]
    Database(#[from] rusqlite::Error),
    /// The host's filesystem failed.
    #[error("cannot {action} {path}")]
    Host {
        /// The action that failed.
        action: &'static str,
        /// The path of the object.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
}

impl From<FsError> for MirrorError {
    fn from(error: FsError) -> Self {
        Self::Workspace(error.into())
    }
}

/// Reports whether an error means that an object does not exist, or has become another kind of
/// object.
pub(crate) fn is_absent(error: &io::Error) -> bool {
    use io::ErrorKind;
    let is_loop = error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error());
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) || is_loop
}
