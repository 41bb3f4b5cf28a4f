//! A filesystem as a trait: the contract that every backend of yfs implements and every caller may
//! rely on.
//!
//! [`FileSystem`] is the trait and its written contract. It is async, because backends may be
//! remote, and is used as `Arc<dyn FileSystem>`. [`FileSystemExt`] adds convenience methods.
//! [`MemoryFs`], [`HostFs`] and [`SnapshotFs`] are backends. [`ReadOnlyFs`] wraps another
//! filesystem. The crate `yfs-conformance` is the test suite for every backend.
//!
//! Modules in reading order: [`file_system`] and its vocabulary ([`stat`], [`options`], [`error`],
//! [`edit`], `line_page`, [`stream`], [`changes`]), then what works over any filesystem
//! (`file_system_ext`, [`walk`], [`glob`], [`grep`], [`guarded_fs`]), then the backends and
//! [`confined_dir`], on which programs that work in a directory of the host stand.
//!
//! ```
//! use yfs_vfs::{
//!     FileSystem, FileSystemExt, GrepQuery, MemoryFs, TextReplacement, VersionBase, WriteOptions,
//! };
//!
//! # tokio::runtime::Runtime::new().unwrap().block_on(async {
//! let fs = MemoryFs::new();
//! let notes = "/notes/today.md".parse().unwrap();
//! fs.write_text(&notes, "- buy milk\n").await?; // Makes /notes as well.
//!
//! // Several callers may edit at once, and every edit takes effect.
//! fs.edit(&notes, &TextReplacement::once("milk", "oat milk")).await?;
//! fs.append(&notes, "- call Ada\n".into(), &WriteOptions::default()).await?;
//!
//! // A writer of a whole file names the version that it read: no unread change is overwritten.
//! let read = fs.read(&notes).await?;
//! let base = Some(VersionBase::Version(read.version));
//! fs.write(&notes, "- call Ada\n".into(), &WriteOptions { base, ..Default::default() }).await?;
//!
//! let found = fs.grep(&GrepQuery::literal("Ada")).await?;
//! assert_eq!(found.files[0].lines[0].text, "- call Ada");
//!
//! let error = fs.read(&"/none".parse().unwrap()).await.unwrap_err();
//! assert_eq!(error.to_string(), "ENOENT: no such file or directory, open '/none'");
//! # Ok::<(), yfs_vfs::FsError>(())
//! # }).unwrap();
//! ```

pub(crate) mod call_scope;
mod change_log;
pub mod changes;
#[cfg(unix)]
pub mod confined_dir;
mod directory_listing;
pub mod edit;
pub mod error;
pub mod file_system;
pub(crate) mod file_system_ext;
mod fs_view;
pub mod glob;
pub mod grep;
pub mod guarded_fs;
#[cfg(target_os = "linux")]
pub mod host;
pub mod ignore_rules;
pub(crate) mod line_page;
pub mod memory;
pub mod name_escaping;
pub mod options;
mod path_components;
pub mod read_only;
pub mod reserved_names;
pub mod snapshot;
pub mod stat;
pub mod stream;
pub mod walk;
pub mod work_meter;

pub use tokio_util::sync::CancellationToken;

#[cfg(target_os = "linux")]
pub use crate::host::HostFs;
pub use crate::{
    call_scope::CallScope,
    changes::{ChangeCursor, ChangeKind, ChangePage, FileChange},
    directory_listing::DirectoryListing,
    edit::{EditOutcome, EditRefusal, TextReplacement},
    error::{FsCode, FsError, Op},
    file_system::{EditOverlap, FileContent, FileSystem, WriteOutcome},
    file_system_ext::{FileSystemExt, watch},
    fs_view::FsView,
    glob::{GlobPattern, GlobQuery, GlobResult, SearchLimit},
    grep::{FileMatches, GrepLine, GrepQuery, GrepResult, GrepSelection, GrepSink},
    line_page::LinePage,
    memory::MemoryFs,
    options::{
        ChangeAuthor, ChangesOptions, CopyOptions, CreateMode, FileAttribute, MkdirOptions,
        MoveOptions, RemoveOptions, StreamOptions, VersionBase, WalkOptions, WriteOptions,
    },
    read_only::ReadOnlyFs,
    snapshot::{SnapshotContents, SnapshotFs, SnapshotNode},
    stat::{DirEntry, FileKind, Metadata, Stat, TreeTotals, VersionToken, WalkEntry},
    stream::{ChunkStream, DirectoryStream, FileChunk, WalkStream},
};
