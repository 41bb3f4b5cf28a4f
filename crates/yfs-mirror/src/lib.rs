//! A folder on disk and a workspace, kept in step both ways.
//!
//! What appears in the folder appears in the workspace and the reverse: creates, edits, deletes, renames
//! (a renamed file stays the same file, with its history and its open editors), links, times and permission
//! bits. Where both sides changed, the changes merge, also those made while no mirror ran.
//!
//! The idea is a third tree between the two: what the folder was when both agreed ([`mirror_state`]). A side has
//! changed where it differs from that. What changed on disk is brought into the workspace first
//! (`ingest`), as an edit of what the disk last showed, so that merging is the workspace's affair; then the
//! folder is made what the workspace is (`emit`). Nothing depends on who is told of what when: a mirror
//! that missed everything looks at both trees and does the same.
//!
//! # Invariants
//!
//! - No byte of the folder is replaced or deleted that is not in the workspace, in its history or in its
//!   trash: what is taken away is looked at once it is out of the way, and put back if it was news.
//! - All I/O is beneath the open folder, through no link.
//! - `.git` and `.yfs` are never read, written or listed; nor is what `.gitignore` and `.yfsignore` name.
//! - Echo is told from news by content, never by time.
//!
//! # Cost
//!
//! An edit costs a look at its file. Memory is about half a kilobyte per object.
//!
//! ```
//! use std::sync::Arc;
//! use yfs::{Workspace, WorkspaceOptions};
//! use yfs_mirror::{Mirror, MirrorOptions};
//! use yfs_store::MemoryStore;
//!
//! let folder = tempfile::tempdir()?;
//! std::fs::write(folder.path().join("plan.md"), "1. Listen\n")?;
//! let workspace = Workspace::create(Arc::new(MemoryStore::new()), WorkspaceOptions::default())?;
//! let report = Mirror::once(&workspace, folder.path(), MirrorOptions::default())?;
//! assert_eq!(report.to_workspace.created, 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![cfg(target_os = "linux")]

mod crash_points;
pub mod error;
mod ignores;
mod lease;
pub mod merge_plan;
pub mod mirror;
pub mod mirror_state;
mod mirror_worker;
pub mod name_escaping;
pub mod options;
pub mod report;
mod sync_engine;
mod unread;
pub mod untrusted_files;
mod watch;

pub use crate::{
    error::MirrorError,
    mirror::Mirror,
    options::{MirrorOptions, TrustPolicy},
    report::{ChangeCounts, MirrorNotice, MirrorReport, NoticeReason},
};
