//! Listings of directories.

use yfs_engine::path::VPath;
use yfs_vfs::{FileSystem, FileSystemExt, WalkOptions};
use yfs_wire::{DirectoryListing, EntryJson};

use crate::prelude::*;

/// The greatest number of entries of one listing.
const MAX_ENTRIES: usize = 100_000;

/// Lists a directory; with `deep`, also all that is below it.
pub(super) async fn list(
    fs: &dyn FileSystem,
    path: &VPath,
    deep: bool,
) -> Result<DirectoryListing> {
    let entries = if deep {
        let options = WalkOptions { max_entries: MAX_ENTRIES, ..WalkOptions::default() };
        let found = fs.walk(path, &options).await?;
        found.into_iter().map(|found| EntryJson::new(found.path.as_str(), &found.entry)).collect()
    } else {
        let found = fs.readdir(path).await?;
        let described = found.iter().map(|entry| {
            let path = path.join(&entry.name);
            EntryJson::new(path.as_str(), entry)
        });
        described.collect()
    };
    Ok(DirectoryListing { path: path.to_string(), entries })
}
