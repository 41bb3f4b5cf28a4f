//! Two-way synchronization of a directory on disk with a workspace.
//!
//! A change of one side appears on the other: creates, edits, deletes, renames (a renamed file
//! stays the same file, with its history and its open editors), links, times and permission bits.
//! Where both sides changed, the changes merge, also those made while no mirror ran.
//!
//! The mirror compares both sides with a third tree: the directory as it was when both sides last
//! agreed ([`mirror_state`]). A side has changed where it differs from that tree. The mirror first
//! imports the changes on disk into the workspace, each as an edit of what the disk last showed, so
//! that the workspace does the merging. It then applies the workspace to the disk. No step depends
//! on the order or the arrival of change notifications: a mirror that missed all of them scans both
//! trees and reaches the same result.
//!
//! # Invariants
//!
//! - The mirror replaces or deletes no byte of the directory that is not in the workspace, in its
//!   history or in its trash. It moves a file out of the way before it removes it, checks its
//!   content there, and puts it back if the content is new.
//! - The mirror deletes and replaces nothing because of a store that does not prove that it has
//!   what the mirror agreed on with it.
//! - All I/O is beneath the open directory and follows no link.
//! - `.git` and `.yfs` are never mirrored, at any depth. Of the former the mirror reads only
//!   `.git/info/exclude`; in the latter it keeps only its own state. It leaves alone the files that
//!   `.gitignore` and `.yfsignore` name.
//! - Rules that other writers change never let the mirror import what they excluded before
//!   (`held_rules`).
//! - The mirror recognizes its own writes by their content, never by time.
//!
//! # Cost
//!
//! An edit costs one read of its file. The mirror uses about 0.5 KB of memory per object.
//!
//! ```
//! use std::sync::Arc;
//! use yfs::{Workspace, WorkspaceOptions};
//! use yfs_mirror::{Mirror, MirrorOptions};
//! use yfs_store::MemoryStore;
//!
//! let directory = tempfile::tempdir()?;
//! std::fs::write(directory.path().join("plan.md"), "1. Read\n")?;
//! let workspace = Workspace::create(Arc::new(MemoryStore::new()), WorkspaceOptions::default())?;
//! let report = Mirror::once(&workspace, directory.path(), MirrorOptions::default())?;
//! assert_eq!(report.to_workspace.created, 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![cfg(target_os = "linux")]

mod backup_names;
mod crash_points;
pub mod error;
mod held_rules;
mod ignores;
mod layout_plan;
mod lease;
pub mod mirror;
mod mirror_clock;
pub mod mirror_state;
mod mirror_worker;
pub mod options;
mod pending_deletions;
mod pending_rules;
pub mod report;
mod seen_texts;
mod sync_engine;
mod unread;
pub mod untrusted_files;
mod waiting_files;
mod watch;
mod witness;

pub use crate::{
    error::MirrorError,
    mirror::Mirror,
    options::{MirrorOptions, TrustPolicy},
    pending_deletions::PendingDeletions,
    report::{ChangeCounts, MirrorNotice, MirrorReport, NoticeReason},
};
