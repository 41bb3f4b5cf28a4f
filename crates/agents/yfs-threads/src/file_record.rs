//! The record of a file (document 000, section 1).

use yfs_types::path::VPath;
use yfs_vfs::{Metadata, Stat};

use crate::external::{EXTERNAL, ExternalFile};

/// The beginning of the members of metadata that yfs keeps for itself.
pub(crate) const OWN_PREFIX: &str = "yfs.";

/// The record of a file or directory.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct FileRecord {
    /// The path, from the root of the thread.
    pub path: VPath,
    /// The name; empty for the root.
    pub name: String,
    /// The media type: the given one, else that of the content, else that of the name.
    pub mime_type: String,
    /// Where the bytes are: `yfs:` and the id of the file, or the URL of an external file.
    pub storage: String,
    /// The size in bytes; of an external file, the size that its entry states, or 0.
    pub size: u64,
    /// Whether this is a directory.
    pub is_directory: bool,
    /// The metadata that the writers set.
    pub metadata: Metadata,
    /// The width in pixels, for an image: as the metadata states it, else as its header does.
    pub width: Option<u32>,
    /// The height in pixels, as the width.
    pub height: Option<u32>,
}

impl FileRecord {
    /// Makes the record of an object, without what must be read from its content.
    pub(crate) fn new(path: &VPath, stat: &Stat) -> Self {
        let external = ExternalFile::of(stat);
        let is_directory = stat.is_directory();
        let mut metadata = stat.metadata.clone();
        metadata.retain(|key, _| !key.starts_with(OWN_PREFIX));
        let pixels = |key: &str| {
            let number = metadata.get(key).and_then(serde_json::Value::as_u64);
            number.and_then(|number| u32::try_from(number).ok())
        };
        let mime = if is_directory { Some("inode/directory") } else { stat.mime.as_deref() };
        Self {
            path: path.clone(),
            name: path.file_name().unwrap_or_default().to_owned(),
            mime_type: mime.unwrap_or("application/octet-stream").to_owned(),
            size: external.as_ref().map_or(stat.size, |external| external.size.unwrap_or(0)),
            storage: external.map_or_else(|| format!("yfs:{}", stat.id), |external| external.url),
            is_directory,
            width: pixels("width"),
            height: pixels("height"),
            metadata,
        }
    }

    /// Reports whether the bytes are elsewhere.
    pub fn is_external(&self) -> bool {
        !self.storage.starts_with("yfs:")
    }
}

/// Reports whether the metadata has a member that yfs keeps for itself.
pub(crate) fn own_member(metadata: &Metadata) -> Option<&str> {
    let mut own = metadata.keys().filter(|key| key.starts_with(OWN_PREFIX));
    debug_assert!(EXTERNAL.starts_with(OWN_PREFIX));
    own.next().map(String::as_str)
}
