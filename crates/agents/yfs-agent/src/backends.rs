//! The filesystems that agents work on, each behind the [`FileSystem`] trait.
//!
//! | Backend | Files | Commands |
//! |---|---|---|
//! | [`StateBackend`] | in memory, for one thread; can be saved as JSON | none |
//! | [`LocalBackend`] | a directory of the host | none, or on the host |
//! | [`CompositeBackend`] | other backends under path prefixes | those of the default |
//! | [`SandboxBackend`] | a directory that a sandbox sees | in the sandbox |
//!
//! `yfs-agent-workspace` has two more: a workspace of yfs, and a namespace of one by the caller's
//! context.
//!
//! A backend of your own implements [`FileSystem`], here in its smallest form, and
//! [`AgentBackend`]:
//!
//! ```
//! use std::sync::Arc;
//! use async_trait::async_trait;
//! use yfs_agent::backends::AgentBackend;
//! use yfs_vfs::{
//!     FileSystem, FsError, MemoryFs, WriteOptions,
//!     guarded_fs::{FsGuard, GuardedCall, GuardedFs},
//! };
//!
//! /// A guard that lets nothing be removed. A backend with a storage of its own implements
//! /// `FileSystem` itself and runs `yfs_conformance` as its test.
//! #[derive(Debug)]
//! struct KeepAll;
//!
//! #[async_trait]
//! impl FsGuard for KeepAll {
//!     async fn check_call(&self, call: &GuardedCall<'_>) -> Result<Option<FsError>, FsError> {
//!         match call.op {
//!             yfs_vfs::Op::Rm => Err(call.refused(yfs_vfs::FsCode::EPERM)),
//!             _ => Ok(None),
//!         }
//!     }
//! }
//!
//! #[derive(Debug)]
//! struct ArchiveBackend {
//!     fs: Arc<GuardedFs<KeepAll>>,
//! }
//!
//! impl AgentBackend for ArchiveBackend {
//!     fn fs(&self) -> Arc<dyn FileSystem> {
//!         self.fs.clone()
//!     }
//! }
//!
//! # tokio::runtime::Runtime::new().unwrap().block_on(async {
//! let archive = ArchiveBackend {
//!     fs: Arc::new(GuardedFs::new(Arc::new(MemoryFs::new()), KeepAll)),
//! };
//! let path = "/letter.txt".parse().unwrap();
//! archive.fs().write(&path, "Dear Ada".into(), &WriteOptions::default()).await?;
//! assert!(archive.fs().rm(&path, &Default::default()).await.is_err());
//! # Ok::<(), FsError>(())
//! # }).unwrap();
//! ```

mod composite;
mod local;
mod sandbox;
mod state;
mod transfer;

#[cfg(test)]
mod tests;

use std::{fmt, sync::Arc};

use yfs_types::path::VPath;
use yfs_vfs::FileSystem;

use crate::execute::CommandExecutor;

pub use self::{
    composite::{BadRoute, CompositeBackend, CompositeFs, PathRoute},
    local::{HostShell, LocalBackend},
    sandbox::{ContainerShell, SandboxBackend, find_container_engine},
    state::{BadSavedState, StateBackend},
    transfer::{
        DownloadResult, TransferCode, TransferFailure, UploadResult, download_files, upload_files,
    },
};

/// A filesystem for an agent, with what else the agent's tools need to know.
pub trait AgentBackend: Send + Sync + fmt::Debug {
    /// Returns the files.
    fn fs(&self) -> Arc<dyn FileSystem>;

    /// Returns the runner of commands, if there is one.
    fn executor(&self) -> Option<Arc<dyn CommandExecutor>> {
        None
    }

    /// Returns the directory for files that the tools write themselves, such as large results.
    fn artifacts_root(&self) -> VPath {
        VPath::root()
    }
}
