//! Where a file is now, and what it contained: for references that outlive renames and edits.

use std::fmt;

use async_trait::async_trait;
use bytes::Bytes;
use yfs_types::path::VPath;
use yfs_vfs::FsError;

/// The earlier contents of files, as far as a backend keeps them.
#[async_trait]
pub trait PastContents: Send + Sync + fmt::Debug {
    /// Returns the contents that a file had, the latest first, until `is_wanted` accepts one;
    /// returns that one.
    async fn find_content(
        &self,
        path: &VPath,
        is_wanted: &(dyn for<'a> Fn(&'a [u8]) -> bool + Sync),
    ) -> Result<Option<Bytes>, FsError>;
}
