//! A workspace as a directory of the operating system, by FUSE.
//!
//! What any program does in the directory becomes a least edit of the workspace, which merges with
//! the edits of others; what others do appears there at once ([`Mount`]).
//!
//! # Invariants
//!
//! - A program that reads a file from its beginning to its end reads one version, of which `fstat`
//!   reports the size (`file_view`). Who opens the file meanwhile gets the newest version, and to
//!   the kernel that is another file (`node_table`, `passes`).
//! - The kernel caches names and attributes, and forgets them when they change (`invalidation`). It
//!   caches no attribute of a file that is open, and no content except for `mmap`.
//! - What a program wrote and the workspace did not accept is kept in a file of the host, and the
//!   program gets the error.
//! - A request waits for no invalidation, so that none of both can wait for the other.
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
