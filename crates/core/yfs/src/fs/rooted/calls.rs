//! The calls of a directory as a filesystem of its own.

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use futures::stream;
use yfs_engine::{id::FileId, path::VPath, tree::FinalLink};
use yfs_vfs::{
    ChangeCursor, ChangePage, ChangesOptions, ChunkStream, CopyOptions, CreateMode, DirEntry,
    DirectoryStream, EditOutcome, FileAttribute, FileContent, FileSystem, FsCode, FsError, FsView,
    GlobQuery, GlobResult, GrepQuery, GrepResult, GrepSink, Metadata, MkdirOptions, MoveOptions,
    Op, RemoveOptions, Stat, StreamOptions, TextReplacement, WalkEntry, WalkOptions, WalkStream,
    WriteOptions, WriteOutcome, glob,
    grep::{self, PathConverter},
    walk,
};

use super::RootedFs;

impl RootedFs {
    fn stat_at(&self, op: Op, path: &VPath, follow: FinalLink) -> Result<Stat, FsError> {
        let mut stat = self.at(op, path, follow, |fs, at| fs.reader().stat(at, op))?;
        if stat.id == self.directory {
            stat.metadata = Metadata::new();
        }
        Ok(stat)
    }

    fn make_directory(&self, path: &VPath, options: &MkdirOptions) -> Result<(), FsError> {
        if options.recursive && self.is_link(path) {
            // A link to a directory counts as one; any other is in the way.
            let stat = self.stat_at(Op::Mkdir, path, FinalLink::Yes);
            let is_directory = stat.is_ok_and(|stat| stat.is_directory());
            let exists = || FsError::new(FsCode::EEXIST, Op::Mkdir, path);
            return if is_directory { Ok(()) } else { Err(exists()) };
        }
        self.at(Op::Mkdir, path, FinalLink::No, |fs, at| fs.tree().mkdir(at, options))
    }

    fn copy(&self, from: &VPath, to: &VPath, options: &CopyOptions) -> Result<(), FsError> {
        // A directory is copied into the one that a link leads to; a file replaces a link.
        let is_directory = || {
            let source = self.stat_at(Op::Cp, from, FinalLink::No);
            source.is_ok_and(|source| source.is_directory())
        };
        let follows = options.replace && self.is_link(to) && is_directory();
        let follow = if follows { FinalLink::Yes } else { FinalLink::No };
        self.at_both(Op::Cp, (from, to), follow, |fs, from, to| fs.tree().cp(from, to, options))
    }
}

/// Returns whether a write follows a link at the end of its path.
fn followed(options: &WriteOptions) -> FinalLink {
    let follows = options.follow && options.create != CreateMode::New;
    if follows { FinalLink::Yes } else { FinalLink::No }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl FileSystem for RootedFs {
    async fn read(&self, path: &VPath) -> Result<FileContent, FsError> {
        self.at(Op::Open, path, FinalLink::Yes, |fs, at| fs.reader().read(at))
    }

    async fn read_range(&self, path: &VPath, offset: u64, len: u64) -> Result<Bytes, FsError> {
        self.at(Op::Open, path, FinalLink::Yes, |fs, at| fs.reader().read_range(at, offset, len))
    }

    async fn read_stream(
        &self,
        path: &VPath,
        options: &StreamOptions,
    ) -> Result<ChunkStream, FsError> {
        self.at(Op::Open, path, FinalLink::Yes, |fs, at| fs.reader().read_stream(at, options))
    }

    async fn write(
        &self,
        path: &VPath,
        data: Bytes,
        options: &WriteOptions,
    ) -> Result<WriteOutcome, FsError> {
        self.at(Op::Open, path, followed(options), |fs, at| fs.writer().write(at, &data, options))
    }

    async fn append(
        &self,
        path: &VPath,
        data: Bytes,
        options: &WriteOptions,
    ) -> Result<WriteOutcome, FsError> {
        let follow = followed(&WriteOptions { follow: true, ..options.clone() });
        self.at(Op::Append, path, follow, |fs, at| fs.writer().append(at, &data, options))
    }

    async fn edit(&self, path: &VPath, edit: &TextReplacement) -> Result<EditOutcome, FsError> {
        self.at(Op::Edit, path, FinalLink::Yes, |fs, at| fs.writer().edit(at, edit))
    }

    async fn stat(&self, path: &VPath) -> Result<Stat, FsError> {
        self.stat_at(Op::Stat, path, FinalLink::Yes)
    }

    async fn lstat(&self, path: &VPath) -> Result<Stat, FsError> {
        self.stat_at(Op::Lstat, path, FinalLink::No)
    }

    async fn readdir(&self, path: &VPath) -> Result<Vec<DirEntry>, FsError> {
        self.at(Op::Scandir, path, FinalLink::Yes, |fs, at| fs.reader().readdir(at))
    }

    async fn mkdir(&self, path: &VPath, options: &MkdirOptions) -> Result<(), FsError> {
        self.make_directory(path, options)
    }

    async fn rm(&self, path: &VPath, options: &RemoveOptions) -> Result<(), FsError> {
        self.check_not_root(Op::Rm, path, FsCode::EBUSY)?;
        let removed = self.at(Op::Rm, path, FinalLink::No, |fs, at| fs.tree().rm(at, options));
        match removed {
            Err(error)
                if options.force && matches!(error.code, FsCode::ENOENT | FsCode::ENOTDIR) =>
            {
                Ok(())
            }
            removed => removed,
        }
    }

    async fn cp(&self, from: &VPath, to: &VPath, options: &CopyOptions) -> Result<(), FsError> {
        self.copy(from, to, options)
    }

    async fn mv(&self, from: &VPath, to: &VPath, options: &MoveOptions) -> Result<(), FsError> {
        for path in [from, to] {
            let checked = self.check_not_root(Op::Rename, path, FsCode::EBUSY);
            checked.map_err(|error| super::named(error, from.as_str(), Some(to.as_str())))?;
        }
        let paths = (from, to);
        self.at_both(Op::Rename, paths, FinalLink::No, |fs, from, to| {
            fs.tree().mv(from, to, options)
        })
    }

    async fn symlink(&self, target: &str, path: &VPath) -> Result<(), FsError> {
        let made =
            self.at(Op::Symlink, path, FinalLink::No, |fs, at| fs.tree().symlink(target, at));
        made.map_err(|error| super::named(error, target, Some(path.as_str())))
    }

    async fn readlink(&self, path: &VPath) -> Result<String, FsError> {
        self.at(Op::Readlink, path, FinalLink::No, |fs, at| fs.reader().readlink(at))
    }

    async fn realpath(&self, path: &VPath) -> Result<VPath, FsError> {
        let real =
            self.at(Op::Realpath, path, FinalLink::Yes, |fs, at| fs.reader().realpath(at))?;
        let base = self.directory_path().and_then(|base| {
            let below = real.relative_to(&base)?;
            VPath::parse(&format!("/{below}")).ok()
        });
        base.ok_or_else(|| FsError::new(FsCode::ENOENT, Op::Realpath, path))
    }

    async fn link(&self, existing: &VPath, path: &VPath) -> Result<(), FsError> {
        // A workspace has no hard links.
        let fail = |code| Err(FsError::new(code, Op::Link, existing).to(path));
        let stat = self.stat_at(Op::Link, existing, FinalLink::No);
        if stat.map_err(|error| error.to(path))?.is_directory() {
            return fail(FsCode::EPERM);
        }
        match self.stat_at(Op::Link, path, FinalLink::No) {
            Ok(_) => fail(FsCode::EEXIST),
            Err(error) if error.code == FsCode::ENOENT => fail(FsCode::ENOSYS),
            Err(error) => Err(error),
        }
    }

    async fn set_attribute(&self, path: &VPath, attribute: FileAttribute) -> Result<(), FsError> {
        let follow = FinalLink::Yes;
        match &attribute {
            FileAttribute::Metadata(metadata) => {
                self.change_metadata(path, |fs, at| fs.tree().set_metadata(at, metadata))
            }
            FileAttribute::Mtime(mtime) => {
                self.at(Op::Utimes, path, follow, |fs, at| fs.tree().utimes(at, *mtime))
            }
            FileAttribute::Mode(mode) => {
                self.at(Op::Chmod, path, follow, |fs, at| fs.tree().chmod(at, *mode))
            }
        }
    }

    fn walk_batches<'a>(&'a self, path: &'a VPath, options: &'a WalkOptions) -> WalkStream<'a> {
        Box::pin(stream::once(async move {
            self.at(Op::Walk, path, FinalLink::Yes, |fs, inner| {
                let at = super::RootedPath { outer: path, inner: inner.clone() };
                let found = fs.lister().walk(inner, options)?.into_iter();
                let lifted = found.filter_map(|found| {
                    Some(WalkEntry::new(at.outer_path(&found.path)?, found.entry))
                });
                Ok(lifted.collect())
            })
        }))
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
        if query.include.iter().chain(&query.exclude).any(is_anchored) {
            return grep::grep_each(self, query, sink).await;
        }
        let at = self.locate(Op::Grep, &query.root, FinalLink::Yes)?;
        let inner = GrepQuery { root: at.inner.clone(), ..query.clone() };
        let mut sink = PathConverter::new(sink, |path: &mut VPath, _: Option<&mut FileId>| {
            if let Some(outer) = at.outer_path(path) {
                *path = outer;
            }
        });
        let found = self.fs.searcher().grep_each(&inner, &mut sink).await;
        let found = found.map_err(|error| at.convert_error(error))?;
        Ok(sink.convert_result(found))
    }

    fn view(&self, view: FsView<'_>) -> Option<Arc<dyn FileSystem>> {
        match view {
            FsView::WithoutLinks => Some(Arc::new(Self { follows_links: false, ..self.clone() })),
            FsView::NewStep => {
                let fs = self.fs.clone().in_step(&self.fs.state().new_step());
                Some(Arc::new(Self { fs, ..self.clone() }))
            }
            FsView::ForCall(_) | FsView::WithoutQuestions => None,
        }
    }

    async fn cursor(&self) -> Result<ChangeCursor, FsError> {
        self.fs.cursor().await
    }

    async fn changes(
        &self,
        since: &ChangeCursor,
        options: &ChangesOptions,
    ) -> Result<ChangePage, FsError> {
        self.changes_below(since, options).await
    }
}
