//! Copies and moves between filesystems.
//!
//! The copy of a directory is made beside its destination under a temporary name and then moved
//! into place, so that the destination is complete before it appears. A move removes its source
//! after that, and only if the source is still what was copied.

use std::sync::atomic::{AtomicU64, Ordering};

use yfs_types::path::VPath;
use yfs_vfs::{
    CopyOptions, FileKind, FileSystem, FileSystemExt, FsCode, FsError, MkdirOptions, MoveOptions,
    Op, RemoveOptions, Stat, WalkOptions, WriteOptions,
};

use super::CompositeFs;

/// The prefix of the name of a copy that is not complete.
const TEMPORARY: &str = ".yfs-copy-";

/// The state of a source, as it was copied.
type CopiedVersions = Vec<(VPath, Stat)>;

/// A copy between filesystems.
#[derive(Debug, Clone, Copy)]
struct CrossCopy<'a> {
    op: Op,
    from: &'a VPath,
    to: &'a VPath,
}

impl CrossCopy<'_> {
    fn fail<T>(&self, code: FsCode) -> Result<T, FsError> {
        Err(FsError::new(code, self.op, self.from).to(self.to))
    }

    fn lift(&self, error: FsError) -> FsError {
        let (path, dest) = (Some(self.from.as_str().into()), Some(self.to.as_str().into()));
        FsError { op: self.op, path, dest, ..error }
    }

    /// Checks that the source may replace what is at the destination.
    fn check_kinds(&self, source: &Stat, target: Option<&Stat>) -> Result<(), FsError> {
        match (source.is_directory(), target.map(Stat::is_directory)) {
            _ if self.to.starts_with(self.from) => self.fail(FsCode::EINVAL),
            (true, Some(false)) => self.fail(FsCode::ENOTDIR),
            (false, Some(true)) => self.fail(FsCode::EISDIR),
            _ if source.kind == FileKind::Other => self.fail(FsCode::EINVAL),
            _ => Ok(()),
        }
    }
}

impl CompositeFs {
    pub(super) async fn copy_across(
        &self,
        from: &VPath,
        to: &VPath,
        options: &CopyOptions,
    ) -> Result<(), FsError> {
        let call = CrossCopy { op: Op::Cp, from, to };
        let source = self.lstat(from).await.map_err(|error| call.lift(error))?;
        let target = self.target_of(call, options.replace, options.parents).await?;
        if source.is_directory() && !options.recursive {
            return call.fail(FsCode::EISDIR);
        }
        call.check_kinds(&source, target.as_ref())?;
        let copied = self.copy_checked(call, &source, target.as_ref()).await;
        copied.map(drop).map_err(|error| call.lift(error))
    }

    pub(super) async fn move_across(
        &self,
        from: &VPath,
        to: &VPath,
        options: &MoveOptions,
    ) -> Result<(), FsError> {
        let call = CrossCopy { op: Op::Rename, from, to };
        if self.holds_prefix(from) || self.holds_prefix(to) {
            return call.fail(FsCode::EBUSY);
        }
        let source = self.lstat(from).await.map_err(|error| call.lift(error))?;
        let target = self.target_of(call, options.replace, options.parents).await?;
        call.check_kinds(&source, target.as_ref())?;
        if target.as_ref().is_some_and(Stat::is_directory) {
            let entries = self.readdir(to).await.map_err(|error| call.lift(error))?;
            if !entries.is_empty() {
                return call.fail(FsCode::ENOTEMPTY);
            }
        }
        let copied = self.copy_checked(call, &source, target.as_ref()).await;
        let copied = copied.map_err(|error| call.lift(error))?;
        // The copy stays if the source changed meanwhile: both are complete, and none is lost.
        self.check_unchanged(call, copied).await?;
        let removal = RemoveOptions { recursive: true, force: false };
        self.rm(from, &removal).await.map_err(|error| call.lift(error))
    }

    /// Returns the object at the destination, after the checks of the options.
    async fn target_of(
        &self,
        call: CrossCopy<'_>,
        replace: bool,
        parents: bool,
    ) -> Result<Option<Stat>, FsError> {
        match self.lstat(call.to).await {
            Ok(_) if !replace => call.fail(FsCode::EEXIST),
            Ok(stat) => Ok(Some(stat)),
            Err(error) if error.code == FsCode::ENOENT => {
                let parent = call.to.parent().unwrap_or_else(VPath::root);
                match self.stat(&parent).await {
                    Err(error) if !parents => Err(call.lift(error)),
                    _ => Ok(None),
                }
            }
            Err(error) => Err(call.lift(error)),
        }
    }

    async fn copy_checked(
        &self,
        call: CrossCopy<'_>,
        source: &Stat,
        target: Option<&Stat>,
    ) -> Result<CopiedVersions, FsError> {
        if !source.is_directory() {
            let copied = self.copy_leaf(call.from, call.to, source).await?;
            return Ok(vec![(call.from.clone(), copied)]);
        }
        let merges = match target {
            Some(_) => !self.readdir(call.to).await?.is_empty(),
            None => false,
        };
        if merges || self.holds_prefix(call.to) {
            return self.copy_tree(call.from, call.to, source).await;
        }
        let staging = staging_path(call.to);
        let copied = self.copy_tree(call.from, &staging, source).await;
        let placed = match copied {
            Ok(copied) => {
                let options = MoveOptions { replace: true, parents: false };
                self.mv(&staging, call.to, &options).await.map(|()| copied)
            }
            Err(error) => Err(error),
        };
        if placed.is_err() {
            let removal = RemoveOptions { recursive: true, force: true };
            // The first error is the one to report.
            self.rm(&staging, &removal).await.ok();
        }
        placed
    }

    async fn copy_tree(
        &self,
        from: &VPath,
        to: &VPath,
        source: &Stat,
    ) -> Result<CopiedVersions, FsError> {
        let mut copied = vec![(from.clone(), source.clone())];
        self.mkdir(to, &MkdirOptions { recursive: true, mode: Some(source.mode) }).await?;
        for found in self.walk(from, &WalkOptions::default()).await? {
            let rest = found.path.relative_to(from).unwrap_or_default();
            let target =
                to.resolve(rest).map_err(|error| FsError::bad_path(Op::Cp, rest, error))?;
            let stat = self.lstat(&found.path).await?;
            if stat.is_directory() {
                let options = MkdirOptions { recursive: true, mode: Some(stat.mode) };
                self.mkdir(&target, &options).await?;
                copied.push((found.path, stat));
            } else {
                let stat = self.copy_leaf(&found.path, &target, &stat).await?;
                copied.push((found.path, stat));
            }
        }
        Ok(copied)
    }

    /// Copies a file or link. Returns its description with the version that was copied.
    async fn copy_leaf(&self, from: &VPath, to: &VPath, source: &Stat) -> Result<Stat, FsError> {
        let mut copied = source.clone();
        if source.kind == FileKind::Symlink {
            let target = self.readlink(from).await?;
            self.rm(to, &RemoveOptions { recursive: false, force: true }).await?;
            self.symlink(&target, to).await?;
            return Ok(copied);
        }
        let content = self.read(from).await?;
        copied.version = Some(content.version);
        let mut options = WriteOptions {
            mode: Some(source.mode),
            mime: source.mime.clone(),
            metadata: Some(source.metadata.clone()),
            mtime: Some(source.mtime),
            follow: false,
            ..WriteOptions::default()
        };
        let written = self.write(to, content.data.clone(), &options).await;
        if matches!(&written, Err(error) if error.code == FsCode::ENOSYS) {
            // The backend stores no metadata.
            (options.mime, options.metadata) = (None, None);
            self.write(to, content.data, &options).await?;
        } else {
            written?;
        }
        Ok(copied)
    }

    /// Checks that a source is still what was copied.
    async fn check_unchanged(
        &self,
        call: CrossCopy<'_>,
        copied: CopiedVersions,
    ) -> Result<(), FsError> {
        let is_directory = copied.first().is_some_and(|(_, stat)| stat.is_directory());
        let n_now = match is_directory {
            true => {
                let walked = self.walk(call.from, &WalkOptions::default()).await;
                walked.map_err(|error| call.lift(error))?.len() + 1
            }
            false => 1,
        };
        if n_now != copied.len() {
            return call.fail(FsCode::EBUSY);
        }
        for (path, before) in copied {
            let now = self.lstat(&path).await.map_err(|error| call.lift(error))?;
            if now.id != before.id || now.version != before.version {
                return call.fail(FsCode::EBUSY);
            }
        }
        Ok(())
    }
}

/// Returns a free name beside a destination.
fn staging_path(to: &VPath) -> VPath {
    static N_COPIES: AtomicU64 = AtomicU64::new(0);
    let number = N_COPIES.fetch_add(1, Ordering::Relaxed);
    let name = format!("{TEMPORARY}{}-{number}", std::process::id());
    to.parent().unwrap_or_else(VPath::root).join(&name)
}
