//! A bash that runs in this process, over any filesystem of yfs: commands for agents without a
//! host.
//!
//! [`ShellExecutor`] is a [`CommandExecutor`](yfs_agent::CommandExecutor) on the interpreter of the
//! crate `bashkit`. No process is started and no network is reached. All that a command reads and
//! writes passes the filesystem that it is given, with its permissions, hooks and author, so each
//! command is a change that the history shows and undoes.
//!
//! ```
//! use std::sync::Arc;
//! use yfs_agent::{CommandExecutor, ExecuteOptions};
//! use yfs_shell::{ShellExecutor, ShellLimits};
//! use yfs_vfs::{FileSystemExt, MemoryFs};
//!
//! # tokio::runtime::Runtime::new().unwrap().block_on(async {
//! let files = Arc::new(MemoryFs::new());
//! files.write_text(&"/in.txt".parse().unwrap(), "b\na\n").await?;
//! let shell = ShellExecutor::new(files.clone(), ShellLimits::default());
//! let ran = shell.execute("sort in.txt | tee out.txt", &ExecuteOptions::default()).await?;
//! assert_eq!((ran.output.as_str(), ran.exit_code), ("a\nb\n", Some(0)));
//! assert_eq!(files.read_to_string(&"/out.txt".parse().unwrap()).await?, "a\nb\n");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # }).unwrap();
//! ```

mod builtins;
mod executor;
mod output_sink;
mod shell_fs;
mod thread;

pub use crate::executor::{CommandFiles, ShellExecutor, ShellLimits};
