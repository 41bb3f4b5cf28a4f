//! A consistent copy of the store, while other handles continue to use it.

use std::{
    fs::{self, File},
    io::ErrorKind,
    path::{Path, PathBuf},
};

use rusqlite::{Connection, OpenFlags};

use super::{
    access::temporary_file, location::sync_directory, schema::use_write_ahead_log,
    shared_connections::SharedConnections, store_error::store_error,
};
use crate::StoreError;

const BACKUP: &str = "back up the store";

/// A file that is removed on drop.
struct PartialFile(PathBuf);

impl Drop for PartialFile {
    fn drop(&mut self) {
        // The file was moved already, or is useless.
        drop(fs::remove_file(&self.0));
    }
}

impl SharedConnections {
    pub(super) fn backup(
        &self,
        to: &Path,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<(), StoreError> {
        let exists = || StoreError::Exists { path: to.to_owned() };
        if fs::symlink_metadata(to).is_ok() {
            return Err(exists());
        }
        let total = fs::metadata(&self.path).map_or(0, |metadata| metadata.len());
        progress(0, total);
        // An empty file with the mode that the copy must have.
        let (partial, file) = temporary_file(to).map_err(|error| StoreError::io(BACKUP, error))?;
        drop(file);
        let partial = PartialFile(partial);
        let Some(target) = partial.0.to_str() else {
            return Err(StoreError::Unsupported { action: "back up to a path that is not UTF-8" });
        };
        self.reader()?.execute("VACUUM INTO ?1", [target]).map_err(store_error(BACKUP))?;
        finish_copy(&partial.0)?;

        let io = |error| StoreError::io(BACKUP, error);
        File::open(&partial.0).and_then(|file| file.sync_all()).map_err(io)?;
        // Unlike a rename, a link never replaces an existing file.
        match fs::hard_link(&partial.0, to) {
            Ok(()) => (),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => return Err(exists()),
            // Some filesystems have no hard links. There the earlier check has to be enough.
            Err(_) => fs::rename(&partial.0, to).map_err(io)?,
        }
        drop(partial);
        sync_directory(to)?;
        progress(total, total);
        Ok(())
    }
}

/// Turns a copy into an independent store. Sets the journal mode of stores, which `VACUUM INTO`
/// does not copy, and removes what is valid only in the original: a copy must not hand out client
/// ids that the original hands out as well, and must not contain deleted content.
fn finish_copy(copy: &Path) -> Result<(), StoreError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(copy, flags).map_err(store_error(BACKUP))?;
    use_write_ahead_log(&connection)?;
    connection
        .execute_batch(
            "DELETE FROM released; DELETE FROM upload;
             DELETE FROM meta WHERE key IN ('store:claim-seal', 'store:rewrite');",
        )
        .map_err(store_error(BACKUP))
}
