//! The filesystem as a trait, with its contract.
//!
//! [`FileSystem`] is the least that an implementor supplies; methods with a body are there so that a
//! backend that can do better may, and are right as they stand. [`FileSystemExt`](crate::FileSystemExt)
//! adds what can be said in terms of it. [`crate::conformance`] tests all that is written here.

use std::fmt;

use async_trait::async_trait;
use bytes::Bytes;
use yfs_types::{actor::Actor, id::FileId, path::VPath, time::Millis};

use crate::{
    changes::{ChangeCursor, ChangePage},
    edit::{EditOutcome, TextReplacement},
    error::{FsCode, FsError, Op},
    glob::{GlobQuery, GlobResult},
    grep::{GrepQuery, GrepResult},
    line_page::LinePage,
    options::{
        ChangesOptions, CopyOptions, MkdirOptions, MoveOptions, RemoveOptions, StreamOptions,
        WalkOptions, WriteOptions,
    },
    stat::{DirEntry, Metadata, Stat, TreeTotals, VersionToken, WalkEntry},
    stream::{ChunkStream, chunks_of},
    walk,
};

/// What reading a file returns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileContent {
    /// The bytes.
    pub data: Bytes,
    /// The version that they are; pass it as the base of the write that follows.
    pub version: VersionToken,
}

/// What writing a file did.
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
    /// Whether the stored content is not the data that was written, because changes of others were
    /// merged into it.
    pub merged: bool,
    /// The size of the file afterwards, in bytes.
    pub size: u64,
    /// Whether the write created the file.
    pub created: bool,
    /// Where the writer changed what somebody else had changed since the base.
    pub overlaps: Vec<EditOverlap>,
}

/// A place where two people changed the same thing; both changes are in the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EditOverlap {
    /// Where, in bytes from the beginning of the file as it is after the write.
    pub offset: u64,
    /// How much of the file is concerned, in bytes.
    pub len: u64,
    /// Who the other is, where that is known.
    pub actor: Option<Actor>,
}

/// A tree of files.
///
/// # Paths
///
/// A [`VPath`] is absolute and normalised by its text alone, so `..` never passes a symbolic link and
/// a slash at the end of what a user typed means nothing. Look-up then walks from the root:
///
/// - a component that is missing is `ENOENT`; one that should hold more and is no directory,
///   `ENOTDIR`; one of more than 255 bytes, `ENAMETOOLONG`;
/// - symbolic links on the way are followed. Their target counts from the directory that holds them,
///   or from the root of *this* filesystem if it begins with a slash. `..` in a target goes up from
///   where the walk is, and stays at the root. More than forty links are `ELOOP`. A backend on a host,
///   where other programs read the same links, refuses one that leads outside with `EACCES` instead;
/// - a link at the end is followed by [`read`](Self::read) and its kin, [`write`](Self::write) (see
///   [`WriteOptions::follow`]), [`append`](Self::append), [`edit`](Self::edit), [`stat`](Self::stat),
///   [`readdir`](Self::readdir), [`walk`](Self::walk), [`realpath`](Self::realpath),
///   [`utimes`](Self::utimes), [`chmod`](Self::chmod) and [`set_metadata`](Self::set_metadata), and
///   taken as itself by all others.
///
/// A name that is to be created must be a [`Name`](yfs_types::name::NodeName): else `EINVAL` or
/// `ENAMETOOLONG`. Names are case sensitive. A backend may store and look names up in normalisation
/// form C.
///
/// # Every operation
///
/// - It happens whole or not at all. **A refused call changes nothing**: no parent directory is left
///   behind, no link is broken, no byte is written.
/// - When it returns, every later call on any handle of the same filesystem sees what it did.
/// - Dropping its future before the end leaves either the old state or the new one.
/// - Besides the errors that it lists, look-up gives those above; any may answer `EIO` (the store or
///   the host fails), `EACCES` (not allowed), and those that write `EROFS` and `ENOSPC`. What a
///   backend does not have is `ENOSYS`, after the checks that it can do.
///
/// # Identity
///
/// A [`FileId`] names an object for as long as it exists, through every rename and move. Replacing a
/// file's content, by writing or by moving or copying another file over it, keeps the id where the
/// backend can ([`Capabilities::keeps_identity`](crate::conformance::BackendCapabilities)). Removing may mean
/// moving to a trash: what is promised is that the path is free.
///
/// # Where it differs from POSIX
///
/// `write`, `append`, `cp`, `mv` and `symlink` make missing parent directories unless told not to,
/// `rm` takes empty directories, `mkdir` of what exists is fine when recursive, `cp` keeps mode, time
/// and metadata and copies links as links: so does the filesystem interface of just-bash, from which
/// agents' shells come. Modes are kept and shown, and not enforced: there are no users.
#[async_trait]
pub trait FileSystem: Send + Sync + fmt::Debug {
    /// Returns the whole content of a file, and its version, as of one moment.
    ///
    /// `EISDIR` for a directory; `EIO` where the bytes are known but not here.
    async fn read(&self, path: &VPath) -> Result<FileContent, FsError>;

    /// Returns up to `len` bytes from byte `offset` on: fewer only where the file ends, none past it.
    ///
    /// Errors as [`read`](Self::read).
    async fn read_range(&self, path: &VPath, offset: u64, len: u64) -> Result<Bytes, FsError> {
        let data = self.read(path).await?.data;
        let n_bytes = data.len() as u64;
        let start = offset.min(n_bytes);
        let end = start.saturating_add(len).min(n_bytes);
        Ok(data.slice(start as usize..end as usize))
    }

    /// Returns up to `limit` lines from line `offset` (counted from 0) on. See [`LinePage`].
    ///
    /// Errors as [`read`](Self::read).
    async fn read_lines(&self, path: &VPath, offset: u64, limit: u64) -> Result<LinePage, FsError> {
        let content = self.read(path).await?;
        Ok(LinePage::of(&content.data, offset, limit, content.version))
    }

    /// Returns the content of a file in chunks, which all come from one version (seed 000, section 8).
    ///
    /// All chunks but the last are [`StreamOptions::chunk_len`] bytes long; an empty file is one empty
    /// chunk. Triggering [`StreamOptions::cancel`] makes the next item `ECANCELED` and the last; chunks
    /// already yielded stay valid. Dropping the stream ends the reading as well. Where the backend
    /// cannot hold on to the version while somebody replaces it, the stream fails with `ESTALE`.
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

    /// Makes `data` the content of a file.
    ///
    /// With a [base](WriteOptions::base), what others changed since stays: what lands is the change
    /// from the base to `data`. A backend that cannot merge refuses with `ESTALE` if the base is no
    /// longer the content, and never overwrites what the writer has not seen.
    ///
    /// - `EISDIR`: a directory is there.
    /// - `EEXIST`: [`Create::New`](crate::CreateMode::New) and something is there, even a broken link.
    /// - `ENOENT`: [`Create::Never`](crate::CreateMode::Never) and nothing is there; or a parent is
    ///   missing and [`WriteOptions::parents`] is off.
    /// - `ESTALE`: the version is not the one expected (a file that does not exist has none), or the
    ///   base can no longer be found.
    /// - `EINVAL`, `ENAMETOOLONG`: the name. `EFBIG`: too large for one file.
    async fn write(
        &self,
        path: &VPath,
        data: Bytes,
        options: &WriteOptions,
    ) -> Result<WriteOutcome, FsError>;

    /// Adds `data` to the end of a file, which is created if need be.
    ///
    /// Appends of several callers all land, each in one piece. Options count as in
    /// [`write`](Self::write), whose errors these are, except that `base` and `follow` are ignored and
    /// an existing file keeps its mode whatever they say.
    async fn append(
        &self,
        path: &VPath,
        data: Bytes,
        options: &WriteOptions,
    ) -> Result<WriteOutcome, FsError>;

    /// Replaces text inside a file: finds and splices in one step, so that of several edits that are
    /// made at once all land.
    ///
    /// `EINVAL` with an [`EditRefusal`](crate::EditRefusal) as its source if the text is empty, not
    /// there, there several times (without [`TextReplacement::all`]), or the file is not UTF-8; `EISDIR`;
    /// `ESTALE` if the version is not the one expected.
    async fn edit(&self, path: &VPath, edit: &TextReplacement) -> Result<EditOutcome, FsError>;

    /// Describes what is at the path, through links.
    async fn stat(&self, path: &VPath) -> Result<Stat, FsError>;

    /// Describes what is at the path, and a link as itself.
    async fn lstat(&self, path: &VPath) -> Result<Stat, FsError>;

    /// Lists a directory, in the order of the names' code points.
    ///
    /// `ENOTDIR` for anything else.
    async fn readdir(&self, path: &VPath) -> Result<Vec<DirEntry>, FsError>;

    /// Makes a directory.
    ///
    /// - `EEXIST`: something is there; with [`MkdirOptions::recursive`] only if it is no directory
    ///   (a link to one is one).
    /// - `ENOENT`: a parent is missing, unless recursive.
    /// - `EINVAL`, `ENAMETOOLONG`: a name.
    async fn mkdir(&self, path: &VPath, options: &MkdirOptions) -> Result<(), FsError>;

    /// Removes a file, a link (not what it points to) or a directory.
    ///
    /// - `ENOTEMPTY`: a directory holds something, unless [`RemoveOptions::recursive`].
    /// - `ENOENT`: nothing is there, unless [`RemoveOptions::force`], which also forgives `ENOTDIR`.
    /// - `EBUSY`: it is the root.
    async fn rm(&self, path: &VPath, options: &RemoveOptions) -> Result<(), FsError>;

    /// Copies a file, a link (as a link), or a directory with all it holds.
    ///
    /// The copy has the source's mode, time, media type and metadata, and ids of its own. A directory
    /// that exists at the destination is merged into.
    ///
    /// - `EISDIR`: a directory, not recursive; or something else onto a directory.
    /// - `ENOTDIR`: a directory onto something else.
    /// - `EINVAL`: a directory into itself, or anything onto itself.
    /// - `EEXIST`: the destination exists and [`CopyOptions::replace`] is off.
    /// - `ENOENT`: no source; or no parent and [`CopyOptions::parents`] is off.
    async fn cp(&self, from: &VPath, to: &VPath, options: &CopyOptions) -> Result<(), FsError>;

    /// Moves or renames a file, a link or a directory with all it holds.
    ///
    /// A file or link replaces a file or link, a directory an empty directory. Moving something onto
    /// itself does nothing.
    ///
    /// - `ENOTEMPTY`: onto a directory that holds something.
    /// - `EISDIR`: something that is no directory onto a directory. `ENOTDIR`: the reverse.
    /// - `EINVAL`: a directory into itself; a name.
    /// - `EBUSY`: from or onto the root.
    /// - `EEXIST`: the destination exists and [`MoveOptions::replace`] is off.
    /// - `ENOENT`: no source; or no parent and [`MoveOptions::parents`] is off.
    async fn mv(&self, from: &VPath, to: &VPath, options: &MoveOptions) -> Result<(), FsError>;

    /// Makes a symbolic link at `path`, whose text is `target` as it stands; it need not lead anywhere.
    ///
    /// `EEXIST` if something is there; `ENOENT` or `EINVAL` for a target that is empty or holds a NUL;
    /// `ENAMETOOLONG` for one of more than 4,095 bytes.
    async fn symlink(&self, target: &str, path: &VPath) -> Result<(), FsError>;

    /// Returns the text of a symbolic link.
    ///
    /// `EINVAL` for anything else.
    async fn readlink(&self, path: &VPath) -> Result<String, FsError>;

    /// Gives a file a further name. Most backends cannot, and answer `ENOSYS` after the checks.
    ///
    /// `EPERM` for a directory; `EEXIST` if something is at `path`.
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

    /// Returns the path of the same object without any link.
    async fn realpath(&self, path: &VPath) -> Result<VPath, FsError>;

    /// Sets the time of the last change.
    async fn utimes(&self, path: &VPath, mtime: Millis) -> Result<(), FsError>;

    /// Sets the permission bits, of which `0o7777` count.
    async fn chmod(&self, path: &VPath, mode: u32) -> Result<(), FsError>;

    /// Replaces the custom metadata.
    ///
    /// `ENOSYS` where there is no place for it.
    async fn set_metadata(&self, path: &VPath, metadata: Metadata) -> Result<(), FsError>;

    /// Lists what lies below a directory: each directory before what it holds, siblings in the order of
    /// [`readdir`](Self::readdir). Links below it are listed and not followed.
    ///
    /// `ENOTDIR` for anything but a directory; `EFBIG` above [`WalkOptions::max_entries`]. What
    /// vanishes meanwhile is left out.
    async fn walk(&self, path: &VPath, options: &WalkOptions) -> Result<Vec<WalkEntry>, FsError> {
        walk::walk(self, path, options).await
    }

    /// Finds paths by pattern. See [`GlobQuery`].
    ///
    /// `EINVAL` for a bad pattern; `ENOTDIR`, `ENOENT` for where it is to begin.
    async fn glob(&self, query: &GlobQuery) -> Result<GlobResult, FsError> {
        crate::glob::glob(self, query).await
    }

    /// Finds lines by pattern. See [`GrepQuery`].
    ///
    /// `EINVAL` for a bad pattern; `ENOENT` for where it is to begin.
    async fn grep(&self, query: &GrepQuery) -> Result<GrepResult, FsError> {
        crate::grep::grep(self, query).await
    }

    /// Adds up what lies below a directory; a file or link adds up to itself.
    async fn totals(&self, path: &VPath) -> Result<TreeTotals, FsError> {
        walk::totals(self, path).await
    }

    /// Returns the place in the log of changes that is now.
    ///
    /// `ENOSYS` where changes are not watched.
    async fn cursor(&self) -> Result<ChangeCursor, FsError> {
        Err(FsError::bare(FsCode::ENOSYS, Op::Watch))
    }

    /// Returns what changed since a place in the log of changes, whoever did it.
    ///
    /// Whoever replays the changes over a listing taken before `since` arrives at what is there now. With
    /// [`ChangesOptions::wait`], an answer without changes comes only after that time. Changes of one
    /// object may be told as one.
    ///
    /// `ESTALE` with [`CursorLost`](crate::CursorLost) as its source where the log no longer reaches
    /// back that far: list everything again.
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
    /// Describes a write without overlaps, whose caller knows the stored content if `version` is
    /// given.
    pub fn new(
        id: FileId,
        version: impl Into<Option<VersionToken>>,
        size: u64,
        created: bool,
    ) -> Self {
        let version = version.into();
        Self { id, version, merged: false, size, created, overlaps: Vec::new() }
    }

    /// Withholds the version, unless the caller named the version that it appended to or the append
    /// created the file.
    #[must_use]
    pub fn appended(mut self, options: &WriteOptions) -> Self {
        if !self.created && options.expected_version.is_none() {
            self.version = None;
        }
        self
    }
}
