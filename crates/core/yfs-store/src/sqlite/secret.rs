//! Secrets, which no copy of the store may have.
//!
//! Each is a separate file beside the database: 8 bytes with the number of its own inode, and the
//! secret. So a backup or a copy of the database does not have it. A copy of the secret's file is
//! recognized by the inode and not used: a process that opens a copy of all files gets another
//! secret.

use std::{
    fs::{self, File},
    io::{self, Read, Write},
    path::{Path, PathBuf},
};

use super::{
    access::{open_no_link, temporary_file},
    local::SqliteLocal,
    location::beside,
    location::sync_directory,
    seal::ValuePlace,
};
use crate::StoreError;

const READ: &str = "read a secret";
const WRITE: &str = "write a secret";

/// The longest secret, in bytes.
const MAX_LEN: u64 = 4096;

impl SqliteLocal {
    pub(super) fn init_secret(&self, key: &str, value: &[u8]) -> Result<Vec<u8>, StoreError> {
        self.shared.ensure_open()?;
        let path = self.secret_path(key)?;
        if let Some(found) = self.read_secret(key, &path)? {
            return Ok(found);
        }
        self.shared.ensure_writable(WRITE)?;
        // Of the threads of this process, this lock lets one create the secret; of several
        // processes, the link does.
        let _writer = self.shared.writer(WRITE)?;
        for _ in 0..100 {
            if let Some(found) = self.read_secret(key, &path)? {
                return Ok(found);
            }
            let is_copy = fs::symlink_metadata(&path).is_ok();
            let value = self.shared.seal.seal(ValuePlace::Secret(key), value);
            write(&path, &value, is_copy).map_err(|error| StoreError::io(WRITE, error))?;
        }
        Err(StoreError::io(WRITE, io::Error::other("another process keeps replacing it")))
    }

    pub(super) fn set_secret(&self, key: &str, value: &[u8]) -> Result<(), StoreError> {
        let path = self.secret_path(key)?;
        let _writer = self.shared.writer(WRITE)?;
        let value = self.shared.seal.seal(ValuePlace::Secret(key), value);
        write(&path, &value, true).map_err(|error| StoreError::io(WRITE, error))?;
        sync_directory(&path)
    }

    /// Reads a secret. One that was sealed for another store counts as none.
    fn read_secret(&self, key: &str, path: &Path) -> Result<Option<Vec<u8>>, StoreError> {
        let found = read(path).map_err(|error| StoreError::io(READ, error))?;
        Ok(found.and_then(|found| self.shared.seal.open(ValuePlace::Secret(key), found)))
    }

    fn secret_path(&self, key: &str) -> Result<PathBuf, StoreError> {
        let is_plain = |char: char| char.is_ascii_alphanumeric() || char == '.';
        if key.is_empty() || !key.chars().all(is_plain) {
            return Err(StoreError::Unsupported { action: "store a secret with this name" });
        }
        Ok(beside(&self.shared.path, &format!("-{key}")))
    }
}

/// Reads a secret. A file that is a copy of another contains none.
fn read(path: &Path) -> io::Result<Option<Vec<u8>>> {
    let file = match open_no_link(path, File::options().read(true)) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let inode = inode_of(&file)?;
    let mut bytes = Vec::new();
    file.take(MAX_LEN + 8).read_to_end(&mut bytes)?;
    let Some((own, secret)) = bytes.split_first_chunk::<8>() else { return Ok(None) };
    Ok((u64::from_le_bytes(*own) == inode).then(|| secret.to_vec()))
}

/// Writes a secret, which appears whole. Unless `replace` is set, it does not overwrite an existing
/// one.
fn write(path: &Path, value: &[u8], replace: bool) -> io::Result<()> {
    let (temporary, mut file) = temporary_file(path)?;
    let written = inode_of(&file).and_then(|inode| {
        file.write_all(&inode.to_le_bytes())?;
        file.write_all(value)?;
        file.sync_all()?;
        if replace {
            return fs::rename(&temporary, path);
        }
        match fs::hard_link(&temporary, path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            Err(_) if !path.exists() => fs::rename(&temporary, path),
            result => result,
        }
    });
    fs::remove_file(&temporary).ok();
    written
}

#[cfg(unix)]
fn inode_of(file: &File) -> io::Result<u64> {
    Ok(std::os::unix::fs::MetadataExt::ino(&file.metadata()?))
}

/// Other systems do not allow recognizing a copy.
#[cfg(not(unix))]
fn inode_of(_: &File) -> io::Result<u64> {
    Ok(0)
}
