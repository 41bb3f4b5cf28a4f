//! A filesystem behind a [`FsGuard`], which sees each call and may delay or reject it.

use std::{fmt, sync::Arc};

use async_trait::async_trait;
use bytes::Bytes;
use futures::{StreamExt, stream};
use yfs_types::{path::VPath, time::Millis};

use crate::{
    call_scope::CallScope,
    changes::{ChangeCursor, ChangePage},
    edit::{EditOutcome, TextReplacement},
    error::{FsCode, FsError, Op},
    file_system::{FileContent, FileSystem, WriteOutcome},
    glob::{GlobQuery, GlobResult},
    grep::{GrepQuery, GrepResult, GrepSink},
    line_page::LinePage,
    options::{
        ChangesOptions, CopyOptions, MkdirOptions, MoveOptions, RemoveOptions, StreamOptions,
        WalkOptions, WriteOptions,
    },
    stat::{DirEntry, Metadata, Stat, TreeTotals, WalkEntry},
    stream::{ChunkStream, DirectoryStream, WalkStream},
};

/// One call, as a guard sees it.
#[derive(Debug, Clone, Copy)]
pub struct GuardedCall<'a> {
    /// The operation. Every form of reading is [`Op::Read`], every form of writing [`Op::Write`].
    pub op: Op,
    /// The path, if the operation has one.
    pub path: Option<&'a str>,
    /// The second path, if the operation has two.
    pub dest: Option<&'a str>,
    /// Whether the call may write.
    pub writes: bool,
}

/// An interceptor of the calls of a filesystem.
#[async_trait]
pub trait FsGuard: Send + Sync + fmt::Debug {
    /// Checks a call before it is made. An `Err` rejects the call: it is not made. With
    /// `Ok(Some(error))` the call is made, but its caller receives the error.
    async fn check_call(&self, call: &GuardedCall<'_>) -> Result<Option<FsError>, FsError>;
}

/// A filesystem with a guard.
#[derive(Debug)]
pub struct GuardedFs<G> {
    inner: Arc<dyn FileSystem>,
    guard: Arc<G>,
}

impl<'a> GuardedCall<'a> {
    fn reads(op: Op, path: &'a VPath) -> Self {
        Self { op, path: Some(path.as_str()), dest: None, writes: false }
    }

    fn writes(op: Op, path: &'a VPath) -> Self {
        Self { writes: true, ..Self::reads(op, path) }
    }

    fn writes_two(op: Op, path: &'a str, dest: &'a VPath) -> Self {
        Self { op, path: Some(path), dest: Some(dest.as_str()), writes: true }
    }

    fn watches() -> Self {
        Self { op: Op::Watch, path: None, dest: None, writes: false }
    }

    /// Makes the error that rejects the call.
    pub fn refused(&self, code: FsCode) -> FsError {
        let error = FsError::bare(code, self.op);
        FsError { path: self.path.map(Into::into), dest: self.dest.map(Into::into), ..error }
    }
}

impl<G: FsGuard> GuardedFs<G> {
    /// Wraps a filesystem with a guard.
    pub fn new(inner: Arc<dyn FileSystem>, guard: G) -> Self {
        Self { inner, guard: Arc::new(guard) }
    }

    /// Returns the guard.
    pub fn guard(&self) -> &G {
        &self.guard
    }

    /// Checks a walk, which returns nothing if it is refused or its result is to be lost.
    async fn check_walk(&self, path: &VPath) -> Option<FsError> {
        match self.guard.check_call(&GuardedCall::reads(Op::Walk, path)).await {
            Ok(lost) => lost,
            Err(error) => Some(error),
        }
    }

    async fn run_checked<T>(
        &self,
        call: GuardedCall<'_>,
        made: impl Future<Output = Result<T, FsError>> + Send,
    ) -> Result<T, FsError> {
        let lost = self.guard.check_call(&call).await?;
        let done = made.await?;
        lost.map_or(Ok(done), Err)
    }
}

#[async_trait]
impl<G: FsGuard + 'static> FileSystem for GuardedFs<G> {
    async fn read(&self, path: &VPath) -> Result<FileContent, FsError> {
        self.run_checked(GuardedCall::reads(Op::Read, path), self.inner.read(path)).await
    }

    async fn read_many(&self, paths: &[VPath]) -> Vec<Result<Bytes, FsError>> {
        let mut checks = Vec::with_capacity(paths.len());
        let mut admitted = Vec::with_capacity(paths.len());
        for path in paths {
            let checked = self.guard.check_call(&GuardedCall::reads(Op::Read, path)).await;
            if checked.is_ok() {
                admitted.push(path.clone());
            }
            checks.push(checked);
        }
        let mut contents = self.inner.read_many(&admitted).await.into_iter();
        let content_of = |checked: Result<Option<FsError>, FsError>| {
            let lost = checked?;
            let content =
                contents.next().unwrap_or_else(|| Err(FsError::bare(FsCode::EIO, Op::Read)))?;
            lost.map_or(Ok(content), Err)
        };
        checks.into_iter().map(content_of).collect()
    }

    async fn read_range(&self, path: &VPath, offset: u64, len: u64) -> Result<Bytes, FsError> {
        self.run_checked(
            GuardedCall::reads(Op::Read, path),
            self.inner.read_range(path, offset, len),
        )
        .await
    }

    async fn read_lines(&self, path: &VPath, offset: u64, limit: u64) -> Result<LinePage, FsError> {
        self.run_checked(
            GuardedCall::reads(Op::Read, path),
            self.inner.read_lines(path, offset, limit),
        )
        .await
    }

    async fn read_stream(
        &self,
        path: &VPath,
        options: &StreamOptions,
    ) -> Result<ChunkStream, FsError> {
        self.run_checked(GuardedCall::reads(Op::Read, path), self.inner.read_stream(path, options))
            .await
    }

    async fn write(
        &self,
        path: &VPath,
        data: Bytes,
        options: &WriteOptions,
    ) -> Result<WriteOutcome, FsError> {
        self.run_checked(
            GuardedCall::writes(Op::Write, path),
            self.inner.write(path, data, options),
        )
        .await
    }

    async fn append(
        &self,
        path: &VPath,
        data: Bytes,
        options: &WriteOptions,
    ) -> Result<WriteOutcome, FsError> {
        self.run_checked(
            GuardedCall::writes(Op::Append, path),
            self.inner.append(path, data, options),
        )
        .await
    }

    async fn edit(&self, path: &VPath, edit: &TextReplacement) -> Result<EditOutcome, FsError> {
        self.run_checked(GuardedCall::writes(Op::Edit, path), self.inner.edit(path, edit)).await
    }

    async fn stat(&self, path: &VPath) -> Result<Stat, FsError> {
        self.run_checked(GuardedCall::reads(Op::Stat, path), self.inner.stat(path)).await
    }

    async fn lstat(&self, path: &VPath) -> Result<Stat, FsError> {
        self.run_checked(GuardedCall::reads(Op::Lstat, path), self.inner.lstat(path)).await
    }

    async fn readdir(&self, path: &VPath) -> Result<Vec<DirEntry>, FsError> {
        self.run_checked(GuardedCall::reads(Op::Scandir, path), self.inner.readdir(path)).await
    }

    async fn mkdir(&self, path: &VPath, options: &MkdirOptions) -> Result<(), FsError> {
        self.run_checked(GuardedCall::writes(Op::Mkdir, path), self.inner.mkdir(path, options))
            .await
    }

    async fn rm(&self, path: &VPath, options: &RemoveOptions) -> Result<(), FsError> {
        self.run_checked(GuardedCall::writes(Op::Rm, path), self.inner.rm(path, options)).await
    }

    async fn cp(&self, from: &VPath, to: &VPath, options: &CopyOptions) -> Result<(), FsError> {
        let call = GuardedCall::writes_two(Op::Cp, from.as_str(), to);
        self.run_checked(call, self.inner.cp(from, to, options)).await
    }

    async fn mv(&self, from: &VPath, to: &VPath, options: &MoveOptions) -> Result<(), FsError> {
        let call = GuardedCall::writes_two(Op::Rename, from.as_str(), to);
        self.run_checked(call, self.inner.mv(from, to, options)).await
    }

    async fn symlink(&self, target: &str, path: &VPath) -> Result<(), FsError> {
        let call = GuardedCall::writes_two(Op::Symlink, target, path);
        self.run_checked(call, self.inner.symlink(target, path)).await
    }

    async fn readlink(&self, path: &VPath) -> Result<String, FsError> {
        self.run_checked(GuardedCall::reads(Op::Readlink, path), self.inner.readlink(path)).await
    }

    async fn link(&self, existing: &VPath, path: &VPath) -> Result<(), FsError> {
        let call = GuardedCall::writes_two(Op::Link, existing.as_str(), path);
        self.run_checked(call, self.inner.link(existing, path)).await
    }

    async fn realpath(&self, path: &VPath) -> Result<VPath, FsError> {
        self.run_checked(GuardedCall::reads(Op::Realpath, path), self.inner.realpath(path)).await
    }

    async fn utimes(&self, path: &VPath, mtime: Millis) -> Result<(), FsError> {
        self.run_checked(GuardedCall::writes(Op::Utimes, path), self.inner.utimes(path, mtime))
            .await
    }

    async fn chmod(&self, path: &VPath, mode: u32) -> Result<(), FsError> {
        self.run_checked(GuardedCall::writes(Op::Chmod, path), self.inner.chmod(path, mode)).await
    }

    async fn set_metadata(&self, path: &VPath, metadata: Metadata) -> Result<(), FsError> {
        let call = GuardedCall::writes(Op::SetMetadata, path);
        self.run_checked(call, self.inner.set_metadata(path, metadata)).await
    }

    async fn walk(&self, path: &VPath, options: &WalkOptions) -> Result<Vec<WalkEntry>, FsError> {
        self.run_checked(GuardedCall::reads(Op::Walk, path), self.inner.walk(path, options)).await
    }

    fn walk_batches<'a>(&'a self, path: &'a VPath, options: &'a WalkOptions) -> WalkStream<'a> {
        let checked = stream::once(self.check_walk(path));
        Box::pin(checked.flat_map(move |refusal| -> WalkStream<'a> {
            match refusal {
                Some(error) => Box::pin(stream::iter([Err(error)])),
                None => self.inner.walk_batches(path, options),
            }
        }))
    }

    fn walk_directories<'a>(
        &'a self,
        path: &'a VPath,
        options: &'a WalkOptions,
    ) -> DirectoryStream<'a> {
        let checked = stream::once(self.check_walk(path));
        Box::pin(checked.flat_map(move |refusal| -> DirectoryStream<'a> {
            match refusal {
                Some(error) => Box::pin(stream::iter([Err(error)])),
                None => self.inner.walk_directories(path, options),
            }
        }))
    }

    async fn glob(&self, query: &GlobQuery) -> Result<GlobResult, FsError> {
        self.run_checked(GuardedCall::reads(Op::Glob, &query.root), self.inner.glob(query)).await
    }

    async fn grep(&self, query: &GrepQuery) -> Result<GrepResult, FsError> {
        self.run_checked(GuardedCall::reads(Op::Grep, &query.root), self.inner.grep(query)).await
    }

    async fn grep_each(
        &self,
        query: &GrepQuery,
        sink: &mut dyn GrepSink,
    ) -> Result<GrepResult, FsError> {
        let call = GuardedCall::reads(Op::Grep, &query.root);
        self.run_checked(call, self.inner.grep_each(query, sink)).await
    }

    async fn totals(&self, path: &VPath) -> Result<TreeTotals, FsError> {
        self.run_checked(GuardedCall::reads(Op::Totals, path), self.inner.totals(path)).await
    }

    fn without_links(&self) -> Option<Arc<dyn FileSystem>> {
        let inner = self.inner.without_links()?;
        Some(Arc::new(Self { inner, guard: self.guard.clone() }))
    }

    fn in_new_step(&self) -> Option<Arc<dyn FileSystem>> {
        let inner = self.inner.in_new_step()?;
        Some(Arc::new(Self { inner, guard: self.guard.clone() }))
    }

    fn for_call(&self, scope: &CallScope) -> Option<Arc<dyn FileSystem>> {
        let inner = self.inner.for_call(scope)?;
        Some(Arc::new(Self { inner, guard: self.guard.clone() }))
    }

    fn without_questions(&self) -> Option<Arc<dyn FileSystem>> {
        let inner = self.inner.without_questions()?;
        Some(Arc::new(Self { inner, guard: self.guard.clone() }))
    }

    async fn cursor(&self) -> Result<ChangeCursor, FsError> {
        self.run_checked(GuardedCall::watches(), self.inner.cursor()).await
    }

    async fn changes(
        &self,
        since: &ChangeCursor,
        options: &ChangesOptions,
    ) -> Result<ChangePage, FsError> {
        self.run_checked(GuardedCall::watches(), self.inner.changes(since, options)).await
    }
}
