//! How an operation is to be done. Every struct has the default that shells and editors expect.

use std::time::Duration;

use bytes::Bytes;
use smol_str::SmolStr;
use yfs_types::{actor::Actor, time::Millis};

use crate::{
    stat::{Metadata, VersionToken},
    stream::{CancelToken, DEFAULT_CHUNK_LEN},
};

/// How content is written.
#[derive(Debug, Clone, PartialEq)]
pub struct WriteOptions {
    /// Whether the file may, must or must not exist.
    pub create: CreateMode,
    /// What the writer had read before it made its change, so that what others did meanwhile stays.
    pub base: Option<VersionBase>,
    /// Refuse with `ESTALE` unless the file's version is this one.
    pub expected_version: Option<VersionToken>,
    /// Permission bits; without them a new file gets 0644 and an existing one keeps its own.
    pub mode: Option<u32>,
    /// The media type; without it a new file has what its name suggests.
    pub mime: Option<SmolStr>,
    /// Replaces the custom metadata.
    pub metadata: Option<Metadata>,
    /// The time of the change; without it, now.
    pub mtime: Option<Millis>,
    /// On whose behalf; without it, that of whoever holds the filesystem.
    pub author: Option<ChangeAuthor>,
    /// Whether missing directories above the file are made.
    pub parents: bool,
    /// Whether a symbolic link at the end of the path is followed, or else replaced by a file.
    pub follow: bool,
}

/// Whether a file may, must or must not exist before it is written.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub enum CreateMode {
    /// It may: it is created or replaced.
    #[default]
    IfMissing,
    /// It must not (`EEXIST`), and of several that try at once exactly one succeeds.
    New,
    /// It must (`ENOENT`).
    Never,
}

/// What a writer had read before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum VersionBase {
    /// The version that came with the read.
    Version(VersionToken),
    /// The content itself.
    Content(Bytes),
}

/// Who changed something, and in which of their activities.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangeAuthor {
    /// Who.
    pub actor: Actor,
    /// What they were doing: a session, a tool call, a commit message.
    pub label: Option<SmolStr>,
}

/// How a directory is made.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct MkdirOptions {
    /// Whether missing directories above it are made too, and an existing one is welcome.
    pub recursive: bool,
    /// Permission bits; without them 0755.
    pub mode: Option<u32>,
}

/// How something is removed.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct RemoveOptions {
    /// Whether a directory goes with all it holds; without it, only if it is empty.
    pub recursive: bool,
    /// Whether it is fine if nothing is there.
    pub force: bool,
}

/// How something is copied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CopyOptions {
    /// Whether a directory is copied with all it holds; without it, that is `EISDIR`.
    pub recursive: bool,
    /// Whether what is at the destination is replaced; without it, that is `EEXIST`.
    pub replace: bool,
    /// Whether missing directories above the destination are made.
    pub parents: bool,
}

/// How something is moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MoveOptions {
    /// Whether what is at the destination is replaced; without it, that is `EEXIST`.
    pub replace: bool,
    /// Whether missing directories above the destination are made.
    pub parents: bool,
}

/// How a file is read as a stream.
#[derive(Debug, Clone)]
pub struct StreamOptions {
    /// The length of all chunks but the last, in bytes; at least 1.
    pub chunk_len: usize,
    /// Ends the stream with `ECANCELED` when triggered.
    pub cancel: CancelToken,
}

/// How a tree is listed.
#[derive(Debug, Clone)]
pub struct WalkOptions {
    /// How many levels are listed: 1 is the directory itself.
    pub max_depth: usize,
    /// Whether names that begin with a dot are listed, and what lies below them.
    pub hidden: bool,
    /// Refuse with `EFBIG` where the tree holds more entries.
    pub max_entries: usize,
}

/// How changes are asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChangesOptions {
    /// The greatest number of changes in one answer.
    pub limit: usize,
    /// How long to wait for a first change; without it, not at all.
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
        Self { chunk_len: DEFAULT_CHUNK_LEN, cancel: CancelToken::new() }
    }
}

impl Default for WalkOptions {
    fn default() -> Self {
        Self { max_depth: usize::MAX, hidden: true, max_entries: usize::MAX }
    }
}

impl Default for ChangesOptions {
    fn default() -> Self {
        Self { limit: 1_000, wait: None }
    }
}

impl MkdirOptions {
    /// Makes missing directories too, and welcomes an existing one.
    pub fn recursive() -> Self {
        Self { recursive: true, mode: None }
    }
}
