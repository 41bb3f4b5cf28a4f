//! Where a store is, and how this process may open it.

use std::{
    fs,
    path::{Path, PathBuf},
};

use rusqlite::{Connection, OpenFlags};

use super::schema;
use crate::StoreError;

const ACTION: &str = "open the store";

/// Where a store is, and how connections to it are opened.
#[derive(Debug, Clone)]
pub(super) struct StoreLocation {
    pub(super) path: PathBuf,
    access: OpenMode,
}

/// How connections are opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OpenMode {
    /// As usual. Readers need that as well, to say in the shared memory file what they read.
    Write,
    /// Others have the store open, and the files beside it are there to be read.
    Read,
    /// Nothing lies beside the file, and nothing may be put there. What others write from now on
    /// is not seen, and if they do, reading may fail.
    Frozen,
}

impl StoreLocation {
    pub(super) fn writable(path: &Path) -> Self {
        Self { path: path.to_owned(), access: OpenMode::Write }
    }

    /// Finds out how a store can be read at all.
    pub(super) fn readable(path: &Path) -> Result<Self, StoreError> {
        let place = |access| Self { path: path.to_owned(), access };
        match schema::ensure_writable(path) {
            Ok(()) => return Ok(place(OpenMode::Write)),
            Err(StoreError::ReadOnly { .. }) => (),
            Err(error) => return Err(error),
        }
        let log = fs::metadata(beside(path, "-wal")).map_or(0, |metadata| metadata.len());
        if log == 0 {
            return Ok(place(OpenMode::Frozen));
        }
        // SQLite needs the shared memory file to find anything in the log.
        if beside(path, "-shm").exists() {
            return Ok(place(OpenMode::Read));
        }
        Err(StoreError::ReadOnly { action: "take in what a writer left beside the store" })
    }

    /// Opens one more connection to a store that is there.
    pub(super) fn connect(&self) -> Result<Connection, StoreError> {
        match self.access {
            OpenMode::Write => schema::connect(&self.path, OpenFlags::SQLITE_OPEN_READ_WRITE),
            OpenMode::Read => schema::connect(&self.path, OpenFlags::SQLITE_OPEN_READ_ONLY),
            OpenMode::Frozen => {
                let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
                let uri = frozen_uri(&self.path)?;
                schema::connect(Path::new(&uri), flags)
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

/// Returns the directory that holds a file.
pub(super) fn directory_of(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Names a file so that SQLite neither locks it nor looks for anything beside it.
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
