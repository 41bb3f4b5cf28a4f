//! A filesystem whose changes are checked before they are made.
//!
//! One lock is held from the check of a change to its end, so that concurrent changes are checked
//! one after the other. What other handles change meanwhile is found by versions: an append or an
//! edit is made only if the file is still the one that was checked.

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use tokio::sync::Mutex;
use yfs_types::{path::VPath, time::Millis};
use yfs_vfs::{
    CallScope, ChangeCursor, ChangePage, ChangesOptions, ChunkStream, CopyOptions, CreateMode,
    DirEntry, DirectoryStream, EditOutcome, EditRefusal, FileContent, FileKind, FileSystem, FsCode,
    FsError, GlobQuery, GlobResult, GrepQuery, GrepResult, GrepSink, LinePage, Metadata,
    MkdirOptions, MoveOptions, Op, RemoveOptions, Stat, StreamOptions, TextReplacement, TreeTotals,
    WalkEntry, WalkOptions, WalkStream, WriteOptions, WriteOutcome,
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
#[derive(Debug, Clone)]
pub struct HookedFs {
    inner: Arc<dyn FileSystem>,
    hooks: Arc<[Arc<dyn WriteHook>]>,
    /// Held from the check of a change to its end. Handles of one filesystem share it.
    lock: Arc<Mutex<()>>,
}

impl PlannedChange<'_> {
    /// Makes the error that rejects the change.
    pub fn refused(&self, code: FsCode) -> FsError {
        FsError::new(code, self.op, self.path)
    }
}

impl HookedFs {
    /// Wraps a filesystem with hooks, which are asked in this order.
    pub fn new(
        inner: Arc<dyn FileSystem>,
        hooks: impl IntoIterator<Item = Arc<dyn WriteHook>>,
    ) -> Self {
        Self { inner, hooks: hooks.into_iter().collect(), lock: Arc::default() }
    }

    fn needs_contents(&self) -> bool {
        self.hooks.iter().any(|hook| hook.needs_contents())
    }

    async fn check(&self, change: &PlannedChange<'_>) -> Result<(), FsError> {
        for hook in &*self.hooks {
            hook.check_change(&*self.inner, change).await?;
        }
        Ok(())
    }

    /// Returns the size of the file at a path, or `None` if there is none.
    async fn len_at(&self, path: &VPath, follow: bool) -> Option<u64> {
        let stat = if follow { self.inner.stat(path).await } else { self.inner.lstat(path).await };
        stat.ok().filter(Stat::is_file).map(|stat| stat.size)
    }

    /// Checks the copies that a copy or move of a tree makes.
    async fn check_copies(
        &self,
        op: Op,
        from: &VPath,
        to: &VPath,
        adds: bool,
    ) -> Result<(), FsError> {
        // A missing source is the backend's to report.
        let Ok(stat) = self.inner.lstat(from).await else { return Ok(()) };
        let (mut added_bytes, mut added_files) = (0, 0);
        if adds && stat.kind != FileKind::Symlink {
            let source = self.inner.totals(from).await?;
            (added_bytes, added_files) = (signed(source.n_bytes), signed(source.n_files));
            if let Some(len) = self.len_at(to, false).await {
                (added_bytes, added_files) = (added_bytes - signed(len), added_files - 1);
            }
        }
        let change = PlannedChange { op, path: to, content: None, added_bytes, added_files };
        self.check(&change).await?;
        if !self.needs_contents() {
            return Ok(());
        }
        let mut files = Vec::new();
        if stat.is_directory() {
            let below = self.inner.walk(from, &WalkOptions::default()).await?;
            let below = below.into_iter().filter(|found| found.entry.kind == FileKind::File);
            files.extend(below.map(|found| found.path));
        } else if stat.is_file() {
            files.push(from.clone());
        }
        for file in files {
            let rest = file.relative_to(from).filter(|rest| !rest.is_empty());
            let target = rest.map_or(Ok(to.clone()), |rest| to.resolve(rest));
            let target = target.map_err(|error| FsError::bad_path(op, to.as_str(), error))?;
            let content = Some(&self.inner.read(&file).await?.data).cloned();
            let content = content.as_ref();
            let change =
                PlannedChange { op, path: &target, content, added_bytes: 0, added_files: 0 };
            self.check(&change).await?;
        }
        Ok(())
    }

    /// Appends if the file is the one that was checked; `None` if it is not.
    async fn try_append(
        &self,
        path: &VPath,
        data: &Bytes,
        options: &WriteOptions,
    ) -> Result<Option<WriteOutcome>, FsError> {
        let current = match self.inner.read(path).await {
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
        self.check(&change).await?;
        let mut bound = options.clone();
        match current {
            Some(content) if options.expected_version.is_none() => {
                bound.expected_version = Some(content.version);
            }
            None if options.create == CreateMode::IfMissing => bound.create = CreateMode::New,
            _ => (),
        }
        match self.inner.append(path, data.clone(), &bound).await {
            Err(error) if error.code == FsCode::ESTALE && options.expected_version.is_none() => {
                Ok(None)
            }
            Err(error)
                if error.code == FsCode::EEXIST && options.create == CreateMode::IfMissing =>
            {
                // A dangling link, or a file that appeared: let the backend decide what it is.
                match self.inner.stat(path).await {
                    Ok(_) => Ok(None),
                    Err(_) => self.inner.append(path, data.clone(), options).await.map(Some),
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
        path: &VPath,
        edit: &TextReplacement,
    ) -> Result<Option<EditOutcome>, FsError> {
        let read = self.inner.read(path).await.map_err(|error| error.during(Op::Edit))?;
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
        self.check(&change).await?;
        let bound = TextReplacement { expected_version: Some(read.version), ..edit.clone() };
        match self.inner.edit(path, &bound).await {
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
impl FileSystem for HookedFs {
    async fn read(&self, path: &VPath) -> Result<FileContent, FsError> {
        self.inner.read(path).await
    }

    async fn read_many(&self, paths: &[VPath]) -> Vec<Result<Bytes, FsError>> {
        self.inner.read_many(paths).await
    }

    async fn read_range(&self, path: &VPath, offset: u64, len: u64) -> Result<Bytes, FsError> {
        self.inner.read_range(path, offset, len).await
    }

    async fn read_lines(&self, path: &VPath, offset: u64, limit: u64) -> Result<LinePage, FsError> {
        self.inner.read_lines(path, offset, limit).await
    }

    async fn read_stream(
        &self,
        path: &VPath,
        options: &StreamOptions,
    ) -> Result<ChunkStream, FsError> {
        self.inner.read_stream(path, options).await
    }

    async fn write(
        &self,
        path: &VPath,
        data: Bytes,
        options: &WriteOptions,
    ) -> Result<WriteOutcome, FsError> {
        let _guard = self.lock.lock().await;
        let old = self.len_at(path, options.follow).await;
        // A merge keeps at most all of the old content beside the new.
        let kept = if options.base.is_some() { 0 } else { old.unwrap_or(0) };
        let added_bytes = signed(data.len() as u64) - signed(kept);
        let added_files = i64::from(old.is_none());
        let content = Some(&data);
        let change = PlannedChange { op: Op::Open, path, content, added_bytes, added_files };
        self.check(&change).await?;
        self.inner.write(path, data, options).await
    }

    async fn append(
        &self,
        path: &VPath,
        data: Bytes,
        options: &WriteOptions,
    ) -> Result<WriteOutcome, FsError> {
        let _guard = self.lock.lock().await;
        for _ in 0..MAX_ATTEMPTS {
            if let Some(written) = self.try_append(path, &data, options).await? {
                return Ok(written);
            }
        }
        Err(FsError::new(FsCode::EBUSY, Op::Append, path))
    }

    async fn edit(&self, path: &VPath, edit: &TextReplacement) -> Result<EditOutcome, FsError> {
        let _guard = self.lock.lock().await;
        for _ in 0..MAX_ATTEMPTS {
            if let Some(edited) = self.try_edit(path, edit).await? {
                return Ok(edited);
            }
        }
        Err(FsError::new(FsCode::EBUSY, Op::Edit, path))
    }

    async fn stat(&self, path: &VPath) -> Result<Stat, FsError> {
        self.inner.stat(path).await
    }

    async fn lstat(&self, path: &VPath) -> Result<Stat, FsError> {
        self.inner.lstat(path).await
    }

    async fn readdir(&self, path: &VPath) -> Result<Vec<DirEntry>, FsError> {
        self.inner.readdir(path).await
    }

    async fn mkdir(&self, path: &VPath, options: &MkdirOptions) -> Result<(), FsError> {
        self.inner.mkdir(path, options).await
    }

    async fn rm(&self, path: &VPath, options: &RemoveOptions) -> Result<(), FsError> {
        let _guard = self.lock.lock().await;
        self.inner.rm(path, options).await
    }

    async fn cp(&self, from: &VPath, to: &VPath, options: &CopyOptions) -> Result<(), FsError> {
        let _guard = self.lock.lock().await;
        self.check_copies(Op::Cp, from, to, true).await?;
        self.inner.cp(from, to, options).await
    }

    async fn mv(&self, from: &VPath, to: &VPath, options: &MoveOptions) -> Result<(), FsError> {
        let _guard = self.lock.lock().await;
        self.check_copies(Op::Rename, from, to, false).await?;
        self.inner.mv(from, to, options).await
    }

    async fn symlink(&self, target: &str, path: &VPath) -> Result<(), FsError> {
        self.inner.symlink(target, path).await
    }

    async fn readlink(&self, path: &VPath) -> Result<String, FsError> {
        self.inner.readlink(path).await
    }

    async fn link(&self, existing: &VPath, path: &VPath) -> Result<(), FsError> {
        let _guard = self.lock.lock().await;
        self.check_copies(Op::Link, existing, path, true).await?;
        self.inner.link(existing, path).await
    }

    async fn realpath(&self, path: &VPath) -> Result<VPath, FsError> {
        self.inner.realpath(path).await
    }

    async fn utimes(&self, path: &VPath, mtime: Millis) -> Result<(), FsError> {
        self.inner.utimes(path, mtime).await
    }

    async fn chmod(&self, path: &VPath, mode: u32) -> Result<(), FsError> {
        self.inner.chmod(path, mode).await
    }

    async fn set_metadata(&self, path: &VPath, metadata: Metadata) -> Result<(), FsError> {
        self.inner.set_metadata(path, metadata).await
    }

    async fn walk(&self, path: &VPath, options: &WalkOptions) -> Result<Vec<WalkEntry>, FsError> {
        self.inner.walk(path, options).await
    }

    fn walk_batches<'a>(&'a self, path: &'a VPath, options: &'a WalkOptions) -> WalkStream<'a> {
        self.inner.walk_batches(path, options)
    }

    fn walk_directories<'a>(
        &'a self,
        path: &'a VPath,
        options: &'a WalkOptions,
    ) -> DirectoryStream<'a> {
        self.inner.walk_directories(path, options)
    }

    async fn glob(&self, query: &GlobQuery) -> Result<GlobResult, FsError> {
        self.inner.glob(query).await
    }

    async fn grep(&self, query: &GrepQuery) -> Result<GrepResult, FsError> {
        self.inner.grep(query).await
    }

    async fn grep_each(
        &self,
        query: &GrepQuery,
        sink: &mut dyn GrepSink,
    ) -> Result<GrepResult, FsError> {
        self.inner.grep_each(query, sink).await
    }

    async fn totals(&self, path: &VPath) -> Result<TreeTotals, FsError> {
        self.inner.totals(path).await
    }

    fn without_links(&self) -> Option<Arc<dyn FileSystem>> {
        let inner = self.inner.without_links()?;
        Some(Arc::new(Self { inner, ..self.clone() }))
    }

    fn in_new_step(&self) -> Option<Arc<dyn FileSystem>> {
        let inner = self.inner.in_new_step()?;
        Some(Arc::new(Self { inner, ..self.clone() }))
    }

    fn for_call(&self, scope: &CallScope) -> Option<Arc<dyn FileSystem>> {
        let inner = self.inner.for_call(scope)?;
        Some(Arc::new(Self { inner, ..self.clone() }))
    }

    fn without_questions(&self) -> Option<Arc<dyn FileSystem>> {
        let inner = self.inner.without_questions()?;
        Some(Arc::new(Self { inner, ..self.clone() }))
    }

    async fn cursor(&self) -> Result<ChangeCursor, FsError> {
        self.inner.cursor().await
    }

    async fn changes(
        &self,
        since: &ChangeCursor,
        options: &ChangesOptions,
    ) -> Result<ChangePage, FsError> {
        self.inner.changes(since, options).await
    }
}
