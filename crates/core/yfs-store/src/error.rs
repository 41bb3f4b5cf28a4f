//! The errors of a store.

use std::{error::Error, io, path::PathBuf, sync::Arc};

use thiserror::Error;
use yfs_types::hash::ContentHash;

use crate::{DocName, Seq, encryption::KeyError};

/// An error of a store.
///
/// A call that failed changed nothing, except where a variant says otherwise. Cloning is cheap: one
/// failed commit is the answer to every append in its group.
#[derive(Debug, Clone, Error)]
#[non_exhaustive]
pub enum StoreError {
    /// A precondition of an append failed: another handle appended to the document.
    #[error("another process has written document {doc} up to position {head}")]
    HeadMoved {
        /// The document.
        doc: DocName,
        /// Its last record by another handle.
        head: Seq,
    },
    /// There is no store at this path.
    #[error("no store at {path:?}")]
    NotFound {
        /// The path that was opened.
        path: PathBuf,
    },
    /// The target exists already, and would have been overwritten.
    #[error("{path:?} already exists")]
    Exists {
        /// The existing path.
        path: PathBuf,
    },
    /// The store's file was replaced or removed while this handle had it open. What the handle
    /// would write would be lost.
    #[error("the file {path:?} was replaced or removed while it was open: open the store again")]
    Replaced {
        /// The path that was opened.
        path: PathBuf,
    },
    /// A file of the store, or its directory, is a link. What the store writes there would change
    /// another file.
    #[error("{path:?} is a link: a store with links in its directory is not opened")]
    LinkInStore {
        /// The link.
        path: PathBuf,
    },
    /// The store belongs to another user, who may have prepared it.
    #[error(
        "{path:?} belongs to user {owner} and this process to user {user}: it is not used; \
         if you trust that user, set YFS_SAFE_DIRECTORY to this path"
    )]
    OtherOwner {
        /// The directory.
        path: PathBuf,
        /// The id of its owner.
        owner: u32,
        /// The id of the user of this process.
        user: u32,
    },
    /// The file at this path is not a store.
    #[error("{path:?} is not a store")]
    NotAStore {
        /// The file.
        path: PathBuf,
    },
    /// The store was written by a newer version of this program.
    #[error("{path:?} has format {found}, but this program supports formats up to {supported}")]
    TooNew {
        /// The file.
        path: PathBuf,
        /// The format of the file.
        found: u32,
        /// The newest format that this program supports.
        supported: u32,
    },
    /// The store is encrypted and the key is missing or wrong, or there is a key and the store is
    /// not encrypted.
    #[error("cannot open {path:?}")]
    Key {
        /// The file.
        path: PathBuf,
        /// What is wrong with the key.
        source: KeyError,
    },
    /// The key was changed, but the record under the old key could not be cleared from the files.
    #[error("the key is changed, but the old one may still be in the files")]
    OldKeyLeft {
        /// The reason.
        source: Box<Self>,
    },
    /// The store can be read but not written.
    #[error("cannot {action}: the store is read-only")]
    ReadOnly {
        /// The action that was attempted.
        action: &'static str,
    },
    /// Other users can read a file of the store, and another user owns the file.
    #[error("{path:?} is readable by others (mode {mode:03o}), and only its owner can change that")]
    NotPrivate {
        /// The file or directory.
        path: PathBuf,
        /// Its Unix mode.
        mode: u32,
    },
    /// The disk, or the store's quota, is full.
    #[error("cannot {action}: no space left on the disk or in the quota")]
    Full {
        /// The action that was attempted.
        action: &'static str,
    },
    /// Another process held the store for longer than the timeout, or is stopped while it holds it.
    #[error("cannot {action}: the store is locked by {}", describe_holder(holder.as_ref()))]
    Locked {
        /// The action that was attempted.
        action: &'static str,
        /// The process, where the system reports it.
        holder: Option<LockHolder>,
    },
    /// The store's file is damaged in the part that was read.
    #[error("cannot {action}: the store is damaged: {detail}")]
    Corrupt {
        /// The action that was attempted.
        action: &'static str,
        /// A description of the damage, for people.
        detail: String,
    },
    /// The blob is not in the store.
    #[error("blob {hash} is not in the store")]
    NoBlob {
        /// Its hash.
        hash: ContentHash,
    },
    /// The stored bytes of the blob differ from those that were put.
    #[error("blob {hash} is damaged: {detail}")]
    CorruptBlob {
        /// Its hash.
        hash: ContentHash,
        /// A description of the damage, for people.
        detail: String,
    },
    /// Pieces of a blob were removed while it was being put. The caller can put it again.
    #[error("cannot put blob {hash}: pieces of it were removed meanwhile; put it again")]
    BlobInterrupted {
        /// Its hash.
        hash: ContentHash,
    },
    /// The caller's stream failed while a blob was read from it or written to it.
    #[error("cannot copy a blob from or to a stream")]
    Stream {
        /// The error of the stream.
        #[source]
        source: Arc<io::Error>,
    },
    /// The caller's merge of a document failed; nothing was compacted.
    #[error("cannot merge document {doc}")]
    Merge {
        /// The document.
        doc: DocName,
        /// The error of the merge.
        #[source]
        source: Arc<dyn Error + Send + Sync>,
    },
    /// An earlier sync failed, so the store cannot promise durability until it is opened again.
    /// Appended records are visible to all handles.
    #[error("an earlier sync to disk failed: open the store again")]
    SyncFailed,
    /// The store was closed.
    #[error("the store is closed")]
    Closed,
    /// The operation is not supported by this kind of store.
    #[error("this store cannot {action}")]
    Unsupported {
        /// The action that was attempted.
        action: &'static str,
    },
    /// The operating system returned an error.
    #[error("cannot {action}")]
    Io {
        /// The action that was attempted.
        action: &'static str,
        /// The error of the system.
        #[source]
        source: Arc<io::Error>,
    },
    /// The database returned an error that has no variant of its own.
    #[error("cannot {action}")]
    Backend {
        /// The action that was attempted.
        action: &'static str,
        /// The error of the database.
        #[source]
        source: Arc<dyn Error + Send + Sync>,
    },
}

/// A process that holds the writer lock of a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LockHolder {
    /// The process id.
    pub pid: u32,
    /// The name of the program.
    pub name: String,
    /// Whether the process is stopped, as by `SIGSTOP` or Ctrl-Z, so that waiting is useless.
    pub is_stopped: bool,
}

fn describe_holder(holder: Option<&LockHolder>) -> String {
    let Some(LockHolder { pid, name, is_stopped }) = holder else {
        return "another process".to_owned();
    };
    let stopped = if *is_stopped { ", which is stopped: resume or end it" } else { "" };
    format!("process {pid} ({name}){stopped}")
}

impl StoreError {
    /// Returns the error of an operation of the system that failed in an action.
    pub fn io(action: &'static str, source: io::Error) -> Self {
        match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::Full { action },
            io::ErrorKind::ReadOnlyFilesystem => Self::ReadOnly { action },
            _ => Self::Io { action, source: Arc::new(source) },
        }
    }
}
