//! What the artifacts of a workspace stand on: kept analyses, and earlier contents.

use async_trait::async_trait;
use bytes::Bytes;
use yfs::Workspace;
use yfs_artifacts::{DerivedShelf, PastContents};
use yfs_types::path::VPath;
use yfs_vfs::FsError;

/// The settings of a workspace's store: on this machine only, for all processes.
///
/// A store that cannot be written keeps nothing.
#[derive(Debug)]
pub struct WorkspaceShelf {
    workspace: Workspace,
}

impl WorkspaceShelf {
    /// Makes the shelf of a workspace.
    pub fn new(workspace: Workspace) -> Self {
        Self { workspace }
    }
}

impl DerivedShelf for WorkspaceShelf {
    fn fetch(&self, key: &str) -> Option<Vec<u8>> {
        self.workspace.store().get_meta(key).ok().flatten()
    }

    fn put(&self, key: &str, value: &[u8]) {
        // What cannot be kept is made again.
        self.workspace.store().set_meta(key, value).ok();
    }
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
