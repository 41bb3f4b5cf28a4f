//! The permissions of a store's files: only their owner can read them, whatever the umask.
//!
//! SQLite gives the files that it makes beside a database the mode of the database, so it is enough
//! to set the database's mode before SQLite opens it.

use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
};

use super::{
    location::{beside, directory_of},
    own_directory::{SUFFIXES, is_store_directory},
};
use crate::{HandleOrigin, StoreError};

const ACTION: &str = "restrict the permissions of the store";

/// Makes an empty file that only its owner may read, unless there is a file already.
///
/// The file is created under another name. Closing a file drops all locks that this process has on
/// that name, so the store's own name must not be used.
pub(super) fn make_private_file(path: &Path) -> io::Result<()> {
    let (temporary, file) = temporary_file(path)?;
    drop(file);
    let linked = match fs::hard_link(&temporary, path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        // Some filesystems have no hard links; there two processes may both believe that they made
        // it.
        Err(_) if !path.exists() => fs::rename(&temporary, path),
        result => result,
    };
    fs::remove_file(&temporary).ok();
    linked
}

/// Makes a new file beside another, readable only by its owner.
pub(super) fn temporary_file(path: &Path) -> io::Result<(PathBuf, File)> {
    let temporary = beside(path, &format!(".partial-{:x}", HandleOrigin::random().0));
    let mut options = File::options();
    options.read(true).write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options.open(&temporary)?;
    Ok((temporary, file))
}

/// Opens a file beside a store, but not through a link.
pub(super) fn open_no_link(path: &Path, options: &mut fs::OpenOptions) -> io::Result<File> {
    #[cfg(unix)]
    {
        let flags = rustix::fs::OFlags::NOFOLLOW.bits().cast_signed();
        std::os::unix::fs::OpenOptionsExt::custom_flags(options, flags);
    }
    options.open(path)
}

/// Opens a file beside a store that is written by position: only if it has no other name.
pub(super) fn open_only_name(path: &Path, options: &mut fs::OpenOptions) -> io::Result<File> {
    let file = open_no_link(path, options)?;
    #[cfg(unix)]
    {
        let metadata = file.metadata()?;
        if !metadata.is_file() || std::os::unix::fs::MetadataExt::nlink(&metadata) != 1 {
            return Err(io::Error::other("the file has another name"));
        }
    }
    Ok(file)
}

/// Removes the permissions of other users from the files of a store, and returns the files that had
/// any.
///
/// # Errors
///
/// Fails if they belong to another user, because only that user can change them.
#[cfg(unix)]
pub(super) fn restrict_modes(path: &Path) -> Result<Vec<PathBuf>, StoreError> {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    let directory = directory_of(path);
    let own = is_store_directory(directory).then(|| directory.to_owned());
    let files = SUFFIXES.map(|suffix| beside(path, suffix));
    let mut restricted_paths = Vec::new();
    for path in own.into_iter().chain(files) {
        // Other users cannot put a link there: the directory is the first to be restricted.
        let Ok(metadata) = fs::symlink_metadata(&path) else { continue };
        let mode = metadata.mode() & 0o7777;
        if mode & 0o077 == 0 || metadata.is_symlink() {
            continue;
        }
        let private = fs::Permissions::from_mode(mode & !0o077);
        match fs::set_permissions(&path, private) {
            Ok(()) => restricted_paths.push(path),
            // SQLite may have removed the file meanwhile.
            Err(error) if error.kind() == io::ErrorKind::NotFound => (),
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                return Err(StoreError::NotPrivate { path, mode });
            }
            Err(error) => return Err(StoreError::io(ACTION, error)),
        }
    }
    Ok(restricted_paths)
}

#[cfg(not(unix))]
pub(super) fn restrict_modes(_: &Path) -> Result<Vec<PathBuf>, StoreError> {
    Ok(Vec::new())
}
