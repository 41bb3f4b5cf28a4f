//! A filesystem in memory: complete, simple, and the model for testing other backends.
//!
//! One lock guards one tree; every operation takes it once, so each is atomic.

mod tree;

use std::{fmt, sync::Arc, time::SystemTime};

use async_trait::async_trait;
use bytes::Bytes;
use parking_lot::Mutex;
use tokio::{sync::watch, time};
use yfs_types::{path::VPath, time::Millis};

use self::tree::{MemoryContent as TreeContent, MemoryNode, MemoryTree};
use crate::{
    change_log::ChangeLog,
    changes::{ChangeCursor, ChangePage},
    edit::{EditOutcome, EditRefusal, TextReplacement},
    error::{FsCode, FsError, Op},
    file_system::{FileContent, FileSystem, WriteOutcome},
    fs_view::FsView,
    options::{
        ChangesOptions, CopyOptions, FileAttribute, MkdirOptions, MoveOptions, RemoveOptions,
        WriteOptions,
    },
    stat::{DirEntry, Stat},
};

/// A source of the current time.
pub type Clock = Arc<dyn Fn() -> Millis + Send + Sync>;

/// A filesystem in memory.
///
/// It keeps ids, cannot merge (a stale base is `ESTALE`), and has no hard links. Clones are handles
/// of the same filesystem.
#[derive(Clone)]
pub struct MemoryFs {
    tree: Arc<Mutex<MemoryTree>>,
    clock: Clock,
    /// The end of the log of changes. A call that changes the tree sends it after releasing the
    /// lock; a call that waits in [`FileSystem::changes`] subscribes to it.
    end: watch::Sender<u64>,
    /// Whether lookups follow links; see [`FsView::WithoutLinks`].
    follows_links: bool,
}

/// The limits of a [`MemoryFs`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemoryLimits {
    /// The bytes of all files together; exceeding it is `ENOSPC`.
    pub max_bytes: u64,
    /// The bytes of one file; exceeding it is `EFBIG`.
    pub max_file_len: u64,
    /// The number of changes that the log keeps.
    pub max_changes: usize,
}

impl Default for MemoryLimits {
    fn default() -> Self {
        Self { max_bytes: u64::MAX, max_file_len: u64::MAX, max_changes: 10_000 }
    }
}

impl Default for MemoryFs {
    fn default() -> Self {
        Self::new()
    }
}

impl MemoryFs {
    /// Makes an empty filesystem that uses the system's clock.
    pub fn new() -> Self {
        Self::with(system_clock(), MemoryLimits::default())
    }

    /// Makes an empty filesystem with a clock and limits.
    pub fn with(clock: Clock, limits: MemoryLimits) -> Self {
        let tree = MemoryTree::new(clock(), limits, ChangeLog::new(limits.max_changes));
        let tree = Arc::new(Mutex::new(tree));
        Self { tree, clock, end: watch::Sender::new(0), follows_links: true }
    }

    /// Runs a read of the tree under the lock.
    fn read_tree<T>(
        &self,
        op: Op,
        path: &VPath,
        read: impl FnOnce(&MemoryTree) -> Result<T, FsCode>,
    ) -> Result<T, FsError> {
        let mut tree = self.tree.lock();
        tree.follows_links = self.follows_links;
        read(&tree).map_err(|code| FsError::new(code, op, path))
    }

    /// Runs a change of the tree under the lock, and wakes the tasks that wait for changes.
    fn change<T, E>(&self, change: impl FnOnce(&mut MemoryTree) -> Result<T, E>) -> Result<T, E> {
        let mut tree = self.tree.lock();
        tree.now = (self.clock)();
        tree.follows_links = self.follows_links;
        let result = change(&mut tree);
        let end = tree.log.end();
        drop(tree);
        // Two callers may arrive here in either order, so the end must not go backwards.
        self.end.send_if_modified(|seen| std::mem::replace(seen, end.max(*seen)) < end);
        result
    }

    fn content(&self, op: Op, path: &VPath) -> Result<TreeContent, FsError> {
        self.read_tree(op, path, |tree| tree.content(path))
    }
}

impl fmt::Debug for MemoryFs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryFs").finish_non_exhaustive()
    }
}

#[async_trait]
impl FileSystem for MemoryFs {
    async fn read(&self, path: &VPath) -> Result<FileContent, FsError> {
        let content = self.content(Op::Open, path)?;
        Ok(FileContent { version: content.token(), data: content.data })
    }

    async fn write(
        &self,
        path: &VPath,
        data: Bytes,
        options: &WriteOptions,
    ) -> Result<WriteOutcome, FsError> {
        self.change(|tree| tree.write(path, data, options))
            .map_err(|code| FsError::new(code, Op::Open, path))
    }

    async fn append(
        &self,
        path: &VPath,
        data: Bytes,
        options: &WriteOptions,
    ) -> Result<WriteOutcome, FsError> {
        self.change(|tree| tree.append(path, &data, options))
            .map(|written| written.appended(options))
            .map_err(|code| FsError::new(code, Op::Append, path))
    }

    async fn edit(&self, path: &VPath, edit: &TextReplacement) -> Result<EditOutcome, FsError> {
        let fail = |code| FsError::new(code, Op::Edit, path);
        self.change(|tree| {
            let content = tree.content(path).map_err(fail)?;
            if edit.expected_version.as_ref().is_some_and(|token| *token != content.token()) {
                return Err(fail(FsCode::ESTALE));
            }
            let text = std::str::from_utf8(&content.data);
            let text = text.map_err(|_| FsError::edit_refused(path, EditRefusal::NotText))?;
            let (text, n_replaced) =
                edit.apply(text).map_err(|refusal| FsError::edit_refused(path, refusal))?;
            let actor = edit.author.as_ref().map(|author| author.actor.clone());
            let version = tree.replace(content.node, text.into(), actor).map_err(fail)?;
            let version = edit.expected_version.is_some().then_some(version);
            Ok(EditOutcome { n_replaced, version })
        })
    }

    async fn stat(&self, path: &VPath) -> Result<Stat, FsError> {
        self.read_tree(Op::Stat, path, |tree| tree.stat(path, true))
    }

    async fn lstat(&self, path: &VPath) -> Result<Stat, FsError> {
        self.read_tree(Op::Lstat, path, |tree| tree.stat(path, false))
    }

    async fn readdir(&self, path: &VPath) -> Result<Vec<DirEntry>, FsError> {
        self.read_tree(Op::Scandir, path, |tree| tree.readdir(path))
    }

    async fn mkdir(&self, path: &VPath, options: &MkdirOptions) -> Result<(), FsError> {
        self.change(|tree| tree.mkdir(path, options))
            .map_err(|code| FsError::new(code, Op::Mkdir, path))
    }

    async fn rm(&self, path: &VPath, options: &RemoveOptions) -> Result<(), FsError> {
        self.change(|tree| tree.rm(path, options)).map_err(|code| FsError::new(code, Op::Rm, path))
    }

    async fn cp(&self, from: &VPath, to: &VPath, options: &CopyOptions) -> Result<(), FsError> {
        self.change(|tree| tree.cp(from, to, options))
            .map_err(|code| FsError::new(code, Op::Cp, from).to(to))
    }

    async fn mv(&self, from: &VPath, to: &VPath, options: &MoveOptions) -> Result<(), FsError> {
        self.change(|tree| tree.mv(from, to, options))
            .map_err(|code| FsError::new(code, Op::Rename, from).to(to))
    }

    async fn symlink(&self, target: &str, path: &VPath) -> Result<(), FsError> {
        self.change(|tree| tree.symlink(target, path))
            .map_err(|code| FsError::new(code, Op::Symlink, target).to(path))
    }

    async fn readlink(&self, path: &VPath) -> Result<String, FsError> {
        self.read_tree(Op::Readlink, path, |tree| tree.readlink(path))
    }

    async fn realpath(&self, path: &VPath) -> Result<VPath, FsError> {
        self.read_tree(Op::Realpath, path, |tree| tree.realpath(path))
    }

    async fn set_attribute(&self, path: &VPath, attribute: FileAttribute) -> Result<(), FsError> {
        let op = attribute.op();
        let change = |node: &mut MemoryNode| match attribute {
            FileAttribute::Mtime(mtime) => node.mtime = mtime,
            FileAttribute::Mode(mode) => node.mode = mode & 0o7777,
            FileAttribute::Metadata(metadata) => node.metadata = metadata,
        };
        self.change(|tree| tree.update(path, change)).map_err(|code| FsError::new(code, op, path))
    }

    fn view(&self, view: FsView<'_>) -> Option<Arc<dyn FileSystem>> {
        match view {
            FsView::WithoutLinks => Some(Arc::new(Self { follows_links: false, ..self.clone() })),
            _ => None,
        }
    }

    async fn cursor(&self) -> Result<ChangeCursor, FsError> {
        let tree = self.tree.lock();
        Ok(tree.log.cursor(tree.log.end()))
    }

    async fn changes(
        &self,
        since: &ChangeCursor,
        options: &ChangesOptions,
    ) -> Result<ChangePage, FsError> {
        let mut end = self.end.subscribe();
        let first = self.tree.lock().log.since(since, options.limit)?;
        match options.wait {
            Some(wait) if first.events.is_empty() && options.limit > 0 => {
                let start = self.tree.lock().log.position(since)?;
                // An `Err` means a timeout, or that the filesystem was dropped: there is no change
                // in either case.
                let arrived = time::timeout(wait, end.wait_for(|end| *end > start)).await;
                if matches!(arrived, Ok(Ok(_))) {
                    return self.tree.lock().log.since(since, options.limit);
                }
                Ok(first)
            }
            _ => Ok(first),
        }
    }
}

/// Returns the clock of this machine.
pub(crate) fn system_clock() -> Clock {
    Arc::new(|| {
        let since_epoch = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        Millis(since_epoch.map_or(0, |elapsed| elapsed.as_millis() as i64))
    })
}
