//! A directory as a program lists it: as it was when the program began.

use yfs_types::path::VPath;
use yfs_vfs::{DirEntry, FileSystem};

use crate::errno::{CallResult, errno};

/// The number of entries before those of the workspace: `.` and `..`.
pub(crate) const N_DOTS: u64 = 2;

/// An open directory.
#[derive(Debug)]
pub(crate) struct Listing {
    path: VPath,
    entries: Option<Vec<DirEntry>>,
}

impl Listing {
    pub(crate) fn new(path: VPath) -> Self {
        Self { path, entries: None }
    }

    /// Returns the entries from a position on, without `.` and `..`, which are the first two. A
    /// program that begins again gets them as they are now.
    pub(crate) fn entries_from(
        &mut self,
        fs: &dyn FileSystem,
        offset: u64,
    ) -> CallResult<&[DirEntry]> {
        if offset == 0 {
            self.entries = None;
        }
        if self.entries.is_none() {
            let entries = futures::executor::block_on(fs.readdir(&self.path)).map_err(errno)?;
            self.entries = Some(entries);
        }
        let entries = self.entries.as_deref().unwrap_or_default();
        let first = usize::try_from(offset.saturating_sub(N_DOTS)).unwrap_or(usize::MAX);
        Ok(entries.get(first..).unwrap_or_default())
    }
}
