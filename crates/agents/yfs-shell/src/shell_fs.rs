//! A filesystem of yfs as one of the interpreter.
//!
//! A file that a command reads and then writes is written with the version that it read as the
//! base, so that changes that others made between are kept, or the write is refused where the
//! backend cannot merge.
//!
//! The interpreter replaces a file by writing a temporary file beside it and renaming that. Its
//! temporary files are kept in memory, and such a rename is a write of the file.

use std::{
    collections::HashMap,
    io,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use async_trait::async_trait;
use bashkit::{DirEntry, FileSystem, FileSystemExt, FileType, Metadata, Result};
use parking_lot::Mutex;
use yfs_types::{path::VPath, time::Millis};
use yfs_vfs::{
    CopyOptions, FileAttribute, FileKind, FsCode, FsError, MkdirOptions, MoveOptions, Op,
    RemoveOptions, Stat, VersionBase, VersionToken, WriteOptions,
};

use crate::executor::ShellLimits;

/// The files of one command.
#[derive(Debug)]
pub(crate) struct ShellFs {
    inner: Arc<dyn yfs_vfs::FileSystem>,
    limits: ShellLimits,
    n_written: AtomicU64,
    /// Set when the command is over: every later call fails.
    is_revoked: AtomicBool,
    /// The versions that the command has read or written.
    versions: Mutex<HashMap<VPath, VersionToken>>,
    /// The temporary files of the interpreter.
    scratch: Mutex<HashMap<VPath, Vec<u8>>>,
}

/// Reports whether a path is one of a temporary file of the interpreter.
fn is_scratch(path: &VPath) -> bool {
    let name = path.file_name().unwrap_or_default();
    name.starts_with(".bashkit-") && name.ends_with(".tmp")
}

impl ShellFs {
    pub(crate) fn new(inner: Arc<dyn yfs_vfs::FileSystem>, limits: ShellLimits) -> Self {
        Self {
            inner,
            limits,
            n_written: AtomicU64::new(0),
            is_revoked: AtomicBool::new(false),
            versions: Mutex::default(),
            scratch: Mutex::default(),
        }
    }

    /// Fails all later calls.
    pub(crate) fn revoke(&self) {
        self.is_revoked.store(true, Ordering::SeqCst);
    }

    /// Converts a path, if the command still runs.
    fn path(&self, op: Op, path: &Path) -> Result<VPath> {
        let text = path.to_str().unwrap_or_default();
        if self.is_revoked.load(Ordering::SeqCst) {
            return Err(convert(FsError::new(FsCode::ECANCELED, op, text)));
        }
        VPath::parse(text).map_err(|error| convert(FsError::bad_path(op, text, error)))
    }

    /// Counts bytes to be written, or refuses them.
    fn charge(&self, op: Op, path: &VPath, added: u64, new_len: u64) -> Result<()> {
        if new_len > self.limits.max_file_len {
            return Err(convert(FsError::new(FsCode::EFBIG, op, path)));
        }
        let before = self.n_written.fetch_add(added, Ordering::SeqCst);
        if before.saturating_add(added) > self.limits.max_written_bytes {
            return Err(convert(FsError::new(FsCode::ENOSPC, op, path)));
        }
        Ok(())
    }

    fn remember(&self, path: VPath, version: Option<VersionToken>) {
        let mut versions = self.versions.lock();
        match version {
            Some(version) => versions.insert(path, version),
            None => versions.remove(&path),
        };
    }

    /// Forgets the versions of a path and of all below it, which another object may have now.
    fn forget(&self, path: &VPath) {
        self.versions.lock().retain(|other, _| !other.starts_with(path));
    }
}

impl FileSystemExt for ShellFs {}

#[async_trait]
impl FileSystem for ShellFs {
    async fn read_file(&self, path: &Path) -> Result<Vec<u8>> {
        let path = self.path(Op::Open, path)?;
        if let Some(data) = self.scratch.lock().get(&path) {
            return Ok(data.clone());
        }
        let content = self.inner.read(&path).await.map_err(convert)?;
        self.remember(path, Some(content.version));
        Ok(content.data.into())
    }

    async fn write_file(&self, path: &Path, content: &[u8]) -> Result<()> {
        let path = self.path(Op::Open, path)?;
        let n_bytes = content.len() as u64;
        self.charge(Op::Open, &path, n_bytes, n_bytes)?;
        if is_scratch(&path) {
            self.scratch.lock().insert(path, content.to_vec());
            return Ok(());
        }
        let base = self.versions.lock().get(&path).cloned().map(VersionBase::Version);
        let options = WriteOptions { base, parents: false, ..WriteOptions::default() };
        let data = content.to_vec().into();
        let written = self.inner.write(&path, data, &options).await.map_err(convert)?;
        self.remember(path, written.version);
        Ok(())
    }

    async fn append_file(&self, path: &Path, content: &[u8]) -> Result<()> {
        let path = self.path(Op::Append, path)?;
        let n_bytes = content.len() as u64;
        let len = self.inner.stat(&path).await.map_or(0, |stat| stat.size);
        self.charge(Op::Append, &path, n_bytes, len.saturating_add(n_bytes))?;
        let options = WriteOptions { parents: false, ..WriteOptions::default() };
        let data = content.to_vec().into();
        self.inner.append(&path, data, &options).await.map_err(convert)?;
        self.remember(path, None);
        Ok(())
    }

    async fn mkdir(&self, path: &Path, recursive: bool) -> Result<()> {
        let path = self.path(Op::Mkdir, path)?;
        let options = MkdirOptions { recursive, mode: None };
        self.inner.mkdir(&path, &options).await.map_err(convert)
    }

    async fn remove(&self, path: &Path, recursive: bool) -> Result<()> {
        let path = self.path(Op::Rm, path)?;
        if self.scratch.lock().remove(&path).is_some() {
            return Ok(());
        }
        let options = RemoveOptions { recursive, force: false };
        self.inner.rm(&path, &options).await.map_err(convert)?;
        self.forget(&path);
        Ok(())
    }

    async fn stat(&self, path: &Path) -> Result<Metadata> {
        // The interpreter's own layer follows links, so this one describes the link itself.
        self.lstat(path).await
    }

    async fn lstat(&self, path: &Path) -> Result<Metadata> {
        let path = self.path(Op::Lstat, path)?;
        if let Some(data) = self.scratch.lock().get(&path) {
            return Ok(Metadata { size: data.len() as u64, ..Metadata::default() });
        }
        if is_scratch(&path) {
            // One that is not there yet, and never among the files.
            return Err(convert(FsError::new(FsCode::ENOENT, Op::Lstat, &path)));
        }
        let stat = self.inner.lstat(&path).await.map_err(convert)?;
        Ok(metadata(&stat))
    }

    async fn read_dir(&self, path: &Path) -> Result<Vec<DirEntry>> {
        let path = self.path(Op::Scandir, path)?;
        let entries = self.inner.readdir(&path).await.map_err(convert)?;
        let entries = entries.into_iter().map(|entry| {
            let mut stat = Stat::new(entry.id, entry.kind);
            (stat.size, stat.mode) = (entry.size, entry.mode);
            (stat.mtime, stat.created) = (entry.mtime, entry.mtime);
            DirEntry { name: entry.name.into(), metadata: metadata(&stat) }
        });
        Ok(entries.collect())
    }

    async fn exists(&self, path: &Path) -> Result<bool> {
        let path = self.path(Op::Lstat, path)?;
        if self.scratch.lock().contains_key(&path) {
            return Ok(true);
        }
        if is_scratch(&path) {
            return Ok(false);
        }
        match self.inner.lstat(&path).await {
            Ok(_) => Ok(true),
            // What may not be seen does not exist for the command.
            Err(error) if matches!(error.code, FsCode::ENOENT | FsCode::ENOTDIR) => Ok(false),
            Err(error) => Err(convert(error)),
        }
    }

    async fn rename(&self, from: &Path, to: &Path) -> Result<()> {
        let (from, to) = (self.path(Op::Rename, from)?, self.path(Op::Rename, to)?);
        let scratch = self.scratch.lock().get(&from).cloned();
        if let Some(data) = scratch {
            self.write_file(Path::new(to.as_str()), &data).await?;
            self.scratch.lock().remove(&from);
            return Ok(());
        }
        if from == to {
            let same = format!("'{from}' and '{to}' are the same file");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, same).into());
        }
        let options = MoveOptions { replace: true, parents: false };
        self.inner.mv(&from, &to, &options).await.map_err(convert)?;
        self.forget(&from);
        self.forget(&to);
        Ok(())
    }

    async fn copy(&self, from: &Path, to: &Path) -> Result<()> {
        let (from, to) = (self.path(Op::Cp, from)?, self.path(Op::Cp, to)?);
        let len = self.inner.stat(&from).await.map_or(0, |stat| stat.size);
        self.charge(Op::Cp, &to, len, len)?;
        let options = CopyOptions { recursive: false, replace: true, parents: false };
        self.inner.cp(&from, &to, &options).await.map_err(convert)?;
        self.forget(&to);
        Ok(())
    }

    async fn symlink(&self, target: &Path, link: &Path) -> Result<()> {
        let link = self.path(Op::Symlink, link)?;
        let target = target.to_str().unwrap_or_default();
        self.inner.symlink(target, &link).await.map_err(convert)
    }

    async fn read_link(&self, path: &Path) -> Result<PathBuf> {
        let path = self.path(Op::Readlink, path)?;
        let target = self.inner.readlink(&path).await.map_err(convert)?;
        Ok(target.into())
    }

    async fn chmod(&self, path: &Path, mode: u32) -> Result<()> {
        let path = self.path(Op::Chmod, path)?;
        if self.scratch.lock().contains_key(&path) {
            return Ok(());
        }
        self.inner.set_attribute(&path, FileAttribute::Mode(mode)).await.map_err(convert)
    }

    async fn set_modified_time(&self, path: &Path, time: SystemTime) -> Result<()> {
        let path = self.path(Op::Utimes, path)?;
        if self.scratch.lock().contains_key(&path) {
            return Ok(());
        }
        let since_epoch = time.duration_since(UNIX_EPOCH).unwrap_or_default();
        let mtime = Millis(i64::try_from(since_epoch.as_millis()).unwrap_or(i64::MAX));
        self.inner.set_attribute(&path, FileAttribute::Mtime(mtime)).await.map_err(convert)
    }
}

fn metadata(stat: &Stat) -> Metadata {
    let time = |millis: Millis| {
        let since_epoch = Duration::from_millis(u64::try_from(millis.0).unwrap_or(0));
        UNIX_EPOCH.checked_add(since_epoch).unwrap_or(UNIX_EPOCH)
    };
    Metadata {
        file_type: match stat.kind {
            FileKind::Directory => FileType::Directory,
            FileKind::Symlink => FileType::Symlink,
            FileKind::Other => FileType::Fifo,
            _ => FileType::File,
        },
        size: stat.size,
        mode: stat.mode,
        modified: time(stat.mtime),
        created: time(stat.created),
    }
}

/// Converts an error to the one that programs print, such as "No such file or directory".
fn convert(error: FsError) -> bashkit::Error {
    let kind = io::Error::from_raw_os_error(error.code.errno()).kind();
    let message = error.code.message();
    let (first, rest) = message.split_at(1);
    io::Error::new(kind, first.to_uppercase() + rest).into()
}
