//! Tools with which agents use a filesystem: one core over any [`FileSystem`](yfs_vfs::FileSystem),
//! spoken in several vocabularies.

pub mod approval;
pub mod backends;
pub mod execute;
pub mod permissions;

pub use crate::execute::{CommandExecutor, CommandOutput, ExecuteError, ExecuteOptions};
