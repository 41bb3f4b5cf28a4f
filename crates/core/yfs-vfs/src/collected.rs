//! The streaming and bulk calls of a filesystem in terms of its other calls: the defaults of the
//! trait, for wrappers that have nothing better.

use bytes::Bytes;
use futures::stream;
use yfs_types::path::VPath;

use crate::{
    error::FsError,
    file_system::FileSystem,
    grep::{GrepQuery, GrepResult, GrepSink},
    options::WalkOptions,
    stream::WalkStream,
};

/// Reads several files, one after the other. See [`FileSystem::read_many`].
pub async fn read_each<F: FileSystem + ?Sized>(
    fs: &F,
    paths: &[VPath],
) -> Vec<Result<Bytes, FsError>> {
    let mut contents = Vec::with_capacity(paths.len());
    for path in paths {
        contents.push(fs.read(path).await.map(|content| content.data));
    }
    contents
}

/// Lists a tree in one batch. See [`FileSystem::walk_batches`].
pub fn walk_in_one_batch<'a, F: FileSystem + ?Sized>(
    fs: &'a F,
    path: &'a VPath,
    options: &'a WalkOptions,
) -> WalkStream<'a> {
    Box::pin(stream::once(fs.walk(path, options)))
}

/// Finds all lines, and then passes them on. See [`FileSystem::grep_each`].
pub async fn grep_collected<F: FileSystem + ?Sized>(
    fs: &F,
    query: &GrepQuery,
    sink: &mut dyn GrepSink,
) -> Result<GrepResult, FsError> {
    let mut result = fs.grep(query).await?;
    for file in std::mem::take(&mut result.files) {
        if sink.add(file, true).is_break() {
            break;
        }
    }
    Ok(result)
}
