//! The filesystem as a trait, with its contract.
//!
//! [`FileSystem`] is the minimum that an implementor supplies. Its methods with a body are correct
//! defaults, which a backend may override with a faster implementation.
//! [`FileSystemExt`](crate::FileSystemExt) adds methods that are expressed in terms of it.
//! The crate `yfs-conformance` tests everything written here.

use std::{fmt, sync::Arc};

use async_trait::async_trait;
use bytes::Bytes;
use futures::stream;
use yfs_types::{actor::Actor, id::FileId, path::VPath};

use crate::{
    changes::{ChangeCursor, ChangePage},
    edit::{EditOutcome, TextReplacement},
    error::{FsCode, FsError, Op},
    fs_view::FsView,
    glob::{self, GlobQuery, GlobResult},
    grep::{self, GrepQuery, GrepResult, GrepSink},
    options::{
        ChangesOptions, CopyOptions, FileAttribute, MkdirOptions, MoveOptions, RemoveOptions,
        StreamOptions, WalkOptions, WriteOptions,
    },
    stat::{DirEntry, Stat, VersionToken},
    stream::{ChunkStream, DirectoryStream, WalkStream, chunks_of},
    walk,
};

/// The result of reading a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileContent {
    /// The bytes.
    pub data: Bytes,
    /// The version of these bytes; pass it as the base of the following write.
    pub version: VersionToken,
}

/// The result of writing a file.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct WriteOutcome {
    /// The file.
    pub id: FileId,
    /// The version of the stored content, if the caller knows that content: it equals the data that
    /// was written, or the call named the version that it changed.
    ///
    /// It is absent where the content may hold changes that the caller never read (a merge with a
    /// base, an append or edit without [`WriteOptions::expected_version`]). A caller that saved
    /// again with such a version would delete these changes, so it must read first.
    pub version: Option<VersionToken>,
    /// Whether the stored content differs from the data that was written, because changes of other
    /// writers were merged into it.
    pub merged: bool,
    /// The size of the file afterwards, in bytes.
    pub size: u64,
    /// Whether the write created the file.
    pub created: bool,
    /// Ranges where this write changed text that another writer had changed since the base.
    pub overlaps: Vec<EditOverlap>,
}

/// A range that two writers changed concurrently; both changes are in the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EditOverlap {
    /// The offset in bytes from the beginning of the file, as it is after the write.
    pub offset: u64,
    /// The length of the range, in bytes.
    pub len: u64,
    /// The other writer, if known.
    pub actor: Option<Actor>,
}

/// A tree of files.
///
/// # Paths
///
/// A [`VPath`] is absolute and normalized as text alone, so `..` never passes a symbolic link, and
/// a slash at the end of a path that a user typed has no effect. Lookup then walks from the root:
///
/// - A missing component is `ENOENT`. A component that must be a directory and is not one is
///   `ENOTDIR`. A component of more than 255 bytes is `ENAMETOOLONG`.
/// - Symbolic links before the last component are followed. A target is relative to the directory
///   that holds the link, or to the root of *this* filesystem if it begins with a slash. `..` in a
///   target goes up from where the walk is, and stays at the root. More than 40 links are `ELOOP`.
///   A backend on a host, where other programs read the same links, rejects a link that leads
///   outside with `EACCES` instead.
/// - A link at the end is followed by [`read`](Self::read) and its variants, [`write`](Self::write)
///   (see [`WriteOptions::follow`]), [`append`](Self::append), [`edit`](Self::edit),
///   [`stat`](Self::stat), [`readdir`](Self::readdir), [`walk_batches`](Self::walk_batches) and its
///   variants, [`realpath`](Self::realpath) and [`set_attribute`](Self::set_attribute). All other
///   methods act on the link itself.
///
/// A name that a call creates must be a [`NodeName`](yfs_types::name::NodeName); otherwise the call
/// returns `EINVAL` or `ENAMETOOLONG`. Names are case sensitive. A backend may store and look up
/// names in normalization form C.
///
/// # Every operation
///
/// - An operation is atomic: it takes effect completely or not at all. **A rejected call changes
///   nothing**: it leaves no parent directory behind, breaks no link and writes no byte.
/// - After it returns, every later call on any handle of the same filesystem sees its effect.
/// - Dropping its future before the end leaves either the old state or the new one.
/// - Besides the errors that it lists, an operation returns the lookup errors above. Any operation
///   may return `EIO` (the store or the host fails) or `EACCES` (not allowed); those that write may
///   return `EROFS` and `ENOSPC`. What a backend does not support is `ENOSYS`, after the checks
///   that it can do.
///
/// # Identity
///
/// A [`FileId`] identifies an object for as long as it exists, through every rename and move.
/// Replacing a file's content, by writing or by moving or copying another file over it, keeps the
/// id where the backend can (`keeps_identity` of the conformance suite). Removing
/// may mean moving to a trash: only the path is guaranteed to be free.
///
/// # Differences from POSIX
///
/// `write`, `append`, `cp`, `mv` and `symlink` make missing parent directories unless the options
/// forbid it. `rm` removes empty directories. A recursive `mkdir` of an existing directory
/// succeeds. `cp` keeps mode, time and metadata and copies links as links. The filesystem interface
/// of just-bash, on which agents' shells are built, behaves the same. Modes are stored and reported
/// but not enforced: there are no users.
#[async_trait]
pub trait FileSystem: Send + Sync + fmt::Debug {
    /// Returns the whole content of a file and its version, both as of one moment.
    ///
    /// `EISDIR` for a directory; `EIO` where the bytes are known but not available here.
    async fn read(&self, path: &VPath) -> Result<FileContent, FsError>;

    /// Returns up to `len` bytes starting at byte `offset`: fewer only at the end of the file, none
    /// past it.
    ///
    /// Errors as [`read`](Self::read).
    async fn read_range(&self, path: &VPath, offset: u64, len: u64) -> Result<Bytes, FsError> {
        let data = self.read(path).await?.data;
        let n_bytes = data.len() as u64;
        let start = offset.min(n_bytes);
        let end = start.saturating_add(len).min(n_bytes);
        Ok(data.slice(start as usize..end as usize))
    }

    /// Returns the content of a file in chunks, all of one version (`docs/spec/thread-files.md`,
    /// section 8).
    ///
    /// All chunks but the last are [`StreamOptions::chunk_len`] bytes long; an empty file is one
    /// empty chunk. After [`StreamOptions::cancel`] is triggered, the next item is `ECANCELED` and
    /// the last; chunks already yielded stay valid. Dropping the stream ends the reading as well.
    /// If the backend cannot hold on to the version while another writer replaces it, the stream
    /// fails with `ESTALE`.
    ///
    /// Errors as [`read`](Self::read), from the call or from the stream.
    async fn read_stream(
        &self,
        path: &VPath,
        options: &StreamOptions,
    ) -> Result<ChunkStream, FsError> {
        let content = self.read(path).await?;
        Ok(chunks_of(path, content.data, options))
    }

    /// Replaces the content of a file with `data`.
    ///
    /// With a [base](WriteOptions::base), changes that other writers made since the base are kept:
    /// the write applies the difference between the base and `data`. A backend that cannot merge
    /// returns `ESTALE` if the base is no longer the content, and never overwrites content that the
    /// writer has not read.
    ///
    /// - `EISDIR`: a directory is at the path.
    /// - `EEXIST`: [`CreateMode::New`](crate::CreateMode::New) and the path exists, even as a
    ///   broken link.
    /// - `ENOENT`: [`CreateMode::Never`](crate::CreateMode::Never) and the path does not exist; or
    ///   a parent is missing and [`WriteOptions::parents`] is off.
    /// - `ESTALE`: the version is not the expected one (a file that does not exist has none), or
    ///   the base can no longer be found.
    /// - `EINVAL`, `ENAMETOOLONG`: invalid name. `EFBIG`: too large for one file.
    async fn write(
        &self,
        path: &VPath,
        data: Bytes,
        options: &WriteOptions,
    ) -> Result<WriteOutcome, FsError>;

    /// Appends `data` to a file, and creates the file if it is missing.
    ///
    /// Concurrent appends all take effect, each in one piece. Options and errors are those of
    /// [`write`](Self::write), except that `base` and `follow` are ignored and an existing file
    /// keeps its mode whatever the options say.
    async fn append(
        &self,
        path: &VPath,
        data: Bytes,
        options: &WriteOptions,
    ) -> Result<WriteOutcome, FsError>;

    /// Replaces text inside a file. Finding and replacing are one step, so that all of several
    /// concurrent edits take effect.
    ///
    /// `EINVAL` with an [`EditRefusal`](crate::EditRefusal) as its source if the text is empty,
    /// missing, present several times (without [`TextReplacement::all`]), or the file is not UTF-8;
    /// `EISDIR`; `ESTALE` if the version is not the expected one.
    async fn edit(&self, path: &VPath, edit: &TextReplacement) -> Result<EditOutcome, FsError>;

    /// Returns the description of the object at the path, following links.
    async fn stat(&self, path: &VPath) -> Result<Stat, FsError>;

    /// Returns the description of the object at the path, without following a link at its end.
    async fn lstat(&self, path: &VPath) -> Result<Stat, FsError>;

    /// Returns the entries of a directory, ordered by the code points of their names.
    ///
    /// `ENOTDIR` for anything else.
    async fn readdir(&self, path: &VPath) -> Result<Vec<DirEntry>, FsError>;

    /// Creates a directory.
    ///
    /// - `EEXIST`: the path exists; with [`MkdirOptions::recursive`] only if it is not a directory
    ///   (a link to a directory counts as one).
    /// - `ENOENT`: a parent is missing, unless recursive.
    /// - `EINVAL`, `ENAMETOOLONG`: invalid name.
    async fn mkdir(&self, path: &VPath, options: &MkdirOptions) -> Result<(), FsError>;

    /// Removes a file, a link (not its target) or a directory.
    ///
    /// - `ENOTEMPTY`: a directory is not empty, unless [`RemoveOptions::recursive`].
    /// - `ENOENT`: the path does not exist, unless [`RemoveOptions::force`], which also ignores
    ///   `ENOTDIR`.
    /// - `EBUSY`: the path is the root.
    async fn rm(&self, path: &VPath, options: &RemoveOptions) -> Result<(), FsError>;

    /// Copies a file, a link (as a link), or a directory with all its content.
    ///
    /// The copy has the source's mode, time, media type and metadata, and ids of its own. Copying a
    /// directory onto an existing directory merges the two.
    ///
    /// - `EISDIR`: a directory without [`CopyOptions::recursive`]; or another kind onto a
    ///   directory.
    /// - `ENOTDIR`: a directory onto another kind.
    /// - `EINVAL`: a directory into itself, or anything onto itself.
    /// - `EEXIST`: the destination exists and [`CopyOptions::replace`] is off.
    /// - `ENOENT`: the source is missing; or a parent is missing and [`CopyOptions::parents`] is
    ///   off.
    async fn cp(&self, from: &VPath, to: &VPath, options: &CopyOptions) -> Result<(), FsError>;

    /// Moves or renames a file, a link or a directory with all its content.
    ///
    /// A file or link replaces a file or link, a directory replaces an empty directory. Moving an
    /// object onto itself does nothing.
    ///
    /// - `ENOTEMPTY`: onto a directory that is not empty.
    /// - `EISDIR`: a file or link onto a directory. `ENOTDIR`: a directory onto a file or link.
    /// - `EINVAL`: a directory into itself; an invalid name.
    /// - `EBUSY`: from or onto the root.
    /// - `EEXIST`: the destination exists and [`MoveOptions::replace`] is off.
    /// - `ENOENT`: the source is missing; or a parent is missing and [`MoveOptions::parents`] is
    ///   off.
    async fn mv(&self, from: &VPath, to: &VPath, options: &MoveOptions) -> Result<(), FsError>;

    /// Creates a symbolic link at `path`. Its text is `target`, unchanged; the target need not
    /// exist.
    ///
    /// `EEXIST` if the path exists; `ENOENT` for an empty target and `EINVAL` for one with a NUL;
    /// `ENAMETOOLONG` for one of more than 4,095 bytes.
    async fn symlink(&self, target: &str, path: &VPath) -> Result<(), FsError>;

    /// Returns the text of a symbolic link.
    ///
    /// `EINVAL` for anything else.
    async fn readlink(&self, path: &VPath) -> Result<String, FsError>;

    /// Creates a hard link to a file. Most backends cannot, and return `ENOSYS` after the checks.
    ///
    /// `EPERM` for a directory; `EEXIST` if `path` exists.
    async fn link(&self, existing: &VPath, path: &VPath) -> Result<(), FsError> {
        let fail = |code| Err(FsError::new(code, Op::Link, existing).to(path));
        let stat = self.lstat(existing).await.map_err(|error| error.during(Op::Link).to(path))?;
        if stat.is_directory() {
            return fail(FsCode::EPERM);
        }
        match self.lstat(path).await {
            Ok(_) => fail(FsCode::EEXIST),
            Err(error) if error.code == FsCode::ENOENT => fail(FsCode::ENOSYS),
            Err(error) => Err(error.during(Op::Link)),
        }
    }

    /// Returns the path of the same object without any symbolic link.
    async fn realpath(&self, path: &VPath) -> Result<VPath, FsError>;

    /// Sets an attribute of the object.
    ///
    /// `ENOSYS` if the backend cannot store [metadata](FileAttribute::Metadata).
    async fn set_attribute(&self, path: &VPath, attribute: FileAttribute) -> Result<(), FsError>;

    /// Lists the tree below a directory in batches: each directory before its content, siblings in
    /// the order of [`readdir`](Self::readdir). Links below it are listed and not followed.
    ///
    /// The memory that a caller needs does not grow with the tree. Unless
    /// [`WalkOptions::at_once`] is set, what changes between two batches may be listed as it was
    /// before or as it is then. An error ends the stream.
    ///
    /// `ENOTDIR` for anything but a directory; `EFBIG` above [`WalkOptions::max_entries`]. Objects
    /// that vanish during the walk are left out. A path that would be longer than
    /// [`MAX_PATH_LEN`](yfs_types::path::MAX_PATH_LEN) begins with the object's path by its id, if
    /// the backend has such paths.
    fn walk_batches<'a>(&'a self, path: &'a VPath, options: &'a WalkOptions) -> WalkStream<'a> {
        Box::pin(stream::once(walk::walk(self, path, options)))
    }

    /// Lists the names of a tree, directory by directory: the given one first, then those in it in
    /// the order of their names, each before those below it. There is a listing for each directory
    /// above the depth of the options, also for one that vanished meanwhile: it is empty.
    ///
    /// It lists what [`walk_batches`](Self::walk_batches) lists, with the same paths, errors and
    /// limits, and costs less. What changes meanwhile may be listed as it was or is, and an error
    /// ends the stream.
    fn walk_directories<'a>(
        &'a self,
        path: &'a VPath,
        options: &'a WalkOptions,
    ) -> DirectoryStream<'a> {
        walk::walk_directories(self, path, options)
    }

    /// Finds paths by pattern. See [`GlobQuery`].
    ///
    /// `EINVAL` for a bad pattern; `ENOTDIR` or `ENOENT` for a bad root of the search.
    async fn glob(&self, query: &GlobQuery) -> Result<GlobResult, FsError> {
        glob::glob(self, query).await
    }

    /// Finds lines by pattern, and passes them to `sink`, so that the memory that a search needs
    /// does not grow with the lines that it finds. See [`GrepQuery`]. The result has no files.
    ///
    /// `EINVAL` for a bad pattern; `ENOENT` if the root of the search does not exist.
    async fn grep_each(
        &self,
        query: &GrepQuery,
        sink: &mut dyn GrepSink,
    ) -> Result<GrepResult, FsError> {
        grep::grep_each(self, query, sink).await
    }

    /// Returns another handle to the same filesystem, or `None` if the backend has no such handle,
    /// or it would be no different.
    fn view(&self, view: FsView<'_>) -> Option<Arc<dyn FileSystem>> {
        let _ = view;
        None
    }

    /// Returns the cursor at the current end of the log of changes.
    ///
    /// `ENOSYS` if the backend does not watch for changes.
    async fn cursor(&self) -> Result<ChangeCursor, FsError> {
        Err(FsError::bare(FsCode::ENOSYS, Op::Watch))
    }

    /// Returns the changes since a cursor, including those of other writers.
    ///
    /// Replaying the changes over a listing taken before `since` yields the current listing. With
    /// [`ChangesOptions::wait`], the call returns an empty page only after that time. Several
    /// changes of one object may be reported as one.
    ///
    /// `ESTALE`, for which [`FsError::is_cursor_lost`] holds, if the log no longer reaches back
    /// that far: the caller must list the whole tree again.
    async fn changes(
        &self,
        since: &ChangeCursor,
        options: &ChangesOptions,
    ) -> Result<ChangePage, FsError> {
        let _ = (since, options);
        Err(FsError::bare(FsCode::ENOSYS, Op::Watch))
    }
}

impl WriteOutcome {
    /// Makes the outcome of a write without overlaps. Pass `version` if the caller knows the stored
    /// content.
    pub fn new(
        id: FileId,
        version: impl Into<Option<VersionToken>>,
        size: u64,
        created: bool,
    ) -> Self {
        let version = version.into();
        Self { id, version, merged: false, size, created, overlaps: Vec::new() }
    }

    /// Removes the version, unless the caller named the version that it appended to or the append
    /// created the file.
    #[must_use]
    pub fn appended(mut self, options: &WriteOptions) -> Self {
        if !self.created && options.expected_version.is_none() {
            self.version = None;
        }
        self
    }
}
