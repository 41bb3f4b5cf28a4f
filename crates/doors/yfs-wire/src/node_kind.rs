//! The kinds of nodes.

use serde::Serialize;
use yfs_vfs::FileKind;

/// The kind of a node of the tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[cfg_attr(feature = "schema", ts(rename = "Kind"), schemars(rename = "Kind"))]
pub enum NodeKindJson {
    /// A file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link.
    Symlink,
}

impl NodeKindJson {
    /// Returns the word that stands for the kind.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Directory => "directory",
            Self::Symlink => "symlink",
        }
    }
}

impl From<FileKind> for NodeKindJson {
    fn from(kind: FileKind) -> Self {
        match kind {
            FileKind::Directory => Self::Directory,
            FileKind::Symlink => Self::Symlink,
            _ => Self::File,
        }
    }
}
