//! A directory of a workspace, shared as a workspace of its own
//! ([decision 76](../../../../docs/decisions/0076-a-shared-directory-is-a-workspace.md)).
//!
//! The *share* is a workspace whose root is the directory of the *origin*. A peer that joins the
//! share receives its store and nothing else. A [`DirectoryShare`] keeps the two equal: files have
//! the same ids on both sides, so that the updates of a content are passed on as they are; rows are
//! passed on field by field.
//!
//! # Invariants
//!
//! - The share gets rows and contents of nodes below the directory only, and blobs that these name.
//! - Only nodes below the directory change in the origin.
//! - What was stored last is passed on after any interruption.
//!
//! # Cost
//!
//! A [step](DirectoryShare::step) compares all rows of the directory if any row of either workspace
//! changed, which takes some 2 µs for each, and loads the contents that were written. One of
//! [contents alone](DirectoryShare::step_contents) does the latter only.

mod bridge_records;
mod bridged_row;
mod content_exchange;
pub(crate) mod late_edits;
mod redactions;
mod row_commit;
mod row_plan;
mod share_marks;
#[cfg(test)]
mod tests;

use std::{collections::BTreeSet, time::Duration};

use yfs_engine::{
    id::{FileId, WorkspaceId},
    path::VPath,
};
use yfs_store::Seq;

use self::{bridge_records::BridgeRecords, row_commit::MainHeads, share_marks::MarkPair};
use crate::{
    error::{Result, WorkspaceError},
    replica::RecordWatch,
    workspace::Workspace,
};

/// The setting of the share's store that names the directory: the id of the origin and its own.
const DIRECTORY_SETTING: &str = "share.directory";

/// Keeps a directory and the workspace that it is shared as equal.
#[derive(Debug)]
pub struct DirectoryShare {
    origin: Workspace,
    share: Workspace,
    directory: FileId,
    records: BridgeRecords,
    positions: LogPositions,
    /// The main documents that agree.
    settled: Option<MainHeads>,
    /// Files whose contents may differ.
    dirty: BTreeSet<FileId>,
    /// Files that were written while they were outside of the directory, together with a directory
    /// that left.
    away: BTreeSet<FileId>,
    /// Rows of the share that wait for blobs.
    waiting_rows: BTreeSet<FileId>,
    /// Rows whose metadata one side refused.
    refused_meta: BTreeSet<FileId>,
    /// Marks of both logs after which rows were agreed on.
    proof: Option<MarkPair>,
    /// The marks that were stored last.
    stored_marks: String,
    /// What wakes the work: records of the origin, then of the share.
    records_of: [RecordWatch; 2],
    /// The number of steps of the work after which it fails, in tests.
    #[cfg(test)]
    crash_after: std::cell::Cell<Option<u32>>,
}

/// Up to where both logs were read.
#[derive(Debug, Clone, Copy)]
struct LogPositions {
    origin: Seq,
    share: Seq,
}

/// The directory that a workspace shares.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SharedDirectory {
    /// The workspace that has the directory.
    pub origin: WorkspaceId,
    /// The directory.
    pub directory: FileId,
}

/// What one step of a [`DirectoryShare`] did.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ShareStep {
    /// The number of rows that were written.
    pub n_rows: u64,
    /// The number of updates of contents that were passed on.
    pub n_contents: u64,
    /// The number of files that wait for blobs.
    pub n_waiting: u64,
    /// Whether the directory is in the trash or gone: nothing is passed on until it is back.
    pub is_paused: bool,
    /// Whether other writers were faster each time, so that rows are left for the next step.
    pub is_unfinished: bool,
}

impl SharedDirectory {
    /// Returns the directory that a workspace shares; `None` if it is not a share.
    pub fn of(share: &Workspace) -> Result<Option<Self>> {
        let Some(stored) = share.state.store.get_meta(DIRECTORY_SETTING)? else { return Ok(None) };
        let parse = || {
            let (origin, directory) = std::str::from_utf8(&stored).ok()?.split_once(' ')?;
            let [origin, directory] = [origin, directory].map(|id| FileId::parse(id).ok());
            Some(Self { origin: origin?, directory: directory? })
        };
        Ok(parse())
    }

    /// Makes a new workspace the share of a directory. Does nothing if it is that already.
    ///
    /// # Errors
    ///
    /// Fails with [`WorkspaceError::Exists`] if the workspace shares another directory.
    pub fn assign(&self, share: &Workspace) -> Result<()> {
        let value = format!("{} {}", self.origin, self.directory);
        let stored = share.state.store.init_meta(DIRECTORY_SETTING, value.as_bytes())?;
        if stored == value.as_bytes() { Ok(()) } else { Err(WorkspaceError::Exists) }
    }
}

impl DirectoryShare {
    /// Opens the share of a directory. Only one may be open at a time, in all processes.
    ///
    /// # Errors
    ///
    /// Fails with [`WorkspaceError::NoDocument`] unless `share` was
    /// [assigned](SharedDirectory::assign) to a directory of `origin`.
    pub fn open(origin: &Workspace, share: &Workspace) -> Result<Self> {
        origin.state.check_writable()?;
        share.state.check_writable()?;
        let shared = SharedDirectory::of(share)?.filter(|shared| shared.origin == *origin.id());
        let no_share = || WorkspaceError::NoDocument(share.id().to_string());
        let directory = shared.ok_or_else(no_share)?.directory;
        let mut opened = Self {
            records: BridgeRecords::load(&share.state.store)?,
            origin: origin.clone(),
            share: share.clone(),
            directory,
            positions: LogPositions { origin: Seq::ZERO, share: Seq::ZERO },
            settled: None,
            dirty: BTreeSet::new(),
            away: BTreeSet::new(),
            proof: None,
            waiting_rows: BTreeSet::new(),
            refused_meta: BTreeSet::new(),
            stored_marks: String::new(),
            records_of: [origin, share].map(|side| side.replication().watch_records()),
            #[cfg(test)]
            crash_after: std::cell::Cell::new(None),
        };
        opened.resume()?;
        Ok(opened)
    }

    /// Returns the id of the shared directory.
    pub fn directory(&self) -> &FileId {
        &self.directory
    }

    /// Returns the present path of the directory; `None` if it is in the trash or gone.
    pub fn path(&self) -> Result<Option<VPath>> {
        self.origin.nodes().path_of(&self.directory)
    }

    /// Passes on what changed on either side.
    ///
    /// # Errors
    ///
    /// Fails as reading and writing either workspace does. The next step goes on.
    pub fn step(&mut self) -> Result<ShareStep> {
        self.step_with(true)
    }

    /// Passes on what was written to contents of files that both sides have. Rows, and with them
    /// new files, wait for the next [`step`](Self::step): every edit changes the size in a row.
    ///
    /// # Errors
    ///
    /// As [`step`](Self::step).
    pub fn step_contents(&mut self) -> Result<ShareStep> {
        self.step_with(false)
    }

    fn step_with(&mut self, rows: bool) -> Result<ShareStep> {
        let mut step = ShareStep::default();
        self.origin.state.refresh()?;
        self.share.state.refresh()?;
        if !self.is_directory_visible() {
            step.is_paused = true;
            return Ok(step);
        }
        self.read_logs()?;
        if rows {
            self.exchange_rows(&mut step)?;
        }
        let failure = self.exchange_contents(&mut step)?;
        self.store_marks()?;
        if let Some(failure) = failure {
            return Err(failure);
        }
        step.n_waiting = (self.dirty.len() + self.waiting_rows.len()) as u64;
        Ok(step)
    }

    /// Waits until either side may have changed since the wait before, at most for `at_most`.
    pub async fn wait(&mut self, at_most: Duration) {
        let [origin, share] = &mut self.records_of;
        tokio::select! {
            () = origin.wait(at_most) => {}
            () = share.wait(at_most) => {}
        }
    }

    fn is_directory_visible(&self) -> bool {
        let main = self.origin.state.main.read();
        let node = main.tree().node(&self.directory);
        node.is_some_and(|node| node.is_directory() && node.is_visible())
    }

    /// Fails if a test ends the work here.
    #[cfg_attr(not(test), expect(clippy::unused_self, clippy::unnecessary_wraps, reason = "tests"))]
    fn check_crash_point(&self) -> Result<()> {
        #[cfg(test)]
        if let Some(left) = self.crash_after.get() {
            self.crash_after.set(left.checked_sub(1));
            if left == 0 {
                self.crash_after.set(Some(0));
                return Err(WorkspaceError::Closed);
            }
        }
        Ok(())
    }
}
