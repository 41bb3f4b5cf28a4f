//! A workspace as a directory of the operating system, by FUSE.
//!
//! What any program does in the directory becomes a least edit of the workspace, which merges with
//! the edits of others; what others do appears there at once ([`Mount`]).
//!
//! # Invariants
//!
//! - A program that reads a file from its beginning to its end reads one version, and `fstat`
//!   reports the size of that (`file_view`). A program that opens the file meanwhile gets the
//!   newest version, and to the kernel that is another file (`node_table`, `passes`).
//! - The kernel caches names and attributes, and forgets them when they change (`invalidation`). It
//!   caches no attribute of a file that is open, and no content except for `mmap`.
//! - What a program wrote and the workspace did not accept is kept in a file of the host, and the
//!   program gets the error.
//! - A request waits for no invalidation, so that none of both can wait for the other.
//!
//! ```no_run
//! use std::{path::Path, sync::Arc};
//!
//! use yfs::{Workspace, WorkspaceOptions};
//! use yfs_mount::{Mount, MountOptions};
//!
//! let workspace = Workspace::open_at(Path::new("workspace.db"), WorkspaceOptions::default())?;
//! let options = MountOptions::new("human:ana".parse()?, "unsaved".into());
//! let mount = Mount::new(&workspace, Path::new("/mnt/notes"), options)?;
//! std::fs::write("/mnt/notes/plan.md", "1. Listen\n")?;
//! mount.unmount()?;
//! workspace.close()?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The requests are those of the Linux kernel's FUSE protocol, `include/uapi/linux/fuse.h`.

#![cfg(target_os = "linux")]

mod attributes;
mod errno;
mod file_calls;
mod file_view;
mod filesystem;
mod handles;
mod invalidation;
mod listing;
mod mount;
mod node_table;
mod node_times;
mod open_file;
mod open_node;
mod options;
mod passes;
mod pending_writes;
mod program_name;
mod read_log;
mod tree_calls;
mod working_copy;
mod xattrs;

pub use crate::{
    mount::{Mount, MountError},
    options::MountOptions,
};
