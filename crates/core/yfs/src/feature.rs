//! How features are attached to the core of a workspace.
//!
//! A commit, the tailing of the log and the thread that follows it name no feature: they call the
//! hooks of all that are in the list ([`WorkspaceCore::features`]), in its order. The list is in
//! `state.rs`. A feature comes after those that its hooks use:
//!
//! 1. texts, before all that read them;
//! 2. conversions, so that a note of one is stored before the record;
//! 3. reports of edits, updates that wait, checkpoints, the index for searches;
//! 4. compaction, which asks for checkpoints and uses what was written before;
//! 5. events, the last: a watcher that is woken by one finds all else updated.

use std::fmt;

use yfs_engine::{actor::Actor, gate::ParkedTotals, id::FileId, time::Millis};
use yfs_vfs::FileChange;

use crate::{
    commit::{ChangeEffect, CommittedDocument},
    core::WorkspaceCore,
    error::Result,
};

/// A part of a workspace with state of its own, which the core knows by these hooks alone.
///
/// The hooks up to [`position_moved`](Self::position_moved) are called while locks of the core are
/// held, and commit nothing. The others are called without any lock.
pub(crate) trait WorkspaceFeature: fmt::Debug + Send + Sync {
    /// Notes that a transaction was planned from another content than the present one.
    fn content_moved(&self, _id: &FileId) {}

    /// Notes that a document is about to be converted: nothing is logged if this fails. The
    /// document is locked.
    fn converting(&self, _core: &WorkspaceCore, _id: &FileId) -> Result<()> {
        Ok(())
    }

    /// Takes in the change of a document that was logged, before its subscribers get it. The
    /// document is locked.
    fn content_committed(&self, _core: &WorkspaceCore, _commit: &ContentCommit<'_>) {}

    /// Takes in an update of the main document, of this process or another, that was logged and
    /// applied, before its subscribers get it.
    fn main_logged(&self, _core: &WorkspaceCore, _update: &[u8], _is_own: bool) {}

    /// Takes in that other processes changed contents. The tailing is locked.
    fn contents_tailed(&self, _ids: &[FileId], _now: Millis) {}

    /// Takes in that the main document was loaded again from the whole log. The tailing is locked.
    fn main_replaced(&self) {}

    /// Takes the events of a transaction, or of a page of the log. All of what they report is
    /// applied, and the position in the log is still the one before.
    fn changed(&self, _events: &mut Vec<FileChange>) {}

    /// Notes that the position in the log has moved past applied records.
    fn position_moved(&self) {}

    /// Does what is due while the log is idle.
    fn upkeep(&self, _core: &WorkspaceCore) -> Result<()> {
        Ok(())
    }

    /// Gives back memory, after a long time without news.
    fn rest(&self, _core: &WorkspaceCore) {}

    /// Writes what must not be left to the next process, before a workspace closes. Its
    /// failures are ignored: the next process does what is left.
    fn closing(&self, _core: &WorkspaceCore) {}

    /// Does the upkeep at the end that may take long, after [`closing`](Self::closing) of all.
    fn last_upkeep(&self, _core: &WorkspaceCore) {}
}

/// A change of a document, after it was logged. Without a change the commit found nothing to log.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ContentCommit<'a> {
    pub(crate) id: &'a FileId,
    pub(crate) effect: ChangeEffect,
    pub(crate) document: &'a CommittedDocument,
    /// What waited in the document before and waits now, if it changed in memory.
    pub(crate) parked: Option<(ParkedTotals, ParkedTotals)>,
    pub(crate) by: Option<&'a Actor>,
    pub(crate) now: Millis,
}
