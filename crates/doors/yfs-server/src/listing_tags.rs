//! The entity tags of the last listings of the tree.

use std::collections::HashMap;

use parking_lot::Mutex;
use yfs_engine::path::VPath;
use yfs_vfs::ChangeCursor;

/// The most directories whose last listing is known.
const MAX_LISTINGS: usize = 256;

/// The entity tags of the last listings, by the directory that a token covers, each with the
/// position of the log before it.
#[derive(Debug, Default)]
pub(crate) struct ListingTags(Mutex<HashMap<VPath, (ChangeCursor, String)>>);

impl ListingTags {
    /// Returns the tag of a directory's listing at a position, if it was made.
    pub(crate) fn at(&self, path: &VPath, position: &ChangeCursor) -> Option<String> {
        let tags = self.0.lock();
        tags.get(path).filter(|(made, _)| made == position).map(|(_, etag)| etag.clone())
    }

    /// Records the tag of a directory's listing.
    pub(crate) fn insert(&self, path: &VPath, position: ChangeCursor, etag: &str) {
        let mut tags = self.0.lock();
        if tags.len() >= MAX_LISTINGS && !tags.contains_key(path) {
            tags.clear();
        }
        tags.insert(path.clone(), (position, etag.to_owned()));
    }
}
