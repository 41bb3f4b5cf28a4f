//! What can go wrong in a store.

use std::{error::Error, io, path::PathBuf, sync::Arc};

use thiserror::Error;
use yfs_types::hash::ContentHash;

use crate::{DocName, Seq};

/// Why a store refused or failed.
///
/// Whatever failed was not applied, except where a variant says otherwise. Cheap to clone: one
/// failed commit answers every append that was in it.
#[derive(Debug, Clone, Error)]
#[non_exhaustive]
pub enum StoreError {
    /// A conditional append came too late: another handle appended to the document.
    #[error("document {doc} has moved on to {head}")]
    HeadMoved {
        /// The document.
        doc: DocName,
        /// Its last record by another handle.
        head: Seq,
    },
    /// There is no store at this path.
    #[error("no store at {path:?}")]
    NotFound {
        /// Where it was looked for.
        path: PathBuf,
    },
    /// The file exists already and would have been overwritten.
    #[error("{path:?} already exists")]
    Exists {
        /// What is there.
        path: PathBuf,
    },
    /// The file at this path is not a store.
    #[error("{path:?} is not a store")]
    NotAStore {
        /// The file.
        path: PathBuf,
    },
    /// The store was written by a newer version of this program.
    #[error("{path:?} has format {found}, and this program knows {supported}")]
    TooNew {
        /// The file.
        path: PathBuf,
        /// The format of the file.
        found: u32,
        /// The newest format that is known here.
        supported: u32,
    },
    /// The store can be read but not written.
    #[error("cannot {action}: the store is read-only")]
    ReadOnly {
        /// What was attempted.
        action: &'static str,
    },
    /// Other users may read a file of the store, and it belongs to one of them.
    #[error("{path:?} can be read by others (mode {mode:03o}) and belongs to another user")]
    NotPrivate {
        /// The file or directory.
        path: PathBuf,
        /// Its mode.
        mode: u32,
    },
    /// The disk, or the store's quota, is full.
    #[error("cannot {action}: no space left")]
    Full {
        /// What was attempted.
        action: &'static str,
    },
    /// Another process held the store for longer than we wait, or is stopped while it holds it.
    #[error("cannot {action}: {} holds the store", describe_holder(holder.as_ref()))]
    Locked {
        /// What was attempted.
        action: &'static str,
        /// The process, where it can be known.
        holder: Option<LockHolder>,
    },
    /// The store's file is damaged where it was read.
    #[error("cannot {action}: the store is damaged: {detail}")]
    Corrupt {
        /// What was attempted.
        action: &'static str,
        /// What is wrong, for a person to read.
        detail: String,
    },
    /// The store holds no such blob.
    #[error("no blob {hash}")]
    NoBlob {
        /// Its hash.
        hash: ContentHash,
    },
    /// The blob's bytes are not those that were put.
    #[error("blob {hash} is damaged: {detail}")]
    CorruptBlob {
        /// Its hash.
        hash: ContentHash,
        /// What is wrong, for a person to read.
        detail: String,
    },
    /// Pieces of a blob were removed while it was being put. Putting it again helps.
    #[error("cannot put blob {hash}: pieces of it were removed meanwhile")]
    BlobInterrupted {
        /// Its hash.
        hash: ContentHash,
    },
    /// The content of a blob could not be read or written by the caller's stream.
    #[error("cannot stream a blob")]
    Stream {
        /// What the stream said.
        #[source]
        source: Arc<io::Error>,
    },
    /// The caller's merge of a document failed; nothing was compacted.
    #[error("cannot merge document {doc}")]
    Merge {
        /// The document.
        doc: DocName,
        /// What the merge said.
        #[source]
        source: Arc<dyn Error + Send + Sync>,
    },
    /// An earlier attempt to reach the disk failed, so nothing can be promised until the store is
    /// opened again. What was appended is visible to all.
    #[error("the store failed to reach the disk, and must be opened again")]
    SyncFailed,
    /// The store was closed.
    #[error("the store is closed")]
    Closed,
    /// This kind of store cannot do that.
    #[error("this store cannot {action}")]
    Unsupported {
        /// What was attempted.
        action: &'static str,
    },
    /// The operating system refused.
    #[error("cannot {action}")]
    Io {
        /// What was attempted.
        action: &'static str,
        /// What the system said.
        #[source]
        source: Arc<io::Error>,
    },
    /// The database refused for a reason that has no variant of its own.
    #[error("cannot {action}")]
    Backend {
        /// What was attempted.
        action: &'static str,
        /// What the database said.
        #[source]
        source: Arc<dyn Error + Send + Sync>,
    },
}

/// A process that holds the writer lock of a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LockHolder {
    /// Its number.
    pub pid: u32,
    /// The name of its program.
    pub name: String,
    /// Whether it is stopped, as by `SIGSTOP` or Ctrl-Z, so that waiting for it is of no use.
    pub is_stopped: bool,
}

fn describe_holder(holder: Option<&LockHolder>) -> String {
    let Some(LockHolder { pid, name, is_stopped }) = holder else {
        return "another process".to_owned();
    };
    let stopped = if *is_stopped { ", which is stopped," } else { "" };
    format!("process {pid} ({name}){stopped}")
}

impl StoreError {
    pub(crate) fn io(action: &'static str, source: io::Error) -> Self {
        match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::Full { action },
            io::ErrorKind::ReadOnlyFilesystem => Self::ReadOnly { action },
            _ => Self::Io { action, source: Arc::new(source) },
        }
    }
}
