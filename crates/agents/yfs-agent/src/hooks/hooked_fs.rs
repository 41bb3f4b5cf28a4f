//! A filesystem whose changes are checked before they are made.
//!
//! One lock is held from the check of a change to its end, so that concurrent changes are checked
//! one after the other. What other handles change meanwhile is found by versions: an append or an
//! edit is made only if the file is still the one that was checked.

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use tokio::sync::Mutex;
use yfs_types::path::VPath;
use yfs_vfs::{
    CreateMode, EditOutcome, EditRefusal, FileKind, FileSystem, FileSystemExt, FsCode, FsError, Op,
    Stat, TextReplacement, VersionBase, WalkOptions, WriteOptions, WriteOutcome,
    guarded_fs::{AdmittedCall, FsGuard, GuardedCall, GuardedFs},
};

/// The most times that a change starts over because another writer was faster.
const MAX_ATTEMPTS: usize = 64;

/// A change of one file that is about to be made.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct PlannedChange<'a> {
    /// The operation.
    pub op: Op,
    /// The file.
    pub path: &'a VPath,
    /// The whole content that the file would have, if a hook needs it. A write that merges may
    /// store more than this.
    pub content: Option<&'a Bytes>,
    /// The bytes that the change adds at most.
    pub added_bytes: i64,
    /// The files that the change adds at most.
    pub added_files: i64,
}

/// A check of changes. It must not change the filesystem.
#[async_trait]
pub trait WriteHook: Send + Sync + std::fmt::Debug {
    /// Reports whether the hook needs [`PlannedChange::content`].
    fn needs_contents(&self) -> bool {
        false
    }

    /// Checks a change. An `Err` rejects it: nothing is changed.
    async fn check_change(
        &self,
        fs: &dyn FileSystem,
        change: &PlannedChange<'_>,
    ) -> Result<(), FsError>;
}

/// A filesystem with hooks.
pub type HookedFs = GuardedFs<WriteHooks>;

/// The guard that asks hooks.
#[derive(Debug)]
pub struct WriteHooks {
    hooks: Vec<Arc<dyn WriteHook>>,
    /// Held from the check of a change to its end. Handles of one filesystem share it.
    lock: Mutex<()>,
}

impl PlannedChange<'_> {
    /// Makes the error that rejects the change.
    pub fn refused(&self, code: FsCode) -> FsError {
        FsError::new(code, self.op, self.path)
    }
}

impl WriteHooks {
    /// Makes a guard of hooks, which are asked in this order.
    pub fn new(hooks: impl IntoIterator<Item = Arc<dyn WriteHook>>) -> Self {
        Self { hooks: hooks.into_iter().collect(), lock: Mutex::default() }
    }

    fn needs_contents(&self) -> bool {
        self.hooks.iter().any(|hook| hook.needs_contents())
    }

    async fn check(&self, fs: &dyn FileSystem, change: &PlannedChange<'_>) -> Result<(), FsError> {
        for hook in &self.hooks {
            hook.check_change(fs, change).await?;
        }
        Ok(())
    }

    /// Checks the copies that a copy or move of a tree makes.
    async fn check_copies(
        &self,
        fs: &dyn FileSystem,
        op: Op,
        from: &VPath,
        to: &VPath,
    ) -> Result<(), FsError> {
        // A missing source is the backend's to report.
        let Ok(stat) = fs.lstat(from).await else { return Ok(()) };
        let (mut added_bytes, mut added_files) = (0, 0);
        if op != Op::Rename && stat.kind != FileKind::Symlink {
            let source = fs.totals(from).await?;
            (added_bytes, added_files) = (signed(source.n_bytes), signed(source.n_files));
            if let Ok(old) = fs.lstat(to).await
                && old.is_file()
            {
                (added_bytes, added_files) = (added_bytes - signed(old.size), added_files - 1);
            }
        }
        let change = PlannedChange { op, path: to, content: None, added_bytes, added_files };
        self.check(fs, &change).await?;
        if !self.needs_contents() {
            return Ok(());
        }
        let mut files = Vec::new();
        if stat.is_directory() {
            let below = fs.walk(from, &WalkOptions::default()).await?;
            let below = below.into_iter().filter(|found| found.entry.kind == FileKind::File);
            files.extend(below.map(|found| found.path));
        } else if stat.is_file() {
            files.push(from.clone());
        }
        for file in files {
            let rest = file.relative_to(from).filter(|rest| !rest.is_empty());
            let target = rest.map_or(Ok(to.clone()), |rest| to.resolve(rest));
            let target = target.map_err(|error| FsError::bad_path(op, to.as_str(), error))?;
            let content = Some(&fs.read(&file).await?.data).cloned();
            let content = content.as_ref();
            let change =
                PlannedChange { op, path: &target, content, added_bytes: 0, added_files: 0 };
            self.check(fs, &change).await?;
        }
        Ok(())
    }

    /// Appends if the file is the one that was checked; `None` if it is not.
    async fn try_append(
        &self,
        fs: &dyn FileSystem,
        path: &VPath,
        data: &Bytes,
        options: &WriteOptions,
    ) -> Result<Option<WriteOutcome>, FsError> {
        let current = match fs.read(path).await {
            Ok(content) => Some(content),
            Err(error) if error.code == FsCode::ENOENT => None,
            Err(error) => return Err(error.during(Op::Append)),
        };
        let mut whole = current.as_ref().map_or_else(Vec::new, |content| content.data.to_vec());
        whole.extend_from_slice(data);
        let whole = Bytes::from(whole);
        let change = PlannedChange {
            op: Op::Append,
            path,
            content: Some(&whole),
            added_bytes: signed(data.len() as u64),
            added_files: i64::from(current.is_none()),
        };
        self.check(fs, &change).await?;
        let mut bound = options.clone();
        match current {
            Some(content) if options.expected_version.is_none() => {
                bound.expected_version = Some(content.version);
            }
            None if options.create == CreateMode::IfMissing => bound.create = CreateMode::New,
            _ => (),
        }
        match fs.append(path, data.clone(), &bound).await {
            Err(error) if error.code == FsCode::ESTALE && options.expected_version.is_none() => {
                Ok(None)
            }
            Err(error)
                if error.code == FsCode::EEXIST && options.create == CreateMode::IfMissing =>
            {
                // A dangling link, or a file that appeared: let the backend decide what it is.
                match fs.stat(path).await {
                    Ok(_) => Ok(None),
                    Err(_) => fs.append(path, data.clone(), options).await.map(Some),
                }
            }
            Err(error) => Err(error),
            Ok(mut written) => {
                if options.expected_version.is_none() && !written.created {
                    written.version = None;
                }
                Ok(Some(written))
            }
        }
    }

    /// Edits if the file is the one that was checked; `None` if it is not.
    async fn try_edit(
        &self,
        fs: &dyn FileSystem,
        path: &VPath,
        edit: &TextReplacement,
    ) -> Result<Option<EditOutcome>, FsError> {
        let read = fs.read(path).await.map_err(|error| error.during(Op::Edit))?;
        let refuse = |refusal| FsError::edit_refused(path, refusal);
        let stale = edit.expected_version.as_ref().is_some_and(|token| *token != read.version);
        if stale {
            return Err(FsError::new(FsCode::ESTALE, Op::Edit, path));
        }
        let text = std::str::from_utf8(&read.data).map_err(|_| refuse(EditRefusal::NotText))?;
        let (text, _) = edit.apply(text).map_err(refuse)?;
        let content = Bytes::from(text);
        let added_bytes = signed(content.len() as u64) - signed(read.data.len() as u64);
        let (op, content) = (Op::Edit, Some(&content));
        let change = PlannedChange { op, path, content, added_bytes, added_files: 0 };
        self.check(fs, &change).await?;
        let bound = TextReplacement { expected_version: Some(read.version), ..edit.clone() };
        match fs.edit(path, &bound).await {
            Err(error) if error.code == FsCode::ESTALE && edit.expected_version.is_none() => {
                Ok(None)
            }
            Err(error) => Err(error),
            Ok(mut edited) => {
                edited.version = edited.version.filter(|_| edit.expected_version.is_some());
                Ok(Some(edited))
            }
        }
    }
}

fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

#[async_trait]
impl FsGuard for WriteHooks {
    async fn run_call(
        &self,
        fs: &dyn FileSystem,
        call: &GuardedCall<'_>,
        admitted: AdmittedCall<'_>,
    ) -> Result<(), FsError> {
        if !matches!(call.op, Op::Rm | Op::Cp | Op::Rename | Op::Link) {
            return admitted.await;
        }
        let _guard = self.lock.lock().await;
        if let [from, to] = &call.objects()[..] {
            self.check_copies(fs, call.op, from, to).await?;
        }
        admitted.await
    }

    async fn run_write(
        &self,
        fs: &dyn FileSystem,
        path: &VPath,
        data: Bytes,
        options: &WriteOptions,
    ) -> Result<WriteOutcome, FsError> {
        let _guard = self.lock.lock().await;
        let old = if options.follow { fs.stat(path).await } else { fs.lstat(path).await };
        let old = old.ok().filter(Stat::is_file);
        let replaces = match (&options.base, &old) {
            (None, _) => true,
            (Some(VersionBase::Version(base)), Some(old)) => old.version.as_ref() == Some(base),
            _ => false,
        };
        // A merge keeps at most all of the old content beside the new.
        let replaced = old.as_ref().filter(|_| replaces).map_or(0, |old| old.size);
        let added_bytes = signed(data.len() as u64) - signed(replaced);
        let added_files = i64::from(old.is_none());
        let content = Some(&data);
        let change = PlannedChange { op: Op::Open, path, content, added_bytes, added_files };
        self.check(fs, &change).await?;
        fs.write(path, data, options).await
    }

    async fn run_append(
        &self,
        fs: &dyn FileSystem,
        path: &VPath,
        data: Bytes,
        options: &WriteOptions,
    ) -> Result<WriteOutcome, FsError> {
        let _guard = self.lock.lock().await;
        for _ in 0..MAX_ATTEMPTS {
            if let Some(written) = self.try_append(fs, path, &data, options).await? {
                return Ok(written);
            }
        }
        Err(FsError::new(FsCode::EBUSY, Op::Append, path))
    }

    async fn run_edit(
        &self,
        fs: &dyn FileSystem,
        path: &VPath,
        edit: &TextReplacement,
    ) -> Result<EditOutcome, FsError> {
        let _guard = self.lock.lock().await;
        for _ in 0..MAX_ATTEMPTS {
            if let Some(edited) = self.try_edit(fs, path, edit).await? {
                return Ok(edited);
            }
        }
        Err(FsError::new(FsCode::EBUSY, Op::Edit, path))
    }
}
