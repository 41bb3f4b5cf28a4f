//! A session: one client's synchronous view of a workspace, which remembers what the client has
//! read.
//!
//! A program that reads a file, computes, and writes the whole file back would overwrite edits that
//! others made in between. A session knows which content its client has read last, passes it as the
//! base of the write, and so merges automatically. An embedding with one client per connection (a
//! shell, an open file handle, an agent's tool session) opens one session for each.
//!
//! # Invariants
//!
//! - A write of a file that the session has read is never made without a base. Where the base can
//!   no longer be found, the call fails with `ESTALE` and changes nothing.
//! - Only content that was returned to the client or sent by it counts as read. After a merge, the
//!   base of the next write is the content that the client sent.

mod memory;

use std::{
    pin::pin,
    sync::Arc,
    task::{Context, Poll, Wake, Waker},
    thread::{self, Thread},
};

use bytes::Bytes;
use parking_lot::Mutex;
use yfs_engine::{id::FileId, path::VPath, time::Millis};
use yfs_vfs::{
    CopyOptions, DirEntry, EditOutcome, FileContent, FileSystemExt, FsCode, FsError, GlobQuery,
    GlobResult, GrepQuery, GrepResult, Metadata, MkdirOptions, MoveOptions, Op, RemoveOptions,
    Stat, TextReplacement, TreeTotals, VersionBase, WalkEntry, WalkOptions, WriteOptions,
    WriteOutcome,
};

use self::memory::{KnownContent, SessionMemory};
use crate::{TextInMemory, Workspace, WorkspaceFs};

/// One client's synchronous view of a workspace.
///
/// Every call blocks until it is done and may be made from any thread. Calls of one session on one
/// file should be made one after the other; concurrent ones are safe, but merge.
#[derive(Debug)]
pub struct Session {
    fs: WorkspaceFs,
    memory: Arc<Mutex<SessionMemory>>,
}

/// The largest content of an appended file that is kept beside its version, in bytes.
const MAX_APPENDED_BYTES: usize = 256 << 10;

/// A text, borrowed as its bytes.
struct TextBytes(Arc<str>);

impl AsRef<[u8]> for TextBytes {
    fn as_ref(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

/// The base of a session's write.
#[derive(Default)]
struct WriteBase {
    /// The contents and versions that the client has read, best first.
    candidates: Vec<VersionBase>,
    /// Whether the client has read the file, but its content and version are no longer kept.
    is_lost: bool,
}

impl Session {
    pub(crate) fn new(fs: WorkspaceFs) -> Self {
        Self { fs, memory: Arc::default() }
    }

    /// Returns the workspace.
    pub fn workspace(&self) -> Workspace {
        self.fs.workspace()
    }

    /// Returns the filesystem that the session writes through. It remembers nothing.
    pub fn fs(&self) -> &WorkspaceFs {
        &self.fs
    }

    /// Returns the same session with a label for its changes: a tool call, a command. Both share
    /// the record of what was read.
    #[must_use]
    pub fn labelled(&self, label: &str) -> Self {
        Self { fs: self.fs.clone().labelled(label), memory: self.memory.clone() }
    }

    /// Reads a file, and remembers the content. A file with a pending truncation reads as empty.
    ///
    /// # Errors
    ///
    /// Fails as [`FileSystem::read`](yfs_vfs::FileSystem::read) does.
    pub fn read(&self, path: &VPath) -> Result<FileContent, FsError> {
        let (id, content) = self.fs.read_with_id(path)?;
        let mut memory = self.memory.lock();
        if memory.is_truncation_pending(&id) {
            return Ok(FileContent { data: Bytes::new(), ..content });
        }
        let known = KnownContent::new(Some(content.version.clone()), Some(content.data.clone()));
        memory.remember(&id, known);
        Ok(content)
    }

    /// Reads a text if it is in memory and at most `max_len` bytes long, and remembers it. Returns
    /// `None` otherwise, and if a truncation is pending.
    ///
    /// # Errors
    ///
    /// Fails as [`WorkspaceFs::text_in_memory`] does.
    pub fn text_in_memory(
        &self,
        path: &VPath,
        max_len: usize,
    ) -> Result<Option<TextInMemory>, FsError> {
        let Some(text) = self.fs.text_in_memory(path, max_len)? else { return Ok(None) };
        let mut memory = self.memory.lock();
        if memory.is_truncation_pending(&text.id) {
            return Ok(None);
        }
        let content = Bytes::from_owner(TextBytes(text.content.clone()));
        memory.remember(&text.id, KnownContent::new(Some(text.version()), Some(content)));
        Ok(Some(text))
    }

    /// Reads part of a file. A partial read is no base of a later write.
    ///
    /// # Errors
    ///
    /// Fails as [`FileSystem::read_range`](yfs_vfs::FileSystem::read_range) does.
    pub fn read_range(&self, path: &VPath, offset: u64, len: u64) -> Result<Bytes, FsError> {
        self.fs.reader().read_range(path, offset, len)
    }

    /// Replaces the content of a file by `data`, as a change of the content that the session has
    /// read. Later changes by others stay; [`WriteOutcome::merged`] reports whether there were any,
    /// and [`WriteOutcome::overlaps`] where both changed the same part.
    ///
    /// A base or an expected version in `options` takes precedence over the remembered content.
    ///
    /// # Errors
    ///
    /// Fails as [`FileSystem::write`](yfs_vfs::FileSystem::write) does; with `ESTALE` if the
    /// remembered content can no longer be found.
    pub fn write(
        &self,
        path: &VPath,
        data: &[u8],
        options: &WriteOptions,
    ) -> Result<WriteOutcome, FsError> {
        // A link that is not followed is replaced: the content of its target is no base.
        let is_replaced = !options.follow && self.fs.is_link(path);
        let base = if is_replaced { WriteBase::default() } else { self.base_of(path) };
        let written = self.write_from(path, data, options, base).inspect_err(|error| {
            // The file is unchanged, and must be read again.
            if let Some(id) = self.fs.id_at(path).filter(|_| error.code == FsCode::ESTALE) {
                self.memory.lock().drop_truncation(&id);
            }
        })?;
        let data = Bytes::copy_from_slice(data);
        let known = KnownContent::new(written.version.clone(), Some(data));
        self.record_change(&written.id, Some(known));
        Ok(written)
    }

    /// Adds `data` to the end of a file. If a truncation is pending, `data` becomes the whole
    /// content.
    ///
    /// # Errors
    ///
    /// Fails as [`FileSystem::append`](yfs_vfs::FileSystem::append) does.
    pub fn append(
        &self,
        path: &VPath,
        data: &[u8],
        options: &WriteOptions,
    ) -> Result<WriteOutcome, FsError> {
        let known = self.known_content(path);
        if known.as_ref().is_some_and(|(_, known)| known.is_truncated) {
            let options = WriteOptions { mode: None, ..options.clone() };
            return self.write(path, data, &options);
        }
        let before = known.map(|(_, known)| known);
        let expected = before.as_ref().and_then(|known| known.version.clone());
        let conditional = WriteOptions { expected_version: expected.clone(), ..options.clone() };
        let is_caller_conditional = options.expected_version.is_some();
        let options = if is_caller_conditional { options } else { &conditional };
        let appended = match self.fs.writer().append(path, data, options) {
            Err(error) if error.code == FsCode::ESTALE && !is_caller_conditional => {
                let unconditional = WriteOptions { expected_version: None, ..options.clone() };
                self.fs.writer().append(path, data, &unconditional)?
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
        self.record_change(&appended.id, known.or_lost(was_read));
        Ok(appended)
    }

    /// Replaces text inside a file.
    ///
    /// # Errors
    ///
    /// Fails as [`FileSystem::edit`](yfs_vfs::FileSystem::edit) does.
    pub fn edit(&self, path: &VPath, edit: &TextReplacement) -> Result<EditOutcome, FsError> {
        self.write_truncations(Some(path))?;
        let before = self.known_content(path);
        let edited = self.fs.writer().edit(path, edit)?;
        if let Some((id, known)) = before {
            // The client has not seen what others wrote meanwhile.
            let text = known.content.as_ref().and_then(|bytes| std::str::from_utf8(bytes).ok());
            let content = text.and_then(|text| edit.apply(text).ok()).map(|(text, _)| text.into());
            let known = KnownContent::new(edited.version.clone(), content);
            self.record_change(&id, known.or_lost(true));
        }
        Ok(edited)
    }

    /// Empties a file as the first step of rewriting it. The truncation is pending: the next
    /// [`write`](Self::write) or [`append`](Self::append) to the file makes one change of both, and
    /// [`write_truncations`](Self::write_truncations) writes it alone. Until then only this session
    /// reads the file as empty.
    ///
    /// # Errors
    ///
    /// Fails as [`FileSystem::read`](yfs_vfs::FileSystem::read) does.
    pub fn truncate(&self, path: &VPath) -> Result<(), FsError> {
        let (id, content) = self.fs.read_with_id(path)?;
        let mut memory = self.memory.lock();
        // A client that has not read the file replaces its current content.
        let now = || KnownContent::new(Some(content.version), Some(content.data));
        memory.defer_truncation(&id, path, now);
        Ok(())
    }

    /// Writes the pending truncation of one file, or those of all.
    ///
    /// # Errors
    ///
    /// Fails as [`write`](Self::write) does. A file that was removed or replaced meanwhile is left
    /// unchanged.
    pub fn write_truncations(&self, path: Option<&VPath>) -> Result<(), FsError> {
        let only = path.and_then(|path| self.fs.id_at(path));
        if path.is_some() && only.is_none() {
            return Ok(());
        }
        let pending = self.memory.lock().pending_truncations(only.as_ref());
        for (id, path) in pending {
            if self.fs.id_at(&path).as_ref() == Some(&id) {
                self.write(&path, b"", &WriteOptions::default())?;
            } else {
                self.memory.lock().forget(&id);
            }
        }
        Ok(())
    }

    /// Writes the pending truncation of a file, unless others have changed the file since the
    /// client read it: what the client writes next may be what it had read, and would be beside
    /// what the others keep. Returns whether no truncation is pending any more.
    ///
    /// # Errors
    ///
    /// Fails as [`write`](Self::write) does.
    pub fn write_truncation_if_unchanged(&self, path: &VPath) -> Result<bool, FsError> {
        let Some((id, known)) = self.known_content(path).filter(|(_, known)| known.is_truncated)
        else {
            return Ok(true);
        };
        let (found, content) = self.fs.read_with_id(path)?;
        let is_known_version = known.version.as_ref() == Some(&content.version);
        let is_unchanged = is_known_version || known.content.as_ref() == Some(&content.data);
        if found != id || !is_unchanged {
            return Ok(false);
        }
        let options =
            WriteOptions { expected_version: Some(content.version), ..WriteOptions::default() };
        let written = match self.fs.writer().write(path, b"", &options) {
            Err(error) if error.code == FsCode::ESTALE => return Ok(false),
            written => written?,
        };
        let known = KnownContent::new(written.version.clone(), Some(Bytes::new()));
        self.record_change(&written.id, Some(known));
        Ok(true)
    }

    /// Forgets the content that was read of a file, so that the next write replaces any content.
    pub fn forget(&self, path: &VPath) {
        if let Some(id) = self.fs.id_at(path) {
            self.memory.lock().forget(&id);
        }
    }

    /// Moves or renames a file, directory or link.
    ///
    /// # Errors
    ///
    /// Fails as [`FileSystem::mv`](yfs_vfs::FileSystem::mv) does.
    pub fn mv(&self, from: &VPath, to: &VPath, options: &MoveOptions) -> Result<(), FsError> {
        self.write_truncations(Some(from))?;
        let replaced = [self.fs.id_at(from), self.fs.id_at(to)];
        let is_over = replaced[1].is_some() && replaced[0] != replaced[1];
        self.fs.tree().mv(from, to, options)?;
        if is_over {
            // The destination keeps its id and has the source's content.
            let mut memory = self.memory.lock();
            replaced.iter().flatten().for_each(|id| memory.forget(id));
        }
        Ok(())
    }

    /// Copies a file, directory or link.
    ///
    /// # Errors
    ///
    /// Fails as [`FileSystem::cp`](yfs_vfs::FileSystem::cp) does.
    pub fn cp(&self, from: &VPath, to: &VPath, options: &CopyOptions) -> Result<(), FsError> {
        self.write_truncations(Some(from))?;
        self.fs.tree().cp(from, to, options)?;
        // The contents of overwritten files differ from those that the client read. Their number
        // does not depend on the size of the whole tree.
        let to = self.fs.reader().realpath(to).unwrap_or_else(|_| to.clone());
        let mut memory = self.memory.lock();
        for id in memory.ids() {
            if self.fs.path_of(&id).is_some_and(|path| path.starts_with(&to)) {
                memory.forget(&id);
            }
        }
        Ok(())
    }

    /// Removes a file, directory or link.
    ///
    /// # Errors
    ///
    /// Fails as [`FileSystem::rm`](yfs_vfs::FileSystem::rm) does.
    pub fn rm(&self, path: &VPath, options: &RemoveOptions) -> Result<(), FsError> {
        self.fs.tree().rm(path, options)
    }

    /// Returns the attributes of the object at a path, through links. A file with a pending
    /// truncation is empty.
    ///
    /// # Errors
    ///
    /// Fails as [`FileSystem::stat`](yfs_vfs::FileSystem::stat) does.
    pub fn stat(&self, path: &VPath) -> Result<Stat, FsError> {
        let mut stat = self.fs.reader().stat(path, Op::Stat)?;
        if self.memory.lock().is_truncation_pending(&stat.id) {
            stat.size = 0;
        }
        Ok(stat)
    }

    /// Returns what the session knows of a file's content, and the file's id.
    fn known_content(&self, path: &VPath) -> Option<(FileId, KnownContent)> {
        let id = self.fs.id_at(path)?;
        let known = self.memory.lock().get(&id)?;
        Some((id, known))
    }

    fn base_of(&self, path: &VPath) -> WriteBase {
        let known = self.known_content(path).map(|(_, known)| known);
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
        // A version that the session returned may be gone from the log while its content is still
        // known.
        let is_other = |given: &VersionBase| !base.candidates.contains(given);
        let is_given =
            options.expected_version.is_some() || options.base.as_ref().is_some_and(is_other);
        if is_given || (base.candidates.is_empty() && !base.is_lost) {
            return self.fs.writer().write(path, data, options);
        }
        let mut refusal = None;
        for base in base.candidates {
            let options = WriteOptions { base: Some(base), ..options.clone() };
            match self.fs.writer().write(path, data, &options) {
                Err(error) if error.code == FsCode::ESTALE => refusal = Some(error),
                written => return written,
            }
        }
        Err(refusal.unwrap_or_else(|| FsError::new(FsCode::ESTALE, Op::Open, path)))
    }

    /// Records a change of the session, and the content that its client now knows.
    fn record_change(&self, id: &FileId, known: Option<KnownContent>) {
        let mut memory = self.memory.lock();
        match known {
            Some(known) => memory.remember(id, known),
            None => memory.forget(id),
        }
    }
}

/// Calls that do not depend on the session's record.
impl Session {
    /// Returns the attributes of the object at a path; those of a link itself.
    ///
    /// # Errors
    ///
    /// Fails as [`FileSystem::lstat`](yfs_vfs::FileSystem::lstat) does.
    pub fn lstat(&self, path: &VPath) -> Result<Stat, FsError> {
        self.fs.reader().stat(path, Op::Lstat)
    }

    /// Lists a directory.
    ///
    /// # Errors
    ///
    /// Fails as [`FileSystem::readdir`](yfs_vfs::FileSystem::readdir) does.
    pub fn readdir(&self, path: &VPath) -> Result<Vec<DirEntry>, FsError> {
        self.fs.reader().readdir(path)
    }

    /// Makes a directory.
    ///
    /// # Errors
    ///
    /// Fails as [`FileSystem::mkdir`](yfs_vfs::FileSystem::mkdir) does.
    pub fn mkdir(&self, path: &VPath, options: &MkdirOptions) -> Result<(), FsError> {
        self.fs.tree().mkdir(path, options)
    }

    /// Makes a symbolic link.
    ///
    /// # Errors
    ///
    /// Fails as [`FileSystem::symlink`](yfs_vfs::FileSystem::symlink) does.
    pub fn symlink(&self, target: &str, path: &VPath) -> Result<(), FsError> {
        self.fs.tree().symlink(target, path)
    }

    /// Returns the target of a symbolic link.
    ///
    /// # Errors
    ///
    /// Fails as [`FileSystem::readlink`](yfs_vfs::FileSystem::readlink) does.
    pub fn readlink(&self, path: &VPath) -> Result<String, FsError> {
        self.fs.reader().readlink(path)
    }

    /// Returns the path of the same object without any link.
    ///
    /// # Errors
    ///
    /// Fails as [`FileSystem::realpath`](yfs_vfs::FileSystem::realpath) does.
    pub fn realpath(&self, path: &VPath) -> Result<VPath, FsError> {
        self.fs.reader().realpath(path)
    }

    /// Sets the time of the last change.
    ///
    /// # Errors
    ///
    /// Fails as [`FileSystemExt::utimes`] does.
    pub fn utimes(&self, path: &VPath, mtime: Millis) -> Result<(), FsError> {
        self.fs.tree().utimes(path, mtime)
    }

    /// Sets the permission bits.
    ///
    /// # Errors
    ///
    /// Fails as [`FileSystemExt::chmod`] does.
    pub fn chmod(&self, path: &VPath, mode: u32) -> Result<(), FsError> {
        self.fs.tree().chmod(path, mode)
    }

    /// Replaces the custom metadata.
    ///
    /// # Errors
    ///
    /// Fails as [`FileSystemExt::set_metadata`] does.
    pub fn set_metadata(&self, path: &VPath, metadata: &Metadata) -> Result<(), FsError> {
        self.fs.tree().set_metadata(path, metadata)
    }

    /// Lists all entries below a directory.
    ///
    /// # Errors
    ///
    /// Fails as [`FileSystemExt::walk`] does.
    pub fn walk(&self, path: &VPath, options: &WalkOptions) -> Result<Vec<WalkEntry>, FsError> {
        self.fs.lister().walk(path, options)
    }

    /// Returns the sums of sizes and counts below a directory.
    ///
    /// # Errors
    ///
    /// Fails as [`FileSystemExt::totals`] does.
    pub fn totals(&self, path: &VPath) -> Result<TreeTotals, FsError> {
        wait_for(self.fs.totals(path))
    }

    /// Finds paths by pattern.
    ///
    /// # Errors
    ///
    /// Fails as [`FileSystem::glob`](yfs_vfs::FileSystem::glob) does.
    pub fn glob(&self, query: &GlobQuery) -> Result<GlobResult, FsError> {
        wait_for(yfs_vfs::glob::glob(&self.fs, query))
    }

    /// Finds lines by pattern.
    ///
    /// # Errors
    ///
    /// Fails as [`FileSystemExt::grep`] does.
    pub fn grep(&self, query: &GrepQuery) -> Result<GrepResult, FsError> {
        wait_for(self.fs.searcher().grep(query))
    }
}

/// A waker that unparks a thread.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Runs a future on this thread. The calls of a workspace's filesystem are synchronous; only a
/// search waits, for its worker threads, if there is a runtime.
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
