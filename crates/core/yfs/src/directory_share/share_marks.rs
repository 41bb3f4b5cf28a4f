//! Where a share goes on after a restart: marks of both logs, and the contents that are not
//! exchanged yet.
//!
//! There are two kinds of marks. Before the one, all contents were exchanged. The other is made
//! after rows were agreed on, and proves that a log is not an older copy, whose rows differ without
//! having changed.

use yfs_engine::id::FileId;

use super::{DirectoryShare, LogPositions};
use crate::{
    error::Result,
    replica::{LogCursor, find_mark},
    workspace::Workspace,
};

/// The setting of the share's store with the marks before which all contents were exchanged.
const MARKS_SETTING: &str = "share.marks";

/// The setting of the share's store with the marks after which rows were agreed on.
const PROOF_SETTING: &str = "share.proof";

/// The setting of the share's store with the files whose contents are not exchanged yet.
const PENDING_SETTING: &str = "share.pending";

/// A mark of each log.
#[derive(Debug, Clone)]
pub(super) struct MarkPair {
    origin: LogCursor,
    share: LogCursor,
}

impl MarkPair {
    fn parse(stored: &[u8]) -> Option<Self> {
        let (origin, share) = std::str::from_utf8(stored).ok()?.split_once(' ')?;
        Some(Self { origin: origin.parse().ok()?, share: share.parse().ok()? })
    }
}

impl std::fmt::Display for MarkPair {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.origin, self.share)
    }
}

impl DirectoryShare {
    /// Continues from the marks that were stored last. If a log does not have its marks, all
    /// contents are compared, and rows are as if nothing had been passed on before.
    pub(super) fn resume(&mut self) -> Result<()> {
        self.proof = self.find_proof()?;
        if let Some(positions) = self.find_positions()?.filter(|_| self.proof.is_some()) {
            self.positions = positions;
            let pending = self.setting(PENDING_SETTING)?;
            let ids = pending.split(|byte| *byte == b'\n');
            let ids = ids.filter_map(|id| FileId::parse(std::str::from_utf8(id).ok()?).ok());
            self.dirty.extend(ids);
            return Ok(());
        }
        self.positions = LogPositions {
            origin: self.origin.state.store.head()?,
            share: self.share.state.store.head()?,
        };
        if self.records.ids().next().is_some() {
            self.records.forget_fields()?;
            self.dirty = self.records.ids().cloned().collect();
        }
        Ok(())
    }

    fn setting(&self, name: &str) -> Result<Vec<u8>> {
        Ok(self.share.state.store.get_meta(name)?.unwrap_or_default())
    }

    /// Returns the marks after which rows were agreed on, if both logs have theirs.
    fn find_proof(&self) -> Result<Option<MarkPair>> {
        let Some(proof) = MarkPair::parse(&self.setting(PROOF_SETTING)?) else { return Ok(None) };
        let name = self.proof_name();
        let has = |side: &Workspace, mark| side.replication().has_mirror_mark(&name, mark);
        let is_there = has(&self.origin, &proof.origin)? && has(&self.share, &proof.share)?;
        Ok(is_there.then_some(proof))
    }

    fn find_positions(&self) -> Result<Option<LogPositions>> {
        let Some(marks) = MarkPair::parse(&self.setting(MARKS_SETTING)?) else { return Ok(None) };
        let origin = find_mark(&self.origin.state, &marks.origin)?;
        let share = find_mark(&self.share.state, &marks.share)?;
        Ok(origin.zip(share).map(|(origin, share)| LogPositions { origin, share }))
    }

    /// Stores marks of what was passed on.
    pub(super) fn store_marks(&mut self) -> Result<()> {
        if self.records.was_changed() || self.proof.is_none() {
            self.store_proof()?;
        }
        let origin =
            self.origin.state.marks.mark(&self.origin.state, self.positions.origin, false)?;
        let share = self.share.state.marks.mark(&self.share.state, self.positions.share, false)?;
        let marks = MarkPair { origin, share }.to_string();
        let pending: Vec<&str> = self.dirty.iter().chain(&self.away).map(FileId::as_str).collect();
        let pending = pending.join("\n");
        let both = format!("{marks}\n{pending}");
        if both != self.stored_marks {
            let store = &self.share.state.store;
            // The marks cover what is pending.
            store.set_meta(PENDING_SETTING, pending.as_bytes())?;
            store.set_meta(MARKS_SETTING, marks.as_bytes())?;
            self.stored_marks = both;
        }
        Ok(())
    }

    fn store_proof(&mut self) -> Result<()> {
        let (name, last) = (self.proof_name(), self.proof.take());
        let mark = |side: &Workspace, last| side.replication().mark_for_mirror(&name, last);
        let origin = mark(&self.origin, last.as_ref().map(|last| &last.origin))?;
        let share = mark(&self.share, last.as_ref().map(|last| &last.share))?;
        let proof = MarkPair { origin, share };
        self.share.state.store.set_meta(PROOF_SETTING, proof.to_string().as_bytes())?;
        self.records.set_unchanged();
        self.proof = Some(proof);
        Ok(())
    }

    /// Returns the name under which both logs keep the marks.
    fn proof_name(&self) -> String {
        format!("share.{}", self.share.id())
    }
}
