//! The directory of a store belongs to the user who opens the store, and has no links in it.
//!
//! A directory that came from an archive or from another user may hold links by the names of a
//! store's files, so that opening the store would write into any file of the user, or change its
//! mode. A directory of another user has a configuration and a log by that user. So both are
//! refused before anything is read. The directory itself is readable by its owner only, so that
//! no other user puts a link into it afterwards.

use std::{
    ffi::OsStr,
    fs::{self, Metadata},
    io,
    path::{Path, PathBuf},
};

use super::location::{beside, directory_of};
use crate::StoreError;

/// A directory of this name contains only a store and its files.
const STORE_DIRECTORY: &str = ".yfs";

/// The directory with files of the user, which a mirror keeps: they are no files of the store.
const KEPT_FILES: &str = "superseded";

/// The deepest directory whose entries are checked: checkpoints have the most.
const MAX_DEPTH: u32 = 4;

/// The files that may lie beside the database.
pub(super) const SUFFIXES: [&str; 5] = ["", "-wal", "-shm", "-seal", "-reserve"];

/// The variable with the directories of other users that this user trusts, as `PATH` has them; `*`
/// for all.
#[cfg(unix)]
const SAFE_VARIABLE: &str = "YFS_SAFE_DIRECTORY";

const ACTION: &str = "check the directory of the store";

/// Checks that the directory of a store belongs to this user, and that nothing in it is a link. A
/// store that is not in a directory of its own is checked by its files. What does not exist is
/// sound.
///
/// The user may trust directories of others by the variable `YFS_SAFE_DIRECTORY`. Under `sudo`, the
/// directories of the user who called it are trusted.
///
/// # Errors
///
/// [`StoreError::LinkInStore`] or [`StoreError::OtherOwner`].
pub fn check_store_directory(file: &Path) -> Result<(), StoreError> {
    let directory = directory_of(file);
    if !is_store_directory(directory) {
        for path in SUFFIXES[1..].iter().map(|suffix| beside(file, suffix)) {
            refuse_link(&path)?;
        }
        let owned = found(fs::metadata(file))?;
        return owned.map_or(Ok(()), |metadata| check_owner(directory, &metadata));
    }
    if let Some(metadata) = refuse_link(directory)? {
        check_owner(directory, &metadata)?;
        refuse_links_in(directory, MAX_DEPTH)?;
    }
    Ok(())
}

/// Reports whether a directory is that of a store, by its name.
pub(super) fn is_store_directory(directory: &Path) -> bool {
    let is_named = |path: &Path| path.file_name() == Some(OsStr::new(STORE_DIRECTORY));
    is_named(directory) || directory.canonicalize().is_ok_and(|path| is_named(&path))
}

fn refuse_links_in(directory: &Path, depth: u32) -> Result<(), StoreError> {
    let entries = fs::read_dir(directory).map_err(|error| StoreError::io(ACTION, error))?;
    for entry in entries {
        let entry = entry.map_err(|error| StoreError::io(ACTION, error))?;
        // It may have been removed meanwhile.
        let Some(kind) = found(entry.file_type())? else { continue };
        if kind.is_symlink() {
            return Err(StoreError::LinkInStore { path: entry.path() });
        }
        if kind.is_dir() && depth > 0 && entry.file_name() != KEPT_FILES {
            refuse_links_in(&entry.path(), depth - 1)?;
        }
    }
    Ok(())
}

/// Returns the properties of a file that is no link; `None` if there is none.
fn refuse_link(path: &Path) -> Result<Option<Metadata>, StoreError> {
    let metadata = found(fs::symlink_metadata(path))?;
    if metadata.as_ref().is_some_and(Metadata::is_symlink) {
        return Err(StoreError::LinkInStore { path: path.to_owned() });
    }
    Ok(metadata)
}

fn found<T>(result: io::Result<T>) -> Result<Option<T>, StoreError> {
    use io::ErrorKind::{NotADirectory, NotFound, PermissionDenied};
    match result {
        Ok(value) => Ok(Some(value)),
        // What this user may not see is reported by what opens it.
        Err(error) if matches!(error.kind(), NotFound | NotADirectory | PermissionDenied) => {
            Ok(None)
        }
        Err(error) => Err(StoreError::io(ACTION, error)),
    }
}

#[cfg(unix)]
fn check_owner(directory: &Path, metadata: &Metadata) -> Result<(), StoreError> {
    let owner = std::os::unix::fs::MetadataExt::uid(metadata);
    let user = rustix::process::geteuid().as_raw();
    if owner == user || (user == 0 && caller_of_sudo() == Some(owner)) || is_trusted(directory) {
        return Ok(());
    }
    Err(StoreError::OtherOwner { path: absolute(directory), owner, user })
}

#[cfg(not(unix))]
fn check_owner(_: &Path, _: &Metadata) -> Result<(), StoreError> {
    Ok(())
}

#[cfg(unix)]
fn caller_of_sudo() -> Option<u32> {
    std::env::var("SUDO_UID").ok()?.parse().ok()
}

/// Reports whether the user trusts a directory of any owner.
#[cfg(unix)]
fn is_trusted(directory: &Path) -> bool {
    let Some(trusted) = std::env::var_os(SAFE_VARIABLE) else { return false };
    let directory = absolute(directory);
    let is_same = |path: PathBuf| {
        path == Path::new("*") || path.canonicalize().is_ok_and(|path| directory.starts_with(path))
    };
    std::env::split_paths(&trusted).filter(|path| !path.as_os_str().is_empty()).any(is_same)
}

#[cfg(unix)]
fn absolute(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}
