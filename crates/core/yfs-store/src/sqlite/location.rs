//! The location of a store, and how this process may open it.

use std::{
    fs,
    path::{Path, PathBuf},
};

use rusqlite::{Connection, OpenFlags};

use super::connect;
use crate::StoreError;

const ACTION: &str = "open the store";

/// The location of a store, and the mode in which connections to it are opened.
#[derive(Debug, Clone)]
pub(super) struct StoreLocation {
    pub(super) path: PathBuf,
    access: OpenMode,
}

/// The mode in which connections are opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OpenMode {
    /// Read and write. Reading needs this as well: readers register in the shared memory file.
    Write,
    /// Read only. Other processes have the store open, and its shared memory file can be read.
    Read,
    /// Read only, without a shared memory file and without the permission to create one. Later
    /// writes of other processes are not visible, and may make reading fail.
    Frozen,
}

impl StoreLocation {
    pub(super) fn writable(path: &Path) -> Self {
        Self { path: path.to_owned(), access: OpenMode::Write }
    }

    /// Chooses a mode in which the store can be read.
    pub(super) fn readable(path: &Path) -> Result<Self, StoreError> {
        let location = |access| Self { path: path.to_owned(), access };
        match connect::ensure_writable(path) {
            Ok(()) => return Ok(location(OpenMode::Write)),
            Err(StoreError::ReadOnly { .. }) => (),
            Err(error) => return Err(error),
        }
        let log = fs::metadata(beside(path, "-wal")).map_or(0, |metadata| metadata.len());
        if log == 0 {
            return Ok(location(OpenMode::Frozen));
        }
        // SQLite needs the shared memory file to find pages in the log.
        if beside(path, "-shm").exists() {
            return Ok(location(OpenMode::Read));
        }
        Err(StoreError::ReadOnly { action: "recover the log that a writer left beside the store" })
    }

    /// Opens another connection to the store.
    pub(super) fn connect(&self) -> Result<Connection, StoreError> {
        match self.access {
            OpenMode::Write => connect::connect(&self.path, OpenFlags::SQLITE_OPEN_READ_WRITE),
            OpenMode::Read => connect::connect(&self.path, OpenFlags::SQLITE_OPEN_READ_ONLY),
            OpenMode::Frozen => {
                let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
                let uri = frozen_uri(&self.path)?;
                connect::connect(Path::new(&uri), flags)
            }
        }
    }
}

/// Returns the path of a file that belongs to the store.
pub(super) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut path = path.as_os_str().to_owned();
    path.push(suffix);
    path.into()
}

/// Returns the directory for what is derived from a store: `workspace-db.derived` for
/// `workspace.db`. Its name does not begin with that of the file, so that removing or copying the
/// file with all that belongs to it, as `workspace.db*`, does not meet a directory.
pub(super) fn derived_beside(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy().replace('.', "-");
    path.with_file_name(format!("{name}.derived"))
}

/// Returns the directory that holds a file.
pub(super) fn directory_of(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Returns a URI for which SQLite neither locks the file nor opens files beside it.
fn frozen_uri(path: &Path) -> Result<String, StoreError> {
    let absolute = std::path::absolute(path).map_err(|error| StoreError::io(ACTION, error))?;
    let Some(text) = absolute.to_str() else {
        return Err(StoreError::Unsupported { action: "read a store at a path that is not UTF-8" });
    };
    let mut uri = String::from("file://");
    for char in text.chars() {
        match char {
            '%' => uri.push_str("%25"),
            '?' => uri.push_str("%3f"),
            '#' => uri.push_str("%23"),
            other => uri.push(other),
        }
    }
    uri.push_str("?immutable=1");
    Ok(uri)
}

/// Makes the name of a new file survive a power cut.
pub(super) fn sync_directory(path: &Path) -> Result<(), StoreError> {
    let sync = || fs::File::open(directory_of(path))?.sync_all();
    sync().map_err(|error| StoreError::io("sync the store's directory", error))
}
