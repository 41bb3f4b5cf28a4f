//! Tools with which agents use a filesystem: one core over any [`FileSystem`](yfs_vfs::FileSystem),
//! spoken in several vocabularies.
//!
//! Below the tools are the [`backends`] with the files, and what limits an agent there:
//! [`permissions`], [`approval`] and [`hooks`]. Each is a filesystem around another one.
//!
//! ```
//! use std::sync::Arc;
//! use yfs_agent::permissions::{
//!     AccessKind, PermissionRule, PermissionRules, PermittedFs, RuleMode,
//! };
//! use yfs_vfs::{FileSystem, FileSystemExt, MemoryFs};
//!
//! # tokio::runtime::Runtime::new().unwrap().block_on(async {
//! let files = Arc::new(MemoryFs::new());
//! files.write_text(&"/keys/id".parse().unwrap(), "secret").await?;
//! let access = [AccessKind::Read, AccessKind::Write];
//! let rule = PermissionRule::new(RuleMode::Deny, &access, "/keys/**");
//! let fs = PermittedFs::new(files, PermissionRules::new([rule]).unwrap());
//! fs.symlink("/keys/id", &"/innocent".parse().unwrap()).await?;
//! assert!(fs.read(&"/innocent".parse().unwrap()).await.is_err());
//! # Ok::<(), yfs_vfs::FsError>(())
//! # }).unwrap();
//! ```

pub mod approval;
pub mod backends;
pub mod execute;
pub mod hooks;
pub mod permissions;

pub use crate::execute::{CommandExecutor, CommandOutput, ExecuteError, ExecuteOptions};
