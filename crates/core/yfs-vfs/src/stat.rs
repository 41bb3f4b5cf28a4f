//! The descriptions that a filesystem returns of its objects.

use std::{collections::HashMap, fmt, sync::LazyLock};

use smol_str::SmolStr;
use yfs_types::{id::FileId, path::VPath, time::Millis};

/// The permission bits of a file that was created without explicit bits.
pub const DEFAULT_FILE_MODE: u32 = 0o644;

/// The permission bits of a directory that was created without explicit bits.
pub const DEFAULT_DIRECTORY_MODE: u32 = 0o755;

/// The permission bits that every symbolic link reports.
pub const SYMLINK_MODE: u32 = 0o777;

/// The kind of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum FileKind {
    /// A sequence of bytes.
    File,
    /// A list of named objects.
    Directory,
    /// The text of another path.
    Symlink,
    /// An object that only a host has: a fifo, a socket, a device. Every use of it is `EINVAL`.
    Other,
}

/// One state of a file's content, opaque to the caller.
///
/// Equal tokens of one file mean equal content. A filesystem may accept a token as the base of a
/// write for as long as it likes; it returns `ESTALE` when it no longer can.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct VersionToken(SmolStr);

/// Custom metadata: the members of a JSON object.
pub type Metadata = serde_json::Map<String, serde_json::Value>;

/// The description of one object, without its content.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Stat {
    /// The identity, which renames and moves keep.
    pub id: FileId,
    /// The kind of the object.
    pub kind: FileKind,
    /// The number of bytes that reading returns; for a link, the length of its target; for a
    /// directory, 0.
    pub size: u64,
    /// The time of the last content change.
    pub mtime: Millis,
    /// The time of creation, as far as it is known.
    pub created: Millis,
    /// Permission bits, without the type (`0o7777` at most).
    pub mode: u32,
    /// The number of names: 1, unless a host made hard links.
    pub n_links: u32,
    /// The media type of a file: the stored one, otherwise the one that the name suggests.
    pub mime: Option<SmolStr>,
    /// The version of a file's content; `None` for other kinds.
    pub version: Option<VersionToken>,
    /// Custom metadata, empty if there is none.
    pub metadata: Metadata,
}

/// One name in a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DirEntry {
    /// The name, without slashes.
    pub name: SmolStr,
    /// The identity of the named object.
    pub id: FileId,
    /// The kind of the named object; links are not followed.
    pub kind: FileKind,
    /// As in [`Stat::size`].
    pub size: u64,
    /// As in [`Stat::mtime`].
    pub mtime: Millis,
    /// As in [`Stat::mode`].
    pub mode: u32,
}

/// One object found below a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct WalkEntry {
    /// The object's path.
    pub path: VPath,
    /// The object.
    pub entry: DirEntry,
}

/// The number and size of the objects in a tree.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct TreeTotals {
    /// The number of files, counting a file once per name; links and other kinds do not count.
    pub n_files: u64,
    /// The number of directories, without the root of the tree.
    pub n_directories: u64,
    /// The sum of the sizes of the files, in bytes.
    pub n_bytes: u64,
}

impl Stat {
    /// Makes a description with defaults; the caller fills in the fields that it knows.
    pub fn new(id: FileId, kind: FileKind) -> Self {
        Self {
            id,
            kind,
            size: 0,
            mtime: Millis::default(),
            created: Millis::default(),
            mode: kind.default_mode(),
            n_links: 1,
            mime: None,
            version: None,
            metadata: Metadata::new(),
        }
    }

    /// Reports whether this is a directory.
    pub fn is_directory(&self) -> bool {
        self.kind == FileKind::Directory
    }

    /// Reports whether this is a file.
    pub fn is_file(&self) -> bool {
        self.kind == FileKind::File
    }
}

impl DirEntry {
    /// Makes an entry with defaults; the caller fills in the fields that it knows.
    pub fn new(name: impl Into<SmolStr>, id: FileId, kind: FileKind) -> Self {
        let mode = kind.default_mode();
        Self { name: name.into(), id, kind, size: 0, mtime: Millis::default(), mode }
    }
}

impl WalkEntry {
    /// Makes an entry at a path.
    pub fn new(path: VPath, entry: DirEntry) -> Self {
        Self { path, entry }
    }
}

impl FileKind {
    /// Returns the permission bits of an object that was created without explicit bits.
    pub fn default_mode(self) -> u32 {
        match self {
            Self::File | Self::Other => DEFAULT_FILE_MODE,
            Self::Directory => DEFAULT_DIRECTORY_MODE,
            Self::Symlink => SYMLINK_MODE,
        }
    }
}

impl VersionToken {
    /// Makes a token from the text that a filesystem uses for a version.
    pub fn new(text: impl Into<SmolStr>) -> Self {
        Self(text.into())
    }

    /// Returns the token as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for VersionToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for VersionToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.0)
    }
}

/// The media types of the most common extensions.
static COMMON_TYPES: LazyLock<HashMap<&str, Option<&str>>> = LazyLock::new(|| {
    const EXTENSIONS: [&str; 24] = [
        "c", "css", "csv", "go", "h", "html", "java", "jpg", "js", "json", "lock", "md", "mjs",
        "pdf", "png", "py", "rs", "sh", "svg", "toml", "ts", "txt", "yaml", "yml",
    ];
    let guess = |extension| (extension, mime_guess::from_ext(extension).first_raw());
    EXTENSIONS.into_iter().map(guess).collect()
});

/// Returns the media type that a name suggests.
pub fn mime_of(name: &str) -> SmolStr {
    let extension = name.rsplit_once('.').filter(|(base, _)| !base.is_empty());
    let guess = extension.and_then(|(_, extension)| match COMMON_TYPES.get(extension) {
        Some(guess) => *guess,
        None => mime_guess::from_ext(extension).first_raw(),
    });
    SmolStr::new_static(guess.unwrap_or("application/octet-stream"))
}
