//! Listing the files of artifacts.

use serde_json::Value;
use yfs_types::{path::VPath, time::Millis};
use yfs_vfs::{FsCode, FsError};

use crate::{
    file_store::{FileSystemStore, MARK},
    tree_walker::FileSelection,
};

/// A file below the root of the artifacts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredArtifact {
    /// Where it is.
    pub path: VPath,
    /// The path that references name; without a reference, the path from the root.
    pub relative_path: String,
    /// The size, in bytes.
    pub size: u64,
    /// The media type, if the filesystem has one.
    pub media_type: Option<String>,
    /// When the content last changed.
    pub changed: Millis,
}

impl FileSystemStore {
    /// Lists the artifacts in the order of their paths: those that match one of the patterns, which
    /// are as in `.gitignore`, or all if there are none.
    ///
    /// # Errors
    ///
    /// Fails for a malformed pattern (`EINVAL`), or if the artifacts cannot be listed. A root that
    /// does not exist has none.
    pub async fn list(&self, patterns: &[String]) -> Result<Vec<StoredArtifact>, FsError> {
        let root = &self.options().root;
        let selection = FileSelection {
            paths: vec![root.clone()],
            include: patterns.to_vec(),
            hidden: true,
            ignored: true,
            ..FileSelection::default()
        };
        let selected = match selection.select(&**self.fs()).await {
            Err(error) if error.code == FsCode::ENOENT => Vec::new(),
            selected => selected?,
        };
        let mut listed = Vec::with_capacity(selected.len());
        for file in selected {
            let stat = match self.fs().stat(&file.path).await {
                // It was removed meanwhile.
                Err(error) if error.code == FsCode::ENOENT => continue,
                stat => stat?,
            };
            let mark = stat.metadata.get(MARK).and_then(Value::as_str);
            let relative = file.path.relative_to(root).unwrap_or_default();
            listed.push(StoredArtifact {
                relative_path: mark.unwrap_or(relative).to_owned(),
                path: file.path,
                size: stat.size,
                media_type: stat.mime.as_deref().map(str::to_owned),
                changed: stat.mtime,
            });
        }
        Ok(listed)
    }
}
