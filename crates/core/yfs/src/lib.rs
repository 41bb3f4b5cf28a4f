//! The collaborative filesystem that an application embeds.
//!
//! A [`Workspace`] is one tree of files. Its contents are CRDTs, so that any number of processes,
//! editors and agents may change it at once, and no edit is lost. [`Workspace::fs`] is the tree as
//! a [`FileSystem`](yfs_vfs::FileSystem); [`Documents::port`] is a document as a Yjs peer uses it.
//!
//! ```
//! use std::sync::Arc;
//! use yfs::{Workspace, WorkspaceOptions};
//! use yfs_engine::path::VPath;
//! use yfs_store::MemoryStore;
//! use yfs_vfs::{FileSystem, TextReplacement, WriteOptions};
//!
//! # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
//! // `Workspace::create_at(path, ..)` keeps it in an SQLite file, for any number of processes.
//! let workspace = Workspace::create(Arc::new(MemoryStore::new()), WorkspaceOptions::default())?;
//! let (fs, plan) = (workspace.fs(), VPath::parse("/docs/plan.md")?);
//! fs.write(&plan, "1. Listen\n2. Answer\n".into(), &WriteOptions::default()).await?;
//! fs.edit(&plan, &TextReplacement::once("Answer", "Answer well")).await?;
//! assert_eq!(&fs.read(&plan).await?.data[..], b"1. Listen\n2. Answer well\n");
//! workspace.close()?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod cache;
pub mod clock;
mod commit;
mod content;
mod core;
pub(crate) mod directory_share;
pub mod documents;
#[cfg(test)]
mod eager_disk;
pub mod error;
mod events;
pub mod export;
mod feature;
mod freed_memory;
#[macro_use]
pub mod fs;
mod heavy_writes;
pub mod import;
mod json_convert;
mod live_facts;
mod load_document;
mod log_follower;
pub mod options;

mod change_events;
mod change_replay;
mod checkpoint;
pub mod document_port;
mod document_provider;
pub mod replica;
mod row_author;
mod search;
pub mod session;
mod settled_form;
mod stat_report;
mod state;
mod store_keys;
pub mod subscription;
mod tail;
mod texts;
pub mod workspace;

pub use yfs_store::{
    Cipher, KeyError, KeyKind, PartialFile, SealedDirectory, SpoolFile, UnlockKey,
    check_store_directory,
};

pub use crate::{
    directory_share::{DirectoryShare, ShareStep, SharedDirectory},
    document_port::DocPort,
    document_provider::DocumentProvider,
    documents::DocHandle,
    error::WorkspaceError,
    export::{ExportOptions, ExportReport},
    freed_memory::return_freed_memory,
    fs::{PinnedContent, TextInMemory, WorkspaceFs, blob_version_of, rooted::RootedFs},
    import::{
        DifferenceKind, DirectoryComparison, DirectoryDifference, ImportOptions, ImportReport,
        SkipReason, SkippedPath, TransferProgress, YjsImportError, YjsImportReport,
    },
    options::WorkspaceOptions,
    replica::{RecordWatch, Replication},
    session::Session,
    workspace::{Documents, History, Maintenance, Nodes, Trash, Workspace, trash::TrashEntry},
};
