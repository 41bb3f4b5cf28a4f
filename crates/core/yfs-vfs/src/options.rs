//! Options of the operations. The defaults are those that shells and editors expect.

use std::time::Duration;

use bytes::Bytes;
use smol_str::SmolStr;
use tokio_util::sync::CancellationToken;
use yfs_types::{actor::Actor, step::StepId, time::Millis};

use crate::{
    error::Op,
    stat::{Metadata, VersionToken},
    stream::DEFAULT_CHUNK_LEN,
};

/// Options of a write.
#[derive(Debug, Clone, PartialEq)]
pub struct WriteOptions {
    /// Whether the file may, must or must not exist.
    pub create: CreateMode,
    /// The content that the writer read before its change, so that concurrent changes are kept.
    pub base: Option<VersionBase>,
    /// Fails the write with `ESTALE` unless the file has this version.
    pub expected_version: Option<VersionToken>,
    /// Permission bits. If absent, a new file gets 0644 and an existing one keeps its own.
    pub mode: Option<u32>,
    /// The media type. If absent, a new file gets the type that its name suggests.
    pub mime: Option<SmolStr>,
    /// The custom metadata that replaces the stored metadata.
    pub metadata: Option<Metadata>,
    /// The modification time; the current time if absent.
    pub mtime: Option<Millis>,
    /// The author of the change; the owner of the filesystem handle if absent.
    pub author: Option<ChangeAuthor>,
    /// Whether missing parent directories are created.
    pub parents: bool,
    /// Whether a symbolic link at the end of the path is followed; if not, a file replaces it.
    pub follow: bool,
}

/// Whether a file may, must or must not exist before it is written.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub enum CreateMode {
    /// The file may exist: it is created or replaced.
    #[default]
    IfMissing,
    /// The file must not exist (`EEXIST`). Of several concurrent calls exactly one succeeds.
    New,
    /// The file must exist (`ENOENT`).
    Never,
}

/// The content that a writer read before its change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum VersionBase {
    /// The version that the read returned.
    Version(VersionToken),
    /// The content itself.
    Content(Bytes),
}

/// The author of a change, and the activity that it belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangeAuthor {
    /// The actor.
    pub actor: Actor,
    /// The activity: a session, a tool call, a commit message.
    pub label: Option<SmolStr>,
    /// The step that the change is part of: all that one command, one call of a tool or one
    /// request changes.
    pub step: Option<StepId>,
}

/// Options of creating a directory.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct MkdirOptions {
    /// Whether missing parent directories are created too, and an existing directory is accepted.
    pub recursive: bool,
    /// Permission bits; 0755 if absent.
    pub mode: Option<u32>,
}

/// Options of a removal.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct RemoveOptions {
    /// Whether a directory is removed with all its content; if not, only if it is empty.
    pub recursive: bool,
    /// Whether a missing path is accepted.
    pub force: bool,
}

/// Options of a copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CopyOptions {
    /// Whether a directory is copied with all its content; if not, a directory is `EISDIR`.
    pub recursive: bool,
    /// Whether an existing destination is replaced; if not, it is `EEXIST`.
    pub replace: bool,
    /// Whether missing parent directories of the destination are created.
    pub parents: bool,
}

/// Options of a move.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MoveOptions {
    /// Whether an existing destination is replaced; if not, it is `EEXIST`.
    pub replace: bool,
    /// Whether missing parent directories of the destination are created.
    pub parents: bool,
}

/// Options of reading a file as a stream.
#[derive(Debug, Clone)]
pub struct StreamOptions {
    /// The length of all chunks but the last, in bytes; at least 1.
    pub chunk_len: usize,
    /// Ends the stream with `ECANCELED` when triggered.
    pub cancel: CancellationToken,
}

/// Options of listing a tree.
#[derive(Debug, Clone)]
pub struct WalkOptions {
    /// The number of levels to list: 1 is the directory itself.
    pub max_depth: usize,
    /// Whether names that begin with a dot are listed, with everything below them.
    pub hidden: bool,
    /// The listing fails with `EFBIG` if the tree has more entries.
    pub max_entries: usize,
    /// Whether sizes and times are those of now. Otherwise they may be older, which is cheaper.
    pub measured: bool,
    /// Whether only paths, names, ids and kinds are asked for, which is cheaper still. The sizes of
    /// files may then be older, and all else may be as in a new [`DirEntry`](crate::DirEntry).
    pub kinds_only: bool,
    /// Whether the whole tree is listed as of one moment, in one batch, if the backend can.
    pub at_once: bool,
}

/// A new value of an attribute of an object; see
/// [`FileSystem::set_attribute`](crate::FileSystem::set_attribute).
#[derive(Debug, Clone, PartialEq)]
pub enum FileAttribute {
    /// The modification time.
    Mtime(Millis),
    /// The permission bits; only the bits in `0o7777` count.
    Mode(u32),
    /// The custom metadata, as a whole.
    Metadata(Metadata),
}

/// Options of reading changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChangesOptions {
    /// The greatest number of changes in one page.
    pub limit: usize,
    /// The longest time to wait for a first change; the call does not wait if absent.
    pub wait: Option<Duration>,
}

impl Default for WriteOptions {
    fn default() -> Self {
        Self {
            create: CreateMode::default(),
            base: None,
            expected_version: None,
            mode: None,
            mime: None,
            metadata: None,
            mtime: None,
            author: None,
            parents: true,
            follow: true,
        }
    }
}

impl Default for CopyOptions {
    fn default() -> Self {
        Self { recursive: false, replace: true, parents: true }
    }
}

impl Default for MoveOptions {
    fn default() -> Self {
        Self { replace: true, parents: true }
    }
}

impl Default for StreamOptions {
    fn default() -> Self {
        Self { chunk_len: DEFAULT_CHUNK_LEN, cancel: CancellationToken::new() }
    }
}

impl Default for WalkOptions {
    fn default() -> Self {
        Self {
            max_depth: usize::MAX,
            hidden: true,
            max_entries: usize::MAX,
            measured: true,
            kinds_only: false,
            at_once: false,
        }
    }
}

impl Default for ChangesOptions {
    fn default() -> Self {
        Self { limit: 1_000, wait: None }
    }
}

impl FileAttribute {
    /// Returns the operation that sets the attribute.
    pub fn op(&self) -> Op {
        match self {
            Self::Mtime(_) => Op::Utimes,
            Self::Mode(_) => Op::Chmod,
            Self::Metadata(_) => Op::SetMetadata,
        }
    }
}

impl MkdirOptions {
    /// Returns options that create missing parents and accept an existing directory.
    pub fn recursive() -> Self {
        Self { recursive: true, mode: None }
    }
}
