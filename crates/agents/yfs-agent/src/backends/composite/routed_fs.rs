//! The calls of a filesystem of several.

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use futures::stream;
use yfs_types::{id::FileId, path::VPath};
use yfs_vfs::{
    ChangeCursor, ChangePage, ChangesOptions, ChunkStream, CopyOptions, DirEntry, DirectoryStream,
    EditOutcome, FileAttribute, FileContent, FileSystem, FileSystemExt, FsCode, FsError, FsView,
    GlobQuery, GlobResult, GrepQuery, GrepResult, GrepSink, MkdirOptions, MoveOptions, Op,
    RemoveOptions, Stat, StreamOptions, TextReplacement, WalkEntry, WalkOptions, WalkStream,
    WriteOptions, WriteOutcome, glob,
    grep::{self, PathConverter},
    walk,
};

use super::{CompositeFs, PathRoute};

impl CompositeFs {
    /// Returns the route of both paths with their inner paths, if it is one, and neither path holds
    /// a prefix.
    fn common_route<'a>(
        &'a self,
        op: Op,
        from: &'a VPath,
        to: &'a VPath,
    ) -> Result<Option<(&'a PathRoute, VPath, VPath)>, FsError> {
        let source = self.route(op, from).map_err(|error| error.to(to))?;
        let target = self.route(op, to)?;
        let is_one = source.route.prefix == target.route.prefix;
        if !is_one || self.has_prefix_below(from) || self.has_prefix_below(to) {
            return Ok(None);
        }
        Ok(Some((source.route, source.inner, target.inner)))
    }

    async fn walk_routed(
        &self,
        path: &VPath,
        options: &WalkOptions,
    ) -> Result<Vec<WalkEntry>, FsError> {
        if self.has_prefix_below(path) {
            return walk::walk(self, path, options).await;
        }
        let at = self.route(Op::Walk, path)?;
        let entries = at.lift(at.fs().walk(&at.inner, options).await)?;
        let lifted = entries.into_iter().filter_map(|mut found| {
            found.entry.id = at.route.outer_id(found.entry.id);
            Some(WalkEntry::new(at.route.outer_path(&found.path)?, found.entry))
        });
        Ok(lifted.collect())
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl FileSystem for CompositeFs {
    async fn read(&self, path: &VPath) -> Result<FileContent, FsError> {
        let at = self.route(Op::Open, path)?;
        at.lift(at.fs().read(&at.inner).await)
    }

    async fn read_range(&self, path: &VPath, offset: u64, len: u64) -> Result<Bytes, FsError> {
        let at = self.route(Op::Open, path)?;
        at.lift(at.fs().read_range(&at.inner, offset, len).await)
    }

    async fn read_stream(
        &self,
        path: &VPath,
        options: &StreamOptions,
    ) -> Result<ChunkStream, FsError> {
        let at = self.route(Op::Open, path)?;
        at.lift(at.fs().read_stream(&at.inner, options).await)
    }

    async fn write(
        &self,
        path: &VPath,
        data: Bytes,
        options: &WriteOptions,
    ) -> Result<WriteOutcome, FsError> {
        let at = self.route(Op::Open, path)?;
        let mut written = at.lift(at.fs().write(&at.inner, data, options).await)?;
        written.id = at.route.outer_id(written.id);
        Ok(written)
    }

    async fn append(
        &self,
        path: &VPath,
        data: Bytes,
        options: &WriteOptions,
    ) -> Result<WriteOutcome, FsError> {
        let at = self.route(Op::Append, path)?;
        let mut written = at.lift(at.fs().append(&at.inner, data, options).await)?;
        written.id = at.route.outer_id(written.id);
        Ok(written)
    }

    async fn edit(&self, path: &VPath, edit: &TextReplacement) -> Result<EditOutcome, FsError> {
        let at = self.route(Op::Edit, path)?;
        at.lift(at.fs().edit(&at.inner, edit).await)
    }

    async fn stat(&self, path: &VPath) -> Result<Stat, FsError> {
        self.stat_routed(Op::Stat, path, true).await
    }

    async fn lstat(&self, path: &VPath) -> Result<Stat, FsError> {
        self.stat_routed(Op::Lstat, path, false).await
    }

    async fn readdir(&self, path: &VPath) -> Result<Vec<DirEntry>, FsError> {
        self.list_routed(path).await
    }

    async fn mkdir(&self, path: &VPath, options: &MkdirOptions) -> Result<(), FsError> {
        if self.holds_prefix(path) {
            return match options.recursive {
                true => Ok(()),
                false => Err(FsError::new(FsCode::EEXIST, Op::Mkdir, path)),
            };
        }
        let at = self.route(Op::Mkdir, path)?;
        at.lift(at.fs().mkdir(&at.inner, options).await)
    }

    async fn rm(&self, path: &VPath, options: &RemoveOptions) -> Result<(), FsError> {
        if self.holds_prefix(path) {
            return Err(FsError::new(FsCode::EBUSY, Op::Rm, path));
        }
        let at = self.route(Op::Rm, path)?;
        at.lift(at.fs().rm(&at.inner, options).await)
    }

    async fn cp(&self, from: &VPath, to: &VPath, options: &CopyOptions) -> Result<(), FsError> {
        match self.common_route(Op::Cp, from, to)? {
            Some((route, source, target)) => {
                let copied = route.fs.cp(&source, &target, options).await;
                copied.map_err(|error| route.outer_error(error, from, Some(to)))
            }
            None => self.copy_across(from, to, options).await,
        }
    }

    async fn mv(&self, from: &VPath, to: &VPath, options: &MoveOptions) -> Result<(), FsError> {
        if self.holds_prefix(from) || self.holds_prefix(to) {
            return Err(FsError::new(FsCode::EBUSY, Op::Rename, from).to(to));
        }
        match self.common_route(Op::Rename, from, to)? {
            Some((route, source, target)) => {
                let moved = route.fs.mv(&source, &target, options).await;
                moved.map_err(|error| route.outer_error(error, from, Some(to)))
            }
            None => self.move_across(from, to, options).await,
        }
    }

    async fn symlink(&self, target: &str, path: &VPath) -> Result<(), FsError> {
        let fail = |error: FsError| FsError { path: Some(target.into()), ..error }.to(path);
        if self.holds_prefix(path) {
            return Err(fail(FsError::bare(FsCode::EEXIST, Op::Symlink)));
        }
        let at = self.route(Op::Symlink, path)?;
        let Some(inner) = at.route.inner_target(target, &self.routes) else {
            return Err(fail(FsError::bare(FsCode::EXDEV, Op::Symlink)));
        };
        at.fs().symlink(&inner, &at.inner).await.map_err(fail)
    }

    async fn readlink(&self, path: &VPath) -> Result<String, FsError> {
        let at = self.route(Op::Readlink, path)?;
        let target = at.lift(at.fs().readlink(&at.inner).await)?;
        Ok(at.route.outer_target(target))
    }

    async fn link(&self, existing: &VPath, path: &VPath) -> Result<(), FsError> {
        match self.common_route(Op::Link, existing, path)? {
            Some((route, source, target)) => {
                let linked = route.fs.link(&source, &target).await;
                linked.map_err(|error| route.outer_error(error, existing, Some(path)))
            }
            None => Err(FsError::new(FsCode::EXDEV, Op::Link, existing).to(path)),
        }
    }

    async fn realpath(&self, path: &VPath) -> Result<VPath, FsError> {
        let at = self.route(Op::Realpath, path)?;
        match at.fs().realpath(&at.inner).await {
            Ok(real) => {
                let outer = at.route.outer_path(&real);
                outer.ok_or_else(|| FsError::new(FsCode::EACCES, Op::Realpath, path))
            }
            Err(error) if error.code == FsCode::ENOENT && self.holds_prefix(path) => {
                Ok(path.clone())
            }
            Err(error) => at.lift(Err(error)),
        }
    }

    async fn set_attribute(&self, path: &VPath, attribute: FileAttribute) -> Result<(), FsError> {
        let at = self.route(attribute.op(), path)?;
        at.lift(at.fs().set_attribute(&at.inner, attribute).await)
    }

    fn walk_batches<'a>(&'a self, path: &'a VPath, options: &'a WalkOptions) -> WalkStream<'a> {
        Box::pin(stream::once(self.walk_routed(path, options)))
    }

    fn walk_directories<'a>(
        &'a self,
        path: &'a VPath,
        options: &'a WalkOptions,
    ) -> DirectoryStream<'a> {
        walk::walk_directories(self, path, options)
    }

    async fn glob(&self, query: &GlobQuery) -> Result<GlobResult, FsError> {
        glob::glob(self, query).await
    }

    async fn grep_each(
        &self,
        query: &GrepQuery,
        sink: &mut dyn GrepSink,
    ) -> Result<GrepResult, FsError> {
        let is_anchored = |glob: &String| glob.starts_with('/') || glob.contains("{/");
        let has_anchored = query.include.iter().chain(&query.exclude).any(is_anchored);
        if has_anchored || self.has_prefix_below(&query.root) {
            return grep::grep_each(self, query, sink).await;
        }
        let at = self.route(Op::Grep, &query.root)?;
        let inner = GrepQuery { root: at.inner.clone(), ..query.clone() };
        let mut sink = PathConverter::new(sink, |path: &mut VPath, id: Option<&mut FileId>| {
            if let Some(outer) = at.route.outer_path(path) {
                *path = outer;
            }
            if let Some(id) = id {
                *id = at.route.outer_id(id.clone());
            }
        });
        let found = at.lift(at.fs().grep_each(&inner, &mut sink).await)?;
        Ok(sink.convert_result(found))
    }

    fn view(&self, view: FsView<'_>) -> Option<Arc<dyn FileSystem>> {
        let mut routes = self.routes.clone();
        let mut has_other = false;
        for route in &mut routes {
            match (route.fs.view(view), view) {
                (Some(handle), _) => (route.fs, has_other) = (handle, true),
                // What follows links in one route can lead from there to another.
                (None, FsView::WithoutLinks) => return None,
                (None, _) => (),
            }
        }
        has_other.then(|| Arc::new(Self { routes }) as Arc<dyn FileSystem>)
    }

    async fn cursor(&self) -> Result<ChangeCursor, FsError> {
        self.combined_cursor().await
    }

    async fn changes(
        &self,
        since: &ChangeCursor,
        options: &ChangesOptions,
    ) -> Result<ChangePage, FsError> {
        self.combined_changes(since, options).await
    }
}
