//! Errors as the numbers that the kernel takes.

use std::io;

use fuser::Errno;
use yfs::WorkspaceError;
use yfs_vfs::FsError;

/// The result of a call of the kernel.
pub(crate) type CallResult<T = ()> = Result<T, Errno>;

/// Converts the error of a filesystem.
pub(crate) fn errno(error: FsError) -> Errno {
    Errno::from_i32(error.code.errno())
}

/// Converts an error of the workspace.
pub(crate) fn workspace_errno(error: WorkspaceError) -> Errno {
    match error {
        WorkspaceError::Fs(error) => errno(error),
        WorkspaceError::NoFile(_) => Errno::ENOENT,
        WorkspaceError::ReadOnly => Errno::EROFS,
        _ => Errno::EIO,
    }
}

/// Converts an error of the host.
pub(crate) fn io_errno(error: io::Error) -> Errno {
    Errno::from_i32(error.raw_os_error().unwrap_or(libc::EIO))
}
