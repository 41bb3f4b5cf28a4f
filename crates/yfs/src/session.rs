//! A session: one opener's synchronous view of a workspace, which remembers what the opener has
//! read.
//!
//! A program that reads a file, computes, and writes the whole file back would overwrite what
//! others wrote in between. A session knows which content its opener has read last, passes it as
//! the base of the write, and so merges by itself. An embedding that has one opener per connection
//! (a shell, an open file handle, an agent's tool session) makes one session for each.
//!
//! # Invariants
//!
//! - A write of a file that the session has read is never made without a base. Where the base can
//!   no longer be found, the call fails with `ESTALE` and changes nothing.
//! - What counts as read is only content that was returned to the opener or sent by it. After a
//!   merge, the base of the next write is what the opener sent.

mod memory;

use std::{
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    task::{Context, Poll, Wake, Waker},
    thread::{self, Thread},
};

use bytes::Bytes;
use parking_lot::Mutex;
use yfs_engine::{id::FileId, path::VPath, time::Millis};
use yfs_vfs::{
    CopyOptions, DirEntry, EditOutcome, FileContent, FsCode, FsError, GlobQuery, GlobResult,
    GrepQuery, GrepResult, Metadata, MkdirOptions, MoveOptions, Op, RemoveOptions, Stat,
    TextReplacement, TreeTotals, VersionBase, WalkEntry, WalkOptions, WriteOptions, WriteOutcome,
};

use self::memory::{KnownContent, SessionMemory};
use crate::{TextInMemory, Workspace, WorkspaceFs};

/// One opener's synchronous view of a workspace.
///
/// Every call blocks until it is done and may be made from any thread. Calls of one session on one
/// file are meant to be made one after the other; made at once they are safe, but merge.
#[derive(Debug)]
pub struct Session {
    fs: WorkspaceFs,
    memory: Arc<Mutex<SessionMemory>>,
    n_operations: Arc<AtomicU64>,
}

/// Up to how many bytes the content of a file that was appended to is kept beside its version.
const MAX_APPENDED_BYTES: usize = 256 << 10;

/// A text as its bytes.
struct TextBytes(Arc<str>);

impl AsRef<[u8]> for TextBytes {
    fn as_ref(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

/// What a write of a session is based on.
#[derive(Default)]
struct WriteBase {
    /// What the opener has read, best first.
    candidates: Vec<VersionBase>,
    /// Whether the opener has read the file, and what it read is kept no longer.
    is_lost: bool,
}

impl Session {
    pub(crate) fn new(fs: WorkspaceFs) -> Self {
        Self { fs, memory: Arc::default(), n_operations: Arc::default() }
    }

    /// Returns the workspace.
    pub fn workspace(&self) -> Workspace {
        self.fs.workspace()
    }

    /// Returns the filesystem that the session writes through, which remembers nothing.
    pub fn fs(&self) -> &WorkspaceFs {
        &self.fs
    }

    /// Returns the same session with a label on what is changed through it: a tool call, a command.
    /// Both know what was read through either.
    #[must_use]
    pub fn labelled(&self, label: &str) -> Self {
        let fs = self.fs.clone().labelled(label);
        Self { fs, memory: self.memory.clone(), n_operations: self.n_operations.clone() }
    }

    /// Returns how many changes the session has made.
    pub fn n_operations(&self) -> u64 {
        self.n_operations.load(Ordering::Relaxed)
    }

    /// Reads a file, and remembers what was read. A file whose truncation is held back reads as
    /// empty.
    ///
    /// # Errors
    ///
    /// As [`FileSystem::read`](yfs_vfs::FileSystem::read).
    pub fn read(&self, path: &VPath) -> Result<FileContent, FsError> {
        let (id, content) = self.fs.read_with_id(path)?;
        let mut memory = self.memory.lock();
        if memory.is_truncation_held(&id) {
            return Ok(FileContent { data: Bytes::new(), ..content });
        }
        let known = KnownContent::new(Some(content.version.clone()), Some(content.data.clone()));
        memory.remember(&id, known);
        Ok(content)
    }

    /// Reads a text if it is in memory and no longer than this, and remembers what was read.
    /// Returns nothing otherwise, and where a truncation is held back.
    ///
    /// # Errors
    ///
    /// As [`WorkspaceFs::text_in_memory`].
    pub fn text_in_memory(
        &self,
        path: &VPath,
        max_len: usize,
    ) -> Result<Option<TextInMemory>, FsError> {
        let Some(text) = self.fs.text_in_memory(path, max_len)? else { return Ok(None) };
        let mut memory = self.memory.lock();
        if memory.is_truncation_held(&text.id) {
            return Ok(None);
        }
        let content = Bytes::from_owner(TextBytes(text.content.clone()));
        memory.remember(&text.id, KnownContent::new(Some(text.version()), Some(content)));
        Ok(Some(text))
    }

    /// Reads part of a file. What was read that way is no base of a later write.
    ///
    /// # Errors
    ///
    /// As [`FileSystem::read_range`](yfs_vfs::FileSystem::read_range).
    pub fn read_range(&self, path: &VPath, offset: u64, len: u64) -> Result<Bytes, FsError> {
        self.fs.read_range_now(path, offset, len)
    }

    /// Makes `data` the content of a file, as a change of what the session has read of it. Changes
    /// that others made since stay; [`WriteOutcome::merged`] reports whether there were any, and
    /// [`WriteOutcome::overlaps`] where both changed the same.
    ///
    /// A base or an expected version in `options` takes precedence over what the session remembers.
    ///
    /// # Errors
    ///
    /// As [`FileSystem::write`](yfs_vfs::FileSystem::write): `ESTALE` if what the session has read
    /// can no longer be found.
    pub fn write(
        &self,
        path: &VPath,
        data: &[u8],
        options: &WriteOptions,
    ) -> Result<WriteOutcome, FsError> {
        // A link that is not followed is replaced: what it leads to is no base.
        let is_replaced = !options.follow && self.fs.is_link(path);
        let base = if is_replaced { WriteBase::default() } else { self.base_of(path) };
        let written = self.write_from(path, data, options, base).inspect_err(|error| {
            // The file stays as it is, and must be read anew.
            if let Some(id) = self.fs.id_at(path).filter(|_| error.code == FsCode::ESTALE) {
                self.memory.lock().drop_truncation(&id);
            }
        })?;
        let data = Bytes::copy_from_slice(data);
        let known = KnownContent::new(written.version.clone(), Some(data));
        self.changed(&written.id, Some(known));
        Ok(written)
    }

    /// Adds `data` to the end of a file. If a truncation of it is held back, `data` is all that it
    /// holds afterwards.
    ///
    /// # Errors
    ///
    /// As [`FileSystem::append`](yfs_vfs::FileSystem::append).
    pub fn append(
        &self,
        path: &VPath,
        data: &[u8],
        options: &WriteOptions,
    ) -> Result<WriteOutcome, FsError> {
        let known = self.known(path);
        if known.as_ref().is_some_and(|(_, known)| known.is_truncated) {
            let options = WriteOptions { mode: None, ..options.clone() };
            return self.write(path, data, &options);
        }
        let before = known.map(|(_, known)| known);
        let expected = before.as_ref().and_then(|known| known.version.clone());
        let conditional = WriteOptions { expected_version: expected.clone(), ..options.clone() };
        let is_caller_conditional = options.expected_version.is_some();
        let options = if is_caller_conditional { options } else { &conditional };
        let appended = match self.fs.append_now(path, data, options) {
            Err(error) if error.code == FsCode::ESTALE && !is_caller_conditional => {
                let unconditional = WriteOptions { expected_version: None, ..options.clone() };
                self.fs.append_now(path, data, &unconditional)?
            }
            appended => appended?,
        };
        let was_read = before.is_some();
        let content = match before.and_then(|known| known.content) {
            // A log that grows by appends would be copied over and over.
            Some(content) if content.len() + data.len() > MAX_APPENDED_BYTES => None,
            Some(content) => Some(Bytes::from([&content[..], data].concat())),
            None => appended.created.then(|| Bytes::copy_from_slice(data)),
        };
        let known = KnownContent::new(appended.version.clone(), content);
        self.changed(&appended.id, known.or_lost(was_read));
        Ok(appended)
    }

    /// Replaces text inside a file.
    ///
    /// # Errors
    ///
    /// As [`FileSystem::edit`](yfs_vfs::FileSystem::edit).
    pub fn edit(&self, path: &VPath, edit: &TextReplacement) -> Result<EditOutcome, FsError> {
        self.settle(Some(path))?;
        let before = self.known(path);
        let edited = self.fs.edit_now(path, edit)?;
        if let Some((id, known)) = before {
            // Of what others wrote in the meantime the opener has seen nothing.
            let text = known.content.as_ref().and_then(|it| std::str::from_utf8(it).ok());
            let content = text.and_then(|text| edit.apply(text).ok()).map(|(text, _)| text.into());
            let known = KnownContent::new(edited.version.clone(), content);
            self.changed(&id, known.or_lost(true));
        }
        Ok(edited)
    }

    /// Empties a file as the first step of writing it anew. The truncation is held back: the next
    /// [`write`](Self::write) or [`append`](Self::append) to the file makes one change of both, and
    /// [`settle`](Self::settle) makes the truncation alone. Until then only this session sees the
    /// file as empty.
    ///
    /// # Errors
    ///
    /// As [`FileSystem::read`](yfs_vfs::FileSystem::read).
    pub fn truncate(&self, path: &VPath) -> Result<(), FsError> {
        let (id, content) = self.fs.read_with_id(path)?;
        let mut memory = self.memory.lock();
        // Without a reading of its own, the opener replaces what the file holds now.
        let now = || KnownContent::new(Some(content.version), Some(content.data));
        memory.hold_truncation(&id, path, now);
        Ok(())
    }

    /// Reports whether a truncation of the file is held back.
    pub fn is_truncated(&self, path: &VPath) -> bool {
        self.known(path).is_some_and(|(_, known)| known.is_truncated)
    }

    /// Makes the truncations that are held back: of one file, or of all.
    ///
    /// # Errors
    ///
    /// As [`write`](Self::write). A file that was removed or replaced meanwhile is left alone.
    pub fn settle(&self, path: Option<&VPath>) -> Result<(), FsError> {
        let only = path.and_then(|path| self.fs.id_at(path));
        if path.is_some() && only.is_none() {
            return Ok(());
        }
        let held = self.memory.lock().held_truncations(only.as_ref());
        for (id, path) in held {
            if self.fs.id_at(&path).as_ref() == Some(&id) {
                self.write(&path, b"", &WriteOptions::default())?;
            } else {
                self.memory.lock().forget(&id);
            }
        }
        Ok(())
    }

    /// Forgets what was read of a file, so that the next write replaces whatever it holds.
    pub fn forget(&self, path: &VPath) {
        if let Some(id) = self.fs.id_at(path) {
            self.memory.lock().forget(&id);
        }
    }

    /// Moves or renames something.
    ///
    /// # Errors
    ///
    /// As [`FileSystem::mv`](yfs_vfs::FileSystem::mv).
    pub fn mv(&self, from: &VPath, to: &VPath, options: &MoveOptions) -> Result<(), FsError> {
        self.settle(Some(from))?;
        let replaced = [self.fs.id_at(from), self.fs.id_at(to)];
        let is_over = replaced[1].is_some() && replaced[0] != replaced[1];
        self.fs.mv_now(from, to, options)?;
        self.n_operations.fetch_add(1, Ordering::Relaxed);
        if is_over {
            // The destination keeps its id and holds what the source held.
            let mut memory = self.memory.lock();
            replaced.iter().flatten().for_each(|id| memory.forget(id));
        }
        Ok(())
    }

    /// Copies something.
    ///
    /// # Errors
    ///
    /// As [`FileSystem::cp`](yfs_vfs::FileSystem::cp).
    pub fn cp(&self, from: &VPath, to: &VPath, options: &CopyOptions) -> Result<(), FsError> {
        self.settle(Some(from))?;
        self.fs.cp_now(from, to, options)?;
        self.n_operations.fetch_add(1, Ordering::Relaxed);
        // What was copied over is not what the opener read of it, however large the tree around is.
        let to = self.fs.realpath_now(to).unwrap_or_else(|_| to.clone());
        let mut memory = self.memory.lock();
        for id in memory.ids() {
            if self.fs.path_of(&id).is_some_and(|path| path.starts_with(&to)) {
                memory.forget(&id);
            }
        }
        Ok(())
    }

    /// Removes something.
    ///
    /// # Errors
    ///
    /// As [`FileSystem::rm`](yfs_vfs::FileSystem::rm).
    pub fn rm(&self, path: &VPath, options: &RemoveOptions) -> Result<(), FsError> {
        self.fs.rm_now(path, options)?;
        self.n_operations.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    /// Describes what is at a path, through links. A file whose truncation is held back is empty.
    ///
    /// # Errors
    ///
    /// As [`FileSystem::stat`](yfs_vfs::FileSystem::stat).
    pub fn stat(&self, path: &VPath) -> Result<Stat, FsError> {
        let mut stat = self.fs.stat_now(path, Op::Stat)?;
        if self.memory.lock().is_truncation_held(&stat.id) {
            stat.size = 0;
        }
        Ok(stat)
    }

    /// Returns what the session has read of a file, and its id.
    fn known(&self, path: &VPath) -> Option<(FileId, KnownContent)> {
        let id = self.fs.id_at(path)?;
        let known = self.memory.lock().get(&id)?;
        Some((id, known))
    }

    fn base_of(&self, path: &VPath) -> WriteBase {
        let known = self.known(path).map(|(_, known)| known);
        known.map_or_else(WriteBase::default, |known| WriteBase {
            is_lost: known.is_lost,
            candidates: known.bases(),
        })
    }

    /// Writes from the first base that can be found.
    fn write_from(
        &self,
        path: &VPath,
        data: &[u8],
        options: &WriteOptions,
        base: WriteBase,
    ) -> Result<WriteOutcome, FsError> {
        // A version that the session handed out may be gone from the log, and its content still be
        // known.
        let is_other = |told: &VersionBase| !base.candidates.contains(told);
        let is_told =
            options.expected_version.is_some() || options.base.as_ref().is_some_and(is_other);
        if is_told || (base.candidates.is_empty() && !base.is_lost) {
            return self.fs.write_now(path, data, options);
        }
        let mut refusal = None;
        for base in base.candidates {
            let options = WriteOptions { base: Some(base), ..options.clone() };
            match self.fs.write_now(path, data, &options) {
                Err(error) if error.code == FsCode::ESTALE => refusal = Some(error),
                written => return written,
            }
        }
        Err(refusal.unwrap_or_else(|| FsError::new(FsCode::ESTALE, Op::Open, path)))
    }

    /// Notes a change of the session, and what its opener knows of the file now.
    fn changed(&self, id: &FileId, known: Option<KnownContent>) {
        self.n_operations.fetch_add(1, Ordering::Relaxed);
        let mut memory = self.memory.lock();
        match known {
            Some(known) => memory.remember(id, known),
            None => memory.forget(id),
        }
    }
}

/// Calls that depend on nothing that the session has read.
impl Session {
    /// Describes what is at a path, and a link as itself.
    ///
    /// # Errors
    ///
    /// As [`FileSystem::lstat`](yfs_vfs::FileSystem::lstat).
    pub fn lstat(&self, path: &VPath) -> Result<Stat, FsError> {
        self.fs.stat_now(path, Op::Lstat)
    }

    /// Lists a directory.
    ///
    /// # Errors
    ///
    /// As [`FileSystem::readdir`](yfs_vfs::FileSystem::readdir).
    pub fn readdir(&self, path: &VPath) -> Result<Vec<DirEntry>, FsError> {
        self.fs.readdir_now(path)
    }

    /// Makes a directory.
    ///
    /// # Errors
    ///
    /// As [`FileSystem::mkdir`](yfs_vfs::FileSystem::mkdir).
    pub fn mkdir(&self, path: &VPath, options: &MkdirOptions) -> Result<(), FsError> {
        self.fs.mkdir_now(path, options)
    }

    /// Makes a symbolic link.
    ///
    /// # Errors
    ///
    /// As [`FileSystem::symlink`](yfs_vfs::FileSystem::symlink).
    pub fn symlink(&self, target: &str, path: &VPath) -> Result<(), FsError> {
        self.fs.symlink_now(target, path)
    }

    /// Returns the text of a symbolic link.
    ///
    /// # Errors
    ///
    /// As [`FileSystem::readlink`](yfs_vfs::FileSystem::readlink).
    pub fn readlink(&self, path: &VPath) -> Result<String, FsError> {
        self.fs.readlink_now(path)
    }

    /// Returns the path of the same object without any link.
    ///
    /// # Errors
    ///
    /// As [`FileSystem::realpath`](yfs_vfs::FileSystem::realpath).
    pub fn realpath(&self, path: &VPath) -> Result<VPath, FsError> {
        self.fs.realpath_now(path)
    }

    /// Sets the time of the last change.
    ///
    /// # Errors
    ///
    /// As [`FileSystem::utimes`](yfs_vfs::FileSystem::utimes).
    pub fn utimes(&self, path: &VPath, mtime: Millis) -> Result<(), FsError> {
        self.fs.utimes_now(path, mtime)
    }

    /// Sets the permission bits.
    ///
    /// # Errors
    ///
    /// As [`FileSystem::chmod`](yfs_vfs::FileSystem::chmod).
    pub fn chmod(&self, path: &VPath, mode: u32) -> Result<(), FsError> {
        self.fs.chmod_now(path, mode)
    }

    /// Replaces the custom metadata.
    ///
    /// # Errors
    ///
    /// As [`FileSystem::set_metadata`](yfs_vfs::FileSystem::set_metadata).
    pub fn set_metadata(&self, path: &VPath, metadata: &Metadata) -> Result<(), FsError> {
        self.fs.set_metadata_now(path, metadata)
    }

    /// Lists what lies below a directory.
    ///
    /// # Errors
    ///
    /// As [`FileSystem::walk`](yfs_vfs::FileSystem::walk).
    pub fn walk(&self, path: &VPath, options: &WalkOptions) -> Result<Vec<WalkEntry>, FsError> {
        self.fs.walk_now(path, options)
    }

    /// Adds up what lies below a directory.
    ///
    /// # Errors
    ///
    /// As [`FileSystem::totals`](yfs_vfs::FileSystem::totals).
    pub fn totals(&self, path: &VPath) -> Result<TreeTotals, FsError> {
        self.fs.totals_now(path)
    }

    /// Finds paths by pattern.
    ///
    /// # Errors
    ///
    /// As [`FileSystem::glob`](yfs_vfs::FileSystem::glob).
    pub fn glob(&self, query: &GlobQuery) -> Result<GlobResult, FsError> {
        wait_for(yfs_vfs::glob::glob(&self.fs, query))
    }

    /// Finds lines by pattern.
    ///
    /// # Errors
    ///
    /// As [`FileSystem::grep`](yfs_vfs::FileSystem::grep).
    pub fn grep(&self, query: &GrepQuery) -> Result<GrepResult, FsError> {
        wait_for(yfs_vfs::grep::grep(&self.fs, query))
    }
}

/// Wakes a thread that is parked.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Runs a future on this thread. The calls of a workspace's filesystem are synchronous at heart;
/// only a search waits, for the threads that search, where there is a runtime.
fn wait_for<T>(future: impl Future<Output = T>) -> T {
    let mut future = pin!(future);
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut context = Context::from_waker(&waker);
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(value) => return value,
            Poll::Pending => thread::park(),
        }
    }
}

#[cfg(test)]
mod tests;
