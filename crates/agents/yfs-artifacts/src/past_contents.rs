//! Where a file is now, and what it contained: for references that outlive renames and edits.

use std::fmt;

use async_trait::async_trait;
use bytes::Bytes;
use yfs::Workspace;
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

/// The earlier contents of a workspace's files.
#[derive(Debug, Clone)]
pub struct WorkspacePast {
    workspace: Workspace,
}

impl WorkspacePast {
    /// Makes the past of a workspace.
    pub fn new(workspace: Workspace) -> Self {
        Self { workspace }
    }
}

#[async_trait]
impl PastContents for WorkspacePast {
    async fn find_content(
        &self,
        path: &VPath,
        is_wanted: &(dyn for<'a> Fn(&'a [u8]) -> bool + Sync),
    ) -> Result<Option<Bytes>, FsError> {
        let history = self.workspace.history();
        for version in history.versions(path)?.into_iter().rev() {
            let content = history.version_content(path, version.number)?;
            if is_wanted(&content) {
                return Ok(Some(content));
            }
        }
        Ok(None)
    }
}
