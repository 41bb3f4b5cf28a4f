//! Methods of every filesystem, in terms of those of the trait.

use std::{collections::VecDeque, sync::Arc};

use async_trait::async_trait;
use bytes::Bytes;
use futures::{Stream, StreamExt, stream};
use yfs_types::{path::VPath, time::Millis};

use crate::{
    changes::{ChangeCursor, FileChange},
    error::{FsCode, FsError, Op},
    file_system::{FileSystem, WriteOutcome},
    grep::{GrepCollector, GrepQuery, GrepResult},
    line_page::LinePage,
    options::{
        ChangesOptions, CreateMode, FileAttribute, MkdirOptions, RemoveOptions, WalkOptions,
        WriteOptions,
    },
    stat::{FileKind, Metadata, TreeTotals, WalkEntry},
};

/// Methods in terms of [`FileSystem`], which every filesystem has: the short forms of common calls,
/// and those that collect what a stream yields.
#[async_trait]
pub trait FileSystemExt: FileSystem {
    /// Returns the content as text. `EINVAL` if it is not UTF-8.
    async fn read_to_string(&self, path: &VPath) -> Result<String, FsError> {
        let data = self.read(path).await?.data;
        String::from_utf8(data.into()).map_err(|error| {
            FsError::new(FsCode::EINVAL, Op::Read, path).caused_by(error.utf8_error())
        })
    }

    /// Returns the content, or `None` if there is no such file.
    async fn read_if_exists(&self, path: &VPath) -> Result<Option<Bytes>, FsError> {
        match self.read(path).await {
            Ok(content) => Ok(Some(content.data)),
            Err(error) if matches!(error.code, FsCode::ENOENT | FsCode::ENOTDIR) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Replaces the content of a file with `text`; creates the file and its directories if missing.
    async fn write_text(&self, path: &VPath, text: &str) -> Result<WriteOutcome, FsError> {
        let data = Bytes::copy_from_slice(text.as_bytes());
        self.write(path, data, &WriteOptions::default()).await
    }

    /// Creates a file with this content. `EEXIST` if the path exists.
    async fn create_new(&self, path: &VPath, data: Bytes) -> Result<WriteOutcome, FsError> {
        let options = WriteOptions { create: CreateMode::New, ..WriteOptions::default() };
        self.write(path, data, &options).await
    }

    /// Reports whether the path exists, following links. An error counts as no.
    async fn exists(&self, path: &VPath) -> bool {
        self.stat(path).await.is_ok()
    }

    /// Creates a directory and its missing parents. Succeeds if the directory exists.
    async fn mkdir_all(&self, path: &VPath) -> Result<(), FsError> {
        self.mkdir(path, &MkdirOptions::recursive()).await
    }

    /// Removes the object at the path with all its content. Succeeds if the path does not exist.
    async fn rm_all(&self, path: &VPath) -> Result<(), FsError> {
        self.rm(path, &RemoveOptions { recursive: true, force: true }).await
    }

    /// Returns up to `limit` lines starting at line `offset` (counted from 0). See [`LinePage`].
    ///
    /// Errors as [`read`](FileSystem::read).
    async fn read_lines(&self, path: &VPath, offset: u64, limit: u64) -> Result<LinePage, FsError> {
        let content = self.read(path).await?;
        Ok(LinePage::of(&content.data, offset, limit, content.version))
    }

    /// Sets the modification time.
    async fn utimes(&self, path: &VPath, mtime: Millis) -> Result<(), FsError> {
        self.set_attribute(path, FileAttribute::Mtime(mtime)).await
    }

    /// Sets the permission bits; only the bits in `0o7777` count.
    async fn chmod(&self, path: &VPath, mode: u32) -> Result<(), FsError> {
        self.set_attribute(path, FileAttribute::Mode(mode)).await
    }

    /// Replaces the custom metadata.
    ///
    /// `ENOSYS` if the backend cannot store metadata.
    async fn set_metadata(&self, path: &VPath, metadata: Metadata) -> Result<(), FsError> {
        self.set_attribute(path, FileAttribute::Metadata(metadata)).await
    }

    /// Lists the tree below a directory as of one moment, if the backend can. See
    /// [`walk_batches`](FileSystem::walk_batches).
    async fn walk(&self, path: &VPath, options: &WalkOptions) -> Result<Vec<WalkEntry>, FsError> {
        let options = WalkOptions { at_once: true, ..options.clone() };
        let mut found = Vec::new();
        let mut batches = self.walk_batches(path, &options);
        while let Some(batch) = batches.next().await {
            match found.is_empty() {
                true => found = batch?,
                false => found.extend(batch?),
            }
        }
        Ok(found)
    }

    /// Finds lines by pattern. See [`GrepQuery`].
    ///
    /// Errors as [`grep_each`](FileSystem::grep_each).
    async fn grep(&self, query: &GrepQuery) -> Result<GrepResult, FsError> {
        let mut collector = GrepCollector::default();
        let result = self.grep_each(query, &mut collector).await?;
        Ok(collector.complete(result))
    }

    /// Returns the number and size of the objects below a directory. A file or link counts as
    /// itself.
    async fn totals(&self, path: &VPath) -> Result<TreeTotals, FsError> {
        let stat = self.lstat(path).await.map_err(|error| error.during(Op::Totals))?;
        if !stat.is_directory() {
            let n_files = u64::from(stat.is_file());
            return Ok(TreeTotals { n_files, n_directories: 0, n_bytes: stat.size * n_files });
        }
        let entries = self.walk(path, &WalkOptions::default()).await;
        let entries = entries.map_err(|error| error.during(Op::Totals))?;
        let mut totals = TreeTotals::default();
        for WalkEntry { entry, .. } in &entries {
            match entry.kind {
                FileKind::File => {
                    totals.n_files += 1;
                    totals.n_bytes += entry.size;
                }
                FileKind::Directory => totals.n_directories += 1,
                FileKind::Symlink | FileKind::Other => (),
            }
        }
        Ok(totals)
    }
}

impl<F: FileSystem + ?Sized> FileSystemExt for F {}

/// Returns a stream of the changes since `cursor`.
///
/// The stream ends after an error; [`FsError::is_cursor_lost`] is the error to expect. Dropping the
/// stream ends the watching.
pub fn watch(
    fs: Arc<dyn FileSystem>,
    cursor: ChangeCursor,
) -> impl Stream<Item = Result<FileChange, FsError>> + Send {
    struct Watch {
        fs: Arc<dyn FileSystem>,
        cursor: ChangeCursor,
        batch: VecDeque<FileChange>,
        failed: bool,
    }
    let start = Watch { fs, cursor, batch: VecDeque::new(), failed: false };
    stream::unfold(start, |mut watch| async move {
        let options = ChangesOptions { wait: Some(WATCH_WAIT), ..ChangesOptions::default() };
        loop {
            if let Some(change) = watch.batch.pop_front() {
                return Some((Ok(change), watch));
            }
            if watch.failed {
                return None;
            }
            match watch.fs.changes(&watch.cursor, &options).await {
                Ok(changes) => {
                    watch.batch = changes.events.into();
                    watch.cursor = changes.next;
                }
                Err(error) => {
                    watch.failed = true;
                    return Some((Err(error), watch));
                }
            }
        }
    })
}

/// The longest wait of one `changes` call of [`watch`].
const WATCH_WAIT: std::time::Duration = std::time::Duration::from_secs(30);
