//! Convenience methods over any filesystem.

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

/// Convenience methods in terms of [`FileSystem`]. Every filesystem has them.
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
