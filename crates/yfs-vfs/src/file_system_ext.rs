//! Convenience over any filesystem.

use std::{collections::VecDeque, sync::Arc};

use async_trait::async_trait;
use bytes::Bytes;
use futures::{Stream, stream};
use yfs_types::path::VPath;

use crate::{
    changes::{ChangeCursor, FileChange},
    error::{FsCode, FsError, Op},
    file_system::{FileSystem, WriteOutcome},
    options::{ChangesOptions, CreateMode, MkdirOptions, RemoveOptions, WriteOptions},
};

/// What callers often want, in terms of [`FileSystem`]. Everything that is one has it.
#[async_trait]
pub trait FileSystemExt: FileSystem {
    /// Returns the content as text. `EINVAL` where it is not UTF-8.
    async fn read_to_string(&self, path: &VPath) -> Result<String, FsError> {
        let data = self.read(path).await?.data;
        String::from_utf8(data.into()).map_err(|error| {
            FsError::new(FsCode::EINVAL, Op::Read, path).caused_by(error.utf8_error())
        })
    }

    /// Returns the content, or nothing if there is no such file.
    async fn read_if_exists(&self, path: &VPath) -> Result<Option<Bytes>, FsError> {
        match self.read(path).await {
            Ok(content) => Ok(Some(content.data)),
            Err(error) if matches!(error.code, FsCode::ENOENT | FsCode::ENOTDIR) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Makes `text` the content of a file, creating it and its directories if need be.
    async fn write_text(&self, path: &VPath, text: &str) -> Result<WriteOutcome, FsError> {
        let data = Bytes::copy_from_slice(text.as_bytes());
        self.write(path, data, &WriteOptions::default()).await
    }

    /// Creates a file with this content. `EEXIST` if something is there.
    async fn create_new(&self, path: &VPath, data: Bytes) -> Result<WriteOutcome, FsError> {
        let options = WriteOptions { create: CreateMode::New, ..WriteOptions::default() };
        self.write(path, data, &options).await
    }

    /// Tells whether a path leads to something, through links. An error counts as no.
    async fn exists(&self, path: &VPath) -> bool {
        self.stat(path).await.is_ok()
    }

    /// Makes a directory and those above it; an existing one is welcome.
    async fn mkdir_all(&self, path: &VPath) -> Result<(), FsError> {
        self.mkdir(path, &MkdirOptions::recursive()).await
    }

    /// Removes whatever is there, with all it holds; it is fine if nothing is.
    async fn rm_all(&self, path: &VPath) -> Result<(), FsError> {
        self.rm(path, &RemoveOptions { recursive: true, force: true }).await
    }
}

impl<F: FileSystem + ?Sized> FileSystemExt for F {}

/// Returns the changes since `cursor` as they come, with the place after each batch's last.
///
/// The stream ends after an error, of which [`FsError::is_cursor_lost`] is the one to expect. Dropping
/// it ends the watching.
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

/// How long one question of [`watch`] stays open.
const WATCH_WAIT: std::time::Duration = std::time::Duration::from_secs(30);
