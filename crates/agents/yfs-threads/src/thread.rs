//! One thread.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::{Map, Value};
use yfs::RootedFs;
use yfs_vfs::{
    FileSystem, FsCode, FsError, Metadata,
    guarded_fs::{FsGuard, GuardedCall, GuardedFs},
};

use crate::{namespace::ThreadAddress, thread_files::ThreadFiles};

/// The member of a directory's metadata with the record of the thread.
pub(crate) const RECORD: &str = "yfs.thread";

/// The member of the record with the time at which the thread was archived.
pub(crate) const ARCHIVED: &str = "archived";

/// The member of the record with the id of the thread that this one is a fork of.
pub(crate) const FORKED_FROM: &str = "forkedFrom";

/// The tree of files of one thread.
#[derive(Debug, Clone)]
pub struct Thread {
    address: ThreadAddress,
    fs: RootedFs,
}

/// Rejects changes of a thread that is archived, also if it was opened before.
#[derive(Debug)]
struct ArchiveGuard {
    fs: RootedFs,
}

impl Thread {
    pub(crate) fn new(address: ThreadAddress, fs: RootedFs) -> Self {
        Self { address, fs }
    }

    /// Returns the address, whose text is the id.
    pub fn address(&self) -> &ThreadAddress {
        &self.address
    }

    /// Returns the same thread with a label for its changes.
    #[must_use]
    pub fn labelled(self, label: &str) -> Self {
        Self { fs: self.fs.labelled(label), ..self }
    }

    /// Returns the files as a filesystem. While the thread is archived, writing fails with `EROFS`.
    pub fn fs(&self) -> Arc<dyn FileSystem> {
        let guard = ArchiveGuard { fs: self.fs.clone() };
        Arc::new(GuardedFs::new(Arc::new(self.fs.clone()), guard))
    }

    /// Returns the files with the calls of document 000.
    pub fn files(&self) -> ThreadFiles {
        ThreadFiles::new(self.clone())
    }

    /// Returns the directory as a filesystem, with its history and its trash, whether or not the
    /// thread is archived.
    pub fn rooted(&self) -> &RootedFs {
        &self.fs
    }

    /// Rejects a change while the thread is archived.
    ///
    /// # Errors
    ///
    /// Fails with `EROFS` if it is.
    pub fn check_writable(&self, op: yfs_vfs::Op, path: &str) -> Result<(), FsError> {
        match is_archived(&self.fs)? {
            true => Err(FsError::new(FsCode::EROFS, op, path)),
            false => Ok(()),
        }
    }
}

fn is_archived(fs: &RootedFs) -> Result<bool, FsError> {
    Ok(thread_record(&fs.directory_metadata()?).get(ARCHIVED).is_some_and(Value::is_number))
}

/// Returns the record of a thread in the metadata of its directory.
pub(crate) fn thread_record(metadata: &Metadata) -> Map<String, Value> {
    metadata.get(RECORD).and_then(Value::as_object).cloned().unwrap_or_default()
}

#[async_trait]
impl FsGuard for ArchiveGuard {
    async fn check_call(&self, call: &GuardedCall<'_>) -> Result<Option<FsError>, FsError> {
        if call.writes && is_archived(&self.fs)? {
            return Err(call.refused(FsCode::EROFS));
        }
        Ok(None)
    }
}
