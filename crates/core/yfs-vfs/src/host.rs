//! A directory of the host's disk as a filesystem. No path leads outside the directory.
//!
//! # Confinement
//!
//! No path is passed to the kernel as the caller wrote it. Lookup opens the parent beneath the
//! root's descriptor with `openat2`. If there are links in the path, or the kernel lacks `openat2`,
//! lookup walks component by component and reads the links itself. The operation then acts on one
//! name in an open directory and never follows it. So no change that another process makes
//! meanwhile can make it act outside. A link that leads outside is `EACCES`; only regular files are
//! ever opened.
//!
//! # What other programs see
//!
//! - A write creates a temporary file beside the target and renames it: readers see the old content
//!   or the new. So a write gives a file a new inode, and with it a new id, and separates it from
//!   its hard links (which may lie outside). Permission bits are kept, and the owner where the host
//!   allows it. Only `append` writes in place, in one call, and a filesystem that
//!   [keeps hard links](HostFs::keeping_hard_links).
//! - A link's target that begins with a slash is relative to the root of this filesystem. On the
//!   disk it is stored with the path of the root as its prefix, so that it means the same to other
//!   programs.
//! - Names that are not UTF-8, or contain a backslash, appear with `\xNN` and `\\`. Names that
//!   begin with `.yfs-tmp-` are temporary files, and not listed.
//! - Calls that change a file or a directory lock the directory that holds it, by `flock` on the
//!   directory itself: reading, changing and replacing a file is one step for all filesystems of
//!   this kind, in this process and in others. A call that cannot have the lock within 30 seconds
//!   fails with `EBUSY`. Readers take no locks.
//! - Programs that take no locks are noticed: just before the rename, the file is compared with
//!   what the new content was computed from. An edit then begins again, and a write with a base or
//!   an expected version is `ESTALE`. On a filesystem without locks this is all there is.
//! - The host has no transactions. If a copy onto an existing directory fails, or a call fails
//!   after it created parent directories, the filesystem undoes or stops the work as far as it can.
//!
//! Operations run on tokio's threads for blocking work, so they need a tokio runtime.

mod copy;
mod host_lookup;
mod inode_locks;
mod names;
mod read;
mod scan;
mod stat_convert;
mod tree;
mod write;

#[cfg(test)]
mod tests;

use std::{fmt, io, path::Path, sync::Arc, time::Duration};

use async_trait::async_trait;
use bytes::Bytes;
use tokio::{task, time};
use yfs_types::path::VPath;

pub use crate::confined_dir::HostStat;

use self::host_lookup::{HostDisk, HostError, HostFinalLink};
use crate::{
    changes::{ChangeCursor, ChangePage},
    edit::{EditOutcome, TextReplacement},
    error::{FsCode, FsError, Op},
    file_system::{FileContent, FileSystem, WriteOutcome},
    fs_view::FsView,
    options::{
        ChangesOptions, CopyOptions, FileAttribute, MkdirOptions, MoveOptions, RemoveOptions,
        StreamOptions, WriteOptions,
    },
    stat::{DirEntry, Stat},
    stream::ChunkStream,
    work_meter::current_meter,
};

/// The pause between two scans of the disk in [`FileSystem::changes`].
const SCAN_PAUSE: Duration = Duration::from_millis(50);

/// A filesystem in a directory of the host's disk.
///
/// It cannot store metadata and cannot merge (a stale base is `ESTALE`). It finds changes by
/// listing the whole tree: it reports the changes of every process, but not their authors.
#[derive(Clone)]
pub struct HostFs {
    disk: Arc<HostDisk>,
}

impl HostFs {
    /// Opens an existing directory.
    pub fn open(root: &Path) -> io::Result<Self> {
        Ok(Self { disk: Arc::new(HostDisk::open(root)?) })
    }

    /// Returns the same filesystem, which writes a file with several hard links in place, as most
    /// programs do: all of its names show the new content, also those outside of the directory. A
    /// reader may then see a part of the new content before the rest.
    #[must_use]
    pub fn keeping_hard_links(&self) -> Self {
        Self { disk: Arc::new(self.disk.keeping_hard_links()) }
    }

    /// Opens a directory, and never uses `openat2` in lookups, as on a kernel without it.
    pub fn open_without_openat2(root: &Path) -> io::Result<Self> {
        let mut disk = HostDisk::open(root)?;
        disk.has_openat2 = Arc::new(false.into());
        Ok(Self { disk: Arc::new(disk) })
    }

    /// Opens a directory, and waits for locks no longer than this.
    #[cfg(test)]
    fn open_with_lock_timeout(root: &Path, lock_timeout: Duration) -> io::Result<Self> {
        let mut disk = HostDisk::open(root)?;
        disk.lock_timeout = lock_timeout;
        Ok(Self { disk: Arc::new(disk) })
    }

    /// Runs `work` on a thread that may block.
    async fn run<T: Send + 'static>(
        &self,
        op: Op,
        path: &VPath,
        work: impl FnOnce(&HostDisk, &VPath) -> Result<T, HostError> + Send + 'static,
    ) -> Result<T, FsError> {
        let (disk, path) = (self.disk.clone(), path.clone());
        self.block(move || work(&disk, &path).map_err(|fail| fail.on(op, &path))).await
    }

    async fn run_two<T: Send + 'static>(
        &self,
        op: Op,
        (from, to): (&VPath, &VPath),
        work: impl FnOnce(&HostDisk, &VPath, &VPath) -> Result<T, HostError> + Send + 'static,
    ) -> Result<T, FsError> {
        let (disk, from, to) = (self.disk.clone(), from.clone(), to.clone());
        self.block(move || work(&disk, &from, &to).map_err(|fail| fail.on(op, &from).to(&to))).await
    }

    async fn block<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, FsError> + Send + 'static,
    ) -> Result<T, FsError> {
        match task::spawn_blocking(work).await {
            Ok(result) => result,
            Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
            Err(error) => Err(FsError::bare(FsCode::ECANCELED, Op::Open).caused_by(error)),
        }
    }
}

impl fmt::Debug for HostFs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HostFs").finish_non_exhaustive()
    }
}

#[async_trait]
impl FileSystem for HostFs {
    async fn read(&self, path: &VPath) -> Result<FileContent, FsError> {
        self.run(Op::Open, path, HostDisk::read).await
    }

    async fn read_range(&self, path: &VPath, offset: u64, len: u64) -> Result<Bytes, FsError> {
        self.run(Op::Open, path, move |disk, path| disk.read_range(path, offset, len)).await
    }

    async fn read_stream(
        &self,
        path: &VPath,
        options: &StreamOptions,
    ) -> Result<ChunkStream, FsError> {
        let opened = self.run(Op::Open, path, HostDisk::open_file).await?;
        Ok(read::stream(opened, path.clone(), options.clone()))
    }

    async fn write(
        &self,
        path: &VPath,
        data: Bytes,
        options: &WriteOptions,
    ) -> Result<WriteOutcome, FsError> {
        let options = options.clone();
        self.run(Op::Open, path, move |disk, path| disk.write(path, &data, &options)).await
    }

    async fn append(
        &self,
        path: &VPath,
        data: Bytes,
        options: &WriteOptions,
    ) -> Result<WriteOutcome, FsError> {
        let options = options.clone();
        self.run(Op::Append, path, move |disk, path| disk.append(path, &data, &options)).await
    }

    async fn edit(&self, path: &VPath, edit: &TextReplacement) -> Result<EditOutcome, FsError> {
        let edit = edit.clone();
        self.run(Op::Edit, path, move |disk, path| disk.edit(path, &edit)).await
    }

    async fn stat(&self, path: &VPath) -> Result<Stat, FsError> {
        self.run(Op::Stat, path, |disk, path| disk.stat(path, HostFinalLink::Follow)).await
    }

    async fn lstat(&self, path: &VPath) -> Result<Stat, FsError> {
        self.run(Op::Lstat, path, |disk, path| disk.stat(path, HostFinalLink::Keep)).await
    }

    async fn readdir(&self, path: &VPath) -> Result<Vec<DirEntry>, FsError> {
        self.run(Op::Scandir, path, HostDisk::readdir).await
    }

    async fn mkdir(&self, path: &VPath, options: &MkdirOptions) -> Result<(), FsError> {
        let options = *options;
        self.run(Op::Mkdir, path, move |disk, path| disk.mkdir(path, &options)).await
    }

    async fn rm(&self, path: &VPath, options: &RemoveOptions) -> Result<(), FsError> {
        let options = *options;
        self.run(Op::Rm, path, move |disk, path| disk.rm(path, &options)).await
    }

    async fn cp(&self, from: &VPath, to: &VPath, options: &CopyOptions) -> Result<(), FsError> {
        let (options, meter) = (*options, current_meter());
        self.run_two(Op::Cp, (from, to), move |disk, from, to| {
            disk.cp(from, to, &options, meter.as_deref())
        })
        .await
    }

    async fn mv(&self, from: &VPath, to: &VPath, options: &MoveOptions) -> Result<(), FsError> {
        let options = *options;
        self.run_two(Op::Rename, (from, to), move |disk, from, to| disk.mv(from, to, &options))
            .await
    }

    async fn symlink(&self, target: &str, path: &VPath) -> Result<(), FsError> {
        let (disk, target, path) = (self.disk.clone(), target.to_owned(), path.clone());
        self.block(move || {
            let done = disk.symlink(&target, &path);
            done.map_err(|fail| fail.on(Op::Symlink, &target).to(&path))
        })
        .await
    }

    async fn readlink(&self, path: &VPath) -> Result<String, FsError> {
        self.run(Op::Readlink, path, HostDisk::readlink).await
    }

    async fn realpath(&self, path: &VPath) -> Result<VPath, FsError> {
        self.run(Op::Realpath, path, |disk, path| Ok(disk.find(path, HostFinalLink::Follow)?.path))
            .await
    }

    async fn set_attribute(&self, path: &VPath, attribute: FileAttribute) -> Result<(), FsError> {
        self.run(attribute.op(), path, move |disk, path| match attribute {
            FileAttribute::Mtime(mtime) => disk.utimes(path, mtime),
            FileAttribute::Mode(mode) => disk.chmod(path, mode & 0o7777),
            FileAttribute::Metadata(_) => {
                disk.find(path, HostFinalLink::Follow)?;
                Err(FsCode::ENOSYS.into())
            }
        })
        .await
    }

    fn view(&self, view: FsView<'_>) -> Option<Arc<dyn FileSystem>> {
        match view {
            FsView::WithoutLinks => {
                Some(Arc::new(Self { disk: Arc::new(self.disk.without_links()) }))
            }
            _ => None,
        }
    }

    async fn cursor(&self) -> Result<ChangeCursor, FsError> {
        self.run(Op::Watch, &VPath::root(), |disk, _| disk.cursor()).await
    }

    async fn changes(
        &self,
        since: &ChangeCursor,
        options: &ChangesOptions,
    ) -> Result<ChangePage, FsError> {
        let deadline = options.wait.map(|wait| time::Instant::now() + wait);
        loop {
            let (disk, since, limit) = (self.disk.clone(), since.clone(), options.limit);
            let changes = self.block(move || disk.changes(&since, limit)).await?;
            match deadline {
                Some(deadline)
                    if changes.events.is_empty()
                        && limit > 0
                        && time::Instant::now() < deadline =>
                {
                    let pause = (time::Instant::now() + SCAN_PAUSE).min(deadline);
                    time::sleep_until(pause).await;
                }
                _ => return Ok(changes),
            }
        }
    }
}
