//! A tree of files for each thread of an agent, kept in a workspace.
//!
//! [`Threads`] finds, lists, forks, archives, deletes and expires threads; each is a directory of
//! the workspace, below `/threads`. A [`Thread`] is that directory as a filesystem of its own
//! ([`RootedFs`](yfs::RootedFs)): nothing in it names, finds, links to or restores anything
//! outside. [`ThreadFiles`] has the calls of document 000 (`docs/spec/thread-files.md`): files with
//! media types, metadata, sizes of images, streams, external files and thumbnails.
//!
//! ```
//! use std::sync::Arc;
//! use yfs::{Workspace, WorkspaceOptions};
//! use yfs_store::MemoryStore;
//! use yfs_threads::Threads;
//!
//! # futures::executor::block_on(async {
//! let workspace = Workspace::create(Arc::new(MemoryStore::new()), WorkspaceOptions::default())?;
//! let files = Threads::open(&workspace).thread("thread-7").await?.files();
//! let config = files.write_file("/data/config.json", "{}".into(), None, None).await?;
//! assert_eq!((config.mime_type.as_str(), config.size), ("application/json", 2));
//! assert_eq!(files.find_files("**/*.json").await?, ["/data/config.json"]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod external;
mod file_record;
mod image_size;
mod media_type;
mod namespace;
mod retention;
mod thread;
mod thread_files;
mod thread_id;
mod threads;
mod thumbnail;

pub use self::{
    external::{BadExternalFile, ExternalFailure, ExternalFile, ExternalResolver},
    file_record::FileRecord,
    image_size::image_size,
    media_type::detect_media_type,
    namespace::{BadTemplate, NamespaceStrategy, NamespaceTemplate, ThreadAddress, ThreadContext},
    retention::{RemovalReason, RemovedThread, RetentionPolicy, RetentionReport},
    thread::Thread,
    thread_files::{FileSearch, ThreadFileError, ThreadFiles},
    thread_id::{BadThreadId, ThreadId},
    threads::{ThreadError, ThreadInfo, Threads},
    thumbnail::{ImageThumbnail, ThumbnailBox, ThumbnailError, cached_thumbnail},
};
