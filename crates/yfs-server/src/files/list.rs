//! Directories and what is known of files, as JSON.

use serde::Serialize;
use yfs_engine::path::VPath;
use yfs_vfs::{DirEntry, FileKind, FileSystem, Stat, WalkOptions};

use crate::problem::Result;

/// How many entries one listing may have.
const MAX_ENTRIES: usize = 100_000;

/// A directory.
#[derive(Debug, Serialize)]
pub(super) struct DirectoryListing {
    path: String,
    entries: Vec<ListingEntry>,
}

/// What is in a directory.
#[derive(Debug, Serialize)]
struct ListingEntry {
    path: String,
    name: String,
    id: String,
    kind: &'static str,
    /// In bytes.
    size: u64,
    /// In milliseconds since the Unix epoch.
    mtime: i64,
    mode: u32,
}

/// What is known of one object.
#[derive(Debug, Serialize)]
pub(super) struct FileStat {
    path: String,
    id: String,
    kind: &'static str,
    size: u64,
    mtime: i64,
    created: i64,
    mode: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    mime: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<String>,
    metadata: yfs_vfs::Metadata,
}

/// Lists a directory, with all that is below it if `deep`.
pub(super) async fn list(
    fs: &dyn FileSystem,
    path: &VPath,
    deep: bool,
) -> Result<DirectoryListing> {
    let entries = if deep {
        let options = WalkOptions { max_entries: MAX_ENTRIES, ..WalkOptions::default() };
        let found = fs.walk(path, &options).await?;
        found.into_iter().map(|found| ListingEntry::new(&found.path, &found.entry)).collect()
    } else {
        let found = fs.readdir(path).await?;
        found.iter().map(|entry| ListingEntry::new(&path.join(&entry.name), entry)).collect()
    };
    Ok(DirectoryListing { path: path.to_string(), entries })
}

impl ListingEntry {
    fn new(path: &VPath, entry: &DirEntry) -> Self {
        Self {
            path: path.to_string(),
            name: entry.name.to_string(),
            id: entry.id.to_string(),
            kind: word(entry.kind),
            size: entry.size,
            mtime: entry.mtime.0,
            mode: entry.mode,
        }
    }
}

impl FileStat {
    pub(super) fn new(path: &VPath, stat: Stat) -> Self {
        Self {
            path: path.to_string(),
            id: stat.id.to_string(),
            kind: word(stat.kind),
            size: stat.size,
            mtime: stat.mtime.0,
            created: stat.created.0,
            mode: stat.mode,
            mime: stat.mime.map(Into::into),
            version: stat.version.map(|version| version.to_string()),
            metadata: stat.metadata,
        }
    }
}

pub(super) fn word(kind: FileKind) -> &'static str {
    match kind {
        FileKind::Directory => "directory",
        FileKind::Symlink => "symlink",
        _ => "file",
    }
}
