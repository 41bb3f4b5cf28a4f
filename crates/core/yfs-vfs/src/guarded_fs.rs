//! A filesystem behind a [`FsGuard`], which sees each call and may delay, reject or record it.

use std::{fmt, sync::Arc};

use async_trait::async_trait;
use bytes::Bytes;
use futures::{StreamExt, future::BoxFuture, stream};
use yfs_types::path::VPath;

use crate::{
    changes::{ChangeCursor, ChangePage},
    edit::{EditOutcome, TextReplacement},
    error::{FsCode, FsError, Op},
    file_system::{FileContent, FileSystem, WriteOutcome},
    fs_view::FsView,
    glob::{GlobQuery, GlobResult},
    grep::{GrepQuery, GrepResult, GrepSink},
    options::{
        ChangesOptions, CopyOptions, FileAttribute, MkdirOptions, MoveOptions, RemoveOptions,
        StreamOptions, WalkOptions, WriteOptions,
    },
    stat::{DirEntry, Stat},
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

/// A call that a guard lets be made, by awaiting it.
pub type AdmittedCall<'a> = BoxFuture<'a, Result<(), FsError>>;

/// An interceptor of the calls of a filesystem, which the methods get as `fs`.
#[async_trait]
pub trait FsGuard: Send + Sync + fmt::Debug {
    /// Checks a call before it is made. An `Err` rejects the call: it is not made. With
    /// `Ok(Some(error))` the call is made, but its caller receives the error.
    async fn check_call(&self, call: &GuardedCall<'_>) -> Result<Option<FsError>, FsError> {
        let _ = call;
        Ok(None)
    }

    /// Makes a call that was checked. Walks, which are streams, are only checked.
    async fn run_call(
        &self,
        fs: &dyn FileSystem,
        call: &GuardedCall<'_>,
        admitted: AdmittedCall<'_>,
    ) -> Result<(), FsError> {
        let _ = (fs, call);
        admitted.await
    }

    /// Makes a write.
    async fn run_write(
        &self,
        fs: &dyn FileSystem,
        path: &VPath,
        data: Bytes,
        options: &WriteOptions,
    ) -> Result<WriteOutcome, FsError> {
        fs.write(path, data, options).await
    }

    /// Makes an append.
    async fn run_append(
        &self,
        fs: &dyn FileSystem,
        path: &VPath,
        data: Bytes,
        options: &WriteOptions,
    ) -> Result<WriteOutcome, FsError> {
        fs.append(path, data, options).await
    }

    /// Makes an edit.
    async fn run_edit(
        &self,
        fs: &dyn FileSystem,
        path: &VPath,
        edit: &TextReplacement,
    ) -> Result<EditOutcome, FsError> {
        fs.edit(path, edit).await
    }
}

/// A filesystem with a guard. Clones are handles of the same filesystem.
#[derive(Debug)]
pub struct GuardedFs<G> {
    inner: Arc<dyn FileSystem>,
    guard: Arc<G>,
}

impl<G> Clone for GuardedFs<G> {
    fn clone(&self) -> Self {
        Self { inner: self.inner.clone(), guard: self.guard.clone() }
    }
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

    /// Returns the paths of the objects that the call is about: not the text of a link.
    pub fn objects(&self) -> Vec<VPath> {
        let first = self.path.filter(|_| self.op != Op::Symlink);
        let paths = first.into_iter().chain(self.dest);
        paths.filter_map(|path| VPath::parse(path).ok()).collect()
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

    /// Returns the filesystem below the guard.
    pub fn inner(&self) -> &dyn FileSystem {
        &*self.inner
    }

    /// Checks a walk, which returns nothing if it is refused or its result is to be lost.
    async fn check_walk(&self, path: &VPath) -> Option<FsError> {
        match self.guard.check_call(&GuardedCall::reads(Op::Walk, path)).await {
            Ok(lost) => lost,
            Err(error) => Some(error),
        }
    }

    async fn run_checked<T: Send>(
        &self,
        call: GuardedCall<'_>,
        made: impl Future<Output = Result<T, FsError>> + Send,
    ) -> Result<T, FsError> {
        let lost = self.guard.check_call(&call).await?;
        let mut done = None;
        let admitted = Box::pin(async {
            done = Some(made.await?);
            Ok(())
        });
        self.guard.run_call(self.inner(), &call, admitted).await?;
        match (lost, done) {
            (None, Some(done)) => Ok(done),
            (Some(error), _) => Err(error),
            (None, None) => Err(call.refused(FsCode::EIO)),
        }
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl<G: FsGuard + 'static> FileSystem for GuardedFs<G> {
    async fn read(&self, path: &VPath) -> Result<FileContent, FsError> {
        self.run_checked(GuardedCall::reads(Op::Read, path), self.inner.read(path)).await
    }

    async fn read_range(&self, path: &VPath, offset: u64, len: u64) -> Result<Bytes, FsError> {
        self.run_checked(
            GuardedCall::reads(Op::Read, path),
            self.inner.read_range(path, offset, len),
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
        let write = self.guard.run_write(self.inner(), path, data, options);
        self.run_checked(GuardedCall::writes(Op::Write, path), write).await
    }

    async fn append(
        &self,
        path: &VPath,
        data: Bytes,
        options: &WriteOptions,
    ) -> Result<WriteOutcome, FsError> {
        let append = self.guard.run_append(self.inner(), path, data, options);
        self.run_checked(GuardedCall::writes(Op::Append, path), append).await
    }

    async fn edit(&self, path: &VPath, edit: &TextReplacement) -> Result<EditOutcome, FsError> {
        let made = self.guard.run_edit(self.inner(), path, edit);
        self.run_checked(GuardedCall::writes(Op::Edit, path), made).await
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

    async fn set_attribute(&self, path: &VPath, attribute: FileAttribute) -> Result<(), FsError> {
        let call = GuardedCall::writes(attribute.op(), path);
        self.run_checked(call, self.inner.set_attribute(path, attribute)).await
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

    async fn grep_each(
        &self,
        query: &GrepQuery,
        sink: &mut dyn GrepSink,
    ) -> Result<GrepResult, FsError> {
        let call = GuardedCall::reads(Op::Grep, &query.root);
        self.run_checked(call, self.inner.grep_each(query, sink)).await
    }

    fn view(&self, view: FsView<'_>) -> Option<Arc<dyn FileSystem>> {
        let inner = self.inner.view(view)?;
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
