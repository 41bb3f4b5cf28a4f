//! Nodes, directories and trees.

use serde::Serialize;
use yfs_types::{path::VPath, time::Millis};
use yfs_vfs::{DirEntry, Metadata, Stat, VersionToken};

use crate::{node_kind::NodeKindJson, time::UnixMillis};

/// A node in a directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Entry"))]
pub struct EntryJson<T = UnixMillis, M = u32> {
    /// The path.
    pub path: String,
    /// The last component of the path.
    pub name: String,
    /// The id, which moves and renames keep.
    pub id: String,
    /// The kind.
    pub kind: NodeKindJson,
    /// The size in bytes.
    pub size: u64,
    /// The permission bits.
    pub mode: M,
    /// The time when the content last changed.
    pub mtime: T,
    /// The target of a symbolic link, where it was asked for; absent otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
}

/// The attributes of a node.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Stat"))]
pub struct StatJson<T = UnixMillis, M = u32> {
    /// The path.
    pub path: String,
    /// The id, which moves and renames keep.
    pub id: String,
    /// The kind.
    pub kind: NodeKindJson,
    /// The size in bytes.
    pub size: u64,
    /// The permission bits.
    pub mode: M,
    /// The time when the content last changed.
    pub mtime: T,
    /// The time when the node was created.
    pub created: T,
    /// The media type of a file.
    pub mime: Option<String>,
    /// The version of a file's content.
    pub version: Option<String>,
    /// The metadata that programs attached to the node.
    pub metadata: Metadata,
    /// The target of a symbolic link, where it was asked for; absent otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
}

/// The answer of `GET /api/files` for a directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Listing"))]
pub struct DirectoryListing {
    /// The path of the directory.
    pub path: String,
    /// The nodes in it, with everything below if the request says `recursive`.
    pub entries: Vec<EntryJson>,
}

/// The answer of `GET /api/tree`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Tree"))]
pub struct TreeJson {
    /// The guid of the main document.
    pub workspace: String,
    /// The schema of rich text: `gfm` or `commonmark`.
    pub profile: &'static str,
    /// All nodes, each directory before what it contains.
    pub entries: Vec<TreeEntryJson>,
}

/// A node of the tree, with what an editor needs to open it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "TreeEntry"))]
pub struct TreeEntryJson {
    /// The path.
    pub path: String,
    /// The id; of a file it is the guid of its content document.
    pub guid: String,
    /// The kind.
    pub kind: NodeKindJson,
    /// The root that an editor of the file binds to, `text` or `richtext`; absent if the content is
    /// not text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub root: Option<&'static str>,
    /// The size in bytes.
    pub size: u64,
    /// The time when the content last changed, in milliseconds since the Unix epoch.
    pub mtime: UnixMillis,
}

impl<T: From<Millis>, M: From<u32>> EntryJson<T, M> {
    /// Describes an entry at a path.
    pub fn new(path: &str, entry: &DirEntry) -> Self {
        Self {
            path: path.to_owned(),
            name: entry.name.to_string(),
            id: entry.id.to_string(),
            kind: entry.kind.into(),
            size: entry.size,
            mode: entry.mode.into(),
            mtime: entry.mtime.into(),
            target: None,
        }
    }
}

impl<T: From<Millis>, M: From<u32>> StatJson<T, M> {
    /// Describes the node at a path.
    pub fn new(path: &str, stat: &Stat) -> Self {
        Self {
            path: path.to_owned(),
            id: stat.id.to_string(),
            kind: stat.kind.into(),
            size: stat.size,
            mode: stat.mode.into(),
            mtime: stat.mtime.into(),
            created: stat.created.into(),
            mime: stat.mime.as_ref().map(ToString::to_string),
            version: stat.version.as_ref().map(VersionToken::to_string),
            metadata: stat.metadata.clone(),
            target: None,
        }
    }
}

impl TreeEntryJson {
    /// Describes an entry at a path, without its root.
    pub fn new(path: &VPath, entry: &DirEntry) -> Self {
        Self {
            path: path.to_string(),
            guid: entry.id.to_string(),
            kind: entry.kind.into(),
            root: None,
            size: entry.size,
            mtime: entry.mtime.into(),
        }
    }
}
