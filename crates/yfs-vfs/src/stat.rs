//! What a filesystem says about its objects.

use std::{collections::HashMap, fmt, sync::LazyLock};

use smol_str::SmolStr;
use yfs_types::{id::FileId, path::VPath, time::Millis};

/// The permission bits of a file that was created without any.
pub const DEFAULT_FILE_MODE: u32 = 0o644;

/// The permission bits of a directory that was created without any.
pub const DEFAULT_DIRECTORY_MODE: u32 = 0o755;

/// The permission bits that every symbolic link shows.
pub const SYMLINK_MODE: u32 = 0o777;

/// What sort of object a path names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum FileKind {
    /// Bytes.
    File,
    /// Names of further objects.
    Directory,
    /// The text of another path.
    Symlink,
    /// Something that only a host has: a fifo, a socket, a device. Every use of it is `EINVAL`.
    Other,
}

/// One state of a file's content, opaque to whoever holds it.
///
/// Equal tokens of one file mean equal content. A filesystem may accept a token as the base of a
/// write for as long as it likes; it says `ESTALE` when it no longer can.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct VersionToken(SmolStr);

/// Custom metadata: the members of a JSON object.
pub type Metadata = serde_json::Map<String, serde_json::Value>;

/// What is known of one object without reading its content.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Stat {
    /// The identity, which renames and moves keep.
    pub id: FileId,
    /// What sort of object it is.
    pub kind: FileKind,
    /// The number of bytes that reading it returns; of a link, the length of its target; of a
    /// directory, 0.
    pub size: u64,
    /// When the content last changed.
    pub mtime: Millis,
    /// When it was created, as far as that is known.
    pub created: Millis,
    /// Permission bits, without the type (`0o7777` at most).
    pub mode: u32,
    /// How many names it has: 1, unless a host made hard links.
    pub n_links: u32,
    /// The media type of a file: what was stored, else what the name suggests.
    pub mime: Option<SmolStr>,
    /// The state of a file's content; nothing for other kinds.
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
    /// The identity of what it names.
    pub id: FileId,
    /// What sort of object it names; links are not followed.
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
    /// Where it is.
    pub path: VPath,
    /// What is there.
    pub entry: DirEntry,
}

/// What a tree adds up to.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct TreeTotals {
    /// Files, also those that are reached by several names; links and other kinds do not count.
    pub n_files: u64,
    /// Directories, without the one that was asked about.
    pub n_directories: u64,
    /// The sizes of the files, added.
    pub n_bytes: u64,
}

impl Stat {
    /// Describes an object of this kind; the caller fills in what it knows beyond that.
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

    /// Tells whether this is a directory.
    pub fn is_directory(&self) -> bool {
        self.kind == FileKind::Directory
    }

    /// Tells whether this is a file.
    pub fn is_file(&self) -> bool {
        self.kind == FileKind::File
    }
}

impl DirEntry {
    /// Describes a name; the caller fills in what it knows beyond that.
    pub fn new(name: impl Into<SmolStr>, id: FileId, kind: FileKind) -> Self {
        let mode = kind.default_mode();
        Self { name: name.into(), id, kind, size: 0, mtime: Millis::default(), mode }
    }
}

impl WalkEntry {
    /// Places an entry.
    pub fn new(path: VPath, entry: DirEntry) -> Self {
        Self { path, entry }
    }
}

impl FileKind {
    /// Returns the permission bits of an object that was created without any.
    pub fn default_mode(self) -> u32 {
        match self {
            Self::File | Self::Other => DEFAULT_FILE_MODE,
            Self::Directory => DEFAULT_DIRECTORY_MODE,
            Self::Symlink => SYMLINK_MODE,
        }
    }
}

impl VersionToken {
    /// Takes the text that a filesystem uses for a state.
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

/// The guesses for extensions that most trees are full of.
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
