//! The file with the approvals that are kept.
//!
//! It is replaced atomically and only its owner may read it. Several processes may share it: each
//! change locks a file beside it, reads the approvals again, and replaces them.

use std::{
    collections::BTreeSet,
    fs::{self, File, OpenOptions},
    io::{self, Write},
    os::unix::fs::{MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
    sync::Arc,
};

use serde::{Deserialize, Serialize};
use thiserror::Error;
use yfs_types::path::VPath;

/// The version of the format.
const FORMAT_VERSION: u32 = 1;

/// The largest file that is read.
const MAX_FILE_LEN: u64 = 16 * 1024 * 1024;

/// A file with approved directories.
#[derive(Debug, Clone)]
pub(super) struct GrantFile {
    path: PathBuf,
}

/// What tells a file of approvals from the one that replaces it: its inode, and when and how it was
/// changed last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct GrantFileStamp {
    inode: (u64, u64),
    len: u64,
    changed: (i64, i64),
}

/// The content of the file.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct GrantFileFormat {
    version: u32,
    directories: Vec<String>,
}

/// The failure of reading or writing the approvals.
#[derive(Debug, Clone, Error)]
#[non_exhaustive]
pub enum GrantFileError {
    /// The file could not be read or written.
    #[error("cannot access the approvals in {}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The reason.
        #[source]
        source: Arc<io::Error>,
    },
    /// The file is not one of approvals. It was left as it is.
    #[error("the approvals in {} are damaged: {reason}; repair or remove the file", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The first thing that is wrong.
        reason: String,
    },
}

impl GrantFile {
    /// Makes the file of a path. Links are followed now, and no more later: another program could
    /// change where they lead.
    pub(super) fn new(path: PathBuf) -> Self {
        let resolved = path.canonicalize().ok().or_else(|| {
            let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty());
            let directory = directory.unwrap_or(Path::new(".")).canonicalize().ok()?;
            Some(directory.join(path.file_name()?))
        });
        Self { path: resolved.unwrap_or(path) }
    }

    /// Reads the approved directories; none if there is no file.
    pub(super) fn read(&self) -> Result<BTreeSet<VPath>, GrantFileError> {
        let bytes = match fs::metadata(&self.path) {
            Ok(stat) if stat.len() > MAX_FILE_LEN => {
                return Err(self.damaged(format!("it has {} bytes", stat.len())));
            }
            Ok(_) => fs::read(&self.path).map_err(|error| self.failed(error))?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(BTreeSet::new()),
            Err(error) => return Err(self.failed(error)),
        };
        let format: GrantFileFormat =
            serde_json::from_slice(&bytes).map_err(|error| self.damaged(error.to_string()))?;
        if format.version != FORMAT_VERSION {
            return Err(self.damaged(format!("it has the version {}", format.version)));
        }
        let parse = |text: &String| match VPath::parse(text) {
            // An approval must mean what it says: no spelling is corrected.
            Ok(path) if path.as_str() == text => Ok(path),
            _ => Err(self.damaged(format!("{text:?} is not a path of a directory"))),
        };
        format.directories.iter().map(parse).collect()
    }

    /// Returns the stamp of the file, or `None` if there is no file.
    pub(super) fn stamp(&self) -> Option<GrantFileStamp> {
        let stat = fs::metadata(&self.path).ok()?;
        let changed = (stat.ctime(), stat.ctime_nsec());
        Some(GrantFileStamp { inode: (stat.dev(), stat.ino()), len: stat.len(), changed })
    }

    /// Changes the approved directories and returns them.
    pub(super) fn update(
        &self,
        change: impl FnOnce(&mut BTreeSet<VPath>),
    ) -> Result<BTreeSet<VPath>, GrantFileError> {
        let lock = self.beside(".lock");
        let lock = open_private(&lock, false).map_err(|error| self.failed(error))?;
        lock.lock().map_err(|error| self.failed(error))?;
        let mut directories = self.read()?;
        change(&mut directories);
        self.replace(&directories).map_err(|error| self.failed(error))?;
        Ok(directories)
    }

    fn replace(&self, directories: &BTreeSet<VPath>) -> io::Result<()> {
        let format = GrantFileFormat {
            version: FORMAT_VERSION,
            directories: directories.iter().map(ToString::to_string).collect(),
        };
        let temporary = self.beside(".new");
        let mut file = open_private(&temporary, true)?;
        serde_json::to_writer_pretty(&mut file, &format)?;
        file.write_all(b"\n")?;
        file.sync_all()?;
        fs::rename(&temporary, &self.path)
    }

    /// Returns the path of a file beside this one.
    fn beside(&self, suffix: &str) -> PathBuf {
        let mut path = self.path.clone().into_os_string();
        path.push(suffix);
        path.into()
    }

    fn failed(&self, source: io::Error) -> GrantFileError {
        GrantFileError::Io { path: self.path.clone(), source: Arc::new(source) }
    }

    fn damaged(&self, reason: String) -> GrantFileError {
        GrantFileError::Damaged { path: self.path.clone(), reason }
    }
}

/// Opens a file that only its owner may read; an emptied one is always new.
fn open_private(path: &Path, emptied: bool) -> io::Result<File> {
    if emptied {
        // A file that a killed process left may have other permissions.
        match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => (),
        }
    }
    let mut options = OpenOptions::new();
    options.write(true).mode(0o600);
    if emptied {
        options.create_new(true)
    } else {
        options.create(true).truncate(false)
    };
    options.open(path)
}
